"""The verbs of handing over: hand off, answer, take up again; and what a position is.

A handoff is a question that stays open until somebody answers it; an agent goes on only when every question
to a person is answered or waived.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import Any

from fazm_memory.capture.answer_schema import as_asked
from fazm_memory.errors import InvalidRequest, InvalidTransition, NotFound
from fazm_memory.log.overview import open_questions
from fazm_memory.log.sessions import SessionRow
from fazm_memory.model.state import BOUNDS
from fazm_memory.recall.resuming import offer
from fazm_memory.verbs.recalling import Recalling


class OverTime(Recalling):
    """What `Memory` can do with positions. Mixed into it; not for use alone."""

    def handoff(
        self,
        session: str,
        *,
        to: str,
        note: str,
        answer_schema: Mapping[str, Any] | None = None,
        source: str = "cli",
    ) -> dict[str, Any]:
        """Leave a question to a person or to the agent; it stays open until it is answered or waived."""
        row = self.store.sessions.resolve(session)
        if row.questions >= BOUNDS["questions"]:  # one more, and the state would let go of the oldest
            raise InvalidTransition(
                f"session {row.id[:8]} has {row.questions} open questions already; this one was not asked",
                hint="answer or waive some of them first: `fazm-memory questions` lists them",
                details={"session": row.id, "open_questions": row.questions},
            )
        question = secrets.token_hex(4)
        told = self.tell(session, "handoff", source=source, id=question, to=to, note=note,
                         answer_schema=answer_schema)  # fmt: skip
        return told | {"question": question}

    def answer(
        self,
        session: str,
        question: str,
        answer: Any = None,
        *,
        waived: bool = False,
        source: str = "cli",
        door: str | None = None,
    ) -> dict[str, Any]:
        """Answer an open question as it was asked, or waive it. The event and the state say who did."""
        row = self.store.sessions.resolve(session)
        if answer is None and not waived:
            raise InvalidRequest("an answer needs words", hint="give the answer, or waive the question")
        asked = self.questions(row).get(question)
        if asked is None:
            raise NotFound(
                f"session {row.id[:8]} has no open question {question[:40]!r}",
                hint="`fazm-memory questions` lists the open ones",
            )
        if not waived:
            answer = as_asked(asked["answer_schema"], answer)
        return self.tell(row.id, "handoff.answer", source=source, door=door, id=question, answer=answer,
                         waived=waived)  # fmt: skip

    def open_questions(self) -> list[dict[str, Any]]:
        """Every open question over all sessions, latest session first: to whom, what, and how to answer."""
        with self.store.db.reading():
            return open_questions(self.store)

    def resume_offer(self, session: str) -> dict[str, Any]:
        """How a session would be taken up again here: exactly, anew with a briefing, or by the clipboard."""
        row = self.store.sessions.resolve(session)
        waiting = [one["id"] for one in self.questions(row).values() if one["to"] == "human"]
        return {**offer(self.store, row, self.briefing(row.id).text), "waits_for": waiting}

    def questions(self, row: SessionRow) -> dict[str, dict[str, Any]]:
        """The open questions of a session by their id."""
        if not row.questions:
            return {}
        with self.store.db.reading():
            return dict(self.store.snapshots.state_at(row.n, row.id, row.head).questions)

    def check_answered(self, row: SessionRow) -> None:
        """An agent goes on only when every question to a person is answered or waived."""
        waiting = [one for one in self.questions(row).values() if one["to"] == "human"]
        if waiting:
            raise InvalidTransition(
                f"session {row.id[:8]} waits for a person: {waiting[0]['note']}",
                hint="a person answers it in the timeline, the menu bar or the terminal",
                details={"session": row.id, "open_questions": [one["id"] for one in waiting]},
            )

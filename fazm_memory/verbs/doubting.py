"""The verbs of doubt: quarantine what is of doubtful origin, and say which calls were interrupted.

Quarantined events stay in the log and leave every export: context, digest, briefing, search unless asked for,
habits, and what agents read over MCP. With an event goes what came of it in its turn: what the agent said
and, since what it does next may carry on what it read, the calls it made.
"""

from __future__ import annotations

from typing import Any

from fazm_memory.capture.draft import Draft
from fazm_memory.errors import InvalidRequest, NotFound
from fazm_memory.log.quarantine import read
from fazm_memory.log.sessions import SessionRow
from fazm_memory.log.unfinished import unfinished
from fazm_memory.model.followed import CALLS, Followed, followed
from fazm_memory.model.late import LATE
from fazm_memory.model.trust import DOUBTED
from fazm_memory.recall import exports
from fazm_memory.verbs.recalling import Recalling

SILENT = 6 * 3600 * 1_000_000  # microseconds after which an agent that says nothing is taken to be gone


class Doubting(Recalling):
    """What `Memory` holds back. Mixed into it; not for use alone."""

    def quarantine(
        self,
        session: str,
        *,
        seq: int | None = None,
        lift: bool = False,
        words_only: bool = False,
        reason: str | None = None,
        source: str = "cli",
    ) -> dict[str, Any]:
        """Hold a session back from every export, or one event and what came of it; or lift that again.

        What came of it are the agent's words and, unless it is `words_only`, its calls.
        """
        row = self.store.sessions.resolve(session)
        if seq is None and words_only:
            raise InvalidRequest("only what followed an event can be told apart", hint="name it with --seq")
        came = Followed(()) if seq is None else self._came_of(row, seq, words_only)
        held = self.store.ward.held(row.n)
        if lift:
            came = came.within(held.seqs)
        seqs = came.seqs
        if lift and not (held.whole if seq is None else seqs):
            hint = "`fazm-memory state ID` shows what is"
            if held.seqs:
                hint = f"its events are, one by one: --seq {min(held.seqs)} --lift"
            raise InvalidRequest("nothing of that is quarantined", hint=hint)
        self.tell(
            row.id, "quarantine", source=source, seqs=seqs, reason=reason, released=lift, whole=seq is None
        )
        if (self.config.home / exports.FOLDER).exists() and not self.export_contexts():
            exports.keep_only(self.config.home, ())  # while paused nothing is exported, nor left standing
        held = self.store.ward.held(row.n)
        return {
            "session": row.id,
            "whole": held.whole,
            "seqs": sorted(held.seqs),
            "changed": seqs,
            "words": len(came.words),
            "calls": len(came.calls),
            "files": len(came.files),
            "lifted": lift,
        }

    def held_back(self) -> dict[str, str]:
        """The sessions that something of is in quarantine: "whole" or "part", by their ids."""
        book = read(self.store.db)
        rows = self.store.db.execute("SELECT n, id FROM session").fetchall() if book else []
        return {id_: "whole" if book[n].whole else "part" for n, id_ in rows if n in book}

    def _came_of(self, row: SessionRow, seq: int, words_only: bool) -> Followed:
        """An event and what the agent made of it in that turn, after it."""
        if self.position(row, seq) == row.head:
            raise NotFound(f"session {row.id[:8]} has no event {seq}", hint=f"its last is {row.head - 1}")
        log, turns = self.store.log, self.store.sessions
        with self.store.db.reading():
            first = next(log.slice(row.n, row.id, seq, seq + 1))
            begin = turns.turn_position(row.n, first.turn - 1, row.head) if first.turn else 0
            end = turns.turn_position(row.n, first.turn, row.head)
            late = min(row.head, end + LATE)
            # What an agent says of its own accord leads to nothing but words; what it read may.
            calls = not words_only and (first.kind in CALLS or first.trust in DOUBTED)
            return followed(log.slice(row.n, row.id, begin, late), seq, end, calls=calls)

    def note_interrupted(self, *, booted: int | None = None) -> list[dict[str, Any]]:
        """Say of calls that began and cannot finish any more that they were interrupted; which they were.

        Their agent is gone when the machine started anew since (`booted`), or when their session has been
        silent for hours. A call that finishes after all is not held to it.
        """
        now = self.now()
        drafts, told = [], []
        with self.store.db.reading():
            for row, call, name, at in unfinished(self.store):
                if booted is not None and at < booted:
                    why = "the machine was started anew before it ended"
                elif row.last_at < now - SILENT:
                    why = "its agent fell silent before it ended"
                else:
                    continue
                payload = {"call_id": call, "outcome": "interrupted", "error": why}
                key = f"{name}:interrupted"
                drafts.append(Draft(row.id, "action.amend", payload, source="companion", key=key))
                told.append({"session": row.id, "call_id": call, "why": why})
        done = self.record(drafts) if drafts else []
        return [
            one
            for one, result in zip(told, done, strict=True)
            if result.appended is not None and not result.appended.duplicate
        ]

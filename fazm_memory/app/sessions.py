"""Open, record into, move and hand off sessions."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from fazm_memory.app.memory import Memory, Service
from fazm_memory.app.process import companion_pid
from fazm_memory.clock import TimeError
from fazm_memory.errors import (
    Ambiguous,
    Conflict,
    InvalidInput,
    InvalidRequest,
    InvalidTransition,
    NotFound,
    StoreDamaged,
    StoreNewer,
)
from fazm_memory.events import Artifact, Draft
from fazm_memory.lazy import lazy_regex
from fazm_memory.paths import CONTEXT_FOLDER
from fazm_memory.store import (
    AT_WORK,
    MAX_FORK_DEPTH,
    SEQ_MASK,
    SILENT,
    SessionRow,
    Store,
    event_id,
    session_end,
)

if TYPE_CHECKING:
    from fazm_memory.ingest import RecordResult


# Moments of a session as people and agents name them: a position, a turn, a time or an event
#
# | text | moment |
# | --- | --- |
# | `12` | after the first 12 events |
# | `turn 3` | the end of turn 3 |
# | `yesterday 16:00`, `10m`, `2026-11-14T09:30` | after the last event until then |
# | `event 11`, a digest, a call id | after that event |
# | `start`, `now` | the beginning, the end |
#
# As the beginning of a slice a moment is the position before the turn, the time or the event.

POSITION = lazy_regex(r"-?[0-9]{1,60}")
TURN = lazy_regex(r"turn[ :#]?([0-9]{1,9})", re.I)
EVENT = lazy_regex(r"event[ :#]?([0-9]{1,9})", re.I)
DIGEST = lazy_regex(r"[0-9a-f]{8,64}", re.I)
MOMENTS = (
    "Use a position (12), a turn (turn 3), a time (yesterday 16:00, 10m, 2026-11-14T09:30) or an event"
    " (event 11, its digest or its call id)."
)


def position_of(store: Store, row: SessionRow, text: str, now: int, *, begin: bool = False) -> int:
    """The position that a moment names.

    It may lie outside the session: the caller checks the range.
    """
    from fazm_memory.recall import parse_start

    word = text.strip()
    if word.lower() in ("start", "now", "head"):
        return 0 if word.lower() == "start" else row.head
    if POSITION.fullmatch(word):
        return int(word)
    if turn := TURN.fullmatch(word):
        return _turn(store, row, int(turn[1]), begin)
    if event := EVENT.fullmatch(word):
        return _numbered(row, int(event[1])) + (not begin)
    found = _event(store, row, word)
    if found is not None:
        return found + (not begin)
    try:
        at = parse_start(word, now=now)
    except TimeError:
        raise InvalidRequest(
            f'There is no moment "{word[:60]}" in session {row.id[:8]}.', hint=MOMENTS
        ) from None
    return _time(store, row, at, begin)


def _turn(store: Store, row: SessionRow, turn: int, begin: bool) -> int:
    if turn > row.turn:
        raise NotFound(f"session {row.id[:8]} has no turn {turn}", hint=f"its turns go up to {row.turn}")
    if begin:
        return store.sessions.turn_position(row.n, turn - 1, row.head) if turn else 0
    return store.sessions.turn_position(row.n, turn, row.head)


def _numbered(row: SessionRow, seq: int) -> int:
    if seq >= row.head:
        raise NotFound(
            f"session {row.id[:8]} has no event {seq}", hint=f"its events go from 0 to {row.head - 1}"
        )
    return seq


def _event(store: Store, row: SessionRow, word: str) -> int | None:
    """The position of an event by its call id or the beginning of its digest."""
    bounds = event_id(row.n, 0), event_id(row.n, row.head)
    known = store.db.execute("SELECT id FROM event WHERE key=?", (f"{row.id}:call:{word}",)).fetchone()
    if known is not None and bounds[0] <= known[0] < bounds[1]:
        return int(known[0] & SEQ_MASK)
    if not DIGEST.fullmatch(word):
        return None
    rows = store.db.execute(
        "SELECT id FROM event WHERE id >= ? AND id < ? AND substr(hex(digest), 1, ?) = ? LIMIT 2",
        (*bounds, len(word), word.upper()),
    ).fetchall()
    if len(rows) > 1:
        raise Ambiguous(
            f"several events of session {row.id[:8]} have a digest that begins with {word[:64]}",
            hint="give more of the digest, or the position",
        )
    return int(rows[0][0] & SEQ_MASK) if rows else None


def _time(store: Store, row: SessionRow, at: int, begin: bool) -> int:
    compared = "<" if begin else "<="
    last = store.db.execute(
        f"SELECT max(id) FROM event WHERE id >= ? AND id < ? AND at {compared} ?",
        (event_id(row.n, 0), event_id(row.n, row.head), at),
    ).fetchone()[0]
    return 0 if last is None else int(last & SEQ_MASK) + 1


# Sessions

# What only some methods need is imported there: `sessions` and `status` must start quickly.


ENDINGS = ("session.pause", "session.close")
NO_RESULT = "no result was recorded"


class SessionService(Service):
    """Open, record into, move and hand off sessions. Use it as `memory.sessions`."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self._files: dict[int, tuple[int, int]] = {}  # by session: position, and files changed up to it

    def record(self, drafts: Sequence[Draft]) -> list[RecordResult]:
        """Record events. Raises RecordingPaused while recording is paused."""
        self._memory.recording.check()
        results = self._memory.recorder.record(drafts)
        self._export(drafts)
        return results

    def _export(self, drafts: Sequence[Draft]) -> None:
        """Write the contexts if none exist, or if a session ended.

        A running companion writes them itself.
        """
        first = not (self.config.home / CONTEXT_FOLDER).exists()
        ended = any(draft.kind in ENDINGS for draft in drafts)
        if first or (ended and companion_pid(self.config.home) is None):
            self._memory.recall.export_contexts()

    def append(
        self,
        session: str,
        kind: str,
        *,
        source: str = "cli",
        door: str | None = None,
        expected_seq: int | None = None,
        **payload: Any,
    ) -> dict[str, Any]:
        """Record one event of an existing session."""
        row = self.store.sessions.resolve(session)
        fields = {name: value for name, value in payload.items() if value is not None}
        draft = Draft(
            session=row.id, kind=kind, payload=fields, source=source, door=door, expected_seq=expected_seq
        )
        result = self.record([draft])[0]
        if result.error is not None:
            raise result.error
        return self.get(row.id)

    def why_without_effect(self, session: str, seq: int) -> str | None:
        """Why the `pending.done` or `fact.retract` event at a position ends nothing.

        None when it does.

        The event is stored in either case: what it ends may be recorded later.
        """
        row = self.store.sessions.resolve(session)
        event = next(self.store.log.slice(row.n, row.id, seq, seq + 1))
        if event.kind == "fact.retract":
            key = event.payload.key
            stated = self.store.facts.history(key)
            before = [fact for fact in stated if fact.session != row.id or fact.seq < seq]
            if not before:
                return f"there was no fact {key!r}"
            return f"the fact {key!r} was retracted already" if before[-1].retracted else None
        name = event.payload.id
        from fazm_memory.store import events_of_item

        events = events_of_item(self.store, row, "pending", name)
        earlier = [event for event in events if event.session != row.id or event.seq < seq]
        if earlier and earlier[-1].kind == "pending":
            return None
        if any(event.kind == "pending" for event in earlier):
            return f"{name!r} was done already"
        return f"nothing was pending under the name {name!r}"

    def has_no_prompts(self, session: str) -> bool:
        """Whether nothing that the user said is recorded in a session."""
        row = self.store.sessions.resolve(session)
        with self.store.db.reading():
            return not self.store.snapshots.state_at(row.n, row.id, row.head).counts.get("prompts")

    def edit_artifact(
        self,
        session: str,
        name: str,
        changes: Sequence[Mapping[str, Any]],
        *,
        without: Sequence[str] = (),
        version: int | None = None,
        source: str = "cli",
    ) -> dict[str, Any]:
        """Record the next version of an artifact.

        `version`: refuse if it is no longer the latest.
        """
        changed = self.changed_artifact(session, name, changes, without=without, version=version)
        return self.append(session, "artifact", source=source, **changed)

    def changed_artifact(
        self,
        session: str,
        name: str,
        changes: Sequence[Mapping[str, Any]],
        *,
        without: Sequence[str] = (),
        version: int | None = None,
    ) -> dict[str, Any]:
        """The next version of an artifact, with changed, new or removed items."""
        row = self.store.sessions.resolve(session)
        with self.store.db.reading():
            known = self.store.snapshots.state_at(row.n, row.id, row.head).artifacts.get(name)
            whole = None if known is None else self._whole_artifact(row, name, known["seq"])
        if known is None:
            raise NotFound(
                f'session {row.id[:8]} has no artifact "{name[:60]}"',
                hint="write it whole first, with its items",
            )
        if version not in (None, known["version"]):
            raise Conflict(
                f'The artifact "{name[:60]}" is at version {known["version"]}, not {version}.'
                " Nothing was changed.",
                hint="Look at it again, then repeat the change.",
            )
        items, text = whole or ({item["id"]: dict(item) for item in known["items"]}, known["text"])
        for gone in without:
            if items.pop(gone, None) is None:
                raise NotFound(f'The artifact "{name[:60]}" has no item "{gone[:60]}".')
        numbers = (str(number) for number in itertools.count(1))
        for change in changes:
            name_of_item = change.get("id") or next(one for one in numbers if one not in items)
            item = items.get(name_of_item, {"text": None}) | dict(change) | {"id": name_of_item}
            if not item["text"]:
                raise InvalidInput(f'item "{name_of_item[:60]}" is new and needs a text')
            items[name_of_item] = item
        described = {} if text is None else {"text": text}
        return {"name": name, "form": known["form"], "items": list(items.values()), **described}

    def _whole_artifact(
        self, row: SessionRow, name: str, seq: int
    ) -> tuple[dict[str, dict[str, Any]], str | None] | None:
        """All items and the text of an artifact, from the log.

        The state has the first items only, and cuts long texts.
        """
        here: SessionRow | None = row
        for _ in range(MAX_FORK_DEPTH):  # what a fork has of its parent is in the parent's events
            if here is None:
                break
            event = next(self.store.log.slice(here.n, here.id, seq, seq + 1), None)
            payload = None if event is None else event.payload
            if isinstance(payload, Artifact) and payload.name == name:
                rows = [
                    (item.id or str(number), item.text, item.status, item.note)
                    for number, item in enumerate(payload.items, 1)
                ]
                return {
                    id: {"id": id, "text": text, "status": status} | ({} if note is None else {"note": note})
                    for id, text, status, note in rows
                }, payload.text
            here = None if here.parent is None else self.store.sessions.by_key(here.parent, None)
        return None

    def open(
        self,
        agent: str,
        *,
        key: str | None = None,
        workspace: str | None = None,
        title: str | None = None,
        budget: Mapping[str, Any] | None = None,
        source: str = "cli",
    ) -> dict[str, Any]:
        """Open a session.

        A key that is known already returns its session. `budget` has its limits.
        """
        import secrets

        name = key or secrets.token_hex(16)
        payload = {"agent": agent, "workspace": workspace, "title": title, "agent_session_id": name}
        payload |= {f"budget_{what}": limit for what, limit in (budget or {}).items()}
        fields = {field: value for field, value in payload.items() if value is not None}
        result = self.record([Draft(name, "session.open", fields, agent=agent, source=source)])[0]
        if result.appended is None:
            raise result.error or InvalidInput("the session could not be opened")
        return self.get(result.appended.session)

    def get(self, session: str, *, brief: bool = False) -> dict[str, Any]:
        return self.to_json(self.store.sessions.resolve(session), brief=brief)

    def to_json(self, row: SessionRow, *, brief: bool = False) -> dict[str, Any]:
        """The session as JSON, with its changed files and how it ended.

        If it is `brief`, the files are counted by changes and the cost is left out: both read many events.
        """
        if brief:
            return row.to_json() | {"ended": session_end(self.store.db, row, self.now())}
        files = self._changed_files(row) if row.files_modified > 1 else row.files_modified
        return row.to_json() | {
            "files_modified": files,
            "ended": session_end(self.store.db, row, self.now()),
            "cost": self._memory.costs.of_session(row),
        }

    def _changed_files(self, row: SessionRow) -> int:
        """How many files a session changed. Its row counts changes."""
        known = self._files.get(row.n)
        if known is None or known[0] != row.head:
            from fazm_memory.session import changed_files

            try:
                count = changed_files(self.store.snapshots.state_at(row.n, row.id, row.head))
            except (NotFound, StoreDamaged, StoreNewer):  # `verify` reports it
                return row.files_modified
            known = self._files[row.n] = (row.head, count)
        return known[1]

    def position(self, session: str | SessionRow, at: int | str | None, *, begin: bool = False) -> int:
        """A valid position of a session, by default the head.

        See `moments` for other names of it.

        With `begin` it is where a slice begins that includes the turn, the time or the event.
        """
        row = self.store.sessions.resolve(session) if isinstance(session, str) else session
        if at is None:
            return row.head
        if isinstance(at, str):
            at = position_of(self.store, row, at, self.now(), begin=begin)
        if not 0 <= at <= row.head:
            hint = f"its positions go from 0 to {row.head}"
            if row.parent is not None and 0 <= at <= (row.parent_seq or 0):
                hint += f"; it was forked from {row.parent[:8]}, which has a position {at}"
            raise NotFound(
                f"session {row.id[:8]} has no position {at}",
                hint=hint,
                details={"head": row.head},
            )
        return at

    def move(
        self,
        session: str,
        move: str,
        *,
        reason: str | None = None,
        source: str = "cli",
        expected_seq: int | None = None,
    ) -> dict[str, Any]:
        """Pause, resume, close, archive or restore a session."""
        if move == "resume":
            self.check_answered(session)
        return self.append(
            session, f"session.{move}", source=source, expected_seq=expected_seq, reason=reason
        )

    def listing(
        self, *, lifecycle: str | None = None, brief: bool = False, **filters: Any
    ) -> list[dict[str, Any]]:
        """Sessions, latest first.

        One that has been silent for long is not at work, whatever was recorded.
        """
        if lifecycle in AT_WORK:
            filters["since"] = self.now() - SILENT
        filters["lifecycle"] = lifecycle
        return [self.to_json(row, brief=brief) for row in self.store.sessions.listing(**filters)]

    def quarantined(self) -> dict[str, str]:
        """The sessions in quarantine by id, each "whole" or "part"."""
        from fazm_memory.store import read_quarantine

        quarantine = read_quarantine(self.store.db)
        rows = self.store.db.execute("SELECT n, id FROM session").fetchall() if quarantine else []
        return {id_: "whole" if quarantine[n].whole else "part" for n, id_ in rows if n in quarantine}

    def handoff(
        self,
        session: str,
        *,
        to: str,
        note: str,
        answer_schema: Mapping[str, Any] | None = None,
        source: str = "cli",
        expected_seq: int | None = None,
    ) -> dict[str, Any]:
        """Ask a person or the agent a question.

        It stays open until it is answered or waived.
        """
        row = self.store.sessions.resolve(session)
        from fazm_memory.session import BOUNDS

        if row.questions >= BOUNDS["questions"]:  # the state would drop the oldest
            raise InvalidTransition(
                f"session {row.id[:8]} has {row.questions} open questions already; this one was not asked",
                hint="answer or waive some of them first: `fazm-memory questions` lists them",
                details={"session": row.id, "open_questions": row.questions},
            )
        import secrets

        question = f"q{secrets.token_hex(4)}"  # never all digits: some clients would send a number
        result = self.append(session, "handoff", source=source, expected_seq=expected_seq, id=question, to=to,
                             note=note, answer_schema=answer_schema)  # fmt: skip
        return result | {"question": question}

    def answer(
        self,
        session: str,
        question: str,
        answer: Any = None,
        *,
        waived: bool = False,
        source: str = "cli",
        door: str | None = None,
        expected_seq: int | None = None,
    ) -> dict[str, Any]:
        """Answer an open question according to its schema, or waive it."""
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
            from fazm_memory.ingest import coerce_answer

            answer = coerce_answer(asked["answer_schema"], answer)
        return self.append(row.id, "handoff.answer", source=source, door=door, expected_seq=expected_seq,
                           id=question, answer=answer, waived=waived)  # fmt: skip

    def open_questions(self) -> list[dict[str, Any]]:
        """The open questions of all sessions, latest session first."""
        from fazm_memory.store import open_questions

        with self.store.db.reading():
            return open_questions(self.store)

    def questions(self, row: SessionRow) -> dict[str, dict[str, Any]]:
        """The open questions of a session, by id."""
        if not row.questions:
            return {}
        with self.store.db.reading():
            return dict(self.store.snapshots.state_at(row.n, row.id, row.head).questions)

    def check_answered(self, session: str) -> None:
        """Refuse to resume a session while a question to a person is open."""
        from fazm_memory.session import check_answered

        row = self.store.sessions.resolve(session)
        check_answered(row.id, self.questions(row).values())

    def mark_interrupted(self, *, booted: int | None = None) -> list[dict[str, Any]]:
        """Mark unfinished calls whose agent is gone as interrupted. Returns these calls.

        The agent is gone if the machine has started since (`booted`) or its session has been silent for
        hours. A result that arrives later still counts. Why the call has no result is not known, and the mark
        is no activity: it has the time of the last event before it.
        """
        from fazm_memory.store import unfinished_calls

        now = self.now()
        drafts, calls = [], []
        with self.store.db.reading():
            for row, call_id, name, at in unfinished_calls(self.store):
                if row.last_at >= now - SILENT and (booted is None or at >= booted):
                    continue
                payload = {"call_id": call_id, "outcome": "interrupted", "error": NO_RESULT}
                drafts.append(
                    Draft(
                        row.id,
                        "action.amend",
                        payload,
                        at=row.last_at,
                        source="companion",
                        key=f"{name}:interrupted",
                    )
                )
                calls.append({"session": row.id, "call_id": call_id, "why": NO_RESULT})
        results = self.record(drafts) if drafts else []
        return [
            call
            for call, result in zip(calls, results, strict=True)
            if result.appended is not None and not result.appended.duplicate
        ]

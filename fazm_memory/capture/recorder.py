"""The recorder: drafts become events here and nowhere else.

normalise → scrub → type → append, in one transaction for as many drafts as came together. A draft that
cannot be recorded gets its own error; the others are kept. Two drafts with one key are one happening, and a
second telling that knows more (an exit code, a duration) is added as an amendment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from posixpath import isabs, join, normpath
from typing import Any

from fazm_memory.capture.agents.injected import nothing_injected
from fazm_memory.capture.answer_schema import check_answer, check_schema
from fazm_memory.capture.draft import Draft
from fazm_memory.capture.names import NAME, Names
from fazm_memory.capture.scrub import Scrubber
from fazm_memory.capture.told_call import ToldCalls
from fazm_memory.capture.told_outcome import with_outcome
from fazm_memory.errors import Conflict, FazmMemoryError, InvalidInput, InvalidTransition, NotFound
from fazm_memory.log.entries import Appended, Entry, SessionHead
from fazm_memory.log.failed_calls import failed_before
from fazm_memory.log.store import Store
from fazm_memory.log.tables import SEQ_MASK, event_id
from fazm_memory.log.writer import Writer
from fazm_memory.model import codec, lifecycle
from fazm_memory.model.codec import PayloadError
from fazm_memory.model.events import input_hash, payload_class
from fazm_memory.model.payloads import FAILED, Action, LifecycleMove, SessionOpen
from fazm_memory.model.trust import (
    DOUBTED,
    FORM,
    PERSONS_DOORS,
    Trust,
    admit,
    ceiling,
    default_actor,
    lowest,
)

# Once per session and transaction: building this query anew would cost more than all else about a short one.
NAMED = "SELECT n FROM session WHERE (agent_session_id=? AND agent=?) OR id=? LIMIT 1"
# What an agent makes of what it read: it inherits the trust of that.
DERIVED = frozenset({"decision", "fact", "pending", "handoff"})
# Doors through which we watch rather than are told: what they saw has happened, whatever the lifecycle says.
WATCHED = frozenset({"hook", "transcript", "import", "files", "desktop"})


@dataclass(frozen=True)
class Recorded:
    """What became of a draft."""

    appended: Appended | None = None
    error: FazmMemoryError | None = None
    unannounced: bool = False  # nobody had opened its session: it was opened for this


class Recorder:
    def __init__(self, store: Store, scrubber: Scrubber, now: Callable[[], int]) -> None:
        self.store = store
        self.scrubber = scrubber
        self._names = Names(scrubber, store.keys.chain)
        self._told_calls = ToldCalls()
        self.now = now

    def record(
        self, drafts: Sequence[Draft], also: Callable[[Writer], None] = lambda writer: None
    ) -> list[Recorded]:
        """Record drafts together; the answers are in their order, and given only when all is durable.

        `also` is done in the same transaction, after them: where a reader stands, for one.
        """
        results: list[Recorded] = []
        with self.store.writing() as writer:
            for draft in drafts:
                try:
                    known = len(writer.created)
                    appended = self._one(writer, draft)
                    unannounced = len(writer.created) != known and draft.kind != "session.open"
                    results.append(Recorded(appended, unannounced=unannounced))
                except FazmMemoryError as error:
                    results.append(Recorded(error=error))
            also(writer)
        return results

    def _one(self, writer: Writer, draft: Draft) -> Appended:
        at = draft.at if draft.at is not None else self.now()
        draft = self._names.fit(draft)
        door = draft.door or draft.source  # a claim about the source does not open another door
        typed = self._typed(draft)
        head = self._session(writer, draft, at)
        try:
            self._check_question(writer, head, draft.kind, typed, door)
        except FazmMemoryError:
            if draft.key is None or writer.known(draft.key) is None:  # told again, it is what it was
                raise
        if draft.kind == "session.open":
            typed = self._descended(writer, draft, head, typed, at)
            # A session may be met before anybody says where it works, whose fork or whose own it is.
            agent = typed.agent if draft.agent not in (None, typed.agent) else head.agent
            news = (typed.parent or head.parent, typed.workspace or head.workspace, agent)
            if head.head > 0 and news == (head.parent, head.workspace, head.agent):
                return Appended(head.id, 0, duplicate=True)
            typed = replace(typed, agent=agent)
            head.parent = news[0]
            writer.db.execute("UPDATE session SET opened_at=min(opened_at, ?) WHERE n=?", (at, head.n))
        elif draft.kind == "action.start" and draft.key is not None:
            # Told late, of a call that has ended: it would seem to run for ever.
            if (ended := writer.known(draft.key.removesuffix(":start"))) is not None:
                return ended
        elif draft.kind == "action":
            if "files" not in draft.payload and (draft.door == "record" or draft.source == "mcp"):
                typed = self._told_calls.completed(head.id, typed, head.workspace)
            typed = self._linked(writer, head, typed)
        elif draft.kind == "file":
            typed = _placed(typed, head.workspace)
        entry = Entry(
            kind=draft.kind,
            payload=typed,
            at=at,
            actor=draft.actor or default_actor(draft.kind, door),
            source=draft.source,
            trust=lowest((self._origin(writer, head, draft, door), _claimed(draft, typed, door))),
            turn=draft.turn,
            key=draft.key or _call_key(draft, head, typed),
            expected_seq=draft.expected_seq,
        )
        if door in WATCHED:
            self._wake(writer, head, entry)
        return self._append(writer, head, entry)

    def _append(self, writer: Writer, head: SessionHead, entry: Entry) -> Appended:
        appended = writer.append(head, entry)
        if appended.duplicate and entry.kind == "action":
            self._amend(writer, appended, entry)
        return appended

    def _typed(self, draft: Draft) -> Any:
        clean: Any = self.scrubber.value(nothing_injected(dict(draft.payload)))[0]
        for name in ("tool", "agent"):
            if isinstance(clean.get(name), str):
                clean[name] = " ".join(clean[name].split())[:NAME] or "unknown"
        if draft.kind == "action":  # after scrubbing: what is cut from raw text could hold half a secret
            clean = with_outcome(clean)
        try:
            return codec.decode(payload_class(draft.kind), clean)
        except PayloadError as error:
            raise InvalidInput(f"{draft.kind}: {error}") from None

    def _check_question(self, writer: Writer, head: SessionHead, kind: str, typed: Any, door: str) -> None:
        """A question to a person is a person's to answer, as it was asked, and the agent waits for that."""
        if door == FORM and (kind != "handoff.answer" or typed.waived):
            raise InvalidInput(f"{kind}: a form brings the answer to a question and nothing else")
        if kind == "handoff" and typed.answer_schema is not None:
            check_schema(typed.answer_schema)
        if not head.questions or kind not in ("session.resume", "handoff.answer"):
            return
        writer.flush()  # the question may be in this very transaction
        asked = self.store.snapshots.state_at(head.n, head.id, head.head).questions
        if kind == "handoff.answer":
            question = asked.get(typed.id)
            asked = {} if question is None else {typed.id: question}
            if question is not None and not typed.waived:
                check_answer(question["answer_schema"], typed.answer)
        waiting = [one for one in asked.values() if one["to"] == "human"]
        if waiting and door not in PERSONS_DOORS and (door, kind) != (FORM, "handoff.answer"):
            raise InvalidTransition(
                f"session {head.id[:8]} waits for a person: {waiting[0]['note']}",
                hint="a person answers it in the timeline, the menu bar or the terminal",
                details={"session": head.id, "open_questions": [one["id"] for one in waiting]},
            )

    def _origin(self, writer: Writer, head: SessionHead, draft: Draft, door: str) -> Trust:
        """What an agent says after it read something of doubtful origin may come from there.

        That holds until the user speaks again: from then on it is the user's word that it acts on.
        """
        if draft.kind not in DERIVED or door in PERSONS_DOORS or (draft.turn or 0) > head.turn:
            return "user"
        told = writer.events.get(head.n, ())
        fresh = [one.entry.trust for one in told if one.turn == head.turn and one.entry.kind == "action"]
        begin = writer.db.execute(
            "SELECT seq FROM turn WHERE session=? AND turn=?", (head.n, head.turn)
        ).fetchone()
        rows = writer.db.execute(
            "SELECT DISTINCT trust FROM event WHERE id >= ? AND id < ? AND kind='action'",
            (event_id(head.n, 0 if begin is None else begin[0]), event_id(head.n, head.head)),
        ).fetchall()
        return lowest(["user", *(one for one in (*fresh, *(row[0] for row in rows)) if one in DOUBTED)])

    def _session(self, writer: Writer, draft: Draft, at: int) -> SessionHead:
        """The session a draft belongs to; opened now when nobody had announced it."""
        if draft.agent is not None:  # met in this same transaction: a look that costs no query
            for head in writer.heads.values():
                if head.agent == draft.agent and draft.session in (head.agent_session_id, head.id):
                    return head
            found = writer.db.execute(NAMED, (draft.session, draft.agent, draft.session)).fetchone()
            number = None if found is None else found[0]
        else:
            row = self.store.sessions.by_key(draft.session, None)
            number = None if row is None else row.n
        if number is not None:
            return writer.head(number)
        if draft.door == "record" and draft.kind != "session.open":
            _check_beginning(draft)
        agent = draft.agent or "unknown"
        head = writer.create(agent, at, agent_session_id=draft.session)
        if draft.kind != "session.open":
            opening = SessionOpen(agent=agent, agent_session_id=draft.session)
            writer.append(head, Entry("session.open", opening, at, "system", draft.source, "unverified"))
        return head

    def _descended(
        self, writer: Writer, draft: Draft, head: SessionHead, opening: SessionOpen, at: int
    ) -> SessionOpen:
        """A fork's opening with its parent's id in our words, and the position it left from."""
        if opening.parent is None:
            return opening
        parent = self.store.sessions.by_key(opening.parent, draft.agent)
        if parent is None or parent.id == head.id or opening.parent_seq is not None:
            return opening
        writer.flush()  # the parent's past may be in this very transaction
        last = writer.db.execute(
            "SELECT max(id) FROM event WHERE id >= ? AND id < ? AND at <= ?",
            (event_id(parent.n, 0), event_id(parent.n + 1, 0), at),
        ).fetchone()[0]
        return replace(opening, parent=parent.id, parent_seq=0 if last is None else (last & SEQ_MASK) + 1)

    def _linked(self, writer: Writer, head: SessionHead, action: Action) -> Action:
        """The action with its hash, what it is a retry of, and paths that stand on their own."""
        made = input_hash(action.tool, action.input)
        files = tuple(_placed(touch, head.workspace) for touch in action.files)
        return replace(
            action,
            input_hash=made,
            files=files,
            retry_of=action.retry_of or failed_before(writer.db, head.n, made, action),
        )

    def _wake(self, writer: Writer, head: SessionHead, entry: Entry) -> None:
        """What we watched happened even in a session put aside: say that it was taken up again."""
        if entry.kind in lifecycle.KIND_MOVES or head.lifecycle not in ("archived", "paused", "closed"):
            return
        if entry.key is not None and writer.known(entry.key) is not None:
            return
        if head.lifecycle == "archived":
            writer.append(head, _woken("session.restore", entry))
        if head.lifecycle in ("paused", "closed"):
            writer.append(head, _woken("session.resume", entry))

    def _amend(self, writer: Writer, first: Appended, entry: Entry) -> None:
        """A transcript knows outcomes that a hook could not see: add what is new, once."""
        if entry.source != "transcript" or entry.key is None:
            return
        writer.flush()  # the first telling may be in this very transaction
        row = self.store.sessions.resolve(first.session)
        told = next(self.store.log.slice(row.n, row.id, first.seq, first.seq + 1), None)
        if told is None or told.payload is None or told.source == entry.source:
            return
        known: Action = told.payload
        action: Action = entry.payload
        news: dict[str, Any] = {}
        if action.outcome != known.outcome and action.outcome in FAILED:
            news |= {"outcome": action.outcome, "error": action.error}
        if known.duration_ms is None and action.duration_ms is not None:
            news["duration_ms"] = action.duration_ms
        if extra := tuple(touch for touch in action.files if touch not in known.files):
            news["files"] = extra
        if news:
            payload = payload_class("action.amend")(call_id=action.call_id or entry.key, **news)
            amended = replace(
                entry, kind="action.amend", payload=payload, key=f"{entry.key}:amend", turn=None
            )
            try:
                writer.append(writer.head(row.n), replace(amended, expected_seq=None))
            except InvalidTransition:
                return  # the session was put aside since; the action itself is recorded


def _claimed(draft: Draft, typed: Any, door: str) -> Trust:
    return admit(draft.trust, ceiling(draft.kind, door, getattr(typed, "tool", None)))


def _check_beginning(draft: Draft) -> None:
    """A line that no new session would take opens none: refused, it would leave an empty one behind."""
    name = f"there is no session {draft.session[:60]!r}"
    hint = "`session.open` opens one; a name that is mistyped is another session's"
    if lifecycle.moved("open", draft.kind) is None:
        raise NotFound(f"{name} that could be {lifecycle.PAST[lifecycle.move_of(draft.kind)]}", hint=hint)
    if draft.expected_seq not in (None, 1):  # its opening will be at 0, so that whoever tries again is told 1
        raise Conflict(
            f"position {draft.expected_seq} was expected, but {name}", hint=hint, details={"head": 1}
        )


def _woken(kind: str, entry: Entry) -> Entry:
    reason = LifecycleMove(reason=f"seen at work by {entry.source}")
    return Entry(kind, reason, entry.at, "system", entry.source, "agent")


def _call_key(draft: Draft, head: SessionHead, typed: Any) -> str | None:
    """A call id is unique within its agent's session: that makes the same call, told twice, one action."""
    call = getattr(typed, "call_id", None)
    if call is None or draft.kind not in ("action", "action.start"):
        return None
    return f"{head.id}:call:{call}{':start' if draft.kind == 'action.start' else ''}"


def _placed(touch: Any, workspace: str | None) -> Any:
    """A touched file with paths that stand on their own."""
    origin = None if touch.origin is None else _absolute(touch.origin, workspace)
    return replace(touch, path=_absolute(touch.path, workspace), origin=origin)


def _absolute(path: str, workspace: str | None) -> str:
    if not isabs(path) and not path.startswith("~") and workspace:
        path = join(workspace, path)
    return normpath(path) if path else path

"""The recorder: the only place where drafts become events.

Drafts that came together are prepared first (see `prepare`) and then placed in one transaction. A draft that
cannot be recorded gets its own error and does not stop the others. Two drafts with one key are one event; a
second source that knows more, such as an exit code or a duration, adds an amendment.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import is_
from posixpath import isabs, join, normpath
from typing import Any

from fazm_memory.engines.redaction import Redactor
from fazm_memory.errors import Ambiguous, Conflict, FazmMemoryError, InvalidInput, InvalidTransition, NotFound
from fazm_memory.events import (
    FAILED,
    FORM_SOURCE,
    PERSON_SOURCES,
    UNTRUSTED,
    Action,
    BudgetPassed,
    Draft,
    LifecycleMove,
    SessionOpen,
    Trust,
    default_actor,
    event_trust,
    kinds,
    lowest_trust,
    payload_class,
)
from fazm_memory.ingest.limits import Quota, QuotaLimits
from fazm_memory.ingest.prepare import PreparedDraft, Preparer, SessionName
from fazm_memory.ingest.record_protocol import check_answer
from fazm_memory.records import dataclass, replace
from fazm_memory.session import check_answered, state_to_json
from fazm_memory.store import (
    SEQ_MASK,
    AppendResult,
    NewEvent,
    SessionHead,
    Store,
    Writer,
    believed_time,
    earlier_call,
    earlier_failure,
    event_id,
)

NAMED = "SELECT n, id, workspace FROM session WHERE (agent_session_id=? AND agent=?) OR id=? LIMIT 1"
# Events that an agent derives from what it read. They inherit its trust.
DERIVED = frozenset({"decision", "plan", "todos", "fact", "pending", "handoff"})
# Sources that observe. Their events have happened, whatever the state of the session.
WATCHED = frozenset({"hook", "transcript", "import", "files", "desktop"})
# What two events with one key must have in common to be one event in two transcripts.
TEXTS = {"prompt": ("text",), "message": ("text",), "action": ("tool", "input")}
OVERTAKEN = 600_000_000  # microseconds of activity after an end that show that the session went on


@dataclass(frozen=True)
class RecordResult:
    """The result of recording a draft."""

    appended: AppendResult | None = None
    error: FazmMemoryError | None = None
    unannounced: bool = False  # its session was opened for it


class Recorder:
    def __init__(
        self,
        store: Store,
        redactor: Redactor,
        now: Callable[[], int],
        limits: QuotaLimits = QuotaLimits(),  # noqa: B008 (a frozen value)
    ) -> None:
        self.store = store
        self.redactor = redactor
        self.now = now
        self.quota = Quota(store.db, limits)
        self._preparer = Preparer(redactor, store.keys.chain, self._find_session, now)

    def record(
        self, drafts: Sequence[Draft], also: Callable[[Writer], None] = lambda writer: None
    ) -> list[RecordResult]:
        """Record drafts together. Results come in their order, once everything is durable.

        `also` runs in the same transaction after them, for example to save how far a reader has read.
        """
        prepared_drafts = self._preparer.prepare(drafts)
        received = self.now() if any(draft.at is not None for draft in drafts) else None
        results: list[RecordResult] = []
        with self.store.writing() as writer:
            for prepared in prepared_drafts:
                try:
                    created = len(writer.created)
                    appended = self._place(writer, prepared, received)
                    unannounced = len(writer.created) != created and prepared.draft.kind != "session.open"
                    results.append(RecordResult(appended, unannounced=unannounced))
                except FazmMemoryError as error:
                    results.append(RecordResult(error=error))
            also(writer)
            if writer.sizes:
                last = max((prepared.at for prepared in prepared_drafts), default=self.now())
                self.quota.add(writer, last if received is None else min(last, received))
        for prepared, result in zip(prepared_drafts, results, strict=True):
            if prepared.before_inference is not None and result.appended is not None:
                self._preparer.calls.session_created(prepared.known_by, result.appended.session)
        return results

    def learn_secrets(self, found: Mapping[SessionName, Mapping[str, str]]) -> None:
        """Remember secrets that another process found, so that copies are redacted."""
        self._preparer.learn_secrets(found)

    def _find_session(self, draft: Draft) -> tuple[str, str | None] | None:
        if draft.agent is not None:
            found = self.store.db.execute(NAMED, (draft.session, draft.agent, draft.session)).fetchone()
            return None if found is None else (found[1], found[2])
        try:
            row = self.store.sessions.by_key(draft.session, None)
        except Ambiguous:
            return None  # the draft will be refused
        return None if row is None else (row.id, row.workspace)

    def _place(self, writer: Writer, prepared: PreparedDraft, received: int | None) -> AppendResult:
        if prepared.error is not None:
            raise prepared.error
        draft, door, payload = prepared.draft, prepared.door, prepared.payload
        at, claimed = (prepared.at, None) if received is None else believed_time(prepared.at, received)
        head = self._session(writer, draft, at)
        self._check_question(writer, head, prepared)
        if draft.kind == "session.open":
            payload = self._opening(writer, draft, head, payload, at)
            if payload is None:
                return AppendResult(head.id, 0, duplicate=True)
        elif draft.kind == "action.start" and draft.key is not None:
            # If the call has already ended, a late start would look like a call that never ends.
            if (ended := writer.known(draft.key.removesuffix(":start"))) is not None:
                return ended
        elif draft.kind == "action":
            payload = self._call(writer, head, prepared)
        elif draft.kind == "decision":
            self._check_position(writer, head, "decision", "replaces", payload.replaces)
        elif draft.kind == "file":
            payload = _placed(payload, head.workspace)
        trust = event_trust(
            draft.kind, payload, draft.actor, door, draft.trust, self._origin(writer, head, draft, door)
        )
        entry = NewEvent(
            kind=draft.kind,
            payload=self.quota.limited(writer, head.n, draft.kind, at, payload, trust),
            at=at,
            actor=draft.actor or default_actor(draft.kind, door),
            source=draft.source,
            trust=trust,
            turn=draft.turn,
            key=draft.key or _call_key(draft, head, payload),
            expected_seq=draft.expected_seq,
            received=received,
            claimed=claimed,
        )
        if door in WATCHED:
            if draft.kind == "session.close" and _is_over(head, at):
                return AppendResult(head.id, max(0, head.head - 1), duplicate=True)
            entry = self._wake(writer, head, entry)
        appended = writer.append(head, entry)
        if appended.duplicate and door in WATCHED and appended.session != head.id:
            entry, appended = self._as_event_of_its_own(writer, head, entry, appended)
        if appended.duplicate and entry.kind == "action":
            self._amend(writer, appended, entry)
        elif not appended.duplicate and head.lifecycle == "active":
            self._watch_budget(writer, head, entry)
        return appended

    def _opening(self, writer: Writer, draft: Draft, head: SessionHead, payload: Any, at: int) -> Any:
        """The payload of an opening, or None if the session is open and nothing is new."""
        payload = self._descended(writer, draft, head, payload, at)
        # Events of a session may arrive before its workspace, its parent or its owner are known.
        agent = payload.agent if draft.agent not in (None, payload.agent) else head.agent
        news = (payload.parent or head.parent, payload.workspace or head.workspace, agent)
        if head.head > 0 and news == (head.parent, head.workspace, head.agent):
            return None
        head.parent = news[0]
        writer.db.execute("UPDATE session SET opened_at=min(opened_at, ?) WHERE n=?", (at, head.n))
        return replace(payload, agent=agent, device=None)  # only sync says that it is a copy

    def _call(self, writer: Writer, head: SessionHead, prepared: PreparedDraft) -> Any:
        """The payload of a call, with the call that it repeats."""
        payload = prepared.payload
        if prepared.before_inference is not None and prepared.workspace != head.workspace:
            # Rare: another process has just opened the session or stated its workspace. Inferring again
            # holds the lock for longer, but paths in the wrong folder would be worse.
            calls = self._preparer.calls
            payload = calls.completed(head.id, prepared.before_inference, head.workspace)
        return self._linked(writer, head, payload)

    def _watch_budget(self, writer: Writer, head: SessionHead, entry: NewEvent) -> None:
        """Record that the session passed a limit. Any event can pass that of time.

        This is recorded once, and again only after the limit was raised above what was spent.
        """
        passed = writer.passed_limits(head)
        if passed is None:
            return
        writer.flush()  # the state is read with the events of this transaction
        budget = state_to_json(self.store.snapshots.state_at(head.n, head.id, head.head))["budget"]
        exceeded = budget["exceeded"]
        if any(what not in exceeded for what in passed):
            writer.note_passed(head, passed := [what for what in passed if what in exceeded])
        for what in [what for what in exceeded if what not in passed]:
            limit, spent = budget["limits"][what], budget["spent"][what]
            news = BudgetPassed(what=what, limit=float(limit), spent=float(spent))
            writer.append(head, NewEvent("budget", news, entry.at, "system", entry.source, entry.trust))
            writer.note_passed(head, passed := [*passed, what])

    def _as_event_of_its_own(
        self, writer: Writer, head: SessionHead, entry: NewEvent, known: AppendResult
    ) -> tuple[NewEvent, AppendResult]:
        """Record an event whose key another session has, unless it is a copy."""
        if entry.kind not in TEXTS:
            return entry, known
        writer.flush()  # the other event may be in this transaction
        row = self.store.sessions.resolve(known.session)
        other = next(self.store.log.slice(row.n, row.id, known.seq, known.seq + 1), None)
        payload = None if other is None else other.payload
        # A forgotten event says nothing any more, so it counts as the original.
        if other is None or payload is None or other.kind != entry.kind:
            return entry, known
        if getattr(entry.payload, "tool", None) == "unknown":  # a result whose call is in the other session
            return entry, known
        names = TEXTS[entry.kind]
        if all(getattr(payload, name) == getattr(entry.payload, name) for name in names):
            return entry, known
        own = replace(entry, key=f"{entry.key}@{head.id}")
        return own, writer.append(head, own)

    def _check_question(self, writer: Writer, head: SessionHead, prepared: PreparedDraft) -> None:
        """Check the question of a draft, or its answer to one.

        A repeated draft is no error.
        """
        key = prepared.draft.key
        try:
            if prepared.question_error is not None:
                raise prepared.question_error
            self._check_answer(writer, head, prepared.draft.kind, prepared.payload, prepared.door)
        except FazmMemoryError:
            if key is None or writer.known(key) is None:
                raise

    def _check_answer(self, writer: Writer, head: SessionHead, kind: str, payload: Any, door: str) -> None:
        """Check that a person answers a question to a person, in the form it asks for."""
        if not head.questions or kind not in ("session.resume", "handoff.answer"):
            return
        writer.flush()  # the question may be in this transaction
        asked = self.store.snapshots.state_at(head.n, head.id, head.head).questions
        if kind == "handoff.answer":
            question = asked.get(payload.id)
            asked = {} if question is None else {payload.id: question}
            if question is not None and not payload.waived:
                check_answer(question["answer_schema"], payload.answer)
        if door not in PERSON_SOURCES and (door, kind) != (FORM_SOURCE, "handoff.answer"):
            check_answered(head.id, asked.values())

    def _origin(self, writer: Writer, head: SessionHead, draft: Draft, door: str) -> Trust:
        """The lowest trust of what the agent has read since the user last spoke.

        Events that the agent derives inherit it.
        """
        if draft.kind not in DERIVED or door in PERSON_SOURCES or (draft.turn or 0) > head.turn:
            return "user"
        events = writer.events.get(head.n, ())
        fresh = [new.entry.trust for new in events if new.turn == head.turn and new.entry.kind == "action"]
        begin = writer.db.execute(
            "SELECT seq FROM turn WHERE session=? AND turn=?", (head.n, head.turn)
        ).fetchone()
        rows = writer.db.execute(
            "SELECT DISTINCT trust FROM event WHERE id >= ? AND id < ? AND kind='action'",
            (event_id(head.n, 0 if begin is None else begin[0]), event_id(head.n, head.head)),
        ).fetchall()
        return lowest_trust(
            ["user", *(trust for trust in (*fresh, *(row[0] for row in rows)) if trust in UNTRUSTED)]
        )

    def _session(self, writer: Writer, draft: Draft, at: int) -> SessionHead:
        """The session of a draft, opened now if it does not exist."""
        if draft.agent is not None:  # sessions of this transaction need no query
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
        head = writer.create(agent, at, agent_session_id=draft.session, arrived=self.now())
        if draft.kind != "session.open":
            opening = SessionOpen(agent=agent, agent_session_id=draft.session)
            writer.append(head, NewEvent("session.open", opening, at, "system", draft.source, "unverified"))
        return head

    def _descended(
        self, writer: Writer, draft: Draft, head: SessionHead, opening: SessionOpen, at: int
    ) -> SessionOpen:
        """The opening of a fork with our id of its parent and the position of the fork."""
        if opening.parent is None:
            return opening
        parent = self.store.sessions.by_key(opening.parent, draft.agent)
        if parent is None or parent.id == head.id or opening.parent_seq is not None:
            return opening
        writer.flush()  # the parent's events may be in this transaction
        last = writer.db.execute(
            "SELECT max(id) FROM event WHERE id >= ? AND id < ? AND at <= ?",
            (event_id(parent.n, 0), event_id(parent.n + 1, 0), at),
        ).fetchone()[0]
        return replace(opening, parent=parent.id, parent_seq=0 if last is None else (last & SEQ_MASK) + 1)

    def _linked(self, writer: Writer, head: SessionHead, action: Action) -> Action:
        """The action with absolute paths and the call that it retries."""
        files = tuple(_placed(touch, head.workspace) for touch in action.files)
        retry_of = action.retry_of
        if retry_of is None:
            retry_of = _retried(writer, head, action)
        else:
            self._check_position(writer, head, "action", "retry_of", retry_of)
        if retry_of == action.retry_of and all(map(is_, files, action.files)):
            return action
        return replace(action, files=files, retry_of=retry_of)

    def _check_position(
        self, writer: Writer, head: SessionHead, kind: str, field: str, position: int | None
    ) -> None:
        """Check that the position in a payload is an earlier event of this kind."""
        if position is None:
            return
        found = None
        if 0 <= position < head.head:
            fresh = (new.entry.kind for new in writer.events.get(head.n, ()) if new.seq == position)
            row = writer.db.execute(
                "SELECT kind FROM event WHERE id=?", (event_id(head.n, position),)
            ).fetchone()
            found = next(fresh, None) if row is None else row[0]
        if found is None or found.partition(".start")[0] != kind:
            raise InvalidInput(
                f"{kind}: {field} is {position}, but session {head.id[:8]} has no {kind} there",
                hint=f"its events go from 0 to {head.head - 1}; `{field}` is of this session: leave it out",
                details={"head": head.head, "session": head.id},
            )

    def _wake(self, writer: Writer, head: SessionHead, entry: NewEvent) -> NewEvent:
        """Restore or resume a session that was observed at work after its end.

        What happened before the end and is reported after it leaves the session closed, and so do changes
        that the watcher saw: they are no work of the agent.
        """
        if entry.kind in kinds.KIND_MOVES or head.lifecycle not in ("archived", "paused", "closed"):
            return entry
        if entry.key is not None and writer.known(entry.key) is not None:
            return entry
        if entry.source == "files" or (head.lifecycle == "closed" and entry.at <= head.last_at):
            return replace(entry, late=True)
        if head.lifecycle == "archived":
            writer.append(head, _woken("session.restore", entry))
        if head.lifecycle in ("paused", "closed"):
            writer.append(head, _woken("session.resume", entry))
        return entry

    def _amend(self, writer: Writer, first: AppendResult, entry: NewEvent) -> None:
        """Add what a transcript knows and a hook did not, once."""
        if entry.source != "transcript" or entry.key is None:
            return
        writer.flush()  # the first event may be in this transaction
        row = self.store.sessions.resolve(first.session)
        event = next(self.store.log.slice(row.n, row.id, first.seq, first.seq + 1), None)
        if event is None or event.payload is None or event.source == entry.source:
            return
        known: Action = event.payload
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
                return  # the session was paused or closed; the action itself is recorded


def _retried(writer: Writer, head: SessionHead, action: Action) -> int | None:
    """The call that an action retries.

    It is the last one with the same input, unless its result was the same. A failed call is also retried by
    the same tool on the same target.
    """
    failed = earlier_failure(writer.db, head, action)
    last = earlier_call(writer.db, head.n, action)
    if last is None or (last[1] and (failed is None or failed < last[0])):
        return failed
    return last[0] if failed is None else max(failed, last[0])


def _is_over(head: SessionHead, at: int) -> bool:
    """Whether to leave an end out: the session ended before, or went on long after."""
    return head.lifecycle in ("closed", "archived") or head.last_at > at + OVERTAKEN


def _check_beginning(draft: Draft) -> None:
    """Refuse a line that a new session could not take, before the session is created."""
    name = f"there is no session {draft.session[:60]!r}"
    hint = "`session.open` opens one; a name that is mistyped is another session's"
    if kinds.after_event("open", draft.kind) is None:
        raise NotFound(f"{name} that could be {kinds.PAST_PARTICIPLES[kinds.move_of(draft.kind)]}", hint=hint)
    if draft.expected_seq not in (None, 1):  # the opening is at 0, so the next position is 1
        raise Conflict(
            f"position {draft.expected_seq} was expected, but {name}", hint=hint, details={"head": 1}
        )


def _woken(kind: str, entry: NewEvent) -> NewEvent:
    reason = LifecycleMove(reason=f"seen at work by {entry.source}")
    return NewEvent(kind, reason, entry.at, "system", entry.source, "agent")


def _call_key(draft: Draft, head: SessionHead, payload: Any) -> str | None:
    """The key of a call from its id, which is unique in its session."""
    call = getattr(payload, "call_id", None)
    if call is None or draft.kind not in ("action", "action.start"):
        return None
    return f"{head.id}:call:{call}{':start' if draft.kind == 'action.start' else ''}"


def _placed(touch: Any, workspace: str | None) -> Any:
    """A touched file with absolute paths."""
    path = _absolute(touch.path, workspace)
    origin = None if touch.origin is None else _absolute(touch.origin, workspace)
    if (path, origin) == (touch.path, touch.origin):
        return touch
    return replace(touch, path=path, origin=origin)


def _absolute(path: str, workspace: str | None) -> str:
    if not isabs(path) and not path.startswith("~") and workspace:
        path = join(workspace, path)
    return normpath(path) if path else path

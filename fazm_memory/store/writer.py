"""Appending events: one transaction in which events get their positions.

The writer assigns dense positions under the write lock, links the chain, and writes each session row once at
the end. The insert is one prepared statement, because every event goes through it.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from types import TracebackType

from fazm_memory import session as sessions
from fazm_memory.errors import Conflict, FazmMemoryError, InvalidInput, InvalidTransition
from fazm_memory.events import (
    FAILED,
    KINDS,
    Action,
    SessionOpen,
    Usage,
    canonical_json,
    codec,
    input_hash,
    kinds,
    target_of,
)
from fazm_memory.store import hash_chain
from fazm_memory.store.database import Database, Transaction
from fazm_memory.store.event_log import (
    AHEAD,
    EVENT_COLUMNS,
    SEQ_BITS,
    SEQ_MASK,
    UNREAD,
    AppendResult,
    EventLog,
    NewEvent,
    PlacedEvent,
    SessionHead,
    believed_time,
    event_id,
    mac_at,
    to_stored,
)
from fazm_memory.store.hash_chain import ChainHeads
from fazm_memory.store.schema import HOUR
from fazm_memory.store.views import record_quarantine

BUDGET = "budget:"  # with the number of a session: a key of `meta`, if the session has limits
INSERT = "INSERT OR REPLACE INTO failed_call VALUES (?,?,?)"
DELETE = "DELETE FROM failed_call WHERE session=? AND (seq=? OR hash=?)"
SELECT = "SELECT hash, seq FROM failed_call WHERE session=? AND hash IN (?,?)"
# Keys of failed calls are hashes, or begin with "target:". Those of other calls begin with "=".
HAS_FAILED = (
    "SELECT EXISTS (SELECT 1 FROM failed_call WHERE session=?1 AND hash < '=')"
    " OR EXISTS (SELECT 1 FROM failed_call WHERE session=?1 AND hash >= '>')"
)


def target_key(action: Action | None) -> str:
    """The tool and target of a call as a key; empty if it has no target."""
    target = "" if action is None else target_of(action.input)
    return f"target:{input_hash(action.tool, target)}" if action is not None and target else ""


def earlier_failure(db: Database, head: SessionHead, action: Action) -> int | None:
    """The position of the last unresolved failure of such a call.

    One with the same input, or else one with the same tool and target.
    """
    if head.has_failed_calls is None:
        head.has_failed_calls = bool(db.execute(HAS_FAILED, (head.n,)).fetchone()[0])
    if not head.has_failed_calls:  # most sessions; hashing the target costs as much as the query
        return None
    hashed = str(action.input_hash)
    rows = dict(db.execute(SELECT, (head.n, hashed, target_key(action))).fetchall())
    found = rows.get(hashed, next(iter(rows.values()), None))
    return None if found is None else int(found)


def _last_call_prefix(action: Action) -> str:
    return f"={str(action.input_hash)[:20]}"  # no other key begins like this


def _result_digest(action: Action) -> str:
    """Eight characters that differ for another outcome, error or output."""
    text = action.output if isinstance(action.output, str) else None
    output = canonical_json(action.output) if text is None else text.encode("utf-8", "replace")
    result = f"{action.outcome}\0{action.error}\0".encode("utf-8", "replace") + output
    return hashlib.sha256(result).hexdigest()[:8]


def earlier_call(db: Database, number: int, action: Action) -> tuple[int, bool] | None:
    """The last call with the same input, and whether its result was the same.

    These rows are in the table of failed calls too: the key is a hash of the input with one of the result.
    """
    prefix = _last_call_prefix(action)
    row = db.execute(
        "SELECT seq, hash FROM failed_call WHERE session=? AND hash >= ? AND hash < ?",
        (number, prefix, f"{prefix}~"),
    ).fetchone()
    return None if row is None else (int(row[0]), row[1] == prefix + _result_digest(action))


def note_call(db: Database, number: int, action: Action, seq: int) -> int:
    """Note a call as the last one with its input. Returns how many rows were written."""
    if action.input_hash is None:
        return 0
    prefix = _last_call_prefix(action)
    gone = 0
    if action.retry_of is not None:  # else there was no earlier call, or one with the same result
        gone = db.execute(
            "DELETE FROM failed_call WHERE session=? AND hash >= ? AND hash < ?",
            (number, prefix, f"{prefix}~"),
        ).rowcount
    return gone + int(db.execute(INSERT, (number, prefix + _result_digest(action), seq)).rowcount)


def note_failed_call(db: Database, head: SessionHead, action: Action, seq: int) -> None:
    """Note a failed call, or clear the failure that a successful retry resolves."""
    if action.input_hash is None:
        return
    if action.outcome not in FAILED:
        db.execute(DELETE, (head.n, action.retry_of, target_key(action)))
        return
    head.has_failed_calls = True
    for key in filter(None, (action.input_hash, target_key(action))):
        db.execute(INSERT, (head.n, key, seq))


SELECT_HEAD = (
    "SELECT n, id, agent, agent_session_id, title, workspace, lifecycle, parent, parent_seq, background,"
    " opened_at, last_at, head, turn, actions, failures, files_modified, questions, mac, indexed, snapped,"
    " forgotten, device FROM standing WHERE n=?"
)
# No index covers these columns, so that an append rewrites one page for its session, not five.
UPDATE_HEAD = (
    "UPDATE session SET lifecycle=?, last_at=?, head=?, turn=?, actions=?, failures=?, files_modified=?,"
    " questions=?, mac=? WHERE n=?"
)
# Kinds in which somebody says or does something. With one of them a forgotten session is there again.
WORK_KINDS = frozenset({
    "prompt", "message", "action", "decision", "plan", "todos", "artifact", "fact", "pending", "handoff",
})  # fmt: skip
# Events about a session, not of it: a paused or closed one accepts them and stays so.
HOUSEKEEPING = kinds.MAINTENANCE_KINDS | {"session.title", "handoff.answer", "file"}
INSERT_NEW = (
    f"INSERT INTO event ({EVENT_COLUMNS}, tally) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)"
    " ON CONFLICT (key) WHERE key IS NOT NULL DO NOTHING"
)
INHERIT_LIMITS = "INSERT INTO meta SELECT ?, '[]' FROM session s JOIN meta m ON m.key = ? || s.n WHERE s.id=?"
UPDATE_FACE = "UPDATE session SET agent=?, title=?, workspace=?, background=?, hour=? WHERE n=?"


def _is_edit_by_person(head: SessionHead, entry: NewEvent) -> bool:
    """Whether a person edits a checklist or the like while the agent does not work."""
    return entry.kind == "artifact" and entry.actor == "person" and head.lifecycle in ("paused", "closed")


class Writer:
    """One transaction.

    Session rows are read when first used and written back once, at the end.
    """

    def __init__(
        self, database: Database, key: bytes, outside: ChainHeads, cached: dict[int, SessionHead]
    ) -> None:
        self.db = database
        self.key = key
        self.outside = outside
        self.cached = cached
        self.created: list[int] = []
        self.spoiled: FazmMemoryError | None = None  # an append failed half way: commit nothing
        self.heads: dict[int, SessionHead] = {}
        self.events: dict[int, list[PlacedEvent]] = {}
        self.changed: set[int] = set()  # sessions whose history changed
        self.asked: set[int] = set()  # sessions with a new question or answer
        self.sizes: dict[int, int] = {}  # bytes of payloads by session
        self.receipts: set[int] = set()  # sessions with events that are older than their arrival
        # Sessions whose rows must be written, because the newest event does not show all that changed.
        self.behind: set[int] = set()
        self.noted = 0  # rows written about calls, which change no session row

    def create(
        self,
        agent: str,
        at: int,
        *,
        agent_session_id: str | None = None,
        session_id: str | None = None,
        number: int | None = None,
        arrived: int | None = None,
    ) -> SessionHead:
        """A new empty session. Its first event should be `session.open`.

        `arrived` is the time now, if the session is older. Retention counts from there.
        """
        id_ = session_id or os.urandom(16).hex()
        at, _ = (at, None) if arrived is None else believed_time(at, arrived)
        if number is None:
            highest = self.db.execute("SELECT max(n) FROM session").fetchone()[0] or 0
            number = max(highest, self.outside.last(), 0) + 1
        self.db.execute(
            "INSERT INTO session (n, id, agent, agent_session_id, lifecycle, opened_at, last_at, hour, mac)"
            " VALUES (?,?,?,?,'open',?,?,?,?)",
            (number, id_, agent, agent_session_id, at, at, at // HOUR, hash_chain.genesis(self.key, id_)),
        )
        self.db.execute("INSERT INTO arrival VALUES (?,?)", (number, at if arrived is None else arrived))
        self.created.append(number)
        return self.head(number)

    def head(self, number: int) -> SessionHead:
        known = self.heads.get(number)
        if known is None:
            known = self.cached.get(number)
            if known is None:
                known = SessionHead(*self.db.execute(SELECT_HEAD, (number,)).fetchone())
                known.shown = known.face()
            self.heads[number] = known
            self.outside.check(number, known.head, known.mac, lambda seq: mac_at(self.db, number, seq))
        return known

    def known(self, key: str) -> AppendResult | None:
        """The event that already has this key, if any."""
        row = self.db.execute("SELECT id FROM event WHERE key=?", (key,)).fetchone()
        if row is None:
            return None
        return AppendResult(self.head(row[0] >> SEQ_BITS).id, row[0] & SEQ_MASK, duplicate=True)

    def append(self, head: SessionHead, entry: NewEvent) -> AppendResult:
        """Append the event, or refuse it and leave everything as it was."""
        try:
            moved, turn, stored = self._checked(head, entry)
        except FazmMemoryError:
            # An event that was recorded before is a duplicate, even if it would be refused now.
            if entry.key is not None and (known := self.known(entry.key)) is not None:
                return known
            raise
        try:
            return self._place(
                head, entry, moved, turn, KINDS[entry.kind].version, stored, hash_chain.digest_of(stored)
            )
        except FazmMemoryError as error:
            self.spoiled = error
            raise

    def _checked(self, head: SessionHead, entry: NewEvent) -> tuple[kinds.Lifecycle, int, bytes]:
        """The lifecycle after the event, its turn and its stored bytes.

        Raises if the event is refused.
        """
        if head.device is not None:
            raise InvalidTransition(
                f"session {head.id[:8]} is recorded on another machine and can only be read here",
                hint=f"`fazm-memory fork {head.id[:8]}` continues it on this machine",
                details={"session": head.id, "head": head.head},
            )
        if entry.expected_seq is not None and entry.expected_seq != head.head:
            raise Conflict(
                f"Session {head.id[:8]} is at position {head.head}, not at {entry.expected_seq}.",
                hint="read what was added since, then append at the head",
                details={"head": head.head, "session": head.id},
            )
        if head.lifecycle == "active" and entry.turn is None and entry.kind == "action":  # the usual case
            moved: kinds.Lifecycle = "active"
            turn = head.turn
        else:
            moved = head.lifecycle if entry.late else self._moved(head, entry)
            turn = self._turn(head, entry)
        if entry.kind == "rewind" and not 0 <= entry.payload.to <= head.head:
            raise InvalidInput(
                f"Session {head.id[:8]} cannot be rewound to position {entry.payload.to}.",
                hint=f"its positions go from 0 to {head.head}",
                details={"head": head.head, "session": head.id},
            )
        try:
            return moved, turn, to_stored(entry.payload)
        except codec.PayloadError as error:
            raise InvalidInput(f"{entry.kind}: {error}") from None

    def restore(
        self, head: SessionHead, entry: NewEvent, version: int, stored: bytes | None, digest: bytes
    ) -> AppendResult:
        """Append an event of a bundle, a recovery or another machine.

        Its lifecycle move is not checked.
        """
        moved = kinds.after_event(head.lifecycle, entry.kind) or head.lifecycle
        turn = max(head.turn, entry.turn or 0)
        placed = self._place(head, entry, moved, turn, version, stored, digest)
        if placed.duplicate:
            raise Conflict(f"Event {placed.seq} of session {placed.session[:8]} already has this key.")
        return placed

    def _place(
        self,
        head: SessionHead,
        entry: NewEvent,
        moved: kinds.Lifecycle,
        turn: int,
        version: int,
        stored: bytes | None,
        digest: bytes,
    ) -> AppendResult:
        seq = head.head
        failed = touched = 0
        tally = None
        if entry.kind == "action" and entry.payload is not None:
            failed = entry.payload.outcome in FAILED and entry.payload.outcome != "denied"
            for touch in entry.payload.files:
                touched += touch.change != "read"
            tally = head.failures + failed << 32 | head.files_modified + touched
        mac = hash_chain.link(self.key, head.mac, digest, head.id, seq, entry.at, turn, entry.kind, version,
                         entry.actor, entry.source, entry.trust, entry.key)  # fmt: skip
        row = (event_id(head.n, seq), entry.at, turn, entry.kind, version, entry.actor, entry.source,
               entry.trust, entry.key, stored, digest, mac, tally)  # fmt: skip
        # The unique index on keys finds duplicates; a query first would cost every new event a search.
        if not self.db.execute(INSERT_NEW, row).rowcount and entry.key is not None:
            known = self.known(entry.key)
            assert known is not None
            return known
        if stored is not None:
            if head.forgotten and entry.kind in WORK_KINDS:
                self.set_forgotten(head, False)
            self.sizes[head.n] = self.sizes.get(head.n, 0) + len(stored)
        if entry.received is not None:
            self._note_arrival(head.n, seq, entry, entry.received)
        placed = self.events.setdefault(head.n, [])
        placed.append(PlacedEvent(head.id, seq, turn, version, entry, digest, head.mac, mac))
        if turn > head.turn or seq == 0:
            self.db.execute("INSERT OR IGNORE INTO turn VALUES (?,?,?,?)", (head.n, turn, seq, entry.at))
        waits = head.indexed < placed[0].seq  # since before this transaction
        if not (waits and tally is not None and moved == head.lifecycle and turn == head.turn
                and self._shown_by_call(head, entry.at)):  # fmt: skip
            self.behind.add(head.n)
        head.mac, head.head, head.turn, head.lifecycle = mac, seq + 1, turn, moved
        if entry.at > head.last_at and entry.kind not in kinds.MAINTENANCE_KINDS:
            head.last_at = entry.at  # housekeeping years later is not activity
        if tally is not None:
            head.actions += 1
            head.failures += failed
            head.files_modified += touched
            self.noted += note_call(self.db, head.n, entry.payload, seq)
            if failed or entry.payload.retry_of is not None:
                note_failed_call(self.db, head, entry.payload, seq)
        elif entry.payload is not None:
            self._project(head, entry, seq)
        return AppendResult(head.id, seq)

    def set_forgotten(self, head: SessionHead, forgotten: bool) -> None:
        """Note whether nothing is left of a session, so that listings leave it out."""
        if forgotten != bool(head.forgotten):
            head.forgotten = int(forgotten)
            self.db.execute("UPDATE session SET forgotten=? WHERE n=?", (head.forgotten, head.n))

    def _note_arrival(self, number: int, seq: int, entry: NewEvent, received: int) -> None:
        """Note the claimed time of an event, and the arrival of earlier dated ones."""
        if entry.claimed is not None:
            self.db.execute("INSERT INTO claimed VALUES (?,?)", (event_id(number, seq), entry.claimed))
        if entry.at < received - AHEAD and number not in self.receipts:
            self.receipts.add(number)
            self.db.execute("INSERT INTO receipt VALUES (?,?,?)", (number, seq, received))

    def _moved(self, head: SessionHead, entry: NewEvent) -> kinds.Lifecycle:
        moved = kinds.after_event(head.lifecycle, entry.kind)
        if moved is None:
            if entry.kind in HOUSEKEEPING or _is_edit_by_person(head, entry):
                return head.lifecycle
            move = kinds.move_of(entry.kind)
            raise InvalidTransition(
                f"Session {head.id[:8]} cannot be {kinds.PAST_PARTICIPLES[move]}:"
                f" {kinds.refusal_reason(head.lifecycle, move)}",
                details={"session": head.id, "lifecycle": head.lifecycle, "head": head.head},
            )
        return moved

    def _turn(self, head: SessionHead, entry: NewEvent) -> int:
        if entry.turn is None:
            return head.turn + (entry.kind == "prompt" and getattr(entry.payload, "form", None) is None)
        if entry.turn < head.turn:
            raise Conflict(
                f"Turn {entry.turn} is over. Session {head.id[:8]} is in turn {head.turn}.",
                hint="leave `turn` out to append to the current turn",
                details={"turn": head.turn, "head": head.head, "session": head.id},
            )
        return entry.turn

    def _project(self, head: SessionHead, entry: NewEvent, seq: int) -> None:
        payload, kind = entry.payload, entry.kind
        if kind == "action.amend":
            head.failures += payload.outcome in FAILED
            head.files_modified += sum(touch.change != "read" for touch in payload.files)
        elif kind == "file":
            head.files_modified += 1
        elif kind == "session.open":
            head.agent, head.workspace = payload.agent, payload.workspace or head.workspace
            head.title, head.background = payload.title or head.title, int(payload.background)
            if payload.device is not None:
                head.device = payload.device
                self.db.execute("UPDATE session SET device=? WHERE n=?", (head.device, head.n))
            if payload.parent is not None:
                # A parent named late changes every state since the beginning.
                self.db.execute("UPDATE session SET parent=?, parent_seq=?, snapped=0 WHERE n=?",
                                (payload.parent, payload.parent_seq, head.n))  # fmt: skip
                self.db.execute("DELETE FROM snapshot WHERE session=?", (head.n,))
                head.snapped = 0
                self.changed.add(head.n)
            self._limit(head, payload)
            self._inherit_limits(head, payload.parent)
        elif kind == "usage":
            self._limit(head, payload)
        elif kind in ("fact", "fact.retract"):
            value = None if kind == "fact.retract" else json.dumps(payload.value, ensure_ascii=False)
            self.db.execute(
                "INSERT INTO fact VALUES (?,?,?,?,?,?,?,?)",
                (head.n, seq, payload.key, entry.at, value is None, value, entry.trust, entry.actor),
            )
        elif kind == "session.title":
            head.title = payload.title
        elif kind == "prompt":
            head.title = head.title or sessions.title_of(payload.text)
        elif kind in ("handoff", "handoff.answer"):
            # An estimate. `Projections` takes the exact number from the state.
            head.questions = max(0, head.questions + (1 if kind == "handoff" else -1))
            self.asked.add(head.n)
        elif kind == "quarantine":
            record_quarantine(self.db, head.n, payload)
        elif kind == "rewind":
            self.db.execute("INSERT INTO rewind VALUES (?,?,?)", (head.n, seq, payload.to))
            self.changed.add(head.n)

    def _limit(self, head: SessionHead, payload: SessionOpen | Usage) -> None:
        """Note that a session has limits. Those that were passed stay noted."""
        if sessions.has_limits(payload) and self.passed_limits(head) is None:
            self.db.execute("INSERT INTO meta VALUES (?,?)", (f"{BUDGET}{head.n}", "[]"))
            head.limits_passed = []

    def _inherit_limits(self, head: SessionHead, parent: str | None) -> None:
        """Note that a fork has the limits of its parent, none of them passed."""
        if parent is not None and self.passed_limits(head) is None:
            self.db.execute(INHERIT_LIMITS, (f"{BUDGET}{head.n}", BUDGET, parent))
            head.limits_passed = UNREAD

    def passed_limits(self, head: SessionHead) -> list[str] | None:
        """The limits of a session that were passed; None if it has no limits."""
        if head.limits_passed is UNREAD:
            row = self.db.execute("SELECT value FROM meta WHERE key=?", (f"{BUDGET}{head.n}",)).fetchone()
            head.limits_passed = None if row is None else list(json.loads(row[0]))
        return head.limits_passed

    def note_passed(self, head: SessionHead, passed: list[str]) -> None:
        self.db.execute("UPDATE meta SET value=? WHERE key=?", (json.dumps(passed), f"{BUDGET}{head.n}"))
        head.limits_passed = passed

    def flush(self) -> int:
        """Write the session rows that changed.

        Return how many statements ran. The transaction stays open.
        """
        if self.spoiled is not None:
            raise self.spoiled
        wrote = 0
        for number in self.behind:
            head = self.heads[number]
            self.db.execute(UPDATE_HEAD, head.counts())
            face = head.face()
            if face != head.shown:
                self.db.execute(UPDATE_FACE, face)
                head.shown = face
                wrote += 1
            wrote += 1
        self.behind.clear()
        return wrote

    @staticmethod
    def _shown_by_call(head: SessionHead, at: int) -> bool:
        """Whether the session row may lag, because the call shows all that changed.

        True if the session's last time and its hour are those of the call.
        """
        return at >= head.last_at and at // HOUR == head.last_at // HOUR


class WriteTransaction(Transaction):
    """A transaction with a writer.

    Session rows are written before the commit, chain heads after it.
    """

    def __init__(self, log: EventLog, then: Callable[[Writer], None], undone: Callable[[], None]) -> None:
        super().__init__(log.db)
        self.log, self.then, self.undone = log, then, undone

    def __enter__(self) -> Writer:
        super().__enter__()
        log = self.log
        try:
            self.seen = log.change_mark()
            cached, log.cached = log.cached if self.seen == log.stamp else {}, {}
            self.writer = Writer(log.db, log.key, log.outside, cached)
        except BaseException as error:
            self.__exit__(type(error), error, error.__traceback__)
            raise
        return self.writer

    def at_end(self) -> None:
        writer = self.writer
        self.plain = writer.flush() + sum(map(len, writer.events.values())) + writer.noted
        self.then(writer)
        outside = self.log.outside
        outside.announce(writer.created)
        # Prepared before the commit, while the data is in the processor cache.
        self.slots = [
            outside.prepare(head.n, head.head, head.mac) for head in writer.heads.values() if head.head
        ]
        self.changes = self.connection.total_changes

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        done = False
        try:
            super().__exit__(kind, error, trace)
            done = error is None
        finally:
            if not done:
                self.undone()
        if not done:
            return
        log = self.log
        if self.changes == self.seen[1] + self.plain:
            # Only events and session rows were written, so the rows stay valid until anything else writes.
            log.cached = self.writer.heads
            log.stamp = self.seen[0], self.changes
        for slot in self.slots:
            log.outside.put(*slot)

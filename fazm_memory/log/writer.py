"""The writer: one transaction in which events get their places, and nothing else writes any.

It gives dense positions under the write lock, links the chain, and writes back every session it touched once.
Peewee models are for reading; the hot insert is one prepared statement through peewee's connection.
"""

from __future__ import annotations

import json
import secrets

from fazm_memory.errors import Conflict, FazmMemoryError, InvalidInput, InvalidTransition
from fazm_memory.log import chain, failed_calls, quarantine
from fazm_memory.log.chain import Heads
from fazm_memory.log.database import Database
from fazm_memory.log.entries import Appended, Entry, Placed, SessionHead
from fazm_memory.log.rows import EVENT_COLUMNS, to_stored
from fazm_memory.log.tables import HOUR, SEQ_BITS, SEQ_MASK, event_id
from fazm_memory.model import codec, lifecycle
from fazm_memory.model.events import KINDS
from fazm_memory.model.payloads import FAILED

SELECT_HEAD = (
    "SELECT n, id, agent, agent_session_id, title, workspace, lifecycle, parent, parent_seq, background,"
    " opened_at, last_at, head, turn, actions, failures, files_modified, questions, mac, indexed, snapped,"
    " forgotten FROM standing WHERE n=?"
)
# No index is on any of these, so that the usual append rewrites one page for its session, not five.
UPDATE_HEAD = (
    "UPDATE session SET lifecycle=?, last_at=?, head=?, turn=?, actions=?, failures=?, files_modified=?,"
    " questions=?, mac=? WHERE n=?"
)
# Told about a session, not by it: one that is put aside takes these and stays so.
HOUSEKEEPING = lifecycle.KEEPING | {"session.title", "handoff.answer", "file"}
INSERT_NEW = (
    f"INSERT INTO event ({EVENT_COLUMNS}, tally) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)"
    " ON CONFLICT (key) WHERE key IS NOT NULL DO NOTHING"
)
UPDATE_FACE = "UPDATE session SET agent=?, title=?, workspace=?, background=?, hour=? WHERE n=?"


class Writer:
    """One transaction. Sessions are read when first touched and written back once, at the end."""

    def __init__(self, database: Database, key: bytes, outside: Heads, kept: dict[int, SessionHead]) -> None:
        self.db = database
        self.key = key
        self.outside = outside
        self.kept = kept
        self.created: list[int] = []
        self.spoiled: FazmMemoryError | None = None  # what stopped an append half way: nothing may be kept
        self.heads: dict[int, SessionHead] = {}
        self.events: dict[int, list[Placed]] = {}
        self.changed: set[int] = set()  # sessions whose past is another now: their rows are counted anew
        self.asked: set[int] = set()  # sessions with a question or an answer: those are counted anew
        # Sessions of which the newest event does not tell all that has changed: their rows have to.
        self.behind: set[int] = set()

    def create(
        self,
        agent: str,
        at: int,
        *,
        agent_session_id: str | None = None,
        session_id: str | None = None,
        number: int | None = None,
    ) -> SessionHead:
        """A session with nothing in it yet; its first event should be `session.open`."""
        id_ = session_id or secrets.token_hex(16)
        if number is None:
            highest = self.db.execute("SELECT max(n) FROM session").fetchone()[0] or 0
            number = max(highest, self.outside.last(), 0) + 1
        self.db.execute(
            "INSERT INTO session (n, id, agent, agent_session_id, lifecycle, opened_at, last_at, hour, mac)"
            " VALUES (?,?,?,?,'open',?,?,?,?)",
            (number, id_, agent, agent_session_id, at, at, at // HOUR, chain.genesis(self.key, id_)),
        )
        self.created.append(number)
        return self.head(number)

    def head(self, number: int) -> SessionHead:
        known = self.heads.get(number)
        if known is None:
            known = self.kept.get(number)
            if known is None:
                known = SessionHead(*self.db.execute(SELECT_HEAD, (number,)).fetchone())
                known.shown = known.face()
            self.heads[number] = known
            if not self.outside.stands(number, known.head, known.mac):
                self.outside.check(number, known.head, known.mac, lambda seq: mac_at(self.db, number, seq))
        return known

    def known(self, key: str) -> Appended | None:
        """The event that already has this key, if any."""
        row = self.db.execute("SELECT id FROM event WHERE key=?", (key,)).fetchone()
        if row is None:
            return None
        return Appended(self.head(row[0] >> SEQ_BITS).id, row[0] & SEQ_MASK, duplicate=True)

    def append(self, head: SessionHead, entry: Entry) -> Appended:
        """Give the event the session's next position, or refuse it and leave everything as it was."""
        try:
            moved, turn, stored = self._judged(head, entry)
        except FazmMemoryError:
            # What was told before is no error when it is told again, whatever speaks against it by now.
            if entry.key is not None and (seen := self.known(entry.key)) is not None:
                return seen
            raise
        try:
            return self._place(
                head, entry, moved, turn, KINDS[entry.kind].version, stored, chain.digest_of(stored)
            )
        except FazmMemoryError as error:
            self.spoiled = error
            raise

    def _judged(self, head: SessionHead, entry: Entry) -> tuple[lifecycle.Lifecycle, int, bytes]:
        """Where the event would leave the session, its turn and its bytes; or why it is refused."""
        if entry.expected_seq is not None and entry.expected_seq != head.head:
            raise Conflict(
                f"position {entry.expected_seq} was expected, but session {head.id[:8]} is at {head.head}",
                hint="read what was added since, then append at the head",
                details={"head": head.head, "session": head.id},
            )
        if head.lifecycle == "active" and entry.turn is None and entry.kind == "action":  # nearly all of them
            moved: lifecycle.Lifecycle = "active"
            turn = head.turn
        else:
            moved, turn = self._moved(head, entry.kind), self._turn(head, entry)
        if entry.kind == "rewind" and not 0 <= entry.payload.to <= head.head:
            raise InvalidInput(
                f"session {head.id[:8]} cannot be rewound to position {entry.payload.to}",
                hint=f"its positions go from 0 to {head.head}",
                details={"head": head.head, "session": head.id},
            )
        try:
            return moved, turn, to_stored(entry.payload)
        except codec.PayloadError as error:
            raise InvalidInput(f"{entry.kind}: {error}") from None

    def restore(
        self, head: SessionHead, entry: Entry, version: int, stored: bytes | None, digest: bytes
    ) -> Appended:
        """Put back an event saved from elsewhere at the next position: its move is not judged anew."""
        moved = lifecycle.moved(head.lifecycle, entry.kind) or head.lifecycle
        turn = max(head.turn, entry.turn or 0)
        placed = self._place(head, entry, moved, turn, version, stored, digest)
        if placed.duplicate:
            raise Conflict(f"event {placed.seq} of session {placed.session[:8]} has that key already")
        return placed

    def _place(
        self,
        head: SessionHead,
        entry: Entry,
        moved: lifecycle.Lifecycle,
        turn: int,
        version: int,
        stored: bytes | None,
        digest: bytes,
    ) -> Appended:
        seq = head.head
        failed = touched = 0
        tally = None
        if entry.kind == "action" and entry.payload is not None:
            failed = entry.payload.outcome in FAILED
            for touch in entry.payload.files:
                touched += touch.change != "read"
            tally = head.failures + failed << 32 | head.files_modified + touched
        mac = chain.link(self.key, head.mac, digest, head.id, seq, entry.at, turn, entry.kind, version,
                         entry.actor, entry.source, entry.trust, entry.key)  # fmt: skip
        row = (event_id(head.n, seq), entry.at, turn, entry.kind, version, entry.actor, entry.source,
               entry.trust, entry.key, stored, digest, mac, tally)  # fmt: skip
        # The index of keys tells whether it was there: asking first would cost every new event a search.
        if not self.db.execute(INSERT_NEW, row).rowcount and entry.key is not None:
            seen = self.known(entry.key)
            assert seen is not None
            return seen
        placed = self.events.setdefault(head.n, [])
        placed.append(Placed(head.id, seq, turn, version, entry, digest, head.mac, mac))
        if turn > head.turn or seq == 0:
            self.db.execute("INSERT OR IGNORE INTO turn VALUES (?,?,?,?)", (head.n, turn, seq, entry.at))
        waits = head.indexed < placed[0].seq  # since before this transaction
        if not (waits and tally is not None and moved == head.lifecycle and turn == head.turn
                and self._told_by(head, entry.at)):  # fmt: skip
            self.behind.add(head.n)
        head.mac, head.head, head.turn, head.lifecycle = mac, seq + 1, turn, moved
        if entry.at > head.last_at and entry.kind not in lifecycle.KEEPING:
            head.last_at = entry.at  # but not by a clean-up years later: that is not when it was at work
        if tally is not None:
            head.actions += 1
            head.failures += failed
            head.files_modified += touched
            if failed or entry.payload.retry_of is not None:
                failed_calls.remember(self.db, head.n, entry.payload, seq)
        elif entry.payload is not None:
            self._project(head, entry, seq)
        return Appended(head.id, seq)

    def _moved(self, head: SessionHead, kind: str) -> lifecycle.Lifecycle:
        moved = lifecycle.moved(head.lifecycle, kind)
        if moved is None:
            if kind in HOUSEKEEPING:
                return head.lifecycle
            move = lifecycle.move_of(kind)
            raise InvalidTransition(
                f"session {head.id[:8]} cannot be {lifecycle.PAST[move]}:"
                f" {lifecycle.refusal(head.lifecycle, move)}",
                details={"session": head.id, "lifecycle": head.lifecycle, "head": head.head},
            )
        return moved

    def _turn(self, head: SessionHead, entry: Entry) -> int:
        if entry.turn is None:
            return head.turn + 1 if entry.kind == "prompt" else head.turn
        if entry.turn < head.turn:
            raise Conflict(
                f"turn {entry.turn} is past: session {head.id[:8]} is in turn {head.turn}",
                hint="leave `turn` out to append to the current turn",
                details={"turn": head.turn, "head": head.head, "session": head.id},
            )
        return entry.turn

    def _project(self, head: SessionHead, entry: Entry, seq: int) -> None:
        payload, kind = entry.payload, entry.kind
        if kind == "action.amend":
            head.failures += payload.outcome in FAILED
            head.files_modified += sum(touch.change != "read" for touch in payload.files)
        elif kind == "file":
            head.files_modified += 1
        elif kind == "session.open":
            head.agent, head.workspace = payload.agent, payload.workspace or head.workspace
            head.title, head.background = payload.title or head.title, int(payload.background)
            if payload.parent is not None:
                # Told late, the parent's past goes before all that was folded without it.
                self.db.execute("UPDATE session SET parent=?, parent_seq=?, snapped=0 WHERE n=?",
                                (payload.parent, payload.parent_seq, head.n))  # fmt: skip
                self.db.execute("DELETE FROM snapshot WHERE session=?", (head.n,))
                head.snapped = 0
                self.changed.add(head.n)
        elif kind in ("fact", "fact.retract"):
            value = None if kind == "fact.retract" else json.dumps(payload.value, ensure_ascii=False)
            self.db.execute(
                "INSERT INTO fact VALUES (?,?,?,?,?,?,?,?)",
                (head.n, seq, payload.key, entry.at, value is None, value, entry.trust, entry.actor),
            )
        elif kind == "session.title":
            head.title = payload.title
        elif kind == "prompt":
            head.title = head.title or payload.text.strip().split("\n", 1)[0][:80] or None
        elif kind in ("handoff", "handoff.answer"):
            # Right for most; `recount` asks the state, where it can be had.
            head.questions = max(0, head.questions + (1 if kind == "handoff" else -1))
            self.asked.add(head.n)
        elif kind == "quarantine":
            quarantine.note(self.db, head.n, payload)
        elif kind == "rewind":
            self.db.execute("INSERT INTO rewind VALUES (?,?,?)", (head.n, seq, payload.to))
            self.changed.add(head.n)

    def flush(self) -> int:
        """Bring the sessions' rows up to what was appended; the transaction stays open. How many it wrote."""
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
    def _told_by(head: SessionHead, at: int) -> bool:
        """Whether a call at this time tells all that it changes of its session, so that the row of one that
        waits to be taken in may lag: neither its last time nor its hour are other than the call's."""
        return at >= head.last_at and at // HOUR == head.last_at // HOUR


def mac_at(database: Database, number: int, seq: int) -> bytes:
    """The mark of the event at a position, or nothing when there is none."""
    row = database.execute("SELECT mac FROM event WHERE id=?", (event_id(number, seq),)).fetchone()
    return bytes(row[0]) if row is not None else b""

"""What readers see of the log: states, facts, and nothing quarantined.

Snapshots are stored states, so that reading a state folds only the events since. They can be deleted at any
time and are rebuilt from events. A snapshot is used only by the version of the reducer that made it. Forks
and rewinds are resolved here.

Quarantined events, or whole sessions, are left out of every export until released. The log keeps them and
`verify` checks them. The marks are a projection of `quarantine` events, stored as one value. A rewind does
not release them.

Facts hold across sessions and have a history. A later statement on the same key replaces the earlier one, and
a retraction ends it. An agent's statement does not replace the user's.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from fazm_memory import session as sessions  # the reducer is loaded with the first state
from fazm_memory.clock import iso
from fazm_memory.errors import NotFound, StoreDamaged, StoreNewer
from fazm_memory.events import TRUST_RANK, Event, Quarantine
from fazm_memory.records import dataclass, replace
from fazm_memory.store.database import Database, compress, decompress
from fazm_memory.store.event_log import SEQ_BITS, SEQ_MASK, EventLog
from fazm_memory.store.sessions import SessionRow, effective_ranges

if TYPE_CHECKING:
    from fazm_memory.session import SessionState

KEY = "quarantine"


@dataclass(frozen=True)
class QuarantinedEvents:
    """The quarantined events of a session."""

    whole: bool = False
    seqs: frozenset[int] = frozenset()

    def has(self, seq: int) -> bool:
        return self.whole or seq in self.seqs


NOT_QUARANTINED = QuarantinedEvents()


def read_quarantine(db: Database) -> dict[int, QuarantinedEvents]:
    """The quarantined events by session number."""
    row = db.execute("SELECT value FROM meta WHERE key=?", (KEY,)).fetchone()
    if row is None:
        return {}
    return {
        int(number): QuarantinedEvents(entry["whole"], frozenset(entry["seqs"]))
        for number, entry in json.loads(row[0]).items()
    }


def apply_quarantine(before: QuarantinedEvents, event: Quarantine) -> QuarantinedEvents:
    """The quarantined events after one more `quarantine` event."""
    if event.released:
        # Releasing a session does not release events that were quarantined on their own.
        return QuarantinedEvents(before.whole and not event.whole, before.seqs - set(event.seqs))
    return QuarantinedEvents(before.whole or event.whole, before.seqs | set(event.seqs))


def record_quarantine(db: Database, number: int, event: Quarantine) -> None:
    """Apply a `quarantine` event. In its transaction."""
    write_quarantine(db, number, apply_quarantine(read_quarantine(db).get(number, NOT_QUARANTINED), event))


def write_quarantine(db: Database, number: int, held: QuarantinedEvents) -> None:
    """Replace the marks of a session. In a transaction."""
    all_marks = read_quarantine(db)
    all_marks[number] = held
    raw = {
        n: {"whole": marks.whole, "seqs": sorted(marks.seqs)}
        for n, marks in all_marks.items()
        if marks != NOT_QUARANTINED
    }
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (KEY, json.dumps(raw)))


class QuarantineView:
    """The log without quarantined events and states that include them, for exports."""

    def __init__(self, db: Database, snapshots: Snapshots) -> None:
        self.db = db
        self.snapshots = snapshots

    def marks_of(self, number: int) -> QuarantinedEvents:
        return read_quarantine(self.db).get(number, NOT_QUARANTINED)

    def ids(self, event: int) -> bool:
        """Whether the event with this id is quarantined."""
        return self.marks_of(event >> SEQ_BITS).has(event & SEQ_MASK)

    def rows(self, rows: Iterable[SessionRow]) -> list[SessionRow]:
        """These sessions without those that are quarantined as a whole."""
        all_marks = read_quarantine(self.db)
        return [row for row in rows if not all_marks.get(row.n, NOT_QUARANTINED).whole]

    def events(self, number: int, events: Iterable[Event]) -> list[Event]:
        """These events of a session without the quarantined ones."""
        withheld = self.withheld(number)
        return [event for event in events if not withheld(event)]

    def withheld(self, number: int) -> Callable[[Event], bool]:
        """A test for whether an event of a session is quarantined.

        Also true for checkpoints that include quarantined events, of this session or of one it was forked
        from.
        """
        all_marks = read_quarantine(self.db)
        marks = all_marks.get(number, NOT_QUARANTINED)
        began = bool(all_marks) and self._began_with(number, all_marks)
        first = -1 if began else min(marks.seqs, default=SEQ_MASK)
        return lambda event: marks.has(event.seq) or (event.kind == "checkpoint" and first < event.seq)

    def _began_with(self, number: int, all_marks: dict[int, QuarantinedEvents]) -> bool:
        """Whether the history that a fork inherited has quarantined events."""
        parents = filter(None, map(self._parent, self._family(number)))
        taken = ((all_marks.get(above, NOT_QUARANTINED), position) for above, _, position in parents)
        return any(marks.whole or min(marks.seqs, default=position) < position for marks, position in taken)

    def state_at(self, number: int, session: str, at: int) -> SessionState:
        """The state as if quarantined events did not exist.

        Only the number of quarantined calls is included, so that a day of work does not look empty.
        """
        all_marks = read_quarantine(self.db)
        if not all_marks or not any(member in all_marks for member in self._family(number)):
            return self.snapshots.state_at(number, session, at)
        marks = all_marks.get(number, NOT_QUARANTINED)
        if marks.whole:
            full = self.snapshots.state_at(number, session, at)
            return replace(sessions.initial_state(session), at=at, lifecycle=full.lifecycle)
        state, calls, withheld = self._beginning(number, session), 0, self.withheld(number)

        def visible(events: Iterable[Event]) -> Iterator[Event]:
            nonlocal calls
            for event in events:
                if not withheld(event):
                    yield event
                elif event.kind == "action":
                    calls += 1

        for low, high in effective_ranges(self.db, number, at):
            state = sessions.fold(state, visible(self.snapshots.log.slice(number, session, low, high)))
        if calls:
            counts = state.counts | {
                sessions.QUARANTINED_CALLS: state.counts.get(sessions.QUARANTINED_CALLS, 0) + calls
            }
            state = replace(state, counts=counts)
        return replace(state, at=at)

    def _beginning(self, number: int, session: str) -> SessionState:
        parent = self._parent(number)
        if parent is None:
            return sessions.initial_state(session)
        above, name, position = parent
        return sessions.fork_state(self.state_at(above, name, position), session)

    def _family(self, number: int) -> list[int]:
        found = [number]
        while (parent := self._parent(found[-1])) is not None and parent[0] not in found:
            found.append(parent[0])
        return found

    def _parent(self, number: int) -> tuple[int, str, int] | None:
        row = self.db.execute(
            "SELECT above.n, above.id, child.parent_seq FROM session AS child"
            " JOIN session AS above ON above.id = child.parent WHERE child.n=?",
            (number,),
        ).fetchone()
        return None if row is None or row[2] is None else (int(row[0]), str(row[1]), int(row[2]))


SPACING = 1000
CHEAP = 100  # events that are folded at each read without storing a snapshot
MOST_RUNNING = 8  # sessions with a state in memory


class Snapshots:
    """The states of sessions at positions."""

    def __init__(self, log: EventLog) -> None:
        self.log = log
        self.db = log.db
        self.running: dict[int, SessionState] = {}
        # The last states that were read, by session and position, until anything is written.
        self._read: dict[tuple[int, int], SessionState] = {}
        self._read_at = (-1, -1)
        self._most_read = 1

    def state_at(self, number: int, session: str, at: int) -> SessionState:
        """The state after the first `at` events of the session."""
        seen = self.log.change_mark()
        if seen != self._read_at:
            self._read.clear()
            self._read_at = seen
        state = self._read.pop((number, at), None) or self._read_state(number, session, at)
        self._read[number, at] = state  # at the end: read last
        self._trim_read()
        return state

    @contextmanager
    def keeping(self, states: int) -> Iterator[None]:
        """Keep this many states in memory, for a block that reads them repeatedly."""
        before, self._most_read = self._most_read, states
        try:
            yield
        finally:
            self._most_read = before
            self._trim_read()

    def _trim_read(self) -> None:
        while len(self._read) > self._most_read:
            del self._read[next(iter(self._read))]

    def _read_state(self, number: int, session: str, at: int) -> SessionState:
        seq, state = self._nearest(number, session, at)
        rewound = self.db.execute(
            "SELECT seq, target FROM rewind WHERE session=? AND seq < ? ORDER BY seq DESC LIMIT 1",
            (number, at),
        ).fetchone()
        if rewound is not None and rewound[0] >= seq:
            seq, state = rewound[0], self.state_at(number, session, rewound[1])
        return sessions.fold(state, self.log.slice(number, session, seq, at))

    def _nearest(self, number: int, session: str, at: int) -> tuple[int, SessionState]:
        row = self.db.execute(
            "SELECT seq, state FROM snapshot WHERE session=? AND seq <= ? AND fold=?"
            " ORDER BY seq DESC LIMIT 1",
            (number, at, sessions.FOLD_VERSION),
        ).fetchone()
        if row is not None:
            return row[0], sessions.from_snapshot(decompress(row[1]))
        return 0, self._beginning(number, session)

    def _beginning(self, number: int, session: str) -> SessionState:
        """The initial state; for a fork, the state of its parent at the fork."""
        parent, position = self.db.execute(
            "SELECT parent, parent_seq FROM session WHERE n=?", (number,)
        ).fetchone()
        if parent is None or position is None:
            return sessions.initial_state(session)
        found = self.db.execute("SELECT n, id FROM session WHERE id=?", (parent,)).fetchone()
        if found is None:
            raise NotFound(
                f"Session {session[:8]} was forked from {parent[:8]}, which is not in this store.",
                hint="import the bundle of the parent",
            )
        return sessions.fork_state(self.state_at(found[0], found[1], position), session)

    def advance(self, number: int, session: str, events: list[Event], snapped: int) -> int:
        """Fold new events and store due snapshots.

        Return the last stored position. In a transaction. The state stays in memory once a session has its
        first snapshot. Most sessions are shorter.
        """
        if not events:
            return snapped
        start, stop = events[0].seq, events[-1].seq + 1
        state = self.running.pop(number, None)
        # Both change earlier history: a rewind, and an opening recorded late that names a parent.
        moved = any(event.kind in ("rewind", "session.open") for event in events)
        if state is None or state.at != start or moved:
            return self.catch_up(number, session, stop, snapped)
        while stop - snapped >= SPACING:
            snapped += SPACING
            state = sessions.fold(state, events[: snapped - start])
            events, start = events[snapped - start :], snapped
            self._save(number, snapped, state)
            self.db.execute("UPDATE session SET snapped=? WHERE n=?", (snapped, number))
        self._run_on(number, sessions.fold(state, events))
        return snapped

    def _run_on(self, number: int, state: SessionState) -> None:
        self.running[number] = state
        if len(self.running) > MOST_RUNNING:
            del self.running[next(iter(self.running))]

    def reset(self) -> None:
        """Drop the states in memory."""
        self.running.clear()
        self._read.clear()

    def catch_up(self, number: int, session: str, head: int, snapped: int) -> int:
        """Store a snapshot every SPACING events.

        Return the last stored position. In a transaction.
        """
        at = snapped
        # Outdated snapshots are rebuilt step by step when the companion is idle, not while appending.
        if head - at < SPACING or self.missing(number, at):
            return at
        state = self.state_at(number, session, at)
        while head - at >= SPACING:
            rewinds = self.db.execute(
                "SELECT 1 FROM rewind WHERE session=? AND seq >= ? AND seq < ?", (number, at, at + SPACING)
            ).fetchone()
            at += SPACING
            if rewinds is not None:
                state = self.state_at(number, session, at)
            else:
                state = sessions.fold(state, self.log.slice(number, session, at - SPACING, at))
            self._save(number, at, state)
        self.db.execute("UPDATE session SET snapped=? WHERE n=?", (at, number))
        self._run_on(number, self.state_at(number, session, head))
        return at

    def far_behind(self, number: int, at: int) -> bool:
        """Whether reading the state at a position is slow enough to store it."""
        return self._since(number, at) > CHEAP

    def missing(self, number: int, at: int) -> bool:
        """Whether snapshots are missing, such as those of an older reducer."""
        return self._since(number, at) > 2 * SPACING

    def stale(self, number: int | None = None) -> list[tuple[int, str, int]]:
        """Sessions with snapshots of another reducer: number, id, events (about).

        Parents come before their forks.
        """
        where, values = ("", ()) if number is None else (" AND n=?", (number,))
        rows = self.db.execute(
            "SELECT n, id, count(*) FROM snapshot JOIN session ON n = snapshot.session"
            f" WHERE fold <> ?{where} GROUP BY n ORDER BY n",
            (sessions.FOLD_VERSION, *values),
        )
        return [(int(n), str(id_), int(count) * SPACING) for n, id_, count in rows.fetchall()]

    def rebuild_one(self, number: int, session: str) -> bool:
        """Rebuild a session's first outdated snapshot.

        Return whether there was one. In a transaction.
        """
        (seq,) = self.db.execute(
            "SELECT min(seq) FROM snapshot WHERE session=? AND fold <> ? AND seq % ? = 0",
            (number, sessions.FOLD_VERSION, SPACING),
        ).fetchone()
        if seq is None:  # only one of an earlier head is left
            self.db.execute(
                "DELETE FROM snapshot WHERE session=? AND fold <> ?", (number, sessions.FOLD_VERSION)
            )
            return False
        try:
            self._save(number, seq, self.state_at(number, session, seq))
        except (NotFound, StoreDamaged, StoreNewer):  # `verify` reports it
            self.drop(number)
        return True

    def wrong(self, number: int, session: str) -> list[int]:
        """Positions of stored states whose hash is not that of the events folded again."""
        rows = self.db.execute(
            "SELECT seq, state FROM snapshot WHERE session=? AND fold=? ORDER BY seq",
            (number, sessions.FOLD_VERSION),
        ).fetchall()
        if not rows:
            return []
        try:
            return self._wrong(number, session, rows)
        except (NotFound, StoreNewer):  # its parent is not here, or a newer program wrote it
            return []

    def _wrong(self, number: int, session: str, rows: list[tuple[int, bytes]]) -> list[int]:
        rewound = self.db.execute("SELECT 1 FROM rewind WHERE session=? LIMIT 1", (number,)).fetchone()
        state = begin = self._beginning(number, session)
        at, found = 0, []
        for seq, packed in rows:
            if rewound is None:
                state, at = sessions.fold(state, self.log.slice(number, session, at, seq)), seq
            else:
                ranges = effective_ranges(self.db, number, seq)
                state = begin
                for low, high in ranges:
                    state = sessions.fold(state, self.log.slice(number, session, low, high))
            if sessions.state_hash(sessions.from_snapshot(decompress(packed))) != sessions.state_hash(state):
                found.append(seq)
        return found

    def _since(self, number: int, at: int) -> int:
        row = self.db.execute(
            "SELECT max(seq) FROM snapshot WHERE session=? AND seq <= ? AND fold=?",
            (number, at, sessions.FOLD_VERSION),
        ).fetchone()
        return int(at - (row[0] or 0))

    def save_head(self, number: int, session: str, head: int) -> None:
        """Store the state at the head. It replaces the previous one. In a transaction."""
        state = self.state_at(number, session, head)
        self.db.execute("DELETE FROM snapshot WHERE session=? AND seq % ? <> 0", (number, SPACING))
        self._save(number, head, state)
        self._read_at = self.log.change_mark()  # storing a state changes none

    def _save(self, number: int, at: int, state: SessionState) -> None:
        packed = compress(sessions.to_snapshot(state))
        self.db.execute(
            "INSERT OR REPLACE INTO snapshot VALUES (?,?,?,?)", (number, at, sessions.FOLD_VERSION, packed)
        )

    def drop(self, number: int | None = None) -> None:
        """Delete the snapshots of one session, or of all. In a transaction."""
        self.reset()
        where, values = ("", ()) if number is None else (" WHERE session=?", (number,))
        self.db.execute(f"DELETE FROM snapshot{where}", values)
        where = "" if number is None else " WHERE n=?"
        self.db.execute(f"UPDATE session SET snapped=0{where}", values)


COLUMNS = (
    "fact.key, fact.value, fact.at, fact.retracted, fact.trust, fact.actor, session.id, fact.seq, workspace,"
    " fact.session"
)


@dataclass(frozen=True)
class FactRow:
    """One statement on a key, with who made it and where in the log."""

    key: str
    value: Any
    at: int
    retracted: bool
    trust: str
    actor: str
    session: str
    seq: int
    workspace: str | None
    number: int  # of the session; internal

    def to_json(self) -> dict[str, Any]:
        row = {**self.__dict__, "at": iso(self.at)}
        del row["number"]
        return row


class Facts:
    def __init__(self, database: Database) -> None:
        self.db = database
        self.until: int | None = None  # shows only what was stated up to this time

    def history(self, key: str | None = None) -> list[FactRow]:
        """Every statement on a key, or on all keys, oldest first."""
        where, values = ("", ()) if key is None else (" WHERE fact.key=?", (key,))
        rows = self.db.execute(
            f"SELECT {COLUMNS} FROM fact JOIN session ON session.n = fact.session{where}"
            " ORDER BY fact.key, fact.at, fact.session, fact.seq",
            values,
        ).fetchall()
        return [
            FactRow(row[0], None if row[1] is None else json.loads(row[1]), row[2], bool(row[3]), *row[4:])
            for row in rows
            if self.until is None or row[2] <= self.until
        ]

    def current(self) -> list[FactRow]:
        """For each key the latest statement of the most trusted speaker, unless retracted."""
        standing: dict[str, FactRow] = {}
        book = read_quarantine(self.db)
        for row in self.history():
            if book and book.get(row.number, NOT_QUARANTINED).has(row.seq):
                continue  # quarantined
            known = standing.get(row.key)
            if known is not None and TRUST_RANK.get(known.trust, 0) > TRUST_RANK.get(row.trust, 0):
                continue  # an agent does not overrule the user
            if row.retracted:
                standing.pop(row.key, None)
            else:
                standing[row.key] = row
        return sorted(standing.values(), key=lambda row: (-TRUST_RANK.get(row.trust, 0), row.key))

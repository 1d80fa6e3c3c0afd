"""Snapshots: stored session states, so that reading a state folds only the events since.

They can be deleted at any time and are rebuilt from events. A snapshot is used only by the version of the
reducer that made it. Forks and rewinds are resolved here.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from fazm_memory.errors import NotFound, StoreDamaged, StoreNewer
from fazm_memory.events import Event
from fazm_memory.session import (
    FOLD_VERSION,
    SessionState,
    fold,
    fork_state,
    from_snapshot,
    initial_state,
    state_hash,
    to_snapshot,
)
from fazm_memory.store.database import compress, decompress
from fazm_memory.store.event_log import EventLog
from fazm_memory.store.sessions import effective_ranges

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
        seen = self.log.seen()
        if seen != self._read_at:
            self._read.clear()
            self._read_at = seen
        state = self._read.pop((number, at), None) or self._read_state(number, session, at)
        self._read[number, at] = state  # at the end: read last
        self._trim_read()
        return state

    @contextmanager
    def keeping(self, states: int) -> Iterator[None]:
        """Keep so many of the states that are read during the block, for work that reads them repeatedly."""
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
        return fold(state, self.log.slice(number, session, seq, at))

    def _nearest(self, number: int, session: str, at: int) -> tuple[int, SessionState]:
        row = self.db.execute(
            "SELECT seq, state FROM snapshot WHERE session=? AND seq <= ? AND fold=?"
            " ORDER BY seq DESC LIMIT 1",
            (number, at, FOLD_VERSION),
        ).fetchone()
        if row is not None:
            return row[0], from_snapshot(decompress(row[1]))
        return 0, self._beginning(number, session)

    def _beginning(self, number: int, session: str) -> SessionState:
        """The initial state; for a fork, the state of its parent at the fork."""
        parent, position = self.db.execute(
            "SELECT parent, parent_seq FROM session WHERE n=?", (number,)
        ).fetchone()
        if parent is None or position is None:
            return initial_state(session)
        found = self.db.execute("SELECT n, id FROM session WHERE id=?", (parent,)).fetchone()
        if found is None:
            raise NotFound(
                f"Session {session[:8]} was forked from {parent[:8]}, which is not in this store.",
                hint="import the bundle of the parent",
            )
        return fork_state(self.state_at(found[0], found[1], position), session)

    def advance(self, number: int, session: str, events: list[Event], snapped: int) -> int:
        """Fold new events and store due snapshots. Return the last stored position. In a transaction.

        The state stays in memory once a session has its first snapshot. Most sessions are shorter.
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
            state = fold(state, events[: snapped - start])
            events, start = events[snapped - start :], snapped
            self._save(number, snapped, state)
            self.db.execute("UPDATE session SET snapped=? WHERE n=?", (snapped, number))
        self._run_on(number, fold(state, events))
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
        """Store a snapshot every SPACING events. Return the last stored position. In a transaction."""
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
                state = fold(state, self.log.slice(number, session, at - SPACING, at))
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
        """Sessions with snapshots of another reducer version: number, id, approximate events.

        Parents come before their forks.
        """
        where, values = ("", ()) if number is None else (" AND n=?", (number,))
        rows = self.db.execute(
            "SELECT n, id, count(*) FROM snapshot JOIN session ON n = snapshot.session"
            f" WHERE fold <> ?{where} GROUP BY n ORDER BY n",
            (FOLD_VERSION, *values),
        )
        return [(int(n), str(id_), int(count) * SPACING) for n, id_, count in rows.fetchall()]

    def rebuild_one(self, number: int, session: str) -> bool:
        """Rebuild a session's first outdated snapshot. Return whether there was one. In a transaction."""
        (seq,) = self.db.execute(
            "SELECT min(seq) FROM snapshot WHERE session=? AND fold <> ? AND seq % ? = 0",
            (number, FOLD_VERSION, SPACING),
        ).fetchone()
        if seq is None:  # only one of an earlier head is left
            self.db.execute("DELETE FROM snapshot WHERE session=? AND fold <> ?", (number, FOLD_VERSION))
            return False
        try:
            self._save(number, seq, self.state_at(number, session, seq))
        except (NotFound, StoreDamaged, StoreNewer):  # `verify` reports it
            self.drop(number)
        return True

    def wrong(self, number: int, session: str) -> list[int]:
        """Positions of stored states whose hash is not that of the events folded again."""
        rows = self.db.execute(
            "SELECT seq, state FROM snapshot WHERE session=? AND fold=? ORDER BY seq", (number, FOLD_VERSION)
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
                state, at = fold(state, self.log.slice(number, session, at, seq)), seq
            else:
                ranges = effective_ranges(self.db, number, seq)
                state = begin
                for low, high in ranges:
                    state = fold(state, self.log.slice(number, session, low, high))
            if state_hash(from_snapshot(decompress(packed))) != state_hash(state):
                found.append(seq)
        return found

    def _since(self, number: int, at: int) -> int:
        row = self.db.execute(
            "SELECT max(seq) FROM snapshot WHERE session=? AND seq <= ? AND fold=?",
            (number, at, FOLD_VERSION),
        ).fetchone()
        return int(at - (row[0] or 0))

    def save_head(self, number: int, session: str, head: int) -> None:
        """Store the state at the head. It replaces the previous one. In a transaction."""
        state = self.state_at(number, session, head)
        self.db.execute("DELETE FROM snapshot WHERE session=? AND seq % ? <> 0", (number, SPACING))
        self._save(number, head, state)

    def _save(self, number: int, at: int, state: SessionState) -> None:
        packed = compress(to_snapshot(state))
        self.db.execute(
            "INSERT OR REPLACE INTO snapshot VALUES (?,?,?,?)", (number, at, FOLD_VERSION, packed)
        )

    def drop(self, number: int | None = None) -> None:
        """Delete the snapshots of one session, or of all. In a transaction."""
        self.reset()
        where, values = ("", ()) if number is None else (" WHERE session=?", (number,))
        self.db.execute(f"DELETE FROM snapshot{where}", values)
        where = "" if number is None else " WHERE n=?"
        self.db.execute(f"UPDATE session SET snapped=0{where}", values)

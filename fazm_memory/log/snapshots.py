"""Cached folds, so that the state at any position costs the events since the last snapshot, not all of them.

Deletable at any time: they are rebuilt from events. A snapshot is used only by the version of the fold that
made it. Forks and rewinds are resolved here: a position's state is that of the path that leads to it.
"""

from __future__ import annotations

import zstandard

from fazm_memory.errors import NotFound, StoreDamaged, StoreNewer
from fazm_memory.log.eventlog import EventLog
from fazm_memory.model.events import Event
from fazm_memory.model.fold import fold, initial
from fazm_memory.model.inheritance import inherited
from fazm_memory.model.state import FOLD_VERSION, SessionState, from_snapshot, to_snapshot

SPACING = 1000
GLANCE = 100  # events folded without keeping what came of them
MOST_RUNNING = 8  # sessions folded along in memory

_compressor = zstandard.ZstdCompressor(level=3)
_decompressor = zstandard.ZstdDecompressor()


class Snapshots:
    def __init__(self, log: EventLog) -> None:
        self.log = log
        self.db = log.db
        self.running: dict[int, SessionState] = {}

    def state_at(self, number: int, session: str, at: int) -> SessionState:
        """The state after the first `at` events of the session."""
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
            return row[0], from_snapshot(_decompressor.decompress(row[1]))
        return 0, self._beginning(number, session)

    def _beginning(self, number: int, session: str) -> SessionState:
        """Nothing, or for a fork where its parent stood."""
        parent, position = self.db.execute(
            "SELECT parent, parent_seq FROM session WHERE n=?", (number,)
        ).fetchone()
        if parent is None or position is None:
            return initial(session)
        found = self.db.execute("SELECT n, id FROM session WHERE id=?", (parent,)).fetchone()
        if found is None:
            raise NotFound(
                f"session {session[:8]} was forked from {parent[:8]}, which is not in this store",
                hint="import the bundle that holds the parent",
            )
        return inherited(self.state_at(found[0], found[1], position), session)

    def follow(self, number: int, session: str, events: list[Event], snapped: int) -> int:
        """Fold on from where the last run ended, if that is known; the last position kept. In a transaction.

        A session is folded along once it has outgrown its first snapshot: most never do, and cost nothing.
        """
        if not events:
            return snapped
        start, stop = events[0].seq, events[-1].seq + 1
        state = self.running.pop(number, None)
        # Both change what came before: a rewind goes elsewhere, an opening told late may name a parent.
        moved = any(event.kind in ("rewind", "session.open") for event in events)
        if state is None or state.at != start or moved:
            return self.catch_up(number, session, stop, snapped)
        while stop - snapped >= SPACING:
            snapped += SPACING
            state = fold(state, events[: snapped - start])
            events, start = events[snapped - start :], snapped
            self._keep(number, snapped, state)
            self.db.execute("UPDATE session SET snapped=? WHERE n=?", (snapped, number))
        self._run_on(number, fold(state, events))
        return snapped

    def _run_on(self, number: int, state: SessionState) -> None:
        self.running[number] = state
        if len(self.running) > MOST_RUNNING:
            del self.running[next(iter(self.running))]

    def let_go(self) -> None:
        """Go by the database alone again."""
        self.running.clear()

    def catch_up(self, number: int, session: str, head: int, snapped: int) -> int:
        """Keep a snapshot every SPACING events up to the head; the last position kept. In a transaction."""
        at = snapped
        # Those of an older fold are made anew step by step by whoever has the time, not by who appends.
        if head - at < SPACING or self.lost(number, at):
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
            self._keep(number, at, state)
        self.db.execute("UPDATE session SET snapped=? WHERE n=?", (at, number))
        self._run_on(number, self.state_at(number, session, head))
        return at

    def far_behind(self, number: int, at: int) -> bool:
        """Whether the state at a position costs more than a glance."""
        return self._since(number, at) > GLANCE

    def lost(self, number: int, at: int) -> bool:
        """Whether snapshots are missing that were kept once, such as those of an older fold."""
        return self._since(number, at) > 2 * SPACING

    def stale(self, number: int | None = None) -> list[tuple[int, str, int]]:
        """Sessions that have snapshots of another fold, or this one if it has: number, id, about how many
        events they were folded from. Those that others were forked from come first."""
        where, values = ("", ()) if number is None else (" AND n=?", (number,))
        rows = self.db.execute(
            "SELECT n, id, count(*) FROM snapshot JOIN session ON n = snapshot.session"
            f" WHERE fold <> ?{where} GROUP BY n ORDER BY n",
            (FOLD_VERSION, *values),
        )
        return [(int(n), str(id_), int(count) * SPACING) for n, id_, count in rows.fetchall()]

    def renew_one(self, number: int, session: str) -> bool:
        """Make a session's first snapshot of another fold anew; whether there was one. In a transaction.

        Every one before it is of this fold by then, so that a step costs what lies between two of them.
        """
        (seq,) = self.db.execute(
            "SELECT min(seq) FROM snapshot WHERE session=? AND fold <> ? AND seq % ? = 0",
            (number, FOLD_VERSION, SPACING),
        ).fetchone()
        if seq is None:  # but for that of a head that has moved on
            self.db.execute("DELETE FROM snapshot WHERE session=? AND fold <> ?", (number, FOLD_VERSION))
            return False
        try:
            self._keep(number, seq, self.state_at(number, session, seq))
        except (NotFound, StoreDamaged, StoreNewer):  # `verify` tells; nothing can be folded from it
            self.drop(number)
        return True

    def _since(self, number: int, at: int) -> int:
        row = self.db.execute(
            "SELECT max(seq) FROM snapshot WHERE session=? AND seq <= ? AND fold=?",
            (number, at, FOLD_VERSION),
        ).fetchone()
        return int(at - (row[0] or 0))

    def keep_head(self, number: int, session: str, head: int) -> None:
        """Keep the state at the head itself, so that the next look costs what came since. In a transaction.

        There is one such snapshot a session: the one before it goes.
        """
        state = self.state_at(number, session, head)
        self.db.execute("DELETE FROM snapshot WHERE session=? AND seq % ? <> 0", (number, SPACING))
        self._keep(number, head, state)

    def _keep(self, number: int, at: int, state: SessionState) -> None:
        packed = _compressor.compress(to_snapshot(state))
        self.db.execute(
            "INSERT OR REPLACE INTO snapshot VALUES (?,?,?,?)", (number, at, FOLD_VERSION, packed)
        )

    def drop(self, number: int | None = None) -> None:
        """Forget the cache of one session, or of all. In a transaction."""
        self.let_go()
        where, values = ("", ()) if number is None else (" WHERE session=?", (number,))
        self.db.execute(f"DELETE FROM snapshot{where}", values)
        where = "" if number is None else " WHERE n=?"
        self.db.execute(f"UPDATE session SET snapped=0{where}", values)

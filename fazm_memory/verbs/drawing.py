"""The verbs of drawing: what each stretch of time held, and what each session did in it, by lane.

What is drawn is bounded, however long the stretch: longer buckets, and events evenly chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from fazm_memory.capture.recording import COMPANION_AGENT
from fazm_memory.errors import InvalidRequest
from fazm_memory.log import calendar
from fazm_memory.log.rows import EVENT_COLUMNS, to_event
from fazm_memory.log.sessions import SessionRow
from fazm_memory.log.tables import event_id
from fazm_memory.model.clock import iso, micros
from fazm_memory.model.events import Event
from fazm_memory.model.slim import lane_marks
from fazm_memory.verbs.telling import Telling

BUCKETS = {"minute": 60_000_000, "hour": 3_600_000_000, "day": 86_400_000_000}
MOST_BUCKETS = 3000
LANES = ("actions", "decisions", "files", "apps", "marks")
MOST_SESSIONS = 24
MOST_DRAWN = 1000  # of all sessions together
LEAST_DRAWN = 40  # of one, if it has as many


class Drawing(Telling):
    """What `Memory` can draw. Mixed into it; not for use alone."""

    def rollup(
        self, begin: int, end: int, *, bucket: str = "minute", sessions: Sequence[str] = ()
    ) -> dict[str, Any]:
        """What each stretch of time held, and the gaps in which nobody looked."""
        names = list(BUCKETS)
        if bucket not in BUCKETS:
            raise InvalidRequest(f"there is no bucket {bucket[:40]!r}", hint=", ".join(names))
        while (end - begin) / BUCKETS[bucket] > MOST_BUCKETS and bucket != names[-1]:
            bucket = names[names.index(bucket) + 1]
        size = BUCKETS[bucket]
        size *= max(1, -(-(end - begin) // (size * MOST_BUCKETS)))
        self.store.take_in_much()
        with self.store.db.reading():
            only = {self.store.sessions.resolve(one).n for one in sessions} or None
            counts = calendar.counted(self.store, begin, end, size, only)
            gaps = calendar.gaps(self.store, begin, end)
        first = begin // BUCKETS["minute"] * BUCKETS["minute"]
        buckets = [
            {"ms": (first + nth * size) // 1000, **{name: getattr(one, name) for name in calendar.COUNTS}}
            for nth, one in sorted(counts.items())
        ]
        return {
            "from_ms": begin // 1000,
            "to_ms": end // 1000,
            "bucket": bucket,
            "bucket_ms": size // 1000,
            "buckets": buckets,
            "gaps": [_gap(one.since, one.until, one.what, one.note) for one in gaps]
            + self._paused(begin, end),
        }

    def _paused(self, begin: int, end: int) -> list[dict[str, Any]]:
        """The pause that still holds: it is in the log only when it is over."""
        status = self.recording()
        if status["recording"]:
            return []
        since = micros(datetime.fromisoformat(status["paused_since"]))
        until = min(end, self.now())
        if until <= begin or since >= until:
            return []
        return [_gap(since, until, "paused", None) | {"open": True}]

    def lanes(self, begin: int, end: int, *, sessions: Sequence[str] = (), most: int = 400) -> dict[str, Any]:
        """What each session did in a stretch of time, by lane; evenly chosen where that is too much."""
        with self.store.db.reading():
            if sessions:
                rows, left = [self.store.sessions.resolve(one) for one in sessions][:MOST_SESSIONS], 0
            else:
                rows, left = self._active(begin, end)
            spans = [(row, *calendar.positions_between(self.store, row.n, begin, end)) for row in rows]
            spans = [one for one in spans if one[2] > one[1]]
            share = min(most, max(LEAST_DRAWN, MOST_DRAWN // max(1, len(spans))))
            items = [self._lanes_of(row, low, high, share) for row, low, high in spans]
        return {"from_ms": begin // 1000, "to_ms": end // 1000, "items": items, "more_sessions": left}

    def _active(self, begin: int, end: int) -> tuple[list[SessionRow], int]:
        """The latest sessions that were open in this time, and how many more there may be.

        The companion's own is among them: apps and files that no agent can be named for are in it."""
        numbers = self.store.db.execute(
            "SELECT n FROM standing WHERE hour >= ? AND last_at >= ? AND opened_at < ?"
            " AND (background=0 OR agent=?) AND forgotten=0 ORDER BY hour DESC, last_at DESC, n DESC",
            (begin // BUCKETS["hour"], begin, end, COMPANION_AGENT),
        ).fetchall()
        active = [
            one[0]
            for one in numbers[: 4 * MOST_SESSIONS]
            if len(set(calendar.positions_between(self.store, one[0], begin, end))) == 2
        ]
        rows = self.store.sessions.numbered(active[:MOST_SESSIONS])
        return rows, len(numbers) - len(rows) if len(active) > MOST_SESSIONS else 0

    def _lanes_of(self, row: SessionRow, low: int, high: int, most: int) -> dict[str, Any]:
        total = high - low
        seqs = range(low, high) if total <= most else [low + nth * total // most for nth in range(most)]
        events = self._at(row, seqs)
        lanes: dict[str, list[dict[str, Any]]] = {name: [] for name in LANES}
        for event in events:
            for lane, drawn in lane_marks(event):
                lanes[lane].append(drawn)
        times = [event.at // 1000 for event in events]
        shown = ("id", "title", "agent", "lifecycle", "background")
        return {
            "session": {name: getattr(row, name) for name in shown},
            "from_ms": min(times, default=0),
            "to_ms": max(times, default=0),
            "events": total,
            "lanes": lanes,
            "more": total - len(events),
        }

    def _at(self, row: SessionRow, seqs: Sequence[int]) -> list[Event]:
        """The events at these positions; a range is read as one."""
        if isinstance(seqs, range):
            where = "id >= ? AND id < ?"
            values = [event_id(row.n, seqs.start), event_id(row.n, seqs.stop)]
        else:
            where = f"id IN ({','.join('?' * len(seqs))})"
            values = [event_id(row.n, seq) for seq in seqs]
        rows = self.store.db.execute(f"SELECT {EVENT_COLUMNS} FROM event WHERE {where} ORDER BY id", values)
        return [to_event(one, row.id, b"") for one in rows.fetchall()]


def _gap(since: int, until: int, why: str, note: str | None) -> dict[str, Any]:
    return {
        "from_ms": since // 1000, "to_ms": until // 1000, "from": iso(since), "to": iso(until), "why": why,
        "note": note,
    }  # fmt: skip

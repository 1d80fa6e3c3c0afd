"""What happened when: counts by day or bucket of time, gaps, and positions at a moment.

Counts come from the minutes, plus the few events that are not counted in minutes yet.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from fazm_memory.clock import TimeError, parse_time
from fazm_memory.records import dataclass, field
from fazm_memory.store.event_log import EVENT_COLUMNS, event_id, to_event
from fazm_memory.store.projections import MINUTE, minutes_of
from fazm_memory.store.store import Store

COUNTS = ("events", "failures", "actions", "decisions", "files", "apps")
SUMS = ", ".join(f"sum({name})" for name in COUNTS)
TAIL = 2000  # events of one session counted beside the minutes; an import under way may be further ahead
MOST_GAPS = 500


@dataclass
class TimeBucket:
    """The counts of a stretch of time."""

    events: int = 0
    failures: int = 0
    actions: int = 0
    decisions: int = 0
    files: int = 0
    apps: int = 0
    sessions: set[int] = field(default_factory=set)

    def add(self, session: int, counts: Iterable[int]) -> None:
        self.sessions.add(session)
        for name, count in zip(COUNTS, counts, strict=True):
            setattr(self, name, getattr(self, name) + count)

    def add_beside(self, counts: Sequence[int]) -> None:
        """Add a background session, of which only files and apps count."""
        self.files += counts[COUNTS.index("files")]
        self.apps += counts[COUNTS.index("apps")]


@dataclass(frozen=True)
class RecordingGap:
    since: int
    until: int
    what: str
    note: str | None


def tail_minutes(store: Store) -> list[tuple[int, int, list[int]]]:
    """Session, minute and counts of events that are not in the minutes yet."""
    found = []
    for number, session, head, indexed, _ in store.projections.behind():
        stop = min(head, indexed + TAIL)
        for minute, row in minutes_of(store.log.slice(number, session, indexed, stop)).items():
            found.append((number, minute, row[2:]))
    return found


def count_by_time(
    store: Store, begin: int, end: int, size: int, only: set[int] | None = None
) -> dict[int, TimeBucket]:
    """Counts between two moments in buckets of `size` microseconds."""
    low, high, step = begin // MINUTE, -(-end // MINUTE), max(1, size // MINUTE)
    narrowed = "" if only is None else f" AND session IN ({_numbers(only)})"
    rows = store.db.execute(
        f"SELECT (minute - ?) / ?, session, {SUMS} FROM minute WHERE minute >= ? AND minute < ?{narrowed}"
        " GROUP BY 1, 2",
        (low, step, low, high),
    ).fetchall()
    rows += [
        ((minute - low) // step, session, *counts)
        for session, minute, counts in tail_minutes(store)
        if low <= minute < high and (only is None or session in only)
    ]
    beside = set() if only is not None else hidden_sessions(store)
    found: dict[int, TimeBucket] = defaultdict(TimeBucket)
    for nth, session, *counts in rows:
        if session in beside:
            found[nth].add_beside(counts)
        else:
            found[nth].add(session, counts)
    return found


def _numbers(sessions: Iterable[int]) -> str:
    return ",".join(str(int(number)) for number in sorted(sessions))


def hidden_sessions(store: Store) -> set[int]:
    """Background sessions and forgotten ones."""
    rows = store.db.execute("SELECT n FROM session WHERE background=1 OR forgotten=1").fetchall()
    return {row[0] for row in rows}


def latest_minute(store: Store, before: int) -> int | None:
    """The last minute before a moment with any event, in microseconds."""
    out = hidden_sessions(store)
    row = store.db.execute(
        f"SELECT minute FROM minute WHERE minute < ? AND session NOT IN ({_numbers(out)})"
        " ORDER BY minute DESC LIMIT 1",
        (-(-before // MINUTE),),
    ).fetchone()
    known = [] if row is None else [int(row[0])]
    known += [
        minute
        for session, minute, _ in tail_minutes(store)
        if minute * MINUTE < before and session not in out
    ]
    return max(known) * MINUTE if known else None


def gaps(store: Store, begin: int, end: int) -> list[RecordingGap]:
    """The times between two moments when nothing was recorded. A gap is recorded when it ends."""
    rows = store.db.execute(
        f"SELECT {EVENT_COLUMNS} FROM event WHERE kind = 'gap' AND at >= ? ORDER BY at LIMIT ?",
        (begin, MOST_GAPS),
    ).fetchall()
    found = []
    for row in rows:
        payload = to_event(row, "", b"").payload
        if payload is None:
            continue
        try:
            since, until = parse_time(payload.since), parse_time(payload.until)
        except TimeError:  # an agent may have written its own format
            continue
        if since < end and until > begin:
            found.append(RecordingGap(since, until, payload.what, payload.note))
    return sorted(found, key=lambda gap: gap.since)


def position_at(store: Store, number: int, moment: int) -> int:
    """How many events a session had at a moment."""
    head, indexed = store.db.execute("SELECT head, indexed FROM standing WHERE n=?", (number,)).fetchone()
    row = store.db.execute(
        "SELECT first, last FROM minute WHERE session=? AND minute <= ? ORDER BY minute DESC LIMIT 1",
        (number, moment // MINUTE),
    ).fetchone()
    first, last = (0, 0) if row is None else (row[0], row[1] + 1)
    if head > indexed and last >= indexed:
        last = head
    found = store.db.execute(
        "SELECT max(id) FROM event WHERE id >= ? AND id < ? AND at <= ?",
        (event_id(number, first), event_id(number, min(last, head)), moment),
    ).fetchone()[0]
    return first if found is None else int(found - event_id(number, 0)) + 1


def positions_between(store: Store, number: int, begin: int, end: int) -> tuple[int, int]:
    """The half-open range of positions of a session between two moments."""
    return position_at(store, number, begin - 1), position_at(store, number, end - 1)

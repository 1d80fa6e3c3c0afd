"""An overview of the store, and what changed in it since the last look.

Whether anything changed is one cheap query. Only then are the heads of the latest and the unindexed sessions
compared. A change in an older session is reported without its name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from fazm_memory.clock import TimeError, iso, parse_time
from fazm_memory.events import SOURCES
from fazm_memory.records import dataclass, field
from fazm_memory.store.event_log import EVENT_COLUMNS, event_id, to_event
from fazm_memory.store.projections import MINUTE, NO_MAINTENANCE, minutes_of
from fazm_memory.store.store import Store

MOST = 200  # sessions with an open question


def store_overview(store: Store) -> dict[str, Any]:
    """Counts, the last event per source, open questions, size, and where the key is."""
    last = store.projections.sources() if store.as_of is None else _earlier_sources(store, store.as_of)
    sources = {name: {"at": iso(at), "session": session} for name, (at, session) in last.items()}
    return {
        **(store.sessions.totals() if store.as_of is None else _earlier_totals(store)),
        "since": _since(store),
        "sources": sources,
        "open_questions": open_questions(store),
        "bytes": store.size(),
        "key": {"backend": store.keys.backend, "where": store.keys.where},
    }


def _since(store: Store) -> str | None:
    """The beginning of the earliest session."""
    (first,) = store.db.execute("SELECT min(opened_at) FROM standing WHERE forgotten = 0").fetchone()
    return None if first is None else iso(first)


def _earlier_totals(store: Store) -> dict[str, int]:
    rows = store.sessions.listing(limit=None, background=True)
    return {
        "sessions": len(rows), "events": sum(row.head for row in rows),
        "actions": sum(row.actions for row in rows),
    }  # fmt: skip


def _earlier_sources(store: Store, moment: int) -> dict[str, tuple[int, str]]:
    rows = store.db.execute(
        f"SELECT source, max(at), id >> 32 FROM event WHERE at <= ? AND {NO_MAINTENANCE}"
        " GROUP BY source ORDER BY source",
        (moment,),
    ).fetchall()
    ids = dict(store.db.execute("SELECT n, id FROM session").fetchall())
    return {source if source in SOURCES else "record": (at, ids[number]) for source, at, number in rows}


def open_questions(store: Store) -> list[dict[str, Any]]:
    """Open questions to a person in any session, latest first."""
    asked = "" if store.as_of is not None else " AND questions > 0"  # it may have been answered since
    rows = store.db.execute(
        f"SELECT n FROM standing WHERE forgotten = 0{asked} ORDER BY last_at DESC LIMIT ?", (MOST,)
    ).fetchall()
    found: list[dict[str, Any]] = []
    if not rows:
        return found
    for row in store.quarantine_view.rows(store.sessions.numbered([number for (number,) in rows])):
        state = store.quarantine_view.state_at(row.n, row.id, row.head)
        questions = [question for question in state.questions.values() if question["to"] == "human"]
        found += [{"session": row.id, "title": row.title, **question} for question in questions]
    return found


LATEST = 60
KINDS = 500  # new events of a session whose kinds are read
HEADS = (
    "SELECT n, id, head, lifecycle, title, forgotten FROM"
    " (SELECT * FROM standing WHERE hour > -1 ORDER BY hour DESC, last_at DESC LIMIT ?)"
    " UNION SELECT s.n, s.id, s.head, s.lifecycle, s.title, s.forgotten FROM waiting w"
    " JOIN standing s ON s.n = w.session"
)

Head = tuple[str, int, str, str | None, int]


@dataclass(frozen=True)
class StoreChanges:
    """Sessions that changed and the kinds of their new events. `all` if something else changed too."""

    sessions: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    all: bool = False


class StoreWatcher:
    """Remembers the last look. Its connection must not write, or it would miss its own writes."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.version = self._version()
        self.heads = self._heads()

    def look(self) -> StoreChanges | None:
        """What changed, or None if nothing was written."""
        version = self._version()
        if version == self.version:
            return None
        self.version = version
        with self.store.db.reading():
            heads = self._heads()
            moved = [number for number, head in heads.items() if self.heads.get(number) != head]
            kinds: set[str] = set()
            for number in moved:
                known = self.heads.get(number)
                kinds |= self._kinds(number, 0 if known is None else known[1], heads[number][1])
        self.heads = heads
        return StoreChanges(tuple(heads[number][0] for number in moved), tuple(sorted(kinds)), not moved)

    def _version(self) -> int:
        return int(self.store.db.execute("PRAGMA data_version").fetchone()[0])

    def _heads(self) -> dict[int, Head]:
        rows = self.store.db.execute(HEADS, (LATEST,)).fetchall()
        return {row[0]: tuple(row[1:]) for row in rows}

    def _kinds(self, number: int, first: int, head: int) -> set[str]:
        rows = self.store.db.execute(
            "SELECT DISTINCT kind FROM event WHERE id >= ? AND id < ?",
            (event_id(number, max(first, head - KINDS)), event_id(number, head)),
        ).fetchall()
        return {row[0] for row in rows}


# What happened when: counts by day or bucket of time, gaps, and positions at a moment
#
# Counts come from the minutes, plus the few events that are not counted in minutes yet.

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

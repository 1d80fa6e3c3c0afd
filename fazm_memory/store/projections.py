"""Projections: search index, counts by minute, sources, snapshots.

They are updated in batches, because one row at a time they would cost more than the event itself. They share
one cursor per session, `session.indexed`; the table `waiting` names the sessions that are ahead of it. Events
that this process has just appended stay in memory and need not be read back, until another process writes:
it may have forgotten some of them.

The second part reads them: an overview of the store, and what changed since the last look. Whether anything
changed is one cheap query. Only then are the heads of the latest and the unindexed sessions compared. A
change in an older session is reported without its name.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from fazm_memory import session as sessions
from fazm_memory.errors import NotFound, StoreDamaged, StoreNewer
from fazm_memory.events import FAILED, SOURCES, Event, kinds
from fazm_memory.store.event_log import SEQ_MASK, event_id
from fazm_memory.store.writer import UPDATE_HEAD, Writer

if TYPE_CHECKING:
    from fazm_memory.store.store import Store
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from fazm_memory.clock import TimeError, iso, parse_time
from fazm_memory.records import dataclass, field
from fazm_memory.store.event_log import EVENT_COLUMNS, to_event
from fazm_memory.store.store import Store

# Events of all sessions that may wait. The companion indexes them after each burst, and a search before it
# reads; an append does so only when neither has run for this long.
INDEX_AFTER = 1000
LOOK_AFTER = 32  # appends after which the waiting events are counted again: other processes append too
BATCH = 500  # events indexed at a time
MINUTE = 60_000_000
UPSERT_MINUTE = (
    "INSERT INTO minute (session, minute, first, last, events, failures, actions, decisions, files, apps)"
    " VALUES (?,?,?,?,?,?,?,?,?,?)"
    " ON CONFLICT (session, minute) DO UPDATE SET first=min(first, excluded.first),"
    " last=max(last, excluded.last), events=events+excluded.events, failures=failures+excluded.failures,"
    " actions=actions+excluded.actions, decisions=decisions+excluded.decisions,"
    " files=files+excluded.files, apps=apps+excluded.apps"
)
COLUMN = {"action": 4, "decision": 5, "file": 6, "app": 7}  # of a kind in the values of `minutes_of`
UPSERT_SOURCE = (
    "INSERT INTO meta VALUES (?,?) ON CONFLICT (key) DO UPDATE SET value=excluded.value"
    " WHERE json_extract(excluded.value, '$.at') >= json_extract(value, '$.at')"
)
BEHIND = (
    "SELECT s.n, s.id, s.head, s.indexed, s.snapped FROM waiting w JOIN standing s ON s.n = w.session"
    " ORDER BY s.n"
)
# The session's row may lag behind its latest calls; it is brought up to date with them.
SET_INDEXED = (
    "UPDATE session SET indexed=?2, (last_at, head, actions, failures, files_modified, mac) ="
    " (SELECT last_at, head, actions, failures, files_modified, mac FROM standing WHERE n=?1) WHERE n=?1"
)

NO_MAINTENANCE = f"kind NOT IN ({', '.join(repr(kind) for kind in sorted(kinds.MAINTENANCE_KINDS))})"

BehindRow = tuple[int, str, int, int, int]  # number, id, head, indexed, snapped


class Projections:
    def __init__(self, store: Store) -> None:
        self.store = store
        self.log = store.log
        self.db = store.db
        self.recent = store.log.recent
        self.version: int | None = None
        self.room = 0  # events that may be appended before the waiting ones are counted again

    def behind(self) -> list[BehindRow]:
        """Sessions with events that are not in the projections yet."""
        return list(self.db.execute(BEHIND).fetchall())

    def after_write(self, writer: Writer) -> None:
        """Note what a transaction wrote, and catch up if enough events wait.

        In that transaction.
        """
        if writer.events:
            self._note(writer)
        if writer.changed or writer.asked:
            self._recount(writer)

    def _note(self, writer: Writer) -> None:
        newly: list[BehindRow] = []
        for number, events in writer.events.items():
            recent = self.recent.setdefault(number, [])
            head = writer.heads[number]
            if head.indexed == events[0].seq:
                newly.append((number, head.id, head.head, head.indexed, head.snapped))
                recent.clear()  # another process has indexed them
            elif recent and recent[-1].seq + 1 != events[0].seq:
                recent.clear()
            recent += events
            self.room -= len(events)
        if self.room <= 0 and self._index_if_many(newly):
            return
        for row in newly:
            self.db.execute("INSERT OR IGNORE INTO waiting VALUES (?)", row[:1])

    def _recount(self, writer: Writer) -> None:
        """Take counts of sessions from their states where appending cannot tell them."""
        for number in writer.changed | writer.asked:
            head = writer.heads[number]
            try:
                state = self.store.snapshots.state_at(number, head.id, head.head)
            except (NotFound, StoreDamaged, StoreNewer):
                continue  # the parent is not in this store, or the log is damaged: `verify` reports it
            head.questions = len(state.questions)
            if number in writer.changed:
                counts = (state.counts.get(name, 0) for name in ("actions", "failures", "files_modified"))
                head.actions, head.failures, head.files_modified = counts
            writer.db.execute(UPDATE_HEAD, head.counts())

    def _index_if_many(self, newly: list[BehindRow]) -> bool:
        behind = self.behind() + newly
        for number in self.recent.keys() - {row[0] for row in behind}:
            del self.recent[number]
        waiting = sum(head - indexed for _, _, head, indexed, _ in behind)
        many = waiting >= INDEX_AFTER
        if many:
            self._index(behind)
        self.room = min(LOOK_AFTER, INDEX_AFTER if many else INDEX_AFTER - waiting)
        return many

    def catch_up(self) -> int:
        """Index all waiting events. Return how many there were. In a transaction."""
        return self._index(self.behind())

    def name_again(self) -> None:
        """Make the titles of all sessions again from their events. In a transaction."""
        rows = self.db.execute("SELECT n, id, title FROM session").fetchall()
        for number, session, title in rows:
            try:
                found = self._title(number, session)
            except (NotFound, StoreDamaged, StoreNewer):  # `verify` reports it
                continue
            if found and found != title:
                self.db.execute("UPDATE session SET title=? WHERE n=?", (found, number))

    def _title(self, number: int, session: str) -> str | None:
        """The title of a session from its events, as `Writer` finds it."""
        rows = self.db.execute(
            "SELECT id, kind FROM event WHERE id >= ? AND id <= ?"
            " AND kind IN ('session.open', 'session.title', 'prompt') ORDER BY id",
            (event_id(number, 0), event_id(number, SEQ_MASK)),
        ).fetchall()
        title: str | None = None
        for id_, kind in rows:
            if kind == "prompt" and title:
                continue
            seq = id_ & SEQ_MASK
            payload = next(self.log.slice(number, session, seq, seq + 1)).payload
            if payload is not None:
                title = sessions.title_of(payload.text) if kind == "prompt" else payload.title or title
        return title

    def reset(self) -> None:
        """Drop what is in memory, after a rollback or when another process has written."""
        self.recent.clear()
        self.store.snapshots.reset()

    def _check_others(self) -> None:
        version = self.db.execute("PRAGMA data_version").fetchone()[0]
        if version != self.version:
            self.reset()
            self.version = version

    def _index(self, behind: Iterable[BehindRow]) -> int:
        self._check_others()
        total = 0
        sources: dict[str, Event] = {}
        for number, session, head, indexed, snapped in behind:
            at = indexed
            try:
                while at < head:
                    stop = min(head, at + BATCH)
                    events = self._events(number, session, at, stop)
                    self.store.search.documents.add(number, events)
                    minutes = minutes_of(events).items()
                    self.db.executemany(UPSERT_MINUTE, [(number, minute, *row) for minute, row in minutes])
                    _note_sources(sources, events)
                    at = stop
                    snapped = self.store.snapshots.advance(number, session, events, snapped)
            except (StoreDamaged, StoreNewer):
                # An unreadable event, which `verify` reports, must not stop the others. It stays waiting.
                self.db.execute("INSERT OR IGNORE INTO waiting VALUES (?)", (number,))
            self.db.execute(SET_INDEXED, (number, at))
            if at == head:
                self.db.execute("DELETE FROM waiting WHERE session=?", (number,))
            self.recent.pop(number, None)
            total += at - indexed
        self.db.executemany(
            UPSERT_SOURCE,
            [
                (f"source:{name}", json.dumps({"at": event.at, "session": event.session, "seq": event.seq}))
                for name, event in sources.items()
            ],
        )
        return total

    def _events(self, number: int, session: str, start: int, stop: int) -> list[Event]:
        """These events, from memory if all of them are there."""
        recent = self.recent.get(number)
        if recent and recent[0].seq <= start and stop <= recent[-1].seq + 1:
            first = recent[0].seq
            return [placed.event() for placed in recent[start - first : stop - first]]
        return list(self.log.slice(number, session, start, stop))

    def sources(self) -> dict[str, tuple[int, str]]:
        """Time and session of the last event of each source, indexed or not."""
        rows = self.db.execute("SELECT key, value FROM meta WHERE key >= 'source:' AND key < 'source;'")
        stored = {key.removeprefix("source:"): json.loads(value) for key, value in rows.fetchall()}
        found = {name: (last["at"], last["session"]) for name, last in stored.items()}
        for number, session, head, indexed, _ in self.behind():
            tail = self.db.execute(
                f"SELECT source, max(at) FROM event WHERE id >= ? AND id < ? AND {NO_MAINTENANCE}"
                " GROUP BY source",
                (event_id(number, indexed), event_id(number, head)),
            )
            for source, at in tail.fetchall():
                name = _source_name(source)
                found[name] = max(found.get(name, (at, session)), (at, session))
        return dict(sorted(found.items()))


def minutes_of(events: Iterable[Event]) -> dict[int, list[int]]:
    """Positions and counts by minute.

    Each row has first and last position, events, failures, actions, decisions, files, apps.
    """
    minutes: dict[int, list[int]] = {}
    for event in events:
        row = minutes.setdefault(event.at // MINUTE, [event.seq, event.seq, 0, 0, 0, 0, 0, 0])
        row[1] = event.seq
        row[2] += 1
        outcome = event.payload.outcome if event.kind == "action" and event.payload is not None else None
        row[3] += outcome in FAILED and outcome != "denied"
        if (column := COLUMN.get(event.kind)) is not None:
            row[column] += 1
    return minutes


def _note_sources(sources: dict[str, Event], events: list[Event]) -> None:
    for event in events:
        if event.kind in kinds.MAINTENANCE_KINDS:
            continue  # a clean-up is no news of a source
        name = _source_name(event.source)
        known = sources.get(name)
        if known is None or known.at <= event.at:
            sources[name] = event


def _source_name(source: str) -> str:
    """The source, or `record` if an agent made up its own."""
    return source if source in SOURCES else "record"


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
    """Sessions that changed and the kinds of their new events.

    `all` if something else changed too.
    """

    sessions: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    all: bool = False


class StoreWatcher:
    """Remembers the last look.

    Its connection must not write, or it would miss its own writes.
    """

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
    """The times between two moments when nothing was recorded.

    A gap is recorded when it ends.
    """
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

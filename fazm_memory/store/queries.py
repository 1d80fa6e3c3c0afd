"""Queries for events: by position, time, kind, tool, file, outcome and trust.

Turns and minutes are resolved to positions first. Kind and trust are columns; tool, file and outcome are
searched in the stored bytes, and only likely matches are decoded. A change that only the watcher saw counts
as a change of its call.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Set
from operator import itemgetter
from typing import Any

from fazm_memory.errors import InvalidRequest
from fazm_memory.events import FAILED, KINDS, Event, FolderListing, call_position
from fazm_memory.records import dataclass
from fazm_memory.session import DEFERRED_WINDOW
from fazm_memory.store import hash_chain
from fazm_memory.store.database import Database, frame_error, translated_errors
from fazm_memory.store.event_log import (
    AHEAD,
    EVENT_COLUMNS,
    SEQ_MASK,
    ZSTD_MAGIC,
    EventLog,
    event_id,
    to_event,
    unpack,
)
from fazm_memory.store.schema import HOUR
from fazm_memory.store.sessions import AT_WORK, NAMES, SessionRow, effective_ranges, lineage
from fazm_memory.store.store import Store
from fazm_memory.store.writer import target_key

# A minute counts these, so that minutes without them need not be read.
COUNTED = {"action": "actions", "decision": "decisions", "file": "files", "app": "apps"}

STORED = EVENT_COLUMNS.split(", ").index("payload")

MinuteRange = tuple[int, int]


def ranges_counting(db: Database, number: int, column: str, low: int, high: int) -> list[MinuteRange]:
    """The ranges between two positions where minutes count any such event.

    What is not counted yet is included.
    """
    (indexed,) = db.execute("SELECT indexed FROM session WHERE n=?", (number,)).fetchone()
    found = db.execute(
        f"SELECT first, last + 1 FROM minute WHERE session=? AND {column} > 0 AND last >= ? AND first < ?",
        (number, low, high),
    ).fetchall()
    merged: list[MinuteRange] = []
    for first, stop in sorted([*found, (indexed, high)]):
        first, stop = max(first, low), min(stop, high)
        if merged and first <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
        elif first < stop:
            merged.append((first, stop))
    return merged


WATCHED = "(kind = 'file' AND source = 'files')"
# Events about a call. Their tool is known only from the call itself.
OF_A_CALL = f"({WATCHED} OR kind = 'action.amend')"


class CallEffects:
    """The calls of a session and the changes seen during them. Caches, for one query."""

    def __init__(self, log: EventLog, number: int, session: str) -> None:
        self.log = log
        self.number = number
        self.session = session
        self._tools: dict[int, str | None] = {}

    def tool_of(self, event: Event) -> str | None:
        """The tool of a call, or of the call that an event belongs to."""
        own = getattr(event.payload, "tool", None)
        if own is not None or event.payload is None:
            return own
        call = self._amended(event.seq) if event.kind == "action.amend" else call_position(event)
        return None if call is None else self._tool_at(call)

    def touching(self, low: int, high: int, file: str, named: Callable[[str], bool]) -> set[int]:
        """The positions of calls that changed a file according to the watcher.

        Both the start and the end of a call are included. `named` says whether a path is the file.
        """
        calls: set[int] = set()
        for event in self._seen(low, high, file):
            call, change = call_position(event), event.payload
            if call is not None and any(named(path) for path in (change.path, change.origin) if path):
                calls |= {call, *self._ended(call)}
        return {call for call in calls if low <= call < high}

    def span(self, seq: int) -> tuple[int, int]:
        """Where the call of an event ended and began, if known."""
        call = self._amended(seq)
        ended = seq if call is None else call
        key = self._key(ended)
        began = None if key is None else self._at_key(f"{key}:start")
        return ended, ended if began is None else began

    def _seen(self, low: int, high: int, file: str) -> Iterator[Event]:
        """Watcher events in and shortly after these positions whose bytes may name a file."""
        end = min(high + DEFERRED_WINDOW, SEQ_MASK)
        for begin, stop in ranges_counting(self.log.db, self.number, "files", low, end):
            rows = self.log.db.execute(
                f"SELECT {EVENT_COLUMNS} FROM event WHERE id >= ? AND id < ? AND {WATCHED}"
                " AND (substr(payload, 1, 4) = ? OR instr(payload, ?) > 0) ORDER BY id",
                (event_id(self.number, begin), event_id(self.number, stop), ZSTD_MAGIC, file_needle(file)),
            )
            for row in rows:
                yield to_event(row, self.session, b"")

    def _ended(self, call: int) -> Iterator[int]:
        """Where a call ended, given the position of its start."""
        key = self._key(call)
        if key is not None and key.endswith(":start"):
            ends = (key.removesuffix(":start"), key.removesuffix("start") + "interrupted")
            found = self.log.db.execute("SELECT id FROM event WHERE key IN (?, ?)", ends)
            yield from (id_ & SEQ_MASK for (id_,) in found.fetchall())

    def _amended(self, seq: int) -> int | None:
        """The position of the call that an amendment belongs to."""
        key = self._key(seq)
        return None if key is None else self._at_key(key.removesuffix(":amend"))

    def _at_key(self, key: str) -> int | None:
        found = self.log.db.execute("SELECT id FROM event WHERE key=?", (key,)).fetchone()
        return None if found is None else int(found[0]) & SEQ_MASK

    def _key(self, seq: int) -> str | None:
        found = self.log.db.execute(
            "SELECT key FROM event WHERE id=?", (event_id(self.number, seq),)
        ).fetchone()
        return None if found is None else found[0]

    def _tool_at(self, seq: int) -> str | None:
        if seq not in self._tools:
            event = next(self.log.slice(self.number, self.session, seq, seq + 1), None)
            self._tools[seq] = None if event is None else getattr(event.payload, "tool", None)
        return self._tools[seq]


def file_needle(file: str) -> bytes:
    """The bytes by which a payload names a file, or what is inside such a folder."""
    name = file.rstrip("/").rsplit("/", 1)[-1]
    return json.dumps(name, ensure_ascii=False)[1:-1].encode("utf-8", "replace")


MINUTE = 60_000_000
WITH_FILES = ("action", "action.amend", "file", "seen")


@dataclass(frozen=True)
class EventQuery:
    """Conditions for events of a session; None means any.

    `turns` are the first and the last turn.
    """

    start: int = 0
    stop: int | None = None
    kind: str | None = None
    tool: str | None = None
    file: str | None = None
    outcome: str | None = None
    trust: str | None = None
    turns: tuple[int, int] | None = None
    since: int | None = None
    until: int | None = None
    limit: int | None = None
    holding: str | None = None  # text in the stored payload


def find_events(log: EventLog, number: int, session: str, wanted: EventQuery) -> Iterator[Event]:
    """The matching events of a session, in order, as a stream."""
    low, high = _range(log, number, wanted)
    effects = CallEffects(log, number, session)
    touching: set[int] = set()
    if (file := wanted.file) is not None:
        touching = effects.touching(low, high, file, lambda path: path_matches(path, file))
    clauses, values = _clauses(wanted, [event_id(number, seq) for seq in sorted(touching)])
    columns = ", ".join(f"event.{name.strip()}" for name in EVENT_COLUMNS.split(","))
    rows = log.db.execute(
        f"SELECT {columns}, (SELECT mac FROM event AS before WHERE before.id = event.id - 1) FROM event"
        f" WHERE id >= ? AND id < ?{clauses} ORDER BY id",
        (event_id(number, low), event_id(number, high), *values),
    )
    count = 0
    with translated_errors(log.db.path):
        for row in rows:
            if wanted.holding is not None and not _has_text(row[STORED], wanted.holding):
                continue
            first = row[0] & SEQ_MASK == 0  # the row before it is another session's
            event = to_event(
                row[:-1], session, hash_chain.genesis(log.key, session) if first else bytes(row[-1] or b"")
            )
            if not _matches(event, wanted, effects, touching):
                continue
            if count == wanted.limit:
                return
            count += 1
            yield event


def _has_text(stored: bytes | None, text: str) -> bool:
    """Whether a stored payload has this text, or is damaged, which reading it reports.

    Cheaper than reading the event.
    """
    try:
        return stored is not None and text.encode("utf-8", "replace") in unpack(stored)
    except frame_error():
        return True


def _range(log: EventLog, number: int, wanted: EventQuery) -> tuple[int, int]:
    """The positions where matches can be."""
    low = max(0, min(wanted.start, SEQ_MASK))
    high = SEQ_MASK if wanted.stop is None else max(0, min(wanted.stop, SEQ_MASK))
    if wanted.turns is not None:
        first, last = wanted.turns
        low = max(low, _turn_begins(log, number, first, SEQ_MASK))
        high = min(high, _turn_begins(log, number, last + 1, high))
    if wanted.since is not None or wanted.until is not None:
        begin = -(1 << 60) if wanted.since is None else wanted.since // MINUTE
        end = 1 << 60 if wanted.until is None else -(-wanted.until // MINUTE)
        first, last = log.db.execute(
            "SELECT min(first), max(last) FROM minute WHERE session=? AND minute >= ? AND minute < ?",
            (number, begin, end),
        ).fetchone()
        # Minutes are updated in batches, so events after them may be of any time.
        (indexed,) = log.db.execute("SELECT indexed FROM session WHERE n=?", (number,)).fetchone()
        low = max(low, indexed if first is None else min(first, indexed))
        behind = log.db.execute("SELECT head > indexed FROM session WHERE n=?", (number,)).fetchone()[0]
        if not behind:
            high = min(high, 0 if last is None else last + 1)
    return low, max(low, high)


def _turn_begins(log: EventLog, number: int, turn: int, otherwise: int) -> int:
    row = log.db.execute(
        "SELECT seq FROM turn WHERE session=? AND turn >= ? ORDER BY turn LIMIT 1", (number, turn)
    ).fetchone()
    return otherwise if row is None else int(row[0])


def _clauses(wanted: EventQuery, touching: list[int]) -> tuple[str, list[Any]]:
    """The conditions that SQL can check.

    Columns are compared exactly. Bytes in the payload are a first filter.
    """
    clauses: list[str] = []
    values: list[Any] = []
    for column, value in (("kind", wanted.kind), ("trust", wanted.trust)):
        if value is not None:
            clauses.append(f"{column} = ?")
            values.append(value)
    for column, sign, moment in (("at", ">=", wanted.since), ("at", "<", wanted.until)):
        if moment is not None:
            clauses.append(f"{column} {sign} ?")
            values.append(moment)
    contains = "(substr(payload, 1, 4) = ? OR instr(payload, ?) > 0)"
    if wanted.tool is not None:
        clauses.append(f"(kind IN ('action', 'action.start') AND {contains} OR {OF_A_CALL})")
        tool = f'"tool":{json.dumps(wanted.tool, ensure_ascii=False)}'
        values += [ZSTD_MAGIC, tool.encode("utf-8", "replace")]
    if wanted.outcome is not None:
        clauses.append("kind IN ('action', 'action.amend')")
        if wanted.outcome != "ok":  # "ok" is the default and not stored
            clauses.append(contains)
            values += [ZSTD_MAGIC, f'"{wanted.outcome}"'.encode()]
    if wanted.file is not None:
        kinds = ", ".join(f"'{kind}'" for kind in WITH_FILES)
        clauses.append(f"(kind IN ({kinds}) AND {contains} OR id IN (SELECT value FROM json_each(?)))")
        values += [ZSTD_MAGIC, file_needle(wanted.file), json.dumps(touching)]
    if wanted.holding is not None:
        clauses.append(contains)
        values += [ZSTD_MAGIC, wanted.holding.encode("utf-8", "replace")]
    return "".join(f" AND {clause}" for clause in clauses), values


def _matches(event: Event, wanted: EventQuery, effects: CallEffects, touching: Set[int]) -> bool:
    """Check the conditions that need the decoded payload."""
    p = event.payload
    if p is None:
        return wanted.tool is None and wanted.outcome is None and wanted.file is None
    if wanted.outcome is not None and getattr(p, "outcome", None) != wanted.outcome:
        return False
    if wanted.tool is not None and effects.tool_of(event) != wanted.tool:
        return False
    if wanted.file is None or event.seq in touching:
        return True
    return any(path_matches(path, wanted.file) for path in paths_of(event))


def paths_of(event: Event) -> Iterator[str]:
    """Every path of an event."""
    p = event.payload
    if event.kind == "file":
        yield from (path for path in (p.path, p.origin) if path)
    elif event.kind == "seen":
        yield from _shown(p)
    else:
        for touch in getattr(p, "files", ()):
            yield from (path for path in (touch.path, touch.origin) if path)
        for shown in getattr(p, "seen", ()):
            yield from _shown(shown)


def _shown(listing: FolderListing) -> Iterator[str]:
    yield listing.folder
    base = listing.folder.rstrip("/")
    yield from (name if name.startswith("/") else f"{base}/{name}" for name in listing.files)


def path_matches(path: str, asked: str) -> bool:
    """Whether a path is the file, ends with it, or is inside it."""
    wanted = asked.rstrip("/")
    return path == wanted or path.endswith(f"/{wanted.lstrip('/')}") or path.startswith(f"{wanted}/")


AT_ITS_PLACE = {"decision": "decision", "request": "prompt", "failed": "action", "vain": "action"}
BY_ITS_ID = frozenset({"pending", "question", "answered"})
ASKED = (
    "SELECT id FROM event INDEXED BY event_asked WHERE id >= ? AND id < ?"
    " AND (kind BETWEEN 'handoff' AND 'handoff.answer' OR kind BETWEEN 'pending' AND 'pending.done')"
    " AND (substr(payload, 1, 4) = ? OR instr(payload, ?) > 0) ORDER BY id"
)


def events_of_item(store: Store, row: SessionRow, what: str, name: str) -> list[Event]:
    """The events that created and ended an item of the context.

    Empty if it is no longer current.
    """
    found: list[Event] = []
    for session, at in lineage(store.sessions, row, row.head):
        if what in AT_ITS_PLACE:
            own = _at(store, session, at, int(name)) if _is_place(name) else None
            if own is not None and own.kind == AT_ITS_PLACE[what]:
                return [own] if what not in ("failed", "vain") or _still_fails(store, session, own) else []
        elif what == "fact":
            if (last := _last_word(store, session, at, name)) is not None:
                return [last]
        elif what in BY_ITS_ID:
            found = _asked(store, session, at, name) + found
    return found


def _is_place(name: str) -> bool:
    """Whether a name can be a position."""
    return name.isdecimal() and len(name) <= len(str(SEQ_MASK))


def _at(store: Store, session: SessionRow, at: int, seq: int) -> Event | None:
    """The event at a position, if it still counts and is not quarantined."""
    if seq >= at or store.quarantine_view.marks_of(session.n).has(seq):
        return None
    ranges = effective_ranges(store.db, session.n, at, seq)
    if not ranges or ranges[0][0] != seq:  # undone by a rewind
        return None
    event = next(store.log.slice(session.n, session.id, seq, seq + 1), None)
    return None if event is None or event.payload is None else event


def _last_word(store: Store, session: SessionRow, at: int, key: str) -> Event | None:
    rows = store.db.execute(
        "SELECT seq FROM fact WHERE key=? AND session=? AND seq < ? ORDER BY seq DESC", (key, session.n, at)
    ).fetchall()
    events = (_at(store, session, at, seq) for (seq,) in rows)
    return next((event for event in events if event is not None), None)


def _asked(store: Store, session: SessionRow, at: int, name: str) -> list[Event]:
    """The events that opened and ended a question or a pending item."""
    needle = json.dumps(name, ensure_ascii=False).encode("utf-8", "replace")
    bounds = event_id(session.n, 0), event_id(session.n, at)
    rows = store.db.execute(ASKED, (*bounds, ZSTD_MAGIC, needle)).fetchall()
    found = (_at(store, session, at, row[0] & SEQ_MASK) for row in rows)
    return [event for event in found if event is not None and event.payload.id == name]


def _still_fails(store: Store, session: SessionRow, event: Event) -> bool:
    """Whether no later call with the same input, or tool and target, succeeded."""
    key = target_key(event.payload) or event.payload.input_hash
    row = store.db.execute(
        "SELECT 1 FROM failed_call WHERE session=? AND hash=?", (session.n, key)
    ).fetchone()
    return key is None or row is not None


SESSIONS = 200  # the latest
TAIL = 300  # events of each
START = ":start"


def unfinished_calls(store: Store) -> Iterator[tuple[SessionRow, str, str, int]]:
    """Calls without an end: session, call id, key and start time."""
    for row in store.sessions.listing(limit=SESSIONS):
        if row.lifecycle not in AT_WORK or row.device is not None:
            continue
        begun = store.db.execute(
            "SELECT id, key, at FROM event WHERE id >= ? AND id < ? AND kind='action.start'"
            " AND key IS NOT NULL ORDER BY id",
            (event_id(row.n, max(0, row.head - TAIL)), event_id(row.n, row.head)),
        ).fetchall()
        for id_, key, at in begun:
            call = key.removesuffix(START)
            ended = store.db.execute(
                "SELECT 1 FROM event WHERE key IN (?, ?)", (call, f"{call}:interrupted")
            ).fetchone()
            if ended is None:
                seq = id_ & SEQ_MASK
                event = next(store.log.slice(row.n, row.id, seq, seq + 1))
                if event.payload is not None and event.payload.call_id is not None:
                    yield row, event.payload.call_id, call, at


class ClaimedTimes:
    """Claimed times and arrival times of a session's events, where they differ."""

    def __init__(self, db: Database, number: int) -> None:
        rows = db.execute(
            "SELECT event & ?, at FROM claimed WHERE event >= ? AND event < ?",
            (SEQ_MASK, event_id(number, 0), event_id(number + 1, 0)),
        ).fetchall()
        self.claimed = dict(rows)
        self.noted: list[tuple[int, int]] = db.execute(
            "SELECT seq, at FROM receipt WHERE session=? ORDER BY seq", (number,)
        ).fetchall()

    def times(self, event: Event) -> dict[str, int]:
        """The other times of an event.

        `claimed_at` if it was dated in the future, `received_at` if it was dated earlier than it arrived.
        """
        if event.seq in self.claimed:
            return {"claimed_at": self.claimed[event.seq]}
        before = bisect_right(self.noted, event.seq, key=itemgetter(0))
        if before and event.at < self.noted[before - 1][1] - AHEAD:
            return {"received_at": self.noted[before - 1][1]}
        return {}


# Lists in pages, by keyset: a cursor names a position, so that appending moves nothing
#
# The cost of a page does not grow with the store. With a filter that matches little, a page may be short or
# empty and still have a next one.

LOOKED_AT = 3000  # most events or sessions to read for a page
STEP = 500  # events to read at a time


@dataclass(frozen=True)
class EventFilter:
    """Which events of a session.

    Empty sets and None mean any; `without` are kinds left out.
    """

    start: int = 0
    stop: int | None = None
    kinds: frozenset[str] = frozenset()
    without: frozenset[str] = frozenset()
    tools: frozenset[str] = frozenset()
    outcomes: frozenset[str] = frozenset()
    trusts: frozenset[str] = frozenset()
    file: str | None = None

    @property
    def within_payload(self) -> bool:
        """Whether the payload must be decoded to decide."""
        return bool(self.tools or self.outcomes or self.file)

    def matches(self, event: Event, effects: CallEffects, touching: Set[int] = frozenset()) -> bool:
        """Check the payload. `touching` are calls known to have changed the file."""
        p = event.payload
        if self.outcomes and getattr(p, "outcome", None) not in self.outcomes:
            return False
        if self.tools and effects.tool_of(event) not in self.tools:
            return False
        if self.file is None or event.seq in touching:
            return True
        return p is not None and any(self.names(path) for path in paths_of(event))

    def names(self, path: str) -> bool:
        return self.file is None or path_matches(path, self.file) or self.file in path


def kinds_of(given: Iterable[str]) -> frozenset[str]:
    """Kinds by name or by family: `session` means all that begin with `session.`."""
    found: set[str] = set()
    for name in given:
        family = [kind for kind in KINDS if kind == name] or [
            kind for kind in KINDS if kind.startswith(f"{name}.")
        ]
        if not family:
            raise InvalidRequest(f"there is no kind {name[:40]!r}", hint=f"there are: {', '.join(KINDS)}")
        found |= set(family)
    return frozenset(found)


def outcomes_of(given: frozenset[str]) -> frozenset[str]:
    """`failed` means every outcome of a failed call."""
    return given - {"failed"} | (FAILED if "failed" in given else frozenset())


@dataclass(frozen=True)
class Page:
    """Items and the cursor of the next page, or None if this is the last."""

    items: list[Any]
    next: str | None


def event_page(
    store: Store, row: SessionRow, wanted: EventFilter, *, cursor: str | None, limit: int, backwards: bool
) -> Page:
    """Events of a session from its beginning, or backwards from its end."""
    low = max(0, wanted.start)
    high = row.head if wanted.stop is None else max(0, min(row.head, wanted.stop))
    if cursor is not None:
        at = read_cursor(cursor, "e", 1)[0]
        low, high = (low, min(high, at)) if backwards else (max(low, at), high)
    effects = CallEffects(store.log, row.n, row.id)
    items: list[Event] = []
    looked = 0
    for begin, end in _steps(_ranges(store, row, wanted, low, high), STEP, backwards):
        if looked >= LOOKED_AT:
            return Page(items, f"e.{end if backwards else begin}")
        looked += end - begin
        touching: set[int] = set()
        if wanted.file is not None:
            touching = effects.touching(begin, end, wanted.file, wanted.names)
        for event in _read(store, row, wanted, begin, end, backwards, limit - len(items)):
            if len(items) < limit and wanted.matches(event, effects, touching):
                items.append(event)
        if len(items) == limit:
            at = items[-1].seq if backwards else items[-1].seq + 1
            return Page(items, f"e.{at}" if low < at < high else None)
    return Page(items, None)


def _steps(ranges: list[MinuteRange], most: int, backwards: bool) -> Iterator[MinuteRange]:
    """Ranges of positions cut into steps, in the order they are walked."""
    for low, high in reversed(ranges) if backwards else ranges:
        while low < high:
            step = min(most, high - low)
            begin = high - step if backwards else low
            yield begin, begin + step
            low, high = (low, begin) if backwards else (begin + step, high)


def _ranges(store: Store, row: SessionRow, wanted: EventFilter, low: int, high: int) -> list[MinuteRange]:
    """Where matches can be, according to the minutes."""
    if wanted.outcomes and wanted.outcomes <= FAILED:
        column = "failures"
    elif len(wanted.kinds) == 1 and (kind := next(iter(wanted.kinds))) in COUNTED:
        column = COUNTED[kind]
    else:
        return [(low, high)] if low < high else []
    return ranges_counting(store.db, row.n, column, low, high)


def _read(
    store: Store, row: SessionRow, wanted: EventFilter, begin: int, end: int, backwards: bool, room: int
) -> list[Event]:
    """Events of a range that may match."""
    clauses = ""
    values: list[Any] = [event_id(row.n, begin), event_id(row.n, end)]
    for column, names, sign in (
        ("kind", wanted.kinds, "IN"), ("kind", wanted.without, "NOT IN"), ("trust", wanted.trusts, "IN"),
    ):  # fmt: skip
        if names:
            clauses += f" AND {column} {sign} ({','.join('?' * len(names))})"
            values += sorted(names)
    if wanted.tools:  # a first check of the bytes; compressed payloads always match
        contains = " OR ".join("instr(payload, ?) > 0" for _ in wanted.tools)
        clauses += f" AND (substr(payload, 1, 4) = ? OR {contains} OR {OF_A_CALL})"
        values += [
            ZSTD_MAGIC,
            *(json.dumps(tool, ensure_ascii=False).encode() for tool in sorted(wanted.tools)),
        ]
    rows = store.db.execute(
        f"SELECT {EVENT_COLUMNS} FROM event WHERE id >= ? AND id < ?{clauses}"
        f" ORDER BY id {'DESC' if backwards else 'ASC'} LIMIT ?",
        (*values, -1 if wanted.within_payload else room),
    ).fetchall()
    return [to_event(event, row.id, b"") for event in rows]


def session_page(
    store: Store,
    *,
    cursor: str | None,
    limit: int,
    only: set[int] | None = None,
    matches: Callable[[SessionRow], bool] | None = None,
    background: bool = False,
    **equal: str | None,
) -> Page:
    """Sessions, latest first.

    `only` are numbers, `equal` columns, `matches` any other test.
    """
    from fazm_memory.store.models import SessionTable  # peewee is slow to import

    columns = [getattr(SessionTable, name) for name in NAMES]
    query = SessionTable.select(*columns).where((SessionTable.forgotten == 0) & (SessionTable.hour > -HOUR))
    if not background:
        query = query.where(SessionTable.background == 0)
    for name, value in equal.items():
        if value is not None:
            query = query.where(getattr(SessionTable, name) == value)
    if only is not None:
        query = query.where(SessionTable.n.in_(sorted(only)))
    if cursor is not None:
        at, number = read_cursor(cursor, "s", 2)
        query = query.where(
            (SessionTable.hour <= at // HOUR)
            & ((SessionTable.last_at < at) | ((SessionTable.last_at == at) & (SessionTable.n < number)))
        )
    query = query.order_by(SessionTable.hour.desc(), SessionTable.last_at.desc(), SessionTable.n.desc())
    most = limit + 1 if matches is None else LOOKED_AT
    rows = store.sessions.fetch(query.limit(most))
    items = [row for row in rows if matches is None or matches(row)]
    if len(items) > limit:
        last = items[limit - 1]
    elif len(rows) == most:
        last = rows[-1]
    else:
        return Page(items, None)
    return Page(items[:limit], f"s.{last.last_at}.{last.n}")


def read_cursor(cursor: str, kind: str, numbers: int) -> list[int]:
    """The numbers of a cursor. Anything else is refused."""
    parts = cursor.split(".")
    read = [re.fullmatch(r"-?[0-9]{1,18}", part) for part in parts[1:]]
    if parts[0] != kind or len(read) != numbers or not all(read):
        raise InvalidRequest(
            f"{cursor[:40]!r} is not a cursor of this list", hint="leave it out to begin anew"
        )
    return [int(part) for part in parts[1:]]

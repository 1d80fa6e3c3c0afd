"""Lists in pages, by keyset: a cursor names a position, so that appending moves nothing.

The cost of a page does not grow with the store. With a filter that matches little, a page may be short or
empty and still have a next one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Set
from typing import Any

from fazm_memory.errors import InvalidRequest
from fazm_memory.events import FAILED, KINDS, Event
from fazm_memory.records import dataclass
from fazm_memory.store.event_log import EVENT_COLUMNS, ZSTD_MAGIC, event_id, to_event
from fazm_memory.store.models import SessionTable
from fazm_memory.store.queries import (
    COUNTED,
    OF_A_CALL,
    CallEffects,
    MinuteRange,
    path_matches,
    paths_of,
    ranges_counting,
)
from fazm_memory.store.schema import HOUR
from fazm_memory.store.sessions import NAMES, SessionRow
from fazm_memory.store.store import Store

LOOKED_AT = 3000  # most events or sessions to read for a page
STEP = 500  # events to read at a time


@dataclass(frozen=True)
class EventFilter:
    """Which events of a session. Empty sets and None mean any; `without` are kinds left out."""

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
    """Sessions, latest first. `only` are numbers, `equal` columns, `matches` any other test."""
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

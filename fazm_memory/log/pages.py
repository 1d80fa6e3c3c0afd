"""Lists a page at a time, by keyset: a cursor names a place in the log, so that appending moves nothing.

What a page costs does not grow with the store. A filter that little matches is looked for in steps of bounded
length; then a page may be short, or empty, and still have a next one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import dataclass
from typing import Any

from fazm_memory.errors import InvalidRequest
from fazm_memory.log.effects import OF_A_CALL, Effects
from fazm_memory.log.minutes import COUNTED, Range, counted
from fazm_memory.log.rows import EVENT_COLUMNS, ZSTD_MAGIC, to_event
from fazm_memory.log.sessions import COLUMNS, SessionRow
from fazm_memory.log.slices import names, paths_of
from fazm_memory.log.store import Store
from fazm_memory.log.tables import HOUR, Session, event_id
from fazm_memory.model.events import KINDS, Event
from fazm_memory.model.payloads import FAILED

LOOKED_AT = 3000  # events of one page that are looked at, and sessions
STEP = 500  # of them at a time


@dataclass(frozen=True)
class EventFilter:
    """Which events of a session. Empty sets and None ask for nothing; `without` are kinds left out."""

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
        """Whether only the payload can tell."""
        return bool(self.tools or self.outcomes or self.file)

    def matches(self, event: Event, effects: Effects, touching: Set[int] = frozenset()) -> bool:
        """What the payload tells; kind and trust are columns. `touching` are calls known to have changed the
        file, told or not."""
        p = event.payload
        if self.outcomes and getattr(p, "outcome", None) not in self.outcomes:
            return False
        if self.tools and effects.tool_of(event) not in self.tools:
            return False
        if self.file is None or event.seq in touching:
            return True
        return p is not None and any(self.names(one) for one in paths_of(event))

    def names(self, path: str) -> bool:
        return self.file is None or names(path, self.file) or self.file in path


def kinds_of(given: Iterable[str]) -> frozenset[str]:
    """Kinds by their names, or by the family's: `session` means all that begin with `session.`."""
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
    """`failed` means every way in which a call can fail."""
    return given - {"failed"} | (FAILED if "failed" in given else frozenset())


@dataclass(frozen=True)
class Page:
    """Items and the cursor to the next page; None when this is the last."""

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
    effects = Effects(store.log, row.n, row.id)
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


def _steps(ranges: list[Range], most: int, backwards: bool) -> Iterator[Range]:
    """Ranges of positions cut into steps, in the order they are walked."""
    for low, high in reversed(ranges) if backwards else ranges:
        while low < high:
            step = min(most, high - low)
            begin = high - step if backwards else low
            yield begin, begin + step
            low, high = (low, begin) if backwards else (begin + step, high)


def _ranges(store: Store, row: SessionRow, wanted: EventFilter, low: int, high: int) -> list[Range]:
    """Where anything wanted can be, as far as the minutes tell; what they have not taken in is looked at."""
    if wanted.outcomes and wanted.outcomes <= FAILED:
        column = "failures"
    elif len(wanted.kinds) == 1 and (kind := next(iter(wanted.kinds))) in COUNTED:
        column = COUNTED[kind]
    else:
        return [(low, high)] if low < high else []
    return counted(store.db, row.n, column, low, high)


def _read(
    store: Store, row: SessionRow, wanted: EventFilter, begin: int, end: int, backwards: bool, room: int
) -> list[Event]:
    """Events of a range that may match; as many as there is room for when it is sure that they do."""
    clauses = ""
    values: list[Any] = [event_id(row.n, begin), event_id(row.n, end)]
    for column, given, sign in (
        ("kind", wanted.kinds, "IN"), ("kind", wanted.without, "NOT IN"), ("trust", wanted.trusts, "IN"),
    ):  # fmt: skip
        if given:
            clauses += f" AND {column} {sign} ({','.join('?' * len(given))})"
            values += sorted(given)
    if wanted.tools:  # a first look at the bytes: what is compressed is decoded
        told = " OR ".join("instr(payload, ?) > 0" for _ in wanted.tools)
        clauses += f" AND (substr(payload, 1, 4) = ? OR {told} OR {OF_A_CALL})"
        values += [
            ZSTD_MAGIC,
            *(json.dumps(one, ensure_ascii=False).encode() for one in sorted(wanted.tools)),
        ]
    rows = store.db.execute(
        f"SELECT {EVENT_COLUMNS} FROM event WHERE id >= ? AND id < ?{clauses}"
        f" ORDER BY id {'DESC' if backwards else 'ASC'} LIMIT ?",
        (*values, -1 if wanted.within_payload else room),
    ).fetchall()
    return [to_event(one, row.id, b"") for one in rows]


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
    """The latest sessions first. `only` are numbers, `equal` fields, `matches` looks at the rest."""
    query = Session.select(*COLUMNS).where((Session.forgotten == 0) & (Session.hour > -HOUR))
    if not background:
        query = query.where(Session.background == 0)
    for name, value in equal.items():
        if value is not None:
            query = query.where(getattr(Session, name) == value)
    if only is not None:
        query = query.where(Session.n.in_(sorted(only)))
    if cursor is not None:
        at, number = read_cursor(cursor, "s", 2)
        query = query.where(
            (Session.hour <= at // HOUR)
            & ((Session.last_at < at) | ((Session.last_at == at) & (Session.n < number)))
        )
    query = query.order_by(Session.hour.desc(), Session.last_at.desc(), Session.n.desc())
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
    """The numbers of a cursor that we gave out; anything else is refused."""
    parts = cursor.split(".")
    read = [re.fullmatch(r"-?[0-9]{1,18}", part) for part in parts[1:]]
    if parts[0] != kind or len(read) != numbers or not all(read):
        raise InvalidRequest(
            f"{cursor[:40]!r} is not a cursor of this list", hint="leave it out to begin anew"
        )
    return [int(part) for part in parts[1:]]

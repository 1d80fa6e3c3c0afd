"""Rows read straight from the pages of a damaged database, without the trees that lead to them.

A damaged page costs its own rows and no others, also when it is one by which others are found. Tables are
told by the shape of their rows. A page may be one that was given up, so there may be two copies of an event:
the one that says less counts, and of what a tombstone tells nothing more is given than it left. Whether a
row is true the chain proves to whoever asked.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Any

from fazm_memory.log import chain
from fazm_memory.log.raw_pages import USABLE, RawPages
from fazm_memory.log.rows import EVENT_COLUMNS
from fazm_memory.log.tables import SEQ_BITS, SEQ_MASK
from fazm_memory.log.tombstones import Tombstones

TABLE_LEAF, INDEX_LEAF, INDEX_INTERIOR = 0x0D, 0x0A, 0x02  # a table WITHOUT ROWID lies in an index
LENGTHS = (0, 1, 2, 3, 4, 6, 8, 8, 0, 0)  # of values, by serial type
LEAST = (USABLE - 12) * 32 // 255 - 23  # bytes of a long row that stay on its page
MOST = {TABLE_LEAF: USABLE - 35, INDEX_LEAF: (USABLE - 12) * 64 // 255 - 23}
MOST[INDEX_INTERIOR] = MOST[INDEX_LEAF]
PAYLOAD, DIGEST = 9, 10  # their places in an event


@dataclass(frozen=True)
class Shape:
    """What the rows of a table look like: `-` its rowid, i(nteger), n(umber of a session, shorter than that
    of an event), t(ext), b(lob), a capital where it may be NULL, `?` anything. Rows may have `more` columns,
    which other versions of the program added."""

    columns: str
    types: str
    more: int = 0

    def fits(self, serials: list[int]) -> bool:
        if not 0 <= len(serials) - len(self.types) <= self.more:
            return False
        return all(
            type_ == "?"
            or (serial == 0 and (type_ == "-" or type_.isupper()))
            or type_.lower() in _type(serial)
            for type_, serial in zip(self.types, serials, strict=False)
        )


SHAPES = {
    "event": Shape(EVENT_COLUMNS, "-iititttT?bb", more=4),
    "session": Shape(
        "n, id, agent, agent_session_id, title, workspace, lifecycle, parent, parent_seq, background,"
        " opened_at",
        "-ttTTTtTIiiiiiiiiibiiiii",
    ),
    "cursor": Shape("path, agent, offset, size, inode, fingerprint, carry, updated_at", "ttiiITBi"),
    "meta": Shape("key, value", "tT"),
    "session_id": Shape("id, n", "tn"),  # the index by id
    "session_agent": Shape("own, agent, n", "ttn"),
}


@dataclass
class Found:
    """What a look at every page found."""

    pages: dict[str, list[int]]
    events: list[tuple[int, int, int]] = field(default_factory=list)  # first id, last id, page
    tombstones: dict[int, Tombstones] = field(default_factory=dict)  # by session number

    @cached_property
    def reach(self) -> list[int]:
        """The highest last id up to each page of events: where those that have an id can begin."""
        return list(accumulate((last for _, last, _ in self.events), max))


class RawRows:
    def __init__(self, pages: RawPages, shapes: Mapping[str, Shape] = SHAPES) -> None:
        self.pages = pages
        self.shapes = shapes

    @cached_property
    def found(self) -> Found:
        found = Found({table: [] for table in self.shapes})
        for number in self.pages.used():
            page = self.pages.read(number) if number > 1 else None  # page 1 begins the schema
            table = None if page is None else _table(page, self.shapes)
            if page is None or table is None:
                continue
            found.pages[table].append(number)
            if table == "event":
                ids = [rowid for rowid, _, _ in _cells(page)]
                found.events.append((min(ids), max(ids), number))
                if b"forgotten" in page:
                    self._bury(page, found)
        found.events.sort()
        return found

    def _bury(self, page: bytes, found: Found) -> None:
        for row in self._rows(page, "event"):
            if row[3] == "forgotten" and isinstance(row[PAYLOAD], bytes):
                told = found.tombstones.setdefault(row[0] >> SEQ_BITS, Tombstones())
                told.add(row[PAYLOAD], row[0] & SEQ_MASK)

    @cached_property
    def _graves(self) -> dict[int, tuple[list[int], list[int]]]:
        """By session, where forgotten ranges begin and how far those that began so far reach."""
        made = {}
        for number, one in self.found.tombstones.items():
            ranges = sorted(one.ranges)
            made[number] = [low for low, _ in ranges], list(accumulate((high for _, high in ranges), max))
        return made

    def rows(self, table: str, columns: str) -> list[tuple[Any, ...]]:
        """The rows of a small table."""
        return list(self.each(table, columns))

    def each(self, table: str, columns: str) -> Iterator[tuple[Any, ...]]:
        """The same of a large one, one after another."""
        names = self.shapes[table].columns.split(", ")
        wanted = [names.index(name) for name in columns.split(", ")]
        pages = (self.pages.read(number) for number in self.found.pages[table])
        rows = (row for page in pages if page is not None for row in self._rows(page, table))
        return (tuple(row[one] for one in wanted) for row in rows)

    def events(self, low: int, high: int) -> Iterator[tuple[Any, ...]]:
        """Event rows with low <= id < high, in order."""
        waiting: dict[int, tuple[Any, ...]] = {}
        spans = self.found.events
        for at in range(bisect_left(self.found.reach, low), bisect_left(spans, (high,))):
            first, last, number = spans[at]
            page = self.pages.read(number) if last >= low else None
            if page is None:
                continue
            for id_ in sorted(one for one in waiting if one < first):
                yield waiting.pop(id_)
            for row in self._rows(page, "event"):
                if low <= row[0] < high and (left := self._left(row)) is not None:
                    waiting[row[0]] = min(waiting.get(row[0], left), left, key=_says)
        for id_ in sorted(waiting):
            yield waiting[id_]

    def _left(self, row: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """What the session's tombstones left of an event."""
        number, seq = row[0] >> SEQ_BITS, row[0] & SEQ_MASK
        if number not in self._graves or not isinstance(row[PAYLOAD], bytes):
            return row
        bones = self.found.tombstones[number].left.get(seq)
        if bones is not None:
            return row if chain.digest_of(row[PAYLOAD]).hex() == bones else None
        starts, reach = self._graves[number]
        before = bisect_right(starts, seq)
        if before and seq < reach[before - 1]:
            return (*row[:PAYLOAD], None, *row[DIGEST:])
        return row

    def _rows(self, page: bytes, table: str) -> Iterator[tuple[Any, ...]]:
        """The rows of a page that are whole and have the table's shape, with the columns that it names."""
        shape = self.shapes[table]
        count = shape.columns.count(",") + 1
        for rowid, size, at in _cells(page):
            payload = self._payload(page, size, at)
            serials = [] if payload is None else _serials(payload)
            if payload is not None and shape.fits(serials):
                values = _values(payload, serials[:count])
                values += [None] * (count - len(values))  # columns that were added after it was written
                yield (rowid, *values[1:]) if shape.types[0] == "-" else tuple(values)

    def _payload(self, page: bytes, size: int, at: int) -> bytes | None:
        """All of a row, whose end may lie on pages of its own; None when one of them is damaged."""
        most = MOST[page[0]]
        if size <= most:
            return page[at : at + size]
        local = LEAST + (size - LEAST) % (USABLE - 4)
        local = local if local <= most else LEAST
        parts = [page[at : at + local]]
        following = int.from_bytes(page[at + local : at + local + 4])
        missing = size - local
        while missing > 0:
            more = self.pages.read(following)
            if more is None:
                return None
            parts.append(more[4 : 4 + missing])
            missing -= USABLE - 4
            following = int.from_bytes(more[:4])
        return b"".join(parts)


def _says(row: tuple[Any, ...]) -> int:
    return -1 if row[PAYLOAD] is None else len(row[PAYLOAD]) if isinstance(row[PAYLOAD], bytes) else 0


def _table(page: bytes, shapes: Mapping[str, Shape]) -> str | None:
    """Which table a page belongs to, by its first row."""
    first = next(_cells(page), None)
    serials = [] if first is None else _serials(page[first[2] : USABLE])
    return next((table for table, shape in shapes.items() if shape.fits(serials)), None)


def _cells(page: bytes) -> Iterator[tuple[int, int, int]]:
    """Of each row on a page that has any its rowid (0 where it has none), its size and where it begins."""
    kind = page[0]
    if kind not in MOST:
        return
    begin = 12 if kind == INDEX_INTERIOR else 8
    for one in range(int.from_bytes(page[3:5])):
        at = int.from_bytes(page[begin + 2 * one : begin + 2 * one + 2])
        size, at = _varint(page, at + (4 if kind == INDEX_INTERIOR else 0))
        rowid, at = _varint(page, at) if kind == TABLE_LEAF else (0, at)
        yield rowid, size, at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """SQLite's number of one to nine bytes, and where it ends. What would lie behind the data counts as 0."""
    value = 0
    for one in data[at : at + 8]:
        at += 1
        value = value << 7 | one & 0x7F
        if one < 0x80:
            return value, at
    return value << 8 | int.from_bytes(data[at : at + 1]), at + 1


def _serials(payload: bytes) -> list[int]:
    size, at = _varint(payload, 0)
    found = []
    while at < min(size, len(payload)):
        serial, at = _varint(payload, at)
        found.append(serial)
    return found


def _type(serial: int) -> str:
    if serial >= 12:
        return "t" if serial % 2 else "b"
    return "i" if serial in (5, 6) else "in" if 0 < serial < 7 or serial in (8, 9) else ""


def _values(payload: bytes, serials: list[int]) -> list[Any]:
    at = _varint(payload, 0)[0]
    made: list[Any] = []
    for serial in serials:
        length = LENGTHS[serial] if serial < 10 else max(0, serial - 12) // 2
        part = payload[at : at + length]
        at += length
        if serial >= 12:
            made.append(part.decode(errors="replace") if serial % 2 else part)
        elif "i" in _type(serial):
            made.append(serial - 8 if serial > 7 else int.from_bytes(part, signed=True))
        else:
            made.append(None)  # a number with a fraction, which no column of ours has, is none either
    return made

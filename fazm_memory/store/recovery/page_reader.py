"""Reading rows straight from the pages of a damaged database.

A damaged page loses only its own rows. Tables are recognised by the types of their columns. Free pages may
have older copies of an event: the one with less content counts, and forgotten content is not returned. The
caller checks rows against the hash chain.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import struct
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any

from sqlcipher3 import dbapi2 as sqlcipher

from fazm_memory.records import dataclass, field
from fazm_memory.store import hash_chain
from fazm_memory.store.event_log import EVENT_COLUMNS, SEQ_BITS, SEQ_MASK, event_id
from fazm_memory.store.forget import Tombstones
from fazm_memory.store.store import PAGE
from fazm_memory.text import plural

VECTOR, CODE = 16, 64
USABLE = PAGE - VECTOR - CODE
SALT = 16  # bytes at the beginning of page 1, in plaintext
MASK = 0x3A  # XORed with the salt to derive the key of the page MACs
LOCKS = (1 << 30) // PAGE + 1  # SQLite's lock-byte page, never written
FRAMES = 32  # offset of the first frame in a write-ahead log
FRAME = 24  # size of a frame's header
ORDERS = {0x377F0682: "<", 0x377F0683: ">"}  # byte order of its checksums, by magic number


class PageReader:
    """Decrypts pages. Files are opened at once, because they may be moved meanwhile."""

    def __init__(self, database: Path, key: str, spare: bytes | None) -> None:
        self.key = bytes.fromhex(key)
        self.spare = spare
        self.file = database.open("rb")
        log = database.with_name(database.name + "-wal")
        self.log = log.open("rb") if log.exists() else None

    def close(self) -> None:
        self.file.close()
        if self.log is not None:
            self.log.close()

    @cached_property
    def frames(self) -> tuple[dict[int, int], int]:
        """The newest committed frame of each page in the WAL, and the number of pages."""
        committed: dict[int, int] = {}
        count = os.fstat(self.file.fileno()).st_size // PAGE
        if self.log is None:
            return committed, count
        self.log.seek(0)
        head = self.log.read(FRAMES)
        if len(head) < FRAMES:
            return committed, count
        order = ORDERS.get(int.from_bytes(head[:4]))
        total = (0, 0)
        if order is None or (total := _summed(order, total, head[:24])) != struct.unpack(">II", head[24:]):
            return committed, count
        waiting: dict[int, int] = {}
        at = FRAMES
        while len(frame := self.log.read(FRAME + PAGE)) == FRAME + PAGE and frame[8:16] == head[16:24]:
            total = _summed(order, total, frame[:8] + frame[FRAME:])
            if total != struct.unpack(">II", frame[16:FRAME]):
                break
            number, size = struct.unpack(">II", frame[:8])
            waiting[number] = at + FRAME
            if size:  # the frame of a commit
                committed |= waiting
                waiting, count = {}, size
            at += FRAME + PAGE
        return committed, count

    @property
    def count(self) -> int:
        return self.frames[1]

    @cached_property
    def code_key(self) -> bytes | None:
        """The key of the page MACs, or None if no page can be authenticated."""
        for salt in dict.fromkeys((self._sealed(1)[:SALT], (self.spare or b"")[:SALT])):
            masked = bytes(byte ^ MASK for byte in salt)
            key = hashlib.pbkdf2_hmac("sha512", self.key, masked, 2, 32)
            if any(self._whole(number, self._sealed(number), key) for number in range(1, self.count + 1)):
                return key
        return None

    def read(self, number: int) -> bytes | None:
        """A decrypted page, or None if it is damaged or missing."""
        sealed = self._sealed(number)
        if self.code_key is None or not self._whole(number, sealed, self.code_key):
            return None
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes  # seldom needed

        vector = sealed[USABLE : USABLE + VECTOR]
        begin = SALT if number == 1 else 0
        opening = Cipher(algorithms.AES(self.key), modes.CBC(vector)).decryptor()
        return sealed[:begin] + opening.update(sealed[begin:USABLE]) + opening.finalize()

    @cached_property
    def free(self) -> set[int]:
        """The free pages, as far as their list can be read. They still have old content."""
        found: set[int] = set()
        first = self.read(1)
        trunk = 0 if first is None else int.from_bytes(first[32:36])
        while trunk and trunk not in found and (page := self.read(trunk)) is not None:
            found.add(trunk)
            trunk, count = struct.unpack(">II", page[:8])
            found.update(struct.unpack_from(f">{min(count, USABLE // 4 - 2)}I", page, 8))
        return found

    def used(self) -> Iterator[int]:
        return (number for number in range(1, self.count + 1) if number not in self.free and number != LOCKS)

    @cached_property
    def damaged(self) -> list[int]:
        """The pages in use that fail authentication."""
        key = self.code_key
        return [n for n in self.used() if key is None or not self._whole(n, self._sealed(n), key)]

    @cached_property
    def cut_off(self) -> bool:
        """Whether the file is shorter than its header says."""
        first = self.read(1)
        return first is not None and int.from_bytes(first[28:32]) > self.count

    def _sealed(self, number: int) -> bytes:
        frame = self.frames[0].get(number)
        if frame is not None and self.log is not None:
            return os.pread(self.log.fileno(), PAGE, frame)
        return os.pread(self.file.fileno(), PAGE, (number - 1) * PAGE) if number > 0 else b""

    @staticmethod
    def _whole(number: int, sealed: bytes, key: bytes) -> bool:
        if len(sealed) < PAGE:
            return False
        covered = sealed[SALT if number == 1 else 0 : USABLE + VECTOR] + number.to_bytes(4, "little")
        return hmac.compare_digest(hmac.digest(key, covered, "sha512"), sealed[USABLE + VECTOR :])


def _summed(order: str, total: tuple[int, int], data: bytes) -> tuple[int, int]:
    """The running checksum of the write-ahead log after more data."""
    low, high = total
    for first, second in struct.iter_unpack(f"{order}II", data):
        low = (low + first + high) & 0xFFFFFFFF
        high = (high + second + low) & 0xFFFFFFFF
    return low, high


TABLE_LEAF, INDEX_LEAF, INDEX_INTERIOR = 0x0D, 0x0A, 0x02  # a table WITHOUT ROWID is stored as an index
LENGTHS = (0, 1, 2, 3, 4, 6, 8, 8, 0, 0)  # of values, by serial type
LEAST = (USABLE - 12) * 32 // 255 - 23  # bytes of a long row that stay on its page
MOST = {TABLE_LEAF: USABLE - 35, INDEX_LEAF: (USABLE - 12) * 64 // 255 - 23}
MOST[INDEX_INTERIOR] = MOST[INDEX_LEAF]
PAYLOAD, DIGEST = 9, 10  # columns of an event


@dataclass(frozen=True)
class RowShape:
    """The columns of a table and their types.

    `-` rowid, i(nteger), n(umber of a session), t(ext), b(lob), a capital if NULL is allowed, `?` anything.
    Rows may have `more` columns, added by other versions.
    """

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
    "event": RowShape(EVENT_COLUMNS, "-iititttT?bb", more=4),
    "session": RowShape(
        "n, id, agent, agent_session_id, title, workspace, lifecycle, parent, parent_seq, background,"
        " opened_at",
        "-ttTTTtTIiiiiiiiiibiiiii",
        more=4,
    ),
    "cursor": RowShape("path, agent, offset, size, inode, fingerprint, carry, updated_at", "ttiiITBi"),
    "meta": RowShape("key, value", "tT"),
    "session_id": RowShape("id, n", "tn"),  # the index by id
    "session_agent": RowShape("own, agent, n", "ttn"),
}


@dataclass
class PageScan:
    """The result of reading every page."""

    pages: dict[str, list[int]]
    events: list[tuple[int, int, int]] = field(default_factory=list)  # first id, last id, page
    tombstones: dict[int, Tombstones] = field(default_factory=dict)  # by session number

    @cached_property
    def reach(self) -> list[int]:
        """The highest last id up to each page of events."""
        return list(accumulate((last for _, last, _ in self.events), max))


class RowReader:
    """Rows of the tables with the given shapes."""

    def __init__(self, pages: PageReader, shapes: Mapping[str, RowShape] = SHAPES) -> None:
        self.pages = pages
        self.shapes = shapes

    @cached_property
    def found(self) -> PageScan:
        found = PageScan({table: [] for table in self.shapes})
        for number in self.pages.used():
            page = self.pages.read(number) if number > 1 else None  # page 1 has the schema
            table = None if page is None else _table(page, self.shapes)
            if page is None or table is None:
                continue
            found.pages[table].append(number)
            if table == "event":
                ids = [rowid for rowid, _, _ in _cells(page)]
                found.events.append((min(ids), max(ids), number))
                if b"forgotten" in page:
                    self._add_tombstones(page, found)
        found.events.sort()
        return found

    def _add_tombstones(self, page: bytes, found: PageScan) -> None:
        for row in self._rows(page, "event"):
            if row[3] == "forgotten" and isinstance(row[PAYLOAD], bytes):
                tombstones = found.tombstones.setdefault(row[0] >> SEQ_BITS, Tombstones())
                tombstones.add(row[PAYLOAD], row[0] & SEQ_MASK)

    @cached_property
    def _forgotten_ranges(self) -> dict[int, tuple[list[int], list[int]]]:
        """By session, the starts of forgotten ranges and how far they reach."""
        found = {}
        for number, tombstones in self.found.tombstones.items():
            ranges = sorted(tombstones.ranges)
            found[number] = [low for low, _ in ranges], list(accumulate((high for _, high in ranges), max))
        return found

    def rows(self, table: str, columns: str) -> list[tuple[Any, ...]]:
        """The rows of a small table."""
        return list(self.each(table, columns))

    def each(self, table: str, columns: str) -> Iterator[tuple[Any, ...]]:
        """The rows of a large table, as a stream."""
        names = self.shapes[table].columns.split(", ")
        wanted = [names.index(name) for name in columns.split(", ")]
        pages = (self.pages.read(number) for number in self.found.pages[table])
        rows = (row for page in pages if page is not None for row in self._rows(page, table))
        return (tuple(row[index] for index in wanted) for row in rows)

    def events(self, low: int, high: int) -> Iterator[tuple[Any, ...]]:
        """Event rows with low <= id < high, in order."""
        waiting: dict[int, tuple[Any, ...]] = {}
        spans = self.found.events
        for at in range(bisect_left(self.found.reach, low), bisect_left(spans, (high,))):
            first, last, number = spans[at]
            page = self.pages.read(number) if last >= low else None
            if page is None:
                continue
            for id_ in sorted(event for event in waiting if event < first):
                yield waiting.pop(id_)
            for row in self._rows(page, "event"):
                if low <= row[0] < high and (left := self._left(row)) is not None:
                    waiting[row[0]] = min(waiting.get(row[0], left), left, key=_content_size)
        for id_ in sorted(waiting):
            yield waiting[id_]

    def _left(self, row: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """An event row after the session's tombstones."""
        number, seq = row[0] >> SEQ_BITS, row[0] & SEQ_MASK
        if number not in self._forgotten_ranges or not isinstance(row[PAYLOAD], bytes):
            return row
        left_digest = self.found.tombstones[number].left.get(seq)
        if left_digest is not None:
            return row if hash_chain.digest_of(row[PAYLOAD]).hex() == left_digest else None
        starts, reach = self._forgotten_ranges[number]
        before = bisect_right(starts, seq)
        if before and seq < reach[before - 1]:
            return (*row[:PAYLOAD], None, *row[DIGEST:])
        return row

    def _rows(self, page: bytes, table: str) -> Iterator[tuple[Any, ...]]:
        """The complete rows of a page that fit the shape of the table."""
        shape = self.shapes[table]
        count = shape.columns.count(",") + 1
        for rowid, size, at in _cells(page):
            payload = self._payload(page, size, at)
            serials = [] if payload is None else _serials(payload)
            if payload is not None and shape.fits(serials):
                values = _values(payload, serials[:count])
                values += [None] * (count - len(values))  # columns added later
                yield (rowid, *values[1:]) if shape.types[0] == "-" else tuple(values)

    def _payload(self, page: bytes, size: int, at: int) -> bytes | None:
        """A whole row with its overflow pages, or None if one is damaged."""
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


def _content_size(row: tuple[Any, ...]) -> int:
    return -1 if row[PAYLOAD] is None else len(row[PAYLOAD]) if isinstance(row[PAYLOAD], bytes) else 0


def _table(page: bytes, shapes: Mapping[str, RowShape]) -> str | None:
    """The table of a page, by its first row."""
    first = next(_cells(page), None)
    serials = [] if first is None else _serials(page[first[2] : USABLE])
    return next((table for table, shape in shapes.items() if shape.fits(serials)), None)


def _cells(page: bytes) -> Iterator[tuple[int, int, int]]:
    """The rowid (or 0), size and offset of each row on a page."""
    kind = page[0]
    if kind not in MOST:
        return
    begin = 12 if kind == INDEX_INTERIOR else 8
    for cell in range(int.from_bytes(page[3:5])):
        at = int.from_bytes(page[begin + 2 * cell : begin + 2 * cell + 2])
        size, at = _varint(page, at + (4 if kind == INDEX_INTERIOR else 0))
        rowid, at = _varint(page, at) if kind == TABLE_LEAF else (0, at)
        yield rowid, size, at


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """SQLite's variable-length integer, and where it ends."""
    value = 0
    for byte in data[at : at + 8]:
        at += 1
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
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
    values: list[Any] = []
    for serial in serials:
        length = LENGTHS[serial] if serial < 10 else max(0, serial - 12) // 2
        part = payload[at : at + length]
        at += length
        if serial >= 12:
            values.append(part.decode(errors="replace") if serial % 2 else part)
        elif "i" in _type(serial):
            values.append(serial - 8 if serial > 7 else int.from_bytes(part, signed=True))
        else:
            values.append(None)  # NULL, or a float, which no column has
    return values


SELECT = f"SELECT {EVENT_COLUMNS} FROM event WHERE id >= ? AND id < ? ORDER BY id"


class DamagedDatabase:
    """A damaged database, opened as a copy so that the original stays unchanged."""

    def __init__(self, copy: Path, key: str, pages: PageReader) -> None:
        self.path = copy
        self.key = key
        self.pages = pages
        self.raw = RowReader(pages)
        self.notes: list[str] = []
        self.db = None if pages.damaged else self._open()
        if self.db is None:
            self._one_by_one()

    @property
    def readable(self) -> bool:
        """Whether anything can be read with this key."""
        return self.pages.code_key is not None

    def _open(self) -> Any:
        connection = sqlcipher.connect(str(self.path), isolation_level=None)
        try:
            connection.execute("PRAGMA cipher_log_level=NONE").fetchall()
            connection.execute(f"PRAGMA key=\"x'{self.key}'\"")
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
            return connection
        except sqlcipher.Error:
            connection.close()
            return None

    def _one_by_one(self) -> None:
        damaged, count = len(self.pages.damaged), self.pages.count
        if not self.readable:
            self.notes.append("none of its pages can be read")
            return
        self.notes.append(f"its pages were read one by one: {damaged} of {plural(count, 'page')} damaged")
        if self.pages.cut_off:
            self.notes.append("its end was cut off")

    def _query(self, sql: str, values: tuple[int, ...] = ()) -> list[tuple[Any, ...]] | None:
        """All rows, or None once the driver has failed."""
        if self.db is None:
            return None
        try:
            return list(self.db.execute(sql, values).fetchall())
        except sqlcipher.Error:
            self.db.close()
            self.db = None
            self._one_by_one()
            return None

    def rows(self, table: str, columns: str) -> list[tuple[Any, ...]]:
        found = self._query(f"SELECT {columns} FROM {table}")
        return self.raw.rows(table, columns) if found is None else found

    def numbers(self, last: int) -> list[int]:
        """The numbers of sessions with events, up to `last`."""
        found: list[int] = []
        number = 0
        while number <= last:
            row = next(self.events(event_id(number, 0), event_id(last + 1, 0), batch=1), None)
            if row is None:
                break
            found.append(row[0] >> SEQ_BITS)
            number = found[-1] + 1
        return found

    def events(self, low: int, high: int, *, batch: int = 64) -> Iterator[tuple[Any, ...]]:
        """Complete event rows with low <= id < high, in order."""
        at = low
        while at < high:
            rows = self._query(f"{SELECT} LIMIT {batch}", (at, high))
            if rows is None:
                yield from self.raw.events(at, high)
                return
            if not rows:
                return
            yield from rows
            at = rows[-1][0] + 1

    def close(self) -> None:
        self.pages.close()
        if self.db is not None:
            self.db.close()

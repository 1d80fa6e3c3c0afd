"""Reading what can still be read of a damaged database.

Every page carries its own authentication code, so a damaged one is refused by the driver rather than
misread. A scan that hits one goes on behind it: the rows on both sides are whole.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sqlcipher3 import dbapi2 as sqlcipher

from fazm_memory.log.rows import EVENT_COLUMNS
from fazm_memory.log.tables import SEQ_BITS, event_id

SELECT = f"SELECT {EVENT_COLUMNS} FROM event WHERE id >= ? AND id < ? ORDER BY id"
FARTHEST = 1 << 20
LENGTHENED = 10  # how often a file that was cut off is doubled: what has less than a thousandth left is lost


class Wreck:
    """A damaged database, opened on a copy of its own so that the original stays as it was found."""

    def __init__(self, path: Path, key: str, first_page: bytes | None) -> None:
        self.path = path
        self.key = key
        self.notes: list[str] = []
        self.db = self._open() or self._lengthened()
        if self.db is None and first_page is not None:
            with path.open("r+b") as file:  # page 1 only says where the tables begin: an older copy will do
                file.write(first_page)
            self.db = self._open() or self._lengthened()
            self.notes.append("its first page was damaged; the copy kept beside the key was used")
        if self.db is None:
            self.notes.append("its first page cannot be read, so no other can be found")

    def _lengthened(self) -> Any:
        """For a file that was cut off: it is not opened while shorter than it says, so holes fill its end."""
        whole = self.path.stat().st_size
        for doubled in range(1, LENGTHENED + 1):
            os.truncate(self.path, whole << doubled)
            if opened := self._open():
                self.notes.append("its end was cut off")
                return opened
        os.truncate(self.path, whole)
        return None

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

    def _query(self, sql: str, values: tuple[int, ...] = ()) -> list[tuple[Any, ...]] | None:
        """All rows, or None when a page is damaged. One such page spoils the connection: take a new one."""
        if self.db is None:
            return None
        try:
            return list(self.db.execute(sql, values).fetchall())
        except sqlcipher.Error:
            self.db.close()
            self.db = self._open()
            return None

    def rows(self, table: str, columns: str) -> list[tuple[Any, ...]]:
        """All rows of a small table, or none when a page it needs is damaged."""
        found = self._query(f"SELECT {columns} FROM {table}")
        if found is None and self.db is not None:
            self.notes.append(f"the table {table} is damaged")
        return found or []

    def numbers(self, last: int) -> list[int]:
        """The numbers of the sessions that have events, up to `last`, found by seeking one after another."""
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
        """Event rows with low <= id < high in order, stepping over what is damaged."""
        at = low
        while at < high:
            rows = self._query(f"{SELECT} LIMIT {batch}", (at, high))
            if rows is None and batch > 1:
                rows = self._query(f"{SELECT} LIMIT 1", (at, high))
                if rows is None:
                    at = self._behind(at, high)
                    continue
            if rows is None:
                at = self._behind(at, high)
                continue
            if not rows:
                return
            yield from rows
            at = rows[-1][0] + 1

    def _behind(self, at: int, high: int) -> int:
        """The first place behind the damage at `at` that can be read: strides, then halves."""
        stride = 1
        while at + stride < high and not self._readable(at + stride, high):
            if stride >= FARTHEST:
                return high
            stride *= 2
        if at + stride >= high:
            return high
        bad, good = at + stride // 2, at + stride
        while good - bad > 1:
            middle = (bad + good) // 2
            if self._readable(middle, high):
                good = middle
            else:
                bad = middle
        return good

    def _readable(self, at: int, high: int) -> bool:
        return self._query(f"{SELECT} LIMIT 1", (at, high)) is not None

    def close(self) -> None:
        if self.db is not None:
            self.db.close()

"""Reading what can still be read of a damaged database.

Every page carries its own authentication code, so it is known which are damaged. The driver is asked only
when none is: it hands out zeros for the end of a long row that lies on a damaged page, and finds nothing
behind a damaged page that leads to others. Otherwise, and where it fails, the pages are read one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sqlcipher3 import dbapi2 as sqlcipher

from fazm_memory.log.raw_pages import RawPages
from fazm_memory.log.raw_rows import RawRows
from fazm_memory.log.rows import EVENT_COLUMNS
from fazm_memory.log.tables import SEQ_BITS, event_id
from fazm_memory.model.counting import plural

SELECT = f"SELECT {EVENT_COLUMNS} FROM event WHERE id >= ? AND id < ? ORDER BY id"


class Wreck:
    """A damaged database, opened on a copy of its own so that the original stays as it was found; `pages` are
    those of the original."""

    def __init__(self, copy: Path, key: str, pages: RawPages) -> None:
        self.path = copy
        self.key = key
        self.pages = pages
        self.raw = RawRows(pages)
        self.notes: list[str] = []
        self.db = None if pages.damaged else self._open()
        if self.db is None:
            self._one_by_one()

    @property
    def readable(self) -> bool:
        """Whether anything of it can be read with this key."""
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
        """All rows, or None when the driver is asked no more."""
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
        """All rows of a small table that are whole."""
        found = self._query(f"SELECT {columns} FROM {table}")
        return self.raw.rows(table, columns) if found is None else found

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
        """Event rows with low <= id < high that are whole, in order."""
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

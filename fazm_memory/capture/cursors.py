"""How far each file of an agent's records has been read, and whether it is still the file that was read.

A file may grow, be cut short, be written anew under its name, or move. Its length, its inode and two samples
of what was read tell which; whenever they do not agree the file is read from the beginning, and the keys of
what it tells keep that from being recorded twice.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fazm_memory.capture.agents.reader import Cursor, RecordFile
from fazm_memory.capture.scrub import Scrubber
from fazm_memory.log.database import Database
from fazm_memory.log.writer import Writer

HEAD = 1024
TAIL = 256


@dataclass(frozen=True)
class Row:
    """A cursor as it is stored, without what its reader carries."""

    path: str
    offset: int
    size: int
    inode: int
    fingerprint: str


@dataclass(frozen=True)
class Unread:
    """A file with something new in it. `held` is an opening that was made while recording was paused."""

    record: RecordFile
    cursor: Cursor
    bytes: int
    moved_from: str | None = None
    held: Mapping[str, Any] = field(default_factory=dict)


class Cursors:
    """The cursors of one store: a row per file in memory, what its reader carries only when it is needed."""

    def __init__(self, database: Database, scrubber: Scrubber) -> None:
        self.db = database
        self.scrubber = scrubber
        rows = database.execute("SELECT path, offset, size, inode, fingerprint FROM cursor").fetchall()
        self.rows: dict[str, Row] = {row[0]: Row(*row) for row in rows}
        self.by_inode: dict[int, str] = {row.inode: row.path for row in self.rows.values()}

    def unread(self, record: RecordFile) -> Unread | None:
        """What a file holds beyond its cursor, or None when nothing has changed. May raise OSError."""
        row = self.rows.get(str(record.path))
        if row is not None and row.size == record.size and _mtime(row) == record.mtime:
            return None
        moved_from = None
        if row is None:
            row = self._moved(record)
            moved_from = None if row is None else row.path
        if row is None or not _same(row, record):
            return Unread(record, Cursor(), record.size)
        stored = self.db.execute("SELECT carry FROM cursor WHERE path=?", (row.path,)).fetchone()
        carried = json.loads(stored[0]) if stored is not None and stored[0] else {}
        left = record.size - (row.offset if of_lines(record) else max(0, row.size))
        cursor = Cursor(row.offset, carried.get("carry") or {})
        return Unread(record, cursor, max(0, left), moved_from, carried.get("held") or {})

    def _moved(self, record: RecordFile) -> Row | None:
        """The cursor this file had under another name, when that name is gone."""
        known = self.by_inode.get(os.stat(record.path).st_ino)
        if known is None or os.path.exists(known):
            return None
        return self.rows.get(known)

    def save(
        self,
        writer: Writer,
        unread: Unread,
        cursor: Cursor,
        *,
        ended: bool,
        held: Mapping[str, Any],
        now: int,
    ) -> None:
        """Keep a cursor, in the transaction of the events it led to; `ended` when all there was is read."""
        record = unread.record
        try:
            inode, mark = os.stat(record.path).st_ino, fingerprint(record, cursor.offset)
        except FileNotFoundError:
            return  # cleared away while it was read: there is nothing to go on from
        row = Row(str(record.path), cursor.offset, record.size if ended else -1, inode, mark)
        # A call that waits for its result is carried with its input: scrubbed, like all that is kept.
        carried = self.scrubber.value({"carry": dict(cursor.carry), "held": dict(held)})[0]
        carry = json.dumps(carried).encode()
        writer.db.execute(
            "INSERT OR REPLACE INTO cursor VALUES (?,?,?,?,?,?,?,?)",
            (row.path, record.agent, row.offset, row.size, row.inode, row.fingerprint, carry, now),
        )
        if unread.moved_from is not None:
            writer.db.execute("DELETE FROM cursor WHERE path=?", (unread.moved_from,))
            self.rows.pop(unread.moved_from, None)
        self.rows[row.path] = row
        self.by_inode[row.inode] = row.path


def of_lines(record: RecordFile) -> bool:
    """Whether the records are lines, so that an offset is a place in the file. In a database it is not."""
    return record.path.suffix == ".jsonl"


def fingerprint(record: RecordFile, offset: int) -> str:
    """When the file was last written as it was read, and samples of the first and the last that was read."""
    head, tail = _samples(record.path, offset) if of_lines(record) else ("", "")
    return f"{record.mtime!r}:{head}:{tail}"


def _mtime(row: Row) -> float:
    return float(row.fingerprint.split(":", 1)[0])


def _same(row: Row, record: RecordFile) -> bool:
    if not of_lines(record):
        return True
    samples = row.fingerprint.split(":")[1:]
    return record.size >= row.offset and samples == list(_samples(record.path, row.offset))


def _samples(path: Path, offset: int) -> tuple[str, str]:
    with path.open("rb") as file:
        head = file.read(min(HEAD, offset))
        file.seek(max(0, offset - TAIL))
        tail = file.read(min(TAIL, offset))
    return _digest(head), _digest(tail)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]

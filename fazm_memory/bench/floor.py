"""The floor: the least any program could do for the same rows with the same driver.

A bare connection with our key length, pragmas and schema; rows and texts made beforehand; one executemany
for the table and one for its full-text index. No chain, no dedupe, no projections, no Python per event.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sqlcipher3 import dbapi2 as sqlcipher

from fazm_memory.bench.rows import Run
from fazm_memory.log.database import pragmas
from fazm_memory.log.migrations import migrate
from fazm_memory.log.rows import INSERT_EVENT, pack
from fazm_memory.log.tables import event_id
from fazm_memory.log.words import indexed_words
from fazm_memory.model import codec
from fazm_memory.model.events import Event

INSERT_WORDS = "INSERT INTO words (rowid, body, event) VALUES (?,?,?)"
MARK = bytes(range(32))  # as long as a digest or a mac, which the floor does not compute

Row = tuple[Any, ...]


class Floor:
    """The same table and index, written and read with bare statements."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "floor.db"
        self.connection: Any = sqlcipher.connect(str(self.path), isolation_level=None)
        self.connection.execute(f"PRAGMA key = \"x'{os.urandom(32).hex()}'\"")
        for name, value in pragmas():
            self.connection.execute(f"PRAGMA {name} = {value}")
        migrate(self.connection.execute)
        self.written: dict[int, int] = {}
        self.docs = 0
        self.payload_bytes = 0  # as JSON, of all that was prepared

    def prepare(self, run: Run) -> tuple[list[Row], list[Row]]:
        """Everything that can be made ready outside the clock."""
        rows: list[Row] = []
        texts: list[Row] = []
        seq = self.written.get(run.session, 0)
        for entry in run.entries:
            id_ = event_id(run.session + 1, seq)
            plain = codec.to_bytes(entry.payload)
            self.payload_bytes += len(plain)
            rows.append((id_, entry.at, 1, entry.kind, 1, entry.actor, entry.source, entry.trust, entry.key,
                         pack(plain), MARK, MARK))  # fmt: skip
            event = Event("", seq, entry.at, 1, entry.kind, 1, entry.actor, entry.source, entry.trust,
                          entry.payload, "", "")  # fmt: skip
            if text := indexed_words(event):
                self.docs += 1
                texts.append((self.docs, text, id_))
            seq += 1
        self.written[run.session] = seq
        return rows, texts

    def insert(self, rows: Sequence[Row], texts: Sequence[Row]) -> None:
        """One durable transaction."""
        self.connection.execute("BEGIN IMMEDIATE")
        self.connection.executemany(INSERT_EVENT, rows)
        if texts:
            self.connection.executemany(INSERT_WORDS, texts)
        self.connection.execute("COMMIT")

    def size(self) -> int:
        return self.path.stat().st_size

    def close(self) -> None:
        self.connection.close()

"""Two stores with the same events: ours, and a bare one that is the baseline.

The bare store is the least any program could do for the same rows with the same driver: our key length,
pragmas and schema, rows and texts prepared beforehand, one executemany for the table and one for its
full-text index. No hash chain, no dedupe, no projections, no Python per event.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlcipher3 import dbapi2 as sqlcipher

from benchmarks.events import Batch, Workload
from benchmarks.figures import Report, timed
from fazm_memory.events import Event, codec
from fazm_memory.store import (
    INSERT_EVENT,
    LOG_PAGES,
    PAGE,
    Store,
    event_id,
    index_text,
    migrate,
    pack,
    pragmas,
)

# Single appends take turns of this many: a sync costs more after another file was synced.
TURN = 25
INSERT_WORDS = "INSERT INTO words (rowid, body, event) VALUES (?,?,?)"
MARK = bytes(range(32))  # in place of a digest or a MAC

Row = tuple[Any, ...]


class BareStore:
    """The same table and full-text index, written with bare statements."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "baseline.db"
        self.connection: Any = sqlcipher.connect(str(self.path), isolation_level=None)
        self.connection.execute(f"PRAGMA key = \"x'{os.urandom(32).hex()}'\"")
        for name, value in pragmas():
            self.connection.execute(f"PRAGMA {name} = {value}")
        migrate(self.connection.execute)
        self.written: dict[int, int] = {}
        self.docs = 0
        self.payload_bytes = 0  # JSON bytes of everything prepared

    def prepare(self, batch: Batch) -> tuple[list[Row], list[Row]]:
        """Build the rows and texts, outside the measured time."""
        rows: list[Row] = []
        texts: list[Row] = []
        seq = self.written.get(batch.session, 0)
        for entry in batch.entries:
            id_ = event_id(batch.session + 1, seq)
            plain = codec.to_bytes(entry.payload)
            self.payload_bytes += len(plain)
            rows.append((id_, entry.at, 1, entry.kind, 1, entry.actor, entry.source, entry.trust, entry.key,
                         pack(plain), MARK, MARK))  # fmt: skip
            event = Event("", seq, entry.at, 1, entry.kind, 1, entry.actor, entry.source, entry.trust,
                          entry.payload, "", "")  # fmt: skip
            if text := index_text(event):
                self.docs += 1
                texts.append((self.docs, text, id_))
            seq += 1
        self.written[batch.session] = seq
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


@dataclass
class StorePair:
    """Both stores after `events` events each, and the seconds that writing took."""

    folder: Path
    events: int
    workload: Workload = field(init=False)
    store: Store = field(init=False)
    bare: BareStore = field(init=False)
    numbers: dict[int, int] = field(default_factory=dict)  # session of the workload → of the store
    ours_seconds: float = 0
    bare_seconds: float = 0

    def __post_init__(self) -> None:
        home = self.folder / f"of-{self.events}"
        home.mkdir(mode=0o700)
        self.workload = Workload(self.events)
        self.store = Store(home, key="file")
        self.bare = BareStore(home)

    def write(self, report: Report) -> None:
        """Write all batches, alternating which store goes first."""
        done = 0
        for nth, batch in enumerate(self.workload.batches()):
            rows, texts = self.bare.prepare(batch)
            if nth % 2:
                self.ours_seconds += timed(self.append, batch)
            self.bare_seconds += timed(self.bare.insert, rows, texts)
            if not nth % 2:
                self.ours_seconds += timed(self.append, batch)
            done += len(batch.entries)
            report(f"writing {self.events:,} events", done, self.events)
        self.ours_seconds += timed(self.store.index_all)  # indexing is part of an append

    def append(self, batch: Batch) -> None:
        append_batch(self.store, self.numbers, batch)

    def length(self, session: int) -> int:
        """Number of events that the session has in both stores."""
        (head,) = self.store.db.execute(
            "SELECT head FROM standing WHERE n=?", (self.numbers[session],)
        ).fetchone()
        return min(int(head), self.bare.written[session])

    def newest(self) -> int:
        """Session of the workload that began last."""
        return max(self.numbers, key=lambda session: self.numbers[session])

    def cool(self) -> None:
        """Empty both page caches, as in a process that has just started."""
        self.store.db.execute("PRAGMA shrink_memory")
        self.bare.connection.execute("PRAGMA shrink_memory")

    def settle(self) -> None:
        """Move everything from the write-ahead logs into the databases."""
        self.store.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self.bare.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def fill_logs(self, session: int) -> None:
        """Fill both write-ahead logs once. A sync costs more while the log file grows."""
        full = LOG_PAGES * PAGE
        while wal_bytes(self.store.path) < full:
            self.append(Batch(session, self.workload.more(session, self.workload.batch_size)))
        while wal_bytes(self.bare.path) < full:
            self.bare.insert(
                *self.bare.prepare(Batch(session, self.workload.more(session, self.workload.batch_size)))
            )
        self.store.db.execute("PRAGMA wal_checkpoint(RESTART)")
        self.bare.connection.execute("PRAGMA wal_checkpoint(RESTART)")

    def close(self) -> None:
        self.store.close()
        self.bare.close()


def wal_bytes(database: Path) -> int:
    wal = database.with_name(database.name + "-wal")
    return wal.stat().st_size if wal.exists() else 0


def append_batch(store: Store, numbers: dict[int, int], batch: Batch) -> None:
    """Append in one durable transaction. Adds new sessions to `numbers`."""
    with store.writing() as writer:
        number = numbers.get(batch.session)
        if number is None:
            head = writer.create("fazm", batch.entries[0].at, agent_session_id=f"bench-{batch.session}")
            numbers[batch.session] = head.n
        else:
            head = writer.head(number)
        for entry in batch.entries:
            writer.append(head, entry)

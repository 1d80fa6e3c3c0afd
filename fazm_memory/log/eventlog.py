"""Appending and slicing: the one place where events become durable, and come back in order.

A block of writing takes the write lock once; all of it is committed when the block ends, or none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from fazm_memory.log import chain
from fazm_memory.log.chain import Heads
from fazm_memory.log.database import Database, told
from fazm_memory.log.rows import EVENT_COLUMNS, to_event
from fazm_memory.log.tables import SEQ_MASK, event_id
from fazm_memory.log.writer import Kept, Writer, mac_at
from fazm_memory.model.events import Event


class EventLog:
    """The append-only log of every session."""

    def __init__(self, database: Database, key: bytes, heads: Heads) -> None:
        self.db = database
        self.key = key
        self.outside = heads
        # Sessions as the last transaction left them, and what the connection had seen and written by then.
        self._kept: Kept = {}
        self._stamp = (-1, -1)
        # What this process appended and nothing has taken in yet, so that it need not be read back.
        self.recent: dict[int, list[Event]] = {}

    @contextmanager
    def writing(self, then: Callable[[Writer], None] | None = None) -> Iterator[Writer]:
        """Everything appended inside is durable when the block ends, or none of it is.

        `then` is done in the same transaction, when all that was appended is written.
        """
        self.outside.open()
        with self.db.transaction():
            stamp = self._seen()
            kept, self._kept = self._kept if stamp == self._stamp else {}, {}
            writer = Writer(self.db, self.key, self.outside, kept)
            yield writer
            plain = writer.flush() + sum(map(len, writer.events.values()))
            if then is not None:
                then(writer)
            self.outside.announce(writer.created)
            now = self.db.connection.total_changes
        if now == stamp[1] + plain:
            # Events and their sessions' rows, nothing else: they need not be read again unless somebody else
            # writes, here or in another process.
            self._kept = {number: (head, writer.written[number]) for number, head in writer.heads.items()}
            self._stamp = (stamp[0], now)
        self.outside.write((h.n, h.head, h.mac) for h in writer.heads.values() if h.head)

    def _seen(self) -> tuple[int, int]:
        """What changes when another connection has written, and what changes when this one has."""
        (version,) = self.db.execute("PRAGMA data_version").fetchone()
        return version, self.db.connection.total_changes

    def slice(self, number: int, session: str, start: int = 0, stop: int | None = None) -> Iterator[Event]:
        """Events from `start` up to, not including, `stop`, in order. Streams: memory stays flat."""
        start = max(0, min(start, SEQ_MASK))
        high = event_id(number, SEQ_MASK if stop is None else max(0, min(stop, SEQ_MASK)))
        prev = self._mac_before(number, session, start)
        rows = self.db.execute(
            f"SELECT {EVENT_COLUMNS} FROM event WHERE id >= ? AND id < ? ORDER BY id",
            (event_id(number, start), high),
        )
        with told(self.db.path):
            for row in rows:
                yield to_event(row, session, prev)
                prev = row[11]

    def _mac_before(self, number: int, session: str, seq: int) -> bytes:
        if seq == 0:
            return chain.genesis(self.key, session)
        return mac_at(self.db, number, seq - 1)

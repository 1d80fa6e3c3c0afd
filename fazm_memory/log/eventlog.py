"""Appending and slicing: the one place where events become durable, and come back in order.

A block of writing takes the write lock once; all of it is committed when the block ends, or none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import TracebackType

from fazm_memory.log import chain
from fazm_memory.log.chain import Heads
from fazm_memory.log.database import Database, Transaction, told
from fazm_memory.log.entries import Placed, SessionHead
from fazm_memory.log.rows import EVENT_COLUMNS, to_event
from fazm_memory.log.tables import SEQ_MASK, event_id
from fazm_memory.log.writer import Writer, mac_at
from fazm_memory.model.events import Event


class EventLog:
    """The append-only log of every session."""

    def __init__(self, database: Database, key: bytes, heads: Heads) -> None:
        self.db = database
        self.key = key
        self.outside = heads
        # Sessions as the last transaction left them, and what the connection had seen and written by then.
        self.kept: dict[int, SessionHead] = {}
        self.stamp = (-1, -1)
        # What this process appended and nothing has taken in yet, so that it need not be read back.
        self.recent: dict[int, list[Placed]] = {}

    def writing(
        self,
        then: Callable[[Writer], None] = lambda writer: None,
        undone: Callable[[], None] = lambda: None,
    ) -> Block:
        """Everything appended inside is durable when the block ends, or none of it is.

        `then` is done in the same transaction, when all that was appended is written; `undone` when none is.
        """
        self.outside.open()
        return Block(self, then, undone)

    def seen(self) -> tuple[int, int]:
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


class Block(Transaction):
    """A transaction with a writer: what that has touched is written back before the end, and the heads
    outside after it."""

    def __init__(self, log: EventLog, then: Callable[[Writer], None], undone: Callable[[], None]) -> None:
        super().__init__(log.db)
        self.log, self.then, self.undone = log, then, undone

    def __enter__(self) -> Writer:
        super().__enter__()
        log = self.log
        try:
            self.seen = log.seen()
            kept, log.kept = log.kept if self.seen == log.stamp else {}, {}
            self.writer = Writer(log.db, log.key, log.outside, kept)
        except BaseException as error:
            self.__exit__(type(error), error, error.__traceback__)
            raise
        return self.writer

    def at_end(self) -> None:
        writer = self.writer
        self.plain = writer.flush() + sum(map(len, writer.events.values()))
        self.then(writer)
        outside = self.log.outside
        outside.announce(writer.created)
        # Made before the commit, while its parts are at hand: after the wait for the disk they no longer are.
        self.made = [outside.made(head.n, head.head, head.mac) for head in writer.heads.values() if head.head]
        self.changes = self.connection.total_changes

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        done = False
        try:
            super().__exit__(kind, error, trace)
            done = error is None
        finally:
            if not done:
                self.undone()
        if not done:
            return
        log = self.log
        if self.changes == self.seen[1] + self.plain:
            # Events and their sessions' rows, nothing else: they need not be read again unless somebody else
            # writes, here or in another process.
            log.kept = self.writer.heads
            log.stamp = self.seen[0], self.changes
        for made in self.made:
            log.outside.put(*made)

"""Where the work is done: threads with a façade each, so that the store never holds up the event loop.

Two read, one reads what takes its time, one writes, one watches. Each opens its own connection when it first
has something to do, and closes it itself, since a connection belongs to its thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from fazm_memory.memory import Memory

T = TypeVar("T")
MemoryFactory = Callable[[], Memory]

READERS = 2


class Hand:
    """One thread with its façade."""

    def __init__(self, factory: MemoryFactory, name: str) -> None:
        self.factory = factory
        self.thread = ThreadPoolExecutor(1, thread_name_prefix=name)
        self.memory: Memory | None = None
        self.waiting = 0

    async def do(self, work: Callable[[Memory], T]) -> T:
        self.waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self.thread, self._do, work)
        finally:
            self.waiting -= 1

    def _do(self, work: Callable[[Memory], T]) -> T:
        if self.memory is None:
            self.memory = self.factory()
        return work(self.memory)

    def close(self) -> None:
        """Finish what was begun, then close the store in its own thread."""
        self.thread.submit(self._close).result()
        self.thread.shutdown()

    def _close(self) -> None:
        if self.memory is not None:
            self.memory.close()
            self.memory = None


class Desk:
    def __init__(self, factory: MemoryFactory) -> None:
        self.readers = [Hand(factory, f"page-reader-{nth}") for nth in range(READERS)]
        self.patient = Hand(factory, "page-patient")
        self.writer = Hand(factory, "page-writer")
        self.watcher = Hand(
            factory, "page-watcher"
        )  # others' writes show only on a connection that writes not

    async def read(self, work: Callable[[Memory], T]) -> T:
        """Done by whoever has least to do."""
        return await min(self.readers, key=lambda hand: hand.waiting).do(work)

    async def read_patiently(self, work: Callable[[Memory], T]) -> T:
        """What walks through a whole session: it holds up nobody but its like."""
        return await self.patient.do(work)

    async def write(self, work: Callable[[Memory], T]) -> T:
        """One after the other."""
        return await self.writer.do(work)

    async def watch(self, work: Callable[[Memory], T]) -> T:
        return await self.watcher.do(work)

    def close(self) -> None:
        for hand in (*self.readers, self.patient, self.writer, self.watcher):
            hand.close()

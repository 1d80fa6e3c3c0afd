"""Threads with a memory each, so that the store never blocks the event loop.

Two threads read, one does slow reads, one writes, one watches for changes. Each opens and closes its own
connection, because a connection belongs to its thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from fazm_memory.app import Memory

T = TypeVar("T")
MemoryFactory = Callable[[], Memory]

READERS = 2


class StoreThread:
    """One thread with its memory, which it opens at the first work."""

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
        """Finish the work that was begun, then close the store."""
        self.thread.submit(self._close).result()
        self.thread.shutdown()

    def _close(self) -> None:
        if self.memory is not None:
            self.memory.close()
            self.memory = None


class StoreThreads:
    def __init__(self, factory: MemoryFactory) -> None:
        self.readers = [StoreThread(factory, f"page-reader-{nth}") for nth in range(READERS)]
        self.slow_reader = StoreThread(factory, "page-slow-reader")
        self.writer = StoreThread(factory, "page-writer")
        # Only a connection that does not write itself sees the writes of others.
        self.watcher = StoreThread(factory, "page-watcher")

    async def read(self, work: Callable[[Memory], T]) -> T:
        """Run in the reader with the least work."""
        return await min(self.readers, key=lambda reader: reader.waiting).do(work)

    async def read_slowly(self, work: Callable[[Memory], T]) -> T:
        """Run what reads a whole session. It delays only other slow reads."""
        return await self.slow_reader.do(work)

    async def write(self, work: Callable[[Memory], T]) -> T:
        return await self.writer.do(work)

    async def watch(self, work: Callable[[Memory], T]) -> T:
        return await self.watcher.do(work)

    def close(self) -> None:
        for thread in (*self.readers, self.slow_reader, self.writer, self.watcher):
            thread.close()

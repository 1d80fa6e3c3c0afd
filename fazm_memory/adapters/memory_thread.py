"""Access to the memory from one thread, however many threads the framework has.

The framework's data is stored unchanged. Prompts, messages and calls found in it are also recorded, without
secrets. Recording may fail or be paused; a failure is logged and the framework loses nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from types import TracebackType
from typing import Self, TypeVar

from fazm_memory import config
from fazm_memory.app import Memory
from fazm_memory.clock import to_micros
from fazm_memory.errors import FazmMemoryError
from fazm_memory.events import Draft
from fazm_memory.store import FrameworkStore

T = TypeVar("T")
log = logging.getLogger(__name__)


def open_memory() -> Memory:
    """The memory of this user on this machine."""
    return Memory(config.load(), lambda: to_micros(datetime.now(UTC)))


class MemoryThread:
    """Runs functions on the framework store, one after the other."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="memory")

    def run(self, work: Callable[[FrameworkStore], T]) -> T:
        return self.worker.submit(lambda: work(self.memory.framework_store)).result()

    async def run_async(self, work: Callable[[FrameworkStore], T]) -> T:
        """Like `run`, without blocking the event loop. Cancelling does not stop work that has begun."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.worker, lambda: work(self.memory.framework_store))

    def record(self, drafts: Sequence[Draft]) -> None:
        """Record drafts; called from within work. What cannot be recorded is logged."""
        if not drafts:
            return
        try:
            for result in self.memory.sessions.record(drafts):
                if result.error is not None:
                    log.warning("not recorded: %s", result.error)
        except FazmMemoryError as error:
            log.warning("stored for the framework, but not recorded: %s", error)

    def close(self) -> None:
        self.worker.submit(self.memory.close).result()
        self.worker.shutdown()


class MemoryAdapter:
    """Base of the adapters: a context manager. Without a memory it opens the user's own."""

    def __init__(self, memory: Memory | None = None) -> None:
        self.memory_thread = MemoryThread(memory or open_memory())

    def close(self) -> None:
        self.memory_thread.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

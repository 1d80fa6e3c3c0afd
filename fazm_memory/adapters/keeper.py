"""The keeper: one memory behind an adapter, used from one thread however many the framework has.

What the framework leaves is kept exactly, in the drawer. What can be read in it as prompts, messages and
calls is recorded too, scrubbed like all that is recorded; that part may fail or be paused without the
framework losing anything, and then it is logged.
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
from fazm_memory.capture.draft import Draft
from fazm_memory.errors import FazmMemoryError
from fazm_memory.log.drawer import Drawer
from fazm_memory.memory import Memory
from fazm_memory.model.clock import micros

T = TypeVar("T")
log = logging.getLogger(__name__)


def open_memory() -> Memory:
    """The memory of this user on this machine."""
    return Memory(config.load(), lambda: micros(datetime.now(UTC)))


class Keeper:
    """Runs work on the drawer, one piece after the other."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.worker = ThreadPoolExecutor(max_workers=1, thread_name_prefix="memory")

    def do(self, work: Callable[[Drawer], T]) -> T:
        return self.worker.submit(lambda: work(self.memory.drawer)).result()

    async def ado(self, work: Callable[[Drawer], T]) -> T:
        """The same without holding up the loop. Work that has begun is finished, also when nobody waits."""
        return await asyncio.get_running_loop().run_in_executor(self.worker, lambda: work(self.memory.drawer))

    def tell(self, drafts: Sequence[Draft]) -> None:
        """Record what was understood; called from within work. What is not recorded is said in the log."""
        if not drafts:
            return
        try:
            for told in self.memory.record(drafts):
                if told.error is not None:
                    log.warning("not recorded: %s", told.error)
        except FazmMemoryError as error:
            log.warning("kept for the program, but not recorded: %s", error)

    def close(self) -> None:
        self.worker.submit(self.memory.close).result()
        self.worker.shutdown()


class Kept:
    """What every adapter has: its keeper, and an end. Without a memory it uses the user's own."""

    def __init__(self, memory: Memory | None = None) -> None:
        self.keeper = Keeper(memory or open_memory())

    def close(self) -> None:
        self.keeper.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

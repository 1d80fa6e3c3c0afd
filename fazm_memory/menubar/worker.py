"""The worker: one thread with its own memory, for work that may wait for the disk or the user."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

from fazm_memory.app import Memory

Job = Callable[[Memory], object]


class Worker:
    """Runs jobs in order. An exception is passed to `trouble`, and the next job runs."""

    def __init__(self, open_memory: Callable[[], Memory], trouble: Callable[[Exception], None]) -> None:
        self.open_memory, self.trouble = open_memory, trouble
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="menu bar worker")

    def start(self) -> None:
        self._thread.start()

    def do(self, job: Job) -> None:
        self._jobs.put(job)

    def stop(self) -> None:
        """Finish the queue, then end. Not for the main thread, which answers the jobs' questions."""
        self._jobs.put(None)
        if self._thread.ident is not None:
            self._thread.join()

    def _work(self) -> None:
        memory = self.open_memory()
        try:
            while (job := self._jobs.get()) is not None:
                try:
                    job(memory)
                except Exception as error:
                    self.trouble(error)
        finally:
            memory.close()

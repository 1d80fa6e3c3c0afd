"""Sync in the background: a thread of the companion with a memory of its own.

A round follows a change here within seconds. Between changes the vault is looked at now and then: one
request, less often the longer nothing happens. After an error it waits longer each time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from fazm_memory.app.memory import Memory
from fazm_memory.config import Config
from fazm_memory.errors import FazmMemoryError

GATHER = 2.0  # seconds after a change before a round, so that events written together go together
SOON, LATE = 15.0, 300.0  # between two looks: after something happened, and at most
RETRY, LONGEST_RETRY = 5.0, 600.0
NOT_SYNCED = 10.0  # until this machine may have joined a vault; costs one file lookup

Arrived = Callable[[list[str]], None]


class SyncWorker:
    """Runs rounds until stopped. `arrived` gets the ids of sessions that changed, on the worker's thread."""

    def __init__(
        self, config: Config, now: Callable[[], int], *, report: Callable[[str], None], arrived: Arrived
    ) -> None:
        self.config, self.now = config, now
        self._report, self._arrived = report, arrived
        self._wake, self._stop = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="sync", daemon=True)
        self._quiet, self._failures = SOON, 0

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        """Something changed here."""
        self._wake.set()

    def stop(self) -> None:
        """End after the current request. A round that is cut here is finished by the next one."""
        self._stop.set()
        self._wake.set()
        self._thread.join(timeout=30)

    def _run(self) -> None:
        memory = Memory(self.config, self.now)
        try:
            while not self._stop.is_set():
                wait = self.step(memory)
                if self._wake.wait(wait):
                    self._stop.wait(GATHER)
        finally:
            memory.close()

    def step(self, memory: Memory) -> float:
        """One round if this machine syncs. Returns the seconds until the next one is due."""
        self._wake.clear()
        try:
            if not memory.sync.active:
                return NOT_SYNCED
            if not memory.recording.status()["recording"]:
                return SOON
            report = memory.sync.round(acknowledge=False)
        except FazmMemoryError as error:
            self._failures += 1
            if self._failures == 1:
                self._report(f"Sync does not work now: {error.message}")
            return min(LONGEST_RETRY, RETRY * 2.0 ** (self._failures - 1))
        if self._failures:
            self._report("Sync works again.")
        self._failures = 0
        happened = report["imported"] or report["exported"]
        self._quiet = SOON if happened else min(LATE, self._quiet * 1.5)
        if report["sessions"]:
            self._arrived(report["sessions"])
        return self._quiet

"""A fair queue of the processes that want to write to a database.

SQLite lets waiting writers sleep and try again, and whoever wakes at the right moment is next: under load one
of them may wait for half a minute. Here they stand in line. Two locks on two files make the line: a writer
takes the first, waits for the second, and then gives the first back. Whoever has just written and wants to
write again finds the first lock taken by the next writer, and so cannot overtake it. The operating system
wakes waiting processes in their order and frees the locks of a process that dies.

The queue decides only who is next. SQLite's own lock still protects the database.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from pathlib import Path

from fazm_memory.paths import private_file

LINE_SUFFIX, TURN_SUFFIX = "-line", "-turn"


class WriteQueue:
    """One place in the queue of a database. `enter` waits for the turn, `leave` ends it."""

    def __init__(self, database: Path) -> None:
        self._files = [database.with_name(database.name + suffix) for suffix in (LINE_SUFFIX, TURN_SUFFIX)]
        self._locks: list[_FileLock] = []

    def enter(self, seconds: float) -> bool:
        """Wait for the turn, at most this long. Returns whether it came."""
        if not self._locks:
            self._locks = [_FileLock(path) for path in self._files]
        line, turn = self._locks
        until = time.monotonic() + seconds
        if not line.take(seconds):
            return False
        try:
            return turn.take(until - time.monotonic())
        finally:
            line.release()

    def leave(self) -> None:
        if self._locks:
            self._locks[1].release()

    def close(self) -> None:
        for lock in self._locks:
            lock.close()
        self._locks = []


class _FileLock:
    """A lock on a file, waited for in the order of the operating system."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def take(self, seconds: float) -> bool:
        if self._descriptor is None:
            self._descriptor = os.open(private_file(self._path), os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return seconds > 0 and self._wait(self._descriptor, seconds)
        return True

    def _wait(self, descriptor: int, seconds: float) -> bool:
        """Wait in another thread, because the operating system's wait has no time limit."""
        waiting = _Waiting(descriptor)
        threading.Thread(target=waiting.run, daemon=True).start()
        try:
            waiting.done.wait(seconds)
        finally:
            if not waiting.keep():
                self._descriptor = None  # the thread still waits with it, and closes it
        return self._descriptor is not None

    def release(self) -> None:
        if self._descriptor is not None:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


class _Waiting:
    """One wait for a lock. Either the waiter keeps the lock, or the thread closes it."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._guard = threading.Lock()
        self._abandoned = False
        self.done = threading.Event()

    def run(self) -> None:
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        with self._guard:
            self.done.set()
            if self._abandoned:
                os.close(self._descriptor)

    def keep(self) -> bool:
        """Keep the lock if it has come. Otherwise leave it to the thread."""
        with self._guard:
            self._abandoned = not self.done.is_set()
            return not self._abandoned

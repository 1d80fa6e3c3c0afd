"""A file of slots of one size, written through memory.

A slot is written after every commit. With `pwrite` each of those dirties the file's times, and the next sync
of the log has to carry them to the disk: that made a durable append a fifth slower than it need be. A store
into a mapped page is in the page cache just as soon, where it survives the end of the process and is what
every other process reads, and the disk gets it in its own time. Whoever needs it there now calls `sync`.
"""

from __future__ import annotations

import mmap
import os
from pathlib import Path

from fazm_memory.private import disk_error, full_sync, private_file, sync_folder


class Slots:
    """Slots by number. What was never written reads as nothing or as zeros."""

    def __init__(self, path: Path, size: int) -> None:
        self.path = path
        self.size = size
        self._descriptor: int | None = None
        self._map: mmap.mmap | None = None

    def open(self) -> int:
        """The file's descriptor, made if need be. Before a commit: afterwards is too late to be refused."""
        if self._descriptor is None:
            fresh = not self.path.exists()
            private_file(self.path)
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
            if fresh:
                sync_folder(self.path.parent)
        return self._descriptor

    def count(self) -> int:
        """How many slots the file has room for."""
        return self._room() // self.size

    def _room(self) -> int:
        # Its end is asked for and not its status, which costs several times as much: nobody uses the offset.
        return os.lseek(self.open(), 0, os.SEEK_END)

    def read(self, number: int) -> bytes:
        start = number * self.size
        mapped = self._mapped(start + self.size)
        if mapped is not None:
            return mapped[start : start + self.size]
        return os.pread(self.open(), self.size, start)

    def write(self, number: int, slot: bytes, over: bytes | None = None) -> None:
        """Write a slot; `over` is what is there, for whoever has just read it."""
        start = number * self.size
        if over is None:
            over = self.read(number)
        # Only over a slot that is there: its block exists, so that a full disk has nothing to refuse. A store
        # into memory that is refused ends the process; so does one where the file was cut since.
        mapped = self._mapped(start + self.size) if any(over) else None
        if mapped is not None:
            mapped[start : start + self.size] = slot
            return
        try:
            os.pwrite(self.open(), slot, start)
        except OSError as error:
            raise disk_error(error, self.path) from error

    def _mapped(self, stop: int) -> mmap.mmap | None:
        """The file in memory, if it reaches that far and can be had. Asked each time: it may be cut."""
        room = self._room()
        if self._map is not None and not stop <= len(self._map) <= room:
            self._unmap()
        if self._map is None and stop <= room:
            try:
                self._map = mmap.mmap(self.open(), room)
            except (OSError, ValueError):
                # No descriptor left for it, a file system that maps nothing, or cut just now. After a commit
                # is too late to be refused, and the plain way is still there.
                return None
        return self._map

    def _unmap(self) -> None:
        was, self._map = self._map, None  # first: an interrupt must leave no closed one behind
        if was is not None:
            was.close()

    def sync(self) -> None:
        """All that was written is on the disk."""
        if self._map is not None and len(self._map) <= self._room():
            self._map.flush()
        full_sync(self.open())

    def close(self) -> None:
        self._unmap()
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

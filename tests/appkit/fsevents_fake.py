"""A stand-in for watchdog's C extension: its FSEvents emitter runs as on macOS, on what a test feeds it.

Only what the kernel does is played: batches of paths, inodes and flags. What becomes of them is decided by
watchdog's own code.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

# kFSEventStreamEventFlag…, by the names under which the extension tells them.
FLAGS = {
    "must_scan_subdirs": 0x1,
    "user_dropped": 0x2,
    "kernel_dropped": 0x4,
    "event_ids_wrapped": 0x8,
    "history_done": 0x10,
    "root_changed": 0x20,
    "mount": 0x40,
    "unmount": 0x80,
    "created": 0x100,
    "removed": 0x200,
    "inode_meta_mod": 0x400,
    "renamed": 0x800,
    "modified": 0x1000,
    "item_finder_info_mod": 0x2000,
    "owner_change": 0x4000,
    "xattr_mod": 0x8000,
    "file": 0x10000,
    "directory": 0x20000,
    "symlink": 0x40000,
}

Callback = Callable[[list[str], list[int], list[int], list[int]], None]
FsEvent = tuple[str, int, int]


class NativeEvent:
    def __init__(self, path: str, inode: int, flags: int, event_id: int) -> None:
        self.path, self.inode, self.flags, self.event_id = path, inode, flags, event_id

    def __getattr__(self, name: str) -> bool:
        flag = FLAGS.get(name.removeprefix("is_")) if name.startswith("is_") else None
        if flag is None:
            raise AttributeError(name)
        return bool(self.flags & flag)


class Stream:
    """A stream of one emitter. It runs, in the emitter's thread, until it is stopped."""

    def __init__(self, system: FSEvents, paths: list[str], latency: float) -> None:
        self.system, self.paths, self.latency = system, paths, latency
        self.stopped = threading.Event()
        self.callback: Callback | None = None

    def run(self, callback: Callback, started: Callable[[], None]) -> None:
        self.callback = callback
        with self.system.more:
            self.system.streams.append(self)
            self.system.more.notify_all()
        started()
        self.stopped.wait()

    def stop(self) -> None:
        self.stopped.set()

    def feed(self, *events: FsEvent) -> None:
        """One batch, as the kernel would deliver it."""
        assert self.callback is not None
        self.callback(
            [path for path, _, _ in events],
            [inode for _, inode, _ in events],
            [flags for _, _, flags in events],
            list(range(len(events))),
        )


class FSEvents:
    """The system: all streams that were ever begun, in their order."""

    def __init__(self) -> None:
        self.streams: list[Stream] = []
        self.more = threading.Condition()

    def module(self) -> ModuleType:
        made = ModuleType("_watchdog_fsevents")
        vars(made).update(
            NativeEvent=NativeEvent,
            Stream=lambda paths, latency=0.01: Stream(self, paths, latency),
        )
        return made

    def stream(self, number: int = 0) -> Stream:
        with self.more:
            assert self.more.wait_for(lambda: len(self.streams) > number, 60.0)
            return self.streams[number]


def fs_event(path: Path, *flags: str, inode: int | None = None) -> FsEvent:
    """An event of a path, with the inode it has now unless another is named."""
    number = os.stat(path).st_ino if inode is None else inode
    return str(path), number, sum(FLAGS[one] for one in flags)

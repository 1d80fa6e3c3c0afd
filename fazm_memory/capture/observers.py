"""The system's own watchers, through watchdog, taught to say when they lost something.

watchdog rebuilds its watches after an overflow but tells no handler, and drops FSEvents' flags that mean
"look for yourself". Here both become a call of `lost(root, why)`. Folders that are never work get no watch.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from watchdog.events import (
    DirCreatedEvent,
    DirDeletedEvent,
    DirMovedEvent,
    FileAttribEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
)

from fazm_memory.capture.ignore import NEVER_WORK

if TYPE_CHECKING:
    from watchdog.observers.api import BaseObserver

# Its warnings of an overflow would go to the terminal; we look again, and tell the gap ourselves.
logging.getLogger("watchdog").addHandler(logging.NullHandler())

Lost = Callable[[str, str], None]  # the root, and why
OVERFLOW = "the system dropped events"
NO_MORE_WATCHES = "the system has no more watches to give"

# All that tells of a change; opening, reading and closing would only fill the queue.
TOLD: list[type[FileSystemEvent]] = [
    FileCreatedEvent, FileDeletedEvent, FileModifiedEvent, FileMovedEvent, FileAttribEvent,
    DirCreatedEvent, DirDeletedEvent, DirMovedEvent,
]  # fmt: skip

# kFSEventStreamEventFlag…: MustScanSubDirs, UserDropped, KernelDropped, EventIdsWrapped, RootChanged, Mount,
# Unmount. After any of them only a look of our own tells what there is.
LOOK_YOURSELF = 0x01 | 0x02 | 0x04 | 0x08 | 0x20 | 0x40 | 0x80


def system_observer(lost: Lost, platform: str = sys.platform) -> BaseObserver | None:
    """The watcher of this system, not started; None where there is none, and looking in turns must do."""
    if platform == "darwin":
        return fsevents_observer(lost)
    if platform.startswith("linux"):
        return inotify_observer(lost)
    return None


def fsevents_observer(lost: Lost) -> BaseObserver:
    from watchdog.observers.fsevents import FSEventsEmitter, FSEventsObserver

    class Emitter(FSEventsEmitter):
        def events_callback(
            self, paths: list[bytes], inodes: list[int], flags: list[int], ids: list[int]
        ) -> None:
            if any(flag & LOOK_YOURSELF for flag in flags):
                lost(os.fsdecode(self.watch.path), OVERFLOW)
            super().events_callback(paths, inodes, flags, ids)

    observer = FSEventsObserver()
    observer._emitter_class = Emitter
    return observer


def inotify_observer(lost: Lost) -> BaseObserver:
    from watchdog.observers.inotify import InotifyEmitter, InotifyObserver, InotifyWatchGroup

    class Group(InotifyWatchGroup):
        def on_queue_overflow(self) -> None:
            super().on_queue_overflow()
            lost(os.fsdecode(self.path), OVERFLOW)

        def _add_all_callbacks(self, path: bytes) -> None:
            below = os.fsdecode(path[len(self.path) :])
            if not NEVER_WORK.isdisjoint(below.split("/")):
                return
            self._add_callback(path)
            for folder, names, _ in os.walk(path):
                names[:] = [name for name in names if os.fsdecode(name) not in NEVER_WORK]
                for name in names:
                    full = os.path.join(folder, name)
                    if not os.path.islink(full):
                        self._add_callback(full)

        def _add_callback(self, path: bytes) -> None:
            super()._add_callback(path)
            # The base class keeps a refusal to itself; a folder that is merely gone needs no watch.
            if path not in self._active_callbacks_by_path and os.path.isdir(path):
                lost(os.fsdecode(self.path), NO_MORE_WATCHES)

    class Emitter(InotifyEmitter):
        def on_thread_start(self) -> None:
            self._inotify = Group(
                self._inotify_fd,
                os.fsencode(self.watch.path),
                is_recursive=True,
                event_mask=self.get_event_mask_from_filter(),
            )

    observer = InotifyObserver()
    observer._emitter_class = Emitter
    return observer

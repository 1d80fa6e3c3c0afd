"""Watch the folders in which agents work and report which files changed.

System events only say where to scan. The handler marks the folder and returns at once. A thread scans the
marked folders after a short quiet time and reports the differences. After a start, a sleep, an overflow or a
dead emitter it scans everything.
"""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
import time
import warnings
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

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
    FileSystemEventHandler,
)

from fazm_memory.paths import disk_path
from fazm_memory.watch.scanner import PendingScan, Scanner, ScanResult
from fazm_memory.watch.tree import NEVER_WORK

if TYPE_CHECKING:
    from watchdog.observers.api import BaseObserver


# Keep its overflow warnings off the terminal. An overflow is recorded as a gap instead.
logging.getLogger("watchdog").addHandler(logging.NullHandler())
warnings.filterwarnings("ignore", module="watchdog")  # they have names of files

Lost = Callable[[str, str], None]  # the root, and why
OVERFLOW = "the system dropped events"
NO_MORE_WATCHES = "the system has no more watches to give"

# Opening, reading and closing would only fill the queue.
CHANGE_EVENTS: list[type[FileSystemEvent]] = [
    FileCreatedEvent, FileDeletedEvent, FileModifiedEvent, FileMovedEvent, FileAttribEvent,
    DirCreatedEvent, DirDeletedEvent, DirMovedEvent,
]  # fmt: skip

# kFSEventStreamEventFlag…: MustScanSubDirs, UserDropped, KernelDropped, EventIdsWrapped, RootChanged, Mount,
# Unmount. Each of them requires a full scan.
LOOK_YOURSELF = 0x01 | 0x02 | 0x04 | 0x08 | 0x20 | 0x40 | 0x80


def system_observer(lost: Lost, platform: str = sys.platform) -> BaseObserver | None:
    """The observer of this system, not started.

    None if there is none and polling is needed.
    """
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
            # The base class does not report a failure. A deleted folder needs no watch.
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


QUIET = 0.2  # seconds without an event before a scan
MOST = 1.0  # seconds that a burst may delay a scan
REST = 2.0  # pause after a scan, as a multiple of its duration
MOST_REST = 3.0
HEARTBEAT = 30.0  # seconds between checks of the emitters
POLL = 5.0  # seconds between scans of a root without events
SLEPT = 30_000_000  # microseconds that the wall clock gains on the monotonic one in a sleep
WOKE = "the machine was asleep"
DIED = "the watcher of the system stopped"
never_work = re.compile("/(?:" + "|".join(map(re.escape, sorted(NEVER_WORK))) + ")/").search

MakeObserver = Callable[[Lost], "BaseObserver | None"]


class FileWatcher(FileSystemEventHandler):
    """Scans in its own thread and calls `told` with each result.

    Only that thread may use the looker.

    `spare` is called there after each scan. It returns the seconds until it wants to be called again.
    """

    def __init__(
        self,
        looker: Scanner,
        told: Callable[[ScanResult], None],
        *,
        spare: Callable[[], float | None] = lambda: None,
        observer: MakeObserver = system_observer,
        quiet: float = QUIET,
        most: float = MOST,
        heartbeat: float = HEARTBEAT,
        poll: float = POLL,
        places: dict[str, str] | None = None,
    ) -> None:
        self.looker, self.told, self.spare = looker, told, spare
        self.quiet, self.most, self.heartbeat, self.poll = quiet, most, heartbeat, poll
        self._make_observer = observer
        self._observer: BaseObserver | None = None
        self._thread: threading.Thread | None = None
        self._condition = threading.Condition()
        self._marks = PendingScan()
        self._wanted: dict[str, str] = {}  # real path → configured path
        # Configured path → real path when it was first followed. The caller may keep it for the next watcher.
        self._places: dict[str, str] = {} if places is None else places
        self._first = self._last = 0.0  # times of the first and the last mark
        self._hurry = self._stopping = False
        self._watches: dict[str, tuple[str, Any]] = {}  # kind of observer, its handle
        self._polled: set[str] = set()
        self._rested = 0.0
        self._spare_at: float | None = None
        self._clocks = (0.0, 0)
        self.failure: BaseException | None = None

    # -- for any thread ----------------------------------------------------------------------------------

    def start(self) -> None:
        self._clocks = (time.monotonic(), self.looker.now())
        self._thread = threading.Thread(target=self._run, name="file-watcher", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Scan the marked folders once more and end.

        Raises the error that ended the thread early.
        """
        with self._condition:
            self._stopping = True
            self._condition.notify_all()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self.failure is not None:
            raise self.failure

    def follow(self, folders: Collection[str]) -> None:
        """Watch these folders and no others. A folder inside another is watched with it."""
        real = {self._place(folder): folder for folder in sorted(folders)}
        inside = {path for path in real for other in real if path.startswith(other.rstrip("/") + "/")}
        with self._condition:
            self._wanted = {path: folder for path, folder in real.items() if path not in inside}
            self._hurry = True
            self._condition.notify_all()

    def _place(self, folder: str) -> str:
        """The real path of a folder.

        One that was no link when it was first followed never becomes one.
        """
        known = self._places.setdefault(folder, disk_path(folder))
        return folder if known == folder else disk_path(folder)

    def real_roots(self) -> dict[str, str]:
        """The watched folders as configured, each with its path without links."""
        with self._condition:
            return {folder: path for path, folder in self._wanted.items()}

    def roots(self) -> list[str]:
        with self._condition:
            return sorted(self._wanted.values())

    def ways(self) -> dict[str, str]:
        """How each root is watched."""
        with self._condition:
            return {
                folder: f"a look every {self.poll:.0f} s" if path in self._polled else self._watches[path][0]
                for path, folder in self._wanted.items()
                if path in self._polled or path in self._watches
            }

    def rescan(self, why: str) -> None:
        """Scan everything, for example after a sleep."""
        with self._condition:
            for path in self._wanted:
                self._marks.lost.setdefault(path, why)
            self._hurry = True
            self._condition.notify_all()

    def lost(self, root: str, why: str) -> None:
        """Events of a root were lost: scan all of it."""
        with self._condition:
            if why == NO_MORE_WATCHES:
                self._polled.add(root)
            self._marks.lost[root] = why
            self._marked()

    def dispatch(self, event: FileSystemEvent) -> None:
        """Mark the folder for a scan. Must be fast, or events are lost."""
        old, new = os.fsdecode(event.src_path), os.fsdecode(event.dest_path)
        paths = [path for path in (old, new) if path and not never_work(path)]
        if not paths:
            return
        with self._condition:
            for path in paths:
                self._marks.folders.add(os.path.dirname(path))
                if event.is_directory:
                    self._marks.folders.add(path)
            if len(paths) == 2 and isinstance(event, FileMovedEvent):
                self._marks.move(old, new)
            self._marked()

    def _marked(self) -> None:
        self._last = time.monotonic()
        if self._marks.began is None:
            self._first = self._last
            self._marks.began = self.looker.now()
            self._condition.notify_all()

    # -- the thread --------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self._observer = self._make_observer(self.lost)
            if self._observer is not None:
                self._observer.start()
            while not self._stopping:
                self._pass()
                with self._condition:
                    self._wait()
            self._pass()
            self.looker.keep(every=0)
        except BaseException as error:  # raised by stop()
            self.failure = error
        finally:
            if self._observer is not None:
                self._observer.stop()
                self._observer.join()

    def _wait(self) -> None:
        """Wait until the next scan is due. The caller holds the condition."""
        heartbeat = time.monotonic() + self.heartbeat
        while not (self._stopping or self._hurry):
            now = time.monotonic()
            due = heartbeat
            if self._polled:
                due = min(due, self._rested + self.poll)
            if self._spare_at is not None:
                due = min(due, self._spare_at)
            if self._marks:
                burst = min(self._last + self.quiet, self._first + self.most)
                due = min(due, max(burst, self._rested))
            if now >= due:
                return
            self._condition.wait(due - now)

    def _pass(self) -> None:
        began = time.monotonic()
        self._woken(began)
        self._restart_emitters()
        with self._condition:
            self._hurry = False
            marks, self._marks = self._marks, PendingScan()
            wanted = dict(self._wanted)
            marks.polled |= self._polled
        self._set_roots(wanted)
        if result := self.looker.look(marks):
            self.told(result)
            self.looker.keep()
        # Scanning a large tree is slow. Pause in proportion, so that a burst never takes a whole core.
        done = time.monotonic()
        self._rested = done + min(MOST_REST, REST * (done - began))
        wait = self.spare()
        self._spare_at = None if wait is None else time.monotonic() + wait

    def _set_roots(self, wanted: dict[str, str]) -> None:
        """Add and remove roots.

        Watching begins before the first scan, so that no change is missed.
        """
        for path in set(self.looker.roots) - set(wanted):
            self._unwatch(path)
            self.looker.remove(path)
        for path, folder in wanted.items():
            # A folder that has become a link counts as gone.
            if path not in self.looker.roots and os.path.isdir(path) and disk_path(folder) == path:
                self._watch(path)
                self.looker.add(folder)

    def _watch(self, path: str) -> None:
        if self._observer is not None:
            try:
                watch = self._observer.schedule(self, path, recursive=True, event_filter=CHANGE_EVENTS)
                way = type(self._observer).__name__.removesuffix("Observer")
                with self._condition:
                    self._watches[path] = way, watch
                return
            except OSError:  # no watches left, or a file system without them: poll instead
                pass
        with self._condition:
            self._polled.add(path)

    def _unwatch(self, path: str) -> None:
        with self._condition:
            _, watch = self._watches.pop(path, (None, None))
            self._polled.discard(path)
        if watch is not None and self._observer is not None:
            self._observer.unschedule(watch)

    def _restart_emitters(self) -> None:
        """Restart emitters that died, and scan their roots.

        One dies for example because its root was moved.
        """
        if self._observer is None:
            return
        alive = {emitter.watch for emitter in self._observer.emitters if emitter.is_alive()}
        for path, (_, watch) in list(self._watches.items()):
            if watch not in alive and os.path.isdir(path):
                self._unwatch(path)
                self._watch(path)
                with self._condition:
                    self._marks.lost.setdefault(path, DIED)

    def _woken(self, steady: float) -> None:
        """Scan everything after a sleep, during which only the wall clock advances."""
        wall = self.looker.now()
        ahead = (wall - self._clocks[1]) - (steady - self._clocks[0]) * 1e6
        self._clocks = (steady, wall)
        if ahead > SLEPT:
            self.rescan(WOKE)

"""The watcher: which files changed in the folders agents work in, told in bursts, true whatever got lost.

What the system tells is only a hint where to look. A handler marks the folder and returns at once; one thread
looks again when it has been quiet for a moment, and tells the difference. After a start, a sleep, an overflow
or a dead emitter everything is looked at, and what is found is said to have happened since the last look.
"""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any

from watchdog.events import FileMovedEvent, FileSystemEvent, FileSystemEventHandler

from fazm_memory.capture.ignore import NEVER_WORK
from fazm_memory.capture.looking import Flush, Looker, Marks
from fazm_memory.capture.observers import NO_MORE_WATCHES, TOLD, Lost, system_observer

if TYPE_CHECKING:
    from watchdog.observers.api import BaseObserver

QUIET = 0.2  # seconds without an event before we look
MOST = 1.0  # seconds that a burst may put a look off
REST = 2.0  # a look is followed by this many times its own length of rest
MOST_REST = 3.0
HEARTBEAT = 30.0  # seconds between looks at the emitters
POLL = 5.0  # seconds between looks where the system tells us nothing
SLEPT = 30_000_000  # microseconds by which the clock on the wall ran ahead of the steady one
WOKE = "the machine was asleep"
DIED = "the watcher of the system stopped"
never_work = re.compile("/(?:" + "|".join(map(re.escape, sorted(NEVER_WORK))) + ")/").search

MakeObserver = Callable[[Lost], "BaseObserver | None"]


class FileWatcher(FileSystemEventHandler):
    """Tells `told` what changed, in a thread of its own, where the looker is used and nowhere else.

    `spare` is called there too when there is time, and says in how many seconds it wants to be called again.
    """

    def __init__(
        self,
        looker: Looker,
        told: Callable[[Flush], None],
        *,
        spare: Callable[[], float | None] = lambda: None,
        observer: MakeObserver = system_observer,
        quiet: float = QUIET,
        most: float = MOST,
        heartbeat: float = HEARTBEAT,
        poll: float = POLL,
    ) -> None:
        self.looker, self.told, self.spare = looker, told, spare
        self.quiet, self.most, self.heartbeat, self.poll = quiet, most, heartbeat, poll
        self._make_observer = observer
        self._observer: BaseObserver | None = None
        self._thread: threading.Thread | None = None
        self._condition = threading.Condition()
        self._marks = Marks()
        self._wanted: dict[str, str] = {}  # real path → as given
        self._first = self._last = 0.0  # when the marks began, and the latest of them
        self._hurry = self._stopping = False
        self._watches: dict[str, tuple[str, Any]] = {}  # by which means of the system, and its handle
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
        """Look once more where something was heard, tell it, and end; raises what ended the thread early."""
        with self._condition:
            self._stopping = True
            self._condition.notify_all()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        if self.failure is not None:
            raise self.failure

    def follow(self, folders: Collection[str]) -> None:
        """Watch these and no others. One that lies in another is watched with it."""
        real = {os.path.realpath(one): one for one in sorted(folders)}
        inside = {one for one in real for other in real if one.startswith(other.rstrip("/") + "/")}
        with self._condition:
            self._wanted = {path: given for path, given in real.items() if path not in inside}
            self._hurry = True
            self._condition.notify_all()

    def roots(self) -> list[str]:
        with self._condition:
            return sorted(self._wanted.values())

    def ways(self) -> dict[str, str]:
        """How each root that has been taken in is watched."""
        with self._condition:
            return {
                given: f"a look every {self.poll:.0f} s" if path in self._polled else self._watches[path][0]
                for path, given in self._wanted.items()
                if path in self._polled or path in self._watches
            }

    def rescan(self, why: str) -> None:
        """Look at everything again: after a sleep, for one."""
        with self._condition:
            for path in self._wanted:
                self._marks.lost.setdefault(path, why)
            self._hurry = True
            self._condition.notify_all()

    def lost(self, root: str, why: str) -> None:
        """The system could not tell all that happened below a root."""
        with self._condition:
            if why == NO_MORE_WATCHES:
                self._polled.add(root)
            self._marks.lost[root] = why
            self._marked()

    def dispatch(self, event: FileSystemEvent) -> None:
        """Mark where it happened. No more than that: while we are busy, events are lost."""
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
        except BaseException as error:  # told by stop(): a thread has nobody else to tell
            self.failure = error
        finally:
            if self._observer is not None:
                self._observer.stop()
                self._observer.join()

    def _wait(self) -> None:
        """Until it is time to look; the condition is held."""
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
        self._mend()
        with self._condition:
            self._hurry = False
            marks, self._marks = self._marks, Marks()
            wanted = dict(self._wanted)
            marks.polled |= self._polled
        self._keep_up(wanted)
        if flush := self.looker.look(marks):
            self.told(flush)
            self.looker.keep()
        # A look at a large tree takes long: rest in proportion, so that a storm never costs us a whole core.
        done = time.monotonic()
        self._rested = done + min(MOST_REST, REST * (done - began))
        wait = self.spare()
        self._spare_at = None if wait is None else time.monotonic() + wait

    def _keep_up(self, wanted: dict[str, str]) -> None:
        """Take in the roots that are wanted, watching before the first look, and let go of the others."""
        for path in set(self.looker.roots) - set(wanted):
            self._unwatch(path)
            self.looker.remove(path)
        for path, given in wanted.items():
            if path not in self.looker.roots and os.path.isdir(path):
                self._watch(path)
                self.looker.add(given)

    def _watch(self, path: str) -> None:
        if self._observer is not None:
            try:
                watch = self._observer.schedule(self, path, recursive=True, event_filter=TOLD)
                way = type(self._observer).__name__.removesuffix("Observer")
                with self._condition:
                    self._watches[path] = way, watch
                return
            except OSError:  # no watches left, or a file system without them: look in turns instead
                pass
        with self._condition:
            self._polled.add(path)

    def _unwatch(self, path: str) -> None:
        with self._condition:
            _, watch = self._watches.pop(path, (None, None))
            self._polled.discard(path)
        if watch is not None and self._observer is not None:
            self._observer.unschedule(watch)

    def _mend(self) -> None:
        """An emitter that died (its root was moved, say) is started anew, and its root looked through."""
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
        """The steady clock stands still while the machine sleeps; events of that time are not replayed."""
        wall = self.looker.now()
        ahead = (wall - self._clocks[1]) - (steady - self._clocks[0]) * 1e6
        self._clocks = (steady, wall)
        if ahead > SLEPT:
            self.rescan(WOKE)

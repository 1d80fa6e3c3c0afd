"""Following the agents' records live: which files may have changed since somebody last asked.

The file system's notices make it quick; they are hints. They can be lost, their thread can die and a folder
can appear later: so whoever follows also looks for themselves now and then, and at once after a known loss.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from watchdog.events import (
    FileCreatedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer

from fazm_memory.capture.agents.connect_settings import folder_of
from fazm_memory.capture.agents.reader import Places

RECORDS = (".jsonl", ".db", ".db-wal")
MOST = 10_000  # more changed files than this are not worth listing: then everything is looked at
WATCHED_EVENTS: list[type[FileSystemEvent]] = [FileCreatedEvent, FileModifiedEvent, FileMovedEvent]
LIBRARY_LOG = "watchdog.observers.inotify"


@dataclass(frozen=True)
class Folder:
    path: Path
    recursive: bool = True


def record_folders(places: Places) -> list[Folder]:
    """Where the agents write as they work. What is elsewhere is found by looking now and then."""
    codex = folder_of("codex", places)
    data = Path(places.env.get("XDG_DATA_HOME") or places.home / ".local" / "share")
    return [
        Folder(folder_of("claude-code", places) / "projects"),
        Folder(codex / "sessions"),
        Folder(codex / "archived_sessions"),
        Folder(places.home / ".gemini" / "tmp"),
        Folder(data / "opencode", recursive=False),
    ]


@dataclass(frozen=True)
class Changed:
    """What may have changed: these files, or (`all`) anything."""

    paths: frozenset[Path] = frozenset()
    all: bool = False


class Follow:
    """Watches folders and calls `wake`, in other threads, when something in them has changed."""

    def __init__(
        self,
        folders: Iterable[Folder],
        wake: Callable[[], None],
        *,
        wanted: Callable[[Path], bool] = lambda path: path.name.endswith(RECORDS),
    ) -> None:
        self.folders = list(folders)
        self.wake = wake
        self.wanted = wanted
        self.troubles: dict[str, str] = {}
        self._lock = threading.Lock()
        self._paths: set[Path] = set()
        self._all = True  # nothing is known of the time before
        self._observer: Any = None
        self._watched: dict[Path, Any] = {}
        self._log = _LossNotice(self._lost)

    def start(self) -> None:
        logging.getLogger(LIBRARY_LOG).addHandler(self._log)
        self.mend()

    def stop(self) -> None:
        logging.getLogger(LIBRARY_LOG).removeHandler(self._log)
        if self._observer is not None:
            self._observer.stop()
            self._observer.join()
            self._observer = None
            self._watched.clear()

    def take(self) -> Changed:
        """What has changed since it was last asked."""
        with self._lock:
            changed = Changed(frozenset(self._paths), self._all)
            self._paths.clear()
            self._all = False
        return changed

    def mend(self) -> None:
        """Watch what is there now: folders that have appeared, and those whose watch has died."""
        if self._observer is not None and not self._observer.is_alive():
            self.stop()
        if self._observer is None:
            self._observer = Observer()
            self._observer.start()
        living = {emitter.watch for emitter in self._observer.emitters if emitter.is_alive()}
        for folder in self.folders:
            watch = self._watched.get(folder.path)
            if watch is not None and watch in living and folder.path.is_dir():
                continue
            if watch is not None:
                self._observer.unschedule(watch)
                del self._watched[folder.path]
            if folder.path.is_dir():
                self._watch(folder)

    def _watch(self, folder: Folder) -> None:
        try:
            self._watched[folder.path] = self._observer.schedule(
                _Hints(self._hint), str(folder.path), recursive=folder.recursive, event_filter=WATCHED_EVENTS
            )
        except OSError as error:
            # Without a watch the folder is still looked at now and then: slower, but nothing is missed.
            self.troubles[str(folder.path)] = f"cannot be watched: {error.strerror or error}"
            return
        self.troubles.pop(str(folder.path), None)
        self._lost()

    def _hint(self, path: Path) -> None:
        if not self.wanted(path):
            return
        with self._lock:
            if len(self._paths) < MOST:
                self._paths.add(path)
            else:
                self._all = True
        self.wake()

    def _lost(self) -> None:
        """Something was not told: from here on only looking at everything helps."""
        with self._lock:
            self._all = True
        self.wake()


class _Hints(FileSystemEventHandler):
    """Hands every notice on at once: a handler that takes its time loses the next ones."""

    def __init__(self, hint: Callable[[Path], None]) -> None:
        self.hint = hint

    def on_any_event(self, event: FileSystemEvent) -> None:
        for path in (event.src_path, event.dest_path):
            if path:
                self.hint(Path(str(path)))


class _LossNotice(logging.Handler):
    """The library says in its log, and nowhere else, that the kernel's queue has overflowed."""

    def __init__(self, lost: Callable[[], None]) -> None:
        super().__init__(logging.WARNING)
        self.lost = lost

    def emit(self, record: logging.LogRecord) -> None:
        if "overflow" in record.getMessage().lower():
            self.lost()

"""Watching the agents' record folders for changed files.

File system notices are hints: they can be lost, their thread can die, a folder can appear later. So the
caller also looks at everything now and then, and at once after a known loss.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
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

from fazm_memory.agents import Places, config_folder, record_roots
from fazm_memory.records import dataclass

RECORD_SUFFIXES = (".jsonl", ".db", ".db-wal", ".sqlite", ".sqlite-wal", ".messages.json")
MOST = 10_000  # above this number of changed files, everything is checked
WATCHED_EVENTS: list[type[FileSystemEvent]] = [FileCreatedEvent, FileModifiedEvent, FileMovedEvent]
LIBRARY_LOG = "watchdog.observers.inotify"


def is_record(name: str) -> bool:
    """Whether a file's name is that of a record. Older chats of Gemini are plain JSON."""
    return name.endswith(RECORD_SUFFIXES) or (name.startswith("session-") and name.endswith(".json"))


@dataclass(frozen=True)
class RecordFolder:
    path: Path
    recursive: bool = True


def record_folders(places: Places) -> list[RecordFolder]:
    """The folders that agents write to as they work.

    Other records are found by polling.
    """
    codex = config_folder("codex", places)
    data = Path(places.env.get("XDG_DATA_HOME") or places.home / ".local" / "share")
    return [
        RecordFolder(config_folder("claude-code", places) / "projects"),
        RecordFolder(codex / "sessions"),
        RecordFolder(codex / "archived_sessions"),
        RecordFolder(places.home / ".gemini" / "tmp"),
        RecordFolder(data / "opencode", recursive=False),
        *(RecordFolder(path, recursive) for path, recursive in record_roots(places).items()),
    ]


@dataclass(frozen=True)
class ChangedFiles:
    """What may have changed: these files, or (`all`) anything."""

    paths: frozenset[Path] = frozenset()
    all: bool = False


class TranscriptWatcher:
    """Watches folders. Calls `wake` in other threads when something has changed."""

    def __init__(
        self,
        folders: Iterable[RecordFolder],
        wake: Callable[[], None],
        *,
        wanted: Callable[[Path], bool] = lambda path: is_record(path.name),
    ) -> None:
        self.folders = list(folders)
        self.wake = wake
        self.wanted = wanted
        self.troubles: dict[str, str] = {}
        self._lock = threading.Lock()
        self._paths: set[Path] = set()
        self._all = True  # earlier changes are unknown
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

    def take(self) -> ChangedFiles:
        """The changes since the last call."""
        with self._lock:
            changed = ChangedFiles(frozenset(self._paths), self._all)
            self._paths.clear()
            self._all = False
        return changed

    def mend(self) -> None:
        """Watch new folders, and again those whose watch has died."""
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

    def _watch(self, folder: RecordFolder) -> None:
        try:
            self._watched[folder.path] = self._observer.schedule(
                _Hints(self._hint), str(folder.path), recursive=folder.recursive, event_filter=WATCHED_EVENTS
            )
        except OSError as error:
            # The folder is still polled.
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
        """A notice was lost, so everything must be checked."""
        with self._lock:
            self._all = True
        self.wake()


class _Hints(FileSystemEventHandler):
    """Passes on each notice at once. A slow handler would lose notices."""

    def __init__(self, hint: Callable[[Path], None]) -> None:
        self.hint = hint

    def on_any_event(self, event: FileSystemEvent) -> None:
        for path in (event.src_path, event.dest_path):
            if path:
                self.hint(Path(str(path)))


class _LossNotice(logging.Handler):
    """Notices lost events: the library reports overflows only in its log."""

    def __init__(self, lost: Callable[[], None]) -> None:
        super().__init__(logging.WARNING)
        self.lost = lost

    def emit(self, record: logging.LogRecord) -> None:
        if "overflow" in record.getMessage().lower():
            self.lost()

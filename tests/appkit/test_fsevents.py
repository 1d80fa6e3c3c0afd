"""watchdog's real FSEvents emitter, and our watcher behind it, on what macOS is known to tell and to keep."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from watchdog.events import FileSystemEvent, FileSystemEventHandler
from watchdog.observers.api import BaseObserver

from fazm_memory.watch.scanner import Scanner, ScanResult
from fazm_memory.watch.watcher import DIED, OVERFLOW, WOKE, FileWatcher, Lost, system_observer
from tests.appkit.fsevents_fake import FSEvents, Stream, fs_event

PATIENCE = 60.0
FILE = ("created", "modified", "file")
NEVER_USED = 1 << 50  # Linux gives an inode away again at once, and watchdog then takes the file for known


@pytest.fixture
def system(monkeypatch: pytest.MonkeyPatch) -> Iterator[FSEvents]:
    made = FSEvents()
    monkeypatch.setitem(sys.modules, "_watchdog_fsevents", made.module())
    sys.modules.pop("watchdog.observers.fsevents", None)
    yield made
    sys.modules.pop("watchdog.observers.fsevents", None)
    assert all(stream.stopped.is_set() for stream in made.streams)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = Path(os.path.realpath(tmp_path)) / "work"
    folder.mkdir()
    return folder


# -- the emitter alone: what it makes of the kernel's words, and why they are only hints ---------------------


class Heard(FileSystemEventHandler):
    """Events as (kind, name, new name), without those of folders merely changed."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str, str]] = []
        self.more = threading.Condition()

    def on_any_event(self, event: FileSystemEvent) -> None:
        name, new = (os.path.basename(os.fsdecode(path)) for path in (event.src_path, event.dest_path))
        with self.more:
            if type(event).__name__ != "DirModifiedEvent":
                self.events.append((type(event).__name__.removesuffix("Event"), name, new))
            self.more.notify_all()

    def up_to(self, name: str) -> list[tuple[str, str, str]]:
        """What was heard before the event of this name, which is waited for."""

        def arrived() -> bool:
            return any(name == one for _, one, _ in self.events)

        with self.more:
            assert self.more.wait_for(arrived, PATIENCE), self.events
            return self.events[: [one for _, one, _ in self.events].index(name)]


class Ear:
    def __init__(self, system: FSEvents, root: Path) -> None:
        from watchdog.observers.fsevents import FSEventsObserver

        self.root, self.heard = root, Heard()
        self.observer: BaseObserver = FSEventsObserver()
        self.observer.schedule(self.heard, str(root), recursive=True)
        self.observer.start()
        self.stream: Stream = system.stream()

    def after(self) -> list[tuple[str, str, str]]:
        """All that was heard of what was fed until now."""
        end = self.root / "the end"
        end.write_text("")
        self.stream.feed(fs_event(end, *FILE, inode=NEVER_USED))
        return self.heard.up_to(end.name)


@pytest.fixture
def ear(system: FSEvents, root: Path) -> Iterator[Ear]:
    made = Ear(system, root)
    yield made
    made.observer.stop()
    made.observer.join()


def test_events_come_coalesced_and_their_flags_come_again(ear: Ear, root: Path) -> None:
    (root / "a").write_text("x")
    ear.stream.feed(fs_event(root / "a", *FILE))
    ear.stream.feed(fs_event(root / "a", *FILE))
    created, *modified = ear.after()
    assert created == ("FileCreated", "a", "")
    # watchdog leaves out a repetition only if the first has not been taken from its queue yet.
    assert set(modified) == {("FileModified", "a", "")}


def test_an_atomic_save_is_a_move_in_one_batch_and_a_deletion_and_a_creation_in_two(
    ear: Ear, root: Path
) -> None:
    target, temporary = root / "a", root / ".a.tmp"
    for name in ("one", "two"):
        temporary.write_text(name)
        inode = temporary.stat().st_ino
        temporary.rename(target)
        before = fs_event(temporary, "modified", "renamed", "file", inode=inode)
        after = fs_event(target, "renamed", "file")
        if name == "one":
            ear.stream.feed(before, after)
        else:
            ear.stream.feed(before)
            ear.stream.feed(after)
    assert ear.after() == [
        ("FileModified", ".a.tmp", ""),
        ("FileMoved", ".a.tmp", "a"),
        ("FileModified", ".a.tmp", ""),
        ("FileDeleted", ".a.tmp", ""),
        ("FileCreated", "a", ""),
    ]


@pytest.mark.parametrize("flag", ["must_scan_subdirs", "kernel_dropped", "user_dropped"])
def test_that_events_were_dropped_is_reported_to_no_handler(ear: Ear, root: Path, flag: str) -> None:
    ear.stream.feed(fs_event(root, flag, "directory"))
    assert ear.after() == []


def test_a_changed_root_ends_the_emitter(ear: Ear, root: Path) -> None:
    ear.stream.feed(fs_event(root, "root_changed", "directory", inode=0))
    (emitter,) = ear.observer.emitters
    emitter.join(PATIENCE)
    assert not emitter.is_alive()
    assert ear.stream.stopped.is_set()


# -- our watcher behind it -----------------------------------------------------------------------------------


class Diary:
    def __init__(self) -> None:
        self.flushes: list[ScanResult] = []
        self.more = threading.Condition()

    def add(self, flush: ScanResult) -> None:
        with self.more:
            self.flushes.append(flush)
            self.more.notify_all()

    def changes(self) -> list[tuple[str, str]]:
        return [
            (one.changed.change, os.path.basename(one.changed.path))
            for flush in self.flushes
            for one in flush.sightings
        ]

    def whys(self) -> list[str]:
        return [one.why for flush in self.flushes for one in flush.blind]

    def wait(self, until: Callable[[], object]) -> None:
        with self.more:
            assert self.more.wait_for(until, PATIENCE), self.flushes[-3:]


class Clock:
    def __init__(self) -> None:
        self.at = 1_790_000_000_000_000

    def __call__(self) -> int:
        self.at += 1000
        return self.at


def darwin(lost: Lost) -> BaseObserver | None:
    return system_observer(lost, "darwin")


class Watch:
    """Our watcher on the root, past its first look."""

    def __init__(self, system: FSEvents, root: Path) -> None:
        self.system, self.root, self.diary = system, root, Diary()
        self.watcher = FileWatcher(
            Scanner(Clock()), self.diary.add, observer=darwin, quiet=0.02, most=0.2, heartbeat=0.05
        )
        self.watcher.start()
        self.watcher.follow([str(root)])
        self.diary.wait(lambda: self.diary.flushes)
        self.stream = system.stream()

    def after(self, stream: Stream | None = None) -> list[tuple[str, str]]:
        """All changes that were told until now, and by then everything fed has been looked at."""
        end = self.root / "the end"
        end.write_text("")
        (stream or self.stream).feed(fs_event(end, *FILE, inode=NEVER_USED))
        self.diary.wait(lambda: ("created", "the end") in self.diary.changes())
        return [one for one in self.diary.changes() if one[1] != "the end"]


@pytest.fixture
def watch(system: FSEvents, root: Path) -> Iterator[Watch]:
    (root / "kept").write_text("k")
    made = Watch(system, root)
    yield made
    made.watcher.stop()


def test_a_change_that_is_reported_is_reported_once_however_often_the_system_says_it(
    watch: Watch, root: Path
) -> None:
    (root / "a").write_text("a")
    for _ in range(5):
        watch.stream.feed(fs_event(root / "a", *FILE), fs_event(root / "a", *FILE))
    watch.diary.wait(watch.diary.changes)
    watch.stream.feed(fs_event(root / "a", *FILE))
    assert watch.after() == [("created", "a")]


def test_an_atomic_save_split_over_two_batches_is_one_modification(watch: Watch, root: Path) -> None:
    target, temporary = root / "kept", root / ".kept.tmp"
    temporary.write_text("something longer")
    inode = temporary.stat().st_ino
    temporary.rename(target)
    watch.stream.feed(fs_event(temporary, "created", "modified", "renamed", "file", inode=inode))
    watch.diary.wait(watch.diary.changes)
    watch.stream.feed(fs_event(target, "renamed", "file"))
    assert watch.after() == [("modified", "kept")]


@pytest.mark.parametrize("flag", ["must_scan_subdirs", "kernel_dropped", "user_dropped", "event_ids_wrapped"])
def test_dropped_events_are_found_by_looking_and_the_gap_is_reported(
    watch: Watch, root: Path, flag: str
) -> None:
    deep = root / "deep" / "er"
    deep.mkdir(parents=True)
    (deep / "missed").write_text("m")
    (root / "kept").unlink()
    watch.stream.feed(fs_event(root, flag, "directory"))
    watch.diary.wait(lambda: len(watch.diary.changes()) == 2)
    assert set(watch.diary.changes()) == {("created", "missed"), ("deleted", "kept")}
    assert watch.diary.whys() == [OVERFLOW]
    assert {one.away for flush in watch.diary.flushes for one in flush.sightings} == {OVERFLOW}


def test_a_root_that_was_moved_away_and_back_is_watched_again(watch: Watch, root: Path) -> None:
    aside = root.with_name("aside")
    root.rename(aside)
    (aside / "meanwhile").write_text("m")
    aside.rename(root)
    watch.stream.feed(fs_event(root, "root_changed", "directory", inode=0))
    again = watch.system.stream(1)
    assert watch.stream.stopped.is_set()
    watch.diary.wait(lambda: DIED in watch.diary.whys() or OVERFLOW in watch.diary.whys())
    assert watch.after(again) == [("created", "meanwhile")]


def test_words_about_what_is_not_there_are_not_believed(watch: Watch, root: Path) -> None:
    watch.stream.feed(
        fs_event(root / "never was", *FILE, inode=4711),
        fs_event(root / "nor this", "removed", "file", inode=4712),
        fs_event(root / "kept", "created", "removed", "file"),
    )
    assert watch.after() == []


def test_what_happened_in_a_sleep_is_never_replayed_and_still_found(watch: Watch, root: Path) -> None:
    (root / "in the night").write_text("n")
    watch.watcher.rescan(WOKE)
    watch.diary.wait(watch.diary.changes)
    assert watch.diary.changes() == [("created", "in the night")]
    assert watch.diary.whys() == [WOKE]


def test_a_rename_that_is_reported_in_one_batch_is_one_rename(watch: Watch, root: Path) -> None:
    (root / "kept").rename(root / "better")
    inode = (root / "better").stat().st_ino
    watch.stream.feed(
        fs_event(root / "kept", "renamed", "file", inode=inode), fs_event(root / "better", "renamed", "file")
    )
    assert watch.after() == [("renamed", "better")]

"""The watcher on a real file system, with the system's own events; and told nothing but lies."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from watchdog.observers.api import BaseObserver

from fazm_memory.store.database import Database
from fazm_memory.watch.scanner import START, ObservedChange, PendingScan, Scanner, ScanResult
from fazm_memory.watch.tree import IgnoreRules, TreeCheckpoints, scan
from fazm_memory.watch.watcher import DIED, OVERFLOW, WOKE, FileWatcher, Lost, system_observer

PATIENCE = 30.0
KEY = "cd" * 32


class Clock:
    """Microseconds that move on by a thousand whenever somebody asks."""

    def __init__(self) -> None:
        self.at = 1_790_000_000_000_000

    def __call__(self) -> int:
        self.at += 1000
        return self.at


class Diary:
    """What a watcher told, and a way to wait for more of it."""

    def __init__(self) -> None:
        self.flushes: list[ScanResult] = []
        self.more = threading.Condition()

    def add(self, flush: ScanResult) -> None:
        with self.more:
            self.flushes.append(flush)
            self.more.notify_all()

    def sightings(self) -> list[ObservedChange]:
        return [one for flush in self.flushes for one in flush.sightings]

    def paths(self, change: str) -> set[str]:
        return {
            os.path.basename(one.changed.path) for one in self.sightings() if one.changed.change == change
        }

    def wait(self, until: Callable[[], object]) -> None:
        with self.more:
            assert self.more.wait_for(until, PATIENCE), self.flushes[-3:]

    def replayed(self) -> set[str]:
        """All paths there are, if one believes what was told."""
        there: set[str] = set()
        for one in self.sightings():
            if one.changed.origin is not None:
                there.discard(one.changed.origin)
            if one.changed.change == "deleted":
                there.discard(one.changed.path)
            else:
                there.add(one.changed.path)
        return there


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@pytest.fixture
def diary() -> Diary:
    return Diary()


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = Database(tmp_path / "store" / "memory.db", KEY)
    yield opened
    opened.close()


@pytest.fixture
def begin(diary: Diary, database: Database) -> Iterator[Callable[..., FileWatcher]]:
    """Starts a watcher and waits until it has had its first look."""
    started: list[FileWatcher] = []
    clock = Clock()

    def beginner(*roots: Path, **more: object) -> FileWatcher:
        looker = Scanner(clock, checkpoints=TreeCheckpoints(database))
        watcher = FileWatcher(looker, diary.add, quiet=0.02, most=0.2, **more)  # type: ignore[arg-type]
        watcher.start()
        started.append(watcher)
        known = len(diary.flushes)
        watcher.follow([str(one) for one in roots])
        diary.wait(lambda: len(diary.flushes) > known)
        return watcher

    yield beginner
    for one in started:
        one.stop()


def truth(root: Path) -> set[str]:
    return {f"{root}/{path}" for path, _ in scan(str(root), IgnoreRules(str(root))).files()}


def test_a_change_is_reported_and_what_was_there_before_is_not(
    begin: Callable[..., FileWatcher], root: Path, diary: Diary
) -> None:
    (root / "old").write_text("o")
    begin(root)
    assert (diary.flushes[0].first, diary.sightings()) == ((str(root),), [])
    (root / "new").write_text("n")
    diary.wait(lambda: diary.paths("created"))
    (root / "new").rename(root / "newer")
    diary.wait(lambda: diary.paths("renamed"))
    assert [(one.changed.path, one.changed.origin) for one in diary.sightings()][-1] == (
        str(root / "newer"),
        str(root / "new"),
    )
    assert all(one.away is None for one in diary.sightings())


def test_a_file_moved_from_one_root_to_another_is_one_rename(
    begin: Callable[..., FileWatcher], root: Path, tmp_path: Path, diary: Diary
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (root / "a").write_text("a")
    begin(root, other)
    (root / "a").rename(other / "b")
    diary.wait(lambda: diary.paths("renamed"))
    (one,) = diary.sightings()
    assert (one.changed.origin, one.changed.path) == (str(root / "a"), str(other / "b"))


def test_what_changed_while_nobody_watched_is_found_at_the_next_start(
    begin: Callable[..., FileWatcher], root: Path, diary: Diary
) -> None:
    for name in ("kept", "changed", "moved", "gone"):
        (root / name).write_text(name)
    begin(root).stop()
    (root / "changed").write_text("another")
    (root / "moved").rename(root / "here")
    (root / "gone").unlink()
    (root / "made").write_text("m")
    begin(root)
    assert [(one.changed.change, os.path.basename(one.changed.path)) for one in diary.sightings()] == [
        ("deleted", "gone"),
        ("renamed", "here"),
        ("modified", "changed"),
        ("created", "made"),
    ]
    first, second = diary.flushes
    assert {one.away for one in second.sightings} == {START}
    assert {(one.earliest, one.at) for one in second.sightings} == {(first.at, second.at)}
    assert [(one.since, one.until, one.why) for one in second.blind] == [(first.at, second.at, START)]


WATCH = """
import sys, threading, time
from pathlib import Path
from fazm_memory.watch.tree import TreeCheckpoints
from fazm_memory.watch.watcher import FileWatcher
from fazm_memory.watch.scanner import Scanner
from fazm_memory.store.database import Database

checkpoints = TreeCheckpoints(Database(Path(sys.argv[1]), sys.argv[2]))

class Telling(TreeCheckpoints):
    def save(self, tree):
        super().save(tree)
        print(len(tree), flush=True)

looker = Scanner(lambda: time.time_ns() // 1000, checkpoints=Telling(checkpoints.db))
watcher = FileWatcher(looker, lambda flush: None, quiet=0.02)
watcher.start()
watcher.follow([sys.argv[3]])
threading.Event().wait()
"""


def test_a_watcher_that_was_killed_leaves_nothing_unfound(
    begin: Callable[..., FileWatcher], root: Path, diary: Diary, database: Database
) -> None:
    (root / "a").write_text("a")
    command = [sys.executable, "-c", WATCH, str(database.path), KEY, str(root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as killed:
        assert killed.stdout is not None
        assert killed.stdout.readline() == "1\n"
        (root / "b").write_text("b")
        assert killed.stdout.readline() == "2\n"
        killed.kill()
    (root / "a").write_text("changed after the kill")
    (root / "b").rename(root / "c")
    begin(root)
    assert [(one.changed.change, os.path.basename(one.changed.path)) for one in diary.sightings()] == [
        ("renamed", "c"),
        ("modified", "a"),
    ]


def test_five_thousand_files_made_and_renamed_at_once_end_in_the_truth(
    begin: Callable[..., FileWatcher], root: Path, diary: Diary
) -> None:
    begin(root)
    for n in range(5000):
        folder = root / f"d{n % 50}"
        folder.mkdir(exist_ok=True)
        (folder / f"f{n}").touch()
        if n % 2:
            (folder / f"f{n}").rename(folder / f"g{n}")
    diary.wait(lambda: diary.replayed() == truth(root))
    assert len(diary.replayed()) == 5000


def deaf(lost: Lost) -> BaseObserver | None:
    """A system that tells nothing."""
    return None


def test_where_the_system_tells_nothing_we_look_in_turns(
    begin: Callable[..., FileWatcher], root: Path, diary: Diary
) -> None:
    begin(root, observer=deaf, poll=0.05)
    (root / "a").write_text("a")
    diary.wait(lambda: diary.paths("created") == {"a"})
    assert diary.sightings()[0].away is None


def test_after_an_overflow_everything_is_looked_at_and_the_gap_is_reported(
    begin: Callable[..., FileWatcher], root: Path, diary: Diary
) -> None:
    watcher = begin(root, observer=deaf, poll=PATIENCE)
    (root / "a").write_text("a")
    watcher.lost(str(root), OVERFLOW)
    diary.wait(lambda: diary.paths("created"))
    assert [one.why for one in diary.flushes[-1].blind] == [OVERFLOW]
    assert diary.sightings()[0].away == OVERFLOW


@pytest.mark.linux("inotify is Linux's way to watch files")
def test_a_real_overflow_of_inotify_is_noticed(
    begin: Callable[..., FileWatcher], root: Path, diary: Diary, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[BaseObserver] = []

    def kept(lost: Lost) -> BaseObserver | None:
        observer = system_observer(lost)
        if observer is not None:
            made.append(observer)
        return observer

    begin(root, observer=kept)
    fd = getattr(made[0], "_inotify_fd", None)
    if fd is None:
        pytest.skip("this system does not watch with inotify")
    from watchdog.observers.inotify_c import InotifyConstants, InotifyEvent, WatchDescriptor

    fd.handle_event(InotifyEvent(WatchDescriptor(-1), InotifyConstants.IN_Q_OVERFLOW, 0, b""))
    diary.wait(lambda: any(flush.blind for flush in diary.flushes))
    assert [one.why for flush in diary.flushes for one in flush.blind] == [OVERFLOW]
    (root / "after").write_text("x")
    diary.wait(lambda: diary.paths("created") == {"after"})


def test_a_root_that_was_replaced_is_watched_again(
    begin: Callable[..., FileWatcher], root: Path, diary: Diary
) -> None:
    (root / "a").write_text("a")
    begin(root, heartbeat=0.05)
    shutil.rmtree(root)
    diary.wait(lambda: diary.paths("deleted") == {"a"})
    root.mkdir()
    diary.wait(lambda: any(one.why == DIED for flush in diary.flushes for one in flush.blind))
    (root / "b").write_text("b")
    diary.wait(lambda: "b" in diary.paths("created"))


def test_a_sleeping_machine_is_noticed_by_its_clocks(root: Path, diary: Diary) -> None:
    clock = Clock()
    watcher = FileWatcher(Scanner(clock), diary.add, observer=deaf, poll=0.05, quiet=0.01)
    watcher.start()
    watcher.follow([str(root)])
    diary.wait(lambda: diary.flushes)
    (root / "a").write_text("a")
    clock.at += 3_600_000_000
    diary.wait(lambda: any(flush.blind for flush in diary.flushes))
    watcher.stop()
    assert {one.why for flush in diary.flushes for one in flush.blind} == {WOKE}


def test_a_folder_inside_another_is_watched_with_it(root: Path, diary: Diary) -> None:
    (root / "sub").mkdir()
    watcher = FileWatcher(Scanner(Clock()), diary.add, observer=deaf)
    watcher.follow([str(root / "sub"), str(root)])
    assert watcher.roots() == [str(root)]


def test_a_volume_that_was_taken_out_has_not_lost_its_files(tmp_path: Path) -> None:
    volume = tmp_path / "volumes" / "stick"
    volume.mkdir(parents=True)
    (volume / "a").write_text("a")
    looker = Scanner(Clock())
    looker.add(str(volume))
    assert looker.look(PendingScan()).first == (str(volume),)
    (tmp_path / "volumes").rename(tmp_path / "drawer")
    assert not looker.look(PendingScan(lost={str(volume): OVERFLOW}))
    (tmp_path / "drawer").rename(tmp_path / "volumes")
    assert looker.look(PendingScan()).sightings == ()


def test_paths_are_reported_as_their_user_calls_them(tmp_path: Path, root: Path) -> None:
    (tmp_path / "alias").symlink_to(root)
    looker = Scanner(Clock())
    looker.add(str(tmp_path / "alias"))
    looker.look(PendingScan())
    (root / "a").write_text("a")
    (found,) = looker.look(PendingScan(folders={str(root)})).sightings
    assert found.changed.path == str(tmp_path / "alias" / "a")


def test_a_root_is_watched_in_the_spelling_of_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Mac opens the composed name, keeps the decomposed one, and reports events under that."""
    composed, decomposed = tmp_path / "R\u00e9sum\u00e9", tmp_path / "Re\u0301sume\u0301"
    decomposed.mkdir()
    spelling = {str(composed): str(decomposed)}
    monkeypatch.setattr("fazm_memory.watch.scanner.disk_path", lambda path: spelling.get(path, path))
    looker = Scanner(Clock())
    looker.add(str(composed))
    looker.look(PendingScan())
    (decomposed / "a").write_text("a")
    (found,) = looker.look(PendingScan(folders={str(decomposed)})).sightings
    assert found.changed.path == str(composed / "a")


def test_what_ends_the_thread_is_reported_when_it_is_stopped(root: Path) -> None:
    failed = threading.Event()

    def result(flush: ScanResult) -> None:
        failed.set()
        raise RuntimeError("no ink")

    watcher = FileWatcher(Scanner(Clock()), result, observer=deaf)
    watcher.start()
    watcher.follow([str(root)])
    assert failed.wait(PATIENCE)
    with pytest.raises(RuntimeError, match="no ink"):
        watcher.stop()


def test_a_followed_folder_that_becomes_a_link_is_gone_also_when_it_is_followed_again(tmp_path: Path) -> None:
    folder, target = tmp_path.resolve() / "work", tmp_path.resolve() / "secret"
    folder.mkdir()
    target.mkdir()
    watcher = FileWatcher(Scanner(Clock()), Diary().add)
    watcher.follow([str(folder)])
    folder.rmdir()
    folder.symlink_to(target)
    watcher.follow([])
    watcher.follow([str(folder)])
    assert watcher.real_roots() == {str(folder): str(folder)}
    watcher._set_roots({str(folder): str(folder)})
    assert watcher.looker.roots == {}
    assert watcher.ways() == {}

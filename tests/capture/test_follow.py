"""What changes in a watched folder is told, and what the watch may have missed is asked for."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fazm_memory.capture import follow as module
from fazm_memory.capture.agents.reader import Places
from fazm_memory.capture.follow import Changed, Folder, Follow, record_folders

PATIENCE = 10.0


class Desk:
    """A watch on one folder, whose notices can be waited for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.woken = threading.Event()
        self.follow = Follow([Folder(folder)], self.woken.set)

    def until(self, enough: Callable[[Changed], bool]) -> Changed:
        """What is told until it is enough."""
        paths: frozenset[Path] = frozenset()
        everything = False
        while True:
            self.woken.clear()
            changed = self.follow.take()
            paths, everything = paths | changed.paths, everything or changed.all
            if enough(Changed(paths, everything)):
                return Changed(paths, everything)
            assert self.woken.wait(PATIENCE), f"told only {paths}"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    (tmp_path / "records").mkdir()
    made = Desk(tmp_path / "records")
    made.follow.start()
    made.follow.take()
    yield made
    made.follow.stop()


def test_a_file_that_is_written_is_told(desk: Desk) -> None:
    path = desk.folder / "a.jsonl"
    path.write_text("1\n")

    assert desk.until(lambda changed: path in changed.paths).all is False


def test_so_is_one_in_a_folder_that_was_made_later(desk: Desk) -> None:
    path = desk.folder / "2026" / "11" / "a.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("1\n")

    assert path in desk.until(lambda changed: path in changed.paths).paths


def test_a_file_that_moves_is_told_under_both_names(desk: Desk) -> None:
    old, new = desk.folder / "a.jsonl", desk.folder / "b.jsonl"
    old.write_text("1\n")
    old.rename(new)

    assert desk.until(lambda changed: {old, new} <= changed.paths)


def test_what_is_no_record_wakes_nobody(desk: Desk) -> None:
    (desk.folder / "a.json").write_text("1\n")
    (desk.folder / "a.jsonl").write_text("1\n")

    assert desk.until(lambda changed: bool(changed.paths)).paths == {desk.folder / "a.jsonl"}


def test_at_first_everything_may_have_changed(tmp_path: Path) -> None:
    follow = Follow([Folder(tmp_path)], lambda: None)

    assert follow.take() == Changed(all=True)
    assert follow.take() == Changed()


def test_after_too_many_changes_everything_may_have_changed(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST", 3)
    for number in range(10):
        (desk.folder / f"{number}.jsonl").write_text("1\n")

    changed = desk.until(lambda changed: changed.all)
    assert changed.all


def test_when_the_kernel_has_dropped_notices_everything_may_have_changed(desk: Desk) -> None:
    logging.getLogger("watchdog.observers.inotify").warning(
        "Inotify queue overflowed; reconciling below %r", "x"
    )

    assert desk.until(lambda changed: changed.all).all


def test_a_folder_that_appears_later_is_watched_from_then_on(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "later")
    desk.follow.start()
    try:
        desk.follow.take()
        desk.folder.mkdir()
        desk.follow.mend()
        assert desk.follow.take().all
        (desk.folder / "a.jsonl").write_text("1\n")

        assert desk.until(lambda changed: bool(changed.paths)).paths == {desk.folder / "a.jsonl"}
    finally:
        desk.follow.stop()


def test_a_watch_that_has_died_is_made_anew(desk: Desk) -> None:
    [emitter] = desk.follow._observer.emitters
    emitter.stop()
    emitter.join()

    desk.follow.mend()

    assert desk.follow.take().all
    (desk.folder / "a.jsonl").write_text("1\n")
    assert desk.until(lambda changed: bool(changed.paths)).paths == {desk.folder / "a.jsonl"}


def test_an_observer_that_has_died_is_made_anew(desk: Desk) -> None:
    desk.follow._observer.stop()
    desk.follow._observer.join()

    desk.follow.mend()

    (desk.folder / "a.jsonl").write_text("1\n")
    assert desk.until(lambda changed: bool(changed.paths)).paths == {desk.folder / "a.jsonl"}


def test_a_folder_that_is_deleted_and_made_again_is_watched_again(desk: Desk) -> None:
    desk.folder.rmdir()
    desk.follow.mend()
    desk.folder.mkdir()
    desk.follow.mend()

    (desk.folder / "a.jsonl").write_text("1\n")
    assert desk.until(lambda changed: bool(changed.paths)).paths == {desk.folder / "a.jsonl"}


def test_a_folder_that_cannot_be_watched_is_told_and_the_others_are_watched(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedule = desk.follow._observer.schedule

    def no_more(handler: object, path: str, **options: object) -> object:
        if path.endswith("second"):
            raise OSError(28, "inotify watch limit reached")
        return schedule(handler, path, **options)

    monkeypatch.setattr(desk.follow._observer, "schedule", no_more)
    for name in ("second", "third"):
        (tmp_path / name).mkdir()
        desk.follow.folders.append(Folder(tmp_path / name))
    desk.follow.mend()

    assert desk.follow.troubles == {
        str(tmp_path / "second"): "cannot be watched: inotify watch limit reached"
    }
    (tmp_path / "third" / "a.jsonl").write_text("1\n")
    assert desk.until(lambda changed: bool(changed.paths)).paths == {tmp_path / "third" / "a.jsonl"}


def test_agents_folders_follow_their_own_settings(tmp_path: Path) -> None:
    env = {"CLAUDE_CONFIG_DIR": "/c", "CODEX_HOME": "/x", "XDG_DATA_HOME": "/d"}

    assert [str(folder.path) for folder in record_folders(Places(tmp_path, env))] == [
        "/c/projects",
        "/x/sessions",
        "/x/archived_sessions",
        f"{tmp_path}/.gemini/tmp",
        "/d/opencode",
    ]

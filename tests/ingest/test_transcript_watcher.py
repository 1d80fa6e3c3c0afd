"""What changes in a watched folder is told, and what the watch may have missed is asked for."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fazm_memory.agents.base import Places
from fazm_memory.ingest import transcript_watcher as module
from fazm_memory.ingest.transcript_watcher import (
    ChangedFiles,
    RecordFolder,
    TranscriptWatcher,
    record_folders,
)

PATIENCE = 10.0


class WatcherEnv:
    """A watch on one folder, whose notices can be waited for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.woken = threading.Event()
        self.follow = TranscriptWatcher([RecordFolder(folder)], self.woken.set)

    def until(self, enough: Callable[[ChangedFiles], bool]) -> ChangedFiles:
        """What is told until it is enough."""
        paths: frozenset[Path] = frozenset()
        everything = False
        while True:
            self.woken.clear()
            changed = self.follow.take()
            paths, everything = paths | changed.paths, everything or changed.all
            if enough(ChangedFiles(paths, everything)):
                return ChangedFiles(paths, everything)
            assert self.woken.wait(PATIENCE), f"told only {paths}"


@pytest.fixture
def env(tmp_path: Path) -> Iterator[WatcherEnv]:
    (tmp_path / "records").mkdir()
    made = WatcherEnv(tmp_path / "records")
    made.follow.start()
    made.follow.take()
    yield made
    made.follow.stop()


def test_a_file_that_is_written_is_reported(env: WatcherEnv) -> None:
    path = env.folder / "a.jsonl"
    path.write_text("1\n")

    assert env.until(lambda changed: path in changed.paths).all is False


def test_so_is_one_in_a_folder_that_was_made_later(env: WatcherEnv) -> None:
    path = env.folder / "2026" / "11" / "a.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("1\n")

    assert path in env.until(lambda changed: path in changed.paths).paths


def test_a_file_that_moves_is_reported_under_both_names(env: WatcherEnv) -> None:
    old, new = env.folder / "a.jsonl", env.folder / "b.jsonl"
    old.write_text("1\n")
    old.rename(new)

    assert env.until(lambda changed: {old, new} <= changed.paths)


def test_what_is_no_record_wakes_nobody(env: WatcherEnv) -> None:
    (env.folder / "a.json").write_text("1\n")
    (env.folder / "a.jsonl").write_text("1\n")

    assert env.until(lambda changed: bool(changed.paths)).paths == {env.folder / "a.jsonl"}


def test_at_first_everything_may_have_changed(tmp_path: Path) -> None:
    follow = TranscriptWatcher([RecordFolder(tmp_path)], lambda: None)

    assert follow.take() == ChangedFiles(all=True)
    assert follow.take() == ChangedFiles()


def test_after_too_many_changes_everything_may_have_changed(
    env: WatcherEnv, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST", 3)
    for number in range(10):
        (env.folder / f"{number}.jsonl").write_text("1\n")

    changed = env.until(lambda changed: changed.all)
    assert changed.all


def test_when_the_kernel_has_dropped_notices_everything_may_have_changed(env: WatcherEnv) -> None:
    logging.getLogger("watchdog.observers.inotify").warning(
        "Inotify queue overflowed; reconciling below %r", "x"
    )

    assert env.until(lambda changed: changed.all).all


def test_a_folder_that_appears_later_is_watched_from_then_on(tmp_path: Path) -> None:
    env = WatcherEnv(tmp_path / "later")
    env.follow.start()
    try:
        env.follow.take()
        env.folder.mkdir()
        env.follow.mend()
        assert env.follow.take().all
        (env.folder / "a.jsonl").write_text("1\n")

        assert env.until(lambda changed: bool(changed.paths)).paths == {env.folder / "a.jsonl"}
    finally:
        env.follow.stop()


def test_a_watch_that_has_died_is_made_anew(env: WatcherEnv) -> None:
    [emitter] = env.follow._observer.emitters
    emitter.stop()
    emitter.join()

    env.follow.mend()

    assert env.follow.take().all
    (env.folder / "a.jsonl").write_text("1\n")
    assert env.until(lambda changed: bool(changed.paths)).paths == {env.folder / "a.jsonl"}


def test_an_observer_that_has_died_is_made_anew(env: WatcherEnv) -> None:
    env.follow._observer.stop()
    env.follow._observer.join()

    env.follow.mend()

    (env.folder / "a.jsonl").write_text("1\n")
    assert env.until(lambda changed: bool(changed.paths)).paths == {env.folder / "a.jsonl"}


def test_a_folder_that_is_deleted_and_made_again_is_watched_again(env: WatcherEnv) -> None:
    env.folder.rmdir()
    env.follow.mend()
    env.folder.mkdir()
    env.follow.mend()

    (env.folder / "a.jsonl").write_text("1\n")
    assert env.until(lambda changed: bool(changed.paths)).paths == {env.folder / "a.jsonl"}


def test_a_folder_that_cannot_be_watched_is_reported_and_the_others_are_watched(
    env: WatcherEnv, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedule = env.follow._observer.schedule

    def no_more(handler: object, path: str, **options: object) -> object:
        if path.endswith("second"):
            raise OSError(28, "inotify watch limit reached")
        return schedule(handler, path, **options)

    monkeypatch.setattr(env.follow._observer, "schedule", no_more)
    for name in ("second", "third"):
        (tmp_path / name).mkdir()
        env.follow.folders.append(RecordFolder(tmp_path / name))
    env.follow.mend()

    assert env.follow.troubles == {str(tmp_path / "second"): "cannot be watched: inotify watch limit reached"}
    (tmp_path / "third" / "a.jsonl").write_text("1\n")
    assert env.until(lambda changed: bool(changed.paths)).paths == {tmp_path / "third" / "a.jsonl"}


def test_agents_folders_follow_their_own_settings(tmp_path: Path) -> None:
    variables = {"CLAUDE_CONFIG_DIR": "/c", "CODEX_HOME": "/x", "XDG_DATA_HOME": "/d"}

    assert [str(folder.path) for folder in record_folders(Places(tmp_path, variables))] == [
        "/c/projects",
        "/x/sessions",
        "/x/archived_sessions",
        f"{tmp_path}/.gemini/tmp",
        "/d/opencode",
        f"{tmp_path}/.copilot/session-state",
        f"{tmp_path}/.qwen/projects",
        f"{tmp_path}/.cursor/chats",
        f"{tmp_path}/.cursor/projects",
        f"{tmp_path}/Library/Application Support/Cursor/User/globalStorage",
        f"{tmp_path}/.config/Cursor/User/globalStorage",
        f"{tmp_path}/.hermes",
        f"{tmp_path}/.cline/data/sessions",
        f"{tmp_path}/.openclaw/agents",
        "/d/goose/sessions",
        f"{tmp_path}/Library/Application Support/Claude/local-agent-mode-sessions",
        f"{tmp_path}/.config/Claude/local-agent-mode-sessions",
        f"{tmp_path}/.gemini/antigravity-cli/brain",
    ]

"""A session in a folder of its own: opened, told apart, merged back, removed."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from fazm_memory.app import Memory
from fazm_memory.config import Config
from fazm_memory.errors import Conflict, Declined, InvalidRequest, NotFound

BEGIN = 1_794_900_000_000_000


class Clock:
    def __init__(self) -> None:
        self.at = BEGIN

    def __call__(self) -> int:
        self.at += 1_000_000
        return self.at


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    config = Config(home=tmp_path / "memory", user_home=tmp_path / "user", key="file")
    config.user_home.mkdir()
    return Memory(config, Clock())


@pytest.fixture
def shop(memory: Memory) -> Path:
    folder = memory.config.user_home / "shop"
    (folder / "lib").mkdir(parents=True)
    (folder / "a.txt").write_text("one\n")
    (folder / "b.txt").write_text("two\n")
    (folder / "lib" / "c.txt").write_text("three\n")
    return folder


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=Dana", "-c", "user.email=dana@example.com"]
    done = subprocess.run(["git", *who, *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def actions(plan: dict[str, list[dict[str, str]]]) -> dict[str, str]:
    return {os.path.basename(file["path"]): file["action"] for file in plan["files"]}


def test_a_session_works_in_a_copy_and_its_changes_are_merged_back(memory: Memory, shop: Path) -> None:
    session = memory.own_folders.open("fazm", str(shop), title="Try it")
    own = Path(session["folder"])
    assert own.parent == shop.parent
    assert (own / "lib" / "c.txt").read_text() == "three\n"
    assert session["workspace"] == str(own)
    assert session["copy_of"] == str(shop)
    (own / "a.txt").write_text("changed\n")
    (own / "new.txt").write_text("new\n")
    (own / "b.txt").unlink()
    assert actions(memory.own_folders.plan(session["id"])) == {
        "a.txt": "restore", "b.txt": "delete", "new.txt": "recreate",
    }  # fmt: skip
    assert (shop / "a.txt").read_text() == "one\n"
    merged = memory.own_folders.merge(session["id"])
    assert merged["parent"] == session["id"]
    assert merged["workspace"] == str(shop)
    assert (shop / "a.txt").read_text() == "changed\n"
    assert (shop / "new.txt").read_text() == "new\n"
    assert not (shop / "b.txt").exists()
    assert memory.own_folders.plan(session["id"])["files"] == []
    memory.rewind.undo(merged["id"])
    assert (shop / "a.txt").read_text() == "one\n"
    assert (shop / "b.txt").read_text() == "two\n"
    assert not (shop / "new.txt").exists()


def test_a_file_that_changed_in_both_folders_is_refused_until_a_person_insists(
    memory: Memory, shop: Path
) -> None:
    session = memory.own_folders.open("fazm", str(shop))
    own = Path(session["folder"])
    (own / "a.txt").write_text("mine\n")
    (own / "b.txt").write_text("mine too\n")
    (shop / "a.txt").write_text("theirs\n")
    with pytest.raises(Declined, match=r"both folders, such as a\.txt"):
        memory.own_folders.merge(session["id"])
    assert (shop / "b.txt").read_text() == "two\n", "nothing is merged by halves"
    with pytest.raises(Declined):
        memory.own_folders.merge(session["id"], force=True, source="mcp")
    merged = memory.own_folders.merge(session["id"], force=True)
    assert (shop / "a.txt").read_text() == "mine\n"
    memory.rewind.undo(merged["id"])
    assert (shop / "a.txt").read_text() == "theirs\n"


def test_what_only_the_workspace_changed_stays(memory: Memory, shop: Path) -> None:
    session = memory.own_folders.open("fazm", str(shop))
    (shop / "a.txt").write_text("theirs\n")
    (shop / "b.txt").unlink()
    assert memory.own_folders.plan(session["id"])["files"] == []
    assert memory.own_folders.merge(session["id"])["undo"] is None
    assert (shop / "a.txt").read_text() == "theirs\n"


def test_a_repository_gets_a_worktree_with_what_was_not_committed(
    memory: Memory, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fazm_memory.rewind.own_folder._can_clone", lambda *_: False)
    git(shop, "init", "-q")
    (shop / ".git" / "hooks" / "post-checkout").write_text("#!/bin/sh\ntouch ran\n")
    (shop / ".git" / "hooks" / "post-checkout").chmod(0o755)
    git(shop, "add", "a.txt", "b.txt")
    git(shop, "commit", "-qm", "begin")
    (shop / "a.txt").write_text("not committed\n")
    (shop / "b.txt").unlink()
    session = memory.own_folders.open("fazm", str(shop))
    own = Path(session["folder"])
    assert session["method"] == "worktree"
    assert (own / "a.txt").read_text() == "not committed\n"
    assert not (own / "b.txt").exists()
    assert (own / "lib" / "c.txt").read_text() == "three\n"
    assert not (own / "ran").exists(), "no hook of the repository runs"
    assert str(own) in git(shop, "worktree", "list")
    memory.own_folders.remove(session["id"])
    assert not own.exists()
    assert str(own) not in git(shop, "worktree", "list")


def test_excluded_folders_and_special_files_are_not_copied(memory: Memory, shop: Path) -> None:
    (shop / "private").mkdir()
    (shop / "private" / "diary.txt").write_text("mine alone\n")
    os.mkfifo(shop / "pipe")
    memory.recording.exclude_folder(str(shop / "private"))
    own = Path(memory.own_folders.open("fazm", str(shop))["folder"])
    assert sorted(path.name for path in own.iterdir()) == ["a.txt", "b.txt", "lib"]
    memory.recording.exclude_folder(str(shop))
    with pytest.raises(InvalidRequest, match="excluded"):
        memory.own_folders.open("fazm", str(shop))


def test_a_folder_with_unmerged_changes_is_removed_only_on_demand(memory: Memory, shop: Path) -> None:
    session = memory.own_folders.open("fazm", str(shop))
    own = Path(session["folder"])
    (own / "a.txt").write_text("mine\n")
    assert [row["unmerged"] for row in memory.own_folders.listing()] == [1]
    with pytest.raises(Declined, match="not merged"):
        memory.own_folders.remove(session["id"])
    with pytest.raises(Declined, match="person"):
        memory.own_folders.remove(session["id"], force=True, source="mcp")
    assert own.exists()
    memory.own_folders.remove(session["id"], force=True)
    assert not own.exists()
    assert shop.exists()
    assert memory.own_folders.listing() == []


def test_only_folders_that_were_copied_here_are_merged_or_removed(memory: Memory, shop: Path) -> None:
    other = memory.sessions.open("fazm", workspace=str(shop))
    for verb in (memory.own_folders.merge, memory.own_folders.remove, memory.own_folders.plan):
        with pytest.raises(NotFound, match="no folder of its own"):
            verb(other["id"])
    assert shop.exists()


def test_what_cannot_be_a_folder_of_its_own_is_refused(memory: Memory, shop: Path) -> None:
    for folder in (str(shop), str(shop / "inner"), str(memory.config.home / "x")):
        with pytest.raises((InvalidRequest, NotFound)):
            memory.own_folders.open("fazm", str(shop), folder=folder)
    with pytest.raises(InvalidRequest, match="too large"):
        memory.own_folders.open("fazm", str(memory.config.user_home))
    with pytest.raises(Declined):
        memory.own_folders.open("fazm", str(shop), folder=str(shop.parent / "x"), source="mcp")
    memory.sessions.open("fazm", key="known", workspace=str(shop))
    with pytest.raises(Conflict, match="exists already"):
        memory.own_folders.open("fazm", str(shop), key="known")
    assert [path.name for path in shop.parent.iterdir()] == ["shop"], "no copy is left behind"


def test_the_copy_and_its_workspace_share_their_memory(memory: Memory, shop: Path) -> None:
    memory.sessions.open("fazm", workspace=str(shop), title="Before")
    session = memory.own_folders.open("fazm", str(shop), title="Apart")
    titles = [
        {row.title for row in memory.store.sessions.in_workspace(folder, limit=None)}
        for folder in (str(shop), session["folder"])
    ]
    assert titles == [{"Before", "Apart"}, {"Before", "Apart"}]

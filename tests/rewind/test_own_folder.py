"""A session in a folder of its own: opened, told apart, merged back, removed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest

from fazm_memory.app import Memory
from fazm_memory.config import Config
from fazm_memory.errors import Conflict, Declined, InvalidRequest, NotFound, StoreFull
from fazm_memory.rewind import own_folder

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


def repository(shop: Path) -> None:
    git(shop, "init", "-q", "-b", "main")
    git(shop, "add", ".")
    git(shop, "commit", "-qm", "begin")


def cloned(memory: Memory, shop: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, Path]:
    """A session in a clone, made by plain copying: the file systems here cannot clone."""
    monkeypatch.setattr("fazm_memory.rewind.own_folder._can_clone", lambda *_: True)
    monkeypatch.setattr("fazm_memory.rewind.own_folder.CLONE", ["cp", "-a"])
    session = memory.own_folders.open("fazm", str(shop))
    assert session["method"] == "clone"
    return session["id"], Path(session["folder"])


def test_commits_made_in_a_clone_come_with_the_merge(
    memory: Memory, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository(shop)
    session, own = cloned(memory, shop, monkeypatch)
    assert memory.own_folders.plan(session)["commits"] == []
    (own / "a.txt").write_text("changed\n")
    git(own, "commit", "-qam", "change a")
    git(own, "checkout", "-q", "-b", "feature/next")
    (own / "a.txt").write_text("changed twice\n")
    git(own, "commit", "-qam", "change a again")
    planned = memory.own_folders.plan(session)["commits"]
    assert {one["branch"]: one["number"] for one in planned} == {"main": 1, "feature/next": 2}
    assert memory.own_folders.listing()[0]["commits"] == 3
    before = git(shop, "rev-parse", "HEAD")
    merged = memory.own_folders.merge(session)
    assert merged["commits"] == planned
    name = f"session-{session[:8]}/feature/next"
    assert git(shop, "log", "-1", "--format=%s", name) == "change a again"
    assert git(shop, "show", f"{name}:a.txt") == "changed twice"
    assert git(shop, "rev-parse", "HEAD") == before, "no branch of the workspace moves"
    assert git(shop, "branch", "--format=%(refname:short)") == "main"
    assert memory.own_folders.plan(session)["commits"] == []


def test_commits_without_changed_files_come_too(
    memory: Memory, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository(shop)
    session, own = cloned(memory, shop, monkeypatch)
    git(own, "commit", "-q", "--allow-empty", "-m", "a note")
    merged = memory.own_folders.merge(session)
    assert (merged["undo"], [one["number"] for one in merged["commits"]]) == (None, [1])


def test_removing_a_worktree_keeps_its_commits_that_are_on_no_branch(
    memory: Memory, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fazm_memory.rewind.own_folder._can_clone", lambda *_: False)
    repository(shop)
    session = memory.own_folders.open("fazm", str(shop))
    own = Path(session["folder"])
    (own / "a.txt").write_text("changed\n")
    git(own, "commit", "-qam", "on no branch")
    gone = memory.own_folders.remove(session["id"], force=True)
    name = f"session-{session['id'][:8]}/HEAD"
    assert [one["as"] for one in gone["commits"]] == [name]
    git(shop, "gc", "-q", "--prune=now")
    assert git(shop, "log", "-1", "--format=%s", name) == "on no branch"


def test_a_copy_of_a_worktree_does_not_share_its_index(
    memory: Memory, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository(shop)
    linked = shop.parent / "linked"
    git(shop, "worktree", "add", "-q", "-b", "side", str(linked))
    (linked / "b.txt").write_text("not committed\n")
    monkeypatch.setattr("fazm_memory.rewind.own_folder._can_clone", lambda *_: True)
    session = memory.own_folders.open("fazm", str(linked))
    own = Path(session["folder"])
    assert session["method"] == "worktree"
    assert (own / "b.txt").read_text() == "not committed\n"
    git(own, "commit", "-qam", "apart")
    assert git(linked, "log", "-1", "--format=%s") == "begin"
    assert [one["branch"] for one in memory.own_folders.merge(session["id"])["commits"]] == ["HEAD"]


def test_git_variables_of_a_hook_do_not_name_another_repository(
    memory: Memory, shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repository(shop)
    session, own = cloned(memory, shop, monkeypatch)
    git(own, "commit", "-q", "--allow-empty", "-m", "a note")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    assert [one["number"] for one in memory.own_folders.plan(session)["commits"]] == [1]


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


def test_a_copy_leaves_a_tenth_of_a_small_disk_free(
    memory: Memory, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_folder, "_can_clone", lambda *_: False)
    disk = SimpleNamespace(total=100 << 20, free=5 << 20)
    monkeypatch.setattr("shutil.disk_usage", lambda _: disk)
    with pytest.raises(StoreFull, match=r"10\.5 MB must stay free\. The disk has 5\.2 MB"):
        memory.own_folders.open("fazm", str(shop))
    disk.free = 11 << 20
    assert memory.own_folders.open("fazm", str(shop))["method"] == "copy"


def test_a_file_that_cannot_be_cloned_is_copied(
    memory: Memory, shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_folder, "_can_clone", lambda *_: True)
    session = memory.own_folders.open("fazm", str(shop))
    assert session["method"] == "clone"
    assert (Path(session["folder"]) / "lib" / "c.txt").read_text() == "three\n"


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


def test_the_git_file_of_a_worktree_is_no_file_of_the_session(memory: Memory, shop: Path) -> None:
    for words in (("init", "--quiet"), ("add", "."), ("commit", "--quiet", "-m", "first")):
        git(shop, *words)
    session = memory.own_folders.open("fazm", str(shop))
    assert session["method"] == "worktree"
    own = Path(session["folder"])
    memory.file_versions.keep(str(own), ".git", BEGIN, (own / ".git").read_bytes())  # as watchers did
    (own / "a.txt").write_text("mine\n")
    assert [row["unmerged"] for row in memory.own_folders.listing()] == [1]
    assert actions(memory.own_folders.plan(session["id"])) == {"a.txt": "restore"}


def test_a_folder_whose_workspace_is_gone_hides_no_other_and_can_be_removed(
    memory: Memory, shop: Path
) -> None:
    lost_shop = shop.parent / "lost"
    shutil.copytree(shop, lost_shop)
    memory.own_folders.open("fazm", str(shop))
    lost = memory.own_folders.open("fazm", str(lost_shop))
    shutil.rmtree(lost_shop)
    first, second = memory.own_folders.listing()
    assert (first["session"], first["unmerged"]) == (lost["id"], None)
    assert "cannot be compared" in first["problem"]
    assert second["unmerged"] == 0
    memory.own_folders.remove(lost["id"], force=True)
    assert not Path(lost["folder"]).exists()


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


@pytest.mark.parametrize(("tools", "runs"), [(0, True), (2, False)])
def test_apples_git_is_not_run_without_the_developer_tools_which_it_would_only_offer_in_a_dialog(
    monkeypatch: pytest.MonkeyPatch, tools: int, runs: bool
) -> None:
    ran: list[list[str]] = []

    def run(command: list[str], **_: object) -> SimpleNamespace:
        ran.append(command)
        return SimpleNamespace(returncode=tools)

    monkeypatch.setattr("shutil.which", lambda name: f"/usr/bin/{name}")
    monkeypatch.setattr("subprocess.run", run)
    assert own_folder.git_runs("darwin") is runs
    assert ran == [["/usr/bin/xcode-select", "-p"]]

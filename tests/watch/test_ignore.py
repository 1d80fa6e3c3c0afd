"""What in a watched folder is not work."""

from __future__ import annotations

from pathlib import Path

import pytest

from fazm_memory.watch.tree import IgnoreRules, refresh, scan

FAR = 4_000_000_000_000_000  # microseconds: a look later than any file here


def put(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path)


def kept(root: Path) -> set[str]:
    return {path for path, _ in scan(str(root), IgnoreRules(str(root))).files()}


def test_version_control_caches_and_passing_files_are_not_work(tmp_path: Path) -> None:
    put(tmp_path, "a.py", ".git/HEAD", "x/.git/HEAD", "node_modules/m/i.js", "__pycache__/a.pyc", "a.py~")
    put(tmp_path, ".a.py.swp", "report.docx.tmp", ".DS_Store", "x/notes.txt", "4913", "movie.mp4.crdownload")
    assert kept(tmp_path) == {"a.py", "x/notes.txt"}


@pytest.mark.parametrize(("folder", "beside"), [("build", "setup.py"), ("target", "Cargo.toml")])
def test_a_build_folder_is_one_only_beside_what_builds_it(tmp_path: Path, folder: str, beside: str) -> None:
    put(tmp_path, f"mine/{folder}/photo.jpg", f"code/{folder}/made.o", f"code/{beside}")
    assert kept(tmp_path) == {f"mine/{folder}/photo.jpg", f"code/{beside}"}


def test_gitignore_counts_in_every_folder_and_the_nearest_one_decides(tmp_path: Path) -> None:
    put(tmp_path, "a.log", "keep/b.log", "out/c", "keep/out/d", "e.txt")
    (tmp_path / ".gitignore").write_text("*.log\n/out/\n")
    (tmp_path / "keep" / ".gitignore").write_text("!b.log\n")
    assert kept(tmp_path) == {".gitignore", "keep/.gitignore", "keep/b.log", "keep/out/d", "e.txt"}


def test_rules_of_the_repository_around_a_root_count_and_those_of_strangers_do_not(tmp_path: Path) -> None:
    put(tmp_path, "repo/.git/HEAD", "repo/sub/a.log", "repo/sub/a.txt", "plain/sub/a.log")
    (tmp_path / "repo" / ".gitignore").write_text("sub/*.log\n")
    (tmp_path / "plain" / ".gitignore").write_text("*.log\n")
    assert kept(tmp_path / "repo" / "sub") == {"a.txt"}
    assert kept(tmp_path / "plain" / "sub") == {"a.log"}


def test_a_line_that_git_refuses_costs_none_of_the_others(tmp_path: Path) -> None:
    put(tmp_path, "a.log", "b.txt")
    (tmp_path / ".gitignore").write_text("!\n\\\n*.log\n")
    assert kept(tmp_path) == {".gitignore", "b.txt"}


def test_our_own_folder_is_left_alone_wherever_it_lies(tmp_path: Path) -> None:
    put(tmp_path, "share/ours/memory.db", "share/theirs/x")
    tree = scan(str(tmp_path), IgnoreRules(str(tmp_path), never=[str(tmp_path / "share" / "ours")]))
    assert {path for path, _ in tree.files()} == {"share/theirs/x"}


def test_files_that_new_rules_hide_were_not_deleted_and_those_they_show_were_not_created(
    tmp_path: Path,
) -> None:
    put(tmp_path, "a.log", "deep/b.log", "c.txt", "old/d")
    (tmp_path / ".gitignore").write_text("old/\n")
    ignore = IgnoreRules(str(tmp_path))
    tree = scan(str(tmp_path), ignore, FAR)
    (tmp_path / ".gitignore").write_text("*.log\n")
    delta = refresh(tree, ignore, FAR + 1, [""])
    assert (delta.gone, delta.come) == ({}, {})
    assert list(delta.both) == [str(tmp_path / ".gitignore")]
    assert {path for path, _ in tree.files()} == {".gitignore", "c.txt", "old/d"}

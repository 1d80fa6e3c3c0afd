"""Two looks at a folder, and what happened in between."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from fazm_memory.watch.scanner import FileDifference, file_changes, unknown_digest
from fazm_memory.watch.tree import FileStat, IgnoreRules, Tree, TreeDelta, refresh, scan, stat_of


class Place:
    """A folder that is looked at again and again."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(exist_ok=True)
        self.ignore = IgnoreRules(str(root))
        self.tree = scan(str(root), self.ignore, 1)

    def write(self, path: str, text: str = "x") -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def look(self, *dirty: str, **more: object) -> list[tuple[str, ...]]:
        delta = refresh(self.tree, self.ignore, 2, dirty or None)
        return [self.described(one) for one in file_changes(delta, **more)]  # type: ignore[arg-type]

    def described(self, one: FileDifference) -> tuple[str, ...]:
        paths = [one.path] if one.origin is None else [one.origin, one.path]
        return one.change, *(os.path.relpath(path, self.root) for path in paths)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "root")


def test_created_modified_and_deleted(place: Place) -> None:
    place.write("a")
    place.write("b")
    place.look()
    place.write("a", "longer")
    (place.root / "b").unlink()
    place.write("sub/c")
    assert place.look() == [("deleted", "b"), ("modified", "a"), ("created", "sub/c")]
    assert place.look() == []


def test_a_rename_keeps_its_history_also_of_a_whole_folder(place: Place) -> None:
    place.write("a")
    place.write("old/deep/b")
    place.look()
    (place.root / "a").rename(place.root / "z")
    (place.root / "old").rename(place.root / "new")
    assert place.look() == [("renamed", "a", "z"), ("renamed", "old/deep/b", "new/deep/b")]


def test_an_atomic_save_is_a_modification(place: Place) -> None:
    place.write("a")
    place.look()
    place.write("fresh", "new").rename(place.root / "a")
    assert place.look() == [("modified", "a")]


def test_a_save_with_a_backup_modifies_the_file_and_creates_the_backup(place: Place) -> None:
    place.write("a")
    place.look()
    (place.root / "a").rename(place.root / "a.bak")
    place.write("a", "new")
    assert place.look() == [("modified", "a"), ("created", "a.bak")]


def test_a_chain_of_renames_is_reported_in_an_order_that_can_be_replayed(place: Place) -> None:
    for name in "abc":
        place.write(name, name)
    place.look()
    for old, new in (("c", "d"), ("b", "c"), ("a", "b")):
        (place.root / old).rename(place.root / new)
    assert place.look() == [("renamed", "c", "d"), ("renamed", "b", "c"), ("renamed", "a", "b")]


def test_two_files_that_changed_places_are_both_modified(place: Place) -> None:
    place.write("a", "one")
    place.write("b", "two")
    place.look()
    (place.root / "a").rename(place.root / "t")
    (place.root / "b").rename(place.root / "a")
    (place.root / "t").rename(place.root / "b")
    assert place.look() == [("modified", "a"), ("modified", "b")]


def delta(old: FileStat, new: FileStat) -> TreeDelta:
    return TreeDelta(gone={"/r/a": old}, come={"/r/b": new})


def test_an_inode_given_out_again_is_not_a_rename_unless_the_system_reported_of_one() -> None:
    old, new = FileStat(1, 7, 5, 100, 0o644), FileStat(1, 7, 9, 200, 0o644)
    assert [one.change for one in file_changes(delta(old, new))] == ["deleted", "created"]
    results = file_changes(delta(old, new), moved={"/r/b": "/r/a"})
    assert [(one.change, one.origin) for one in results] == [("renamed", "/r/a")]


def test_a_copy_that_replaced_its_original_is_known_by_its_content() -> None:
    old, new = FileStat(1, 7, 5, 100, 0o644), FileStat(2, 8, 5, 200, 0o644)
    results = file_changes(delta(old, new), known=lambda path: "d", now=lambda path: "d")
    assert [(one.change, one.origin) for one in results] == [("renamed", "/r/a")]
    other = file_changes(delta(old, new), known=lambda path: "d", now=lambda path: "e")
    assert [one.change for one in other] == ["deleted", "created"]
    assert [one.change for one in file_changes(delta(old, new), known=unknown_digest)] == [
        "deleted",
        "created",
    ]


def test_empty_files_are_all_alike_and_prove_nothing() -> None:
    old, new = FileStat(1, 7, 0, 100, 0o644), FileStat(1, 8, 0, 200, 0o644)
    results = file_changes(delta(old, new), known=lambda path: "d", now=lambda path: "d")
    assert [one.change for one in results] == ["deleted", "created"]


def test_only_dirty_folders_are_looked_at_and_new_ones_through_and_through(place: Place) -> None:
    place.write("a/x")
    place.write("b/y")
    place.look()
    place.write("a/x", "longer")
    place.write("b/y", "longer")
    place.write("b/new/deep/z")
    assert place.look("b/new/deep") == [("modified", "b/y"), ("created", "b/new/deep/z")]
    assert place.look("a") == [("modified", "a/x")]


def test_links_are_seen_and_never_followed(place: Place, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("s")
    (place.root / "link").symlink_to(outside)
    assert place.look() == [("created", "link")]


def test_two_looks_joined_tell_what_one_look_would_have() -> None:
    one, two, three = (FileStat(1, n, n, n, 0o644) for n in (1, 2, 3))
    joined = TreeDelta(gone={"back": one}, come={"brief": one, "grown": one}, both={"a": (one, two)})
    joined.join(TreeDelta(gone={"brief": one, "a": two}, come={"back": two}, both={"grown": (one, three)}))
    assert joined == TreeDelta(gone={"a": one}, come={"grown": three}, both={"back": (one, two)})


@pytest.mark.skipif(os.geteuid() == 0, reason="root can read everything")
def test_a_folder_that_cannot_be_read_keeps_what_was_known_of_it(place: Place) -> None:
    place.write("closed/a")
    place.look()
    (place.root / "closed").chmod(0)
    try:
        found = refresh(place.tree, place.ignore, 3)
    finally:
        (place.root / "closed").chmod(0o700)
    assert not found
    assert found.unreadable == {str(place.root / "closed")}


def test_a_file_that_became_a_folder_is_gone_as_a_file(place: Place) -> None:
    place.write("a")
    place.look()
    (place.root / "a").unlink()
    place.write("a/b")
    assert place.look() == [("deleted", "a"), ("created", "a/b")]


@pytest.mark.linux("the disk of a Mac refuses such a name")
def test_a_tree_is_kept_and_read_back_whole_whatever_its_names(place: Place) -> None:
    place.write("ä/ 名.txt")
    with open(os.fsencode(place.root) + b"/bad\xff", "wb"):
        pass
    place.look()
    again = Tree.from_bytes(place.tree.root, place.tree.at, place.tree.to_bytes())
    assert dict(again.files()) == dict(place.tree.files())
    assert again.get("ä/ 名.txt") == stat_of(str(place.root / "ä/ 名.txt"))
    assert len(again) == 2


NAMES = st.sampled_from(["a", "b", "c", "x/a", "x/b", "x/y/a", "z/a"])
FOLDERS = st.sampled_from(["x", "x/y", "z", "w"])


class RandomWork(RuleBasedStateMachine):
    """Whatever is done to a folder: what is told, replayed on the first look, gives the second."""

    scratch: Path

    def __init__(self) -> None:
        super().__init__()
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.place = Place(self.scratch)
        self.model: set[str] = set()
        self.count = 0

    @rule(path=NAMES)
    def write(self, path: str) -> None:
        self.count += 1
        file = self.place.root / path
        if not file.is_dir():
            self.place.write(path, "x" * self.count)

    @rule(path=NAMES)
    def delete(self, path: str) -> None:
        (self.place.root / path).unlink(missing_ok=True)

    @rule(old=NAMES, new=NAMES)
    def rename(self, old: str, new: str) -> None:
        source, target = self.place.root / old, self.place.root / new
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            source.rename(target)

    @rule(old=FOLDERS, new=FOLDERS)
    def move_folder(self, old: str, new: str) -> None:
        source, target = self.place.root / old, self.place.root / new
        if source.is_dir() and not target.exists() and not new.startswith(f"{old}/"):
            target.parent.mkdir(parents=True, exist_ok=True)
            source.rename(target)

    @rule(old=FOLDERS)
    def delete_folder(self, old: str) -> None:
        shutil.rmtree(self.place.root / old, ignore_errors=True)

    @rule(path=NAMES)
    def save_atomically(self, path: str) -> None:
        if (self.place.root / path).is_file():
            self.count += 1
            self.place.write("fresh.tmp", "y" * self.count).rename(self.place.root / path)

    @rule(part=st.booleans())
    def look(self, part: bool) -> None:
        every = [os.path.relpath(folder, self.place.root) for folder, _, _ in os.walk(self.place.root)]
        dirty = ["" if one == "." else one for one in every] + list(self.place.tree.folders)
        for result in self.place.look(*(dirty if part else ())):
            match result:
                case ("created", path):
                    assert path not in self.model
                    self.model.add(path)
                case ("deleted", path):
                    self.model.remove(path)
                case ("renamed", old, path):
                    self.model.remove(old)
                    self.model.add(path)
                case ("modified", path):
                    assert path in self.model
        truth = {str(one.relative_to(self.place.root)) for one in self.place.root.rglob("*") if one.is_file()}
        assert self.model == truth
        assert {path for path, _ in self.place.tree.files()} == truth

    @invariant()
    def the_tree_reads_back_as_it_is(self) -> None:
        again = Tree.from_bytes(self.place.tree.root, 1, self.place.tree.to_bytes())
        assert again.folders.keys() == self.place.tree.folders.keys()


def test_what_is_reported_of_random_work_replays_to_the_truth(tmp_path: Path) -> None:
    RandomWork.scratch = tmp_path / "scratch"
    run_state_machine_as_test(RandomWork, settings=settings(max_examples=60, stateful_step_count=30))

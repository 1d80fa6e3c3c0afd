"""The net change of each file since the session began."""

from __future__ import annotations

from typing import Any

import pytest

from fazm_memory.session.state import FileEntry, apply_change, parent_folder


def after(*changes: tuple[str, ...]) -> dict[str, tuple[str, str | None]]:
    """What a run of (change, path[, origin]) comes to: path → (change, from)."""
    files: dict[str, FileEntry] = {}
    for seq, (change, path, *origin) in enumerate(changes):
        apply_change(
            files,
            path,
            change,  # type: ignore[arg-type]
            origin=origin[0] if origin else None,
            by="agent",
            evidence="told",
            seq=seq,
        )
    return {path: (entry.change, entry.origin) for path, entry in files.items()}


@pytest.mark.parametrize(
    ("changes", "net"),
    [
        ([("created", "a"), ("modified", "a")], {"a": ("created", None)}),
        ([("modified", "a"), ("modified", "a")], {"a": ("modified", None)}),
        ([("modified", "a"), ("deleted", "a")], {"a": ("deleted", None)}),
        ([("deleted", "a"), ("created", "a")], {"a": ("modified", None)}),
        ([("renamed", "b", "a")], {"b": ("renamed", "a")}),
        ([("renamed", "b", "a"), ("renamed", "c", "b")], {"c": ("renamed", "a")}),
        ([("renamed", "b", "a"), ("renamed", "a", "b")], {}),
        ([("renamed", "b", "a"), ("modified", "b")], {"b": ("renamed", "a")}),
        ([("renamed", "b", "a"), ("deleted", "b")], {"a": ("deleted", None)}),
        ([("created", "a"), ("renamed", "b", "a")], {"b": ("renamed", "a")}),
    ],
)
def test_a_run_of_changes_is_reported_as_its_net_change(changes: list[Any], net: dict[str, Any]) -> None:
    assert after(*changes) == net


def test_a_new_file_renamed_and_renamed_back_is_still_new() -> None:
    assert after(("created", "a"), ("renamed", "b", "a"), ("renamed", "a", "b")) == {"a": ("created", None)}


def test_an_edited_file_renamed_and_renamed_back_is_still_edited() -> None:
    back = ("renamed", "a", "b")
    assert after(("modified", "a"), ("renamed", "b", "a"), back) == {"a": ("modified", None)}
    assert after(("renamed", "b", "a"), ("modified", "b"), back) == {"a": ("modified", None)}
    through = [("created", "a"), ("renamed", "b", "a"), ("modified", "b"), ("renamed", "c", "b")]
    assert after(*through, ("renamed", "a", "c")) == {"a": ("created", None)}


def test_two_files_that_swap_names_are_both_renamed() -> None:
    swap = after(("renamed", "t", "a"), ("renamed", "a", "b"), ("renamed", "b", "t"))
    assert swap == {"a": ("renamed", "b"), "b": ("renamed", "a")}


def test_a_rotated_log_is_not_reported_as_deleted_when_its_old_copy_goes() -> None:
    rotated = after(("renamed", "log.1", "log"), ("created", "log"), ("deleted", "log.1"))
    assert rotated == {"log": ("modified", None)}


def test_a_rename_from_nowhere_still_tells_the_file() -> None:
    assert after(("renamed", "b")) == {"b": ("renamed", None)}


def test_the_newest_change_is_last() -> None:
    assert list(after(("created", "a"), ("created", "b"), ("modified", "a"))) == ["b", "a"]


def test_an_entry_comes_back_from_its_json() -> None:
    files: dict[str, FileEntry] = {}
    apply_change(files, "a", "created", origin=None, by="agent", evidence="told", seq=3)
    apply_change(files, "b", "renamed", origin="a", by="person", evidence="seen", seq=4)
    assert FileEntry.from_json(files["b"].to_json()) == files["b"]
    assert files["b"].to_json() == {
        "path": "b", "change": "renamed", "from": "a", "by": "person", "evidence": "seen", "seq": 4,
        "turn": None, "was": "created",
        "changed_by": [
            {"by": "agent", "change": "created", "evidence": "told", "seq": 3, "turn": None},
            {"by": "person", "change": "renamed", "evidence": "seen", "seq": 4, "turn": None,
             "path": "b", "from": "a"},
        ],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("path", "folder"), [("/a/b", "/a"), ("/a", "/"), ("/", "/"), ("a", "."), ("a/b/", "a"), ("/a/b/", "/a")]
)
def test_the_folder_of_a_path_is_read_from_its_text(path: str, folder: str) -> None:
    assert parent_folder(path) == folder


def test_an_author_that_deleted_a_file_and_wrote_it_again_modified_it() -> None:
    files: dict[str, FileEntry] = {}
    apply_change(files, "a", "modified", origin=None, by="person", evidence="seen", seq=1)
    apply_change(files, "a", "deleted", origin=None, by="agent", evidence="told", seq=2)
    apply_change(files, "a", "created", origin=None, by="agent", evidence="told", seq=3)
    assert files["a"].change == "modified"
    assert [(one.by, one.change) for one in files["a"].authors()] == [
        ("person", "modified"),
        ("agent", "modified"),
    ]


def test_a_rename_keeps_the_names_of_its_author_when_somebody_else_deletes_the_file() -> None:
    files: dict[str, FileEntry] = {}
    apply_change(files, "b", "renamed", origin="a", by="agent", evidence="told", seq=1)
    apply_change(files, "b", "modified", origin=None, by="agent", evidence="told", seq=2)
    apply_change(files, "b", "deleted", origin=None, by="person", evidence="seen", seq=3)
    (entry,) = files.values()
    assert (entry.path, entry.change, entry.by) == ("a", "deleted", "person")
    told = entry.json_by("agent")
    assert told is not None
    assert (told["path"], told["from"], told["change"], told["seq"]) == ("b", "a", "renamed", 2)
    assert FileEntry.from_json(entry.to_json()) == entry

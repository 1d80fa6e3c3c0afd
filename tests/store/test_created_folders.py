"""Folders that came and went: by whose hand, told once, and forgotten with the files in them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from fazm_memory.store.file_versions import FileVersions, FolderChange, FolderHistory

KEY = "ab" * 32


@pytest.fixture
def versions(tmp_path: Path) -> Iterator[FileVersions]:
    made = FileVersions(tmp_path, KEY)
    yield made
    made.close()


def note(versions: FileVersions, path: str, *seen: FolderChange) -> list[FolderChange]:
    for one in seen:
        FolderHistory(versions).note("/r", path, one)
    return FolderHistory(versions).history("/r", path)


def test_a_folder_has_its_comings_and_goings_in_order(versions: FileVersions) -> None:
    came, went = FolderChange(10, True, "agent", "s", 4), FolderChange(20, False, "person")
    assert note(versions, "a/b", came, went) == [came, went]
    assert note(versions, "a") == []


def test_what_a_rewind_did_is_not_reported_again_as_somebody_elses(versions: FileVersions) -> None:
    """Also when the watcher, which waits a moment, tells it after an undo has followed."""
    gone, made = FolderChange(20, False, "rewind", "s", 5), FolderChange(25, True, "rewind", "s", 6)
    note(versions, "a", gone, made)
    seen = FolderHistory(versions)
    seen.note_sighting("/r", "a", FolderChange(21, False, "person"), 19)
    seen.note_sighting("/r", "a", FolderChange(26, True, "person"), 21)
    assert note(versions, "a") == [gone, made]
    later = FolderChange(40, False, "person"), FolderChange(50, True, "person")
    for one in later:
        seen.note_sighting("/r", "a", one, one.at - 5)
    assert note(versions, "a") == [gone, made, *later]


def test_folders_are_forgotten_with_their_files_their_root_and_their_time(versions: FileVersions) -> None:
    for path in ("kept", "a", "a/b"):
        note(versions, path, FolderChange(10, True, "agent", "s"))
    versions.keep("/r", "a/b/c", 10, b"secret plans")
    versions.forget("/r", ["a/b/c"])
    assert [len(note(versions, path)) for path in ("kept", "a", "a/b")] == [1, 0, 0]
    versions.keep("/r", "old", 10, b"one")
    versions.keep("/r", "old", 30, b"two")
    note(versions, "kept", FolderChange(30, False, "agent", "s"))
    versions.drop_before(20)
    assert note(versions, "kept") == [FolderChange(30, False, "agent", "s")]
    versions.forget("/r")
    assert note(versions, "kept") == []

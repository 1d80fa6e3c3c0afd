"""Rights of files: changed through the folder, never through a link, never more than read, write and run."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from fazm_memory.rewind.safe_directory import NotAsExpected, change_mode


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    (tmp_path / "a").write_text("a")
    os.chmod(tmp_path / "a", 0o640)
    descriptor = os.open(tmp_path, os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


def mode(path: Path) -> int:
    return os.stat(path).st_mode & 0o7777


def test_a_file_gets_the_rights_it_should_have(folder: int, tmp_path: Path) -> None:
    change_mode(folder, "a", 0o640, 0o755)
    assert mode(tmp_path / "a") == 0o755


def test_a_file_that_nobody_may_open_can_still_be_given_rights(folder: int, tmp_path: Path) -> None:
    os.chmod(tmp_path / "a", 0)
    change_mode(folder, "a", 0, 0o600)
    assert mode(tmp_path / "a") == 0o600


def test_more_than_read_write_and_run_is_never_given(folder: int, tmp_path: Path) -> None:
    change_mode(folder, "a", None, 0o7755)
    assert mode(tmp_path / "a") == 0o755


def test_other_rights_than_expected_are_left_alone(folder: int, tmp_path: Path) -> None:
    with pytest.raises(NotAsExpected):
        change_mode(folder, "a", 0o600, 0o755)
    assert mode(tmp_path / "a") == 0o640


@pytest.mark.parametrize("made", ["link", "folder"])
def test_a_link_or_a_folder_is_left_alone(folder: int, tmp_path: Path, made: str) -> None:
    if made == "link":
        (tmp_path / "b").symlink_to(tmp_path / "a")
    else:
        (tmp_path / "b").mkdir(mode=0o700)
    with pytest.raises(NotAsExpected):
        change_mode(folder, "b", None, 0o777)
    assert mode(tmp_path / "a") == 0o640
    assert made == "link" or mode(tmp_path / "b") == 0o700

"""Folders and files that only their owner can read, under any umask."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from fazm_memory import paths
from fazm_memory.errors import StoreFull, StoreReadOnly, StoreUnsafe
from fazm_memory.paths import (
    NotRegularFile,
    disk_error,
    disk_path,
    exclusive_lock,
    is_utf8,
    open_regular,
    open_without_links,
    private_file,
    private_folder,
    read_regular,
    write_private,
)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


@pytest.fixture(params=[0, 0o077, 0o777], ids=["umask 0", "umask 077", "umask 777"])
def umask(request: pytest.FixtureRequest) -> Iterator[int]:
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


@pytest.mark.usefixtures("umask")
def test_folders_are_0700_and_files_0600_under_any_umask(tmp_path: Path) -> None:
    folder = private_folder(tmp_path / "home")
    private_file(folder / "made")
    write_private(folder / "written", b"data")
    assert mode(folder) == 0o700
    assert mode(folder / "made") == 0o600
    assert mode(folder / "written") == 0o600


@pytest.mark.usefixtures("umask")
def test_the_folders_above_that_had_to_be_made_are_private_too(tmp_path: Path) -> None:
    private_folder(tmp_path / "share" / "apps" / "home")
    assert [mode(tmp_path / "share"), mode(tmp_path / "share" / "apps")] == [0o700, 0o700]


def test_what_had_been_opened_up_is_closed_again(tmp_path: Path) -> None:
    folder = private_folder(tmp_path / "home")
    file = private_file(folder / "f")
    folder.chmod(0o755)
    file.chmod(0o644)
    private_folder(folder)
    private_file(file)
    assert (mode(folder), mode(file)) == (0o700, 0o600)


def test_a_file_that_is_there_keeps_what_it_holds(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"kept")
    assert private_file(tmp_path / "f").read_bytes() == b"kept"


@pytest.mark.parametrize("target", ["there", "nowhere"])
def test_a_folder_that_is_a_link_is_refused(tmp_path: Path, target: str) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "home").symlink_to(tmp_path / target)
    with pytest.raises(StoreUnsafe, match=r"symbolic link|not a folder"):
        private_folder(tmp_path / "home")
    assert not (tmp_path / "nowhere").exists()


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file")
    with pytest.raises(StoreUnsafe, match="not a folder"):
        private_folder(tmp_path / "home")
    with pytest.raises(StoreUnsafe, match="home is not a folder"):
        private_folder(tmp_path / "home" / "below")


def test_a_folder_of_somebody_else_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = private_folder(tmp_path / "home")
    stranger = os.geteuid() + 1
    monkeypatch.setattr("os.geteuid", lambda: stranger)
    with pytest.raises(StoreUnsafe, match=f"not to you \\(user {stranger}\\)"):
        private_folder(folder)


def test_a_file_that_is_a_link_is_refused_and_its_target_left_alone(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("somebody's")
    (tmp_path / "f").symlink_to(tmp_path / "target")
    with pytest.raises(StoreUnsafe, match="symbolic link"):
        private_file(tmp_path / "f")
    assert (tmp_path / "target").read_text() == "somebody's"


def test_writing_replaces_all_of_a_file_at_once(tmp_path: Path) -> None:
    file = tmp_path / "f"
    write_private(file, b"a long first version")
    write_private(file, b"short")
    assert file.read_bytes() == b"short"
    assert [one.name for one in tmp_path.iterdir()] == ["f"]


def test_a_write_that_fails_leaves_the_file_as_it_was_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_private(tmp_path / "f", b"before")

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(paths, "full_sync", full)
    with pytest.raises(StoreFull, match="no room left"):
        write_private(tmp_path / "f", b"after")
    assert (tmp_path / "f").read_bytes() == b"before"
    assert [one.name for one in tmp_path.iterdir()] == ["f"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_reported_as_such(number: int, tmp_path: Path) -> None:
    result = disk_error(OSError(number, os.strerror(number)), tmp_path)
    assert isinstance(result, StoreFull)
    assert result.hint


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.EIO])
def test_any_other_refusal_names_the_file_and_the_reason(number: int, tmp_path: Path) -> None:
    results = disk_error(OSError(number, os.strerror(number)), tmp_path / "f")
    assert isinstance(results, StoreReadOnly)
    assert str(tmp_path / "f") in results.message
    assert os.strerror(number) in results.message


def test_only_one_at_a_time_is_alone_in_a_folder(tmp_path: Path) -> None:
    inside, outside = os.pipe()
    with exclusive_lock(tmp_path):
        child = os.fork()
        if child == 0:
            with exclusive_lock(tmp_path):
                os.write(outside, b"in")
            os._exit(0)
        os.set_blocking(inside, False)
        with pytest.raises(BlockingIOError):
            os.read(inside, 2)
    os.set_blocking(inside, True)
    assert os.read(inside, 2) == b"in"
    assert os.waitpid(child, 0)[1] == 0
    os.close(inside)
    os.close(outside)


def test_only_regular_files_of_others_are_read_and_nothing_blocks(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "linked").symlink_to(tmp_path / "plain")
    (tmp_path / "plain").write_text("text")
    for name in ("pipe", "zero", "."):
        with pytest.raises(NotRegularFile):
            open_regular(tmp_path / name)
    assert read_regular(tmp_path / "linked") == b"text"  # people link their dotfiles
    with pytest.raises(OSError, match="larger than 3 bytes"):
        read_regular(tmp_path / "plain", 3)


def test_no_part_of_a_path_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real" / "inner").mkdir(parents=True)
    (tmp_path / "real" / "inner" / "a").write_text("a")
    (tmp_path / "real" / "linked file").symlink_to("inner/a")
    (tmp_path / "linked").symlink_to("real")
    os.close(open_without_links(str(tmp_path / "real/inner/a"), os.O_RDONLY))
    for path in ("linked/inner/a", "real/linked file", "linked"):
        with pytest.raises((NotADirectoryError, OSError), match=r"Not a directory|symbolic links"):
            open_without_links(str(tmp_path / path), os.O_RDONLY | os.O_DIRECTORY)


def test_a_name_of_bytes_that_are_not_utf8_is_told_apart() -> None:
    assert is_utf8("plain")
    assert is_utf8("für")
    assert not is_utf8(os.fsdecode(b"odd \xff"))


def test_a_folder_is_known_by_the_spelling_of_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """macOS opens a folder under the composed name and reports the decomposed one of the disk."""
    composed, decomposed = tmp_path / "R\u00e9sum\u00e9", tmp_path / "Re\u0301sume\u0301"
    composed.mkdir()
    asked: list[int] = []

    def fcntl_of_a_mac(descriptor: int, command: int, buffer: bytes) -> bytes:
        asked.append(command)
        return os.fsencode(decomposed).ljust(len(buffer), b"\0")

    monkeypatch.setattr(paths.fcntl, "fcntl", fcntl_of_a_mac)
    assert disk_path(str(composed), "darwin") == str(decomposed)
    assert asked == [50]  # F_GETPATH
    assert disk_path(str(composed), "linux") == str(composed)
    assert disk_path(str(tmp_path / "gone"), "darwin") == str(tmp_path / "gone")

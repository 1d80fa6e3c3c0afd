"""A folder of its own on file systems that clone: Btrfs and XFS, each in a file of its own, mounted."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fazm_memory.app import Memory
from fazm_memory.config import Config
from fazm_memory.rewind import copy_workspace

SIZE = 600 << 20
CONTENT = 60 << 20
ROOM = 4 << 20  # what the file system itself may need for a clone
MAKE = {"btrfs": ["mkfs.btrfs", "-q"], "xfs": ["mkfs.xfs", "-q", "-m", "reflink=1"]}


@pytest.fixture(params=sorted(MAKE))
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """The mounted file system."""
    program = MAKE[request.param]
    if os.geteuid() != 0 or shutil.which(program[0]) is None:
        pytest.skip(f"mounting a file needs root, and {program[0]}")
    image, folder = tmp_path / "image", tmp_path / "disk"
    folder.mkdir()
    with image.open("wb") as file:
        file.truncate(SIZE)
    subprocess.run([*program, str(image)], check=True, capture_output=True)
    subprocess.run(["mount", "-o", "loop", str(image), str(folder)], check=True)
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def used(disk: Path) -> int:
    """The bytes that are taken, once everything is on disk."""
    os.sync()
    return shutil.disk_usage(disk).used


@pytest.mark.campaign
def test_a_folder_is_cloned_without_taking_room(disk: Path) -> None:
    shop = disk / "shop"
    (shop / "lib").mkdir(parents=True)
    (shop / "big.bin").write_bytes(os.urandom(CONTENT))
    (shop / "lib" / "run.sh").write_text("one\n")
    (shop / "lib" / "run.sh").chmod(0o750)
    (shop / "link").symlink_to("lib/run.sh")
    (disk / "user").mkdir()
    memory = Memory(
        Config(home=disk / "memory", user_home=disk / "user", key="file"), lambda: time.time_ns() // 1000
    )
    before = used(disk)
    session = memory.own_folders.open("fazm", str(shop), title="Try it")
    own = Path(session["folder"])
    assert session["method"] == "clone"
    assert used(disk) - before < ROOM
    assert (own / "big.bin").read_bytes() == (shop / "big.bin").read_bytes()
    assert (own / "lib" / "run.sh").stat().st_mode & 0o777 == 0o750
    assert os.readlink(own / "link") == "lib/run.sh"
    first = (shop / "big.bin").read_bytes()[:4]
    with (own / "big.bin").open("r+b") as file:
        file.write(b"mine")
    with (shop / "big.bin").open("rb") as file:
        assert file.read(4) == first
    (own / "lib" / "run.sh").write_text("two\n")
    memory.own_folders.merge(session["id"])
    assert (shop / "lib" / "run.sh").read_text() == "two\n"
    memory.close()


@pytest.mark.campaign
def test_another_file_system_is_not_cloned_to(disk: Path, tmp_path: Path) -> None:
    shop = disk / "shop"
    shop.mkdir()
    (shop / "a.txt").write_text("one\n")
    assert copy_workspace(str(shop), str(tmp_path / "copy")) == "copy"
    assert (tmp_path / "copy" / "a.txt").read_text() == "one\n"

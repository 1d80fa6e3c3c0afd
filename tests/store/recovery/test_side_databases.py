"""Damage beside the log: every page that is whole is saved, and the log is left alone."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fazm_memory.errors import StoreDamaged
from fazm_memory.store.file_versions import FileVersion, FileVersions, digest_of
from fazm_memory.store.framework_store import FrameworkStore
from fazm_memory.store.recovery import recover
from fazm_memory.store.recovery.journal import RecoveryFolder
from fazm_memory.store.recovery.recover import IN_USE, LOST, recover_side_databases
from fazm_memory.store.store import PAGE, STORE_FOLDER

KEY = "ab" * 32
SIZES = (3, 900, 3000, 20_000)


def noise(seed: int) -> bytes:
    return random.Random(seed).randbytes(SIZES[seed % len(SIZES)])


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    versions = FileVersions(made, KEY)
    for number in range(40):
        versions.keep("/w", f"{number}.txt", number, noise(number), mark=f"1:2:3:4:{0o100640}")
        versions.mark_recorded("/w", f"{number}.txt", "s", seq=number, changed_by="agent")
    versions.close()
    drawer = FrameworkStore(made, KEY, lambda: 7)
    drawer.add("shelf", "owner", [(f"{number}", noise(number)) for number in range(40)])
    drawer.close()
    return made


def database(home: Path, name: str) -> Path:
    return home / STORE_FOLDER / name


def damage(path: Path, page: int) -> None:
    data = bytearray(path.read_bytes())
    at = (page - 1) * PAGE + 1000
    data[at : at + 64] = b"\0" * 64
    path.write_bytes(data)


def history(home: Path) -> tuple[list[FileVersion], int]:
    """The versions there are, each proved by its content; and how many lost that."""
    versions = FileVersions(home, KEY)
    rows = versions.history("/w")
    for row in rows:
        number = int(row.path.removesuffix(".txt"))
        assert (row.at, row.session, row.seq, row.changed_by, row.mode) == (
            number,
            "s",
            number,
            "agent",
            0o640,
        )
        if row.digest is None:
            assert row.reason == LOST
        else:
            assert row.digest == digest_of(noise(number))
            assert versions.read(row.digest) == noise(number)
    kept = versions.db.execute("SELECT sum(length(data)) FROM blob").fetchone()[0] or 0
    assert versions.size() == kept
    assert versions.db.execute("PRAGMA quick_check").fetchone()[0] == "ok"
    versions.close()
    return rows, sum(row.digest is None for row in rows)


def test_what_is_whole_is_left_alone(home: Path, tmp_path: Path) -> None:
    before = {name: database(home, name).read_bytes() for name in ("versions.db", "drawer.db")}
    assert recover_side_databases(home, KEY, RecoveryFolder(tmp_path / "aside" / "1")) == []
    assert {name: database(home, name).read_bytes() for name in before} == before
    assert not (tmp_path / "aside").exists()


def test_a_damaged_page_costs_the_versions_it_held_and_nothing_else(home: Path, tmp_path: Path) -> None:
    path = database(home, "versions.db")
    pages = path.stat().st_size // PAGE
    losses = []
    for page in range(1, pages + 1):
        other = tmp_path / f"home-{page}"
        shutil.copytree(home, other)
        damage(database(other, "versions.db"), page)
        wreck = database(other, "versions.db").read_bytes()
        (note,) = recover_side_databases(other, KEY, RecoveryFolder(tmp_path / "aside" / str(page)))
        assert note.startswith(f"versions.db: 1 of {pages} pages damaged; ")
        assert (tmp_path / "aside" / str(page) / "versions.db").read_bytes() == wreck
        rows, lost = history(other)
        losses.append(40 - len(rows) + lost)
        assert recover_side_databases(other, KEY, RecoveryFolder(tmp_path / "aside" / "again")) == []
    assert max(losses[1:]) < 40
    assert sum(losses) < 2 * 40 + pages  # in all, each version once by its row and once by its content
    assert losses[0] == 0  # the first page leads to all others, and none of them needs it


def test_what_lies_before_a_cut_is_saved(home: Path, tmp_path: Path) -> None:
    path = database(home, "versions.db")
    path.write_bytes(path.read_bytes()[: -2 * PAGE - 7])
    (note,) = recover_side_databases(home, KEY, RecoveryFolder(tmp_path / "aside" / "1"))
    assert "its end was cut off" in note
    rows, _ = history(home)
    assert rows


def test_a_store_of_which_no_page_can_be_read_begins_anew_and_is_kept(home: Path, tmp_path: Path) -> None:
    path = database(home, "versions.db")
    path.write_bytes(b"\x01" * path.stat().st_size)
    with pytest.raises(StoreDamaged):
        FileVersions(home, KEY)
    (note,) = recover_side_databases(home, KEY, RecoveryFolder(tmp_path / "aside" / "1"))
    assert note.endswith("0 versions of files saved")
    assert (tmp_path / "aside" / "1" / "versions.db").read_bytes()[:4] == b"\x01" * 4
    assert history(home) == ([], 0)


def test_items_of_the_drawer_are_saved_page_by_page(home: Path, tmp_path: Path) -> None:
    pages = database(home, "drawer.db").stat().st_size // PAGE
    saved = []
    for page in range(1, pages + 1):
        other = tmp_path / f"home-{page}"
        shutil.copytree(home, other)
        damage(database(other, "drawer.db"), page)
        (note,) = recover_side_databases(other, KEY, RecoveryFolder(tmp_path / "aside" / str(page)))
        assert note.startswith("drawer.db: ")
        drawer = FrameworkStore(other, KEY, lambda: 8)
        found = {number: drawer.get("shelf", "owner", str(number)) for number in range(40)}
        assert all(data in (None, noise(number)) for number, data in found.items())
        saved.append(sum(data is not None for data in found.values()))
        drawer.close()
    assert saved[0] == 40
    assert min(saved) > 20


def test_a_recovery_that_is_interrupted_leaves_all_as_it_was(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> bool:
        raise KeyboardInterrupt

    path = database(home, "versions.db")
    damage(path, 3)
    wreck = path.read_bytes()
    with monkeypatch.context() as patched:
        patched.setattr(recover, "_true", interrupted)
        with pytest.raises(KeyboardInterrupt):
            recover_side_databases(home, KEY, RecoveryFolder(tmp_path / "aside" / "1"))
    assert path.read_bytes() == wreck
    assert len(recover_side_databases(home, KEY, RecoveryFolder(tmp_path / "aside" / "2"))) == 1
    assert history(home)[0]


AT_WORK = """
import os, pathlib, sys, time
from fazm_memory.store.file_versions import FileVersions

versions = FileVersions(pathlib.Path(sys.argv[1]), sys.argv[2])
print("begun", flush=True)
for number in range(10**6):
    if sys.argv[3] == "writes":
        versions.keep("/other", f"{number % 50}", number, os.urandom(9000))
        if number % 7 == 0:
            versions.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        time.sleep(0.003)
    elif not sys.stdin.read(1):
        break
"""


@contextmanager
def at_work(home: Path, how: str) -> Iterator[None]:
    """Another process has the versions open, and writes or waits."""
    given = [sys.executable, "-c", AT_WORK, str(home), KEY, how]
    with subprocess.Popen(given, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"begun\n"
            yield
        finally:
            process.kill()


def test_what_another_process_just_writes_is_not_taken_for_damage(home: Path, tmp_path: Path) -> None:
    with at_work(home, "writes"):
        for _ in range(4):
            assert recover_side_databases(home, KEY, RecoveryFolder(tmp_path / "aside" / "1")) == []
    assert not (tmp_path / "aside").exists()


def test_what_is_damaged_and_open_elsewhere_is_left_until_it_is_not(home: Path, tmp_path: Path) -> None:
    with at_work(home, "waits"):
        damage(database(home, "versions.db"), 5)
        (note,) = recover_side_databases(home, KEY, RecoveryFolder(tmp_path / "aside" / "1"))
    assert note.endswith(IN_USE)
    assert not (tmp_path / "aside").exists()
    (note,) = recover_side_databases(home, KEY, RecoveryFolder(tmp_path / "aside" / "1"))
    assert note.endswith("saved") or "without" in note
    assert (tmp_path / "aside" / "1" / "versions.db").exists()

"""The spool: whole files in the order of their times, and nothing bad in the way of the others."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from fazm_memory.ingest import spool as module
from fazm_memory.ingest.spool import Spool


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    made = Spool(tmp_path / "home")
    made.prepare()
    return made


def drop(spool: Spool, name: str, data: bytes = b"{}", at: float = 1000.0) -> Path:
    path = spool.folder / name
    path.write_bytes(data)
    os.utime(path, (at, at))
    return path


def test_files_come_in_the_order_they_were_dropped_whatever_their_names(spool: Spool) -> None:
    drop(spool, "9-0.codex.json", b"first", 1000.5)
    drop(spool, "10-0.claude-code.json", b"second", 1001.0)
    drop(spool, "1-3.codex.json", b"third", 1002.25)

    assert [(one.agent, one.at, one.data) for one in spool.take()] == [
        ("codex", 1000_500_000, b"first"),
        ("claude-code", 1001_000_000, b"second"),
        ("codex", 1002_250_000, b"third"),
    ]


def test_a_file_stays_until_what_it_reported_is_durable(spool: Spool) -> None:
    drop(spool, "1-0.codex.json")

    assert len(spool.take()) == len(spool.take()) == 1
    spool.done(spool.take())
    assert spool.take() == []


def test_a_batch_is_bounded_in_number_and_in_size(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BYTES", 10)
    for number in range(5):
        drop(spool, f"{number}-0.codex.json", b"1234", 1000 + number)

    assert [one.path.name for one in spool.take()] == ["0-0.codex.json", "1-0.codex.json"]
    assert len(spool.take(1)) == 1
    assert (spool.waiting(), spool.since()) == (5, 1000.0)


def test_what_is_being_written_is_left_alone_and_what_was_cut_off_is_set_aside(spool: Spool) -> None:
    fresh = drop(spool, "1-0.part", at=time.time())
    stale = drop(spool, "2-0.part", at=time.time() - 3600)

    assert spool.take() == []
    assert fresh.exists()
    assert not stale.exists()
    assert spool.bad() == {"2-0.part": "It was cut off while it was written."}


def test_a_stray_file_is_set_aside_with_the_reason_and_keeps_no_other_waiting(spool: Spool) -> None:
    drop(spool, "note.txt", b"hello", 999)
    drop(spool, "1-0.codex.json", b"good")

    assert [one.data for one in spool.take()] == [b"good"]
    assert spool.bad() == {"note.txt": "Its name is not that of a hook event."}
    assert (spool.folder / "bad" / "note.txt").read_bytes() == b"hello"


def test_only_so_much_is_kept_of_what_is_bad(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_BAD", 2)
    for number in range(4):
        spool.set_aside(drop(spool, f"{number}-0.codex.json"), "no")

    assert len(spool.bad()) == 2
    assert len(list((spool.folder / "bad").iterdir())) == 4


def test_a_spool_that_was_never_made_is_empty(tmp_path: Path) -> None:
    assert Spool(tmp_path / "nowhere").take() == []


def test_the_folder_is_its_owners_alone(spool: Spool) -> None:
    assert spool.folder.stat().st_mode & 0o777 == 0o700

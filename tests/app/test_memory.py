"""What a façade has open: nothing by looking alone, each database once, and none after it is closed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fazm_memory.events.event import DAY
from fazm_memory.store.database import Database
from fazm_memory.store.file_versions import digest_of
from tests.app.memory_fixture import START, MemoryFixture

FILE = {"path": "/w/a.txt", "change": "modified"}


def databases(memory: MemoryFixture) -> set[str]:
    """The files of the store; one with `-wal` is open somewhere."""
    files = (memory.config.home / "store.noindex").glob("*.db*")
    return {path.name for path in files if not path.name.endswith(("-line", "-turn"))}  # of the write queue


def test_a_memory_that_kept_no_versions_gets_none_by_being_looked_at(
    memory: MemoryFixture, tmp_path: Path
) -> None:
    session = memory.begin()
    seq = memory.act(session, "Edit", files=[FILE])
    memory.config = replace(memory.config, retain_versions=1)
    memory.timeline.event_details(session, seq)
    memory.timeline.event_file(session, seq, "/w/a.txt")
    memory.bundles.export(session, tmp_path / "one.fazm")
    memory.maintenance.retain()
    memory.maintenance.forget(session)
    assert memory.rewind.finish_interrupted() == []
    assert databases(memory) & {"versions.db", "drawer.db"} == set()


def test_verbs_share_one_connection_to_the_versions(
    memory: MemoryFixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "work").mkdir()
    session = memory.begin(str(tmp_path / "work"))
    seq = memory.act(session, "Edit", files=[FILE])
    memory.file_versions.keep("/w", "a.txt", START, b"text")
    opened: list[Path] = []
    open_database = Database._open

    def count(self: Database, path: Path, *rest: object) -> None:
        opened.append(path)
        open_database(self, path, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Database, "_open", count)
    memory.rewind.finish_interrupted()
    memory.rewind.plan(session, seq)
    memory.rewind.fork_manifest(session)
    memory.timeline.event_file(session, seq, "/w/a.txt")
    memory.bundles.export(session, tmp_path / "one.fazm")
    memory.maintenance.retain()
    memory.maintenance.forget(session)
    assert opened == []


def test_closing_closes_all_and_what_comes_after_opens_it_anew(memory: MemoryFixture) -> None:
    session = memory.begin()
    memory.file_versions.keep("/w", "a.txt", START, b"text")
    memory.framework_store.put("shelf", "owner", "name", b"data")
    assert {"memory.db-wal", "versions.db-wal", "drawer.db-wal"} <= databases(memory)
    memory.close()
    assert databases(memory) == {"memory.db", "versions.db", "drawer.db"}
    memory.act(session, "Edit", files=[FILE])  # by a recorder of the new store
    assert memory.file_versions.read(digest_of(b"text")) == b"text"


def test_versions_outlive_the_recovery_of_the_store(memory: MemoryFixture) -> None:
    session = memory.begin()
    seq = memory.act(session, "Edit", files=[FILE])
    memory.file_versions.keep("/w", "a.txt", START, b"text")
    before = memory.file_versions
    path = memory.store.path
    memory.close()
    path.write_bytes(path.read_bytes()[:-4096] + bytes(4096))
    _ = memory.recorder, memory.file_versions  # open while it is found out
    assert memory.maintenance.recover()["needed"]
    assert databases(memory) == {"memory.db", "versions.db"}
    assert memory.file_versions is not before
    assert memory.timeline.event_details(session, seq)["files"][0]["has_before"]
    memory.act(session, "Edit", files=[FILE])


def test_what_retention_lets_go_of_is_off_the_disk_while_the_memory_stays_open(memory: MemoryFixture) -> None:
    memory.begin()
    memory.config = replace(memory.config, retain_versions=1)
    for nth, text in enumerate((b"old", b"new")):
        memory.file_versions.keep("/w", "a.txt", START - (9 - nth) * DAY, text)
    assert memory.maintenance.retain()["versions"] == 1
    assert (memory.config.home / "store.noindex" / "versions.db-wal").stat().st_size == 0

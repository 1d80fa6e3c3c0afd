"""What a façade has open: nothing by looking alone, each database once, and none after it is closed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fazm_memory.log.database import Database
from fazm_memory.log.versions import digest_of
from fazm_memory.model.retention import DAY

from .desk import START, Desk

FILE = {"path": "/w/a.txt", "change": "modified"}


def databases(desk: Desk) -> set[str]:
    """The files of the store; one with `-wal` is open somewhere."""
    return {path.name for path in (desk.config.home / "store.noindex").glob("*.db*")}


def test_a_memory_that_kept_no_versions_gets_none_by_being_looked_at(desk: Desk, tmp_path: Path) -> None:
    session = desk.begin()
    seq = desk.act(session, "Edit", files=[FILE])
    desk.config = replace(desk.config, retain_versions=1)
    desk.event_details(session, seq)
    desk.event_file(session, seq, "/w/a.txt")
    desk.export_bundle(session, tmp_path / "one.fazm")
    desk.retain()
    desk.forget(session)
    assert desk.finish_rewinds() == []
    assert databases(desk) & {"versions.db", "drawer.db"} == set()


def test_verbs_share_one_connection_to_the_versions(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "work").mkdir()
    session = desk.begin(str(tmp_path / "work"))
    seq = desk.act(session, "Edit", files=[FILE])
    desk.versions.keep("/w", "a.txt", START, b"text")
    opened: list[Path] = []
    open_database = Database._open

    def count(self: Database, path: Path, *rest: object) -> None:
        opened.append(path)
        open_database(self, path, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(Database, "_open", count)
    desk.finish_rewinds()
    desk.rewind_plan(session, seq)
    desk.manifest(session)
    desk.event_file(session, seq, "/w/a.txt")
    desk.export_bundle(session, tmp_path / "one.fazm")
    desk.retain()
    desk.forget(session)
    assert opened == []


def test_closing_closes_all_and_what_comes_after_opens_it_anew(desk: Desk) -> None:
    session = desk.begin()
    desk.versions.keep("/w", "a.txt", START, b"text")
    desk.drawer.put("shelf", "owner", "name", b"data")
    assert {"memory.db-wal", "versions.db-wal", "drawer.db-wal"} <= databases(desk)
    desk.close()
    assert databases(desk) == {"memory.db", "versions.db", "drawer.db"}
    desk.act(session, "Edit", files=[FILE])  # by a recorder of the new store
    assert desk.versions.read(digest_of(b"text")) == b"text"


def test_versions_outlive_the_recovery_of_the_store(desk: Desk) -> None:
    session = desk.begin()
    seq = desk.act(session, "Edit", files=[FILE])
    desk.versions.keep("/w", "a.txt", START, b"text")
    before = desk.versions
    path = desk.store.path
    desk.close()
    path.write_bytes(path.read_bytes()[:-4096] + bytes(4096))
    _ = desk.recorder, desk.versions  # open while it is found out
    assert desk.recover()["needed"]
    assert databases(desk) == {"memory.db", "versions.db"}
    assert desk.versions is not before
    assert desk.event_details(session, seq)["files"][0]["has_before"]
    desk.act(session, "Edit", files=[FILE])


def test_what_retention_lets_go_of_is_off_the_disk_while_the_memory_stays_open(desk: Desk) -> None:
    desk.begin()
    desk.config = replace(desk.config, retain_versions=1)
    for nth, text in enumerate((b"old", b"new")):
        desk.versions.keep("/w", "a.txt", START - (9 - nth) * DAY, text)
    assert desk.retain()["versions"] == 1
    assert (desk.config.home / "store.noindex" / "versions.db-wal").stat().st_size == 0

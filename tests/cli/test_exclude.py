"""What is never watched, from the command line."""

from __future__ import annotations

from pathlib import Path

from fazm_memory.store.file_versions import FileVersions
from fazm_memory.store.store import Store

from .conftest import Run


def test_apps_and_folders_are_added_and_taken_off(run: Run, tmp_path: Path) -> None:
    assert run("exclude", "--app", "Signal", "--json").json["apps"] == ["Signal"]
    assert run("exclude", "--folder", str(tmp_path / "x" / ".." / "private"), "--json").json["folders"] == [
        str(tmp_path / "private")
    ]
    shown = run("exclude").out
    assert "app     Signal" in shown
    assert f"folder  {tmp_path / 'private'}" in shown
    assert run("exclude", "--app", "signal", "--remove", "--json").json["apps"] == []
    assert run("exclude", "--folder", str(tmp_path / "private"), "--remove", "--json").json["folders"] == []


def test_a_name_means_only_itself(run: Run) -> None:
    assert run("exclude", "--app", "*", "--json").json["apps"] == ["[*]"]
    assert run("exclude", "--app", "").code == 2


def test_without_a_companion_it_says_so(run: Run, tmp_path: Path) -> None:
    results = run("exclude", "--folder", str(tmp_path / "private"))
    assert "not running" in results.out
    assert run("exclude", "--app", "Signal", "--json").json["obeyed"] is None
    assert "obeyed" not in run("exclude", "--json").json


def test_what_was_stored_before_is_said_with_how_to_delete_it(run: Run, home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "private"
    run("record", stdin=[{"type": "session.open", "session": "s", "agent": "fazm", "workspace": str(folder)}])
    store = Store(home, key="file")
    versions = FileVersions(home, store.keys.database)
    versions.keep(str(tmp_path), "private/a.txt", 1, b"content")
    versions.keep(str(tmp_path), "private-not/a.txt", 1, b"other")
    versions.close()
    store.close()
    results = run("exclude", "--folder", str(folder))
    assert "1 file version, 1 session" in results.out
    assert f"forget --match {folder}" in results.out
    assert run("exclude", "--folder", str(folder), "--json").json["stored"] == {"versions": 1, "sessions": 1}

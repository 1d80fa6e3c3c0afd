"""What is never watched, from the command line."""

from __future__ import annotations

from pathlib import Path

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

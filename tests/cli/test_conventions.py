"""`conventions`: what a session shows, and what a new file would become."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from .conftest import Run


def rename(run: Run, workspace: Path, pairs: list[tuple[str, str]], beside: Sequence[str] = ()) -> None:
    """Record a session that renamed these files and saw some more."""
    names = [*beside, *(old for old, _ in pairs)]
    lines: list[dict[str, Any]] = [
        {"type": "session.open", "session": "s", "agent": "a", "workspace": str(workspace)},
        {"type": "seen", "session": "s", "folder": str(workspace), "files": names},
    ]
    for old, new in pairs:
        touched = [{"path": new, "change": "renamed", "from": old}]
        lines.append({"type": "action", "session": "s", "tool": "Bash", "files": touched})
    assert run("record", stdin=lines).code == 0


PAIRS = [(f"Scan {n}.pdf", f"scan-{n:03d}.pdf") for n in (7, 8, 12)]


def test_a_new_file_follows_the_convention_or_is_declined_with_the_reason(run: Run, tmp_path: Path) -> None:
    rename(run, tmp_path, PAIRS, ["notes.txt"])
    results = run("conventions", "s", "--apply", "Scan 31.pdf", "holiday.mov", "--json").json
    assert results["proposals"][0]["becomes"] == "scan-031.pdf"
    assert results["proposals"][1]["becomes"] is None
    assert "mov" in results["proposals"][1]["because"]
    assert results["folders_processed"] == [
        {"folder": str(tmp_path), "processed": 3, "total": 4, "listed": True}
    ]
    assert results["skipped"][0]["files"] == ["notes.txt"]
    assert results["conventions"][0]["support"] == 3


def test_the_state_carries_conventions_and_skips(run: Run, tmp_path: Path) -> None:
    rename(run, tmp_path, PAIRS, ["notes.txt"])
    state = run("state", "s", "--json").json
    assert {"folder", "pattern", "examples", "support", "exceptions"} <= set(state["conventions"][0])
    assert {"folder", "rule", "files", "count"} <= set(state["skipped"][0])


def test_a_name_in_use_is_not_proposed(run: Run, tmp_path: Path) -> None:
    rename(run, tmp_path, PAIRS)
    result = run("conventions", "s", "--apply", str(tmp_path / "SCAN 7.pdf"), "--json").json["proposals"][0]
    assert result["becomes"] != str(tmp_path / "scan-007.pdf")


def test_a_name_may_be_made_of_when_the_file_was_written(run: Run, tmp_path: Path) -> None:
    days = {"a": "2026-11-02", "b": "2026-11-05", "c": "2026-11-09", "d": "2026-12-24"}
    for name, day in days.items():
        path = tmp_path / (f"{name}.png" if name == "d" else f"{day} {name}.png")
        path.write_text(name)
        moment = datetime.fromisoformat(f"{day}T12:00:00").timestamp()
        os.utime(path, (moment, moment))
    rename(run, tmp_path, [(f"{name}.png", f"{day} {name}.png") for name, day in days.items() if name != "d"])
    result = run("conventions", "s", "--apply", str(tmp_path / "d.png"), "--json").json["proposals"][0]
    assert result["becomes"] == str(tmp_path / "2026-12-24 d.png")


def test_people_can_read_it(run: Run, tmp_path: Path) -> None:
    rename(run, tmp_path, PAIRS, ["notes.txt"])
    shown = run("conventions", "s").out
    assert "3 of 4 files" in shown
    assert "Scan 7.pdf → scan-007.pdf" in shown
    assert "skipped 1" in shown
    assert "Scan 31.pdf → scan-031.pdf" in run("conventions", "s", "--apply", "Scan 31.pdf").out


def test_a_session_without_renames_says_so(run: Run, session: str) -> None:
    run("record", stdin=[{"type": "prompt", "session": "quiet", "text": "x"}])
    assert "No naming convention" in run("conventions", "quiet").out


def test_a_folder_that_was_never_listed_is_not_reported_to_be_done(run: Run, tmp_path: Path) -> None:
    lines: list[dict[str, object]] = [
        {"type": "session.open", "session": "s", "agent": "fazm", "workspace": str(tmp_path)}
    ]
    for old, new in PAIRS:
        touched = [{"path": new, "change": "renamed", "from": old}]
        lines.append({"type": "action", "session": "s", "tool": "Bash", "files": touched})
    assert run("record", stdin=lines).code == 0
    assert f"{tmp_path}: 3 files, of how many is not known\n" in run("conventions", "s").out
    assert run("conventions", "s", "--json").json["folders_processed"] == [
        {"folder": str(tmp_path), "processed": 3, "total": 3, "listed": False}
    ]

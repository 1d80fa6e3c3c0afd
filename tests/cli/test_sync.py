"""`sync` as a person and a script meet it, with two machines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from .conftest import Ran, Run

On = Callable[..., Ran]


@pytest.fixture
def on(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> On:
    """Run a command on the machine of this name."""
    (tmp_path / "shared").mkdir()

    def on(machine: str, *arguments: str, **more: object) -> Ran:
        monkeypatch.setenv("FAZM_MEMORY_HOME", str(tmp_path / machine / "memory"))
        monkeypatch.setenv("HOME", str(tmp_path / machine / "user"))
        (tmp_path / machine / "user").mkdir(parents=True, exist_ok=True)
        return run(*arguments, **more)  # type: ignore[arg-type]

    return on


def joined(on: On, tmp_path: Path) -> None:
    folder = str(tmp_path / "shared")
    init = on("mini", "sync", "init", "--folder", folder, "--name", "mini", "--json").json
    assert {"vault", "device", "recovery_key"} <= set(init)
    key = tmp_path / "key"
    key.write_text(f"{init['recovery_key']}\n")
    join = on(
        "laptop",
        "sync",
        "join",
        "--folder",
        folder,
        "--recovery-key-file",
        str(key),
        "--name",
        "laptop",
        "--json",
    )
    assert join.json["vault"] == init["vault"]


def test_work_on_one_machine_is_context_and_can_be_continued_on_the_other(on: On, tmp_path: Path) -> None:
    joined(on, tmp_path)
    lines = [
        {
            "type": "session.open",
            "session": "k",
            "agent": "fazm",
            "workspace": str(tmp_path / "mini/user/work"),
        },
        {
            "type": "prompt",
            "session": "k",
            "text": "Sort the invoices of 2025",
            "at": "2026-11-14T10:00:00+00:00",
        },
        {"type": "decision", "session": "k", "what": "date first", "at": "2026-11-14T10:01:00+00:00"},
    ]
    assert on("mini", "record", stdin=lines).code == 0
    assert "Uploaded 3 events" in on("mini", "sync").out
    assert "Received 3 events" in on("laptop", "sync").out
    (row,) = on("laptop", "sessions", "--json").json
    assert row["device"] == "mini"
    workspace = str(tmp_path / "laptop/user/work")
    context = on("laptop", "context", "--workspace", workspace).out
    assert "mini" in context
    assert "date first" in context
    assert on("laptop", "close", row["id"]).code == 7
    fork = on("laptop", "fork", row["id"], "--json").json["id"]
    on("laptop", "sync")
    on("mini", "sync")
    assert {row["id"]: row["device"] for row in on("mini", "sessions", "--json").json}[fork] == "laptop"


def test_status_and_devices_are_shown_and_a_lost_device_is_removed(on: On, tmp_path: Path) -> None:
    assert "no other" in on("mini", "sync", "status").out
    assert on("mini", "sync").code == 4
    joined(on, tmp_path)
    on("mini", "sync")
    shown = on("mini", "sync", "status").out
    assert "laptop" in shown
    assert "last sync: today" in shown
    assert "synced as “mini”" in on("mini", "status").out
    assert [row["name"] for row in on("mini", "sync", "devices", "--json").json] == ["mini", "laptop"]
    assert on("mini", "sync", "devices", "--remove", "laptop").code == 18
    removed = on("mini", "sync", "devices", "--remove", "laptop", "--yes", "--json").json
    assert [row["removed"] for row in removed] == [False, True]
    refused = on("laptop", "sync")
    assert refused.code == 21
    assert "removed" in refused.err
    assert "was removed from the vault" in on("laptop", "status").out
    assert on("laptop", "sync", "leave").code == 0
    assert "removed" not in on("laptop", "status").out


def test_leaving_keeps_everything(on: On, tmp_path: Path) -> None:
    joined(on, tmp_path)
    assert on("laptop", "sync", "init", "--folder", str(tmp_path / "shared")).code == 18
    assert "stays here" in on("laptop", "sync", "leave").out
    assert on("laptop", "sync", "status", "--json").json == {"active": False, "error": None}
    on("mini", "sync")
    assert "left" in on("mini", "sync", "devices").out


def test_mistakes_name_the_way_out(on: On, tmp_path: Path) -> None:
    assert on("mini", "sync", "init").code == 2
    assert on("mini", "sync", "init", "--folder", str(tmp_path / "nowhere")).code == 2
    assert on("mini", "sync", "join", "--folder", str(tmp_path / "shared")).code == 2
    joined(on, tmp_path)
    key = tmp_path / "wrong"
    key.write_text("AAAA-BBBB")
    wrong = on(
        "studio", "sync", "join", "--folder", str(tmp_path / "shared"), "--recovery-key-file", str(key)
    )
    assert wrong.code == 6
    assert "14 groups" in wrong.err
    (tmp_path / "shared").rename(tmp_path / "unplugged")
    gone = on("mini", "sync")
    assert gone.code == 20
    assert "last error" in on("mini", "sync", "status").out


def test_sessions_say_on_which_machine_they_are_recorded(on: On, tmp_path: Path) -> None:
    joined(on, tmp_path)
    lines = [
        {"type": "session.open", "session": "k", "agent": "fazm", "workspace": str(tmp_path)},
        {"type": "prompt", "session": "k", "text": "Water the cactus", "at": "2026-11-14T10:00:00+00:00"},
    ]
    on("mini", "record", stdin=lines)
    assert "machine" not in on("mini", "sessions").out
    on("mini", "sync")
    on("laptop", "sync")
    assert "  mini  " in on("laptop", "sessions").out
    assert on("laptop", "sessions", "--device", "here", "--json").json == []
    (row,) = on("laptop", "sessions", "--device", "mini", "--json").json
    assert "recorded on “mini”" in on("laptop", "show", row["id"]).out
    assert "on “mini”" in on("laptop", "search", "cactus").out
    fork = on("laptop", "fork", row["id"], "--json").json["id"]
    shown = on("laptop", "branches", row["id"]).out
    assert "mini" in shown
    assert "here" in shown
    on("laptop", "record", stdin=[{"type": "prompt", "session": fork, "text": "Water the fern"}])
    assert 'here and on "mini"' in on("laptop", "context", "--workspace", str(tmp_path)).out
    assert "Up to date" in on("mini", "sync").out


def test_a_round_that_only_asks_others_to_forget_says_so(on: On, tmp_path: Path) -> None:
    joined(on, tmp_path)
    lines = [
        {"type": "session.open", "session": "k", "agent": "fazm", "workspace": str(tmp_path)},
        {"type": "prompt", "session": "k", "text": "Water the cactus"},
    ]
    on("mini", "record", stdin=lines)
    on("mini", "sync")
    on("laptop", "sync")
    on("laptop", "forget", "--match", "cactus", "--yes")
    assert "Uploaded what was forgotten" in on("laptop", "sync").out
    assert "Up to date" in on("laptop", "sync").out


def test_files_are_shared_by_choice_and_folders_are_named(on: On, tmp_path: Path) -> None:
    joined(on, tmp_path)
    assert "not shared" in on("mini", "sync", "status").out
    assert on("mini", "sync", "files", "perhaps").code == 2
    assert on("mini", "sync", "files", "on", "--limit", "10", "--json").json["limit"] == 10_000_000
    assert "of 10.0 MB" in on("mini", "sync", "files").out
    lines = [
        {"type": "session.open", "session": "k", "agent": "fazm", "workspace": "/srv/invoices"},
        {"type": "prompt", "session": "k", "text": "Sort", "at": "2026-11-14T10:00:00+00:00"},
    ]
    on("mini", "record", stdin=lines)
    on("mini", "sync")
    on("laptop", "sync")
    assert "unclear" in on("laptop", "sync", "folders").out
    assert "not found here" in on("laptop", "sync", "status").out
    assert on("laptop", "sync", "folders", "/srv/invoices").code == 2
    named = on("laptop", "sync", "folders", "/srv/invoices", str(tmp_path), "--json").json
    assert [row["here"] for row in named] == [str(tmp_path)]
    assert on("laptop", "sync", "status", "again").code == 2
    (row,) = on("laptop", "sessions", "--json").json
    shown = on("laptop", "rewind", row["id"], "--to", "1", "--dry-run").out
    assert "continued here" in shown
    assert "on this machine from 1" in on("laptop", "rewind", row["id"], "--to", "1").out

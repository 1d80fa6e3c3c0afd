"""Stores, bundles and hook scripts of version 0.1.0 still work."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.store.file_versions import FileVersions
from fazm_memory.store.store import Store

FIXTURE = Path(__file__).parent / "fixtures" / "first_edition"
PASSPHRASE = "a long test passphrase"
Run = Callable[..., Any]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a command on a data folder below the test's folder, and return its JSON."""

    def run(folder: str, *arguments: str, stdin: str = "", now: str = "2026-11-16T12:00:00Z") -> Any:
        environment = {name: value for name, value in os.environ.items() if not name.startswith("FAZM_")}
        environment |= {
            "FAZM_MEMORY_HOME": str(tmp_path / folder),
            "FAZM_MEMORY_KEY": "file",
            "HOME": str(tmp_path / "user"),
        }
        finished = subprocess.run(
            [sys.executable, "-m", "fazm_memory.cli.main", *arguments, "--now", now],
            input=stdin, env=environment, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert finished.returncode == 0, finished.stderr
        return json.loads(finished.stdout) if "--json" in arguments else finished.stdout

    return run


@pytest.fixture
def first_edition(tmp_path: Path) -> Path:
    """A copy of the store."""
    return Path(shutil.copytree(FIXTURE / "store", tmp_path / "store"))


def session(run: Run, folder: str, name: str) -> dict[str, Any]:
    rows = run(folder, "sessions", "--json")
    found: dict[str, Any] = next(row for row in rows if row["agent_session_id"] == name)
    return found


def test_its_store_verifies_and_is_read(run: Run, first_edition: Path) -> None:
    assert run("store", "verify", "--json")["clean"]
    rows = run("store", "sessions", "--json")
    assert {"tidy-1", "old-1", "plan-1"} <= {row["agent_session_id"] for row in rows}
    plan = session(run, "store", "plan-1")
    state = run("store", "state", plan["id"], "--json")
    assert [Path(entry["path"]).name for entry in state["files_modified"]] == ["packing.md"]  # rewound
    assert plan["quarantined"]
    assert run("store", "search", "packing list", "--json")
    assert "2026-11-02-acme.pdf" in run("store", "context", "--workspace", "/Users/dana/Downloads")


def test_its_store_is_written_on(run: Run, first_edition: Path) -> None:
    line = {"type": "prompt", "session": "plan-1", "agent": "fazm", "text": "And the cellar?"}
    before = session(run, "store", "plan-1")["events"]
    run("store", "record", stdin=json.dumps(line) + "\n")
    assert session(run, "store", "plan-1")["events"] == before + 1
    assert run("store", "verify", "--json")["clean"]


def test_its_file_versions_are_read(first_edition: Path) -> None:
    with closing(Store(first_edition, key="file")) as store:
        versions = FileVersions(first_edition, store.keys.database)
    with closing(versions):
        absent, packed = versions.history("/Users/dana/Plans", "packing.md")
        assert absent.absent
        assert versions.read(packed.digest or "") == b"# Packing\n- kettle\n"


def test_its_bundles_are_imported(run: Run, tmp_path: Path) -> None:
    (tmp_path / "passphrase").write_text(PASSPHRASE + "\n")
    run("other", "import-bundle", str(FIXTURE / "plain.fazm"))
    sealed = ("--passphrase-file", str(tmp_path / "passphrase"))
    run("other", "import-bundle", str(FIXTURE / "sealed.fazm"), *sealed)
    rows = run("other", "sessions", "--json")
    assert len(rows) == 3  # plan-1, and the fork with its parent
    assert run("other", "verify", "--json")["clean"]


def test_its_hook_script_still_reports(run: Run, first_edition: Path, tmp_path: Path) -> None:
    hook = first_edition / "hooks" / "fazm-memory-hook"
    script = hook.read_text().replace("/tmp/fazm-first", str(first_edition))
    hook.write_text(script.replace("/usr/bin/python3", sys.executable))
    hook.chmod(0o700)
    (first_edition / "spool").mkdir()
    event = {
        "hook_event_name": "PostToolUse", "session_id": "11111111-2222-4333-8444-555555555555",
        "cwd": str(tmp_path), "transcript_path": str(tmp_path / "none.jsonl"),
        "tool_name": "Bash", "tool_use_id": "toolu_1", "tool_input": {"command": "touch plants.txt"},
        "tool_response": {"stdout": "", "stderr": "", "interrupted": False},
    }  # fmt: skip
    for mode in ([], ["answer"]):
        subprocess.run([str(hook), "claude-code", *mode], input=json.dumps(event).encode(), check=True)
    assert len(list((first_edition / "spool").glob("*.claude-code.json"))) == 2
    run("store", "run", "--once", "--headless", "--no-page")
    assert not list((first_edition / "spool").glob("*.claude-code.json"))
    rows = run("store", "sessions", "--json", now="2999-01-01T00:00:00Z")  # the hook's time is the clock's
    assert next(row for row in rows if row["agent_session_id"] == event["session_id"])["actions"] == 1

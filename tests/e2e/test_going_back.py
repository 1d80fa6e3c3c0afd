"""A real agent moves files by shell: they come back, and a branch goes on in a folder of its own."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from fazm_memory.store.file_versions import FileVersion, FileVersions
from tests.e2e.clients.claude import Claude
from tests.e2e.remembered import PROGRAM, Remembered
from tests.e2e.scenarios.claude import bash
from tests.e2e.scenarios.script import Scenario, do, say

pytestmark = pytest.mark.e2e

FILES = {"scan1.txt": "one\n", "scan2.txt": "two\n", "notes.txt": "alpha\n", "old.txt": "old\n"}


@pytest.fixture
def memory(claude: Claude, tmp_path: Path) -> Iterator[Remembered]:
    made = Remembered(claude, tmp_path / "memory")
    made.connect()
    for name, text in FILES.items():
        (claude.workspace / name).write_text(text)
    # An earlier session works there, so the baseline is complete: a scripted model is faster than any user.
    made.memory.sessions.open("claude-code", key="earlier", workspace=str(claude.workspace))
    companion = subprocess.Popen(
        [PROGRAM, "run"], env=made.env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    yield made
    made.close()
    companion.send_signal(signal.SIGTERM)
    assert companion.communicate(timeout=120)[1] == b""


def test_files_that_claude_code_changed_by_shell_come_back_and_a_branch_goes_on(
    claude: Claude, memory: Remembered, tmp_path: Path
) -> None:
    workspace, go_on = claude.workspace, tmp_path / "go-on"
    versions = FileVersions(memory.home, memory.memory.store.keys.database)

    def last(name: str) -> FileVersion | None:
        return versions.last(str(workspace), name)

    memory.until(lambda: all(last(name) is not None for name in FILES), "the files as they were")
    started = claude.start(
        "File the scans.",
        scenario=Scenario(
            "by shell",
            (
                do(bash("mkdir invoices && mv scan1.txt scan2.txt invoices/ && echo beta >> notes.txt")),
                # A model takes its time between two calls: changes of one look are told as one.
                do(bash(f"until test -e '{go_on}'; do sleep 0.1; done")),
                do(bash('(cd invoices && for f in scan*.txt; do mv "$f" "2026-03_${f#scan}"; done)')),
                do(bash("rm old.txt")),
                say("Filed."),
            ),
        ),
    )
    moved = ("invoices/scan1.txt", "invoices/scan2.txt", "notes.txt")
    memory.until(
        lambda: all((one := last(name)) and one.changed_by == "agent" for name in moved), "the moves"
    )
    go_on.touch()
    run = started.wait()
    assert run.returncode == 0, run.stderr
    after = contents(workspace)
    assert set(after) == {"invoices/2026-03_1.txt", "invoices/2026-03_2.txt", "notes.txt"}
    memory.until(lambda: (memory.session(run.session_id)["lifecycle"]) == "closed", "its end")
    changed = (*after, "old.txt")
    memory.until(
        lambda: all((one := last(name)) and one.changed_by == "agent" for name in changed), "whose hand"
    )
    versions.close()
    actions = [event["seq"] for event in memory.events(run.session_id, "action")]

    # A branch that stands after the first call, in a folder of its own, where Claude Code goes another way.
    branch = tmp_path / "branch"
    forked = json.loads(
        memory.run("fork", run.session_id, "--at", str(actions[0] + 1), "--into", str(branch), "--json")
    )
    assert contents(branch) == {
        "invoices/scan1.txt": "one\n", "invoices/scan2.txt": "two\n", "notes.txt": "alpha\nbeta\n",
        "old.txt": "old\n",
    }  # fmt: skip
    other = claude.run(
        "Keep their names.",
        scenario=Scenario("branch", (do(bash("echo kept > invoices/README")), say("Kept."))),
        cwd=branch,
    )
    assert other.returncode == 0, other.stderr
    assert contents(workspace) == after

    # The first goes back to before its first call, with its files.
    before = next(event["seq"] for event in memory.events(run.session_id, "prompt")) + 1
    memory.run("resume", run.session_id)
    shown = json.loads(
        memory.run("rewind", run.session_id, "--to", str(before), "--files", "--dry-run", "--json")
    )
    assert shown["plan"]["counts"] == {"rename_back": 2, "restore": 1, "recreate": 1}
    memory.run("rewind", run.session_id, "--to", str(before), "--files", "--plan", shown["plan"]["digest"])
    assert contents(workspace) == FILES
    assert "invoices/README" in contents(branch)

    # Both beside each other.
    history = memory.memory.history
    memory.until(lambda: bool(history.state(other.session_id)["files_modified"]), "the branch's file")
    beside = json.loads(memory.run("compare", run.session_id, other.session_id, "--json"))
    assert [one["path"] for one in beside["added"]["files_modified"]] == [f"{branch}/invoices/README"]
    parted = json.loads(memory.run("compare", run.session_id, forked["id"], "--json"))["common"]
    assert parted == {"session": memory.session(run.session_id)["id"], "at": actions[0] + 1}
    family = json.loads(memory.run("branches", forked["id"], "--json"))
    assert [(one["depth"], one["workspace"]) for one in family] == [(0, str(workspace)), (1, str(branch))]
    memory.run("rewind", run.session_id, "--undo")
    assert contents(workspace) == after
    memory.run("verify")


def contents(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}

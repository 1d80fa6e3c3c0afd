"""Real clients whose transcript is gone: restored by us, their own resume goes on."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.clients.claude import Claude
from tests.e2e.clients.client import Client
from tests.e2e.clients.codex import Codex
from tests.e2e.clients.gate import Gate
from tests.e2e.remembered import Remembered
from tests.e2e.scenarios import claude as claude_scenarios
from tests.e2e.scenarios import codex as codex_scenarios
from tests.e2e.scenarios.script import Scenario, do, say

pytestmark = pytest.mark.e2e

PROMPT = "Count the vermilion herons."
ANSWER = "There are nineteen of them."
OUTPUT = "heron-output-77"


@pytest.fixture(params=["claude", "codex"])
def client(request: pytest.FixtureRequest) -> Client:
    made: Client = request.getfixturevalue(request.param)
    return made


@pytest.fixture
def memory(client: Client, tmp_path: Path) -> Iterator[Remembered]:
    made = Remembered(client, tmp_path / "memory")
    yield made
    made.close()


def counting(client: Client) -> Scenario:
    assert isinstance(client, Claude | Codex)
    call = claude_scenarios.bash if isinstance(client, Claude) else codex_scenarios.shell
    return Scenario("counting", (do(call(f"echo {OUTPUT}")), say(ANSWER)))


def test_a_deleted_session_is_restored_and_resumed_by_the_client_itself(
    client: Client, memory: Remembered
) -> None:
    first = client.run(PROMPT, scenario=counting(client))
    assert first.returncode == 0, first.stderr
    wanted = {path: path.read_bytes() for path in first.transcripts}
    assert wanted
    memory.take_in()
    for path in wanted:
        path.unlink()
    gone = client.run("And now?", resume=first.session_id)
    assert not any(ANSWER in request.text for request in gone.requests)
    for path in wanted:
        path.unlink(missing_ok=True)

    restored = json.loads(memory.run("restore", first.session_id, "--json"))

    assert {path: path.read_bytes() for path in wanted} == wanted
    assert {Path(file["path"]) for file in restored["files"] if file["path"].endswith(".jsonl")} == set(
        wanted
    )
    run = client.run("How many were there?", resume=first.session_id)
    assert run.returncode == 0, run.stderr
    assert all(text in run.turns[0].text for text in (PROMPT, ANSWER, OUTPUT))


def test_it_is_restored_into_the_home_of_another_machine(
    client: Client, memory: Remembered, tmp_path: Path
) -> None:
    first = client.run(PROMPT, scenario=counting(client))
    memory.take_in()
    there = tmp_path / "second-machine"
    workspace = there / "workspace"
    workspace.mkdir(parents=True)
    folder = ".claude" if isinstance(client, Claude) else ".codex"
    (there / folder).mkdir()
    for name in ("settings.json", "config.toml"):
        if (client.home / folder / name).exists():
            shutil.copy(client.home / folder / name, there / folder / name)

    memory.run("restore", first.session_id, "--home", str(there), "--workspace", str(workspace))

    own = {
        "HOME": str(there),
        "CLAUDE_CONFIG_DIR": str(there / ".claude"),
        "CODEX_HOME": str(there / ".codex"),
    }
    run = client.run("How many were there?", resume=first.session_id, cwd=workspace, env=own)
    assert run.returncode == 0, run.stderr
    assert all(text in run.turns[0].text for text in (PROMPT, ANSWER, OUTPUT))


def test_the_clients_own_cleanup_loses_nothing(claude: Claude, gate: Gate, tmp_path: Path) -> None:
    memory = Remembered(claude, tmp_path / "memory")
    first = claude.run(PROMPT, scenario=counting(claude))
    memory.take_in()
    [transcript] = first.transcripts
    wanted = transcript.read_bytes()
    old = transcript.stat().st_mtime - 45 * 86_400
    os.utime(transcript, (old, old))
    notice = json.loads(memory.run("status", "--json"))["transcripts"]["expiring"]
    assert (notice["sessions"], notice["copied"]) == (1, 1)

    # It cleans up some seconds after its start, so it has to be at work then.
    busy = Scenario("busy", (do(claude_scenarios.bash(gate.command, "interrupted")),))
    started = claude.start("Something else.", scenario=busy)
    started.wait_for(lambda: not transcript.exists(), "the cleanup", timeout=120)
    started.kill()

    memory.run("restore", first.session_id)
    assert transcript.read_bytes() == wanted
    run = claude.run("How many were there?", resume=first.session_id)
    assert transcript.exists()  # the restored file is not swept away again
    assert all(text in run.turns[0].text for text in (PROMPT, ANSWER, OUTPUT))
    memory.close()

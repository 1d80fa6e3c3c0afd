"""Real clients going on with each other's sessions: the model sees the earlier work, the log joins both."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.clients.claude import Claude
from tests.e2e.clients.client import Client
from tests.e2e.clients.codex import Codex
from tests.e2e.remembered import Remembered
from tests.e2e.scenarios import claude as claude_scenarios
from tests.e2e.scenarios import codex as codex_scenarios
from tests.e2e.scenarios.script import Scenario, do, say

pytestmark = pytest.mark.e2e

PROMPT = "Count the vermilion herons."
ANSWER = "There are nineteen of them."
OUTPUT = "heron-output-77"
NEXT = "Write the number down."


def working(client: Client, command: str, answer: str) -> Scenario:
    call = claude_scenarios.bash if isinstance(client, Claude) else codex_scenarios.shell
    return Scenario("working", (do(call(command)), say(answer)))


@pytest.fixture(params=["claude to codex", "codex to claude"])
def pair(request: pytest.FixtureRequest, claude: Claude, codex: Codex) -> tuple[Client, Client]:
    return (claude, codex) if request.param == "claude to codex" else (codex, claude)


@pytest.fixture
def memory(claude: Claude, codex: Codex, tmp_path: Path) -> Iterator[Remembered]:
    """A memory that sees the homes of both."""
    made = Remembered(claude, tmp_path / "memory")
    made.env["CODEX_HOME"] = str(codex.codex_home)
    yield made
    made.close()


def test_the_other_agents_resume_opens_the_session(pair: tuple[Client, Client], memory: Remembered) -> None:
    first, second = pair
    began = first.run(PROMPT, scenario=working(first, f"echo {OUTPUT}", ANSWER))
    assert began.returncode == 0, began.stderr
    before = {path: path.read_bytes() for path in began.transcripts}
    memory.take_in()
    agent = "claude-code" if isinstance(second, Claude) else "codex"

    continued = json.loads(
        memory.run(
            "continue", began.session_id, "--with", agent, "--workspace", str(second.workspace), "--json"
        )
    )

    assert continued["how"] == "native"
    assert continued["carried"]["calls"] == 1
    assert {path: path.read_bytes() for path in before} == before
    run = second.run(
        NEXT,
        scenario=working(second, "echo 19 > herons.txt", "Written."),
        resume=continued["agent_session_id"],
    )
    assert run.returncode == 0, run.stderr
    assert run.session_id == continued["agent_session_id"]
    assert all(
        text in run.turns[0].text for text in (PROMPT, ANSWER, OUTPUT, "Fazm Memory: taking up session")
    )

    memory.take_in()
    _check_the_join(memory, began.session_id, run.session_id, continued)


def _check_the_join(memory: Remembered, first: str, second: str, continued: dict[str, Any]) -> None:
    """The log has the new work once, knows where it comes from, and goes back across the join."""

    def ask(*words: str) -> Any:
        return json.loads(memory.run(*words, "--json"))

    new = ask("show", second)["session"]
    original = ask("show", first)["session"]
    assert (new["parent"], new["id"]) == (original["id"], continued["new_session"])
    assert [event["payload"]["text"] for event in ask("events", second, "--kind", "prompt")] == [NEXT]
    [call] = ask("events", second, "--kind", "action")
    assert "herons.txt" in json.dumps(call["payload"]["input"])
    texts = [row["text"] for row in ask("state", second)["requests"]]
    assert texts == [PROMPT, NEXT]  # the state goes on from the first agent's
    compared = ask("compare", first, second)
    assert compared["common"]["session"] == original["id"]
    assert "herons.txt" in json.dumps(compared["added"])
    memory.run("rewind", second, "--to", "1", "--force", "--json")
    after = ask("state", second)
    assert [row["text"] for row in after["requests"]] == [PROMPT]
    assert ask("state", first)["at"] == continued["parent_seq"]

"""The harness itself: each scenario really makes a real client do what its script says."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.clients.claude import Claude
from tests.e2e.clients.client import Client
from tests.e2e.clients.codex import Codex
from tests.e2e.clients.gate import Gate
from tests.e2e.clients.hooks import HookLog
from tests.e2e.clients.installed import pinned_version
from tests.e2e.clients.network import Room
from tests.e2e.clients.run import Run
from tests.e2e.clients.transcripts import Done, claude_actions, codex_actions
from tests.e2e.scenarios import claude as claude_scenarios
from tests.e2e.scenarios import codex as codex_scenarios
from tests.e2e.scenarios.script import Action, Scenario, do, say

pytestmark = pytest.mark.e2e

Make = Callable[[Path], Scenario]


@pytest.fixture(params=["claude", "codex"])
def client(request: pytest.FixtureRequest) -> Client:
    made: Client = request.getfixturevalue(request.param)
    return made


def scenarios(client: Client) -> Any:
    return claude_scenarios if isinstance(client, Claude) else codex_scenarios


def actions(client: Client, run: Run) -> list[Done]:
    return claude_actions(run) if isinstance(client, Claude) else codex_actions(run)


def watched(client: Client) -> HookLog:
    log = client.watch_hooks()
    client.trust_hooks()
    return log


def scripted(*wanted: Scenario) -> list[Done]:
    return [(one.tool, one.input, one.outcome) for scenario in wanted for one in scenario.expected_actions]


def standing(workspace: Path) -> dict[str, str]:
    files = (path for path in workspace.rglob("*") if path.is_file())
    return {str(path.relative_to(workspace)): path.read_text() for path in files}


def same_calls(events: list[dict[str, Any]], wanted: Iterable[Action]) -> bool:
    """Each once, in any order: calls made at once, or beside a subagent's, race each other."""
    left = [(event["tool_name"], event["tool_input"]) for event in events]
    for one in wanted:
        if (one.hook_tool, one.hook_input) not in left:
            return False
        left.remove((one.hook_tool, one.hook_input))
    return not left


# --- a run from its prompt to its last word -----------------------------------------------------------------


@pytest.mark.parametrize("make", claude_scenarios.COMPLETE, ids=lambda make: make.__name__)
def test_claude_code_does_what_the_script_says(claude: Claude, make: Make) -> None:
    scenario = make(claude.workspace)
    log = watched(claude)

    run = claude.run("Please see to this.", scenario=scenario)

    assert run.returncode == 0, run.stderr
    assert run.stdout_json[-1]["result"] == last_words(scenario)
    assert standing(claude.workspace) == scenario.leaves
    assert claude_actions(run) == scripted(scenario)
    assert len(run.transcripts) == 1 + len(scenario.subagents)
    wanted = scenario.expected_actions
    assert log.names[:2] == ["SessionStart", "UserPromptSubmit"]
    assert log.names[-2:] == ["Stop", "SessionEnd"]
    assert same_calls(log.named("PreToolUse"), wanted)
    assert same_calls(log.named("PostToolUse"), (one for one in wanted if one.outcome == "ok"))
    assert same_calls(log.named("PostToolUseFailure"), (one for one in wanted if one.outcome == "error"))
    assert {event["session_id"] for event in log.events} == {run.session_id}


@pytest.mark.parametrize("make", codex_scenarios.COMPLETE, ids=lambda make: make.__name__)
def test_codex_does_what_the_script_says(codex: Codex, make: Make) -> None:
    scenario = make(codex.workspace)
    log = watched(codex)

    run = codex.run("Please see to this.", scenario=scenario)

    assert run.returncode == 0, run.stderr
    messages = [line["item"] for line in run.stdout_json if line["type"] == "item.completed"]
    assert messages[-1]["text"] == last_words(scenario)
    assert standing(codex.workspace) == scenario.leaves
    assert codex_actions(run) == scripted(scenario)
    assert len(run.transcripts) == 1 + len(scenario.subagents)
    assert log.names[:2] == ["SessionStart", "UserPromptSubmit"]
    assert log.names[-2:] == ["Stop", "SessionEnd"]
    # Codex has no event for a failure: a command that failed ends like any other, the rest do not end at all.
    wanted = scenario.expected_actions
    ended = [
        one for one in wanted if one.outcome == "ok" or (one.outcome, one.hook_tool) == ("error", "Bash")
    ]
    assert same_calls(log.named("PreToolUse"), wanted)
    assert same_calls(log.named("PostToolUse"), ended)
    assert {event["session_id"] for event in log.events} == {run.session_id}


def last_words(scenario: Scenario) -> str:
    [block] = scenario.turns[-1].says
    assert hasattr(block, "text")
    return str(block.text)


def test_a_full_context_is_compacted_once_and_the_script_goes_on(client: Client) -> None:
    scenario = scenarios(client).long_talk(client.workspace)
    log = watched(client)

    run = client.run("Please see to this.", scenario=scenario)

    assert [request.kind for request in run.requests if request.kind != "other"] == [
        "turn",
        "turn",
        "compaction",
        "turn",
        "turn",
    ]
    compacts = [event["trigger"] for event in log.named("PreCompact", "PostCompact")]
    assert compacts == ["auto", "auto"]
    assert [event["source"] for event in log.named("SessionStart")] == ["startup", "compact"]


def test_a_subagent_has_its_own_transcript_and_its_hooks_name_it(client: Client) -> None:
    scenario = scenarios(client).subagent(client.workspace)
    log = watched(client)

    run = client.run("Please see to this.", scenario=scenario)

    [agent] = {event["agent_id"] for event in log.named("SubagentStart", "SubagentStop")}
    by_subagent = [event for event in log.named("PreToolUse") if event.get("agent_id") == agent]
    assert len(by_subagent) == sum(one.by == "subagent" for one in scenario.expected_actions)
    assert agent in run.transcripts[1].name


# --- sessions that go on ------------------------------------------------------------------------------------


def test_a_resumed_session_goes_on_under_its_own_id(client: Client) -> None:
    made = scenarios(client)
    first, second = made.shell_moves(client.workspace), made.another_look(client.workspace)
    log = watched(client)
    began = client.run("File the scans.", scenario=first)

    went_on = client.run("Are they still there?", scenario=second, resume=began.session_id)

    assert went_on.session_id == began.session_id
    assert "File the scans." in went_on.turns[0].text
    assert actions(client, went_on) == scripted(first, second)
    assert [event["source"] for event in log.named("SessionStart")] == ["startup", "resume"]


def test_a_forked_session_has_a_new_id_and_its_parents_past(client: Client) -> None:
    made = scenarios(client)
    first, second = made.shell_moves(client.workspace), made.another_look(client.workspace)
    began = client.run("File the scans.", scenario=first)

    fork = client.run("Are they still there?", scenario=second, resume=began.session_id, fork=True)

    assert fork.session_id not in ("", began.session_id)
    assert "File the scans." in fork.turns[0].text
    assert actions(client, began) == scripted(first)
    assert fork.transcripts != began.transcripts


# --- sessions that are cut off ------------------------------------------------------------------------------


def test_a_client_killed_in_mid_call_has_announced_the_call_and_never_ended_it(
    client: Client, gate: Gate
) -> None:
    scenario = scenarios(client).blocked(client.workspace, gate.command)
    log = watched(client)
    started = client.start("Begin.", scenario=scenario)
    started.wait_for(gate.reached, "the blocked call")

    run = started.kill()

    assert run.returncode == -9
    assert run.session_id
    assert standing(client.workspace) == scenario.leaves
    wanted = scenario.expected_actions
    assert same_calls(log.named("PreToolUse"), wanted)
    assert same_calls(log.named("PostToolUse"), (one for one in wanted if one.outcome == "ok"))
    assert {"Stop", "SessionEnd"}.isdisjoint(log.names)


def test_a_client_killed_while_the_model_is_silent_can_be_resumed(client: Client) -> None:
    made = scenarios(client)
    scenario = made.silence(client.workspace)
    log = watched(client)
    started = client.start("Begin.", scenario=scenario)
    started.wait_for(client.model.hanging.is_set, "the model's silence")
    started.wait_for(lambda: started.has_written("Begin."), "the prompt in the client's record")

    run = started.kill()

    assert run.returncode == -9
    assert standing(client.workspace) == scenario.leaves
    assert log.names[-1] in ("PostToolUse", "PostToolBatch")
    again = client.run("Where were we?", scenario=made.another_look(client.workspace), resume=run.session_id)
    assert again.returncode == 0, again.stderr
    assert "Begin." in again.turns[0].text


# --- what surrounds a run -----------------------------------------------------------------------------------


def test_a_run_sees_the_environment_it_is_given_and_no_other(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEAKED", "from the test run")
    client.env["FAZM_MEMORY_HOME"] = "/memory"
    client.path.insert(0, "/memory/bin")
    made = scenarios(client)
    call = made.bash if isinstance(client, Claude) else made.shell
    scenario = Scenario("environment", (do(call("env > env.txt")), say("Written.")))

    client.run("Write down your environment.", scenario=scenario)

    lines = (client.workspace / "env.txt").read_text().splitlines()
    seen = dict(line.split("=", 1) for line in lines if "=" in line)
    assert seen["FAZM_MEMORY_HOME"] == "/memory"
    assert seen["HOME"] == str(client.home)
    assert "LEAKED" not in seen


def test_context_that_a_hook_injects_reaches_the_model(claude: Claude) -> None:
    context = {"hookEventName": "SessionStart", "additionalContext": "Yesterday you filed two scans."}
    script = f"echo '{json.dumps({'hookSpecificOutput': context})}'"
    hooks = {"SessionStart": [{"hooks": [{"type": "command", "command": script}]}]}

    run = claude.run("Go on.", settings={"hooks": hooks})

    assert "Yesterday you filed two scans." in run.turns[0].text


def test_codex_runs_no_hook_before_it_is_trusted(codex: Codex) -> None:
    log = codex.watch_hooks()

    codex.run("Hello.")
    before = log.names
    trusted = codex.trust_hooks()
    codex.run("Hello.")

    assert before == []
    assert len(trusted) == 11
    assert log.names == ["SessionStart", "UserPromptSubmit", "Stop", "SessionEnd"]
    assert codex.trust_hooks() == []


def test_a_sealed_room_has_no_network_but_loopback(room: Room, client: Client) -> None:
    list_names = "import socket; print(*(name for _, name in socket.if_nameindex()))"
    devices = client.call(sys.executable, "-c", list_names).stdout.split()

    assert (devices == ["lo"]) == (room.open_because is None)
    assert ("WITHOUT" in room.describe()) == (room.open_because is not None)


def test_the_clients_are_the_pinned_versions(claude: Claude, codex: Codex) -> None:
    assert pinned_version("@anthropic-ai/claude-code") in claude.call(str(claude.binary), "--version").stdout
    assert pinned_version("@openai/codex") in codex.call(str(codex.binary), "--version").stdout

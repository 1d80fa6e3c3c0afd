"""Real clients that write their own memory over MCP, die, and read it back."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.mcp_server.stdio import INSTRUCTIONS
from tests.e2e.clients.claude import Claude
from tests.e2e.clients.client import Client
from tests.e2e.clients.codex import Codex
from tests.e2e.clients.gate import Gate
from tests.e2e.scenarios.claude import bash
from tests.e2e.scenarios.codex import shell
from tests.e2e.scenarios.script import Call, Scenario, do, say

pytestmark = pytest.mark.e2e

PROGRAM = Path(sys.executable).with_name("fazm-memory")
SERVER = {"memory": {"command": str(PROGRAM), "args": ["mcp", "--tools", "full"]}}
# What the client tells a model to call while a server is still starting. It gives up after a while: on a busy
# machine it is needed twice.
READY = do(Call("WaitForMcpServers", {}))
KEY = "filing-the-invoices"  # a script cannot know a handle that is minted while it plays


def remembering(client: Client, tmp_path: Path) -> None:
    client.env |= {
        "FAZM_MEMORY_HOME": str(tmp_path / "memory"),
        "FAZM_MEMORY_KEY": "file",
        "MCP_TIMEOUT": "60000",
    }


def tool(name: str, **given: Any) -> Call:
    return Call(f"mcp__memory__{name}", given)


def codex_tool(name: str, **given: Any) -> Call:
    return Call(name, given, namespace="mcp__memory")


def run_json(client: Client, *command: str) -> Any:
    return json.loads(client.call(str(PROGRAM), *command, "--json").stdout)


def test_a_killed_agents_decisions_are_read_back_by_the_next_session(
    claude: Claude, gate: Gate, tmp_path: Path
) -> None:
    remembering(claude, tmp_path)
    first = Scenario(
        "writes its memory",
        (
            READY,
            READY,
            do(tool("session_open", key=KEY, workspace=str(claude.workspace), title="File the invoices")),
            do(tool("decision_record", session=KEY, what="ISO dates first", why="they sort")),
            do(tool("decision_record", session=KEY, what="Leave the drafts alone", why="not paid yet")),
            do(tool("pending_add", session=KEY, id="october", what="The scans of October")),
            do(bash(gate.command, "interrupted")),
        ),
    )
    started = claude.start("File the invoices.", scenario=first, mcp_config=SERVER)
    started.wait_for(gate.reached, "the blocked call", timeout=120)
    killed = started.kill()
    assert killed.returncode == -9

    second = Scenario(
        "goes on",
        (
            READY,
            READY,
            do(tool("session_state", session=KEY)),
            do(tool("pending_done", session=KEY, id="october")),
            do(tool("decision_record", session=KEY, what="October by vendor", why="as before")),
            do(tool("session_close", session=KEY, reason="all filed")),
            say("All filed."),
        ),
    )
    run = claude.run("Go on with the invoices.", scenario=second, mcp_config=SERVER, timeout=120)

    assert run.returncode == 0, run.stderr
    assert run.session_id != killed.session_id
    read = run.turns[3].text  # what the model was sent after it had asked for the state
    for words in ("ISO dates first", "Leave the drafts alone", "The scans of October"):
        assert words in read
    state = run_json(claude, "state", KEY)
    messages = ["ISO dates first", "Leave the drafts alone", "October by vendor"]
    assert [one["what"] for one in state["decisions_made"]] == messages
    assert (state["pending_actions"], state["lifecycle"]) == ([], "closed")
    events = run_json(claude, "events", KEY)
    assert [one["seq"] for one in events] == list(range(7))
    assert {(one["source"], one["actor"], one["trust"]) for one in events} == {("mcp", "agent", "agent")}


def test_what_an_agent_tells_and_what_hooks_see_is_one_session(claude: Claude, tmp_path: Path) -> None:
    remembering(claude, tmp_path)
    claude.call(str(PROGRAM), "connect", "claude-code")  # hooks, and our server under its own name
    opening = do(Call("mcp__fazm-memory__session_note", {"kind": "open", "text": "Make a note"}))
    scenario = Scenario(
        "opens and works", (READY, READY, opening, do(bash("echo one > 1.txt")), say("Noted."))
    )
    allowed = {"permissions": {"allow": ["mcp__fazm-memory"]}}

    run = claude.run("Make a note.", scenario=scenario, settings=allowed, timeout=120)

    assert run.returncode == 0, run.stderr
    claude.call(str(PROGRAM), "run", "--once")
    sessions = run_json(claude, "sessions")
    assert [(one["agent"], one["agent_session_id"]) for one in sessions] == [("claude-code", run.session_id)]
    events = run_json(claude, "events", run.session_id)
    assert {"mcp", "hook"} <= {one["source"] for one in events}
    assert "Bash" in [one["tool"] for one in events if one["kind"] == "action"]


def test_codex_too_is_killed_and_its_next_session_goes_on(codex: Codex, gate: Gate, tmp_path: Path) -> None:
    remembering(codex, tmp_path)
    server = {
        "memory": {**SERVER["memory"], "startup_timeout_sec": 120, "required": True, "env": dict(codex.env)}
    }
    first = Scenario(
        "writes its memory",
        (
            do(codex_tool("session_open", key=KEY, workspace=str(codex.workspace), title="File invoices")),
            do(codex_tool("decision_record", session=KEY, what="ISO dates first", why="they sort")),
            do(codex_tool("pending_add", session=KEY, id="october", what="The scans of October")),
            do(shell(gate.command, "interrupted")),
        ),
    )
    started = codex.start("File the invoices.", scenario=first, mcp_config=server)
    started.wait_for(gate.reached, "the blocked call", timeout=120)
    killed = started.kill()
    assert killed.returncode == -9

    second = Scenario(
        "goes on",
        (
            do(codex_tool("session_state", session=KEY)),
            do(codex_tool("pending_done", session=KEY, id="october")),
            do(codex_tool("session_close", session=KEY, reason="all filed")),
            say("All filed."),
        ),
    )
    run = codex.run("Go on with the invoices.", scenario=second, mcp_config=server, timeout=120)

    assert run.returncode == 0, run.stderr
    assert run.session_id != killed.session_id
    assert all(words in run.turns[1].text for words in ("ISO dates first", "The scans of October"))
    state = run_json(codex, "state", KEY)
    assert [one["what"] for one in state["decisions_made"]] == ["ISO dates first"]
    assert (state["pending_actions"], state["lifecycle"]) == ([], "closed")
    assert run_json(codex, "sessions")[0]["agent"] == "codex"


def test_codex_has_our_tools_in_its_first_turn_though_it_waits_for_no_server(
    codex: Codex, tmp_path: Path
) -> None:
    remembering(codex, tmp_path)
    codex.call(str(PROGRAM), "connect", "codex")
    opening = Call("session_note", {"kind": "open", "text": "Make a note"}, namespace="mcp__fazm_memory")

    run = codex.run(
        "Make a note.", scenario=Scenario("opens at once", (do(opening), say("Noted."))), timeout=120
    )

    assert run.returncode == 0, run.stderr
    # It shows the model our words, and our tools when it searches for them; a call finds them either way.
    (search,) = [one for one in run.turns[0].body["tools"] if one["type"] == "tool_search"]
    assert INSTRUCTIONS["small"] in search["description"]
    assert [one["title"] for one in run_json(codex, "sessions")] == ["Make a note"]


def test_codex_starts_without_a_memory_that_is_broken(codex: Codex, tmp_path: Path) -> None:
    """Why `connect` does not call our server required: Codex would wait for it, and not start without it."""
    remembering(codex, tmp_path)
    codex.call(str(PROGRAM), "connect", "codex")
    config = codex.codex_home / "config.toml"
    config.write_text(config.read_text().replace(str(PROGRAM), "/usr/bin/false"))
    scenario = Scenario("works", (do(shell("echo one > 1.txt")), say("Noted.")))
    assert codex.run("Make a note.", scenario=scenario, timeout=120).returncode == 0
    assert (codex.workspace / "1.txt").read_text() == "one\n"


def test_a_question_to_a_person_stays_open_when_nobody_sits_at_the_client(
    claude: Claude, codex: Codex, tmp_path: Path
) -> None:
    """Both run without a terminal here: whatever they make of a form, it is not a person's answer."""
    asking = {"session": KEY, "to": "human", "note": "Delete the doubles?"}
    for client, call, before in ((claude, tool, (READY, READY)), (codex, codex_tool, ())):
        remembering(client, tmp_path / client.wire.__class__.__name__)
        server = {"memory": {**SERVER["memory"], "env": dict(client.env)}}
        if client is codex:
            server["memory"] |= {"startup_timeout_sec": 120, "required": True}
        steps = (
            *before,
            do(call("session_open", key=KEY)),
            do(call("session_handoff", **asking)),
            say("Asked."),
        )

        run = client.run("Ask.", scenario=Scenario("asks", steps), mcp_config=server, timeout=120)

        assert run.returncode == 0, run.stderr
        state = run_json(client, "state", KEY)
        assert [one["note"] for one in state["open_questions"]] == ["Delete the doubles?"]
        assert state["answered_questions"] == []

"""The program itself on stdio, met by the SDK's client and by raw lines."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters

COMMAND = [sys.executable, "-m", "fazm_memory.cli.main", "mcp", "--tools", "full"]
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "claude-code", "version": "2"},
    },
}


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path / "user"),
        "FAZM_MEMORY_HOME": str(tmp_path / "memory"),
        "FAZM_MEMORY_KEY": "file",
        "TZ": "UTC",
    }


def lines(env: dict[str, str], *messages: object, until: int = 1) -> list[dict[str, Any]]:
    """What the server answers to raw lines, up to the answer with this id; then its input ends."""
    given = "".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in messages)
    with subprocess.Popen(
        COMMAND, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(given)
        server.stdin.flush()
        answers: list[dict[str, Any]] = []
        for line in server.stdout:
            answers.append(json.loads(line))
            if answers[-1].get("id") == until:
                break
        _, talk = server.communicate(timeout=60)
    assert server.returncode == 0, talk
    return answers


def calling(number: int, name: str, **arguments: object) -> dict[str, object]:
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


def test_a_client_works_with_the_program_and_finds_its_work_again(env: dict[str, str]) -> None:
    async def work() -> tuple[str, dict[str, Any]]:
        parameters = StdioServerParameters(command=COMMAND[0], args=COMMAND[1:], env=env)
        async with Client(parameters) as client:
            opened = (await client.call_tool("session_open", {"workspace": "/w"})).structured_content
            assert opened is not None
            handle = opened["session"]
            await client.call_tool("decision_record", {"session": handle, "what": "dates first"})
        async with Client(parameters) as client:  # another process
            state = (await client.call_tool("session_state", {"session": handle})).structured_content
            assert state is not None
            return handle, state

    handle, state = asyncio.run(work())
    assert state["session"] == handle
    assert [one["what"] for one in state["decisions_made"]] == ["dates first"]


def test_the_handshake_needs_no_store(env: dict[str, str], tmp_path: Path) -> None:
    answer = lines(env, HELLO)[0]["result"]
    assert answer["serverInfo"]["name"] == "fazm-memory"
    assert answer["capabilities"]["tools"] is not None
    assert "session_open" in answer["instructions"]
    assert not (tmp_path / "memory").exists()


def test_a_session_opened_by_claude_code_is_the_one_its_hooks_fill(env: dict[str, str]) -> None:
    env["CLAUDE_CODE_SESSION_ID"] = "5f0c1c5e-0d55-4a35-9d35-000000000001"
    env["CLAUDE_PROJECT_DIR"] = "/w"
    ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    answer = lines(env, HELLO, ready, calling(2, "session_open"), until=2)[-1]
    result = answer["result"]["structuredContent"]["session_info"]
    assert result["agent"] == "claude-code"
    assert result["agent_session_id"] == env["CLAUDE_CODE_SESSION_ID"]
    assert result["workspace"] == "/w"


def test_lines_that_are_no_protocol_do_not_stop_the_server(env: dict[str, str]) -> None:
    hostile = [
        "{",
        '{"jsonrpc":"2.0"}',
        "[]",
        "null",
        '{"jsonrpc":"2.0","id":7,"method":"no/such"}',
        "[" * 5000,
    ]
    answers = lines(env, HELLO, *hostile, {"jsonrpc": "2.0", "id": 99, "method": "ping"}, until=99)
    assert {"jsonrpc": "2.0", "id": 99, "result": {}} in answers
    assert "Traceback" not in json.dumps(answers)


def send_and_close(env: dict[str, str], *messages: object) -> list[dict[str, Any]]:
    """All that the server says to a client that says all this and closes its end at once."""
    given = "".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in messages)
    done = subprocess.run(
        COMMAND, env=env, input=given, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_calls_of_a_client_that_closed_its_end_are_answered_with_what_became_of_them(
    env: dict[str, str],
) -> None:
    calls = [calling(number, "session_open", key=f"k{number}", context=False) for number in range(2, 7)]
    answers = send_and_close(env, HELLO, *calls)
    assert sorted(one["id"] for one in answers) == [1, 2, 3, 4, 5, 6]
    assert [one for one in answers if "error" in one] == []
    opened = [one["result"]["structuredContent"]["session_info"]["agent_session_id"] for one in answers[1:]]
    assert sorted(opened) == ["k2", "k3", "k4", "k5", "k6"]


def test_half_a_surrogate_pair_is_answered_and_kept_as_a_text_that_can_be_read(env: dict[str, str]) -> None:
    opening = calling(2, "session_open", key="k", context=False)
    half = json.dumps(calling(3, "decision_record", session="k", what="half \ud83d of it"))
    assert "\\ud83d" in half
    whole = json.dumps(calling(4, "decision_record", session="k", what="a whole \U0001f600"))
    answers = send_and_close(env, HELLO, opening, half, whole, calling(5, "session_state", session="k"))
    results = {one["id"]: one["result"] for one in answers}
    assert not results[3].get("isError")
    messages = [one["what"] for one in results[5]["structuredContent"]["decisions_made"]]
    assert messages == ["half \ufffd of it", "a whole \U0001f600"]

"""Sessions of an agent that speaks ACP, read with its own words and without giving it anything."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from fazm_memory.agents.acp import AcpClient
from fazm_memory.errors import AgentUnavailable, InvalidRequest
from tests.agents.reading import of_kind

ANSWER = {
    "protocolVersion": 1,
    "agentCapabilities": {"loadSession": True, "sessionCapabilities": {"list": {}}},
}


def scripted(tmp_path: Path, *answers: object) -> tuple[str, ...]:
    """An agent that gives these answers, one for each line that it reads."""
    script = tmp_path / "agent.py"
    several = [answer if isinstance(answer, list) else [answer] for answer in answers]
    lines = ["\n".join(map(json.dumps, some)) for some in several]
    script.write_text(
        f"import sys\nfor line in {lines!r}:\n    sys.stdin.readline()\n    print(line, flush=True)\n"
    )
    return (sys.executable, str(script))


def test_a_replay_becomes_a_session(tmp_path: Path) -> None:
    listed = {"sessions": [{"sessionId": "first", "cwd": "/w/birds", "title": "A walk"}]}

    def update(kind: str, **more: object) -> dict[str, object]:
        told = {"sessionId": "first", "update": {"sessionUpdate": kind, **more}}
        return {"method": "session/update", "params": told}

    replay = [
        update("user_message_chunk", content={"type": "text", "text": "Count "}),
        update("user_message_chunk", content={"type": "text", "text": "herons."}),
        update("tool_call", toolCallId="c", title="bash", rawInput={"command": "ls"}),
        update("tool_call_update", toolCallId="c", status="failed", rawOutput="no"),
        update("orbit"),
        {"id": 3, "result": {}},
    ]
    command = scripted(tmp_path, {"id": 1, "result": ANSWER}, {"id": 2, "result": listed}, replay)
    with AcpClient(command) as client:
        (session,) = client.sessions()
        drafts = client.load(session)
    assert [one["text"] for one in of_kind(drafts, "prompt")] == ["Count herons."]
    assert [(one["tool"], one["outcome"]) for one in of_kind(drafts, "action")] == [("bash", "error")]
    assert [one["type"] for one in of_kind(drafts, "unknown")] == ["orbit"]


def test_an_agent_that_asks_for_something_is_refused(tmp_path: Path) -> None:
    asks = {"id": 7, "method": "fs/read_text_file", "params": {"path": "/etc/passwd"}}
    command = scripted(tmp_path, {"id": 1, "result": ANSWER}, asks, {"id": 2, "result": {"sessions": []}})
    with AcpClient(command) as client:
        assert list(client.sessions()) == []


@pytest.mark.parametrize(
    "answers",
    [
        (),
        ({"id": 1, "error": {"code": 1, "message": "no"}},),
        ({"id": 1, "result": {"protocolVersion": 9}},),
        ({"id": 1, "result": {"protocolVersion": 1, "agentCapabilities": {"loadSession": False}}},),
        ({"id": 1, "result": 3},),
    ],
)
def test_an_agent_that_cannot_is_said_to_be(tmp_path: Path, answers: tuple[object, ...]) -> None:
    with pytest.raises(AgentUnavailable), AcpClient(scripted(tmp_path, *answers)):
        pass


def test_an_agent_that_hangs_does_not_hang_us(tmp_path: Path) -> None:
    silent = tmp_path / "silent.py"
    silent.write_text("import sys\nsys.stdin.read()\n")
    with pytest.raises(AgentUnavailable), AcpClient((sys.executable, str(silent)), seconds=0.05):
        pass


def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(InvalidRequest, match="no-such-agent"):
        AcpClient(("no-such-agent",))

"""Copilot, Cline, Qwen Code, Hermes and opencode, the real programs: recorded, given context, restored."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.clients.client import Client
from tests.e2e.clients.cline import Cline
from tests.e2e.clients.copilot import Copilot
from tests.e2e.clients.hermes import Hermes
from tests.e2e.clients.opencode import Opencode
from tests.e2e.clients.qwen import Qwen
from tests.e2e.remembered import Recorded, Remembered
from tests.e2e.scenarios.script import Call, Outcome, Scenario, do, say

pytestmark = pytest.mark.e2e

PROMPT = "Count the vermilion herons."
ANSWER = "There are nineteen of them."
YESTERDAY = "Sort the cerulean invoices by year."


@pytest.fixture(params=["copilot", "cline", "qwen", "hermes"])
def client(request: pytest.FixtureRequest) -> Client:
    made: Client = request.getfixturevalue(request.param)
    return made


@pytest.fixture
def memory(client: Client, tmp_path: Path) -> Iterator[Remembered]:
    made = Remembered(client, tmp_path / "memory")
    yield made
    made.close()


def shell(client: Client, command: str, outcome: Outcome = "ok") -> Call:
    if isinstance(client, Cline):
        return Call("run_commands", {"commands": [command]}, outcome)
    if isinstance(client, Qwen):
        about = {"description": "count", "is_background": False}
        return Call("run_shell_command", {"command": command, **about}, outcome)
    if isinstance(client, Hermes):
        return Call("terminal", {"command": command}, outcome)
    about = {"description": "count", "mode": "sync", "initial_wait": 10}
    return Call("bash", {"command": command, **about}, outcome)


def write(client: Client, name: str, text: str) -> Call:
    path = str(client.workspace / name)
    if isinstance(client, Cline):
        return Call("editor", {"path": path, "new_text": text})
    if isinstance(client, Qwen):
        return Call("write_file", {"file_path": path, "content": text})
    if isinstance(client, Hermes):
        return Call("write_file", {"path": path, "content": text})
    return Call("create", {"path": path, "file_text": text})


def counting(client: Client) -> Scenario:
    return Scenario(
        "counting",
        (
            do(shell(client, "echo heron-output-77")),
            do(write(client, "herons.txt", "nineteen\n")),
            do(shell(client, "echo lost >&2; exit 3", "error")),
            say(ANSWER),
        ),
    )


def test_a_real_session_is_recorded_and_its_context_reaches_the_next(
    client: Client, memory: Remembered
) -> None:
    opened = {"type": "session.open", "session": "k", "agent": "test", "workspace": str(client.workspace)}
    memory.record(opened, {"type": "prompt", "session": "k", "text": YESTERDAY})
    before = config(client)
    memory.connect()

    run = client.run(PROMPT, scenario=counting(client))

    assert run.returncode == 0, run.stderr
    given = [request for request in run.turns if YESTERDAY in request.text]
    # Cline takes what a hook says only with the first tool call.
    assert given == list(run.turns[1 if isinstance(client, Cline) else 0 :])
    assert "memory_context" in run.turns[-1].text  # a tool of our MCP server
    memory.take_in()
    calls = [Recorded(one.tool, one.input, one.outcome, None) for one in counting(client).expected_actions]
    assert memory.calls(run.session_id) == calls
    assert [event["payload"]["text"] for event in memory.events(run.session_id, "prompt")] == [PROMPT]
    assert [event["payload"]["text"] for event in memory.events(run.session_id, "message")] == [ANSWER]
    assert YESTERDAY not in json.dumps(memory.events(run.session_id))
    checks = {
        check["name"]: check["verdict"] for check in json.loads(memory.run("doctor", "--json"))["checks"]
    }
    assert (checks[client.agent], checks[f"{client.agent}: context arrives"]) == ("ok", "ok")
    memory.run("disconnect", client.agent)
    assert config(client) == before


@pytest.mark.parametrize("client", ["copilot", "qwen"], indirect=True)
def test_a_deleted_session_is_restored_and_resumed(client: Client, memory: Remembered) -> None:
    first = client.run(PROMPT, scenario=counting(client))
    memory.take_in()
    folder = first.transcripts[0].parent
    wanted = session_files(folder)
    shutil.rmtree(folder)

    memory.run("restore", first.session_id)

    assert session_files(folder) == wanted
    run = client.run("How many were there?", resume=first.session_id)
    assert run.returncode == 0, run.stderr
    assert all(text in run.turns[0].text for text in (PROMPT, ANSWER, "heron-output-77"))


def test_a_deleted_session_of_opencode_is_restored_beside_the_others(
    opencode: Opencode, tmp_path: Path
) -> None:
    memory = Remembered(opencode, tmp_path / "memory")
    bash = Call("bash", {"command": "echo heron-output-77", "description": "count"})
    first = opencode.run(PROMPT, scenario=Scenario("counting", (do(bash), say(ANSWER))))
    assert first.returncode == 0, first.stderr
    opencode.run("Something else.")
    memory.take_in()
    assert [(one.tool, one.outcome) for one in memory.calls(first.session_id)] == [("bash", "ok")]
    wanted = opencode.rows()
    opencode.call(str(opencode.binary), "session", "delete", first.session_id)
    assert opencode.rows()["part"] != wanted["part"]

    memory.run("restore", first.session_id)

    found = opencode.rows()
    tables = ("session", "message", "part", "todo")  # opencode itself changes the time of its project
    assert {name: found[name] for name in tables} == {name: wanted[name] for name in tables}
    run = opencode.run("How many were there?", resume=first.session_id)
    assert run.returncode == 0, run.stderr
    assert all(text in run.turns[0].text for text in (PROMPT, ANSWER, "heron-output-77"))
    assert [row[0] for row in opencode.rows()["session"]] == [row[0] for row in wanted["session"]]
    memory.close()


def test_a_deleted_session_of_hermes_is_restored_beside_the_others(hermes: Hermes, tmp_path: Path) -> None:
    memory = Remembered(hermes, tmp_path / "memory")
    call = Call("terminal", {"command": "echo heron-output-77"})
    first = hermes.run(PROMPT, scenario=Scenario("counting", (do(call), say(ANSWER))))
    assert first.returncode == 0, first.stderr
    hermes.run("Something else.")
    memory.take_in()
    assert [(one.tool, one.outcome) for one in memory.calls(first.session_id)] == [("terminal", "ok")]
    wanted = hermes.rows()
    hermes.call(str(hermes.binary), "sessions", "delete", first.session_id, "--yes")
    assert hermes.rows() != wanted

    memory.run("restore", first.session_id)

    assert hermes.rows() == wanted
    run = hermes.run("How many were there?", resume=first.session_id)
    assert run.returncode == 0, run.stderr
    assert all(text in run.turns[0].text for text in (PROMPT, ANSWER, "heron-output-77"))
    memory.close()


def test_its_sessions_can_be_read_over_acp(copilot: Copilot, tmp_path: Path) -> None:
    run = copilot.run(PROMPT, scenario=counting(copilot))
    assert run.returncode == 0, run.stderr
    user = tmp_path / "elsewhere"
    user.mkdir()
    memory = Remembered(copilot, tmp_path / "memory", user)
    memory.env["COPILOT_HOME"] = str(user / ".copilot")
    own = f"env HOME={copilot.home} COPILOT_HOME={copilot.home}/.copilot {copilot.binary} --acp"

    result = json.loads(memory.run("import", "--acp", own, "--json"))

    assert (result["sessions"], result["troubles"]) == (1, {})
    assert [event["payload"]["text"] for event in memory.events(run.session_id, "prompt")] == [PROMPT]
    assert [event["payload"]["text"] for event in memory.events(run.session_id, "message")] == [ANSWER]
    calls = memory.calls(run.session_id)
    assert len(calls) == len(counting(copilot).expected_actions)
    memory.close()


def session_files(folder: Path) -> dict[str, bytes]:
    """The files of a folder, without locks and what Qwen Code writes down of its own run."""
    found = (path for path in folder.iterdir() if path.is_file() and path.suffix != ".lock")
    return {path.name: path.read_bytes() for path in found if not path.name.endswith(".runtime.json")}


def config(client: Client) -> dict[str, bytes]:
    """The configuration files of the client."""
    names = [".copilot/hooks/*", ".copilot/mcp-config.json", ".cline/hooks/*", ".cline/data/settings/*mcp*",
             ".qwen/settings.json", ".hermes/config.yaml"]  # fmt: skip
    found = [path for name in names for path in client.home.glob(name) if path.is_file()]
    return {str(path): path.read_bytes() for path in found}

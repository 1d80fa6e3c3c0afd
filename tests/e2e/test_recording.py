"""Real clients at work: what is recorded is what they were told to do, in order, each once, with outcomes.

Each run is known three ways: from the client's own transcripts, from hooks alone, and from both together.
"""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.clients.claude import Claude
from tests.e2e.clients.client import Client
from tests.e2e.clients.codex import Codex
from tests.e2e.clients.gate import Gate
from tests.e2e.remembered import (
    PROGRAM,
    Recorded,
    Remembered,
    by_whom,
    scripted,
    scripted_for_hooks,
)
from tests.e2e.scenarios import claude as claude_scenarios
from tests.e2e.scenarios import codex as codex_scenarios
from tests.e2e.scenarios.script import Scenario

pytestmark = pytest.mark.e2e

Make = Callable[[Path], Scenario]
Home = Callable[[Client, str], Remembered]
AT_ONCE = ("at once", "subagent")  # calls that race each other have no order of their own


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    made: list[Remembered] = []

    def make(client: Client, name: str = "memory") -> Remembered:
        made.append(Remembered(client, tmp_path / name))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture(params=["claude", "codex"])
def client(request: pytest.FixtureRequest) -> Client:
    made: Client = request.getfixturevalue(request.param)
    return made


def scenarios(client: Client) -> Any:
    return claude_scenarios if isinstance(client, Claude) else codex_scenarios


def assert_same(scenario: Scenario, recorded: list[Recorded], wanted: list[Recorded]) -> None:
    if scenario.name not in AT_ONCE:
        assert recorded == wanted
        return
    found, expected = by_whom(recorded), by_whom(wanted)
    if scenario.name == "subagent":
        assert found == expected
        return
    left = list(found["agent"])
    for one in expected["agent"]:
        left.remove(one)
    assert left == []


def known_three_ways(memory: Remembered, session: str, scenario: Scenario, tmp_path: Path) -> None:
    """The same run, as each of the three memories tells it."""
    from_hooks, from_transcripts = (
        memory.from_hooks(tmp_path / "from-hooks"),
        memory.from_transcripts(tmp_path / "from-transcripts"),
    )
    ways = [
        (memory, scripted(memory.client, scenario)),
        (from_transcripts, scripted(memory.client, scenario)),
        (from_hooks, scripted_for_hooks(memory.client, scenario)),
    ]
    for one, wanted in ways:
        one.take_in()
        assert_same(scenario, one.calls(session), wanted)
        again = one.take_in()
        assert again["events"] == 0
        one.close()


@pytest.mark.parametrize("make", claude_scenarios.COMPLETE, ids=lambda make: make.__name__)
def test_what_claude_code_did_is_known_from_its_transcripts_its_hooks_and_both(
    claude: Claude, home: Home, make: Make, tmp_path: Path
) -> None:
    recorded_three_ways(claude, home, make, tmp_path)


@pytest.mark.parametrize("make", codex_scenarios.COMPLETE, ids=lambda make: make.__name__)
def test_what_codex_did_is_known_from_its_transcripts_its_hooks_and_both(
    codex: Codex, home: Home, make: Make, tmp_path: Path
) -> None:
    recorded_three_ways(codex, home, make, tmp_path)


def recorded_three_ways(client: Client, home: Home, make: Make, tmp_path: Path) -> None:
    scenario = make(client.workspace)
    memory = home(client, "memory")
    memory.connect()

    run = client.run("Please see to this.", scenario=scenario)

    assert run.returncode == 0, run.stderr
    assert {path.name: path.read_text() for path in (memory.home / "hooks").glob("trouble.txt")} == {}
    known_three_ways(memory, run.session_id, scenario, tmp_path)
    session = memory.session(run.session_id)
    assert (session["agent"], session["workspace"]) == (memory.agent, str(client.workspace))
    assert session["lifecycle"] == "closed"
    prompts = [event["payload"]["text"] for event in memory.events(run.session_id, "prompt")]
    assert prompts == ["Please see to this."]


def test_which_files_went_where_is_known(client: Client, home: Home) -> None:
    scenario = scenarios(client).shell_moves(client.workspace)
    memory = home(client, "memory")
    memory.connect()

    run = client.run("File the scans.", scenario=scenario)
    memory.take_in()

    assert moved(memory, run.session_id) == {
        (f"{client.workspace}/scan1.txt", f"{client.workspace}/invoices"),
        (f"{client.workspace}/scan2.txt", f"{client.workspace}/invoices"),
    }


def moved(memory: Remembered, session: str) -> set[tuple[str, str]]:
    """Which file was moved to which folder, whatever it is called there."""
    files = memory.memory.history.state(session)["files_modified"]
    return {(one["from"], str(Path(one["path"]).parent)) for one in files if one["change"] == "renamed"}


def test_a_companion_at_work_knows_of_it_as_it_happens(client: Client, home: Home, gate: Gate) -> None:
    """The call that blocks is known to run before it ends; nothing waits for the end of the session."""
    scenario = scenarios(client).blocked(client.workspace, gate.command)
    memory = home(client, "memory")
    memory.connect()
    companion = subprocess.Popen(
        [PROGRAM, "run"], env=memory.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        started = client.start("Begin.", scenario=scenario)
        started.wait_for(gate.reached, "the blocked call")
        session = started.session_id
        memory.until(lambda: len(memory.memory.sessions.listing()) == 1, "the session")
        memory.until(lambda: len(memory.calls(session)) == 2, "both calls")

        assert memory.calls(session) == scripted(client, scenario)
    finally:
        companion.send_signal(signal.SIGTERM)
        out, err = companion.communicate(timeout=120)
    assert (companion.returncode, err) == (0, b""), out


def test_a_client_killed_in_mid_call_leaves_a_call_that_never_ended(
    client: Client, home: Home, gate: Gate, tmp_path: Path
) -> None:
    scenario = scenarios(client).blocked(client.workspace, gate.command)
    memory = home(client, "memory")
    memory.connect()
    started = client.start("Begin.", scenario=scenario)
    started.wait_for(gate.reached, "the blocked call")
    # What the client had not written when it was killed only its hooks know.
    started.wait_for(lambda: started.has_written(str(gate.path)), "the blocked call in the client's record")

    run = started.kill()

    from_hooks, from_transcripts = (
        memory.from_hooks(tmp_path / "from-hooks"),
        memory.from_transcripts(tmp_path / "from-transcripts"),
    )
    for one in (memory, from_transcripts, from_hooks):
        one.take_in()
        assert one.calls(run.session_id) == scripted(client, scenario)
        assert one.session(run.session_id)["lifecycle"] == "active"
        one.close()


def test_a_resumed_session_goes_on_in_the_same_record(client: Client, home: Home) -> None:
    made = scenarios(client)
    first, second = made.shell_moves(client.workspace), made.another_look(client.workspace)
    memory = home(client, "memory")
    memory.connect()
    began = client.run("File the scans.", scenario=first)
    memory.take_in()

    client.run("Are they still there?", scenario=second, resume=began.session_id)
    memory.take_in()

    assert memory.calls(began.session_id) == scripted(client, first, second)
    moves = [
        event["kind"] for event in memory.events(began.session_id) if event["kind"].startswith("session.")
    ]
    assert moves == ["session.open", "session.close", "session.resume", "session.close"]
    assert memory.session(began.session_id)["turns"] == 2


@pytest.mark.parametrize("connected", [True, False], ids=["hooks", "transcripts"])
def test_a_forked_session_is_one_of_its_own_that_stands_on_its_parents_past(
    client: Client, home: Home, connected: bool
) -> None:
    made = scenarios(client)
    first, second = made.shell_moves(client.workspace), made.another_look(client.workspace)
    memory = home(client, "memory")
    if connected:
        memory.connect()
    began = client.run("File the scans.", scenario=first)

    fork = client.run("Are they still there?", scenario=second, resume=began.session_id, fork=True)
    memory.take_in()

    assert memory.calls(began.session_id) == scripted(client, first)
    assert memory.calls(fork.session_id) == scripted(client, second)
    parent, child = memory.session(began.session_id), memory.session(fork.session_id)
    assert child["parent"] == parent["id"]
    assert moved(memory, fork.session_id) == moved(memory, began.session_id) != set()


def test_a_compaction_is_known_once(client: Client, home: Home) -> None:
    scenario = scenarios(client).long_talk(client.workspace)
    memory = home(client, "memory")
    memory.connect()

    run = client.run("Please see to this.", scenario=scenario)
    memory.take_in()

    assert len(memory.events(run.session_id, "evicted")) == 1


def test_the_next_session_in_the_folder_is_given_what_this_one_did_and_it_is_not_remembered_again(
    client: Client, home: Home
) -> None:
    memory = home(client, "memory")
    memory.connect()
    client.run("File the scans.", scenario=scenarios(client).shell_moves(client.workspace))
    memory.take_in()

    second = client.run("What did I do?")
    memory.take_in()

    [given] = {text for text in _strings(second.turns[0].body) if "Fazm Memory: what happened before" in text}
    assert "File the scans." in given
    for event in memory.events(second.session_id):
        assert "Fazm Memory: what happened before" not in json.dumps(event)


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for one in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _strings(one)


def test_the_client_knows_our_server_once_it_is_connected(client: Client, home: Home) -> None:
    memory = home(client, "memory")
    memory.connect()

    if isinstance(client, Claude):
        [begun] = [line for line in client.run("Hello.").stdout_json if line.get("subtype") == "init"]
        servers = [server["name"] for server in begun["mcp_servers"]]
    else:
        listed = client.call(str(client.binary), "mcp", "list", "--json").stdout
        servers = [server["name"] for server in json.loads(listed)]

    assert servers == ["fazm-memory"]


def test_after_disconnecting_nothing_is_dropped_and_the_settings_are_as_they_were(
    client: Client, home: Home
) -> None:
    folder = client.home / (".claude" if isinstance(client, Claude) else ".codex")
    settings = folder / ("settings.json" if isinstance(client, Claude) else "hooks.json")
    before = settings.read_bytes() if settings.exists() else None
    memory = home(client, "memory")
    memory.connect()

    memory.run("disconnect", memory.agent)
    run = client.run("Please see to this.", scenario=scenarios(client).another_look(client.workspace))

    assert run.returncode == 0, run.stderr
    assert list((memory.home / "spool").iterdir()) == []
    assert (settings.read_bytes() if settings.exists() else None) == before

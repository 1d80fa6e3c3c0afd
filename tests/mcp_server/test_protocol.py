"""The specification says what the code does: schemas, kinds, tiers, transitions, tools."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from mcp import Client

from fazm_memory.events.event import KINDS
from fazm_memory.events.kinds import LIFECYCLES, after_move
from fazm_memory.mcp_server import resources
from fazm_memory.mcp_server.calls import TOOLS
from fazm_memory.mcp_server.resources import PROMPTS
from fazm_memory.mcp_server.server import EXTENSION, EXTENSION_VERSION, MemoryServer
from tests.mcp_server.specification import calls, documents, schema

from .conftest import Asking, talk

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "protocol.md").read_text()


def rows(section: str) -> list[list[str]]:
    """The cells of the table in a section of the document, without its head."""
    found = TEXT.split(f"\n## {section}\n")[1].split("\n## ")[0]
    lines = [line for line in found.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("| ").split("|")] for line in lines[2:]]


@pytest.mark.parametrize("name", documents())
def test_what_machines_read_in_the_documentation_is_what_the_code_says(name: str) -> None:
    assert (DOCS / name).read_text() == documents()[name]
    assert f"[{name}]({name})" in TEXT


def test_the_schemas_are_schemas() -> None:
    Draft202012Validator.check_schema(schema())
    for tool in calls()["tools"]:
        Draft202012Validator.check_schema(tool["inputSchema"])
        Draft202012Validator.check_schema(tool["outputSchema"])


def test_every_kind_of_event_is_listed_with_its_tier() -> None:
    listed = {name: row[1] for row in rows("Events") for name in re.findall(r"`([^`]+)`", row[0])}
    assert listed == {name: "durable" if kind.durable else "transient" for name, kind in KINDS.items()}


def test_the_table_of_transitions_is_that_of_the_code() -> None:
    moves = ("pause", "resume", "close", "archive", "restore", "activity")
    table = [[state, *(after_move(state, move) or "–" for move in moves)] for state in LIFECYCLES]
    assert rows("Sessions and handles") == table


def test_every_call_resource_and_prompt_is_listed() -> None:
    listed = [name for row in rows("The calls") for name in re.findall(r"`([^`]+)`", row[0])]
    assert sorted(listed) == sorted(TOOLS)
    for name in (resources.CONTEXT, resources.STATE, resources.EVENTS, *PROMPTS):
        assert f"`{name}`" in TEXT


def test_the_server_announces_the_extension(server: MemoryServer) -> None:
    async def work() -> Any:
        async with Client(server.sdk, mode="auto") as client:
            return client.server_capabilities.extensions

    assert asyncio.run(work()) == {EXTENSION: {"version": EXTENSION_VERSION}}
    assert f"Version {EXTENSION_VERSION}, extension name `{EXTENSION}`" in TEXT


def test_every_event_validates_against_the_schema(server: MemoryServer) -> None:
    async def work(ask: Asking) -> list[dict[str, Any]]:
        session = (await ask("session_open", workspace="/w", title="Tidy"))["session"]
        await ask("action_record", session=session, tool="Bash", input={"command": "ls"}, error="timed out")
        await ask("decision_record", session=session, what="a", why="b", alternatives=["c"])
        await ask("fact_record", session=session, key="k", value={"deep": [1, None]})
        await ask("pending_add", session=session, what="later", id="p")
        await ask("pending_done", session=session, id="p")
        await ask("session_handoff", session=session, to="agent", note="?", answer_schema={"type": "string"})
        await ask("session_rewind", session=session, to=3)
        await ask("session_pause", session=session)
        await ask("session_close", session=session, reason="done")
        text = (await ask.client.read_resource(f"fazm-memory://sessions/{session}/events")).contents[0]
        return list(json.loads(str(getattr(text, "text", "")))["events"])

    validator = Draft202012Validator(schema())
    events = talk(server, work)
    assert len(events) == 10
    for event in events:
        validator.validate(event)


@pytest.mark.parametrize(
    "change", [{"kind": "no.such"}, {"trust": "certain"}, {"payload": {"what": 1}}, {"seq": -1}]
)
def test_what_is_no_event_does_not_validate(change: dict[str, Any]) -> None:
    event = {"session": "s", "seq": 0, "at": "2026-11-15T09:00:00+00:00", "turn": 0, "kind": "decision",
             "actor": "agent", "source": "mcp", "trust": "agent", "payload": {"what": "x"}, "digest": "ab",
             "prev": ""}  # fmt: skip
    validator = Draft202012Validator(schema())
    assert validator.is_valid(event)
    assert not validator.is_valid(event | change)


def test_the_page_names_every_call_with_its_arguments() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", TEXT.partition("| call | takes")[2], re.MULTILINE)
    everywhere = {"turn", "expected_seq", "trust", "max_tokens", "cursor", "limit"}
    named = {name: set(re.findall(r"(\**\w+\**)(?:, |$)", takes)) for name, takes in rows}
    calls = json.loads((DOCS / "protocol.calls.json").read_text())["tools"]
    for call in calls:
        schema = call["inputSchema"]
        required = set(schema.get("required", ()))
        # What appends takes a turn and trust; here they are filters.
        left_out = everywhere - {"turn", "trust"} if call["name"] == "session_events" else everywhere
        shown = {name for name in schema["properties"] if name not in left_out}
        assert named[call["name"]] == {f"**{name}**" if name in required else name for name in shown}


def test_the_agent_of_the_page_goes_on_where_it_stopped(tmp_path: Path) -> None:
    folder = tmp_path / "w"
    folder.mkdir()
    (folder / "a.txt").write_text("one\ntwo\n")
    (folder / "b.txt").write_text("one\n")
    (folder / "c.bin").write_bytes(b"\xff\xfe\x00")
    env = os.environ | {
        "HOME": str(tmp_path), "FAZM_MEMORY_HOME": str(tmp_path / "home"), "FAZM_MEMORY_KEY": "file",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }  # fmt: skip
    said = []
    for most in ("1", "5", "5"):
        command = [sys.executable, str(DOCS / "example-agent.py"), str(folder), most]
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        said.append(done.stdout.strip())
    counted = '{"lines of a.txt": "2", "lines of b.txt": "1"} 0 left'
    assert said == ['{"lines of a.txt": "2"} 2 left', counted, counted]

"""What is answered before the SDK is loaded is what the SDK would have said, and nothing said is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from fazm_memory.mcp_server.server import MemoryServer
from fazm_memory.mcp_server.static_lists import answer
from fazm_memory.mcp_server.stdio import VERSIONS, Preload, initialize_result

from .conftest import Asking, OpenServer, talk


def initialize(version: str = VERSIONS[-1], number: Any = 1) -> dict[str, Any]:
    client = {"name": "x", "version": "1"}
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": client}
    return {"jsonrpc": "2.0", "id": number, "method": "initialize", "params": params}


PROMPTS = {"jsonrpc": "2.0", "id": "p", "method": "prompts/list"}
TEMPLATES = {"jsonrpc": "2.0", "id": "t", "method": "resources/templates/list"}
RESOURCES = {"jsonrpc": "2.0", "id": "r", "method": "resources/list"}
LIST = {"jsonrpc": "2.0", "id": "l", "method": "tools/list"}
CALL = {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "session_list"}}


def attended(*messages: object) -> tuple[list[dict[str, Any]], Preload, list[str]]:
    """Let a client say all this and go; the answers, the preload, and what the SDK would read."""
    source, client = os.pipe()
    answers, sink = os.pipe()
    never, held = os.pipe()
    os.write(
        client,
        b"".join((one if isinstance(one, bytes) else json.dumps(one).encode() + b"\n") for one in messages),
    )
    os.close(client)
    preload = Preload(source, sink, drain_seconds=0)
    preload.serve_until(never)
    os.close(sink)
    with os.fdopen(answers) as file:
        replies = [json.loads(line) for line in file]
    with preload.reader() as reader:
        left = reader.read().splitlines()
    for descriptor in (source, never, held):
        os.close(descriptor)
    return replies, preload, left


@pytest.mark.parametrize("tool_set", ["small", "full"])
@pytest.mark.parametrize("version", VERSIONS)
def test_the_greeting_is_what_the_sdk_says(open_server: OpenServer, version: str, tool_set: str) -> None:
    server = open_server(tools=tool_set)

    async def work(ask: Asking) -> tuple[Any, ...]:
        result, client = ask.client.session.initialize_result, ask.client
        assert result is not None
        lists = await client.list_prompts(), await client.list_resource_templates()
        return result, await client.list_tools(), *lists

    result, tools, prompts, templates = talk(server, work)
    shown = result.model_dump(by_alias=True, mode="json", exclude_none=True, exclude={"meta"})
    shown.pop("resultType", None)
    assert initialize_result(version, tool_set) | {"protocolVersion": shown["protocolVersion"]} == shown
    listed = [one.model_dump(by_alias=True, mode="json", exclude_none=True) for one in tools.tools]
    assert answer(LIST, tool_set) == {"tools": listed}
    for asked, shown in ((PROMPTS, prompts), (TEMPLATES, templates)):
        sdk = shown.model_dump(by_alias=True, mode="json", exclude_none=True)
        assert answer(asked) == {name: sdk[name] for name in sdk if name in ("prompts", "resourceTemplates")}


def test_a_handshake_is_answered_and_kept_for_the_sdk() -> None:
    messages, preload, left = attended(initialize(number="a"), LIST, CALL, b'{"half')
    assert [one["id"] for one in messages] == ["a", "l"]
    assert preload.initialized == "a"
    assert [json.loads(line)["id"] for line in left[:2]] == ["a", 9]
    assert left[2] == '{"half'


@pytest.mark.parametrize(
    "first",
    [
        LIST,
        CALL,
        initialize("2026-07-28"),
        initialize(number=None),
        initialize(number=True),
        {**initialize(), "params": {}},
        {**initialize(), "params": {**initialize()["params"], "clientInfo": {"name": 1}}},
        {**initialize(), "jsonrpc": "1.0"},
        b"no json\n",
        b"[" * 20_000 + b"\n",
        b"\xff\n",
    ],
)
def test_what_does_not_begin_with_a_handshake_is_left_to_the_sdk(first: object) -> None:
    messages, preload, left = attended(first, initialize(), LIST)
    assert messages == []
    assert preload.initialized is None
    assert len(left) == 3


def test_only_the_second_answer_to_the_handshake_is_quarantined() -> None:
    answers, sink = os.pipe()
    preload = Preload(0, sink)
    preload.initialized = 1
    writer = preload.writer()
    for number in (7, 1, 1):
        writer.write(json.dumps({"jsonrpc": "2.0", "id": number, "result": {}}) + "\n")
    writer.flush()
    os.close(sink)
    with os.fdopen(answers) as file:
        assert [json.loads(line)["id"] for line in file] == [7, 1]


SDK_AND_STORE = {"mcp", "mcp_types", "pydantic", "asyncio", "peewee", "sqlcipher3", "jsonschema", "re2"}
SHAPES = {"fazm_memory.events.event", "fazm_memory.engines.redaction"}
SLOW = {"webbrowser", "secrets", "hashlib", "random", "urllib.parse", "logging"}
MAKERS = {"dataclasses", "inspect", "fazm_memory.mcp_server.static_lists"}


@pytest.mark.parametrize(
    ("module", "left"),
    [
        ("fazm_memory.mcp_server.stdio", SDK_AND_STORE | SHAPES | SLOW | MAKERS),
        ("fazm_memory.cli.commands.serve", SDK_AND_STORE | SHAPES | SLOW | MAKERS),
        ("fazm_memory.mcp_server.static_lists", SDK_AND_STORE | SHAPES | {"webbrowser", "secrets", "random"}),
    ],
)
def test_what_is_answered_early_waits_for_nothing_that_it_does_not_need(module: str, left: set[str]) -> None:
    code = f"import sys; had = set(sys.modules); import {module}; print(*sorted(set(sys.modules) - had))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert module in done.stdout.split()
    assert left & set(done.stdout.split()) == set()


def test_addresses_are_listed_early_and_the_next_page_goes_on_from_there(server: MemoryServer) -> None:
    early = answer(RESOURCES)
    assert early is not None

    async def work(ask: Asking) -> tuple[Any, Any]:
        for number in range(25):
            await ask("session_open", title=f"task {number}", context=False)
        rest = await ask.client.list_resources(cursor=early["nextCursor"])
        return await ask.client.list_resources(), rest

    whole, rest = talk(server, work)
    listed = [one.model_dump(by_alias=True, mode="json", exclude_none=True) for one in whole.resources]
    after = [one.model_dump(by_alias=True, mode="json", exclude_none=True) for one in rest.resources]
    assert [*early["resources"], *after] == listed
    assert whole.next_cursor == rest.next_cursor


@pytest.mark.parametrize("params", [None, {}, {"_meta": {"progressToken": 0}}, {"cursor": None}])
def test_a_list_is_reported_early_also_to_a_client_that_would_hear_of_progress(params: Any) -> None:
    assert answer({**LIST, "params": params}) == answer(LIST)


@pytest.mark.parametrize("params", [[], "x", {"cursor": "c"}, {"_meta": 1}, {"other": 1}])
def test_a_list_from_another_place_is_left_to_the_sdk(params: Any) -> None:
    assert answer({**LIST, "params": params}) is None

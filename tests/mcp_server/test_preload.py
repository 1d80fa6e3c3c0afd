"""What is answered before the SDK is loaded is what the SDK would have said, and nothing said is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from fazm_memory.app.memory import Memory
from fazm_memory.mcp_server.calls import TOOLS_BY_SET, answer, plainly_valid
from fazm_memory.mcp_server.server import MemoryServer
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


def attended(
    *messages: object, memory: Memory | None = None, tools: str = "small"
) -> tuple[list[dict[str, Any]], Preload, list[str]]:
    """Let a client say all this and go; the answers, the preload, and what the SDK would read."""
    source, client = os.pipe()
    answers, sink = os.pipe()
    never, held = os.pipe()
    os.write(
        client,
        b"".join((one if isinstance(one, bytes) else json.dumps(one).encode() + b"\n") for one in messages),
    )
    os.close(client)
    preload = Preload(source, sink, drain_seconds=0, memory=memory, tools=tools)
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


def tool_call(number: int, name: str, **arguments: Any) -> dict[str, Any]:
    params = {"name": name, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}


@pytest.mark.parametrize("name", ["session_list", "memory_search", "session_state"])
def test_a_call_before_the_sdk_is_loaded_gets_the_answer_of_the_sdk(
    open_server: OpenServer, name: str
) -> None:
    """The last one is an error: there is no such session."""
    server = open_server(tools="full")
    given = {"session_list": {}, "memory_search": {"query": "nothing"}, "session_state": {"session": "none"}}

    async def work(ask: Asking) -> Any:
        return await ask.client.call_tool(name, given[name])

    sdk = talk(server, work, name="x").model_dump(by_alias=True, mode="json", exclude_none=True)
    sdk.pop("resultType", None)
    replies, _, left = attended(
        initialize(), tool_call(2, name, **given[name]), memory=server.memory, tools="full"
    )
    assert replies[1] == {"jsonrpc": "2.0", "id": 2, "result": sdk}
    assert len(left) == 1


def test_early_notes_go_to_the_session_that_later_ones_go_to(open_server: OpenServer) -> None:
    memory = open_server().memory
    note = {"kind": "decision", "text": "date first", "why": "it sorts"}
    replies, preload, _ = attended(
        initialize(),
        tool_call(2, "session_note", **note),
        tool_call(3, "session_note", **note),
        memory=memory,
    )
    sessions = {reply["result"]["structuredContent"]["session"] for reply in replies[1:]}
    later = open_server(tools="small", connection=preload.connection)

    async def work(ask: Asking) -> dict[str, Any]:
        return await ask("session_note", **note)

    assert sessions == {talk(later, work, name="x")["session"]}


def test_calls_behind_one_that_only_the_sdk_can_answer_stay_behind_it(open_server: OpenServer) -> None:
    memory = open_server().memory
    question = tool_call(2, "session_note", kind="handoff", text="Which?", to="human")
    replies, preload, left = attended(
        initialize(), question, tool_call(3, "memory_search", query="x"), memory=memory
    )
    assert [reply["id"] for reply in replies] == [1]
    assert [json.loads(line)["id"] for line in left] == [1, 2, 3]
    assert not preload.all_answered()


def test_a_client_that_goes_after_early_answers_leaves_nothing_for_the_sdk(open_server: OpenServer) -> None:
    initialized = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    call = tool_call(3, "memory_search", query="x")
    assert attended(initialize(), initialized, call, memory=open_server().memory)[1].all_answered()
    assert not attended(initialize(), call)[1].all_answered()


def test_the_sdk_is_loaded_when_the_client_is_silent() -> None:
    source, client = os.pipe()
    _, sink = os.pipe()
    loaded, loading = os.pipe()
    preload = Preload(source, sink)
    preload.serve_until(loaded, lambda: os.close(loading))  # returns only when it was loaded
    for descriptor in (source, client, sink, loaded):
        os.close(descriptor)


VALUES: list[Any] = [
    None,
    True,
    0,
    3,
    -1,
    1.0,
    2.5,
    "",
    "a",
    "agent",
    [],
    ["a"],
    [1],
    {},
    {"x": 1},
    "y" * 300,
]


@pytest.mark.parametrize("tool_set", ["small", "full"])
def test_the_quick_check_of_arguments_accepts_nothing_that_the_schema_refuses(tool_set: str) -> None:
    accepted = 0
    for tool in TOOLS_BY_SET[tool_set].values():
        validator = Draft202012Validator(tool.input_schema)
        required = dict.fromkeys(tool.input_schema["required"], "a")
        for name in [*tool.input_schema["properties"], "unknown"]:
            for value in VALUES:
                arguments = {**required, name: value}
                if plainly_valid(tool.input_schema, arguments):
                    accepted += 1
                    assert validator.is_valid(arguments), (tool.name, arguments)
    assert accepted > 20


SDK_AND_STORE = {"mcp", "mcp_types", "pydantic", "asyncio", "peewee", "sqlcipher3", "jsonschema", "re2"}
SHAPES = {"fazm_memory.events.event", "fazm_memory.engines.redaction"}
SLOW = {"webbrowser", "secrets", "hashlib", "random", "urllib.parse", "logging"}
MAKERS = {"dataclasses", "inspect", "fazm_memory.mcp_server.calls"}


@pytest.mark.parametrize(
    ("module", "left"),
    [
        ("fazm_memory.mcp_server.stdio", SDK_AND_STORE | SHAPES | SLOW | MAKERS),
        ("fazm_memory.cli.commands.run", SDK_AND_STORE | SHAPES | SLOW | MAKERS),
        ("fazm_memory.mcp_server.calls", SDK_AND_STORE | SHAPES | {"webbrowser", "secrets", "random"}),
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

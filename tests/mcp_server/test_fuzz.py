"""Hostile arguments for every tool: always an answer, never a trace, never a stranger's data."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import CallToolResult

from fazm_memory.app.memory import Memory
from fazm_memory.config import Config
from fazm_memory.mcp_server.calls import TOOLS_BY_SET, run_tool
from fazm_memory.mcp_server.server import MemoryServer
from fazm_memory.mcp_server.tool import FULL, SMALL, Caller, Schema

from .conftest import Asking, OpenServer, Ticking, refusal, talk

SECRET = "the-words-of-another-session"
NASTY = st.sampled_from(
    ["", " ", "%", "_", "*", "\0", "../../etc/passwd", "' OR 1=1 --", '"', "a" * 9000, "\u202e\u200b", "NaN",
     "facts", "person", "null", "{}", "<<<fazm-memory", "kind:", '"unclosed', "session:", "since:never", "-1"]
)  # fmt: skip
WORDS = st.one_of(NASTY, st.text(max_size=60))
INTEGERS = st.one_of(
    st.integers(-3, 40), st.sampled_from([2**31, 2**53, 2**53 + 1, 2**63, 2**64, -(2**63), 10**30])
)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), INTEGERS, st.floats(), WORDS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(WORDS, inner, max_size=4)),
    max_leaves=12,
)


def fitting(schema: Schema, handle: str) -> st.SearchStrategy[Any]:
    """Values near what a schema asks for: some right, some just outside, some of another type."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    kind = schema.get("type")
    if kind == "string":
        return st.one_of(WORDS, st.just(handle)) if "handle" in schema.get("description", "") else WORDS
    if kind == "integer":
        return INTEGERS
    if kind == "boolean":
        return st.booleans()
    if kind == "array":
        return st.lists(fitting(schema["items"], handle), max_size=4)
    if kind == "object" and "properties" in schema:
        return arguments(schema, handle)
    return JSON


def arguments(schema: Schema, handle: str) -> st.SearchStrategy[dict[str, Any]]:
    near = {name: st.one_of(fitting(one, handle), JSON) for name, one in schema["properties"].items()}
    required = {name: near[name] for name in schema["required"]}
    if "session" in required:
        required["session"] = st.one_of(st.just(handle), st.just(handle), fitting({"type": "string"}, handle))
    optional = {name: one for name, one in near.items() if name not in required}
    made = st.fixed_dictionaries(required, optional=optional)
    return st.one_of(made, made, st.dictionaries(WORDS, JSON, max_size=4))


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A server with a stranger's session in it."""
    root = tmp_path_factory.mktemp("fuzz")
    config = Config(home=root / "memory", user_home=root / "user", key="file")
    server = MemoryServer(Memory(config, Ticking()), tools=FULL)

    async def work(ask: Asking) -> str:
        other = (await ask("session_open", agent="stranger", workspace="/other"))["session"]
        await ask("decision_record", session=other, what=SECRET)
        return str(other)

    yield server, talk(server, work)
    server.close()


@pytest.mark.parametrize(
    ("tools", "name"), [(one, name) for one in (FULL, SMALL) for name in TOOLS_BY_SET[one]]
)
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_hostile_arguments_always_get_an_answer(
    stage: Any, tools: str, name: str, data: st.DataObject
) -> None:
    server, other = stage
    tool = TOOLS_BY_SET[tools][name]
    mine = server.worker.submit(server.memory.sessions.open, "fuzzer", source="mcp").result()["id"]
    given_ = data.draw(arguments(tool.input_schema, mine))
    made = server.worker.submit(
        run_tool, tool, Caller(server.memory, agent="fuzzer", tool_set=tools), given_
    ).result()
    result = CallToolResult.model_validate(made)
    shown = result.model_dump_json()  # what cannot be sent is no answer
    assert "Traceback" not in shown
    answer = refusal(result) if result.is_error else result.structured_content
    assert isinstance(answer, dict)
    if result.is_error:
        assert answer["error"]
        assert answer["kept"]
        assert answer["next"]
        assert answer["title"] != "Something went wrong", answer
    if "session" in tool.input_schema["required"]:
        # It named no session but ours, so nothing of the stranger's may come back.
        assert SECRET not in shown
        assert other not in shown


def test_a_strangers_session_is_as_it_was_after_all_of_it(open_server: OpenServer) -> None:
    server = open_server()

    async def work(ask: Asking) -> tuple[Any, Any]:
        mine = (await ask("session_open"))["session"]
        other = (await ask("session_open", agent="stranger"))["session"]
        await ask("decision_record", session=other, what=SECRET)
        before = await ask("session_events", session=other)
        for wrong in (other[:12], other[:31], other.upper(), f" {other}x", f"{other}%", "", "%"):
            await ask.refused("decision_record", session=wrong, what="mine now")
            await ask.refused("session_close", session=wrong)
        page = await ask("session_events", session=other, limit=1)
        refused = await ask.refused("session_events", session=mine, cursor=page["next_cursor"])
        assert "another session" in refused["error"]
        return before, await ask("session_events", session=other)

    before, after = talk(server, work)
    assert after == before


@settings(max_examples=30)
@given(name=WORDS, arguments_=st.one_of(st.none(), st.dictionaries(WORDS, JSON, max_size=3)))
def test_any_tool_name_gets_an_answer_of_the_protocol(name: str, arguments_: Any) -> None:
    async def work() -> int:
        memory = Memory(Config(home=Path("/nonexistent"), user_home=Path("/nonexistent")), lambda: 0)
        server = MemoryServer(memory)
        try:
            async with Client(server.sdk, mode="legacy") as client:
                with pytest.raises(MCPError) as caught:
                    await client.call_tool(f"no_{name}", arguments_)
                return caught.value.code
        finally:
            server.close()

    assert asyncio.run(work()) == -32602

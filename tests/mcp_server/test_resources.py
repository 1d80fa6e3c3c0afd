"""Resources, their templates, and the prompts."""

from __future__ import annotations

import json
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from fazm_memory.mcp_server.server import MemoryServer

from .conftest import Asking, talk


async def read(ask: Asking, uri: str) -> str:
    return str(getattr((await ask.client.read_resource(uri)).contents[0], "text", ""))


async def decided(ask: Asking) -> str:
    handle = str((await ask("session_open", workspace="/w", title="Tidy"))["session"])
    await ask("decision_record", session=handle, what="dates first")
    return handle


def test_the_context_and_every_session_have_an_address(server: MemoryServer) -> None:
    async def work(ask: Asking) -> tuple[list[str], list[str]]:
        for number in range(25):
            await ask("session_open", title=f"n{number}", context=False)
        listed: list[str] = []
        cursor: str | None = None
        while True:
            page = await ask.client.list_resources(cursor=cursor)
            listed += [one.uri for one in page.resources]
            cursor = page.next_cursor
            if cursor is None:
                break
        templates = await ask.client.list_resource_templates()
        return listed, [one.uri_template for one in templates.resource_templates]

    listed, templates = talk(server, work)
    assert listed[0] == "fazm-memory://context"
    assert len(set(listed)) == 26
    assert templates == [
        "fazm-memory://sessions/{id}/state",
        "fazm-memory://sessions/{id}/events{?from,to}",
    ]


def test_state_and_events_are_read_by_address(server: MemoryServer) -> None:
    async def work(ask: Asking) -> tuple[Any, Any, str]:
        handle = await decided(ask)
        state = await read(ask, f"fazm-memory://sessions/{handle}/state")
        events = await read(ask, f"fazm-memory://sessions/{handle}/events?from=1&to=2")
        return json.loads(state), json.loads(events), await read(ask, "fazm-memory://context")

    state, events, context = talk(server, work)
    assert [one["what"] for one in state["decisions_made"]] == ["dates first"]
    assert [one["seq"] for one in events["events"]] == [1]
    assert events["next"] is None
    assert "dates first" in context


@pytest.mark.parametrize(
    "uri",
    [
        "fazm-memory://sessions/0123456789abcdef/state",
        "fazm-memory://sessions//state",
        "fazm-memory://sessions/a/b/state",
        "fazm-memory://nowhere",
        "file:///etc/passwd",
        "fazm-memory://[",
        "fazm-memory://sessions/%2e%2e/events?from=x",
    ],
)
def test_an_address_of_nothing_is_a_protocol_error(server: MemoryServer, uri: str) -> None:
    async def work(ask: Asking) -> MCPError:
        await decided(ask)
        with pytest.raises(MCPError) as caught:
            await ask.client.read_resource(uri)
        return caught.value

    assert talk(server, work).code == -32602


def test_a_position_that_is_none_is_reported(server: MemoryServer) -> None:
    async def work(ask: Asking) -> str:
        handle = await decided(ask)
        with pytest.raises(MCPError) as caught:
            await ask.client.read_resource(f"fazm-memory://sessions/{handle}/events?from=-1")
        return caught.value.message

    assert "Invalid position" in talk(server, work)


def test_the_prompts_carry_the_memory_in_them(server: MemoryServer) -> None:
    async def work(ask: Asking) -> tuple[str, list[str], list[str]]:
        handle = await decided(ask)
        names = [one.name for one in (await ask.client.list_prompts()).prompts]
        results = [
            await ask.client.get_prompt("resume"),
            await ask.client.get_prompt("resume", {"session": handle}),
            await ask.client.get_prompt("continue_like_yesterday", {"workspace": "/w"}),
        ]
        return handle, names, [str(getattr(one.messages[0].content, "text", "")) for one in results]

    handle, names, texts = talk(server, work)
    assert names == ["resume", "continue_like_yesterday"]
    assert all("dates first" in text for text in texts)
    assert handle in texts[0]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [("nothing", {}), ("resume", {"session": "zzzz"}), ("resume", {"other": "1"}), ("resume", {})],
)
def test_a_prompt_that_cannot_be_given_is_a_protocol_error(
    server: MemoryServer, name: str, arguments: dict[str, str]
) -> None:
    async def work(ask: Asking) -> int:
        with pytest.raises(MCPError) as caught:
            await ask.client.get_prompt(name, arguments)
        return caught.value.code

    assert talk(server, work) == -32602


def test_a_cursor_that_is_not_ours_is_refused_on_every_list(server: MemoryServer) -> None:
    async def work(ask: Asking) -> list[int]:
        codes = []
        lists = (ask.client.list_tools, ask.client.list_resources, ask.client.list_prompts)
        for listing in (*lists, ask.client.list_resource_templates):
            with pytest.raises(MCPError) as caught:
                await listing(cursor="bm90IG91cnM")
            codes.append(caught.value.code)
        return codes

    assert talk(server, work) == [-32602] * 4

"""A server over a memory of its own, and the SDK's own client beside it in the same process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
from mcp import Client
from mcp_types import CallToolResult, Implementation

from fazm_memory.app.memory import Memory
from fazm_memory.config import Config
from fazm_memory.mcp_server.calls import ERROR, HostAgent
from fazm_memory.mcp_server.server import MemoryServer

T = TypeVar("T")
START = 1_794_733_200_000_000  # 2026-11-15, nine in the morning UTC


class Ticking:
    """A clock that moves a second with every look."""

    def __init__(self) -> None:
        self.at = START

    def __call__(self) -> int:
        self.at += 1_000_000
        return self.at


OpenServer = Callable[..., MemoryServer]


@pytest.fixture
def open_server(tmp_path: Path) -> Iterator[OpenServer]:
    """Opens a server on the test's store, as often as asked; each is a connection of its own."""
    opened: list[MemoryServer] = []

    def opener(host: HostAgent | None = None, *, tools: str = "full", **more: Any) -> MemoryServer:
        config = Config(home=tmp_path / "memory", user_home=tmp_path / "user", key="file")
        server = MemoryServer(Memory(config, Ticking()), host, tools=tools, **more)
        opened.append(server)
        return server

    yield opener
    for server in opened:
        server.close()


@pytest.fixture
def server(open_server: OpenServer) -> MemoryServer:
    return open_server()


def refusal(result: CallToolResult) -> dict[str, Any]:
    """A refusal as data."""
    assert result.structured_content is None
    assert result.meta is not None
    return dict(result.meta[ERROR])


class Asking:
    """A client whose calls give the data, or the error, without ceremony."""

    def __init__(self, client: Client) -> None:
        self.client = client

    async def __call__(self, tool_name: str, /, **given: Any) -> dict[str, Any]:
        result = await self.client.call_tool(tool_name, given)
        assert not result.is_error, result.content
        assert isinstance(result.structured_content, dict)
        return result.structured_content

    async def refused(self, tool_name: str, /, **given: Any) -> dict[str, Any]:
        result = await self.client.call_tool(tool_name, given)
        assert result.is_error, result.structured_content
        return refusal(result)

    async def text(self, tool_name: str, /, **given: Any) -> str:
        results = await self.client.call_tool(tool_name, given)
        return "\n".join(part.text for part in results.content if part.type == "text")


def talk(server: MemoryServer, work: Callable[[Asking], Awaitable[T]], *, name: str = "fazm") -> T:
    """Connect a client to the server, let it work, and give what it found."""

    async def run() -> T:
        result = Implementation(name=name, version="1")
        async with Client(server.sdk, client_info=result, mode="legacy") as client:
            await client.list_tools()  # the client checks answers against the schemas it has listed
            return await work(Asking(client))

    return asyncio.run(run())

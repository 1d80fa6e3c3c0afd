"""The server on its two transports: stdio, and streamable HTTP for agents that cannot start a program.

Imports the SDK.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from typing import TYPE_CHECKING, Any

import anyio
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings

from fazm_memory.app import Memory
from fazm_memory.loopback import BODY, LOOPBACK
from fazm_memory.mcp_server.calls import from_environment
from fazm_memory.mcp_server.server import MemoryServer
from fazm_memory.mcp_server.stdio import Preload

if TYPE_CHECKING:
    from starlette.applications import Starlette

MCP_PATH = "/mcp"


def serve_client(memory: Memory, preload: Preload) -> None:
    """Serve the stdio client of `preload`, beginning with the lines that it kept."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="fazm-memory mcp: %(message)s")
    host = from_environment(memory.config.environment)
    server = MemoryServer(memory, host, tools=preload.tools, connection=preload.connection)
    try:
        asyncio.run(_serve(server, preload))
    finally:
        server.close()


async def _serve(server: MemoryServer, preload: Preload) -> None:
    writer: Any = preload.writer()  # has all methods of a file that the transport uses
    streams = stdio_server(stdin=anyio.wrap_file(preload.reader()), stdout=anyio.wrap_file(writer))
    async with streams as (read, write):
        await server.sdk.run(read, write, server.sdk.create_initialization_options())


def http_app(server: MemoryServer, *, port: int) -> Starlette:
    """The server's one HTTP route. Put the loopback guard in front of it."""
    hosts = [f"{name}:{port}" for name in LOOPBACK]
    return server.sdk.streamable_http_app(
        streamable_http_path=MCP_PATH,
        max_request_body_size=BODY,
        transport_security=TransportSecuritySettings(
            allowed_hosts=hosts, allowed_origins=[f"http://{host}" for host in hosts]
        ),
    )

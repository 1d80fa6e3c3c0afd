"""The SDK's side of stdio: takes over what the doorway has kept. Loaded late, since it loads the SDK."""

from __future__ import annotations

import asyncio
import logging
import sys
from typing import Any

import anyio
from mcp.server.stdio import stdio_server

from fazm_memory.mcp_server.doorway import Doorway
from fazm_memory.mcp_server.host import from_environment
from fazm_memory.mcp_server.server import MemoryServer
from fazm_memory.memory import Memory


def serve(memory: Memory, doorway: Doorway) -> None:
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="fazm-memory mcp: %(message)s")
    server = MemoryServer(memory, from_environment(memory.config.environment))
    try:
        asyncio.run(_serve(server, doorway))
    finally:
        server.close()


async def _serve(server: MemoryServer, doorway: Doorway) -> None:
    writer: Any = doorway.writer()  # all of a file that the transport uses
    streams = stdio_server(stdin=anyio.wrap_file(doorway.reader()), stdout=anyio.wrap_file(writer))
    async with streams as (read, write):
        await server.sdk.run(read, write, server.sdk.create_initialization_options())

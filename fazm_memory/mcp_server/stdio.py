"""MCP on stdio: one client, for as long as it keeps our stdin open."""

from __future__ import annotations

import asyncio
import logging
import sys

from mcp.server.stdio import stdio_server

from fazm_memory.mcp_server.host import from_environment
from fazm_memory.mcp_server.server import MemoryServer
from fazm_memory.memory import Memory


def run(memory: Memory) -> None:
    """Serve until the client goes away. stdout belongs to the protocol; what we say goes to stderr."""
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="fazm-memory mcp: %(message)s")
    server = MemoryServer(memory, from_environment(memory.config.environment))
    try:
        asyncio.run(_serve(server))
    finally:
        server.close()


async def _serve(server: MemoryServer) -> None:
    async with stdio_server() as (read, write):
        await server.sdk.run(read, write, server.sdk.create_initialization_options())

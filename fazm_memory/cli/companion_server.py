"""What the companion serves on the loopback: the page and, once an agent asks for it, MCP over HTTP."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from fazm_memory.cli.main import memory_of

if TYPE_CHECKING:
    from starlette.applications import Starlette

MCP = "/mcp"


def companion_server(chosen: argparse.Namespace) -> Any:
    """A server that has not begun: `with server.beside():` runs it in a thread of its own."""
    from fazm_memory.loopback.later import Later
    from fazm_memory.web.serving import PageServer

    made: list[Any] = []

    def agents(port: int) -> dict[str, Starlette]:
        def make() -> Starlette:
            from fazm_memory.mcp_server.http import application
            from fazm_memory.mcp_server.server import MemoryServer

            made.append(MemoryServer(memory_of(chosen)))
            return application(made[-1], port=port)

        def done() -> None:
            for server in made:
                server.close()

        return {MCP: Later(make, done)}

    home = memory_of(chosen).config.home
    return PageServer(lambda: memory_of(chosen), home, otherwise_any=True, apps=agents)

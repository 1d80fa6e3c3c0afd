"""MCP over streamable HTTP, for agents that cannot start a program of their own.

Who serves it puts the guard before it: the SDK's own checks of Host and Origin are the second line.
"""

from __future__ import annotations

from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette

from fazm_memory.loopback.guard import BODY, LOOPBACK
from fazm_memory.mcp_server.server import MemoryServer

PATH = "/mcp"


def application(server: MemoryServer, *, port: int) -> Starlette:
    """The server's one route, for a port of the loopback."""
    hosts = [f"{name}:{port}" for name in LOOPBACK]
    return server.sdk.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=BODY,
        transport_security=TransportSecuritySettings(
            allowed_hosts=hosts, allowed_origins=[f"http://{host}" for host in hosts]
        ),
    )

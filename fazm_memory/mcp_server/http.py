"""MCP over streamable HTTP on a loopback port, for agents that cannot start a program of their own.

The token lives in a private file of the data folder. It is never printed, nor part of an address.
"""

from __future__ import annotations

import logging
import secrets
import signal
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings

from fazm_memory.errors import StoreUnsafe
from fazm_memory.mcp_server.guard import BODY, LOOPBACK, App, Guard
from fazm_memory.mcp_server.server import MemoryServer
from fazm_memory.memory import Memory
from fazm_memory.private import private_folder, write_private

ADDRESS = "127.0.0.1"
PORT = 47813
PATH = "/mcp"
TOKEN = "serve-token"
SHORTEST_TOKEN = 32  # characters: of those we make, 192 bits


def token_of(home: Path, *, new: bool = False) -> tuple[Path, str]:
    """The token file and what it holds; made when there is none, or when a new one is asked for."""
    private_folder(home)
    path = home / TOKEN
    if new or not path.exists():
        write_private(path, secrets.token_urlsafe(32).encode())
    if path.is_symlink() or path.stat().st_mode & 0o077:
        raise StoreUnsafe(f"{path} can be read by others", hint="delete it; the next start makes a new one")
    token = path.read_text().strip()
    if len(token) < SHORTEST_TOKEN:
        raise StoreUnsafe(f"{path} holds no token", hint="delete it; the next start makes a new one")
    return path, token


def application(server: MemoryServer, *, token: str, port: int) -> App:
    """The whole of what is reachable over HTTP, behind the guard."""
    hosts = [f"{name}:{port}" for name in LOOPBACK]
    app = server.sdk.streamable_http_app(
        streamable_http_path=PATH,
        max_request_body_size=BODY,
        transport_security=TransportSecuritySettings(
            allowed_hosts=hosts, allowed_origins=[f"http://{host}" for host in hosts]
        ),
    )
    return Guard(app, token=token, port=port)


def run(memory: Memory, *, port: int, new_token: bool, started: Callable[[str, Path], None]) -> None:
    """Serve until stopped; `started` is told the address and the token's file once it listens."""
    path, token = token_of(memory.config.home, new=new_token)
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="fazm-memory serve: %(message)s")
    with socket.create_server((ADDRESS, port)) as listener:
        bound = int(listener.getsockname()[1])
        server = MemoryServer(memory)
        # uvicorn ends on these by itself, then hands them on: to us, so that the store is closed in order.
        signal.signal(signal.SIGTERM, _end)
        try:
            app = application(server, token=token, port=bound)
            config = uvicorn.Config(
                app, access_log=False, log_level="warning", server_header=False, ws="none"
            )
            started(f"http://{ADDRESS}:{bound}{PATH}", path)
            uvicorn.Server(config).run(sockets=[listener])
        finally:
            server.close()


def _end(number: int, frame: FrameType | None) -> None:
    raise SystemExit(0)

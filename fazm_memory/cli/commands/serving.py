"""`fazm-memory mcp` and `fazm-memory serve`: the memory for agents, on stdio and on a loopback port."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from fazm_memory.cli.main import memory_of
from fazm_memory.cli.output import emit_line, say
from fazm_memory.errors import InvalidInput

HIGHEST_PORT = 65535


def mcp_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = "The MCP server on stdin and stdout, for an agent's configuration."


def mcp_command(chosen: argparse.Namespace) -> int:
    from fazm_memory.mcp_server.stdio import run

    run(lambda: memory_of(chosen))
    return 0


def serve_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = "The MCP server over streamable HTTP, for this machine only and with a token."
    parser.add_argument("--port", type=int, metavar="N", help="the loopback port (0: any that is free)")
    parser.add_argument("--new-token", action="store_true", help="make a new token; the old one ends")


def serve_command(chosen: argparse.Namespace) -> int:
    from fazm_memory.mcp_server.http import PORT, run

    port = PORT if chosen.port is None else chosen.port
    if not 0 <= port <= HIGHEST_PORT:
        raise InvalidInput(f"{port} is not a port", hint=f"ports go from 0 to {HIGHEST_PORT}")

    def started(address: str, token: Path) -> None:
        if chosen.json:
            emit_line({"url": address, "token_file": str(token)})
        else:
            say(f"MCP at {address}, for this machine only. Send `Authorization: Bearer` with the token in")
            say(f"  {token}")
            say("Ctrl-C ends it; what was recorded is kept.")
        sys.stdout.flush()

    run(memory_of(chosen), port=port, new_token=chosen.new_token, started=started)
    return 0

"""`fazm-memory mcp` and `fazm-memory serve`: the memory for agents, on stdio and on a loopback port."""

from __future__ import annotations

import argparse

from fazm_memory.cli.main import memory_of


def mcp_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = "The MCP server on stdin and stdout, for an agent's configuration."


def mcp_command(chosen: argparse.Namespace) -> int:
    from fazm_memory.mcp_server.stdio import run

    run(memory_of(chosen))
    return 0

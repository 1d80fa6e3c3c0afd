"""`fazm-memory mcp`, `serve` and `timeline`: the memory for agents and for people, on stdio and on a port."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from fazm_memory.cli.main import memory_of
from fazm_memory.cli.output import emit_line, integer, say
from fazm_memory.errors import InvalidRequest

HIGHEST_PORT = 65535


def mcp_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = "The MCP server on stdin and stdout, for an agent's configuration."


def mcp_command(chosen: argparse.Namespace) -> int:
    from fazm_memory.mcp_server.stdio import run

    run(lambda: memory_of(chosen))
    return 0


def serve_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = (
        "The MCP server over streamable HTTP and the timeline page, for this machine only and with a token."
    )
    _port(parser)
    parser.add_argument("--new-token", action="store_true", help="make a new token; the old one ends")


def serve_command(chosen: argparse.Namespace) -> int:
    from fazm_memory.mcp_server.http import PATH, application
    from fazm_memory.mcp_server.server import MemoryServer

    with_agents = MemoryServer(memory_of(chosen))
    try:
        served = _server(chosen, new_token=chosen.new_token,
                         apps=lambda port: {PATH: application(with_agents, port=port)})  # fmt: skip

        def started() -> None:
            address = f"{served.origin}{PATH}"
            if chosen.json:
                emit_line({"url": address, "token_file": str(served.token_file), "page": served.door()})
            else:
                say(f"MCP at {address}, for this machine only. Send `Authorization: Bearer` and the token of")
                say(f"  {served.token_file}")
                say(f"The timeline, once: {served.door()}")
                say("Ctrl-C ends it; what was recorded is kept.")
            sys.stdout.flush()

        _run(served, started)
    finally:
        with_agents.close()
    return 0


def timeline_arguments(parser: argparse.ArgumentParser) -> None:
    parser.description = "The timeline: what agents did, as a page in your browser, for this machine only."
    parser.add_argument("--no-open", action="store_true", help="print the address and open no browser")
    _port(parser)


def timeline_command(chosen: argparse.Namespace) -> int:
    from fazm_memory.loopback.announced import opened_elsewhere

    memory = memory_of(chosen)
    _ = memory.store  # what is wrong with it is told here, not in the browser
    address = opened_elsewhere(memory.config.home) if chosen.port is None else None
    if address is not None:  # the companion, or another, has it
        _show(chosen, address)
        return 0
    served = _server(chosen)

    def started() -> None:
        _show(chosen, served.door())
        if not chosen.json:
            say("It is served until you press Ctrl-C here; `fazm-memory timeline` again opens another.")
        sys.stdout.flush()

    _run(served, started)
    return 0


def _show(chosen: argparse.Namespace, address: str) -> None:
    import webbrowser  # here alone: agents start `mcp` and wait for it

    if chosen.json:
        emit_line({"page": address})
    elif chosen.no_open or not webbrowser.open(address):
        say(f"The timeline, once, within five minutes: {address}")
    else:
        say("The timeline is open in your browser.")
    sys.stdout.flush()


def _port(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=integer, metavar="N", help="the loopback port (0: any that is free)")


def _server(chosen: argparse.Namespace, **more: Any) -> Any:
    from fazm_memory.capture.open_files import allow_enough
    from fazm_memory.loopback.listening import PORT
    from fazm_memory.web.serving import PageServer

    given = chosen.port
    if given is not None and not 0 <= given <= HIGHEST_PORT:
        raise InvalidRequest(f"{given} is not a port", hint=f"ports go from 0 to {HIGHEST_PORT}")
    import logging

    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="fazm-memory: %(message)s")
    allow_enough()
    home = memory_of(chosen).config.home
    port = PORT if given is None else given
    return PageServer(lambda: memory_of(chosen), home, port=port, otherwise_any=given is None, **more)


def _run(served: Any, started: Callable[[], None]) -> None:
    """Serve until a signal; uvicorn ends by it and hands it on to us, so that stores are closed."""

    def end(number: int, frame: FrameType | None) -> None:
        raise SystemExit(0)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    served.run(started)

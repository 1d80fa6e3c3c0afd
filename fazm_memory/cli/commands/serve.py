"""`mcp`, `serve` and `timeline`."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING, Any

from fazm_memory.cli.main import agent_from_environment, open_memory
from fazm_memory.cli.output import echo, integer, print_json_line
from fazm_memory.errors import InvalidInput, InvalidRequest

if TYPE_CHECKING:
    from fazm_memory.app import Memory

HIGHEST_PORT = 65535


def mcp_arguments(parser: argparse.ArgumentParser) -> None:
    _tools(parser)


def mcp_command(args: argparse.Namespace) -> int:
    from fazm_memory.mcp_server import serve_stdio

    serve_stdio(lambda: open_memory(args), tools=args.tools)
    return 0


def serve_arguments(parser: argparse.ArgumentParser) -> None:
    _port(parser)
    _tools(parser)
    parser.add_argument(
        "--new-token", action="store_true", help="create a new token and invalidate the old one"
    )


def serve_command(args: argparse.Namespace) -> int:
    from fazm_memory.mcp_server import MCP_PATH, MemoryServer, http_app

    mcp_server = MemoryServer(open_memory(args), tools=args.tools)
    try:
        served = _server(args, new_token=args.new_token,
                         apps=lambda port: {MCP_PATH: http_app(mcp_server, port=port)})  # fmt: skip

        def started() -> None:
            address = f"{served.origin}{MCP_PATH}"
            # On the page one acts as the user, so an agent gets no link to it.
            page = None if agent_from_environment(os.environ) else served.one_time_url()
            if args.json:
                print_json_line({"url": address, "token_file": str(served.token_file), "page": page})
            else:
                echo(f"MCP: {address}, on this machine only, with `Authorization: Bearer TOKEN`")
                echo(f"Token: {served.token_file}")
                if page is not None:
                    echo(f"Timeline (the link works once): {page}")
                echo("Press Ctrl-C to stop.")
            sys.stdout.flush()

        _run(served, started)
    finally:
        mcp_server.close()
    return 0


def timeline_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("place", nargs="?", metavar="ID[@N]", help="open this session, or this moment of it")
    parser.add_argument(
        "--no-open", action="store_true", help="print the address instead of opening a browser"
    )
    _port(parser)


def timeline_command(args: argparse.Namespace) -> int:
    from fazm_memory.loopback import url_of_running_page

    memory = open_memory(args)
    _ = memory.store  # report problems here, not in the browser
    place = _place(memory, args.place)
    address = url_of_running_page(memory.config.home) if args.port is None else None
    if address is not None:  # the companion already serves it
        _show(args, address + place)
        return 0
    served = _server(args)

    def started() -> None:
        _show(args, served.one_time_url() + place)
        if not args.json:
            echo("Press Ctrl-C to stop. `fazm-memory timeline` opens it again.")
        sys.stdout.flush()

    _run(served, started)
    return 0


def _place(memory: Memory, text: str | None) -> str:
    """The part of the page's address that names a session or an event. It is the same on every machine."""
    if text is None:
        return ""
    session, _, at = text.partition("@")
    if at and not at.isdecimal():
        raise InvalidInput(f'"{at[:40]}" is not a position.', hint="Use for example 9f3a2b1c@17.")
    return f"#/s/{memory.store.sessions.resolve(session).id}" + (f"@{at}" if at else "")


def _show(args: argparse.Namespace, address: str) -> None:
    import webbrowser  # slow to import, and `mcp` must start fast

    if args.json:
        print_json_line({"page": address})
    elif not args.no_open and webbrowser.open(address):
        echo("The timeline is open in your browser.")
    elif agent_from_environment(os.environ) is None:
        echo(f"Timeline (the link works once, within five minutes): {address}")
    else:
        echo("No browser could be opened. Run `fazm-memory timeline` in a terminal of your own.")
    sys.stdout.flush()


def _tools(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--tools", choices=("small", "full"), default="small", help="the MCP tools: five (default), or all"
    )


def _port(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=integer, metavar="N", help="the port (0: any free port)")


def _server(args: argparse.Namespace, **more: Any) -> Any:
    from fazm_memory.app import raise_open_file_limit
    from fazm_memory.loopback import PORT
    from fazm_memory.web import PageServer

    if args.port is not None and not 0 <= args.port <= HIGHEST_PORT:
        raise InvalidRequest(f"Invalid port {args.port}", hint=f"Ports go from 0 to {HIGHEST_PORT}.")
    import logging  # late, so that `mcp` starts faster

    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="fazm-memory: %(message)s")
    raise_open_file_limit()
    home = open_memory(args).config.home
    port = PORT if args.port is None else args.port
    return PageServer(lambda: open_memory(args), home, port=port, otherwise_any=args.port is None, **more)


def _run(served: Any, started: Callable[[], None]) -> None:
    """Serve until a signal. uvicorn raises the signal again after it stops, so we exit and close stores."""

    def end(number: int, frame: FrameType | None) -> None:
        raise SystemExit(0)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    served.run(started)

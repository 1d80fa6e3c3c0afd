"""`run`, `mcp`, `serve` and `timeline`: the companion process and the servers.

The companion runs until it is stopped, or once with `--once`. On a Mac it also shows the menu bar.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import ExitStack
from types import FrameType
from typing import TYPE_CHECKING, Any

from fazm_memory.cli.main import agent_from_environment, open_memory
from fazm_memory.cli.output import echo, echo_err, format_size, integer, plural, print_json, print_json_line
from fazm_memory.errors import FazmMemoryError, InvalidInput, InvalidRequest

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from fazm_memory.app import AgentOverview, Companion, Memory


MCP_PATH = "/mcp"
STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

NO_AGENTS = """\
No agent was found on this machine. `fazm-memory agents` names those it looks for.
What you can do next:
  Use one of them once. Its work is then recorded.
  fazm-memory record      records the work of any other agent, line by line
  fazm-memory doctor      checks that everything else works here"""


def run_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--once", action="store_true", help="record what is new, then exit")
    parser.add_argument("--headless", action="store_true", help="no menu bar on a Mac")
    parser.add_argument("--no-page", action="store_true", help="do not serve the timeline page")


def run_command(args: argparse.Namespace) -> int:
    from fazm_memory.app import Companion, agent_overviews, check_not_running

    if sys.platform == "darwin" and not args.once and not args.headless:
        return run_menu_bar(args)
    memory = open_memory(args)
    companion = Companion(memory, report=echo_err)
    companion.on_change(memory.recall.export_contexts)
    if args.once:
        return _run_once(companion, args)
    agents = [agent for agent in agent_overviews(memory) if agent.here]
    first = bool(agents) and not memory.setup.finished and memory.recording.status()["recording"]

    def stop(number: int, frame: FrameType | None) -> None:
        companion.stop()

    with ExitStack() as servers:
        for number in STOP_SIGNALS:
            servers.callback(signal.signal, number, signal.signal(number, stop))  # restored after all else

        def serve_page() -> Any:
            return None if args.no_page else servers.enter_context(companion_server(args).in_background())

        page: Any = None
        if first:
            from fazm_memory.cli.commands.agents import first_minute

            check_not_running(memory.config.home)
            page = serve_page()
            first_minute(memory, agents, page, stopped=companion.is_stopping)

        def started() -> None:
            _print_start(companion, agents, page or serve_page(), first=first)

        companion.run(started=started)
    echo(f"Stopped. {plural(companion.statistics.events, 'event')} recorded.")
    return 0


def _run_once(companion: Companion, args: argparse.Namespace) -> int:
    statistics = companion.once()
    if args.json:
        print_json(statistics.to_json())
    else:
        echo(f"{plural(statistics.events, 'new event')} in {plural(len(statistics.sessions), 'session')}")
    return 0


def _print_start(companion: Companion, agents: list[AgentOverview], page: Any, *, first: bool) -> None:
    if not agents:
        echo(NO_AGENTS)
    for agent in () if first else agents:  # the first start has named them
        connected = "" if agent.hooks else f", not connected (`fazm-memory connect {agent.agent}`)"
        echo(f"{agent.agent}: {plural(agent.files, 'file')}, {format_size(agent.bytes)}{connected}")
        if agent.trouble:
            echo_err(f"{agent.agent}: {agent.trouble}")
    if not companion.memory.recording.status()["recording"]:
        echo("Recording is paused. `fazm-memory recording resume` continues it.")
    if page is not None:
        echo("Timeline: `fazm-memory timeline`, or this link (works once, within five minutes):")
        echo(f"  {page.one_time_url()}")
        echo(f"MCP over HTTP: {page.origin}{MCP_PATH}, with the token in {page.token_file}")
    if sys.platform != "darwin":
        echo("The menu bar and the record of which app is in front need a Mac. The rest works here.")
    echo(f"Recording to {companion.home}. Press Ctrl-C to stop.")
    sys.stdout.flush()


def companion_server(args: argparse.Namespace, factory: Callable[[], Memory] | None = None) -> Any:
    """The server of the page and of MCP over HTTP.

    `with server.in_background():` runs it in its own thread.
    """
    from fazm_memory.loopback import LazyApp
    from fazm_memory.web import PageServer

    mcp_servers: list[Any] = []

    def mcp_app(port: int) -> dict[str, Starlette]:
        def create() -> Starlette:
            from fazm_memory.mcp_server import MemoryServer, http_app

            mcp_servers.append(MemoryServer(open_memory(args)))
            return http_app(mcp_servers[-1], port=port)

        def close() -> None:
            for server in mcp_servers:
                server.close()

        return {MCP_PATH: LazyApp(create, close)}

    home = open_memory(args).config.home
    page_memory = factory or (lambda: open_memory(args))
    return PageServer(page_memory, home, otherwise_any=True, apps=mcp_app)


def run_menu_bar(args: argparse.Namespace) -> int:
    """Run the companion with its menu bar.

    The window needs no port. Browsers use the server.
    """
    with QuitSignals() as signals:  # before the first thread, which would die of a signal that is not handled
        from fazm_memory.macos import show_failed_start

        try:
            app = _menu_bar_app(args)
        except FazmMemoryError as error:
            show_failed_start(error)  # nobody sees what an app prints
            raise
        signals.then(app.actions.quit)
        echo("Fazm Memory is in the menu bar. `fazm-memory run --headless` runs without it.")
        app.run()
    return 0


def _menu_bar_app(args: argparse.Namespace) -> Any:
    from fazm_memory.macos import MacSetup, MenuBarApp
    from fazm_memory.web import InProcessPage

    def memory_of_app() -> Memory:
        memory = open_memory(args)
        memory.setup.system = MacSetup(memory.config, in_app=True, leave=lambda: app.actions.quit())
        return memory

    with ExitStack() as resources:
        page = InProcessPage(memory_of_app)
        resources.callback(page.close)
        if not args.no_page:
            resources.enter_context(companion_server(args, memory_of_app).in_background())
        left = ExitStack()
        app = MenuBarApp(memory_of_app, page, say=echo_err, leaving=left.close)
        left.push(resources.pop_all())
        return app
    raise AssertionError("unreachable")


class QuitSignals:
    """Quits the app on a signal, also while AppKit runs the main thread.

    AppKit's loop runs no Python signal handlers.

    Python's own handler writes the signal's number to a socket, in whichever thread the signal arrives. A
    thread reads the socket. A signal that comes early waits there.
    """

    def __init__(self) -> None:
        self._read, self._write = socket.socketpair()
        self._write.setblocking(False)
        self._thread: threading.Thread | None = None

    def __enter__(self) -> QuitSignals:
        self._before = {number: signal.signal(number, lambda number, frame: None) for number in STOP_SIGNALS}
        self._wakeup = signal.set_wakeup_fd(self._write.fileno(), warn_on_full_buffer=False)
        return self

    def then(self, quit_app: Callable[[], None]) -> None:
        def wait() -> None:
            while number := self._read.recv(1):
                if number[0] in STOP_SIGNALS:
                    quit_app()
                    return

        self._thread = threading.Thread(target=wait, name="signals", daemon=True)
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        signal.set_wakeup_fd(self._wakeup)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._write.close()  # ends the thread
        if self._thread is not None:
            self._thread.join()
        self._read.close()


# -- servers: mcp, serve, timeline -----------------------------------------------------------------------

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
    """The part of the page's address that names a session or an event.

    It is the same on every machine.
    """
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
    """Serve until a signal.

    uvicorn raises the signal again after it stops, so we exit and close the stores.
    """

    def end(number: int, frame: FrameType | None) -> None:
        raise SystemExit(0)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    served.run(started)

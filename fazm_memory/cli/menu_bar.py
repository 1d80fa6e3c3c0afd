"""`run` on a Mac: the surfaces put together in one process, the menu bar on the main thread."""

from __future__ import annotations

import argparse
import signal
import threading
from collections.abc import Callable
from contextlib import ExitStack

from fazm_memory.cli.companion_server import companion_server
from fazm_memory.cli.main import memory_of
from fazm_memory.cli.output import say, talk

ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def run_menu_bar(chosen: argparse.Namespace) -> int:
    """The companion with a face; the page in its window needs no port, browsers get one beside it."""
    from fazm_memory.macos.app import MenuBarApp
    from fazm_memory.web.in_process import InProcess

    beside = ExitStack()
    page = InProcess(lambda: memory_of(chosen))
    beside.callback(page.close)
    if not chosen.no_page:
        beside.enter_context(companion_server(chosen).beside())
    app = MenuBarApp(lambda: memory_of(chosen), page, say=talk, leaving=beside.close)
    quit_on_signals(app.hands.quit)
    say("Fazm Memory is in the menu bar. `fazm-memory run --headless` runs without it.")
    app.run()
    return 0


def quit_on_signals(ask_to_quit: Callable[[], None]) -> None:
    """A thread waits for signals: the main one is the system's, and would hear of them only now and then."""
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)

    def wait() -> None:
        signal.sigwait(ENDING)
        ask_to_quit()

    threading.Thread(target=wait, name="signals", daemon=True).start()

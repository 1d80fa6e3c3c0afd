"""Listening on the loopback: in this thread until stopped, or beside other work in a thread of its own.

Streams that never end by themselves are told first that the server ends, so that it can.
"""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable
from typing import Any

import uvicorn

from fazm_memory.errors import StoreBusy
from fazm_memory.loopback.guard import App
from fazm_memory.loopback.patience import BACKLOG, MOST_OPEN, Patience

ADDRESS = "127.0.0.1"
PORT = 47813
PATIENCE = 5  # seconds that answers still under way are given when the server ends


def bound(port: int, *, otherwise_any: bool = False) -> socket.socket:
    """A socket that listens on this port of the loopback, or on any when it may and the port is taken."""
    # Named as TCP: only then does the loop send small answers at once, and not 40 ms later.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((ADDRESS, port))
        listener.listen()
        return listener
    except OSError as error:
        listener.close()
        if otherwise_any and port:
            return bound(0)
        raise StoreBusy(
            f"port {port} of this machine cannot be listened on: {error.strerror}",
            hint="another program has it: stop that, or give another with --port (0: any that is free)",
        ) from error


def port_of(listener: socket.socket) -> int:
    return int(listener.getsockname()[1])


class Server(uvicorn.Server):
    """Uvicorn with our settings; `ending` is called when it is about to end, before it waits for answers."""

    def __init__(self, app: App, ending: Callable[[], None] = lambda: None) -> None:
        config = uvicorn.Config(
            app,
            access_log=False,
            log_config=None,
            log_level=logging.WARNING,
            server_header=False,
            ws="none",
            http=Patience,
            backlog=BACKLOG,
            limit_concurrency=MOST_OPEN,
            timeout_graceful_shutdown=PATIENCE,
        )
        super().__init__(config)
        self.ending = ending

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.ending()
        await super().shutdown(sockets)


class Beside:
    """A server in a thread of its own, for a program whose main thread has other work."""

    def __init__(self, server: Server, listener: socket.socket) -> None:
        self.server = server
        self.thread = threading.Thread(target=self._run, args=(listener,), name="page", daemon=True)
        self.failed: BaseException | None = None

    def _run(self, listener: socket.socket) -> None:
        try:
            with listener:
                self.server.run(sockets=[listener])
        except BaseException as error:  # told by who stops us: a thread has nobody to tell
            self.failed = error

    def start(self) -> Beside:
        self.thread.start()
        return self

    def stop(self) -> None:
        """End it in order and wait until it has."""
        self.server.should_exit = True
        self.thread.join()
        if self.failed is not None:
            raise self.failed

    def __enter__(self) -> Beside:
        return self.start()

    def __exit__(self, *_: Any) -> None:
        self.stop()

"""An HTTP server on the loopback, in this thread or in its own.

Connections that send no request are closed. Endless streams are told when the server ends, so that it can.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import logging
import os
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from fazm_memory.errors import StoreBusy
from fazm_memory.loopback.guard import NEW_CODE, OPEN, PAGE_TOKEN, App, read_token
from fazm_memory.paths import private_file, private_folder

ADDRESS = "127.0.0.1"
PORT = 47813
FIRST_SECONDS = 5.0  # time for the head of the first request; a refused request closes its connection
MOST_WAITING = 64  # connections without a request; beyond it the oldest is closed
MOST_OPEN = 256
BACKLOG = 256
SHUTDOWN_SECONDS = 5  # for responses that are still being sent when the server ends


class RequestTimeout(H11Protocol):
    """Uvicorn's HTTP protocol with a time limit for the first request."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        waiting = [
            one for one in self.connections if isinstance(one, RequestTimeout) and one._deadline is not None
        ]
        if len(waiting) >= MOST_WAITING:
            min(waiting, key=_deadline_of).close_connection()
        self._deadline = self.loop.call_later(FIRST_SECONDS, self.close_connection)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None:
            self._cancel_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        self._cancel_deadline()
        super().connection_lost(exc)

    def close_connection(self) -> None:
        self._cancel_deadline()
        self.transport.abort()

    def _cancel_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def _deadline_of(connection: RequestTimeout) -> float:
    assert connection._deadline is not None
    return connection._deadline.when()


def listen_on(port: int, *, otherwise_any: bool = False) -> socket.socket:
    """A socket that listens on this loopback port.

    With `otherwise_any`, on any port if this one is taken.
    """
    # With IPPROTO_TCP asyncio sets TCP_NODELAY. Without it small responses are delayed by 40 ms.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((ADDRESS, port))
        listener.listen()
        return listener
    except OSError as error:
        listener.close()
        if otherwise_any and port:
            return listen_on(0)
        raise StoreBusy(
            f"Cannot listen on port {port}: {error.strerror}.",
            hint="Stop the program that uses it, or choose another port with --port (0: any free port).",
        ) from error


def port_of(listener: socket.socket) -> int:
    return int(listener.getsockname()[1])


class Server(uvicorn.Server):
    """Uvicorn with our settings.

    `ending` is called before it waits for open responses at the end.

    Uvicorn looks ten times a second whether it shall end, which is most of what an idle companion would do.
    Ours sleeps until `should_exit` is set. It sends no Date header, which that loop kept up to date.
    """

    def __init__(self, app: App, ending: Callable[[], None] = lambda: None) -> None:
        self._exit = False
        self._sleeping: tuple[asyncio.AbstractEventLoop, asyncio.Event] | None = None
        config = uvicorn.Config(
            app,
            access_log=False,
            log_config=None,
            log_level=logging.WARNING,
            server_header=False,
            date_header=False,
            ws="none",
            http=RequestTimeout,
            backlog=BACKLOG,
            limit_concurrency=MOST_OPEN,
            timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        )
        super().__init__(config)
        self.ending = ending

    @property
    def should_exit(self) -> bool:
        return self._exit

    @should_exit.setter
    def should_exit(self, value: bool) -> None:
        """Set by any thread, or by a signal handler."""
        self._exit = value
        if value and self._sleeping is not None:
            loop, woken = self._sleeping
            with contextlib.suppress(RuntimeError):  # the loop has ended meanwhile
                loop.call_soon_threadsafe(woken.set)

    async def main_loop(self) -> None:
        woken = asyncio.Event()
        self._sleeping = asyncio.get_running_loop(), woken
        if not self.should_exit:
            await woken.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.ending()
        await super().shutdown(sockets)


class ServerThread:
    """A server in its own thread."""

    def __init__(self, server: Server, listener: socket.socket) -> None:
        self.server = server
        self.thread = threading.Thread(target=self._run, args=(listener,), name="page", daemon=True)
        self.failed: BaseException | None = None

    def _run(self, listener: socket.socket) -> None:
        try:
            with listener:
                self.server.run(sockets=[listener])
        except BaseException as error:  # raised again by `stop`
            self.failed = error

    def start(self) -> ServerThread:
        self.thread.start()
        return self

    def stop(self) -> None:
        """End the server and wait for it."""
        self.server.should_exit = True
        self.thread.join()
        if self.failed is not None:
            raise self.failed

    def __enter__(self) -> ServerThread:
        return self.start()

    def __exit__(self, *_: Any) -> None:
        self.stop()


FILE = "page.json"
SECONDS = 5.0


@contextmanager
def publish_port(home: Path, port: int) -> Iterator[bool]:
    """Publish the port during the block.

    Yields False if another server has already published one.
    """
    private_folder(home)
    descriptor = os.open(private_file(home / FILE), os.O_RDWR | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, json.dumps({"port": port, "process": os.getpid()}).encode(), 0)
        yield True
        os.ftruncate(descriptor, 0)
    finally:
        os.close(descriptor)


def published_port(home: Path) -> int | None:
    """The port of a running server of this data folder, if there is one."""
    try:
        descriptor = os.open(home / FILE, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        content = os.read(descriptor, 200)
        return int(json.loads(content)["port"]) if content else None
    finally:
        os.close(descriptor)
    return None


def page_url(port: int, code: str) -> str:
    """The URL that opens the page once."""
    return f"http://{ADDRESS}:{port}{OPEN}?code={code}"


def url_of_running_page(home: Path) -> str | None:
    """A URL that opens the page of a running server, or None if there is none."""
    port = published_port(home)
    if port is None:
        return None
    connection = HTTPConnection(ADDRESS, port, timeout=SECONDS)
    headers = {
        "Authorization": f"Bearer {read_token(home, PAGE_TOKEN)[1]}",
        "Content-Type": "application/json",
    }
    try:
        connection.request("POST", NEW_CODE, body=b"{}", headers=headers)
        answer = connection.getresponse()
        code = answer.read().decode("ascii", "replace")
        return page_url(port, code) if answer.status == 200 else None
    except (OSError, HTTPException):  # the server ended meanwhile
        return None
    finally:
        connection.close()


# An application that is created at its first request.
#
# The MCP SDK takes a second and tens of megabytes, which a companion without HTTP clients should not pay. The
# application runs in its own task, because its lifespan must end in the task where it began.

log = logging.getLogger(__name__)


class LazyApp(Starlette):
    """`make` is called once, in a thread. `done` is called at the end if `make` was."""

    def __init__(self, make: Callable[[], Starlette], done: Callable[[], None] = lambda: None) -> None:
        super().__init__(lifespan=self._life)
        self._make, self._done = make, done
        self._inner: Starlette | None = None
        self._problem = "The server has ended."

    @asynccontextmanager
    async def _life(self, app: Starlette) -> AsyncIterator[None]:
        self._requested, self._ready, self._ending = asyncio.Event(), asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(self._run())
        try:
            yield
        finally:
            self._ending.set()
            self._requested.set()
            await task

    async def _run(self) -> None:
        await self._requested.wait()
        if self._ending.is_set():
            return
        try:
            inner = await asyncio.to_thread(self._make)
            async with inner.router.lifespan_context(inner):
                self._inner = inner
                self._ready.set()
                await self._ending.wait()
        except Exception as error:  # must not end the page, which is served by the same server
            self._problem = f"{type(error).__name__}: {error}"
            log.exception("An application of the companion could not be served.")
        finally:
            self._inner = None
            self._ready.set()
            await asyncio.to_thread(self._done)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await super().__call__(scope, receive, send)
            return
        self._requested.set()
        await self._ready.wait()
        if self._inner is None:
            answer = JSONResponse({"error": self._problem}, status_code=503)
            await answer(scope, receive, send)
            return
        await self._inner(scope, receive, send)

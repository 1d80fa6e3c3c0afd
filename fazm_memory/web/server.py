"""The page on a loopback port, and the page called in process without a network."""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

from starlette.applications import Starlette

from fazm_memory.loopback import (
    ADDRESS,
    PAGE_TOKEN,
    PORT,
    Guard,
    Message,
    PageKeys,
    Scope,
    Server,
    ServerThread,
    listen_on,
    page_url,
    port_of,
    publish_port,
    read_token,
)
from fazm_memory.records import dataclass, field
from fazm_memory.web.app import PageApp, mount
from fazm_memory.web.requests import MemoryFactory


class PageServer:
    """The page on a port, with other applications beside it.

    The port is taken at once. Requests are served during `run` or `in_background`.
    """

    def __init__(
        self,
        factory: MemoryFactory,
        home: Path,
        *,
        port: int = PORT,
        otherwise_any: bool = False,
        new_token: bool = False,
        apps: Callable[[int], dict[str, Starlette]] = lambda port: {},
    ) -> None:
        self.home = home
        self.token_file, agents_token = read_token(home, new=new_token)
        self.token = read_token(home, PAGE_TOKEN)[1]
        self.listener = listen_on(port, otherwise_any=otherwise_any)
        self.port = port_of(self.listener)
        self.keys = PageKeys(self.port)
        self.page = PageApp(factory)
        mounted = apps(self.port)
        guard = Guard(
            mount(self.page, mounted), token=self.token, port=self.port, pages=self.keys,
            agents=dict.fromkeys(mounted, agents_token),
        )  # fmt: skip
        self.server = Server(guard, ending=self.page.stop)

    @property
    def origin(self) -> str:
        return f"http://{ADDRESS}:{self.port}"

    def one_time_url(self) -> str:
        """An address that opens the page once."""
        return page_url(self.port, self.keys.code())

    def run(self, started: Callable[[], None] = lambda: None) -> None:
        """Serve in this thread until a signal ends it."""
        with self.listener, publish_port(self.home, self.port):
            started()
            self.server.run(sockets=[self.listener])

    @contextmanager
    def in_background(self) -> Iterator[PageServer]:
        """Serve in a separate thread during the block."""
        with publish_port(self.home, self.port), ServerThread(self.server, self.listener):
            yield self


NO_PORT = 1  # nobody listens; the guard needs a host name to check
HOST = f"localhost:{NO_PORT}"
FORWARDED_HEADERS = ("content-type", "accept", "last-event-id")
EVENT_STREAM = "text/event-stream"


@dataclass
class BufferedResponse:
    status: int = 500
    headers: dict[str, str] = field(default_factory=dict)
    body: bytearray = field(default_factory=bytearray)


class InProcessPage:
    """The page for a window that answers its own URL scheme. Blocking, callable from any thread.

    It is the same application behind the same guard. The token and the Host header are added here, so
    headers from the page cannot grant anything. `close` ends the threads and closes the stores.
    """

    def __init__(self, factory: MemoryFactory) -> None:
        self.page = PageApp(factory)
        self.token = secrets.token_urlsafe(32)
        self.guard = Guard(self.page, token=self.token, port=NO_PORT)
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, name="page-in-process", daemon=True)
        self.thread.start()

    def __call__(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers and body of the response. `path` includes the query."""
        work = self._respond(method, path, headers, body)
        response = asyncio.run_coroutine_threadsafe(work, self.loop).result()
        return response.status, response.headers, bytes(response.body)

    async def _respond(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes
    ) -> BufferedResponse:
        response = BufferedResponse()
        forwarded = [(b"content-length", str(len(body)).encode())]
        lower = {name.lower(): value.encode("latin-1", "replace") for name, value in headers.items()}
        forwarded += [(name.encode(), lower[name]) for name in FORWARDED_HEADERS if name in lower]
        parts = urlsplit(path)
        scope: Scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method.upper(),
            "scheme": "http", "path": unquote(parts.path) or "/", "raw_path": parts.path.encode(),
            "query_string": parts.query.encode(), "root_path": "", "client": None, "server": None,
            "headers": [
                (b"host", HOST.encode()), (b"authorization", f"Bearer {self.token}".encode()), *forwarded,
            ],
        }  # fmt: skip
        requests = [{"type": "http.request", "body": body, "more_body": False}]
        disconnected = asyncio.Event()

        async def receive() -> Message:
            if requests:
                return requests.pop()
            await disconnected.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                response.status = message["status"]
                response.headers = {
                    name.decode(): value.decode("latin-1") for name, value in message["headers"]
                }
            else:
                response.body += message.get("body", b"")
                if EVENT_STREAM in response.headers.get("content-type", ""):
                    disconnected.set()  # a stream never ends: its first chunk is the response

        await self.guard(scope, receive, send)
        return response

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self.page.close(), self.loop).result()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

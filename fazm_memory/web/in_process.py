"""The page without a network: a request in, a response out, for a window that answers a scheme of its own.

It is the same application behind the same guard. The token and the name it is called by are added here, so
that whatever a page could send along counts for nothing. It may be called from any thread; it waits.
"""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote, urlsplit

from fazm_memory.loopback.guard import Guard, Message, Scope
from fazm_memory.web.app import PageApp, page_app
from fazm_memory.web.desk import MemoryFactory

PORT = 1  # nobody listens: only a name for the guard
HOST = f"localhost:{PORT}"
PASSED_ON = ("content-type", "accept", "last-event-id")
STREAMS = "text/event-stream"


@dataclass
class Heard:
    """A response as it comes in."""

    status: int = 500
    headers: dict[str, str] = field(default_factory=dict)
    body: bytearray = field(default_factory=bytearray)


class InProcess:
    """Answers like a server; `close` ends its threads and closes its stores."""

    def __init__(self, factory: MemoryFactory) -> None:
        self.page: PageApp = page_app(factory)
        self.token = secrets.token_urlsafe(32)
        self.guard = Guard(self.page, token=self.token, port=PORT)
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, name="page-in-process", daemon=True)
        self.thread.start()

    def __call__(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, Mapping[str, str], bytes]:
        """Status, headers and body for a method, a path with its query, headers and a body."""
        heard = asyncio.run_coroutine_threadsafe(
            self._answer(method, path, headers, body), self.loop
        ).result()
        return heard.status, heard.headers, bytes(heard.body)

    async def _answer(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> Heard:
        heard = Heard()
        rest = [(b"content-length", str(len(body)).encode())]
        told = {name.lower(): value.encode("latin-1", "replace") for name, value in headers.items()}
        rest += [(name.encode(), told[name]) for name in PASSED_ON if name in told]
        parts = urlsplit(path)
        scope: Scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method.upper(),
            "scheme": "http", "path": unquote(parts.path) or "/", "raw_path": parts.path.encode(),
            "query_string": parts.query.encode(), "root_path": "", "client": None, "server": None,
            "headers": [(b"host", HOST.encode()), (b"authorization", f"Bearer {self.token}".encode()), *rest],
        }  # fmt: skip
        given = [{"type": "http.request", "body": body, "more_body": False}]
        gone = asyncio.Event()

        async def receive() -> Message:
            if given:
                return given.pop()
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            if message["type"] == "http.response.start":
                heard.status = message["status"]
                heard.headers = {name.decode(): value.decode("latin-1") for name, value in message["headers"]}
            else:
                heard.body += message.get("body", b"")
                if STREAMS in heard.headers.get("content-type", ""):
                    gone.set()  # a stream never ends: its first word is the answer, and then we hang up

        await self.guard(scope, receive, send)
        return heard

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self.page.close(), self.loop).result()
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

"""The guard before every route: only this machine, only with the token, only as we name ourselves.

A page in a browser can reach a loopback port. It cannot know the token, and a name that was rebound to
127.0.0.1 shows in the Host header; so both are checked on every request, before anything reads it.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

LOOPBACK = ("127.0.0.1", "localhost")
BODY = 2 << 20  # bytes of a request


@dataclass(frozen=True)
class Refusal:
    status: int
    says: str
    headers: tuple[tuple[bytes, bytes], ...] = ()


class Guard:
    """Lets through to `app` what may be; answers the rest itself, and says nothing of what is inside."""

    def __init__(self, app: App, *, token: str, port: int) -> None:
        self.app = app
        self.token = token.encode()
        self.hosts = frozenset(f"{name}:{port}".encode() for name in LOOPBACK)
        self.origins = frozenset(b"http://" + host for host in self.hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        elif (refusal := self.check(scope)) is not None:
            await _refuse(refusal, send)
        else:
            await self.app(scope, receive, send)

    def check(self, scope: Scope) -> Refusal | None:
        """Why a request is refused; None when it is not."""
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        hosts = [value for name, value in headers if name == b"host"]
        if len(hosts) != 1 or hosts[0].lower() not in self.hosts:
            return Refusal(421, "this server is not called that")
        if any(value not in self.origins for name, value in headers if name == b"origin"):
            return Refusal(403, "pages from elsewhere may not call this")
        given = [value for name, value in headers if name == b"authorization"]
        if len(given) != 1 or not self._known(given[0]):
            return Refusal(401, "a bearer token is needed", ((b"www-authenticate", b"Bearer"),))
        if scope["method"] == "POST":
            kinds = [
                value.split(b";")[0].strip().lower() for name, value in headers if name == b"content-type"
            ]
            if kinds != [b"application/json"]:
                return Refusal(415, "the body must be application/json")
        sizes = [value for name, value in headers if name == b"content-length"]
        if any(not size.isdigit() or len(size) > 12 or int(size) > BODY for size in sizes):
            return Refusal(413, f"a body may have {BODY} bytes")
        return None

    def _known(self, given: bytes) -> bool:
        scheme, _, token = given.partition(b" ")
        return hmac.compare_digest(token.strip(), self.token) and scheme.lower() == b"bearer"


async def _refuse(refusal: Refusal, send: Send) -> None:
    body = refusal.says.encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        (b"connection", b"close"),  # what follows of a body nobody reads
        *refusal.headers,
    ]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})

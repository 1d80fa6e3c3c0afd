"""The guard in front of every route.

It checks the loopback name and a token on every request.

Any web page can reach a loopback port. It cannot know the token, and DNS rebinding shows in the Host header.
Our own page has a cookie instead of the token, and must also send its Origin. Agents have their own token,
which opens only their paths; the page's token does not open those.
"""

from __future__ import annotations

import hmac
import json
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from fazm_memory.errors import StoreUnsafe
from fazm_memory.paths import private_folder, write_private
from fazm_memory.records import dataclass

TOKEN = "serve-token"  # file of the token for MCP over HTTP
PAGE_TOKEN = "page-token"  # file of the token for the page and its API
SHORTEST_TOKEN = 32  # characters


def read_token(home: Path, name: str = TOKEN, *, new: bool = False) -> tuple[Path, str]:
    """The token file and its token. Created if missing or if `new`."""
    private_folder(home)
    path = home / name
    if new or not path.exists():
        write_private(path, secrets.token_urlsafe(32).encode())
    if path.is_symlink() or path.stat().st_mode & 0o077:
        raise StoreUnsafe(f"Others can read {path}.", hint="Delete it. The next start creates a new one.")
    token = path.read_text().strip()
    if len(token) < SHORTEST_TOKEN:
        raise StoreUnsafe(f"{path} holds no token.", hint="Delete it. The next start creates a new one.")
    return path, token


CODE_SECONDS = 300.0
UNUSED_SECONDS = 12 * 3600.0
MOST_CODES = 16


class PageKeys:
    """One-time codes that open the page, and the cookie that a code is exchanged for."""

    def __init__(self, port: int, now: Callable[[], float] = time.monotonic) -> None:
        self.now = now
        self.name = f"fazm_memory_{port}"  # with the port, since two servers must not share a cookie
        self.cookie, self._used = secrets.token_urlsafe(32), now()
        self._codes: dict[str, float] = {}

    def code(self) -> str:
        """A code that opens the page once, within five minutes."""
        code = secrets.token_urlsafe(24)
        self._codes[code] = self.now() + CODE_SECONDS
        while len(self._codes) > MOST_CODES:
            del self._codes[next(iter(self._codes))]
        return code

    def spend(self, code: str) -> bool:
        """Whether this code opens the page. It does not do so again."""
        ends = self._codes.pop(code, None)
        return ends is not None and self.now() <= ends

    def known(self, headers: Iterable[bytes]) -> bool:
        """Whether one of these Cookie headers holds our cookie, and it was used recently."""
        if self.now() - self._used > UNUSED_SECONDS:
            return False
        for header in headers:
            for part in header.split(b";"):
                name, _, value = part.strip().partition(b"=")
                if name == self.name.encode() and hmac.compare_digest(value, self.cookie.encode()):
                    self._used = self.now()
                    return True
        return False

    def set_cookie(self) -> str:
        """Set the cookie header after a code was spent.

        A cookie that was unused for too long is replaced.
        """
        if self.now() - self._used > UNUSED_SECONDS:
            self.cookie = secrets.token_urlsafe(32)
        self._used = self.now()
        return f"{self.name}={self.cookie}; HttpOnly; SameSite=Strict; Path=/"


Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Header = tuple[bytes, bytes]

LOOPBACK = ("127.0.0.1", "localhost")
BODY = 2 << 20  # largest request body in bytes
OPEN = "/open"  # exchanges a one-time code for the cookie
NEW_CODE = "/open/code"  # gives a one-time code to the owner of the token
USED = "This link was already used, or is older than five minutes."
CLOSED = "This page was not opened in this browser, or too long ago."
PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Fazm Memory</title>
<h1>The timeline is not open here</h1>
<p>{}</p>
<p>Run <code>fazm-memory timeline</code> in a terminal. It opens the page with a new link.</p>
</html>
"""
FOREIGN_PAGE = "Requests from other web pages are refused."
OWN_SITES = (b"same-origin", b"none")


@dataclass(frozen=True)
class GuardResponse:
    """A response of the guard itself, mostly a refusal."""

    status: int
    message: str
    headers: tuple[Header, ...] = ()
    as_page: bool = False  # HTML for a person in a browser


class Guard:
    """Passes permitted requests on to `app` and refuses all others.

    `agents` maps a path to the token that opens it and everything under it. No other token does.
    """

    def __init__(
        self,
        app: App,
        *,
        token: str,
        port: int,
        pages: PageKeys | None = None,
        agents: Mapping[str, str] | None = None,
    ) -> None:
        self.app = app
        self.token = token.encode()
        self.agents = {path: token_.encode() for path, token_ in (agents or {}).items()}
        self.pages = pages
        self.hosts = frozenset(f"{name}:{port}".encode() for name in LOOPBACK)
        self.origins = frozenset(b"http://" + host for host in self.hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        elif (answer := self.check(scope) or self._opening(scope)) is not None:
            await _respond(answer, scope["path"], send)
        else:
            await self.app(scope, receive, send)

    def check(self, scope: Scope) -> GuardResponse | None:
        """The refusal of a request, or None if it is permitted."""
        headers: list[Header] = scope["headers"]
        hosts = _all(headers, b"host")
        if len(hosts) != 1 or hosts[0].lower() not in self.hosts:
            return GuardResponse(421, "Unknown host name.")
        origins = _all(headers, b"origin")
        if any(value not in self.origins for value in origins):
            return GuardResponse(403, FOREIGN_PAGE)
        if self.pages is not None and scope["path"] == OPEN:
            return None if scope["method"] == "GET" else GuardResponse(405, "Open the page with GET.")
        bearer = _all(headers, b"authorization")
        agents_token = next(
            (token for path, token in self.agents.items() if is_under(scope["path"], path)), None
        )
        if agents_token or bearer or self.pages is None or not self.pages.known(_all(headers, b"cookie")):
            if len(bearer) != 1 or not _is_bearer(bearer[0], agents_token or self.token):
                if not agents_token and self.pages is not None and _wants_page(scope["method"], headers):
                    return GuardResponse(401, CLOSED, as_page=True)
                return GuardResponse(401, "A bearer token is required.", ((b"www-authenticate", b"Bearer"),))
        elif any(site not in OWN_SITES for site in _all(headers, b"sec-fetch-site")):
            return GuardResponse(403, FOREIGN_PAGE)
        elif scope["method"] not in ("GET", "HEAD") and (not origins or scope["path"] == NEW_CODE):
            return GuardResponse(403, "Only the timeline page may do this, with its Origin header.")
        return _body_refused(scope["method"], headers)

    def _opening(self, scope: Scope) -> GuardResponse | None:
        """The responses to the two paths that open the page, for permitted requests."""
        if self.pages is None or scope["path"] not in (OPEN, NEW_CODE):
            return None
        if scope["path"] == NEW_CODE:
            if scope["method"] != "POST":
                return GuardResponse(405, "Use POST.")
            return GuardResponse(200, self.pages.code())
        codes = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("code", [])
        if len(codes) != 1 or not self.pages.spend(codes[0]):
            return GuardResponse(401, USED, as_page=True)
        cookie = (b"set-cookie", self.pages.set_cookie().encode())
        return GuardResponse(303, "The page is at /.", ((b"location", b"/"), cookie))


def is_under(path: str, beginning: str) -> bool:
    """Whether a path is `beginning` or below it.

    The guard and `mount` must agree on this.
    """
    return path == beginning or path.startswith(f"{beginning}/")


def _is_bearer(header: bytes, token: bytes) -> bool:
    scheme, _, value = header.partition(b" ")
    return hmac.compare_digest(value.strip(), token) and scheme.lower() == b"bearer"


def _all(headers: list[Header], wanted: bytes) -> list[bytes]:
    return [value for name, value in headers if name == wanted]


def _wants_page(method: str, headers: list[Header]) -> bool:
    """Whether a browser asks for a page to show to a person."""
    return method == "GET" and any(b"text/html" in value for value in _all(headers, b"accept"))


def _body_refused(method: str, headers: list[Header]) -> GuardResponse | None:
    if method == "POST":
        kinds = [value.split(b";")[0].strip().lower() for value in _all(headers, b"content-type")]
        if kinds != [b"application/json"]:
            return GuardResponse(415, "The body must be application/json.")
    sizes = _all(headers, b"content-length")
    if any(not size.isdigit() or len(size) > 12 or int(size) > BODY for size in sizes):
        return GuardResponse(413, f"The body is larger than {BODY} bytes.")
    return None


async def _respond(answer: GuardResponse, path: str, send: Send) -> None:
    body, kind = answer.message.encode(), b"text/plain; charset=utf-8"
    if answer.as_page:
        body, kind = PAGE.format(answer.message).encode(), b"text/html; charset=utf-8"
    elif path.startswith("/api/") and answer.status >= 400:
        hint = "Run `fazm-memory timeline` to open the page again."
        error = {"title": "The request was refused", "message": answer.message, "hint": hint, "code": 0}
        body, kind = json.dumps({"error": error}).encode(), b"application/json"
    headers = [
        (b"content-type", kind),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        (b"referrer-policy", b"no-referrer"),
        (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
        (b"x-content-type-options", b"nosniff"),
        (b"connection", b"close"),  # the rest of the body is not read
        *answer.headers,
    ]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})

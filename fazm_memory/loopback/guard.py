"""The guard before every route: only this machine, only with the token, only as we name ourselves.

A page in a browser can reach a loopback port. It cannot know the token, and a name that was rebound to
127.0.0.1 shows in the Host header; so both are checked on every request, before anything reads it. Our own
page has a cookie in place of the token, and with it must say where it comes from. Where agents call, a token
of theirs is needed, which opens nothing else; nor does the page's open what is for agents.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

from fazm_memory.loopback.page_keys import PageKeys

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Header = tuple[bytes, bytes]

LOOPBACK = ("127.0.0.1", "localhost")
BODY = 2 << 20  # bytes of a request
OPEN = "/open"  # where a one-time code becomes a cookie
NEW_CODE = "/open/code"  # where who has the token gets such a code
USED = "This link was used already, or is older than five minutes."
CLOSED = "This page was not opened in this browser, or too long ago."
PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Fazm Memory</title>
<h1>The timeline is not open here</h1>
<p>{}</p>
<p>Run <code>fazm-memory timeline</code> in a terminal again: it opens the page with a new link.</p>
</html>
"""
OWN_SITES = (b"same-origin", b"none")


@dataclass(frozen=True)
class Answer:
    """What the guard says itself, mostly a refusal."""

    status: int
    says: str
    headers: tuple[Header, ...] = ()
    shown: bool = False  # to a person in a browser


class Guard:
    """Lets through to `app` what may be; answers the rest itself, and says nothing of what is inside.

    `agents` are tokens by the beginning of the paths that each of them opens, and no other key does.
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
        self.agents = {path: one.encode() for path, one in (agents or {}).items()}
        self.pages = pages
        self.hosts = frozenset(f"{name}:{port}".encode() for name in LOOPBACK)
        self.origins = frozenset(b"http://" + host for host in self.hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        elif (answer := self.check(scope) or self._opening(scope)) is not None:
            await _say(answer, scope["path"], send)
        else:
            await self.app(scope, receive, send)

    def check(self, scope: Scope) -> Answer | None:
        """Why a request is refused; None when it is not."""
        headers: list[Header] = scope["headers"]
        hosts = _all(headers, b"host")
        if len(hosts) != 1 or hosts[0].lower() not in self.hosts:
            return Answer(421, "this server is not called that")
        origins = _all(headers, b"origin")
        if any(value not in self.origins for value in origins):
            return Answer(403, "pages from elsewhere may not call this")
        if self.pages is not None and scope["path"] == OPEN:
            return None if scope["method"] == "GET" else Answer(405, "the page is opened with GET")
        given = _all(headers, b"authorization")
        theirs = next((one for path, one in self.agents.items() if below(scope["path"], path)), None)
        if theirs or given or self.pages is None or not self.pages.known(_all(headers, b"cookie")):
            if len(given) != 1 or not _is(given[0], theirs or self.token):
                if not theirs and self.pages is not None and _by_a_person(scope["method"], headers):
                    return Answer(401, CLOSED, shown=True)
                return Answer(401, "a bearer token is needed", ((b"www-authenticate", b"Bearer"),))
        elif any(site not in OWN_SITES for site in _all(headers, b"sec-fetch-site")):
            return Answer(403, "pages from elsewhere may not call this")
        elif scope["method"] not in ("GET", "HEAD") and (not origins or scope["path"] == NEW_CODE):
            return Answer(403, "only our own page may do that, and it says where it comes from")
        return _body_refused(scope["method"], headers)

    def _opening(self, scope: Scope) -> Answer | None:
        """The two doors of the page, for requests that were let in."""
        if self.pages is None or scope["path"] not in (OPEN, NEW_CODE):
            return None
        if scope["path"] == NEW_CODE:
            return Answer(200, self.pages.code()) if scope["method"] == "POST" else Answer(405, "POST only")
        codes = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("code", [])
        if len(codes) != 1 or not self.pages.spend(codes[0]):
            return Answer(401, USED, shown=True)
        cookie = (b"set-cookie", self.pages.set_cookie().encode())
        return Answer(303, "the page is at /", ((b"location", b"/"), cookie))


def below(path: str, beginning: str) -> bool:
    """Whether a path is this one or goes on from it: the guard and who shares paths out must agree."""
    return path == beginning or path.startswith(f"{beginning}/")


def _is(given: bytes, token: bytes) -> bool:
    scheme, _, told = given.partition(b" ")
    return hmac.compare_digest(told.strip(), token) and scheme.lower() == b"bearer"


def _all(headers: list[Header], wanted: bytes) -> list[bytes]:
    return [value for name, value in headers if name == wanted]


def _by_a_person(method: str, headers: list[Header]) -> bool:
    """Whether a browser asks for a page to show."""
    return method == "GET" and any(b"text/html" in value for value in _all(headers, b"accept"))


def _body_refused(method: str, headers: list[Header]) -> Answer | None:
    if method == "POST":
        kinds = [value.split(b";")[0].strip().lower() for value in _all(headers, b"content-type")]
        if kinds != [b"application/json"]:
            return Answer(415, "the body must be application/json")
    sizes = _all(headers, b"content-length")
    if any(not size.isdigit() or len(size) > 12 or int(size) > BODY for size in sizes):
        return Answer(413, f"a body may have {BODY} bytes")
    return None


async def _say(answer: Answer, path: str, send: Send) -> None:
    body, kind = answer.says.encode(), b"text/plain; charset=utf-8"
    if answer.shown:
        body, kind = PAGE.format(answer.says).encode(), b"text/html; charset=utf-8"
    elif path.startswith("/api/") and answer.status >= 400:
        hint = "`fazm-memory timeline` opens the page anew"
        told = {"title": "The request was refused", "message": answer.says, "hint": hint, "code": 0}
        body, kind = json.dumps({"error": told}).encode(), b"application/json"
    headers = [
        (b"content-type", kind),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        (b"referrer-policy", b"no-referrer"),
        (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
        (b"x-content-type-options", b"nosniff"),
        (b"connection", b"close"),  # what follows of a body nobody reads
        *answer.headers,
    ]
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})

"""The page as an ASGI application: its files, its API and its security headers.

It needs the loopback guard in front of it. In the Mac's window it is called without a network.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Route

from fazm_memory.errors import FazmMemoryError, NotFound
from fazm_memory.loopback import App, Message, Receive, Scope, Send, is_under
from fazm_memory.web import actions, points, reading, settings
from fazm_memory.web.changes import ChangeFeed
from fazm_memory.web.requests import (
    HEADERS,
    MemoryFactory,
    StoreThreads,
    body_of,
    error_response,
    json_response,
    query_of,
    unexpected_error_response,
)

API = "/api/v1"
STATIC = Path(__file__).parent / "static"
KINDS = {
    ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".png": "image/png",
    ".json": "application/json",
}  # fmt: skip
LONGEST_WAIT = 25
VERSIONED = "v"  # the folder of the page's files in an address, before their version
FOREVER = "private, max-age=31536000, immutable"  # another version has another address
LINKED = re.compile(r'(?<=(?:href|.src)=")(?![/#]|\w+:)')
INDEX = "index.html"

Endpoint = Callable[[Request], Awaitable[Response]]


class PageApp:
    """The application. Call `stop` before the server ends, so that streams end.

    `factory` opens the store. It is called once in each worker thread.
    """

    def __init__(self, factory: MemoryFactory, *, static: Path = STATIC) -> None:
        self.threads = StoreThreads(factory)
        self.changes = ChangeFeed(self.threads)
        self.files = _files(static)
        self.version = _version(self.files)
        self.starlette = Starlette(
            routes=self._routes(),
            lifespan=self._lifespan,
            exception_handlers={
                FazmMemoryError: _error,
                HTTPException: _http_error,
                ClientDisconnect: _disconnected,
                Exception: _unexpected,
            },
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {name for name, _ in message["headers"]}
                missing = [header for header in HEADERS if header[0] not in present]
                message["headers"] = [*message["headers"], *missing]
            await send(message)

        await self.starlette(scope, receive, send_with_headers)

    def stop(self) -> None:
        self.changes.stop()

    @asynccontextmanager
    async def _lifespan(self, app: Starlette) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await self.close()

    async def close(self) -> None:
        await self.changes.end()
        self.threads.close()

    # -- routes ------------------------------------------------------------------------------------------

    def _routes(self) -> list[Route]:
        reads, writes = page_routes()
        found = [
            Route(f"{API}/{path}", self._read(path, work), methods=["GET"]) for path, work in reads.items()
        ]
        found += [
            Route(f"{API}/{path}", self._write(work), methods=["POST"]) for path, work in writes.items()
        ]
        found.append(Route(f"{API}/changes", self._changes, methods=["GET"]))
        return [*found, Route("/{path:path}", self._file, methods=["GET"])]

    def _read(self, path: str, work: reading.Read) -> Endpoint:
        run = self.threads.read
        if path in reading.WRITING | points.WRITING:
            run = self.threads.write
        elif path in reading.SLOW | settings.SLOW:
            run = self.threads.read_slowly

        async def endpoint(request: Request) -> Response:
            query, names = query_of(request), dict(request.path_params)
            return await run(lambda memory: json_response(work(memory, query, **names), now=memory.now()))

        return endpoint

    def _write(self, work: actions.Write) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            body, names = await body_of(request), dict(request.path_params)
            return await self.threads.write(
                lambda memory: json_response(work(memory, body, **names), now=memory.now())
            )

        return endpoint

    async def _changes(self, request: Request) -> Response:
        query = query_of(request)
        if "wait" in request.query_params:
            wait = min(query.number("wait") or 0, LONGEST_WAIT)
            return json_response(await self.changes.after(query.text("after"), wait))
        cursor = query.text("after") or request.headers.get("last-event-id")
        return StreamingResponse(self.changes.follow(cursor), media_type="text/event-stream")

    async def _file(self, request: Request) -> Response:
        """One of the page's files. The names are listed at start, a request never looks for others.

        The page asks for them under their version, so that a browser needs each only once.
        """
        path = request.path_params["path"] or INDEX
        folder = f"{VERSIONED}/{self.version}/"
        found = self.files.get(path.removeprefix(folder))
        if path.startswith("api/") or found is None:
            raise NotFound(f"Nothing at /{path[:100]}.", hint="The page is at /.")
        if path == INDEX:
            return Response(self._index(folder), media_type=KINDS[found.suffix])
        headers = {"cache-control": FOREVER} if path.startswith(folder) else None
        return FileResponse(found, media_type=KINDS[found.suffix], headers=headers)

    def _index(self, folder: str) -> str:
        """The page with versioned addresses. It names all modules, so that they are loaded at once."""
        text = LINKED.sub(folder, self.files[INDEX].read_text(encoding="utf-8"))
        modules = sorted(name for name in self.files if name.endswith(".js"))
        preloads = "".join(f'<link rel="modulepreload" href="{folder}{name}">' for name in modules)
        return text.replace("</head>", f"{preloads}</head>")


def page_routes() -> tuple[dict[str, reading.Read], dict[str, actions.Write]]:
    """What each path of the page reads or writes."""
    return (
        {**reading.ROUTES, **settings.READS, **points.READS},
        {**actions.ROUTES, **settings.WRITES, **points.WRITES},
    )


def _files(static: Path) -> dict[str, Path]:
    found = (path for path in static.rglob("*") if path.suffix in KINDS and path.is_file())
    return {path.relative_to(static).as_posix(): path for path in found}


def _version(files: Mapping[str, Path]) -> str:
    """A name that differs for other contents of the files."""
    hashed = hashlib.sha256()
    for name in sorted(files):
        hashed.update(f"{name}\0{files[name].stat().st_size}\0".encode())
        hashed.update(files[name].read_bytes())
    return hashed.hexdigest()[:16]


async def _error(request: Request, error: Exception) -> Response:
    assert isinstance(error, FazmMemoryError)
    return error_response(error)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    body = {"title": "Not found", "message": str(error.detail), "hint": "", "code": 4}
    return json_response({"error": body}, error.status_code)


async def _disconnected(request: Request, error: Exception) -> Response:
    """The client went away while it sent its request. Nobody reads this."""
    return Response(status_code=400)


async def _unexpected(request: Request, error: Exception) -> Response:
    return unexpected_error_response(error)


def mount(page: PageApp, others: dict[str, Starlette]) -> App:
    """The page and other applications, by path, with one lifespan."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for app_ in (page.starlette, *others.values()):
                await stack.enter_async_context(app_.router.lifespan_context(app_))
            yield

    lifespan_app = Starlette(lifespan=lifespan)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await lifespan_app(scope, receive, send)
            return
        for path, other in others.items():
            if is_under(scope["path"], path):
                await other(scope, receive, send)
                return
        await page(scope, receive, send)

    return app

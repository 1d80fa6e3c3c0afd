"""The page as one ASGI application: its files, its API, and the headers that all of it carries.

Who puts it on a port puts the guard before it. In the Mac's window it is called without a network.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Route

from fazm_memory.errors import FazmMemoryError, NotFound
from fazm_memory.loopback.guard import App, Message, Receive, Scope, Send, below
from fazm_memory.web import doing, reading, settings
from fazm_memory.web.answers import HEADERS, answer, refused, unforeseen
from fazm_memory.web.asked import asked, body_of
from fazm_memory.web.changes import Changes
from fazm_memory.web.desk import Desk, MemoryFactory

API = "/api/v1"
STATIC = Path(__file__).parent / "static"
KINDS = {
    ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".png": "image/png",
    ".json": "application/json",
}  # fmt: skip
LONGEST_WAIT = 25

Endpoint = Callable[[Request], Awaitable[Response]]


class PageApp:
    """The application, and `stop` for who is about to end its server."""

    def __init__(self, factory: MemoryFactory, *, static: Path = STATIC) -> None:
        self.desk = Desk(factory)
        self.changes = Changes(self.desk)
        self.files = _files(static)
        self.starlette = Starlette(
            routes=self._routes(),
            lifespan=self._lifespan,
            exception_handlers={FazmMemoryError: _refused, HTTPException: _lost, Exception: _unforeseen},
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def sealed(message: Message) -> None:
            if message["type"] == "http.response.start":
                given = {name for name, _ in message["headers"]}
                message["headers"] = [*message["headers"], *(one for one in HEADERS if one[0] not in given)]
            await send(message)

        await self.starlette(scope, receive, sealed)

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
        self.desk.close()

    # -- routes ------------------------------------------------------------------------------------------

    def _routes(self) -> list[Route]:
        reads = {**reading.ROUTES, **settings.READS}
        writes = {**doing.ROUTES, **settings.WRITES}
        routes = [
            Route(f"{API}/{path}", self._read(path, work), methods=["GET"]) for path, work in reads.items()
        ]
        routes += [
            Route(f"{API}/{path}", self._write(work), methods=["POST"]) for path, work in writes.items()
        ]
        routes.append(Route(f"{API}/changes", self._changes, methods=["GET"]))
        return [*routes, Route("/{path:path}", self._file, methods=["GET"])]

    def _read(self, path: str, work: reading.Read) -> Endpoint:
        hand = self.desk.read
        if path in reading.WRITING:  # a plan of rewinding, for one, first finishes what was cut short
            hand = self.desk.write
        elif path in reading.PATIENT | settings.PATIENT:
            hand = self.desk.read_patiently

        async def endpoint(request: Request) -> Response:
            question, names = asked(request), dict(request.path_params)
            return answer(await hand(lambda memory: work(memory, question, **names)))

        return endpoint

    def _write(self, work: doing.Write) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            body, names = await body_of(request), dict(request.path_params)
            return answer(await self.desk.write(lambda memory: work(memory, body, **names)))

        return endpoint

    async def _changes(self, request: Request) -> Response:
        question = asked(request)
        if "wait" in request.query_params:
            wait = min(question.number("wait") or 0, LONGEST_WAIT)
            return answer(await self.changes.after(question.text("after"), wait))
        cursor = question.text("after") or request.headers.get("last-event-id")
        return StreamingResponse(self.changes.follow(cursor), media_type="text/event-stream")

    async def _file(self, request: Request) -> Response:
        """One of the page's own files, by the names there are: nothing is looked up on disk by a request."""
        path = request.path_params["path"] or "index.html"
        found = self.files.get(path)
        if path.startswith("api/") or found is None:
            raise NotFound(f"there is nothing at /{path[:100]}", hint="the page is at /")
        return FileResponse(found, media_type=KINDS[found.suffix])


def page_app(factory: MemoryFactory, *, static: Path = STATIC) -> PageApp:
    """The page over the store that `factory` opens; it is called once in each thread that works."""
    return PageApp(factory, static=static)


def _files(static: Path) -> dict[str, Path]:
    found = (path for path in static.rglob("*") if path.suffix in KINDS and path.is_file())
    return {path.relative_to(static).as_posix(): path for path in found}


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, FazmMemoryError)
    return refused(error)


async def _lost(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return answer({"error": {"title": "No such thing", "message": str(error.detail), "hint": "", "code": 4}},
                  error.status_code)  # fmt: skip


async def _unforeseen(request: Request, error: Exception) -> Response:
    return unforeseen(error)


def together(page: PageApp, beside: dict[str, Starlette]) -> App:
    """The page and other applications by the beginning of their paths, living and ending as one."""

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for one in (page.starlette, *beside.values()):
                await stack.enter_async_context(one.router.lifespan_context(one))
            yield

    life = Starlette(lifespan=lifespan)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await life(scope, receive, send)
            return
        for path, one in beside.items():
            if below(scope["path"], path):
                await one(scope, receive, send)
                return
        await page(scope, receive, send)

    return app

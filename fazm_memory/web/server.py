"""The page: an ASGI application with its files, API and security headers.

On a loopback port it stands behind the guard. In the Mac's window it is called without a network.

Changes reach the page as a stream or by polling. The store is checked only while somebody listens. Each
change has a number. The last changes are kept, so that a client that lost its connection, or polls, gets what
it missed or must read everything again.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import secrets
import threading
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.routing import Route

from fazm_memory.app import Memory
from fazm_memory.errors import FazmMemoryError, NotFound
from fazm_memory.loopback import (
    ADDRESS,
    PAGE_TOKEN,
    PORT,
    App,
    Guard,
    Message,
    PageKeys,
    Receive,
    Scope,
    Send,
    Server,
    ServerThread,
    is_under,
    listen_on,
    page_url,
    port_of,
    publish_port,
    read_token,
)
from fazm_memory.records import dataclass, field
from fazm_memory.store import StoreChanges, StoreWatcher
from fazm_memory.web import actions, reading, settings
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

EVERY = 0.5  # seconds between two checks
KEPT = 200  # changes
KEEP_ALIVE = 15.0  # seconds of silence after which a stream sends a comment


@dataclass(frozen=True)
class FeedEntry:
    number: int
    sessions: tuple[str, ...]
    kinds: tuple[str, ...]
    all: bool


class ChangeFeed:
    def __init__(self, threads: StoreThreads) -> None:
        self.threads = threads
        self.instance = secrets.token_hex(4)  # cursors of another server process are not valid here
        self.number = 0
        self.kept: deque[FeedEntry] = deque(maxlen=KEPT)
        self.listeners = 0
        self.ended = False
        self._watch: StoreWatcher | None = None
        self._recording: str | None = None
        self._trouble: str | None = None
        self._news = asyncio.Condition()
        self._watching: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._waking: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()

    # -- reading the feed --------------------------------------------------------------------------------

    async def after(self, cursor: str | None, wait: float) -> dict[str, Any]:
        """Changes since a cursor.

        At once if there are any, else after at most `wait` seconds.
        """
        await self._check()
        known = self._known(cursor)
        if wait > 0 and known == self.number and not self.ended:
            self._begin()
            try:
                async with asyncio.timeout(wait):
                    await self._next(known)
            except TimeoutError:
                pass
            finally:
                self.listeners -= 1
        return self._since(known)

    async def follow(self, cursor: str | None) -> AsyncIterator[str]:
        """The lines of a server-sent event stream. It ends when the server ends."""
        self._begin()
        try:
            await self._check()
            known = self._known(cursor) if cursor else self.number
            yield _line(self._since(known))
            known = self.number
            while not self.ended:
                try:
                    async with asyncio.timeout(KEEP_ALIVE):
                        await self._next(known)
                except TimeoutError:
                    yield ": still here\n\n"
                    continue
                if self.number != known:
                    yield _line(self._since(known))
                    known = self.number
        finally:
            self.listeners -= 1

    def _known(self, cursor: str | None) -> int | None:
        """The number of a cursor, or None if it is not a cursor of this process."""
        instance, _, number = (cursor or "").partition("-")
        if instance != self.instance or not (number.isascii() and number.isdigit()) or len(number) > 12:
            return None if cursor else self.number
        return int(number) if int(number) <= self.number else None

    def _since(self, known: int | None) -> dict[str, Any]:
        """All changes after a number, combined."""
        cursor = f"{self.instance}-{self.number}"
        missed = [] if known is None else [change for change in self.kept if change.number > known]
        lost = known is None or self.number - known > len(missed)
        return {
            "cursor": cursor,
            "sessions": sorted({session for change in missed for session in change.sessions}),
            "kinds": sorted({kind for change in missed for kind in change.kinds}),
            "all": lost or any(change.all for change in missed),
        }

    async def _next(self, known: int | None) -> None:
        async with self._news:
            await self._news.wait_for(lambda: self.ended or self.number != known)

    # -- watching the store ------------------------------------------------------------------------------

    def _begin(self) -> None:
        self.listeners += 1
        self._loop = asyncio.get_running_loop()
        if self._watching is None or self._watching.done():
            self._watching = self._loop.create_task(self._watch_repeatedly())

    async def _watch_repeatedly(self) -> None:
        while self.listeners > 0 and not self.ended:
            try:
                await self._check()
            except FazmMemoryError as trouble:
                if trouble.message != self._trouble:  # once; the page then reads and shows it
                    self._trouble = trouble.message
                    await self._publish(StoreChanges(kinds=("trouble",), all=True))
            await asyncio.sleep(EVERY)

    async def _check(self) -> None:
        async with self._turn:
            found = await self.threads.watch(self._check_store)
        if found is not None:
            await self._publish(found)

    def _check_store(self, memory: Memory) -> StoreChanges | None:
        recording = str(memory.recording.status())
        switched = self._recording is not None and recording != self._recording
        self._recording = recording
        if self._watch is None:
            self._watch = StoreWatcher(memory.store)
            return None
        found = self._watch.look()
        if switched:
            changes = found or StoreChanges()
            return StoreChanges(changes.sessions, (*changes.kinds, "recording"), changes.all)
        return found

    async def _publish(self, found: StoreChanges) -> None:
        self.number += 1
        self.kept.append(FeedEntry(self.number, found.sessions, found.kinds, found.all))
        async with self._news:
            self._news.notify_all()

    def stop(self) -> None:
        """End all streams before the server waits for them. From any thread."""
        self.ended = True
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake_soon)

    def _wake_soon(self) -> None:
        self._waking = asyncio.ensure_future(self._wake())

    async def _wake(self) -> None:
        async with self._news:
            self._news.notify_all()

    async def end(self) -> None:
        """Stop watching."""
        self.ended = True
        await self._wake()
        if self._watching is not None:
            await self._watching


def _line(changes: dict[str, Any]) -> str:
    return f"id: {changes['cursor']}\ndata: {json.dumps(changes)}\n\n"


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
        if path in reading.WRITING | actions.WRITING:
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
        """One of the page's files.

        The names are listed at start. A request never looks for others.

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
        """The page with versioned addresses.

        It names all modules, so that they are loaded at once.
        """
        text = LINKED.sub(folder, self.files[INDEX].read_text(encoding="utf-8"))
        modules = sorted(name for name in self.files if name.endswith(".js"))
        preloads = "".join(f'<link rel="modulepreload" href="{folder}{name}">' for name in modules)
        return text.replace("</head>", f"{preloads}</head>")


def page_routes() -> tuple[dict[str, reading.Read], dict[str, actions.Write]]:
    """What each path of the page reads or writes."""
    return (
        {**reading.ROUTES, **settings.READS, **actions.READS},
        {**actions.ROUTES, **settings.WRITES},
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
    """The page for a window that answers its own URL scheme.

    Blocking, callable from any thread.

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

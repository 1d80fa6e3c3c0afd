"""An application that is created at its first request.

The MCP SDK takes a second and tens of megabytes, which a companion without HTTP clients should not pay. The
application runs in its own task, because its lifespan must end in the task where it began.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.types import Receive, Scope, Send

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

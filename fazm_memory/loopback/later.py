"""An application that is loaded when somebody first asks for it.

The MCP server's SDK takes a second and tens of megabytes, which a companion that no agent speaks to over HTTP
should not pay. It lives in a task of its own, since its lifespan must end where it began.
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


class Later(Starlette):
    """`make` is called in a thread, once; `done` when the server ends, if it was."""

    def __init__(self, make: Callable[[], Starlette], done: Callable[[], None] = lambda: None) -> None:
        super().__init__(lifespan=self._life)
        self._make, self._done = make, done
        self._inner: Starlette | None = None
        self._trouble = "it is not being served"

    @asynccontextmanager
    async def _life(self, app: Starlette) -> AsyncIterator[None]:
        self._asked, self._ready, self._ending = asyncio.Event(), asyncio.Event(), asyncio.Event()
        keeper = asyncio.create_task(self._keep())
        try:
            yield
        finally:
            self._ending.set()
            self._asked.set()
            await keeper

    async def _keep(self) -> None:
        await self._asked.wait()
        if self._ending.is_set():
            return
        try:
            inner = await asyncio.to_thread(self._make)
            async with inner.router.lifespan_context(inner):
                self._inner = inner
                self._ready.set()
                await self._ending.wait()
        except Exception as error:  # whoever asked is told, and so is the log: the page goes on beside it
            self._trouble = f"{type(error).__name__}: {error}"
            log.exception("an application of the companion could not be served")
        finally:
            self._inner = None
            self._ready.set()
            await asyncio.to_thread(self._done)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await super().__call__(scope, receive, send)
            return
        self._asked.set()
        await self._ready.wait()
        if self._inner is None:
            answer = JSONResponse({"error": self._trouble}, status_code=503)
            await answer(scope, receive, send)
            return
        await self._inner(scope, receive, send)

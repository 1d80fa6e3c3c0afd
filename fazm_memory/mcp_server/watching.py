"""Watching resources for clients: who wants to hear of which address, and what it looked like last.

Other processes write to the same store, so what was written here is not all there is to tell. While somebody
watches, and only then, we look at the store once a second.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.session import ServerSession
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourceUpdated

PAUSE = 1.0  # seconds between two looks
Context = ServerRequestContext[Any, Any]
Look = Callable[[str], Awaitable[object]]


class Watching:
    """`look` tells what an address stands for now, as a value that is another one when that has changed."""

    def __init__(self, look: Look, pause: float = PAUSE) -> None:
        self.look = look
        self.pause = pause
        self.bus = InMemorySubscriptionBus()
        self.streams = ListenHandler(self.bus)
        self.watched: Counter[str] = Counter()
        self.seen: dict[str, object] = {}
        self.clients: dict[tuple[int, str], ServerSession] = {}
        self.task: asyncio.Task[None] | None = None

    # -- clients with a handshake ------------------------------------------------------------------------

    async def subscribe(self, context: Context, uri: str) -> None:
        client = (_connection(context), uri)
        if client not in self.clients:
            await self._begin(uri)
            self.clients[client] = context.session

    def unsubscribe(self, context: Context, uri: str) -> None:
        if self.clients.pop((_connection(context), uri), None) is not None:
            self._end(uri)

    # -- clients without one: the answer to their request is the stream ------------------------------------

    async def listen(
        self, context: Context, params: types.SubscriptionsListenRequestParams
    ) -> types.SubscriptionsListenResult:
        wanted = list(dict.fromkeys(params.notifications.resource_subscriptions or ()))
        begun: list[str] = []
        try:
            for uri in wanted:
                await self._begin(uri)
                begun.append(uri)
            return await self.streams(context, params)
        finally:
            for uri in begun:
                self._end(uri)

    # -- looking -----------------------------------------------------------------------------------------

    async def _begin(self, uri: str) -> None:
        if not self.watched[uri]:
            self.seen[uri] = await self.look(uri)
        self.watched[uri] += 1
        if self.task is None or self.task.done():
            self.task = asyncio.get_running_loop().create_task(self._go_on_looking())

    def _end(self, uri: str) -> None:
        self.watched[uri] -= 1
        if not self.watched[uri]:
            del self.watched[uri], self.seen[uri]

    async def _go_on_looking(self) -> None:
        while self.watched:
            await asyncio.sleep(self.pause)
            await self.look_again()

    async def look_again(self) -> None:
        """Tell of every watched address that has changed since it was last looked at."""
        for uri in list(self.watched):
            now = await self.look(uri)
            if uri in self.seen and self.seen[uri] != now:
                self.seen[uri] = now
                await self._tell(uri)

    async def _tell(self, uri: str) -> None:
        await self.bus.publish(ResourceUpdated(uri=uri))
        for (_, wanted), session in list(self.clients.items()):
            if wanted == uri:
                await session.send_resource_updated(uri)


def _connection(context: Context) -> int:
    """Which connection a request came by: what its client said at the handshake is kept as one object."""
    return id(context.session.client_params)

"""Subscriptions of clients to resources.

Other processes write to the same store, so it is checked once a second while there are subscribers.
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

PAUSE = 1.0  # seconds between two checks
Context = ServerRequestContext[Any, Any]
Look = Callable[[str], Awaitable[object]]


class ResourceSubscriptions:
    """`look` returns a value for a URI that differs after the resource has changed."""

    def __init__(self, look: Look, pause: float = PAUSE) -> None:
        self.look = look
        self.pause = pause
        self.bus = InMemorySubscriptionBus()
        self.streams = ListenHandler(self.bus)
        self.watched: Counter[str] = Counter()
        self.last: dict[str, object] = {}
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

    # -- clients without a handshake: the answer to their request is a stream -----------------------------

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

    # -- checks ------------------------------------------------------------------------------------------

    async def _begin(self, uri: str) -> None:
        if not self.watched[uri]:
            self.last[uri] = await self.look(uri)
        self.watched[uri] += 1
        if self.task is None or self.task.done():
            self.task = asyncio.get_running_loop().create_task(self._check_repeatedly())

    def _end(self, uri: str) -> None:
        self.watched[uri] -= 1
        if not self.watched[uri]:
            del self.watched[uri], self.last[uri]

    async def _check_repeatedly(self) -> None:
        while self.watched:
            await asyncio.sleep(self.pause)
            await self.check()

    async def check(self) -> None:
        """Notify the subscribers of every resource that has changed since the last check."""
        for uri in list(self.watched):
            now = await self.look(uri)
            if uri in self.last and self.last[uri] != now:
                self.last[uri] = now
                await self._notify(uri)

    async def _notify(self, uri: str) -> None:
        await self.bus.publish(ResourceUpdated(uri=uri))
        for (_, wanted), session in list(self.clients.items()):
            if wanted == uri:
                await session.send_resource_updated(uri)


def _connection(context: Context) -> int:
    """The connection of a request. The SDK keeps one object of handshake parameters per connection."""
    return id(context.session.client_params)

"""How long a connection may say nothing, and how many may: whoever has no key must not use up our files.

A client of ours sends its request at once. One that has not sent a whole head within seconds is hung up on,
and of too many that wait the oldest goes first, so that a newcomer with something to say still gets in.
"""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

FIRST_SECONDS = 5.0  # until the head of the first request is here; each that is refused is the last
MOST_WAITING = 64
MOST_OPEN = 256  # with those let in, pages that follow what is new among them
BACKLOG = 256  # taken in at one go, before any can be hung up on


class Patience(H11Protocol):
    """Uvicorn's protocol, and its end where nothing comes."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        waiting = [one for one in self.connections if isinstance(one, Patience) and one._deadline is not None]
        if len(waiting) >= MOST_WAITING:
            min(waiting, key=_when).hang_up()
        self._deadline = self.loop.call_later(FIRST_SECONDS, self.hang_up)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None:
            self._heard()

    def connection_lost(self, exc: Exception | None) -> None:
        self._heard()
        super().connection_lost(exc)

    def hang_up(self) -> None:
        self._heard()
        self.transport.abort()

    def _heard(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def _when(one: Patience) -> float:
    assert one._deadline is not None
    return one._deadline.when()

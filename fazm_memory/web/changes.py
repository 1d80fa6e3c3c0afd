"""What changed, told to everyone who listens by one watcher, which looks only while somebody does.

Each change has a number of this server's life; the last few are kept, so that who lost the line, or asks
again and again instead of listening, gets what it missed, or is told to read everything anew.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections import deque
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from fazm_memory.errors import FazmMemoryError
from fazm_memory.log.news import News, Watch
from fazm_memory.memory import Memory
from fazm_memory.web.desk import Desk

EVERY = 0.5  # seconds between two looks
KEPT = 200  # changes
BREATH = 15.0  # seconds after which a silent line says that it lives


@dataclass(frozen=True)
class Change:
    number: int
    sessions: tuple[str, ...]
    kinds: tuple[str, ...]
    all: bool


class Changes:
    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.life = secrets.token_hex(4)
        self.number = 0
        self.kept: deque[Change] = deque(maxlen=KEPT)
        self.listeners = 0
        self.ended = False
        self._watch: Watch | None = None
        self._recording: str | None = None
        self._trouble: str | None = None
        self._news = asyncio.Condition()
        self._looking: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._going: asyncio.Task[None] | None = None
        self._turn = asyncio.Lock()

    # -- for who asks ------------------------------------------------------------------------------------

    async def after(self, cursor: str | None, wait: float) -> dict[str, Any]:
        """What changed since a cursor, at once if anything did, else after at most `wait` seconds."""
        await self._look()
        known = self._known(cursor)
        if wait > 0 and known == self.number and not self.ended:
            self._begin()
            try:
                async with asyncio.timeout(wait):
                    await self._next(known)
            except TimeoutError:
                pass  # nothing happened, which is an answer too
            finally:
                self.listeners -= 1
        return self._told(known)

    async def follow(self, cursor: str | None) -> AsyncIterator[str]:
        """The lines of a server-sent stream; it ends when the server does."""
        self._begin()
        try:
            await self._look()
            known = self._known(cursor) if cursor else self.number
            yield _line(self._told(known))
            known = self.number
            while not self.ended:
                try:
                    async with asyncio.timeout(BREATH):
                        await self._next(known)
                except TimeoutError:
                    yield ": still here\n\n"
                    continue
                if self.number != known:
                    yield _line(self._told(known))
                    known = self.number
        finally:
            self.listeners -= 1

    def _known(self, cursor: str | None) -> int | None:
        """The number of a cursor of this life; None for any other."""
        life, _, number = (cursor or "").partition("-")
        if life != self.life or not (number.isascii() and number.isdigit()) or len(number) > 12:
            return None if cursor else self.number
        return int(number) if int(number) <= self.number else None

    def _told(self, known: int | None) -> dict[str, Any]:
        """What happened after a number, as one."""
        cursor = f"{self.life}-{self.number}"
        missed = [] if known is None else [one for one in self.kept if one.number > known]
        lost = known is None or self.number - known > len(missed)
        return {
            "cursor": cursor,
            "sessions": sorted({session for one in missed for session in one.sessions}),
            "kinds": sorted({kind for one in missed for kind in one.kinds}),
            "all": lost or any(one.all for one in missed),
        }

    async def _next(self, known: int | None) -> None:
        async with self._news:
            await self._news.wait_for(lambda: self.ended or self.number != known)

    # -- looking -----------------------------------------------------------------------------------------

    def _begin(self) -> None:
        self.listeners += 1
        self._loop = asyncio.get_running_loop()
        if self._looking is None or self._looking.done():
            self._looking = self._loop.create_task(self._look_on())

    async def _look_on(self) -> None:
        """Look again and again as long as anybody listens."""
        while self.listeners > 0 and not self.ended:
            try:
                await self._look()
            except FazmMemoryError as trouble:
                if trouble.message != self._trouble:  # who reads now is told what it is; each once
                    self._trouble = trouble.message
                    await self._tell(News(kinds=("trouble",), all=True))
            await asyncio.sleep(EVERY)

    async def _look(self) -> None:
        async with self._turn:
            found = await self.desk.watch(self._once)
        if found is not None:
            await self._tell(found)

    def _once(self, memory: Memory) -> News | None:
        """One look, in the watcher's thread."""
        recording = str(memory.recording())
        switched = self._recording is not None and recording != self._recording
        self._recording = recording
        if self._watch is None:
            self._watch = Watch(memory.store)
            return None
        found = self._watch.look()
        if switched:
            told = found or News()
            return News(told.sessions, (*told.kinds, "recording"), told.all)
        return found

    async def _tell(self, found: News) -> None:
        self.number += 1
        self.kept.append(Change(self.number, found.sessions, found.kinds, found.all))
        async with self._news:
            self._news.notify_all()

    def stop(self) -> None:
        """Let everyone go who listens, before the server waits for them. From any thread."""
        self.ended = True
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._wake_soon)

    def _wake_soon(self) -> None:
        self._going = asyncio.ensure_future(self._wake())

    async def _wake(self) -> None:
        async with self._news:
            self._news.notify_all()

    async def end(self) -> None:
        """Nothing is looked at any more."""
        self.ended = True
        await self._wake()
        if self._looking is not None:
            await self._looking


def _line(told: dict[str, Any]) -> str:
    return f"id: {told['cursor']}\ndata: {json.dumps(told)}\n\n"

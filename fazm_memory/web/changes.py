"""The feed of changes for the page, as a stream or by polling.

The store is checked only while somebody listens. Each change has a number. The last changes are kept, so that
a client that lost its connection, or polls, gets what it missed or must read everything again.
"""

from __future__ import annotations

import asyncio
import json
import secrets
from collections import deque
from collections.abc import AsyncIterator
from typing import Any

from fazm_memory.app import Memory
from fazm_memory.errors import FazmMemoryError
from fazm_memory.records import dataclass
from fazm_memory.store import StoreChanges, StoreWatcher
from fazm_memory.web.requests import StoreThreads

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
        """Changes since a cursor: at once if there are any, else after at most `wait` seconds."""
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

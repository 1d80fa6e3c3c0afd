"""Requests and responses of the page.

Checked parameters and JSON bodies, security headers, errors by HTTP status.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from typing import Any, TypeVar

from starlette.requests import Request
from starlette.responses import Response

from fazm_memory.app import Memory
from fazm_memory.clock import EARLIEST, LATEST, TimeError, parse_time
from fazm_memory.errors import (
    Ambiguous,
    Conflict,
    Declined,
    FazmMemoryError,
    InvalidInput,
    InvalidTransition,
    NotFound,
    RecordingPaused,
    StoreBusy,
    StoreFull,
)
from fazm_memory.loopback import BODY

CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", CSP.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"x-frame-options", b"DENY"),
)
UNEXPECTED = 70


class NotHere(InvalidInput):
    """This system cannot do it. The class name is part of the API (`kind`)."""

    title = "Not possible on this system"


class TooLarge(InvalidInput):
    title = "The request is too large"


STATUS: dict[type[FazmMemoryError], int] = {
    NotFound: 404, InvalidInput: 400, Ambiguous: 409, InvalidTransition: 409, Conflict: 409,
    RecordingPaused: 409, Declined: 409, StoreBusy: 503, StoreFull: 507,
    NotHere: 501, TooLarge: 413,
}  # fmt: skip


def json_response(value: Any, status: int = 200, now: int | None = None) -> Response:
    """A value as a JSON response.

    In ASCII, so that lone surrogates get through unchanged. `now` is the memory's clock.
    """
    body = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()
    headers = None if now is None else {"x-fazm-now": str(now // 1000)}
    return Response(body, status, headers, media_type="application/json")


def error_response(error: FazmMemoryError) -> Response:
    status = next((STATUS[cls] for cls in type(error).__mro__ if cls in STATUS), 500)
    body = {
        "title": error.title,
        "message": error.message,
        "hint": error.hint,
        "code": error.exit_code,
        "kind": type(error).__name__,
    }
    return json_response({"error": {**error.details, **body}}, status)


def unexpected_error_response(error: Exception) -> Response:
    """The response to a bug of ours."""
    body = {
        "title": "Unexpected error",
        "message": f"{type(error).__name__}: {error!s:.300}",
        "hint": "Everything recorded before is kept.",
        "code": UNEXPECTED,
        "kind": "Unforeseen",
    }
    return json_response({"error": body}, 500)


LARGEST = 1 << 40


class QueryParameters:
    """The query parameters of a request. An empty value counts as missing."""

    def __init__(self, values: Mapping[str, str]) -> None:
        self.values = values

    def text(self, name: str) -> str | None:
        return self.values.get(name) or None

    def needed(self, name: str) -> str:
        value = self.text(name)
        if value is None:
            raise InvalidInput(f"{name} is required.")
        return value

    def flag(self, name: str) -> bool:
        return self.values.get(name, "").lower() in ("1", "true", "yes")

    def words(self, name: str) -> list[str]:
        """Several values, separated by commas."""
        return [word for word in self.values.get(name, "").split(",") if word]

    def number(self, name: str, default: int | None = None) -> int | None:
        value = self.text(name)
        return default if value is None else whole_number(name, value)

    def limit(self, default: int, most: int) -> int:
        value = self.number("limit", default) or default
        return max(1, min(value, most))

    def moment(self, name: str) -> int | None:
        """A time in ISO 8601 or in milliseconds since 1970, as microseconds."""
        value = self.text(name)
        if value is None:
            return None
        if value.removeprefix("-").isascii() and value.removeprefix("-").isdigit() and len(value) < 18:
            return max(EARLIEST, min(int(value) * 1000, LATEST))
        try:
            return parse_time(value.replace(" ", "+"))  # an unescaped plus arrives as a space
        except TimeError as error:
            raise InvalidInput(f"{name}: {error}") from None

    def day(self, name: str) -> date | None:
        value = self.text(name)
        if value is None:
            return None
        try:
            return date.fromisoformat(value)
        except ValueError:
            raise InvalidInput(
                f'{name}: "{value[:40]}" is not a date.', hint="Use for example 2026-03-04."
            ) from None

    def turns(self, name: str) -> tuple[int, int] | None:
        """A range of turns, `A-B`, or a single turn."""
        value = self.text(name)
        if value is None:
            return None
        first, _, last = value.partition("-")
        return whole_number(name, first), whole_number(name, last or first)


def whole_number(name: str, value: str) -> int:
    if not (value.isascii() and value.isdigit()) or len(value) > 12:
        raise InvalidInput(f'{name} must be a whole number, not "{value[:40]}".')
    return int(value)


def query_of(request: Request) -> QueryParameters:
    return QueryParameters(request.query_params)


class JsonBody:
    """The JSON object of a POST."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values

    def value(self, name: str) -> Any:
        return self.values.get(name)

    def text(self, name: str) -> str | None:
        value = self.values.get(name)
        if value is not None and not isinstance(value, str):
            raise InvalidInput(f"{name} must be text.")
        return value or None

    def needed(self, name: str) -> str:
        value = self.text(name)
        if value is None:
            raise InvalidInput(f"{name} is required.")
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        value = self.values.get(name, default)
        if not isinstance(value, bool):
            raise InvalidInput(f"{name} must be true or false.")
        return value

    def number(self, name: str) -> int | None:
        value = self.values.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LARGEST:
            raise InvalidInput(f"{name} must be a whole number.")
        return value

    def place(self, name: str) -> int | str | None:
        """A position of a session, or another name of one (see app/sessions.py)."""
        value = self.values.get(name)
        named = isinstance(value, str) and not value.isdecimal()
        return self.text(name) if named else self.number(name)

    def moment(self, name: str) -> int | None:
        value = self.values.get(name)
        return QueryParameters({name: str(value)}).moment(name) if value is not None else None


async def body_of(request: Request) -> JsonBody:
    """Read the body up to the size limit, whatever its Content-Length says."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > BODY:
            raise TooLarge(f"The body is larger than {BODY} bytes.")
        parts.append(part)
    try:
        values = json.loads(b"".join(parts))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"The body is not JSON: {error!s:.100}") from None
    if not isinstance(values, dict):
        raise InvalidInput("The body must be a JSON object.")
    return JsonBody(values)


# Threads with a memory each, so that the store never blocks the event loop
#
# Two threads read, one does slow reads, one writes, one watches for changes. Each opens and closes its own
# connection, because a connection belongs to its thread.

T = TypeVar("T")
MemoryFactory = Callable[[], Memory]

READERS = 2


class StoreThread:
    """One thread with its memory, which it opens at the first work."""

    def __init__(self, factory: MemoryFactory, name: str) -> None:
        self.factory = factory
        self.thread = ThreadPoolExecutor(1, thread_name_prefix=name)
        self.memory: Memory | None = None
        self.waiting = 0

    async def do(self, work: Callable[[Memory], T]) -> T:
        self.waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self.thread, self._do, work)
        finally:
            self.waiting -= 1

    def _do(self, work: Callable[[Memory], T]) -> T:
        if self.memory is None:
            self.memory = self.factory()
        return work(self.memory)

    def close(self) -> None:
        """Finish the work that was begun, then close the store."""
        self.thread.submit(self._close).result()
        self.thread.shutdown()

    def _close(self) -> None:
        if self.memory is not None:
            self.memory.close()
            self.memory = None


class StoreThreads:
    def __init__(self, factory: MemoryFactory) -> None:
        self.readers = [StoreThread(factory, f"page-reader-{nth}") for nth in range(READERS)]
        self.slow_reader = StoreThread(factory, "page-slow-reader")
        self.writer = StoreThread(factory, "page-writer")
        # Only a connection that does not write itself sees the writes of others.
        self.watcher = StoreThread(factory, "page-watcher")

    async def read(self, work: Callable[[Memory], T]) -> T:
        """Run in the reader with the least work."""
        return await min(self.readers, key=lambda reader: reader.waiting).do(work)

    async def read_slowly(self, work: Callable[[Memory], T]) -> T:
        """Run what reads a whole session. It delays only other slow reads."""
        return await self.slow_reader.do(work)

    async def write(self, work: Callable[[Memory], T]) -> T:
        return await self.writer.do(work)

    async def watch(self, work: Callable[[Memory], T]) -> T:
        return await self.watcher.do(work)

    def close(self) -> None:
        for thread in (*self.readers, self.slow_reader, self.writer, self.watcher):
            thread.close()

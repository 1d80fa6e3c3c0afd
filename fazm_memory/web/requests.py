"""Query parameters and JSON bodies, with checked types. Errors name the wrong field."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from typing import Any

from starlette.requests import Request

from fazm_memory.clock import EARLIEST, LATEST, TimeError, parse_time
from fazm_memory.errors import InvalidInput
from fazm_memory.loopback import BODY
from fazm_memory.web.responses import TooLarge

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

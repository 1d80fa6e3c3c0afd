"""What a request asks: parameters and body, read into values or refused by the name of what is wrong."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from typing import Any

from starlette.requests import Request

from fazm_memory.errors import InvalidInput
from fazm_memory.loopback.guard import BODY
from fazm_memory.model.clock import EARLIEST, LATEST, TimeError, parse
from fazm_memory.web.answers import TooLarge

LARGEST = 1 << 40


class Asked:
    """The parameters of a request; an empty one counts as not given."""

    def __init__(self, given: Mapping[str, str]) -> None:
        self.given = given

    def text(self, name: str) -> str | None:
        return self.given.get(name) or None

    def needed(self, name: str) -> str:
        value = self.text(name)
        if value is None:
            raise InvalidInput(f"{name} is needed")
        return value

    def flag(self, name: str) -> bool:
        return self.given.get(name, "").lower() in ("1", "true", "yes")

    def words(self, name: str) -> list[str]:
        """Several, with commas between them."""
        return [one for one in self.given.get(name, "").split(",") if one]

    def number(self, name: str, otherwise: int | None = None) -> int | None:
        value = self.text(name)
        return otherwise if value is None else whole(name, value)

    def limit(self, otherwise: int, most: int) -> int:
        value = self.number("limit", otherwise) or otherwise
        return max(1, min(value, most))

    def moment(self, name: str) -> int | None:
        """A time in ISO 8601 or in milliseconds since 1970, as microseconds."""
        value = self.text(name)
        if value is None:
            return None
        if value.removeprefix("-").isascii() and value.removeprefix("-").isdigit() and len(value) < 18:
            return max(EARLIEST, min(int(value) * 1000, LATEST))
        try:
            return parse(value.replace(" ", "+"))  # an unescaped plus arrives as a blank
        except TimeError as error:
            raise InvalidInput(f"{name}: {error}") from None

    def day(self, name: str) -> date | None:
        value = self.text(name)
        if value is None:
            return None
        try:
            return date.fromisoformat(value)
        except ValueError:
            raise InvalidInput(f"{name}: {value[:40]!r} is not a day", hint="such as 2026-03-04") from None

    def turns(self, name: str) -> tuple[int, int] | None:
        """`A-B`, or one turn."""
        value = self.text(name)
        if value is None:
            return None
        first, _, last = value.partition("-")
        return whole(name, first), whole(name, last or first)


def whole(name: str, value: str) -> int:
    if not (value.isascii() and value.isdigit()) or len(value) > 12:
        raise InvalidInput(f"{name} must be a whole number, not {value[:40]!r}")
    return int(value)


def asked(request: Request) -> Asked:
    return Asked(request.query_params)


class Body:
    """The JSON object of a POST; what is not of its kind is refused by name."""

    def __init__(self, given: Mapping[str, Any]) -> None:
        self.given = given

    def value(self, name: str) -> Any:
        return self.given.get(name)

    def text(self, name: str) -> str | None:
        value = self.given.get(name)
        if value is not None and not isinstance(value, str):
            raise InvalidInput(f"{name} must be text")
        return value or None

    def needed(self, name: str) -> str:
        value = self.text(name)
        if value is None:
            raise InvalidInput(f"{name} is needed")
        return value

    def flag(self, name: str, otherwise: bool = False) -> bool:
        value = self.given.get(name, otherwise)
        if not isinstance(value, bool):
            raise InvalidInput(f"{name} must be true or false")
        return value

    def number(self, name: str) -> int | None:
        value = self.given.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LARGEST:
            raise InvalidInput(f"{name} must be a whole number")
        return value

    def moment(self, name: str) -> int | None:
        value = self.given.get(name)
        return Asked({name: str(value)}).moment(name) if value is not None else None


async def body_of(request: Request) -> Body:
    """The body within its cap, whatever the request said of its size."""
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > BODY:
            raise TooLarge(f"a body may have {BODY} bytes")
        parts.append(part)
    try:
        given = json.loads(b"".join(parts))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"the body is not JSON: {error!s:.100}") from None
    if not isinstance(given, dict):
        raise InvalidInput("the body must be a JSON object")
    return Body(given)

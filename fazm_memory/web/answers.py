"""Answers: JSON, headers that keep a browser on a short leash, and errors with a fitting status."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import Response

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
UNFORESEEN = 70


class NotHere(InvalidInput):
    """Something this version, or this system, cannot do."""

    title = "That is not possible here"


class TooLarge(InvalidInput):
    """More than is read."""

    title = "That is too much at once"


STATUS: dict[type[FazmMemoryError], int] = {
    NotFound: 404, InvalidInput: 400, Ambiguous: 409, InvalidTransition: 409, Conflict: 409,
    RecordingPaused: 409, Declined: 409, StoreBusy: 503, StoreFull: 507,
    NotHere: 501, TooLarge: 413,
}  # fmt: skip


def answer(value: Any, status: int = 200) -> Response:
    """A value as JSON. In ASCII: whatever was recorded, half a character too, gets through unchanged."""
    body = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()
    return Response(body, status, media_type="application/json")


def refused(error: FazmMemoryError) -> Response:
    status = next((STATUS[one] for one in type(error).__mro__ if one in STATUS), 500)
    told = {
        "title": error.title,
        "message": error.message,
        "hint": error.hint,
        "code": error.exit_code,
        "kind": type(error).__name__,
    }
    return answer({"error": {**error.details, **told}}, status)


def unforeseen(error: Exception) -> Response:
    """A mistake of ours, said as one."""
    told = {
        "title": "Something we did not foresee",
        "message": f"{type(error).__name__}: {error!s:.300}",
        "hint": "what was acknowledged is kept",
        "code": UNFORESEEN,
        "kind": "Unforeseen",
    }
    return answer({"error": told}, 500)

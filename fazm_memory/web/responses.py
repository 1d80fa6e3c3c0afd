"""JSON responses, security headers, and errors with their HTTP status."""

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


def json_response(value: Any, status: int = 200) -> Response:
    """A value as JSON. In ASCII, so that lone surrogates get through unchanged."""
    body = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":")).encode()
    return Response(body, status, media_type="application/json")


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

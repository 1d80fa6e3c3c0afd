"""Resources: the context and every session's state and events, by address."""

from __future__ import annotations

import json
from typing import Any

from fazm_memory.errors import InvalidInput, NotFound
from fazm_memory.mcp_server.handles import to_read
from fazm_memory.mcp_server.pages import cursor, filled, place, room, tables_fitted
from fazm_memory.mcp_server.reading_tools import LEADING
from fazm_memory.mcp_server.tool import MOST_INTEGER, MOST_TOKENS, Caller

SCHEME = "fazm-memory"
CONTEXT = f"{SCHEME}://context"
STATE = f"{SCHEME}://sessions/{{id}}/state"
EVENTS = f"{SCHEME}://sessions/{{id}}/events{{?from,to}}"
PAGE = 20
EVENTS_A_READ = 200

TEMPLATES: tuple[tuple[str, str, str, str], ...] = (
    (
        STATE,
        "state",
        "A session's state",
        "The typed state of a session: files, decisions, pending work, facts.",
    ),
    (
        EVENTS,
        "events",
        "A session's events",
        "A slice of a session's log, `from` included, `to` not; 200 at most.",
    ),
)


def listing(caller: Caller, given: str | None) -> tuple[list[dict[str, Any]], str | None]:
    """A page of addresses: the context first, then the state of each session, latest first."""
    at = place(given, {"skip": int})
    skip = 0 if at is None else at["skip"]
    rows = caller.memory.sessions(limit=min(skip, 10_000) + PAGE + 1)[skip:]
    page = [first()] if at is None else []
    page += [
        {
            "uri": STATE.format(id=row["id"]),
            "name": f"state-{row['id'][:8]}",
            "title": (row["title"] or f"a session of {row['agent']}")[:120],
            "mimeType": "application/json",
        }
        for row in rows[:PAGE]
    ]
    return page, cursor({"skip": skip + PAGE}) if len(rows) > PAGE else None


def first() -> dict[str, Any]:
    """The address that is always there."""
    return {"uri": CONTEXT, "name": "context", "title": "What happened before", "mimeType": "text/plain"}


def mark(caller: Caller, uri: str) -> object:
    """What tells whether an address has changed: how many events it stands for, and whose."""
    if uri == CONTEXT:
        return [(row["id"], row["events"]) for row in caller.memory.sessions(limit=1)]
    return _session(caller, uri)[0]["events"]


def _session(caller: Caller, uri: str) -> tuple[dict[str, Any], str, dict[str, str]]:
    """The session that an address names, which part of it, and what is asked of that."""
    from urllib.parse import parse_qsl, unquote, urlsplit  # long to load, and nothing is listed with it

    missing = NotFound(
        f"there is no resource {uri[:120]!r}",
        hint="resources/templates/list tells the addresses",
        details={"uri": uri},
    )
    try:
        parts = urlsplit(uri)
    except ValueError:
        raise missing from None
    steps = [unquote(step) for step in parts.path.split("/")]
    if (
        parts.scheme != SCHEME
        or parts.netloc != "sessions"
        or len(steps) != 3
        or steps[2] not in ("state", "events")
    ):
        raise missing
    return to_read(caller, steps[1]), steps[2], dict(parse_qsl(parts.query))


def read(caller: Caller, uri: str) -> tuple[str, str]:
    """The MIME type and text at an address; NotFound when there is none."""
    if uri == CONTEXT:
        return "text/plain", caller.memory.context(caller.workspace).text
    found, part, wanted = _session(caller, uri)
    if part == "state":
        whole = caller.memory.state(found["id"], quarantined=False)
        state, lost = tables_fitted(whole, room(MOST_TOKENS), leading=LEADING)
        return "application/json", _json({**state, "left_out": lost})
    start = _position(wanted.get("from"), 0)
    stop = min(_position(wanted.get("to"), found["events"]), found["events"])
    rows = caller.memory.events(found["id"], start=start, stop=max(start, stop), quarantined=False)
    kept, rest = filled(rows, limit=EVENTS_A_READ, most=room(MOST_TOKENS), free=("payload", "error", "delta"))
    following = (
        None if rest is None else f"{SCHEME}://sessions/{found['id']}/events?from={rest['seq']}&to={stop}"
    )
    return "application/json", _json({"session": found["id"], "events": kept, "next": following})


def _position(text: str | None, default: int) -> int:
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= 16 and int(text) <= MOST_INTEGER):
        raise InvalidInput(f"{text[:40]!r} is not a position", hint="positions are whole numbers from 0")
    return int(text)


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False)

"""Resources and prompts, by URI.

The context, and the state and events of every session.
"""

from __future__ import annotations

import json
from typing import Any

from fazm_memory.errors import InvalidInput, NotFound
from fazm_memory.mcp_server.reading_tools import LEADING
from fazm_memory.mcp_server.tool import (
    FULL,
    MOST_INTEGER,
    MOST_TOKENS,
    Caller,
    character_budget,
    decode_cursor,
    encode_cursor,
    fit_rows,
    fit_tables,
    session_for_reading,
)
from fazm_memory.recall import plain_name, quote

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
        "Events of a session from `from` up to, but not including, `to`. 200 at most.",
    ),
)


def listing(caller: Caller, cursor: str | None) -> tuple[list[dict[str, Any]], str | None]:
    """A page of resources.

    The context comes first, then the state of each session, latest first.
    """
    at = decode_cursor(cursor, {"skip": int})
    skip = 0 if at is None else at["skip"]
    rows = caller.memory.sessions.listing(limit=min(skip, 10_000) + PAGE + 1)[skip:]
    page = [context_resource()] if at is None else []
    page += [
        {
            "uri": STATE.format(id=row["id"]),
            "name": f"state-{row['id'][:8]}",
            "title": quote(row["title"], 120) if row["title"] else f"a session of {plain_name(row['agent'])}",
            "mimeType": "application/json",
        }
        for row in rows[:PAGE]
    ]
    return page, encode_cursor({"skip": skip + PAGE}) if len(rows) > PAGE else None


def context_resource() -> dict[str, Any]:
    """The resource that always exists."""
    return {"uri": CONTEXT, "name": "context", "title": "What happened before", "mimeType": "text/plain"}


def version_mark(caller: Caller, uri: str) -> object:
    """A value that differs after the resource has changed: the number of its events."""
    if uri == CONTEXT:
        return [(row["id"], row["events"]) for row in caller.memory.sessions.listing(limit=1)]
    return _session(caller, uri)[0]["events"]


def _session(caller: Caller, uri: str) -> tuple[dict[str, Any], str, dict[str, str]]:
    """The session that a URI names, the part of it, and the query."""
    from urllib.parse import parse_qsl, unquote, urlsplit  # slow to import, and not needed for the lists

    missing = NotFound(
        f'No resource has the URI "{uri[:120]}".',
        hint="resources/templates/list shows the forms of URIs.",
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
    return session_for_reading(caller, steps[1]), steps[2], dict(parse_qsl(parts.query))


def read(caller: Caller, uri: str) -> tuple[str, str]:
    """The MIME type and text of a resource."""
    if uri == CONTEXT:
        return "text/plain", caller.memory.recall.present_context(caller.workspace).text
    found, part, query = _session(caller, uri)
    if part == "state":
        whole = caller.memory.history.state(found["id"], quarantined=False)
        state, lost = fit_tables(whole, character_budget(MOST_TOKENS), leading=LEADING)
        return "application/json", _json({**state, "left_out": lost})
    start = _position(query.get("from"), 0)
    stop = min(_position(query.get("to"), found["events"]), found["events"])
    rows = caller.memory.history.events(found["id"], start=start, stop=max(start, stop), quarantined=False)
    kept, rest = fit_rows(
        rows, limit=EVENTS_A_READ, most=character_budget(MOST_TOKENS), free=("payload", "error", "delta")
    )
    following = (
        None if rest is None else f"{SCHEME}://sessions/{found['id']}/events?from={rest['seq']}&to={stop}"
    )
    return "application/json", _json({"session": found["id"], "events": kept, "next": following})


def _position(text: str | None, default: int) -> int:
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= 16 and int(text) <= MOST_INTEGER):
        raise InvalidInput(f'Invalid position "{text[:40]}".', hint="Positions are whole numbers from 0.")
    return int(text)


def _json(value: dict[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False)


PROMPTS: dict[str, dict[str, Any]] = {
    "resume": {
        "title": "Resume a session",
        "description": "A briefing: where a session stood, what is open and what changed since.",
        "arguments": {"session": "The session's handle. Default: the latest session."},
    },
    "continue_like_yesterday": {
        "title": "Continue like yesterday",
        "description": "Continue earlier work in a folder by the same conventions.",
        "arguments": {"workspace": "The folder. Default: the current one."},
    },
}


def get(caller: Caller, name: str, args: dict[str, str]) -> str:
    """The text of a prompt."""
    if name not in PROMPTS:
        raise NotFound(f'No prompt is named "{name[:60]}".', hint=f"Prompts: {', '.join(PROMPTS)}.")
    if unknown := set(args) - set(PROMPTS[name]["arguments"]):
        raise InvalidInput(f'The prompt {name} has no argument "{min(unknown)[:60]}".')
    return _resume(caller, args) if name == "resume" else _continue(caller, args)


def _resume(caller: Caller, args: dict[str, str]) -> str:
    if "session" in args:
        session = session_for_reading(caller, args["session"])["id"]
    else:
        latest = caller.memory.sessions.listing(limit=1)
        if not latest:
            raise NotFound("No session is recorded yet.")
        session = latest[0]["id"]
    return (
        f"Resume session {session}. If it is paused or closed, call {_resume_call(caller)}. Say in two"
        " sentences where it stood, then continue with what is open."
        f"\n\n{caller.memory.recall.briefing(session).text}"
    )


def _resume_call(caller: Caller) -> str:
    return "session_resume" if caller.tool_set == FULL else "session_note with kind open and this handle"


def _continue(caller: Caller, args: dict[str, str]) -> str:
    workspace = args.get("workspace") or caller.workspace
    context = caller.memory.recall.present_context(workspace).text
    full = caller.tool_set == FULL
    return (
        "Continue the earlier work like yesterday: the same folders, the same naming, the same skipped"
        f" files. Call {'conventions_get for the session you continue, and ' if full else ''}names_propose"
        f" before you rename anything. Ask me where the records do not decide it.\n\n{context}"
    )

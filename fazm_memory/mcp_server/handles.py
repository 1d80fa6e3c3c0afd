"""Handles: which session a caller means, and never one it did not name.

A write needs the whole handle (or the agent's own name for its session). A read may also use the first eight
characters or more, since that is how the context and briefings print sessions.
"""

from __future__ import annotations

from typing import Any

from fazm_memory.errors import InvalidInput, NotFound
from fazm_memory.mcp_server.tool import Caller

SHORTEST = 8
PERSON = "person"  # the agent name of the user's own facts: no agent may write as it, nor among them


def to_write(caller: Caller, handle: str) -> dict[str, Any]:
    """The session with exactly this handle."""
    found = caller.memory.session(handle)
    if handle not in (found["id"], found["agent_session_id"]):
        raise NotFound(
            f"there is no session {handle[:60]!r}; to write, a handle must be whole",
            hint=f"did you mean {found['id']}?" if len(handle) >= SHORTEST else "",
        )
    if found["agent"] == PERSON:
        raise InvalidInput("the user's own facts are the user's to write", hint="use a session of your own")
    return found


def to_read(caller: Caller, handle: str) -> dict[str, Any]:
    """The session with this handle, or with the only one that begins like this."""
    if len(handle.strip()) >= SHORTEST:
        return caller.memory.session(handle)
    return to_write(caller, handle)


def to_open(caller: Caller, agent: str, key: str) -> None:
    """Refuse a name or a key that would make an agent the user."""
    from fazm_memory.capture.canonical import canonical  # long to load, and nothing is listed with it

    if canonical(agent).strip().lower() == PERSON:  # as it would be kept: no hidden character makes another
        raise InvalidInput("no agent may call itself a person", hint="leave `agent` out")
    known = [row["id"] for row in caller.memory.sessions(agent=PERSON, background=True, limit=None)]
    if key in known:
        raise InvalidInput("the user's own facts are the user's to write", hint="use a key of your own")

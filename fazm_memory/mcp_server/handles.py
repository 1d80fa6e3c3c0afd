"""Handles: which session a caller means, and never one it did not name.

A write needs the whole handle (or the agent's own name for its session). A read may also use the first eight
characters or more, since that is how the context and briefings print sessions.
"""

from __future__ import annotations

from typing import Any

from fazm_memory.errors import NotFound
from fazm_memory.mcp_server.tool import Caller

SHORTEST = 8


def to_write(caller: Caller, handle: str) -> dict[str, Any]:
    """The session with exactly this handle."""
    found = caller.memory.session(handle)
    if handle not in (found["id"], found["agent_session_id"]):
        raise NotFound(
            f"there is no session {handle[:60]!r}; to write, a handle must be whole",
            hint=f"did you mean {found['id']}?" if len(handle) >= SHORTEST else "",
        )
    return found


def to_read(caller: Caller, handle: str) -> dict[str, Any]:
    """The session with this handle, or with the only one that begins like this."""
    if len(handle.strip()) >= SHORTEST:
        return caller.memory.session(handle)
    return to_write(caller, handle)

"""Prompts: two things a user says often, with the memory already in them."""

from __future__ import annotations

from typing import Any

from fazm_memory.errors import InvalidInput, NotFound
from fazm_memory.mcp_server.handles import to_read
from fazm_memory.mcp_server.tool import Caller

PROMPTS: dict[str, dict[str, Any]] = {
    "resume": {
        "title": "Take up a session again",
        "description": "A briefing of where a session stood, what is open and what changed since.",
        "arguments": {"session": "The session's handle; the latest one, when left out."},
    },
    "continue_like_yesterday": {
        "title": "Continue like yesterday",
        "description": "Go on with earlier work in a folder by the same conventions.",
        "arguments": {"workspace": "The folder; where you are, when left out."},
    },
}


def get(caller: Caller, name: str, given: dict[str, str]) -> str:
    """What the user says, with what the memory knows."""
    if name not in PROMPTS:
        raise NotFound(f"there is no prompt {name[:60]!r}", hint=f"there are: {', '.join(PROMPTS)}")
    if unknown := set(given) - set(PROMPTS[name]["arguments"]):
        raise InvalidInput(f"the prompt {name} has no argument {min(unknown)[:60]!r}")
    return _resume(caller, given) if name == "resume" else _continue(caller, given)


def _resume(caller: Caller, given: dict[str, str]) -> str:
    if "session" in given:
        session = to_read(caller, given["session"])["id"]
    else:
        latest = caller.memory.sessions(limit=1)
        if not latest:
            raise NotFound("no session is recorded yet", hint="session_open begins one")
        session = latest[0]["id"]
    return (
        f"Take up session {session} again: call session_resume with it if it was put aside, say in two"
        f" sentences"
        f" where it stood, then go on with what is open.\n\n{caller.memory.briefing(session).text}"
    )


def _continue(caller: Caller, given: dict[str, str]) -> str:
    workspace = given.get("workspace") or caller.workspace
    context = caller.memory.context(workspace).text
    return (
        "Continue the earlier work like yesterday: the same folders, the same naming, the same files left"
        " alone. Call conventions_get for the session you follow and names_propose before you rename"
        " anything; ask me"
        f" where the records do not settle it.\n\n{context}"
    )

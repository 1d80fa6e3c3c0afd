"""What a hook was told, made into drafts with the keys that the agent's own records give the same happenings.

One call is told by its hook, by the transcript and perhaps over MCP, and becomes one action. Whatever only a
transcript can tell well is left to it, so most events of an agent's life give no draft here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fazm_memory.capture.agents import claude_hooks, codex_hooks
from fazm_memory.capture.agents.fazm_sessions import NAME as FAZM
from fazm_memory.capture.agents.fazm_sessions import FazmSession
from fazm_memory.capture.agents.fields import ident, mapping, text
from fazm_memory.capture.agents.file_tools import touched
from fazm_memory.capture.agents.patch import patched_files
from fazm_memory.capture.agents.reader import Places
from fazm_memory.capture.draft import Draft
from fazm_memory.capture.shell import Known
from fazm_memory.capture.spool import Dropped

PROBE = "FazmMemoryProbe"  # the doctor's own event: it proves a hook and tells nothing
BEFORE_A_CALL = ("PreToolUse", "BeforeTool")
TELLERS = {"claude-code": claude_hooks.told, "codex": codex_hooks.told}
# Codex does not say in a hook how a call ended; and any transcript is written a little after the hooks.
PATIENCE = {("codex", "PostToolUse"): 5.0, ("", "SessionEnd"): 2.0}
Told = tuple[str, dict[str, Any], str]  # kind, payload, key


class NotAnEvent(ValueError):
    """What was dropped is not what a hook is told. The words say why."""


@dataclass(frozen=True)
class HookEvent:
    """One event: its drafts, the transcript that tells the same, and the files a call is about to change.

    `patience` is how many seconds it waits for the transcript: for its better word on the same happening, or
    for the last of what came before.
    """

    dropped: Dropped
    name: str
    session: str
    drafts: tuple[Draft, ...] = ()
    transcript: Path | None = None
    patience: float = 0.0
    before: tuple[str, ...] = ()


def read(
    dropped: Dropped,
    places: Places,
    *,
    listed: Mapping[str, FazmSession] = MappingProxyType({}),
    agent_of: Callable[[str], str | None] = lambda session: None,
    known_to: Callable[[str, str, int, bool], Known | None] = lambda session, cwd, at, begins: None,
) -> HookEvent:
    """The event. `listed` are Fazm's sessions; `agent_of` tells under which agent a session is recorded.

    `known_to` gives what a session knows of its folders at a moment; when a call begins it is time to look.
    """
    event = _object(dropped.data)
    name, session = ident(event.get("hook_event_name")), ident(event.get("session_id"))
    if not name or not session:
        raise NotAnEvent("it names no event or no session")
    path = text(event.get("transcript_path"))
    transcript = Path(path) if path and Path(path).is_file() else None
    told: list[Told] = []
    if (teller := TELLERS.get(dropped.agent)) is not None:
        known = known_to(session, text(event.get("cwd")), dropped.at, name in BEFORE_A_CALL)
        told += teller(event, home=str(places.home), transcript=transcript is not None, known=known)
    opening = _opening(dropped.agent, session, event, listed.get(session), agent_of)
    if told:
        told.insert(0, ("session.open", opening, f"{dropped.agent}:{session}:open"))
    if name == "SessionEnd":
        reason = ident(event.get("reason"))
        key = f"{dropped.agent}:{session}:end:{dropped.at}"
        told.append(("session.close", {"reason": reason} if reason else {}, key))
    drafts = (
        Draft(session, kind, payload, opening["agent"], dropped.at, source="hook", key=key)
        for kind, payload, key in told
    )
    patience = PATIENCE.get((dropped.agent, name), PATIENCE.get(("", name), 0.0))
    return HookEvent(
        dropped,
        name,
        session,
        tuple(drafts),
        transcript,
        patience if transcript is not None else 0.0,
        _before(event) if name in BEFORE_A_CALL else (),
    )


def _object(data: bytes) -> dict[str, Any]:
    try:
        event = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise NotAnEvent(f"it is not JSON: {str(error)[:120]}") from None
    if not isinstance(event, dict):
        raise NotAnEvent("it is JSON, but not an object")
    return event


def _opening(
    agent: str,
    session: str,
    event: Mapping[str, Any],
    listed: FazmSession | None,
    agent_of: Callable[[str], str | None],
) -> dict[str, Any]:
    """The session's opening. Fazm runs other agents: a session it lists, or recorded as its own, is its."""
    told: dict[str, Any] = {"agent": agent, "agent_session_id": session, "workspace": text(event.get("cwd"))}
    if listed is not None:
        told |= listed.opening()
    elif agent_of(session) == FAZM:
        told["agent"] = FAZM
    return {name: value for name, value in told.items() if value}


def _before(event: Mapping[str, Any]) -> tuple[str, ...]:
    """The files a call is about to change, as far as its input names them."""
    tool, given, cwd = text(event.get("tool_name")), event.get("tool_input"), text(event.get("cwd"))
    if tool == "apply_patch":
        files = patched_files(text(mapping(given).get("command")), cwd)
    else:
        files = touched(tool, given, cwd=cwd)
    changed = (one for one in files if one["change"] not in ("read", "created"))
    return tuple(str(one.get("from") or one["path"]) for one in changed)

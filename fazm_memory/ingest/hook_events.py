"""Hook events as drafts, with the same keys as the agent's own records.

A call is reported by its hook, by the transcript and perhaps over MCP, and becomes one action. Whatever a
transcript reports better is left to it, so most hook events give no draft.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from fazm_memory.agents import FAZM as FAZM
from fazm_memory.agents import (
    FazmAppSession,
    Places,
    TaskList,
    claude_hook_events,
    claude_task_events,
    codex_hook_events,
    ident,
    mapping,
    patched_files,
    text,
    touched_files,
)
from fazm_memory.engines.shell_effects import KnownFolders
from fazm_memory.events import Draft
from fazm_memory.ingest.spool import SpoolFile
from fazm_memory.records import dataclass

PROBE = "FazmMemoryProbe"  # the doctor's test event: it shows that a hook works and records nothing
BEFORE_A_CALL = ("PreToolUse", "BeforeTool")
READERS = {"claude-code": claude_hook_events, "codex": codex_hook_events}
NAMED = (*READERS, "gemini", "fazm")  # agents whose events name themselves and their session
# Codex hooks do not say how a call ended, and every transcript is written a little after the hooks.
WAIT_SECONDS = {("codex", "PostToolUse"): 5.0, ("", "SessionEnd"): 2.0}
# What clients call an end, in the words of the transcripts.
END_REASONS = {"prompt_input_exit": "exit"}
HookRecord = tuple[str, dict[str, Any], str]  # kind, payload, key


class InvalidHookEvent(ValueError):
    """A spool file is not a hook event. The message says why."""

    may_be_part = False  # whether it could be the beginning of one


@dataclass(frozen=True)
class HookEvent:
    """A hook event: its drafts, the transcript of its session, and the files a call is about to change.

    `wait_seconds` is how long it waits for the transcript, which may report the same call better.
    """

    spooled: SpoolFile
    name: str
    session: str
    drafts: tuple[Draft, ...] = ()
    transcript: Path | None = None
    wait_seconds: float = 0.0
    before: tuple[str, ...] = ()


def read_hook_event(
    spooled: SpoolFile,
    places: Places,
    *,
    listed: Mapping[str, FazmAppSession] = MappingProxyType({}),
    agent_of: Callable[[str], str | None] = lambda session: None,
    known_to: Callable[[str, str, int, bool], KnownFolders | None] = lambda session, cwd, at, begins: None,
    tasks_of: Callable[[str], TaskList] = lambda session: TaskList({}),
) -> HookEvent:
    """Read a spool file. `listed` are Fazm's sessions; `agent_of` returns the agent of a recorded session.

    `known_to` returns what a session knows of its folders at a moment, `tasks_of` its list of tasks.
    """
    event = _object(spooled.data)
    name, session = ident(event.get("hook_event_name")), ident(event.get("session_id"))
    if spooled.agent == "claude-code" and "cursor_version" in event:
        # Cursor also runs the hooks of Claude Code. Its own records tell of its sessions.
        return HookEvent(spooled, name, session)
    if spooled.agent not in NAMED:  # some name neither; their own records say the rest
        return HookEvent(spooled, name, session)
    if not name or not session:
        raise InvalidHookEvent("It names no event or no session.")
    path = text(event.get("transcript_path"))
    transcript = Path(path) if path and Path(path).is_file() else None
    records: list[HookRecord] = []
    if (reader := READERS.get(spooled.agent)) is not None:
        known = known_to(session, text(event.get("cwd")), spooled.at, name in BEFORE_A_CALL)
        records += reader(event, home=str(places.home), transcript=transcript is not None, known=known)
    if transcript is None and spooled.agent == "claude-code":
        records += claude_task_events(event, tasks_of(session))
    opening = _opening(spooled.agent, session, event, listed.get(session), agent_of)
    if records:
        records.insert(0, ("session.open", opening, f"{spooled.agent}:{session}:open"))
    if name == "SessionEnd":
        reason = END_REASONS.get(ident(event.get("reason")), ident(event.get("reason")))
        key = f"{spooled.agent}:{session}:end:{spooled.at}"
        records.append(("session.close", {"reason": reason} if reason else {}, key))
    drafts = (
        Draft(
            session, kind, payload, opening["agent"], spooled.at, None, _actor(kind, payload), "hook", key=key
        )
        for kind, payload, key in records
    )
    wait_seconds = WAIT_SECONDS.get((spooled.agent, name), WAIT_SECONDS.get(("", name), 0.0))
    return HookEvent(
        spooled,
        name,
        session,
        tuple(drafts),
        transcript,
        wait_seconds if transcript is not None else 0.0,
        _before(event) if name in BEFORE_A_CALL else (),
    )


def _object(data: bytes) -> dict[str, Any]:
    try:
        event = json.loads(data)
    except (ValueError, RecursionError) as error:
        invalid = InvalidHookEvent(f"It is not JSON: {str(error)[:120]}")
        invalid.may_be_part = not data.strip() or data.lstrip()[:1] == b"{"
        raise invalid from None
    if not isinstance(event, dict):
        raise InvalidHookEvent("It is JSON, but not an object.")
    return event


def _opening(
    agent: str,
    session: str,
    event: Mapping[str, Any],
    listed: FazmAppSession | None,
    agent_of: Callable[[str], str | None],
) -> dict[str, Any]:
    """The session's opening. Fazm runs other agents, so a session that it lists belongs to Fazm."""
    opening: dict[str, Any] = {
        "agent": agent,
        "agent_session_id": session,
        "workspace": text(event.get("cwd")),
    }
    if listed is not None:
        opening |= listed.opening()
    elif agent_of(session) == FAZM:
        opening["agent"] = FAZM
    return {name: value for name, value in opening.items() if value}


def _actor(kind: str, payload: Mapping[str, Any]) -> str | None:
    """Hooks report only decisions and verdicts of the user. Other actors follow from the kind."""
    verdict = kind == "plan" and payload["status"] != "presented"
    return "person" if kind == "decision" or verdict else None


def _before(event: Mapping[str, Any]) -> tuple[str, ...]:
    """The files that a call is about to change, as far as its input names them."""
    tool, tool_input, cwd = text(event.get("tool_name")), event.get("tool_input"), text(event.get("cwd"))
    if tool == "apply_patch":
        files = patched_files(text(mapping(tool_input).get("command")), cwd)
    else:
        files = touched_files(tool, tool_input, cwd=cwd)
    changed = (file for file in files if file["change"] not in ("read", "created"))
    return tuple(str(file.get("from") or file["path"]) for file in changed)

"""A tool call on its way to become an action: its output within bounds, the files it touched.

Every agent tells its calls in its own words; from here on they look the same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from fazm_memory.capture.agents.fields import RAW, bounded, capped
from fazm_memory.capture.agents.folder_listing import shown_by_command
from fazm_memory.capture.shell import Known, file_effects

OUTPUT = INPUT = ERROR = RAW
SUMMARY_LINES = 3
MOST_FILES = 1000
# Blank lines, lone tags and brackets, rules: how an output is wrapped, not what it says.
MEANINGLESS = re.compile(r"\s*(?:</?[\w-]+[^<>]{0,200}>|[\[\](){},;\s]*|[-=*_]{3,})\s*")


def summary(output: str) -> str | None:
    """The first lines of an output that say something, on one line, none of them cut."""
    said: list[str] = []
    for line in capped(output, RAW).splitlines():
        if not MEANINGLESS.fullmatch(line):
            said.append(" ".join(line.split()))
        if len(said) == SUMMARY_LINES:
            break
    return " · ".join(said) or None


def touch(path: str, change: str, origin: str | None = None) -> dict[str, Any]:
    """A touched file, as the payload of an action tells it."""
    told = {"path": path, "change": change}
    return told | {"from": origin} if origin is not None else told


def shell_files(
    command: str,
    *,
    cwd: str,
    output: str = "",
    ok: bool = True,
    home: str | None = None,
    known: Known | None = None,
) -> list[dict[str, Any]]:
    """The files a shell command touched, as far as its text, its output and what is `known` tell."""
    touched = []
    for effect in file_effects(command, cwd=cwd, output=output, ok=ok, home=home, known=known)[:MOST_FILES]:
        told = touch(effect.path, effect.change, effect.origin)
        if effect.inferred:
            told |= {"inferred": True, "why": effect.why}
        touched.append(told)
    if known is not None and ok and (shown := shown_by_command(command, output, cwd, home)) is not None:
        known.listed(shown.folder, shown.names, whole=shown.whole, marked=shown.marked)
    return touched


def start(tool: str, given: Any, call_id: str, agent_id: str | None) -> dict[str, Any]:
    """The payload of a call that has begun and not ended."""
    told = {"tool": tool, "input": bounded(given, INPUT), "call_id": call_id, "agent_id": agent_id}
    return {name: value for name, value in told.items() if value is not None}


def action(
    tool: str,
    given: Any,
    *,
    call_id: str,
    output: str | None = None,
    outcome: str = "ok",
    error: str | None = None,
    duration_ms: int | None = None,
    files: Sequence[dict[str, Any]] = (),
    agent_id: str | None = None,
) -> dict[str, Any]:
    """The payload of a call that has ended, without what is not known."""
    told = start(tool, given, call_id, agent_id) | {
        "output": capped(output, OUTPUT) if output is not None else None,
        "outcome": outcome,
        "error": capped(error, ERROR) if error and outcome != "ok" else None,
        "duration_ms": duration_ms if duration_ms is not None and duration_ms >= 0 else None,
        "files": list(files[:MOST_FILES]) or None,
    }
    return {name: value for name, value in told.items() if value is not None}

"""Replay: the effective steps of a past workflow, as a plan and as a script.

Effective means what still counts: calls that failed, calls that were tried again, and mere looking around are
left out and counted. What varies between runs (folders, dates) is named as a parameter, never guessed at.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from fazm_memory.model.events import Event, target_of
from fazm_memory.model.late import made_by_calls
from fazm_memory.model.payloads import FAILED, Action, FileChange, FileTouch
from fazm_memory.model.working_set import parent_folder

MOST_STEPS = 500
DATE = re.compile(r"(?<!\d)(20\d\d)[-_.]?(0[1-9]|1[0-2])[-_.]?(0[1-9]|[12]\d|3[01])(?!\d)")
MONTH = re.compile(
    r"(?<![A-Za-z])(?:January|February|March|April|May|June|July|August|September|October|November|December)"
    r"(?![a-z])"
)


Part = tuple[Iterable[Event], Sequence[tuple[int, int]]]  # events of one session, and where they still count


def plan(parts: Iterable[Part], *, workspace: str | None = None) -> dict[str, Any]:
    """Steps, parameters, a script of the shell work, and what was left out: of a session and those before it
    that it was forked from, the first of them first."""
    steps: list[dict[str, Any]] = []
    left = Counter[str]()
    for events, counting in parts:
        _take_part(list(events), counting, steps, left)
    if len(steps) > MOST_STEPS:
        left["older steps"] = len(steps) - MOST_STEPS
        steps = steps[-MOST_STEPS:]
    return {
        "steps": steps,
        "parameters": _parameters(steps),
        "script": _script(steps, workspace),
        "left_out": dict(left),
    }


def _take_part(
    events: list[Event],
    counting: Sequence[tuple[int, int]],
    steps: list[dict[str, Any]],
    left: Counter[str],
) -> None:
    seen = made_by_calls(events)
    for event in events:
        counts = any(start <= event.seq < stop for start, stop in counting)
        if event.kind not in ("decision", "action"):
            continue
        if not counts:
            left["rewound"] += 1
        elif event.kind == "action":
            _take(event, seen.get(event.seq, []), steps, left)
        elif event.payload is not None:
            steps.append(
                {"seq": event.seq, "kind": "decision", "what": event.payload.what, "why": event.payload.why}
            )


def _take(event: Event, seen: list[FileChange], steps: list[dict[str, Any]], left: Counter[str]) -> None:
    """One call as a step, with the changes it told and those that were only seen on disk."""
    action: Action | None = event.payload
    told = [] if action is None else [touch for touch in action.files if touch.change != "read"]
    paths = {touch.path for touch in told}
    changes: list[FileTouch | FileChange] = [*told, *(change for change in seen if change.path not in paths)]
    if action is None:
        left["forgotten"] += 1
    elif action.outcome in FAILED:
        left[action.outcome] += 1
    elif not changes:
        left["changed nothing"] += 1
    else:
        steps.append(
            {
                "seq": event.seq,
                "kind": "action",
                "tool": action.tool,
                "trust": event.trust,
                "target": target_of(action.input),
                "command": _command(action),
                "files": [
                    {"path": touch.path, "change": touch.change, "from": touch.origin} for touch in changes
                ],
            }
        )


def _command(action: Action) -> str | None:
    given = action.input.get("command") if isinstance(action.input, dict) else None
    return given if isinstance(given, str) else None


def _parameters(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Folders, dates and names of months that the steps have in common: what another run would be given."""
    folders: Counter[str] = Counter()
    dates: Counter[str] = Counter()
    months: Counter[str] = Counter()
    for step in steps:
        for file in step.get("files", []):
            folders[parent_folder(file["path"])] += 1
            if file["from"]:
                folders[parent_folder(file["from"])] += 1
            dates.update("-".join(found) for found in DATE.findall(file["path"]))
            months.update(
                {found for path in (file["path"], file["from"] or "") for found in MONTH.findall(path)}
            )
    return [
        {"name": f"{name}{n or ''}", "value": value, "uses": uses}
        for name, found, most in (("folder", folders, 5), ("date", dates, 3), ("month", months, 2))
        for n, (value, uses) in enumerate(found.most_common(most))
    ]


def _script(steps: list[dict[str, Any]], workspace: str | None) -> str:
    """The shell work as it was done, one command a line; what is not shell work is a comment."""
    lines = ["#!/bin/sh", "set -eu"]
    if workspace:
        lines.append(f"cd {shlex.quote(workspace)}")
    for step in steps:
        if step["kind"] == "decision":
            lines.append(f"# decided: {_comment(step['what'])}")
        elif step["command"]:
            lines.append(step["command"])
        else:
            lines.append(f"# {_comment(step['tool'])}: {_comment(step['target'])}")
    return "\n".join(lines) + "\n"


def _comment(text: str) -> str:
    return " ".join(text.split())[:160]

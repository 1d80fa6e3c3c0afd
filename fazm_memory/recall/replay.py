"""Replay: the effective steps of a past workflow, as a plan and as a script.

Effective means what still counts: calls that failed, calls that were tried again, and mere looking around are
left out and counted. What varies between runs (folders, dates) is named as a parameter, never guessed at.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fazm_memory.model.events import Event, target_of
from fazm_memory.model.late import LATE, made_by_calls
from fazm_memory.model.payloads import FAILED, Action, FileChange, FileTouch
from fazm_memory.model.trust import DOUBTED
from fazm_memory.model.working_set import parent_folder

MOST_STEPS = 500
FIRST_LOOK = 4000  # events from the end; each further look back is twice as long
DATE = re.compile(r"(?<!\d)(20\d\d)[-_.]?(0[1-9]|1[0-2])[-_.]?(0[1-9]|[12]\d|3[01])(?!\d)")
# Later steps need the folders that were made, though no file tells of them.
MAKES_FOLDERS = re.compile(r"(?:^|[;&|({\n]|\b(?:do|then|else))\s*mkdir\s").search
MONTH = re.compile(
    r"(?<![A-Za-z])(?:January|February|March|April|May|June|July|August|September|October|November|December)"
    r"(?![a-z])"
)
# In a script: what is in the way of a move is never written over, and ends it aloud.
MOVE = "move_file"
HOW_TO_MOVE = f"""\
{MOVE}() {{
  if [ -e "$2" ] || [ -L "$2" ]; then echo "in the way: $2" >&2; exit 1; fi
  mkdir -p -- "$(dirname -- "$2")"
  mv -- "$1" "$2"
}}"""


@dataclass(frozen=True)
class Part:
    """One session: how its events are read, how many count, and where they still do."""

    read: Callable[[int, int], list[Event]]
    head: int
    counting: Sequence[tuple[int, int]]


def plan(parts: Sequence[Part], *, workspace: str | None = None) -> dict[str, Any]:
    """Steps, parameters, a script of the shell work, and what was left out: of a session and those before it
    that it was forked from, the first of them first.

    Only the latest steps are told, so it is read from the end, as far back as they reach.
    """
    steps: list[dict[str, Any]] = []
    left = Counter[str]()
    earlier = sum(part.head for part in parts)
    for part in reversed(parts):
        found, omitted, begin = _latest(part, MOST_STEPS - len(steps))
        steps = found + steps
        left += omitted
        earlier -= part.head - begin
        if begin > 0:
            left["earlier events"] = earlier
            break
    return {
        "steps": steps,
        "parameters": _parameters(steps),
        "script": _script(steps, workspace),
        "left_out": dict(left),
    }


def _latest(part: Part, most: int) -> tuple[list[dict[str, Any]], Counter[str], int]:
    """At most so many of its steps, the latest; what was left out among them; from which position on."""
    if most == 0:
        return [], Counter(), part.head
    events: list[Event] = []
    begin, span = part.head, FIRST_LOOK
    while True:
        end, begin = begin, max(0, begin - span)
        events = part.read(begin, end) + events
        span *= 2
        seen = made_by_calls(events)
        steps, left = _told(events, seen, part.counting)
        # A call near the edge may have begun before it: what was seen of it is known only further back.
        sure = [step["seq"] for step in steps if begin == 0 or step["seq"] >= begin + LATE]
        if len(sure) > most:
            steps, left = _told((one for one in events if one.seq >= sure[-most]), seen, part.counting)
            return steps, left, sure[-most]
        if begin == 0:
            return steps, left, 0


def _told(
    events: Iterable[Event], seen: Mapping[int, list[FileChange]], counting: Sequence[tuple[int, int]]
) -> tuple[list[dict[str, Any]], Counter[str]]:
    """The steps that still count, and how many calls were left out for which reason."""
    steps: list[dict[str, Any]] = []
    left = Counter[str]()
    for event in events:
        if event.kind not in ("decision", "action"):
            continue
        if not any(start <= event.seq < stop for start, stop in counting):
            left["rewound"] += 1
        elif event.kind == "action":
            _take(event, seen.get(event.seq, []), steps, left)
        elif event.payload is not None:
            steps.append(
                {"seq": event.seq, "kind": "decision", "what": event.payload.what, "why": event.payload.why}
            )
    return steps, left


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
    elif not changes and MAKES_FOLDERS(_command(action) or "") is None:
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
    """The shell work as it was done, one command a line, and renames as moves; what else is not shell work is
    a comment."""
    lines: list[str] = []
    for step in steps:
        if step["kind"] == "decision":
            lines.append(f"# decided: {_comment(step['what'])}")
        elif step["command"]:
            lines.append(step["command"])
        else:
            lines.append(f"# {_comment(step['tool'])}: {_comment(step['target'])}")
            if step["trust"] not in DOUBTED:  # nobody answers for those
                lines += _moves(step["files"])
    head = ["#!/bin/sh", "set -eu"]
    if any(line.startswith(f"{MOVE} ") for line in lines):
        head.append(HOW_TO_MOVE)
    if workspace:
        head.append(f"cd {shlex.quote(workspace)}")
    return "\n".join([*head, *lines]) + "\n"


def _moves(files: Sequence[Mapping[str, Any]]) -> list[str]:
    """The renames that a tool told, as a shell does them."""
    told = [
        file for file in files if file["change"] == "renamed" and file["from"] not in (None, file["path"])
    ]
    return [f"{MOVE} {_word(file['from'])} {_word(file['path'])}" for file in told]


def _word(path: str) -> str:
    """A path as one word of a shell; the home folder stays the one of whoever runs it."""
    return f'"$HOME"/{shlex.quote(path[2:])}' if path.startswith("~/") else shlex.quote(path)


def _comment(text: str) -> str:
    return " ".join(text.split())[:160]

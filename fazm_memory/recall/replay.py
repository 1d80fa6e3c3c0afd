"""Replay: the workflow of a session, and a plan that repeats it on another folder.

The recorded files are usually not there the next time. The files that are there get names by the conventions
of the session, in the same subfolders; what the session skipped stays. Other steps are repeated literally.
Nothing is executed here.
"""

from __future__ import annotations

import json
import re
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from posixpath import basename, commonpath, dirname, join
from typing import Any, Literal

from fazm_memory.engines import naming
from fazm_memory.engines.naming import NamingReport
from fazm_memory.events import FAILED, UNTRUSTED, Action, Event, FileChange, FileTouch, target_of
from fazm_memory.lazy import lazy_regex
from fazm_memory.records import dataclass, field
from fazm_memory.session import (
    DEFERRED_WINDOW,
    disk_changes_by_call,
    looks_only,
    parent_folder,
    writes_to_source,
)
from fazm_memory.text import plural_with_verb

MAX_STEPS = 500
FIRST_READ = 4000  # events from the end; each further read is twice as long
DATE = lazy_regex(r"(?<!\d)(20\d\d)[-_.]?(0[1-9]|1[0-2])[-_.]?(0[1-9]|[12]\d|3[01])(?!\d)")
# A command that only makes folders is a step, because later steps need them.
MAKES_FOLDERS = re.compile(r"(?:^|[;&|({\n]|\b(?:do|then|else))\s*mkdir\s").search
MONTH = lazy_regex(
    r"(?<![A-Za-z])(?:January|February|March|April|May|June|July|August|September|October|November|December)"
    r"(?![a-z])"
)
# A script never overwrites a file: it stops.
MOVE = "move_file"
MOVE_FUNCTION = f"""\
{MOVE}() {{
  if [ -e "$2" ] || [ -L "$2" ]; then echo "in the way: $2" >&2; exit 1; fi
  mkdir -p -- "$(dirname -- "$2")"
  mv -- "$1" "$2"
}}"""


# A file that a later step needs must be there, if an earlier call read it or its output named it.
SHORT_NAME = 4  # a name without a dot that is shorter may be a word of the output
MAX_OUTPUT = 20_000  # characters of an output in which names are looked for
CHECK = "check_file"
CHECK_FUNCTION = f"""\
{CHECK}() {{
  if [ ! -e "$1" ]; then echo "missing: $1" >&2; exit 1; fi
}}"""


@dataclass(frozen=True)
class ReplaySource:
    """The events of one session, and the ranges that were not rewound."""

    read: Callable[[int, int], list[Event]]
    head: int
    counting: Sequence[tuple[int, int]]
    superseded: Collection[int] = ()  # decisions that others replaced


def extract_workflow(
    parts: Sequence[ReplaySource], *, workspace: str | None = None, doubted: bool = False
) -> dict[str, Any]:
    """Steps, parameters, a shell script, and what was left out.

    `parts` are the session and its ancestors, oldest first. They are read from the end, as far as the latest
    steps reach. Steps that follow untrusted input, or use a file that does, have `doubted_by`, its position.
    The script has them only if they are asked for (`doubted`).
    """
    steps: list[dict[str, Any]] = []
    left = Counter[str]()
    earlier = sum(part.head for part in parts)
    for part in reversed(parts):
        found, omitted, begin = _latest(part, MAX_STEPS - len(steps))
        steps = found + steps
        left += omitted
        earlier -= part.head - begin
        if begin > 0:
            left["earlier events"] = earlier
            break
    return {
        "steps": steps,
        "parameters": _parameters(steps),
        "script": _script(steps, workspace, doubted),
        "left_out": dict(left),
    }


def _latest(part: ReplaySource, most: int) -> tuple[list[dict[str, Any]], Counter[str], int]:
    """The latest steps, what was left out among them, and the first position."""
    if most == 0:
        return [], Counter(), part.head
    events: list[Event] = []
    begin, span = part.head, FIRST_READ
    while True:
        end, begin = begin, max(0, begin - span)
        events = part.read(begin, end) + events
        span *= 2
        seen = disk_changes_by_call(events)
        doubts = _doubts(events, seen)
        steps, left = _steps(events, seen, part, doubts)
        # A call near the edge may have begun before it. Its changes on disk are known only further back.
        sure = [step["seq"] for step in steps if begin == 0 or step["seq"] >= begin + DEFERRED_WINDOW]
        if len(sure) > most:
            recent = (event for event in events if event.seq >= sure[-most])
            steps, left = _steps(recent, seen, part, doubts)
            return steps, left, sure[-most]
        if begin == 0:
            return steps, left, 0


@dataclass(frozen=True)
class UntrustedInput:
    """Untrusted input that a call or a decision rests on, and how."""

    seq: int
    how: Literal["is", "follows", "uses a file that follows"]


def _doubts(events: Iterable[Event], seen: Mapping[int, list[FileChange]]) -> dict[int, UntrustedInput]:
    """The calls and decisions that rest on untrusted input.

    They are untrusted themselves, follow such a call in their turn, or use a file of one.
    """
    found: dict[int, UntrustedInput] = {}
    files: dict[str, int] = {}  # paths whose content rests on untrusted input
    turn, source = -1, -1
    for event in events:
        if event.turn != turn:
            turn, source = event.turn, -1
        if event.kind == "action" and event.trust in UNTRUSTED:
            source = event.seq
        if event.kind not in ("action", "decision") or event.actor == "person":
            continue
        if source >= 0 or event.trust in UNTRUSTED:
            at = source if source >= 0 else event.seq
            found[event.seq] = UntrustedInput(at, "is" if at == event.seq else "follows")
        if isinstance(event.payload, Action) and event.payload.outcome not in FAILED:
            touched: list[FileTouch | FileChange] = [*event.payload.files, *seen.get(event.seq, [])]
            used = _used(event.payload, touched, files)
            if used is not None:
                found.setdefault(event.seq, UntrustedInput(used, "uses a file that follows"))
            _carry(touched, found.get(event.seq), files)
    return found


def _used(
    action: Action, touched: Sequence[FileTouch | FileChange], doubted: Mapping[str, int]
) -> int | None:
    """The source of a doubted file that a call reads, changes or names in its command."""
    if not doubted:
        return None
    used = {touch.origin or touch.path for touch in touched if touch.change != "created"}
    if command := _command(action):
        words = {basename(word) for word in re.split(r"[\s;|&<>()'\"]+", command)}
        used |= {path for path in doubted if basename(path) in words}
    return next((doubted[path] for path in doubted if path in used), None)


def _carry(
    touched: Sequence[FileTouch | FileChange], doubt: UntrustedInput | None, files: dict[str, int]
) -> None:
    """Note which files rest on untrusted input after a call."""
    for touch in touched:
        if touch.change == "read":
            continue
        if touch.change in ("renamed", "deleted"):
            files.pop(touch.origin or touch.path, None)
        if doubt is None:
            files.pop(touch.path, None)
        elif touch.change != "deleted":
            files[touch.path] = doubt.seq


def _steps(
    events: Iterable[Event],
    seen: Mapping[int, list[FileChange]],
    part: ReplaySource,
    doubts: Mapping[int, UntrustedInput],
) -> tuple[list[dict[str, Any]], Counter[str]]:
    """The steps that were not rewound, and why how many calls were left out."""
    steps: list[dict[str, Any]] = []
    looked: dict[int, _Looked] = {}
    left = Counter[str]()
    for event in events:
        if event.kind not in ("decision", "action"):
            continue
        if not any(start <= event.seq < stop for start, stop in part.counting):
            left["rewound"] += 1
        elif event.seq in part.superseded:
            left["superseded"] += 1
        elif event.kind == "action":
            _add_call(event, seen.get(event.seq, []), event.seq in doubts, steps, looked, left)
        elif event.payload is not None:
            steps.append(
                {"seq": event.seq, "kind": "decision", "what": event.payload.what, "why": event.payload.why}
            )
    for step in steps:
        if (doubt := doubts.get(step["seq"])) is not None:
            step["doubted_by"] = doubt.seq
            step["doubt"] = f"it {doubt.how} untrusted input (@{doubt.seq})"
    return _with_checks(steps, looked, left), left


@dataclass(frozen=True)
class _Looked:
    """What a call looked at: the files that it read, and the beginning of its output."""

    files: frozenset[str]
    output: str = ""

    def found(self, paths: Iterable[str]) -> list[str]:
        """Those of the paths that the call read or that its output names."""
        return [path for path in paths if path in self.files or (self.output and self._names(path))]

    def _names(self, path: str) -> bool:
        if path in self.output:
            return True
        name = basename(path)
        if name not in self.output or ("." not in name and len(name) < SHORT_NAME):
            return False
        return re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-]|\.\w)", self.output) is not None


LOOKED_AT_NOTHING = _Looked(frozenset())


def _with_checks(
    steps: list[dict[str, Any]], looked: Mapping[int, _Looked], left: Counter[str]
) -> list[dict[str, Any]]:
    """The steps without calls that only read.

    A call that read a file which a later step needs, or whose output names it, stays as a check of that file.
    """
    chosen: list[dict[str, Any]] = []
    needed: dict[str, None] = {}
    for step in reversed(steps):
        look = looked.get(step["seq"], LOOKED_AT_NOTHING)
        if step["kind"] == "check":
            found = look.found(needed)
            if not found:
                left["changed nothing"] += 1
                continue
            if "doubted_by" not in step:  # a script leaves the others out
                for path in found:
                    del needed[path]
            step["files"] = [{"path": path, "change": "read", "from": None} for path in sorted(found)]
        else:
            for file in step.get("files", ()):
                if file["change"] in ("created", "renamed"):
                    needed.pop(file["path"], None)  # it was not there before this step
                if file["change"] != "created":
                    needed[file["from"] or file["path"]] = None
            needed |= dict.fromkeys(look.files)
        chosen.append(step)
    return chosen[::-1]


def _add_call(
    event: Event,
    seen: list[FileChange],
    doubted: bool,
    steps: list[dict[str, Any]],
    looked: dict[int, _Looked],
    left: Counter[str],
) -> None:
    """Add a call as a step, with its recorded changes and those seen on disk."""
    action: Action | None = event.payload
    recorded = [] if action is None else [touch for touch in action.files if touch.change != "read"]
    paths = {touch.path for touch in recorded}
    changes: list[FileTouch | FileChange] = [
        *recorded,
        *(change for change in seen if change.path not in paths),
    ]
    if action is None:
        left["forgotten"] += 1
        return
    if action.outcome in FAILED:
        left[action.outcome] += 1
        return
    read = frozenset(touch.path for touch in action.files if touch.change == "read")
    step = {
        "seq": event.seq, "kind": "action", "tool": action.tool, "trust": event.trust,
        "target": target_of(action.input), "command": _command(action),
        "files": [{"path": touch.path, "change": touch.change, "from": touch.origin} for touch in changes],
    }  # fmt: skip
    if changes or _is_step(action, doubted):
        looked[event.seq] = _Looked(read)
    else:
        step |= {"kind": "check", "command": None}
        looked[event.seq] = _Looked(read, _output(action))
    steps.append(step)


def _output(action: Action) -> str:
    """The beginning of the output of a call, as text."""
    output = action.output if action.output is not None else action.output_summary
    text = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
    return text[:MAX_OUTPUT]


def _is_step(action: Action, doubted: bool) -> bool:
    """Whether a call that changed no file is a step.

    It is if it made folders or wrote to a data source.

    What a doubted call did is not known, unless it only looked.
    """
    if MAKES_FOLDERS(_command(action) or "") is not None or writes_to_source(action):
        return True
    return doubted and not looks_only(action)


def _command(action: Action) -> str | None:
    command = action.input.get("command") if isinstance(action.input, dict) else None
    return command if isinstance(command, str) else None


def _parameters(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Folders, dates and months that the steps have in common.

    Another run can replace them.
    """
    folders: Counter[str] = Counter()
    dates: Counter[str] = Counter()
    months: Counter[str] = Counter()
    for step in steps:
        for file in step.get("files", []) if step["kind"] != "check" else ():
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


def _script(steps: list[dict[str, Any]], workspace: str | None, doubted: bool) -> str:
    """The commands, one per line, and renames as moves. Everything else is a comment.

    What follows untrusted input is a comment too, unless it is asked for.
    """
    lines: list[str] = []
    for step in steps:
        if "doubted_by" in step and not doubted:
            what = step.get("what") or step["command"] or f"{step['tool']} {step['target']}"
            lines.append(f"# left out, because {step['doubt']}: {_comment(what)}")
        elif step["kind"] == "decision":
            lines.append(f"# decided: {_comment(step['what'])}")
        elif step["kind"] == "check":
            lines += [f"{CHECK} {_word(file['path'])}" for file in step["files"]]
        elif step["command"]:
            lines.append(step["command"])
        else:
            lines.append(f"# {_comment(step['tool'])}: {_comment(step['target'])}")
            if step["trust"] not in UNTRUSTED:  # untrusted steps stay comments
                lines += _moves(step["files"])
    head = ["#!/bin/sh", "set -eu"]
    if any(line.startswith(f"{MOVE} ") for line in lines):
        head.append(MOVE_FUNCTION)
    if any(line.startswith(f"{CHECK} ") for line in lines):
        head.append(CHECK_FUNCTION)
    if workspace:
        head.append(f"cd {shlex.quote(workspace)}")
    return "\n".join([*head, *lines]) + "\n"


def _moves(files: Sequence[Mapping[str, Any]]) -> list[str]:
    """The renames of a tool as shell commands."""
    renames = [
        file for file in files if file["change"] == "renamed" and file["from"] not in (None, file["path"])
    ]
    return [f"{MOVE} {_word(file['from'])} {_word(file['path'])}" for file in renames]


def _word(path: str) -> str:
    """A path as one word of a shell. `~` stays the home of the user who runs it."""
    return f'"$HOME"/{shlex.quote(path[2:])}' if path.startswith("~/") else shlex.quote(path)


def _comment(text: str) -> str:
    return " ".join(text.split())[:160]


Kind = Literal["decision", "move", "trash", "command", "keep", "by hand"]
MOST = 500


@dataclass(frozen=True)
class ReplayStep:
    """One step of a plan. `source` and `target` are absolute paths."""

    kind: Kind
    what: str
    source: str | None = None
    target: str | None = None
    command: str | None = None
    seq: int | None = None
    divergence: str | None = None
    doubted: bool = False  # from an untrusted source


@dataclass(frozen=True)
class ReplayPlan:
    steps: tuple[ReplayStep, ...]
    divergence: tuple[str, ...] = ()
    swapped: Mapping[str, str] = field(default_factory=dict)


def workflow_folder(steps: Sequence[Mapping[str, Any]]) -> str | None:
    """The folder of a workflow: the deepest one that contains all files it found."""
    files = [file for step in steps if step["kind"] != "check" for file in step.get("files", ())]
    found = [file["from"] or file["path"] for file in files if file["change"] != "created"]
    places = [dirname(path) for path in found or [file["path"] for file in files] if path.startswith("/")]
    return commonpath(places) if places else None


def substitutions(
    parameters: Sequence[Mapping[str, Any]], onto: Mapping[str, str], root: str | None
) -> dict[str, str]:
    """Recorded values and their replacements.

    The name of a replaced folder is replaced too.
    """
    known = {parameter["name"]: parameter["value"] for parameter in parameters}
    if root is not None:
        known["folder"] = root
    values = {known.get(name, name): value for name, value in onto.items()}
    if root is not None and root in values:
        old, new = basename(root), basename(values[root].rstrip("/"))
        if old and new and old != new:
            values.setdefault(old, new)
    return values


def substitute(text: str, values: Mapping[str, str]) -> str:
    """Replace every recorded value, the longest first, where it is a word of its own."""
    if not values:
        return text
    wanted = sorted(values, key=len, reverse=True)
    pattern = re.compile("|".join(rf"(?<!\w){re.escape(value)}(?!\w)" for value in wanted))
    return pattern.sub(lambda found: values[found.group()], text)


# Commands whose quoting cannot be followed by counting quotes: only plain values are put in there.
UNCOUNTABLE = lazy_regex(r"<<|#|\$'")
PLAIN = re.compile(r"[\w@%+=:,./ -]*", re.ASCII).fullmatch  # the same inside any quotes


def substitute_in_command(command: str, values: Mapping[str, str]) -> str | None:
    """Replace recorded values in a command, each as one word of the shell.

    None when that is not safe.
    """
    replaced = substitute(command, values)
    if all(shlex.quote(value) == value for value in values.values()) or replaced == command:
        return replaced
    marked = substitute(command, {old: _Mark.text(number) for number, old in enumerate(values)})
    new_values = list(values.values())
    result, state, at = "", "", 0
    while at < len(marked):
        letter = marked[at]
        if (mark := _Mark.at(marked, at)) is not None:
            value = new_values[mark.number]
            if shlex.quote(value) != value and (
                UNCOUNTABLE.search(command) or (state and PLAIN(value) is None)
            ):
                return None
            result += value if state else shlex.quote(value)
            at = mark.end
            continue
        if letter == "\\" and state != "'":
            result, at = result + marked[at : at + 2], at + 2
            continue
        if letter in "'\"":
            state = letter if not state else "" if state == letter else state
        result, at = result + letter, at + 1
    return None if state else result


@dataclass(frozen=True)
class _Mark:
    """The place of a value in a command. No command contains a NUL."""

    number: int
    end: int

    @staticmethod
    def text(number: int) -> str:
        return f"\0{number}\0"

    @staticmethod
    def at(text: str, start: int) -> _Mark | None:
        if text[start] != "\0":
            return None
        end = text.index("\0", start + 1)
        return _Mark(int(text[start + 1 : end]), end + 1)


def plan_replay(
    plan: Mapping[str, Any],
    learned: NamingReport,
    here: Sequence[str],
    onto: Mapping[str, str],
    *,
    times: Mapping[str, str] | None = None,
) -> ReplayPlan:
    """The plan for the files that exist now.

    `here` are absolute paths below the new folder.
    """
    root = workflow_folder(plan["steps"])
    values = substitutions(plan["parameters"], onto, root)
    planner = _Planner(values, set(here))
    for step in plan["steps"][:MOST]:
        planner.add(step)
    if root is not None:
        planner.add_by_convention(learned, root, values.get(root, root), here, times or {})
    divergence = []
    if planner.absent:
        some = ", ".join(basename(path) for path in list(planner.absent)[:3])
        missing = plural_with_verb(len(planner.absent), "recorded file", "are")
        divergence.append(f"{missing} not here ({some})")
    return ReplayPlan(tuple(planner.steps), tuple(divergence), values)


class _Planner:
    """Collects the steps of a plan."""

    def __init__(self, values: Mapping[str, str], present: set[str]) -> None:
        self.values = values
        self.present = present
        self.folders = {dirname(path) for path in present}  # of other folders nothing is known
        self.steps: list[ReplayStep] = []
        self.literal: dict[str, ReplayStep] = {}  # recorded steps, by file
        self.absent: dict[str, None] = {}
        self.place: int | None = None  # index of the first move among the steps
        self.doubted = False  # the names come from an untrusted source

    def add(self, step: Mapping[str, Any]) -> None:
        """Add a recorded step.

        As changes of files that exist here, else as the command, else as a manual step.
        """
        seq = step["seq"]
        doubted = step.get("trust") in UNTRUSTED or "doubted_by" in step
        if step["kind"] == "decision":
            self.steps.append(ReplayStep("decision", f"decided: {step['what']}", seq=seq, doubted=doubted))
            return
        if step["kind"] == "check":
            for file in step["files"]:
                path = substitute(file["path"], self.values)
                if dirname(path) in self.folders and not basename(path).startswith("."):
                    self._existing(file["path"])
            return
        other = []
        for file in step["files"]:
            path = substitute(file["path"], self.values)
            if file["change"] == "renamed" and file["from"]:
                if (source := self._existing(file["from"])) is not None:
                    self.literal[source] = _move(source, path, seq, doubted)
                self.doubted |= doubted
            elif file["change"] == "deleted":
                if (source := self._existing(file["path"])) is not None:
                    self.literal[source] = ReplayStep(
                        "trash", f"move {source} to the trash folder", source, seq=seq, doubted=doubted
                    )
            else:
                other.append(path)
        if step["files"] and not other:
            if self.place is None:
                self.place = len(self.steps)
        elif step.get("command"):
            command = substitute_in_command(step["command"].replace("\0", ""), self.values)
            if command is None:
                why = "the new names cannot be inserted safely"
                self.steps.append(
                    ReplayStep("by hand", f"run: {step['command']}", seq=seq, divergence=why, doubted=doubted)
                )
                return
            self.steps.append(
                ReplayStep("command", f"run: {command}", command=command, seq=seq, doubted=doubted)
            )
        else:
            more = f" and {len(other) - 1} more" if len(other) > 1 else ""
            why = "its content was written for the recorded files"
            what = f"{step['tool']} {other[0]}{more}" if other else f"{step['tool']} {step['target']}"
            self.steps.append(ReplayStep("by hand", what, seq=seq, divergence=why, doubted=doubted))

    def _existing(self, recorded: str) -> str | None:
        """The file that is here under the name a recorded one would have."""
        source = substitute(recorded, self.values)
        if source in self.present:
            return source
        self.absent[recorded] = None
        return None

    def add_by_convention(
        self, learned: NamingReport, root: str, new: str, here: Sequence[str], times: Mapping[str, str]
    ) -> None:
        """Rename the existing files by the session's conventions.

        Where none applies, as recorded.
        """
        # The conventions are about the recorded folder, so the files are looked up as if they were there.
        trashed = {path for path, step in self.literal.items() if step.kind == "trash"}
        asked = {_under(path, new, root): path for path in here[:MOST] if path not in trashed}
        then = {name: time for name, path in asked.items() if (time := times.get(path)) is not None}
        taken = {_under(path, new, root) for path in self.present}

        proposals = naming.propose_all(learned.conventions, list(asked), mtimes=then, taken=taken)
        moves: list[ReplayStep] = []
        for proposal in proposals:
            source = asked[proposal.name]
            if proposal.becomes is not None:
                becomes = proposal.becomes
                target = becomes if becomes.startswith("/") else join(dirname(proposal.name), becomes)
                moves.append(_move(source, substitute(target, self.values), doubted=self.doubted))
            elif source in self.literal:
                moves.append(self.literal[source])
            else:
                moves.append(ReplayStep("keep", f"leave {source}", source, divergence=proposal.because))
        moves += [self.literal[path] for path in sorted(trashed)]
        place = len(self.steps) if self.place is None else self.place
        self.steps[place:place] = moves  # later commands need the files in their new places


def _under(path: str, old: str, new: str) -> str:
    return new.rstrip("/") + path[len(old.rstrip("/")) :] if path.startswith(old.rstrip("/") + "/") else path


def _move(source: str, target: str, seq: int | None = None, doubted: bool = False) -> ReplayStep:
    if source == target:
        return ReplayStep("keep", f"leave {source}", source, seq=seq, divergence="it has this name already")
    inside = dirname(source) == dirname(target)
    what = f"rename {source} to {basename(target)}" if inside else f"move {source} to {target}"
    return ReplayStep("move", what, source, target, seq=seq, doubted=doubted)

"""Doing a past workflow again, as a plan: the same work on another folder, and where it cannot be the same.

A recording names files that are not there this time. So what was done to each is not repeated by name: the
files that are there now get the names that the session's conventions give them, in the same subfolders; what
the session left alone is left alone. Only what settles nothing else is taken literally. Nothing is done here.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from posixpath import basename, commonpath, dirname, join
from typing import Any, Literal

from fazm_memory.model.counting import plural
from fazm_memory.model.learned import Learned
from fazm_memory.model.trust import DOUBTED

Kind = Literal["decision", "move", "trash", "command", "keep", "by hand"]
MOST = 500


@dataclass(frozen=True)
class Step:
    """One step: what it is in words, and for files from where to where, absolute."""

    kind: Kind
    what: str
    source: str | None = None
    target: str | None = None
    command: str | None = None
    seq: int | None = None
    divergence: str | None = None
    doubted: bool = False  # it came from a source that nobody answers for


@dataclass(frozen=True)
class Rerun:
    steps: tuple[Step, ...]
    divergence: tuple[str, ...] = ()
    swapped: Mapping[str, str] = field(default_factory=dict)


def root_of(steps: Sequence[Mapping[str, Any]]) -> str | None:
    """The folder a workflow was about: the deepest that holds every file it found there."""
    files = [file for step in steps for file in step.get("files", ())]
    found = [file["from"] or file["path"] for file in files if file["change"] != "created"]
    places = [dirname(path) for path in found or [file["path"] for file in files] if path.startswith("/")]
    return commonpath(places) if places else None


def swaps(
    parameters: Sequence[Mapping[str, Any]], onto: Mapping[str, str], root: str | None
) -> dict[str, str]:
    """Recorded values and what stands for them this time; a folder's own name goes with its folder."""
    known = {one["name"]: one["value"] for one in parameters}
    if root is not None:
        known["folder"] = root
    made = {known.get(name, name): value for name, value in onto.items()}
    if root is not None and root in made:
        old, new = basename(root), basename(made[root].rstrip("/"))
        if old and new and old != new:
            made.setdefault(old, new)
    return made


def swapped(text: str, values: Mapping[str, str]) -> str:
    """A text with every recorded value replaced, the longest first, and only where it stands by itself."""
    if not values:
        return text
    wanted = sorted(values, key=len, reverse=True)
    pattern = re.compile("|".join(rf"(?<!\w){re.escape(one)}(?!\w)" for one in wanted))
    return pattern.sub(lambda found: values[found.group()], text)


# Where a command's quotes cannot be followed by counting them: only words that need none go in there.
UNCOUNTABLE = re.compile(r"<<|#|\$'")
PLAIN = re.compile(r"[\w@%+=:,./ -]*", re.ASCII).fullmatch  # the same text inside quotes of any kind


def command_swapped(command: str, values: Mapping[str, str]) -> str | None:
    """A command with recorded values replaced, each as one word and nothing more to the shell; None when a
    value stands where that cannot be made sure of."""
    made = swapped(command, values)
    if all(shlex.quote(value) == value for value in values.values()) or made == command:
        return made
    quoted = swapped(command, {old: _Word.mark(number) for number, old in enumerate(values)})
    given = list(values.values())
    told, state, at = "", "", 0
    while at < len(quoted):
        letter = quoted[at]
        if (word := _Word.at(quoted, at)) is not None:
            value = given[word.number]
            if shlex.quote(value) != value and (
                UNCOUNTABLE.search(command) or (state and PLAIN(value) is None)
            ):
                return None
            told += value if state else shlex.quote(value)
            at = word.end
            continue
        if letter == "\\" and state != "'":
            told, at = told + quoted[at : at + 2], at + 2
            continue
        if letter in "'\"":
            state = letter if not state else "" if state == letter else state
        told, at = told + letter, at + 1
    return None if state else told


@dataclass(frozen=True)
class _Word:
    """Where a value will stand: a mark that no command holds, since no argument can hold a null."""

    number: int
    end: int

    @staticmethod
    def mark(number: int) -> str:
        return f"\0{number}\0"

    @staticmethod
    def at(text: str, start: int) -> _Word | None:
        if text[start] != "\0":
            return None
        end = text.index("\0", start + 1)
        return _Word(int(text[start + 1 : end]), end + 1)


def plan_again(
    plan: Mapping[str, Any],
    learned: Learned,
    here: Sequence[str],
    onto: Mapping[str, str],
    *,
    times: Mapping[str, str] | None = None,
) -> Rerun:
    """The steps for the files that are there now. `here` are absolute paths below the new folder."""
    root = root_of(plan["steps"])
    values = swaps(plan["parameters"], onto, root)
    again = _Again(values, set(here))
    for step in plan["steps"][:MOST]:
        again.take(step)
    if root is not None:
        again.by_convention(learned, root, values.get(root, root), here, times or {})
    divergence = []
    if again.absent:
        some = ", ".join(basename(path) for path in again.absent[:3])
        are = "is" if len(again.absent) == 1 else "are"
        divergence.append(f"{plural(len(again.absent), 'file')} of the recording {are} not here ({some})")
    return Rerun(tuple(again.steps), tuple(divergence), values)


class _Again:
    """The steps, while they are gathered."""

    def __init__(self, values: Mapping[str, str], present: set[str]) -> None:
        self.values = values
        self.present = present
        self.steps: list[Step] = []
        self.literal: dict[str, Step] = {}  # by the file: what the recording did to one of that name
        self.absent: list[str] = []
        self.place: int | None = None  # among the steps, where the recording began to move files
        self.doubted = False  # the names were given by somebody nobody answers for

    def take(self, step: Mapping[str, Any]) -> None:
        """A recorded step: files by their names where those are here, the rest as a command or a note."""
        seq = step["seq"]
        if step["kind"] == "decision":
            self.steps.append(Step("decision", f"decided: {step['what']}", seq=seq))
            return
        doubted = step.get("trust") in DOUBTED
        other = []
        for file in step["files"]:
            path = swapped(file["path"], self.values)
            if file["change"] == "renamed" and file["from"]:
                if (source := self._met(file["from"])) is not None:
                    self.literal[source] = _move(source, path, seq, doubted)
                self.doubted |= doubted
            elif file["change"] == "deleted":
                if (source := self._met(file["path"])) is not None:
                    self.literal[source] = Step(
                        "trash", f"put {source} aside", source, seq=seq, doubted=doubted
                    )
            else:
                other.append(path)
        if step["files"] and not other:
            if self.place is None:
                self.place = len(self.steps)
        elif step.get("command"):
            command = command_swapped(step["command"].replace("\0", ""), self.values)
            if command is None:
                why = "the new names cannot be put into it safely"
                self.steps.append(Step("by hand", f"run: {step['command']}", seq=seq, divergence=why))
                return
            made = Step("command", f"run: {command}", command=command, seq=seq, doubted=doubted)
            self.steps.append(made)
        else:
            more = f" and {len(other) - 1} more" if len(other) > 1 else ""
            why = "what it wrote was made for then"
            self.steps.append(Step("by hand", f"{step['tool']} {other[0]}{more}", seq=seq, divergence=why))

    def _met(self, recorded: str) -> str | None:
        """The file that is here under the name a recorded one would have."""
        source = swapped(recorded, self.values)
        if source in self.present:
            return source
        self.absent.append(recorded)
        return None

    def by_convention(
        self, learned: Learned, root: str, new: str, here: Sequence[str], times: Mapping[str, str]
    ) -> None:
        """What the conventions of then say of the files of now; where they are silent, the recording."""
        # Asked about as if they lay in the folder of then, since that is where the conventions hold.
        trashed = {path for path, step in self.literal.items() if step.kind == "trash"}
        asked = {_under(path, new, root): path for path in here[:MOST] if path not in trashed}
        then = {name: time for name, path in asked.items() if (time := times.get(path)) is not None}
        taken = {_under(path, new, root) for path in self.present}
        from fazm_memory.model.conventions import propose_all  # late: the learner takes a moment to load

        proposals = propose_all(learned.conventions, list(asked), mtimes=then, taken=taken)
        moves: list[Step] = []
        for proposal in proposals:
            source = asked[proposal.name]
            if proposal.becomes is not None:
                becomes = proposal.becomes
                target = becomes if becomes.startswith("/") else join(dirname(proposal.name), becomes)
                moves.append(_move(source, swapped(target, self.values), doubted=self.doubted))
            elif source in self.literal:
                moves.append(self.literal[source])
            else:
                moves.append(Step("keep", f"leave {source}", source, divergence=proposal.because))
        moves += [self.literal[path] for path in sorted(trashed)]
        place = len(self.steps) if self.place is None else self.place
        self.steps[place:place] = moves  # what was run after the files were moved needs them where they are


def _under(path: str, old: str, new: str) -> str:
    return new.rstrip("/") + path[len(old.rstrip("/")) :] if path.startswith(old.rstrip("/") + "/") else path


def _move(source: str, target: str, seq: int | None = None, doubted: bool = False) -> Step:
    if source == target:
        return Step("keep", f"leave {source}", source, seq=seq, divergence="it is named so already")
    inside = dirname(source) == dirname(target)
    what = f"rename {source} to {basename(target)}" if inside else f"move {source} to {target}"
    return Step("move", what, source, target, seq=seq, doubted=doubted)

"""One command with its arguments, as the followed tools see it: what it may say happened, and how surely."""

from __future__ import annotations

import posixpath
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal, TypeAlias

from fazm_memory.capture.shell.output import Evidence
from fazm_memory.capture.shell.state import Input, State
from fazm_memory.capture.shell.value import Value
from fazm_memory.capture.shell.world import Kind, Sight

Change: TypeAlias = Literal["read", "created", "modified", "renamed", "deleted"]
Status: TypeAlias = bool | None
Emit: TypeAlias = Callable[[str, Change, str | None, str], bool]
"""Records an effect with the reason to doubt it, if any; answers whether the command itself surely ran."""

NAMED = "glob not expanded: files named in output"
HIDDEN = "its errors are not shown"
OVERWRITES = "overwrites if it existed"
IF_EXISTED = "only if it existed"
IF_ABSENT = "only if it did not exist"
_ALL_OR_NOTHING = {"mv": 2, "ln": 2, "rm": 1, "rmdir": 1, "unlink": 1, "mkdir": 1, "touch": 1}
"""Commands that, given so few operands, did nothing when they failed."""


@dataclass(frozen=True, slots=True)
class FileEffect:
    """What a command did to one file or folder; a folder's effect stands for all that is in it."""

    path: str
    change: Change
    origin: str | None = None
    """The old path, when it was renamed."""
    inferred: bool = False
    why: str = ""
    """Why it is not certain."""


@dataclass(frozen=True, slots=True)
class Options:
    flags: dict[str, Value | None]
    operands: list[Value]

    def __contains__(self, name: str) -> bool:
        return name in self.flags

    def any(self, *names: str) -> bool:
        return any(name in self.flags for name in names)

    def value(self, *names: str) -> Value | None:
        return next((self.flags[name] for name in names if self.flags.get(name) is not None), None)


def options(
    args: Sequence[Value], valued: str = "", *long_valued: str, optional: str = "", leading: bool = False
) -> Options:
    """Splits arguments as getopt does. Letters in `valued` take a value, in `optional` an attached one.

    With `leading`, options end at the first operand, as they do for commands that run other commands.
    """
    flags: dict[str, Value | None] = {}
    operands: list[Value] = []
    waiting = deque(args)
    while waiting:
        arg = waiting.popleft()
        first = arg.parts[0] if arg.parts else ""
        text = arg.text if arg.text is not None else first if isinstance(first, str) else ""
        if text == "--" and arg.text is not None:
            operands += waiting
            break
        if text.startswith("--"):
            name, equals, attached = text[2:].partition("=")
            taken: Value | None = Value((attached,)) if equals and arg.text is not None else None
            if not equals and name in long_valued and waiting:
                taken = waiting.popleft()
            flags[name] = taken
        elif text.startswith("-") and len(text) > 1:
            for place, letter in enumerate(text[1:], start=2):
                rest = text[place:]
                if letter in optional:
                    flags[letter] = Value((rest,))
                    break
                if letter in valued:
                    flags[letter] = Value((rest,)) if rest else waiting.popleft() if waiting else None
                    break
                flags[letter] = None
        else:
            operands.append(arg)
            if leading:
                operands += waiting
                break
    return Options(flags, operands)


@dataclass
class Call:
    name: str
    args: list[Value]
    state: State
    evidence: Evidence
    emit: Emit
    ended: Status
    """Whether the command succeeded, where that is known."""
    visible: bool
    """Whether its complaints would be seen in the output."""
    alone: bool
    """Whether no other command of the script prints."""
    foreseen: list[tuple[str, str]]
    used: set[int]
    """The pairs in the output that have been told already."""
    input: Input
    say: Callable[[Value], None]
    execute: Callable[[list[Value]], Status]
    doubting: Callable[[str], AbstractContextManager[None]]
    spend: Callable[[int], None]

    def path(self, value: Value) -> str | None:
        return None if value.text is None else self.state.path(value.text)

    def look(self, path: str) -> Sight:
        if path in (self.state.cwd, self.state.home):
            return Sight(Kind.FOLDER, True)
        return self.state.world.look(path)

    def certain(self, path: str, kind: Kind) -> bool:
        sight = self.look(path)
        return sight.kind is kind and sight.sure

    def verdict(self, *names: str, proven: bool = False) -> str | None:
        """None when it failed for one of the names as typed, else the reason to doubt that it succeeded."""
        if self.ended:
            return ""
        if self.ended is False and self.name in _ALL_OR_NOTHING and self._works_on_one():
            return None
        if self.evidence.complains(self.name, *names):
            return None
        return "" if self.visible or proven else HIDDEN

    def _works_on_one(self) -> bool:
        operands = [arg for arg in self.args if not (arg.text or "").startswith("-")]
        return len(operands) <= _ALL_OR_NOTHING[self.name]

    def foresee(self, name: str) -> Status:
        """It must fail for this name, whatever the output says."""
        self.foreseen.append((self.name, name))
        return False

    def missing(self, path: str) -> bool:
        """Whether a file to be worked on is surely not there. A command that succeeded proves otherwise."""
        return not self.ended and self.certain(path, Kind.ABSENT)

    def homeless(self, path: str) -> bool:
        """Whether a file cannot be made because its folder is surely not there."""
        return not self.ended and self.certain(posixpath.dirname(path), Kind.ABSENT)

    def read(self, value: Value, why: str = "") -> Status:
        path = self.path(value)
        if path is None or value.text is None:
            return False if value.is_no_match else None
        if self.missing(path) or self.certain(path, Kind.FOLDER):
            return self.foresee(value.text)
        doubt = self.verdict(value.text)
        if doubt is None:
            return False
        self.emit(path, "read", None, why or doubt)
        return True

    def write(self, path: str, why: str = "", *, append: bool = False) -> None:
        """A file gets new contents: created or modified, as far as it is known which."""
        sight = self.look(path)
        change: Change = "modified" if sight.exists or (append and sight.kind is Kind.UNKNOWN) else "created"
        unsure = "creates it if it did not exist" if change == "modified" else OVERWRITES
        self.state.contents.pop(path, None)
        ran = self.emit(path, change, None, why or ("" if sight.sure else unsure))
        self.state.world.put(path, Kind.FILE, ran and not why)

    def remove(self, path: str, why: str = "") -> None:
        self.state.contents.pop(path, None)
        ran = self.emit(path, "deleted", None, why)
        self.state.world.put(path, Kind.ABSENT, ran and why in ("", IF_EXISTED))

    def rename(self, old: str, new: str, why: str = "") -> None:
        if old in self.state.contents:
            self.state.contents[new] = self.state.contents.pop(old)
        ran = self.emit(new, "renamed", old, why)
        self.state.world.carry(old, new, ran and not why, keep=False)


def worst(*statuses: Status) -> Status:
    """The status of a command that did several things: failed if one failed."""
    return False if False in statuses else None if None in statuses else True

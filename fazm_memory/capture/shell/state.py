"""A shell's state while it is followed: folder, variables, functions, options, and what is known of files.

A subshell, or a choice that could go either way, works on a fork; what two ways do not share is forgotten.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field
from typing import TypeAlias

from fazm_memory.capture.shell.syntax import Node, Script
from fazm_memory.capture.shell.value import Value, known, unknown
from fazm_memory.capture.shell.world import World

_LONGEST_PATH = 4096

Array: TypeAlias = dict[str, Value]
Variable: TypeAlias = Value | Array | None
"""None is a variable that is known not to be set."""


@dataclass
class Input:
    """What a command can read: shared by all that read in turn, as a file offset is."""

    value: Value = field(default_factory=unknown)
    at: int = 0

    def line(self, delimiter: str = "\n") -> Value | None:
        """The next line, None at the end, a value with a hole when the input is not known."""
        text = self.value.text
        if text is None:
            return unknown("read")
        if self.at >= len(text):
            return None
        end = text.find(delimiter, self.at)
        end = len(text) if end < 0 else end
        line = text[self.at : end]
        self.at = end + 1
        return known(line, self.value.doubt)

    def rest(self) -> Value:
        text = self.value.text
        if text is None:
            return self.value
        at, self.at = self.at, len(text)
        return known(text[at:], self.value.doubt)


@dataclass
class State:
    cwd: str | None
    home: str | None
    world: World
    variables: dict[str, Variable] = field(default_factory=dict)
    keyed: set[str] = field(default_factory=set)
    """Names of associative arrays."""
    functions: dict[str, Node] = field(default_factory=dict)
    options: set[str] = field(default_factory=set)
    arguments: tuple[Value, ...] = ()
    folders: tuple[str | None, ...] = ()
    contents: dict[str, Value] = field(default_factory=dict)
    """Texts that this command itself wrote to files."""
    traps: tuple[Script, ...] = ()
    input: Input = field(default_factory=Input)

    def path(self, text: str) -> str | None:
        """A name as the shell's folder makes it: absolute and normal, None when the folder is not known."""
        if not text or "\0" in text or (self.cwd is None and not text.startswith("/")):
            return None
        path = posixpath.normpath(posixpath.join(self.cwd or "/", text))
        path = path[1:] if path.startswith("//") else path
        return path if len(path) <= _LONGEST_PATH else None

    def variable(self, name: str) -> Variable:
        if name in self.variables:
            return self.variables[name]
        if name.isdigit() and name != "0":
            place = int(name[:6]) - 1
            return self.arguments[place] if place < len(self.arguments) else None
        if name == "#":
            return known(str(len(self.arguments)))
        if name in ("PWD", "HOME"):
            path = self.cwd if name == "PWD" else self.home
            return unknown(name) if path is None else known(path)
        return unknown(name)

    def scalar(self, name: str) -> Value | None:
        value = self.variable(name)
        return value.get("0") if isinstance(value, dict) else value

    def change_folder(self, path: str | None) -> None:
        self.variables["OLDPWD"] = unknown("OLDPWD") if self.cwd is None else known(self.cwd)
        self.cwd = path

    def fork(self, *, subshell: bool = False) -> State:
        """A copy. A subshell has its own folder and variables, but the same files."""
        return State(
            self.cwd,
            self.home,
            self.world if subshell else self.world.fork(),
            {name: dict(it) if isinstance(it, dict) else it for name, it in self.variables.items()},
            set(self.keyed),
            dict(self.functions),
            set(self.options),
            self.arguments,
            self.folders,
            self.contents if subshell else dict(self.contents),
            self.traps,
            self.input,
        )

    def merge(self, other: State) -> None:
        self.world.merge(other.world)
        self.cwd = self.cwd if self.cwd == other.cwd else None
        for name in {*self.variables, *other.variables}:
            if self.variable(name) != other.variable(name):
                self.variables[name] = unknown(name)
        self.arguments = self.arguments if self.arguments == other.arguments else ()
        self.folders = self.folders if self.folders == other.folders else ()
        self.functions |= other.functions
        self.keyed |= other.keyed
        self.options &= other.options
        for path in {*self.contents, *other.contents}:
            if self.contents.get(path) != other.contents.get(path):
                self.contents[path] = unknown()

"""What a command's output says about files: what `-v` reports as done, and what tools complain about."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from fazm_memory.capture.shell.parser import Parser
from fazm_memory.capture.shell.syntax import Text
from fazm_memory.capture.shell.words import Unreadable

_LONGEST_LINE = 4_000
_MOST_LINES = 20_000
_ARROW = " -> "
_OTHER_PAIR = re.compile(r"Renaming (.+) to (.+)|(.+) renamed as (.+)")
_REMOVED = re.compile(r"(?:removed (?:directory:? )?|rmdir: removing directory, |rm (?=['\"]))(\S.*)")
_MADE = re.compile(r"(?:mkdir|install): (?:created directory |creating directory )(\S.*)")
_LISTED = re.compile(r"[-dlbcps][-rwxsStT]{9}[.+@]? ")
_COMPLAINT = re.compile(r"(?:/[\w./+-]*/)?([\w.+-]+): (.+)")
_SHELL_COMPLAINT = re.compile(
    r"(?:/[\w./+-]*/)?(?:bash|zsh|dash|ksh|sh|\(eval\))(?::([a-z]+))?:(?: ?(?:line )?\d+:)? (.+)"
)
_BUILTIN_COMPLAINT = re.compile(r"(cd|pushd|popd|source|exec|read|test|\[): (.+)")
_HARMLESS = re.compile(
    r"warning|overwrite |replace |created directory|removing directory|not replacing|skipping", re.IGNORECASE
)
_BEFORE = frozenset(" '\"‘`:(=,")
_AFTER = frozenset(" '\"’:),;?")


@dataclass(frozen=True, slots=True)
class Pair:
    """`old -> new`, as tools show that something was moved or copied."""

    verb: str
    old: str
    new: str


def _arrow(line: str) -> Pair | None:
    verb = next((verb for verb in ("renamed", "copied") if line.startswith(verb + " ")), "")
    line = line.removeprefix(verb).strip()
    if line.endswith(")"):
        line = line.partition(" (backup: ")[0]
    sides = line.split(_ARROW)
    if len(sides) == 2:
        return Pair(verb, unquoted(sides[0]), unquoted(sides[1]))
    middle = line.find("' -> '")
    return Pair(verb, unquoted(line[: middle + 1]), unquoted(line[middle + 5 :])) if middle > 0 else None


def unquoted(name: str) -> str:
    """A name as tools show it: quoted for a shell, in typographic quotes, or bare."""
    name = name.strip()
    if len(name) > 1 and name[0] + name[-1] in ("‘’", "`'", "“”"):
        return name[1:-1]
    if name[:1] not in ("'", '"'):
        return name
    try:
        reader = Parser(name)
        parts = reader.word()
    except Unreadable:
        return name
    if reader.pos < len(name) or not all(isinstance(part, Text) for part in parts):
        return name
    return "".join(part.text for part in parts if isinstance(part, Text))


class Evidence:
    """The output, read once. Complaints about failures that were `foreseen` anyway are set aside."""

    def __init__(self, output: str, foreseen: Iterable[tuple[str, str]] = ()) -> None:
        self.lines = [line.rstrip("\r") for line in output.split("\n", _MOST_LINES)[:_MOST_LINES]]
        self.lines = [line for line in self.lines if line.strip() and len(line) <= _LONGEST_LINE]
        self.pairs: list[Pair] = []
        self.numbers: dict[str, list[int]] = {}
        """Where the pairs of an old name stand among all pairs."""
        self.removed: list[str] = []
        self.made: list[str] = []
        self._complaints: dict[str, list[str]] = {}
        for line in self.lines:
            self._take(line.strip())
        for number, pair in enumerate(self.pairs):
            self.numbers.setdefault(pair.old, []).append(number)
        for tool, name in foreseen:
            said = self._complaints.get(tool, [])
            heard = next((text for text in said if _mentions(text, name)), None)
            if heard is not None:
                said.remove(heard)

    @property
    def has_complaints(self) -> bool:
        return any(self._complaints.values())

    def complains(self, tool: str, *names: str) -> bool:
        return any(_mentions(text, name) for text in self._complaints.get(tool, ()) for name in names)

    def _take(self, line: str) -> None:
        if found := _MADE.fullmatch(line):
            self.made.append(unquoted(found[1]))
        elif found := _REMOVED.fullmatch(line):
            self.removed.append(unquoted(found[1]))
        elif self._complaint(line):
            return
        elif found := _OTHER_PAIR.fullmatch(line):
            self.pairs.append(Pair("renamed", unquoted(found[1] or found[3]), unquoted(found[2] or found[4])))
        elif _ARROW in line and not _LISTED.match(line) and (pair := _arrow(line)):
            self.pairs.append(pair)

    def _complaint(self, line: str) -> bool:
        if found := _SHELL_COMPLAINT.fullmatch(line):
            tool, said = found[1] or "shell", found[2]
            if builtin := _BUILTIN_COMPLAINT.fullmatch(said):
                tool, said = builtin[1], builtin[2]
        elif found := _COMPLAINT.fullmatch(line):
            tool, said = found[1], found[2]
            tool = "git" if tool in ("fatal", "error") else tool
        else:
            return False
        if not _HARMLESS.search(said):
            self._complaints.setdefault(tool, []).append(said)
        return True


def _mentions(text: str, name: str) -> bool:
    """Whether a complaint names a file, and not merely a longer name that contains it."""
    name = name.rstrip("/") or name
    if not name:
        return False
    at = text.find(name)
    while at >= 0:
        after = text[at + len(name) :].lstrip("/")[:1]
        if (at == 0 or text[at - 1] in _BEFORE) and (not after or after in _AFTER):
            return True
        at = text.find(name, at + 1)
    return False

"""What the output of a command says about files.

Read are `-v` lines, errors, and names printed by loops.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from typing import TYPE_CHECKING

from fazm_memory.engines.shell_effects.parser import (
    AndOr,
    Arithmetic,
    Calculation,
    Case,
    CommandGroup,
    If,
    Node,
    Parser,
    Redirected,
    Script,
    Simple,
    Text,
    Unreadable,
    ansi_text,
    plain,
)
from fazm_memory.engines.shell_effects.patterns import ANYTHING, Pattern, compiled, escape, is_text
from fazm_memory.engines.shell_effects.state import Hole, Value, joined, known, spaced, unknown

if TYPE_CHECKING:
    from fazm_memory.engines.shell_effects.interpreter import Interpreter


_LONGEST_LINE = 4_000
_MOST_LINES = 20_000
_ARROW = " -> "
_RENAME_LINE = re.compile(r"Renaming (.+) to (.+)|(.+) renamed as (.+)")
_REMOVED = re.compile(r"(?:removed (?:directory:? )?|rmdir: removing directory, |rm (?=['\"]))(\S.*)")
_CREATED = re.compile(r"(?:mkdir|install): (?:created directory |creating directory )(\S.*)")
_LISTED = re.compile(r"[-dlbcps][-rwxsStT]{9}[.+@]? ")
_ERROR = re.compile(r"(?:/[\w./+-]*/)?([\w.+-]+): (.+)")
_SHELL_ERROR = re.compile(
    r"(?:/[\w./+-]*/)?(?:bash|zsh|dash|ksh|sh|\(eval\))(?::([a-z]+))?:(?: ?(?:line )?\d+:)? (.+)"
)
_BUILTIN_ERROR = re.compile(r"(cd|pushd|popd|source|exec|read|test|\[): (.+)")
_HARMLESS = re.compile(
    r"warning|overwrite |replace |created directory|removing directory|not replacing|skipping", re.IGNORECASE
)
_BEFORE = frozenset(" '\"‘`:(=,")
_AFTER = frozenset(" '\"’:),;?")


@dataclass(frozen=True, slots=True)
class Pair:
    """`old -> new`, as tools report a move or a copy."""

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
    """Remove the quotes around a name: shell quotes or typographic ones."""
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


class CommandOutput:
    """The output of a script. Error messages of `expected_failures` are left out."""

    def __init__(self, output: str, expected_failures: Iterable[tuple[str, str]] = ()) -> None:
        self.lines = [line.rstrip("\r") for line in output.split("\n", _MOST_LINES)[:_MOST_LINES]]
        self.lines = [line for line in self.lines if line.strip() and len(line) <= _LONGEST_LINE]
        self.pairs: list[Pair] = []
        self.pair_numbers: dict[str, list[int]] = {}
        """Positions in `pairs`, by old name."""
        self.removed: list[str] = []
        self.created: list[str] = []
        self._errors: dict[str, list[str]] = {}
        for line in self.lines:
            self._take(line.strip())
        for number, pair in enumerate(self.pairs):
            self.pair_numbers.setdefault(pair.old, []).append(number)
        for tool, name in expected_failures:
            messages = self._errors.get(tool, [])
            match = next((text for text in messages if _mentions(text, name)), None)
            if match is not None:
                messages.remove(match)

    @property
    def has_errors(self) -> bool:
        return any(self._errors.values())

    def reports_error(self, tool: str, *names: str) -> bool:
        return any(_mentions(text, name) for text in self._errors.get(tool, ()) for name in names)

    def _take(self, line: str) -> None:
        if found := _CREATED.fullmatch(line):
            self.created.append(unquoted(found[1]))
        elif found := _REMOVED.fullmatch(line):
            self.removed.append(unquoted(found[1]))
        elif self._take_error(line):
            return
        elif found := _RENAME_LINE.fullmatch(line):
            self.pairs.append(Pair("renamed", unquoted(found[1] or found[3]), unquoted(found[2] or found[4])))
        elif _ARROW in line and not _LISTED.match(line) and (pair := _arrow(line)):
            self.pairs.append(pair)

    def _take_error(self, line: str) -> bool:
        if found := _SHELL_ERROR.fullmatch(line):
            tool, message = found[1] or "shell", found[2]
            if builtin := _BUILTIN_ERROR.fullmatch(message):
                tool, message = builtin[1], builtin[2]
        elif (found := _ERROR.fullmatch(line)) and found[1].lower() != "usage":
            tool, message = found[1], found[2]
            tool = "git" if tool in ("fatal", "error") else tool
        else:
            return False
        if not _HARMLESS.search(message):
            self._errors.setdefault(tool, []).append(message)
        return True


def _mentions(text: str, name: str) -> bool:
    """Whether an error message names the file itself.

    A longer name that contains it does not count.
    """
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


# Names that a loop prints

_QUIET = "cd mkdir rm mv cp ln touch chmod set export test [ true tar rsync zip install"
_SILENT = frozenset(_QUIET.split())
_CONVERSION = re.compile(r"(%[-0+ #]*\d*(?:\.\d+)?[a-zA-Z])")


def loop_values(run: Interpreter, name: str, item: Value, body: Script) -> list[str]:
    """Return the values of a loop variable that the output shows, in order.

    For example `echo "$f -> $new"` in the body prints each of them.
    """
    for node in _simple_commands(body):
        template = _printed_template(run, name, node)
        pattern = None if template is None else _line_pattern(name, template)
        if pattern is None:
            continue
        literal = sum(len(part) for part in (template or Value()).parts if isinstance(part, str))
        if literal < 3 and item.pattern == ANYTHING:
            continue  # with a bare `echo "$f"` every line would be a name
        found = (pattern.fullmatch(line) for line in run.output.lines if is_text(line))
        values = dict.fromkeys(match.group(1) or "" for match in found if match)
        found_values = [value for value in values if value and item.could_be(value)]
        if found_values:
            return found_values
    return []


def prints_alone(script: Script) -> bool:
    """Whether at most one command prints, so that the whole output belongs to it."""
    flat = all(isinstance(node, Simple | AndOr) and not background for node, background in script.items)
    return flat and sum(map(_prints, _simple_commands(script))) <= 1


def _prints(node: Simple) -> bool:
    names = [plain(word) or "" for word in node.words[:3]]
    verbose = any("v" in flags for flags in names[1:] if flags.startswith("-") or names[0] == "tar")
    return bool(names) and (verbose or names[0] not in _SILENT)


def calculates(body: Script) -> bool:
    """Whether a loop body calculates, so that the order of its rounds matters."""
    return _has_arithmetic(body)


def _has_arithmetic(node: object) -> bool:
    if isinstance(node, Arithmetic | Calculation):
        return True
    if isinstance(node, tuple):
        return any(map(_has_arithmetic, node))
    if is_dataclass(node):
        return any(_has_arithmetic(getattr(node, inner.name)) for inner in fields(node))
    return False


def _simple_commands(script: Script) -> Iterator[Simple]:
    waiting: list[Node] = [node for node, _ in reversed(script.items)]
    while waiting:
        node = waiting.pop()
        inner: list[Script] = []
        if isinstance(node, Simple):
            yield node
        elif isinstance(node, AndOr):
            waiting += [other for _, other in reversed(node.rest)] + [node.first]
        elif isinstance(node, Redirected):
            waiting.append(node.node)
        elif isinstance(node, CommandGroup):
            inner = [node.body]
        elif isinstance(node, If):
            inner = [body for _, body in node.branches] + ([node.otherwise] if node.otherwise else [])
        elif isinstance(node, Case):
            inner = [body for _, body in node.arms]
        waiting += [other for body in reversed(inner) for other, _ in reversed(body.items)]


def _printed_template(run: Interpreter, name: str, node: Simple) -> Value | None:
    command = plain(node.words[0]) if node.words else None
    if command not in ("echo", "printf") or node.redirects:
        return None
    with run.without_effects():
        run.state.variables[name] = unknown(name)
        args = [value for word in node.words[1:] for value in run.fields(word)]
    while args and re.fullmatch(r"-[neE]+|--", args[0].text or ""):
        args.pop(0)
    if not args:
        return None
    if command == "echo":
        return spaced(args)
    return _filled_format(args)


def _filled_format(args: list[Value]) -> Value | None:
    if args[0].text is None:
        return None
    form, values = ansi_text(args[0].text).removesuffix("\n"), args[1:]
    parts: list[Value] = []
    for piece in _CONVERSION.split(form):
        if _CONVERSION.fullmatch(piece):
            value = values.pop(0) if values else known("")
            parts.append(value if piece == "%s" else unknown())
        else:
            parts.append(known(piece.replace("%%", "%")))
    return joined(parts)


def _line_pattern(name: str, template: Value) -> Pattern | None:
    """Return a pattern whose first group is the variable. None if it is not printed."""
    source: list[str] = []
    captured = False
    holes = 0
    for part in template.parts:
        if isinstance(part, str):
            source.append(escape(part))
            continue
        holes += 1
        source.append("(.+)" if part == Hole(name) and not captured else ".*")
        captured = captured or part == Hole(name)
    if not captured or holes > 6:
        return None
    return compiled("".join(source), longest=False)

"""Loops that tell what they do: `echo "$f → $new"` in a body lets the output name what the loop went over."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING

from fazm_memory.capture.shell.pattern import ANYTHING, Pattern, compiled, escape, is_text
from fazm_memory.capture.shell.syntax import (
    AndOr,
    Arithmetic,
    Calculation,
    Case,
    Group,
    If,
    Node,
    Redirected,
    Script,
    Simple,
    plain,
)
from fazm_memory.capture.shell.value import Hole, Value, joined, known, spaced, unknown
from fazm_memory.capture.shell.words import ansi_text

if TYPE_CHECKING:
    from fazm_memory.capture.shell.run import Run

_QUIET = "cd mkdir rm mv cp ln touch chmod set export test [ true tar rsync zip install"
_SILENT = frozenset(_QUIET.split())
_CONVERSION = re.compile(r"(%[-0+ #]*\d*(?:\.\d+)?[a-zA-Z])")


def told_values(run: Run, name: str, item: Value, body: Script) -> list[str]:
    """The values of a loop's variable that lines of the output show, in their order."""
    for node in _simple_commands(body):
        template = _template(run, name, node)
        pattern = None if template is None else _pattern(name, template)
        if pattern is None:
            continue
        literal = sum(len(part) for part in (template or Value()).parts if isinstance(part, str))
        if literal < 3 and item.pattern == ANYTHING:
            continue  # a bare `echo "$f"` would take every line for a name
        found = (pattern.fullmatch(line) for line in run.evidence.lines if is_text(line))
        values = dict.fromkeys(match.group(1) or "" for match in found if match)
        told = [value for value in values if value and item.could_be(value)]
        if told:
            return told
    return []


def speaks_alone(script: Script) -> bool:
    """Whether at most one command of a script prints: then all lines of the output are its own."""
    flat = all(isinstance(node, Simple | AndOr) and not background for node, background in script.items)
    return flat and sum(map(_talks, _simple_commands(script))) <= 1


def _talks(node: Simple) -> bool:
    names = [plain(word) or "" for word in node.words[:3]]
    verbose = any("v" in flags for flags in names[1:] if flags.startswith("-") or names[0] == "tar")
    return bool(names) and (verbose or names[0] not in _SILENT)


def counts(body: Script) -> bool:
    """Whether a body calculates, so that the order of its rounds matters."""
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
        elif isinstance(node, Group):
            inner = [node.body]
        elif isinstance(node, If):
            inner = [body for _, body in node.branches] + ([node.otherwise] if node.otherwise else [])
        elif isinstance(node, Case):
            inner = [body for _, body in node.arms]
        waiting += [other for body in reversed(inner) for other, _ in reversed(body.items)]


def _template(run: Run, name: str, node: Simple) -> Value | None:
    command = plain(node.words[0]) if node.words else None
    if command not in ("echo", "printf") or node.redirects:
        return None
    with run.dry():
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


def _pattern(name: str, template: Value) -> Pattern | None:
    """An expression whose first group is the variable; None when the line does not show it."""
    source: list[str] = []
    seen = False
    holes = 0
    for part in template.parts:
        if isinstance(part, str):
            source.append(escape(part))
            continue
        holes += 1
        source.append("(.+)" if part == Hole(name) and not seen else ".*")
        seen = seen or part == Hole(name)
    if not seen or holes > 6:
        return None
    return compiled("".join(source), longest=False)

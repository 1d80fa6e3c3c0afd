"""Parameter expansion: what `$f`, `${f%.txt}`, `${f// /_}`, `"${all[@]}"` and their kin stand for."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from typing import Protocol

from fazm_memory.capture.shell.arithmetic import calculate
from fazm_memory.capture.shell.pattern import Pieces, replaced, trimmed
from fazm_memory.capture.shell.state import State, Variable
from fazm_memory.capture.shell.syntax import Param, Script, Text, Word
from fazm_memory.capture.shell.value import Value, joined, known, spaced, unknown

_USUAL = re.compile(
    r"(XDG|LC|SSH|VSCODE|CLAUDE|CODEX)_\w+|TMPDIR|HOME|USER|LOGNAME|SHELL|PATH|PWD|LANG|EDITOR|[?$!0@*-]"
)
"""Variables that most environments set."""
_ALL = ((Text("@"),), (Text("*"),))


class Host(Protocol):
    """What an expansion needs of the shell that makes it."""

    state: State

    def single(self, word: Word) -> Value: ...

    def pieces(self, word: Word) -> Pieces | None: ...

    def capture(self, script: Script, direction: str = "") -> Value: ...

    def spend(self, steps: int = 1) -> None: ...


def parameter(host: Host, param: Param) -> list[Value]:
    """The values of a parameter: one, or as many as a list such as `"$@"` has."""
    if param.op == "unknown":
        return [unknown(param.name)]
    several = _several(host, param)
    if several is None:
        return [_one(host, param, _element(host, param))]
    if param.op == "length":
        return [known(str(len(several)))]
    if param.op == ":":
        if param.name in ("@", "*"):
            several = [host.state.scalar("0") or unknown(), *several]  # its positions begin with $0
        bounds = _bounds(host, param, len(several))
        return [unknown(param.name)] if bounds is None else several[slice(*bounds)]
    values = [_one(host, param, value) for value in several] if param.op not in ("", "keys") else several
    starred = param.name == "*" or param.index == (Text("*"),)
    if starred and param.quoted:
        separator = host.state.scalar("IFS") if "IFS" in host.state.variables else None
        text = None if separator is None else separator.text
        return [spaced(values, " " if text is None else text[:1])]
    return values


def arithmetic(host: Host, source: Value) -> int | None:
    if source.text is None:
        return None

    def get(name: str, depth: int = 0) -> int | None:
        value = host.state.scalar(name)
        text = "0" if value is None else value.text
        if text is None or depth > 4:
            return None
        return calculate(text, lambda other: get(other, depth + 1), put)

    def put(name: str, number: int) -> None:
        host.state.variables[name] = known(str(number))

    return calculate(source.text, get, put)


def _several(host: Host, param: Param) -> list[Value] | None:
    state = host.state
    if param.name in ("@", "*"):
        return list(state.arguments)
    if param.index not in _ALL:
        return None
    held: Variable = state.variable(param.name)
    if not isinstance(held, dict):
        return [] if held is None else [held]
    return [known(key) for key in held] if param.op == "keys" else list(held.values())


def _element(host: Host, param: Param) -> Value | None:
    held = host.state.variable(param.name)
    if param.index is None:
        return held.get("0") if isinstance(held, dict) else held
    key = index_key(host, param.name, param.index)
    if not isinstance(held, dict) or key is None:
        return held if key == "0" and isinstance(held, Value) else unknown(param.name)
    if key.startswith("-") and param.name not in host.state.keyed:
        values = list(held.values())
        place = len(values) + int(key)
        return values[place] if 0 <= place < len(values) else None
    return held.get(key)


def index_key(host: Host, name: str, index: Word) -> str | None:
    """The key of `name[index]`: any text for an associative array, a number for the others."""
    text = host.single(index)
    if name in host.state.keyed:
        return text.text
    number = arithmetic(host, text)
    return None if number is None else str(number)


def _one(host: Host, param: Param, value: Value | None) -> Value:
    op = param.op
    if op in (":-", "-", ":=", "=", ":+", "+", ":?", "?"):
        return _default(host, param, value)
    if value is None:
        value = known("")
    if op == "":
        return value
    if value.text is None:
        return Value(unknown().parts, value.doubt)
    result = _changed(host, param, value.text)
    return Value(unknown().parts, value.doubt) if result is None else known(result, value.doubt)


def _default(host: Host, param: Param, value: Value | None) -> Value:
    if value is not None and value.text is None and not any(isinstance(part, str) for part in value.parts):
        if param.name in host.state.variables or _USUAL.fullmatch(param.name) or param.op[-1] not in "-=":
            return unknown(param.name)
        return host.single(param.args[0]).doubted(f"assumes that ${param.name} is not set")
    missing = value is None or (param.op[0] == ":" and value.text == "")
    if param.op[-1] == "+":
        return known("") if missing else host.single(param.args[0])
    if not missing and value is not None:
        return value
    default = host.single(param.args[0]) if param.op[-1] != "?" else known("")
    if param.op[-1] == "=":
        host.state.variables[param.name] = default
    return default


def _changed(host: Host, param: Param, text: str) -> str | None:
    op = param.op
    if op == "length":
        return str(len(text))
    if op == "indirect":
        target = host.state.scalar(text)
        return "" if target is None else target.text
    if op == "modifiers":
        return _modified(text, joined(host.single(arg) for arg in param.args).text or "")
    if op == ":":
        bounds = _bounds(host, param, len(text))
        return None if bounds is None else text[slice(*bounds)]
    if op in (",", ",,", "^", "^^"):
        if param.args[0]:
            return None
        change: Callable[[str], str] = str.lower if op[0] == "," else str.upper
        return change(text) if len(op) == 2 else change(text[:1]) + text[1:]
    pieces = host.pieces(param.args[0])
    if pieces is None:
        return None
    if op in ("#", "##", "%", "%%"):
        return trimmed(text, op, pieces)
    if op in ("/", "//", "/#", "/%"):
        new = host.single(param.args[1]).text
        return None if new is None else replaced(text, op, pieces, new)
    return None


def _modified(text: str, modifiers: str) -> str:
    """zsh: `:t` last name, `:h` folder, `:r` without extension, `:e` extension, `:l` lower, `:u` upper."""
    changes: dict[str, Callable[[str], str]] = {
        "t": posixpath.basename,
        "h": lambda path: posixpath.dirname(path) or ".",
        "r": lambda path: posixpath.splitext(path)[0],
        "e": lambda path: posixpath.splitext(path)[1].lstrip("."),
        "l": str.lower,
        "u": str.upper,
    }
    for letter in modifiers.replace(":", ""):
        text = changes[letter](text)
    return text


def _bounds(host: Host, param: Param, size: int) -> tuple[int, int] | None:
    start = arithmetic(host, host.single(param.args[0]))
    if start is None:
        return None
    start = max(0, size + start) if start < 0 else min(start, size)
    if len(param.args) < 2 or not param.args[1]:
        return start, size
    length = arithmetic(host, host.single(param.args[1]))
    if length is None:
        return None
    return start, max(start, size + length if length < 0 else min(size, start + length))

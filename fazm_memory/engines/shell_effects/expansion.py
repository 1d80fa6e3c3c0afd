"""Expansion of words to arguments.

It covers braces, parameters, arithmetic, substitutions, splitting and globs.
"""

from __future__ import annotations

import operator
import posixpath
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from fazm_memory.engines.shell_effects.parser import Arithmetic, Param, Part, Script, Text, Word
from fazm_memory.engines.shell_effects.patterns import (
    ANYTHING,
    Pattern,
    Pieces,
    compiled,
    glob_source,
    is_glob,
    is_text,
    replaced,
    trimmed,
)
from fazm_memory.engines.shell_effects.state import (
    NO_MATCH,
    FileKind,
    Hole,
    State,
    Value,
    joined,
    known,
    spaced,
    unknown,
)

SPLIT = "an unquoted variable was split or matched as a glob, as bash does and zsh does not"


@dataclass(frozen=True, slots=True)
class _Chunk:
    """The expansion of a part of a word.

    Several values are several words, as with `"$@"`.
    """

    values: list[Value]
    active: bool
    splits: bool = False
    reason: str = ""
    whole: bool = True
    """Whether it makes a word even when it is empty."""


_Field: TypeAlias = list[tuple[str | Hole, bool]]


def fields(shell: Shell, word: Word) -> list[Value]:
    """Expand a word to arguments."""
    choices = expand_braces(word)
    if choices is None:
        return [unknown()]
    shell.spend(len(choices))
    return [value for choice in choices for value in _expand_fields(shell, choice)]


def single(shell: Shell, word: Word) -> Value:
    """Expand a word without splitting and globs, as in assignments and here-documents."""
    return joined(spaced(chunk.values) for chunk in _chunks(shell, word))


def pattern_pieces(shell: Shell, word: Word) -> Pieces | None:
    """Expand a word that is used as a pattern. None if part of it is not known."""
    pieces: list[tuple[str, bool]] = []
    for chunk in _chunks(shell, word):
        text = spaced(chunk.values).text
        if text is None:
            return None
        pieces.append((text, chunk.active))
    return pieces


def _chunks(shell: Shell, word: Word) -> Iterator[_Chunk]:
    for place, part in enumerate(word):
        if place == 0 and isinstance(part, Text) and not part.quoted and part.text.startswith("~"):
            yield from _tilde(shell.state, part)
        else:
            yield _chunk(shell, part)


def _tilde(state: State, part: Text) -> Iterator[_Chunk]:
    user, slash, rest = part.text[1:].partition("/")
    home = unknown("HOME") if user or state.home is None else known(state.home)
    if user == "+" and state.cwd is not None:
        home = known(state.cwd)
    yield _Chunk([home], False)
    yield _Chunk([known(slash + rest)], True)


def _chunk(shell: Shell, part: Part) -> _Chunk:
    if isinstance(part, Text):
        return _Chunk([known(part.text)], not part.quoted)
    if isinstance(part, Param):
        values = expand_parameter(shell, part)
        return _Chunk(values, not part.quoted, not part.quoted, SPLIT, part.quoted)
    if isinstance(part, Arithmetic):
        number = arithmetic(shell, single(shell, part.source))
        return _Chunk([unknown() if number is None else known(str(number))], False)
    value = shell.capture(part.body, part.direction)
    if part.direction:
        return _Chunk([unknown()], False)
    return _Chunk([_without_last_newlines(value)], not part.quoted, not part.quoted, "", part.quoted)


def _without_last_newlines(value: Value) -> Value:
    parts = list(value.parts)
    while parts and isinstance(parts[-1], str):
        parts[-1] = parts[-1].rstrip("\n")
        if parts[-1]:
            break
        parts.pop()
    return Value(tuple(parts), value.reason)


def _expand_fields(shell: Shell, word: Word) -> list[Value]:
    done: list[_Field] = []
    current: _Field = []
    started = False
    reasons: list[str] = []

    def finish() -> None:
        nonlocal current, started
        if started:
            done.append(current)
        current, started = [], False

    for chunk in _chunks(shell, word):
        for place, value in enumerate(chunk.values):
            if place:
                finish()
            reasons.append(value.reason)
            pieces = _split_words(shell.state, value) if chunk.splits else [list(value.parts)]
            if chunk.reason and chunk.splits and (len(pieces) > 1 or _has_glob(value)):
                reasons.append(chunk.reason)
            if len(pieces) >= 8:
                shell.spend(len(pieces) // 8)
            for number, piece in enumerate(pieces):
                if number:
                    finish()
                if piece or chunk.whole:
                    current.extend((part, chunk.active) for part in piece)
                    started = True
    finish()
    reason = next(filter(None, reasons), "")
    return [value.with_reason(reason) for field in done for value in _expand_globs(shell, field)]


def _has_glob(value: Value) -> bool:
    return any(isinstance(part, str) and is_glob([(part, True)]) for part in value.parts)


def _split_words(state: State, value: Value) -> list[list[str | Hole]]:
    """Split at the characters of IFS.

    An empty first or last word means that the text before or after it is a separate word.
    """
    separators = state.variables.get("IFS")
    text = separators.text if separators is not None else None
    chars = " \t\n" if text is None else text
    if not chars:
        return [list(value.parts)]
    words: list[list[str | Hole]] = [[]]
    for part in value.parts:
        if isinstance(part, Hole):
            words[-1].append(part)
            continue
        for char in chars[1:]:
            part = part.replace(char, chars[0])
        for place, piece in enumerate(part.split(chars[0])):
            if place and (words[-1] or len(words) == 1):
                words.append([])
            if piece:
                words[-1].append(piece)
    return words


def _expand_globs(shell: Shell, field: _Field) -> list[Value]:
    texts = [(part, active) for part, active in field if isinstance(part, str)]
    if not is_glob(texts) or "noglob" in shell.state.options:
        return [Value(tuple(part for part, _ in field)) if len(field) != 1 else Value((field[0][0],))]
    if len(texts) == len(field):
        found = expand_glob(texts, shell.state, shell.spend)
        if found is not None and found.names:
            return [known(name, found.reason) for name in found.names]
        if found is not None:
            return [] if "nullglob" in shell.state.options else [Value((NO_MATCH,), found.reason)]
    parts: list[str | Hole] = []
    for part, active in field:
        if isinstance(part, str) and is_glob([(part, active)]):
            parts.append(Hole("", glob_source([(part, active)], any_char="[^/]") or ANYTHING))
        else:
            parts.append(part)
    return [Value(tuple(parts))]


# Parameters

_USUAL = re.compile(
    r"(XDG|LC|SSH|VSCODE|CLAUDE|CODEX)_\w+|TMPDIR|HOME|USER|LOGNAME|SHELL|PATH|PWD|LANG|EDITOR|[?$!0@*-]"
)
"""Variables that are usually set."""


class Shell(Protocol):
    """What an expansion needs from the interpreter."""

    state: State

    def single(self, word: Word) -> Value: ...

    def pieces(self, word: Word) -> Pieces | None: ...

    def capture(self, script: Script, direction: str = "") -> Value: ...

    def spend(self, steps: int = 1) -> None: ...


def expand_parameter(shell: Shell, param: Param) -> list[Value]:
    """Return the values of a parameter: several for a list such as `"$@"`."""
    if param.op == "unknown":
        return [unknown(param.name)]
    if param.name not in ("@", "*"):
        return [_expand_scalar(shell, param, shell.state.variable(param.name))]
    several = list(shell.state.arguments)
    if param.op == "length":
        return [known(str(len(several)))]
    if param.op == ":":
        several = [shell.state.variable("0") or unknown(), *several]  # positions begin with $0
        bounds = _slice_bounds(shell, param, len(several))
        return [unknown(param.name)] if bounds is None else several[slice(*bounds)]
    values = [_expand_scalar(shell, param, value) for value in several]
    if param.name == "*" and param.quoted:
        separator = shell.state.variables.get("IFS")
        text = None if separator is None else separator.text
        return [spaced(values, " " if text is None else text[:1])]
    return values


def _expand_scalar(shell: Shell, param: Param, value: Value | None) -> Value:
    op = param.op
    if op in (":-", "-", ":=", "=", ":+", "+", ":?", "?"):
        return _with_default(shell, param, value)
    if value is None:
        value = known("")
    if op == "":
        return value
    if value.text is None:
        return Value(unknown().parts, value.reason)
    result = _transformed(shell, param, value.text)
    return Value(unknown().parts, value.reason) if result is None else known(result, value.reason)


def _with_default(shell: Shell, param: Param, value: Value | None) -> Value:
    if value is not None and value.text is None and not any(isinstance(part, str) for part in value.parts):
        if param.name in shell.state.variables or _USUAL.fullmatch(param.name) or param.op[-1] not in "-=":
            return unknown(param.name)
        return shell.single(param.args[0]).with_reason(f"assumes that ${param.name} is not set")
    missing = value is None or (param.op[0] == ":" and value.text == "")
    if param.op[-1] == "+":
        return known("") if missing else shell.single(param.args[0])
    if not missing and value is not None:
        return value
    default = shell.single(param.args[0]) if param.op[-1] != "?" else known("")
    if param.op[-1] == "=":
        shell.state.variables[param.name] = default
    return default


def _transformed(shell: Shell, param: Param, text: str) -> str | None:
    op = param.op
    if op == "length":
        return str(len(text))
    if op == ":":
        bounds = _slice_bounds(shell, param, len(text))
        return None if bounds is None else text[slice(*bounds)]
    if op in (",", ",,", "^", "^^"):
        if param.args[0]:
            return None
        change: Callable[[str], str] = str.lower if op[0] == "," else str.upper
        return change(text) if len(op) == 2 else change(text[:1]) + text[1:]
    pieces = shell.pieces(param.args[0])
    if pieces is None:
        return None
    if op in ("#", "##", "%", "%%"):
        return trimmed(text, op, pieces)
    if op in ("/", "//", "/#", "/%"):
        new = shell.single(param.args[1]).text
        return None if new is None else replaced(text, op, pieces, new)
    return None


def _slice_bounds(shell: Shell, param: Param, size: int) -> tuple[int, int] | None:
    start = arithmetic(shell, shell.single(param.args[0]))
    if start is None:
        return None
    start = max(0, size + start) if start < 0 else min(start, size)
    if len(param.args) < 2 or not param.args[1]:
        return start, size
    length = arithmetic(shell, shell.single(param.args[1]))
    if length is None:
        return None
    return start, max(start, size + length if length < 0 else min(size, start + length))


# Arithmetic

_NAME = r"[A-Za-z_]\w*"
_OPERAND = rf"-?\d+|10#\d+|{_NAME}"
_STEP = re.compile(rf"({_NAME})(\+\+|--)|(\+\+|--)({_NAME})")
_ASSIGNMENT = re.compile(rf"({_NAME})\s*([-+*]?=)(?!=)\s*(.*)")
_OPERATION = re.compile(rf"({_OPERAND})(?:\s*([-+*/%]|[<>]=?|[=!]=)\s*({_OPERAND}))?")
_DECIMAL = re.compile(r"-?(?:0|[1-9]\d{0,15})|10#\d{1,15}")
_ASSIGNED_NAME = re.compile(rf"({_NAME})\s*(?:\+\+|--|(?:<<|>>|[-+*/%&|^])?=(?!=))|(?:\+\+|--)({_NAME})")
_OPERATORS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.floordiv,
    "%": operator.mod,
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}


def arithmetic(shell: Shell, source: Value) -> int | None:
    """Evaluate a counter or a comparison: `i+1`, `i++`, `n -= 2`, `n < 10`.

    None for anything else.

    Variables that are assigned in an expression that is not known are unknown afterwards.
    """
    if source.text is None:
        return None
    result = _calculated(shell.state, source.text.strip())
    if result is None:
        for found in _ASSIGNED_NAME.finditer(source.text):
            name = found[1] or found[2]
            shell.state.variables[name] = unknown(name)
    return result


def _calculated(state: State, text: str) -> int | None:
    if step := _STEP.fullmatch(text):
        name, by = step[1] or step[4], (step[2] or step[3])[0]
        before = _number(state, name)
        after = _operate(before, by, 1)
        state.variables[name] = unknown(name) if after is None else known(str(after))
        return before if step[1] else after
    assignment = _ASSIGNMENT.fullmatch(text)
    operation = _OPERATION.fullmatch(assignment[3] if assignment else text)
    if operation is None:
        return None
    result = _number(state, operation[1])
    if operation[2]:
        result = _operate(result, operation[2], _number(state, operation[3]))
    if assignment is not None:
        if assignment[2] != "=":
            result = _operate(_number(state, assignment[1]), assignment[2][0], result)
        if result is not None:
            state.variables[assignment[1]] = known(str(result))
    return result


def _number(state: State, operand: str) -> int | None:
    text: str | None = operand
    if operand.isidentifier():
        value = state.variable(operand)
        text = "0" if value is None else value.text
    return int(text.removeprefix("10#")) if text is not None and _DECIMAL.fullmatch(text) else None


def _operate(left: int | None, op: str, right: int | None) -> int | None:
    if left is None or right is None or (op in "/%" and (left < 0 or right <= 0)):
        return None
    result = int(_OPERATORS[op](left, right))
    return result if abs(result) < 1 << 62 else None


# Braces

_SEQUENCE = re.compile(r"(-?\d{1,9}|[A-Za-z])\.\.(-?\d{1,9}|[A-Za-z])(?:\.\.(-?\d{1,9}))?")
_MOST_WORDS = 10_000
_LARGEST = 1_000_000
_DEEPEST_BRACES = 20

_Item: TypeAlias = str | Part
"""An unquoted character, or a part that braces do not change."""


class _TooMany(Exception):
    pass


def expand_braces(word: Word) -> list[Word] | None:
    """Expand braces. None if there would be too many words."""
    if not any(isinstance(part, Text) and not part.quoted and "{" in part.text for part in word):
        return [word]
    items: list[_Item] = []
    for part in word:
        if isinstance(part, Text) and not part.quoted:
            items.extend(part.text)
        else:
            items.append(part)
    try:
        return [_joined_items(choice) for choice in _choices(items, 0)]
    except _TooMany:
        return None


def _joined_items(items: list[_Item]) -> Word:
    parts: list[Part] = []
    run: list[str] = []
    for item in [*items, None]:
        if isinstance(item, str):
            run.append(item)
            continue
        if run:
            parts.append(Text("".join(run)))
            run = []
        if item is not None:
            parts.append(item)
    return tuple(parts)


def _choices(items: list[_Item], depth: int) -> list[list[_Item]]:
    if depth > _DEEPEST_BRACES:
        raise _TooMany
    closing: dict[int, int] = {}
    opened: list[int] = []
    for at, item in enumerate(items):
        if item == "{":
            opened.append(at)
            if len(opened) > _DEEPEST_BRACES:
                raise _TooMany
        elif item == "}" and opened:
            closing[opened.pop()] = at
    results: list[list[_Item]] = [[]]
    at = 0
    while at < len(items):
        close = closing.get(at)
        options = None if close is None else _alternatives(items[at + 1 : close], depth)
        if close is None or options is None:
            for result in results:
                result.append(items[at])
            at += 1
            continue
        if len(results) * len(options) * len(items) > _LARGEST:
            raise _TooMany
        results = [[*result, *option] for result in results for option in options]
        at = close + 1
    return results


def _alternatives(items: list[_Item], depth: int) -> list[list[_Item]] | None:
    """Return the alternatives between two braces, None if it is only text in braces."""
    alternatives: list[list[_Item]] = [[]]
    level = 0
    for item in items:
        level += {"{": 1, "}": -1}.get(item, 0) if isinstance(item, str) else 0
        if item == "," and level == 0:
            alternatives.append([])
        else:
            alternatives[-1].append(item)
    if len(alternatives) > 1:
        return [choice for items in alternatives for choice in _choices(items, depth + 1)]
    text = "".join(item if isinstance(item, str) else "\0" for item in items)
    found = _SEQUENCE.fullmatch(text)
    return None if found is None else _sequence(found[1], found[2], found[3])


def _sequence(first: str, last: str, step: str | None) -> list[list[_Item]] | None:
    if first.isalpha() != last.isalpha():
        return None
    low, high = (ord(first), ord(last)) if first.isalpha() else (int(first), int(last))
    by = abs(int(step or 1)) or 1
    if abs(high - low) // by > _MOST_WORDS:
        raise _TooMany
    numbers = range(low, high + 1, by) if low <= high else range(low, high - 1, -by)
    if first.isalpha():
        return [[chr(number)] for number in numbers]
    padded = any(text.lstrip("-").startswith("0") and len(text.lstrip("-")) > 1 for text in (first, last))
    width = max(len(first), len(last)) if padded else 0
    return [list(f"{number:0{width}d}") for number in numbers]


# Globs

LOCALE = "the order of the files depends on the locale"


@dataclass(frozen=True, slots=True)
class GlobMatches:
    """The names that match, as the shell would write them, and why they may be wrong."""

    names: tuple[str, ...]
    reason: str = ""


@dataclass
class _GlobSearch:
    state: State
    spend: Callable[[int], None]
    hidden: bool
    reason: str = ""

    def entries(self, prefix: str) -> list[str] | None:
        folder = self.state.path(prefix or ".")
        found = None if folder is None else self.state.files.entries(folder)
        if found is None:
            return None
        names, sure = found
        self.spend(1 + len(names) // 5)
        if not sure:
            self.reason = self.reason or "the folder may have changed before the glob was read"
        return names

    def kind(self, name: str) -> FileKind:
        path = self.state.path(name)
        if path is None:
            return FileKind.UNKNOWN
        lookup = self.state.files.look(path)
        if lookup.exists and not lookup.sure:
            self.reason = self.reason or "a file may have changed before the glob was read"
        return lookup.kind

    def folders_below(self, prefix: str) -> list[str] | None:
        """Expand `**/`: the folder itself and every visible folder below it."""
        waiting, found = [prefix], []
        while waiting:
            above = waiting.pop()
            found.append(above)
            names = self.entries(above)
            if names is None:
                return None
            for name in reversed(names):
                if not name.startswith(".") and self.kind(above + name) is FileKind.FOLDER:
                    waiting.append(above + name + "/")
        return found


def expand_glob(pieces: Pieces, state: State, spend: Callable[[int], None]) -> GlobMatches | None:
    """Expand a glob. None if its folders are not known."""
    search = _GlobSearch(state, spend, "dotglob" in state.options)
    components = _components(pieces)
    prefixes = [""]
    for place, component in enumerate(components):
        last = place == len(components) - 1
        text = "".join(part for part, _ in component)
        if not text:
            if last:
                prefixes = [p for p in prefixes if p == "/" or search.kind(p.rstrip("/")) is FileKind.FOLDER]
            elif place == 0:
                prefixes = ["/"]
            continue
        matched: list[str] = []
        for prefix in prefixes:
            names = _match_component(search, prefix, component, text, last)
            if names is None:
                return None
            matched += names
        prefixes = [name if last or name.endswith("/") or not name else name + "/" for name in matched]
    return GlobMatches(tuple(prefixes), search.reason)


def _match_component(
    search: _GlobSearch, prefix: str, component: Pieces, text: str, last: bool
) -> list[str] | None:
    if not is_glob(component):
        kind = search.kind(prefix + text) if last else FileKind.FOLDER
        return None if kind is FileKind.UNKNOWN else [] if kind is FileKind.ABSENT else [prefix + text]
    if text == "**" and not last:
        if "globstar" in search.state.options:
            return search.folders_below(prefix)
        search.reason = "`**` reaches deeper in some shells than in others"
    source = glob_source(component, any_char="[^/]")
    pattern: Pattern | None = None if source is None else compiled(source)
    names = search.entries(prefix)
    if names is None or pattern is None:
        return None
    if not (text.startswith(".") or search.hidden):
        names = [name for name in names if not name.startswith(".")]
    fitting = [name for name in names if is_text(name) and pattern.fullmatch(name)]
    if last:
        return [prefix + name for name in fitting]
    return [
        prefix + name for name in fitting if search.kind(prefix + name) in (FileKind.FOLDER, FileKind.PRESENT)
    ]


def _components(pieces: Pieces) -> list[list[tuple[str, bool]]]:
    components: list[list[tuple[str, bool]]] = [[]]
    for text, active in pieces:
        for place, part in enumerate(text.split("/")):
            if place:
                components.append([])
            if part:
                components[-1].append((part, active))
    return components


def order_is_local(names: list[str]) -> bool:
    """Whether the order of these names depends on the locale."""
    plain = sorted(names)
    return plain == names and plain != sorted(names, key=_collated)


def _collated(name: str) -> str:
    base = posixpath.basename(name)
    return "".join(char for char in base.casefold() if char.isalnum()) + "\0" + name

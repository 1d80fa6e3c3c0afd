"""From words as written to the arguments a command gets: parameters, substitutions, splitting and globs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from fazm_memory.capture.shell.braces import braces
from fazm_memory.capture.shell.glob import glob
from fazm_memory.capture.shell.parameters import Host, arithmetic, parameter
from fazm_memory.capture.shell.pattern import ANYTHING, Pieces, glob_source, is_glob
from fazm_memory.capture.shell.state import State
from fazm_memory.capture.shell.syntax import Arithmetic, Param, Part, Text, Word
from fazm_memory.capture.shell.value import NO_MATCH, Hole, Value, joined, known, spaced, unknown

SPLIT = "an unquoted variable was split or matched as a glob, as bash does and zsh does not"


@dataclass(frozen=True, slots=True)
class _Chunk:
    """What one part of a word became. Several values are several words, as with `"$@"`."""

    values: list[Value]
    active: bool
    splits: bool = False
    doubt: str = ""
    whole: bool = True
    """Whether the part makes a word even when it is empty."""


_Field: TypeAlias = list[tuple[str | Hole, bool]]


def fields(host: Host, word: Word) -> list[Value]:
    """The arguments that a word becomes."""
    choices = braces(word)
    if choices is None:
        return [unknown()]
    host.spend(len(choices))
    return [value for choice in choices for value in _fields(host, choice)]


def single(host: Host, word: Word) -> Value:
    """The one text a word becomes where the shell neither splits nor matches: assignments, here-documents."""
    return joined(spaced(chunk.values) for chunk in _chunks(host, word))


def pattern_pieces(host: Host, word: Word) -> Pieces | None:
    """A word as a pattern: None when part of it is not known."""
    pieces: list[tuple[str, bool]] = []
    for chunk in _chunks(host, word):
        text = spaced(chunk.values).text
        if text is None:
            return None
        pieces.append((text, chunk.active))
    return pieces


def _chunks(host: Host, word: Word) -> Iterator[_Chunk]:
    for place, part in enumerate(word):
        if place == 0 and isinstance(part, Text) and not part.quoted and part.text.startswith("~"):
            yield from _tilde(host.state, part)
        else:
            yield _chunk(host, part)


def _tilde(state: State, part: Text) -> Iterator[_Chunk]:
    user, slash, rest = part.text[1:].partition("/")
    home = unknown("HOME") if user or state.home is None else known(state.home)
    if user == "+" and state.cwd is not None:
        home = known(state.cwd)
    yield _Chunk([home], False)
    yield _Chunk([known(slash + rest)], True)


def _chunk(host: Host, part: Part) -> _Chunk:
    if isinstance(part, Text):
        return _Chunk([known(part.text)], not part.quoted)
    if isinstance(part, Param):
        values = parameter(host, part)
        return _Chunk(values, not part.quoted, not part.quoted, SPLIT, part.quoted)
    if isinstance(part, Arithmetic):
        number = arithmetic(host, single(host, part.source))
        return _Chunk([unknown() if number is None else known(str(number))], False)
    value = host.capture(part.body, part.direction)
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
    return Value(tuple(parts), value.doubt)


def _fields(host: Host, word: Word) -> list[Value]:
    done: list[_Field] = []
    current: _Field = []
    started = False
    doubts: list[str] = []

    def finish() -> None:
        nonlocal current, started
        if started:
            done.append(current)
        current, started = [], False

    for chunk in _chunks(host, word):
        for place, value in enumerate(chunk.values):
            if place:
                finish()
            doubts.append(value.doubt)
            pieces = _split(host.state, value) if chunk.splits else [list(value.parts)]
            if chunk.doubt and chunk.splits and (len(pieces) > 1 or _is_magic(value)):
                doubts.append(chunk.doubt)
            host.spend(len(pieces) // 8)
            for number, piece in enumerate(pieces):
                if number:
                    finish()
                if piece or chunk.whole:
                    current.extend((part, chunk.active) for part in piece)
                    started = True
    finish()
    doubt = next(filter(None, doubts), "")
    return [value.doubted(doubt) for field in done for value in _matched(host, field)]


def _is_magic(value: Value) -> bool:
    return any(isinstance(part, str) and is_glob([(part, True)]) for part in value.parts)


def _split(state: State, value: Value) -> list[list[str | Hole]]:
    """Words at the characters of IFS; an empty first or last one says that a neighbour is cut off there."""
    separators = state.scalar("IFS") if "IFS" in state.variables else None
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


def _matched(host: Host, field: _Field) -> list[Value]:
    texts = [(part, active) for part, active in field if isinstance(part, str)]
    if not is_glob(texts) or "noglob" in host.state.options:
        return [Value(tuple(part for part, _ in field)) if len(field) != 1 else Value((field[0][0],))]
    if len(texts) == len(field):
        found = glob(texts, host.state, host.spend)
        if found is not None and found.names:
            return [known(name, found.doubt) for name in found.names]
        if found is not None:
            return [] if "nullglob" in host.state.options else [Value((NO_MATCH,), found.doubt)]
    parts: list[str | Hole] = []
    for part, active in field:
        if isinstance(part, str) and is_glob([(part, active)]):
            parts.append(Hole("", glob_source([(part, active)], any_char="[^/]") or ANYTHING))
        else:
            parts.append(part)
    return [Value(tuple(parts))]

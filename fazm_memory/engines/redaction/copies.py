"""Values that were redacted once, so that every further copy is redacted too.

A value is a secret by what stands beside it: `password: hunter2`. Its copy in the next line may stand alone.
The values are only in memory, never stored.
"""

from __future__ import annotations

import re

import ahocorasick_rs

from fazm_memory.engines.redaction.classify import MARKER, is_address, is_placeholder, is_stand_in, is_word
from fazm_memory.engines.redaction.disorder import disorder

MOST = 512
_SHORTEST = 6
_LONGEST = 4096
# The beginning of a value is searched for, because long ones would make the search slow to build.
_PROBE = 64
_MOST_ALIKE = 16  # values with the same beginning
# A part of a longer finding, such as a cookie.
_PIECES = re.compile(r"[\s;,&\"'<>]+")
_SHORTEST_PIECE = 12
_LONGEST_WHOLE = 256
_IDENTIFIER = re.compile(r"[A-Za-z_][\w.]*")
_LONGEST_WORD = 12
_LETTER, _ODD = re.compile(r"[^\W\d_]"), re.compile(r"[\d!@#$%^&*+~?]")


class KnownSecrets:
    """The secrets of one session, each with the name of its rule. The oldest are dropped.

    `added` counts all that were ever added.
    """

    def __init__(self) -> None:
        self.added = 0
        self._names: dict[str, str] = {}
        self._search: ahocorasick_rs.AhoCorasick | None = None
        self._probes: dict[str, list[str]] = {}

    def __len__(self) -> int:
        return len(self._names)

    def add(self, value: str, name: str) -> None:
        value = value.strip()
        if value in self._names:
            return
        for part in _parts(value):
            if part not in self._names and _is_distinct(part):
                self._names[part] = name
                self.added += 1
                self._search = None
        while len(self._names) > MOST:
            del self._names[next(iter(self._names))]

    def names(self) -> dict[str, str]:
        """The secrets, each with the name of its rule."""
        return dict(self._names)

    def copies(self, text: str) -> list[tuple[int, int, str]]:
        """Start, end and rule of each copy in the text, in order."""
        if not self._names or not text:
            return []
        if self._search is None:
            self._probes = {}
            for value in self._names:
                self._probes.setdefault(value[:_PROBE], []).append(value)
            self._search = ahocorasick_rs.AhoCorasick(
                list(self._probes),
                matchkind=ahocorasick_rs.MatchKind.LeftmostLongest,
                implementation=ahocorasick_rs.Implementation.ContiguousNFA,
            )
        probes = list(self._probes.values())
        found: list[tuple[int, int, str]] = []
        for index, start, _ in self._search.find_matches_as_indexes(text):
            same = probes[index][:_MOST_ALIKE]
            value = max((value for value in same if text.startswith(value, start)), key=len, default="")
            end = start + len(value)
            if value and _is_whole(text, start, end) and not (found and start < found[-1][1]):
                found.append((start, end, self._names[value]))
        return found


def _parts(value: str) -> list[str]:
    """The value and the disordered pieces in it."""
    if not _SHORTEST_PIECE < len(value) <= _LONGEST_WHOLE:
        return [value]
    pieces = (piece.split("=", 1)[-1] for piece in _PIECES.split(value))
    return [value, *(piece for piece in pieces if len(piece) >= _SHORTEST_PIECE and disorder(piece) >= 1)]


def _is_distinct(value: str) -> bool:
    """Whether the value is unlikely to mean anything else elsewhere. A word or a number may."""
    if (
        not _SHORTEST <= len(value) <= _LONGEST
        or MARKER in value
        or is_placeholder(value)
        or is_address(value)
    ):
        return False
    if is_word(value) or is_stand_in(value):
        return False
    if value.isdigit():
        return len(value) >= 12
    if len(value) > _LONGEST_WORD and _IDENTIFIER.fullmatch(value) and disorder(value) < 0:
        return False  # a name in a program, taken for a value
    if _LETTER.search(value) and _ODD.search(value):
        return True
    return len(value) >= 10 and disorder(value) >= 0.8


def _is_whole(text: str, start: int, end: int) -> bool:
    """Not a part of a longer word."""
    return not (
        (start and _is_inner(text[start - 1]) and _is_inner(text[start]))
        or (end < len(text) and _is_inner(text[end]) and _is_inner(text[end - 1]))
    )


def _is_inner(character: str) -> bool:
    return character.isalnum() or character == "_"

"""Findings, the markers that replace them, and further copies of what was found.

A value is a secret by what stands beside it: `password: hunter2`. Its copy in the next line may stand alone.
So values that were redacted are remembered, in memory only, and every further copy is redacted too.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from operator import attrgetter

import ahocorasick_rs

from fazm_memory.engines.redaction.classify import (
    MARKER,
    disorder,
    is_address,
    is_placeholder,
    is_stand_in,
    is_word,
)
from fazm_memory.engines.redaction.rules import Span

MOST_SECRETS = 512
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
    """The secrets of one session, each with the name of its rule.

    The oldest are dropped.

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
        while len(self._names) > MOST_SECRETS:
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
    """Whether the value is unlikely to mean anything else elsewhere.

    A word or a number may.
    """
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


# -- findings and their markers --------------------------------------------------------------------------

# Words with digits in a text with so many keywords that it was not searched to its end.
DENSE = "unsearched-word"

MARKERS = re.compile(r"\[REDACTED:([A-Za-z0-9][A-Za-z0-9._-]{0,63})\]")
# Below this there is no room for a head, a tail and the note between them.
_SMALLEST_SPLIT = 96


def marker(name: str) -> str:
    """What replaces a secret that this rule found."""
    return f"{MARKER}{name}]"


@dataclass(frozen=True, slots=True)
class Finding:
    """A secret in the canonical text and the rule that found it.

    More specific rules have a lower rank.
    """

    start: int
    end: int
    rank: int
    name: str

    def merged(self, other: Finding) -> Finding:
        first = self if self.rank <= other.rank else other
        return Finding(min(self.start, other.start), max(self.end, other.end), first.rank, first.name)

    def within(self, start: int, end: int) -> Finding:
        """The part between two positions, relative to the first."""
        return Finding(max(self.start, start) - start, min(self.end, end) - start, self.rank, self.name)


# For sorting.
place_of = attrgetter("start", "end", "rank", "name")


class Found:
    """What was found so far.

    The names of rules, and the secrets whose copies are to be redacted.
    """

    def __init__(self, secrets: KnownSecrets | None) -> None:
        self.names: set[str] = set()
        self.secrets = KnownSecrets() if secrets is None else secrets

    def add(self, name: str, value: str) -> None:
        self.names.add(name)
        if name != DENSE:
            self.secrets.add(value, name)


def replaced(text: str, findings: list[Finding]) -> str:
    """The text with a marker in the place of each finding.

    They are in order and do not overlap.
    """
    pieces: list[str] = []
    done = 0
    for finding in findings:
        pieces += (text[done : finding.start], marker(finding.name))
        done = finding.end
    return "".join((*pieces, text[done:]))


def replaced_within(text: str, start: int, findings: list[Finding]) -> str:
    """Replace the findings inside one text of a row.

    The text begins at `start` of the row.
    """
    end = start + len(text)
    first = bisect_right(findings, start, key=lambda finding: finding.end)
    last = bisect_left(findings, end, key=lambda finding: finding.start)
    return replaced(text, [finding.within(start, end) for finding in findings[first:last]])


def with_whole_markers(finding: Finding, markers: list[tuple[int, int]]) -> Finding:
    """Extend a finding over the markers it touches.

    No marker is then replaced in part.
    """
    first = bisect_right(markers, finding.start, key=lambda span: span[1])
    last = bisect_left(markers, finding.end, key=lambda span: span[0])
    if first >= last:
        return finding
    start, end = min(finding.start, markers[first][0]), max(finding.end, markers[last - 1][1])
    return Finding(start, end, finding.rank, finding.name)


def shorten(text: str, limit: int) -> str:
    """Shorten redacted text to a limit: its head and tail, without cutting a marker."""
    return text if len(text) <= limit else shortened(text, limit)[0]


def shortened(text: str, limit: int) -> tuple[str, int]:
    """The head, a note and a smaller tail, and how many characters were left out."""
    if limit < _SMALLEST_SPLIT:
        end = outside_markers(text, max(0, limit - 1))[0]
        return text[:end] + "…"[:limit], len(text) - end
    room = limit - len(f"… [{len(text)} characters left out] …")
    head = outside_markers(text, room * 3 // 4)[0]
    tail = outside_markers(text, len(text) - (room - room * 3 // 4))[1]
    return f"{text[:head]}… [{tail - head} characters left out] …{text[tail:]}", tail - head


def outside_markers(text: str, position: int) -> tuple[int, int]:
    """The position, or the span of the marker that it falls into."""
    longest = len(marker("")) + 64
    for found in MARKERS.finditer(text, max(0, position - longest), min(len(text), position + longest)):
        if found.start() < position < found.end():
            return found.span()
    return position, position


# How far from a marker the text is searched again. What is farther away reads as before.
_AGAIN = 4096
_EDGE_WITHIN = 1024
_BREAK = re.compile(r"[\s\"',;]")


def around(text: str, findings: list[Finding]) -> list[Span]:
    """The parts of a text to search again: around the markers of these findings."""
    if len(text) <= 2 * _AGAIN:
        return [(0, len(text))]
    grown = 0
    parts: list[Span] = []
    for finding in findings:
        start = finding.start + grown
        end = start + len(marker(finding.name))
        grown = end - finding.end
        if parts and start - _AGAIN <= parts[-1][1]:
            parts[-1] = (parts[-1][0], end + _AGAIN)
        else:
            parts.append((start - _AGAIN, end + _AGAIN))
    return _between_words(text, parts)


def _between_words(text: str, parts: list[Span]) -> list[Span]:
    """These parts, each extended to the next break between words.

    Parts that touch are joined. So no word is judged by a piece of it.
    """
    extended: list[Span] = []
    for start, end in parts:
        before = [found.end() for found in _BREAK.finditer(text, max(0, start - _EDGE_WITHIN), max(0, start))]
        after = _BREAK.search(text, end, end + _EDGE_WITHIN)
        start = before[-1] if before else max(0, start)
        end = after.start() if after else min(len(text), end)
        if extended and start <= extended[-1][1]:
            start = extended.pop()[0]
        extended.append((start, end))
    return extended

"""Findings, and the markers that replace them in the text."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from operator import attrgetter

from fazm_memory.engines.redaction.classify import MARKER
from fazm_memory.engines.redaction.copies import KnownSecrets

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
    """A secret in the canonical text and the rule that found it. More specific rules have a lower rank."""

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
    """What was found so far: the names of rules, and the secrets whose copies are to be redacted."""

    def __init__(self, secrets: KnownSecrets | None) -> None:
        self.names: set[str] = set()
        self.secrets = KnownSecrets() if secrets is None else secrets

    def add(self, name: str, value: str) -> None:
        self.names.add(name)
        if name != DENSE:
            self.secrets.add(value, name)


def replaced(text: str, findings: list[Finding]) -> str:
    """The text with a marker in the place of each finding. They are in order and do not overlap."""
    pieces: list[str] = []
    done = 0
    for finding in findings:
        pieces += (text[done : finding.start], marker(finding.name))
        done = finding.end
    return "".join((*pieces, text[done:]))


def replaced_within(text: str, start: int, findings: list[Finding]) -> str:
    """Replace the findings inside one text of a row. The text begins at `start` of the row."""
    end = start + len(text)
    first = bisect_right(findings, start, key=lambda finding: finding.end)
    last = bisect_left(findings, end, key=lambda finding: finding.start)
    return replaced(text, [finding.within(start, end) for finding in findings[first:last]])


def with_whole_markers(finding: Finding, markers: list[tuple[int, int]]) -> Finding:
    """Extend a finding over the markers it touches, so that no marker is replaced in part."""
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

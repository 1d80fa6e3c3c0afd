"""The scrubber: canonicalise, redact, cap, in this order, before anything is written anywhere.

A secret becomes `[REDACTED:rule]`, which says what kind it was and nothing of what it was. Cutting comes
last: a secret cut in two is a secret no rule can find. Scrubbing what is scrubbed changes nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import Any

from fazm_memory.capture.canonical import canonical, is_plain
from fazm_memory.capture.secrets import RULES
from fazm_memory.capture.secrets.finder import Finder, Finding
from fazm_memory.capture.secrets.patterns import Pattern, PatternError, UserPattern
from fazm_memory.capture.secrets.walk import Walk, marker, texts_in

__all__ = ["JSON", "PatternError", "Scrubbed", "Scrubber", "UserPattern", "default_scrubber"]

JSON = Any
"""What JSON can hold: there is no type for it that `json.loads` would satisfy."""

TEXT_CAP = 64 * 1024

_MARKER = re.compile(r"\[REDACTED:([A-Za-z0-9][A-Za-z0-9._-]{0,63})\]")
# Replacing may bring two halves together, and cutting may too: look again until the text has settled.
_ROUNDS = 8
# Below this there is no room for a head, a tail and the words between them.
_SMALLEST_SPLIT = 96
# Between texts that are searched together: a line of its own that no canonical text contains.
_APART = "\n\0\n"
_LONGEST_TOGETHER = 4096


@dataclass(frozen=True)
class Scrubbed:
    """Text fit to be kept, the rules that found something in it, and how many characters were cut."""

    text: str
    findings: tuple[str, ...] = ()
    truncated: int = 0


class Scrubber:
    """Makes text and JSON fit to be kept."""

    def __init__(self, patterns: Iterable[UserPattern] = (), *, text_cap: int = TEXT_CAP) -> None:
        self._patterns = [Pattern(pattern) for pattern in patterns]
        self._finder = Finder(RULES, also=[pattern.rule for pattern in self._patterns if pattern.rule])
        self._names = {rule.name for rule in self._finder.rules}
        self._names.update(pattern.name for pattern in self._patterns)
        self._text_cap = text_cap

    def text(self, text: str, cap: int | None = None) -> Scrubbed:
        found: set[str] = set()
        kept, left_out = self._kept(text, self._text_cap if cap is None else cap, found)
        return Scrubbed(kept, tuple(sorted(found)), left_out)

    def value(self, value: JSON) -> tuple[JSON, tuple[str, ...]]:
        """The same JSON value without its secrets; `{"password": "hunter2"}` says by its field what it is."""
        found: set[str] = set()
        changed = self._changed(texts_in(value), found)
        return Walk(changed, self._row, self._is_marker, found).value(value), tuple(sorted(found))

    def _changed(self, texts: set[str], found: set[str]) -> dict[str, str]:
        """The texts that cannot be kept as they are, each with what is kept instead.

        Most are short and plain: they are searched in one go, and only those in which something was found
        are scrubbed one by one.
        """
        longest = min(_LONGEST_TOGETHER, self._text_cap)
        plain = [text for text in texts if len(text) <= longest]
        page = _APART.join(plain)
        if not is_plain("".join(plain)):
            plain = [text for text in plain if canonical(text) == text]
            page = _APART.join(plain)
        suspects = texts.difference(plain)
        if findings := self._finder.find(page):
            starts = list(accumulate((len(text) + len(_APART) for text in plain), initial=0))
            for finding in findings:
                suspects.update(
                    plain[bisect_right(starts, finding.start) - 1 : bisect_left(starts, finding.end)]
                )
        for pattern in self._patterns:
            suspects.update(text for text in plain if pattern.spans(text))
        return {text: self._kept(text, self._text_cap, found)[0] for text in suspects}

    def _kept(self, text: str, limit: int, found: set[str]) -> tuple[str, int]:
        left_out = 0
        text = self._redacted(canonical(text), found)
        for _ in range(_ROUNDS):
            if len(text) <= limit:
                break
            text, cut = _shortened(text, limit)
            left_out += cut
            text = self._redacted(text, found)
        if len(text) > limit:  # each redaction made it longer again: then only the beginning is kept
            end = _outside_markers(text, limit)[0]
            text, left_out = text[:end], left_out + len(text) - end
        return text, left_out

    def _redacted(self, text: str, found: set[str]) -> str:
        for _ in range(_ROUNDS):
            findings = self._findings(text)
            if not findings:
                break
            found.update(finding.name for finding in findings)
            text = _replaced(text, findings)
        return text

    def _findings(self, text: str) -> list[Finding]:
        """What is to be replaced, in order and apart from each other."""
        findings = self._finder.find(text)
        for pattern in self._patterns:
            findings += (
                Finding(start, end, -1, pattern.name)
                for start, end in pattern.spans(text)
                if 0 <= start < end
            )
        if not findings:
            return []
        markers = [found.span() for found in _MARKER.finditer(text) if found[1] in self._names]
        merged: list[Finding] = []
        for finding in sorted(_with_whole_markers(finding, markers) for finding in findings):
            if merged and finding.start < merged[-1].end:
                merged[-1] = merged[-1].merged(finding)
            else:
                merged.append(finding)
        known = set(markers)
        return [finding for finding in merged if (finding.start, finding.end) not in known]

    def _row(self, texts: list[str], found: set[str]) -> list[str] | None:
        """Texts that belong together, if a secret is in them: the lines of a key, the words of a command."""
        joints = ["\n", " "] if any(text.startswith("-") for text in texts) else ["\n"]
        row = [canonical(text) for text in texts]
        for joint in joints:
            findings = self._findings(joint.join(row))
            starts = accumulate((len(text) + len(joint) for text in row), initial=0)
            row = [_replaced_within(text, start, findings) for text, start in zip(row, starts, strict=False)]
            found.update(finding.name for finding in findings)
        return None if row == texts else [self._kept(text, self._text_cap, found)[0] for text in row]

    def _is_marker(self, text: str) -> bool:
        found = _MARKER.fullmatch(text)
        return found is not None and found[1] in self._names


def _replaced(text: str, findings: list[Finding]) -> str:
    pieces: list[str] = []
    done = 0
    for finding in findings:
        pieces += (text[done : finding.start], marker(finding.name))
        done = finding.end
    return "".join((*pieces, text[done:]))


def _replaced_within(text: str, start: int, findings: list[Finding]) -> str:
    """The text with its part of what was found in a row, in which it begins at this position."""
    end = start + len(text)
    first = bisect_right(findings, start, key=lambda finding: finding.end)
    last = bisect_left(findings, end, key=lambda finding: finding.start)
    return _replaced(text, [finding.within(start, end) for finding in findings[first:last]])


def _with_whole_markers(finding: Finding, markers: list[tuple[int, int]]) -> Finding:
    """A finding that touches markers takes the whole of them: a marker is never found in part."""
    first = bisect_right(markers, finding.start, key=lambda span: span[1])
    last = bisect_left(markers, finding.end, key=lambda span: span[0])
    if first >= last:
        return finding
    start, end = min(finding.start, markers[first][0]), max(finding.end, markers[last - 1][1])
    return Finding(start, end, finding.rank, finding.name)


def shortened(text: str, limit: int) -> str:
    """Scrubbed text within a smaller limit: its head and tail, no marker cut in two."""
    return text if len(text) <= limit else _shortened(text, limit)[0]


def _shortened(text: str, limit: int) -> tuple[str, int]:
    """The head and a smaller tail, with what was left out said between them, and no marker cut in two."""
    if limit < _SMALLEST_SPLIT:
        end = _outside_markers(text, max(0, limit - 1))[0]
        return text[:end] + "…"[:limit], len(text) - end
    room = limit - len(f"… [{len(text)} characters left out] …")
    head = _outside_markers(text, room * 3 // 4)[0]
    tail = _outside_markers(text, len(text) - (room - room * 3 // 4))[1]
    return f"{text[:head]}… [{tail - head} characters left out] …{text[tail:]}", tail - head


def _outside_markers(text: str, position: int) -> tuple[int, int]:
    """The position, or the two ends of the marker it falls into."""
    longest = len(marker("")) + 64
    for found in _MARKER.finditer(text, max(0, position - longest), min(len(text), position + longest)):
        if found.start() < position < found.end():
            return found.span()
    return position, position


@cache
def default_scrubber() -> Scrubber:
    """The scrubber with its own rules and no others."""
    return Scrubber()

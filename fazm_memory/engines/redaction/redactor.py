"""The redactor: canonicalise text, replace its secrets, shorten it.

A secret becomes `[REDACTED:rule]`, with the name of the rule that found it. Shortening comes last, because no
rule can find half a secret. Redacting a redacted text changes nothing.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import Any

from fazm_memory.engines.redaction.copies import MOST, KnownSecrets
from fazm_memory.engines.redaction.finder import SEPARATOR, Budget, Finder, all_rules
from fazm_memory.engines.redaction.findings import (
    DENSE,
    MARKERS,
    Finding,
    Found,
    outside_markers,
    place_of,
    replaced,
    replaced_within,
    shortened,
    with_whole_markers,
)
from fazm_memory.engines.redaction.json_values import ValueRedactor, texts_in
from fazm_memory.engines.redaction.text import canonical, is_canonical
from fazm_memory.engines.redaction.user_patterns import CompiledPattern, UserPattern

TEXT_CAP = 64 * 1024
# Replacing and shortening may join two halves of a secret. So search again until nothing is found.
_ROUNDS = 8

_LONGEST_JOINED = 4096


@dataclass(frozen=True)
class RedactedText:
    """A text without secrets, the rules that found some, and how many characters were left out."""

    text: str
    findings: tuple[str, ...] = ()
    truncated: int = 0


class Redactor:
    """Removes secrets from text and JSON values. Building one takes a moment, so keep it."""

    def __init__(self, patterns: Iterable[UserPattern] = (), *, text_cap: int = TEXT_CAP) -> None:
        self._patterns = [CompiledPattern(pattern) for pattern in patterns]
        self._finder = Finder(all_rules(), [pattern.rule for pattern in self._patterns if pattern.rule])
        self._names = {DENSE, *(rule.name for rule in self._finder.rules)}
        self._names.update(pattern.name for pattern in self._patterns)
        self._text_cap = text_cap

    def text(self, text: str, cap: int | None = None, secrets: KnownSecrets | None = None) -> RedactedText:
        """Redact a text and shorten it to `cap` characters.

        Copies of `secrets` are redacted too, and what is found is added to them.
        """
        found = Found(secrets)
        redacted, left_out = self._fitted(text, self._text_cap if cap is None else cap, found)
        return RedactedText(redacted, tuple(sorted(found.names)), left_out)

    def value(self, value: Any, secrets: KnownSecrets | None = None) -> tuple[Any, tuple[str, ...]]:
        """Redact a JSON value. Returns a copy and the names of the rules that found something.

        The keys of objects count: `{"password": "hunter2"}` has a secret, "hunter2" alone has none. Copies of
        `secrets` are redacted too, and what is found is added to them.
        """
        found = Found(secrets)
        changed = self._changed(texts_in(value), found)
        redacted = ValueRedactor(changed, self._row, self._is_marker, found).value(value)
        return self.without_copies(redacted, found.secrets), tuple(sorted(found.names))

    def without_copies(self, value: Any, secrets: KnownSecrets) -> Any:
        """A redacted JSON value without further copies of these secrets."""
        if not secrets:
            return value
        changed = {
            text: new for text in texts_in(value) if (new := self._uncopied(text, secrets)) is not text
        }
        return (
            ValueRedactor(changed, _no_row, lambda text: True, Found(secrets)).value(value)
            if changed
            else value
        )

    def _uncopied(self, text: str, secrets: KnownSecrets) -> str:
        copies = secrets.copies(text)
        if not copies:
            return text
        markers = [found.span() for found in MARKERS.finditer(text) if found[1] in self._names]
        outside = [
            Finding(start, end, 0, name)
            for start, end, name in copies
            if not any(first < end and start < last for first, last in markers)
        ]
        return replaced(text, outside) if outside else text

    def _changed(self, texts: set[str], found: Found) -> dict[str, str]:
        """The texts that change, each with its redacted form.

        Most texts are short and plain. They are searched together, and only those with a finding are redacted
        one by one.
        """
        longest = min(_LONGEST_JOINED, self._text_cap)
        plain = [text for text in texts if len(text) <= longest]
        page = SEPARATOR.join(plain)
        if not is_canonical("".join(plain)):
            plain = [text for text in plain if canonical(text) == text]
            page = SEPARATOR.join(plain)
        suspects = texts.difference(plain)
        if findings := self._finder.find(page):
            starts = list(accumulate((len(text) + len(SEPARATOR) for text in plain), initial=0))
            for finding in findings:
                suspects.update(
                    plain[bisect_right(starts, finding.start) - 1 : bisect_left(starts, finding.end)]
                )
        for pattern in self._patterns:
            suspects.update(text for text in plain if pattern.spans(text))
        return {text: self._fitted(text, self._text_cap, found)[0] for text in suspects}

    def _fitted(self, text: str, limit: int, found: Found) -> tuple[str, int]:
        left_out = 0
        text = canonical(text)
        budget = Budget(len(text))
        text = self._redacted(text, found, budget)
        for _ in range(_ROUNDS):
            if len(text) <= limit:
                break
            text, cut = shortened(text, limit)
            left_out += cut
            text = self._redacted(text, found, budget)
        if len(text) > limit:  # markers made it longer again: keep only the beginning
            end = outside_markers(text, limit)[0]
            text, left_out = text[:end], left_out + len(text) - end
        return text, left_out

    def _redacted(self, text: str, found: Found, budget: Budget) -> str:
        for _ in range(_ROUNDS):
            findings = self._findings(text, budget)
            if not findings:
                break
            found.names.update(finding.name for finding in findings)
            for finding in findings[-MOST:]:  # no more are remembered
                found.add(finding.name, text[finding.start : finding.end])
            text = replaced(text, findings)
            if budget.work < 0:
                break
            budget.renew()
        return self._uncopied(text, found.secrets)

    def _findings(self, text: str, budget: Budget | None = None) -> list[Finding]:
        """The spans to replace, in order and without overlaps."""
        findings = self._finder.find(text, budget)
        for pattern in self._patterns:
            findings += (
                Finding(start, end, -1, pattern.name)
                for start, end in pattern.spans(text)
                if 0 <= start < end
            )
        if not findings:
            return []
        markers = [found.span() for found in MARKERS.finditer(text) if found[1] in self._names]
        merged: list[Finding] = []
        if markers:
            findings = [with_whole_markers(finding, markers) for finding in findings]
        for finding in sorted(findings, key=place_of):
            if merged and finding.start < merged[-1].end:
                merged[-1] = merged[-1].merged(finding)
            else:
                merged.append(finding)
        known = set(markers)
        return [finding for finding in merged if (finding.start, finding.end) not in known]

    def _row(self, texts: list[str], found: Found) -> list[str] | None:
        """Redact texts that may continue each other: the lines of a key, the words of a command.

        None if nothing changes.
        """
        joints = ["\n", " "] if any(text.startswith("-") for text in texts) else ["\n"]
        row = [canonical(text) for text in texts]
        for joint in joints:
            joined = joint.join(row)
            findings = self._findings(joined)
            starts = accumulate((len(text) + len(joint) for text in row), initial=0)
            row = [replaced_within(text, start, findings) for text, start in zip(row, starts, strict=False)]
            for finding in findings:
                found.add(finding.name, joined[finding.start : finding.end])
        return None if row == texts else [self._fitted(text, self._text_cap, found)[0] for text in row]

    def _is_marker(self, text: str) -> bool:
        found = MARKERS.fullmatch(text)
        return found is not None and found[1] in self._names


def _no_row(texts: list[str], found: Found) -> None:
    """Without copies there is nothing to join."""


@cache
def default_redactor() -> Redactor:
    """The redactor with the built-in rules only."""
    return Redactor()

"""What one kind of secret looks like: a rule.

Each rule has an example and a counterexample.

A rule is tried only where one of its keywords occurs, and its pattern is matched from that position. So
ordinary text costs one pass over all keywords. Patterns are RE2: their time is linear. `UserPattern` is a
rule of the user's own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import re2

Span = tuple[int, int]

# The characters of a name, such as `DB_PASSWORD` or `api.key`.
NAME = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"

# How far a match goes from its keyword. Keeps text that consists of keywords in linear time.
REACH = 4096
_SHORT_REACH = 640
_EDGE = 256
_NEAR = 512
_READ = 6  # bytes of a match that are one step of work
_SUCCESS = 12  # a match that succeeds: its groups are found, and the value is judged
# The work of a match of a common rule, of a look at its value, and of a check that looks back for words.
_MATCHED, _LOOK, _CHECK = 2, 5, 18

_OPTIONS = re2.Options()
_OPTIONS.encoding = re2.Options.Encoding.LATIN1
_OPTIONS.log_errors = False


def compiled(pattern: str) -> Any:
    """Compile a pattern for views, in which one byte is one character."""
    return re2.compile(pattern.encode("latin-1"), _OPTIONS)


def first_group(data: bytes, found: Any) -> Span:
    """The span of the first group that matched, or of the whole match.

    It is the whole match if the pattern has no group.
    """
    spans: list[Span] = [found.span(group) for group in range(1, found.re.groups + 1)]
    return next((span for span in spans if span[0] >= 0), found.span())


def text_at(data: bytes, span: Span) -> str:
    return data[span[0] : span[1]].decode("latin-1")


def has_digit(value: bytes) -> bool:
    return any(48 <= byte <= 57 for byte in value)


class HasWork(Protocol):
    """Something that counts the work that may still be done."""

    work: int


@dataclass(frozen=True)
class Rule:
    """One kind of secret. Its name appears in the marker that replaces the secret."""

    name: str
    provider: str
    keywords: tuple[str, ...]
    """In lower case. Without keywords the pattern is searched everywhere."""
    pattern: str
    must_match: str
    """A text in which the rule finds a secret, in the notation of `expand`."""
    must_not_match: str
    before: int = 0
    """How many characters of the secret may stand before the keyword."""
    begins_after: bytes = b""
    """Text that cannot be in the secret before the keyword. It ends the search back."""
    word_start: bool = True
    """Whether the match must not follow a letter or digit."""
    run_after: int = 0
    """How many letters and digits must directly follow the keyword. For keywords that are common in words."""
    is_common: bool = False
    """Whether a pattern without keywords matches often in ordinary text. It is then searched on its own."""
    is_backtracking: bool = False
    """Whether to match with `re`, which is faster. Quantifiers must be bounded or possessive."""
    is_local: bool = False
    """Whether the pattern usually fails within a few characters, which is cheap."""
    admits: Callable[[bytes, int], bool] | None = field(default=None, repr=False)
    """A cheap test at the keyword. The pattern is matched only if it passes."""
    is_likely: Callable[[bytes, Any], bool] | None = field(default=None, repr=False)
    """For common rules, a test of the match that is cheaper than `check`."""
    requires: bytes = b""
    """Text that must occur within a few hundred bytes. Cheaper to test than the pattern."""
    check: Callable[[bytes, Any], Span | None] = field(default=first_group, repr=False)
    """Return the span of the secret in a match, or None if it is not a secret."""
    collect: Callable[[bytes, Any], tuple[list[Span], int]] | None = field(default=None, repr=False)
    """For a match that announces several values, such as a column heading. Returns their spans and the
    position up to which the data was read.
    """

    @property
    def example(self) -> str:
        return expand(self.must_match)

    @property
    def counterexample(self) -> str:
        return expand(self.must_not_match)

    @cached_property
    def _regex(self) -> Any:
        return re.compile(self.pattern.encode("latin-1")) if self.is_backtracking else compiled(self.pattern)

    def cost(self, reach: int) -> int:
        """How much work it is to match the pattern once."""
        if self.is_local:
            return 10 if self.is_backtracking else 8 if self.collect else 3
        return 8 + (reach + min(self.before, REACH)) // 512

    def is_possible(self, data: bytes, position: int, after: int) -> bool:
        """Whether the secret may be at this keyword, by cheap tests."""
        return not (
            (self.word_start and not self.before and _is_inside_word(data, position))
            or (self.run_after and not data[after : after + self.run_after].isalnum())
            or (self.admits and not self.admits(data, position))
            or (self.requires and data.find(self.requires, after, after + _NEAR) < 0)
        )

    def find_at(
        self, data: bytes, position: int, reach: int = REACH, budget: HasWork | None = None
    ) -> Span | None:
        """The secret with a keyword at this position, if it is a secret.

        Call `is_possible` first.
        """
        if self.is_backtracking or self.is_local:
            reach = min(reach, _SHORT_REACH)
        found = (
            self._around(data, position, reach)
            if self.before
            else self._regex.match(data, position, position + reach)
        )
        if found is None:
            return None
        if budget:
            budget.work -= (_SUCCESS >> self.is_backtracking) + (found.end() - found.start()) // _READ
        span = self.check(data, found)
        if span is None or span[1] <= position + reach - min(_EDGE, reach // 4):
            return span
        found = self._regex.match(data, found.start())  # long: match again without a limit
        if budget:
            budget.work -= (found.end() - found.start()) // _READ
        return self.check(data, found)

    def collect_at(self, data: bytes, position: int, after: int) -> tuple[list[Span], int]:
        """For rules with `collect`: the secrets, and the position from which to continue."""
        found = self._regex.match(data, position, position + REACH)
        return ([], after) if found is None or self.collect is None else self.collect(data, found)

    def _around(self, data: bytes, position: int, reach: int) -> Any:
        first = max(0, position - self.before)
        if self.begins_after:
            first = max(first, data.rfind(self.begins_after, first, position))
        for found in self._regex.finditer(data, first, position + reach):
            start, end = found.span()
            if start > position:
                break
            if position < end:
                is_cut = self.word_start and start and _is_alphanumeric(data[start - 1])
                return None if is_cut else found
        return None

    def candidates(
        self, data: bytes, done: Container[int], budget: HasWork
    ) -> Iterator[tuple[int, Span | None]]:
        """The candidates of a common rule.

        Gives the position of each match that passes the cheap test, and the secret there.

        Without those that begin where another rule found a secret.
        """
        read = 0
        for found in self._regex.finditer(data):
            budget.work -= _MATCHED
            start = found.start()
            if start >= read and start not in done and (self.admits is None or self.admits(data, start)):
                budget.work -= _LOOK
                if self.is_likely and not self.is_likely(data, found):
                    continue
                budget.work -= _CHECK
                span = self.check(data, found)
                if span:
                    read = span[1]
                    budget.work -= (span[1] - span[0]) // _READ
                yield start, span

    def find_all(self, data: bytes) -> list[Span]:
        """Every secret of this kind.

        Slower than the finder, which searches all keywords at once.
        """
        if not self.keywords:
            checked = (self.check(data, found) for found in self._regex.finditer(data))
            return [span for span in checked if span]
        lower = data.lower()
        spans: set[Span] = set()
        for keyword in self.keywords:
            position = lower.find(keyword.encode())
            while position >= 0:
                after = position + len(keyword)
                if not self.is_possible(data, position, after):
                    pass
                elif self.collect:
                    spans.update(self.collect_at(data, position, after)[0])
                elif span := self.find_at(data, position):
                    spans.add(span)
                position = lower.find(keyword.encode(), position + 1)
        return sorted(spans)


def _is_inside_word(data: bytes, position: int) -> bool:
    """Whether a word continues here.

    Keywords that begin with a sign, such as `&sig=`, never do.
    """
    return position > 0 and _is_alphanumeric(data[position - 1]) and _is_alphanumeric(data[position])


def _is_alphanumeric(byte: int) -> bool:
    return 48 <= byte <= 57 or 65 <= byte <= 90 or 97 <= byte <= 122


_ALPHABETS = {
    "alnum": "a7Kq2ZmX9bR4tVw8Ec3nYd6LsP1gHj5UfQoB0iTkDyNxCrWvGzMhJpSuFeAlO",
    "hex": "3f9a1c7e5b2d80463c1f8e7a9d2b5064",
    "lower": "k3v9x1qz7m2p8w4t6r5yjbhdngfcals0oeiu",
    "upper": "K3V7X2QZ5M4PWTR6YJBHDNGFCALSOEIU",
    "letters": "kVxQzMpWtRyJbHdNgFcAlSoEiUXvqZmPwTrY",
    "digits": "7315902846",
}
_SLOT = re.compile(r"\{(?:(" + "|".join(_ALPHABETS) + r"):(\d+)|(uuid))?\}")


def expand(template: str) -> str:
    """Fill in an example.

    `ghp_{alnum:36}` has 36 invented characters, `{uuid}` is a UUID, `{}` is nothing.

    So the source contains no complete secret that a scanner would report.
    """
    return _SLOT.sub(_filled, template)


def _filled(slot: re.Match[str]) -> str:
    if slot[3]:
        return expand("{hex:8}-{hex:4}-4{hex:3}-8{hex:3}-{hex:12}")
    if slot[1] is None:
        return ""
    alphabet, length = _ALPHABETS[slot[1]], int(slot[2])
    return (alphabet * (length // len(alphabet) + 1))[:length]


# -- patterns of the user --------------------------------------------------------------------------------

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class PatternError(ValueError):
    """A user's pattern that cannot be used, and the reason."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"the secret pattern {name!r} cannot be used: {reason}")
        self.name = name
        self.reason = reason


@dataclass(frozen=True)
class UserPattern:
    """A pattern of the user's, in RE2 syntax.

    Its whole match is redacted, or only its group `(?P<secret>…)` if it has one.
    """

    name: str
    regex: str


class CompiledPattern:
    """A compiled pattern of the user's.

    It is a rule for the views, and also for the text itself, which may not be ASCII.
    """

    def __init__(self, pattern: UserPattern) -> None:
        if not _NAME.fullmatch(pattern.name):
            raise PatternError(
                pattern.name, "a name has up to 64 letters, digits, dots, dashes and underscores"
            )
        options = re2.Options()
        options.log_errors = False
        try:
            self._regex = re2.compile(pattern.regex, options)
        except re2.error as error:
            reason = error.args[0] if error.args else "it is not a valid expression"
            raise PatternError(
                pattern.name, reason.decode() if isinstance(reason, bytes) else str(reason)
            ) from error
        self.name = pattern.name
        self._group: int = self._regex.groupindex.get("secret", 0)
        self.rule = (
            Rule(pattern.name, "user", (), pattern.regex, "", "", check=self._check)
            if pattern.regex.isascii()
            else None
        )

    def spans(self, text: str) -> list[Span]:
        return [found.span(self._group) for found in self._regex.finditer(text)]

    def _check(self, data: bytes, found: Any) -> Span | None:
        span: Span = found.span(self._group)
        return span if 0 <= span[0] < span[1] else None

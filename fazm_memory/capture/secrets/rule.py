"""A rule: what one kind of secret looks like, beside a value it must find and one it must leave alone.

Every rule is looked for only where one of its keywords stands, and its expression is matched from that
very place, so that ordinary text costs one pass over all keywords and nothing more. Expressions are RE2:
time is linear.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import re2

Span = tuple[int, int]

# A look-up goes this far from its keyword, so that text made of nothing but keywords still takes linear time.
REACH = 4096
_EDGE = 256
_NEAR = 512

_OPTIONS = re2.Options()
_OPTIONS.encoding = re2.Options.Encoding.LATIN1
_OPTIONS.log_errors = False


def compiled(expression: str) -> Any:
    """An expression over views: one byte is one character."""
    return re2.compile(expression.encode("latin-1"), _OPTIONS)


def whole_or_group(data: bytes, found: Any) -> Span:
    """The secret is the first group that took part, or the whole match where there is no group."""
    spans: list[Span] = [found.span(group) for group in range(1, found.re.groups + 1)]
    return next((span for span in spans if span[0] >= 0), found.span())


def has_digit(value: bytes) -> bool:
    return any(48 <= byte <= 57 for byte in value)


@dataclass(frozen=True)
class Rule:
    name: str
    provider: str
    keywords: tuple[str, ...]
    """In lower case. None at all: the expression is looked for everywhere."""
    regex: str
    match: str
    miss: str
    back: int = 0
    """How many characters of the secret may stand before the keyword."""
    alone: bool = True
    """Whether a letter or digit right before it means that this is something else."""
    solid: int = 0
    """For a keyword that is half an ordinary word: how many letters and digits follow it without a break."""
    needs: bytes = b""
    """What has to stand in the next few hundred characters: cheaper to ask than the expression."""
    judge: Callable[[bytes, Any], Span | None] = field(default=whole_or_group, repr=False)
    """Says where in the match the secret stands, or that it is none."""
    spread: Callable[[bytes, Any], tuple[list[Span], int]] | None = field(default=None, repr=False)
    """For a name that speaks of several values, as the heading of a column does: where they stand, and how
    far has been looked, so that no place is looked at twice.
    """

    @cached_property
    def pattern(self) -> Any:
        return compiled(self.regex)

    def at(self, data: bytes, position: int, after: int) -> Span | None:
        """The secret whose keyword stands from this position to the one after it, if it is a secret."""
        found = self._around(data, position) if self.back else self._from(data, position, after)
        span = None if found is None else self.judge(data, found)
        if span is None or found.end() <= position + REACH - _EDGE:
            return span
        return self.judge(data, self.pattern.match(data, found.start()))  # a long one: leave no end behind

    def all_at(self, data: bytes, position: int, after: int) -> tuple[list[Span], int]:
        """The same for a rule whose secrets are spread, with the position from which to look on."""
        found = self._from(data, position, after)
        return ([], after) if found is None or self.spread is None else self.spread(data, found)

    def _from(self, data: bytes, position: int, after: int) -> Any:
        if (
            (self.alone and _in_a_word(data, position))
            or (self.solid and not data[after : after + self.solid].isalnum())
            or (self.needs and data.find(self.needs, after, after + _NEAR) < 0)
        ):
            return None
        return self.pattern.match(data, position, position + REACH)

    def _around(self, data: bytes, position: int) -> Any:
        for found in self.pattern.finditer(data, max(0, position - self.back), position + REACH):
            start, end = found.span()
            if start > position:
                break
            if position < end:
                cut = self.alone and start and _is_letter_or_digit(data[start - 1])
                return None if cut else found
        return None

    def spans(self, data: bytes) -> list[Span]:
        """Every such secret, for rules and people that do not start from a keyword."""
        if not self.keywords:
            judged = (self.judge(data, found) for found in self.pattern.finditer(data))
            return [span for span in judged if span]
        lower = data.lower()
        found_at = set()
        for keyword in self.keywords:
            position = lower.find(keyword.encode())
            while position >= 0:
                after = position + len(keyword)
                if self.spread:
                    found_at.update(self.all_at(data, position, after)[0])
                elif span := self.at(data, position, after):
                    found_at.add(span)
                position = lower.find(keyword.encode(), position + 1)
        return sorted(found_at)


def _in_a_word(data: bytes, position: int) -> bool:
    """Whether a word goes on here. A keyword that begins with a sign, such as `&sig=`, always follows one."""
    return position > 0 and _is_letter_or_digit(data[position - 1]) and _is_letter_or_digit(data[position])


def _is_letter_or_digit(byte: int) -> bool:
    return 48 <= byte <= 57 or 65 <= byte <= 90 or 97 <= byte <= 122


def token(
    name: str,
    provider: str,
    prefix: str | tuple[str, ...],
    body: str,
    example: str,
    *,
    miss: str = "your-key-here",
    solid: int = 0,
) -> Rule:
    """A secret known by how it begins. No complete key stands in these files: the example is a body."""
    prefixes = (prefix,) if isinstance(prefix, str) else prefix
    starts = "|".join(re2.escape(each) for each in prefixes)
    return Rule(
        name=name,
        provider=provider,
        keywords=tuple(dict.fromkeys(each.lower() for each in prefixes)),
        regex=f"(?:{starts})(?:{body})",
        match=prefixes[0] + example,
        miss=prefixes[0] + miss,
        solid=solid,
    )


def named(name: str, provider: str, words: str | tuple[str, ...], value: str, example: str) -> Rule:
    """A secret without a mark of its own: a value of the right shape, after the provider's name.

    There has to be a word for a secret between them: digests and ids stand beside such names too.
    """
    names = (words,) if isinstance(words, str) else words
    starts = "|".join(re2.escape(each) for each in names)
    return Rule(
        name=name,
        provider=provider,
        keywords=tuple(each.lower() for each in names),
        regex=rf"(?i:{starts})(?i:[\w.\- ]{{0,24}}?"
        r"(?:key|token|secret|passw|auth|cred|api|pat|dsn|licen[cs]e)[\w\-]{0,16})"
        rf"[\"'\])]{{0,3}}\s{{0,4}}(?:=>|:=|[=:,>]|\s)\s{{0,4}}(?i:bearer\s+)?[\"'`]?({value})(?:[^\w\-]|\z)",
        match=f'{names[0]}_api_key = "{example}"',
        miss=f"{names[0]} release {example}",
        judge=_with_a_digit,
    )


def _with_a_digit(data: bytes, found: Any) -> Span | None:
    """A long name in a program has the alphabet of a key but hardly ever a digit; a key nearly always has."""
    start, end = found.span(1)
    return (start, end) if has_digit(data[start:end]) else None


# Bodies for the examples: made up, and of the alphabet and length that the format asks for.
def alnum(length: int) -> str:
    return _repeated("a7Kq2ZmX9bR4tVw8Ec3nYd6LsP1gHj5UfQoB0iTkDyNxCrWvGzMhJpSuFeAlO", length)


def hexa(length: int) -> str:
    return _repeated("3f9a1c7e5b2d80463c1f8e7a9d2b5064", length)


def lower(length: int) -> str:
    return _repeated("k3v9x1qz7m2p8w4t6r5yjbhdngfcals0oeiu", length)


def upper(length: int) -> str:
    return _repeated("K3V7X2QZ5M4PWTR6YJBHDNGFCALSOEIU", length)


def letters(length: int) -> str:
    return _repeated("kVxQzMpWtRyJbHdNgFcAlSoEiUXvqZmPwTrY", length)


def digits(length: int) -> str:
    return _repeated("7315902846", length)


def uuid() -> str:
    return f"{hexa(8)}-{hexa(4)}-4{hexa(3)}-8{hexa(3)}-{hexa(12)}"


def _repeated(alphabet: str, length: int) -> str:
    return (alphabet * (length // len(alphabet) + 1))[:length]


UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"

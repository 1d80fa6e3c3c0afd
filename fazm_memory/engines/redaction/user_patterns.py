"""Patterns of the user's own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import re2

from fazm_memory.engines.redaction.rules import Rule, Span

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
    """A compiled user pattern: a rule for the views, and for the text itself, which may not be ASCII."""

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

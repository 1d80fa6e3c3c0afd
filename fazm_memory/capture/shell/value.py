"""Text of which parts may be unknown: what a variable, an argument or an output holds as far as we can tell.

A value with a hole is never taken for a name. It can still be compared with names that the output shows.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from fazm_memory.capture.shell.pattern import ANYTHING, NEVER, escape, fits

LONGEST = 1 << 16


@dataclass(frozen=True, slots=True)
class Hole:
    """A missing stretch: the variable it came from, if any, and the expression it must fit."""

    of: str = ""
    like: str = ANYTHING


@dataclass(frozen=True, slots=True)
class Value:
    parts: tuple[str | Hole, ...] = ()
    doubt: str = ""
    """Why the text, though complete, may not be the real one."""

    @property
    def text(self) -> str | None:
        if len(self.parts) == 1 and isinstance(self.parts[0], str):
            return self.parts[0]
        texts = [part for part in self.parts if isinstance(part, str)]
        return "".join(texts) if len(texts) == len(self.parts) else None

    @property
    def pattern(self) -> str:
        return "".join(escape(part) if isinstance(part, str) else part.like for part in self.parts)

    @property
    def is_no_match(self) -> bool:
        return self.parts == (NO_MATCH,)

    def could_be(self, text: str) -> bool:
        return self.text == text if self.text is not None else fits(self.pattern, text)

    def doubted(self, doubt: str) -> Value:
        return replace(self, doubt=self.doubt or doubt) if doubt else self


NO_MATCH = Hole("", NEVER)
"""Stands for a glob that is known to match nothing."""


def known(text: str, doubt: str = "") -> Value:
    return Value((text,), doubt) if len(text) <= LONGEST else Value((Hole(),), doubt)


def unknown(of: str = "", like: str = ANYTHING) -> Value:
    return Value((Hole(of, like),))


def joined(values: Iterable[Value]) -> Value:
    parts: list[str | Hole] = []
    size = 0
    doubt = ""
    for value in values:
        doubt = doubt or value.doubt
        for part in value.parts:
            last = parts[-1] if parts else None
            if isinstance(part, str) and isinstance(last, str):
                parts[-1] = last + part
            elif isinstance(part, Hole) and isinstance(last, Hole):
                parts[-1] = Hole()  # where one unknown ends and the next begins is unknown too
            else:
                parts.append(part)
            size += len(part) if isinstance(part, str) else 1
        if size > LONGEST:
            return Value((Hole(),), doubt)
    return Value(tuple(parts), doubt)


def spaced(values: Iterable[Value], space: str = " ") -> Value:
    """The values with spaces between them, as `echo` and `eval` put them together."""
    return joined(
        part for i, value in enumerate(values) for part in ((known(space), value) if i else (value,))
    )

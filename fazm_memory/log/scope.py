"""Where a search looks: which events may be found, besides having the words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fazm_memory.log.tables import SEQ_BITS, SEQ_MASK
from fazm_memory.log.terms import quoted
from fazm_memory.log.words import kind_word

# What a time or a place is told by, when nothing else was asked for.
NOTABLE = ("prompt", "decision", "pending", "fact", "handoff")


@dataclass(frozen=True)
class Scope:
    """Where to look: `keep` says by its id whether an event may be found; a kind or a tool it must be of; and
    the sessions it must be in, unless it mentions what stands for them. `spans` are the positions outside
    which `keep` keeps nothing, by session."""

    keep: Callable[[int], bool] | None = None
    kind: str | None = None
    tool: str | None = None
    inside: frozenset[int] | None = None
    mention: str = ""
    spans: Mapping[int, tuple[int, int]] | None = None

    @property
    def places(self) -> Mapping[int, tuple[int, int]] | None:
        """The positions that may be found for where they are, by session; None for everywhere."""
        if self.inside is None:
            return self.spans
        if self.spans is None:
            return dict.fromkeys(self.inside, (0, SEQ_MASK))
        return {number: self.spans[number] for number in self.inside if number in self.spans}

    @property
    def narrow(self) -> bool:
        return self.keep is not None or self.inside is not None

    def has(self, event: int) -> bool:
        """Whether an event may be found for where it is, whatever it mentions."""
        return (self.inside is None or event >> SEQ_BITS in self.inside) and (
            self.keep is None or self.keep(event)
        )

    @property
    def besides(self) -> str:
        """What every hit must have besides the terms."""
        parts = []
        if self.kind is not None:
            parts.append(quoted(kind_word(self.kind)))
        if self.tool is not None:
            parts += [quoted(kind_word("action")), quoted(self.tool)]
        return " AND ".join(parts)

    def required(self, match: str) -> str:
        """The terms and what every hit must have; without either, what is worth telling."""
        anything = "(" + " OR ".join(quoted(kind_word(kind)) for kind in NOTABLE) + ")"
        return " AND ".join(part for part in (match, self.besides) if part) or anything

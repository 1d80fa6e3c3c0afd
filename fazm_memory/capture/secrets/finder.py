"""The search: one pass over all keywords, then each rule at the places where its keyword stands."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import ahocorasick_rs

from fazm_memory.capture.canonical import View, matching
from fazm_memory.capture.secrets.disguise import rejoined, unescaped, unwrapped
from fazm_memory.capture.secrets.rule import Rule

_LAYERS = 3
"""How many times text may be escaped inside escaped text, or wrapped inside wrapped text, and still be
looked into.
"""


@dataclass(frozen=True, order=True)
class Finding:
    """A secret in the stored text, and the rule that found it: of two rules, the more particular has the
    lower rank.
    """

    start: int
    end: int
    rank: int
    name: str

    def merged(self, other: Finding) -> Finding:
        named = self if self.rank <= other.rank else other
        return Finding(min(self.start, other.start), max(self.end, other.end), named.rank, named.name)

    def within(self, start: int, end: int) -> Finding:
        """The part of it between two positions, counted from the first."""
        return Finding(max(self.start, start) - start, min(self.end, end) - start, self.rank, self.name)


class Finder:
    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = tuple(rules)
        by_keyword: dict[str, list[tuple[int, Rule]]] = defaultdict(list)
        for rank, rule in enumerate(self.rules):
            for keyword in rule.keywords:
                by_keyword[keyword].append((rank, rule))
        self._everywhere = [(rank, rule) for rank, rule in enumerate(self.rules) if not rule.keywords]
        self._rules_of = list(by_keyword.values())
        self._keywords = ahocorasick_rs.BytesAhoCorasick(
            [keyword.encode() for keyword in by_keyword], implementation=ahocorasick_rs.Implementation.DFA
        )

    def find(self, text: str) -> list[Finding]:
        """Every secret in a canonical text, plain or disguised."""
        return [
            Finding(*view.span(start, end), rank, self.rules[rank].name)
            for view in _views(matching(text))
            for start, end, rank in self._search(view.data, _LAYERS)
        ]

    def _search(self, data: bytes, layers: int) -> Iterator[tuple[int, int, int]]:
        done: dict[int, int] = {}
        for keyword, position, after in self._keywords.find_matches_as_indexes(
            data.lower(), overlapping=True
        ):
            for rank, rule in self._rules_of[keyword]:
                if position < done.get(rank, 0):
                    continue
                span = rule.at(data, position, after)
                if span:
                    done[rank] = span[1]
                    yield *span, rank
        for rank, rule in self._everywhere:
            for span in rule.spans(data):
                yield *span, rank
        if layers:
            for start, end, inner in unwrapped(data):
                ranks = [rank for _, _, rank in self._search(inner, layers - 1)]
                if ranks:
                    yield start, end, min(ranks)


def _views(plain: View) -> Iterator[View]:
    """The text as it stands, and what it says under each disguise it may wear, layer by layer."""
    layer = [plain]
    seen: set[bytes] = set()
    for _ in range(_LAYERS + 1):
        below: list[View] = []
        for view in layer:
            if view.data in seen:
                continue
            seen.add(view.data)
            yield view
            joined = rejoined(view)
            if joined:
                yield joined
            below.extend(unescaped(view))
        layer = below

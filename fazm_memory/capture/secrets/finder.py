"""The search: one pass over all keywords, then each rule at the places where its keyword stands."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import ahocorasick_rs

from fazm_memory.capture.canonical import View, matching
from fazm_memory.capture.secrets.disguise import BASE64, WRAPPED, rejoined, unescaped, unwrapped
from fazm_memory.capture.secrets.rule import Rule, compiled

# How many times a text may be escaped or wrapped inside another and still be looked into, and how many times
# its own length may be searched for that: enough for any real text, and a bound for one made to be slow.
_LAYERS = 3
_BUDGET = 32
_LEAST_BUDGET = 1 << 16


@dataclass(frozen=True, order=True)
class Finding:
    """A secret in the stored text and the rule that found it; the more particular rule has the lower rank."""

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
    """Looks for all rules at once. Those in `also` may be anything a user wrote: they are always tried."""

    def __init__(self, rules: Iterable[Rule], also: Iterable[Rule] = ()) -> None:
        self._also = tuple(also)
        self.rules = (*self._also, *rules)
        by_keyword: dict[str, list[tuple[int, Rule]]] = defaultdict(list)
        for rank, rule in enumerate(self.rules):
            for keyword in rule.keywords:
                by_keyword[keyword].append((rank, rule))
        self._rules_of = list(by_keyword.values())
        self._keywords = ahocorasick_rs.BytesAhoCorasick(
            [keyword.encode() for keyword in by_keyword], implementation=ahocorasick_rs.Implementation.DFA
        )
        ranked = list(enumerate(self.rules))[len(self._also) :]
        self._scanned = [(rank, rule) for rank, rule in ranked if not rule.keywords]
        # Is there anything to scan for, to unwrap or to rejoin? One question for all, mostly answered by no.
        questions = [*(rule.regex for _, rule in self._scanned), BASE64, WRAPPED]
        self._anything = compiled("|".join(f"(?:{question})" for question in questions))

    def find(self, text: str) -> list[Finding]:
        """Every secret in a canonical text, plain or disguised."""
        budget = Budget(max(_LEAST_BUDGET, _BUDGET * len(text)))
        return [
            Finding(*view.span(start, end), rank, self.rules[rank].name)
            for view, start, end, rank in self._look(matching(text), _LAYERS, budget)
        ]

    def _look(self, plain: View, layers: int, budget: Budget) -> Iterator[tuple[View, int, int, int]]:
        """What is in the text as it stands, and under each disguise it may wear, layer by layer."""
        layer = [plain]
        seen: set[bytes] = set()
        for _ in range(layers + 1):
            below: list[View] = []
            for view in layer:
                if view.data in seen or not budget.allows(view):
                    continue
                seen.add(view.data)
                more = self._anything.search(view.data) is not None
                yield from self._search(view, more, layers, budget)
                joined = rejoined(view) if more else None
                if joined and budget.allows(joined):
                    yield from self._search(joined, True, layers, budget)
                below.extend(unescaped(view))
            layer = below

    def _search(
        self, view: View, more: bool, layers: int, budget: Budget
    ) -> Iterator[tuple[View, int, int, int]]:
        data = view.data
        done: dict[int, int] = {}
        hits = self._keywords.find_matches_as_indexes(data.lower(), overlapping=True)
        for keyword, position, after in hits:
            for rank, rule in self._rules_of[keyword]:
                if position < done.get(rank, 0):
                    continue
                if rule.spread:
                    spans, done[rank] = rule.all_at(data, position, after)
                    for span in spans:
                        yield view, *span, rank
                elif one := rule.at(data, position, after):
                    done[rank] = one[1]
                    yield view, *one, rank
        for rank, rule in (*enumerate(self._also), *(self._scanned if more else ())):
            for span in rule.spans(data):
                yield view, *span, rank
        if more and layers:
            for start, end, inner in unwrapped(data):
                ranks = [rank for _, _, _, rank in self._look(View(inner), layers - 1, budget)]
                if ranks:
                    yield view, start, end, min(ranks)


class Budget:
    """How much more may be searched for one text."""

    def __init__(self, left: int) -> None:
        self.left = left

    def allows(self, view: View) -> bool:
        self.left -= len(view.data)
        return self.left >= 0

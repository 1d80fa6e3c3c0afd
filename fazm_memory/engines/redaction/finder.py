"""The search for all rules at once, in the text and in what it decodes to, with limited work."""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache

import ahocorasick_rs

from fazm_memory.engines.redaction import assignments, command_lines, documents, formats, opaque, tables
from fazm_memory.engines.redaction.findings import DENSE, MARKERS, Finding
from fazm_memory.engines.redaction.providers import provider_rules
from fazm_memory.engines.redaction.rules import REACH, Rule, Span, compiled
from fazm_memory.engines.redaction.text import (
    BASE64,
    CUT,
    FOREIGN,
    WRAPPED,
    View,
    base64_decoded,
    before_encoded,
    rejoined,
    unescaped,
    view_of,
)

_MARKER_BYTES = re.compile(MARKERS.pattern.encode())
# Separates texts that are searched together.
SEPARATOR = CUT.decode()
# How many nested encodings are decoded, and how many times the length of a text is searched in total. Enough
# for real text, and a limit for text that was built to be slow.
_LAYERS = 3
_BYTES = 6
_LEAST_BYTES = 1 << 14
# Trying a rule at a keyword is 1 to 3, matching its pattern is 8 or more. One is about a microsecond.
_WORK = 330
_LEAST_WORK = 900
_TESTED = 2  # a cheap test that fails
_READ = 16  # bytes of a table that are read
# Work that a secret allows in addition, and the first secret of each rule; and how much that is in total.
_FOUND = 60
_FIRST = 200
# What a found secret costs: it is judged, replaced and remembered.
_JUDGED = 20
_LEAST_EXTRA, _EXTRA = 300, 200


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every built-in rule, the more specific first: where two find the same secret, the first names it."""
    return (
        *provider_rules(),
        *formats.RULES,
        *command_lines.RULES,
        *tables.SQL_RULES,
        *documents.RULES,
        *assignments.RULES,
        *tables.TABLE_RULES,
        *opaque.RULES,
    )


class Finder:
    """Searches for all rules at once. The user's rules have no keywords and are tried everywhere."""

    def __init__(self, rules: Iterable[Rule], user_rules: Iterable[Rule] = ()) -> None:
        self._user_rules = tuple(user_rules)
        self.rules = (*self._user_rules, *rules)
        by_keyword: dict[str, list[tuple[int, Rule]]] = defaultdict(list)
        for rank, rule in enumerate(self.rules):
            for keyword in rule.keywords:
                by_keyword[keyword].append((rank, rule))
        self._rules_of = list(by_keyword.values())
        self._keywords = ahocorasick_rs.BytesAhoCorasick(
            [keyword.encode() for keyword in by_keyword], implementation=ahocorasick_rs.Implementation.DFA
        )
        ranked = list(enumerate(self.rules))[len(self._user_rules) :]
        self._common = [(rank, rule) for rank, rule in ranked if rule.is_common]
        self._scanned = [(rank, rule) for rank, rule in ranked if not rule.keywords and not rule.is_common]
        # One pattern for the rules without keywords and the slower decoders. It seldom matches.
        patterns = [*(rule.pattern for _, rule in self._scanned), BASE64, WRAPPED]
        self._anything = compiled("|".join(f"(?:{pattern})" for pattern in patterns))

    def find(self, text: str, budget: Budget | None = None) -> list[Finding]:
        """Every secret in a canonical text, plain or encoded."""
        budget = budget or Budget(len(text))
        separated = SEPARATOR in text
        dense = len(text)
        findings: list[Finding] = []
        for view, first, last, rank in self._search_layers(view_of(text), _LAYERS, budget):
            if rank == len(self.rules):
                dense = min(dense, view.span(first, last)[0])
            elif separated or CUT not in view.data[first:last]:
                findings.append(Finding(*view.span(first, last), rank, self.rules[rank].name))
        return [*findings, *self._unsearched_words(text, dense)]

    def _unsearched_words(self, text: str, start: int) -> Iterator[Finding]:
        """What may be a secret in the rest of a text that is too dense to search."""
        for found in _UNSEARCHED.finditer(text[start:] if start else text):
            word = found[0]
            # A run of one letter is no secret.
            if len(word) >= _LEAST_LENGTH and len(set(word)) >= _LEAST_LETTERS:
                first, last = found.span()
                yield Finding(start + first, start + last, len(self.rules), DENSE)
        for found in _UNSEARCHED_LINE.finditer(text, start):
            if len(found[1].strip()) >= _LEAST_LENGTH:
                yield Finding(*found.span(1), len(self.rules), DENSE)

    def _search_layers(
        self, plain: View, layers: int, budget: Budget
    ) -> Iterator[tuple[View, int, int, int]]:
        """Search the text itself, then what it decodes to, layer by layer."""
        layer = [plain]
        searched: set[bytes] = set()
        for _ in range(layers + 1):
            below: list[View] = []
            for view in layer:
                if view.data in searched or not budget.allows(view):
                    continue
                searched.add(view.data)
                more = self._anything.search(view.data) is not None
                yield from self._search(view, more, layers, budget)
                joined = rejoined(view) if more and budget.work >= 0 else None
                if joined and budget.allows(joined):
                    yield from self._search(joined, True, layers, budget)
                if budget.work < 0:  # what is encoded was not searched, or not to its end
                    yield plain, *self._first_encoded(plain.data), len(self.rules)
                    return
                below.extend(unescaped(view))
            layer = below

    def _first_encoded(self, data: bytes) -> Span:
        wrapped = self._anything.search(data)
        first = min(before_encoded(data), wrapped.start() if wrapped else len(data))
        return first, first + 1

    def _search(
        self, view: View, more: bool, layers: int, budget: Budget
    ) -> Iterator[tuple[View, int, int, int]]:
        data = view.data
        done: dict[int, int] = {}
        starts: set[int] = set()
        hits: Iterable[tuple[int, int, int]] = self._keywords.find_matches_as_indexes(
            data.lower(), overlapping=True
        )
        if b"[REDACTED:" in data:
            hits = _outside(data, hits, [found.span() for found in _MARKER_BYTES.finditer(data)])
        for keyword, position, after in hits:
            reach = budget.reach
            for rank, rule in self._rules_of[keyword]:
                if position < done.get(rank, 0):
                    continue
                budget.work -= 1
                if not rule.is_possible(data, position, after):
                    budget.work -= _TESTED if rule.admits else 0
                    continue
                budget.work -= rule.cost(reach)
                if budget.work < 0:
                    yield view, position, position + 1, len(self.rules)
                    return
                if rule.collect:
                    spans, done[rank] = rule.collect_at(data, position, after)
                    budget.work -= (done[rank] - position) // _READ
                    budget.found(len(spans), rank)
                    for span in spans:
                        yield view, *span, rank
                elif found := rule.find_at(data, position, reach, budget):
                    done[rank] = found[1]
                    starts.add(found[0])
                    budget.found(1, rank)
                    yield view, *found, rank
        for rank, rule in (*enumerate(self._user_rules), *(self._scanned if more else ())):
            for span in rule.find_all(data):
                yield view, *span, rank
        for rank, rule in self._common:
            for position, value in rule.candidates(data, starts, budget):
                if budget.work < 0:
                    yield view, position, position + 1, len(self.rules)
                    return
                if value:
                    budget.found(1, rank)
                    yield view, *value, rank
        if more and layers:
            for start, end, inner in base64_decoded(data):
                ranks = [rank for _, _, _, rank in self._search_layers(View(inner), layers - 1, budget)]
                if ranks:
                    yield view, start, end, min(ranks)


_BEFORE_MARKER = b"=: \"'"


def _outside(
    data: bytes, hits: Iterable[tuple[int, int, int]], markers: list[Span]
) -> Iterator[tuple[int, int, int]]:
    """The hits that do not begin inside a marker and whose value is not a marker. Both are in order."""
    waiting = iter(markers)
    start, end = next(waiting, (sys.maxsize, sys.maxsize))
    for hit in hits:
        while hit[1] >= end:
            start, end = next(waiting, (sys.maxsize, sys.maxsize))
        if hit[1] <= start and (start - hit[2] > 4 or data[hit[2] : start].strip(_BEFORE_MARKER)):
            yield hit


# In text that is too dense to search, what may be a secret. Begins where a word begins, so it is linear.
_LEAST_LENGTH, _LEAST_LETTERS = 6, 4
_STOP = r"\s\"'`<>(),;"
_UNSEARCHED = re.compile(
    r"[0-9](?:[ -]?[0-9]){11,18}"
    rf"|(?<![^{_STOP}=:\[\]{{}}])[^{_STOP}=:\[\]{{}}0-9]*+[0-9][^{_STOP}]*+"
    r"|[A-Za-z+/_-]{20,}+"
)
# A password or a phrase may have no digit. So the rest of the line after a word for it and a sign is removed.
_UNSEARCHED_LINE = re.compile(
    r"(?:(?i:passw(?:or[dt])?|passphrase|passcode|mnemonic|(?:seed|recovery)[ _-]?phrase"
    r"|(?<![A-Za-z])(?:pass|pwd|pw))(?![A-Za-z])"
    rf"|{FOREIGN.pattern})[\"'`*\]]{{0,3}}[ \t]{{0,3}}(?:[:=]+>?|is[ \t])[ \t\"'`]{{0,4}}([^\n\[]{{1,200}})"
)


class Budget:
    """How much work may be done for one text: bytes to search, and tries of rules.

    Ordinary text needs a small part of it. A text that was built to be slow uses it up. In the rest of such a
    text every word with a digit is removed.
    """

    def __init__(self, length: int) -> None:
        self.bytes = max(_LEAST_BYTES, _BYTES * length)
        self.full = self.work = _LEAST_WORK + _WORK * length // 1024
        self._ranks: set[int] = set()
        self._extra = _LEAST_EXTRA + _EXTRA * length // 1024

    def allows(self, view: View) -> bool:
        self.bytes -= len(view.data)
        return self.bytes >= 0

    def found(self, count: int, rank: int) -> None:
        """Allow more work for a text with many secrets, up to a limit, so that it is searched to its end."""
        is_first = count > 0 and rank not in self._ranks
        self._ranks.add(rank)
        extra = min(count * _FOUND + is_first * _FIRST, self._extra)
        self._extra -= extra
        self.work += extra - count * _JUDGED

    def renew(self) -> None:
        """Allow one more search after secrets were replaced, but not for ever."""
        self.full //= 3
        self.work += self.full

    @property
    def reach(self) -> int:
        """How far a rule may look. Less in a text with many keywords."""
        return REACH if 5 * self.work > 3 * self.full else 1024 if 3 * self.work > self.full else 256

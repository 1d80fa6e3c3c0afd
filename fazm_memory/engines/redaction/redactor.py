"""The redactor: canonicalise text, find its secrets, replace them, shorten it.

All rules are searched for at once, in the text and in what it decodes to, with limited work. A secret
becomes `[REDACTED:rule]`, with the name of the rule that found it. Shortening comes last, because no rule can
find half a secret. Redacting a redacted text changes nothing.

In a JSON value, fields whose name says that they hold a secret are replaced, and changed strings put back.
"""

from __future__ import annotations

import re
import sys
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import accumulate
from typing import Any

import ahocorasick_rs

from fazm_memory.engines.redaction import (
    assignments,
    command_lines,
    documents,
    formats,
    opaque,
    prompts,
    tables,
)
from fazm_memory.engines.redaction.classify import Kind, is_field_secret, kind_of, words
from fazm_memory.engines.redaction.findings import (
    DENSE,
    MARKERS,
    MOST_SECRETS,
    Finding,
    Found,
    KnownSecrets,
    around,
    marker,
    outside_markers,
    place_of,
    replaced,
    replaced_within,
    shortened,
    with_whole_markers,
)
from fazm_memory.engines.redaction.formats import is_card_number, provider_rules
from fazm_memory.engines.redaction.rules import REACH, CompiledPattern, Rule, Span, UserPattern, compiled
from fazm_memory.engines.redaction.text import (
    BASE64,
    CUT,
    FOREIGN,
    WRAPPED,
    View,
    base64_decoded,
    before_encoded,
    canonical,
    is_canonical,
    rejoined,
    unescaped,
    view_of,
)

NAMED = "named-secret"
CARD = "card-number"
MANIFEST = "kubernetes-secret"


def texts_in(value: Any) -> set[str]:
    """Every string in a JSON value, including keys."""
    # Without recursion, here and below: the value may be nested deeper than the stack.
    texts: set[str] = set()
    work: list[Iterable[Any]] = [[value]]
    while work:
        for item in work.pop():
            if isinstance(item, str):
                texts.add(item)
            elif isinstance(item, dict):
                texts.update(item)
                work.append(item.values())
            elif isinstance(item, list | tuple):
                work.append(item)
    return texts


class ValueRedactor:
    """Copies one JSON value without its secrets, however deep.

    `changed` maps strings to their redacted form. `row` redacts strings that belong together.
    """

    def __init__(
        self,
        changed: Mapping[str, str],
        row: Callable[[list[str], Found], list[str] | None],
        is_marker: Callable[[str], bool],
        found: Found,
    ) -> None:
        self._changed = changed
        self._row = row
        self._is_marker = is_marker
        self._found = found
        # Pending containers: the source, the target of its copy, the key there, and the inherited kind.
        self._work: list[tuple[Any, Any, Any, Kind]] = []

    def value(self, value: Any) -> Any:
        whole = [self._text(value)]
        self._place(whole, 0, Kind.NONE, Kind.NONE)
        while self._work:
            source, target, key, kind = self._work.pop()
            target[key] = (
                self._object(source, kind) if isinstance(source, dict) else self._array(source, kind)
            )
        return whole[0]

    def _object(self, source: dict[str, Any], inherited: Kind) -> dict[str, Any]:
        copy = self._with_changes(source) if self._changed else dict(source)
        self._printed(copy)
        for data in _manifest_data(copy):
            copy[data] = {name: self._manifest_value(value) for name, value in copy[data].items()}
        kinds = _kinds_in(copy, inherited)
        for key, value in copy.items():
            if key in kinds:
                self._place(copy, key, kinds[key], _kind_inside(key, kinds[key], value))
            elif not isinstance(value, str):
                self._place(copy, key, Kind.NONE, Kind.NONE)
        return copy

    def _printed(self, copy: dict[str, Any]) -> None:
        """Redact what a command printed: its text and its output are in two fields."""
        command = copy.get("input", copy.get("tool_input"))
        if isinstance(command, dict):
            command = command.get("command", command.get("cmd"))
        if not isinstance(command, str) or not prompts.prints_secret(command):
            return
        for name in _OUTPUT_FIELDS & copy.keys():
            output = copy[name]
            if isinstance(output, dict) and isinstance(printed := output.get("stdout"), str):
                copy[name] = output | {"stdout": self._without_printed(command, printed)}
            elif isinstance(output, str):
                copy[name] = self._without_printed(command, output)

    def _without_printed(self, command: str, output: str) -> str:
        row = self._row([command, output], self._found)
        return row[1] if row else output

    def _manifest_value(self, value: Any) -> Any:
        is_secret = isinstance(value, str) and not self._is_marker(value) and _is_secret(value, Kind.PASSWORD)
        return self._marked(MANIFEST, value) if is_secret else value

    def _with_changes(self, source: dict[str, Any]) -> dict[str, Any]:
        copy: dict[str, Any] = {}
        for name, value in source.items():
            key = self._changed.get(name, name)
            copy[_unused(key, copy) if key in copy else key] = self._text(value)
        return copy

    def _array(self, source: list[Any] | tuple[Any, ...], kind: Kind) -> list[Any]:
        together = len(source) > 1 and all(isinstance(value, str) for value in source)
        row = self._row(list(source), self._found) if together else None
        copy = row or [self._text(value) for value in source]
        for index in range(len(copy)):
            self._place(copy, index, kind, kind)
        if kind is Kind.NONE and together and len(copy) == 2:
            self._place(copy, 1, kind_of(copy[0]), Kind.NONE)  # ["Cookie", "sid=…"]
        return copy

    def _text(self, value: Any) -> Any:
        return self._changed.get(value, value) if isinstance(value, str) else value

    def _place(self, target: Any, key: Any, kind: Kind, kind_inside: Kind) -> None:
        """Redact one value of a copy. Containers are put off."""
        value = target[key]
        if isinstance(value, dict | list | tuple):
            self._work.append((value, target, key, kind_inside))
        elif isinstance(value, str):
            if kind is not Kind.NONE and not self._is_marker(value) and _is_secret(value, kind):
                target[key] = self._marked(NAMED, value)
        elif isinstance(value, int | float):
            if kind is not Kind.NONE and _is_secret(value, kind):
                target[key] = self._marked(NAMED, str(value))
            elif isinstance(value, int) and _is_card(value):
                target[key] = self._marked(CARD, str(value))
        elif value is not None:
            raise TypeError(f"JSON cannot hold a {type(value).__name__}")

    def _marked(self, name: str, value: str) -> str:
        self._found.add(name, value)
        return marker(name)


def _unused(key: str, copy: dict[str, Any]) -> str:
    """A key with a number, so that two redacted keys do not become the same key."""
    number = len(copy)
    unused = key
    while unused in copy:
        number += 1
        unused = f"{key} ({number})"
    return unused


def _is_card(number: int) -> bool:
    return 10**12 <= number < 10**19 and is_card_number(str(number))


# Fields with a name and fields with its value: {"name": "DB_PASSWORD", "value": "…"}.
_NAME_FIELDS = words("name key k header variable var field label option setting parameter")
_VALUE_FIELDS = words(
    """value v val values content text data plaintext secret current default defaultvalue stringvalue
    secretvalue secretstring"""
)
# Fields of a tool call that types into a form: the input element, and the text.
_ELEMENT_FIELDS = words("element selector label placeholder locator target field xpath role subrole")
_TYPED_FIELDS = words("text value keys input fill")
_SECRET_ELEMENT = re.compile(
    r"pass ?(?:word|code|phrase)|passwort|\b(?:pwd|pin|otp|cvv|cvc|secret)\b|one-time code|security code"
    r"|api[ _-]?key|card ?number|access token|AXSecureTextField",
    re.IGNORECASE,
)
# Fields for what a command printed, beside its input.
_OUTPUT_FIELDS = frozenset(words("output output_summary stdout result tool_response"))
_LONGEST_TYPED = 256
_MOST_KEYS = 64
# Fields that describe a secret.
_DESCRIBING = words(
    """name id type description username user email login version created_at createdat updated_at updatedat
    title label path url host port scope scopes enabled required format in key ref kind provider status
    expires_at expiresat"""
)
_PLURALS = ("secrets", "passwords", "credentials", "apikeys", "api_keys")
_PRIVATE_JWK = ("d", "p", "q", "dp", "dq", "qi", "k")
_DOCKER_AUTH = re.compile(r"(?=\D*\d)[A-Za-z0-9+/=_-]{8,}")


@dataclass(frozen=True)
class _Roles:
    """The keys of an object by role. Independent of the values, so it can be cached."""

    secrets: Mapping[str, Kind]
    names: tuple[str, ...]
    values: tuple[str, ...]
    elements: tuple[str, ...]
    typed: tuple[str, ...]


@lru_cache(maxsize=1024)
def _roles(keys: tuple[str, ...]) -> _Roles:
    secrets = {key: kind for key in keys if (kind := kind_of(key)) is not Kind.NONE}
    if "kty" in keys:
        secrets.update({key: Kind.KEY for key in _PRIVATE_JWK if key in keys})

    def among(names: frozenset[str]) -> tuple[str, ...]:
        return tuple(key for key in keys if key.lower() in names)

    return _Roles(
        secrets, among(_NAME_FIELDS), among(_VALUE_FIELDS), among(_ELEMENT_FIELDS), among(_TYPED_FIELDS)
    )


def _kinds_in(fields: Mapping[str, Any], inherited: Kind) -> Mapping[str, Kind]:
    """The keys of an object whose values may be secrets, with their kind."""
    keys = tuple(fields)
    roles = _roles(keys) if len(keys) <= _MOST_KEYS else _roles.__wrapped__(keys)
    more: dict[str, Kind] = {}
    if inherited is not Kind.NONE:
        more.update({key: inherited for key in fields if key.lower() not in _DESCRIBING})
    if roles.names and roles.values:
        for key in roles.names:
            name = fields[key]
            if isinstance(name, str) and (kind := kind_of(name)) is not Kind.NONE:
                more.update({value: kind for value in roles.values if value != key})
    if roles.elements and roles.typed:
        for element in roles.elements:
            label = fields[element]
            if isinstance(label, str) and len(label) <= _LONGEST_TYPED and _SECRET_ELEMENT.search(label):
                more.update(
                    {
                        typed: Kind.PASSWORD
                        for typed in roles.typed
                        if typed != element and _is_typed(fields[typed])
                    }
                )
    if fields.get("type") == "password":
        more.update(dict.fromkeys(roles.typed, Kind.PASSWORD))
    if fields.get("sensitive") is True:  # output of Terraform
        more.update(dict.fromkeys(roles.values, Kind.PASSWORD))
    if isinstance(auth := fields.get("auth"), str) and _DOCKER_AUTH.fullmatch(auth):
        more["auth"] = Kind.KEY
    return {**roles.secrets, **more} if more else roles.secrets


def _manifest_data(fields: Mapping[str, Any]) -> list[str]:
    """The fields of a Kubernetes Secret in which every value is a secret."""
    if fields.get("kind") != "Secret":
        return []
    return [key for key in ("data", "stringData") if isinstance(fields.get(key), dict)]


def _is_typed(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST_TYPED and "\n" not in value


def _kind_inside(key: str, kind: Kind, value: Any) -> Kind:
    """The kind that the values inside inherit.

    A list holds secrets; an object may only describe one.
    """
    return Kind.NONE if isinstance(value, dict) and not key.lower().endswith(_PLURALS) else kind


def _is_secret(value: Any, kind: Kind) -> bool:
    """Whether a scalar in a field of this kind is a secret."""
    if isinstance(value, str):
        return is_field_secret(value, kind)
    return isinstance(value, int | float) and not isinstance(value, bool) and kind is Kind.PASSWORD


_MARKER_BYTES = re.compile(MARKERS.pattern.encode())
# Separates texts that are searched together.
SEPARATOR = CUT.decode()
# How many nested encodings are decoded, and how many times the length of a text is searched in total. Enough
# for real text, and a limit for text that was built to be slow.
_LAYERS = 3
_BYTES = 6
_LEAST_BYTES = 1 << 14
# Trying a rule at a keyword is 1 to 3, matching its pattern is 8 or more. One is about a microsecond.
_WORK = 450
_LEAST_WORK = 900
_TESTED = 2  # a cheap test that fails
_READ = 3  # bytes of a table that are read
# Work that a secret allows in addition, and the first secret of each rule; and how much that is in total.
_FOUND = 60
_FIRST = 200
# What a found secret costs: it is judged, replaced and remembered.
_JUDGED = 20
_LEAST_EXTRA, _EXTRA = 300, 200


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every built-in rule, the more specific first.

    Where two rules find the same secret, the first one names it.
    """
    return (
        *provider_rules(),
        *formats.RULES,
        *command_lines.RULES,
        *prompts.RULES,
        *tables.SQL_RULES,
        *documents.RULES,
        *assignments.RULES,
        *tables.TABLE_RULES,
        *opaque.RULES,
    )


class Finder:
    """Searches for all rules at once.

    The user's rules have no keywords and are tried everywhere.
    """

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
                joined = rejoined(view, budget) if more and budget.work >= 0 else None
                if joined and budget.allows(joined):
                    yield from self._search(joined, True, layers, budget)
                if budget.work < 0:  # what is encoded was not searched, or not to its end
                    yield plain, *self._first_encoded(plain.data), len(self.rules)
                    return
                below.extend(unescaped(view, budget))
            layer = below

    def _first_encoded(self, data: bytes) -> Span:
        wrapped = self._anything.search(data)
        first = min(before_encoded(data), wrapped.start() if wrapped else len(data))
        return first, first + 1

    def _search(
        self, view: View, more: bool, layers: int, budget: Budget
    ) -> Iterator[tuple[View, int, int, int]]:
        data = view.data
        starts: set[int] = set()
        if (yield from self._search_keywords(view, starts, budget)):
            return
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

    def _search_keywords(
        self, view: View, starts: set[int], budget: Budget
    ) -> Generator[tuple[View, int, int, int], None, bool]:
        """Search at the keywords of rules.

        Returns whether the work was used up before the end.

        Adds to `starts` where secrets begin.
        """
        data = view.data
        done: dict[int, int] = {}
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
                    return True
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
        return False


_BEFORE_MARKER = b"=: \"'"


def _outside(
    data: bytes, hits: Iterable[tuple[int, int, int]], markers: list[Span]
) -> Iterator[tuple[int, int, int]]:
    """The hits that do not begin inside a marker and whose value is not a marker.

    Both are in order.
    """
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
    r"[0-9](?:[ -]?[0-9]){11,63}"
    rf"|(?<![^{_STOP}=:\[\]{{}}])[^{_STOP}=:\[\]{{}}0-9]*+[0-9][^{_STOP}]*+"
    r"|[A-Za-z+/_-]{20,}+"
    # Passwords of apps and seeds of one-time passwords, in groups.
    r"|\b[a-z]{4}(?:-[a-z]{4}){3}\b|\b(?:[A-Z2-7]{4}[ -]){3,15}[A-Z2-7]{4}\b"
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
        """Allow more work for a text with many secrets.

        Up to a limit, so that such a text is searched to its end.
        """
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


# -- the redactor ----------------------------------------------------------------------------------------

TEXT_CAP = 64 * 1024
# Replacing and shortening may join two halves of a secret. So search again until nothing is found.
_ROUNDS = 8

_LONGEST_JOINED = 4096


@dataclass(frozen=True)
class RedactedText:
    """A text without secrets.

    With the names of the rules that found some, and how many characters were left out.
    """

    text: str
    findings: tuple[str, ...] = ()
    truncated: int = 0


class Redactor:
    """Removes secrets from text and JSON values.

    Building one takes a moment, so keep it.
    """

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
        """Redact a JSON value.

        Returns a copy and the names of the rules that found something.

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
        parts = [(0, len(text))]
        for _ in range(_ROUNDS):
            findings = [finding for part in parts for finding in self._findings_within(text, part, budget)]
            if not findings:
                break
            found.names.update(finding.name for finding in findings)
            for finding in findings[-MOST_SECRETS:]:  # no more are remembered
                found.add(finding.name, text[finding.start : finding.end])
            text = replaced(text, findings)
            if budget.work < 0:
                break
            parts = around(text, findings)
            budget.renew()
        return self._uncopied(text, found.secrets)

    def _findings_within(self, text: str, part: Span, budget: Budget) -> list[Finding]:
        start, end = part
        if (start, end) == (0, len(text)):
            return self._findings(text, budget)
        return [
            replace(finding, start=finding.start + start, end=finding.end + start)
            for finding in self._findings(text[start:end], budget)
        ]

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
        """Redact texts that may continue each other.

        For example the lines of a key, or the words of a command.

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

"""Secrets in what Kubernetes is told and tells: in a Secret everything is one, whatever it is called."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from fazm_memory.capture.secrets.naming import is_placeholder
from fazm_memory.capture.secrets.rule import REACH, Rule, Span, alnum

# A line of a manifest, behind the number that a viewer may put before it: a key, and its value. It is matched
# without the space at its end.
_MARGIN = rb"(?:[ \t]*+\d{1,6}(?:\xff|\t|:) ?)?([ \t]*+(?:- )?)"
_KEY = re.compile(_MARGIN + rb"([\"']?)([\w.-]++)[\"']?[ \t]*+:(?![^ \t{\"'])[ \t]*+")
_QUOTED = re.compile(rb"\"((?:[^\"\\\n]|\\.)+)\",?\Z|'([^'\n]+)',?\Z")
_BLOCK = re.compile(rb"[|>][0-9+-]{0,2}\Z")
_TEXT = re.compile(_MARGIN + rb"(?=\S)")
_SECRET = re.compile(rb"([\"']?)Secret\1(?![\w-])")
# The same between braces, on one line or on several: a brace, a text in quotes, or a name without them. A
# text with a brace may be an object itself.
_TOKEN = re.compile(
    rb"\\.|[{}]|\"([^\"\\\n{}]*+(?:\\.[^\"\\\n{}]*+)*+)\"|(?<!\w)'([^'\\\n{}]*+(?:\\.[^'\\\n{}]*+)*+)'"
    rb"|(?<![\w.-])(kind|apiVersion|metadata|data|stringData)(?=\s{0,8}:)"
)
_COLON = re.compile(rb"\s{0,8}:\s{0,8}")
_BRACED = re.compile(rb"(?<![\w:.-])[\"']?(?:data|stringData)[\"']?\s*:\s*\{")
_MEMBER = re.compile(
    rb"\s*+(?:\"[^\"\n]{0,253}\"|'[^'\n]{0,253}'|[\w./-]{1,253})\s*+:\s*+(?:\"((?:[^\"\\]++|\\.)*+)\""
    rb"|'((?:[^'\\]++|\\.)*+)'|([^\s\"',{}\[\]]++))\s*+,?"
)
_AFTER = (b"", b",", b"#", b'"', b"'")
_SHAPE = frozenset((b"apiVersion", b"metadata"))
_DATA = frozenset((b"data", b"stringData"))
_KEYS = _SHAPE | _DATA | {b"kind"}

# Of a manifest on either side of its kind; no place of it is looked at more than twice.
_LONGEST = 16 * REACH


@dataclass
class _Mapping:
    """The keys that stand side by side, and what stands under `data`. An object of a program looks like it:
    then there has to be more of a manifest than its kind.
    """

    column: int = 0
    keys: set[bytes] = field(default_factory=set)
    is_secret: bool = False
    is_doubtful: bool = False
    spans: list[Span] = field(default_factory=list)

    def held(self) -> list[Span]:
        sure = self.is_secret and (not self.is_doubtful or self.keys & _SHAPE)
        return self.spans if sure else []


def _manifest(data: bytes, found: Any) -> tuple[list[Span], int]:
    """Everything under `data:` of a Secret, whatever its keys are called; it may stand before its kind."""
    first = max(0, found.start() - _LONGEST)
    first = max(first, data.rfind(b"\n---", first, found.start()))
    end = data.find(b"\n---", found.start(), found.end() + _LONGEST)
    if end < 0:  # whole lines: half a secret is one, too
        end = data.find(b"\n", found.end() + _LONGEST)
    end = len(data) if end < 0 else end
    mappings = [*_lines(data, first, end), *_objects(data, first, end)]
    spans = [span for mapping in mappings for span in mapping.held()]
    return [span for span in spans if _is_held(data[slice(*span)].decode("latin-1"))], end


def _is_held(value: str) -> bool:
    return len(value) >= 3 and not is_placeholder(value)


def _line(data: bytes, position: int, end: int) -> tuple[int, int]:
    """Where the line at this position ends, without and with the space at its end."""
    line_end = data.find(b"\n", position, end)
    line_end = end if line_end < 0 else line_end
    return position + len(data[position:line_end].rstrip()), line_end


def _lines(data: bytes, position: int, end: int) -> list[_Mapping]:
    """The mappings whose keys stand on lines of their own, in one column."""
    if position and data[position - 1] != 10:
        position = data.find(b"\n", position, end) + 1 or end
    mappings: list[_Mapping] = []
    within: list[_Mapping] = []
    while position < end:
        stop, line_end = _line(data, position, end)
        text = _TEXT.match(data, position, stop)
        position = line_end + 1
        if text is None or data[text.end()] == 35:  # nothing, or a comment
            continue
        column = len(text[1])
        begun = column - 2 if text[1].endswith(b"- ") else column  # an item begins a mapping of its own
        while within and within[-1].column > begun:
            within.pop()
        key = _KEY.match(data, text.start(), stop)
        if key is None:
            if data[text.end()] not in b"{}[]-":
                while within and within[-1].column >= begun:
                    within.pop()
            continue
        if not within or within[-1].column != column or (key[3] not in _DATA and key[3] in within[-1].keys):
            if within and within[-1].column == column:
                within.pop()
            within.append(_Mapping(column))
            mappings.append(within[-1])
        mapping = within[-1]
        value = data[key.end() : stop]
        if key[3] in _KEYS:
            mapping.keys.add(key[3])
        if key[3] == b"kind":
            named = _SECRET.match(value)
            mapping.is_secret = named is not None and value[named.end() :].lstrip()[:1] in _AFTER
            mapping.is_doubtful |= not key[2] and value.endswith(b",")
        elif key[3] in _DATA and value in (b"", b"{"):
            mapping.is_doubtful |= not key[2] and value == b"{"
            inner, position = _entries(data, position, end, column)
            mapping.spans += inner
        elif key[3] in _DATA and value[:1] == b"{":
            mapping.is_doubtful |= not key[2]
            mapping.spans += (spans := list(_members(data, key.end() + 1, end)))
            if spans:  # on from the line after them: none is read twice
                position = max(position, data.find(b"\n", spans[-1][1], end) + 1 or end)
    return mappings


def _entries(data: bytes, position: int, end: int, depth: int) -> tuple[list[Span], int]:
    """The values in the lines that stand deeper than `data:`, and where these end. Of a text of several
    lines each line is one.
    """
    spans: list[Span] = []
    block = end
    while position < end:
        stop, line_end = _line(data, position, end)
        text = _TEXT.match(data, position, stop)
        if text is not None and len(text[1]) > block:
            spans.append((text.end(), stop))
        elif text is not None:
            block = end
            key = _KEY.match(data, position, stop)
            if len(text[1]) <= depth and data[text.end()] != 35:
                break
            if key is not None and _BLOCK.match(data, key.end(), stop):
                block = len(text[1])
            elif key is not None and (quoted := _QUOTED.match(data, key.end(), stop)):
                spans.append(quoted.span(quoted.lastindex or 0))
            elif key is not None and data[key.end() : key.end() + 1] not in _NO_TEXT:
                spans.append((key.end(), stop - (data[stop - 1] == 44)))
        position = line_end + 1
    return spans, position


# What begins no plain text in YAML.
_NO_TEXT = (b"", *(bytes([sign]) for sign in b"\"'{}[]|>#&*"))


def _objects(data: bytes, position: int, end: int) -> list[_Mapping]:
    """The mappings between braces."""
    mappings: list[_Mapping] = []
    within: list[_Mapping] = []
    while token := _TOKEN.search(data, position, end):
        position = token.end()
        if token[0] == b"{":
            within.append(_Mapping())
            mappings.append(within[-1])
        elif token[0] == b"}":
            del within[-1:]
        elif within and (key := token[token.lastindex or 0]) in _KEYS:
            colon = _COLON.match(data, position, end)
            if colon is None:
                continue
            mapping, position = within[-1], colon.end()
            mapping.keys.add(key)
            if key == b"kind":
                mapping.is_secret = _SECRET.match(data, position, end) is not None
                mapping.is_doubtful |= token.lastindex == 3
            elif key in _DATA and data[position : position + 1] == b"{":
                within.append(_Mapping())
                mapping.spans += (spans := list(_members(data, position + 1, end)))
                position += 1
                if spans:
                    last = spans[-1][1]
                    position = last + (data[last : last + 1] in (b'"', b"'"))  # behind its quote
    return mappings


def _members(data: bytes, position: int, end: int) -> Iterator[Span]:
    while member := _MEMBER.match(data, position, end):
        yield member.span(member.lastindex or 0)
        position = member.end()


def _patched(data: bytes, found: Any) -> tuple[list[Span], int]:
    """Only a Secret has `stringData`: there is no need to see its kind, as in a patch."""
    end = data.find(b"\n", found.end())
    end = len(data) if end < 0 else end
    spans = [
        span
        for head in _BRACED.finditer(data, found.start(), end)
        for span in _members(data, head.end(), end)
    ]
    return [span for span in spans if _is_held(data[slice(*span)].decode("latin-1"))], end


_FROM_LITERAL = re.compile(rb"--from-literal[= \t][\"']?[\w.-]+=[\"']?([^\s\"']+)")


def _literals(data: bytes, found: Any) -> tuple[list[Span], int]:
    end = data.find(b"\n", found.end())
    end = len(data) if end < 0 else end
    given = (literal.span(1) for literal in _FROM_LITERAL.finditer(data, found.end(), end))
    return [span for span in given if not is_placeholder(data[slice(*span)].decode("latin-1"))], end


RULES: tuple[Rule, ...] = (
    Rule(
        "kubernetes-secret",
        "Kubernetes",
        (
            *("kind: secret", 'kind: "secret"', "kind: 'secret'", 'kind":"secret"', 'kind": "secret"'),
            *('kind" : "secret"', "kind': 'secret'", "kind':'secret'"),
        ),
        r"kind[\"']? ?: ?[\"']?Secret(?:[^\w-]|\z)",
        match="apiVersion: v1\ndata:\n  signing: " + alnum(24) + "\nkind: Secret\nmetadata:\n  name: app",
        miss="kind: Secret\nmetadata:\n  name: app\ntype: Opaque\n",
        spread=_manifest,
    ),
    Rule(
        "kubernetes-patch",
        "Kubernetes",
        ("patch secret ", '"stringdata"'),
        r"(?:patch secret [^\n]{0,400}?-p|\"stringData\")",
        match='kubectl patch secret app -p \'{"data":{"signing":"' + alnum(12) + "\"}}'",
        miss='kubectl patch secret app -p \'{"metadata":{"labels":{"a":"bcdefgh"}}}\'',
        spread=_patched,
    ),
    Rule(
        "kubernetes-literal",
        "Kubernetes",
        ("create secret ",),
        r"create secret ",
        match="kubectl create secret generic app --from-literal=signing=" + alnum(12),
        miss="kubectl create secret generic app --from-literal=signing=$SIGNING --from-file=a.txt",
        spread=_literals,
    ),
)

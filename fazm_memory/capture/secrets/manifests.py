"""Secrets in what Kubernetes is told and tells: in a Secret everything is one, whatever it is called."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from fazm_memory.capture.secrets.naming import is_placeholder
from fazm_memory.capture.secrets.rule import REACH, Rule, Span, alnum

# A line of a manifest, behind the number that a viewer may put before it: a key, and its value.
_MARGIN = rb"^(?:[ \t]*\d{1,6}(?:\xff|\t|:) ?)?([ \t]*(?:- )?)"
_LINE = _MARGIN + rb"[\"']?"
_ENTRY = re.compile(
    _LINE + rb"[\w.-]+[\"']?[ \t]*:[ \t]*"
    rb"(?:\"((?:[^\"\\\n]|\\.)+)\"|'([^'\n]+)'|([^\s\"'{}\[\]|>#&*][^\n]*?)),?[ \t\r]*$",
    re.MULTILINE,
)
_DATA = re.compile(_LINE + rb"(?:data|stringData)[\"']?[ \t]*:[ \t]*\{?[ \t\r]*$", re.MULTILINE)
_END = re.compile(_LINE + rb"(?:[\w.-]+[\"']?[ \t]*:|\}|$)", re.MULTILINE)
_BLOCK = re.compile(_LINE + rb"[\w.-]+[\"']?[ \t]*:[ \t]*[|>][0-9+-]{0,2}[ \t\r]*$", re.MULTILINE)
_TEXT_LINE = re.compile(_MARGIN + rb"(\S.*?)[ \t\r]*$", re.MULTILINE)
# The same between braces, on one line or on several.
_BRACED = re.compile(rb"(?<![\w:.-])[\"']?(?:data|stringData)[\"']?\s*:\s*\{")
_MEMBER = re.compile(
    rb"\s*+(?:\"[^\"\n]{0,253}\"|'[^'\n]{0,253}'|[\w./-]{1,253})\s*+:\s*+(?:\"((?:[^\"\\]++|\\.)*+)\""
    rb"|'((?:[^'\\]++|\\.)*+)'|([^\s\"',{}\[\]]++))\s*+,?"
)

# Of a manifest on either side of its kind, as much as a Secret may hold; no place of it is looked at more
# than twice.
_LONGEST = 512 * REACH


def _manifest(data: bytes, found: Any) -> tuple[list[Span], int]:
    """Everything under `data:` of a Secret, whatever its keys are called; it may stand before its kind."""
    first = max(0, found.start() - _LONGEST)
    first = max(first, data.rfind(b"\n---", first, found.start()))
    end = data.find(b"\n---", found.start(), found.end() + _LONGEST)
    if end < 0:  # whole lines: half a secret is one, too
        end = data.find(b"\n", found.end() + _LONGEST)
    end = len(data) if end < 0 else end
    spans: list[Span] = []
    done = first
    for head in _DATA.finditer(data, first, end):
        if head.start() >= done:  # a deeper one has been read with the one around it
            inner, done = _entries(data, head.end() + 1, end, len(head[1]))
            spans += inner
    for head in _BRACED.finditer(data, first, end):
        spans += _members(data, head.end(), end)
    return [span for span in spans if _is_held(data[slice(*span)].decode("latin-1"))], end


def _is_held(value: str) -> bool:
    return len(value) >= 3 and not is_placeholder(value)


def _entries(data: bytes, position: int, end: int, depth: int) -> tuple[list[Span], int]:
    """The values in the lines that stand deeper than `data:`, and where these end. Of a text of several
    lines each line is one.
    """
    spans: list[Span] = []
    block = end
    while position < end:
        line_end = data.find(b"\n", position, end)
        line_end = end if line_end < 0 else line_end
        line = _TEXT_LINE.match(data, position, line_end)
        if line is not None and len(line[1]) > block:
            spans.append(line.span(2))
        elif line is not None:
            block = end
            entry = _ENTRY.match(data, position, line_end)
            if entry is not None and len(entry[1]) > depth:
                spans.append(entry.span(entry.lastindex or 0))
            elif (begun := _BLOCK.match(data, position, line_end)) and len(begun[1]) > depth:
                block = len(begun[1])
            elif (ends := _END.match(data, position, line_end)) and len(ends[1]) <= depth:
                break
        position = line_end + 1
    return spans, position


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
        r"(?i:kind(?:: secret[ \t\r]*(?:#[^\n]*)?(?:[\n\"']|\z)|[\"']? ?: ?[\"']secret[\"']|: secret,))",
        match="apiVersion: v1\ndata:\n  signing: " + alnum(24) + "\nkind: Secret\nmetadata:\n  name: app",
        miss="kind: Secret\nmetadata:\n  name: app\ntype: Opaque\n",
        spread=_manifest,
    ),
    Rule(
        "kubernetes-patch",
        "Kubernetes",
        ("patch secret ", '"stringdata"'),
        r"(?:patch secret |\"stringData\")",
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

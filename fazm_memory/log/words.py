"""The words of an event: what full-text search may find it by.

Only scrubbed text gets here, since only scrubbed text is in the log. Identifiers are also split into their
words, so that `parseInvoiceDate` is found by "invoice".
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from fazm_memory.model.events import Event
from fazm_memory.model.payloads import FAILED

# A capital inside a word. Looking for capitals first and behind them second is five times as fast as
# trying every word of a text for being an identifier.
INSIDE = re.compile(r"[A-Z](?<=[A-Za-z0-9][a-z0-9][A-Z])")
REST = re.compile(r"[A-Za-z0-9]*")
LETTERS = frozenset(string.ascii_letters + string.digits)
HUMPS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9]*[a-z0-9][A-Z][A-Za-z0-9]*")
MOST = 4000  # characters of one event; a long output says nothing new after that
OUTPUT = 2000
SEEN = 200  # names of one listing
HINTS = {
    "prompt": "asked request",
    "message": "said",
    "decision": "decision decided why because reason",
    "fact": "fact",
    "pending": "pending open todo",
    "handoff": "question open asked",
    "handoff.answer": "answer",
    "file": "changed",
    "seen": "listed folder",
    "evicted": "evicted compacted",
}


def words_of(event: Event) -> str:
    """The text an event is indexed by; empty when there is nothing to find it by."""
    payload = event.payload
    if payload is None:
        return ""
    told = TOLD.get(event.kind)
    if told is None:
        return ""
    text = " ".join(part for part in told(payload) if part)[:MOST]
    parts = humps(text)
    return f"{text} {' '.join(parts)}" if parts else text


def indexed_words(event: Event) -> str:
    """The words of an event and those its kind is asked for by: "why" finds decisions, "failed" failures."""
    text = words_of(event)
    if not text:
        return ""
    hints = HINTS.get(event.kind, "")
    if event.kind == "action":
        hints = " ".join(_deeds(event.payload))
    return f"{text} {hints} {kind_word(event.kind)}"


def kind_word(kind: str) -> str:
    """One word that only events of a kind have: how the index is asked for a kind."""
    return "kind" + "".join(filter(str.isalnum, kind))


def _deeds(p: Any) -> list[str]:
    told = ["failed", "failure"] if p.outcome in FAILED else []
    if p.retry_of is not None and not told:
        told.append("mended")
    return [*told, *sorted({touch.change for touch in p.files if touch.change != "read"})]


def humps(text: str) -> list[str]:
    """The words inside the identifiers of a text, in order."""
    found: list[str] = []
    done = 0
    for capital in INSIDE.finditer(text):
        start = capital.start()
        if start < done:
            continue
        while start > done and text[start - 1] in LETTERS:
            start -= 1
        rest = REST.match(text, capital.end())
        done = capital.end() if rest is None else rest.end()
        found += _split(text[start:done])
    return found


@lru_cache(maxsize=4096)
def _split(word: str) -> tuple[str, ...]:
    """The parts of one identifier. The same few recur in a session, so they are split once."""
    whole = IDENTIFIER.search(word)
    return () if whole is None else tuple(HUMPS.findall(whole[0]))


def flat(value: Any, room: int = MOST) -> Iterator[str]:
    """Every text inside a JSON value, in order, until the room is used up; never recursive."""
    stack = [value]
    while stack and room > 0:
        one = stack.pop()
        if isinstance(one, str):
            yield one[:room]
            room -= len(one)
        elif isinstance(one, Mapping):
            for key, inner in reversed(list(one.items())[:200]):
                stack.append(inner)
                if not isinstance(inner, str):
                    stack.append(str(key))
        elif isinstance(one, (list, tuple)):
            stack.extend(reversed(one[:200]))
        elif isinstance(one, (int, float)) and not isinstance(one, bool):
            yield str(one)
            room -= 8


def _action(p: Any) -> Iterator[str | None]:
    yield p.tool
    yield from flat(p.input)
    yield p.error
    yield p.output_summary
    for touch in p.files[:50]:
        yield touch.path
        yield touch.origin
    yield from flat(p.output, OUTPUT)


def _decision(p: Any) -> Iterator[str | None]:
    yield p.what
    yield p.why
    yield from p.alternatives


def _fact(p: Any) -> Iterator[str | None]:
    yield p.key
    yield from flat(p.value)


TOLD: dict[str, Any] = {
    "session.open": lambda p: (p.title, p.workspace, p.agent),
    "session.title": lambda p: (p.title,),
    "prompt": lambda p: (p.text,),
    "message": lambda p: (p.text,),
    "action": _action,
    "decision": _decision,
    "fact": _fact,
    "pending": lambda p: (p.what,),
    "file": lambda p: (p.change, p.path, p.origin, f"by {p.by}"),
    "seen": lambda p: (p.folder, *p.files[:SEEN]),
    "evicted": lambda p: (p.summary, *p.keys[:50]),
    "handoff": lambda p: (p.note,),
    "handoff.answer": lambda p: flat(p.answer),
    "app": lambda p: (p.app, p.title, p.document),
    "gap": lambda p: (p.what, p.note),
}

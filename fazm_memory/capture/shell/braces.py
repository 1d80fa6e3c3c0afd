"""Brace expansion: one word into several, before anything else is expanded."""

from __future__ import annotations

import re
from typing import TypeAlias

from fazm_memory.capture.shell.syntax import Part, Text, Word

_SEQUENCE = re.compile(r"(-?\d{1,9}|[A-Za-z])\.\.(-?\d{1,9}|[A-Za-z])(?:\.\.(-?\d{1,9}))?")
_MOST_WORDS = 10_000
_LARGEST = 1_000_000
_DEEPEST = 20

_Item: TypeAlias = str | Part
"""An unquoted character by itself, or a part that braces cannot look into."""


class _TooMany(Exception):
    pass


def braces(word: Word) -> list[Word] | None:
    """The words that a word stands for; None when there would be too many."""
    if not any(isinstance(part, Text) and not part.quoted and "{" in part.text for part in word):
        return [word]
    items: list[_Item] = []
    for part in word:
        if isinstance(part, Text) and not part.quoted:
            items.extend(part.text)
        else:
            items.append(part)
    try:
        return [_word(choice) for choice in _choices(items, 0)]
    except _TooMany:
        return None


def _word(items: list[_Item]) -> Word:
    parts: list[Part] = []
    run: list[str] = []
    for item in [*items, None]:
        if isinstance(item, str):
            run.append(item)
            continue
        if run:
            parts.append(Text("".join(run)))
            run = []
        if item is not None:
            parts.append(item)
    return tuple(parts)


def _choices(items: list[_Item], depth: int) -> list[list[_Item]]:
    if depth > _DEEPEST:
        raise _TooMany
    closing: dict[int, int] = {}
    opened: list[int] = []
    for at, item in enumerate(items):
        if item == "{":
            opened.append(at)
            if len(opened) > _DEEPEST:
                raise _TooMany
        elif item == "}" and opened:
            closing[opened.pop()] = at
    results: list[list[_Item]] = [[]]
    at = 0
    while at < len(items):
        close = closing.get(at)
        options = None if close is None else _options(items[at + 1 : close], depth)
        if close is None or options is None:
            for result in results:
                result.append(items[at])
            at += 1
            continue
        if len(results) * len(options) * len(items) > _LARGEST:
            raise _TooMany
        results = [[*result, *option] for result in results for option in options]
        at = close + 1
    return results


def _options(items: list[_Item], depth: int) -> list[list[_Item]] | None:
    """What stands between two braces: its alternatives, or None when it is only text in braces."""
    alternatives: list[list[_Item]] = [[]]
    level = 0
    for item in items:
        level += {"{": 1, "}": -1}.get(item, 0) if isinstance(item, str) else 0
        if item == "," and level == 0:
            alternatives.append([])
        else:
            alternatives[-1].append(item)
    if len(alternatives) > 1:
        return [choice for items in alternatives for choice in _choices(items, depth + 1)]
    text = "".join(item if isinstance(item, str) else "\0" for item in items)
    found = _SEQUENCE.fullmatch(text)
    return None if found is None else _sequence(found[1], found[2], found[3])


def _sequence(first: str, last: str, step: str | None) -> list[list[_Item]] | None:
    if first.isalpha() != last.isalpha():
        return None
    low, high = (ord(first), ord(last)) if first.isalpha() else (int(first), int(last))
    by = abs(int(step or 1)) or 1
    if abs(high - low) // by > _MOST_WORDS:
        raise _TooMany
    numbers = range(low, high + 1, by) if low <= high else range(low, high - 1, -by)
    if first.isalpha():
        return [[chr(number)] for number in numbers]
    padded = any(text.lstrip("-").startswith("0") and len(text.lstrip("-")) > 1 for text in (first, last))
    width = max(len(first), len(last)) if padded else 0
    return [list(f"{number:0{width}d}") for number in numbers]

"""How long it takes to say a segment: the simplest program wins, and these are the words' lengths.

The numbers encode what people mean when they name files: a whole field between delimiters before a lone word,
the date in the name before the file's time, anything reused from the old name before a constant that happens
to be the same. `MARGIN` is how much simpler a reading must be before the next no longer counts as a rival.
"""

from __future__ import annotations

from functools import lru_cache

from fazm_memory.model.naming.program import Const, Counter, Part, Segment
from fazm_memory.model.naming.text import How

MARGIN = 0.34
RAW = 1.05  # for keeping the separators at the edges of a part as they are

_TOKEN = {
    "word": 1.4, "chunk": 1.35, "number": 1.0, "digits": 1.35, "date": 0.9, "time": 0.9, "year": 0.9,
    "month": 0.9, "inside": 0.9, "bracket": 1.0, "episode": 0.9, "version": 0.95, "quality": 1.2,
    "stamp": 1.0,
}  # fmt: skip
_EDGE = {
    "start": 0.0, "end": 0.0, "date": 0.3, "time": 0.32, "year": 0.35, "month": 0.5, "inside": 0.3,
    "bracket": 0.3, "episode": 0.3, "version": 0.5, "quality": 0.5, "number": 0.55, "digits": 0.8,
    "chunk": 0.75, "word": 0.8, "text": 0.6, "stamp": 0.4,
}  # fmt: skip
_DELIMITER = {
    " - ": 0.3, " – ": 0.3, " — ": 0.3, "__": 0.3, "--": 0.35, ", ": 0.4, "_": 0.4, "-": 0.45, ".": 0.45,
    " ": 0.7,
}  # fmt: skip
_CODE = {
    "%Y": 0.3, "%m": 0.3, "%d": 0.3, "%y": 0.5, "%-m": 1.1, "%-d": 1.1, "%B": 0.5, "%b": 0.5, "%h": 0.48,
    "%H": 0.4, "%M": 0.4, "%S": 0.4, "%I": 0.75, "%-I": 1.2, "%-H": 1.2, "%p": 0.6, "%q": 0.7, "%V": 0.9,
    "%-V": 1.5, "%j": 1.2, "%A": 0.8, "%a": 0.8, "%o": 0.8,
}  # fmt: skip
_CASE = {
    "": 0.0, "lower": 0.4, "upper": 0.4, "title": 0.45, "initial": 0.55, "first": 0.6, "small": 0.7,
    "camel": 0.6,
}  # fmt: skip
_CUT = {"pad": 0.45, "int": 0.45, "first": 0.9, "last": 1.0, "max": 1.0, "plus": 2.4}
_WHERE = {"name": 0.0, "folder": 0.9, "above": 1.2, "ext": 0.6}


def _index_cost(name: str) -> tuple[str, float]:
    """The kind of thing an anchor belongs to, and what its index adds."""
    kind, _, index = name.rpartition(":")
    if not kind:
        return name, 0.0
    number = int(index.rstrip("<>"))
    return kind, 0.25 * (abs(number) - 1) + (0.08 if number < 0 else 0.0)


@lru_cache(maxsize=4096)
def anchor_cost(name: str) -> float:
    if name in ("start", "end"):
        return 0.0
    if name.startswith("text:"):
        return _EDGE["text"]
    for mark in ("+word", "-word"):
        head, found, tail = name.partition(mark)
        if found:
            return anchor_cost(head) + 0.45 + _index_cost("word" + tail)[1]
    kind, extra = _index_cost(name)
    return extra + (_DELIMITER.get(kind[1:-1], 0.5) if kind.startswith("'") else _EDGE[kind])


@lru_cache(maxsize=16384)
def span_cost(a: str, b: str) -> float:
    if a == "start" and b == "end":
        return 0.5
    if a[:-1] == b[:-1] and a.endswith("<") and not a.startswith("text:"):
        kind, extra = _index_cost(a)
        return extra + (1.6 if kind.startswith("'") else _TOKEN[kind])
    kind, extra = _index_cost(a) if a.startswith("'") else ("", 0.0)
    other, more = _index_cost(b) if b.startswith("'") else ("", 0.0)
    # A delimiter is what a part stops at, not what it includes.
    odd = (0.02 if kind and a.endswith("<") else 0.0) + (0.02 if other and b.endswith(">") else 0.0)
    if kind and kind == other:
        # The field between two delimiters of a kind is one thing, not two.
        return 0.6 + _DELIMITER.get(kind[1:-1], 0.5) + min(extra, more) + 0.25 + odd
    return 0.5 + anchor_cost(a) + anchor_cost(b) + odd


@lru_cache(maxsize=4096)
def how_cost(how: How) -> float:
    total = _CASE[how.case] + (0.4 if how.fold else 0.0)
    if how.split:
        # Who changes case and joins words makes a slug of everything; who keeps case replaces one separator.
        slug = how.case in ("lower", "upper", "title", "camel") and how.join in ("-", "_", "", ".")
        words = {"words": 0.35, "quotes": 0.3} if slug else {"words": 0.75, "quotes": 0.75}
        one = 0.8 if slug else 0.35
        total += one if len(how.split) == 1 else (words | {"seps": 0.6, "camel": 0.5}).get(how.split, 0.7)
    if how.cut:
        total += next((price for name, price in _CUT.items() if how.cut.startswith(name)), 1.0)
    return total


def date_cost(part: Part) -> float:
    name = part.a.partition(" ")[0]
    base = 0.9 if part.where == "modified" else 0.5 + _WHERE[part.where] + _index_cost(name or "start")[1]
    case = 0.2 if part.how.case else 0.0
    return base + _CODE[part.b] + case + (0.6 if part.how.fold not in ("", "en") else 0.0)


def cost(segment: Segment) -> float:
    """The length of a segment's description."""
    if isinstance(segment, Const):
        # Digits rarely stay the same for long: three files from one hour do not make the hour a constant.
        return 0.7 + sum(1.4 if char.isdigit() else 0.3 for char in segment.text)
    if isinstance(segment, Counter):
        return 3.2 if segment.letters else 2.6
    if segment.what == "date":
        return date_cost(segment)
    if segment.where == "ext":
        return _WHERE["ext"] + how_cost(segment.how) + 0.4
    if segment.what == "without":
        return 0.9 + _WHERE[segment.where] + how_cost(segment.how)
    raw = RAW if segment.what == "exactly" else 0.0
    return span_cost(segment.a, segment.b) + raw + _WHERE[segment.where] + how_cost(segment.how)

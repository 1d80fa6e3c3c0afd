"""What a program leaves out of a name: as telling about the kind of file as what it takes.

If every example lost an `IMG_`, a name with something else in that place is another kind of file; and a
reading that would leave out more than any example did is not what was meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from fazm_memory.model.naming.parts import TRIM, Stem
from fazm_memory.model.naming.program import Part, Segment, slot_at, span

_REGULAR = 5  # examples after which a number of words is no chance
_TIMES = ("%H", "%-H", "%I", "%-I", "%M", "%S", "%p")
Gaps = dict[tuple[str, str], str]  # between which two parts, what was left out


def _place(part: Part, stem: Stem) -> tuple[str, tuple[int, int] | None]:
    """What the part takes, by name, and where it stands."""
    if part.what == "without":
        return "name", (0, len(stem.text))
    if part.what != "date":
        return f"{part.a}…{part.b}", span(stem, part.a, part.b)
    key = part.a.partition(" ")[0]
    slot = slot_at(stem, key)
    if slot is None:
        return key, None
    return key, (slot.start, slot.time_end if part.b in _TIMES else slot.end)


def _taken(segments: Iterable[Segment], stem: Stem, apart: bool) -> list[tuple[int, int, str]] | None:
    """The places a program uses, in order; None when one is missing, or overlaps another and must not."""
    places: dict[str, tuple[int, int]] = {}
    for part in segments:
        if isinstance(part, Part) and part.where == "name":
            key, found = _place(part, stem)
            if found is None:
                return None
            start, end = places.get(key, found)
            places[key] = (min(start, found[0]), max(end, found[1]))
    merged: list[tuple[int, int, str]] = []
    for start, end, key in sorted((*place, key) for key, place in places.items()):
        if merged and start < merged[-1][1]:
            if apart:
                return None
            last = merged.pop()
            merged.append((last[0], max(last[1], end), min(last[2], key)))
        else:
            merged.append((start, end, key))
    # The time behind a date goes with it, unless it is used for something else.
    times = {slot.end: slot.time_end for slot in stem.slots}
    for index, (start, end, key) in enumerate(merged):
        until = times.get(end, end)
        if index + 1 == len(merged) or merged[index + 1][0] >= until:
            merged[index] = (start, until, key)
    return merged


def gaps(segments: Iterable[Segment], stem: Stem, *, apart: bool = False) -> Gaps | None:
    """What is left out before, between and after the parts; None when they do not go with the name."""
    taken = _taken(segments, stem, apart)
    if taken is None:
        return None
    edges = [(0, 0, "^"), *taken, (len(stem.text), len(stem.text), "$")]
    return {
        (left[2], right[2]): stem.text[left[1] : right[0]].strip(TRIM + "()[]{}")
        for left, right in pairwise(edges)
    }


def left_out(segments: Iterable[Segment], stem: Stem, *, apart: bool) -> tuple[str, ...] | None:
    """The words a reading makes no use of; None when it does not go with the name."""
    found = gaps(segments, stem, apart=apart)
    if found is None:
        return None
    return tuple(word for text in found.values() for word in re.findall(r"[^\W_]+", text.lower()))


def _class(text: str) -> str:
    """How much alike two dropped pieces must be."""
    if not text:
        return "nothing"
    if text.isdigit():
        return "a number"
    shape = re.sub(r"\d+", "0", re.sub(r"[^\W\d_]+", "w", text))
    if re.fullmatch(r"[w0]+", shape) and shape != "w":
        return "a code"
    return "words" if re.fullmatch(r"w(?:[ _.,'\-]+w)*", shape) else "shape:" + shape


def _words(text: str) -> int:
    return len(re.findall(r"[^\W_]+", text))


def gap_rule(texts: Sequence[str]) -> tuple[str, str]:
    """What a gap must hold, from what it held: the same, nothing, a class of things, one piece, anything."""
    lowered = {text.lower() for text in texts}
    if len(lowered) == 1:
        text = lowered.pop()
        return ("same", text) if text else ("nothing", "")
    classes = {_class(text) for text in texts}
    counts = {_words(text) for text in texts}
    if classes == {"words"} and len(counts) == 1 and len(texts) >= _REGULAR:
        return "words", str(counts.pop())
    if len(classes) == 1 and classes != {"a code"}:
        return "class", classes.pop()
    if classes <= {"a number", "words", "a code"} and not any(re.search(r"[\W_]", text) for text in texts):
        return "one", ""
    return "free", ""


def gap_complaint(rule: str, expected: str, found: str) -> str | None:
    """Why this gap is not like those of the examples; None when it is."""
    if rule == "same" and found.lower() != expected:
        return f'every example had "{expected}" where this name has "{found}"'
    if rule == "nothing" and found:
        return f'no example had anything like "{found}" in this place'
    if rule == "words" and (_class(found) != "words" or str(_words(found)) != expected):
        return f'every example had words in another number than "{found}" in this place'
    alike = re.fullmatch(r"[^\W_]+", found) if rule == "one" else rule != "class" or _class(found) == expected
    return None if alike else f'"{found}" does not look like what the examples had in this place'

"""A naming convention as a small program: a row of constants, parts of the old name and counters.

Running the program on a file gives its new name; `naming/pattern.py` says it as people read it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from fazm_memory.model.naming import moments as naming_moments
from fazm_memory.model.naming import text as naming_text
from fazm_memory.model.naming.dates import Slot
from fazm_memory.model.naming.parts import TRIM, Stem, Subject
from fazm_memory.model.naming.text import KEEP, How


@dataclass(frozen=True, slots=True)
class Const:
    """The same text for every file."""

    text: str


@dataclass(frozen=True, slots=True)
class Part:
    """Something taken from the file: what stands between two anchors, or a component of a date."""

    where: str  # name | folder | above (the folder's parent) | modified | ext
    what: str  # between | exactly | without | date
    a: str = "start"
    b: str = "end"
    how: How = KEEP


@dataclass(frozen=True, slots=True)
class Counter:
    """A number (or letter) that grows from file to file; scope says what starts it anew."""

    start: int
    step: int = 1
    width: int = 1
    scope: str = "all"  # all | folder | name (whatever comes before it)
    letters: str = ""  # "" digits | a | A


Segment = Const | Part | Counter


@dataclass(frozen=True, slots=True)
class Choice:
    """A segment, and the other readings the examples leave just as open."""

    first: Segment
    others: tuple[Segment, ...] = ()


@dataclass(frozen=True)
class Program:
    """Destination folder, stem and extension; `rivals` are other stems that explain the examples as well."""

    stem: tuple[Choice, ...]
    folder: tuple[Choice, ...] = ()
    base: str = "own"  # the folder is inside the file's own folder, or a path by itself: own | path
    folders: tuple[tuple[str, str], ...] = ()  # by extension, when a table explains the folder
    ext: str = "keep"  # keep | lower | upper | usual | table
    exts: tuple[tuple[str, str], ...] = ()
    rivals: tuple[tuple[Segment, ...], ...] = ()

    @property
    def counter(self) -> Counter | None:
        return next((c.first for c in self.stem if isinstance(c.first, Counter)), None)


def segments(program: Program) -> list[Segment]:
    """The first reading of the folder, then of the stem."""
    return [choice.first for choice in (*program.folder, *program.stem)]


def _stem_of(subject: Subject, where: str) -> Stem | None:
    if where == "name":
        return subject.name
    index = ("folder", "above").index(where)
    return subject.parents[index] if index < len(subject.parents) else None


def span(stem: Stem, a: str, b: str) -> tuple[int, int] | None:
    start, end = stem.position(a), stem.position(b)
    return None if start is None or end is None or start >= end else (start, end)


def source(part: Part, subject: Subject) -> str | None:
    """The text a part takes, before it is rewritten."""
    if part.where == "ext":
        return subject.extension or None
    stem = _stem_of(subject, part.where)
    if stem is None:
        return None
    if part.what == "without":
        return stem.without(part.a) or None
    found = span(stem, part.a, part.b)
    if found is None:
        return None
    text = stem.text[found[0] : found[1]]
    return text if part.what == "exactly" else trimmed(text) or None


def trimmed(text: str) -> str:
    """Without the separators at its edges, nor a bracket whose other half is elsewhere."""
    text = text.strip(TRIM)
    for opening, closing in ("()", "[]", "{}"):
        if text.count(opening) != text.count(closing):
            text = text.strip(opening + closing).strip(TRIM)
    return text


def slot_at(stem: Stem, place: str) -> Slot | None:
    """The slot a place names: `date:1` the first date, `year:-1` the last year."""
    kind, _, index = place.partition(":")
    slots = stem.of_kind(kind)
    at = int(index) - 1 if int(index) > 0 else int(index)
    return slots[at] if -len(slots) <= at < len(slots) else None


def moment(part: Part, subject: Subject) -> naming_moments.Moment | None:
    if part.where == "modified":
        return subject.modified
    stem = _stem_of(subject, part.where)
    if stem is None:
        return None
    place, _, order = part.a.partition(" ")
    slot = slot_at(stem, place)
    return None if slot is None else slot.readings.get(order)


def value(part: Part, subject: Subject) -> str | None:
    """What a part contributes to the new name of this file; None when the file has no such part."""
    if part.what == "date":
        at = moment(part, subject)
        text = naming_moments.write(at, part.b, part.how.fold or "en") if at else None
        return text if text is None else naming_text.recase(text, part.how.case)
    taken = source(part, subject)
    return None if taken is None else naming_text.rewrite(taken, part.how)


def count_text(counter: Counter, number: int) -> str:
    if not counter.letters:
        return str(number).zfill(counter.width)
    text = ""
    while number > 0:
        number, digit = divmod(number - 1, 26)
        text = chr(ord(counter.letters) + digit) + text
    return text


def count_value(counter: Counter, text: str) -> int:
    if not counter.letters:
        return int(text)
    number = 0
    for letter in text:
        number = number * 26 + ord(letter) - ord(counter.letters) + 1
    return number


def run(segments: Iterable[Segment], subject: Subject) -> list[str | Counter] | None:
    """The new text piece by piece, counters left open; None when the file lacks a part."""
    out: list[str | Counter] = []
    for segment in segments:
        if isinstance(segment, Counter):
            out.append(segment)
            continue
        text = segment.text if isinstance(segment, Const) else value(segment, subject)
        if text is None:
            return None
        out.append(text)
    return out


def read_counter(pieces: Sequence[str | Counter], text: str) -> tuple[str, str] | None:
    """What stands before the counter, and the counter, when the text is made of these pieces; else None."""
    pattern = ""
    for piece in pieces:
        if isinstance(piece, str):
            pattern += re.escape(piece)
        elif piece.letters:
            pattern += f"([{piece.letters}-{'z' if piece.letters == 'a' else 'Z'}]{{1,2}})"
        else:
            pattern += rf"(\d{{{piece.width},18}})"
    match = re.fullmatch(pattern, text)
    return None if match is None else (text[: match.start(1)], match.group(1))


USUAL = {"jpeg": "jpg", "jpe": "jpg", "tiff": "tif", "htm": "html", "mpeg": "mpg", "yml": "yaml"}


def extension(program: Program, old: str) -> str | None:
    """The new extension; None when the program was never shown this one."""
    if program.ext == "keep":
        return old
    if program.ext == "upper":
        return old.upper()
    if program.ext == "table":
        return dict(program.exts).get(old.lower())
    return old.lower() if program.ext == "lower" else USUAL.get(old.lower(), old.lower())


def _segment_out(segment: Segment) -> list[Any]:
    if isinstance(segment, Const):
        return ["const", segment.text]
    if isinstance(segment, Counter):
        return ["counter", segment.start, segment.step, segment.width, segment.scope, segment.letters]
    return ["part", segment.where, segment.what, segment.a, segment.b, list(segment.how)]


def _segment_in(data: Sequence[Any]) -> Segment:
    kind, *rest = data
    if kind == "const":
        return Const(*rest)
    if kind == "counter":
        return Counter(*rest)
    where, what, a, b, how = rest
    return Part(where, what, a, b, How(*how))


def _choices_out(choices: Sequence[Choice]) -> list[list[list[Any]]]:
    return [[_segment_out(segment) for segment in (choice.first, *choice.others)] for choice in choices]


def _choices_in(data: Sequence[Sequence[Sequence[Any]]]) -> tuple[Choice, ...]:
    rows = [[_segment_in(segment) for segment in row] for row in data]
    return tuple(Choice(row[0], tuple(row[1:])) for row in rows)


def to_json(program: Program) -> dict[str, Any]:
    return {
        "stem": _choices_out(program.stem),
        "folder": _choices_out(program.folder),
        "base": program.base,
        "folders": [list(row) for row in program.folders],
        "ext": program.ext,
        "exts": [list(row) for row in program.exts],
        "rivals": [[_segment_out(segment) for segment in rival] for rival in program.rivals],
    }


def from_json(data: dict[str, Any]) -> Program:
    return Program(
        stem=_choices_in(data["stem"]),
        folder=_choices_in(data["folder"]),
        base=data["base"],
        folders=tuple((key, path) for key, path in data["folders"]),
        ext=data["ext"],
        exts=tuple((old, new) for old, new in data["exts"]),
        rivals=tuple(tuple(_segment_in(segment) for segment in rival) for rival in data["rivals"]),
    )

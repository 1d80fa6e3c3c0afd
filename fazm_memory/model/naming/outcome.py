"""A program applied to one new file: what it becomes, what else it might, or why nobody can know."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from fazm_memory.model.naming import guard as naming_guard
from fazm_memory.model.naming import program as naming_program
from fazm_memory.model.naming.examples import folder_of
from fazm_memory.model.naming.form import form, looks_named
from fazm_memory.model.naming.gaps import left_out
from fazm_memory.model.naming.guard import Guard
from fazm_memory.model.naming.parts import Subject
from fazm_memory.model.naming.program import Counter, Part, Program, Segment, segments
from fazm_memory.model.naming.text import How

ALREADY = "it is already named so"
_MISSING = "a part of the name that the convention uses is missing"


@dataclass(frozen=True)
class Outcome:
    """The path of the file in its new place, relative to its folder unless the program leads elsewhere."""

    path: str | None
    because: str = ""
    alternatives: tuple[str, ...] = ()


@dataclass(frozen=True)
class Surroundings:
    """What else decides a name: how far counters have come, and which paths (folded) are taken."""

    counted: Mapping[str, int]
    taken: Collection[str]


def fold_case(path: str) -> str:
    """Names that differ only in case are one file on most desktops."""
    return unicodedata.normalize("NFC", path).casefold()


def _next_number(program: Program, counter: Counter, folder: str, before: str, around: Surroundings) -> int:
    """The number after the highest one used in the counter's scope."""
    key = {"all": "", "folder": folder, "name": f"{folder}/{before}"}[counter.scope]
    inside = fold_case(folder) + "/" if folder else ""
    if counter.scope == "name":
        pattern = re.escape(inside + fold_case(before)) + r"(?P<count>\d{1,18})(?!\d).*"
    else:
        anywhere = "" if counter.scope == "folder" or folder else "(?:.*/)?"
        pattern = anywhere + re.escape(inside) + form(program)[0] + r"(?:\.\w+)?"
    known = re.compile(pattern, re.IGNORECASE)
    used = [around.counted[key]] if key in around.counted else []
    if not counter.letters:
        used += [int(match["count"]) for path in around.taken if (match := known.fullmatch(path))]
    return max(used) + counter.step if used else counter.start


def _path(
    program: Program,
    reading: tuple[Sequence[Segment], Sequence[Segment]],
    subject: Subject,
    around: Surroundings,
) -> str | None:
    """The new path under one reading; a counter goes on, past names that are taken."""
    folder = folder_of(program, reading[0], subject)
    extension = naming_program.extension(program, subject.extension)
    pieces = naming_program.run(reading[1], subject)
    if folder is None or extension is None or pieces is None:
        return None
    number: int | None = None
    before = ""
    for piece in pieces:
        if isinstance(piece, Counter):
            number, counter = _next_number(program, piece, folder, before, around), piece
            break
        before += piece

    def spelled(count: int | None) -> str:
        texts = (p if isinstance(p, str) else naming_program.count_text(p, count or 0) for p in pieces)
        name = "".join(texts) + ("." + extension if extension else "")
        return f"{folder}/{name}" if folder else name

    while number is not None and fold_case(spelled(number)) in around.taken:
        number += counter.step
    return spelled(number)


def _readings(program: Program, guard: Guard, subject: Subject) -> list[tuple[list[Segment], list[Segment]]]:
    """Folder and stem as first read, then with one segment read otherwise, then whole other stems."""
    choices = (*program.folder, *program.stem)
    first = segments(program)
    rows = [first]
    for index, choice in enumerate(choices):
        rows += [[*first[:index], other, *first[index + 1 :]] for other in choice.others]
    for index, width in guard.widths:
        rows.append([*first[:index], _padded(first[index], width), *first[index + 1 :]])
    for index in guard.late:
        rows.append([*first[:index], _bare(first[index]), *first[index + 1 :]])
    if guard.plain and not subject.name.text.isascii():
        rows.append([_without_accents(segment) for segment in first])
    cut = len(program.folder)
    rows += [[*first[:cut], *rival] for rival in program.rivals]
    return [(row[:cut], row[cut:]) for row in rows]


def _without_accents(segment: Segment) -> Segment:
    """The same, as a slug would have it: no example showed what becomes of accents."""
    if not isinstance(segment, Part) or segment.what == "date" or segment.how.fold or not segment.how.split:
        return segment
    return replace(segment, how=segment.how._replace(fold="ascii"))


def _bare(segment: Segment) -> Segment:
    """The same without a zero: in `14 March` nobody can see whether the fourth would be `04`."""
    return replace(segment, b=segment.b.replace("%", "%-")) if isinstance(segment, Part) else segment


def _padded(segment: Segment, width: int) -> Segment:
    """The same with zeros: numbers of one length do not show what becomes of a shorter one."""
    return replace(segment, how=How(cut=f"pad{width}")) if isinstance(segment, Part) else segment


def apply(program: Program, guard: Guard, subject: Subject, around: Surroundings) -> Outcome:
    """What the convention makes of this file."""
    if looks_named(program, guard, subject):
        return Outcome(None, ALREADY)
    refused = naming_guard.refusal(guard, program, subject)
    if refused:
        return Outcome(None, refused)
    unlike = naming_guard.gap_refusal(guard, program, subject)
    if unlike and guard.dropped is None:
        return Outcome(None, unlike)
    paths: list[str] = []
    doubtful: list[str] = []
    for reading in _readings(program, guard, subject):
        whole = [*reading[0], *reading[1]]
        # A reading that leaves out more, or less, of the name than any example did is not what was meant.
        if guard.dropped not in (None, left_out(whole, subject.name, apart=guard.apart)):
            continue
        path = _path(program, reading, subject, around)
        if path is not None:
            unheard = naming_guard.untold(guard, whole, subject) or (guard.spaceless and " " in path)
            (doubtful if unheard else paths).append(path)
    paths = list(dict.fromkeys(paths))
    if not paths:
        return _nothing_known(program, subject, unlike, doubtful)
    if len(paths) > 1:
        return Outcome(None, "the examples allow more than one reading of this name", tuple(paths[:4]))
    name = paths[0].rpartition("/")[2]
    if name.startswith(".") or "\0" in name or not name.strip(". "):
        return Outcome(None, "nothing of the name would be left")
    return Outcome(None, ALREADY) if paths[0] == subject.basename else Outcome(paths[0])


def _nothing_known(program: Program, subject: Subject, unlike: str | None, doubtful: list[str]) -> Outcome:
    if doubtful:
        because = "no example shows what becomes of such a name"
        return Outcome(None, because, tuple(dict.fromkeys(doubtful))[:4])
    timed = any(isinstance(part, Part) and part.where == "modified" for part in segments(program))
    if timed and subject.modified is None:
        return Outcome(None, "the name holds the file's modification time, which is not known here")
    return Outcome(None, unlike or _MISSING)

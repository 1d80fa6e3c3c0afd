"""When a convention speaks about a file at all: the file must look, to its program, as the examples did.

Where it does not, the convention stays silent instead of guessing, and says what it has never seen.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from fazm_memory.model.naming.gaps import gap_complaint, gap_rule, gaps, left_out
from fazm_memory.model.naming.parts import Subject
from fazm_memory.model.naming.program import Const, Part, Program, Segment, segments, source, value
from fazm_memory.model.naming.traits import trait_text, traits

_FAMILIES = tuple(
    frozenset(row.split())
    for row in (
        "jpg jpeg jpe png gif heic heif tif tiff webp bmp avif raw cr2 cr3 nef arw dng orf rw2",
        "mp4 mov m4v avi mkv mpg mpeg webm 3gp mts",
        "mp3 m4a flac wav aac ogg opus aiff aif wma",
        "doc docx odt rtf pages",
        "xls xlsx ods numbers",
        "ppt pptx odp key",
        "srt vtt ass sub",
        "yml yaml",
        "htm html",
    )
)
_LOOKED_AT = 200  # examples that say what names look like


@dataclass(frozen=True)
class Guard:
    """What the examples looked like, as far as it matters for the next file."""

    exts: tuple[str, ...]
    any_ext: bool = False
    gaps: tuple[tuple[str, str, str, str], ...] = ()  # left part, right part, rule, text: what is left out
    dropped: tuple[str, ...] | None = None  # the words left out of every name, when they were always the same
    apart: bool = False  # no part of a name was used twice
    widths: tuple[tuple[int, int], ...] = ()  # segments that copied numbers of one width only
    runs: tuple[tuple[int, int], ...] = ()  # segments that rewrote texts with a number of one width only
    solid: tuple[int, ...] = ()  # segments that rewrote single words only
    late: tuple[int, ...] = ()  # components of written-out dates that never had a zero in front
    spaceless: bool = False  # names had spaces before and never after
    first: str = ""  # a word every example began with
    needs: str = ""  # the trait that sets these files apart from those of a sibling convention
    skips: tuple[str, ...] = ()  # traits of the files the session left alone
    plain: bool = True  # no example had letters beyond ASCII
    formed: bool = False  # no old name had the form of the new ones
    telling: bool = False  # and that form is one no name has by chance

    def to_json(self) -> dict[str, Any]:
        rows = {row.name: getattr(self, row.name) for row in fields(self)}
        return {name: _lists(row) if isinstance(row, tuple) else row for name, row in rows.items()}

    @staticmethod
    def from_json(data: dict[str, Any]) -> Guard:
        rows: dict[str, Any] = {k: _tuples(row) if isinstance(row, list) else row for k, row in data.items()}
        return Guard(**rows)


def _lists(row: Sequence[Any]) -> list[Any]:
    return [_lists(item) if isinstance(item, tuple) else item for item in row]


def _tuples(row: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(_tuples(item) if isinstance(item, list) else item for item in row)


def learn_guard(program: Program, subjects: Sequence[Subject], results: Sequence[str]) -> Guard:
    """What the files of these examples have in common, as the program sees them."""
    exts = sorted({subject.extension.lower() for subject in subjects})
    families = {next((i for i, row in enumerate(_FAMILIES) if ext in row), ext) for ext in exts}
    subjects = subjects[:_LOOKED_AT]
    used = segments(program)
    found = [gaps(used, subject.name) for subject in subjects]
    rows = [row for row in found if row is not None]
    regular = len(rows) == len(found) and len({tuple(row) for row in rows}) == 1
    apart = all(gaps(used, subject.name, apart=True) is not None for subject in subjects)
    dropped = {left_out(used, subject.name, apart=apart) for subject in subjects}
    shared = frozenset.intersection(*map(traits, subjects))
    starts = [trait[6:] for trait in shared if trait.startswith("first:") and len(trait) > 8]
    return Guard(
        exts=tuple(exts),
        any_ext=len(exts) >= 4 or len(families) == len(exts) == 3,
        gaps=tuple((*key, *gap_rule([row[key] for row in rows])) for key in rows[0]) if regular else (),
        apart=apart,
        dropped=dropped.pop() if len(dropped) == 1 else None,
        widths=_widths(used, subjects),
        runs=_runs(used, subjects),
        solid=_solid(used, subjects),
        late=_late(used, subjects),
        spaceless=any(" " in one.name.text for one in subjects) and not any(" " in one for one in results),
        # Three files may begin alike by chance; four hardly do.
        first=starts[0] if starts and len(subjects) >= 4 else "",
        plain=all(subject.name.text.isascii() for subject in subjects),
    )


def _widths(used: Sequence[Segment], subjects: Sequence[Subject]) -> tuple[tuple[int, int], ...]:
    """Copied numbers that all had the same width; none when another one shows that widths are left alone."""
    found = []
    for index, part in enumerate(used):
        if isinstance(part, Part) and part.what != "date" and part.how.keeps:
            texts = [value(part, subject) or "" for subject in subjects]
            if not all(text.isdigit() for text in texts):
                continue
            if len({len(text) for text in texts}) > 1:
                return ()
            if len(texts[0]) > 1:
                found.append((index, len(texts[0])))
    return tuple(found)


def _runs(used: Sequence[Segment], subjects: Sequence[Subject]) -> tuple[tuple[int, int], ...]:
    found = []
    for index, part in enumerate(used):
        # Who only swaps a separator copies the number; who rejoins the words may well have padded it.
        if isinstance(part, Part) and part.what != "date" and len(part.how.split) > 1 and not part.how.cut:
            widths = [[len(run) for run in re.findall(r"\d+", source(part, s) or "")] for s in subjects]
            if len(widths[0]) == 1 and widths[0][0] > 1 and all(row == widths[0] for row in widths):
                found.append((index, widths[0][0]))
    return tuple(found)


def _late(used: Sequence[Segment], subjects: Sequence[Subject]) -> tuple[int, ...]:
    """The days and hours of a date written with words and spaces that never had a zero in front."""
    dates = [(i, part) for i, part in enumerate(used) if isinstance(part, Part) and part.what == "date"]
    if not any(part.b in ("%B", "%b", "%h", "%A", "%a") for _, part in dates):
        return ()
    spaced = [
        i
        for i, const in enumerate(used)
        if isinstance(const, Const) and const.text.startswith((" ", ", ", ". "))
    ]
    days = [(i, part) for i, part in dates if part.b in ("%d", "%I") and i + 1 in spaced]
    return tuple(i for i, part in days if not any((value(part, s) or "").startswith("0") for s in subjects))


def _single(part: Segment) -> bool:
    """Does the part change the case of a text without a word about what joins its words?"""
    if not isinstance(part, Part) or part.what == "date":
        return False
    return bool(part.how.case) and not part.how.split and not part.how.cut


def _several(part: Segment, subject: Subject) -> bool:
    return isinstance(part, Part) and re.search(r"[\s_\-.]", source(part, subject) or "") is not None


def _solid(used: Sequence[Segment], subjects: Sequence[Subject]) -> tuple[int, ...]:
    rows = enumerate(used)
    return tuple(i for i, part in rows if _single(part) and not any(_several(part, s) for s in subjects))


def untold(guard: Guard, reading: Sequence[Segment], subject: Subject) -> bool:
    """Would this reading rewrite what no example had: several words for one, a number with fewer digits?"""
    solid = [reading[index] for index in guard.solid if index < len(reading)]
    if any(_single(part) and _several(part, subject) for part in solid):
        return True
    for index, width in guard.runs:
        part = reading[index] if index < len(reading) else None
        if isinstance(part, Part) and part.what != "date":
            run = re.search(r"\d+", source(part, subject) or "")
            if run is not None and len(run.group()) < width:
                return True
    return False


def refusal(guard: Guard, program: Program, subject: Subject) -> str | None:
    """Why the convention does not speak about such a file; None when it may."""
    extension = subject.extension.lower()
    if extension not in guard.exts:
        kin = any(extension in row and not row.isdisjoint(guard.exts) for row in _FAMILIES)
        if program.ext == "table" or program.folders or not (guard.any_ext or kin):
            missing = f"the extension .{extension}" if extension else "no extension"
            shown = ", ".join("." + ext if ext else "none" for ext in guard.exts)
            return f"no example had {missing} (seen: {shown})"
    own = traits(subject)
    skipped = next((trait for trait in guard.skips if trait in own), None)
    if skipped is not None:
        return f"such files were skipped: {trait_text(skipped)}"
    if guard.needs and guard.needs not in own:
        return f"every example had: {trait_text(guard.needs)}"
    if guard.first and f"first:{guard.first}" not in own:
        return f'every example began with "{guard.first}"'
    return None


def gap_refusal(guard: Guard, program: Program, subject: Subject) -> str | None:
    """Why what the program leaves out of this name is not like what it left out of the examples."""
    found = gaps(segments(program), subject.name)
    if found is None:
        return "a part of the name that the convention uses is missing"
    if guard.gaps and found.keys() != {(left, right) for left, right, _, _ in guard.gaps}:
        return "the parts of the name stand in another order than in the examples"
    complaints = (gap_complaint(rule, text, found[left, right]) for left, right, rule, text in guard.gaps)
    return next((complaint for complaint in complaints if complaint), None)


def accepts(guard: Guard, program: Program, subject: Subject) -> bool:
    return refusal(guard, program, subject) is None and gap_refusal(guard, program, subject) is None

"""When a convention applies to a file.

The file must look like the examples to the convention's program.

The text that a program drops from a name says as much about the kind of file as the text it keeps. If every
example lost an `IMG_`, a name with another text in that place is another kind of file. Where a file differs
from the examples, the convention does not guess; it says what no example had.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any

from fazm_memory.engines.naming.parts import TRIM, InputFile, Stem, trait_text, traits
from fazm_memory.engines.naming.program import (
    KEEP,
    CounterPart,
    FixedText,
    NamePart,
    Program,
    Rewrite,
    Segment,
    apply_rewrite,
    date_slot,
    first_reading,
    new_extension,
    part_source,
    part_value,
    span_between,
)

MISSING_PART = "a part of the name that the convention uses is missing"

_MIN_REGULAR = 5  # examples needed before a constant number of words counts as a rule
_TIMES = ("%H", "%-H", "%I", "%-I", "%M", "%S", "%p")
DroppedParts = dict[tuple[str, str], str]  # dropped text, by the parts to its left and right


def _place(part: NamePart, stem: Stem) -> tuple[str, tuple[int, int] | None]:
    """A key for the text that the part takes, and its position."""
    if part.what == "without":
        return "name", (0, len(stem.text))
    if part.what != "date":
        return f"{part.a}…{part.b}", span_between(stem, part.a, part.b)
    key = part.a.partition(" ")[0]
    slot = date_slot(stem, key)
    if slot is None:
        return key, None
    return key, (slot.start, slot.time_end if part.b in _TIMES else slot.end)


def _used_positions(
    segments: Iterable[Segment], stem: Stem, no_overlap: bool
) -> list[tuple[int, int, str]] | None:
    """The positions a program uses, in order.

    None when one is missing or overlaps against the rule.
    """
    places: dict[str, tuple[int, int]] = {}
    for part in segments:
        if isinstance(part, NamePart) and part.where == "name":
            key, found = _place(part, stem)
            if found is None:
                return None
            start, end = places.get(key, found)
            places[key] = (min(start, found[0]), max(end, found[1]))
    merged: list[tuple[int, int, str]] = []
    for start, end, key in sorted((*place, key) for key, place in places.items()):
        if merged and start < merged[-1][1]:
            if no_overlap:
                return None
            last = merged.pop()
            merged.append((last[0], max(last[1], end), min(last[2], key)))
        else:
            merged.append((start, end, key))
    # A time after a date belongs to it, unless the program uses it for something else.
    times = {slot.end: slot.time_end for slot in stem.slots}
    for index, (start, end, key) in enumerate(merged):
        until = times.get(end, end)
        if index + 1 == len(merged) or merged[index + 1][0] >= until:
            merged[index] = (start, until, key)
    return merged


def dropped_parts(
    segments: Iterable[Segment], stem: Stem, *, no_overlap: bool = False
) -> DroppedParts | None:
    """The text dropped before, between and after the parts.

    None when the parts do not fit the name.
    """
    used = _used_positions(segments, stem, no_overlap)
    if used is None:
        return None
    edges = [(0, 0, "^"), *used, (len(stem.text), len(stem.text), "$")]
    return {
        (left[2], right[2]): stem.text[left[1] : right[0]].strip(TRIM + "()[]{}")
        for left, right in pairwise(edges)
    }


def dropped_words(segments: Iterable[Segment], stem: Stem, *, no_overlap: bool) -> tuple[str, ...] | None:
    """The words that a reading drops; None when it does not fit the name."""
    found = dropped_parts(segments, stem, no_overlap=no_overlap)
    if found is None:
        return None
    return tuple(word for text in found.values() for word in re.findall(r"[^\W_]+", text.lower()))


def _text_class(text: str) -> str:
    """The class of a dropped text, for comparing it with other dropped texts."""
    if not text:
        return "nothing"
    if text.isdigit():
        return "a number"
    shape = re.sub(r"\d+", "0", re.sub(r"[^\W\d_]+", "w", text))
    if re.fullmatch(r"[w0]+", shape) and shape != "w":
        return "a code"
    return "words" if re.fullmatch(r"w(?:[ _.,'\-]+w)*", shape) else "shape:" + shape


def _word_count(text: str) -> int:
    return len(re.findall(r"[^\W_]+", text))


def dropped_part_rule(texts: Sequence[str]) -> tuple[str, str]:
    """The rule for a dropped text, learned from the examples.

    One of: same, nothing, words, class, one, free.
    """
    lowered = {text.lower() for text in texts}
    if len(lowered) == 1:
        text = lowered.pop()
        return ("same", text) if text else ("nothing", "")
    classes = {_text_class(text) for text in texts}
    counts = {_word_count(text) for text in texts}
    if classes == {"words"} and len(counts) == 1 and len(texts) >= _MIN_REGULAR:
        return "words", str(counts.pop())
    if len(classes) == 1 and classes != {"a code"}:
        return "class", classes.pop()
    if classes <= {"a number", "words", "a code"} and not any(re.search(r"[\W_]", text) for text in texts):
        return "one", ""
    return "free", ""


def dropped_part_mismatch(rule: str, expected: str, found: str) -> str | None:
    """Why a dropped text differs from those of the examples; None when it does not."""
    if rule == "same" and found.lower() != expected:
        return f'every example had "{expected}" where this name has "{found}"'
    if rule == "nothing" and found:
        return f'no example had anything like "{found}" in this place'
    if rule == "words" and (_text_class(found) != "words" or str(_word_count(found)) != expected):
        return f'the examples had another number of words than "{found}" in this place'
    alike = (
        re.fullmatch(r"[^\W_]+", found)
        if rule == "one"
        else rule != "class" or _text_class(found) == expected
    )
    return None if alike else f'"{found}" does not look like what the examples had in this place'


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
_MAX_EXAMPLES = 200


# Field names in stored JSON, where they differ.
_STORED_NAMES = {
    "extensions": "exts",
    "any_extension": "any_ext",
    "dropped_parts": "gaps",
    "dropped_words": "dropped",
    "no_overlap": "apart",
    "number_widths": "widths",
    "digit_runs": "runs",
    "single_words": "solid",
    "unpadded_dates": "late",
    "no_spaces": "spaceless",
    "first_word": "first",
    "required_trait": "needs",
    "skipped_traits": "skips",
    "ascii_only": "plain",
    "recognizable": "formed",
    "distinctive": "telling",
}
_FIELD_NAMES = {stored: name for name, stored in _STORED_NAMES.items()}


@dataclass(frozen=True)
class Applicability:
    """What the examples had in common, as far as it matters for the next file."""

    extensions: tuple[str, ...]
    any_extension: bool = False
    dropped_parts: tuple[tuple[str, str, str, str], ...] = ()  # left part, right part, rule, text
    dropped_words: tuple[str, ...] | None = None  # set when every example dropped the same words
    no_overlap: bool = False  # no part of a name was used twice
    number_widths: tuple[tuple[int, int], ...] = ()  # segment, width: copied numbers of one width
    digit_runs: tuple[tuple[int, int], ...] = ()  # segment, width: rewritten texts with numbers of one width
    single_words: tuple[int, ...] = ()  # segments that only rewrote single words
    unpadded_dates: tuple[int, ...] = ()  # segments of written-out dates that never began with a zero
    no_spaces: bool = False  # old names had spaces, new names never did
    first_word: str = ""  # the word that every example began with
    required_trait: str = ""  # sets these files apart from those of another convention
    skipped_traits: tuple[str, ...] = ()  # traits of skipped files
    ascii_only: bool = True  # every example was ASCII
    recognizable: bool = False  # no old name had the form of the new names
    distinctive: bool = False  # and no name has that form by chance

    def to_json(self) -> dict[str, Any]:
        rows = {_STORED_NAMES[row.name]: getattr(self, row.name) for row in fields(self)}
        return {name: _lists(row) if isinstance(row, tuple) else row for name, row in rows.items()}

    @staticmethod
    def from_json(data: dict[str, Any]) -> Applicability:
        rows: dict[str, Any] = {
            _FIELD_NAMES[key]: _tuples(row) if isinstance(row, list) else row for key, row in data.items()
        }
        return Applicability(**rows)


def _lists(row: Sequence[Any]) -> list[Any]:
    return [_lists(item) if isinstance(item, tuple) else item for item in row]


def _tuples(row: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(_tuples(item) if isinstance(item, list) else item for item in row)


def learn_applicability(
    program: Program, files: Sequence[InputFile], results: Sequence[str]
) -> Applicability:
    """What these files have in common, as the program sees them."""
    exts = sorted({file.extension.lower() for file in files})
    families = {next((i for i, row in enumerate(_FAMILIES) if ext in row), ext) for ext in exts}
    files = files[:_MAX_EXAMPLES]
    used = first_reading(program)
    found = [dropped_parts(used, file.name) for file in files]
    rows = [row for row in found if row is not None]
    regular = len(rows) == len(found) and len({tuple(row) for row in rows}) == 1
    no_overlap = all(dropped_parts(used, file.name, no_overlap=True) is not None for file in files)
    dropped = {dropped_words(used, file.name, no_overlap=no_overlap) for file in files}
    shared = frozenset.intersection(*map(traits, files))
    starts = [trait[6:] for trait in shared if trait.startswith("first:") and len(trait) > 8]
    return Applicability(
        extensions=tuple(exts),
        any_extension=len(exts) >= 4 or len(families) == len(exts) == 3,
        dropped_parts=tuple((*key, *dropped_part_rule([row[key] for row in rows])) for key in rows[0])
        if regular
        else (),
        no_overlap=no_overlap,
        dropped_words=dropped.pop() if len(dropped) == 1 else None,
        number_widths=_number_widths(used, files),
        digit_runs=_digit_runs(used, files),
        single_words=_single_words(used, files),
        unpadded_dates=_unpadded_dates(used, files),
        no_spaces=any(" " in file.name.text for file in files)
        and not any(" " in result for result in results),
        # Three files may begin alike by chance; four rarely do.
        first_word=starts[0] if starts and len(files) >= 4 else "",
        ascii_only=all(file.name.text.isascii() for file in files),
    )


def _number_widths(used: Sequence[Segment], files: Sequence[InputFile]) -> tuple[tuple[int, int], ...]:
    """Copied numbers of one width. Empty when another copied number varies in width."""
    found = []
    for index, part in enumerate(used):
        if isinstance(part, NamePart) and part.what != "date" and part.rewrite.is_identity:
            texts = [part_value(part, file) or "" for file in files]
            if not all(text.isdigit() for text in texts):
                continue
            if len({len(text) for text in texts}) > 1:
                return ()
            if len(texts[0]) > 1:
                found.append((index, len(texts[0])))
    return tuple(found)


def _digit_runs(used: Sequence[Segment], files: Sequence[InputFile]) -> tuple[tuple[int, int], ...]:
    found = []
    for index, part in enumerate(used):
        # Replacing one separator copies the number; joining words anew may have padded it.
        if (
            isinstance(part, NamePart)
            and part.what != "date"
            and len(part.rewrite.split) > 1
            and not part.rewrite.cut
        ):
            widths = [[len(run) for run in re.findall(r"\d+", part_source(part, s) or "")] for s in files]
            if len(widths[0]) == 1 and widths[0][0] > 1 and all(row == widths[0] for row in widths):
                found.append((index, widths[0][0]))
    return tuple(found)


def _unpadded_dates(used: Sequence[Segment], files: Sequence[InputFile]) -> tuple[int, ...]:
    """Days and hours in dates written out in words that never began with a zero."""
    dates = [(i, part) for i, part in enumerate(used) if isinstance(part, NamePart) and part.what == "date"]
    if not any(part.b in ("%B", "%b", "%h", "%A", "%a") for _, part in dates):
        return ()
    spaced = [
        i
        for i, const in enumerate(used)
        if isinstance(const, FixedText) and const.text.startswith((" ", ", ", ". "))
    ]
    days = [(i, part) for i, part in dates if part.b in ("%d", "%I") and i + 1 in spaced]
    return tuple(i for i, part in days if not any((part_value(part, s) or "").startswith("0") for s in files))


def _only_changes_case(part: Segment) -> bool:
    """Whether the part changes case and leaves separators and length alone."""
    if not isinstance(part, NamePart) or part.what == "date":
        return False
    return bool(part.rewrite.case) and not part.rewrite.split and not part.rewrite.cut


def _has_several_words(part: Segment, file: InputFile) -> bool:
    return isinstance(part, NamePart) and re.search(r"[\s_\-.]", part_source(part, file) or "") is not None


def _single_words(used: Sequence[Segment], files: Sequence[InputFile]) -> tuple[int, ...]:
    rows = enumerate(used)
    return tuple(
        i
        for i, part in rows
        if _only_changes_case(part) and not any(_has_several_words(part, f) for f in files)
    )


def is_unprecedented(rules: Applicability, reading: Sequence[Segment], file: InputFile) -> bool:
    """Whether a reading would rewrite what no example had.

    For instance several words, or a shorter number.
    """
    single = [reading[index] for index in rules.single_words if index < len(reading)]
    if any(_only_changes_case(part) and _has_several_words(part, file) for part in single):
        return True
    for index, width in rules.digit_runs:
        part = reading[index] if index < len(reading) else None
        if isinstance(part, NamePart) and part.what != "date":
            run = re.search(r"\d+", part_source(part, file) or "")
            if run is not None and len(run.group()) < width:
                return True
    return False


def why_not_applicable(rules: Applicability, program: Program, file: InputFile) -> str | None:
    """Why the convention does not apply to such a file; None when it does."""
    extension = file.extension.lower()
    if extension not in rules.extensions:
        related = any(extension in row and not row.isdisjoint(rules.extensions) for row in _FAMILIES)
        if program.ext == "table" or program.folders or not (rules.any_extension or related):
            missing = f"the extension .{extension}" if extension else "no extension"
            shown = ", ".join("." + ext if ext else "none" for ext in rules.extensions)
            return f"no example had {missing} (seen: {shown})"
    own = traits(file)
    skipped = next((trait for trait in rules.skipped_traits if trait in own), None)
    if skipped is not None:
        return f"such files were skipped: {trait_text(skipped)}"
    if rules.required_trait and rules.required_trait not in own:
        return f"every example had: {trait_text(rules.required_trait)}"
    if rules.first_word and f"first:{rules.first_word}" not in own:
        return f'every example began with "{rules.first_word}"'
    return None


def why_dropped_parts_differ(rules: Applicability, program: Program, file: InputFile) -> str | None:
    """Why the text dropped from this name differs from the examples.

    None when it does not.
    """
    found = dropped_parts(first_reading(program), file.name)
    if found is None:
        return MISSING_PART
    if rules.dropped_parts and found.keys() != {(left, right) for left, right, _, _ in rules.dropped_parts}:
        return "the parts of the name are in another order than in the examples"
    mismatches = (
        dropped_part_mismatch(rule, text, found[left, right])
        for left, right, rule, text in rules.dropped_parts
    )
    return next((mismatch for mismatch in mismatches if mismatch), None)


def applies_to(rules: Applicability, program: Program, file: InputFile) -> bool:
    return (
        why_not_applicable(rules, program, file) is None
        and why_dropped_parts_differ(rules, program, file) is None
    )


_CODES = {
    "%Y": r"(?:19|20)\d\d", "%-m": r"\d\d?", "%-d": r"\d\d?", "%-H": r"\d\d?", "%-I": r"\d\d?",
    "%-V": r"\d\d?", "%q": "[1-4]", "%j": r"\d{3}", "%p": "(?i:[ap]m)", "%o": r"\d\d?(?:st|nd|rd|th)",
    "%B": r"[^\W\d_]+", "%b": r"[^\W\d_]+", "%h": r"[^\W\d_]{3}", "%A": r"[^\W\d_]+", "%a": r"[^\W\d_]{3}",
}  # fmt: skip
_MAX_FREE_TEXTS = 3  # more would make matching too slow


def _segment_regex(segment: Segment) -> tuple[str, Rewrite | None]:
    """A regular expression for the text of a segment, and the rewrite of a free text."""
    if isinstance(segment, FixedText):
        return re.escape(segment.text), None
    if isinstance(segment, CounterPart):
        return ("(?P<count>[A-Za-z])" if segment.letters else rf"(?P<count>\d{{{segment.width},18}})"), KEEP
    if segment.what == "date":
        return _CODES.get(segment.b, r"\d\d"), None
    number = segment.a.startswith(("number:", "digits:", "year:")) and segment.a[:-1] == segment.b[:-1]
    if segment.rewrite.cut.startswith(("pad", "int", "plus")) or (number and segment.rewrite.is_identity):
        return r"\d+", None
    return "(.+?)", segment.rewrite


def result_regex(program: Program) -> tuple[str, list[Rewrite]]:
    """A regular expression for the stems of a program, and the rewrites of its groups."""
    rows = [_segment_regex(choice.first) for choice in program.stem]
    return "".join(pattern for pattern, _ in rows), [rewrite for _, rewrite in rows if rewrite is not None]


def _has_form(program: Program, file: InputFile) -> bool:
    if new_extension(program, file.extension) != file.extension:
        return False
    pattern, rewrites = result_regex(program)
    match = re.fullmatch(pattern, file.name.text)
    if match is None:
        return False
    # A text that was cut cannot be cut again, but its case and separators can be checked.
    groups = zip(match.groups(), rewrites, strict=True)
    return all(apply_rewrite(text, rewrite._replace(cut="")) == text for text, rewrite in groups)


def already_follows(program: Program, rules: Applicability, file: InputFile) -> bool:
    """Whether this file already has a name that the program would give."""
    if not rules.recognizable or not _has_form(program, file):
        return False
    return rules.distinctive or not applies_to(rules, program, file)


def with_result_form(rules: Applicability, program: Program, before: Sequence[InputFile]) -> Applicability:
    """The rules, completed by whether new names can be distinguished from old ones."""
    firsts = [choice.first for choice in program.stem]
    if (
        len(firsts) < 2
        or len(result_regex(program)[1]) > _MAX_FREE_TEXTS
        or any(_has_form(program, file) for file in before)
    ):
        return rules
    fixed = any(
        isinstance(first, CounterPart)
        or (isinstance(first, FixedText) and len(first.text.strip()) > 2)
        or (isinstance(first, NamePart) and first.what == "date")
        for first in firsts
    )
    return replace(rules, recognizable=True, distinctive=fixed)

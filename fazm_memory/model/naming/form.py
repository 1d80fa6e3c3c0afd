"""The form of the names a program gives, to tell a name that follows it already from one that waits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from fazm_memory.model.naming import guard as naming_guard
from fazm_memory.model.naming import program as naming_program
from fazm_memory.model.naming.guard import Guard
from fazm_memory.model.naming.parts import Subject
from fazm_memory.model.naming.program import Const, Counter, Part, Program, Segment
from fazm_memory.model.naming.text import KEEP, How, rewrite

_CODES = {
    "%Y": r"(?:19|20)\d\d", "%-m": r"\d\d?", "%-d": r"\d\d?", "%-H": r"\d\d?", "%-I": r"\d\d?",
    "%-V": r"\d\d?", "%q": "[1-4]", "%j": r"\d{3}", "%p": "(?i:[ap]m)", "%o": r"\d\d?(?:st|nd|rd|th)",
    "%B": r"[^\W\d_]+", "%b": r"[^\W\d_]+", "%h": r"[^\W\d_]{3}", "%A": r"[^\W\d_]+", "%a": r"[^\W\d_]{3}",
}  # fmt: skip
_MOST_TEXTS = 3  # free texts a form may have before matching it could take for ever


def _segment_form(segment: Segment) -> tuple[str, How | None]:
    """A regular expression for what a segment gives, and how a free text must have been rewritten."""
    if isinstance(segment, Const):
        return re.escape(segment.text), None
    if isinstance(segment, Counter):
        return ("(?P<count>[A-Za-z])" if segment.letters else rf"(?P<count>\d{{{segment.width},18}})"), KEEP
    if segment.what == "date":
        return _CODES.get(segment.b, r"\d\d"), None
    number = segment.a.startswith(("number:", "digits:", "year:")) and segment.a[:-1] == segment.b[:-1]
    if segment.how.cut.startswith(("pad", "int", "plus")) or (number and segment.how.keeps):
        return r"\d+", None
    return "(.+?)", segment.how


def form(program: Program) -> tuple[str, list[How]]:
    """A regular expression for the stems a program gives, and how its groups must have been rewritten."""
    rows = [_segment_form(choice.first) for choice in program.stem]
    return "".join(pattern for pattern, _ in rows), [how for _, how in rows if how is not None]


def _has_form(program: Program, subject: Subject) -> bool:
    if naming_program.extension(program, subject.extension) != subject.extension:
        return False
    pattern, hows = form(program)
    match = re.fullmatch(pattern, subject.name.text)
    if match is None:
        return False
    # What was cut short cannot be cut again; its case and separators can still be seen.
    seen = zip(match.groups(), hows, strict=True)
    return all(rewrite(text, how._replace(cut="")) == text for text, how in seen)


def looks_named(program: Program, guard: Guard, subject: Subject) -> bool:
    """Does this name follow the program already, rather than wait for it?"""
    if not guard.formed or not _has_form(program, subject):
        return False
    return guard.telling or not naming_guard.accepts(guard, program, subject)


def with_form(guard: Guard, program: Program, before: Sequence[Subject]) -> Guard:
    """The guard, knowing whether new names can be told from old ones."""
    firsts = [choice.first for choice in program.stem]
    if (
        len(firsts) < 2
        or len(form(program)[1]) > _MOST_TEXTS
        or any(_has_form(program, one) for one in before)
    ):
        return guard
    fixed = any(
        isinstance(first, Counter)
        or (isinstance(first, Const) and len(first.text.strip()) > 2)
        or (isinstance(first, Part) and first.what == "date")
        for first in firsts
    )
    return replace(guard, formed=True, telling=fixed)

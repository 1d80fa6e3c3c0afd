"""An example of a convention, a rename taken apart, and how a program accounts for it, counters included."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import gcd

from fazm_memory.model.naming import program as naming_program
from fazm_memory.model.naming.parts import Subject
from fazm_memory.model.naming.program import Choice, Program, Segment

_STEPS = (1, 2, 5, 10, 100)  # how people count; any three numbers have some step in common


@dataclass(frozen=True)
class Example:
    """One rename, taken apart: the file as it was, and the folder, stem and extension it was given."""

    subject: Subject
    folder: str
    stem: str
    extension: str
    order: int

    @property
    def result(self) -> str:
        name = self.stem + ("." + self.extension if self.extension else "")
        return f"{self.folder}/{name}" if self.folder else name


def folder_of(program: Program, folder: Sequence[Segment], subject: Subject) -> str | None:
    """The folder a file goes to under a reading of the program's folder; None when it lacks a part of it."""
    if program.folders:
        return dict(program.folders).get(subject.extension.lower())
    pieces = naming_program.run(folder, subject)
    return None if pieces is None else "".join(piece for piece in pieces if isinstance(piece, str))


def predicted_folder(program: Program, subject: Subject) -> str | None:
    return folder_of(program, [choice.first for choice in program.folder], subject)


def can_say(program: Program, subject: Subject) -> bool:
    """Would the program name this file at all?"""
    return (
        naming_program.extension(program, subject.extension) is not None
        and predicted_folder(program, subject) is not None
        and naming_program.run([choice.first for choice in program.stem], subject) is not None
    )


def explains(program: Program, example: Example) -> bool:
    return reading(program, example) is not None


def reading(program: Program, example: Example) -> tuple[str, str] | None:
    """How the example comes out of the program: what stands before its counter, and the counter's text."""
    if naming_program.extension(program, example.subject.extension) != example.extension:
        return None
    if predicted_folder(program, example.subject) != example.folder:
        return None
    pieces = naming_program.run([choice.first for choice in program.stem], example.subject)
    if pieces is None:
        return None
    if program.counter is not None:
        return naming_program.read_counter(pieces, example.stem)
    return ("", "") if "".join(str(piece) for piece in pieces) == example.stem else None


def _steady(numbers: list[int]) -> int | None:
    """The step of numbers that count, without repeating and with few gaps; 0 for a single one."""
    ordered = sorted(numbers)
    gaps = [b - a for a, b in pairwise(ordered)]
    if not gaps:
        return 0
    step = gcd(*gaps)
    if step not in _STEPS or 0 in gaps or len(numbers) < 0.6 * ((ordered[-1] - ordered[0]) // step + 1):
        return None
    return step


def settle_counter(
    program: Program, examples: Sequence[Example]
) -> tuple[Program, tuple[tuple[str, int], ...]] | None:
    """Start, step and scope of the program's counter, from all the examples; None when it does not count."""
    counter = program.counter
    if counter is None:
        return program, ()
    rows = []
    for example in examples:
        read = reading(program, example)
        if read is not None:
            rows.append((example, read[0], naming_program.count_value(counter, read[1])))
    for scope in ("all", "folder", "name"):
        groups: dict[str, list[int]] = defaultdict(list)
        for example, before, number in rows:
            key = {"all": "", "folder": example.folder, "name": f"{example.folder}/{before}"}[scope]
            groups[key].append(number)
        steps = {step for step in map(_steady, groups.values()) if step != 0}
        starts = {min(numbers) for numbers in groups.values()}
        if len(steps) == 1 and None not in steps and (scope == "all" or len(starts) == 1) and len(rows) >= 3:
            (step,) = steps
            settled = replace(counter, start=min(starts), step=step or 1, scope=scope)
            stem = tuple(Choice(settled) if choice.first == counter else choice for choice in program.stem)
            counted = sorted((key, max(group)) for key, group in groups.items())
            return replace(program, stem=stem), tuple(counted)
    return None

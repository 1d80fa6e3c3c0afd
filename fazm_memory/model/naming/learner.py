"""From examples to programs: find one that explains most of them, take those away, and look again.

The search reads a handful of examples; every program it finds is then held against all of them, and an
example it fails on joins the handful when one program can explain both. What is left is exception, or noise.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

from fazm_memory.model.naming import program as naming_program
from fazm_memory.model.naming.examples import Example, explains, settle_counter
from fazm_memory.model.naming.parts import Subject
from fazm_memory.model.naming.program import USUAL, Choice, Const, Counter, Part, Program, Segment
from fazm_memory.model.naming.search import search

_SAMPLE = 6
_SEEDS = 5
_TRIES = 5
_WITNESSES = 400  # examples that a rival reading has to stand up to
_WORTH = 2.5  # description an additional explained example may cost


@dataclass(frozen=True)
class Fit:
    """A program, what it costs to say, the examples it explains, and where its counters stand."""

    program: Program
    cost: float
    explained: tuple[Example, ...]
    counted: tuple[tuple[str, int], ...] = ()

    @property
    def score(self) -> float:
        return len(self.explained) * _WORTH - self.cost


def _extension_rule(examples: Sequence[Example]) -> tuple[str, tuple[tuple[str, str], ...], float] | None:
    pairs = [(example.subject.extension, example.extension) for example in examples]
    if all(old == new for old, new in pairs):
        return "keep", (), 0.0
    if all(old.lower() == new for old, new in pairs):
        return "lower", (), 0.3
    if all(old.upper() == new for old, new in pairs):
        return "upper", (), 0.3
    if all(USUAL.get(old.lower(), old.lower()) == new for old, new in pairs):
        return "usual", (), 0.5
    table: dict[str, str] = {}
    for old, new in pairs:
        if table.setdefault(old.lower(), new) != new:
            return None
    return "table", tuple(sorted(table.items())), 0.7 * len(set(table.values()))


def _folder_table(examples: Sequence[Example]) -> tuple[tuple[str, str], ...] | None:
    """Folders by extension, when some extension shows it more than once."""
    table: dict[str, str] = {}
    for example in examples:
        if table.setdefault(example.subject.extension.lower(), example.folder) != example.folder:
            return None
    kinds = len(set(table.values()))
    return tuple(sorted(table.items())) if 2 <= kinds < len(examples) else None


def fit(examples: Sequence[Example], base: str, crowd: int = 0) -> tuple[Program, float] | None:
    """The simplest program that explains all of these few examples."""
    rule = _extension_rule(examples)
    if rule is None:
        return None
    kind, table, ext_cost = rule
    subjects = [example.subject for example in examples]
    folders = [example.folder for example in examples]
    folder_paths = search(subjects, folders)
    by_ext = None
    if not folder_paths:
        by_ext = _folder_table(examples)
        if by_ext is None:
            return None
    stems = search(subjects, [example.stem for example in examples], crowd=crowd)
    if not stems:
        return None
    price, stem = stems[0]
    rivals = tuple(tuple(choice.first for choice in path) for _, path in stems[1:])
    folder_price, folder = folder_paths[0] if folder_paths else (1.5 * len(set(folders)), ())
    program = Program(stem, folder, base, by_ext or (), kind, table, rivals)
    return program, price + folder_price + ext_cost


def spread(examples: Sequence[Example], most: int) -> list[Example]:
    """A few examples that differ from each other as much as these do, the same ones every time."""
    by_shape: dict[tuple[str, str], list[Example]] = defaultdict(list)
    for example in sorted(examples, key=lambda e: (e.subject.name.text, e.subject.folder, e.stem)):
        by_shape[example.subject.name.shape, example.subject.extension.lower()].append(example)
    rows = sorted(by_shape.values(), key=lambda row: -len(row))
    chosen: list[Example] = []
    for turn in range(max(map(len, rows), default=0)):
        for row in rows:
            if turn < len(row) and len(chosen) < most:
                # From both ends inwards: neighbours in the alphabet are the most alike.
                chosen.append(row[turn // 2] if turn % 2 == 0 else row[-1 - turn // 2])
    return chosen


def _judge(
    program: Program, price: float, pool: Sequence[Example], everyone: Sequence[Example]
) -> Fit | None:
    explained = tuple(example for example in pool if explains(program, example))
    # Whether a counter counts can only be told from all the files, not from a few of them.
    settled = settle_counter(program, everyone)
    return None if settled is None else Fit(settled[0], price, explained, settled[1])


def _grow(
    sample: list[Example], pool: Sequence[Example], base: str, everyone: Sequence[Example]
) -> Fit | None:
    """The fit that starts from these examples; without a counter when the counter turns out not to count."""
    for crowd in (len(everyone), 0):
        found = _grown(sample, pool, base, crowd)
        grown = None if found is None else _judge(*found, pool, everyone)
        if grown is not None and len(grown.explained) > 1:
            return grown
        if found is None or found[0].counter is None:
            break
    return None


def _grown(
    sample: list[Example], pool: Sequence[Example], base: str, crowd: int
) -> tuple[Program, float] | None:
    found = fit(sample, base, crowd)
    if found is None:
        return None
    program, price = found
    tries = 0
    for example in pool:
        if tries == _TRIES or len(sample) > 9:
            break
        if example in sample or explains(program, example):
            continue
        tries += 1
        wider = fit([*sample, example], base, crowd)
        if wider is not None and wider[1] <= price + _WORTH:
            sample = [*sample, example]
            program, price = wider
    return program, price


def _alike(one: Example, other: Example) -> tuple[bool, bool, bool]:
    return (
        one.subject.name.shape != other.subject.name.shape,
        one.subject.extension.lower() != other.subject.extension.lower(),
        one.folder != other.folder,
    )


def _settles(best: Fit, seed: Example, pool: Sequence[Example]) -> bool:
    """Is there nothing left to find among the files that look like this one?"""
    alike = [example for example in pool if _alike(seed, example)[:2] == (False, False)]
    explained = set(map(id, best.explained))
    return len(alike) > 2 and sum(id(example) in explained for example in alike) >= 0.9 * len(alike)


def _best(examples: Sequence[Example], base: str) -> Fit | None:
    """The fit that explains most, for what it costs."""
    pool = spread(examples, 48)
    whole = _grow(pool[:_SAMPLE], pool, base, examples)
    if whole is not None and len(whole.explained) >= 0.8 * len(pool):
        return whole
    best = whole
    for seed in pool[:_SEEDS]:
        partners = sorted((e for e in pool if e is not seed), key=lambda e: _alike(seed, e))
        for partner in partners[:2]:
            grown = _grow([seed, partner], [seed, *partners], base, examples)
            if grown is not None and (best is None or grown.score > best.score):
                best = grown
        if best is not None and _settles(best, seed, pool):
            break
    return best


def _tightened(found: Fit, examples: Sequence[Example]) -> Fit | None:
    """The fit against all the examples, without the readings that some of them rule out."""
    judged = _judge(found.program, found.cost, examples, examples)
    if judged is None or len(judged.explained) < 2:
        return None
    explained = judged.explained[:_WITNESSES]

    def holds(segment: Segment, first: Segment) -> bool:
        return all(_said(segment, e.subject) == _said(first, e.subject) for e in explained)

    def tighten(choices: tuple[Choice, ...]) -> tuple[Choice, ...]:
        return tuple(Choice(c.first, tuple(o for o in c.others if holds(o, c.first))) for c in choices)

    program = judged.program
    rivals = tuple(r for r in program.rivals if _rival_holds(r, program, explained))
    program = replace(program, stem=tighten(program.stem), folder=tighten(program.folder), rivals=rivals)
    return replace(judged, program=program)


def _said(segment: Segment, subject: Subject) -> str | None:
    if isinstance(segment, Const):
        return segment.text
    return naming_program.value(segment, subject) if isinstance(segment, Part) else None


def _rival_holds(rival: tuple[Segment, ...], program: Program, explained: Sequence[Example]) -> bool:
    if any(isinstance(segment, Counter) for segment in rival):
        return False
    plain = replace(program, stem=tuple(Choice(segment) for segment in rival))
    return all(explains(plain, example) for example in explained)


def learn_programs(examples: Sequence[Example], base: str) -> list[Fit]:
    """Programs in the order of what they explain, each for the examples the earlier ones left over."""
    fits: list[Fit] = []
    rest = list(examples)
    while len(rest) >= 2 and len(fits) < 8:
        best = _best(rest, base)
        found = None if best is None else _tightened(best, rest)
        if found is None:
            break
        fits.append(found)
        taken = set(map(id, found.explained))
        rest = [example for example in rest if id(example) not in taken]
    return fits

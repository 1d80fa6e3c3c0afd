"""Learn conventions from renames, and rules for the files that were skipped.

The search reads a handful of examples and finds a program for them. The program is then checked against all
examples. An example that it fails on joins the handful when one program can explain both. Explained examples
are removed, and the search starts again. What remains are exceptions or noise.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import gcd
from unicodedata import normalize

from fazm_memory.engines.naming import (
    ALREADY_NAMED,
    NO_RULE,
    Convention,
    FolderProgress,
    ListedFile,
    NamingReport,
    Rename,
    SkippedFiles,
)
from fazm_memory.engines.naming.applicability import (
    Applicability,
    already_follows,
    applies_to,
    learn_applicability,
    with_result_form,
)
from fazm_memory.engines.naming.parts import (
    MAX_NAME_LENGTH,
    InputFile,
    distinguishing_trait,
    input_file,
    split_path,
    trait_text,
    traits,
)
from fazm_memory.engines.naming.program import (
    USUAL,
    Choice,
    CounterPart,
    FixedText,
    NamePart,
    Program,
    Segment,
    can_name,
    counter_number,
    destination_text,
    first_reading,
    new_extension,
    other_readings,
    part_value,
    pattern_text,
    predicted_folder,
    read_counter,
    run_segments,
)
from fazm_memory.engines.naming.search import search

_SYSTEM = frozenset(("thumbs.db", "desktop.ini", "icon\r", "icon", "ehthumbs.db"))
# One file makes no rule, unless its name contains one of these words.
_WORDS = "draft wip private keep backup old tmp temp copy template sample readme ignore original final"
_SKIP_WORDS = frozenset(_WORDS.split())


@dataclass(frozen=True)
class SizedFile:
    """A file of a folder, and its size when known."""

    file: InputFile
    size: int | None = None

    @property
    def name(self) -> str:
        return self.file.basename


def _hidden(entry: SizedFile) -> bool:
    return entry.name.startswith((".", "~$")) or entry.name.lower() in _SYSTEM


def _size_text(size: int) -> str:
    for unit, scale in (("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)):
        if size >= scale:
            return f"{size / scale:.3g} {unit}"
    return f"{size} bytes"


def _size_rule(rest: Sequence[SizedFile], touched: Sequence[SizedFile]) -> str:
    """The size that separates these files from the renamed ones; "" when none does."""
    sizes = [entry.size for entry in rest if entry.size is not None]
    if len(sizes) < len(rest) or not sizes:
        return ""
    known = [entry.size for entry in touched if entry.size is not None]
    if max(sizes) == 0 and 0 not in known:
        return "empty"
    if len(known) < 2:
        return ""
    if min(sizes) > max(known) and (len(sizes) > 1 or min(sizes) > 2 * max(known)):
        return f"larger than {_size_text(max(known))}"
    if max(sizes) < min(known) and (len(sizes) > 1 or 2 * max(sizes) < min(known)):
        return f"smaller than {_size_text(min(known))}"
    return ""


def _common_trait(rest: Sequence[SizedFile], excluded: frozenset[str], kinds: tuple[str, ...]) -> str:
    """The trait that most of these files and no renamed file have.

    "" when there is none.
    """
    counts = Counter(trait for entry in rest for trait in traits(entry.file) - excluded)
    known = [(trait.partition(":")[0], trait, count) for trait, count in counts.items()]
    ranked = sorted((-count, kinds.index(kind), trait) for kind, trait, count in known if kind in kinds)
    for negative, _, trait in ranked:
        kind, _, text = trait.partition(":")
        if negative <= -2 or kind in ("ext", "copy") or text in _SKIP_WORDS:
            return trait
    return ""


def explain_skipped(
    folder: str, untouched: Sequence[SizedFile], touched: Sequence[SizedFile], named: Sequence[SizedFile]
) -> tuple[list[SkippedFiles], tuple[str, ...]]:
    """Rules for the untouched files of a folder, and traits in their names.

    `named` are the untouched files that already follow a convention.
    """
    skipped: list[SkippedFiles] = []
    learned: list[str] = []
    rest = sorted(untouched, key=lambda entry: entry.name)

    def add_rule(rule: str, entries: Sequence[SizedFile]) -> None:
        if entries:
            skipped.append(
                SkippedFiles(folder, rule, tuple(entry.name for entry in entries[:20]), len(entries))
            )
            rest[:] = [entry for entry in rest if entry not in entries]

    add_rule("hidden", [entry for entry in rest if _hidden(entry)])
    add_rule(ALREADY_NAMED, [entry for entry in rest if entry in named])
    excluded = frozenset().union(*(traits(entry.file) for entry in touched)) if touched else frozenset()
    for kinds in (("ext",), ("copy", "first", "word")):
        while trait := _common_trait(rest, excluded, kinds):
            add_rule(trait_text(trait), [entry for entry in rest if trait in traits(entry.file)])
            learned.append(trait)
    add_rule(_size_rule(rest, touched) or NO_RULE, rest[:])
    return skipped, tuple(learned)


@dataclass(frozen=True)
class ComposedRenames:
    """One rename per file, first to last path, and all paths it ever had."""

    moves: tuple[Rename, ...]  # in the order of each file's first rename
    paths: frozenset[str]


def _folders(path: str) -> Iterator[str]:
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def compose(renames: Sequence[Rename]) -> ComposedRenames:
    """Combine chains of renames; leave out files that got their first name back.

    A file renamed a → b → c was renamed a → c. A folder renamed later takes its files along.
    """
    origin: dict[str, Rename] = {}  # first rename, by current path
    within: dict[str, set[str]] = defaultdict(set)  # current paths below each folder
    paths: set[str] = set()

    def add(path: str, first: Rename) -> None:
        origin[path] = first
        for folder in _folders(path):
            within[folder].add(path)

    def remove(path: str) -> Rename | None:
        first = origin.pop(path, None)
        if first is not None:
            for folder in _folders(path):
                within[folder].discard(path)
        return first

    for rename in sorted(renames, key=lambda r: r.seq):
        before, after = (normalize("NFC", path.rstrip("/")) for path in (rename.before, rename.after))
        for path in sorted(within.get(before, ())):
            first = remove(path)
            if first is not None:
                add(after + path[len(before) :], first)
        if not before or not after:
            continue
        paths |= {before, after}
        first = remove(before) or Rename(before, before, rename.seq, rename.mtime)
        remove(after)  # overwritten
        add(after, replace(first, mtime=first.mtime or rename.mtime))
    moves = [replace(first, after=path) for path, first in origin.items() if first.before != path]
    return ComposedRenames(tuple(sorted(moves, key=lambda r: (r.seq, r.before, r.after))), frozenset(paths))


_STEPS = (1, 2, 5, 10, 100)  # steps people count in; any numbers have some common divisor


@dataclass(frozen=True)
class Example:
    """A rename: the file as it was, and its new folder, stem and extension."""

    file: InputFile
    folder: str
    stem: str
    extension: str
    order: int

    @property
    def result(self) -> str:
        name = self.stem + ("." + self.extension if self.extension else "")
        return f"{self.folder}/{name}" if self.folder else name


def explains(program: Program, example: Example) -> bool:
    return match_example(program, example) is not None


def match_example(program: Program, example: Example) -> tuple[str, str] | None:
    """The text before the counter and the counter's text.

    None when the program gives another name.
    """
    if new_extension(program, example.file.extension) != example.extension:
        return None
    if predicted_folder(program, example.file) != example.folder:
        return None
    pieces = run_segments([choice.first for choice in program.stem], example.file)
    if pieces is None:
        return None
    if program.counter is not None:
        return read_counter(pieces, example.stem)
    return ("", "") if "".join(str(piece) for piece in pieces) == example.stem else None


def _counting_step(numbers: list[int]) -> int | None:
    """The step of numbers that count without repeats and with few gaps.

    0 for a single number.
    """
    ordered = sorted(numbers)
    gaps = [b - a for a, b in pairwise(ordered)]
    if not gaps:
        return 0
    step = gcd(*gaps)
    if step not in _STEPS or 0 in gaps or len(numbers) < 0.6 * ((ordered[-1] - ordered[0]) // step + 1):
        return None
    return step


def fit_counter(
    program: Program, examples: Sequence[Example]
) -> tuple[Program, tuple[tuple[str, int], ...]] | None:
    """Set the counter's start, step and scope from all examples.

    None when the numbers do not count.
    """
    counter = program.counter
    if counter is None:
        return program, ()
    rows = []
    for example in examples:
        match = match_example(program, example)
        if match is not None:
            rows.append((example, match[0], counter_number(counter, match[1])))
    for scope in ("all", "folder", "name"):
        groups: dict[str, list[int]] = defaultdict(list)
        for example, before, number in rows:
            key = {"all": "", "folder": example.folder, "name": f"{example.folder}/{before}"}[scope]
            groups[key].append(number)
        steps = {step for step in map(_counting_step, groups.values()) if step != 0}
        starts = {min(numbers) for numbers in groups.values()}
        if len(steps) == 1 and None not in steps and (scope == "all" or len(starts) == 1) and len(rows) >= 3:
            (step,) = steps
            fitted = replace(counter, start=min(starts), step=step or 1, scope=scope)
            stem = tuple(Choice(fitted) if choice.first == counter else choice for choice in program.stem)
            counter_values = sorted((key, max(group)) for key, group in groups.items())
            return replace(program, stem=stem), tuple(counter_values)
    return None


_SAMPLE_SIZE = 6
_MAX_SEEDS = 5
_MAX_WIDENINGS = 5
_MAX_CHECKED = 400  # examples that other readings are checked against
_COST_PER_EXAMPLE = 2.5  # program cost that one more explained example justifies


@dataclass(frozen=True)
class Fit:
    """A program, its cost, the examples it explains, and its counter values."""

    program: Program
    cost: float
    explained: tuple[Example, ...]
    counter_values: tuple[tuple[str, int], ...] = ()

    @property
    def score(self) -> float:
        return len(self.explained) * _COST_PER_EXAMPLE - self.cost


def _extension_rule(examples: Sequence[Example]) -> tuple[str, tuple[tuple[str, str], ...], float] | None:
    pairs = [(example.file.extension, example.extension) for example in examples]
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
    """Folders by extension, when some folder has more than one example."""
    table: dict[str, str] = {}
    for example in examples:
        if table.setdefault(example.file.extension.lower(), example.folder) != example.folder:
            return None
    kinds = len(set(table.values()))
    return tuple(sorted(table.items())) if 2 <= kinds < len(examples) else None


def fit(examples: Sequence[Example], base: str, file_count: int = 0) -> tuple[Program, float] | None:
    """The simplest program that explains all of these examples."""
    rule = _extension_rule(examples)
    if rule is None:
        return None
    kind, table, ext_cost = rule
    files = [example.file for example in examples]
    folders = [example.folder for example in examples]
    folder_paths = search(files, folders)
    by_ext = None
    if not folder_paths:
        by_ext = _folder_table(examples)
        if by_ext is None:
            return None
    stems = search(files, [example.stem for example in examples], file_count=file_count)
    if not stems:
        return None
    price, stem = stems[0]
    rivals = tuple(tuple(choice.first for choice in path) for _, path in stems[1:])
    folder_price, folder = folder_paths[0] if folder_paths else (1.5 * len(set(folders)), ())
    program = Program(stem, folder, base, by_ext or (), kind, table, rivals)
    return program, price + folder_price + ext_cost


def diverse_sample(examples: Sequence[Example], most: int) -> list[Example]:
    """A few examples that differ as much as possible. Deterministic."""
    by_shape: dict[tuple[str, str], list[Example]] = defaultdict(list)
    for example in sorted(examples, key=lambda e: (e.file.name.text, e.file.folder, e.stem)):
        by_shape[example.file.name.shape, example.file.extension.lower()].append(example)
    rows = sorted(by_shape.values(), key=lambda row: -len(row))
    chosen: list[Example] = []
    for turn in range(max(map(len, rows), default=0)):
        for row in rows:
            if turn < len(row) and len(chosen) < most:
                # From both ends inwards: neighbours in the alphabet are most alike.
                chosen.append(row[turn // 2] if turn % 2 == 0 else row[-1 - turn // 2])
    return chosen


def _evaluate(
    program: Program, price: float, pool: Sequence[Example], examples: Sequence[Example]
) -> Fit | None:
    explained = tuple(example for example in pool if explains(program, example))
    # A counter can only be checked against all files, not against a sample.
    fitted = fit_counter(program, examples)
    return None if fitted is None else Fit(fitted[0], price, explained, fitted[1])


def _grow_fit(
    sample: list[Example], pool: Sequence[Example], base: str, examples: Sequence[Example]
) -> Fit | None:
    """A fit that starts from a sample.

    If its counter does not count, try again without one.
    """
    for file_count in (len(examples), 0):
        found = _fit_and_widen(sample, pool, base, file_count)
        candidate = None if found is None else _evaluate(*found, pool, examples)
        if candidate is not None and len(candidate.explained) > 1:
            return candidate
        if found is None or found[0].counter is None:
            break
    return None


def _fit_and_widen(
    sample: list[Example], pool: Sequence[Example], base: str, file_count: int
) -> tuple[Program, float] | None:
    found = fit(sample, base, file_count)
    if found is None:
        return None
    program, price = found
    tries = 0
    for example in pool:
        if tries == _MAX_WIDENINGS or len(sample) > 9:
            break
        if example in sample or explains(program, example):
            continue
        tries += 1
        wider = fit([*sample, example], base, file_count)
        if wider is not None and wider[1] <= price + _COST_PER_EXAMPLE:
            sample = [*sample, example]
            program, price = wider
    return program, price


def _differences(example: Example, other: Example) -> tuple[bool, bool, bool]:
    return (
        example.file.name.shape != other.file.name.shape,
        example.file.extension.lower() != other.file.extension.lower(),
        example.folder != other.folder,
    )


def _covers_similar(best: Fit, seed: Example, pool: Sequence[Example]) -> bool:
    """Whether the fit explains almost all examples that look like the seed."""
    alike = [example for example in pool if _differences(seed, example)[:2] == (False, False)]
    explained = set(map(id, best.explained))
    return len(alike) > 2 and sum(id(example) in explained for example in alike) >= 0.9 * len(alike)


def _best_fit(examples: Sequence[Example], base: str) -> Fit | None:
    """The fit with the best score: examples explained against cost."""
    pool = diverse_sample(examples, 48)
    whole = _grow_fit(pool[:_SAMPLE_SIZE], pool, base, examples)
    if whole is not None and len(whole.explained) >= 0.8 * len(pool):
        return whole
    best = whole
    for seed in pool[:_MAX_SEEDS]:
        partners = sorted((e for e in pool if e is not seed), key=lambda e: _differences(seed, e))
        for partner in partners[:2]:
            candidate = _grow_fit([seed, partner], [seed, *partners], base, examples)
            if candidate is not None and (best is None or candidate.score > best.score):
                best = candidate
        if best is not None and _covers_similar(best, seed, pool):
            break
    return best


def _without_refuted_readings(found: Fit, examples: Sequence[Example]) -> Fit | None:
    """The fit over all examples, without readings that an example refutes."""
    evaluated = _evaluate(found.program, found.cost, examples, examples)
    if evaluated is None or len(evaluated.explained) < 2:
        return None
    explained = evaluated.explained[:_MAX_CHECKED]

    def agrees(segment: Segment, first: Segment) -> bool:
        return all(_text_of(segment, e.file) == _text_of(first, e.file) for e in explained)

    def tighten(choices: tuple[Choice, ...]) -> tuple[Choice, ...]:
        return tuple(Choice(c.first, tuple(o for o in c.others if agrees(o, c.first))) for c in choices)

    program = evaluated.program
    rivals = tuple(r for r in program.rivals if _rival_holds(r, program, explained))
    program = replace(program, stem=tighten(program.stem), folder=tighten(program.folder), rivals=rivals)
    return replace(evaluated, program=program)


def _text_of(segment: Segment, file: InputFile) -> str | None:
    if isinstance(segment, FixedText):
        return segment.text
    return part_value(segment, file) if isinstance(segment, NamePart) else None


def _rival_holds(rival: tuple[Segment, ...], program: Program, explained: Sequence[Example]) -> bool:
    if any(isinstance(segment, CounterPart) for segment in rival):
        return False
    plain = replace(program, stem=tuple(Choice(segment) for segment in rival))
    return all(explains(plain, example) for example in explained)


def learn_programs(examples: Sequence[Example], base: str) -> list[Fit]:
    """Programs, each for the examples that the earlier ones do not explain."""
    fits: list[Fit] = []
    rest = list(examples)
    while len(rest) >= 2 and len(fits) < 8:
        best = _best_fit(rest, base)
        found = None if best is None else _without_refuted_readings(best, rest)
        if found is None:
            break
        fits.append(found)
        taken = set(map(id, found.explained))
        rest = [example for example in rest if id(example) not in taken]
    return fits


_MIN_PRECISION = 0.6  # share of similar files that must follow the program
_MAX_COUNTER_SCOPES = 256
_MAX_COST_OF_TWO = 9.0  # program cost that two examples justify


def _example(rename: Rename, order: int) -> tuple[str, Example]:
    """The base of the new folder (own: below the old folder.

    Path: elsewhere), and the example.
    """
    old = input_file(rename.before, rename.mtime)
    folder, stem, extension = split_path(rename.after)
    if folder == old.folder:
        return "own", Example(old, "", stem, extension, order)
    if old.folder in ("", "/") or folder.startswith(old.folder + "/"):
        return "own", Example(old, folder[len(old.folder) :].lstrip("/"), stem, extension, order)
    return "path", Example(old, folder, stem, extension, order)


def _is_convincing(found: Fit, exceptions: int) -> bool:
    """Whether a fit is a convention rather than chance.

    Two examples must agree on a simple program.
    """
    program, support = found.program, len(found.explained)
    parts = [part for part in first_reading(program) if isinstance(part, NamePart)]
    files = [example.file for example in found.explained[:50]]
    varies = any(len({part_value(part, file) for file in files}) > 1 for part in parts)
    if (
        not (varies or program.counter or program.folders)
        or support / (support + exceptions) < _MIN_PRECISION
    ):
        return False
    tricks = sum(part.rewrite.cut.startswith(("last", "max", "plus")) for part in parts) + bool(
        program.counter
    )
    if tricks > (1 if support < 5 else 2):
        return False
    if support > 2:
        return True
    plain = all(part.rewrite.cut in ("", "int") or part.rewrite.cut.startswith("pad") for part in parts)
    return exceptions == 0 and plain and program.counter is None and found.cost <= _MAX_COST_OF_TWO


def _conventions(folder: str, examples: Sequence[Example], fits: Sequence[Fit]) -> list[Convention]:
    """The convincing fits as conventions, each with the rules for when it applies."""
    owners = {id(example): fit for fit in fits for example in fit.explained}
    found = []
    for fit in fits:
        files = [example.file for example in fit.explained]
        applicability = learn_applicability(fit.program, files, [e.result for e in fit.explained])
        claimed = [
            example
            for example in examples
            if owners.get(id(example)) is not fit
            and applies_to(applicability, fit.program, example.file)
            and can_name(fit.program, example.file)
        ]
        rivals = [example.file for example in claimed if id(example) in owners]
        trait = distinguishing_trait(files, rivals) if rivals else ""
        if trait:
            applicability = replace(applicability, required_trait=trait)
            claimed = [example for example in claimed if trait in traits(example.file)]
        if _is_convincing(fit, len(claimed)):
            found.append(
                _convention(folder, fit, with_result_form(applicability, fit.program, files[:200]), claimed)
            )
    return found


def _convention(
    folder: str, fit: Fit, applicability: Applicability, claimed: Sequence[Example]
) -> Convention:
    shown = sorted(fit.explained, key=lambda e: (e.order, e.file.basename))[:5]
    return Convention(
        folder=folder,
        pattern=pattern_text(fit.program),
        examples=tuple((example.file.basename, example.result) for example in shown),
        support=len(fit.explained),
        exceptions=tuple(sorted(example.file.basename for example in claimed)),
        ambiguous=other_readings(fit.program),
        destination=destination_text(fit.program),
        program=fit.program,
        applicability=applicability,
        counter_values=fit.counter_values[-_MAX_COUNTER_SCOPES:],
        from_subfolders=any(example.file.folder != folder for example in fit.explained),
    )


def _common_folder(folders: Collection[str]) -> str:
    shared = []
    for column in zip(*(folder.split("/") for folder in folders), strict=False):
        if len(set(column)) > 1:
            break
        shared.append(column[0])
    return "/".join(shared)


def _learn_folder(folder: str, rows: Sequence[tuple[str, Example]]) -> list[Convention]:
    fits: list[Fit] = []
    for base in ("own", "path"):
        fits += learn_programs([example for kind, example in rows if kind == base], base)
    return _conventions(folder, [example for _, example in rows], fits)


def learn(renames: Sequence[Rename], listed: Sequence[ListedFile] = ()) -> NamingReport:
    """Learn naming conventions and skip rules.

    `listed` are files known to exist in the folders. Those that were not renamed are explained by skip rules.
    """
    composed = compose(renames)
    by_folder: dict[str, list[tuple[str, Example]]] = defaultdict(list)
    for order, rename in enumerate(composed.moves):
        base, example = _example(rename, order)
        if max(len(example.file.basename), len(example.stem)) <= MAX_NAME_LENGTH:
            by_folder[example.file.folder].append((base, example))
    conventions: list[Convention] = []
    silent: list[tuple[str, Example]] = []
    for folder, rows in sorted(by_folder.items()):
        found = _learn_folder(folder, rows)
        conventions += found
        silent += [] if found else rows
    folders = {example.file.folder for _, example in silent}
    if len(folders) > 1 and len(silent) > 2:
        # Folders with one or two files each show nothing alone, but may together.
        conventions += _learn_folder(_common_folder(folders), silent)
    return _with_skip_rules(composed, listed, conventions)


def _with_skip_rules(
    composed: ComposedRenames, listed: Sequence[ListedFile], conventions: Sequence[Convention]
) -> NamingReport:
    """The report: conventions, and rules for the listed files that were not renamed."""
    sizes = {normalize("NFC", file.path): file.size for file in listed}
    touched: dict[str, list[SizedFile]] = defaultdict(list)
    for move in composed.moves:
        old = input_file(move.before)
        touched[old.folder].append(SizedFile(old, sizes.get(move.before, sizes.get(move.after))))
    untouched: dict[str, list[SizedFile]] = defaultdict(list)
    for path in sorted(sizes.keys() - composed.paths):
        other = input_file(path)
        if other.folder in touched:
            untouched[other.folder].append(SizedFile(other, sizes[path]))
    skipped: list[SkippedFiles] = []
    completed: list[Convention] = []
    for folder in sorted({*touched, *(convention.folder for convention in conventions)}):
        own = [convention for convention in conventions if convention.folder == folder]
        left = untouched.get(folder, [])
        named = [entry for entry in left if any(_follows(c, entry.file) for c in own)]
        rules, learned_traits = explain_skipped(folder, left, touched.get(folder, []), named)
        skipped += rules
        completed += [
            replace(c, applicability=replace(c.applicability, skipped_traits=learned_traits)) for c in own
        ]
    folders = [
        FolderProgress(path, len(files), len(files) + len(untouched[path])) for path, files in touched.items()
    ]
    return NamingReport(
        tuple(completed), tuple(skipped), tuple(sorted(folders, key=lambda folder: folder.path))
    )


def _follows(convention: Convention, file: InputFile) -> bool:
    return already_follows(convention.program, convention.applicability, file)

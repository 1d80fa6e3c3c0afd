"""How a session organised files: the folders it worked through, the names it gave, the files it left alone.

`learn` finds naming conventions as small programs that explain before → after, `propose` says what a new file
would become, or why nobody can know. Patterns are written as `naming/pattern.py` describes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import replace
from unicodedata import normalize

from fazm_memory.model.learned import Folder, Learned
from fazm_memory.model.naming import guard as naming_guard
from fazm_memory.model.naming import learner as naming_learner
from fazm_memory.model.naming import pattern as naming_pattern
from fazm_memory.model.naming import program as naming_program
from fazm_memory.model.naming.convention import Convention
from fazm_memory.model.naming.examples import Example, can_say
from fazm_memory.model.naming.form import looks_named, with_form
from fazm_memory.model.naming.learner import Fit
from fazm_memory.model.naming.parts import LONGEST, Subject, split_path, subject
from fazm_memory.model.naming.program import Part
from fazm_memory.model.naming.proposals import Proposal, propose, propose_all
from fazm_memory.model.naming.renames import Composed, Renamed, compose
from fazm_memory.model.naming.skips import File, Seen, Skipped, explain_skips
from fazm_memory.model.naming.traits import telling_apart, traits

__all__ = [
    "Convention",
    "Folder",
    "Learned",
    "Proposal",
    "Renamed",
    "Seen",
    "Skipped",
    "learn",
    "propose",
    "propose_all",
]

_PRECISION = 0.6  # of the files that look like the examples, how many must be named by the program
_COUNTED = 256  # scopes of a counter that are remembered
_PLAIN = 9.0  # description that two examples can carry


def _example(renamed: Renamed, order: int) -> tuple[str, Example]:
    """The rename taken apart, and whether its new folder lies within its own or is a path by itself."""
    old = subject(renamed.before, renamed.mtime)
    folder, stem, extension = split_path(renamed.after)
    if folder == old.folder:
        return "own", Example(old, "", stem, extension, order)
    if old.folder in ("", "/") or folder.startswith(old.folder + "/"):
        return "own", Example(old, folder[len(old.folder) :].lstrip("/"), stem, extension, order)
    return "path", Example(old, folder, stem, extension, order)


def _sound(found: Fit, exceptions: int) -> bool:
    """Is this a convention, or chance? Two examples prove little: they have to agree in something plain."""
    program, support = found.program, len(found.explained)
    parts = [part for part in naming_program.segments(program) if isinstance(part, Part)]
    subjects = [example.subject for example in found.explained[:50]]
    varies = any(len({naming_program.value(part, one) for one in subjects}) > 1 for part in parts)
    if not (varies or program.counter or program.folders) or support / (support + exceptions) < _PRECISION:
        return False
    tricks = sum(part.how.cut.startswith(("last", "max", "plus")) for part in parts) + bool(program.counter)
    if tricks > (1 if support < 5 else 2):
        return False
    if support > 2:
        return True
    plain = all(part.how.cut in ("", "int") or part.how.cut.startswith("pad") for part in parts)
    return exceptions == 0 and plain and program.counter is None and found.cost <= _PLAIN


def _conventions(folder: str, examples: Sequence[Example], fits: Sequence[Fit]) -> list[Convention]:
    """The fits that are conventions, each with what it takes for a file to fall under it."""
    owners = {id(example): fit for fit in fits for example in fit.explained}
    found = []
    for fit in fits:
        subjects = [example.subject for example in fit.explained]
        guard = naming_guard.learn_guard(fit.program, subjects, [e.result for e in fit.explained])
        claimed = [
            example
            for example in examples
            if owners.get(id(example)) is not fit
            and naming_guard.accepts(guard, fit.program, example.subject)
            and can_say(fit.program, example.subject)
        ]
        rivals = [example.subject for example in claimed if id(example) in owners]
        needs = telling_apart(subjects, rivals) if rivals else ""
        if needs:
            guard = replace(guard, needs=needs)
            claimed = [example for example in claimed if needs in traits(example.subject)]
        if _sound(fit, len(claimed)):
            found.append(_convention(folder, fit, with_form(guard, fit.program, subjects[:200]), claimed))
    return found


def _convention(folder: str, fit: Fit, guard: naming_guard.Guard, claimed: Sequence[Example]) -> Convention:
    shown = sorted(fit.explained, key=lambda e: (e.order, e.subject.basename))[:5]
    return Convention(
        folder=folder,
        pattern=naming_pattern.pattern(fit.program),
        examples=tuple((example.subject.basename, example.result) for example in shown),
        support=len(fit.explained),
        exceptions=tuple(sorted(example.subject.basename for example in claimed)),
        ambiguous=naming_pattern.other_readings(fit.program),
        destination=naming_pattern.destination(fit.program),
        program=fit.program,
        guard=guard,
        counted=fit.counted[-_COUNTED:],
        across=any(example.subject.folder != folder for example in fit.explained),
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
        fits += naming_learner.learn_programs([example for kind, example in rows if kind == base], base)
    return _conventions(folder, [example for _, example in rows], fits)


def learn(renames: Sequence[Renamed], seen: Sequence[Seen] = ()) -> Learned:
    """Everything the renames and sightings of a session say about how it organises files."""
    composed = compose(renames)
    by_folder: dict[str, list[tuple[str, Example]]] = defaultdict(list)
    for order, renamed in enumerate(composed.moves):
        base, example = _example(renamed, order)
        if max(len(example.subject.basename), len(example.stem)) <= LONGEST:
            by_folder[example.subject.folder].append((base, example))
    conventions: list[Convention] = []
    silent: list[tuple[str, Example]] = []
    for folder, rows in sorted(by_folder.items()):
        found = _learn_folder(folder, rows)
        conventions += found
        silent += [] if found else rows
    folders = {example.subject.folder for _, example in silent}
    if len(folders) > 1 and len(silent) > 2:
        # Folders with a file or two each say nothing alone; together they may.
        conventions += _learn_folder(_common_folder(folders), silent)
    return _with_seen(composed, seen, conventions)


def _with_seen(composed: Composed, seen: Sequence[Seen], conventions: Sequence[Convention]) -> Learned:
    """The conventions together with the files that were seen and not touched."""
    sizes = {normalize("NFC", sight.path): sight.size for sight in seen}
    touched: dict[str, list[File]] = defaultdict(list)
    for move in composed.moves:
        old = subject(move.before)
        touched[old.folder].append(File(old, sizes.get(move.before, sizes.get(move.after))))
    untouched: dict[str, list[File]] = defaultdict(list)
    for path in sorted(sizes.keys() - composed.passed):
        file = subject(path)
        if file.folder in touched:
            untouched[file.folder].append(File(file, sizes[path]))
    skipped: list[Skipped] = []
    kept: list[Convention] = []
    for folder in sorted({*touched, *(convention.folder for convention in conventions)}):
        own = [convention for convention in conventions if convention.folder == folder]
        left = untouched.get(folder, [])
        named = [file for file in left if any(_named(c, file.subject) for c in own)]
        rules, shown = explain_skips(folder, left, touched.get(folder, []), named)
        skipped += rules
        kept += [replace(c, guard=replace(c.guard, skips=shown)) for c in own]
    folders = [Folder(path, len(files), len(files) + len(untouched[path])) for path, files in touched.items()]
    return Learned(tuple(kept), tuple(skipped), tuple(sorted(folders, key=lambda folder: folder.path)))


def _named(convention: Convention, file: Subject) -> bool:
    return looks_named(convention.program, convention.guard, file)

"""Proposals for new files: the new name, or why it is not known."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from fazm_memory.engines.naming import Convention, Proposal
from fazm_memory.engines.naming.applicability import (
    MISSING_PART,
    Applicability,
    already_follows,
    dropped_words,
    is_unprecedented,
    result_regex,
    why_dropped_parts_differ,
    why_not_applicable,
)
from fazm_memory.engines.naming.parts import MAX_NAME_LENGTH, InputFile, input_file
from fazm_memory.engines.naming.program import (
    CounterPart,
    NamePart,
    Program,
    Rewrite,
    Segment,
    counter_text,
    first_reading,
    new_extension,
    run_segments,
    target_folder,
)

_ALREADY = "it is already named so"


@dataclass(frozen=True)
class Outcome:
    """The new path of a file.

    It is relative to the file's folder unless the program has a path of its own.
    """

    path: str | None
    because: str = ""
    alternatives: tuple[str, ...] = ()


@dataclass(frozen=True)
class NamingContext:
    """Counter values so far, and the paths (case-folded) that are in use."""

    counter_values: Mapping[str, int]
    taken: Collection[str]


def fold_case(path: str) -> str:
    """A key for comparing paths: most desktop file systems ignore case."""
    return unicodedata.normalize("NFC", path).casefold()


def _next_number(
    program: Program, counter: CounterPart, folder: str, before: str, context: NamingContext
) -> int:
    """The number after the highest one used in the counter's scope."""
    key = {"all": "", "folder": folder, "name": f"{folder}/{before}"}[counter.scope]
    inside = fold_case(folder) + "/" if folder else ""
    if counter.scope == "name":
        pattern = re.escape(inside + fold_case(before)) + r"(?P<count>\d{1,18})(?!\d).*"
    else:
        anywhere = "" if counter.scope == "folder" or folder else "(?:.*/)?"
        pattern = anywhere + re.escape(inside) + result_regex(program)[0] + r"(?:\.\w+)?"
    known = re.compile(pattern, re.IGNORECASE)
    used = [context.counter_values[key]] if key in context.counter_values else []
    if not counter.letters:
        used += [int(match["count"]) for path in context.taken if (match := known.fullmatch(path))]
    return max(used) + counter.step if used else counter.start


def _path(
    program: Program,
    reading: tuple[Sequence[Segment], Sequence[Segment]],
    file: InputFile,
    context: NamingContext,
) -> str | None:
    """The new path under one reading. A counter continues and skips names in use."""
    folder = target_folder(program, reading[0], file)
    extension = new_extension(program, file.extension)
    pieces = run_segments(reading[1], file)
    if folder is None or extension is None or pieces is None:
        return None
    number: int | None = None
    before = ""
    for piece in pieces:
        if isinstance(piece, CounterPart):
            number, counter = _next_number(program, piece, folder, before, context), piece
            break
        before += piece

    def with_number(count: int | None) -> str:
        texts = (p if isinstance(p, str) else counter_text(p, count or 0) for p in pieces)
        name = "".join(texts) + ("." + extension if extension else "")
        return f"{folder}/{name}" if folder else name

    while number is not None and fold_case(with_number(number)) in context.taken:
        number += counter.step
    return with_number(number)


def _readings(
    program: Program, rules: Applicability, file: InputFile
) -> list[tuple[list[Segment], list[Segment]]]:
    """Readings of folder and stem, the preferred one first.

    Then come variants of one segment, then other stems.
    """
    choices = (*program.folder, *program.stem)
    first = first_reading(program)
    rows = [first]
    for index, choice in enumerate(choices):
        rows += [[*first[:index], other, *first[index + 1 :]] for other in choice.others]
    for index, width in rules.number_widths:
        rows.append([*first[:index], _padded(first[index], width), *first[index + 1 :]])
    for index in rules.unpadded_dates:
        rows.append([*first[:index], _unpadded(first[index]), *first[index + 1 :]])
    if rules.ascii_only and not file.name.text.isascii():
        rows.append([_without_accents(segment) for segment in first])
    cut = len(program.folder)
    rows += [[*first[:cut], *rival] for rival in program.rivals]
    return [(row[:cut], row[cut:]) for row in rows]


def _without_accents(segment: Segment) -> Segment:
    """The segment without accents. No example showed how accents are treated."""
    if (
        not isinstance(segment, NamePart)
        or segment.what == "date"
        or segment.rewrite.fold
        or not segment.rewrite.split
    ):
        return segment
    return replace(segment, rewrite=segment.rewrite._replace(fold="ascii"))


def _unpadded(segment: Segment) -> Segment:
    """The segment without a leading zero.

    `14 March` does not show how the fourth is written.
    """
    return replace(segment, b=segment.b.replace("%", "%-")) if isinstance(segment, NamePart) else segment


def _padded(segment: Segment, width: int) -> Segment:
    """The segment with leading zeros.

    Numbers of one length do not show how a shorter one is written.
    """
    return replace(segment, rewrite=Rewrite(cut=f"pad{width}")) if isinstance(segment, NamePart) else segment


def apply(program: Program, rules: Applicability, file: InputFile, context: NamingContext) -> Outcome:
    """Apply a convention to one file."""
    if already_follows(program, rules, file):
        return Outcome(None, _ALREADY)
    refusal = why_not_applicable(rules, program, file)
    if refusal:
        return Outcome(None, refusal)
    unlike = why_dropped_parts_differ(rules, program, file)
    if unlike and rules.dropped_words is None:
        return Outcome(None, unlike)
    paths: list[str] = []
    unproven_paths: list[str] = []
    for reading in _readings(program, rules, file):
        whole = [*reading[0], *reading[1]]
        # The examples rule out a reading that drops other words than they did.
        if rules.dropped_words not in (None, dropped_words(whole, file.name, no_overlap=rules.no_overlap)):
            continue
        path = _path(program, reading, file, context)
        if path is not None:
            unproven = is_unprecedented(rules, whole, file) or (rules.no_spaces and " " in path)
            (unproven_paths if unproven else paths).append(path)
    paths = list(dict.fromkeys(paths))
    if not paths:
        return _no_outcome(program, file, unlike, unproven_paths)
    if len(paths) > 1:
        return Outcome(None, "the examples allow more than one reading of this name", tuple(paths[:4]))
    name = paths[0].rpartition("/")[2]
    if name.startswith(".") or "\0" in name or not name.strip(". "):
        return Outcome(None, "nothing of the name would be left")
    return Outcome(None, _ALREADY) if paths[0] == file.basename else Outcome(paths[0])


def _no_outcome(program: Program, file: InputFile, unlike: str | None, unproven_paths: list[str]) -> Outcome:
    if unproven_paths:
        because = "no example shows what becomes of such a name"
        return Outcome(None, because, tuple(dict.fromkeys(unproven_paths))[:4])
    timed = any(isinstance(part, NamePart) and part.where == "modified" for part in first_reading(program))
    if timed and file.modified is None:
        return Outcome(None, "the name holds the file's modification time, which is not known here")
    return Outcome(None, unlike or MISSING_PART)


def _relevant(conventions: Sequence[Convention], folder: str) -> list[Convention]:
    """The conventions of the file's own folder, else of a folder above it, else all."""
    own = [c for c in conventions if c.folder == folder]
    above = [c for c in conventions if folder.startswith(c.folder.rstrip("/") + "/")]
    return own or above or list(conventions)


def _as_asked(path: str, folder: str, convention: Convention) -> str:
    """An outcome's path, relative to what the caller asked about."""
    if convention.program.base == "path" or not folder:
        return path
    return f"{folder.rstrip('/')}/{path}"


def propose(
    conventions: Sequence[Convention], name: str, *, mtime: str | None = None, taken: Collection[str] = ()
) -> Proposal:
    """Say what a new file would be called, or why that is not known.

    A bare name is answered relative to the convention's folder, a path with a path. `mtime` is the file's
    modification time as ISO 8601. Names in `taken` (bare names or paths) are never proposed: counters skip
    them, and any other proposal is declined with that reason.
    """
    asked = input_file(name, mtime)
    if not conventions:
        return Proposal(name, None, "no naming convention was learned")
    if not asked.basename or len(asked.basename) > MAX_NAME_LENGTH:
        return Proposal(name, None, "this is not the name of a file")
    used = {fold_case(path) for path in taken} - {fold_case(name)}
    here = fold_case(asked.folder).rstrip("/") + "/"
    near = used | {path.removeprefix(here) for path in used}
    found: list[tuple[Convention, str]] = []
    undecided: list[tuple[str, tuple[str, ...]]] = []
    declined: list[tuple[Convention, Outcome]] = []
    for convention in _relevant(conventions, asked.folder):
        file = (
            asked if asked.folder or convention.from_subfolders else replace(asked, folder=convention.folder)
        )
        context = NamingContext(dict(convention.counter_values), near)
        outcome = apply(convention.program, convention.applicability, file, context)
        if outcome.path is not None:
            found.append((convention, _as_asked(outcome.path, asked.folder, convention)))
        elif outcome.alternatives:
            others = tuple(_as_asked(path, asked.folder, convention) for path in outcome.alternatives)
            undecided.append((outcome.because, others))
        else:
            declined.append((convention, outcome))
    paths = dict.fromkeys(path for _, path in found)
    if len(paths) > 1 or (paths and undecided):
        paths |= dict.fromkeys(path for _, others in undecided for path in others)
        return Proposal(name, None, "more than one convention fits this name", tuple(paths))
    if undecided:
        return Proposal(name, None, *undecided[0])
    if not found:
        return Proposal(name, None, _nearest_reason(declined, asked))
    convention, path = found[0]
    if not near.isdisjoint((fold_case(path), fold_case(path).removeprefix(here))):
        return Proposal(name, None, f"it would become {path}, but that name is taken", (path,))
    return Proposal(name, path, _grounds(convention))


def _grounds(convention: Convention) -> str:
    files = f"{convention.support:,} file" + ("" if convention.support == 1 else "s")
    into = f"{convention.destination}/" if convention.destination else ""
    folder = convention.folder or "this folder"
    return f"{into}{convention.pattern}, as {files} in {folder}"


def _nearest_reason(declined: Sequence[tuple[Convention, Outcome]], asked: InputFile) -> str:
    """The reason of the nearest convention.

    Nearest: the same extension, then the most examples.
    """
    if any(outcome.because == _ALREADY for _, outcome in declined):
        return _ALREADY
    extension = asked.extension.lower()
    nearest = max(declined, key=lambda pair: (extension in pair[0].applicability.extensions, pair[0].support))
    return nearest[1].because


def propose_all(
    conventions: Sequence[Convention],
    names: Sequence[str],
    *,
    mtimes: Mapping[str, str] | None = None,
    taken: Collection[str] = (),
) -> list[Proposal]:
    """Proposals for several files, in order.

    No name is proposed twice, and counters continue.
    """
    used = set(taken)
    proposals = []
    for name in names:
        proposal = propose(conventions, name, mtime=(mtimes or {}).get(name), taken=used)
        proposals.append(proposal)
        used |= {proposal.becomes} if proposal.becomes else set()
    return proposals

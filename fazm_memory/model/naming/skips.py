"""Why a session left some files alone: simple rules that hold for what it skipped and for nothing it touched.

A rule is said as people would say it: hidden, already named so, extension .txt, "draft" in the name, empty,
larger than 40 MB. What no rule explains is listed as such, so that every file seen is accounted for once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from fazm_memory.model.learned import NO_RULE
from fazm_memory.model.naming.parts import Subject
from fazm_memory.model.naming.traits import trait_text, traits

_SYSTEM = frozenset(("thumbs.db", "desktop.ini", "icon\r", "icon", "ehthumbs.db"))
# One file is no pattern, unless its name itself says to leave it alone.
_WORDS = "draft wip private keep backup old tmp temp copy template sample readme ignore original final"
_TELLING = frozenset(_WORDS.split())


@dataclass(frozen=True)
class Seen:
    """A file that was listed or seen in a folder the session worked in."""

    path: str
    size: int | None = None
    mtime: str | None = None


@dataclass(frozen=True)
class Skipped:
    """Files of a folder that were left alone, and the rule that tells them apart."""

    folder: str
    rule: str
    files: tuple[str, ...]
    count: int


@dataclass(frozen=True)
class File:
    """A seen file, taken apart once."""

    subject: Subject
    size: int | None = None

    @property
    def name(self) -> str:
        return self.subject.basename


def _hidden(file: File) -> bool:
    return file.name.startswith((".", "~$")) or file.name.lower() in _SYSTEM


def _human(size: int) -> str:
    for unit, scale in (("GB", 1_000_000_000), ("MB", 1_000_000), ("kB", 1_000)):
        if size >= scale:
            return f"{size / scale:.3g} {unit}"
    return f"{size} bytes"


def _size_rule(rest: Sequence[File], touched: Sequence[File]) -> str:
    """The size that parts these files from the ones worked on, when one does."""
    sizes = [file.size for file in rest if file.size is not None]
    if len(sizes) < len(rest) or not sizes:
        return ""
    known = [file.size for file in touched if file.size is not None]
    if max(sizes) == 0 and 0 not in known:
        return "empty"
    if len(known) < 2:
        return ""
    if min(sizes) > max(known) and (len(sizes) > 1 or min(sizes) > 2 * max(known)):
        return f"larger than {_human(max(known))}"
    if max(sizes) < min(known) and (len(sizes) > 1 or 2 * max(sizes) < min(known)):
        return f"smaller than {_human(min(known))}"
    return ""


def _trait(rest: Sequence[File], refused: frozenset[str], kinds: tuple[str, ...]) -> str:
    """The trait most of these files share and no touched file has."""
    counts = Counter(trait for file in rest for trait in traits(file.subject) - refused)
    known = [(trait.partition(":")[0], trait, count) for trait, count in counts.items()]
    ranked = sorted((-count, kinds.index(kind), trait) for kind, trait, count in known if kind in kinds)
    for negative, _, trait in ranked:
        kind, _, text = trait.partition(":")
        if negative <= -2 or kind in ("ext", "copy") or text in _TELLING:
            return trait
    return ""


def explain_skips(
    folder: str, untouched: Sequence[File], touched: Sequence[File], named: Sequence[File]
) -> tuple[list[Skipped], tuple[str, ...]]:
    """Rules for the untouched files of a folder, of which some are `named` already; and those traits among
    the rules that a new name can show."""
    skipped: list[Skipped] = []
    learned: list[str] = []
    rest = sorted(untouched, key=lambda file: file.name)

    def leave(rule: str, files: Sequence[File]) -> None:
        if files:
            skipped.append(Skipped(folder, rule, tuple(file.name for file in files[:20]), len(files)))
            rest[:] = [file for file in rest if file not in files]

    leave("hidden", [file for file in rest if _hidden(file)])
    leave("already named so", [file for file in rest if file in named])
    refused = frozenset().union(*(traits(file.subject) for file in touched)) if touched else frozenset()
    for kinds in (("ext",), ("copy", "first", "word")):
        while trait := _trait(rest, refused, kinds):
            leave(trait_text(trait), [file for file in rest if trait in traits(file.subject)])
            learned.append(trait)
    leave(_size_rule(rest, touched) or NO_RULE, rest[:])
    return skipped, tuple(learned)

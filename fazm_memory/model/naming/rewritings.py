"""The other way round: which rewritings turn a piece of an old name into something standing in the new one.

Only what can matter to the texts at hand is tried: accents where there are any, separators likewise.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from fazm_memory.model.naming.text import CAMEL, DIGIT_EDGE, SEPARATORS, How, bare, fold, from_roman, rewrite

_JOINS = ("-", "_", " ", ".", "", " - ", "+", "~")
_CASES = ("", "lower", "upper", "title", "initial", "first", "small")


class Palette(NamedTuple):
    """The rewritings worth trying for some texts."""

    folds: tuple[str, ...]
    splits: tuple[str, ...]
    joins: tuple[str, ...]


_SINGLE = ("", "punct", "squeeze")
_CAMELS = ("words", "quotes", "camel", "parts", "seps")


def joins_in(results: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(join for join in _JOINS if any(join in result for result in results))


def palette(texts: tuple[str, ...], joins: tuple[str, ...]) -> Palette:
    source = "\n".join(texts)
    folds = [""] if source.isascii() else ["", "ascii", "german"]
    folds += ["unquote"] if "%" in source else []
    splits = [char for char in SEPARATORS + "+" if char in source]
    marks = re.search(r"[^\w\s\-.]", source) is not None
    splits += ["seps", "words"] if splits or marks else []
    splits += ["quotes"] if "'" in source or "’" in source else []
    splits += ["and"] if "&" in source else []
    splits += ["camel"] if CAMEL.search(source) else []
    splits += ["parts"] if DIGIT_EDGE.search(source) else []
    splits += ["punct"] if marks else []
    splits += ["squeeze"] if "  " in source else []
    return Palette(tuple(folds), tuple(splits), joins)


def renderings(text: str, result: str, lowered: str, colours: Palette) -> Iterator[How]:
    """Every How within the palette whose outcome stands somewhere in the result."""
    for folding in colours.folds:
        folded = fold(text, folding)
        for split in ("", *colours.splits):
            for join in ("",) if split in _SINGLE else colours.joins:
                if split == join != "":
                    continue
                plain = rewrite(folded, How("", split, join))
                if not plain or plain.lower() not in lowered:
                    continue
                for case in (*_CASES, "camel") if not join and split in _CAMELS else _CASES:
                    value = plain if not case else rewrite(folded, How("", split, join, case))
                    if value and value in result:
                        yield How(folding, split, join, case)


def numerals(texts: tuple[str, ...]) -> list[How]:
    """Digits with other zeros, or in Roman numerals."""
    if not all((text.isascii() and text.isdigit()) or from_roman(text) for text in texts):
        return []
    return [How(cut=cut) for cut in ("int", "pad2", "pad3", "pad4", "pad5", "pad6", "roman")]


def _shifts(texts: tuple[str, ...], results: tuple[str, ...]) -> Iterator[How]:
    """Some of the digits, or a number moved by the same amount in every example."""
    yield from (How(cut=f"{end}{size}") for end in ("first", "last") for size in range(2, 7))
    shifts: set[tuple[int, int]] | None = None
    for text, result in zip(texts, results, strict=True):
        if not (text.isascii() and text.isdigit() and len(text) < 10):
            return
        runs = [run for run in re.findall(r"\d+", result) if len(run) < 10]
        here = {(int(run) - int(text), width) for run in runs for width in {1, len(run)}}
        shifts = here if shifts is None else shifts & here
    yield from (How(cut=f"plus{delta}:{width}") for delta, width in sorted(shifts or ()) if delta)


def _truncations(texts: tuple[str, ...], results: tuple[str, ...], colours: Palette) -> Iterator[How]:
    """Texts cut to a length: only the longest one tells which."""
    longest = max(range(len(texts)), key=lambda i: (len(texts[i]), -i))
    text, result = texts[longest], results[longest]
    if len(text) < 9 or bare(text) in bare(result) or bare(text)[:5] not in bare(result):
        return
    for folding in colours.folds:
        for split in ("", *(s for s in colours.splits if s != "squeeze")):
            for join in ("",) if split in ("", "punct") else colours.joins:
                for case in ("", "lower", "upper", "title"):
                    full = rewrite(text, How(folding, split, join, case))
                    if not full or full[:5] not in result or full in result or split == join != "":
                        continue
                    size = max(n for n in range(5, len(full)) if full[:n] in result)
                    yield from (How(folding, split, join, case, f"max{n}") for n in (size, size + 1))


def shortenings(texts: tuple[str, ...], results: tuple[str, ...], colours: Palette) -> list[How]:
    """Rewritings that keep only some of the text, worth trying for these examples."""
    if all(text.isascii() and text.isdigit() for text in texts):
        return [*numerals(texts), *_shifts(texts, results)]
    hows = [*numerals(texts), *_truncations(texts, results, colours)]
    for folding in colours.folds:
        for case in ("", "lower", "upper", "title"):
            hows += [How(folding, case=case, cut=f"first{size}") for size in range(1, 6)]
            hows += [How(folding, case=case, cut=cut) for cut in ("initials", "dotted")]
    return hows

"""Rewrites of a piece of a name: case, separators, accents, length, digits.

The first half applies a rewrite. The second half finds the rewrites that turn a piece of an old name into a
part of a new one. It only tries what can matter: accents where there are any, separators likewise.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import unquote

SEPARATORS = " _-."
_RUN = re.compile(r"[\s_\-.]+")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_PLAIN_WORD = re.compile(r"[^\W_]+")
_UP = "A-ZÀ-ÖØ-Þ"
CAMEL = re.compile(rf"(?<=[^\W\d_{_UP}])(?=[{_UP}])|(?<=[{_UP}])(?=[{_UP}][^\W\d_{_UP}])")
DIGIT_EDGE = re.compile(r"(?<=\d)(?=[^\W\d_])|(?<=[^\W\d_])(?=\d)")
_ARTICLES = "a an and as at but by de der die das du for from in into la le nor of on or the to und vs with"
_SMALL = frozenset(_ARTICLES.split())

# Lower-case pairs; capitals are derived from them.
_UMLAUTS = "ä:ae ö:oe ü:ue å:aa ø:oe æ:ae ß:ss"
_LATIN = "ß:ss æ:ae ø:o œ:oe ł:l đ:d ð:d þ:th ı:i"
_CYRILLIC = (
    "а:a б:b в:v г:g д:d е:e ё:e ж:zh з:z и:i й:y к:k л:l м:m н:n о:o п:p р:r с:s т:t у:u ф:f х:kh ц:ts ч:ch "
    "ш:sh щ:shch ъ: ы:y ь: э:e ю:yu я:ya і:i ї:yi є:ye ґ:g"
)
_MARKS = {"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "…": "..."}


def _table(pairs: str) -> dict[str, str]:
    small = dict(pair.split(":") for pair in pairs.split())
    large = {letter.upper(): text.capitalize() for letter, text in small.items()}
    return small | {letter: text for letter, text in large.items() if len(letter) == 1}


_GERMAN = str.maketrans(_table(_UMLAUTS))
_TRANSLITERATED = str.maketrans(_table(_LATIN) | _table(_CYRILLIC) | _MARKS)


class Rewrite(NamedTuple):
    """Fold, split, join, change case, cut: applied in this order. An empty field does nothing."""

    fold: str = ""  # ascii | german | unquote
    split: str = ""  # seps | words | quotes | camel | parts | punct | squeeze | and | a separator to replace
    join: str = ""
    case: str = ""  # lower | upper | title | first | initial | small | camel
    cut: str = ""  # firstN | lastN | maxN | initials | dotted | padN | int | roman | plusN:W

    @property
    def is_identity(self) -> bool:
        return self == KEEP


KEEP = Rewrite()


@lru_cache(maxsize=16384)
def fold(text: str, folding: str) -> str:
    if folding == "unquote":
        return unquote(text)
    if text.isascii():
        return text
    if folding == "german":
        text = text.translate(_GERMAN)
    if folding in ("ascii", "german"):
        text = text.translate(_TRANSLITERATED)
        text = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return text


def words(text: str, split: str = "words") -> list[str]:
    """Split a text into words; `split` names the rule."""
    if split == "seps":
        return [piece for piece in _RUN.split(text) if piece]
    if split == "quotes":
        return [piece.replace("'", "").replace("’", "") for piece in _WORD.findall(text)]
    if split == "and":
        return words(text.replace("&", " and "), "quotes")
    found = _PLAIN_WORD.findall(text)
    if split in ("camel", "parts"):
        found = [piece for word in found for piece in CAMEL.split(word)]
    if split == "parts":
        found = [piece for word in found for piece in DIGIT_EDGE.split(word)]
    return found


def _capital(word: str) -> str:
    return word[:1].upper() + word[1:]


def _title(text: str, change: str) -> str:
    count = 0

    def change_word(match: re.Match[str]) -> str:
        nonlocal count
        count += 1
        word = match.group()
        if change == "initial":
            return _capital(word)
        if change == "small" and count > 1 and word.lower() in _SMALL:
            return word.lower()
        return _capital(word.lower())

    return _WORD.sub(change_word, text)


def recase(text: str, case: str) -> str:
    if case == "lower":
        return text.lower()
    if case == "upper":
        return text.upper()
    if case == "first":
        return _capital(text.lower())
    if case in ("title", "initial", "small"):
        return _title(text, case)
    return text


_ROMAN = ((1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"),
          (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"))  # fmt: skip


def roman(number: int) -> str:
    out = ""
    for value, letters in _ROMAN:
        while number >= value:
            out, number = out + letters, number - value
    return out


def from_roman(text: str) -> int | None:
    """The value of a Roman numeral, or None when the text is not one."""
    rest, number = text.upper(), 0
    for value, letters in _ROMAN:
        while rest.startswith(letters):
            rest, number = rest[len(letters) :], number + value
    return number if number and not rest and roman(number) == text.upper() else None


def _cut(text: str, cut: str) -> str | None:
    if not cut:
        return text
    if cut == "initials":
        return "".join(word[0] for word in words(text, "camel"))
    if cut == "dotted":
        return ".".join(word[0] for word in words(text, "camel")) + "."
    if cut.startswith("first"):
        size = int(cut[5:])
        return text[:size] if len(text) >= size else None
    if cut.startswith("last"):
        size = int(cut[4:])
        return text[-size:] if len(text) >= size else None
    if cut.startswith("max"):
        return text[: int(cut[3:])].rstrip(SEPARATORS)
    if len(text) > 18:
        return None
    number = int(text) if text.isascii() and text.isdigit() else from_roman(text)
    if number is None:
        return None
    if cut == "roman":
        return roman(number) if 0 < number < 4000 else None
    if cut.startswith("plus"):
        delta, _, width = cut[4:].partition(":")
        return str(number + int(delta)).zfill(int(width)) if number + int(delta) >= 0 else None
    return str(number).zfill(int(cut[3:]) if cut.startswith("pad") else 1)


@lru_cache(maxsize=65536)
def apply_rewrite(text: str, rewrite: Rewrite) -> str | None:
    """The rewritten text, or None when the rewrite cannot be applied to it."""
    if rewrite.is_identity:
        return text
    text = fold(text, rewrite.fold)
    if rewrite.split == "punct":
        text = recase(" ".join(re.sub(r"[^\w\s\-.]", "", text).split()), rewrite.case)
    elif rewrite.split == "squeeze":
        text = recase(" ".join(text.split()), rewrite.case)
    elif len(rewrite.split) == 1:
        text = recase(text.replace(rewrite.split, rewrite.join), rewrite.case)
    elif rewrite.split:
        text = _joined(words(text, rewrite.split), rewrite.join, rewrite.case)
    else:
        text = recase(text, rewrite.case)
    return _cut(text, rewrite.cut)


def _joined(found: list[str], join: str, case: str) -> str:
    if case == "camel":
        return "".join(word.lower() if i == 0 else _capital(word.lower()) for i, word in enumerate(found))
    if case in ("title", "initial") and not join:
        return "".join(recase(word, case) for word in found)
    return recase(join.join(found), case)


@lru_cache(maxsize=65536)
def bare(text: str) -> str:
    """Lower-case letters and digits without accents, for comparing spellings."""
    return "".join(c for c in fold(text, "ascii").lower() if c.isalnum())


_JOINS = ("-", "_", " ", ".", "", " - ", "+", "~")
_CASES = ("", "lower", "upper", "title", "initial", "first", "small")


class RewriteOptions(NamedTuple):
    """The rewrites worth trying for some texts."""

    folds: tuple[str, ...]
    splits: tuple[str, ...]
    joins: tuple[str, ...]


_SINGLE = ("", "punct", "squeeze")
_CAMELS = ("words", "quotes", "camel", "parts", "seps")


def joins_in(results: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(join for join in _JOINS if any(join in result for result in results))


def rewrite_options(texts: tuple[str, ...], joins: tuple[str, ...]) -> RewriteOptions:
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
    return RewriteOptions(tuple(folds), tuple(splits), joins)


def case_and_separator_rewrites(
    text: str, result: str, lowered: str, options: RewriteOptions
) -> Iterator[Rewrite]:
    """The rewrites within these options that turn the text into a part of the result."""
    for folding in options.folds:
        folded = fold(text, folding)
        for split in ("", *options.splits):
            for join in ("",) if split in _SINGLE else options.joins:
                if split == join != "":
                    continue
                plain = apply_rewrite(folded, Rewrite("", split, join))
                if not plain or plain.lower() not in lowered:
                    continue
                for case in (*_CASES, "camel") if not join and split in _CAMELS else _CASES:
                    value = plain if not case else apply_rewrite(folded, Rewrite("", split, join, case))
                    if value and value in result:
                        yield Rewrite(folding, split, join, case)


def number_rewrites(texts: tuple[str, ...]) -> list[Rewrite]:
    """Other zero padding, or Roman numerals."""
    if not all((text.isascii() and text.isdigit()) or from_roman(text) for text in texts):
        return []
    return [Rewrite(cut=cut) for cut in ("int", "pad2", "pad3", "pad4", "pad5", "pad6", "roman")]


def _shifts(texts: tuple[str, ...], results: tuple[str, ...]) -> Iterator[Rewrite]:
    """Some of the digits, or a number shifted by the same amount in every example."""
    yield from (Rewrite(cut=f"{end}{size}") for end in ("first", "last") for size in range(2, 7))
    shifts: set[tuple[int, int]] | None = None
    for text, result in zip(texts, results, strict=True):
        if not (text.isascii() and text.isdigit() and len(text) < 10):
            return
        runs = [run for run in re.findall(r"\d+", result) if len(run) < 10]
        here = {(int(run) - int(text), width) for run in runs for width in {1, len(run)}}
        shifts = here if shifts is None else shifts & here
    yield from (Rewrite(cut=f"plus{delta}:{width}") for delta, width in sorted(shifts or ()) if delta)


def _truncations(
    texts: tuple[str, ...], results: tuple[str, ...], options: RewriteOptions
) -> Iterator[Rewrite]:
    """Texts cut to a maximum length, which only the longest text shows."""
    longest = max(range(len(texts)), key=lambda i: (len(texts[i]), -i))
    text, result = texts[longest], results[longest]
    if len(text) < 9 or bare(text) in bare(result) or bare(text)[:5] not in bare(result):
        return
    for folding in options.folds:
        for split in ("", *(s for s in options.splits if s != "squeeze")):
            for join in ("",) if split in ("", "punct") else options.joins:
                for case in ("", "lower", "upper", "title"):
                    full = apply_rewrite(text, Rewrite(folding, split, join, case))
                    if not full or full[:5] not in result or full in result or split == join != "":
                        continue
                    size = max(n for n in range(5, len(full)) if full[:n] in result)
                    yield from (Rewrite(folding, split, join, case, f"max{n}") for n in (size, size + 1))


def shortening_rewrites(
    texts: tuple[str, ...], results: tuple[str, ...], options: RewriteOptions
) -> list[Rewrite]:
    """Rewrites that keep only some of the text."""
    if all(text.isascii() and text.isdigit() for text in texts):
        return [*number_rewrites(texts), *_shifts(texts, results)]
    rewrites = [*number_rewrites(texts), *_truncations(texts, results, options)]
    for folding in options.folds:
        for case in ("", "lower", "upper", "title"):
            rewrites += [Rewrite(folding, case=case, cut=f"first{size}") for size in range(1, 6)]
            rewrites += [Rewrite(folding, case=case, cut=cut) for cut in ("initials", "dotted")]
    return rewrites

"""The ways people rewrite a piece of a name: its case, its separators, its accents, its length, its digits.

A rewriting is a `How`, five small words applied in order: fold, split, join, case, cut.
"""

from __future__ import annotations

import re
import unicodedata
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

# Pairs, so that a table stays readable; capitals follow from them.
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


class How(NamedTuple):
    """One rewriting; every field is "" where nothing is done."""

    fold: str = ""  # ascii | german | unquote
    split: str = ""  # seps | words | quotes | camel | parts | punct | squeeze | and | a separator to replace
    join: str = ""
    case: str = ""  # lower | upper | title | first | initial | small | camel
    cut: str = ""  # firstN | lastN | maxN | initials | dotted | padN | int | roman | plusN:W

    @property
    def keeps(self) -> bool:
        return self == KEEP


KEEP = How()


@lru_cache(maxsize=16384)
def fold(text: str, how: str) -> str:
    if how == "unquote":
        return unquote(text)
    if text.isascii():
        return text
    if how == "german":
        text = text.translate(_GERMAN)
    if how in ("ascii", "german"):
        text = text.translate(_TRANSLITERATED)
        text = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    return text


def words(text: str, split: str = "words") -> list[str]:
    """The words of a text, cut where `split` says a word ends."""
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

    def one(match: re.Match[str]) -> str:
        nonlocal count
        count += 1
        word = match.group()
        if change == "initial":
            return _capital(word)
        if change == "small" and count > 1 and word.lower() in _SMALL:
            return word.lower()
        return _capital(word.lower())

    return _WORD.sub(one, text)


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
    """The number a Roman numeral stands for, or None when the text is not a proper one."""
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
def rewrite(text: str, how: How) -> str | None:
    """The text rewritten, or None where the rewriting makes no sense for it."""
    if how.keeps:
        return text
    text = fold(text, how.fold)
    if how.split == "punct":
        text = recase(" ".join(re.sub(r"[^\w\s\-.]", "", text).split()), how.case)
    elif how.split == "squeeze":
        text = recase(" ".join(text.split()), how.case)
    elif len(how.split) == 1:
        text = recase(text.replace(how.split, how.join), how.case)
    elif how.split:
        text = _joined(words(text, how.split), how.join, how.case)
    else:
        text = recase(text, how.case)
    return _cut(text, how.cut)


def _joined(found: list[str], join: str, case: str) -> str:
    if case == "camel":
        return "".join(word.lower() if i == 0 else _capital(word.lower()) for i, word in enumerate(found))
    if case in ("title", "initial") and not join:
        return "".join(recase(word, case) for word in found)
    return recase(join.join(found), case)


@lru_cache(maxsize=65536)
def bare(text: str) -> str:
    """What two spellings of the same thing share: lower-case letters and digits without accents."""
    return "".join(c for c in fold(text, "ascii").lower() if c.isalnum())

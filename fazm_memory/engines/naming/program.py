"""A naming convention as a program of fixed texts, name parts and counters.

Running the program on a file gives its new name. The pattern of a program is its readable text.

A part is rewritten on its way: case, separators, accents, length, digits. The first section applies a
rewrite. The second finds the rewrites that turn a piece of an old name into a part of a new one. It only
tries what can matter: accents where there are any, separators likewise.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple
from urllib.parse import unquote

from fazm_memory.engines.naming.parts import CAMEL, TRIM, DateParts, DateSlot, InputFile, Stem, format_date

SEPARATORS = " _-."
_RUN = re.compile(r"[\s_\-.]+")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_PLAIN_WORD = re.compile(r"[^\W_]+")
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
    """Fold, split, join, change case, cut: applied in this order.

    An empty field does nothing.
    """

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


@dataclass(frozen=True, slots=True)
class FixedText:
    """The same text for every file."""

    text: str


@dataclass(frozen=True, slots=True)
class NamePart:
    """Text taken from the file: what is between two anchors, or a component of a date."""

    where: str  # name | folder | above (the folder's parent) | modified | ext
    what: str  # between | exactly | without | date
    a: str = "start"  # an anchor, the date's place and order, or what to leave out
    b: str = "end"  # an anchor, or a date code
    rewrite: Rewrite = KEEP


@dataclass(frozen=True, slots=True)
class CounterPart:
    """A number or letter that grows from file to file. It restarts for each scope."""

    start: int
    step: int = 1
    width: int = 1
    scope: str = "all"  # all | folder | name (the text before the counter)
    letters: str = ""  # "" digits | a | A


Segment = FixedText | NamePart | CounterPart


@dataclass(frozen=True, slots=True)
class Choice:
    """A segment, and other segments that explain the examples equally well."""

    first: Segment
    others: tuple[Segment, ...] = ()


@dataclass(frozen=True)
class Program:
    """Rules for folder, stem and extension.

    `rivals` are other stems that explain the examples.
    """

    stem: tuple[Choice, ...]
    folder: tuple[Choice, ...] = ()
    base: str = "own"  # the folder is below the file's own folder (own), or a path of its own (path)
    folders: tuple[tuple[str, str], ...] = ()  # by extension, when a table explains the folder
    ext: str = "keep"  # keep | lower | upper | usual | table
    exts: tuple[tuple[str, str], ...] = ()
    rivals: tuple[tuple[Segment, ...], ...] = ()

    @property
    def counter(self) -> CounterPart | None:
        return next((c.first for c in self.stem if isinstance(c.first, CounterPart)), None)


def first_reading(program: Program) -> list[Segment]:
    """The preferred segments of the folder, then of the stem."""
    return [choice.first for choice in (*program.folder, *program.stem)]


def _stem_of(file: InputFile, where: str) -> Stem | None:
    if where == "name":
        return file.name
    index = ("folder", "above").index(where)
    return file.parents[index] if index < len(file.parents) else None


def span_between(stem: Stem, a: str, b: str) -> tuple[int, int] | None:
    start, end = stem.position(a), stem.position(b)
    return None if start is None or end is None or start >= end else (start, end)


def part_source(part: NamePart, file: InputFile) -> str | None:
    """The text of a part before it is rewritten."""
    if part.where == "ext":
        return file.extension or None
    stem = _stem_of(file, part.where)
    if stem is None:
        return None
    if part.what == "without":
        return stem.without(part.a) or None
    found = span_between(stem, part.a, part.b)
    if found is None:
        return None
    text = stem.text[found[0] : found[1]]
    return text if part.what == "exactly" else trimmed(text) or None


def trimmed(text: str) -> str:
    """The text without separators at its edges and without unbalanced brackets."""
    text = text.strip(TRIM)
    for opening, closing in ("()", "[]", "{}"):
        if text.count(opening) != text.count(closing):
            text = text.strip(opening + closing).strip(TRIM)
    return text


def date_slot(stem: Stem, place: str) -> DateSlot | None:
    """The slot at a place: `date:1` is the first date, `year:-1` the last year."""
    kind, _, index = place.partition(":")
    slots = stem.of_kind(kind)
    at = int(index) - 1 if int(index) > 0 else int(index)
    return slots[at] if -len(slots) <= at < len(slots) else None


def date_of(part: NamePart, file: InputFile) -> DateParts | None:
    if part.where == "modified":
        return file.modified
    stem = _stem_of(file, part.where)
    if stem is None:
        return None
    place, _, order = part.a.partition(" ")
    slot = date_slot(stem, place)
    return None if slot is None else slot.readings.get(order)


def part_value(part: NamePart, file: InputFile) -> str | None:
    """The text of a part in the new name; None when the file has no such part."""
    if part.what == "date":
        at = date_of(part, file)
        text = format_date(at, part.b, part.rewrite.fold or "en") if at else None
        return text if text is None else recase(text, part.rewrite.case)
    taken = part_source(part, file)
    return None if taken is None else apply_rewrite(taken, part.rewrite)


def counter_text(counter: CounterPart, number: int) -> str:
    if not counter.letters:
        return str(number).zfill(counter.width)
    text = ""
    while number > 0:
        number, digit = divmod(number - 1, 26)
        text = chr(ord(counter.letters) + digit) + text
    return text


def counter_number(counter: CounterPart, text: str) -> int:
    if not counter.letters:
        return int(text)
    number = 0
    for letter in text:
        number = number * 26 + ord(letter) - ord(counter.letters) + 1
    return number


def run_segments(segments: Iterable[Segment], file: InputFile) -> list[str | CounterPart] | None:
    """The pieces of the new text, with counters unresolved.

    None when the file lacks a part.
    """
    out: list[str | CounterPart] = []
    for segment in segments:
        if isinstance(segment, CounterPart):
            out.append(segment)
            continue
        text = segment.text if isinstance(segment, FixedText) else part_value(segment, file)
        if text is None:
            return None
        out.append(text)
    return out


def read_counter(pieces: Sequence[str | CounterPart], text: str) -> tuple[str, str] | None:
    """The text before the counter, and the counter.

    None when the text does not fit the pieces.
    """
    pattern = ""
    for piece in pieces:
        if isinstance(piece, str):
            pattern += re.escape(piece)
        elif piece.letters:
            pattern += f"([{piece.letters}-{'z' if piece.letters == 'a' else 'Z'}]{{1,2}})"
        else:
            pattern += rf"(\d{{{piece.width},18}})"
    match = re.fullmatch(pattern, text)
    return None if match is None else (text[: match.start(1)], match.group(1))


USUAL = {"jpeg": "jpg", "jpe": "jpg", "tiff": "tif", "htm": "html", "mpeg": "mpg", "yml": "yaml"}


def new_extension(program: Program, old: str) -> str | None:
    """The new extension; None when no example had the old one."""
    if program.ext == "keep":
        return old
    if program.ext == "upper":
        return old.upper()
    if program.ext == "table":
        return dict(program.exts).get(old.lower())
    return old.lower() if program.ext == "lower" else USUAL.get(old.lower(), old.lower())


def target_folder(program: Program, folder: Sequence[Segment], file: InputFile) -> str | None:
    """The folder a file goes to under a reading of the folder segments.

    None when it lacks a part.
    """
    if program.folders:
        return dict(program.folders).get(file.extension.lower())
    pieces = run_segments(folder, file)
    return None if pieces is None else "".join(piece for piece in pieces if isinstance(piece, str))


def predicted_folder(program: Program, file: InputFile) -> str | None:
    return target_folder(program, [choice.first for choice in program.folder], file)


def can_name(program: Program, file: InputFile) -> bool:
    """Whether the program gives this file a name."""
    return (
        new_extension(program, file.extension) is not None
        and predicted_folder(program, file) is not None
        and run_segments([choice.first for choice in program.stem], file) is not None
    )


def _segment_out(segment: Segment) -> list[Any]:
    if isinstance(segment, FixedText):
        return ["const", segment.text]
    if isinstance(segment, CounterPart):
        return ["counter", segment.start, segment.step, segment.width, segment.scope, segment.letters]
    return ["part", segment.where, segment.what, segment.a, segment.b, list(segment.rewrite)]


def _segment_in(data: Sequence[Any]) -> Segment:
    kind, *rest = data
    if kind == "const":
        return FixedText(*rest)
    if kind == "counter":
        return CounterPart(*rest)
    where, what, a, b, rewrite = rest
    return NamePart(where, what, a, b, Rewrite(*rewrite))


def _choices_out(choices: Sequence[Choice]) -> list[list[list[Any]]]:
    return [[_segment_out(segment) for segment in (choice.first, *choice.others)] for choice in choices]


def _choices_in(data: Sequence[Sequence[Sequence[Any]]]) -> tuple[Choice, ...]:
    rows = [[_segment_in(segment) for segment in row] for row in data]
    return tuple(Choice(row[0], tuple(row[1:])) for row in rows)


def program_to_json(program: Program) -> dict[str, Any]:
    return {
        "stem": _choices_out(program.stem),
        "folder": _choices_out(program.folder),
        "base": program.base,
        "folders": [list(row) for row in program.folders],
        "ext": program.ext,
        "exts": [list(row) for row in program.exts],
        "rivals": [[_segment_out(segment) for segment in rival] for rival in program.rivals],
    }


def program_from_json(data: dict[str, Any]) -> Program:
    return Program(
        stem=_choices_in(data["stem"]),
        folder=_choices_in(data["folder"]),
        base=data["base"],
        folders=tuple((key, path) for key, path in data["folders"]),
        ext=data["ext"],
        exts=tuple((old, new) for old, new in data["exts"]),
        rivals=tuple(tuple(_segment_in(segment) for segment in rival) for rival in data["rivals"]),
    )


_NAMED = {
    ("words", "-", "lower"): "slug",
    ("quotes", "-", "lower"): "slug",
    ("camel", "-", "lower"): "kebab",
    ("words", "_", "lower"): "snake",
    ("camel", "_", "lower"): "snake",
    ("words", "", "title"): "PascalCase",
    ("camel", "", "title"): "PascalCase",
    ("words", "", "camel"): "camelCase",
    ("camel", "", "camel"): "camelCase",
}
_CASE = {
    "lower": "lower",
    "upper": "UPPER",
    "title": "Title",
    "initial": "Capitals",
    "first": "Sentence",
    "small": "Title with small words",
    "camel": "camelCase",
}
_FOLD = {"ascii": "without accents", "german": "ä as ae", "unquote": "%20 decoded"}
_SPLIT = {"punct": "without punctuation", "squeeze": "single spaces", "and": "& as and"}
_CUT = {"first": "first ", "last": "last ", "max": "at most ", "pad": "digits ", "plus": "plus "}
_WHOLE_CUT = {
    "int": "without zeros",
    "initials": "initials",
    "dotted": "initials with dots",
    "roman": "roman",
}
_KINDS = {"inside": "bracket", "digits": "number"}
_TOKENS = {"inside": "in brackets", "digits": "number", "chunk": "piece"}


def _split(rewrite: Rewrite) -> str:
    if len(rewrite.split) == 1:
        return f'"{rewrite.split}" to "{rewrite.join}"'
    joined = f'words joined by "{rewrite.join}"' if rewrite.join else "words joined"
    return _SPLIT.get(rewrite.split, joined) if rewrite.split != "and" else f"{_SPLIT['and']}, {joined}"


def _cut_text(cut: str) -> str:
    for word, text in _CUT.items():
        if cut.startswith(word):
            return text + cut[len(word) :].partition(":")[0]
    return _WHOLE_CUT[cut]


def _rewrite_text(rewrite: Rewrite) -> str:
    texts = [_FOLD[rewrite.fold]] if rewrite.fold else []
    named = _NAMED.get((rewrite.split, rewrite.join, rewrite.case))
    if named:
        texts.append(named)
    else:
        texts += [_split(rewrite)] if rewrite.split else []
        texts += [_CASE[rewrite.case]] if rewrite.case else []
    texts += [_cut_text(rewrite.cut)] if rewrite.cut else []
    return "".join("|" + word for word in texts)


def _anchor(name: str) -> str:
    for mark, text in (("+word:", "word {} after "), ("-word:", "word -{} before ")):
        head, found, tail = name.partition(mark)
        if found:
            return text.format(tail.rstrip("<>")) + _anchor(head)
    if name.startswith("text:"):
        return f'"{name[5:-1]}"'
    kind, _, index = name.rpartition(":")
    label = f'"{kind[1:-1]}"' if kind.startswith("'") else _KINDS.get(kind, kind)
    return label if index[:-1] == "1" else f"{label} {index[:-1]}"


def _between(part: NamePart) -> str:
    a, b = part.a, part.b
    if (a, b) == ("start", "end"):
        return "name"
    if a[:-1] == b[:-1] and not a.startswith("text:"):
        kind, _, index = a[:-1].rpartition(":")
        alone = index == "1" and kind in ("date", "inside", "episode", "version", "year")
        label = _TOKENS.get(kind, kind)
        return label if alone else f"{label} {index}"
    if a == "start":
        return f"to {_anchor(b)}" if b.endswith(">") else f"before {_anchor(b)}"
    if b == "end":
        return f"after {_anchor(a)}" if a.endswith(">") else f"from {_anchor(a)}"
    return f"from {_anchor(a)} to {_anchor(b)}"


def _part(part: NamePart) -> str:
    if part.where == "ext":
        return "{ext" + _rewrite_text(part.rewrite) + "}"
    text = f"name without {part.a}" if part.what == "without" else _between(part)
    if part.where != "name":
        folder = "folder" if part.where == "folder" else "folder above"
        text = folder if text == "name" else f"{folder} {text}"
    return "{" + text + _rewrite_text(part.rewrite) + "}"


def _date_label(part: NamePart) -> str:
    if part.where == "modified":
        return "modified"
    kind, _, index = part.a.partition(" ")[0].partition(":")
    label = kind if index == "1" else f"{kind} {index}"
    return label if part.where == "name" else f"folder {label}"


def _date_code(part: NamePart) -> str:
    mark = {"upper": "%^", "lower": "%_"}.get(part.rewrite.case, "%")
    return part.b.replace("%", mark) + (f"({part.rewrite.fold})" if part.rewrite.fold else "")


def _literal(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def segments_text(segments: Iterable[Segment]) -> str:
    """The pattern of some segments.

    Adjacent components of one date are written together.
    """
    out: list[tuple[str, str]] = []  # (label of a date or "", text)
    pending = ""
    for segment in segments:
        if isinstance(segment, FixedText):
            pending += segment.text
            continue
        if isinstance(segment, NamePart) and segment.what == "date":
            label = _date_label(segment)
            if out and out[-1][0] == label and len(pending) <= 3 and "{" not in pending:
                out[-1] = (label, out[-1][1] + pending + _date_code(segment))
            else:
                out += [("", _literal(pending)), (label, _date_code(segment))]
        elif isinstance(segment, CounterPart):
            out += [("", _literal(pending)), ("", "{counter:" + counter_text(segment, segment.start) + "}")]
        else:
            out += [("", _literal(pending)), ("", _part(segment))]
        pending = ""
    out.append(("", _literal(pending)))
    return "".join("{" + label + ":" + text + "}" if label else text for label, text in out)


def _extension(program: Program) -> str:
    if program.ext == "table":
        new = sorted({ext for _, ext in program.exts})
        if len(new) == 1:
            return "." + new[0] if new[0] else ""
    words = {
        "keep": "",
        "lower": "|lower",
        "upper": "|UPPER",
        "usual": "|usual spelling",
        "table": "|by table",
    }
    return ".{ext" + words[program.ext] + "}"


def pattern_text(program: Program) -> str:
    """The pattern of the new name, without its folder."""
    return segments_text(choice.first for choice in program.stem) + _extension(program)


def destination_text(program: Program) -> str:
    """The pattern of the new folder; "" when files stay where they are."""
    if program.folders:
        return "{by extension: " + ", ".join(f"{ext} → {path}" for ext, path in program.folders) + "}"
    return segments_text(choice.first for choice in program.folder)


def _gist(segment: Segment) -> Segment:
    """The main features of a segment: its index and the side of a delimiter.

    Other details rarely matter.
    """
    if not isinstance(segment, NamePart) or segment.what == "without":
        return segment
    a, b = (re.sub(r":-?\d+[<>]?", "", anchor) for anchor in (segment.a, segment.b))
    if segment.what == "date":
        return replace(segment, a=a)
    return replace(segment, what="between", a=a, b=b)


def other_readings(program: Program) -> tuple[str, ...]:
    """Patterns that also explain the examples, at most four."""
    first = [choice.first for choice in program.stem]
    found: list[str] = []
    for index, choice in enumerate(program.stem):
        known = {_gist(choice.first)}
        for other in choice.others:
            if _gist(other) not in known:
                known.add(_gist(other))
                found.append(segments_text([*first[:index], other, *first[index + 1 :]]))
    found += [segments_text(rival) for rival in program.rivals]
    own = segments_text(first)
    return tuple(dict.fromkeys(text + _extension(program) for text in found if text != own))[:4]

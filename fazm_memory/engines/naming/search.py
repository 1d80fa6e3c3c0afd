"""Find the simplest program that turns old names into new ones.

All examples are read at once, from the left. A state is one position in each wanted result. A step adds fixed
text that all results share here, or a part of the old names that every result contains here. The program is
the path with the shortest description.

The module has three sections: costs, candidate parts, and the search itself. Most candidates fail at the
first example, so everything is ordered to fail early.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import count
from urllib.parse import unquote

from fazm_memory.engines.naming.parts import (
    CODES,
    LANGUAGES,
    ORDERS,
    WORD_CODES,
    DateParts,
    InputFile,
    Stem,
    format_date,
)
from fazm_memory.engines.naming.program import (
    Choice,
    CounterPart,
    FixedText,
    NamePart,
    Rewrite,
    Segment,
    apply_rewrite,
    bare,
    case_and_separator_rewrites,
    date_of,
    fold,
    joins_in,
    number_rewrites,
    part_value,
    recase,
    rewrite_options,
    shortening_rewrites,
    trimmed,
)

# --- costs ---

# The costs encode what people usually mean: a whole field between delimiters before a single word, the date
# in the name before the modification time, anything from the old name before fixed text that is the same.
MARGIN = 0.34  # a reading that costs at most this much more than the best one is a rival
RAW = 1.05  # for keeping the separators at the edges of a part

_TOKEN = {
    "word": 1.4, "chunk": 1.35, "number": 1.0, "digits": 1.35, "date": 0.9, "time": 0.9, "year": 0.9,
    "month": 0.9, "inside": 0.9, "bracket": 1.0, "episode": 0.9, "version": 0.95, "quality": 1.2,
    "stamp": 1.0,
}  # fmt: skip
_EDGE = {
    "start": 0.0, "end": 0.0, "date": 0.3, "time": 0.32, "year": 0.35, "month": 0.5, "inside": 0.3,
    "bracket": 0.3, "episode": 0.3, "version": 0.5, "quality": 0.5, "number": 0.55, "digits": 0.8,
    "chunk": 0.75, "word": 0.8, "text": 0.6, "stamp": 0.4,
}  # fmt: skip
_DELIMITER = {
    " - ": 0.3, " – ": 0.3, " — ": 0.3, "__": 0.3, "--": 0.35, ", ": 0.4, "_": 0.4, "-": 0.45, ".": 0.45,
    " ": 0.7,
}  # fmt: skip
_CODE = {
    "%Y": 0.3, "%m": 0.3, "%d": 0.3, "%y": 0.5, "%-m": 1.1, "%-d": 1.1, "%B": 0.5, "%b": 0.5, "%h": 0.48,
    "%H": 0.4, "%M": 0.4, "%S": 0.4, "%I": 0.75, "%-I": 1.2, "%-H": 1.2, "%p": 0.6, "%q": 0.7, "%V": 0.9,
    "%-V": 1.5, "%j": 1.2, "%A": 0.8, "%a": 0.8, "%o": 0.8,
}  # fmt: skip
_CASE = {
    "": 0.0, "lower": 0.4, "upper": 0.4, "title": 0.45, "initial": 0.55, "first": 0.6, "small": 0.7,
    "camel": 0.6,
}  # fmt: skip
_CUT = {"pad": 0.45, "int": 0.45, "first": 0.9, "last": 1.0, "max": 1.0, "plus": 2.4}
_WHERE = {"name": 0.0, "folder": 0.9, "above": 1.2, "ext": 0.6}


def _index_cost(name: str) -> tuple[str, float]:
    """The kind of an anchor, and the cost of its index."""
    kind, _, index = name.rpartition(":")
    if not kind:
        return name, 0.0
    number = int(index.rstrip("<>"))
    return kind, 0.25 * (abs(number) - 1) + (0.08 if number < 0 else 0.0)


@lru_cache(maxsize=4096)
def anchor_cost(name: str) -> float:
    if name in ("start", "end"):
        return 0.0
    if name.startswith("text:"):
        return _EDGE["text"]
    for mark in ("+word", "-word"):
        head, found, tail = name.partition(mark)
        if found:
            return anchor_cost(head) + 0.45 + _index_cost("word" + tail)[1]
    kind, extra = _index_cost(name)
    return extra + (_DELIMITER.get(kind[1:-1], 0.5) if kind.startswith("'") else _EDGE[kind])


@lru_cache(maxsize=16384)
def span_cost(a: str, b: str) -> float:
    if a == "start" and b == "end":
        return 0.5
    if a[:-1] == b[:-1] and a.endswith("<") and not a.startswith("text:"):
        kind, extra = _index_cost(a)
        return extra + (1.6 if kind.startswith("'") else _TOKEN[kind])
    kind, extra = _index_cost(a) if a.startswith("'") else ("", 0.0)
    other, more = _index_cost(b) if b.startswith("'") else ("", 0.0)
    # A part normally ends before a delimiter and does not include it.
    odd = (0.02 if kind and a.endswith("<") else 0.0) + (0.02 if other and b.endswith(">") else 0.0)
    if kind and kind == other:
        # The field between two equal delimiters counts as one element.
        return 0.6 + _DELIMITER.get(kind[1:-1], 0.5) + min(extra, more) + 0.25 + odd
    return 0.5 + anchor_cost(a) + anchor_cost(b) + odd


@lru_cache(maxsize=4096)
def rewrite_cost(rewrite: Rewrite) -> float:
    total = _CASE[rewrite.case] + (0.4 if rewrite.fold else 0.0)
    if rewrite.split:
        # Changed case and joined words make a slug; without a change of case, one separator was replaced.
        slug = rewrite.case in ("lower", "upper", "title", "camel") and rewrite.join in ("-", "_", "", ".")
        words = {"words": 0.35, "quotes": 0.3} if slug else {"words": 0.75, "quotes": 0.75}
        single = 0.8 if slug else 0.35
        total += (
            single
            if len(rewrite.split) == 1
            else (words | {"seps": 0.6, "camel": 0.5}).get(rewrite.split, 0.7)
        )
    if rewrite.cut:
        total += next((price for name, price in _CUT.items() if rewrite.cut.startswith(name)), 1.0)
    return total


def date_cost(part: NamePart) -> float:
    name = part.a.partition(" ")[0]
    base = 0.9 if part.where == "modified" else 0.5 + _WHERE[part.where] + _index_cost(name or "start")[1]
    case = 0.2 if part.rewrite.case else 0.0
    return base + _CODE[part.b] + case + (0.6 if part.rewrite.fold not in ("", "en") else 0.0)


def cost(segment: Segment) -> float:
    """The description length of a segment."""
    if isinstance(segment, FixedText):
        # Digits are rarely fixed text: three files from one hour do not fix the hour.
        return 0.7 + sum(1.4 if char.isdigit() else 0.3 for char in segment.text)
    if isinstance(segment, CounterPart):
        return 3.2 if segment.letters else 2.6
    if segment.what == "date":
        return date_cost(segment)
    if segment.where == "ext":
        return _WHERE["ext"] + rewrite_cost(segment.rewrite) + 0.4
    if segment.what == "without":
        return 0.9 + _WHERE[segment.where] + rewrite_cost(segment.rewrite)
    raw = RAW if segment.what == "exactly" else 0.0
    return span_cost(segment.a, segment.b) + raw + _WHERE[segment.where] + rewrite_cost(segment.rewrite)


# --- candidate parts ---

_KINDS = ("date", "stamp", "year", "month", "time")
_MAX_READINGS = 4  # per value and per step
_MAX_SPAN_COST = 3.6
_MAX_SHORTENED_COST = 1.7  # of spans of which only a part is used
_SIGNS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("&", lambda text: text.replace("&", "and")),
    ("%", unquote),
)
Priced = tuple[float, NamePart]


def _rank(priced: Priced) -> tuple[float, str, str, str, Rewrite]:
    price, part = priced
    return price, part.where, part.a, part.b, part.rewrite


def _shared_anchors(stems: Sequence[Stem], literals: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """The anchors that every stem has, with their position in each."""
    shared = {name: [at] for name, at in stems[0].anchors.items()}
    for literal in literals:
        for side in "<>":
            at = stems[0].position(f"text:{literal}{side}")
            if at is not None:
                shared[f"text:{literal}{side}"] = [at]
    for stem in stems[1:]:
        for name in list(shared):
            at = stem.position(name)
            if at is None:
                del shared[name]
            else:
                shared[name].append(at)
    return {name: tuple(ats) for name, ats in shared.items()}


def _literals(stems: Sequence[Stem]) -> list[str]:
    """Words that every name contains."""
    common = set.intersection(*({stem.text[a:b].lower() for a, b in stem.words} for stem in stems))
    return sorted(word for word in common if len(word) > 1)[:6]


class _Results:
    """The wanted results, in the forms that pruning compares with."""

    def __init__(self, results: Sequence[str]) -> None:
        self.results = tuple(results)
        self.lowered = tuple(result.lower() for result in results)
        self.bare = tuple(bare(result) for result in results)
        self.joins = joins_in(self.results)

    def may_contain(self, text: str, index: int) -> bool:
        """Whether some rewrite of the whole text may be part of this result."""
        wanted = self.bare[index]
        if bare(text) in wanted:
            return True
        if not text.isascii() and bare(fold(text, "german")) in wanted:
            return True
        return any(sign in text and bare(plain(text)) in wanted for sign, plain in _SIGNS)

    def may_begin(self, text: str, index: int) -> bool:
        """Whether a shortened or renumbered text may be part of this result."""
        return text.isdigit() or bare(text)[:1] in self.bare[index]

    def if_all_contained(self, values: Iterable[str | None]) -> tuple[str, ...]:
        """The values if each is part of its result, else ().

        Lazy, since most fail at the first.
        """
        found: list[str] = []
        for text, result in zip(values, self.results, strict=True):
            if not text or text not in result:
                return ()
            found.append(text)
        return tuple(found)


def _spans(
    where: str, stems: Sequence[Stem], wanted: _Results
) -> Iterator[tuple[tuple[str, ...], float, NamePart]]:
    """Pairs of shared anchors whose texts may be in the results, with costs."""
    by_place: dict[tuple[int, ...], list[str]] = defaultdict(list)
    for name, ats in _shared_anchors(stems, _literals(stems) if where == "name" else ()).items():
        by_place[ats].append(name)
    places = sorted(by_place)
    for names in by_place.values():
        names.sort(key=lambda name: (anchor_cost(name), name))
        del names[_MAX_READINGS * 2 :]
    for start in places:
        for end in places:
            if end[0] <= start[0]:
                continue
            raw: list[str] = []
            tidy: list[str] = []
            whole = True
            for index, stem in enumerate(stems):
                text = stem.text[start[index] : end[index]]
                raw.append(text)
                tidy.append(trimmed(text))
                whole = whole and bool(tidy[-1]) and wanted.may_contain(tidy[-1], index)
                if not tidy[-1] or not (whole or wanted.may_begin(tidy[-1], index)):
                    break
            else:
                pairs = sorted((span_cost(a, b), a, b) for a in by_place[start] for b in by_place[end])
                for price, a, b in pairs[:_MAX_READINGS]:
                    if price <= (_MAX_SPAN_COST if whole else _MAX_SHORTENED_COST):
                        yield tuple(tidy), price, NamePart(where, "between", a, b)
                        if raw != tidy and whole:
                            yield tuple(raw), price + RAW, NamePart(where, "exactly", a, b)


def _matching_rewrites(
    texts: tuple[str, ...], wanted: _Results, seed: int, price: float, short: bool
) -> Iterator[tuple[Rewrite, tuple[str, ...]]]:
    """The rewrites that turn these texts into parts of all results."""
    options = rewrite_options(texts, wanted.joins)
    result, lowered = wanted.results[seed], wanted.lowered[seed]
    rewrites = list(case_and_separator_rewrites(texts[seed], result, lowered, options))
    if price <= _MAX_SHORTENED_COST and short:
        rewrites += shortening_rewrites(texts, wanted.results, options)
    elif price <= _MAX_SHORTENED_COST:
        rewrites += number_rewrites(texts)
    for rewrite in rewrites:
        values = wanted.if_all_contained(apply_rewrite(text, rewrite) for text in texts)
        if values:
            yield rewrite, values


def _dates(files: Sequence[InputFile], wanted: _Results) -> Iterator[tuple[tuple[str, ...], NamePart]]:
    places: list[tuple[str, str]] = [("modified", "")] if all(file.modified for file in files) else []
    file = files[0]
    for where, stem in zip(("name", "folder", "above"), (file.name, *file.parents), strict=False):
        kinds = {slot.kind for slot in stem.slots}
        places += [(where, f"{kind}:{index}") for kind in _KINDS if kind in kinds for index in (1, 2, -1)]
    worded = any(char.isalpha() for char in wanted.results[0])
    codes = [code for code in CODES if worded or code not in WORD_CODES]
    for where, place in places:
        tried: set[tuple[DateParts, ...]] = set()
        for order in ORDERS if place else ("",):
            spot = f"{place} {order}".strip()
            dates = []
            for file in files:
                found = date_of(NamePart(where, "date", spot), file)
                if found is None:
                    break
                dates.append(found)
            if len(dates) < len(files) or tuple(dates) in tried:
                continue
            tried.add(tuple(dates))
            for code in codes:
                for rewrite in _month_spellings(code):
                    values = wanted.if_all_contained(_format_cased(date, code, rewrite) for date in dates)
                    if values:
                        yield values, NamePart(where, "date", spot, code, rewrite)


def _format_cased(date: DateParts, code: str, rewrite: Rewrite) -> str:
    return recase(format_date(date, code, rewrite.fold or "en") or "", rewrite.case)


@cache
def _month_spellings(code: str) -> list[Rewrite]:
    if code not in WORD_CODES:
        return [Rewrite()]
    languages = ("", *LANGUAGES[1:]) if code in ("%B", "%b") else ("",)
    return [Rewrite(fold=language, case=case) for language in languages for case in ("", "lower", "upper")]


def candidates(
    files: Sequence[InputFile], results: Sequence[str], short: bool
) -> dict[tuple[str, ...], list[Priced]]:
    """Parts of the old names that can be in all results, the cheapest first.

    Parts that keep only some of a text are many and rarely needed. They are included when `short` is true.
    """
    wanted = _Results(results)
    seed = max(range(len(files)), key=lambda i: (len(files[i].name.text), -i))
    found: dict[tuple[str, ...], list[Priced]] = defaultdict(list)
    for taken, parts in _texts(files, wanted).items():
        parts.sort(key=lambda pair: (pair[0], pair[1].a, pair[1].b))
        if parts[0][1].what == "exactly":
            if wanted.if_all_contained(taken):
                found[taken] += parts[:_MAX_READINGS]
            continue
        for rewrite, values in _matching_rewrites(taken, wanted, seed, parts[0][0], short):
            extra = rewrite_cost(rewrite)
            found[values] += [
                (price + extra, NamePart(p.where, p.what, p.a, p.b, rewrite))
                for price, p in parts[: 1 if rewrite.cut else _MAX_READINGS]
            ]
    for values, part in (*_dates(files, wanted), *_extensions(files, wanted)):
        found[values].append((cost(part), part))
    for parts in found.values():
        if len(parts) > 1:
            parts.sort(key=_rank)
            del parts[_MAX_READINGS * 2 :]
    return found


def _texts(
    files: Sequence[InputFile], wanted: _Results
) -> dict[tuple[str, ...], list[tuple[float, NamePart]]]:
    """All texts in names and folders of the files, with the parts for them."""
    texts: dict[tuple[str, ...], list[tuple[float, NamePart]]] = defaultdict(list)
    stems = [file.name for file in files]
    for taken, price, part in _spans("name", stems, wanted):
        texts[taken].append((price, part))
    for what in ("dates", "years", "brackets", "numbers"):
        left = tuple(stem.without(what) or "" for stem in stems)
        if all(left) and left != tuple(stem.text for stem in stems):
            texts[left].append((0.9, NamePart("name", "without", what)))
    for index, where in enumerate(("folder", "above")):
        if all(len(file.parents) > index for file in files):
            parents = [file.parents[index] for file in files]
            for taken, price, part in _spans(where, parents, wanted):
                if price < 2.0:
                    texts[taken].append((price + 0.9 + 0.3 * index, part))
    return texts


def _extensions(files: Sequence[InputFile], wanted: _Results) -> Iterator[tuple[tuple[str, ...], NamePart]]:
    if not all(file.extension for file in files):
        return
    for case in ("", "lower", "upper"):
        part = NamePart("ext", "between", rewrite=Rewrite(case=case))
        values = wanted.if_all_contained(part_value(part, file) for file in files)
        if values:
            yield values, part


# --- search ---

_MAX_STATES = 4000  # visited before the search gives up


class _Step:
    """One edge of the search: text for each result, and the segments for it."""

    __slots__ = ("price", "readings", "values")

    def __init__(self, values: tuple[str, ...], readings: list[tuple[float, Segment]]) -> None:
        self.values, self.readings, self.price = values, readings, readings[0][0]


def _counters(results: Sequence[str], at: Sequence[int], file_count: int) -> Iterator[_Step]:
    """Counters, when every result has a number or letter here."""
    for letters, good in (("", str.isdigit), ("a", str.islower), ("A", str.isupper)):
        runs = []
        for result, start in zip(results, at, strict=True):
            end = start
            while end < len(result) and result[end].isascii() and good(result[end]):
                end += 1
            runs.append(result[start:end])
        if not all(runs) or len(set(runs)) == 1 or (letters and any(len(run) > 1 for run in runs)):
            continue
        if not letters and max(map(int, runs)) - min(map(int, runs)) > 10 * file_count:
            continue
        padded = [len(run) for run in runs if run.startswith("0") and len(run) > 1]
        shortest = min(len(run) for run in runs)
        if padded and max(padded) > shortest:
            continue
        width = shortest if padded or (shortest > 1 and not letters) else 1
        counter = CounterPart(0, 1, width, "all", letters)
        yield _Step(tuple(runs), [(cost(counter), counter)])


def search(
    files: Sequence[InputFile], results: Sequence[str], *, file_count: int = 0, most: int = 4
) -> list[tuple[float, tuple[Choice, ...]]]:
    """The cheapest programs that turn every file into its result, best first.

    `file_count` is the number of files a counter may have counted. Counters and shortened parts are only
    tried when nothing simpler fits.
    """
    if not any(results):
        return [(0.0, ())]
    if not all(results):
        return []
    return _search(files, results, False, 0, most) or _search(files, results, True, file_count, most)


def _search(
    files: Sequence[InputFile], results: Sequence[str], short: bool, file_count: int, most: int
) -> list[tuple[float, tuple[Choice, ...]]]:
    steps: dict[str, list[_Step]] = defaultdict(list)
    for values, priced in candidates(files, results, short).items():
        steps[values[0][:1]].append(_Step(values, list(priced)))
    order = count()
    goal = tuple(len(result) for result in results)
    heap: list[tuple[float, int, tuple[int, ...], bool, tuple[_Step, ...]]] = [
        (0.0, 0, (0,) * len(results), False, ())
    ]
    visits: dict[tuple[tuple[int, ...], bool], int] = defaultdict(int)
    found: list[tuple[float, tuple[Choice, ...]]] = []
    visited = 0
    while heap and visited < _MAX_STATES:
        price, _, at, after_const, path = heapq.heappop(heap)
        if found and price > found[0][0] + MARGIN:
            break
        if at == goal:
            found.append((price, tuple(_choice(step) for step in path)))
            if len(found) == most:
                break
            continue
        if visits[at, after_const] >= most:
            continue
        visits[at, after_const] += 1
        visited += 1
        edges: list[tuple[_Step, bool]] = []
        digit_before = after_const and results[0][at[0] - 1].isdigit()
        if at[0] < goal[0]:
            for step in steps[results[0][at[0]]]:
                if all(map(str.startswith, results, step.values, at)):
                    edges.append((step, False))
        if not after_const:
            for size in range(1, _shared(results, at) + 1):
                const = FixedText(results[0][at[0] : at[0] + size])
                edges.append((_Step((const.text,) * len(results), [(cost(const), const)]), True))
        if file_count and len(results) > 1 and not digit_before:
            edges += [(step, False) for step in _counters(results, at, file_count) if not _has_counter(path)]
        for step, is_const in edges:
            reached = tuple(p + len(v) for p, v in zip(at, step.values, strict=True))
            heapq.heappush(heap, (price + step.price, next(order), reached, is_const, (*path, step)))
    return found


def _shared(results: Sequence[str], at: Sequence[int]) -> int:
    """The number of characters that all results share from here on."""
    size = 0
    for column in zip(*(result[start:] for result, start in zip(results, at, strict=True)), strict=False):
        if len(set(column)) > 1:
            break
        size += 1
    return size


def _has_counter(path: tuple[_Step, ...]) -> bool:
    return any(isinstance(step.readings[0][1], CounterPart) for step in path)


def _choice(step: _Step) -> Choice:
    first = step.readings[0][1]
    rivals = [segment for price, segment in step.readings[1:] if price <= step.price + MARGIN]
    if isinstance(first, NamePart) and len(set(step.values)) == 1:
        const = FixedText(step.values[0])
        rivals += [const] if cost(const) <= step.price + MARGIN else []
    return Choice(first, tuple(rivals[:_MAX_READINGS]))

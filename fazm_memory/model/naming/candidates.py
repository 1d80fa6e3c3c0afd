"""What the old names could contribute to the new ones: every part whose value stands in all of the results.

Most parts fail at the first example they are held against, so everything here is ordered to fail early.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from urllib.parse import unquote

from fazm_memory.model.naming import dates as naming_dates
from fazm_memory.model.naming import moments as naming_moments
from fazm_memory.model.naming import rewritings as naming_rewritings
from fazm_memory.model.naming import text as naming_text
from fazm_memory.model.naming.costs import RAW, anchor_cost, cost, how_cost, span_cost
from fazm_memory.model.naming.parts import Stem, Subject
from fazm_memory.model.naming.program import Part, moment, trimmed, value
from fazm_memory.model.naming.text import How, bare

_KINDS = ("date", "stamp", "year", "month", "time")
_KEPT = 4  # readings kept per value
_SPAN_LIMIT = 3.6  # longer-winded anchors than this are never the point of a convention
_SHORT_LIMIT = 1.7  # … and shorter still for what is only used in part
_SIGNS: tuple[tuple[str, Callable[[str], str]], ...] = (
    ("&", lambda text: text.replace("&", "and")),
    ("%", unquote),
)
Priced = tuple[float, Part]


def _rank(priced: Priced) -> tuple[float, str, str, str, How]:
    price, part = priced
    return price, part.where, part.a, part.b, part.how


def _places(stems: Sequence[Stem], literals: Sequence[str]) -> dict[str, tuple[int, ...]]:
    """The anchors every stem has, with their position in each."""
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
    """Words that stand in every name: what a person would call the fixed part."""
    common = set.intersection(*({stem.text[a:b].lower() for a, b in stem.words} for stem in stems))
    return sorted(word for word in common if len(word) > 1)[:6]


class _Wanted:
    """The results looked for, in the forms the pruning compares against."""

    def __init__(self, results: Sequence[str]) -> None:
        self.results = tuple(results)
        self.lowered = tuple(result.lower() for result in results)
        self.bare = tuple(bare(result) for result in results)
        self.joins = naming_rewritings.joins_in(self.results)

    def may_hold(self, text: str, index: int) -> bool:
        """Could some rewriting of the whole text stand in this result?"""
        wanted = self.bare[index]
        if bare(text) in wanted:
            return True
        if not text.isascii() and bare(naming_text.fold(text, "german")) in wanted:
            return True
        return any(sign in text and bare(plain(text)) in wanted for sign, plain in _SIGNS)

    def may_begin(self, text: str, index: int) -> bool:
        """Could a shortened or renumbered text stand in this result?"""
        return text.isdigit() or bare(text)[:1] in self.bare[index]

    def put_down(self, values: Iterable[str | None]) -> tuple[str, ...]:
        """The values when each stands in its result, else nothing; lazily, since most fail at the first."""
        kept: list[str] = []
        for text, result in zip(values, self.results, strict=True):
            if not text or text not in result:
                return ()
            kept.append(text)
        return tuple(kept)


def _spans(
    where: str, stems: Sequence[Stem], wanted: _Wanted
) -> Iterator[tuple[tuple[str, ...], float, Part]]:
    """Every pair of shared anchors whose texts may matter to the results, with what it costs to name it."""
    by_place: dict[tuple[int, ...], list[str]] = defaultdict(list)
    for name, ats in _places(stems, _literals(stems) if where == "name" else ()).items():
        by_place[ats].append(name)
    places = sorted(by_place)
    for names in by_place.values():
        names.sort(key=lambda name: (anchor_cost(name), name))
        del names[_KEPT * 2 :]
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
                whole = whole and bool(tidy[-1]) and wanted.may_hold(tidy[-1], index)
                if not tidy[-1] or not (whole or wanted.may_begin(tidy[-1], index)):
                    break
            else:
                pairs = sorted((span_cost(a, b), a, b) for a in by_place[start] for b in by_place[end])
                for price, a, b in pairs[:_KEPT]:
                    if price <= (_SPAN_LIMIT if whole else _SHORT_LIMIT):
                        yield tuple(tidy), price, Part(where, "between", a, b)
                        if raw != tidy and whole:
                            yield tuple(raw), price + RAW, Part(where, "exactly", a, b)


def _rewritings(
    texts: tuple[str, ...], wanted: _Wanted, seed: int, price: float, short: bool
) -> Iterator[tuple[How, tuple[str, ...]]]:
    """The rewritings under which these texts stand in all the results."""
    colours = naming_rewritings.palette(texts, wanted.joins)
    result, lowered = wanted.results[seed], wanted.lowered[seed]
    hows = list(naming_rewritings.renderings(texts[seed], result, lowered, colours))
    if price <= _SHORT_LIMIT and short:
        hows += naming_rewritings.shortenings(texts, wanted.results, colours)
    elif price <= _SHORT_LIMIT:
        hows += naming_rewritings.numerals(texts)
    for how in hows:
        values = wanted.put_down(naming_text.rewrite(text, how) for text in texts)
        if values:
            yield how, values


def _dates(subjects: Sequence[Subject], wanted: _Wanted) -> Iterator[tuple[tuple[str, ...], Part]]:
    places: list[tuple[str, str]] = [("modified", "")] if all(s.modified for s in subjects) else []
    one = subjects[0]
    for where, stem in zip(("name", "folder", "above"), (one.name, *one.parents), strict=False):
        kinds = {slot.kind for slot in stem.slots}
        places += [(where, f"{kind}:{index}") for kind in _KINDS if kind in kinds for index in (1, 2, -1)]
    worded = any(char.isalpha() for char in wanted.results[0])
    codes = [code for code in naming_moments.CODES if worded or code not in naming_moments.WORD_CODES]
    for where, place in places:
        seen: set[tuple[naming_moments.Moment, ...]] = set()
        for order in naming_dates.ORDERS if place else ("",):
            spot = f"{place} {order}".strip()
            moments = []
            for subject in subjects:
                found = moment(Part(where, "date", spot), subject)
                if found is None:
                    break
                moments.append(found)
            if len(moments) < len(subjects) or tuple(moments) in seen:
                continue
            seen.add(tuple(moments))
            for code in codes:
                for how in _spellings(code):
                    values = wanted.put_down(_written(at, code, how) for at in moments)
                    if values:
                        yield values, Part(where, "date", spot, code, how)


def _written(at: naming_moments.Moment, code: str, how: How) -> str:
    return naming_text.recase(naming_moments.write(at, code, how.fold or "en") or "", how.case)


@cache
def _spellings(code: str) -> list[How]:
    if code not in naming_moments.WORD_CODES:
        return [How()]
    languages = ("", *naming_moments.LANGUAGES[1:]) if code in ("%B", "%b") else ("",)
    return [How(fold=language, case=case) for language in languages for case in ("", "lower", "upper")]


def candidates(
    subjects: Sequence[Subject], results: Sequence[str], short: bool
) -> dict[tuple[str, ...], list[Priced]]:
    """Every value the old names can contribute to all of the results, with the cheapest parts that give it.

    Parts that keep only some of a text are as many as they are rare: they are left out unless `short`.
    """
    wanted = _Wanted(results)
    seed = max(range(len(subjects)), key=lambda i: (len(subjects[i].name.text), -i))
    found: dict[tuple[str, ...], list[Priced]] = defaultdict(list)
    texts: dict[tuple[str, ...], list[tuple[float, Part]]] = defaultdict(list)
    stems = [subject.name for subject in subjects]
    for taken, price, part in _spans("name", stems, wanted):
        texts[taken].append((price, part))
    for what in ("dates", "years", "brackets", "numbers"):
        left = tuple(stem.without(what) or "" for stem in stems)
        if all(left) and left != tuple(stem.text for stem in stems):
            texts[left].append((0.9, Part("name", "without", what)))
    for index, where in enumerate(("folder", "above")):
        if all(len(subject.parents) > index for subject in subjects):
            parents = [subject.parents[index] for subject in subjects]
            for taken, price, part in _spans(where, parents, wanted):
                if price < 2.0:
                    texts[taken].append((price + 0.9 + 0.3 * index, part))
    for taken, parts in texts.items():
        parts.sort(key=lambda pair: (pair[0], pair[1].a, pair[1].b))
        if parts[0][1].what == "exactly":
            if wanted.put_down(taken):
                found[taken] += parts[:_KEPT]
            continue
        for how, values in _rewritings(taken, wanted, seed, parts[0][0], short):
            extra = how_cost(how)
            found[values] += [
                (price + extra, Part(p.where, p.what, p.a, p.b, how))
                for price, p in parts[: 1 if how.cut else _KEPT]
            ]
    for values, part in _dates(subjects, wanted):
        found[values].append((cost(part), part))
    if all(subject.extension for subject in subjects):
        for case in ("", "lower", "upper"):
            part = Part("ext", "between", how=How(case=case))
            values = wanted.put_down(value(part, subject) for subject in subjects)
            if values:
                found[values].append((cost(part), part))
    for parts in found.values():
        if len(parts) > 1:
            parts.sort(key=_rank)
            del parts[_KEPT * 2 :]
    return found

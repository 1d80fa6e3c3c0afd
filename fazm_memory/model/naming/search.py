"""The search for a program: all examples are read at once, from the left, and the cheapest way through wins.

A state is one position in each wanted result; a step is a constant they all share here, or a part of the old
names whose value stands here in every one of them. The shortest path, by description length, is the program.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import count

from fazm_memory.model.naming.candidates import candidates
from fazm_memory.model.naming.costs import MARGIN, cost
from fazm_memory.model.naming.parts import Subject
from fazm_memory.model.naming.program import Choice, Const, Counter, Part, Segment

_KEPT = 4  # readings kept per step
_POPS = 4000  # states looked at before the search gives up


class _Step:
    """One edge of the search: the values it puts down in each result, and the segments that give them."""

    __slots__ = ("price", "readings", "values")

    def __init__(self, values: tuple[str, ...], readings: list[tuple[float, Segment]]) -> None:
        self.values, self.readings, self.price = values, readings, readings[0][0]


def _counters(results: Sequence[str], at: Sequence[int], crowd: int) -> Iterator[_Step]:
    """A number standing here in every result that no part explains may count the files."""
    for letters, good in (("", str.isdigit), ("a", str.islower), ("A", str.isupper)):
        runs = []
        for result, start in zip(results, at, strict=True):
            end = start
            while end < len(result) and result[end].isascii() and good(result[end]):
                end += 1
            runs.append(result[start:end])
        if not all(runs) or len(set(runs)) == 1 or (letters and any(len(run) > 1 for run in runs)):
            continue
        if not letters and max(map(int, runs)) - min(map(int, runs)) > 10 * crowd:
            continue
        padded = [len(run) for run in runs if run.startswith("0") and len(run) > 1]
        shortest = min(len(run) for run in runs)
        if padded and max(padded) > shortest:
            continue
        width = shortest if padded or (shortest > 1 and not letters) else 1
        counter = Counter(0, 1, width, "all", letters)
        yield _Step(tuple(runs), [(cost(counter), counter)])


def search(
    subjects: Sequence[Subject], results: Sequence[str], *, crowd: int = 0, most: int = 4
) -> list[tuple[float, tuple[Choice, ...]]]:
    """The cheapest programs that give every result from its subject, best first. `crowd` is how many files a
    counter may have counted; counters and shortened parts are only tried when nothing plainer will do."""
    if not any(results):
        return [(0.0, ())]
    if not all(results):
        return []
    return _search(subjects, results, False, 0, most) or _search(subjects, results, True, crowd, most)


def _search(
    subjects: Sequence[Subject], results: Sequence[str], short: bool, crowd: int, most: int
) -> list[tuple[float, tuple[Choice, ...]]]:
    steps: dict[str, list[_Step]] = defaultdict(list)
    for values, priced in candidates(subjects, results, short).items():
        steps[values[0][:1]].append(_Step(values, list(priced)))
    order = count()
    goal = tuple(len(result) for result in results)
    heap: list[tuple[float, int, tuple[int, ...], bool, tuple[_Step, ...]]] = [
        (0.0, 0, (0,) * len(results), False, ())
    ]
    visits: dict[tuple[tuple[int, ...], bool], int] = defaultdict(int)
    found: list[tuple[float, tuple[Choice, ...]]] = []
    pops = 0
    while heap and pops < _POPS:
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
        pops += 1
        edges: list[tuple[_Step, bool]] = []
        digit_before = after_const and results[0][at[0] - 1].isdigit()
        if at[0] < goal[0]:
            for step in steps[results[0][at[0]]]:
                if all(map(str.startswith, results, step.values, at)):
                    edges.append((step, False))
        if not after_const:
            for size in range(1, _shared(results, at) + 1):
                const = Const(results[0][at[0] : at[0] + size])
                edges.append((_Step((const.text,) * len(results), [(cost(const), const)]), True))
        if crowd and len(results) > 1 and not digit_before:
            edges += [(step, False) for step in _counters(results, at, crowd) if not _counted(path)]
        for step, is_const in edges:
            reached = tuple(p + len(v) for p, v in zip(at, step.values, strict=True))
            heapq.heappush(heap, (price + step.price, next(order), reached, is_const, (*path, step)))
    return found


def _shared(results: Sequence[str], at: Sequence[int]) -> int:
    """How many characters all the results have in common from here on."""
    size = 0
    for column in zip(*(result[start:] for result, start in zip(results, at, strict=True)), strict=False):
        if len(set(column)) > 1:
            break
        size += 1
    return size


def _counted(path: tuple[_Step, ...]) -> bool:
    return any(isinstance(step.readings[0][1], Counter) for step in path)


def _choice(step: _Step) -> Choice:
    first = step.readings[0][1]
    rivals = [segment for price, segment in step.readings[1:] if price <= step.price + MARGIN]
    if isinstance(first, Part) and len(set(step.values)) == 1:
        const = Const(step.values[0])
        rivals += [const] if cost(const) <= step.price + MARGIN else []
    return Choice(first, tuple(rivals[:_KEPT]))

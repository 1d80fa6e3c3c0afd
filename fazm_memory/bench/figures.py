"""A figure: what we took, what the floor took in the same run, and the ratio between them.

Times on a busy machine mean little; ratios of two things measured in turns mean much. So every figure has
both, and a goal is set on the ratio, or, where a person would feel it, on the value itself.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Literal

Sense = Literal["share", "times"]


@dataclass(frozen=True)
class Goal:
    """What a figure should reach: a ratio of at least or at most so much, or a value of at most so much."""

    at_least: float | None = None
    at_most: float | None = None
    limit: float | None = None

    def met(self, figure: Figure) -> bool:
        if self.limit is not None and figure.ours > self.limit:
            return False
        ratio = figure.ratio
        if ratio is None:
            return self.at_least is None and self.at_most is None
        return (self.at_least is None or ratio >= self.at_least) and (
            self.at_most is None or ratio <= self.at_most
        )

    def told(self, unit: str) -> str:
        parts = []
        if self.at_least is not None:
            parts.append(f"≥ {self.at_least:g}")
        if self.at_most is not None:
            parts.append(f"≤ {self.at_most:g}")
        if self.limit is not None:
            parts.append(f"{self.limit:g} {unit} at most")
        return ", ".join(parts)


@dataclass(frozen=True)
class Figure:
    """One row of the report. `share` is floor / ours (1 is the floor itself), `times` is ours / floor."""

    what: str
    unit: str
    ours: float
    floor: float | None = None
    against: str = ""
    events: int | None = None
    sense: Sense = "times"
    goal: Goal | None = None

    @property
    def ratio(self) -> float | None:
        if self.floor is None:
            return None
        above, below = (self.floor, self.ours) if self.sense == "share" else (self.ours, self.floor)
        return above / below if below else None

    @property
    def ok(self) -> bool | None:
        return None if self.goal is None else self.goal.met(self)

    def to_json(self) -> dict[str, Any]:
        return {
            "what": self.what,
            "events": self.events,
            "unit": self.unit,
            "ours": self.ours,
            "floor": self.floor,
            "against": self.against,
            "ratio": self.ratio,
            "sense": self.sense,
            "goal": None if self.goal is None else self.goal.told(self.unit),
            "ok": self.ok,
        }


def clocked(job: Callable[..., object], *arguments: Any) -> float:
    """Seconds that one run of the job takes."""
    start = time.perf_counter()
    job(*arguments)
    return time.perf_counter() - start


def in_turns(
    rounds: int, jobs: Sequence[Callable[[], object]], *, before: Callable[[], object] = lambda: None
) -> list[list[float]]:
    """Seconds of every run of every job. They take turns, so that a noisy moment falls on all of them."""
    taken: list[list[float]] = [[] for _ in jobs]
    gc.collect()
    for nth in range(rounds):
        for step in range(len(jobs)):
            which = (nth + step) % len(jobs)
            before()
            taken[which].append(clocked(jobs[which]))
    return taken


def middle(values: Sequence[float]) -> float:
    return median(values)


def high(values: Sequence[float]) -> float:
    """The 95th percentile."""
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, int(len(ranked) * 0.95))]

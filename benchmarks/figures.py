"""A figure: our value, a baseline's in the same run, and their ratio.

Times on a busy machine mean little. The ratio of two things that were measured in turns means more. So a goal
is set on the ratio, or, where a person would feel it, on the value itself.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Sense = Literal["share", "times"]
Report = Callable[[str, int, int], None]  # progress: what is being done, how much of it, out of how much


@dataclass(frozen=True)
class Options:
    """What a suite is run with."""

    sizes: tuple[int, ...] = (10_000, 100_000)  # events of the stores
    quick: bool = False
    peers: bool = False
    folder: Path | None = None  # parent of the stores; default: the system's temporary folder
    notes: Path | None = None  # handover notes of real days, with the folder of their transcripts
    transcripts: Path | None = None
    only: str | None = None  # part of the names of the days to score
    keep: Path | None = None  # folder where the stores of the days stay for the next run
    show: bool = False  # print each context and what it misses
    real: Path | None = None  # folder of real transcripts


@dataclass(frozen=True)
class Goal:
    """Bounds of a figure, on its ratio or on the value (`least`, `limit`)."""

    at_least: float | None = None
    at_most: float | None = None
    limit: float | None = None
    least: float | None = None

    def met(self, figure: Figure) -> bool:
        if self.least is not None and figure.ours < self.least:
            return False
        if self.limit is not None and figure.ours > self.limit:
            return False
        ratio = figure.ratio
        if ratio is None:
            return self.at_least is None and self.at_most is None
        return (self.at_least is None or ratio >= self.at_least) and (
            self.at_most is None or ratio <= self.at_most
        )

    def describe(self, unit: str) -> str:
        parts = []
        if self.at_least is not None:
            parts.append(f"≥ {self.at_least:g}")
        if self.at_most is not None:
            parts.append(f"≤ {self.at_most:g}")
        if self.limit is not None:
            parts.append(f"{self.limit:g} {unit} at most")
        if self.least is not None:
            parts.append(f"{self.least:g} {unit} at least")
        return ", ".join(parts)


@dataclass(frozen=True)
class Figure:
    """One row of the report. `share` is baseline / ours, `times` is ours / baseline."""

    what: str
    unit: str
    ours: float
    baseline: float | None = None
    against: str = ""
    events: int | None = None
    sense: Sense = "times"
    goal: Goal | None = None
    interval: tuple[float, float] | None = None  # 95 % confidence interval of `ours`

    @property
    def ratio(self) -> float | None:
        if self.baseline is None:
            return None
        above, below = (self.baseline, self.ours) if self.sense == "share" else (self.ours, self.baseline)
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
            "baseline": self.baseline,
            "against": self.against,
            "ratio": self.ratio,
            "sense": self.sense,
            "goal": None if self.goal is None else self.goal.describe(self.unit),
            "ok": self.ok,
            "interval": self.interval,
        }


def timed(job: Callable[..., object], *arguments: Any) -> float:
    """Run the job once and return the seconds it took."""
    start = time.perf_counter()
    job(*arguments)
    return time.perf_counter() - start


def in_turns(
    rounds: int, jobs: Sequence[Callable[[], object]], *, before: Callable[[], object] = lambda: None
) -> list[list[float]]:
    """Time the jobs in turns, so that a noisy moment falls on all of them.

    Returns seconds per job.
    """
    taken: list[list[float]] = [[] for _ in jobs]
    gc.collect()
    for nth in range(rounds):
        for step in range(len(jobs)):
            which = (nth + step) % len(jobs)
            before()
            taken[which].append(timed(jobs[which]))
    return taken


def percentile_95(values: Sequence[float]) -> float:
    ranked = sorted(values)
    return ranked[min(len(ranked) - 1, int(len(ranked) * 0.95))]

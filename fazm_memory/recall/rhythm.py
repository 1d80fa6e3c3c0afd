"""The rhythm of something that recurs: daily, on weekdays, weekly, monthly, or no rhythm at all."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from statistics import median
from typing import Any

from fazm_memory.model.clock import moment

ENOUGH = 3  # occurrences below which nobody should speak of a rhythm
MOSTLY = 0.7  # of the gaps must agree
GAPS: dict[str, tuple[int, int]] = {
    "daily": (1, 1),
    "weekly": (6, 8),
    "every two weeks": (13, 15),
    "monthly": (27, 32),
}


@dataclass(frozen=True)
class Rhythm:
    """`name` is None when there is no pattern; `around` is the hour of the day it usually happens at."""

    name: str | None
    weekday: str | None
    around: int | None

    def told(self) -> str:
        if self.name is None:
            return "no rhythm yet"
        day = f" on {self.weekday}" if self.weekday else ""
        hour = f", around {self.around:02d}:00" if self.around is not None else ""
        return f"{self.name}{day}{hour}"

    def to_json(self) -> dict[str, Any]:
        return dict(self.__dict__)


def rhythm_of(moments: Sequence[int]) -> Rhythm:
    """What the moments of something show, by the user's calendar."""
    local = [moment(at) for at in moments]
    days = sorted({one.date() for one in local})
    hours = sorted(one.hour for one in local)
    around = int(median(hours)) if len(hours) >= ENOUGH and _close(hours) else None
    if len(days) < ENOUGH:
        return Rhythm(None, None, around)
    gaps = [(after - before).days for before, after in itertools.pairwise(days)]
    name = _name(gaps, days)
    weekday = f"{days[-1]:%A}" if name in ("weekly", "every two weeks") and _one_weekday(days) else None
    return Rhythm(name, weekday, around)


def _name(gaps: list[int], days: list[date]) -> str | None:
    if all(day.weekday() < 5 for day in days) and _mostly([gap in (1, 3) for gap in gaps]) and 3 in gaps:
        return "on weekdays"
    for name, (low, high) in GAPS.items():
        if _mostly([low <= gap <= high for gap in gaps]):
            return name
    return None


def _mostly(agree: list[bool]) -> bool:
    return sum(agree) >= MOSTLY * len(agree)


def _one_weekday(days: list[date]) -> bool:
    return Counter(day.weekday() for day in days).most_common(1)[0][1] >= MOSTLY * len(days)


def _close(hours: list[int]) -> bool:
    """Whether most happened within three hours of the middle one."""
    middle = median(hours)
    return _mostly([abs(hour - middle) <= 3 for hour in hours])

"""Dates and times as they are written in file names, found in any of the usual spellings.

A written date can be read in more than one way (03-04-2026), so a place in a name holds one moment per order
(`ymd`, `dmy`, `mdy`); examples, not guesses, decide which order a convention follows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache

from fazm_memory.model.naming.moments import MONTH_NUMBER, Moment, calendar

ORDERS = ("ymd", "dmy", "mdy")


@dataclass(frozen=True)
class Slot:
    """A place in a name that reads as a moment; `end` closes the date, `time_end` also the time behind it."""

    kind: str  # date | stamp (bare digits that may be something else) | year | month | time
    start: int
    end: int
    time_end: int
    readings: dict[str, Moment]


_Y4 = r"(?P<Y>19\d\d|20[0-4]\d)"
_MON = "(?P<B>" + "|".join(sorted(MONTH_NUMBER, key=len, reverse=True)) + r")(?![^\W\d_])\.?"
_DAY = r"(?P<d>\d{1,2})(?:st|nd|rd|th|\.)?"
_WEEK = r"(?:W|KW|CW)"
_FREE = r"(?<!\d)"  # no digit before
_NEW = r"(?<![^\W_])"  # neither letter nor digit before
_STOP = r"(?!\d)"
_OUT = r"(?![^\W_])"
_JOIN = r"[ _.\-]?"
_GAP = r"[ _.,\-]{0,2}"
_PART = r"(?P<s>[-_. /])"
_TIGHT = r"(?P<H>\d\d)(?P<M>\d\d)(?P<S>\d\d)?(?:\d{3})?"
_CLOCK = r"(?P<H>\d\d?)(?P<s>[.:h\-])(?P<M>\d\d)(?:(?P=s)(?P<S>\d\d))? ?(?P<p>[AP]M)\b"

# What is written in full comes first: a looser pattern only sees what the stricter ones left over. The second
# column says how the numbers are to be read: any order comes to the same, day before month or the reverse,
# three numbers of which the first or the last may be the year, seconds since 1970.
_PATTERNS: tuple[tuple[str, str, re.Pattern[str]], ...] = tuple(
    (kind, reading, re.compile(pattern, re.IGNORECASE))
    for kind, reading, pattern in (
        ("date", "any", rf"{_FREE}{_Y4}(?P<m>\d\d)(?P<d>\d\d){_TIGHT}{_STOP}"),
        ("date", "any", rf"{_FREE}{_Y4}(?P<s>[-_. /:]?)(?P<m>\d\d)(?P=s)(?P<d>\d\d){_STOP}"),
        ("date", "any", rf"{_FREE}{_Y4}(?P<s>[-_. /:])(?P<m>\d\d?)(?P=s)(?P<d>\d\d?){_STOP}"),
        ("date", "any", rf"{_FREE}{_Y4}年(?P<m>\d\d?)月(?P<d>\d\d?)日"),
        ("date", "any", rf"{_FREE}{_Y4}[-_ .](?P<m>\d\d)(?P<d>\d\d){_STOP}"),
        ("date", "dmy", rf"{_FREE}(?P<d>\d\d?){_PART}(?P<m>\d\d?)(?P=s){_Y4}{_STOP}"),
        ("stamp", "dmy", rf"{_FREE}(?P<d>\d\d)(?P<m>\d\d){_Y4}{_STOP}"),
        ("date", "any", rf"{_NEW}{_DAY}{_JOIN}(?:of )?{_MON}{_GAP}{_Y4}{_STOP}"),
        ("date", "any", rf"{_NEW}{_MON}{_JOIN}{_DAY}{_GAP}{_Y4}{_STOP}"),
        ("date", "any", rf"{_FREE}{_Y4}{_GAP}{_MON}{_JOIN}(?P<d>\d\d?){_STOP}"),
        ("date", "any", rf"{_NEW}{_DAY}[-_'. ]?{_MON}[-_' ]?(?P<y>\d\d){_STOP}"),
        ("date", "any", rf"{_NEW}{_MON}[-' ](?P<d>\d\d?)[-' ,]{{1,2}}(?P<y>\d\d){_STOP}"),
        ("date", "any", rf"{_FREE}{_Y4}{_JOIN}Q(?P<q>[1-4]){_OUT}"),
        ("date", "any", rf"{_NEW}Q(?P<q>[1-4]){_JOIN}{_Y4}{_STOP}"),
        ("date", "any", rf"{_FREE}{_Y4}{_JOIN}{_WEEK}{_JOIN}(?P<w>\d\d?){_STOP}"),
        ("date", "any", rf"{_NEW}{_WEEK}{_JOIN}(?P<w>\d\d?){_JOIN}{_Y4}{_STOP}"),
        ("date", "any", rf"{_NEW}{_MON}{_GAP}{_Y4}{_STOP}"),
        ("date", "any", rf"{_NEW}{_MON}'(?P<y>\d\d){_STOP}"),
        ("date", "any", rf"{_FREE}{_Y4}{_GAP}{_MON}{_OUT}"),
        ("date", "any", rf"{_FREE}{_Y4}[-_. /](?P<m>0[1-9]|1[0-2]){_STOP}"),
        ("stamp", "any", rf"{_FREE}{_Y4}(?P<m>0[1-9]|1[0-2]){_STOP}"),
        ("date", "any", rf"{_FREE}(?P<m>0[1-9]|1[0-2])[-_ /]{_Y4}{_STOP}"),
        ("stamp", "any", rf"{_FREE}(?P<m>0?[1-9]|1[0-2])[-_. /]{_Y4}{_STOP}"),
        ("date", "three", rf"{_FREE}(?P<a>\d\d?)(?P<s>[-_./])(?P<b>\d\d?)(?P=s)(?P<c>\d\d){_STOP}"),
        ("stamp", "three", rf"{_FREE}(?P<a>\d\d)(?P<b>\d\d)(?P<c>\d\d){_STOP}"),
        ("stamp", "epoch", rf"{_FREE}(?P<e>1\d{{9}})(?:\d{{3}})?{_STOP}"),
        ("date", "any", rf"{_NEW}{_DAY}{_JOIN}{_MON}{_OUT}"),
        ("date", "any", rf"{_NEW}{_MON}[ _.\-](?P<d>\d\d?)(?:st|nd|rd|th)?{_STOP}"),
        ("year", "any", rf"{_FREE}{_Y4}(?!\d|x\d|px|bpm)"),
        ("month", "any", rf"{_NEW}{_MON}{_OUT}"),
        ("time", "any", rf"{_FREE}{_CLOCK}"),
        ("time", "any", rf"{_FREE}(?P<H>\d\d?)[:h](?P<M>\d\d)(?:[:m](?P<S>\d\d))?{_STOP}"),
    )
)
_TIME = re.compile(
    r"(?:[ _\-T.,]| at | um |_at_|-at-|, | - |  )(?:"
    r"(?P<H>\d{1,2})(?P<s>[.:\-_h])(?P<M>\d\d)(?:(?:(?P=s)|m)(?P<S>\d\d)s?)?(?:[.,]\d{1,6})?"
    r"|(?P<H2>\d\d)(?P<M2>\d\d)(?P<S2>\d\d)(?:\d{3})?"
    r"|(?P<H3>\d\d)(?P<M3>\d\d)"
    r")(?!\d)(?:[ _\u202f\u00a0]?(?P<p>[AP]M)(?![^\W_]))?Z?",
    re.IGNORECASE,
)
_LIMITS = {"month": 12, "day": 31, "week": 53, "hour": 23, "minute": 59, "second": 59}


def _valid(moment: Moment) -> bool:
    if any((getattr(moment, name) or 0) > most for name, most in _LIMITS.items()):
        return False
    try:
        calendar(moment)
    except ValueError:  # 31 June
        return False
    return True


def _century(two: int) -> int:
    return 2000 + two if two < 70 else 1900 + two


def _readings(reading: str, match: re.Match[str]) -> dict[str, Moment]:
    """Every valid moment the matched text can mean, by the order of day and month it supposes."""
    part = match.groupdict()
    if reading == "epoch":
        at = datetime.fromtimestamp(int(part["e"]), UTC)
        found = dict.fromkeys(ORDERS, Moment(at.year, at.month, at.day, at.hour, at.minute, at.second))
    elif reading == "three":
        a, b, c = (int(part[key]) for key in "abc")
        found = {"dmy": Moment(_century(c), b, a), "mdy": Moment(_century(c), a, b)}
        if len(part["a"]) == 2:
            found["ymd"] = Moment(_century(a), b, c)
    else:
        numbers = {key: int(part[key]) for key in "Yymdqw" if part.get(key)}
        if part.get("B"):
            # A letter may match regardless of case and still not be one of ours (ſ, ı).
            numbers["m"] = MONTH_NUMBER.get(part["B"].lower(), 13)
        year = numbers["Y"] if "Y" in numbers else _century(numbers["y"]) if "y" in numbers else None
        quarter, week = numbers.get("q"), numbers.get("w")
        moment = Moment(year, numbers.get("m"), numbers.get("d"), quarter=quarter, week=week)
        timed = _with_time(moment, match) if part.get("H") else moment
        if timed is None:
            return {}
        found = dict.fromkeys(ORDERS, timed)
        if reading == "dmy":
            found = {"dmy": timed, "mdy": replace(timed, month=timed.day, day=timed.month)}
    return {order: moment for order, moment in found.items() if _valid(moment)}


def _with_time(moment: Moment, match: re.Match[str]) -> Moment | None:
    part = match.groupdict()

    def number(letter: str) -> int | None:
        text = part.get(letter) or part.get(letter + "2") or part.get(letter + "3")
        return int(text) if text else None

    hour = number("H")
    if hour is not None and part.get("p"):
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if part["p"].upper() == "PM" else 0)
    timed = replace(moment, hour=hour, minute=number("M"), second=number("S"))
    return timed if _valid(timed) else None


def _timed(stem: str, slot: Slot) -> Slot:
    """The slot with the time that follows its date, when one does."""
    behind = _TIME.match(stem, slot.end)
    if behind is None:
        return slot
    readings = {order: _with_time(moment, behind) for order, moment in slot.readings.items()}
    kept = {order: moment for order, moment in readings.items() if moment is not None}
    if not kept or any(moment.day is None for moment in kept.values()):
        return slot
    return replace(slot, readings=kept, time_end=behind.end())


@lru_cache(maxsize=4096)
def scan(stem: str) -> tuple[Slot, ...]:
    """The dates, years, months and times in a name, from left to right, none overlapping another."""
    found: list[Slot] = []
    free = [True] * len(stem)
    for kind, reading, pattern in _PATTERNS:
        for match in pattern.finditer(stem):
            if not all(free[match.start() : match.end()]):
                continue
            readings = _readings(reading, match)
            if not readings:
                continue
            tight = kind == "date" and "H" in match.groupdict()
            slot = Slot(kind, match.start(), match.end("d") if tight else match.end(), match.end(), readings)
            if kind in ("date", "stamp") and reading != "epoch" and not tight:
                timed = _timed(stem, slot)
                slot = timed if all(free[slot.start : timed.time_end]) else slot
            found.append(slot)
            free[slot.start : slot.time_end] = [False] * (slot.time_end - slot.start)
    return tuple(sorted(found, key=lambda slot: slot.start))

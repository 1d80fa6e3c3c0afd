"""A query as a person types it: words, phrases, and filters among them.

`agent:codex tool:Bash kind:decision in:~/Downloads session:9d0d since:2026-11-01 before:monday`, and days
said plainly: today, yesterday, last week, on friday, 3 days ago. What is in double quotes is never a filter.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from os.path import normpath
from typing import Any

from fazm_memory.model.clock import DURATION, TimeError, micros, moment, parse, span
from fazm_memory.recall.shown import FINDABLE

NAMES = {
    "agent": "agent", "tool": "tool", "kind": "kind", "in": "folder", "workspace": "folder",
    "folder": "folder", "session": "session", "since": "since", "after": "since", "before": "until",
    "until": "until", "on": "on", "date": "on",
}  # fmt: skip
FIELD = re.compile(rf'(?<!\S)({"|".join(NAMES)}):(?:"([^"]*)"|(\S+))', re.IGNORECASE)
QUOTED = re.compile(r'("[^"]*")')
DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
MONTHS = ("january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
          "november", "december")  # fmt: skip
NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7}
WORDS = re.compile(
    r"(?<![\w/.-])(?:(today|yesterday|(?:this|last)[ -](?:week|month|year|night|morning))"
    rf"|(?:on|last)[ -]({'|'.join(DAYS)})"
    rf"|(?:in|last) ({'|'.join(MONTHS)})"
    rf"|(\d{{1,3}}|{'|'.join(NUMBERS)}) (day|week|month)s? ago"
    rf"|(?:in )?the (?:last|past) (\d{{1,3}}|{'|'.join(NUMBERS)}) (day|week|month)s?"
    r"|on (\d{4}-\d\d-\d\d))(?![\w/-]|\.\w)",
    re.IGNORECASE,
)
UNIT = re.compile(r"\s*(days?|d|hours?|hrs?|h|minutes?|mins?|m|seconds?|secs?|s)\b\s*")
LENGTH = {"day": 1, "week": 7, "month": 30}

Span = tuple[date, date]  # half-open, in days of the user's calendar


@dataclass(frozen=True)
class Query:
    """What to look for (`text`), and where. Moments are half-open."""

    text: str
    agent: str | None = None
    tool: str | None = None
    kind: str | None = None
    folder: str | None = None
    session: str | None = None
    since: int | None = None
    until: int | None = None
    said: str | None = None  # the plain words that were taken for a day
    quarantined: bool = False  # look among what is held back, too
    doubts: tuple[str, ...] = ()  # why what looked like a filter was taken for words

    @property
    def filtered(self) -> bool:
        return any((self.agent, self.folder, self.session, self.since is not None, self.until is not None))


def parse_query(text: str, *, now: int, home: str = "") -> Query:
    """The query in a text. What looks like a filter and is none stays a word."""
    query = Query("")
    text = text.replace("\0", " ")

    def take(found: re.Match[str]) -> str:
        nonlocal query
        name, value = NAMES[found[1].lower()], found[2] if found[2] is not None else found[3]
        made = _with(query, name, value, now, home) if value else None
        if made is None:
            if value:
                query = replace(query, doubts=(*query.doubts, _doubt(found[0], name)))
            return found[0]
        query = made
        return " "

    text = FIELD.sub(take, text)
    parts = []
    for part in QUOTED.split(text):
        if not part.startswith('"') and query.said is None:
            found = WORDS.search(part)
            if found is not None and (span := _plain(found, moment(now).date())) is not None:
                query = _between(replace(query, said=found[0]), span)
                part = part[: found.start()] + " " + part[found.end() :]
        parts.append(part)
    return replace(query, text=" ".join("".join(parts).split()))


def _doubt(typed: str, name: str) -> str:
    if name == "kind":
        return f"{typed} is no kind and was looked for as words; there are {', '.join(sorted(FINDABLE))}"
    return f"{typed} is no date and was looked for as words; say e.g. 2026-11-01, yesterday or last-week"


def _with(query: Query, name: str, value: str, now: int, home: str) -> Query | None:
    if name == "folder":
        path = home + value[1:] if home and (value == "~" or value.startswith("~/")) else value
        return replace(query, folder=normpath(path))
    if name == "kind" and value.lower() not in FINDABLE:
        return None
    if name in ("agent", "tool", "kind", "session"):
        value = value.lower() if name == "kind" else value
        told: dict[str, Any] = {name: value}
        return replace(query, **told)
    if name == "on":
        span = _day(value, moment(now).date())
        return None if span is None else _between(query, span)
    try:
        at = begin_of(value, now=now)
    except TimeError:
        return None
    return replace(query, since=at) if name == "since" else replace(query, until=at)


def begin_of(value: str, *, now: int) -> int:
    """The moment that a text names or that is so long ago, or the first one of the day or days it names."""
    days = _day(value, moment(now).date())
    if days is not None:
        return _begin(days[0])
    try:
        return parse(value)
    except TimeError:
        ago = UNIT.sub(lambda found: found[1][0], value.strip().lower().removesuffix("ago").rstrip())
        if ago == "now" or DURATION.fullmatch(ago):
            return now - (0 if ago == "now" else span(ago))
        raise


def _day(value: str, today: date) -> Span | None:
    """The day or days that one word names."""
    word = value.lower().replace("_", " ").replace("-", " ") if not value[:1].isdigit() else value
    for spelling in (word, f"on {word}", f"in {word}"):
        found = WORDS.fullmatch(spelling)
        if found is not None:
            return _plain(found, today)
    return None


def _plain(found: re.Match[str], today: date) -> Span | None:
    word, weekday, month, count, unit, past, past_unit, iso = (
        one.lower() if one else one for one in found.groups()
    )
    if word:
        return RELATIVE[word.replace("-", " ")](today)
    if weekday:
        back = (today.weekday() - DAYS.index(weekday)) % 7 or 7
        return _days(today - timedelta(back))
    if month:
        year = today.year - (MONTHS.index(month) + 1 > today.month)
        return _month(date(year, MONTHS.index(month) + 1, 1))
    if count:
        back = _number(count) * LENGTH[unit]
        if unit == "day":
            return _days(today - timedelta(back))
        return (today - timedelta(back + LENGTH[unit] // 2), today - timedelta(back - LENGTH[unit] // 2))
    if past:
        return (today - timedelta(_number(past) * LENGTH[past_unit]), today + timedelta(1))
    try:
        return _days(date.fromisoformat(iso))
    except (ValueError, OverflowError):  # the last day there is has no next
        return None


def _number(text: str) -> int:
    return NUMBERS.get(text) or int(text)


def _days(first: date, count: int = 1) -> Span:
    return (first, first + timedelta(count))


def _month(first: date) -> Span:
    return (first, (first + timedelta(32)).replace(day=1))


def _monday(today: date) -> date:
    return today - timedelta(today.weekday())


RELATIVE: dict[str, Callable[[date], Span]] = {
    "today": _days,
    "this morning": _days,
    "yesterday": lambda today: _days(today - timedelta(1)),
    "last night": lambda today: _days(today - timedelta(1), 2),
    "last morning": lambda today: _days(today - timedelta(1)),
    "this night": _days,
    "this week": lambda today: _days(_monday(today), 7),
    "last week": lambda today: _days(_monday(today) - timedelta(7), 7),
    "this month": lambda today: _month(today.replace(day=1)),
    "last month": lambda today: _month((today.replace(day=1) - timedelta(1)).replace(day=1)),
    "this year": lambda today: (date(today.year, 1, 1), date(today.year + 1, 1, 1)),
    "last year": lambda today: (date(today.year - 1, 1, 1), date(today.year, 1, 1)),
}


def _between(query: Query, span: Span) -> Query:
    return replace(query, since=_begin(span[0]), until=_begin(span[1]))


def _begin(day: date) -> int:
    """The first moment of a day where the user is."""
    return micros(datetime.combine(day, time()).astimezone())

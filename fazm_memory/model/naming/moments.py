"""A moment as a file name may hold it, a date, a time or a part of one, and how to write its components."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, datetime

# Full names, then the abbreviations people use, per language; English first, because it wins a tie.
_MONTH_NAMES = {
    "en": "january february march april may june july august september october november december",
    "de": "januar februar märz april mai juni juli august september oktober november dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "nl": "januari februari maart april mei juni juli augustus september oktober november december",
    "pt": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
}
_MONTH_SHORT = {
    "en": "jan feb mar apr may jun jul aug sep oct nov dec",
    "de": "jan feb mär apr mai jun jul aug sep okt nov dez",
    "fr": "janv févr mars avr mai juin juil août sept oct nov déc",
    "es": "ene feb mar abr may jun jul ago sep oct nov dic",
    "it": "gen feb mar apr mag giu lug ago set ott nov dic",
    "nl": "jan feb mrt apr mei jun jul aug sep okt nov dec",
    "pt": "jan fev mar abr mai jun jul ago set out nov dez",
}
MONTHS = {code: tuple(names.split()) for code, names in _MONTH_NAMES.items()}
MONTHS_SHORT = {code: tuple(names.split()) for code, names in _MONTH_SHORT.items()}
LANGUAGES = tuple(MONTHS)
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")

MONTH_NUMBER = {"mrz": 3, "sept": 9, "fevrier": 2, "aout": 8, "decembre": 12, "marco": 3, "maerz": 3}
for _table in (MONTHS, MONTHS_SHORT):
    for _names in _table.values():
        for _index, _name in enumerate(_names):
            MONTH_NUMBER.setdefault(_name, _index + 1)


@dataclass(frozen=True)
class Moment:
    """A date, a time or a part of one: what is not written is None."""

    year: int | None = None
    month: int | None = None
    day: int | None = None
    hour: int | None = None
    minute: int | None = None
    second: int | None = None
    quarter: int | None = None
    week: int | None = None


def from_iso(text: str) -> Moment | None:
    """The moment of an ISO 8601 time, in the clock it was written in; None when the text is none."""
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return Moment(at.year, at.month, at.day, at.hour, at.minute, at.second)


def calendar(moment: Moment) -> date | None:
    if moment.year is None or moment.month is None or moment.day is None:
        return None
    return date(moment.year, moment.month, moment.day)


def _hour12(moment: Moment) -> int | None:
    return None if moment.hour is None else (moment.hour + 11) % 12 + 1


def _quarter(moment: Moment) -> int | None:
    return moment.quarter if moment.month is None else (moment.month + 2) // 3


def _week(moment: Moment) -> int | None:
    day = calendar(moment)
    return moment.week if day is None else day.isocalendar().week


def _day_of_year(moment: Moment) -> int | None:
    day = calendar(moment)
    return None if day is None else day.timetuple().tm_yday


def _ordinal(moment: Moment) -> str | None:
    if moment.day is None:
        return None
    tail = "th" if 10 <= moment.day % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(moment.day % 10, "th")
    return f"{moment.day}{tail}"


def _month_name(table: dict[str, tuple[str, ...]], moment: Moment, language: str) -> str | None:
    return None if moment.month is None else table[language][moment.month - 1].capitalize()


def _weekday(moment: Moment) -> str | None:
    day = calendar(moment)
    return None if day is None else _WEEKDAYS[day.weekday()].capitalize()


_NUMBERS: dict[str, tuple[Callable[[Moment], int | None], int]] = {
    "%Y": (lambda m: m.year, 4),
    "%y": (lambda m: None if m.year is None else m.year % 100, 2),
    "%m": (lambda m: m.month, 2),
    "%-m": (lambda m: m.month, 1),
    "%d": (lambda m: m.day, 2),
    "%-d": (lambda m: m.day, 1),
    "%H": (lambda m: m.hour, 2),
    "%-H": (lambda m: m.hour, 1),
    "%I": (_hour12, 2),
    "%-I": (_hour12, 1),
    "%M": (lambda m: m.minute, 2),
    "%S": (lambda m: m.second, 2),
    "%q": (_quarter, 1),
    "%V": (_week, 2),
    "%-V": (_week, 1),
    "%j": (_day_of_year, 3),
}
_WORDS: dict[str, Callable[[Moment, str], str | None]] = {
    "%B": lambda m, language: _month_name(MONTHS, m, language),
    "%b": lambda m, language: _month_name(MONTHS_SHORT, m, language),
    "%h": lambda m, _: None if m.month is None else MONTHS["en"][m.month - 1][:3].capitalize(),
    "%A": lambda m, _: _weekday(m),
    "%a": lambda m, _: (_weekday(m) or "")[:3] or None,
    "%p": lambda m, _: None if m.hour is None else ("AM" if m.hour < 12 else "PM"),
    "%o": lambda m, _: _ordinal(m),
}
# `%q` (quarter), `%h` (three English letters) and `%o` (14th) are ours; the rest is strftime's.
CODES = (*_NUMBERS, *_WORDS)
WORD_CODES = tuple(_WORDS)


def write(moment: Moment, code: str, language: str = "en") -> str | None:
    """One component of a moment, or None when the moment does not say."""
    if code in _NUMBERS:
        read, width = _NUMBERS[code]
        number = read(moment)
        return None if number is None else str(number).zfill(width)
    return _WORDS[code](moment, language)

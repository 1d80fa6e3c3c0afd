"""The parts of a file name: folder, extension, words, separators, dates and times.

A date such as 03-04-2026 can be read in more than one way. A `DateSlot` therefore holds one reading per order
(`ymd`, `dmy`, `mdy`); the examples decide which order a convention follows.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import cached_property, lru_cache
from itertools import pairwise

_UP = "A-ZÀ-ÖØ-Þ"
CAMEL = re.compile(rf"(?<=[^\W\d_{_UP}])(?=[{_UP}])|(?<=[{_UP}])(?=[{_UP}][^\W\d_{_UP}])")

# English first, because it wins a tie.
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
class DateParts:
    """A date, a time, or parts of them. What is not written is None."""

    year: int | None = None
    month: int | None = None
    day: int | None = None
    hour: int | None = None
    minute: int | None = None
    second: int | None = None
    quarter: int | None = None
    week: int | None = None


def from_iso(text: str) -> DateParts | None:
    """The parts of an ISO 8601 time, in its own time zone.

    None when the text is not one.
    """
    try:
        at = datetime.fromisoformat(text)
    except ValueError:
        return None
    return DateParts(at.year, at.month, at.day, at.hour, at.minute, at.second)


def as_date(moment: DateParts) -> date | None:
    if moment.year is None or moment.month is None or moment.day is None:
        return None
    return date(moment.year, moment.month, moment.day)


def _hour12(moment: DateParts) -> int | None:
    return None if moment.hour is None else (moment.hour + 11) % 12 + 1


def _quarter(moment: DateParts) -> int | None:
    return moment.quarter if moment.month is None else (moment.month + 2) // 3


def _week(moment: DateParts) -> int | None:
    day = as_date(moment)
    return moment.week if day is None else day.isocalendar().week


def _day_of_year(moment: DateParts) -> int | None:
    day = as_date(moment)
    return None if day is None else day.timetuple().tm_yday


def _ordinal(moment: DateParts) -> str | None:
    if moment.day is None:
        return None
    tail = "th" if 10 <= moment.day % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(moment.day % 10, "th")
    return f"{moment.day}{tail}"


def _month_name(table: dict[str, tuple[str, ...]], moment: DateParts, language: str) -> str | None:
    return None if moment.month is None else table[language][moment.month - 1].capitalize()


def _weekday(moment: DateParts) -> str | None:
    day = as_date(moment)
    return None if day is None else _WEEKDAYS[day.weekday()].capitalize()


_NUMBERS: dict[str, tuple[Callable[[DateParts], int | None], int]] = {
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
_WORDS: dict[str, Callable[[DateParts, str], str | None]] = {
    "%B": lambda m, language: _month_name(MONTHS, m, language),
    "%b": lambda m, language: _month_name(MONTHS_SHORT, m, language),
    "%h": lambda m, _: None if m.month is None else MONTHS["en"][m.month - 1][:3].capitalize(),
    "%A": lambda m, _: _weekday(m),
    "%a": lambda m, _: (_weekday(m) or "")[:3] or None,
    "%p": lambda m, _: None if m.hour is None else ("AM" if m.hour < 12 else "PM"),
    "%o": lambda m, _: _ordinal(m),
}
# `%q` (quarter), `%h` (month in three English letters) and `%o` (14th) are additions to strftime's codes.
CODES = (*_NUMBERS, *_WORDS)
WORD_CODES = tuple(_WORDS)


def format_date(moment: DateParts, code: str, language: str = "en") -> str | None:
    """One component as text, or None when it is not known."""
    if code in _NUMBERS:
        read, width = _NUMBERS[code]
        number = read(moment)
        return None if number is None else str(number).zfill(width)
    return _WORDS[code](moment, language)


ORDERS = ("ymd", "dmy", "mdy")


@dataclass(frozen=True)
class DateSlot:
    """A date or time in a name.

    The date ends at `end`, a time that follows it at `time_end`.
    """

    kind: str  # date | stamp (bare digits that may be something else) | year | month | time
    start: int
    end: int
    time_end: int
    readings: dict[str, DateParts]


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

# Strict patterns come first: a looser one only sees what they left. The second column says how to read the
# numbers. any: the order is clear. dmy: day and month may be swapped. three: the year is first or last.
# epoch: seconds since 1970.
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


def _valid(moment: DateParts) -> bool:
    if any((getattr(moment, name) or 0) > most for name, most in _LIMITS.items()):
        return False
    try:
        as_date(moment)
    except ValueError:  # 31 June
        return False
    return True


def _century(two: int) -> int:
    return 2000 + two if two < 70 else 1900 + two


def _readings(reading: str, match: re.Match[str]) -> dict[str, DateParts]:
    """Every valid date the matched text can mean, by the order of day, month and year."""
    part = match.groupdict()
    if reading == "epoch":
        at = datetime.fromtimestamp(int(part["e"]), UTC)
        found = dict.fromkeys(ORDERS, DateParts(at.year, at.month, at.day, at.hour, at.minute, at.second))
    elif reading == "three":
        a, b, c = (int(part[key]) for key in "abc")
        found = {"dmy": DateParts(_century(c), b, a), "mdy": DateParts(_century(c), a, b)}
        if len(part["a"]) == 2:
            found["ymd"] = DateParts(_century(a), b, c)
    else:
        numbers = {key: int(part[key]) for key in "Yymdqw" if part.get(key)}
        if part.get("B"):
            # Matching without case lets ſ and ı through, which are in no month name.
            numbers["m"] = MONTH_NUMBER.get(part["B"].lower(), 13)
        year = numbers["Y"] if "Y" in numbers else _century(numbers["y"]) if "y" in numbers else None
        quarter, week = numbers.get("q"), numbers.get("w")
        moment = DateParts(year, numbers.get("m"), numbers.get("d"), quarter=quarter, week=week)
        timed = _with_time(moment, match) if part.get("H") else moment
        if timed is None:
            return {}
        found = dict.fromkeys(ORDERS, timed)
        if reading == "dmy":
            found = {"dmy": timed, "mdy": replace(timed, month=timed.day, day=timed.month)}
    return {order: moment for order, moment in found.items() if _valid(moment)}


def _with_time(moment: DateParts, match: re.Match[str]) -> DateParts | None:
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


def _timed(stem: str, slot: DateSlot) -> DateSlot:
    """The slot, extended by the time that follows its date, if any."""
    behind = _TIME.match(stem, slot.end)
    if behind is None:
        return slot
    readings = {order: _with_time(moment, behind) for order, moment in slot.readings.items()}
    valid = {order: moment for order, moment in readings.items() if moment is not None}
    if not valid or any(moment.day is None for moment in valid.values()):
        return slot
    return replace(slot, readings=valid, time_end=behind.end())


@lru_cache(maxsize=4096)
def find_dates(stem: str) -> tuple[DateSlot, ...]:
    """The dates, years, months and times in a name, left to right, without overlaps."""
    found: list[DateSlot] = []
    free = [True] * len(stem)
    for kind, reading, pattern in _PATTERNS:
        for match in pattern.finditer(stem):
            if not all(free[match.start() : match.end()]):
                continue
            readings = _readings(reading, match)
            if not readings:
                continue
            tight = kind == "date" and "H" in match.groupdict()
            slot = DateSlot(
                kind, match.start(), match.end("d") if tight else match.end(), match.end(), readings
            )
            if kind in ("date", "stamp") and reading != "epoch" and not tight:
                timed = _timed(stem, slot)
                slot = timed if all(free[slot.start : timed.time_end]) else slot
            found.append(slot)
            free[slot.start : slot.time_end] = [False] * (slot.time_end - slot.start)
    return tuple(sorted(found, key=lambda slot: slot.start))


TRIM = " _-.,;–—~+#=&|·"
_LONG = (
    "markdown sqlite sqlite3 torrent numbers keynote webloc crdownload download partial photoslibrary "
    "geojson jsonlines parquet feather properties gradle storyboard xcodeproj playground fountain textbundle "
    "webmanifest backup"
)
_LONG_EXTENSIONS = frozenset(_LONG.split())
_EXTENSION = re.compile(r"\.([A-Za-z0-9]{1,5}|[A-Za-z0-9]{6,13})$")
_DOUBLE = re.compile(r"\.(tar\.(?:gz|bz2|xz|zst|Z)|d\.ts|min\.js|min\.css|user\.js)$", re.IGNORECASE)
_LETTERS = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_DIGITS = re.compile(r"\d+")
_CHUNK = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_BRACKETS = re.compile(r"\(([^()]*)\)|\[([^\[\]]*)\]|\{([^{}]*)\}|【([^】]*)】|\"([^\"]*)\"|“([^”]*)”")
_DELIMITERS = re.compile(r" - | – | — | _ | \| |__|--|, |; |: | @ |[_\- .,~+@#=&;!|·–—:/]")
_EPISODE = re.compile(
    r"(?<![^\W_])(?:S\d{1,2}[ ._-]?E\d{1,3}|\d{1,2}x\d{2,3}|Season[ ._]?\d+[ ._,-]*(?:Episode|Ep)[ ._]?\d+"
    r"|E[Pp]?[ ._]?\d{1,4}|Episode[ ._]?\d+)(?![^\W_])",
    re.IGNORECASE,
)
_VERSION = re.compile(r"(?<![^\W_])(?:v|ver|version|rev|r)[ ._]?\d+(?:\.\d+)*(?![^\W_])", re.IGNORECASE)
_QUALITY = re.compile(
    r"(?<![^\W_])(?:\d{3,4}[pi]|[48]k|uhd|hdtv|web-?dl|web-?rip|web|blu-?ray|bdrip|dvdrip|x26[45]|h\.?26[45]"
    r"|\d{3,5}x\d{3,5})(?![^\W_])",
    re.IGNORECASE,
)
_ANCHORED_WORDS = (" - ", "_", "-", ", ", "__", " – ", ".")
_LEFT, _RIGHT = 6, 4
MAX_NAME_LENGTH = 255


def split_path(path: str) -> tuple[str, str, str]:
    """Folder, stem and extension (without its dot) of a path, in Unicode form NFC."""
    path = unicodedata.normalize("NFC", path)
    folder, slash, name = path.rpartition("/")
    if slash and not folder:
        folder = "/"
    match = _DOUBLE.search(name) or _EXTENSION.search(name)
    if match is None or match.start() == 0:
        return folder, name, ""
    extension = match.group(1)
    if not re.search(r"[A-Za-z]", extension) or re.fullmatch(r"v\d+|\d+p|S\d+E\d+", extension, re.IGNORECASE):
        return folder, name, ""
    if len(extension) > 5 and "." not in extension and extension.lower() not in _LONG_EXTENSIONS:
        return folder, name, ""
    return folder, name[: match.start()], extension


@dataclass(frozen=True)
class Stem:
    """The stem of a file name, or the name of a folder, with its anchors."""

    text: str

    @cached_property
    def slots(self) -> tuple[DateSlot, ...]:
        return find_dates(self.text)

    def of_kind(self, kind: str) -> list[DateSlot]:
        return [slot for slot in self.slots if slot.kind == kind]

    def _outside(self, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
        taken = [(slot.start, slot.time_end) for slot in self.slots if slot.kind in ("date", "time")]
        return [span for span in spans if not any(span[0] < end and start < span[1] for start, end in taken)]

    @cached_property
    def words(self) -> list[tuple[int, int]]:
        """Words outside dates, cut at camelCase boundaries."""
        found = []
        for match in _LETTERS.finditer(self.text):
            edges = [0, *(cut.start() for cut in CAMEL.finditer(match.group())), len(match.group())]
            found += [(match.start() + a, match.start() + b) for a, b in pairwise(edges)]
        return self._outside(found)

    @cached_property
    def spans(self) -> dict[str, list[tuple[int, int]]]:
        """Positions of each kind of element, in order.

        The keys are the kinds in anchor names.
        """
        text = self.text
        numbers = [match.span() for match in _DIGITS.finditer(text)]
        brackets = list(_BRACKETS.finditer(text))
        found: dict[str, list[tuple[int, int]]] = {
            "word": self.words,
            "chunk": self._outside([match.span() for match in _CHUNK.finditer(text)]),
            "digits": numbers,
            "number": self._outside(numbers),
            "date": [(slot.start, slot.end) for slot in self.of_kind("date")],
            "time": [
                (slot.start, slot.time_end) for slot in self.of_kind("date") if slot.time_end > slot.end
            ],
            "stamp": [(slot.start, slot.end) for slot in self.of_kind("stamp")],
            "year": [(slot.start, slot.end) for slot in self.of_kind("year")],
            "month": [(slot.start, slot.end) for slot in self.of_kind("month")],
            "inside": [(match.start() + 1, match.end() - 1) for match in brackets],
            "bracket": [match.span() for match in brackets],
            "episode": [match.span() for match in _EPISODE.finditer(text)][:1],
            "version": [match.span() for match in _VERSION.finditer(text)],
            "quality": [match.span() for match in _QUALITY.finditer(text)][:1],
        }
        for start, end in self._outside([match.span() for match in _DELIMITERS.finditer(text)]):
            found.setdefault(f"'{text[start:end]}'", []).append((start, end))
        return {key: spans for key, spans in found.items() if spans}

    @cached_property
    def anchors(self) -> dict[str, int]:
        """Positions by anchor.

        The second word starts at `word:2<`, the last ends at `word:-1>`.
        """
        found = {"start": 0, "end": len(self.text)}
        for kind, spans in self.spans.items():
            count = len(spans)
            for index in range(min(count, _LEFT)):
                found[f"{kind}:{index + 1}<"], found[f"{kind}:{index + 1}>"] = spans[index]
            for index in range(1, min(count, _RIGHT) + 1):
                found[f"{kind}:-{index}<"], found[f"{kind}:-{index}>"] = spans[-index]
        for name in list(found):
            kind, _, rest = name.partition(":")
            if kind in ("date", "time", "year", "inside", "episode") or kind[1:-1] in _ANCHORED_WORDS:
                if rest.endswith(">") or kind == "inside":
                    after = [span for span in self.words if span[0] >= found[name]]
                    found |= {f"{name}+word:{i + 1}>": span[1] for i, span in enumerate(after[:2])}
                if rest.endswith("<") or kind == "inside":
                    before = [span for span in self.words if span[1] <= found[name]]
                    found |= {
                        f"{name}-word:{i + 1}<": span[0] for i, span in enumerate(reversed(before[-2:]))
                    }
        return found

    @cached_property
    def shape(self) -> str:
        """The sequence of element kinds: `W_D` for IMG_20261114.

        Files from one source share a shape.
        """
        text = list(self.text)
        for slot in self.slots:
            if slot.kind in ("date", "year"):
                text[slot.start : slot.time_end] = ["\0"] * (slot.time_end - slot.start)
        flat = re.sub(r"\d+", "N", re.sub(r"[^\W\d_]+", "W", "".join(text)))
        return re.sub(r"W(?:[ _.\-,']?W)+", "W", re.sub("\0+", "D", flat))

    def position(self, anchor: str) -> int | None:
        if anchor.startswith("text:"):
            at = self.text.lower().find(anchor[5:-1])
            return None if at < 0 else at + (len(anchor) - 6 if anchor.endswith(">") else 0)
        if "anchors" in self.__dict__ or "word:" in anchor[5:]:
            return self.anchors.get(anchor)
        if anchor in ("start", "end"):
            return 0 if anchor == "start" else len(self.text)
        # Most names need only one or two anchors, so do not compute them all.
        kind, _, index = anchor.rpartition(":")
        spans = self.spans.get(kind, [])
        at = int(index[:-1]) - (1 if index[0] != "-" else 0)
        return spans[at][anchor.endswith(">")] if -len(spans) <= at < len(spans) else None

    def without(self, what: str) -> str | None:
        """The text without its dates, years, brackets or numbers."""
        spans = {
            "dates": [(slot.start, slot.time_end) for slot in self.slots if slot.kind == "date"],
            "years": [(slot.start, slot.time_end) for slot in self.slots if slot.kind in ("date", "year")],
            "brackets": self.spans.get("bracket", []),
            "numbers": self.spans.get("digits", []),
        }[what]
        text, last = "", 0
        for start, end in spans:
            text, last = text + self.text[last:start].lstrip(TRIM if last else ""), end
        text += self.text[last:].lstrip(TRIM) if not text or text[-1] in TRIM else self.text[last:]
        return text.strip(TRIM)


@lru_cache(maxsize=8192)
def stem(text: str) -> Stem:
    return Stem(text)


@dataclass(frozen=True)
class InputFile:
    """A file to be named, with everything that a convention may use."""

    folder: str
    name: Stem
    extension: str
    modified: DateParts | None = None

    @cached_property
    def parents(self) -> tuple[Stem, ...]:
        """Names of the folder and of its parent, nearest first."""
        return tuple(stem(part) for part in reversed(self.folder.split("/")[-2:]) if part)

    @property
    def basename(self) -> str:
        return self.name.text + ("." + self.extension if self.extension else "")


def input_file(path: str, mtime: str | None = None) -> InputFile:
    folder, text, extension = split_path(path)
    return InputFile(folder, stem(text), extension, from_iso(mtime) if mtime else None)


_COPY = re.compile(r"\(\d+\)$|\bcopy(?: \d+)?$| - Kopie$", re.IGNORECASE)


def traits(file: InputFile) -> frozenset[str]:
    """Simple properties of a file, each as `kind:value`."""
    stem = file.name
    words = [stem.text[a:b].lower() for a, b in stem.words]
    found = {f"word:{word}" for word in words if len(word) > 1}
    if words and stem.words[0][0] == 0:
        found.add(f"first:{words[0]}")
    if _COPY.search(stem.text):
        found.add("copy:yes")
    if stem.spans.get("bracket"):
        found.add("brackets:yes")
    found.add("date:yes" if stem.of_kind("date") else "date:no")
    found.add("numbers:yes" if stem.spans.get("number") else "numbers:no")
    return frozenset(found | {f"ext:{file.extension.lower()}", f"shape:{stem.shape}"})


def trait_text(trait: str) -> str:
    """A trait as readable text."""
    kind, _, text = trait.partition(":")
    if kind == "ext":
        return f"extension .{text}" if text else "no extension"
    return {
        "word": f'"{text}" in the name',
        "first": f'name begins with "{text}"',
        "shape": f"name of the form {text}",
        "date": "date in the name" if text == "yes" else "no date in the name",
        "numbers": "number in the name" if text == "yes" else "no number in the name",
        "copy": "copy of another file",
        "brackets": "brackets in the name",
    }[kind]


def distinguishing_trait(mine: list[InputFile], theirs: list[InputFile]) -> str:
    """The simplest trait that all of `mine` and none of `theirs` have.

    "" when there is none.
    """
    shared = frozenset.intersection(*map(traits, mine)).difference(*map(traits, theirs))
    kinds = ("first", "word", "ext", "copy", "brackets", "date", "numbers", "shape")
    ranked = sorted((kinds.index(trait.partition(":")[0]), trait) for trait in shared)
    return ranked[0][1] if ranked else ""

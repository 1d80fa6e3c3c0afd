"""The language of the menu, the setup and the notifications.

English is in the code, other languages are in `translations.json`, by the English text. A text that is
missing there stays English. Recorded text is only ever inserted, never looked up.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from pathlib import Path

ENGLISH = "en"
TABLE = Path(__file__).with_name("translations.json")
GROUPING = {"de": "."}  # between thousands
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

PLACEHOLDER = re.compile(r"\{(\w+)\}")
SENTENCE_END = re.compile(r"(?<=[.!?]) +(?=[A-Z0-9`\"])")
OUR_TEXTS = {"why", "upload", "state"}  # values that are texts of the program, never recorded ones
LEAST_OWN = 12  # letters that a text has beside its values; a shorter one would match anything

Moment = Callable[[datetime], str]

_language = ENGLISH
_format_moment: Moment | None = None


@cache
def translations() -> dict[str, dict[str, str | list[str]]]:
    """The texts of all languages but English, by the English text.

    A text with a number has a singular and a plural.
    """
    found: dict[str, dict[str, str | list[str]]] = json.loads(TABLE.read_text(encoding="utf-8"))
    return found


def languages() -> tuple[str, ...]:
    return (ENGLISH, *sorted(translations()))


def set_language(language: str, *, format_moment: Moment | None = None) -> None:
    """Choose the language of this process. The system may format the times of days."""
    global _language, _format_moment
    _language, _format_moment = (language if language in languages() else ENGLISH), format_moment


def current_language() -> str:
    return _language


def first_supported(preferred: list[str]) -> str:
    """The first of these languages that there is a translation for.

    Languages are written as in "de-AT" or "de_DE.UTF-8".
    """
    for name in preferred:
        language = name.replace("_", "-").split(".")[0].split("-")[0].lower()
        if language in languages():
            return language
    return ENGLISH


def language_of_environment(env: Mapping[str, str]) -> str:
    """The language of the locale variables, read in the order of C libraries."""
    wanted = [env[name] for name in ("LC_ALL", "LC_MESSAGES", "LANG") if env.get(name)]
    return first_supported(wanted[:1])


def translate(english: str, /, **values: object) -> str:
    """The text in the current language, with `{name}` replaced by the values."""
    found = translations().get(_language, {}).get(english, english)
    text = found if isinstance(found, str) else english
    return text.format(**{name: _value(value) for name, value in values.items()}) if values else text


def translate_filled(text: str) -> str:
    """Translate a text whose values are filled in already, such as an error message.

    The text is looked up as it is, then among the texts with `{name}` in them, then sentence by sentence.
    What is not found stays English.
    """
    if _language == ENGLISH or not text:
        return text
    found = _translate_whole(text)
    if found is not None:
        return found
    parts = SENTENCE_END.split(text)
    return text if len(parts) == 1 else " ".join(_translate_whole(part) or part for part in parts)


def _translate_whole(text: str) -> str | None:
    found = translations().get(_language, {}).get(text)
    if isinstance(found, str):
        return found
    for pattern, translated in _templates(_language):
        if match := pattern.fullmatch(text):
            values = match.groupdict()
            own = {name: _translate_whole(values[name]) or values[name] for name in OUR_TEXTS & values.keys()}
            return translated.format(**values | own)
    return None


@cache
def _templates(language: str) -> list[tuple[re.Pattern[str], str]]:
    """The texts of a language with values in them.

    Those with the most words of their own come first.
    """
    rows = [
        (PLACEHOLDER.split(english), translated)
        for english, translated in translations().get(language, {}).items()
        if isinstance(translated, str) and PLACEHOLDER.search(english)
    ]
    rows.sort(key=lambda row: -sum(map(len, row[0][::2])))
    return [
        (re.compile("".join(_pattern(parts)), re.DOTALL), translated)
        for parts, translated in rows
        if sum(map(len, parts[::2])) >= LEAST_OWN
    ]


def _pattern(parts: Sequence[str]) -> Iterator[str]:
    """Texts, and between them names of values."""
    for number, part in enumerate(parts):
        yield f"(?P<{part}>.+?)" if number % 2 else re.escape(part)


def translate_count(count: int, singular: str, plural: str, /, **values: object) -> str:
    """The singular or plural for a count, which is `{n}` in the text."""
    found = translations().get(_language, {}).get(singular)
    forms = found if isinstance(found, list) and len(found) == 2 else [singular, plural]
    text = forms[0] if count == 1 else forms[1]
    return text.format(n=format_number(count), **{name: _value(value) for name, value in values.items()})


def format_number(number: int) -> str:
    return f"{number:,}".replace(",", GROUPING.get(_language, ","))


def format_weekday_time(moment: datetime) -> str:
    """A weekday and a time, as the system writes them if it was asked to."""
    if _format_moment is not None:
        return _format_moment(moment)
    return f"{translate(WEEKDAYS[moment.weekday()])} {moment:%H:%M}"


def _value(value: object) -> str:
    return format_number(value) if isinstance(value, int) and not isinstance(value, bool) else str(value)

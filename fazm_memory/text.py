"""Small helpers for text that people read."""

from __future__ import annotations

import json
import re
import shlex
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from fazm_memory.lazy import lazy_regex

ONE_DOES = {"are": "is", "were": "was", "have": "has"}


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def plural_with_verb(count: int, noun: str, verb: str) -> str:
    """A count with its verb: 1 file is, 2 files are."""
    return f"{plural(count, noun)} {ONE_DOES[verb] if count == 1 else verb}"


def format_size(count: int) -> str:
    value = float(count)
    for unit in ("bytes", "KB", "MB", "GB"):
        if value < 1000 or unit == "GB":
            return f"{value:.0f} {unit}" if unit == "bytes" else f"{value:.1f} {unit}"
        value /= 1000
    raise AssertionError("unreachable")


def single_line(text: object) -> str:
    return " ".join(str(text).split())


def plain_name(text: str) -> str:
    """A name that others chose, short, on one line, without invisible characters."""
    return cut_title("".join(char if char.isprintable() else " " for char in text[:LONGEST_NAME]))


def shell_word(text: str) -> str:
    """The text as one word of a shell command, on one line."""
    if text.isprintable():
        return shlex.quote(text)
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    shown = "".join(
        char if char.isprintable() else "".join(f"\\x{byte:02x}" for byte in char.encode("utf-8", "replace"))
        for char in escaped
    )
    return f"$'{shown}'"


def sentence(text: str) -> str:
    """The text with a full stop, if it has none."""
    return text if text.endswith((".", "!", "?", ":")) else f"{text}."


def shorten(text: Any, most: int = 200) -> str | None:
    """The beginning of a text on one line."""
    if text is None:
        return None
    line = " ".join(str(text)[: 4 * most].split())
    return line if len(line) <= most else line[: most - 1] + "…"


CONTENT = lazy_regex(r"[\w./-]*\w")
WORDS = (
    "a an and are as at be but by can do for from have i if in into is it it's its just let's me my no "
    "not now of ok on one or our please should so that the then there they this to too up us was we what "
    "when will with yes you your also want instead use"
)
COMMON = frozenset(WORDS.split())


def content_words(text: str | None) -> frozenset[str]:
    """The words of a text that say what it is about."""
    return frozenset(CONTENT.findall((text or "").lower())) - COMMON


HEADING = lazy_regex(r"^#{1,6}[ \t]+(.+?)[ \t#]*$", re.MULTILINE)
PLAN_PREFIX = lazy_regex(r"^(?:the )?(?:implementation )?plan\s*[:\u2013\u2014-]+\s*", re.IGNORECASE)
LONGEST_TITLE = 120


def plan_title(text: str) -> str:
    """The title of a plan.

    Its first heading that says more than "Plan", else its first line.
    """
    for heading in HEADING.findall(text[:20_000]):
        title = PLAN_PREFIX.sub("", heading).strip("*_ ")
        if title and title.lower() not in ("plan", "implementation plan", "overview", "summary", "context"):
            return cut_title(title)
    first = next((line.strip("#*_ \t") for line in text.splitlines() if line.strip("#*_` \t")), "")
    return cut_title(PLAN_PREFIX.sub("", first) or first)


def cut_title(text: str, longest: int = LONGEST_TITLE) -> str:
    """A title on one line, cut at a word."""
    line = " ".join(text.split())
    if len(line) <= longest:
        return line
    cut = line[: longest - 1]
    return (cut.rsplit(" ", 1)[0] if " " in cut[longest // 2 :] else cut) + "…"


LONGEST_NAME = 300
LONGEST_ADDRESSES = 1 << 20
ESCAPED = lazy_regex(r"\\+u([0-9a-fA-F]{4})")


class TextMatch:
    """Finds a text in other text, in values and in bytes.

    Case and Unicode form do not matter.

    Also as it is written inside JSON and addresses: a command may have it in an argument of its own.
    """

    def __init__(self, text: str) -> None:
        self.text = fold_case(text)
        # As it is, and as it is written in JSON.
        self.forms = {self.text, json.dumps(self.text, ensure_ascii=False)[1:-1]}

    def in_text(self, text: str) -> bool:
        return any(form in reading for reading in map(fold_case, readings(text)) for form in self.forms)

    def in_value(self, value: Any) -> bool:
        """Whether any text of a JSON-like value, names included, has it."""
        return any(map(self.in_text, texts_of(value)))

    def in_bytes(self, data: bytes) -> bool:
        """Whether a file has the text as UTF-8, UTF-16 or JSON.

        Compressed and encrypted files are not read.
        """
        texts = [*readings(data.decode("utf-8", "replace"))]
        if b"\0" in data[:4096]:
            texts += [data[start:].decode("utf-16-le", "replace") for start in (0, 1)]
        return any(form in folded for folded in map(fold_case, texts) for form in self.forms)


def readings(text: str) -> Iterator[str]:
    """The text, and what its escapes stand for in JSON and in addresses."""
    yield text
    if "\\u" in text:
        yield ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
    if "%" in text and len(text) <= LONGEST_ADDRESSES:
        from urllib.parse import unquote_plus  # slow import

        yield unquote_plus(text)


def fold_case(text: str) -> str:
    """The text for comparing without regard to case and Unicode form."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFC", text).casefold()


def texts_of(value: Any) -> Iterator[str]:
    """Every text in a JSON-like value, names included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield str(name)
            yield from texts_of(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from texts_of(item)


def nearest_word(word: str, known: Iterable[str]) -> str | None:
    """The known word that a mistyped one is nearest to; None if none is near."""
    from difflib import get_close_matches  # slow import, and only errors need it

    return next(iter(get_close_matches(word.lower()[:60], list(known), n=1)), None)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The question whether the nearest known word was meant, with a space after it.

    Empty if none is near.
    """
    near = nearest_word(word, known)
    return "" if near is None else f'Did you mean "{near}"? '

"""A table of our own in somebody's TOML: put at the end, taken out again, everything else byte for byte.

The text is read by `tomllib` before and after: an edit that would change anything but our table is refused.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any


class NotToml(ValueError):
    """The text is not TOML that we can edit; the message says why."""


def parse(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        raise NotToml(str(error)) from None


def table(text: str, path: tuple[str, str]) -> dict[str, Any] | None:
    """Our table, if it is there."""
    found = parse(text).get(path[0], {})
    inner = found.get(path[1]) if isinstance(found, dict) else None
    return inner if isinstance(inner, dict) else None


def add_table(text: str, path: tuple[str, str], values: Mapping[str, Any]) -> str:
    """The text with the table at its end."""
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [f"[{path[0]}.{path[1]}]", *(f"{name} = {_word(value)}" for name, value in values.items())]
    gap = "" if not text else newline if text.endswith("\n") else newline * 2
    made = text + gap + newline.join(lines) + newline
    wanted = parse(text)
    holder = wanted.setdefault(path[0], {})
    if not isinstance(holder, dict):
        raise NotToml(f"{path[0]} is not a table there")
    holder[path[1]] = dict(values)
    _check(made, wanted)
    return made


def remove_table(text: str, path: tuple[str, str]) -> str:
    """The text without the table and those below it."""
    wanted = parse(text)
    holder = wanted.get(path[0])
    if not isinstance(holder, dict) or path[1] not in holder:
        return text
    del holder[path[1]]
    if not holder:
        del wanted[path[0]]
    header = re.compile(rf"\[\s*{re.escape(path[0])}\s*\.\s*[\"']?{re.escape(path[1])}[\"']?\s*[.\]]")
    lines = text.splitlines(keepends=True)
    for number in reversed(range(len(lines))):
        if number < len(lines) and header.match(lines[number].strip()):
            shorter = _without_block(lines, number)
            # What only looks like our table, in the middle of a text, cannot be taken out of it.
            if _is_toml("".join(shorter)):
                lines = shorter
    text = "".join(lines)
    _check(text, wanted)
    return text


def _without_block(lines: list[str], start: int) -> list[str]:
    """The lines without a table: its header, what follows up to a gap, and the empty line that set it off."""
    end = start + 1
    while end < len(lines) and lines[end].strip() and not lines[end].lstrip().startswith(("#", "[")):
        end += 1
    begin = start - 1 if start and not lines[start - 1].strip() else start
    return lines[:begin] + lines[end:]


def _is_toml(text: str) -> bool:
    try:
        parse(text)
    except NotToml:
        return False
    return True


def _word(value: Any) -> str:
    """JSON's texts, numbers and lists of them are TOML's too; a table is written on its line."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{name} = {_word(one)}" for name, one in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)


def _check(made: str, wanted: dict[str, Any]) -> None:
    if parse(made) != wanted:
        raise NotToml("it is written in a way that cannot be edited without touching the rest")

"""Paths that mean the same on another machine: the home folder as a mark, and back again.

Every text of a value is rewritten, keys too, since a path may be anywhere. The mark is one that no path
begins with; a text that holds it already gets it doubled, so that going there and back changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

MARK = "\u2302"  # ⌂
HOME = f"{MARK}~"

_MARKED = re.compile(f"{MARK}([{MARK}~])")


def portable(value: Any, home: str) -> Any:
    """The same value with this home told as a mark."""
    here = re.compile(rf"(?<![\w.-]){re.escape(home.rstrip('/'))}(?![\w.-])") if home.strip("/") else None

    def rewrite(text: str) -> str:
        doubled = text.replace(MARK, MARK * 2)
        return doubled if here is None else here.sub(HOME, doubled)

    return _each_text(value, rewrite)


def local(value: Any, home: str, moved: Mapping[str, str] | None = None) -> Any:
    """The value again, at home here. `moved` names folders that are elsewhere on this machine."""
    folder = home.rstrip("/")
    pairs = [
        (re.compile(rf"(?<![\w.-]){re.escape(old.rstrip('/'))}(?![\w.-])"), new.rstrip("/"))
        for old, new in (moved or {}).items()
    ]

    def rewrite(text: str) -> str:
        found = _MARKED.sub(lambda match: MARK if match[1] == MARK else folder, text)
        for old, new in pairs:
            found = old.sub(lambda _, new=new: new, found)  # type: ignore[misc]
        return found

    return _each_text(value, rewrite)


def _each_text(value: Any, rewrite: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return rewrite(value)
    if isinstance(value, Mapping):
        return {rewrite(str(key)): _each_text(one, rewrite) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_each_text(one, rewrite) for one in value]
    return value

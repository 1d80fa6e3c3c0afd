"""A state being folded: the fields of SessionState, mutable, private to one call of the fold.

Newest entries come last in every table; beyond its bound the oldest goes and is counted.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fazm_memory.model.state import BOUNDS, TEXT_BOUND, VALUE_BOUND, SessionState

COPIED = (*BOUNDS, "budget", "counts", "omitted")


class Builder:
    """A state being folded: the same fields, mutable, private to one call of `fold`."""

    def __init__(self, base: SessionState) -> None:
        self.__dict__.update(base.__dict__)
        for name in COPIED:
            self.__dict__[name] = dict(getattr(base, name))

    if TYPE_CHECKING:  # the fields are those of SessionState; here they may be set

        def __getattr__(self, name: str) -> Any: ...
        def __setattr__(self, name: str, value: Any) -> None: ...

    def freeze(self) -> SessionState:
        return SessionState(**self.__dict__)

    def put(self, name: str, key: Any, value: Any) -> None:
        """Newest last; beyond the bound the oldest goes and is counted."""
        table: dict[Any, Any] = self.__dict__[name]
        table.pop(key, None)
        table[key] = value
        self.trim(name)

    def trim(self, name: str) -> None:
        table: dict[Any, Any] = self.__dict__[name]
        while len(table) > BOUNDS[name]:
            del table[next(iter(table))]
            self.omitted[name] = self.omitted.get(name, 0) + 1

    def count(self, name: str, by: int = 1) -> None:
        self.counts[name] = self.counts.get(name, 0) + by


def short(text: str | None) -> str | None:
    return text if text is None or len(text) <= TEXT_BOUND else text[: TEXT_BOUND - 1] + "…"


def small(value: Any) -> Any:
    """A value as a state may hold it: one that is too large is told as the beginning of its text."""
    if isinstance(value, str):
        return short(value)
    if isinstance(value, (dict, list)):
        text = json.dumps(value, ensure_ascii=False)
        return value if len(text) <= VALUE_BOUND else short(text)
    return value

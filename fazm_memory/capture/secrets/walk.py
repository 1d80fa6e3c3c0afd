"""A walk through a JSON value, however deep: every text in it is scrubbed with what its surroundings say
about it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fazm_memory.capture.secrets.fields import holds_secret, inside, kinds_in
from fazm_memory.capture.secrets.keys import is_card_number
from fazm_memory.capture.secrets.naming import Kind, kind_of

NAMED = "named-secret"
CARD = "card-number"


def marker(name: str) -> str:
    return f"[REDACTED:{name}]"


def texts_in(value: Any) -> set[str]:
    """Every text in a JSON value, keys too. A list instead of recursion: what a tool sends may be nested
    without end.
    """
    texts: set[str] = set()
    work: list[Iterable[Any]] = [[value]]
    while work:
        for item in work.pop():
            if isinstance(item, str):
                texts.add(item)
            elif isinstance(item, dict):
                texts.update(item)
                work.append(item.values())
            elif isinstance(item, list | tuple):
                work.append(item)
    return texts


class Walk:
    """One walk. Each text already has its scrubbed form; `command` looks at the words of a command line
    together.
    """

    def __init__(
        self,
        scrubbed: Mapping[str, str],
        command: Callable[[list[str], set[str]], list[str]],
        is_marker: Callable[[str], bool],
        found: set[str],
    ) -> None:
        self._scrubbed = scrubbed
        self._command = command
        self._is_marker = is_marker
        self._found = found
        # What is left to do: a container, where its copy goes, and what its own name said about it.
        self._work: list[tuple[Any, Any, Any, Kind]] = []

    def value(self, value: Any) -> Any:
        whole: list[Any] = [None]
        self._place(value, whole, 0, Kind.NONE, Kind.NONE)
        commands: list[tuple[Any, Any]] = []
        while self._work:
            source, target, key, kind = self._work.pop()
            if isinstance(source, dict):
                target[key] = self._object(source, kind)
            else:
                target[key] = self._array(source, kind)
                if _is_command(source):
                    commands.append((target, key))
        for target, key in commands:
            target[key] = self._command(target[key], self._found)
        return whole[0]

    def _place(self, value: Any, target: Any, key: Any, kind: Kind, kind_inside: Kind) -> None:
        if isinstance(value, dict | list | tuple):
            target[key] = None  # keeps its place in the order
            self._work.append((value, target, key, kind_inside))
        else:
            target[key] = self._scalar(value, kind)

    def _object(self, source: dict[str, Any], inherited: Kind) -> dict[str, Any]:
        copy: dict[str, Any] = {}
        kinds = kinds_in(source, inherited)
        for name, value in source.items():
            key = self._scrubbed[name]
            if key in copy:
                key = _fresh(key, copy)
            if name in kinds:
                self._place(value, copy, key, kinds[name], inside(name, kinds[name], value))
            elif isinstance(value, str):
                copy[key] = self._scrubbed[value]  # by far the most common case
            else:
                self._place(value, copy, key, Kind.NONE, Kind.NONE)
        return copy

    def _array(self, source: list[Any] | tuple[Any, ...], kind: Kind) -> list[Any]:
        copy: list[Any] = [None] * len(source)
        for index, item in enumerate(source):
            self._place(item, copy, index, kind, kind)
        if (
            kind is Kind.NONE
            and len(source) == 2
            and isinstance(source[0], str)
            and isinstance(source[1], str)
        ):
            copy[1] = self._scalar(source[1], kind_of(source[0]))  # ["Cookie", "sid=…"]
        return copy

    def _scalar(self, value: Any, kind: Kind) -> Any:
        if isinstance(value, str):
            text = self._scrubbed[value]
            if kind is Kind.NONE or self._is_marker(text) or not holds_secret(text, kind):
                return text
            return self._marked(NAMED)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, int | float):
            if kind is not Kind.NONE and holds_secret(value, kind):
                return self._marked(NAMED)
            return self._marked(CARD) if isinstance(value, int) and _is_card(value) else value
        raise TypeError(f"JSON has no place for a {type(value).__name__}")

    def _marked(self, name: str) -> str:
        self._found.add(name)
        return marker(name)


def _is_command(source: list[Any] | tuple[Any, ...]) -> bool:
    return all(isinstance(item, str) for item in source) and any(item.startswith("-") for item in source)


def _fresh(key: str, taken: dict[str, Any]) -> str:
    """Two keys that held secrets must not become one."""
    fresh, count = key, 1
    while fresh in taken:
        count += 1
        fresh = f"{key} ({count})"
    return fresh


def _is_card(number: int) -> bool:
    return 10**12 <= number < 10**19 and is_card_number(str(number))

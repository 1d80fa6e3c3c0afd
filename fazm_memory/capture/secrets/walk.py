"""A walk through a JSON value, however deep: each text is scrubbed with what its surroundings say of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from fazm_memory.capture.secrets.fields import holds_secret, inside, kinds_in, manifest_data
from fazm_memory.capture.secrets.keys import is_card_number
from fazm_memory.capture.secrets.naming import MARKER, Kind, kind_of

NAMED = "named-secret"
CARD = "card-number"
MANIFEST = "kubernetes-secret"


def marker(name: str) -> str:
    return f"{MARKER}{name}]"


def texts_in(value: Any) -> set[str]:
    """Every text in a JSON value, keys too."""
    # A list instead of recursion, here and below: what a tool sends may be nested deeper than any stack.
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
    """One walk. The texts that change are known; `row` looks at several texts that belong together."""

    def __init__(
        self,
        changed: Mapping[str, str],
        row: Callable[[list[str], set[str]], list[str] | None],
        is_marker: Callable[[str], bool],
        found: set[str],
    ) -> None:
        self._changed = changed
        self._row = row
        self._is_marker = is_marker
        self._found = found
        # What is left to do: a container, where its copy goes, and what its own name said about it.
        self._work: list[tuple[Any, Any, Any, Kind]] = []

    def value(self, value: Any) -> Any:
        whole = [self._text(value)]
        self._place(whole, 0, Kind.NONE, Kind.NONE)
        while self._work:
            source, target, key, kind = self._work.pop()
            target[key] = (
                self._object(source, kind) if isinstance(source, dict) else self._array(source, kind)
            )
        return whole[0]

    def _object(self, source: dict[str, Any], inherited: Kind) -> dict[str, Any]:
        copy = self._renewed(source) if self._changed else dict(source)
        for held in manifest_data(copy):
            copy[held] = {name: self._held(value) for name, value in copy[held].items()}
        kinds = kinds_in(copy, inherited)
        for key, value in copy.items():
            if key in kinds:
                self._place(copy, key, kinds[key], inside(key, kinds[key], value))
            elif not isinstance(value, str):
                self._place(copy, key, Kind.NONE, Kind.NONE)
        return copy

    def _held(self, value: Any) -> Any:
        hidden = isinstance(value, str) and not self._is_marker(value) and holds_secret(value, Kind.PASSWORD)
        return self._marked(MANIFEST) if hidden else value

    def _renewed(self, source: dict[str, Any]) -> dict[str, Any]:
        copy: dict[str, Any] = {}
        for name, value in source.items():
            key = self._changed.get(name, name)
            copy[_fresh(key, copy) if key in copy else key] = self._text(value)
        return copy

    def _array(self, source: list[Any] | tuple[Any, ...], kind: Kind) -> list[Any]:
        together = len(source) > 1 and all(isinstance(value, str) for value in source)
        row = self._row(list(source), self._found) if together else None
        copy = row or [self._text(value) for value in source]
        for index in range(len(copy)):
            self._place(copy, index, kind, kind)
        if kind is Kind.NONE and together and len(copy) == 2:
            self._place(copy, 1, kind_of(copy[0]), Kind.NONE)  # ["Cookie", "sid=…"]
        return copy

    def _text(self, value: Any) -> Any:
        return self._changed.get(value, value) if isinstance(value, str) else value

    def _place(self, target: Any, key: Any, kind: Kind, kind_inside: Kind) -> None:
        """Settles one value of a copy: a container later, a secret at once."""
        value = target[key]
        if isinstance(value, dict | list | tuple):
            self._work.append((value, target, key, kind_inside))
        elif isinstance(value, str):
            if kind is not Kind.NONE and not self._is_marker(value) and holds_secret(value, kind):
                target[key] = self._marked(NAMED)
        elif isinstance(value, int | float):
            if kind is not Kind.NONE and holds_secret(value, kind):
                target[key] = self._marked(NAMED)
            elif isinstance(value, int) and _is_card(value):
                target[key] = self._marked(CARD)
        elif value is not None:
            raise TypeError(f"JSON has no place for a {type(value).__name__}")

    def _marked(self, name: str) -> str:
        self._found.add(name)
        return marker(name)


def _fresh(key: str, taken: dict[str, Any]) -> str:
    """Two keys that held secrets must not become one: the later one is numbered by its place."""
    fresh, place = key, len(taken)
    while fresh in taken:
        place += 1
        fresh = f"{key} ({place})"
    return fresh


def _is_card(number: int) -> bool:
    return 10**12 <= number < 10**19 and is_card_number(str(number))

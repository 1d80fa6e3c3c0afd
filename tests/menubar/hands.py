"""Hands that do nothing but remember, and answer as they were told to."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any


class Remembering:
    """`yes` answers questions, `words` answers in words, `fazm` is whether Fazm is there."""

    def __init__(self, *, yes: bool = True, words: str | None = None, fazm: bool = False) -> None:
        self.yes, self.words, self.fazm = yes, words, fazm
        self.did: list[tuple[Any, ...]] = []

    def show(self, route: str) -> None:
        self.did.append(("show", route))

    def copy(self, text: str) -> None:
        self.did.append(("copy", text))

    def open_file(self, path: Path) -> None:
        self.did.append(("open", path))

    def tell_fazm(self, messages: Sequence[str]) -> bool:
        if self.fazm:
            self.did.append(("fazm", tuple(messages)))
        return self.fazm

    def tell(self, title: str, text: str) -> None:
        self.did.append(("tell", title, text))

    def ask(self, title: str, text: str, yes: str) -> bool:
        self.did.append(("ask", title, text))
        return self.yes

    def ask_words(self, title: str, text: str) -> str | None:
        self.did.append(("ask", title, text))
        return self.words

    def login(self, on: bool) -> str:
        self.did.append(("login", on))
        return ""

    def permissions(self) -> None:
        self.did.append(("permissions",))

    def quit(self) -> None:
        self.did.append(("quit",))

    def named(self, what: str) -> list[tuple[Any, ...]]:
        return [one[1:] for one in self.did if one[0] == what]

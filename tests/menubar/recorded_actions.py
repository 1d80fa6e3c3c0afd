"""Hands that do nothing but remember, and answer as they were told to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fazm_memory.agents import Resumed


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

    def open_page(self, address: str) -> None:
        self.did.append(("page", address))

    def run_in_terminal(self, script: Path, terminal: str) -> None:
        self.did.append(("terminal", script, terminal))

    def resume_in_fazm(self, session_key: str, folder: str | None, first_message: str) -> Resumed:
        if not self.fazm:
            return "no answer"
        self.did.append(("fazm", session_key, folder, first_message))
        return "exact" if session_key else "new window"

    def tell(self, title: str, text: str) -> None:
        self.did.append(("tell", title, text))

    def ask(self, title: str, text: str, yes: str) -> bool:
        self.did.append(("ask", title, text))
        return self.yes

    def ask_words(self, title: str, text: str) -> str | None:
        self.did.append(("ask", title, text))
        return self.words

    def about(self) -> None:
        self.did.append(("about",))

    def login(self, on: bool) -> str:
        self.did.append(("login", on))
        return ""

    def permissions(self) -> None:
        self.did.append(("permissions",))

    def quit(self) -> None:
        self.did.append(("quit",))

    def named(self, what: str) -> list[tuple[Any, ...]]:
        return [one[1:] for one in self.did if one[0] == what]

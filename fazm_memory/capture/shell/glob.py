"""File name patterns, matched against what is known of the folders."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from dataclasses import dataclass

from fazm_memory.capture.shell.pattern import Pattern, Pieces, compiled, glob_source, is_glob, is_text
from fazm_memory.capture.shell.state import State
from fazm_memory.capture.shell.world import Kind

LOCALE = "the order of the files depends on the locale"


@dataclass(frozen=True, slots=True)
class Found:
    """The names that matched, as the shell would write them, and why they may not be the real ones."""

    names: tuple[str, ...]
    doubt: str = ""


@dataclass
class _Search:
    state: State
    spend: Callable[[int], None]
    hidden: bool
    doubt: str = ""

    def entries(self, prefix: str) -> list[str] | None:
        folder = self.state.path(prefix or ".")
        found = None if folder is None else self.state.world.entries(folder)
        if found is None:
            return None
        names, sure = found
        self.spend(1 + len(names) // 5)
        if not sure:
            self.doubt = self.doubt or "the folder may have changed before the glob was read"
        return names

    def kind(self, name: str) -> Kind:
        path = self.state.path(name)
        if path is None:
            return Kind.UNKNOWN
        sight = self.state.world.look(path)
        if sight.exists and not sight.sure:
            self.doubt = self.doubt or "a file may have changed before the glob was read"
        return sight.kind

    def folders_below(self, prefix: str) -> list[str] | None:
        """For `**/`: the folder itself and every visible folder in it."""
        waiting, found = [prefix], []
        while waiting:
            above = waiting.pop()
            found.append(above)
            names = self.entries(above)
            if names is None:
                return None
            for name in reversed(names):
                if not name.startswith(".") and self.kind(above + name) is Kind.FOLDER:
                    waiting.append(above + name + "/")
        return found


def glob(pieces: Pieces, state: State, spend: Callable[[int], None]) -> Found | None:
    """The files a pattern stands for; None when the folders it looks into are not known."""
    search = _Search(state, spend, "dotglob" in state.options)
    components = _components(pieces)
    prefixes = [""]
    for place, component in enumerate(components):
        last = place == len(components) - 1
        text = "".join(part for part, _ in component)
        if not text:
            if last:
                prefixes = [p for p in prefixes if p == "/" or search.kind(p.rstrip("/")) is Kind.FOLDER]
            elif place == 0:
                prefixes = ["/"]
            continue
        matched: list[str] = []
        for prefix in prefixes:
            names = _step(search, prefix, component, text, last)
            if names is None:
                return None
            matched += names
        prefixes = [name if last or name.endswith("/") or not name else name + "/" for name in matched]
    return Found(tuple(prefixes), search.doubt)


def _step(search: _Search, prefix: str, component: Pieces, text: str, last: bool) -> list[str] | None:
    if not is_glob(component):
        kind = search.kind(prefix + text) if last else Kind.FOLDER
        return None if kind is Kind.UNKNOWN else [] if kind is Kind.ABSENT else [prefix + text]
    if text == "**" and not last:
        if "globstar" in search.state.options:
            return search.folders_below(prefix)
        search.doubt = "`**` reaches deeper in some shells than in others"
    source = glob_source(component, any_char="[^/]")
    pattern: Pattern | None = None if source is None else compiled(source)
    names = search.entries(prefix)
    if names is None or pattern is None:
        return None
    if not (text.startswith(".") or search.hidden):
        names = [name for name in names if not name.startswith(".")]
    fitting = [name for name in names if is_text(name) and pattern.fullmatch(name)]
    if last:
        return [prefix + name for name in fitting]
    return [prefix + name for name in fitting if search.kind(prefix + name) in (Kind.FOLDER, Kind.PRESENT)]


def _components(pieces: Pieces) -> list[list[tuple[str, bool]]]:
    components: list[list[tuple[str, bool]]] = [[]]
    for text, active in pieces:
        for place, part in enumerate(text.split("/")):
            if place:
                components.append([])
            if part:
                components[-1].append((part, active))
    return components


def order_is_local(names: list[str]) -> bool:
    """Whether other locales would sort these names in another order."""
    plain = sorted(names)
    return plain == names and plain != sorted(names, key=_collated)


def _collated(name: str) -> str:
    base = posixpath.basename(name)
    return "".join(char for char in base.casefold() if char.isalnum()) + "\0" + name

"""What a session knows of folders by now: what its commands listed, and what its calls did to files since.

A command that says `*.jpg` can then be told by name, long after it ran and without a look at the disk of
today. Others work on the same files, so nothing that follows from this is ever certain.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from fazm_memory.capture.shell.world import Kind, World

MOST_NAMES = 2_000  # carried from one chunk of a record to the next
FOLDER, FILE, UNCLEAR, GONE = "d", "f", "?", "-"
KINDS = {Kind.FOLDER: FOLDER, Kind.FILE: FILE, Kind.PRESENT: UNCLEAR, Kind.ABSENT: GONE}

Listing = Callable[[str], Sequence[str]]


class Known:
    """Folders by path, and for each name in them whether it is a file, a folder, or gone."""

    def __init__(self, carry: Mapping[str, Any] | None = None) -> None:
        self.folders: dict[str, dict[str, str]] = {
            folder: dict(names) for folder, names in (carry or {}).items()
        }
        self.base: Listing | None = None
        """What the folders held when they were last looked through, for those of which we have heard less."""

    def carry(self) -> dict[str, dict[str, str]]:
        """What is worth keeping: the folders heard of last, as far as they are not too many."""
        kept: dict[str, dict[str, str]] = {}
        left = MOST_NAMES
        for folder, names in reversed(self.folders.items()):
            left -= len(names)
            if left < 0:
                break
            kept[folder] = names
        self.folders = dict(reversed(kept.items()))
        return self.folders

    def listing(self, folder: str) -> list[str]:
        """The names in a folder, folders with a slash; what is not known is a LookupError."""
        names: dict[str, str] = {}
        kind = self.kind(folder)
        if kind == FILE:
            raise NotADirectoryError(folder)
        known = self.folders.get(folder)
        try:
            before = self.base(folder) if self.base is not None and kind != GONE else None
        except LookupError:
            before = None
        if known is None and before is None and kind != FOLDER:
            raise LookupError(folder)
        for name in before or ():
            names[name.rstrip("/")] = FOLDER if name.endswith("/") else FILE
        names |= known or {}
        return [name + "/" if kind == FOLDER else name for name, kind in names.items() if kind != GONE]

    def kind(self, path: str) -> str:
        above, name = posixpath.split(path)
        return self.folders.get(above, {}).get(name, UNCLEAR)

    def forget(self, root: str) -> None:
        """Somebody has looked through this folder since, and knows better."""
        for rest in self._below(root):
            del self.folders[root + rest]

    # -- what is learned ---------------------------------------------------------------------------------

    def after(self, world: World) -> None:
        """What a command that went well left behind."""
        changed = list(world.known())
        moved = [(path, self._below(base)) for path, _, base in changed if base not in (None, path) and base]
        for path, inner in moved:
            for rest, names in inner.items():
                self.folders[path + rest] = dict(names)
        for path, kind, _ in changed:
            if kind in KINDS:
                self._put(path, KINDS[kind])
            if kind is Kind.ABSENT:
                self.forget(path)

    def listed(self, folder: str, names: Iterable[str], *, whole: bool, marked: bool) -> None:
        """A folder was listed: with `whole` it had no other names, but for hidden ones."""
        plain = FILE if marked else UNCLEAR
        now = {name.rstrip("/"): FOLDER if name.endswith("/") else plain for name in names}
        before = self.folders.pop(folder, {})
        if whole:
            gone = {name for name in before if not name.startswith(".") and name not in now}
            before = {name: GONE if name in gone else kind for name, kind in before.items()}
        self.folders[folder] = before | {
            name: before.get(name, kind) if kind == UNCLEAR and before.get(name) != GONE else kind
            for name, kind in now.items()
        }

    def take(self, files: Iterable[Mapping[str, Any]], seen: Iterable[Mapping[str, Any]] = ()) -> None:
        """What a call told: the files it touched, and the folders it showed."""
        for told in files:
            if origin := told.get("from"):
                self._put(str(origin), GONE)
            path = str(told["path"])
            if told["change"] == "deleted":
                self._put(path, GONE)
            elif self.kind(path) in (UNCLEAR, GONE):
                self._put(path, FILE if told["change"] in ("read", "modified") else UNCLEAR)
        for one in seen:
            self.listed(str(one["folder"]), map(str, one["files"]), whole=False, marked=True)

    def _put(self, path: str, kind: str) -> None:
        above, name = posixpath.split(path)
        if not path.startswith("/") or not name:
            return
        names = self.folders.pop(above, {})  # the one heard of last stands last
        names[name] = kind
        self.folders[above] = names

    def _below(self, path: str) -> dict[str, dict[str, str]]:
        prefix = path.rstrip("/") + "/"
        return {
            folder[len(path) :]: names
            for folder, names in self.folders.items()
            if folder == path or folder.startswith(prefix)
        }

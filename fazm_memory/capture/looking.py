"""Looking again: the watched roots as they were last seen, and what is different now.

No threads and no waiting here. Whoever calls says where something may have happened, or that it is not known
where, and gets what did happen, in all roots together: a file moved from one to another is one rename.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Protocol

from fazm_memory.capture.ignore import Ignore
from fazm_memory.capture.pairing import Changed, Digest, changes, nobody
from fazm_memory.capture.tree import Delta, Tree, refresh

MOST_MOVES = 20_000
START = "it was not watched"
FEW = 1_000  # files that came, of which it is worth asking whether they left another place
SMALL = 5_000  # files of a tree that is kept after every look
KEEP_EVERY = 30_000_000  # microseconds between keeping a larger one


@dataclass(frozen=True, slots=True)
class Sighting:
    """A change, seen at `at`, that happened after `earliest`; `away` says why we were not watching then."""

    changed: Changed
    root: str
    earliest: int
    at: int
    away: str | None = None


@dataclass(frozen=True, slots=True)
class FolderSighting:
    """A folder that came or went, seen at `at`; `away` as for files."""

    path: str
    came: bool
    root: str
    earliest: int
    at: int
    away: str | None = None


@dataclass(frozen=True, slots=True)
class Blind:
    """A time in which a root was not watched, and why."""

    root: str
    since: int
    until: int
    why: str


@dataclass(frozen=True, slots=True)
class Flush:
    """What one look found."""

    at: int
    sightings: tuple[Sighting, ...] = ()
    blind: tuple[Blind, ...] = ()
    first: tuple[str, ...] = ()  # roots that were looked at for the first time ever
    folders: tuple[FolderSighting, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.sightings or self.blind or self.first or self.folders)


@dataclass
class Marks:
    """Where something may have happened since the last look."""

    folders: set[str] = field(default_factory=set)
    moved: dict[str, str] = field(default_factory=dict)  # new path → old, as the system told it
    lost: dict[str, str] = field(default_factory=dict)  # roots to look through, and why
    polled: set[str] = field(default_factory=set)  # roots that are looked through in turns
    began: int | None = None  # when the first of these was made

    def __bool__(self) -> bool:
        return bool(self.folders or self.lost or self.polled)

    def move(self, old: str, new: str) -> None:
        if len(self.moved) < MOST_MOVES:
            self.moved[new] = self.moved.pop(old, old)


class Checkpoints(Protocol):
    """Where the last look at each root is kept between runs."""

    def load(self, root: str) -> Tree | None: ...

    def save(self, tree: Tree) -> None: ...


@dataclass
class Root:
    """A watched root: `given` is what its user calls it, the tree goes by its real path."""

    given: str
    tree: Tree
    ignore: Ignore
    look_through: str | None = None
    kept: int = 0
    missing: bool = False

    def shown(self, path: str) -> str:
        return self.given + path[len(self.tree.root) :]


class Looker:
    def __init__(
        self,
        now: Callable[[], int],
        *,
        checkpoints: Checkpoints | None = None,
        never: Iterable[str] = (),
        known: Digest = nobody,
        digest: Digest = nobody,
    ) -> None:
        self.now = now
        self.checkpoints = checkpoints
        self.never = tuple(never)
        self.known = known
        self.digest = digest
        self.roots: dict[str, Root] = {}

    def add(self, folder: str) -> Root:
        """Take a folder in; the next look tells what changed since it was last watched."""
        path = os.path.realpath(folder)  # events tell real paths
        kept = self.checkpoints.load(path) if self.checkpoints is not None else None
        root = Root(
            folder.rstrip("/") or "/", Tree(path) if kept is None else kept, Ignore(path, self.never), START
        )
        self.roots[path] = root
        return root

    def remove(self, path: str) -> None:
        root = self.roots.pop(path)
        self._keep(root)

    def look(self, marks: Marks) -> Flush:
        """Look where the marks say, and through every root that needs it."""
        at = self.now()
        delta = Delta()
        times: dict[str, tuple[int, str | None]] = {}
        blind: list[Blind] = []
        first: list[str] = []
        for path, root in self.roots.items():
            why = root.look_through or marks.lost.get(path)
            dirty = None if why is not None or path in marks.polled else _below(path, marks.folders)
            if (dirty is not None and not dirty) or self._missing(root):
                continue
            before = root.tree.at
            found = refresh(root.tree, root.ignore, at, dirty)
            root.look_through = None
            if before == 0:
                first.append(root.given)  # the first look ever tells what there is, not what changed
                continue
            if why is not None:
                blind.append(Blind(root.given, before, at, why))
                times[path] = before, why
            else:
                times[path] = before if dirty is None else max(before, marks.began or before), None
            delta.join(found)
        for path, folders in self._left_behind(delta).items():
            root = self.roots[path]
            times.setdefault(path, (max(root.tree.at, marks.began or 0), None))
            delta.join(refresh(root.tree, root.ignore, at, folders))
        told = changes(delta, moved=marks.moved, known=self._known, now=self.digest) if delta else []
        sightings = tuple(self._sighting(one, times, at) for one in told)
        gone = [self._folder(path, False, times, at) for path in sorted(delta.folders_gone)]
        come = [self._folder(path, True, times, at) for path in sorted(delta.folders_come)]
        return Flush(at, sightings, tuple(blind), tuple(first), (*gone, *come))

    def _left_behind(self, delta: Delta) -> dict[str, set[str]]:
        """Folders where files that came may have come from: the word of that can take half a second more."""
        came = {one.identity for one in delta.come.values()}
        came -= {one.identity for one in delta.gone.values()}
        if not 0 < len(came) <= FEW:
            return {}
        places: dict[str, set[str]] = {}
        for path, root in self.roots.items():
            for name, folder in root.tree.folders.items():
                for file, known in folder.files.items():
                    if known.identity in came and not os.path.lexists(os.path.join(path, name, file)):
                        places.setdefault(path, set()).add(name)
        return places

    def keep(self, *, every: int = KEEP_EVERY) -> None:
        """Keep the trees, the small ones each time, so that the next start knows where this one stood."""
        for root in self.roots.values():
            if root.tree.at > root.kept and (len(root.tree) <= SMALL or root.tree.at - root.kept >= every):
                self._keep(root)

    def _keep(self, root: Root) -> None:
        if self.checkpoints is not None and root.tree.at > root.kept:
            self.checkpoints.save(root.tree)
            root.kept = root.tree.at

    def _missing(self, root: Root) -> bool:
        """A root that is gone with all above it was unmounted: its files are not deleted, only away."""
        path = root.tree.root
        root.missing = not os.path.isdir(path) and not os.path.isdir(os.path.dirname(path))
        if root.missing:
            root.look_through = "it was not there"
        return root.missing

    def _known(self, path: str) -> str | None:
        owner = self._owner(path)
        return None if owner is None else self.known(owner.shown(path))

    def _owner(self, path: str) -> Root | None:
        for prefix, root in self.roots.items():
            if path.startswith(prefix.rstrip("/") + "/"):
                return root
        return None

    def _sighting(self, one: Changed, times: dict[str, tuple[int, str | None]], at: int) -> Sighting:
        root = self._owner(one.path)
        if root is None:
            raise LookupError(f"{one.path} is in no watched root")
        earliest, away = times[root.tree.root]
        origin = one.origin
        if origin is not None:
            old = self._owner(origin)
            origin = origin if old is None else old.shown(origin)
        shown = replace(one, path=root.shown(one.path), origin=origin)
        return Sighting(shown, root.given, earliest, at, away)

    def _folder(
        self, path: str, came: bool, times: dict[str, tuple[int, str | None]], at: int
    ) -> FolderSighting:
        root = self._owner(path)
        if root is None:
            raise LookupError(f"{path} is in no watched root")
        earliest, away = times[root.tree.root]
        return FolderSighting(root.shown(path), came, root.given, earliest, at, away)


def _below(root: str, folders: Iterable[str]) -> set[str]:
    """These folders as paths below a root."""
    prefix = root.rstrip("/") + "/"
    return {one[len(prefix) :] for one in folders if one == root or one.startswith(prefix)}

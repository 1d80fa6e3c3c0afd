"""What is known of the files while a command is followed: the folders as they were, and what changed since.

Nothing here touches the file system. `listing` names the entries of a folder before the command; a name that
ends in a slash is a folder. It may raise FileNotFoundError or NotADirectoryError to say so, and LookupError
for what it does not know. An empty answer is believed only for a folder that is known to be one.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum

_MOST_QUESTIONS = 2_000


class Kind(Enum):
    FILE = "file"
    FOLDER = "folder"
    PRESENT = "present"
    ABSENT = "absent"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Sight:
    kind: Kind
    sure: bool

    @property
    def exists(self) -> bool:
        return self.kind in (Kind.FILE, Kind.FOLDER, Kind.PRESENT)


@dataclass(frozen=True, slots=True)
class _Node:
    sight: Sight
    age: int
    base: str | None = None
    """For a folder that was moved or copied: the path its contents had before the command."""


Listing = Callable[[str], Sequence[str]]
UNSEEN = Sight(Kind.UNKNOWN, False)


class World:
    def __init__(self, cwd: str, listing: Listing | None, *, old: bool = False) -> None:
        """An `old` listing is of some time before the command: others may have changed things since."""
        self.cwd = cwd
        self.listing = listing
        self.old = old
        self.age = 1 if old else 0
        self._nodes: dict[str, _Node] = {}
        self._below: dict[str, set[str]] = {}
        self._asked: dict[str, Sight | frozenset[str]] = {}
        self._marked: set[str] = set()
        """Folders whose listing marks folders, so that a name without a slash is a file."""

    def __len__(self) -> int:
        return len(self._nodes)

    def disturb(self) -> None:
        """A program of unknown doing has run: what was seen before may have changed."""
        self.age += 1

    def look(self, path: str) -> Sight:
        node = self._nodes.get(path)
        if node is not None:
            return self._aged(node.sight, node.age)
        origin, age, sure = self._origin(path)
        if origin is None:
            return self._aged(Sight(Kind.ABSENT, sure), age) if sure is not None else UNSEEN
        sight = self._aged(self._before(origin), 0)
        return sight if sure and not (self.old and self._is_listed(origin)) else replace(sight, sure=False)

    def entries(self, folder: str) -> tuple[list[str], bool] | None:
        """The names in a folder and whether they are sure; None when they are not known."""
        sight = self.look(folder)
        if sight.kind in (Kind.ABSENT, Kind.FILE):
            return [], sight.sure
        node = self._nodes.get(folder)
        origin: str | None
        if node is not None:
            origin, age, sure = node.base, node.age, node.sight.sure
        else:
            origin, age, certain = self._origin(folder)
            sure = bool(certain)
        names: set[str] = set()
        if origin is not None:
            listed = self._ask(origin)
            if not isinstance(listed, frozenset):
                return None
            names = {name.rstrip("/") for name in listed}
            sure = sure and self.age == 0
        elif sight.kind is not Kind.FOLDER or age != self.age:
            return None
        for name in self._below.get(folder, ()):
            inner = self.look(posixpath.join(folder, name))
            if inner.kind is Kind.ABSENT:
                names.discard(name)
            elif inner.exists:
                names.add(name)
            sure = sure and inner.sure
        return sorted(names), sure

    def put(self, path: str, kind: Kind, sure: bool, base: str | None = None) -> None:
        waiting = [path]
        while waiting:
            above = waiting.pop()
            for name in self._below.pop(above, ()):
                waiting.append(posixpath.join(above, name))
                self._nodes.pop(waiting[-1], None)
        self._set(path, _Node(Sight(kind, sure), self.age, base))

    def note_folder(self, path: str, sure: bool) -> None:
        """It is a folder now, whether or not it was one before; what is in it stays as known."""
        self._set(path, _Node(Sight(Kind.FOLDER, sure), self.age, path))

    def carry(self, source: str, target: str, sure: bool, *, keep: bool) -> None:
        """Moves, or with `keep` copies, what is known of a file or of a whole folder."""
        sight = self.look(source)
        kind = sight.kind if sight.exists else Kind.PRESENT
        node = self._nodes.get(source)
        base = node.base if node is not None else self._origin(source)[0]
        inner = {path[len(source) :]: self._nodes[path] for path in self._inside(source)}
        if not keep:
            self.put(source, Kind.ABSENT, sure)
        self.put(target, kind, sure, base)
        for rest, below in inner.items():
            self._set(target + rest, below)

    def known(self) -> Iterator[tuple[str, Kind, str | None]]:
        """What the command left: each path it changed, and where what is in it was before."""
        for path, node in self._nodes.items():
            yield path, node.sight.kind, node.base

    def fork(self) -> World:
        other = World(self.cwd, self.listing, old=self.old)
        other.age, other._asked, other._marked = self.age, self._asked, self._marked
        other._nodes = dict(self._nodes)
        other._below = {folder: set(names) for folder, names in self._below.items()}
        return other

    def merge(self, other: World) -> None:
        """After a choice that could go either way: what the two ways do not share is not known."""
        self.age = other.age = max(self.age, other.age)
        ours, theirs = self._nodes, other._nodes
        changed = [path for path, node in theirs.items() if ours.get(path) is not node]
        changed += [path for path in ours if path not in theirs]
        for path in changed:
            here, there = self.look(path), other.look(path)
            same = here.kind if here.kind is there.kind else Kind.UNKNOWN
            self._set(path, _Node(Sight(same, False), self.age))

    def _aged(self, sight: Sight, age: int) -> Sight:
        if age == self.age or sight.kind is Kind.FOLDER:
            return sight
        return UNSEEN if sight.kind is Kind.ABSENT else Sight(sight.kind, False)

    def _origin(self, path: str) -> tuple[str | None, int, bool | None]:
        """Where the path was before the command. None: it is new, or (without certainty) nobody can tell."""
        above = path
        while above != "/":
            above = posixpath.dirname(above)
            node = self._nodes.get(above)
            if node is None:
                continue
            if node.base is not None:
                return node.base + path[len(above) :], node.age, node.sight.sure
            told = node.sight.kind in (Kind.FOLDER, Kind.FILE, Kind.ABSENT)
            return None, node.age, node.sight.sure if told else None
        return path, 0, True

    def _set(self, path: str, node: _Node) -> None:
        self._nodes[path] = node
        while path != "/":
            above, name = posixpath.split(path)
            names = self._below.setdefault(above, set())
            if name in names:
                return
            names.add(name)
            path = above

    def _inside(self, folder: str) -> Iterator[str]:
        waiting = [folder]
        while waiting:
            above = waiting.pop()
            for name in self._below.get(above, ()):
                path = posixpath.join(above, name)
                waiting.append(path)
                if path in self._nodes:
                    yield path

    def _is_listed(self, path: str) -> bool:
        """Whether a listing alone tells of it: where the command ran is a folder anyway."""
        return path not in ("/", self.cwd) and not self.cwd.startswith(path + "/")

    def _before(self, path: str) -> Sight:
        if not self._is_listed(path):
            return Sight(Kind.FOLDER, True)
        above, name = posixpath.split(path)
        listed = self._ask(above)
        if isinstance(listed, Sight):
            gone = listed.kind in (Kind.ABSENT, Kind.FILE) or self._lacks(above)
            return Sight(Kind.ABSENT, True) if gone else UNSEEN
        if name + "/" in listed:
            return Sight(Kind.FOLDER, True)
        if name not in listed:
            return Sight(Kind.ABSENT, True)
        if above in self._marked:
            return Sight(Kind.FILE, True)
        inner = self._ask(path)
        if isinstance(inner, frozenset):
            return Sight(Kind.FOLDER, True)
        return inner if inner.kind is Kind.FILE else Sight(Kind.PRESENT, True)

    def _lacks(self, folder: str) -> bool:
        """Whether a folder that cannot be listed is known not to be there, from a listing further up."""
        while folder not in ("/", self.cwd):
            folder, name = posixpath.split(folder)
            listed = self._ask(folder)
            if isinstance(listed, frozenset):
                return name not in listed and name + "/" not in listed
            if listed.kind in (Kind.ABSENT, Kind.FILE):
                return True
        return False

    def _ask(self, folder: str) -> Sight | frozenset[str]:
        if folder not in self._asked:
            self._asked[folder] = self._question(folder)
        return self._asked[folder]

    def _question(self, folder: str) -> Sight | frozenset[str]:
        if self.listing is None or "\0" in folder or len(self._asked) > _MOST_QUESTIONS:
            return UNSEEN
        try:
            names = frozenset(self.listing(folder))
        except FileNotFoundError:
            return Sight(Kind.ABSENT, True)
        except NotADirectoryError:
            return Sight(Kind.FILE, True)
        except (OSError, LookupError, ValueError):
            return UNSEEN  # the caller's way to say that it cannot tell
        if not self.old and any(name.endswith("/") for name in names):
            self._marked.add(folder)
        if names or folder == self.cwd:
            return names
        above, name = posixpath.split(folder)
        marked = above != folder and name + "/" in self._names_of(above)
        return names if marked else UNSEEN

    def _names_of(self, folder: str) -> frozenset[str]:
        listed = self._ask(folder)
        return listed if isinstance(listed, frozenset) else frozenset()

"""A tree: what a folder holds, as one look at it tells; and what changed between two looks.

Events of a file system get lost, doubled and reordered. Two looks compared are the truth, whatever happened
in between: that is what the watcher tells, and events only say where to look.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import zstandard

from fazm_memory.capture.ignore import Ignore, passing

LARGEST_STATE = 1 << 30


class Stat(NamedTuple):
    """What tells one state of a file from another, without reading it."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    mode: int

    @property
    def identity(self) -> tuple[int, int]:
        return self.device, self.inode


@dataclass
class Folder:
    """One folder: its files, and the names of the folders in it that we look into."""

    files: dict[str, Stat] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    hidden: frozenset[str] = frozenset()  # names that the rules hide, known only while looking


@dataclass
class Delta:
    """Paths, in full, that are not as they were: gone, come, or there before and after but different."""

    gone: dict[str, Stat] = field(default_factory=dict)
    come: dict[str, Stat] = field(default_factory=dict)
    both: dict[str, tuple[Stat, Stat]] = field(default_factory=dict)
    unreadable: set[str] = field(default_factory=set)
    folders_gone: set[str] = field(default_factory=set)
    folders_come: set[str] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.gone or self.come or self.both)

    def join(self, later: Delta) -> None:
        """Add what a later look found: the two together, as if it had been one."""
        for path, before in later.gone.items():
            if path in self.come:
                del self.come[path]  # came and went between the looks
            else:
                known = self.both.pop(path, None)
                self.gone[path] = before if known is None else known[0]
        for path, after in later.come.items():
            if path in self.gone:
                self.both[path] = (self.gone.pop(path), after)
            else:
                self.come[path] = after
        for path, (before, after) in later.both.items():
            if path in self.come:
                self.come[path] = after
            else:
                known = self.both.get(path)
                self.both[path] = (before if known is None else known[0], after)
        self.unreadable |= later.unreadable
        self.folders_gone |= later.folders_gone - self.folders_come
        self.folders_come = (self.folders_come - later.folders_gone) | later.folders_come


class Tree:
    """What a root held when it was last looked at; `at` is when that look began."""

    def __init__(self, root: str, at: int = 0) -> None:
        self.root = root
        self.at = at
        self.folders: dict[str, Folder] = {}

    def files(self) -> Iterator[tuple[str, Stat]]:
        """Every file by its path below the root."""
        for name, folder in self.folders.items():
            prefix = f"{name}/" if name else ""
            for file, found in folder.files.items():
                yield prefix + file, found

    def get(self, path: str) -> Stat | None:
        above, _, name = path.rpartition("/")
        folder = self.folders.get(above)
        return None if folder is None else folder.files.get(name)

    def __len__(self) -> int:
        return sum(len(folder.files) for folder in self.folders.values())

    def to_bytes(self) -> bytes:
        made = {name: [one.files, sorted(one.folders)] for name, one in self.folders.items()}
        return zstandard.ZstdCompressor(level=1).compress(json.dumps(made, separators=(",", ":")).encode())

    @classmethod
    def from_bytes(cls, root: str, at: int, state: bytes) -> Tree:
        made = json.loads(zstandard.ZstdDecompressor().decompress(state, max_output_size=LARGEST_STATE))
        tree = cls(root, at)
        for name, (files, folders) in made.items():
            tree.folders[name] = Folder({one: Stat(*found) for one, found in files.items()}, set(folders))
        return tree


def stat_of(path: str) -> Stat | None:
    """The state of a file now; None when there is none."""
    try:
        return _stat(os.stat(path, follow_symlinks=False))
    except (FileNotFoundError, NotADirectoryError):
        return None


def _stat(found: os.stat_result) -> Stat:
    return Stat(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_mode)


def scan(root: str, ignore: Ignore, at: int = 0) -> Tree:
    """All that a root holds now, links not followed."""
    tree = Tree(root)
    refresh(tree, ignore, at)
    return tree


def refresh(tree: Tree, ignore: Ignore, at: int, dirty: Iterable[str] | None = None) -> Delta:
    """Look again at these folders (paths below the root), or at all of them, and tell what is different."""
    ignore.begin()
    look = _Look(tree, ignore, at)
    if dirty is None:
        look.folder("", deep=True)
    else:
        wanted = {look.standing(folder) for folder in dirty}
        for folder in sorted(wanted):
            if folder not in look.seen:
                look.folder(folder, deep=False)
    tree.at = at
    return look.delta


class _Look:
    """One look at a tree: it is brought up to date, and what differed is gathered."""

    def __init__(self, tree: Tree, ignore: Ignore, at: int) -> None:
        self.tree = tree
        self.ignore = ignore
        self.since_ns = tree.at * 1000
        self.delta = Delta()
        self.seen: set[str] = set()

    def standing(self, folder: str) -> str:
        """The folder, or the nearest one above it that we knew: what is new appears there first."""
        while folder and folder not in self.tree.folders:
            folder = folder.rpartition("/")[0]
        return folder

    def folder(self, first: str, *, deep: bool) -> None:
        # A stack of our own: trees may be deeper than Python's.
        stack = [(first, deep, False)]
        while stack:
            name, below, unhidden = stack.pop()
            self.seen.add(name)
            try:
                with os.scandir(self._full(name)) as listing:
                    entries = list(listing)
            except (FileNotFoundError, NotADirectoryError):
                self._vanished(name)
                above, _, last = name.rpartition("/")
                if name and above in self.tree.folders:
                    self.tree.folders[above].folders.discard(last)
                continue
            except OSError:
                self.delta.unreadable.add(self._full(name))  # what was known of it stays known
                continue
            changed = self.ignore.refresh(name, {entry.name for entry in entries})
            listed = name in self.tree.folders or self._full(name) in self.delta.folders_come
            known = self.tree.folders.get(name) or Folder()
            found = self._listed(name, entries)
            self.tree.folders[name] = found
            self._compare(name, known, found, unhidden)
            for gone in sorted(known.folders - found.folders):
                self._vanished(_below(name, gone), silently=gone in found.hidden)
            for one in sorted(found.folders if below or changed else found.folders - known.folders):
                shown = unhidden or self.ignore.was_ignored(name, one, is_folder=True)
                if listed and not shown and one not in known.folders:
                    self.delta.folders_come.add(self._full(_below(name, one)))
                stack.append((_below(name, one), True, shown))

    def _full(self, name: str) -> str:
        return os.path.join(self.tree.root, name) if name else self.tree.root

    def _listed(self, name: str, entries: list[os.DirEntry[str]]) -> Folder:
        found = Folder()
        hidden = set()
        plain = self.ignore.plain(name)
        for entry in entries:
            is_folder = entry.is_dir(follow_symlinks=False)
            if (
                passing(entry.name)
                if plain and not is_folder
                else self.ignore.ignored(name, entry.name, is_folder=is_folder)
            ):
                hidden.add(entry.name)
                continue
            if is_folder:
                found.folders.add(entry.name)
                continue
            try:
                seen = entry.stat(follow_symlinks=False)
            except FileNotFoundError:  # gone since it was listed: as if it had not been there
                continue
            if stat.S_ISREG(seen.st_mode) or stat.S_ISLNK(seen.st_mode):
                found.files[entry.name] = _stat(seen)
        found.hidden = frozenset(hidden)
        return found

    def _compare(self, name: str, known: Folder, found: Folder, unhidden: bool) -> None:
        """Files that new rules show or hide have not come or gone."""
        prefix = f"{self._full(name).rstrip('/')}/"
        for file, now in found.files.items():
            before = known.files.get(file)
            if before is None:
                shown = unhidden or self.ignore.was_ignored(name, file, is_folder=False)
                if not (shown and self._old(prefix + file)):
                    self.delta.come[prefix + file] = now
            elif before != now:
                self.delta.both[prefix + file] = (before, now)
        for file, before in known.files.items():
            if file not in found.files and file not in found.hidden:
                self.delta.gone[prefix + file] = before

    def _old(self, path: str) -> bool:
        """Whether a file that new rules let us see had been there all along."""
        try:
            return os.stat(path, follow_symlinks=False).st_ctime_ns < self.since_ns
        except FileNotFoundError:
            return False

    def _vanished(self, name: str, *, silently: bool = False) -> None:
        """A folder is gone, and with it all that we knew below it."""
        known = self.tree.folders.pop(name, None)
        if known is None:
            return
        if not silently:
            prefix = f"{self._full(name).rstrip('/')}/"
            self.delta.gone.update({prefix + file: before for file, before in known.files.items()})
            if name:
                self.delta.folders_gone.add(self._full(name))
        for one in known.folders:
            self._vanished(_below(name, one), silently=silently)


def _below(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name

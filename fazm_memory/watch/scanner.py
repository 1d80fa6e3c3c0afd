"""Scan the watched roots and report what changed since the last scan.

No threads and no waiting here. The caller names the folders that may have changed. All roots are compared
together, so a file moved from one root to another is one rename.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from fazm_memory.clock import iso
from fazm_memory.events import Change
from fazm_memory.paths import disk_path, inside
from fazm_memory.records import dataclass, field, replace
from fazm_memory.store import Database
from fazm_memory.watch.tree import FileStat, IgnoreRules, Tree, TreeCheckpoints, TreeDelta, refresh

MOST_DIGESTS = 500  # files read to pair them by content, at one time
DigestOf = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class FileDifference:
    """A changed file, by its full path."""

    path: str
    change: Change
    origin: str | None = None
    before: FileStat | None = None
    after: FileStat | None = None


def unknown_digest(path: str) -> str | None:
    return None


def file_changes(
    delta: TreeDelta,
    *,
    moved: Mapping[str, str] | None = None,
    known: DigestOf = unknown_digest,
    now: DigestOf = unknown_digest,
) -> list[FileDifference]:
    """The changes, in an order that can be replayed.

    `moved` maps new to old paths, as the system reported. `known` and `now` give digests before and after.
    """
    renames = _by_inode(delta, moved or {})
    _by_content(delta, renames, known, now)
    _without_backups(delta, renames)
    ordered = _replayable(renames)
    sources = {origin for _, origin in ordered}
    targets = {target for target, _ in ordered}
    changes = [
        FileDifference(path, "deleted", None, before)
        for path, before in sorted(delta.gone.items())
        if path not in sources
    ]
    changes += [
        FileDifference(path, "renamed", origin, _before(delta, origin), _after(delta, path))
        for path, origin in ordered
    ]
    changes += [
        FileDifference(path, "modified", None, before, after)
        for path, (before, after) in sorted(delta.both.items())
        if path not in targets
    ]
    changes += [
        FileDifference(path, "created", None, None, after)
        for path, after in sorted(delta.come.items())
        if path not in targets
    ]
    return changes


def _before(delta: TreeDelta, path: str) -> FileStat:
    return delta.gone[path] if path in delta.gone else delta.both[path][0]


def _after(delta: TreeDelta, path: str) -> FileStat:
    return delta.come[path] if path in delta.come else delta.both[path][1]


def _by_inode(delta: TreeDelta, moved: Mapping[str, str]) -> dict[str, str]:
    """Renamed files, as new path → old path.

    Their inode left one path and appeared at another.
    """
    replaced = {path: pair for path, pair in delta.both.items() if pair[0].identity != pair[1].identity}
    left = {before.identity: path for path, (before, _) in replaced.items()}
    left |= {before.identity: path for path, before in delta.gone.items()}
    arrived = {path: after for path, (_, after) in replaced.items()} | delta.come
    renames: dict[str, str] = {}
    taken: set[str] = set()
    for path, after in sorted(arrived.items()):
        origin = left.get(after.identity)
        if origin is None or origin in taken:
            continue
        before = _before(delta, origin)
        same = (before.size, before.mtime_ns) == (after.size, after.mtime_ns)
        if same or moved.get(path) == origin:
            renames[path] = origin
            taken.add(origin)
    return renames


def _by_content(delta: TreeDelta, renames: dict[str, str], known: DigestOf, now: DigestOf) -> None:
    """Pair the other files by size and content.

    Empty files are not paired: they are all alike.
    """
    taken = set(renames.values())
    gone: dict[int, list[str]] = defaultdict(list)
    for path, before in sorted(delta.gone.items()):
        if path not in taken and before.size > 0:
            gone[before.size].append(path)
    read = 0
    for path, after in sorted(delta.come.items()):
        if path in renames or after.size not in gone or read >= MOST_DIGESTS:
            continue
        candidates = [(old, digest) for old in gone[after.size] if (digest := known(old)) is not None]
        if not candidates:
            continue
        read += 1
        new_digest = now(path)
        alike = [old for old, digest in candidates if digest == new_digest]
        if not alike:
            continue
        name = path.rpartition("/")[2]
        origin = next((old for old in alike if old.rpartition("/")[2] == name), alike[0])
        renames[path] = origin
        gone[after.size].remove(origin)


def _without_backups(delta: TreeDelta, renames: dict[str, str]) -> None:
    """Drop renames to a backup.

    An editor moved the old file aside and wrote a new one in its place.
    """
    while True:
        backups = [path for path, origin in renames.items() if origin in delta.both and origin not in renames]
        if not backups:
            return
        for path in backups:
            del renames[path]


def _replayable(renames: dict[str, str]) -> list[tuple[str, str]]:
    """Renames in an order in which each new name is free.

    A cycle has none: its files count as modified.
    """
    by_origin = {origin: path for path, origin in renames.items()}
    ordered: list[tuple[str, str]] = []
    ready = [path for path in renames if path not in by_origin]
    while ready:
        path = ready.pop()
        origin = renames[path]
        ordered.append((path, origin))
        if origin in renames:
            ready.append(origin)
    return ordered


MOST_MOVES = 20_000
START = "it was not watched"
FEW = 1_000  # new files, at most, for which the trees are searched for an old path
SMALL = 5_000  # files of a tree that is saved after every scan
KEEP_EVERY = 30_000_000  # microseconds between saving a larger one


@dataclass(frozen=True, slots=True)
class ObservedChange:
    """A change between `earliest` and `at`.

    `away` says why the root was not watched meanwhile.
    """

    changed: FileDifference
    root: str
    earliest: int
    at: int
    away: str | None = None


@dataclass(frozen=True, slots=True)
class ObservedFolder:
    """A folder that was created or deleted. `away` as for files."""

    path: str
    came: bool
    root: str
    earliest: int
    at: int
    away: str | None = None


@dataclass(frozen=True, slots=True)
class UnwatchedPeriod:
    root: str
    since: int
    until: int
    why: str


@dataclass(frozen=True, slots=True)
class ScanResult:
    at: int
    sightings: tuple[ObservedChange, ...] = ()
    blind: tuple[UnwatchedPeriod, ...] = ()
    first: tuple[str, ...] = ()  # roots scanned for the first time
    folders: tuple[ObservedFolder, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.sightings or self.blind or self.first or self.folders)


@dataclass
class PendingScan:
    """The folders and roots to scan next."""

    folders: set[str] = field(default_factory=set)
    moved: dict[str, str] = field(default_factory=dict)  # new path → old, as the system reported
    lost: dict[str, str] = field(default_factory=dict)  # roots to scan in full, and why
    polled: set[str] = field(default_factory=set)  # roots to scan in full at intervals
    began: int | None = None  # when the first of these was added

    def __bool__(self) -> bool:
        return bool(self.folders or self.lost or self.polled)

    def move(self, old: str, new: str) -> None:
        if len(self.moved) < MOST_MOVES:
            self.moved[new] = self.moved.pop(old, old)


class ScanCheckpoints(Protocol):
    """Stores the last scan of each root between runs."""

    def load(self, root: str) -> Tree | None: ...

    def save(self, tree: Tree) -> None: ...


@dataclass
class WatchedRoot:
    """A watched root. `given` is its path as configured; the tree has the real path."""

    given: str
    tree: Tree
    ignore: IgnoreRules
    look_through: str | None = None
    kept: int = 0
    missing: bool = False

    def shown(self, path: str) -> str:
        return self.given + path[len(self.tree.root) :]


class Scanner:
    def __init__(
        self,
        now: Callable[[], int],
        *,
        checkpoints: ScanCheckpoints | None = None,
        never: Iterable[str] = (),
        known: DigestOf = unknown_digest,
        digest: DigestOf = unknown_digest,
    ) -> None:
        self.now = now
        self.checkpoints = checkpoints
        self.never = tuple(never)
        self.known = known
        self.digest = digest
        self.roots: dict[str, WatchedRoot] = {}

    def add(self, folder: str) -> WatchedRoot:
        """Add a folder. The next scan reports what changed since it was last watched."""
        path = disk_path(folder)  # events have such paths
        saved = None if self.checkpoints is None else self.checkpoints.load(path)
        tree = Tree(path) if saved is None else saved
        root = WatchedRoot(folder.rstrip("/") or "/", tree, IgnoreRules(path, self.never), START)
        self.roots[path] = root
        return root

    def remove(self, path: str) -> None:
        self._save(self.roots.pop(path))

    def look(self, marks: PendingScan) -> ScanResult:
        """Scan the marked folders, and in full every root that needs it."""
        at = self.now()
        delta = TreeDelta()
        times: dict[str, tuple[int, str | None]] = {}
        unwatched: list[UnwatchedPeriod] = []
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
                first.append(root.given)  # nothing to compare with
                continue
            if why is not None:
                unwatched.append(UnwatchedPeriod(root.given, before, at, why))
                times[path] = before, why
            else:
                times[path] = before if dirty is None else max(before, marks.began or before), None
            delta.join(found)
        for path, folders in self._left_behind(delta).items():
            root = self.roots[path]
            times.setdefault(path, (max(root.tree.at, marks.began or 0), None))
            delta.join(refresh(root.tree, root.ignore, at, folders))
        changes = file_changes(delta, moved=marks.moved, known=self._known, now=self.digest) if delta else []
        observed = tuple(self._observed(change, times, at) for change in changes)
        gone = [self._folder(path, False, times, at) for path in sorted(delta.folders_gone)]
        come = [self._folder(path, True, times, at) for path in sorted(delta.folders_come)]
        return ScanResult(at, observed, tuple(unwatched), tuple(first), (*gone, *come))

    def _left_behind(self, delta: TreeDelta) -> dict[str, set[str]]:
        """Folders that new files were moved from.

        Their own events can be half a second late.
        """
        came = {file.identity for file in delta.come.values()}
        came -= {file.identity for file in delta.gone.values()}
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
        """Save the trees for the next start.

        Small ones each time, larger ones after `every`.
        """
        for root in self.roots.values():
            if root.tree.at > root.kept and (len(root.tree) <= SMALL or root.tree.at - root.kept >= every):
                self._save(root)

    def _save(self, root: WatchedRoot) -> None:
        if self.checkpoints is not None and root.tree.at > root.kept:
            self.checkpoints.save(root.tree)
            root.kept = root.tree.at

    def _missing(self, root: WatchedRoot) -> bool:
        """Whether the root and its parent are gone.

        Then a disk was unmounted, and the files do not count as deleted.
        """
        path = root.tree.root
        root.missing = not os.path.isdir(path) and not os.path.isdir(os.path.dirname(path))
        if root.missing:
            root.look_through = "it was not there"
        return root.missing

    def _known(self, path: str) -> str | None:
        owner = self._owner(path)
        return None if owner is None else self.known(owner.shown(path))

    def _owner(self, path: str) -> WatchedRoot | None:
        for prefix, root in self.roots.items():
            if path.startswith(prefix.rstrip("/") + "/"):
                return root
        return None

    def _root_of(self, path: str) -> WatchedRoot:
        root = self._owner(path)
        if root is None:
            raise LookupError(f"{path} is in no watched root")
        return root

    def _observed(
        self, change: FileDifference, times: dict[str, tuple[int, str | None]], at: int
    ) -> ObservedChange:
        root = self._root_of(change.path)
        earliest, away = times[root.tree.root]
        origin = change.origin
        if origin is not None and (old := self._owner(origin)) is not None:
            origin = old.shown(origin)
        shown = replace(change, path=root.shown(change.path), origin=origin)
        return ObservedChange(shown, root.given, earliest, at, away)

    def _folder(
        self, path: str, came: bool, times: dict[str, tuple[int, str | None]], at: int
    ) -> ObservedFolder:
        root = self._root_of(path)
        earliest, away = times[root.tree.root]
        return ObservedFolder(root.shown(path), came, root.given, earliest, at, away)


def _below(root: str, folders: Iterable[str]) -> set[str]:
    """The folders that are in the root, as paths below it."""
    prefix = root.rstrip("/") + "/"
    return {folder[len(prefix) :] for folder in folders if folder == root or folder.startswith(prefix)}


MOST_FILES = 50_000  # of a tree that is scanned while the caller waits
MOST = 500


def changes_since_last_scan(db: Database, folder: str, now: int) -> list[dict[str, Any]]:
    """The changes below a folder since its last scan; none if it was never scanned."""
    checkpoints, real = TreeCheckpoints(db), disk_path(folder)
    root = checkpoints.around(real, now)
    tree = None if root is None else checkpoints.load(root)
    if tree is None or len(tree) > MOST_FILES:
        return []
    since = tree.at
    delta = refresh(tree, IgnoreRules(tree.root), now)
    return [
        {
            "path": folder + difference.path[len(real) :],
            "change": difference.change,
            "by": "unknown",
            "evidence": f"changed between {iso(since)} and {iso(now)}, while it was not watched",
            **({} if difference.origin is None else {"from": difference.origin}),
        }
        for difference in file_changes(delta)
        if inside(difference.path, real)
    ][:MOST]

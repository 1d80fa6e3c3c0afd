"""The files below a folder at one scan, and the differences between two scans.

File system events get lost, doubled and reordered. They only say where to scan: what is reported is the
difference between two scans.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator
from fnmatch import translate
from re import compile as regex
from typing import TYPE_CHECKING, NamedTuple

import zstandard

from fazm_memory.paths import open_regular, open_without_links
from fazm_memory.records import dataclass, field
from fazm_memory.store import Database

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


# Which files of a watched folder to ignore: caches, build output, what Git ignores
#
# A folder such as `build` is ignored only beside a file that builds it. Elsewhere it may be somebody's
# work.

NEVER_WORK = frozenset(
    {
        ".git", ".hg", ".svn", ".jj", ".bzr", "CVS", "node_modules", "bower_components", "__pycache__",
        ".venv", ".tox", ".nox", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis",
        ".ipynb_checkpoints", ".cache", ".gradle", ".terraform", ".next", ".nuxt", ".svelte-kit",
        ".parcel-cache", ".turbo", ".yarn", ".eggs", ".direnv", "DerivedData", ".Trash", ".Trashes",
        ".Spotlight-V100", ".fseventsd", ".DocumentRevisions-V100", ".TemporaryItems",
    }
)  # fmt: skip
PYTHON = ("pyproject.toml", "setup.py", "setup.cfg")
# Folders of build output, and the files beside which they are ignored.
BUILT: dict[str, tuple[str, ...]] = {
    "build": (*PYTHON, "package.json", "build.gradle", "build.gradle.kts", "CMakeLists.txt", "Makefile"),
    "dist": (*PYTHON, "package.json", "Cargo.toml"),
    "target": ("Cargo.toml", "pom.xml", "build.sbt"),
    "out": ("package.json", "build.gradle", "build.gradle.kts"),
    "coverage": ("package.json",),
    "venv": (*PYTHON, "requirements.txt"),
    "Pods": ("Podfile",),
    "vendor": ("composer.json",),
}
# Temporary files of editors, downloads and atomic saves, and files of the system. The `.git` file of a
# worktree names its repository and belongs to git.
PASSING = (
    ".git", ".DS_Store", "._*", "Thumbs.db", "desktop.ini", "*~", ".*.sw[a-p]", "4913", ".#*", "#*#", "*.tmp",
    "*.tmp.*", ".goutputstream-*", "*.crdownload", "*.part", "*.partial", ".~lock.*", "~$*", "*.pyc",
    ".fuse_hidden*", ".nfs*", "*.sb-????????-??????",
)  # fmt: skip
MARKERS = frozenset(marker for markers in BUILT.values() for marker in markers)
is_temporary = regex("|".join(translate(pattern) for pattern in PASSING)).match
GITIGNORE = ".gitignore"
LARGEST_RULES = 1 << 20


@dataclass(frozen=True)
class FolderRules:
    """The rules that one folder has. `mark` changes when its .gitignore does."""

    mark: object = None
    spec: GitIgnoreSpec | None = None
    markers: frozenset[str] = frozenset()


class IgnoreRules:
    """The rules of one watched root.

    `never` are paths to ignore, such as the data folder.
    """

    def __init__(self, root: str, never: Iterable[str] = ()) -> None:
        self.root = root
        self.never = frozenset(os.path.abspath(folder) for folder in never)
        self._rules: dict[str, FolderRules] = {}
        self._before: dict[str, FolderRules] = {}
        self._above = _rules_above(root)

    def begin(self) -> None:
        """Begin a scan: `was_ignored` refers to the rules of now."""
        self._before = {}

    def refresh(self, folder: str, names: Collection[str]) -> bool:
        """Read the rules of a folder. Returns whether they changed since the last time."""
        path = os.path.join(self.root, folder, GITIGNORE)
        mark = _mark(path) if GITIGNORE in names else None
        markers = MARKERS.intersection(names)
        known = self._rules.get(folder)
        if known is not None and (known.mark, known.markers) == (mark, markers):
            return False
        self._rules[folder] = FolderRules(mark, None if mark is None else _read(path), markers)
        if known is not None:
            self._before[folder] = known
        return known is not None

    def ignored(self, folder: str, name: str, *, is_folder: bool) -> bool:
        return self._ignored(folder, name, is_folder, self._of)

    def was_ignored(self, folder: str, name: str, *, is_folder: bool) -> bool:
        """Whether it was ignored before this scan began."""
        return bool(self._before) and self._ignored(folder, name, is_folder, self._of_before)

    def _ignored(self, folder: str, name: str, is_folder: bool, rules: Callable[[str], FolderRules]) -> bool:
        if is_folder:
            if name in NEVER_WORK or not rules(folder).markers.isdisjoint(BUILT.get(name, ())):
                return True
            if self.never and os.path.join(self.root, folder, name) in self.never:
                return True
        elif is_temporary(name):
            return True
        return self._git_ignored(folder, name + "/" if is_folder else name, rules)

    def plain(self, folder: str) -> bool:
        """Whether no .gitignore applies to this folder."""
        while self._of(folder).spec is None:
            if not folder:
                return not self._above
            folder = folder.rpartition("/")[0]
        return False

    def _git_ignored(self, folder: str, below: str, rules: Callable[[str], FolderRules]) -> bool:
        """The nearest .gitignore with a matching rule decides."""
        while True:
            spec = rules(folder).spec
            if spec is not None and (verdict := spec.check_file(below).include) is not None:
                return verdict
            if not folder:
                break
            folder, _, last = folder.rpartition("/")
            below = f"{last}/{below}"
        for spec, prefix in self._above:
            if (verdict := spec.check_file(prefix + below).include) is not None:
                return verdict
        return False

    def _of(self, folder: str) -> FolderRules:
        if folder not in self._rules:
            self.refresh(folder, _names(os.path.join(self.root, folder)))
        return self._rules[folder]

    def _of_before(self, folder: str) -> FolderRules:
        return self._before.get(folder) or self._of(folder)


def _mark(path: str) -> object:
    try:
        found = os.stat(path, follow_symlinks=False)
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _names(folder: str) -> Collection[str]:
    try:
        return frozenset(os.listdir(folder))
    except OSError:  # deleted or not readable: no rules
        return frozenset()


def _read(path: str) -> GitIgnoreSpec | None:
    """The rules of a .gitignore.

    As for Git, a link or one that cannot be read has none.
    """
    try:
        with open_regular(path, links=False) as file:
            lines = file.read(LARGEST_RULES).decode("utf-8", "replace").splitlines()
    except OSError:
        return None
    from pathspec import GitIgnoreSpec  # slow to import, rarely needed

    def sound(line: str) -> bool:
        """Whether the line is valid. An invalid line must not disable the others."""
        try:
            GitIgnoreSpec.from_lines([line])
        except ValueError:
            return False
        return True

    return GitIgnoreSpec.from_lines(line for line in lines if sound(line))


def _rules_above(root: str) -> list[tuple[GitIgnoreSpec, str]]:
    """Ignore rules of the repository around a root, nearest first.

    Each comes with the path from its folder to the root.
    """
    found: list[tuple[GitIgnoreSpec, str]] = []
    folder, prefix = root, ""
    while not os.path.exists(os.path.join(folder, ".git")):
        above, name = os.path.split(folder.rstrip("/"))
        if above == folder or not name:
            return []  # not in a repository
        folder, prefix = above, f"{name}/{prefix}"
        if (spec := _read(os.path.join(folder, GITIGNORE))) is not None:
            found.append((spec, prefix))
    return found


# The files below a folder

LARGEST_STATE = 1 << 30
FOLDER = os.O_RDONLY | os.O_DIRECTORY


class FileStat(NamedTuple):
    """Identifies a state of a file without reading its content."""

    device: int
    inode: int
    size: int
    mtime_ns: int
    mode: int

    @property
    def identity(self) -> tuple[int, int]:
        return self.device, self.inode


@dataclass
class TreeFolder:
    """One folder: its files, and the names of its subfolders that are scanned."""

    files: dict[str, FileStat] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)
    hidden: frozenset[str] = frozenset()  # ignored names, known only during a scan


@dataclass
class TreeDelta:
    """Full paths of files that are gone, came, or are different (`both`)."""

    gone: dict[str, FileStat] = field(default_factory=dict)
    come: dict[str, FileStat] = field(default_factory=dict)
    both: dict[str, tuple[FileStat, FileStat]] = field(default_factory=dict)
    unreadable: set[str] = field(default_factory=set)
    folders_gone: set[str] = field(default_factory=set)
    folders_come: set[str] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.gone or self.come or self.both)

    def join(self, later: TreeDelta) -> None:
        """Add the differences that a later scan found."""
        for path, before in later.gone.items():
            if path in self.come:
                del self.come[path]  # came and went
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
    """The files of a root at its last scan. `at` is when that scan began."""

    def __init__(self, root: str, at: int = 0) -> None:
        self.root = root
        self.at = at
        self.folders: dict[str, TreeFolder] = {}

    def files(self) -> Iterator[tuple[str, FileStat]]:
        """Every file by its path below the root."""
        for name, folder in self.folders.items():
            prefix = f"{name}/" if name else ""
            for file, found in folder.files.items():
                yield prefix + file, found

    def get(self, path: str) -> FileStat | None:
        above, _, name = path.rpartition("/")
        folder = self.folders.get(above)
        return None if folder is None else folder.files.get(name)

    def __len__(self) -> int:
        return sum(len(folder.files) for folder in self.folders.values())

    def to_bytes(self) -> bytes:
        state = {name: [folder.files, sorted(folder.folders)] for name, folder in self.folders.items()}
        return zstandard.ZstdCompressor(level=1).compress(json.dumps(state, separators=(",", ":")).encode())

    @classmethod
    def from_bytes(cls, root: str, at: int, state: bytes) -> Tree:
        raw = json.loads(zstandard.ZstdDecompressor().decompress(state, max_output_size=LARGEST_STATE))
        tree = cls(root, at)
        for name, (files, folders) in raw.items():
            stats = {file: FileStat(*fields) for file, fields in files.items()}
            tree.folders[name] = TreeFolder(stats, set(folders))
        return tree


def stat_of(path: str) -> FileStat | None:
    """The present state of a file, or None if there is none."""
    try:
        return _stat(os.stat(path, follow_symlinks=False))
    except (FileNotFoundError, NotADirectoryError):
        return None


def _stat(found: os.stat_result) -> FileStat:
    return FileStat(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_mode)


def scan(root: str, ignore: IgnoreRules, at: int = 0) -> Tree:
    """Scan a root, without following links."""
    tree = Tree(root)
    refresh(tree, ignore, at)
    return tree


def refresh(tree: Tree, ignore: IgnoreRules, at: int, dirty: Iterable[str] | None = None) -> TreeDelta:
    """Scan these folders, or all of them, and return the differences.

    Folders are paths below the root.
    """
    ignore.begin()
    with _TreeScan(tree, ignore) as scanning:
        if dirty is None:
            scanning.folder("", deep=True)
        else:
            for folder in sorted({scanning.nearest_known(folder) for folder in dirty}):
                if folder not in scanning.done:
                    scanning.folder(folder, deep=False)
    tree.at = at
    return scanning.delta


class _TreeScan:
    """One scan. Updates the tree and collects the differences.

    Folders are opened part by part below the root. A folder that became a link counts as gone.
    """

    def __init__(self, tree: Tree, ignore: IgnoreRules) -> None:
        self.tree = tree
        self.ignore = ignore
        self.since_ns = tree.at * 1000
        self.delta = TreeDelta()
        self.done: set[str] = set()
        self.root: int | None = None

    def __enter__(self) -> _TreeScan:
        with contextlib.suppress(OSError):  # each folder then reports the error
            self.root = open_without_links(self.tree.root, FOLDER)
        return self

    def __exit__(self, *_: object) -> None:
        if self.root is not None:
            os.close(self.root)

    def nearest_known(self, folder: str) -> str:
        """The folder or, if it is new, the nearest known folder above it."""
        while folder and folder not in self.tree.folders:
            folder = folder.rpartition("/")[0]
        return folder

    def folder(self, first: str, *, deep: bool) -> None:
        # Not recursive: trees may be deeper than Python's stack.
        stack = [(first, deep, False)]
        while stack:
            name, below, unhidden = stack.pop()
            self.done.add(name)
            listed = name in self.tree.folders or self._full(name) in self.delta.folders_come
            known = self.tree.folders.get(name) or TreeFolder()
            try:
                changed, found = self._list(name)
            except OSError as error:
                if not (
                    isinstance(error, FileNotFoundError | NotADirectoryError) or error.errno == errno.ELOOP
                ):
                    self.delta.unreadable.add(self._full(name))  # the tree keeps its last known state
                    continue
                self._vanished(name)
                above, _, last = name.rpartition("/")
                if name and above in self.tree.folders:
                    self.tree.folders[above].folders.discard(last)
                continue
            self.tree.folders[name] = found
            self._compare(name, known, found, unhidden)
            for gone in sorted(known.folders - found.folders):
                self._vanished(_below(name, gone), silently=gone in found.hidden)
            for inner in sorted(found.folders if below or changed else found.folders - known.folders):
                shown = unhidden or self.ignore.was_ignored(name, inner, is_folder=True)
                if listed and not shown and inner not in known.folders:
                    self.delta.folders_come.add(self._full(_below(name, inner)))
                stack.append((_below(name, inner), True, shown))

    def _full(self, name: str) -> str:
        return os.path.join(self.tree.root, name) if name else self.tree.root

    def _list(self, name: str) -> tuple[bool, TreeFolder]:
        """Whether the ignore rules of a folder changed, and its present state.

        Raises OSError.
        """
        where = self.tree.root if self.root is None else name
        folder = open_without_links(where, FOLDER, self.root)
        try:
            with os.scandir(folder) as listing:
                entries = list(listing)
            changed = self.ignore.refresh(name, {entry.name for entry in entries})
            return changed, self._listed(name, entries)
        finally:
            os.close(folder)

    def _listed(self, name: str, entries: list[os.DirEntry[str]]) -> TreeFolder:
        found = TreeFolder()
        hidden = set()
        plain = self.ignore.plain(name)
        for entry in entries:
            is_folder = entry.is_dir(follow_symlinks=False)
            if (
                is_temporary(entry.name)
                if plain and not is_folder
                else self.ignore.ignored(name, entry.name, is_folder=is_folder)
            ):
                hidden.add(entry.name)
                continue
            if is_folder:
                found.folders.add(entry.name)
                continue
            try:
                state = entry.stat(follow_symlinks=False)
            except FileNotFoundError:  # deleted since it was listed
                continue
            if stat.S_ISREG(state.st_mode) or stat.S_ISLNK(state.st_mode):
                found.files[entry.name] = _stat(state)
        found.hidden = frozenset(hidden)
        return found

    def _compare(self, name: str, known: TreeFolder, found: TreeFolder, unhidden: bool) -> None:
        """Compare two states of a folder.

        Files that only new ignore rules show or hide do not count.
        """
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
        """Whether a file that was ignored before existed at the last scan."""
        try:
            return os.stat(path, follow_symlinks=False).st_ctime_ns < self.since_ns
        except FileNotFoundError:
            return False

    def _vanished(self, name: str, *, silently: bool = False) -> None:
        """Remove a folder and everything below it from the tree."""
        known = self.tree.folders.pop(name, None)
        if known is None:
            return
        if not silently:
            prefix = f"{self._full(name).rstrip('/')}/"
            self.delta.gone.update({prefix + file: before for file, before in known.files.items()})
            if name:
                self.delta.folders_gone.add(self._full(name))
        for inner in known.folders:
            self._vanished(_below(name, inner), silently=silently)


def _below(folder: str, name: str) -> str:
    return f"{folder}/{name}" if folder else name


class TreeCheckpoints:
    """Stored trees. Needs its own connection, because the watcher's thread uses it."""

    def __init__(self, database: Database) -> None:
        self.db = database

    def around(self, folder: str, before: int) -> str | None:
        """The innermost root around a folder, if its last scan was before that moment."""
        found = self.db.execute(
            "SELECT root, at FROM tree WHERE ? = root OR substr(?, 1, length(root) + 1) = root || '/'"
            " ORDER BY length(root) DESC LIMIT 1",
            (folder, folder),
        ).fetchone()
        return None if found is None or int(found[1]) > before else str(found[0])

    def at(self, root: str) -> int | None:
        row = self.db.execute("SELECT at FROM tree WHERE root=?", (root,)).fetchone()
        return None if row is None else int(row[0])

    def load(self, root: str) -> Tree | None:
        row = self.db.execute("SELECT at, state FROM tree WHERE root=?", (root,)).fetchone()
        return None if row is None else Tree.from_bytes(root, int(row[0]), bytes(row[1]))

    def save(self, tree: Tree) -> None:
        state = tree.to_bytes()
        with self.db.transaction():
            self.db.execute("INSERT OR REPLACE INTO tree VALUES (?,?,?)", (tree.root, tree.at, state))

    def forget(self, root: str) -> None:
        with self.db.transaction():
            self.db.execute("DELETE FROM tree WHERE root=?", (root,))

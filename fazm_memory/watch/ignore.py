"""Which files of a watched folder to ignore: caches, build output, what Git ignores.

A folder such as `build` is ignored only beside a file that builds it. Elsewhere it may be somebody's work.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable
from fnmatch import translate
from re import compile as regex
from typing import TYPE_CHECKING

from fazm_memory.paths import open_regular
from fazm_memory.records import dataclass

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


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
# Temporary files of editors, downloads and atomic saves, and files of the system.
PASSING = (
    ".DS_Store", "._*", "Thumbs.db", "desktop.ini", "*~", ".*.sw[a-p]", "4913", ".#*", "#*#", "*.tmp",
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
    """The rules of one watched root. `never` are paths to ignore, such as the data folder."""

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
    """The rules of a .gitignore. As for Git, a link or one that cannot be read has none."""
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
    """Rules of the repository around a root, nearest first, each with the path from there to the root."""
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

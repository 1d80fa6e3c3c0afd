"""What in a watched folder is not work: version control, caches, what a build makes, what Git ignores.

A folder such as `build` is somebody's build only beside the file that builds it; elsewhere it may be the very
folder an agent was asked to tidy, so it counts.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from fnmatch import translate
from re import compile as regex
from typing import TYPE_CHECKING

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
# What a build makes, and beside which files it is a build.
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
# Files that editors, downloads and atomic saves leave for a moment, and the system's own.
PASSING = (
    ".DS_Store", "._*", "Thumbs.db", "desktop.ini", "*~", ".*.sw[a-p]", "4913", ".#*", "#*#", "*.tmp",
    "*.tmp.*", ".goutputstream-*", "*.crdownload", "*.part", "*.partial", ".~lock.*", "~$*", "*.pyc",
    ".fuse_hidden*", ".nfs*", "*.sb-????????-??????",
)  # fmt: skip
MARKERS = frozenset(marker for markers in BUILT.values() for marker in markers)
passing = regex("|".join(translate(one) for one in PASSING)).match
GITIGNORE = ".gitignore"
LARGEST_RULES = 1 << 20


@dataclass(frozen=True)
class Rules:
    """What one folder says about what is below it; `mark` tells one state of that from another."""

    mark: object = None
    spec: GitIgnoreSpec | None = None
    markers: frozenset[str] = frozenset()


class Ignore:
    """The rules of one watched root. `never` are folders left alone by name, such as our own store."""

    def __init__(self, root: str, never: Iterable[str] = ()) -> None:
        self.root = root
        self.never = frozenset(os.path.abspath(one) for one in never)
        self._rules: dict[str, Rules] = {}
        self._before: dict[str, Rules] = {}
        self._above = _rules_above(root)

    def begin(self) -> None:
        """A new look begins: what the rules were before is what they are now."""
        self._before = {}

    def refresh(self, folder: str, names: Collection[str]) -> bool:
        """Take in the rules that a folder holds now; whether they have changed since the last time."""
        path = os.path.join(self.root, folder, GITIGNORE)
        mark = _mark(path) if GITIGNORE in names else None
        markers = MARKERS.intersection(names)
        known = self._rules.get(folder)
        if known is not None and (known.mark, known.markers) == (mark, markers):
            return False
        self._rules[folder] = Rules(mark, None if mark is None else _read(path), markers)
        if known is not None:
            self._before[folder] = known
        return known is not None

    def ignored(self, folder: str, name: str, *, is_folder: bool) -> bool:
        """Whether an entry of a folder is none of our business."""
        return self._ignored(folder, name, is_folder, self._of)

    def was_ignored(self, folder: str, name: str, *, is_folder: bool) -> bool:
        """The same by the rules as they were before this look."""
        return bool(self._before) and self._ignored(folder, name, is_folder, self._of_before)

    def _ignored(self, folder: str, name: str, is_folder: bool, rules: Callable[[str], Rules]) -> bool:
        if is_folder:
            if name in NEVER_WORK or not rules(folder).markers.isdisjoint(BUILT.get(name, ())):
                return True
            if self.never and os.path.join(self.root, folder, name) in self.never:
                return True
        elif passing(name):
            return True
        return self._told_by_git(folder, name + "/" if is_folder else name, rules)

    def plain(self, folder: str) -> bool:
        """Whether no rules of Git's reach this folder, so that its files need not be held against any."""
        while self._of(folder).spec is None:
            if not folder:
                return not self._above
            folder = folder.rpartition("/")[0]
        return False

    def _told_by_git(self, folder: str, below: str, rules: Callable[[str], Rules]) -> bool:
        """The nearest rules that say anything about it decide."""
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

    def _of(self, folder: str) -> Rules:
        if folder not in self._rules:
            self.refresh(folder, _names(os.path.join(self.root, folder)))
        return self._rules[folder]

    def _of_before(self, folder: str) -> Rules:
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
    except OSError:  # gone or closed to us: then no rules of its own are known
        return frozenset()


def _read(path: str) -> GitIgnoreSpec | None:
    """The rules of a file; one that cannot be read says nothing, as for Git."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read(LARGEST_RULES).splitlines()
    except OSError:
        return None
    from pathspec import GitIgnoreSpec  # late: only a folder with rules of its own needs it

    def sound(line: str) -> bool:
        """Whether Git's own rules allow the line; a single bad one must not cost us the others."""
        try:
            GitIgnoreSpec.from_lines([line])
        except ValueError:
            return False
        return True

    return GitIgnoreSpec.from_lines(line for line in lines if sound(line))


def _rules_above(root: str) -> list[tuple[GitIgnoreSpec, str]]:
    """Rules of the repository that a root lies in, nearest first, with the way from there to the root."""
    found: list[tuple[GitIgnoreSpec, str]] = []
    folder, prefix = root, ""
    while not os.path.exists(os.path.join(folder, ".git")):
        above, name = os.path.split(folder.rstrip("/"))
        if above == folder or not name:
            return []  # not in a repository: the rules of strangers do not count
        folder, prefix = above, f"{name}/{prefix}"
        if (spec := _read(os.path.join(folder, GITIGNORE))) is not None:
            found.append((spec, prefix))
    return found

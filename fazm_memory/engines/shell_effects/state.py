"""The state of a followed script: values, working folder, files.

A value may have holes, where its text is not known. Such a value is never used as a file name. It can be
compared with names in the output.

`FileTree` is the state of the files while a script is followed. `KnownFolders` is what a session knows
between its commands.

A listing function returns the names in a folder before the command; folder names end in a slash. It may raise
FileNotFoundError, NotADirectoryError, or LookupError for a folder that it does not know. An empty listing is
believed only for a folder that is known to exist.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, TypeAlias

from fazm_memory.engines.shell_effects.parser import Node, Script
from fazm_memory.engines.shell_effects.patterns import ANYTHING, NEVER, escape, matches

_MOST_QUESTIONS = 2_000


class FileKind(Enum):
    FILE = "file"
    FOLDER = "folder"
    PRESENT = "present"
    ABSENT = "absent"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Lookup:
    kind: FileKind
    sure: bool

    @property
    def exists(self) -> bool:
        return self.kind in (FileKind.FILE, FileKind.FOLDER, FileKind.PRESENT)


@dataclass(frozen=True, slots=True)
class _Node:
    lookup: Lookup
    age: int
    base: str | None = None
    """For a moved or copied folder: the path of its contents before the command."""


Listing = Callable[[str], Sequence[str]]
UNKNOWN_LOOKUP = Lookup(FileKind.UNKNOWN, False)


class FileTree:
    def __init__(self, cwd: str, listing: Listing | None, *, old: bool = False) -> None:
        """`old`: the listing may be outdated, because others may have changed files since."""
        self.cwd = cwd
        self.listing = listing
        self.old = old
        self.age = 1 if old else 0
        self._nodes: dict[str, _Node] = {}
        self._below: dict[str, set[str]] = {}
        self._listings: dict[str, Lookup | frozenset[str]] = {}
        self._with_folder_marks: set[str] = set()
        """Folders whose listing marks folders with a slash, so other names are files."""

    def __len__(self) -> int:
        return len(self._nodes)

    def invalidate(self) -> None:
        """Note that an unknown program ran. Earlier knowledge may be outdated."""
        self.age += 1

    def look(self, path: str) -> Lookup:
        node = self._nodes.get(path)
        if node is not None:
            return self._aged(node.lookup, node.age)
        origin, age, sure = self._origin(path)
        if origin is None:
            return self._aged(Lookup(FileKind.ABSENT, sure), age) if sure is not None else UNKNOWN_LOOKUP
        lookup = self._aged(self._before(origin), 0)
        return lookup if sure and not (self.old and self._is_listed(origin)) else replace(lookup, sure=False)

    def entries(self, folder: str) -> tuple[list[str], bool] | None:
        """Return the names in a folder and whether they are certain. None if not known."""
        lookup = self.look(folder)
        if lookup.kind in (FileKind.ABSENT, FileKind.FILE):
            return [], lookup.sure
        node = self._nodes.get(folder)
        origin: str | None
        if node is not None:
            origin, age, sure = node.base, node.age, node.lookup.sure
        else:
            origin, age, certain = self._origin(folder)
            sure = bool(certain)
        names: set[str] = set()
        if origin is not None:
            listed = self._list(origin)
            if not isinstance(listed, frozenset):
                return None
            names = {name.rstrip("/") for name in listed}
            sure = sure and self.age == 0
        elif lookup.kind is not FileKind.FOLDER or age != self.age:
            return None
        for name in self._below.get(folder, ()):
            inner = self.look(posixpath.join(folder, name))
            if inner.kind is FileKind.ABSENT:
                names.discard(name)
            elif inner.exists:
                names.add(name)
            sure = sure and inner.sure
        return sorted(names), sure

    def put(self, path: str, kind: FileKind, sure: bool, base: str | None = None) -> None:
        waiting = [path]
        while waiting:
            above = waiting.pop()
            for name in self._below.pop(above, ()):
                waiting.append(posixpath.join(above, name))
                self._nodes.pop(waiting[-1], None)
        self._set(path, _Node(Lookup(kind, sure), self.age, base))

    def mark_folder(self, path: str, sure: bool) -> None:
        """Note that the path is a folder. What is known of its contents stays."""
        self._set(path, _Node(Lookup(FileKind.FOLDER, sure), self.age, path))

    def transfer(self, source: str, target: str, sure: bool, *, keep: bool) -> None:
        """Move, or with `keep` copy, what is known of a file or folder."""
        lookup = self.look(source)
        kind = lookup.kind if lookup.exists else FileKind.PRESENT
        node = self._nodes.get(source)
        base = node.base if node is not None else self._origin(source)[0]
        inner = {path[len(source) :]: self._nodes[path] for path in self._inside(source)}
        if not keep:
            self.put(source, FileKind.ABSENT, sure)
        self.put(target, kind, sure, base)
        for rest, below in inner.items():
            self._set(target + rest, below)

    def changes(self) -> Iterator[tuple[str, FileKind, str | None]]:
        """Yield each changed path, its kind, and where its contents were before."""
        for path, node in self._nodes.items():
            yield path, node.lookup.kind, node.base

    def fork(self) -> FileTree:
        other = FileTree(self.cwd, self.listing, old=self.old)
        other.age, other._listings, other._with_folder_marks = (
            self.age,
            self._listings,
            self._with_folder_marks,
        )
        other._nodes = dict(self._nodes)
        other._below = {folder: set(names) for folder, names in self._below.items()}
        return other

    def merge(self, other: FileTree) -> None:
        """Join two possible outcomes. What differs is not known."""
        self.age = other.age = max(self.age, other.age)
        ours, theirs = self._nodes, other._nodes
        changed = [path for path, node in theirs.items() if ours.get(path) is not node]
        changed += [path for path in ours if path not in theirs]
        for path in changed:
            here, there = self.look(path), other.look(path)
            same = here.kind if here.kind is there.kind else FileKind.UNKNOWN
            self._set(path, _Node(Lookup(same, False), self.age))

    def _aged(self, lookup: Lookup, age: int) -> Lookup:
        if age == self.age or lookup.kind is FileKind.FOLDER:
            return lookup
        return UNKNOWN_LOOKUP if lookup.kind is FileKind.ABSENT else Lookup(lookup.kind, False)

    def _origin(self, path: str) -> tuple[str | None, int, bool | None]:
        """Return where the path was before the command, since when, and how certain.

        The path is None if it is new or, without a certainty, not known.
        """
        above = path
        while above != "/":
            above = posixpath.dirname(above)
            node = self._nodes.get(above)
            if node is None:
                continue
            if node.base is not None:
                return node.base + path[len(above) :], node.age, node.lookup.sure
            is_clear = node.lookup.kind in (FileKind.FOLDER, FileKind.FILE, FileKind.ABSENT)
            return None, node.age, node.lookup.sure if is_clear else None
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
        """Whether only a listing can describe the path. The working folder surely exists."""
        return path not in ("/", self.cwd) and not self.cwd.startswith(path + "/")

    def _before(self, path: str) -> Lookup:
        if not self._is_listed(path):
            return Lookup(FileKind.FOLDER, True)
        above, name = posixpath.split(path)
        listed = self._list(above)
        if isinstance(listed, Lookup):
            gone = listed.kind in (FileKind.ABSENT, FileKind.FILE) or self._lacks(above)
            return Lookup(FileKind.ABSENT, True) if gone else UNKNOWN_LOOKUP
        if name + "/" in listed:
            return Lookup(FileKind.FOLDER, True)
        if name not in listed:
            return Lookup(FileKind.ABSENT, True)
        if above in self._with_folder_marks:
            return Lookup(FileKind.FILE, True)
        inner = self._list(path)
        if isinstance(inner, frozenset):
            return Lookup(FileKind.FOLDER, True)
        return inner if inner.kind is FileKind.FILE else Lookup(FileKind.PRESENT, True)

    def _lacks(self, folder: str) -> bool:
        """Whether a listing further up shows that a folder does not exist."""
        while folder not in ("/", self.cwd):
            folder, name = posixpath.split(folder)
            listed = self._list(folder)
            if isinstance(listed, frozenset):
                return name not in listed and name + "/" not in listed
            if listed.kind in (FileKind.ABSENT, FileKind.FILE):
                return True
        return False

    def _list(self, folder: str) -> Lookup | frozenset[str]:
        if folder not in self._listings:
            self._listings[folder] = self._ask_listing(folder)
        return self._listings[folder]

    def _ask_listing(self, folder: str) -> Lookup | frozenset[str]:
        if self.listing is None or "\0" in folder or len(self._listings) > _MOST_QUESTIONS:
            return UNKNOWN_LOOKUP
        try:
            names = frozenset(self.listing(folder))
        except FileNotFoundError:
            return Lookup(FileKind.ABSENT, True)
        except NotADirectoryError:
            return Lookup(FileKind.FILE, True)
        except (OSError, LookupError, ValueError):
            return UNKNOWN_LOOKUP  # not known to the caller
        if not self.old and any(name.endswith("/") for name in names):
            self._with_folder_marks.add(folder)
        if names or folder == self.cwd:
            return names
        above, name = posixpath.split(folder)
        marked = above != folder and name + "/" in self._names_of(above)
        return names if marked else UNKNOWN_LOOKUP

    def _names_of(self, folder: str) -> frozenset[str]:
        listed = self._list(folder)
        return listed if isinstance(listed, frozenset) else frozenset()


# Knowledge of a session

MOST_NAMES = 2_000  # carried from one chunk of a transcript to the next
FOLDER, FILE, UNCLEAR, GONE = "d", "f", "?", "-"
KINDS = {FileKind.FOLDER: FOLDER, FileKind.FILE: FILE, FileKind.PRESENT: UNCLEAR, FileKind.ABSENT: GONE}


class KnownFolders:
    """Folders that a session has listed or changed, with the names in them.

    It resolves `*.jpg` long after the command ran. Others work on the same files, so effects that rest on it
    are always inferred.
    """

    def __init__(self, carry: Mapping[str, Any] | None = None) -> None:
        self.folders: dict[str, dict[str, str]] = {
            folder: dict(names) for folder, names in (carry or {}).items()
        }
        self.base: Listing | None = None
        """Listing of the last scan, for folders that the session has not listed itself."""

    def carry(self) -> dict[str, dict[str, str]]:
        """Drop the oldest folders over the limit and return the rest as JSON values."""
        latest: dict[str, dict[str, str]] = {}
        left = MOST_NAMES
        for folder, names in reversed(self.folders.items()):
            left -= len(names)
            if left < 0:
                break
            latest[folder] = names
        self.folders = dict(reversed(latest.items()))
        return self.folders

    def listing(self, folder: str) -> list[str]:
        """Return the names in a folder. Raise LookupError if they are not known."""
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
        """Forget a folder, for example after a newer scan of it."""
        for rest in self._below(root):
            del self.folders[root + rest]

    def learn_from(self, files: FileTree) -> None:
        """Take over the changes of a successful command."""
        changed = list(files.changes())
        moved = [(path, self._below(base)) for path, _, base in changed if base not in (None, path) and base]
        for path, inner in moved:
            for rest, names in inner.items():
                self.folders[path + rest] = dict(names)
        for path, kind, _ in changed:
            if kind in KINDS:
                self._put(path, KINDS[kind])
            if kind is FileKind.ABSENT:
                self.forget(path)

    def add_listing(self, folder: str, names: Iterable[str], *, whole: bool, marked: bool) -> None:
        """Add a listing. `whole`: the folder has no other names, except hidden ones.

        `marked`: folder names end in a slash, so other names are files.
        """
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

    def add_call(
        self, files: Iterable[Mapping[str, Any]], listings: Iterable[Mapping[str, Any]] = ()
    ) -> None:
        """Add the files that a tool call touched and the folders that it listed."""
        for file in files:
            if origin := file.get("from"):
                self._put(str(origin), GONE)
            path = str(file["path"])
            if file["change"] == "deleted":
                self._put(path, GONE)
            elif self.kind(path) in (UNCLEAR, GONE):
                self._put(path, FILE if file["change"] in ("read", "modified") else UNCLEAR)
        for folder in listings:
            self.add_listing(str(folder["folder"]), map(str, folder["files"]), whole=False, marked=True)

    def _put(self, path: str, kind: str) -> None:
        above, name = posixpath.split(path)
        if not path.startswith("/") or not name:
            return
        names = self.folders.pop(above, {})  # the latest folder stands last
        names[name] = kind
        self.folders[above] = names

    def _below(self, path: str) -> dict[str, dict[str, str]]:
        prefix = path.rstrip("/") + "/"
        return {
            folder[len(path) :]: names
            for folder, names in self.folders.items()
            if folder == path or folder.startswith(prefix)
        }


LONGEST = 1 << 16


@dataclass(frozen=True, slots=True)
class Hole:
    """An unknown part of a text: its variable and the pattern it must match."""

    of: str = ""
    like: str = ANYTHING


@dataclass(frozen=True, slots=True)
class Value:
    """A text that may have holes. `text` is None when it has any."""

    parts: tuple[str | Hole, ...] = ()
    reason: str = ""
    """Why the text may be wrong although it has no holes."""
    text: str | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        parts = self.parts
        if len(parts) == 1:
            text = parts[0] if isinstance(parts[0], str) else None
        else:
            texts = [part for part in parts if isinstance(part, str)]
            text = "".join(texts) if len(texts) == len(parts) else None
        object.__setattr__(self, "text", text)

    @property
    def pattern(self) -> str:
        return "".join(escape(part) if isinstance(part, str) else part.like for part in self.parts)

    @property
    def is_no_match(self) -> bool:
        return self.parts == (NO_MATCH,)

    def could_be(self, text: str) -> bool:
        return self.text == text if self.text is not None else matches(self.pattern, text)

    def with_reason(self, reason: str) -> Value:
        return replace(self, reason=self.reason or reason) if reason else self


NO_MATCH = Hole("", NEVER)
"""A glob that is known to match nothing."""


def known(text: str, reason: str = "") -> Value:
    return Value((text,), reason) if len(text) <= LONGEST else Value((Hole(),), reason)


def unknown(of: str = "", like: str = ANYTHING) -> Value:
    return Value((Hole(of, like),))


def joined(values: Iterable[Value]) -> Value:
    parts: list[str | Hole] = []
    size = 0
    reason = ""
    for value in values:
        reason = reason or value.reason
        for part in value.parts:
            last = parts[-1] if parts else None
            if isinstance(part, str) and isinstance(last, str):
                parts[-1] = last + part
            elif isinstance(part, Hole) and isinstance(last, Hole):
                parts[-1] = Hole()  # the border between two holes is unknown too
            else:
                parts.append(part)
            size += len(part) if isinstance(part, str) else 1
        if size > LONGEST:
            return Value((Hole(),), reason)
    return Value(tuple(parts), reason)


def spaced(values: Iterable[Value], space: str = " ") -> Value:
    """Join values with spaces, as `echo` and `eval` do."""
    return joined(
        part for i, value in enumerate(values) for part in ((known(space), value) if i else (value,))
    )


# State of a shell

_LONGEST_PATH = 4096

Variable: TypeAlias = Value | None
"""None: known not to be set."""


@dataclass
class Input:
    """Standard input. Commands that read in turn share its position."""

    value: Value = field(default_factory=unknown)
    at: int = 0

    def line(self, delimiter: str = "\n") -> Value | None:
        """Return the next line, None at the end, or a hole if the input is not known."""
        text = self.value.text
        if text is None:
            return unknown("read")
        if self.at >= len(text):
            return None
        end = text.find(delimiter, self.at)
        end = len(text) if end < 0 else end
        line = text[self.at : end]
        self.at = end + 1
        return known(line, self.value.reason)

    def rest(self) -> Value:
        text = self.value.text
        if text is None:
            return self.value
        at, self.at = self.at, len(text)
        return known(text[at:], self.value.reason)


@dataclass
class State:
    cwd: str | None
    home: str | None
    files: FileTree
    variables: dict[str, Variable] = field(default_factory=dict)
    functions: dict[str, Node] = field(default_factory=dict)
    options: set[str] = field(default_factory=set)
    arguments: tuple[Value, ...] = ()
    folders: tuple[str | None, ...] = ()
    contents: dict[str, Value] = field(default_factory=dict)
    """Contents of files that the script itself wrote."""
    traps: tuple[Script, ...] = ()
    input: Input = field(default_factory=Input)

    def path(self, text: str) -> str | None:
        """Return the absolute path of a name, None if the working folder is not known."""
        if not text or "\0" in text or (self.cwd is None and not text.startswith("/")):
            return None
        path = posixpath.normpath(posixpath.join(self.cwd or "/", text))
        path = path[1:] if path.startswith("//") else path
        return path if len(path) <= _LONGEST_PATH else None

    def variable(self, name: str) -> Variable:
        if name in self.variables:
            return self.variables[name]
        if name.isdigit() and name != "0":
            place = int(name[:6]) - 1
            return self.arguments[place] if place < len(self.arguments) else None
        if name == "#":
            return known(str(len(self.arguments)))
        if name in ("PWD", "HOME"):
            path = self.cwd if name == "PWD" else self.home
            return unknown(name) if path is None else known(path)
        return unknown(name)

    def change_folder(self, path: str | None) -> None:
        self.variables["OLDPWD"] = unknown("OLDPWD") if self.cwd is None else known(self.cwd)
        self.cwd = path

    def fork(self, *, subshell: bool = False) -> State:
        """Copy the state.

        A subshell has its own folder and variables but shares the files.
        """
        return State(
            self.cwd,
            self.home,
            self.files if subshell else self.files.fork(),
            dict(self.variables),
            dict(self.functions),
            set(self.options),
            self.arguments,
            self.folders,
            self.contents if subshell else dict(self.contents),
            self.traps,
            self.input,
        )

    def merge(self, other: State) -> None:
        self.files.merge(other.files)
        self.cwd = self.cwd if self.cwd == other.cwd else None
        for name in {*self.variables, *other.variables}:
            if self.variable(name) != other.variable(name):
                self.variables[name] = unknown(name)
        self.arguments = self.arguments if self.arguments == other.arguments else ()
        self.folders = self.folders if self.folders == other.folders else ()
        self.functions |= other.functions
        self.options &= other.options
        for path in {*self.contents, *other.contents}:
            if self.contents.get(path) != other.contents.get(path):
                self.contents[path] = unknown()

"""The renames of a session as one step each: chains are composed, what was taken back is gone.

A file renamed a → b → c was renamed a → c; a folder renamed later takes its files along.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from unicodedata import normalize


@dataclass(frozen=True)
class Renamed:
    """A file that got another name or folder, when in the session, and its modification time as ISO 8601."""

    before: str
    after: str
    seq: int = 0
    mtime: str | None = None


@dataclass(frozen=True)
class Composed:
    """Renames from first to last name, in the order they were begun, and every path a file had on the way."""

    moves: tuple[Renamed, ...]
    passed: frozenset[str]


def _folders(path: str) -> Iterator[str]:
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def compose(renames: Sequence[Renamed]) -> Composed:
    origin: dict[str, Renamed] = {}  # by present path: where the file came from
    within: dict[str, set[str]] = defaultdict(set)  # by folder: present paths below it
    passed: set[str] = set()

    def place(path: str, first: Renamed) -> None:
        origin[path] = first
        for folder in _folders(path):
            within[folder].add(path)

    def lift(path: str) -> Renamed | None:
        first = origin.pop(path, None)
        if first is not None:
            for folder in _folders(path):
                within[folder].discard(path)
        return first

    for renamed in sorted(renames, key=lambda r: r.seq):
        before, after = (normalize("NFC", path.rstrip("/")) for path in (renamed.before, renamed.after))
        for path in sorted(within.get(before, ())):
            first = lift(path)
            if first is not None:
                place(after + path[len(before) :], first)
        if not before or not after:
            continue
        passed |= {before, after}
        first = lift(before) or Renamed(before, before, renamed.seq, renamed.mtime)
        lift(after)  # overwritten: whatever stood there is no more
        place(after, replace(first, mtime=first.mtime or renamed.mtime))
    moves = [replace(first, after=path) for path, first in origin.items() if first.before != path]
    return Composed(tuple(sorted(moves, key=lambda r: (r.seq, r.before, r.after))), frozenset(passed))

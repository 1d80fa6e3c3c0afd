"""From two looks to what happened: a file gone here and come there was renamed; one replaced was modified.

The same inode with the same size and time is the same file. Inodes are given out again at once, so an inode
alone proves nothing, unless the file system itself told of the move. A copy that replaced its original (as
between two disks) is known by its content.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fazm_memory.capture.tree import Delta, Stat
from fazm_memory.model.words import Change

MOST_DIGESTS = 500  # files read to pair them by content, at one time
Digest = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class Changed:
    """One file that is not as it was, by its full path."""

    path: str
    change: Change
    origin: str | None = None
    before: Stat | None = None
    after: Stat | None = None


def nobody(path: str) -> str | None:
    """No digest is known."""
    return None


def changes(
    delta: Delta,
    *,
    moved: Mapping[str, str] | None = None,
    known: Digest = nobody,
    now: Digest = nobody,
) -> list[Changed]:
    """What happened, in an order that can be replayed. `moved` are moves the file system told, new → old;
    `known` and `now` give the content's digest before and after, where it is known."""
    renames = _by_inode(delta, moved or {})
    _by_content(delta, renames, known, now)
    _without_backups(delta, renames)
    ordered = _replayable(renames)
    sources = {origin for _, origin in ordered}
    targets = {target for target, _ in ordered}
    told = [
        Changed(path, "deleted", None, before)
        for path, before in sorted(delta.gone.items())
        if path not in sources
    ]
    told += [
        Changed(path, "renamed", origin, _before(delta, origin), _after(delta, path))
        for path, origin in ordered
    ]
    told += [
        Changed(path, "modified", None, before, after)
        for path, (before, after) in sorted(delta.both.items())
        if path not in targets
    ]
    told += [
        Changed(path, "created", None, None, after)
        for path, after in sorted(delta.come.items())
        if path not in targets
    ]
    return told


def _before(delta: Delta, path: str) -> Stat:
    return delta.gone[path] if path in delta.gone else delta.both[path][0]


def _after(delta: Delta, path: str) -> Stat:
    return delta.come[path] if path in delta.come else delta.both[path][1]


def _by_inode(delta: Delta, moved: Mapping[str, str]) -> dict[str, str]:
    """New path → old path, for files whose inode left one path and appeared at another."""
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


def _by_content(delta: Delta, renames: dict[str, str], known: Digest, now: Digest) -> None:
    """Pair what is left by size and content; empty files are all alike and prove nothing."""
    taken = set(renames.values())
    gone: dict[int, list[str]] = defaultdict(list)
    for path, before in sorted(delta.gone.items()):
        if path not in taken and before.size > 0:
            gone[before.size].append(path)
    read = 0
    for path, after in sorted(delta.come.items()):
        if path in renames or after.size not in gone or read >= MOST_DIGESTS:
            continue
        candidates = [(one, digest) for one in gone[after.size] if (digest := known(one)) is not None]
        if not candidates:
            continue
        read += 1
        made = now(path)
        alike = [one for one, digest in candidates if digest == made]
        if not alike:
            continue
        name = path.rpartition("/")[2]
        origin = next((one for one in alike if one.rpartition("/")[2] == name), alike[0])
        renames[path] = origin
        gone[after.size].remove(origin)


def _without_backups(delta: Delta, renames: dict[str, str]) -> None:
    """An editor that moves the old file aside and writes a new one in its place has modified the file: the
    name stays with the work, and the backup is what is new."""
    while True:
        kept = [path for path, origin in renames.items() if origin in delta.both and origin not in renames]
        if not kept:
            return
        for path in kept:
            del renames[path]


def _replayable(renames: dict[str, str]) -> list[tuple[str, str]]:
    """Renames in an order in which each finds its new name free. Names that went round in a circle have
    no such order: each of them holds something else now, and is told as modified."""
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

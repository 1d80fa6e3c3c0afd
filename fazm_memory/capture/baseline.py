"""The baseline: what the files of a workspace hold, read before anybody changes them.

A tool runs the moment it is asked to: whoever reads a file only then is too late. So all files are read when
a session opens, and after that only those whose state is new. A pass may take so long and no longer; what it
did not reach is read in the next. Files whose name says that they hold secrets are never kept.
"""

from __future__ import annotations

import os
import re
import stat
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from fazm_memory.capture.tree import Stat, Tree
from fazm_memory.log.versions import ABSENT, FILE_CAP, Version, Versions, digest_of, too_large

BUDGET = 2.0  # seconds of one pass
BATCH = 64
BATCH_BYTES = 8 << 20
TRIES = 3
SECRET = "left out: by its name it holds secrets"
secret = re.compile(
    r"\.env(\..*)?|.*\.(pem|key|p12|pfx|keystore|jks|kdbx?|ppk)|id_(rsa|dsa|ecdsa|ed25519)|\.netrc|\.pgpass"
    r"|\.npmrc|\.pypirc|credentials(\.json)?|\.htpasswd",
    re.IGNORECASE,
).fullmatch
TORN = "it changed while it was read"
RACY = 20_000_000  # nanoseconds: a file this young may change again without its time telling so


@dataclass(frozen=True, slots=True)
class Reading:
    """What reading a file gave: its content or the reason for none, since when, its mark and its mode."""

    content: bytes | str
    since: int
    mark: str
    mode: int | None = None


def mark_of(found: Stat) -> str:
    return ":".join(map(str, found))


def read(path: str) -> Reading:
    """The content of a plain file as it was at one moment; links are not followed."""
    for _ in range(TRIES):
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
        except (FileNotFoundError, NotADirectoryError):
            return Reading(ABSENT, 0, "")
        except OSError as error:
            return _link(path) if os.path.islink(path) else Reading(f"not readable: {error.strerror}", 0, "")
        with open(descriptor, "rb") as file:
            before = os.fstat(descriptor)
            if not stat.S_ISREG(before.st_mode):
                return Reading("not a plain file", 0, "")
            since = before.st_ctime_ns // 1000
            if secret(os.path.basename(path)):
                return Reading(SECRET, since, _mark(before), before.st_mode)
            if before.st_size > FILE_CAP:
                return Reading(too_large(before.st_size), since, _mark(before), before.st_mode)
            content = file.read(before.st_size + 1)  # one more than there should be: it may be growing
            after = os.fstat(descriptor)
        if _mark(before) == _mark(after) and len(content) == after.st_size:
            young = time.time_ns() - after.st_mtime_ns < RACY
            return Reading(content, since, "" if young else _mark(after), after.st_mode)
    return Reading(TORN, 0, "")


def _link(path: str) -> Reading:
    """A link is kept as where it points to, which is all that it holds."""
    try:
        found = os.lstat(path)
        return Reading(f"a link to {os.readlink(path)}", found.st_ctime_ns // 1000, _mark(found))
    except OSError:
        return Reading(ABSENT, 0, "")


def _mark(found: os.stat_result) -> str:
    return mark_of(Stat(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_mode))


def digest_now(path: str) -> str | None:
    """The digest of what a file holds now, if it can be kept."""
    content = read(path).content
    return digest_of(content) if isinstance(content, bytes) else None


@dataclass(frozen=True)
class Pass:
    """What one pass did: files read, and how many it did not reach."""

    read: int
    left: int


class Baseline:
    """Keeps versions of the files of workspaces, a pass at a time."""

    def __init__(self, versions: Versions, *, budget: float = BUDGET) -> None:
        self.versions = versions
        self.budget = budget
        self._waiting: dict[str, Iterator[str]] = {}
        self._left: dict[str, int] = {}

    def begin(self, root: str, tree: Tree) -> None:
        """What of this root is not known as it is now has to be read; the smallest and newest first."""
        known = self.versions.marks(root)
        new = [(path, found) for path, found in tree.files() if known.get(path) != mark_of(found)]
        new.sort(key=lambda one: (one[1].size > BATCH_BYTES // BATCH, -one[1].mtime_ns))
        self._waiting[root] = iter([path for path, _ in new])
        self._left[root] = len(new)

    def forget(self, root: str) -> None:
        self._waiting.pop(root, None)
        self._left.pop(root, None)

    def go_on(self, now: int) -> Pass:
        """Read on for as long as the budget allows."""
        end = time.monotonic() + self.budget
        done = 0
        for root, waiting in list(self._waiting.items()):
            for batch in _batches(root, waiting, end):
                self.versions.keep_all(
                    root,
                    [
                        (path, min(one.since or now, now), one.content, one.mark, one.mode)
                        for path, one in batch
                    ],
                )
                done += len(batch)
                self._left[root] -= len(batch)
            if not self._left[root]:
                self.forget(root)
        return Pass(done, sum(self._left.values()))

    def left(self) -> dict[str, int]:
        """Files not read yet, by root."""
        return dict(self._left)

    def keep(self, root: str, paths: Iterable[str], now: int, *, earliest: int = 0) -> list[Version]:
        """Keep these files as they are now: before a tool changes them, or after something did."""
        readings = [(path, read(os.path.join(root, path))) for path in paths]
        return self.versions.keep_all(
            root,
            [
                (path, min(max(one.since, earliest) or now, now), one.content, one.mark, one.mode)
                for path, one in readings
            ],
        )


def _batches(root: str, waiting: Iterator[str], end: float) -> Iterator[list[tuple[str, Reading]]]:
    """Files read, some at a time, until the time is over. A file that has gone since is no version."""
    batch: list[tuple[str, Reading]] = []
    size = 0
    while time.monotonic() < end and (path := next(waiting, None)) is not None:
        reading = read(os.path.join(root, path))
        batch.append((path, reading))
        size += len(reading.content)
        if len(batch) >= BATCH or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch

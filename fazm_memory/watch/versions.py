"""Store the contents of files.

Before anybody changes them (the baseline), and after each change.

This runs in the watcher's thread, between two scans, and within a time budget. Files that it does not reach
are queued for the baseline.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping

from fazm_memory.paths import is_utf8, open_without_links
from fazm_memory.records import dataclass, replace
from fazm_memory.store import (
    ABSENT,
    FILE_CAP,
    REWIND,
    FileVersion,
    FileVersions,
    NewVersion,
    digest_of,
    too_large,
)
from fazm_memory.watch.scanner import FileDifference, ObservedChange, ScanResult, WatchedRoot
from fazm_memory.watch.tree import FileStat, Tree

BUDGET = 2.0  # seconds of one pass
BATCH = 64
BATCH_BYTES = 8 << 20
TRIES = 3
SECRET_NAME = "left out: by its name it holds secrets"
has_secret_name = re.compile(
    r"\.env(\..*)?|.*\.(pem|key|p12|pfx|keystore|jks|kdbx?|ppk)|id_(rsa|dsa|ecdsa|ed25519)|\.netrc|\.pgpass"
    r"|\.npmrc|\.pypirc|credentials(\.json)?|\.htpasswd",
    re.IGNORECASE,
).fullmatch
TORN = "it changed while it was read"
IN_THE_CLOUD = "only in the cloud"  # the companion may not download it (`app.process`)
WRITTEN_IN_PAUSE = "written while recording was paused"
RACY = 20_000_000  # nanoseconds: a file this young may change again with the same modification time


@dataclass(frozen=True, slots=True)
class FileReading:
    """A file as it was read.

    Its content or the reason for none, since when it is so, its mark and its mode.
    """

    content: bytes | str
    since: int
    mark: str
    mode: int | None = None


def mark_of(found: FileStat) -> str:
    return ":".join(map(str, found))


def read_file(path: str) -> FileReading:
    """Read a plain file as it is at one moment.

    No part of the real path may be a link.
    """
    for _ in range(TRIES):
        try:
            descriptor = open_without_links(path, os.O_RDONLY | os.O_NONBLOCK)
        except (FileNotFoundError, NotADirectoryError):
            return FileReading(ABSENT, 0, "")
        except OSError as error:
            return _link(path) if os.path.islink(path) else _unreadable(error)
        before = os.fstat(descriptor)
        if not stat.S_ISREG(before.st_mode):
            os.close(descriptor)
            return FileReading("not a plain file", 0, "")
        with open(descriptor, "rb") as file:
            since = before.st_ctime_ns // 1000
            if has_secret_name(os.path.basename(path)):
                return FileReading(SECRET_NAME, since, _mark(before), before.st_mode)
            if before.st_size > FILE_CAP:
                return FileReading(too_large(before.st_size), since, _mark(before), before.st_mode)
            try:
                content = file.read(before.st_size + 1)  # one more byte shows whether the file grows
            except OSError as error:
                return _unreadable(error)
            after = os.fstat(descriptor)
        if _mark(before) == _mark(after) and len(content) == after.st_size:
            young = time.time_ns() - after.st_mtime_ns < RACY
            return FileReading(content, since, "" if young else _mark(after), after.st_mode)
    return FileReading(TORN, 0, "")


def _unreadable(error: OSError) -> FileReading:
    why = IN_THE_CLOUD if error.errno == errno.EDEADLK else f"not readable: {error.strerror}"
    return FileReading(why, 0, "")


def _link(path: str) -> FileReading:
    """A link is stored as its target."""
    try:
        found = os.lstat(path)
        return FileReading(f"a link to {os.readlink(path)}", found.st_ctime_ns // 1000, _mark(found))
    except OSError:
        return FileReading(ABSENT, 0, "")


def _mark(found: os.stat_result) -> str:
    return mark_of(FileStat(found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_mode))


def digest_now(path: str) -> str | None:
    """The digest of a file now, if its content can be stored."""
    content = read_file(path).content
    return digest_of(content) if isinstance(content, bytes) else None


@dataclass(frozen=True)
class BaselinePass:
    """The result of one pass: files read, and files left."""

    read: int
    left: int


class Baseline:
    """Stores the files of workspaces as they are, a pass at a time.

    `covers` tells whether a file, by its full real path, belongs to a workspace. `was_paused` tells whether
    recording was paused at a time: what was written then is not stored.
    """

    def __init__(
        self,
        versions: FileVersions,
        *,
        budget: float = BUDGET,
        covers: Callable[[str], bool] = lambda path: True,
        was_paused: Callable[[int], bool] = lambda at: False,
    ) -> None:
        self.versions, self.was_paused = versions, was_paused
        self.budget = budget
        self.covers = covers
        self._waiting: dict[str, Iterator[str]] = {}
        self._left: dict[str, int] = {}
        self._real: dict[str, str] = {}

    def begin(self, root: str, tree: Tree) -> None:
        """Queue the files of a root that are not stored as they are now.

        Small and new ones come first.
        """
        known = self.versions.marks(root)
        self._real[root] = tree.root
        new = [
            (path, found)
            for path, found in tree.files()
            if known.get(path) != mark_of(found) and is_utf8(path) and self.covers(f"{tree.root}/{path}")
        ]
        new.sort(key=lambda file: (file[1].size > BATCH_BYTES // BATCH, -file[1].mtime_ns))
        self._waiting[root] = iter([path for path, _ in new])
        self._left[root] = len(new)

    def narrow(self) -> None:
        """Drop queued files that `covers` no longer accepts."""
        for root, waiting in self._waiting.items():
            left = [path for path in waiting if self.covers(f"{self._real[root]}/{path}")]
            self._waiting[root], self._left[root] = iter(left), len(left)

    def forget(self, root: str) -> None:
        self._waiting.pop(root, None)
        self._left.pop(root, None)

    def go_on(self, now: int) -> BaselinePass:
        """Read queued files for as long as the budget allows."""
        end = time.monotonic() + self.budget
        done = 0
        for root, waiting in list(self._waiting.items()):
            for batch in self._batches(self._real[root], waiting, end):
                self._store(root, batch, now)
                done += len(batch)
                self._left[root] -= len(batch)
            if not self._left[root]:
                self.forget(root)
        return BaselinePass(done, sum(self._left.values()))

    def _batches(
        self, real: str, waiting: Iterator[str], end: float
    ) -> Iterator[list[tuple[str, FileReading]]]:
        """Read files in batches until the time is over."""
        batch: list[tuple[str, FileReading]] = []
        size = 0
        while time.monotonic() < end and (path := next(waiting, None)) is not None:
            reading = self._read(real, path)
            batch.append((path, reading))
            size += len(reading.content)
            if len(batch) >= BATCH or size >= BATCH_BYTES:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch

    def left(self) -> dict[str, int]:
        """Files not read yet, by root."""
        return dict(self._left)

    def keep(
        self, root: str, paths: Iterable[str], now: int, *, real: str | None = None
    ) -> list[FileVersion]:
        """Store these files as they are now, before a tool changes them.

        `real` is the root without links.
        """
        readings = [(path, self._read(real or root, path)) for path in paths if is_utf8(path)]
        return self._store(root, readings, now)

    def _read(self, real: str, path: str) -> FileReading:
        reading = read_file(os.path.join(real, path))
        if reading.since and self.was_paused(reading.since):
            return replace(reading, content=WRITTEN_IN_PAUSE)
        return reading

    def _store(self, root: str, readings: Iterable[tuple[str, FileReading]], now: int) -> list[FileVersion]:
        return self.versions.keep_all(
            root,
            [
                (path, min(reading.since or now, now), reading.content, reading.mark, reading.mode)
                for path, reading in readings
            ],
        )


CHANGE_BUDGET = 2.0  # seconds for the versions of one scan
MOST_BYTES = 64 << 20  # in memory at once
NOT_READ_YET = "not read yet"
ODD_NAME = "its name is not valid text"


@dataclass(frozen=True, slots=True)
class VersionedChange:
    """A change on disk with the digests before and after, or why they are not known."""

    observed: ObservedChange
    before: str | None = None
    after: str | None = None
    missing: str | None = None
    version: int | None = None  # the id of the version stored after the change
    mode: tuple[int, int] | None = None  # the permissions before and after, if known and different


class VersionRecorder:
    def __init__(self, versions: FileVersions, baseline: Baseline, *, budget: float = CHANGE_BUDGET) -> None:
        self.versions = versions
        self.baseline = baseline
        self.budget = budget

    def note(self, scan: ScanResult, roots: Iterable[WatchedRoot]) -> list[VersionedChange]:
        """Store the versions of a scan.

        Returns the changes that are new, without those already recorded.
        """
        by_name = {root.given: root for root in roots}
        storable = [observed for observed in scan.sightings if _is_storable(observed.changed)]
        before = [self._last_version(observed, list(by_name)) for observed in storable]
        unfinished = self._store(storable, by_name)
        changes = [
            change
            for observed, last in zip(storable, before, strict=True)
            if (change := self._change(observed, last)) is not None
        ]
        changes += [
            VersionedChange(observed, missing=ODD_NAME)
            for observed in scan.sightings
            if not _is_storable(observed.changed)
        ]
        unwatched = {period.root for period in scan.blind}
        for name in {*scan.first, *unwatched, *unfinished} & by_name.keys():
            self.baseline.begin(name, by_name[name].tree)
        return changes

    def _store(self, sightings: Iterable[ObservedChange], roots: Mapping[str, WatchedRoot]) -> set[str]:
        """Store what the files hold now. Returns the roots whose files were not all read."""
        end = time.monotonic() + self.budget
        unfinished: set[str] = set()
        batches: dict[str, list[NewVersion]] = {}
        size = 0
        for observed in sightings:
            batch = batches.setdefault(observed.root, [])
            changed = observed.changed
            if changed.change == "deleted":
                batch.append((_below(observed.root, changed.path), observed.at, ABSENT, "", None))
                continue
            if changed.origin is not None:
                for root in roots:
                    if _inside(changed.origin, root):
                        gone: NewVersion = (_below(root, changed.origin), observed.at, ABSENT, "", None)
                        batches.setdefault(root, []).append(gone)
            root_now = roots.get(observed.root)  # none if the folder stopped being watched during the scan
            if root_now is None or time.monotonic() > end:
                unfinished.add(observed.root)
                continue
            below = _below(observed.root, changed.path)
            if changed.change in ("created", "renamed") and self.versions.last(observed.root, below) is None:
                batch.append((below, 0, ABSENT, "", None))  # a rewind can restore that it did not exist
            reading = read_file(os.path.join(root_now.tree.root, below))
            since = min(max(reading.since, observed.earliest), observed.at)
            batch.append((below, since, reading.content, reading.mark, reading.mode))
            size += len(reading.content)
            if size > MOST_BYTES:
                self._write(batches)
                size = 0
        self._write(batches)
        return unfinished

    def _write(self, batches: dict[str, list[NewVersion]]) -> None:
        for root, batch in batches.items():
            if batch:
                self.versions.keep_all(root, batch)
        batches.clear()

    def _last_version(self, observed: ObservedChange, roots: list[str]) -> FileVersion | None:
        path = observed.changed.origin or observed.changed.path
        root = next((root for root in roots if _inside(path, root)), observed.root)
        return self.versions.last(root, _below(root, path))

    def _change(self, observed: ObservedChange, before: FileVersion | None) -> VersionedChange | None:
        changed = observed.changed
        last = self.versions.last(observed.root, _below(observed.root, changed.path))
        unread = last is None or (last.absent and changed.change != "deleted")
        now = None if unread or last is None else last
        if now is not None and now.changed_by == REWIND:
            return None  # the rewind has recorded it
        mode = _modes(before, now) if changed.change == "modified" else None
        if changed.change == "renamed":
            mark = "" if changed.after is None else mark_of(changed.after)
            if observed.away and now is not None and now.recorded and now.mark == mark:
                return None
        elif before is not None and now is not None:
            same = (before.digest, before.reason) == (now.digest, now.reason) and mode is None
            if same and before.digest is not None and changed.change == "modified":
                return None  # only its modification time changed
            if same and observed.away and before.recorded:
                return None  # recorded before the last stop, which came before the checkpoint
        missing = None
        if changed.change != "created" and (before is None or before.digest is None):
            missing = (before.reason if before is not None else None) or NOT_READ_YET
        return VersionedChange(
            observed,
            None if before is None or changed.change == "created" else before.digest,
            None if now is None else now.digest,
            missing,
            None if last is None else last.id,
            mode,
        )


def _modes(before: FileVersion | None, now: FileVersion | None) -> tuple[int, int] | None:
    """The permissions of a file before and after a change, if known and different."""
    if before is None or now is None or before.mode is None or now.mode is None or before.mode == now.mode:
        return None
    return before.mode, now.mode


def _is_storable(changed: FileDifference) -> bool:
    return is_utf8(changed.path) and (changed.origin is None or is_utf8(changed.origin))


def _inside(path: str, root: str) -> bool:
    return path.startswith(root.rstrip("/") + "/")


def _below(root: str, path: str) -> str:
    return path[len(root.rstrip("/")) + 1 :]

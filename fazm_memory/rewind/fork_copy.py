"""Copy a workspace, as it was at a position, into a new folder.

Files come from the stored versions, or from the workspace if nobody has changed them since, whatever their
size. Git's own folder, ignored files and links are left out: two branches would share them.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping

from fazm_memory.paths import unsafe_path_reason
from fazm_memory.records import dataclass, replace
from fazm_memory.rewind.plan import ABSENT, NO_SNAPSHOT, FileContent
from fazm_memory.rewind.restore import store_version
from fazm_memory.rewind.safe_directory import SPARE, SafeDirectory, WriteRefused
from fazm_memory.rewind.state_at import PointInTime, WorkspacePaths, version_content, version_histories
from fazm_memory.store import FileVersion, FileVersions
from fazm_memory.watch import IgnoreRules, scan

LINK = "it is a link, which the two folders would share"
CLAIMED = "the agent says that it created it since"
BATCH = 64  # files that are stored in one transaction
LeftOut = Callable[[str], str | None]  # a path below the workspace → why it is left out, if so


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """A file of a manifest: its content and where to get it, or why it is missing."""

    path: str
    content: FileContent
    kept: bool = False  # in the stored versions
    here: bool = False  # in the workspace, unchanged
    missing: str | None = None


def manifest(
    directory: SafeDirectory,
    versions: FileVersions,
    paths: WorkspacePaths,
    point: PointInTime,
    never: str,
    left_out: LeftOut,
    changed: Mapping[str, bool | None],
) -> Iterator[ManifestEntry]:
    """Every known file of the workspace at a point in time, with where to get its content.

    Files that are left out are named but not read. `changed` has the files that the log says changed since,
    and whether they were created then (None: only the agent says so). Modification times cannot tell that,
    because a rename keeps them.
    """
    present = dict(scan(directory.root, IgnoreRules(directory.root, [never])).files())
    known: dict[str, None] = {}
    for root in paths.roots:
        for row in versions.history(root):
            path = paths.ours(root, row.path)
            if path is not None and unsafe_path_reason(path) is None:
                known[path] = None
    for path, rows in version_histories(versions, paths, sorted({*known, *present, *changed})).items():
        then = [row for row in rows if point.has(row)]
        if (why := left_out(path)) is not None:
            if path in present or (then and not then[-1].absent):
                yield ManifestEntry(path, FileContent(reason=why), missing=why)
        elif then:
            if not then[-1].absent:
                yield _entry(directory, versions, path, then[-1])
        elif path in present and not rows:
            created = changed.get(path, False)
            if created is None:
                yield ManifestEntry(path, _look(directory, path), missing=CLAIMED)
            elif not created:
                yield _unread(directory, path, point)
        elif changed.get(path, True) is False and not rows and _look(directory, path).absent:
            yield ManifestEntry(path, FileContent(reason=NO_SNAPSHOT), missing=NO_SNAPSHOT)  # deleted since


def _entry(directory: SafeDirectory, versions: FileVersions, path: str, row: FileVersion) -> ManifestEntry:
    was = version_content(row) or ABSENT
    if row.digest is None and (row.reason or "").startswith("a link to "):
        return ManifestEntry(path, was, missing=LINK)
    if row.digest is not None and versions.has(row.digest):
        return ManifestEntry(path, was, kept=True)
    if _look(directory, path).same(was):
        return ManifestEntry(path, was, here=True)
    return ManifestEntry(path, was, missing=row.reason or "the stored copy was removed to make room")


def _unread(directory: SafeDirectory, path: str, point: PointInTime) -> ManifestEntry:
    """A file without versions. It is unchanged if it is older than the point in time."""
    now = _look(directory, path)
    if now.reason == "it is a link":
        return ManifestEntry(path, now, missing=LINK)
    if now.mtime_ns is not None and now.mtime_ns // 1000 < point.moment:
        return ManifestEntry(path, now, here=True)
    return ManifestEntry(path, now, missing=NO_SNAPSHOT)


def _look(directory: SafeDirectory, path: str) -> FileContent:
    try:
        return directory.look(path).held
    except (WriteRefused, OSError) as error:
        return FileContent(reason=str(error))


def write_manifest(
    entries: list[ManifestEntry],
    source: SafeDirectory,
    target: SafeDirectory,
    versions: FileVersions,
    root: str | None,
    at: int,
) -> list[ManifestEntry]:
    """Write a manifest into an empty folder. With `root`, also store the files as its first versions.

    Returns the manifest as it was written: a file that could not be copied says why.
    """
    written = []
    for number, entry in enumerate(entries):
        result = entry
        if entry.missing is None:
            try:
                _copy(entry, source, target, versions, f"{SPARE}-{os.getpid()}-{number}")
            except (WriteRefused, OSError) as error:
                result = ManifestEntry(entry.path, entry.content, missing=str(error))
        written.append(result)
    if root is None:
        return written
    paths = [entry.path for entry in written if entry.missing is None]
    for first in range(0, len(paths), BATCH):
        with versions.db.transaction():
            for path in paths[first : first + BATCH]:
                store_version(versions, root, path, target.look(path), at)
    return written


def _copy(
    entry: ManifestEntry, source: SafeDirectory, target: SafeDirectory, versions: FileVersions, spare: str
) -> None:
    content = entry.content
    data = versions.read(content.digest) if entry.kept and content.digest is not None else None
    if data is None:
        source.copy_out(entry.path, target, spare, content.bits)
        return
    if content.bits is None:  # the present permissions are the best guess
        content = replace(content, mode=_look(source, entry.path).mode)
    target.put(entry.path, data, content, ABSENT, spare)

"""The state of files at a position of a session, from the stored versions, and who changed them since.

A version that a call of the session made has the position of that call. Any other version has only a time,
which is compared with the moment at which the event at the position began.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from fazm_memory import paths as safe_path
from fazm_memory.events import Action, ActionAmend, FileChange, FileTouch
from fazm_memory.records import dataclass, field
from fazm_memory.rewind import plan
from fazm_memory.rewind.plan import Author, FileContent, FileHistory
from fazm_memory.rewind.safe_directory import SafeDirectory, WriteRefused
from fazm_memory.store import (
    FileVersion,
    FileVersions,
    FolderChange,
    SessionRow,
    Store,
    device_prefix,
    plain_root,
)

MARGIN = 10_000_000  # microseconds: how late the watcher may report a change
AuthorOf = Callable[[str, int], Author]  # a path and when it changed → who changed it


PAUSES = frozenset({"session.pause", "session.close", "session.archive"})


@dataclass(frozen=True, slots=True)
class PointInTime:
    """A position of a session, and the moment at which the next event began.

    `held` has what a file held then (a digest, or None if it was absent) by its absolute path, as the first
    change on disk after the position says. A scan knows only when a change was not there yet, so a version
    may look older than it is.
    """

    session: str
    to: int
    moment: int
    held: Mapping[str, str | None] = field(default_factory=dict)

    def has(self, version: FileVersion | FolderChange) -> bool:
        """Whether a version, or a change of a folder, is older than this."""
        if version.seq is not None and version.session == self.session:
            return version.seq < self.to
        return version.at < self.moment


def point_in_time(store: Store, row: SessionRow, to: int, now: int) -> PointInTime:
    """The point in time of a position, from the events before and after it."""
    around = list(store.log.slice(row.n, row.id, max(0, to - 1), to + 1))
    before = around[0].at if to > 0 and around else row.opened_at - 1
    after = now + 1
    if to > 0 and around and around[0].seq == to - 1 and around[0].kind in PAUSES:
        # What happened during the pause came after it.
        return PointInTime(row.id, to, before + 1, contents_then(store, row, to))
    if to < row.head and around and around[-1].seq == to:
        event = around[-1]
        length = event.payload.duration_ms or 0 if isinstance(event.payload, Action) else 0
        after = event.at - length * 1000
    return PointInTime(row.id, to, max(before + 1, after))


def contents_then(store: Store, row: SessionRow, to: int) -> dict[str, str | None]:
    """What files held at a position, as the first change on disk after it says. None: absent."""
    held: dict[str, str | None] = {}
    for event in store.log.slice(row.n, row.id, to, row.head):
        change = event.payload
        if not isinstance(change, FileChange) or event.source != "files" or change.change == "renamed":
            continue
        if change.before is not None or change.change == "created":
            held.setdefault(change.path, change.before)
    return held


def _rows_then(rows: Sequence[FileVersion], where: PointInTime) -> list[FileVersion]:
    """The versions of one file that existed at a point in time, oldest first."""
    then = [row for row in rows if where.has(row)]
    if not then:
        return then
    name = f"{plain_root(then[-1].root).rstrip('/')}/{then[-1].path}"
    if name not in where.held:
        return then
    held = where.held[name]
    known = [n for n, row in enumerate(then, 1) if (None if row.absent else row.digest) == held]
    return then[: known[-1]] if known else then if held is not None else []


class WorkspacePaths:
    """The roots under which versions of a workspace are stored. It may be watched within a larger folder."""

    def __init__(self, versions: FileVersions, workspace: str, device: str | None = None) -> None:
        """`device` is the machine that recorded the versions, if not this one."""
        self.workspace = workspace.rstrip("/")
        own = f"{device_prefix(device)}{self.workspace}"
        self.roots = versions.roots_around(self.workspace, device) or [own]

    def of(self, path: str) -> list[tuple[str, str]]:
        """Roots and paths below them for a path below the workspace."""
        full = f"{self.workspace}/{path}"
        plain = ((root, plain_root(root).rstrip("/")) for root in self.roots)
        return [(root, full[len(folder) + 1 :]) for root, folder in plain if _inside(full, folder)]

    def ours(self, root: str, path: str) -> str | None:
        """The path below the workspace; None when it lies elsewhere."""
        full = f"{plain_root(root).rstrip('/')}/{path}"
        return full[len(self.workspace) + 1 :] if _inside(full, self.workspace) else None


def version_histories(
    versions: FileVersions, names: WorkspacePaths, paths: Iterable[str]
) -> dict[str, list[FileVersion]]:
    """Every version of these files under any root, oldest first."""
    histories = {}
    for path in paths:
        rows = [row for root, below in names.of(path) for row in versions.history(root, below)]
        histories[path] = sorted(rows, key=lambda row: (row.at, row.id))
    return histories


def version_content(version: FileVersion | None) -> FileContent | None:
    """The content of a file according to a version."""
    if version is None:
        return None
    if version.absent:
        return plan.ABSENT
    parts = version.mark.split(":")
    mode = None if version.mode is None else stat.S_IFREG | version.mode
    if len(parts) != 5:
        return FileContent(version.digest, reason=version.reason, mode=mode)
    size, mtime = map(int, parts[2:4])
    return FileContent(version.digest, False, version.reason, ":".join(parts[:4]), mode, mtime, size)


def versions_at(rows: Iterable[FileVersion], where: PointInTime) -> dict[str, FileVersion]:
    """The versions that existed at a point in time, by path."""
    by_path: dict[str, list[FileVersion]] = {}
    for row in rows:
        by_path.setdefault(row.path, []).append(row)
    last = {path: then[-1] for path, own in by_path.items() if (then := _rows_then(own, where))}
    return {path: row for path, row in last.items() if not row.absent}


def changed_files(
    store: Store, versions: FileVersions, names: WorkspacePaths, row: SessionRow, where: PointInTime
) -> tuple[dict[str, bool | None], list[str]]:
    """Files below the workspace that may have changed since, and those elsewhere that the agent named.

    The first have True if the log says that they were created since, and None if only the agent says so.
    """
    found: dict[str, bool | None] = {}
    for root in names.roots:
        for path in versions.changed_since(root, where.moment - MARGIN):
            ours = names.ours(root, path)
            if ours is not None:
                found.setdefault(ours, False)
    reported: set[str] = set()
    elsewhere: dict[str, None] = {}
    for event in store.log.slice(row.n, row.id, where.to, row.head):
        for path, created in _reported_changes(event.payload):
            if _inside(path, names.workspace):
                ours = path[len(names.workspace) + 1 :]
                observed = created and event.source == "files" and event.trust != "unverified"
                if ours not in reported:
                    found[ours] = created if observed or not created else None
                elif found[ours] is None and observed:
                    found[ours] = True
                reported.add(ours)
            elif isinstance(event.payload, (Action, ActionAmend)):
                elsewhere[path] = None
    return found, list(elsewhere)


def _reported_changes(payload: object) -> Iterator[tuple[str, bool]]:
    """The files that an event reports as changed, and whether it reports them as new."""
    touches: Sequence[FileTouch | FileChange] = ()
    if isinstance(payload, (Action, ActionAmend)):
        touches = payload.files
    elif isinstance(payload, FileChange):
        touches = (payload,)
    for touch in touches:
        if touch.change != "read":
            if touch.origin is not None:
                yield touch.origin, False
            yield touch.path, touch.change in ("created", "renamed")


def file_histories(
    place: SafeDirectory,
    known: dict[str, list[FileVersion]],
    made: Mapping[str, bool | None],
    where: PointInTime,
    judge: AuthorOf,
    now: int,
) -> list[FileHistory]:
    """Each file then and now, and who changed it. Folders are left out."""
    files = (
        _history(place, path, rows, made.get(path, False), where, judge, now) for path, rows in known.items()
    )
    return [file for file in files if file.now.mode is None or not stat.S_ISDIR(file.now.mode)]


def current_content(place: SafeDirectory, path: str) -> tuple[FileContent, str | None]:
    """The content of a path now, and why it may not be written, if so."""
    if (barred := safe_path.unsafe_path_reason(path)) is not None:
        return FileContent(reason=barred), barred
    try:
        return place.look(path).held, None
    except (WriteRefused, OSError) as error:
        return FileContent(reason=str(error)), str(error)


def changed_at(last: FileContent | None, found: FileContent, now: int) -> int:
    """When a file changed after its last version. New permissions alone only change its ctime."""
    changed_ns = found.ctime_ns if last is not None and last.same(found) else found.mtime_ns
    return now if changed_ns is None else changed_ns // 1000


def _history(
    place: SafeDirectory,
    path: str,
    rows: Sequence[FileVersion],
    created: bool | None,
    where: PointInTime,
    judge: AuthorOf,
    now: int,
) -> FileHistory:
    found, barred = current_content(place, path)
    then = _rows_then(rows, where)
    since = [row for row in rows if row not in then]
    was = plan.ABSENT if created is not False and not then else version_content(then[-1] if then else None)
    authors = [
        Author(row.changed_by, row.session) if row.changed_by is not None else judge(path, row.at)
        for row in since
    ]
    last = version_content(rows[-1] if rows else None)
    if last is None or not last.alike(found):  # changed since the last version
        authors.append(judge(path, changed_at(last, found, now)))
    # If the watcher attributed the next version, it saw that the file was created.
    observed = bool(since) and since[0].changed_by is not None
    claimed = created is None and not then and not observed
    return FileHistory(path, was, found, tuple(authors), barred, claimed)


def _inside(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")

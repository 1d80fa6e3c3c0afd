"""Plan a rewind of files.

The plan compares their content then, their content now, and who changed them. The content at a position
comes from the stored versions. A version that a call of the session made has the position of that call. Any
other version has only a time, which is compared with the moment at which the event at the position began.

The plan changes only files that this session's agent changed since. A file that anybody else changed too
needs force, and a file of which no copy can be stored is never removed. Nothing is written here.
"""

from __future__ import annotations

import hashlib
import json
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from fazm_memory.events import Action, ActionAmend, FileChange, FileTouch
from fazm_memory.records import asdict, dataclass, field, replace
from fazm_memory.store import (
    REWIND,
    FileVersion,
    FileVersions,
    FolderChange,
    SessionRow,
    Store,
    device_prefix,
    plain_root,
)

if TYPE_CHECKING:
    from fazm_memory.rewind.safe_directory import SafeDirectory

StepAction = Literal["restore", "delete", "recreate", "rename_back", "keep", "refuse", "cannot"]
NO_SNAPSHOT = "No snapshot of this file."
OURS: frozenset[str] = frozenset({"agent", REWIND})


@dataclass(frozen=True, slots=True)
class FileContent:
    """The content of a path at one moment.

    A digest, nothing, or the reason why it is not stored. `identity` (device, inode, size, modification
    time) identifies a file whose content is not known. The fields are stored in the journal.
    """

    digest: str | None = None
    absent: bool = False
    reason: str | None = None
    identity: str | None = None
    mode: int | None = None
    mtime_ns: int | None = None
    size: int | None = None
    ctime_ns: int | None = None

    @property
    def bits(self) -> int | None:
        """The permissions of a plain file, if known, without set-user-id and the like."""
        return None if self.mode is None or not stat.S_ISREG(self.mode) else self.mode & 0o777

    def alike(self, other: FileContent) -> bool:
        """Same content and, if both are known, same permissions."""
        unknown = self.bits is None or other.bits is None
        return self.same(other) and (unknown or self.bits == other.bits)

    def same(self, other: FileContent) -> bool:
        if self.absent or other.absent:
            return self.absent and other.absent
        if self.digest is not None and other.digest is not None:
            return self.digest == other.digest
        return self.identity is not None and self.identity == other.identity


ABSENT = FileContent(absent=True)


@dataclass(frozen=True, slots=True)
class Author:
    """Who made a change: the agent of a session, a rewind, a person, or unknown."""

    by: str
    session: str | None = None


@dataclass(frozen=True, slots=True)
class FileHistory:
    """A file at the position and now.

    `was` is None if it is not known. `hands` changed it since.
    """

    path: str
    was: FileContent | None
    now: FileContent
    hands: tuple[Author, ...] = ()
    barred: str | None = None  # why this path may not be written to at all
    claimed: bool = False  # only the agent says that it was created since
    moved_from: str | None = None  # the path that a call since moved it from


@dataclass(frozen=True, slots=True)
class RewindStep:
    """What to do with one file. A refused step has in `would` what force would do.

    The fields are stored in the journal.
    """

    path: str
    action: StepAction
    why: str
    by: str
    origin: str | None = None  # for a rename: the name it has now
    was: FileContent | None = None
    now: FileContent | None = None
    would: StepAction | None = None

    @property
    def does(self) -> str:
        """The action, also of a refused step."""
        return self.would or self.action

    @property
    def only_mode(self) -> bool:
        """Whether only the permissions changed."""
        return self.was is not None and self.now is not None and _only_mode(self.was, self.now)

    @property
    def mode(self) -> tuple[int, int] | None:
        """The permissions now and then, if both are known and differ."""
        now, was = (None if content is None else content.bits for content in (self.now, self.was))
        return None if now is None or was is None or now == was else (now, was)


@dataclass(frozen=True, slots=True)
class RewindPlan:
    steps: tuple[RewindStep, ...]

    @property
    def refused(self) -> tuple[RewindStep, ...]:
        return tuple(step for step in self.steps if step.action == "refuse")

    def writes(self) -> tuple[RewindStep, ...]:
        """The writes with force, in an order in which each step finds its path free."""

        def of(action: str) -> list[RewindStep]:
            return [step for step in self.steps if step.does == action]

        return (*of("delete"), *_replayable(of("rename_back")), *of("restore"), *of("recreate"))

    def allowed(self) -> tuple[RewindStep, ...]:
        """The writes that need no force."""
        return tuple(step for step in self.writes() if step.action != "refuse")

    def counts(self) -> dict[str, int]:
        return dict(Counter(step.action for step in self.steps))

    def digest(self) -> str:
        """Plans with the same digest do the same to the same files."""
        rows = [
            [step.path, step.action, step.would, step.origin, _mark(step.was), _mark(step.now)]
            for step in self.steps
        ]
        return hashlib.sha256(json.dumps(rows).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _mark(content: FileContent | None) -> list[Any] | None:
    if content is None:
        return None
    return [content.digest, content.absent, content.reason, content.identity, content.bits]


def _only_mode(was: FileContent, now: FileContent) -> bool:
    return not was.absent and was.same(now) and not was.alike(now)


def make_plan(files: Iterable[FileHistory], session: str, *, everyone: bool = False) -> RewindPlan:
    """The steps that restore these files, as far as possible and allowed.

    With `everyone` files that only others changed are restored too, if a person insists.
    """
    ordered = _unknown_origins(sorted(files, key=lambda file: file.path))
    changed = [file for file in ordered if file.was is None or not file.was.alike(file.now)]
    pairs = _moved([file for file in changed if _touched(file, session)])
    paired = {path for gone, there in pairs.items() for path in (gone, there.path)}
    others = _moved_by_others([file for file in changed if file.path not in paired], session)
    steps = []
    taken = {there.path for there in (*pairs.values(), *others.values())}
    for file in changed:
        if file.path in taken:
            continue
        if file.path in pairs:
            steps.append(_rename(file, pairs[file.path], session))
        elif file.path in others:
            steps.append(_renamed_by_others(file, others[file.path], session, everyone))
        else:
            steps.append(_decide(file, session, everyone))
    return RewindPlan(tuple(steps))


def _unknown_origins(files: Sequence[FileHistory]) -> list[FileHistory]:
    """The files, without `moved_from` where the old path has a snapshot."""
    unknown = {file.path for file in files if file.was is None}
    return [file if file.moved_from in unknown else replace(file, moved_from=None) for file in files]


def _touched(file: FileHistory, session: str) -> bool:
    return any(author.by in OURS and author.session == session for author in file.hands)


def _last_author(file: FileHistory, session: str) -> str:
    """Whose change is undone: the agent's or, for an undo, the rewind's."""
    return [author.by for author in file.hands if author.by in OURS and author.session == session][-1]


def _moved(changed: Sequence[FileHistory]) -> dict[str, FileHistory]:
    """Files that were moved: old path → the file at its new path."""
    came = [file for file in changed if file.was is not None and file.was.absent and not file.now.absent]
    pairs: dict[str, FileHistory] = {}
    for gone in changed:
        if not gone.now.absent or gone.barred or (gone.was is not None and gone.was.absent):
            continue
        alike = [file for file in came if _is_same_file(gone, file) and not file.barred]
        if alike:
            name = gone.path.rpartition("/")[2]
            best = next((file for file in alike if file.path.rpartition("/")[2] == name), alike[0])
            pairs[gone.path] = best
            came.remove(best)
    return pairs


def _moved_by_others(changed: Sequence[FileHistory], session: str) -> dict[str, FileHistory]:
    """Files that somebody else moved last: old path → the file at its new path.

    The same author must have changed both paths last. Otherwise a copy would count as the moved file. What
    this session's rewinds did in between does not count: it was undone.
    """
    groups: dict[Author, list[FileHistory]] = {}
    for file in changed:
        hands = [author for author in file.hands if (author.by, author.session) != (REWIND, session)]
        if hands and (hands[-1].by != "agent" or hands[-1].session != session):
            last = hands[-1] if hands[-1].by in OURS else Author(hands[-1].by)
            groups.setdefault(last, []).append(file)
    pairs: dict[str, FileHistory] = {}
    for files in groups.values():
        pairs |= _moved(files)
    return pairs


def _renamed_by_others(gone: FileHistory, there: FileHistory, session: str, everyone: bool) -> RewindStep:
    """A file that somebody else moved: refused, or left if the agent never changed it."""
    last, was = (
        [hand for hand in there.hands if hand.by != REWIND or hand.session != session][-1],
        gone.was or there.now,
    )
    who = _name_of(last)
    step = RewindStep(
        gone.path, "keep", f"renamed since by {who}, not by this session's agent", last.by, there.path, was,
        there.now,
    )  # fmt: skip
    if not everyone and not _touched(gone, session) and not _touched(there, session):
        return step
    return replace(_mode_unknown(step), action="refuse", would="rename_back", why=f"{who} renamed it since")


def _is_same_file(gone: FileHistory, there: FileHistory) -> bool:
    """Whether a file that is gone is at another path now.

    Without a snapshot a call has to say that it moved it, and nothing may have changed it there.
    """
    if gone.was is not None:
        return gone.was.same(there.now)
    changes = [author for author in there.hands if author.by != REWIND]
    return there.moved_from == gone.path and len(changes) == 1


def _rename(gone: FileHistory, there: FileHistory, session: str) -> RewindStep:
    if _moved_by_others([gone, there], session):
        return _renamed_by_others(gone, there, session, everyone=False)
    who = _last_author(there, session)
    was = gone.was or there.now
    step = RewindStep(gone.path, "rename_back", f"the {who} moved it", who, there.path, was, there.now)
    if gone.was is None and there.claimed:
        why = "only the agent says that it moved it"
        return replace(step, action="refuse", would="rename_back", why=why, by="unknown")
    return _unless_others(_mode_unknown(step), (*gone.hands, *there.hands), session)


def _decide(file: FileHistory, session: str, everyone: bool) -> RewindStep:
    touched = _touched(file, session)
    if not touched and (not everyone or file.was is None or file.was.absent):
        return _left(file)  # what others created is theirs
    if not touched and not file.hands:
        file = replace(file, hands=(Author("unknown"),))
    who, was, now = _last_author(file, session) if touched else file.hands[-1].by, file.was, file.now

    def step(action: StepAction, why: str) -> RewindStep:
        return RewindStep(file.path, action, why, who, None, was, now)

    if file.barred is not None:
        return step("cannot", file.barred)
    if was is None:
        return step("cannot", NO_SNAPSHOT)
    if _only_mode(was, now):
        return _unless_others(step("restore", f"the {who} changed its mode"), file.hands, session)
    if not now.absent and now.digest is None:
        why = f"no copy of what it holds now can be kept first: {now.reason or 'it is unknown'}"
        return step("cannot", why)
    if was.absent and file.moved_from is not None:
        return step("cannot", f"it was moved from {file.moved_from}, of which there is no snapshot")
    if was.absent and file.claimed:
        why = "only the agent says that it made it; a copy of it is kept if you insist"
        return RewindStep(file.path, "refuse", why, "unknown", None, was, now, "delete")
    if was.absent:
        chosen = step("delete", f"the {who} created it")
    elif was.digest is None:
        return step("cannot", f"no copy of what it held then is kept: {was.reason or 'it was not read'}")
    elif now.absent:
        chosen = step("recreate", f"the {who} deleted it")
    else:
        chosen = step("restore", f"the {who} changed it")
    return _unless_others(_mode_unknown(chosen), file.hands, session)


def _mode_unknown(step: RewindStep) -> RewindStep:
    """If the permissions then are unknown, say which ones the file gets."""
    if step.was is None or step.was.absent or step.was.bits is not None:
        return step
    fate = "it gets that of a new file" if step.action == "recreate" else "the mode of now stays"
    return replace(step, why=f"{step.why}; its mode then is not known: {fate}")


def _left(file: FileHistory) -> RewindStep:
    """A file that only others changed stays as it is."""
    last = file.hands[-1] if file.hands else Author("unknown")
    did = (
        "created" if file.was is not None and file.was.absent else "deleted" if file.now.absent else "changed"
    )
    why = f"{did} since by {_name_of(last)}, not by this session's agent"
    return RewindStep(file.path, "keep", why, last.by, None, file.was, file.now)


def _name_of(author: Author) -> str:
    """Another author in words."""
    if author.by == "agent":
        return "another agent" if author.session is None else f"session {author.session[:8]}"
    return {"person": "a person", REWIND: "another rewind"}.get(author.by, "somebody unknown")


def _unless_others(step: RewindStep, authors: Sequence[Author], session: str) -> RewindStep:
    """Refuse the step if anybody else changed the file since."""
    others = [author for author in authors if author.by not in OURS or author.session != session]
    if not others:
        return step
    last = others[-1]
    if last.by in OURS:
        who = "the agent" if last.session is None else f"session {last.session[:8]}"
    else:
        who = "somebody unknown" if last.by == "unknown" else f"a {last.by}"
    why = f"{who} changed it since; a copy of it is kept if you insist"
    if step.now is not None and step.now.absent:
        why = f"{who} deleted it since"
    elif step.only_mode:
        why = f"{who} changed its mode since; what it is now is remembered if you insist"
    return replace(step, action="refuse", would=step.action, why=why, by=last.by)


def _replayable(renames: list[RewindStep]) -> list[RewindStep]:
    """Renames in an order in which each finds its path free."""
    waiting = {step.origin: step for step in renames}
    ordered: list[RewindStep] = []
    while waiting:
        free = [origin for origin, step in waiting.items() if step.path not in waiting]
        if not free:
            break  # a cycle, which the pairing never produces
        ordered += [waiting.pop(origin) for origin in free]
    return [*ordered, *waiting.values()]


def step_json(step: RewindStep) -> dict[str, Any]:
    """The step as stored in the journal."""
    return asdict(step)


def step_from_json(raw: Mapping[str, Any]) -> RewindStep:
    contents = {name: None if raw[name] is None else FileContent(**raw[name]) for name in ("was", "now")}
    return RewindStep(**{**raw, **contents})


# -- files at a position ---------------------------------------------------------------------------------

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
    """What files held at a position.

    The first change on disk after the position tells. None: absent.
    """
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
    """The roots under which versions of a workspace are stored.

    The workspace may be watched within a larger folder.
    """

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
        return ABSENT
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
    """Files that may have changed since.

    Those below the workspace, and those elsewhere that the agent named. The first have True if the log says
    that they were created since, and None if only the agent says so.
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


def reported_moves(store: Store, names: WorkspacePaths, row: SessionRow, to: int) -> dict[str, str]:
    """The files that the log says were moved since: new path → old path."""
    moves: dict[str, str] = {}
    for event in store.log.slice(row.n, row.id, to, row.head):
        for touch in _touches(event.payload):
            if touch.origin is not None and touch.change == "renamed":
                moves[touch.path] = moves.pop(touch.origin, touch.origin)
    below = len(names.workspace) + 1
    return {
        new[below:]: old[below:]
        for new, old in moves.items()
        if _inside(new, names.workspace) and _inside(old, names.workspace)
    }


def _touches(payload: object) -> Sequence[FileTouch | FileChange]:
    if isinstance(payload, (Action, ActionAmend)):
        return payload.files
    return (payload,) if isinstance(payload, FileChange) else ()


def _reported_changes(payload: object) -> Iterator[tuple[str, bool]]:
    """The files that an event reports as changed, and whether it reports them as new."""
    for touch in _touches(payload):
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


def changed_at(last: FileContent | None, found: FileContent, now: int) -> int:
    """When a file changed after its last version.

    New permissions alone only change its ctime.
    """
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
    found, barred = place.current_content(path)
    then = _rows_then(rows, where)
    since = [row for row in rows if row not in then]
    was = ABSENT if created is not False and not then else version_content(then[-1] if then else None)
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

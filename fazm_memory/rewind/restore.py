"""Rewind the files of one session: plan, restore, undo, recover.

A journal beside the stored versions holds each run before the first file changes. Its stages are `planned`
(copies are stored, nothing is written), `running` (the log has the rewind, files are being written),
`done`, `undone`, and `dropped` (the log did not accept the rewind, so nothing was written). A step does
nothing when its result is already there and leaves a file alone that is not as planned, so an interrupted
run is finished by running it again.
"""

from __future__ import annotations

import fcntl
import functools
import json
import os
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fazm_memory.errors import Conflict, InvalidRequest, NotFound, StoreBusy
from fazm_memory.events import Action, ActionAmend, Event
from fazm_memory.paths import private_file, private_folder
from fazm_memory.records import dataclass, field, replace
from fazm_memory.rewind.plan import (
    ABSENT,
    OURS,
    Author,
    AuthorOf,
    FileContent,
    FileHistory,
    PointInTime,
    RewindPlan,
    RewindStep,
    WorkspacePaths,
    changed_at,
    changed_files,
    contents_then,
    file_histories,
    make_plan,
    point_in_time,
    reported_moves,
    step_from_json,
    step_json,
    version_content,
    version_histories,
    versions_at,
)
from fazm_memory.rewind.safe_directory import SPARE, FoundFile, SafeDirectory, WriteRefused
from fazm_memory.store import ABSENT as ABSENT_CONTENT
from fazm_memory.store import (
    REWIND,
    FileVersion,
    FileVersions,
    FolderChange,
    FolderHistory,
    SessionRow,
    Store,
    digest_of,
)
from fazm_memory.watch import WORKING, DiskChange, active_workspaces, attribute, recent_calls

LOCK = "rewind.lock"
PLANNED, RUNNING, DONE, DROPPED, UNDONE = "planned", "running", "done", "dropped", "undone"
SESSIONS = 50  # whose calls may have changed a file
MINUTE = 60_000_000
KeepRule = Callable[[str], str | None]  # a folder → why it stays when it is empty; None removes it


@contextmanager
def exclusive_rewind(home: Path) -> Iterator[None]:
    """Allow one rewind of files at a time.

    The system releases the lock however the process ends.
    """
    private_folder(home)
    descriptor = os.open(private_file(home / LOCK), os.O_RDWR | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreBusy("Another rewind is restoring files.", hint="Try again when it is done.") from None
        yield
    finally:
        os.close(descriptor)


@dataclass(frozen=True)
class RestoreRun:
    """A journal entry: which session, where, how far it got, and its steps.

    `told` is a stored column. Its keys are `head`, `to`, `seq`, `source`, `identity`, `workspace`, `steps`,
    `goes` (folders to remove), `stood` (folders that existed) and `left` (path → why it was left alone).
    """

    id: int
    session: str
    root: str
    stage: str
    began: int
    ended: int | None
    told: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The key of its event in the log, so that it is recorded once."""
        return f"restore:{self.session}:{self.began}:{self.id}"

    def steps(self) -> list[RewindStep]:
        """The steps, without those that were left alone."""
        left = self.told.get("left", {})
        return [step for raw in self.told["steps"] if (step := step_from_json(raw)).path not in left]


class RestoreJournal:
    def __init__(self, versions: FileVersions) -> None:
        self.db = versions.db

    def begin(self, session: str, root: str, at: int, details: dict[str, Any]) -> RestoreRun:
        """Add a run, in the transaction that stores the copies."""
        inserted = self.db.execute(
            "INSERT INTO restore (session, root, stage, began, told) VALUES (?,?,?,?,?)",
            (session, root, PLANNED, at, json.dumps(details)),
        )
        return RestoreRun(int(inserted.lastrowid), session, root, PLANNED, at, None, details)

    def move(self, run: RestoreRun, stage: str, *, ended: int | None = None, **details: Any) -> RestoreRun:
        moved = replace(run, stage=stage, ended=ended or run.ended, told=run.told | details)
        with self.db.transaction():
            self.db.execute(
                "UPDATE restore SET stage=?, ended=?, told=? WHERE id=?",
                (stage, moved.ended, json.dumps(moved.told), run.id),
            )
        return moved

    def unfinished(self) -> list[RestoreRun]:
        return self._where("stage IN ('planned', 'running') ORDER BY id")

    def last(self, session: str) -> RestoreRun | None:
        """The latest rewind of this session's files that has not been undone."""
        runs = self._where("session=? AND stage='done' ORDER BY id DESC LIMIT 1", session)
        return runs[0] if runs else None

    def _where(self, condition: str, *values: object) -> list[RestoreRun]:
        rows = self.db.execute(
            f"SELECT id, session, root, stage, began, ended, told FROM restore WHERE {condition}", values
        )
        return [
            RestoreRun(number, session, root, stage, began, ended, json.loads(told))
            for number, session, root, stage, began, ended, told in rows.fetchall()
        ]


class RewindContext:
    """The files of one session's workspace, opened for a rewind."""

    def __init__(
        self,
        store: Store,
        versions: FileVersions,
        row: SessionRow,
        workspace: str,
        directory: SafeDirectory,
        *,
        now: Callable[[], int],
        home: Path,
        user_home: Path,
    ) -> None:
        self.store, self.versions, self.row, self.directory = store, versions, row, directory
        self.paths = WorkspacePaths(versions, workspace, row.device)
        self.journal = RestoreJournal(versions)
        self.now, self.home, self.user_home = now, home, user_home

    def at(self, position: int) -> PointInTime:
        return point_in_time(self.store, self.row, position, self.now())

    # -- planning ----------------------------------------------------------------------------------------

    def plan(self, to: int, *, everyone: bool = False) -> tuple[RewindPlan, list[str]]:
        """Plan a rewind to a position.

        Also returns the files outside the workspace that the agent changed. With `everyone` it also has the
        files that only others changed or deleted. They are refused without force.
        """
        point = self.at(to)
        if everyone:
            point = replace(point, held=contents_then(self.store, self.row, to))
        found, outside = changed_files(self.store, self.versions, self.paths, self.row, point)
        if everyone:
            for root in self.paths.roots:
                for path in self.versions.manifest(root, point.moment):
                    if (ours := self.paths.ours(root, path)) is not None:
                        found.setdefault(ours, False)
        own = os.path.realpath(self.home) + "/"
        paths = sorted(path for path in found if not f"{self.directory.root}/{path}".startswith(own))
        versions = version_histories(self.versions, self.paths, paths)
        author_of = self._author_of(point.moment)
        if self.row.device is not None:
            author_of = self._author_of_copy(versions, author_of)
        moves = reported_moves(self.store, self.paths, self.row, point.to)
        files = [
            replace(file, moved_from=moves.get(file.path))
            for file in file_histories(self.directory, versions, found, point, author_of, self.now())
        ]
        plan = make_plan(files, self.row.id, everyone=everyone)
        if self.row.device is not None:
            plan = RewindPlan(tuple(_not_here(step, versions.get(step.path, [])) for step in plan.steps))
        return plan, outside

    def _author_of_copy(self, versions: dict[str, list[FileVersion]], author_of: AuthorOf) -> AuthorOf:
        """Attribute files of a session that another machine records.

        Nobody here changed a file that is as that machine had it, or that was never here.
        """

        def author(path: str, at: int) -> Author:
            found, _ = self.directory.current_content(path)
            known = [content for row in versions[path] if (content := version_content(row)) is not None]
            here = WorkspacePaths(self.versions, self.directory.root).of(path)
            never_here = found.absent and not any(self.versions.last(root, below) for root, below in here)
            if never_here or any(content.alike(found) for content in known):
                return Author("agent", self.row.id)
            return author_of(path, at)

        return author

    def undo_plan(self, run: RestoreRun) -> RewindPlan:
        """The plan that undoes a rewind."""
        author_of = self._author_of(run.began)
        files = []
        for step in run.steps():
            for path, before, after in _effects(step):
                found, barred = self.directory.current_content(path)
                authors = [Author(REWIND, self.row.id)]
                if not found.alike(after):
                    authors.append(self._author_since(path, found, author_of))
                files.append(FileHistory(path, before, found, tuple(authors), barred))
        return make_plan(files, self.row.id)

    def keep_rule(self, to: int) -> KeepRule:
        """The rule for folders that a rewind to a position leaves empty."""
        point = self.at(to)

        @functools.cache
        def created() -> set[str]:
            return created_paths(self.store.log.slice(self.row.n, self.row.id, point.to, self.row.head))

        return keep_rule(self.versions, self.paths, point, created)

    def _author_of(self, since: int) -> AuthorOf:
        """Attribute changes that have not been recorded yet, by the rule of the watcher."""
        rows = self.store.sessions.listing(limit=SESSIONS)
        calls = recent_calls(self.store, rows, since - MINUTE, user_home=str(self.user_home))
        workspaces = active_workspaces(self.store, [row for row in rows if row.lifecycle in WORKING])

        def author_of(path: str, at: int) -> Author:
            change = DiskChange(f"{self.paths.workspace}/{path}", "modified", at, at)
            attribution = attribute(change, calls, workspaces)
            return Author(attribution.by, attribution.session)

        return author_of

    def _author_since(self, path: str, found: FileContent, author_of: AuthorOf) -> Author:
        """Who changed a file after the rewind.

        Here the session's own agent counts as another author.
        """
        rows = version_histories(self.versions, self.paths, [path])[path]
        known = version_content(rows[-1] if rows else None)
        if known is not None and known.alike(found) and rows[-1].changed_by is not None:
            author = Author(rows[-1].changed_by, rows[-1].session)
        else:
            author = author_of(path, changed_at(known, found, self.now()))
        return Author(author.by) if author.session == self.row.id else author

    # -- carrying out ------------------------------------------------------------------------------------

    def last_run(self, seq: int) -> RestoreRun:
        """The journal entry of the session's latest rewind, which the log has at `seq`."""
        run = self.journal.last(self.row.id)
        if run is None or run.told.get("seq") != seq:
            raise NotFound(
                f"The copies for the rewind at {seq} of session {self.row.id[:8]} are gone.",
                hint=f"`fazm-memory rewind ID --to {seq}` moves the session alone, without files.",
            )
        return run

    def begin(
        self, steps: Sequence[RewindStep], *, to: int, source: str, keep_folder: KeepRule
    ) -> RestoreRun:
        """Store a copy of every file that these steps change.

        Also adds the run to the journal.
        """
        with self.versions.db.transaction():
            for step in steps:
                self._store_copy(step)
            return self.journal.begin(self.row.id, self.directory.root, self.now(), {
                "head": self.row.head, "to": to, "source": source,
                "identity": list(self.directory.identity), "workspace": self.paths.workspace,
                "steps": [step_json(step) for step in steps],
                "goes": [folder for folder in parent_folders(steps) if keep_folder(folder) is None],
                "stood": _existing_folders(self.directory, steps),
            })  # fmt: skip

    def _store_copy(self, step: RewindStep) -> None:
        path = step.origin or step.path
        found = self.directory.look(path)
        if not found.held.alike(step.now or ABSENT):
            raise Conflict(f"{path} changed after the plan was made. Nothing was done.", hint="Plan again.")
        for root, below in self.paths.of(path):
            store_version(self.versions, root, below, found, self.now())
            last = self.versions.last(root, below)
            if step.by in ("person", "unknown") and last is not None and last.changed_by is None:
                self.versions.mark_recorded(root, below, None, changed_by=step.by)

    def run(self, run: RestoreRun) -> list[RestoredStep]:
        """Carry out the steps of a journal entry."""
        restorer = Restorer(
            self.directory, self.versions, mark=str(run.id), session=run.session, seq=run.told["seq"],
            now=self.now, names=self.paths.of, goes=frozenset(run.told.get("goes", ())),
        )  # fmt: skip
        results = restorer.run(run.steps())
        left = {result.step.path: result.left for result in results if result.left is not None}
        self.journal.move(run, DONE, ended=self.now(), left=left)
        return results


@contextmanager
def open_workspace(
    store: Store,
    versions: FileVersions,
    row: SessionRow,
    *,
    now: Callable[[], int],
    home: Path,
    user_home: Path,
    folder: str | None = None,
) -> Iterator[RewindContext]:
    """Open the workspace of a session. NotFound when it is not there.

    `folder` is where the workspace is here, if another machine records the session.
    """
    if row.workspace is None:
        raise InvalidRequest(
            f"Session {row.id[:8]} has no workspace, so it has no files to restore.",
            hint="Rewind it without --files.",
        )
    if folder in (None, row.workspace) and os.path.islink(row.workspace):
        # An agent's shell starts in a real folder. A link in its place could lead anywhere.
        raise NotFound(
            f"{row.workspace} is now a symbolic link. No file is restored through it.",
            hint="Put the folder back in its place, or rewind without --files.",
        )
    try:
        with SafeDirectory(os.path.realpath(folder or row.workspace)) as directory:
            yield RewindContext(
                store, versions, row, row.workspace, directory, now=now, home=home, user_home=user_home
            )
    except WriteRefused as error:
        if row.device is not None:
            raise NotFound(
                f"The folder {row.workspace} of “{row.device_name or row.device}” is not on this machine.",
                hint=f"`fazm-memory sync folders {row.workspace} DIR` says where it is here.",
            ) from None
        gone = f"The folder {row.workspace} is gone." if not os.path.lexists(row.workspace) else f"{error}."
        raise NotFound(gone, hint="Rewind without --files.") from None


def _not_here(step: RewindStep, rows: Sequence[FileVersion]) -> RewindStep:
    """Say that a file is only on another machine."""
    if step.action == "recreate" and rows and not rows[-1].absent:
        return replace(step, why="it is not on this machine")
    return step


def undo_keep_rule(run: RestoreRun) -> KeepRule:
    """An undo keeps the folders that existed before the rewind."""
    existed = frozenset(run.told.get("stood", ()))
    return lambda folder: "it was there before" if folder in existed else None


def _effects(step: RewindStep) -> Iterator[tuple[str, FileContent, FileContent]]:
    """Each path that a step wrote, with its content before and after."""
    was, now = step.was or ABSENT, step.now or ABSENT
    if step.origin is None:
        yield step.path, now, was
    else:
        yield step.path, ABSENT, was
        yield step.origin, now, ABSENT


def _existing_folders(directory: SafeDirectory, steps: Sequence[RewindStep]) -> list[str]:
    """The folders above the paths of these steps that exist now."""
    found: set[str] = set()
    for path in (path for step in steps for path in (step.path, step.origin) if path is not None):
        while (path := os.path.dirname(path)) and path not in found:
            found.add(path)
    return sorted(path for path in found if stat.S_ISDIR(directory.current_content(path)[0].mode or 0))


# -- folders that become empty ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EmptiedFolder:
    """A folder that a plan leaves empty: whether it is removed or stays, and why."""

    path: str
    goes: bool
    why: str


def parent_folders(steps: Iterable[RewindStep]) -> list[str]:
    """Every folder above a file that a step removes or moves, innermost first."""
    found: set[str] = set()
    for step in steps:
        path = step.origin or step.path
        while (path := os.path.dirname(path)) and path not in found:
            found.add(path)
    return sorted(found, key=lambda folder: (-folder.count("/"), folder))


def created_paths(events: Iterable[Event]) -> set[str]:
    """The full paths that calls created for certain: files and folders."""
    return {
        touch.path
        for event in events
        if isinstance(event.payload, (Action, ActionAmend))
        for touch in event.payload.files
        if touch.change == "created" and not touch.inferred
    }


def keep_rule(
    versions: FileVersions, paths: WorkspacePaths, point: PointInTime, created: Callable[[], set[str]]
) -> KeepRule:
    """The rule for folders of the workspace.

    `created` is called only for folders that were not watched.
    """
    observed = FolderHistory(versions)

    def why(folder: str) -> str | None:
        places = paths.of(folder)
        if any(versions_at(versions.history_below(root, below), point) for root, below in places):
            return "it held files then"
        rows = sorted(
            (row for root, below in places for row in observed.history(root, below) if not point.has(row)),
            key=lambda row: row.at,
        )
        if not rows:
            is_new = f"{paths.workspace}/{folder}" in created()
            return None if is_new else "it may have been there: nobody saw it being created"
        if not rows[0].came:
            return "it was there then"
        others = [row for row in rows if row.changed_by not in OURS or row.session != point.session]
        if others:
            return f"{'a person' if others[-1].changed_by == 'person' else 'somebody else'} created it"
        return None

    return why


def emptied_folders(
    directory: SafeDirectory, steps: Sequence[RewindStep], keep_folder: KeepRule
) -> list[EmptiedFolder]:
    """The folders that these steps leave empty, innermost first."""
    leaving = [step for step in steps if step.does in ("delete", "rename_back")]
    removed = {step.origin or step.path for step in leaving}
    written = {step.path for step in steps if step.does != "delete"}
    emptied = []
    for folder in parent_folders(leaving):
        entries = {f"{folder}/{name}" for name in directory.names(folder)}
        if any(path.startswith(f"{folder}/") for path in written) or not entries <= removed:
            continue
        why = keep_folder(folder)
        emptied.append(EmptiedFolder(folder, why is None, why or "the agent created it"))
        if why is None:
            removed.add(folder)
    return emptied


# -- writing ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RestoredStep:
    """The result of one step: done, or left alone and why."""

    step: RewindStep
    left: str | None = None


class Restorer:
    """Carries out steps in one workspace.

    `mark` makes the temporary names of this run unique.
    """

    def __init__(
        self,
        directory: SafeDirectory,
        versions: FileVersions,
        *,
        mark: str,
        session: str,
        seq: int | None,
        now: Callable[[], int],
        names: Callable[[str], Sequence[tuple[str, str]]],
        goes: Collection[str] = (),
    ) -> None:
        self.directory, self.versions = directory, versions
        self.mark, self.session, self.seq, self.now = mark, session, seq, now
        self.names = names  # the roots and paths under which versions of a path are stored
        self.goes = goes  # the folders to remove when they are empty

    def run(self, steps: Sequence[RewindStep]) -> list[RestoredStep]:
        results = [self._restore(number, step) for number, step in enumerate(steps)]
        removed = self._remove_empty(results)
        with self.versions.db.transaction():
            self._note_folders(self.directory.made, came=True)
            self._note_folders(removed, came=False)
        return results

    def _restore(self, number: int, step: RewindStep) -> RestoredStep:
        try:
            self._write(step, f"{SPARE}-{self.mark}-{number}")
        except (WriteRefused, FileNotFoundError, NotADirectoryError) as error:
            return RestoredStep(step, str(error))
        except OSError as error:
            return RestoredStep(step, f"it cannot be written: {error.strerror}")
        self._note(step)
        return RestoredStep(step)

    def _write(self, step: RewindStep, spare: str) -> None:
        was, now = step.was or ABSENT, step.now or ABSENT
        if step.does == "rename_back":
            self._rename(step, was, now)
            return
        if step.only_mode:
            self._set_bits(step.path, was, now)
            return
        data = None if was.digest is None else self.versions.read(was.digest)
        self.directory.settle(step.path, spare, lambda found: _is_ours(found, data, now))
        found = self.directory.look(step.path).held
        if found.alike(was):
            return  # done by an interrupted run
        if not found.alike(now):
            raise WriteRefused("it changed since the plan was made")
        if was.absent:
            self.directory.take_away(step.path, now, spare)
        elif data is None:
            raise WriteRefused("the stored copy was removed to make room")
        else:
            self.directory.put(step.path, data, was, now, spare)

    def _rename(self, step: RewindStep, was: FileContent, now: FileContent) -> None:
        target = self.directory.look(step.path).held
        source = self.directory.look(step.origin or "").held
        if not (target.same(was) and source.absent):
            if not target.absent or not source.alike(now):
                raise WriteRefused("it changed since the plan was made")
            self.directory.move(step.origin or "", step.path, now)
        self._set_bits(step.path, was, now)

    def _set_bits(self, path: str, was: FileContent, now: FileContent) -> None:
        if was.bits is not None and not self.directory.look(path).held.alike(was):
            self.directory.set_bits(path, was.bits, now)

    def _note(self, step: RewindStep) -> None:
        """Mark the new versions as made by a rewind, before the watcher sees the change."""
        for path in filter(None, (step.path, step.origin)):
            found = self.directory.look(path)
            with self.versions.db.transaction():
                for root, below in self.names(path):
                    store_version(self.versions, root, below, found, self.now())
                    self.versions.mark_recorded(root, below, self.session, seq=self.seq, changed_by=REWIND)

    def _note_folders(self, folders: Iterable[str], *, came: bool) -> None:
        observed = FolderChange(self.now(), came, REWIND, self.session, self.seq)
        for folder in folders:
            for root, below in self.names(folder):
                FolderHistory(self.versions).note(root, below, observed)

    def _remove_empty(self, results: Sequence[RestoredStep]) -> list[str]:
        """Remove the folders that this run emptied, if they may go."""
        paths = [result.step.origin or result.step.path for result in results if result.left is None]
        folders = {os.path.dirname(path) for path in paths}
        removed = []
        while folders:
            parents = set()
            for folder in folders:
                if folder in self.goes and self.directory.remove_empty(folder):
                    removed.append(folder)
                    parents.add(os.path.dirname(folder))
            folders = parents
        return removed


def store_version(versions: FileVersions, root: str, path: str, found: FoundFile, at: int) -> None:
    """Store a file as it was found, in a transaction."""
    content: bytes | str = ABSENT_CONTENT
    if not found.held.absent:
        content = found.data if found.data is not None else found.held.reason or "not readable"
    # The mark that the watcher would give it, so that the watcher does not read it again.
    mark = "" if found.held.identity is None else f"{found.held.identity}:{found.held.mode}"
    versions.keep_within(root, path, at, content, mark, found.held.bits)


def _is_ours(found: bytes, data: bytes | None, now: FileContent) -> bool:
    """Whether a file left by an interrupted run is ours.

    The run wrote it or stored it.
    """
    return digest_of(found) == now.digest or (data is not None and data.startswith(found))

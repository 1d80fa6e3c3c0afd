"""Watch the folders in which sessions work.

Store versions of their files and record who changed them.

The watcher's thread scans and stores versions. The companion's thread calls `tick`, which waits a moment for
the agents' calls to arrive, decides who changed what, and records it. A change that an action has reported is
not recorded again. Of a burst, only some changes are recorded one by one and the rest as counts.
"""

from __future__ import annotations

import os
import queue
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fazm_memory.clock import iso
from fazm_memory.events import Draft
from fazm_memory.ingest import (
    COMPANION_AGENT,
    COMPANION_SESSION,
    RecordResult,
    TimeRange,
    companion_opening,
)
from fazm_memory.paths import disk_path, inside, is_utf8
from fazm_memory.records import replace
from fazm_memory.store import NEWEST, Database, FileVersions, FolderChange, FolderHistory, Store
from fazm_memory.text import plural
from fazm_memory.watch.attribution import Attribution, DiskChange, active_workspaces, attribute, recent_calls
from fazm_memory.watch.scanner import START, ObservedFolder, Scanner, ScanResult, UnwatchedPeriod
from fazm_memory.watch.scope import (
    BECAME_A_LINK,
    WATCHER_STOPPED,
    WatchedFolder,
    load_places,
    save_places,
    save_watched_folders,
    session_folders,
    watched_roots,
)
from fazm_memory.watch.tree import TreeCheckpoints
from fazm_memory.watch.versions import ODD_NAME, Baseline, VersionedChange, VersionRecorder, digest_now
from fazm_memory.watch.watcher import QUIET, FileWatcher, MakeObserver, system_observer


def disk_change(change: VersionedChange) -> DiskChange:
    """The change with its time, narrowed to the modification time if possible."""
    observed, changed = change.observed, change.observed.changed
    earliest, latest = observed.earliest, observed.at
    unwritten = changed.before and changed.after and changed.before.mtime_ns == changed.after.mtime_ns
    if changed.after is not None and changed.change != "renamed" and not unwritten:
        written = changed.after.mtime_ns // 1000
        if earliest <= written <= latest:
            earliest = latest = written
    return DiskChange(
        changed.path, changed.change, earliest, latest, changed.origin, observed.away is not None
    )


def folder_change(folder: ObservedFolder) -> DiskChange:
    change = "created" if folder.came else "deleted"
    return DiskChange(folder.path, change, folder.earliest, folder.at, None, folder.away is not None)


def change_draft(change: VersionedChange, verdict: Attribution) -> Draft:
    observed, changed = change.observed, change.observed.changed
    evidence = verdict.evidence
    if change.missing is not None:
        evidence += f"; what it held before was not kept: {change.missing}"
    if change.mode is not None:
        only = "only " if change.before is not None and change.before == change.after else ""
        evidence += f"; {only}its mode changed: {change.mode[0]:o} → {change.mode[1]:o}"
    payload: dict[str, Any] = {
        "path": printable(changed.path),
        "change": changed.change,
        "from": None if changed.origin is None else printable(changed.origin),
        "by": verdict.by,
        "evidence": evidence,
        "since": iso(observed.earliest) if observed.away is not None else None,
        "before": change.before,
        "after": change.after,
        "sure": verdict.sure,
        "call": verdict.seq,
    }
    payload = {name: value for name, value in payload.items() if value is not None}
    session = verdict.session or COMPANION_SESSION
    actor = verdict.by if verdict.by != "unknown" else None
    agent = COMPANION_AGENT if session == COMPANION_SESSION else None
    return Draft(session, "file", payload, agent, observed.at, actor=actor, source="files")


def summary_drafts(rest: Sequence[tuple[VersionedChange, Attribution]], now: int) -> list[Draft]:
    """Summaries of many changes, one event for each session and author.

    Each says how many files changed, how, and in which folders.
    """
    groups: dict[tuple[str, str], list[VersionedChange]] = {}
    for change, verdict in rest:
        groups.setdefault((verdict.session or COMPANION_SESSION, verdict.by), []).append(change)
    drafts = []
    for (session, by), changes in groups.items():
        kinds = Counter(change.observed.changed.change for change in changes)
        folders = Counter(os.path.dirname(change.observed.changed.path) for change in changes)
        counts = ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())
        places = ", ".join(printable(folder) for folder, _ in folders.most_common(3))
        more = f" and {len(folders) - 3:,} more folders" if len(folders) > 3 else ""
        payload = {
            "what": "files",
            "since": iso(min(change.observed.earliest for change in changes)),
            "until": iso(max(change.observed.at for change in changes)),
            "note": f"{plural(len(changes), 'more file')} changed, by {by}, too many to tell one by one:"
            f" {counts}; in {places}{more}",
        }
        agent = COMPANION_AGENT if session == COMPANION_SESSION else None
        drafts.append(Draft(session, "gap", payload, agent, now, source="files"))
    return drafts


def is_worth_recording(period: UnwatchedPeriod, scan: ScanResult) -> bool:
    """A start is recorded as a gap only if something changed meanwhile."""
    return period.why != START or any(observed.root == period.root for observed in scan.sightings)


def gap_draft(period: UnwatchedPeriod, scan: ScanResult) -> Draft:
    count = sum(observed.root == period.root for observed in scan.sightings)
    payload = {
        "what": "files",
        "since": iso(period.since),
        "until": iso(period.until),
        "note": f"{printable(period.root)}: {period.why}; found by looking again: {plural(count, 'change')}",
    }
    return Draft(COMPANION_SESSION, "gap", payload, COMPANION_AGENT, period.until, source="files")


def printable(path: str) -> str:
    """A path as text, with escapes for bytes that are not UTF-8."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


HOLD = 2_000_000  # microseconds that a change waits for its call to be reported
FOLLOW_EVERY = 2.0  # seconds between checks of which sessions are active
IDLE = 20.0
TROUBLE_SHOWN = 60.0  # seconds after the last failure
PER_MINUTE = 500  # file events
PER_FOLDER = 200  # file events of one folder in one batch
MINUTE = 60_000_000
SPARE = 0.5  # seconds that the baseline may read between two scans
SESSIONS = 50

Record = Callable[[Sequence[Draft]], list[RecordResult]]
Batch = tuple[ScanResult, list[VersionedChange]]


class WorkspaceWatcher:
    """Watches the folders of sessions.

    `wake` is called from the watcher's thread when `tick` has work.
    """

    def __init__(
        self,
        store: Store,
        record: Record,
        now: Callable[[], int],
        *,
        user_home: Path,
        added: Callable[[], Sequence[str]] = lambda: (),
        excluded: Callable[[], Sequence[str]] = lambda: (),
        wake: Callable[[], None] = lambda: None,
        hold: int = HOLD,
        observer: MakeObserver = system_observer,
        quiet: float | None = None,
        baseline: bool = True,
        pauses: Callable[[], Sequence[TimeRange]] = tuple,
    ) -> None:
        self.pauses, self._pauses = pauses, pauses()
        self.store, self.record, self.now, self.wake = store, record, now, wake
        self.user_home, self.added, self.hold = str(user_home), added, hold
        self.excluded = excluded
        self._excluded = self._excluded_now()
        self._storing = threading.Lock()  # held while the watcher's thread stores versions
        self.watched: list[WatchedFolder] = []
        self._saved: list[WatchedFolder] | None = None
        self._since: dict[str, int] = {}
        self._incoming: queue.SimpleQueue[Batch] = queue.SimpleQueue()
        self._waiting: deque[Batch] = deque()
        self._recorded_at: deque[int] = deque(maxlen=PER_MINUTE)
        self._followed = -FOLLOW_EVERY
        self._resting = False
        # Each thread needs its own connection.
        key = store.keys.database
        self._versions = FileVersions(store.home, key)
        self._watcher_versions = FileVersions(store.home, key)
        self._trees = Database(store.path, key)
        baseline_reader = Baseline(
            self._watcher_versions, budget=SPARE, covers=self._in_workspace, was_paused=self._was_paused
        )
        self._recorder = VersionRecorder(self._watcher_versions, baseline_reader)
        # Real paths of the workspaces whose files are stored before they change, and those already queued.
        self._baseline, self._workspaces, self._queued = baseline, frozenset[str](), frozenset[str]()
        self._places = load_places(store.db)
        self._saved_places = dict(self._places)
        self._observer, self._quiet = observer, QUIET if quiet is None else quiet
        self.trouble, self._failed_at = "", 0.0
        self._begin()

    def _begin(self) -> None:
        self._looker = Scanner(
            self.now,
            checkpoints=TreeCheckpoints(self._trees),
            never=self._never(),
            known=self._known,
            digest=digest_now,
        )
        self._watcher = FileWatcher(
            self._looker,
            self._scanned,
            spare=self._read_baseline,
            observer=self._observer,
            quiet=self._quiet,
            places=self._places,
        )
        self._watcher.start()

    def _never(self) -> tuple[str, ...]:
        return (str(self.store.home), *self._excluded)

    def stop(self) -> None:
        """Record what was found until now, and end."""
        try:
            self._watcher.stop()
            self.tick(last=True)
            save_watched_folders(self.store.db, [])
        finally:
            for database in (self._versions, self._watcher_versions, self._trees):
                database.close()

    # -- in the watcher's thread -------------------------------------------------------------------------

    def _scanned(self, scan: ScanResult) -> None:
        with self._storing:
            allowed = self._allowed(scan)
            self._incoming.put((allowed, self._recorder.note(allowed, self._looker.roots.values())))
        self.wake()

    def _allowed(self, scan: ScanResult) -> ScanResult:
        """The scan without excluded folders. It may have begun before they were excluded."""
        return replace(
            scan,
            sightings=tuple(
                change
                for change in scan.sightings
                if not self._is_excluded(change.changed.path)
                and not (change.changed.origin and self._is_excluded(change.changed.origin))
            ),
            folders=tuple(folder for folder in scan.folders if not self._is_excluded(folder.path)),
        )

    def _is_excluded(self, path: str) -> bool:
        return any(inside(path, folder) for folder in self._excluded)

    def _in_workspace(self, path: str) -> bool:
        return any(inside(path, folder) for folder in self._workspaces) and not self._is_excluded(path)

    def _was_paused(self, at: int) -> bool:
        return any(since <= at < until for since, until in self._pauses)

    def _read_baseline(self) -> float | None:
        with self._storing:
            return self._read_some()

    def _read_some(self) -> float | None:
        added, self._queued = self._workspaces - self._queued, self._workspaces
        for root in self._looker.roots.values():
            # A root of its own is queued by its first scan. This is for a session within a watched folder.
            if any(folder.startswith(root.tree.root.rstrip("/") + "/") for folder in added):
                self._recorder.baseline.begin(root.given, root.tree)
        return SPARE if self._recorder.baseline.go_on(self.now()).left else None

    def _known(self, path: str) -> str | None:
        for root in self._looker.roots.values():
            if path.startswith(root.given.rstrip("/") + "/"):
                last = self._watcher_versions.last(root.given, os.path.relpath(path, root.given))
                return None if last is None else last.digest
        return None

    # -- in the companion's thread -----------------------------------------------------------------------

    def keep_before(self, paths: Sequence[str]) -> None:
        """Store these files before an agent changes them, if that is not done already."""
        baseline = Baseline(self._versions, was_paused=self._was_paused)
        for path in paths:
            if self._is_excluded(path):
                continue
            for root, real in self._watcher.real_roots().items():
                if path.startswith(root.rstrip("/") + "/"):
                    baseline.keep(root, [os.path.relpath(path, root)], self.now(), real=real)

    def rescan(self, why: str) -> None:
        self._watcher.rescan(why)

    def rest(self) -> None:
        """Stop watching while recording is paused.

        Changes of that time are never recorded.
        """
        if not self._resting:
            self._resting = True
            self._watcher.follow([])
            self.watched = []
            self._save_watched()
        self._waiting.clear()
        while not self._incoming.empty():
            self._incoming.get()

    def _resume(self) -> None:
        """Watch again after a pause.

        Without trees, the next scan has nothing to compare with.
        """
        self._resting = False
        self._pauses = self.pauses()
        with self.store.db.transaction():
            self.store.db.execute("DELETE FROM tree")
        self._followed = -FOLLOW_EVERY

    def tick(self, *, last: bool = False) -> float:
        """Watch the active sessions and record what is due.

        Returns the seconds until the next call.
        """
        if not last:
            if self._resting:
                self._resume()
            excluded = self._excluded_now()
            if excluded != self._excluded:
                self._exclude(excluded)
            elif time.monotonic() - self._followed >= FOLLOW_EVERY:
                self._restart_failed()
                self._follow()
            self._save_watched()
        while not self._incoming.empty():
            self._waiting.append(self._incoming.get())
        due: list[Batch] = []
        while self._waiting and (last or self._waiting[0][0].at + self.hold <= self.now()):
            due.append(self._waiting.popleft())
        try:
            self._tell(due)
        except BaseException:
            self._waiting.extendleft(reversed(due))  # try again at the next tick
            raise
        if not self._waiting:
            return IDLE
        return max(0.05, (self._waiting[0][0].at + self.hold - self.now()) / 1e6)

    def _restart_failed(self) -> None:
        """Restart a watcher that failed, from its checkpoint."""
        if self._watcher.failure is not None:
            self.trouble = f"{WATCHER_STOPPED}: {self._watcher.failure!r}"
            self._failed_at = time.monotonic()
            self._begin()
        elif self.trouble and time.monotonic() - self._failed_at > TROUBLE_SHOWN:
            self.trouble = ""

    def _excluded_now(self) -> tuple[str, ...]:
        """The excluded folders, also by the paths that the disk knows them by."""
        listed = tuple(self.excluded())
        return tuple(dict.fromkeys((*listed, *map(disk_path, listed))))

    def _exclude(self, excluded: tuple[str, ...]) -> None:
        """Obey new exclusions. When this returns, nothing more of those folders is stored."""
        with self._storing:
            self._excluded = excluded
            self._looker.never = self._never()
            self._recorder.baseline.narrow()
        waiting, self._waiting = self._waiting, deque()
        while not self._incoming.empty():
            waiting.append(self._incoming.get())
        for scan, changes in waiting:
            kept = [change for change in changes if not self._is_excluded(change.observed.changed.path)]
            self._waiting.append((self._allowed(scan), kept))
        self._watcher.follow([])  # added again below, with the new exclusions
        self._follow()

    def _follow(self) -> None:
        self._followed = time.monotonic()
        rows = self.store.sessions.listing(limit=SESSIONS)
        self.watched = watched_roots(
            rows, now=self.now(), user_home=self.user_home, added=self.added(), excluded=self._excluded
        )
        if self._baseline:
            self._workspaces = frozenset(map(disk_path, session_folders(rows, self.now())))
        wanted = sorted(watched.folder for watched in self.watched if watched.refused is None)
        if wanted != self._watcher.roots():
            self._watcher.follow(wanted)
        if self._places != self._saved_places:
            save_places(self.store.db, self._places)
            self._saved_places = dict(self._places)

    def _became_a_link(self, folder: str) -> bool:
        return self._places.get(folder) == folder and os.path.realpath(folder) != folder

    def _save_watched(self) -> None:
        """Store which folders are watched, if that changed."""
        ways = {} if self._resting else self._watcher.ways()
        self._since = {folder: self._since.get(folder) or self.now() for folder in ways}
        watched = [
            replace(root, how=ways[root.folder], since=self._since[root.folder])
            for root in self.watched
            if root.refused is None and root.folder in ways
        ]
        watched += [root for root in self.watched if root.refused is not None]
        watched += [
            replace(root, refused=BECAME_A_LINK)
            for root in self.watched
            if root.refused is None and self._became_a_link(root.folder)
        ]
        if self.trouble:
            watched = [root if root.refused else replace(root, refused=self.trouble) for root in watched]
        if watched != self._saved:
            save_watched_folders(self.store.db, watched)
            self._saved = watched

    def _tell(self, due: Sequence[Batch]) -> None:
        """Decide who made these changes, and record them."""
        if not due:
            return
        rows = self.store.sessions.listing(limit=SESSIONS)
        changes = [change for _, batch in due for change in batch]
        folders = [folder for scan, _ in due for folder in scan.folders]
        began = [change.observed.earliest for change in changes] + [folder.earliest for folder in folders]
        since = min(began, default=0) - MINUTE
        calls = recent_calls(self.store, rows, since, user_home=self.user_home) if began else []
        places = active_workspaces(self.store, rows)
        judged = [
            (change, attribute(disk_change(change), calls, places))
            for change in changes
            if change.version is None or not self._versions.is_from_rewind(change.version)
        ]
        chosen, rest = self._limited([(change, verdict) for change, verdict in judged if not verdict.told])
        drafts = [change_draft(change, verdict) for change, verdict in chosen]
        drafts += summary_drafts(rest, self.now())
        drafts += [
            gap_draft(period, scan)
            for scan, _ in due
            for period in scan.blind
            if is_worth_recording(period, scan)
        ]
        if any(draft.session == COMPANION_SESSION for draft in drafts):
            drafts.insert(0, companion_opening())
        if drafts:
            for result in self.record(drafts):
                if result.error is not None:
                    raise result.error
        over = {(call.session, call.seq) for call in calls if call.ended is not None}
        with self._versions.db.transaction():
            for change, verdict in judged:
                # A change by a call that still runs gets no position: the call's own is only its beginning.
                seq = verdict.seq if (verdict.session, verdict.seq) in over else None
                self._mark(change, verdict, seq)
            for folder in filter(lambda folder: is_utf8(folder.path), folders):
                verdict = attribute(folder_change(folder), calls, places)
                seq = verdict.seq if (verdict.session, verdict.seq) in over else None
                FolderHistory(self._versions).note_sighting(
                    folder.root,
                    os.path.relpath(folder.path, folder.root),
                    FolderChange(folder.at, folder.came, verdict.by, verdict.session, seq),
                    folder.earliest,
                )

    def _mark(self, change: VersionedChange, verdict: Attribution, seq: int | None) -> None:
        """Store with the versions of a change who made it."""
        changed, root = change.observed.changed, change.observed.root
        if change.missing == ODD_NAME:
            return
        newest = NEWEST if change.version is None else change.version
        below = os.path.relpath(changed.path, root)
        self._versions.mark_recorded(
            root, below, verdict.session, seq=seq, changed_by=verdict.by, upto=newest
        )
        if changed.origin is None:
            return
        for other in {root, *self._watcher.roots()}:
            if changed.origin.startswith(other.rstrip("/") + "/"):
                left = os.path.relpath(changed.origin, other)
                self._versions.mark_recorded(other, left, verdict.session, seq=seq, changed_by=verdict.by)

    def _limited(
        self, news: Sequence[tuple[VersionedChange, Attribution]]
    ) -> tuple[list[tuple[VersionedChange, Attribution]], list[tuple[VersionedChange, Attribution]]]:
        """Split changes at the limits.

        Returns those to record one by one, and those to record as counts.
        """
        folders: Counter[str] = Counter()
        chosen, rest = [], []
        now = self.now()
        for change, verdict in news:
            folder = os.path.dirname(change.observed.changed.path)
            full = len(self._recorded_at) == PER_MINUTE and now - self._recorded_at[0] < MINUTE
            if full or folders[folder] >= PER_FOLDER:
                rest.append((change, verdict))
                continue
            folders[folder] += 1
            self._recorded_at.append(now)
            chosen.append((change, verdict))
        return chosen, rest

"""The companion: the background process that records what agents do.

One process per data folder, one loop, one thread that writes. The loop sleeps until a file changes or a timer
is due. It can be killed at any moment: the log and the cursors say where to continue, and nothing is recorded
twice.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from fazm_memory.agents import RecordFile, connected_agents, hook_script
from fazm_memory.app.agents import agent_places, importer_for, pause_spans
from fazm_memory.app.memory import Memory
from fazm_memory.app.process import (
    boot_time,
    leave_cloud_files_remote,
    raise_open_file_limit,
    single_instance,
    too_many_open_files,
)
from fazm_memory.app.sync import SyncWorker
from fazm_memory.app.updates import UpdateWorker
from fazm_memory.clock import to_datetime
from fazm_memory.config import CONFIG_FILE
from fazm_memory.errors import ConfigError, FazmMemoryError, StoreBusy, StoreFull, StoreReadOnly
from fazm_memory.events import Draft
from fazm_memory.ingest import (
    PART_SUFFIX,
    RECORD_SUFFIXES,
    WAVE_BYTES,
    HookEvent,
    ImportStatistics,
    RecordFolder,
    RecordResult,
    Spool,
    SpoolReader,
    TranscriptWatcher,
    due_at,
    read_pause,
    record_folders,
)
from fazm_memory.paths import PAUSE_FILE
from fazm_memory.text import sentence
from fazm_memory.watch import (
    FOLLOW_EVERY,
    DesktopSource,
    ForegroundRecorder,
    RunOnMain,
    SessionFolders,
    WorkspaceWatcher,
    scope,
)

POLL = 20.0  # seconds between two scans of all records
POLL_RATIO = 1000  # a scan may use at most 1/1000 of the processor time
GATHER = 0.1  # wait after a file event, so that files written together are read together
QUIET = 1.0  # wait after the last change before callbacks are called
LATEST = 10.0  # call them at the latest after this time
WORK = 100  # … but, while changes go on, only after this many times the processor time that they took last
REST = 10  # and after a pause in the changes, only after this many times that
SOONER = 2.0  # at the start of a long import they are called at once, then after this time, then less often
AFTER_TROUBLE = 30.0
KEEP_MARKS = 7 * 86400.0
RECENT = 20  # sessions whose context is renewed at the start and on a new day
NOTIFIED = 200  # after a long import only the latest sessions are reported
MOST_RECORDS = 200
COPY_BYTES = 16 << 20  # of transcripts that are copied before other work gets a turn
SECOND = 1_000_000
EVERYTHING = 1 << 62
# Files that other processes change to control recording. They take effect at once.
SWITCHES = frozenset({PAUSE_FILE, scope.APPS, scope.FOLDERS, CONFIG_FILE})

Callback = Callable[[Sequence[str]], object]


class Companion:
    """Records in the background. `report` gets each problem once, as a sentence."""

    def __init__(self, memory: Memory, *, report: Callable[[str], None] = lambda text: None) -> None:
        self.memory = memory
        self.home = memory.config.home
        self.places = agent_places(memory.config)
        self.spool = Spool(self.home)
        self.importer = importer_for(memory)
        self.spool_reader = SpoolReader(
            self.spool, memory.store, self.places, SessionFolders(memory.store.db).known_to
        )
        self.statistics = ImportStatistics()
        self._report = report
        self._reported: set[str] = set()
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._desktop: tuple[DesktopSource, RunOnMain] | None = None
        self._on_change: list[Callback] = []
        self._on_update: list[Callable[[], object]] = []
        self._before_file_change: list[Callback] = []
        self._changed: set[str] = set()  # sessions with new events, not yet reported to `_on_change`
        self._first_change = self._last_change = 0.0
        self._latest = 0.0  # how long a change may wait for others; grows to LATEST
        self._cost = self._notified = 0.0  # processor time of the callbacks, and when they were last called
        self._day = self._today()
        self._arrived: list[str] = []  # sessions that other machines changed; the sync thread appends
        self._sync = SyncWorker(
            memory.config, memory.now, report=self._report_once, arrived=self._arrived.extend
        )
        self._updates = UpdateWorker(
            memory.config, memory.now, report=self._report_once, read=self._notify_of_update
        )
        # The state of the loop.
        self._backlog: Iterator[ImportStatistics] = iter(())
        self._polled_at, self._poll_every = -POLL, POLL
        self._interrupted_marked = False
        self._obeyed: str | None = None  # which exclusions the last step obeyed
        self._copy_due = False
        self._store_version, self._recheck_at = 0, 0.0

    def on_change(self, callback: Callback) -> None:
        """Call back with the folders of sessions that have new events.

        Called when recording is quiet.
        """
        self._on_change.append(callback)

    def on_update(self, callback: Callable[[], object]) -> None:
        """Call back after the update feed was read, in another thread."""
        self._on_update.append(callback)

    def before_file_change(self, callback: Callback) -> None:
        """Call back with files that an agent is about to change.

        Used to copy them in time.
        """
        self._before_file_change.append(callback)

    def watch_desktop(self, source: DesktopSource, on_main: RunOnMain) -> None:
        """Also record this source.

        It is started and stopped on its own thread through `on_main`.
        """
        self._desktop = (source, on_main)

    def once(self) -> ImportStatistics:
        """Record everything new from the spool and the agents' records, then return."""
        self._prepare()
        if self._recording():
            found, since = self.importer.find(), self.spool.since()
            # Hook events and the records of the same time, subagents' included, are merged in order.
            recent = [record for record in found if since is not None and record.mtime >= since]
            self._import(sorted(recent, key=lambda record: -record.mtime)[:MOST_RECORDS], last=True)
            for statistics in self.importer.backlog(self.importer.unread(found)):
                self._count(statistics)
            self.memory.sessions.mark_interrupted(booted=boot_time())
            self._copy_transcripts(None)
            self._sync.step(self.memory)
            self._notify()
        return self.statistics

    def run(self, started: Callable[[], None] = lambda: None) -> None:
        """Record until `stop`.

        Raises StoreBusy if a companion already runs, otherwise calls `started`.
        """
        raise_open_file_limit()
        leave_cloud_files_remote()
        with single_instance(self.home):
            started()
            self._prepare()
            own = [RecordFolder(folder, recursive=False) for folder in (self.spool.folder, self.home)]
            folders = [*record_folders(self.places), *own]
            transcripts = TranscriptWatcher(folders, self._wake.set, wanted=self._wanted)
            transcripts.start()
            config = self.memory.config
            workspaces = WorkspaceWatcher(
                self.memory.store, self._record_observed, self.memory.now,
                user_home=config.user_home, added=self._added_folders, wake=self._wake.set,
                baseline=config.baseline,
                excluded=lambda: scope.read_list(self.home, scope.FOLDERS),
                pauses=lambda: pause_spans(self.memory),
            )  # fmt: skip
            self.before_file_change(workspaces.keep_before)
            foreground = self._foreground_recorder()
            self._sync.start()
            self._updates.start()
            try:
                self._loop(transcripts, workspaces, foreground)
                self._notify()
            finally:
                self._sync.stop()
                self._updates.stop()
                transcripts.stop()
                workspaces.stop()
                if foreground is not None:
                    foreground.stop(recording=self._recording())

    def wake(self) -> None:
        """Look for changes now. May be called from any thread."""
        self._wake.set()

    def stop(self) -> None:
        """Finish the current step and end.

        May be called from a signal handler or any thread.
        """
        self._stop.set()
        self._wake.set()

    def is_stopping(self) -> bool:
        return self._stop.is_set()

    # -- the loop ----------------------------------------------------------------------------------------

    def _loop(
        self,
        transcripts: TranscriptWatcher,
        workspaces: WorkspaceWatcher,
        foreground: ForegroundRecorder | None,
    ) -> None:
        while not self._stop.is_set():
            self._wake.clear()
            try:
                self._check_other_writers()
                self._poll_when_due(transcripts)
                excluded = self._exclusions()
                if self._recording():
                    wait = self._record_step(transcripts, workspaces, foreground)
                else:
                    wait = self._rest_step(workspaces, foreground)
                self._note_exclusions(excluded)
                self._sleep(min(wait, self._until_recheck()), self._store_version)
            except (StoreBusy, StoreFull, StoreReadOnly) as trouble:
                self._retry_later(_error_text(trouble))
            except OSError as trouble:
                if not too_many_open_files(trouble):
                    raise
                self._retry_later("Too many files are open. Recording continues when some are closed.")

    def _exclusions(self) -> str | None:
        try:
            return scope.fingerprint(self.home)
        except ConfigError:
            return None  # reported by the step, which records nothing that they may name

    def _note_exclusions(self, mark: str | None) -> None:
        """Say which exclusions the step has obeyed, so that `exclude` can wait for it."""
        if mark is not None and mark != self._obeyed:
            scope.note_obeyed(self.memory.store.db, mark)
            self._obeyed = mark

    def _check_other_writers(self) -> None:
        """See new sessions of other processes when the workspace watcher is due."""
        version = self._read_store_version()
        if version != self._store_version:
            self._store_version = version
            self._recheck_at = time.monotonic() + FOLLOW_EVERY

    def _until_recheck(self) -> float:
        left = self._recheck_at - time.monotonic()
        return left if left > 0 else math.inf

    def _poll_when_due(self, transcripts: TranscriptWatcher) -> None:
        if time.monotonic() - self._polled_at < self._poll_every:
            return
        self._polled_at, cpu = time.monotonic(), time.process_time()
        self._housekeeping(transcripts)
        self._backlog = self._find_backlog()
        self._copy_due = True
        self._poll_every = max(POLL, POLL_RATIO * (time.process_time() - cpu))

    def _record_step(
        self,
        transcripts: TranscriptWatcher,
        workspaces: WorkspaceWatcher,
        foreground: ForegroundRecorder | None,
    ) -> float:
        """Record what is new. Returns the seconds until the next step is due."""
        changed = transcripts.take()
        hooks_due, complete = self._import(self.importer.look(filter(_is_record, changed.paths)))
        if changed.all or not complete:
            self._backlog = self._find_backlog()
        rebuilding = self.memory.store.rebuild_one_snapshot()
        imported = next(self._backlog, None)
        if imported is None and not self._interrupted_marked:
            # Only after all records are read, because a record may still say how a call ended.
            self._interrupted_marked = True
            self.memory.sessions.mark_interrupted(booted=boot_time())
        if imported is None and self._copy_due:
            self._copy_due = self._copy_transcripts(COPY_BYTES)
        idle = imported is None and not rebuilding and not self._copy_due
        poll_due = self._polled_at + self._poll_every - time.monotonic() if idle else 0.0
        self._count(imported or ImportStatistics())
        wait = min(hooks_due, poll_due, workspaces.tick())
        if workspaces.trouble:
            self._report_once(workspaces.trouble)
        self._record_foreground(foreground)
        # While snapshots are rebuilt, the callbacks would have to replay whole sessions.
        return wait if rebuilding else min(wait, self._notify_when_quiet())

    def _rest_step(self, workspaces: WorkspaceWatcher, foreground: ForegroundRecorder | None) -> float:
        workspaces.rest()
        if foreground is not None:
            foreground.rest(self._paused_since())
        return min(POLL, self._notify_when_quiet())

    def _retry_later(self, problem: str) -> None:
        """Nothing is lost: what was not recorded stays in the records and the spool."""
        self._report_once(problem)
        self._polled_at = -self._poll_every
        self._sleep(AFTER_TROUBLE)

    def _sleep(self, seconds: float, version: int | None = None) -> None:
        """Sleep until woken, until the time is over, or until somebody else writes.

        Another process may open a session whose folder has to be watched, without any file event.
        """
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if self._wake.wait(min(left, FOLLOW_EVERY)):
                self._stop.wait(GATHER)
                return
            if version is not None and self._read_store_version() != version:
                return

    def _read_store_version(self) -> int:
        """A number that changes when another connection writes to the store."""
        return int(self.memory.store.db.execute("PRAGMA data_version").fetchone()[0])

    # -- recording ---------------------------------------------------------------------------------------

    def _find_backlog(self) -> Iterator[ImportStatistics]:
        if not self._recording():
            return iter(())
        return self.importer.backlog(self.importer.unread(self.importer.find()))

    def _import(self, records: Sequence[RecordFile], *, last: bool = False) -> tuple[float, bool]:
        """Import hook events and what is new in these records, in the order it happened.

        Returns the seconds until a waiting hook event is due, and whether the records were read to the end.
        """
        while True:
            batch = self.spool_reader.take()
            for event in batch.now:
                self._announce_file_change(event)
            records = [*records, *self.importer.look(batch.transcripts)]
            unread = self.importer.unread(records)
            if unread or batch.now:
                self._count(
                    self.importer.take(
                        unread,
                        self.spool_reader.drafts(batch.now),
                        also=batch.save_last_events if batch.now else None,
                        limit=EVERYTHING if last else WAVE_BYTES,
                    )
                )
                self.spool.done(event.spooled for event in batch.now)
            now = time.time_ns() // 1000
            if ripe := self.spool_reader.ripe(batch, now, last=last):
                self._count(
                    self.importer.take([], self.spool_reader.drafts(ripe), also=batch.save_last_events)
                )
                self.spool.done(event.spooled for event in ripe)
            if not batch.now:
                waiting = [event for event in batch.waiting if event not in ripe]
                due = min(((due_at(event) - now) / SECOND for event in waiting), default=POLL)
                return max(0.05, due), not self.importer.unread(records)
            records = []

    def _copy_transcripts(self, limit: int | None) -> bool:
        """Bring the copies of transcripts up to date. Returns whether more is left."""
        copied = self.memory.transcripts.copy(list(self.importer.records.values()), limit=limit)
        for path, trouble in copied.troubles.items():
            self._report_once(f"{path} is not copied: {trouble}")
        return copied.more

    def _record_observed(self, drafts: Sequence[Draft]) -> list[RecordResult]:
        """Record what the watchers observed."""
        results, counted = self.memory.sessions.record(drafts), ImportStatistics()
        counted.count(results)
        self.statistics.events += counted.events
        return results

    def _announce_file_change(self, event: HookEvent) -> None:
        if event.before:
            for callback in self._before_file_change:
                callback(event.before)

    def _count(self, statistics: ImportStatistics) -> None:
        self.statistics.add(statistics)
        if statistics.sessions:
            self._last_change = time.monotonic()
            self._first_change = self._first_change if self._changed else self._last_change
            self._changed |= statistics.sessions
            self._sync.wake()
        for path, trouble in statistics.troubles.items():
            self._report_once(f"{path} is not read: {trouble}")

    def _foreground_recorder(self) -> ForegroundRecorder | None:
        if self._desktop is None:
            return None
        source, on_main = self._desktop
        memory = self.memory
        return ForegroundRecorder(
            source, memory.recorder.redactor, self._record_observed, memory.now,
            home=self.home, exclusions=memory.recording.exclusions, on_main=on_main, wake=self._wake.set,
        )  # fmt: skip

    def _record_foreground(self, foreground: ForegroundRecorder | None) -> None:
        """Record which app was in front. If the exclusions cannot be read, record nothing."""
        if foreground is None:
            return
        try:
            foreground.tick()
        except ConfigError as trouble:
            self._report_once(_error_text(trouble))
            foreground.rest()

    # -- callbacks and reports ---------------------------------------------------------------------------

    def _notify_when_quiet(self) -> float:
        """Call the callbacks once changes have settled. Returns the seconds until then."""
        while self._arrived:
            self._changed.add(self._arrived.pop())
            self._first_change = self._last_change = time.monotonic()
        if not self._changed:
            return POLL
        quiet = max(self._last_change + QUIET, self._notified + REST * self._cost)
        left = min(quiet, self._first_change + max(self._latest, WORK * self._cost)) - time.monotonic()
        if left > 0:
            return left
        self._latest = min(LATEST, SOONER + 2 * self._latest)
        self._notify()
        return POLL

    def _notify(self) -> None:
        sessions, self._changed = self._changed | set(self._arrived), set()
        self._arrived.clear()
        if not sessions or not self._recording():
            return
        rows = self.memory.store.sessions.listing(limit=NOTIFIED)
        folders = sorted({row.workspace for row in rows if row.id in sessions and row.workspace is not None})
        began = time.thread_time()
        for callback in self._on_change:
            callback(folders)
        self._cost, self._notified = time.thread_time() - began, time.monotonic()

    def _notify_of_update(self) -> None:
        for callback in self._on_update:
            callback()

    def _notify_all_again(self) -> None:
        """Contexts may be missing, or of another day: have the recent ones written again."""
        self._changed |= {row.id for row in self.memory.store.sessions.listing(limit=RECENT)}
        self._last_change = self._first_change = time.monotonic()

    def _report_once(self, text: str) -> None:
        if text not in self._reported:
            self._reported.add(text)
            self._report(text)

    # -- housekeeping ------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        self.spool.prepare()
        for finished in self.memory.rewind.finish_interrupted():
            self._report(finished)
        if connected_agents(self.home):
            hook_script.write(self.home)  # replaces the hooks of an older version
        self._notify_all_again()

    def _housekeeping(self, transcripts: TranscriptWatcher) -> None:
        transcripts.mend()
        for path, trouble in transcripts.troubles.items():
            self._report_once(f"{path} {trouble}")
        for mark in (self.home / "context" / "given").glob("*"):
            if time.time() - mark.stat().st_mtime > KEEP_MARKS:
                mark.unlink(missing_ok=True)
        if self._today() != self._day:
            self._day = self._today()
            self._notify_all_again()
        if self._recording():
            try:
                if (notice := self.memory.maintenance.retain_daily()) is not None:
                    self._report(notice)
            except ConfigError as trouble:  # without a readable policy nothing is deleted
                self._report_once(_error_text(trouble))

    def _recording(self) -> bool:
        try:
            return bool(self.memory.recording.status()["recording"])
        except ConfigError as trouble:
            self._report_once(_error_text(trouble))
            return False

    def _added_folders(self) -> tuple[str, ...]:
        """The folders that the user added, also while we run."""
        try:
            return self.memory.recording.added_folders()
        except ConfigError as trouble:
            self._report_once(_error_text(trouble))
            return self.memory.config.watch

    def _paused_since(self) -> int | None:
        try:
            pause = read_pause(self.home)
        except ConfigError:
            return None  # reported by `_recording`; nothing is recorded from now on
        return None if pause is None else pause.since

    def _today(self) -> str:
        return f"{to_datetime(self.memory.now()):%Y-%m-%d}"

    def _wanted(self, path: Path) -> bool:
        if path.parent == self.spool.folder:
            return not path.name.endswith(PART_SUFFIX)
        if path.parent == self.home:
            return path.name in SWITCHES
        return _is_record(path)


def _is_record(path: Path) -> bool:
    return path.name.endswith(RECORD_SUFFIXES)


def _error_text(error: FazmMemoryError) -> str:
    return " ".join(sentence(part) for part in (error.message, error.hint) if part)

"""The companion without a face: takes in the past, follows the present, drains the spool, until stopped.

One process, one loop, one thread that writes. It sleeps until the file system or a timer wakes it. Whatever
it was doing when it is killed it does again after, and nothing is recorded twice: the log and the cursors say
where it stood.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from fazm_memory.backfill import intake_of, places_of
from fazm_memory.capture import excluded, hook_script
from fazm_memory.capture.agents.connect import connected
from fazm_memory.capture.agents.reader import RecordFile
from fazm_memory.capture.booted import boot_time
from fazm_memory.capture.desk import Desk, OnMain
from fazm_memory.capture.desktop import DesktopSource
from fazm_memory.capture.draft import Draft
from fazm_memory.capture.drain import Drain, due
from fazm_memory.capture.follow import RECORDS, Folder, Follow, record_folders
from fazm_memory.capture.hook_events import HookEvent
from fazm_memory.capture.instance import only_one
from fazm_memory.capture.intake import WAVE
from fazm_memory.capture.open_files import allow_enough, none_left
from fazm_memory.capture.recorder import Recorded
from fazm_memory.capture.recording import FILE as PAUSED
from fazm_memory.capture.recording import read as read_pause
from fazm_memory.capture.spool import PART, Spool
from fazm_memory.capture.tally import Tally
from fazm_memory.capture.workspaces import FOLLOW_EVERY, Workspaces
from fazm_memory.errors import ConfigError, StoreBusy, StoreFull, StoreReadOnly
from fazm_memory.memory import Memory
from fazm_memory.model.clock import moment

POLL = 20.0  # seconds between two looks at everything
SPARINGLY = 400  # and at least so many times as long as such a look takes
GATHER = 0.1  # after a notice: what was written together is taken in together
QUIET = 1.0  # after a change, before others are told of it
LATEST = 10.0  # and at the latest, however much goes on
AFTER_TROUBLE = 30.0
KEEP_MARKS = 7 * 86400.0
RECENT = 20
TOLD = 200
MOST_BESIDE = 200
SECOND = 1_000_000
EVERYTHING = 1 << 62
# What a person may turn, in any process: it holds at once.
SWITCHES = frozenset({PAUSED, excluded.FILE, excluded.FOLDERS})

Told = Callable[[Sequence[str]], object]


class Companion:
    """`say` gets what a person should hear, such as trouble with a file; each thing once."""

    def __init__(self, memory: Memory, *, say: Callable[[str], None] = lambda text: None) -> None:
        self.memory = memory
        self.home = memory.config.home
        self.places = places_of(memory.config)
        self.spool = Spool(self.home)
        self.intake = intake_of(memory)
        self.drain = Drain(self.spool, memory.store, self.places)
        self.tally = Tally()
        self._say = say
        self._said: set[str] = set()
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._desktop: tuple[DesktopSource, OnMain] | None = None
        self._after: list[Told] = []
        self._before: list[Told] = []
        self._untold: set[str] = set()  # sessions of which something is new
        self._untold_since = self._changed_at = 0.0
        self._day = self._today()

    def after_change(self, callback: Told) -> None:
        """Called with the folders of the sessions of which something new is recorded, once it has settled."""
        self._after.append(callback)

    def before_change(self, callback: Told) -> None:
        """Called at once with files that an agent is about to change: the moment to keep them."""
        self._before.append(callback)

    def watch_desktop(self, source: DesktopSource, on_main: OnMain) -> None:
        """Record what this source tells, too; it is begun and ended on its own thread, through `on_main`."""
        self._desktop = (source, on_main)

    # -- once --------------------------------------------------------------------------------------------

    def once(self) -> Tally:
        """Take in all there is, from the spool and from every record, and tell whoever follows us."""
        self._prepare()
        if self._recording():
            found, since = self.intake.find(), self.spool.since()
            # With what hooks dropped go all records that may tell of the same time, subagents' among them.
            beside = [one for one in found if since is not None and one.mtime >= since]
            self._attend(sorted(beside, key=lambda one: -one.mtime)[:MOST_BESIDE], last=True)
            for tally in self.intake.backlog(self.intake.unread(found)):
                self._count(tally)
            self.memory.note_interrupted(booted=boot_time())
            self._tell()
        return self.tally

    # -- for good ----------------------------------------------------------------------------------------

    def run(self, started: Callable[[], None] = lambda: None) -> None:
        """Work until `stop`; raises StoreBusy when another is at work here, else calls `started`."""
        allow_enough()
        with only_one(self.home):
            started()
            self._prepare()
            ours = [Folder(self.spool.folder, recursive=False), Folder(self.home, recursive=False)]
            folders = [*record_folders(self.places), *ours]
            follow = Follow(folders, self._wake.set, wanted=self._wanted)
            follow.start()
            config = self.memory.config
            workspaces = Workspaces(
                self.memory.store, self._record_seen, self.memory.now,
                user_home=config.user_home, added=config.watch, wake=self._wake.set,
                excluded=lambda: excluded.read(self.home, excluded.FOLDERS),
            )  # fmt: skip
            self.before_change(workspaces.keep_before)
            desk = self._desk()
            try:
                self._work(follow, workspaces, desk)
                self._tell()
            finally:
                follow.stop()
                workspaces.stop()
                if desk is not None:
                    desk.stop(recording=self._recording())

    def wake(self) -> None:
        """Something may be new, such as a pause: look now, from whatever thread this is said."""
        self._wake.set()

    def stop(self) -> None:
        """Ask it to end, from a signal or another thread: it finishes what it has begun."""
        self._stop.set()
        self._wake.set()

    def _work(self, follow: Follow, workspaces: Workspaces, desk: Desk | None) -> None:
        backlog: Iterator[Tally] = iter(())
        polled, every, noted = -POLL, POLL, False
        version, look_by = 0, 0.0
        while not self._stop.is_set():
            self._wake.clear()
            wait, renewing = POLL, False
            try:
                seen, version = version, self._version()
                if version != seen:  # and once more when the workspaces are due to see whose sessions are new
                    look_by = time.monotonic() + FOLLOW_EVERY
                if time.monotonic() - polled >= every:
                    polled, spent = time.monotonic(), time.process_time()
                    self._look_after(follow)
                    backlog = self._everything()
                    every = max(POLL, SPARINGLY * (time.process_time() - spent))
                if self._recording():
                    changed = follow.take()
                    waits, done = self._attend(self.intake.look(filter(_is_record, changed.paths)))
                    if changed.all or not done:
                        backlog = self._everything()
                    renewing = self.memory.store.renew_one()  # after an update, a step at a time
                    step = next(backlog, None)
                    if step is None and not noted:  # once all is read: a record may tell how a call ended
                        noted = True
                        self.memory.note_interrupted(booted=boot_time())
                    due = polled + every - time.monotonic() if step is None and not renewing else 0.0
                    self._count(step or Tally())
                    wait = min(waits, due, workspaces.tick())
                    if workspaces.trouble is not None:
                        self._once_only(workspaces.trouble)
                    self._look_at(desk)
                else:
                    workspaces.rest()
                    if desk is not None:
                        desk.rest(self._paused_since())
                if not renewing:  # else what is told would have to be read through at once
                    wait = min(wait, self._tell_when_quiet())
                if (left := look_by - time.monotonic()) > 0:
                    wait = min(wait, left)
                self._sleep(wait, version)
            except (StoreBusy, StoreFull, StoreReadOnly) as trouble:
                # What was not taken in stays where it is; the next try looks at everything again.
                self._once_only(f"{trouble.title}: {trouble.message}")
                polled = -every
                self._sleep(AFTER_TROUBLE)
            except OSError as trouble:
                if not none_left(trouble):
                    raise
                self._once_only("Too many files are open here; it goes on when some are closed")
                polled = -every
                self._sleep(AFTER_TROUBLE)

    def _sleep(self, seconds: float, version: int | None = None) -> None:
        """Until somebody wakes us, the time is over, or another process has written to the store.

        A session that an agent opens there has a folder to be watched, and nothing else tells us of it.
        """
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if self._wake.wait(min(left, FOLLOW_EVERY)):
                self._stop.wait(GATHER)
                return
            if version is not None and self._version() != version:
                return

    def _version(self) -> int:
        """A number that is another one after any other connection wrote to the store; it costs no reading."""
        return int(self.memory.store.db.execute("PRAGMA data_version").fetchone()[0])

    def _desk(self) -> Desk | None:
        if self._desktop is None:
            return None
        source, on_main = self._desktop
        memory = self.memory
        return Desk(
            source, memory.recorder.scrubber, self._record_seen, memory.now,
            home=self.home, exclusions=memory.exclusions, on_main=on_main, wake=self._wake.set,
        )  # fmt: skip

    def _look_at(self, desk: Desk | None) -> None:
        """Record what the desktop told; whoever cannot say what to leave alone looks at nothing."""
        if desk is None:
            return
        try:
            desk.tick()
        except ConfigError as trouble:
            self._once_only(f"{trouble.message}: {trouble.hint}")
            desk.rest()

    def _everything(self) -> Iterator[Tally]:
        if not self._recording():
            return iter(())
        return self.intake.backlog(self.intake.unread(self.intake.find()))

    # -- taking in ---------------------------------------------------------------------------------------

    def _attend(self, records: Sequence[RecordFile], *, last: bool = False) -> tuple[float, bool]:
        """Take in what hooks have dropped and what these records hold new, in the order of happening.

        Returns in how many seconds something that waits is due, and whether the records were read to the end.
        """
        while True:
            drained = self.drain.take()
            for event in drained.now:
                self._keep_before(event)
            records = [*records, *self.intake.look(drained.transcripts)]
            unread = self.intake.unread(records)
            if unread or drained.now:
                self._count(
                    self.intake.take(
                        unread,
                        self.drain.drafts(drained.now),
                        also=drained.heard if drained.now else None,
                        limit=EVERYTHING if last else WAVE,
                    )
                )
                self.spool.done(event.dropped for event in drained.now)
            now = time.time_ns() // 1000
            if ripe := self.drain.ripe(drained, now, last=last):
                self._count(self.intake.take([], self.drain.drafts(ripe), also=drained.heard))
                self.spool.done(event.dropped for event in ripe)
            if not drained.now:
                left = [event for event in drained.patient if event not in ripe]
                waits = min(((due(event) - now) / SECOND for event in left), default=POLL)
                return max(0.05, waits), not self.intake.unread(records)
            records = []

    def _record_seen(self, drafts: Sequence[Draft]) -> list[Recorded]:
        """What watchers saw: it counts like what agents told."""
        recorded, seen = self.memory.record(drafts), Tally()
        seen.count(recorded)
        self.tally.events += seen.events
        return recorded

    def _keep_before(self, event: HookEvent) -> None:
        if event.before:
            for callback in self._before:
                callback(event.before)

    def _count(self, tally: Tally) -> None:
        self.tally.add(tally)
        if tally.sessions:
            self._changed_at = time.monotonic()
            self._untold_since = self._untold_since if self._untold else self._changed_at
            self._untold |= tally.sessions
        for path, trouble in tally.troubles.items():
            self._once_only(f"{path} is not read: {trouble}")

    # -- telling -----------------------------------------------------------------------------------------

    def _tell_when_quiet(self) -> float:
        """Tell those who follow us when things have settled; in how many seconds that may be."""
        if not self._untold:
            return POLL
        left = min(self._changed_at + QUIET, self._untold_since + LATEST) - time.monotonic()
        if left > 0:
            return left
        self._tell()
        return POLL

    def _tell(self) -> None:
        sessions, self._untold = self._untold, set()
        if not sessions or not self._recording():
            return
        rows = self.memory.store.sessions.listing(limit=TOLD)  # after a long import the latest are enough
        folders = sorted({row.workspace for row in rows if row.id in sessions and row.workspace is not None})
        for callback in self._after:
            callback(folders)

    def _once_only(self, text: str) -> None:
        if text not in self._said:
            self._said.add(text)
            self._say(text)

    # -- around it ---------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        self.spool.prepare()
        for finished in self.memory.finish_rewinds():
            self._say(finished)
        if connected(self.home):
            hook_script.write(self.home)  # the hooks may be those of an older version
        self._tell_all_again()

    def _tell_all_again(self) -> None:
        """What is given to new sessions may be missing, or of another day: have it made anew."""
        self._untold |= {row.id for row in self.memory.store.sessions.listing(limit=RECENT)}
        self._changed_at = self._untold_since = time.monotonic()

    def _look_after(self, follow: Follow) -> None:
        """What is worth a look now and then."""
        follow.mend()
        for path, trouble in follow.troubles.items():
            self._once_only(f"{path} {trouble}")
        for mark in (self.home / "context" / "given").glob("*"):
            if time.time() - mark.stat().st_mtime > KEEP_MARKS:
                mark.unlink(missing_ok=True)
        if self._today() != self._day:  # what was today is yesterday now
            self._day = self._today()
            self._tell_all_again()
        if self._recording():
            try:
                self.memory.retain_daily()
            except ConfigError as trouble:  # by a file that cannot be read nothing is let go
                self._once_only(f"{trouble}: {trouble.hint}".removesuffix(": "))

    def _recording(self) -> bool:
        try:
            return bool(self.memory.recording()["recording"])
        except ConfigError as trouble:
            self._once_only(f"{trouble}: {trouble.hint}".removesuffix(": "))
            return False

    def _paused_since(self) -> int | None:
        try:
            pause = read_pause(self.home)
        except ConfigError:
            return None  # told already; nothing is recorded from the moment we noticed
        return None if pause is None else pause.since

    def _today(self) -> str:
        return f"{moment(self.memory.now()):%Y-%m-%d}"

    def _wanted(self, path: Path) -> bool:
        if path.parent == self.spool.folder:
            return not path.name.endswith(PART)
        if path.parent == self.home:
            return path.name in SWITCHES
        return _is_record(path)


def _is_record(path: Path) -> bool:
    return path.name.endswith(RECORDS)

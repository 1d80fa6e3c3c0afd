"""The workspaces at work: what is seen there becomes versions at once, and events once it is known by whom.

Two threads. The watcher's own looks, and keeps what files hold. The companion's calls `tick`, which waits a
moment for the agents' calls to arrive, says who changed what, and records it. A change that an action told
adds nothing, and of a storm only so many are told one by one; the rest is told as counts.
"""

from __future__ import annotations

import os
import queue
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from fazm_memory.capture.attribution import Verdict, attribute
from fazm_memory.capture.baseline import Baseline, digest_now
from fazm_memory.capture.calls import recent_calls, workplaces
from fazm_memory.capture.checkpoints import Checkpoints
from fazm_memory.capture.draft import Draft
from fazm_memory.capture.files import QUIET, FileWatcher, MakeObserver
from fazm_memory.capture.keeper import Keeper, Noted
from fazm_memory.capture.looking import Flush, Looker
from fazm_memory.capture.observers import system_observer
from fazm_memory.capture.recorder import Recorded
from fazm_memory.capture.recording import COMPANION, companion_opening
from fazm_memory.capture.telling import draft, folder_happening, gap, happening, summaries, worth_telling
from fazm_memory.capture.watched import Watched, inside, note, watched_roots
from fazm_memory.log.database import Database
from fazm_memory.log.folders import FolderSeen, FoldersSeen
from fazm_memory.log.store import Store
from fazm_memory.log.versions import NEWEST, Versions

HOLD = 2_000_000  # microseconds that a change waits for the call it belongs to
FOLLOW_EVERY = 2.0  # seconds between two looks at which sessions are at work
IDLE = 20.0
PER_MINUTE = 500  # file events
PER_FOLDER = 200  # of them in one folder at one time
MINUTE = 60_000_000
SPARE = 0.5  # seconds that the baseline may read on between two looks
SESSIONS = 50

Record = Callable[[Sequence[Draft]], list[Recorded]]


class Workspaces:
    """Watches where sessions work. `wake` is called, from another thread, when `tick` has something to do."""

    def __init__(
        self,
        store: Store,
        record: Record,
        now: Callable[[], int],
        *,
        user_home: Path,
        added: Sequence[str] = (),
        excluded: Callable[[], Sequence[str]] = lambda: (),
        wake: Callable[[], None] = lambda: None,
        hold: int = HOLD,
        observer: MakeObserver = system_observer,
        quiet: float | None = None,
    ) -> None:
        self.store, self.record, self.now, self.wake = store, record, now, wake
        self.user_home, self.added, self.hold = str(user_home), added, hold
        self.excluded, self._excluded = excluded, tuple(excluded())
        self.watched: list[Watched] = []
        self._noted: list[Watched] | None = None
        self._since: dict[str, int] = {}
        self._seen: queue.SimpleQueue[tuple[Flush, list[Noted]]] = queue.SimpleQueue()
        self._held: deque[tuple[Flush, list[Noted]]] = deque()
        self._told_at: deque[int] = deque(maxlen=PER_MINUTE)
        self._followed = -FOLLOW_EVERY
        self._resting = False
        # A connection for each thread: this one's, and the watcher's.
        key = store.keys.database
        self._versions = Versions(store.home, key)
        self._theirs = Versions(store.home, key)
        self._trees = Database(store.path, key)
        self._keeper = Keeper(self._theirs, Baseline(self._theirs, budget=SPARE))
        self._observer, self._quiet = observer, QUIET if quiet is None else quiet
        self.trouble: str | None = None
        self._begin()

    def _begin(self) -> None:
        self._looker = Looker(
            self.now,
            checkpoints=Checkpoints(self._trees),
            never=self._never(),
            known=self._known,
            digest=digest_now,
        )
        self._watcher = FileWatcher(
            self._looker, self._saw, spare=self._read_on, observer=self._observer, quiet=self._quiet
        )
        self._watcher.start()

    def _never(self) -> tuple[str, ...]:
        return (str(self.store.home), *self._excluded)

    def stop(self) -> None:
        """Tell what was seen until now, and end."""
        try:
            self._watcher.stop()
            self.tick(last=True)
            note(self.store.db, [])
        finally:
            for one in (self._versions, self._theirs, self._trees):
                one.close()

    # -- in the watcher's thread -------------------------------------------------------------------------

    def _saw(self, flush: Flush) -> None:
        self._seen.put((flush, self._keeper.note(flush, self._looker.roots.values())))
        self.wake()

    def _read_on(self) -> float | None:
        return SPARE if self._keeper.baseline.go_on(self.now()).left else None

    def _known(self, path: str) -> str | None:
        for root in self._looker.roots.values():
            if path.startswith(root.given.rstrip("/") + "/"):
                last = self._theirs.last(root.given, os.path.relpath(path, root.given))
                return None if last is None else last.digest
        return None

    # -- in the companion's ------------------------------------------------------------------------------

    def keep_before(self, paths: Sequence[str]) -> None:
        """An agent is about to change these: keep them as they are, if that is not done already."""
        baseline = Baseline(self._versions)
        for path in paths:
            if any(inside(path, one) for one in self._excluded):
                continue
            for root in self._watcher.roots():
                if path.startswith(root.rstrip("/") + "/"):
                    baseline.keep(root, [os.path.relpath(path, root)], self.now())

    def rescan(self, why: str) -> None:
        self._watcher.rescan(why)

    def rest(self) -> None:
        """Recording is paused: nothing is watched, and what happens now is not looked for later."""
        if not self._resting:
            self._resting = True
            self._watcher.follow([])
            self.watched = []
            self._say_what_is_watched()
        self._held.clear()
        while not self._seen.empty():
            self._seen.get()

    def _rise(self) -> None:
        """It goes on: with a first look, as if nothing had been known."""
        self._resting = False
        with self.store.db.transaction():
            self.store.db.execute("DELETE FROM tree")
        self._followed = -FOLLOW_EVERY

    def tick(self, *, last: bool = False) -> float:
        """Follow the sessions at work and record what is due; in how many seconds there is more to do."""
        if self._resting and not last:
            self._rise()
        if not last and time.monotonic() - self._followed >= FOLLOW_EVERY:
            self._revive()
            self._follow()
        if not last:
            self._say_what_is_watched()
        while not self._seen.empty():
            self._held.append(self._seen.get())
        due: list[tuple[Flush, list[Noted]]] = []
        while self._held and (last or self._held[0][0].at + self.hold <= self.now()):
            due.append(self._held.popleft())
        try:
            self._tell(due)
        except BaseException:
            self._held.extendleft(reversed(due))  # to be told when the trouble is over
            raise
        if not self._held:
            return IDLE
        return max(0.05, (self._held[0][0].at + self.hold - self.now()) / 1e6)

    def _revive(self) -> None:
        """A watcher that ended over some trouble begins anew, from its checkpoint."""
        if self._watcher.failure is not None:
            self.trouble = f"the file watcher stopped ({self._watcher.failure}) and was started again"
            self._begin()

    def _follow(self) -> None:
        self._followed = time.monotonic()
        if (excluded := tuple(self.excluded())) != self._excluded:
            self._excluded = excluded
            self._looker.never = self._never()
            self._watcher.follow([])  # and again below, by the rules of now
        rows = self.store.sessions.listing(limit=SESSIONS)
        self.watched = watched_roots(
            rows, now=self.now(), user_home=self.user_home, added=self.added, excluded=excluded
        )
        wanted = sorted(one.folder for one in self.watched if one.refused is None)
        if wanted != self._watcher.roots():
            self._watcher.follow(wanted)

    def _say_what_is_watched(self) -> None:
        ways = {} if self._resting else self._watcher.ways()
        self._since = {one: self._since.get(one) or self.now() for one in ways}
        watched = [
            replace(one, how=ways[one.folder], since=self._since[one.folder])
            for one in self.watched
            if one.refused is None and one.folder in ways
        ]
        watched += [one for one in self.watched if one.refused is not None]
        if watched != self._noted:
            note(self.store.db, watched)
            self._noted = watched

    def _tell(self, due: Sequence[tuple[Flush, list[Noted]]]) -> None:
        if not due:
            return
        rows = self.store.sessions.listing(limit=SESSIONS)
        noted = [one for _, some in due for one in some]
        folders = [one for flush, _ in due for one in flush.folders]
        began = [one.sighting.earliest for one in noted] + [one.earliest for one in folders]
        since = min(began, default=0) - MINUTE
        calls = recent_calls(self.store, rows, since, user_home=self.user_home) if began else []
        places = workplaces(self.store, rows)
        others = [one for one in noted if one.version is None or not self._rewound(one.version)]
        judged = [(one, attribute(happening(one), calls, places)) for one in others]
        news = [(one, verdict) for one, verdict in judged if not verdict.told]
        chosen, rest = self._share(news)
        drafts = [draft(one, verdict) for one, verdict in chosen]
        drafts += summaries(rest, self.now())
        drafts += [
            gap(blind, flush) for flush, _ in due for blind in flush.blind if worth_telling(blind, flush)
        ]
        if any(draft.session == COMPANION for draft in drafts):
            drafts.insert(0, companion_opening())
        if drafts:
            for result in self.record(drafts):
                if result.error is not None:
                    raise result.error
        over = {(call.session, call.seq) for call in calls if call.ended is not None}
        with self._versions.db.transaction():
            for one, verdict in judged:
                # What a call did that still runs stands at its time: its own position is only its beginning.
                seq = verdict.seq if (verdict.session, verdict.seq) in over else None
                self._mark(one, verdict, seq)
            for folder in folders:
                verdict = attribute(folder_happening(folder), calls, places)
                seq = verdict.seq if (verdict.session, verdict.seq) in over else None
                FoldersSeen(self._versions).note_sighting(
                    folder.root,
                    os.path.relpath(folder.path, folder.root),
                    FolderSeen(folder.at, folder.came, verdict.by, verdict.session, seq),
                    folder.earliest,
                )

    def _rewound(self, version: int) -> bool:
        return self._versions.made_by_rewind(version)

    def _mark(self, one: Noted, verdict: Verdict, seq: int | None) -> None:
        """The versions that a change led to say whose hand it was."""
        changed, root = one.sighting.changed, one.sighting.root
        newest = NEWEST if one.version is None else one.version
        below = os.path.relpath(changed.path, root)
        self._versions.mark_told(root, below, verdict.session, seq=seq, hand=verdict.by, upto=newest)
        if changed.origin is None:
            return
        for other in {root, *self._watcher.roots()}:
            if changed.origin.startswith(other.rstrip("/") + "/"):
                left = os.path.relpath(changed.origin, other)
                self._versions.mark_told(other, left, verdict.session, seq=seq, hand=verdict.by)

    def _share(
        self, news: Sequence[tuple[Noted, Verdict]]
    ) -> tuple[list[tuple[Noted, Verdict]], list[tuple[Noted, Verdict]]]:
        """What is told one by one, and what only as counts: so many a minute, and in one folder at a time."""
        folders: Counter[str] = Counter()
        chosen, rest = [], []
        now = self.now()
        for one, verdict in news:
            folder = os.path.dirname(one.sighting.changed.path)
            full = len(self._told_at) == PER_MINUTE and now - self._told_at[0] < MINUTE
            if full or folders[folder] >= PER_FOLDER:
                rest.append((one, verdict))
                continue
            folders[folder] += 1
            self._told_at.append(now)
            chosen.append((one, verdict))
        return chosen, rest

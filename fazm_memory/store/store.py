"""The store: the encrypted database with log, hash chain and projections.

Only the log is written with every event. The search index, the counts by minute and the snapshots are
brought up to date in batches, inside the same transactions.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from fazm_memory.errors import StoreBusy, StoreDamaged, StoreFull, StoreReadOnly
from fazm_memory.paths import private_folder, write_private
from fazm_memory.records import replace
from fazm_memory.store import keys as key_store
from fazm_memory.store.database import Database
from fazm_memory.store.event_log import SEQ_MASK, EventLog, event_id
from fazm_memory.store.hash_chain import ChainHeads
from fazm_memory.store.keys import Keys
from fazm_memory.store.sessions import SessionRow, Sessions, lineage
from fazm_memory.text import plural

# Loaded when first used: listing sessions needs neither the reducer nor the index.
if TYPE_CHECKING:
    from fazm_memory.store.projections import Projections
    from fazm_memory.store.search_index import SearchIndex
    from fazm_memory.store.views import Facts, QuarantineView, Snapshots
    from fazm_memory.store.writer import Writer

STORE_FOLDER = "store.noindex"  # the suffix keeps Spotlight out
DATABASE = "memory.db"
HEADS = "heads"
RECOVERY_JOURNAL = "recovering.json"
FIRST_PAGE = "first-page"  # a copy of the page whose salt authenticates every other page
PAGE = 4096
READER_SECONDS = 0.5  # that a search waits for writers, to find what they have just recorded
FEW = 100  # events that may be unindexed when a page is shown
MANY = 20_000  # events from which on rebuilding their snapshots takes noticeable time
SECONDS_PER_EVENT = 75e-6  # of rebuilding
TITLED = "titled"  # key in the meta table: the rules by which the stored titles were made
TITLE_RULES = "2"  # of `session.title_of`; with other rules all titles are made again, once


class Store:
    """The event log of one home folder.

    `home` has `store.noindex/` and, apart from it, `keys/`.
    """

    def __init__(
        self,
        home: Path,
        *,
        key: str = "auto",
        create: bool = True,
        tell: Callable[[str], None] | None = None,
        recovering: bool = False,
    ) -> None:
        private_folder(home)
        if not recovering:
            check_no_recovery(home)
        self.home = home
        self.path = home / STORE_FOLDER / DATABASE
        self.keys: Keys = key_store.load(home / "keys", prefer=key, store_exists=self._exists())
        self.heads = ChainHeads(home / "keys" / HEADS, self.keys.chain)
        is_new = not self._exists()
        if is_new:
            self._check_never_used()
        self.db = Database(self.path, self.keys.database, create=create, tell=tell)
        if is_new:
            self.db.execute("INSERT OR IGNORE INTO meta VALUES (?,?)", (TITLED, TITLE_RULES))
        self.log = EventLog(self.db, self.keys.chain, self.heads)
        self.tell = tell
        self.as_of: int | None = None  # readers show nothing later than this time
        self._stale: list[tuple[int, str, int]] | None = None  # sessions with outdated snapshots

    @cached_property
    def sessions(self) -> Sessions:
        return Sessions(self.db)

    @cached_property
    def facts(self) -> Facts:
        from fazm_memory.store.views import Facts

        return Facts(self.db)

    @cached_property
    def search(self) -> SearchIndex:
        from fazm_memory.store.search_index import SearchIndex

        return SearchIndex(self.log)

    @cached_property
    def snapshots(self) -> Snapshots:
        from fazm_memory.store.views import Snapshots

        return Snapshots(self.log)

    @cached_property
    def quarantine_view(self) -> QuarantineView:
        from fazm_memory.store.views import QuarantineView

        return QuarantineView(self.db, self.snapshots)

    @cached_property
    def projections(self) -> Projections:
        from fazm_memory.store.projections import Projections

        return Projections(self)

    def show_as_of(self, moment: int) -> None:
        """Let readers show the store as it was at an earlier time. For reading only."""
        self.as_of = self.facts.until = moment
        self.sessions.as_of = self._row_as_of

    def _row_as_of(self, row: SessionRow) -> SessionRow | None:
        """The row of a session as it was at `as_of`, or None if it was opened later."""
        if self.as_of is None or row.last_at <= self.as_of:
            return row
        # Events may be recorded late, so that a later position has an earlier time.
        (later,) = self.db.execute(
            "SELECT min(id) FROM event WHERE id >= ? AND id <= ? AND at > ?",
            (event_id(row.n, 0), event_id(row.n, SEQ_MASK), self.as_of),
        ).fetchone()
        if later is None:
            return row
        head = later & SEQ_MASK
        if not head:
            return None
        state = self.snapshots.state_at(row.n, row.id, head)
        return replace(
            row, title=state.title, lifecycle=state.lifecycle, last_at=state.last_at, head=head,
            turn=state.turn, questions=len(state.questions), actions=state.counts.get("actions", 0),
            failures=state.counts.get("failures", 0), files_modified=state.counts.get("files_modified", 0),
        )  # fmt: skip

    def _exists(self) -> bool:
        return self.path.exists() and self.path.stat().st_size > 0

    def _check_never_used(self) -> None:
        """Refuse to make a new store where one was lost."""
        lost = sum(1 for head in self.heads.read_all()[0].values() if head.count)
        first_page = self.home / "keys" / FIRST_PAGE
        used = lost or (first_page.exists() and first_page.stat().st_size > 0)
        if used and not self._exists():  # checked last, because another process may just have made it
            recorded = plural(lost, "session") if lost else "Sessions"
            raise StoreDamaged(
                f"{self.path} is missing or empty. {recorded} had been recorded in it."
                " No new store was made.",
                hint=f"restore it from a backup, or move the folder {self.home} away to start again",
            )

    def writing(self) -> contextlib.AbstractContextManager[Writer]:
        """A transaction on the log that also keeps the projections within reach."""
        from fazm_memory.store.writer import WriteTransaction

        return WriteTransaction(self.log, self.projections.after_write, self.projections.reset)

    def index_all(self) -> int:
        """Bring all projections up to date. Return the number of events added to them."""
        with self.db.reading():
            old_titles = self._titles_are_old()
            if not self._some_wait() and not old_titles:
                return 0
        try:
            with self.db.transaction():
                if old_titles:
                    self.projections.name_again()
                    self.db.execute("INSERT OR REPLACE INTO meta VALUES (?,?)", (TITLED, TITLE_RULES))
                return self.projections.catch_up()
        except BaseException:
            self.projections.reset()
            raise

    def index_if_possible(self, seconds: float = READER_SECONDS) -> tuple[int, str]:
        """Index the waiting events if other writers leave room within this time.

        Whatever prevents it is returned and not raised. Returns how many events are left out of the index,
        and why.
        """
        try:
            with self.db.waiting_at_most(seconds):
                self.index_all()
            return 0, ""
        except StoreFull:
            why = "the disk is full"
        except StoreReadOnly:
            why = "the store is read-only"
        except StoreBusy:
            why = "other processes are writing"
        with self.db.reading():
            return self._unindexed(), why

    def index_backlog(self) -> None:
        """Index the waiting events if they are too many to read beside the index.

        Does nothing when the disk cannot be written or another process is writing.
        """
        with self.db.reading():
            waiting = self._unindexed()
        if waiting > FEW:
            with contextlib.suppress(StoreFull, StoreReadOnly, StoreBusy), self.db.waiting_at_most(0):
                self.index_all()

    def _some_wait(self) -> bool:
        """Whether events wait for the index.

        Mostly none do, and the code that indexes is not loaded.
        """
        return self.db.execute("SELECT 1 FROM waiting LIMIT 1").fetchone() is not None

    def _titles_are_old(self) -> bool:
        """Whether another version of the rules made titles from requests, or no one knows."""
        row = self.db.execute("SELECT value FROM meta WHERE key=?", (TITLED,)).fetchone()
        return row is None or row[0] != TITLE_RULES

    def _unindexed(self) -> int:
        if not self._some_wait():
            return 0
        return sum(head - indexed for _, _, head, indexed, _ in self.projections.behind())

    def rebuild_snapshots(self, row: SessionRow, at: int) -> None:
        """Rebuild snapshots of a session and its ancestors that an older version made.

        Each snapshot is a transaction of its own, so that other processes can write meanwhile.
        """
        if self.db.read_only:
            return
        family = lineage(self.sessions, row, at)[::-1]
        if not any(self.snapshots.missing(member.n, position) for member, position in family):
            return
        stale = [entry for member, _ in family for entry in self.snapshots.stale(member.n)]
        events = sum(count for _, _, count in stale)
        if self.tell is not None and events >= MANY:
            about = plural(max(1, round(events * SECONDS_PER_EVENT)), "second")
            self.tell(
                f"note: session {row.id[:8]} is read once for this version"
                f" ({plural(events, 'event')}). This may take about {about}."
            )
        for number, session, _ in stale:
            while self._rebuild_one(number, session):
                pass
        if self.snapshots.missing(row.n, at):  # it had no snapshots at all
            with self.db.transaction():
                self.snapshots.catch_up(row.n, row.id, row.head, 0)

    def rebuild_one_snapshot(self) -> bool:
        """Rebuild one stale snapshot of any session. Return whether more may be left.

        Called when the companion is idle.
        """
        if self._stale is None:
            with self.db.reading():
                self._stale = self.snapshots.stale()
        if self._stale and not self._rebuild_one(*self._stale[0][:2]):
            del self._stale[0]
        return bool(self._stale)

    def _rebuild_one(self, number: int, session: str) -> bool:
        with self.db.transaction():
            return self.snapshots.rebuild_one(number, session)

    def snapshot_heads(self, rows: Iterable[SessionRow]) -> None:
        """Make the present state of these sessions cheap to read, now and next time."""
        rows = [] if self.db.read_only else list(rows)
        for row in rows:
            self.rebuild_snapshots(row, row.head)
        far = [row for row in rows if self.snapshots.far_behind(row.n, row.head)]
        if not far:
            return
        with self.db.transaction():
            for row in far:
                self.snapshots.save_head(row.n, row.id, row.head)

    def size(self) -> int:
        """Bytes on disk: the database and its write-ahead log."""
        parts = (self.path, self.path.with_name(self.path.name + "-wal"))
        return sum(part.stat().st_size for part in parts if part.exists())

    def close(self) -> None:
        self.heads.close()
        self.db.close()
        if self.heads.exists():  # a store that was never used leaves no trace of use
            copy_first_page(self.path, self.home / "keys" / FIRST_PAGE)


def check_no_recovery(home: Path) -> None:
    """Refuse to open a database that an unfinished recovery has moved away."""
    if (home / RECOVERY_JOURNAL).exists():
        from fazm_memory.store.recovery import check_finished  # rarely needed

        check_finished(home)


def copy_first_page(database: Path, copy: Path) -> None:
    """Copy the encrypted first page beside the key.

    Recovery needs its salt to authenticate pages. Not synced, because an older copy has the same salt. A full
    disk, or a store that was moved away meanwhile, does not make closing fail.
    """
    with contextlib.suppress(StoreFull, StoreReadOnly, FileNotFoundError):
        if copy.exists() and copy.stat().st_mtime_ns >= database.stat().st_mtime_ns:
            return
        with database.open("rb") as file:
            page = file.read(PAGE)
        write_private(copy, page, sync=False)

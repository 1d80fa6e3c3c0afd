"""The store: the encrypted database with its log, chain, snapshots and index, opened as one.

Projections that are cheaper in batches (the full-text index, snapshots) follow the log inside the same
transactions, but only when enough has gathered; whoever needs them current catches them up.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from pathlib import Path

from fazm_memory.errors import StoreBusy, StoreDamaged, StoreFull, StoreReadOnly
from fazm_memory.log import keys as key_store
from fazm_memory.log.chain import Heads
from fazm_memory.log.database import Database
from fazm_memory.log.eventlog import EventLog
from fazm_memory.log.facts import Facts
from fazm_memory.log.follow import Follower
from fazm_memory.log.journal import check_finished
from fazm_memory.log.keys import Keys
from fazm_memory.log.paths import lineage
from fazm_memory.log.recount import recount
from fazm_memory.log.search import SearchIndex
from fazm_memory.log.sessions import SessionRow, Sessions
from fazm_memory.log.snapshots import Snapshots
from fazm_memory.log.ward import Ward
from fazm_memory.log.writer import Writer
from fazm_memory.model.counting import plural
from fazm_memory.private import private_folder, write_private

STORE_FOLDER = "store.noindex"  # the suffix keeps Spotlight out
DATABASE = "memory.db"
HEADS = "heads"
FIRST_PAGE = "first-page"  # a copy of the page whose salt every other page is proved with
PAGE = 4096
FEW = 100  # events that may wait while somebody looks
MANY = 20_000  # events from which on folding them anew is announced: below that it takes a moment
SECONDS_PER_EVENT = 75e-6  # of folding anew


class Store:
    """Everything durable. `home` holds `store.noindex/` and, apart from it, `keys/`."""

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
            check_finished(home)
        self.home = home
        self.path = home / STORE_FOLDER / DATABASE
        self.keys: Keys = key_store.load(home / "keys", prefer=key, store_exists=self._exists())
        self.heads = Heads(home / "keys" / HEADS, self.keys.chain)
        if not self._exists():
            self._check_never_used()
        self.db = Database(self.path, self.keys.database, create=create, tell=tell)
        self.log = EventLog(self.db, self.keys.chain, self.heads)
        self.snapshots = Snapshots(self.log)
        self.ward = Ward(self.db, self.snapshots)
        self.search = SearchIndex(self.log)
        self.follower = Follower(self.log, self.search, self.snapshots)
        self.sessions = Sessions(self.db)
        self.tell = tell
        self._stale: list[tuple[int, str, int]] | None = None  # sessions with snapshots of an older fold
        self.facts = Facts(self.db)

    def _exists(self) -> bool:
        return self.path.exists() and self.path.stat().st_size > 0

    def _check_never_used(self) -> None:
        """A store that was lost must not look like one that is new."""
        lost = sum(1 for head in self.heads.read_all()[0].values() if head.count)
        spare = self.home / "keys" / FIRST_PAGE
        used = lost or (spare.exists() and spare.stat().st_size > 0)
        if used and not self._exists():  # looked at last: another process may just have made it
            told = f"{lost or 'some'} session{' was' if lost == 1 else 's were'} recorded in it"
            raise StoreDamaged(
                f"{self.path} is missing or empty, but {told}; no new store was made",
                hint=f"restore it from a backup, or move the folder {self.home} away to begin anew",
            )

    def writing(self) -> contextlib.AbstractContextManager[Writer]:
        """A transaction on the log, with its projections kept within reach."""
        return self.log.writing(self._after, self.follower.let_go)

    def _after(self, writer: Writer) -> None:
        self.follower.after(writer)
        if writer.changed or writer.asked:
            recount(writer, self.snapshots)

    def index_all(self) -> int:
        """Bring what follows in batches up to the log; how many events it took in."""
        with self.db.reading():
            if not self.follower.behind():
                return 0
        try:
            with self.db.transaction():
                return self.follower.catch_up()
        except BaseException:
            self.follower.let_go()
            raise

    def take_in(self) -> int:
        """The same for those who only look, whom a full disk does not keep from it: how many of the newest
        events it left out."""
        with contextlib.suppress(StoreFull):
            self.index_all()
            return 0
        with self.db.reading():
            return sum(head - indexed for _, _, head, indexed, _ in self.follower.behind())

    def take_in_much(self) -> None:
        """Take in what waits, if it is more than is cheap to read beside the rest at every look. A disk that
        cannot be written just now, or another that writes, keeps nobody from looking."""
        with self.db.reading():
            waiting = sum(head - indexed for _, _, head, indexed, _ in self.follower.behind())
        if waiting > FEW:
            with contextlib.suppress(StoreFull, StoreReadOnly, StoreBusy), self.db.at_once():
                self.index_all()

    def renew(self, row: SessionRow, at: int) -> None:
        """Make the snapshots of a session anew when those it has are of an older fold, once. Others may write
        meanwhile, and who waits is told when it takes more than a moment."""
        family = lineage(self.sessions, row, at)[::-1]
        if not any(self.snapshots.lost(one.n, position) for one, position in family):
            return
        waiting = [stale for one, _ in family for stale in self.snapshots.stale(one.n)]
        events = sum(count for _, _, count in waiting)
        if self.tell is not None and events >= MANY:
            about = plural(max(1, round(events * SECONDS_PER_EVENT)), "second")
            self.tell(
                f"note: session {row.id[:8]} is read through once for this version:"
                f" {plural(events, 'event')}; this may take about {about}"
            )
        for number, session, _ in waiting:
            while self._renewed(number, session):
                pass
        if self.snapshots.lost(row.n, at):  # none were kept at all
            with self.db.transaction():
                self.snapshots.catch_up(row.n, row.id, row.head, 0)

    def renew_one(self) -> bool:
        """One step of the same for any session, by whoever has time; whether more may be left."""
        if self._stale is None:
            with self.db.reading():
                self._stale = self.snapshots.stale()
        if self._stale and not self._renewed(*self._stale[0][:2]):
            del self._stale[0]
        return bool(self._stale)

    def _renewed(self, number: int, session: str) -> bool:
        with self.db.transaction():
            return self.snapshots.renew_one(number, session)

    def keep_heads(self, rows: Iterable[SessionRow]) -> None:
        """Make the present state of these sessions cheap to read, now and next time."""
        rows = list(rows)
        for row in rows:
            self.renew(row, row.head)
        far = [row for row in rows if self.snapshots.far_behind(row.n, row.head)]
        if not far:
            return
        with self.db.transaction():
            for row in far:
                self.snapshots.keep_head(row.n, row.id, row.head)

    def size(self) -> int:
        """Bytes on disk: the database and its write-ahead log."""
        parts = (self.path, self.path.with_name(self.path.name + "-wal"))
        return sum(part.stat().st_size for part in parts if part.exists())

    def close(self) -> None:
        self.heads.close()
        self.db.close()
        if self.heads.exists():  # a store that was never used leaves nothing that says it was
            keep_first_page(self.path, self.home / "keys" / FIRST_PAGE)


def keep_first_page(database: Path, copy: Path) -> None:
    """Copy the first page, encrypted as it is, beside the key: without its salt no page can be proved.

    Not synced: it is a spare, and an older one has the same salt. So a full disk, or a store that was moved
    away meanwhile, is no reason to fail in closing.
    """
    with contextlib.suppress(StoreFull, StoreReadOnly, FileNotFoundError):
        if copy.exists() and copy.stat().st_mtime_ns >= database.stat().st_mtime_ns:
            return
        with database.open("rb") as file:
            page = file.read(PAGE)
        write_private(copy, page, sync=False)

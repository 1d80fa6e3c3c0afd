"""The store: the encrypted database with its log, chain, snapshots and index, opened as one.

Projections that are cheaper in batches (the full-text index, snapshots) follow the log inside the same
transactions, but only when enough has gathered; whoever needs them current catches them up.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from fazm_memory.log import keys as key_store
from fazm_memory.log.chain import Heads
from fazm_memory.log.database import Database
from fazm_memory.log.eventlog import EventLog, Writer
from fazm_memory.log.keys import Keys
from fazm_memory.log.search import SearchIndex
from fazm_memory.log.sessions import Sessions
from fazm_memory.log.snapshots import SPACING, Snapshots
from fazm_memory.private import private_folder, write_private

INDEX_AFTER = 64  # events of a session that may wait for the full-text index
STORE_FOLDER = "store.noindex"  # the suffix keeps Spotlight out
DATABASE = "memory.db"
HEADS = "heads"
FIRST_PAGE = "first-page"  # a copy of the page without which no other can be found
PAGE = 4096


class Store:
    """Everything durable. `home` holds `store.noindex/` and, apart from it, `keys/`."""

    def __init__(self, home: Path, *, key: str = "auto", create: bool = True) -> None:
        private_folder(home)
        self.home = home
        self.path = home / STORE_FOLDER / DATABASE
        exists = self.path.exists() and self.path.stat().st_size > 0
        self.keys: Keys = key_store.load(home / "keys", prefer=key, store_exists=exists)
        self.db = Database(self.path, self.keys.database, create=create)
        self.heads = Heads(home / "keys" / HEADS, self.keys.chain)
        self.log = EventLog(self.db, self.keys.chain, self.heads)
        self.snapshots = Snapshots(self.log)
        self.search = SearchIndex(self.log)
        self.sessions = Sessions(self.db)

    @contextlib.contextmanager
    def writing(self) -> Iterator[Writer]:
        """A transaction on the log, with its projections kept within reach."""
        with self.log.writing() as writer:
            yield writer
            writer.flush()
            self._follow(writer)

    def _follow(self, writer: Writer) -> None:
        for head in writer.heads.values():
            if head.head - head.indexed >= INDEX_AFTER:
                fresh = writer.events.get(head.n, [])
                if fresh and fresh[0].seq == head.indexed:  # all that waits is in hand: no need to read it
                    self.search.add(head.n, fresh)
                    self.db.execute("UPDATE session SET indexed=? WHERE n=?", (head.head, head.n))
                else:
                    self.search.catch_up(head.n, head.id, head.head, head.indexed)
                head.indexed = head.head
            if head.head - head.snapped >= SPACING:
                head.snapped = self.snapshots.catch_up(head.n, head.id, head.head, head.snapped)

    def index_all(self) -> int:
        """Bring the full-text index up to the log; how many events it took in."""
        with self.db.reading():
            waiting = self.search.behind()
        if not waiting:
            return 0
        taken = 0
        with self.db.transaction():
            for number, session, head, indexed in self.search.behind():
                self.search.catch_up(number, session, head, indexed)
                taken += head - indexed
        return taken

    def size(self) -> int:
        """Bytes on disk: the database and its write-ahead log."""
        parts = (self.path, self.path.with_name(self.path.name + "-wal"))
        return sum(part.stat().st_size for part in parts if part.exists())

    def close(self) -> None:
        self.heads.close()
        self.db.close()
        keep_first_page(self.path, self.home / "keys" / FIRST_PAGE)


def keep_first_page(database: Path, copy: Path) -> None:
    """Copy the first page, encrypted as it is, beside the key: without it no other page can be found.

    Not synced: it is a spare, and an older one still leads to all but the newest pages.
    """
    if copy.exists() and copy.stat().st_mtime_ns >= database.stat().st_mtime_ns:
        return
    with database.open("rb") as file:
        page = file.read(PAGE)
    write_private(copy, page, sync=False)

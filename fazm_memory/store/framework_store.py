"""Data of agent frameworks, such as checkpoints, returned exactly as stored.

It is in a database of its own, encrypted with the same key. It is not redacted, since a changed checkpoint
is useless; so it is never indexed, exported or shown to a model. Forgetting deletes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from fazm_memory.records import dataclass
from fazm_memory.store.database import Database, compress, decompress
from fazm_memory.store.store import STORE_FOLDER, check_no_recovery
from fazm_memory.text import TextMatch

DATABASE = "drawer.db"
LAST = "\U0010ffff"  # sorts after every name that begins alike

STEP_1 = """
CREATE TABLE item (
    n INTEGER PRIMARY KEY AUTOINCREMENT, shelf TEXT NOT NULL, owner TEXT NOT NULL, name TEXT,
    at INTEGER NOT NULL, data BLOB NOT NULL);
CREATE UNIQUE INDEX item_name ON item (shelf, owner, name) WHERE name IS NOT NULL;
CREATE INDEX item_owner ON item (shelf, owner, n)
"""
STEPS = (STEP_1,)


@dataclass(frozen=True, slots=True)
class FrameworkItem:
    """A stored item: its order, its name if it has one, its time and its bytes."""

    n: int
    owner: str
    name: str | None
    at: int
    data: bytes


class FrameworkStore:
    """Items by shelf (adapter), owner (session) and, if they have one, name."""

    def __init__(self, home: Path, key: str, now: Callable[[], int]) -> None:
        check_no_recovery(home)
        self.db = Database(home / STORE_FOLDER / DATABASE, key, steps=STEPS)
        self.now = now

    def close(self) -> None:
        self.db.close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """A transaction, or the present one if there is one."""
        if self.db.writing:
            yield
            return
        with self.db.transaction():
            yield

    def add(self, shelf: str, owner: str, items: Iterable[tuple[str | None, bytes]]) -> int:
        """Append items, except those whose names exist. Return how many were new."""
        at = self.now()
        with self.writing():
            return sum(
                self.db.execute(
                    "INSERT OR IGNORE INTO item (shelf, owner, name, at, data) VALUES (?,?,?,?,?)",
                    (shelf, owner, name, at, compress(data)),
                ).rowcount
                for name, data in items
            )

    def put(self, shelf: str, owner: str, name: str, data: bytes) -> None:
        """Store an item under a name, replacing the one there."""
        with self.writing():
            self.db.execute(
                "INSERT INTO item (shelf, owner, name, at, data) VALUES (?,?,?,?,?)"
                " ON CONFLICT (shelf, owner, name) WHERE name IS NOT NULL"
                " DO UPDATE SET at=excluded.at, data=excluded.data",
                (shelf, owner, name, self.now(), compress(data)),
            )

    def get(self, shelf: str, owner: str, name: str) -> bytes | None:
        found = self._items("shelf=? AND owner=? AND name=?", (shelf, owner, name))
        return found[0].data if found else None

    def items(self, shelf: str, owner: str, *, last: int | None = None) -> list[FrameworkItem]:
        """Items in the order of storing; with `last` only that many from the end."""
        where, values = "shelf=? AND owner=?", (shelf, owner)
        if last is None:
            return self._items(f"{where} ORDER BY n", values)
        return self._items(f"{where} ORDER BY n DESC LIMIT ?", (*values, max(0, last)))[::-1]

    def named(self, shelf: str, owner: str, start: str, *, last: bool = False) -> list[FrameworkItem]:
        """Items whose name begins so, by name; with `last` only the last of them."""
        order = "DESC LIMIT 1" if last else ""
        return self._items(
            f"shelf=? AND owner=? AND name>=? AND name<? ORDER BY name {order}",
            (shelf, owner, start, start + LAST),
        )

    def owners(self, shelf: str, start: str = "") -> dict[str, int]:
        """The owners of items on a shelf, with the time of their last item."""
        rows = self.db.execute(
            "SELECT owner, max(at) FROM item WHERE shelf=? AND owner>=? AND owner<? GROUP BY owner",
            (shelf, start, start + LAST),
        ).fetchall()
        return dict(rows)

    def pop(self, shelf: str, owner: str) -> FrameworkItem | None:
        """Remove and return the last item."""
        with self.writing():
            found = self.items(shelf, owner, last=1)
            if not found:
                return None
            self.db.execute("DELETE FROM item WHERE n=?", (found[0].n,))
            return found[0]

    def remove(self, shelf: str, owner: str, names: Iterable[str] | None = None) -> None:
        """Remove an owner's items, or only those with these names."""
        with self.writing():
            if names is None:
                self.db.execute("DELETE FROM item WHERE shelf=? AND owner=?", (shelf, owner))
            else:
                self.db.executemany(
                    "DELETE FROM item WHERE shelf=? AND owner=? AND name=?",
                    [(shelf, owner, name) for name in names],
                )

    def forget(self, sessions: Iterable[str]) -> int:
        """Delete all items of these sessions, also from free pages.

        Return how many there were.
        """
        wanted = {owner_of(session) for session in sessions}
        with self.writing():
            gone = sum(
                self.db.execute(
                    "DELETE FROM item WHERE owner=? OR (owner>=? AND owner<?)",
                    (owner, f"{owner}/", f"{owner}/{LAST}"),
                ).rowcount
                for owner in wanted
            )
        if gone:
            self.db.execute("VACUUM")
            self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        return int(gone)

    def sessions_with_text(self, match: TextMatch) -> set[str]:
        """The sessions with an item that has a text."""
        rows = self.db.execute("SELECT owner, name, data FROM item")
        return {
            parts_of(owner)[0]
            for owner, name, data in rows
            if match.in_text(f"{unquote(owner)} {name or ''}") or match.in_bytes(decompress(data))
        }

    def count(self, sessions: Iterable[str]) -> int:
        """How many items these sessions have."""
        query = "SELECT count(*) FROM item WHERE owner=? OR (owner>=? AND owner<?)"
        owners = {owner_of(session) for session in sessions}
        return sum(
            self.db.execute(query, (owner, f"{owner}/", f"{owner}/{LAST}")).fetchone()[0] for owner in owners
        )

    def _items(self, where: str, values: tuple[Any, ...]) -> list[FrameworkItem]:
        rows = self.db.execute(f"SELECT n, owner, name, at, data FROM item WHERE {where}", values).fetchall()
        return [FrameworkItem(n, owner, name, at, decompress(data)) for n, owner, name, at, data in rows]


def owner_of(session: str, *parts: str) -> str:
    """The owner name of a session and parts of it.

    Different parts never give the same name.
    """
    return "/".join(quote(part, safe="", errors="surrogatepass") for part in (session, *parts))


def parts_of(owner: str) -> list[str]:
    return [unquote(part, errors="surrogatepass") for part in owner.split("/")]


def framework_store_exists(home: Path) -> bool:
    """Whether anything was ever stored here."""
    return (home / STORE_FOLDER / DATABASE).exists()

"""The drawer: what a program leaves here to get back exactly as it was, such as a framework's checkpoints.

In a database of its own, encrypted with the same key. Nothing in it is scrubbed, since a checkpoint that
comes back changed is none; so nothing in it is indexed, exported or shown to a model. Forgetting reaches it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

import zstandard

from fazm_memory.log.database import Database
from fazm_memory.log.journal import check_finished
from fazm_memory.log.store import STORE_FOLDER

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

_compressor = zstandard.ZstdCompressor(level=3)
_decompressor = zstandard.ZstdDecompressor()


@dataclass(frozen=True, slots=True)
class Item:
    """Something that was left: its place in the order, its name if it has one, since when, and its bytes."""

    n: int
    owner: str
    name: str | None
    at: int
    data: bytes


class Drawer:
    """Items by shelf (which adapter), owner (whose session) and, if they have one, name."""

    def __init__(self, home: Path, key: str, now: Callable[[], int]) -> None:
        check_finished(home)
        self.db = Database(home / STORE_FOLDER / DATABASE, key, steps=STEPS)
        self.now = now

    def close(self) -> None:
        self.db.close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """All of it or nothing; also what is read in between is nobody else's to change."""
        if self.db.writing:
            yield
            return
        with self.db.transaction():
            yield

    def add(self, shelf: str, owner: str, items: Iterable[tuple[str | None, bytes]]) -> int:
        """Lay items behind those there are, passing over names that are there already. How many were new."""
        at = self.now()
        with self.writing():
            return sum(
                self.db.execute(
                    "INSERT OR IGNORE INTO item (shelf, owner, name, at, data) VALUES (?,?,?,?,?)",
                    (shelf, owner, name, at, _compressor.compress(data)),
                ).rowcount
                for name, data in items
            )

    def put(self, shelf: str, owner: str, name: str, data: bytes) -> None:
        """Lay an item under a name, in the place of what was there."""
        with self.writing():
            self.db.execute(
                "INSERT INTO item (shelf, owner, name, at, data) VALUES (?,?,?,?,?)"
                " ON CONFLICT (shelf, owner, name) WHERE name IS NOT NULL"
                " DO UPDATE SET at=excluded.at, data=excluded.data",
                (shelf, owner, name, self.now(), _compressor.compress(data)),
            )

    def get(self, shelf: str, owner: str, name: str) -> bytes | None:
        found = self._items("shelf=? AND owner=? AND name=?", (shelf, owner, name))
        return found[0].data if found else None

    def items(self, shelf: str, owner: str, *, last: int | None = None) -> list[Item]:
        """In the order in which they were laid; with `last` only that many, from the end."""
        where, values = "shelf=? AND owner=?", (shelf, owner)
        if last is None:
            return self._items(f"{where} ORDER BY n", values)
        return self._items(f"{where} ORDER BY n DESC LIMIT ?", (*values, max(0, last)))[::-1]

    def named(self, shelf: str, owner: str, start: str, *, last: bool = False) -> list[Item]:
        """Those whose name begins so, by name; with `last` only the one whose name sorts last."""
        order = "DESC LIMIT 1" if last else ""
        return self._items(
            f"shelf=? AND owner=? AND name>=? AND name<? ORDER BY name {order}",
            (shelf, owner, start, start + LAST),
        )

    def owners(self, shelf: str, start: str = "") -> dict[str, int]:
        """Whose items lie on a shelf, and when the last of each was laid."""
        rows = self.db.execute(
            "SELECT owner, max(at) FROM item WHERE shelf=? AND owner>=? AND owner<? GROUP BY owner",
            (shelf, start, start + LAST),
        ).fetchall()
        return dict(rows)

    def pop(self, shelf: str, owner: str) -> Item | None:
        """Take the last item away."""
        with self.writing():
            found = self.items(shelf, owner, last=1)
            if not found:
                return None
            self.db.execute("DELETE FROM item WHERE n=?", (found[0].n,))
            return found[0]

    def remove(self, shelf: str, owner: str, names: Iterable[str] | None = None) -> None:
        """Take away what somebody left, or only what is under these names."""
        with self.writing():
            if names is None:
                self.db.execute("DELETE FROM item WHERE shelf=? AND owner=?", (shelf, owner))
            else:
                self.db.executemany(
                    "DELETE FROM item WHERE shelf=? AND owner=? AND name=?",
                    [(shelf, owner, name) for name in names],
                )

    def forget(self, sessions: Iterable[str]) -> int:
        """Take away all that these sessions have left on any shelf, out of the free pages too; how much."""
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

    def _items(self, where: str, values: tuple[Any, ...]) -> list[Item]:
        rows = self.db.execute(f"SELECT n, owner, name, at, data FROM item WHERE {where}", values).fetchall()
        return [Item(n, owner, name, at, _decompressor.decompress(data)) for n, owner, name, at, data in rows]


def owner_of(session: str, *parts: str) -> str:
    """An owner: a session by the agent's own name of it, and parts of it. No name can pass for two."""
    return "/".join(quote(part, safe="", errors="surrogatepass") for part in (session, *parts))


def parts_of(owner: str) -> list[str]:
    return [unquote(part, errors="surrogatepass") for part in owner.split("/")]


def drawer_exists(home: Path) -> bool:
    """Whether anything was ever left here."""
    return (home / STORE_FOLDER / DATABASE).exists()

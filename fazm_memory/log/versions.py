"""Versions of files, before and after an agent changed them: what rewinding restores from.

In a database of their own, encrypted with the same key, because they are large and may be let go while the
log may not. Content is kept once however many versions hold it. What was not kept says why: too large, not
a plain file, changed while it was read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zstandard

from fazm_memory.log.database import Database
from fazm_memory.log.journal import check_finished
from fazm_memory.log.letting_go import LettingGo
from fazm_memory.log.store import STORE_FOLDER

DATABASE = "versions.db"
FILE_CAP = 4 << 20
TOTAL_CAP = 1 << 30
NEWEST = 1 << 62
ABSENT = "absent"  # the reason of a version that says: there was no file
BITS = 0o777  # of a mode what is kept: never set-user-id or its like
Given = tuple[str, int, bytes | str, str, int | None]  # path, from when, content or reason, mark, mode

STEP_1 = """
CREATE TABLE blob (digest TEXT PRIMARY KEY, size INTEGER NOT NULL, data BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE version (
    id INTEGER PRIMARY KEY, root TEXT NOT NULL, path TEXT NOT NULL, at INTEGER NOT NULL, session TEXT,
    digest TEXT, reason TEXT, mark TEXT NOT NULL, told INTEGER NOT NULL DEFAULT 0);
CREATE INDEX version_path ON version (root, path, at);
CREATE INDEX version_digest ON version (digest) WHERE digest IS NOT NULL;
CREATE INDEX version_at ON version (at);
CREATE TABLE total (only INTEGER PRIMARY KEY CHECK (only = 1), bytes INTEGER NOT NULL);
INSERT INTO total VALUES (1, 0)
"""
# Whose hand a version is of and at which position of its session, and what rewinds of files have done.
STEP_2 = """
ALTER TABLE version ADD COLUMN seq INTEGER;
ALTER TABLE version ADD COLUMN hand TEXT;
CREATE TABLE restore (
    id INTEGER PRIMARY KEY, session TEXT NOT NULL, root TEXT NOT NULL, stage TEXT NOT NULL,
    began INTEGER NOT NULL, ended INTEGER, told TEXT NOT NULL);
CREATE INDEX restore_session ON restore (session, id)
"""
# The bits a file had. The mark, which ends in its mode, told them all along for plain files: those it had
# when it was last seen with that content. And the folders that came and went, and by whose hand.
STEP_3 = """
ALTER TABLE version ADD COLUMN mode INTEGER;
UPDATE version SET mode = CAST(substr(mark, length(rtrim(mark, '0123456789')) + 1) AS INTEGER) & 511
    WHERE CAST(substr(mark, length(rtrim(mark, '0123456789')) + 1) AS INTEGER) & 61440 = 32768;
CREATE TABLE folder (
    id INTEGER PRIMARY KEY, root TEXT NOT NULL, path TEXT NOT NULL, at INTEGER NOT NULL,
    came INTEGER NOT NULL, session TEXT, seq INTEGER, hand TEXT NOT NULL);
CREATE INDEX folder_path ON folder (root, path)
"""
STEPS = (STEP_1, STEP_2, STEP_3)

_compressor = zstandard.ZstdCompressor(level=3)
_decompressor = zstandard.ZstdDecompressor()


@dataclass(frozen=True, slots=True)
class Version:
    """What a file held from `at` on: the digest of its content, or why that was not kept.

    `mark` is the state of the file (its size, times and inode) that the content belongs to, `mode` the bits
    of who may read, write and run it, where they are known.
    """

    root: str
    path: str
    at: int
    digest: str | None
    reason: str | None = None
    mark: str = ""
    session: str | None = None
    told: bool = False
    seq: int | None = None  # the call of that session which made it, once it is known
    hand: str | None = None  # agent, person, unknown or rewind, once it is told
    id: int = 0
    mode: int | None = None

    @property
    def absent(self) -> bool:
        return self.reason == ABSENT


WRITTEN = "root, path, at, digest, reason, mark, session, told"
COLUMNS = f"{WRITTEN}, seq, hand, id, mode"


def _version(row: tuple[Any, ...]) -> Version:
    root, path, at, digest, reason, mark, session, told, seq, hand, id_, mode = row
    return Version(root, path, at, digest, reason, mark, session, bool(told), seq, hand, id_, mode)


def _held_on(last: Version, at: int, mode: int | None) -> bool:
    """Whether a file that holds what it held also has the bits it had: then it is the same version.

    Where they were not known, those of now are those of then only if nothing happened to it since.
    """
    return mode is None or last.mode == mode or (last.mode is None and at <= last.at)


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


class Versions(LettingGo):
    def __init__(self, home: Path, key: str, *, cap: int = TOTAL_CAP) -> None:
        check_finished(home)
        self.db = Database(home / STORE_FOLDER / DATABASE, key, steps=STEPS)
        self.cap = cap

    def close(self) -> None:
        self.db.close()

    def keep(
        self, root: str, path: str, at: int, given: bytes | str, *, mark: str = "", mode: int | None = None
    ) -> Version:
        """Keep what a file holds from `at` on, or (text) the reason why it is not kept."""
        with self.db.transaction():
            return self._keep(root, path, at, given, mark, mode)

    def keep_all(self, root: str, given: Iterable[Given]) -> list[Version]:
        """Many of one root at once."""
        with self.db.transaction():
            kept = [self._keep(root, *one) for one in given]
            self._make_room()
        return kept

    def keep_within(
        self, root: str, path: str, at: int, given: bytes | str, mark: str = "", mode: int | None = None
    ) -> Version:
        """The same for one, within a transaction of whoever calls."""
        return self._keep(root, path, at, given, mark, mode)

    def _keep(
        self, root: str, path: str, at: int, given: bytes | str, mark: str = "", mode: int | None = None
    ) -> Version:
        mode = None if mode is None else mode & BITS
        digest, reason = self._blob(given) if isinstance(given, bytes) else (None, given)
        last = self.last(root, path)
        if last is not None and (last.digest, last.reason) == (digest, reason) and _held_on(last, at, mode):
            # The same content again, such as after a touch: it held all along, and only its mark is new.
            self.db.execute(
                "UPDATE version SET mark=?, mode=coalesce(?, mode) WHERE id=?", (mark, mode, last.id)
            )
            return last
        if last is not None:
            at = max(at, last.at)
        self.db.execute(
            f"INSERT INTO version ({WRITTEN}, mode) VALUES (?,?,?,?,?,?,?,?,?)",
            (root, path, at, digest, reason, mark, None, 0, mode),
        )
        return Version(root, path, at, digest, reason, mark, mode=mode)

    def _blob(self, data: bytes) -> tuple[str | None, str | None]:
        """The digest under which a content is kept, or why it is not."""
        if len(data) > FILE_CAP:
            return None, too_large(len(data))
        digest = digest_of(data)
        if self.db.execute("SELECT 1 FROM blob WHERE digest=?", (digest,)).fetchone() is None:
            packed = _compressor.compress(data)
            self.db.execute("INSERT INTO blob VALUES (?,?,?)", (digest, len(data), packed))
            self.db.execute("UPDATE total SET bytes = bytes + ?", (len(packed),))
        return digest, None

    def tell(self, root: str, path: str, session: str | None) -> None:
        """The log has the change that led to the last version of this file, in this session."""
        with self.db.transaction():
            self.mark_told(root, path, session)

    def mark_told(
        self,
        root: str,
        path: str,
        session: str | None,
        *,
        seq: int | None = None,
        hand: str | None = None,
        upto: int = NEWEST,
    ) -> None:
        """The same, within a transaction for many, with the call and the hand that made the last version, or
        the last one `upto` a number. What a rewind made is known already."""
        self.db.execute(
            "UPDATE version SET told=1, session=?, seq=?, hand=? WHERE hand IS NOT 'rewind' AND id="
            "(SELECT max(id) FROM version WHERE root=? AND path=? AND id<=?)",
            (session, seq, hand, root, path, upto),
        )

    def made_by_rewind(self, version: int) -> bool:
        row = self.db.execute("SELECT hand FROM version WHERE id=?", (version,)).fetchone()
        return row is not None and row[0] == "rewind"

    def roots_around(self, folder: str) -> list[str]:
        """Roots that this folder is, lies in or holds."""
        inside = f"{folder.rstrip('/')}/"
        rows = self.db.execute("SELECT DISTINCT root FROM version").fetchall()
        return [
            root for (root,) in rows if root == folder or root.startswith(inside)
            or folder.startswith(f"{root.rstrip('/')}/")
        ]  # fmt: skip

    def changed_since(self, root: str, moment: int) -> list[str]:
        """Files of a root with a version since a moment."""
        rows = self.db.execute("SELECT DISTINCT path FROM version WHERE at>=? AND root=?", (moment, root))
        return [row[0] for row in rows.fetchall()]

    def history(self, root: str, path: str | None = None) -> list[Version]:
        """Every version of a file, or of all files of a root, oldest first."""
        where, values = ("root=?", (root,)) if path is None else ("root=? AND path=?", (root, path))
        rows = self.db.execute(f"SELECT {COLUMNS} FROM version WHERE {where} ORDER BY id", values)
        return [_version(row) for row in rows.fetchall()]

    def history_below(self, root: str, folder: str) -> list[Version]:
        """Every version of the files below a folder of a root, oldest first."""
        rows = self.db.execute(
            f"SELECT {COLUMNS} FROM version WHERE root=? AND path>=? AND path<? ORDER BY id",
            (root, f"{folder}/", f"{folder}0"),
        )
        return [_version(row) for row in rows.fetchall()]

    def last(self, root: str, path: str) -> Version | None:
        return self._one("root=? AND path=? ORDER BY id DESC LIMIT 1", (root, path))

    def at(self, root: str, path: str, moment: int) -> Version | None:
        """What the file held at a moment; None when nothing is known of it as early as that."""
        return self._one("root=? AND path=? AND at<=? ORDER BY id DESC LIMIT 1", (root, path, moment))

    def _one(self, where: str, values: tuple[object, ...]) -> Version | None:
        row = self.db.execute(f"SELECT {COLUMNS} FROM version WHERE {where}", values).fetchone()
        return None if row is None else _version(row)

    def histories(self, paths: Iterable[str]) -> Iterator[Version]:
        """Every version of these files, named by their whole paths, each file's oldest first."""
        for root, own in self._by_root(paths):
            for path in own:
                rows = self.db.execute(
                    f"SELECT {COLUMNS} FROM version WHERE root=? AND path=? ORDER BY id", (root, path)
                )
                yield from map(_version, rows.fetchall())

    def manifest(self, root: str, moment: int) -> dict[str, Version]:
        """Every file that a root held at a moment, as far as it is known; absent files are not in it."""
        rows = self.db.execute(
            f"SELECT {COLUMNS} FROM version WHERE id IN"
            " (SELECT max(id) FROM version WHERE root=? AND at<=? GROUP BY path)",
            (root, moment),
        ).fetchall()
        found = map(_version, rows)
        return {one.path: one for one in found if not one.absent}

    def marks(self, root: str) -> dict[str, str]:
        """The mark of the last version of every file of a root that is known: what need not be read again."""
        rows = self.db.execute(
            "SELECT path, mark FROM version WHERE id IN"
            " (SELECT max(id) FROM version WHERE root=? GROUP BY path)",
            (root,),
        ).fetchall()
        return dict(rows)

    def has(self, digest: str) -> bool:
        """Whether the content is still kept."""
        return self.db.execute("SELECT 1 FROM blob WHERE digest=?", (digest,)).fetchone() is not None

    def read(self, digest: str) -> bytes | None:
        """The content, or None when it had to make room."""
        row = self.db.execute("SELECT data FROM blob WHERE digest=?", (digest,)).fetchone()
        return None if row is None else _decompressor.decompress(row[0], max_output_size=FILE_CAP)


def too_large(size: int) -> str:
    return f"too large: {size:,} bytes, of which {FILE_CAP:,} are kept at most"


def versions_exist(home: Path) -> bool:
    """Whether any version was ever kept here."""
    return (home / STORE_FOLDER / DATABASE).exists()

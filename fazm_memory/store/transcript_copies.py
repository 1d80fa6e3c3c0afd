"""Copies of the agents' transcripts, so that a session outlives its file.

They are in a database of their own, encrypted with the same key. A copy is a list of compressed chunks.
Chunks begin at fixed offsets, so equal beginnings of files are stored once. What is appended to a file is
stored as a new part; small parts at the end are merged, so that storing costs about what was appended.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any

from fazm_memory.records import dataclass
from fazm_memory.store.database import Database, compress, decompress
from fazm_memory.store.file_versions import FOREIGN, device_prefix
from fazm_memory.store.store import STORE_FOLDER, check_no_recovery
from fazm_memory.text import TextMatch

TRANSCRIPTS_DATABASE = "transcripts.db"
OVERLAP = 64 << 10
SEGMENT = 1 << 20  # offsets at which a chunk begins
EXACT = "exact"

STEP_1 = """
CREATE TABLE chunk (digest TEXT PRIMARY KEY, size INTEGER NOT NULL, data BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE copy (
    id INTEGER PRIMARY KEY, session TEXT NOT NULL, agent TEXT NOT NULL, root TEXT NOT NULL,
    path TEXT NOT NULL, origin TEXT NOT NULL, form TEXT NOT NULL, size INTEGER NOT NULL,
    source_size INTEGER NOT NULL,
    source_mtime REAL NOT NULL, mode INTEGER NOT NULL, left_out INTEGER NOT NULL, mark TEXT NOT NULL,
    checked REAL NOT NULL, at INTEGER NOT NULL, replaced INTEGER NOT NULL DEFAULT 0);
CREATE INDEX copy_session ON copy (session);
CREATE TABLE part (
    copy INTEGER NOT NULL, start INTEGER NOT NULL, size INTEGER NOT NULL, digest TEXT NOT NULL,
    PRIMARY KEY (copy, start)) WITHOUT ROWID;
CREATE INDEX part_digest ON part (digest);
CREATE TABLE forgotten (id INTEGER PRIMARY KEY, session TEXT NOT NULL UNIQUE, at INTEGER NOT NULL)
"""
STEPS = (STEP_1,)
COLUMNS = (
    "id, session, agent, root, path, origin, form, size, source_size, source_mtime, mode, left_out, mark,"
    " checked, at, replaced"
)


@dataclass(frozen=True, slots=True)
class TranscriptCopy:
    """A copied file.

    `root` names the agent's folder and `path` is below it; `origin` is where that folder was. `source_size`
    and `source_mtime` say how far the file was read. `left_out` counts lines that were not copied because
    recording was paused. `mark` identifies the read part. `replaced`: the agent has begun another file there.
    `session` is the agent's id of the session, or `foreign_name` of one that another machine recorded.
    """

    id: int
    session: str
    agent: str
    root: str
    path: str
    origin: str
    form: str
    size: int
    source_size: int
    source_mtime: float
    mode: int
    left_out: int
    mark: str
    checked: float
    at: int
    replaced: int

    @property
    def foreign(self) -> bool:
        return self.session.startswith(FOREIGN)


def foreign_name(device: str, session: str) -> str:
    """The `session` of copies that came from another machine.

    `session` is our id of the session.
    """
    return f"{device_prefix(device)}{session}"


class TranscriptCopies:
    """The copies by the agent's id of the session."""

    def __init__(self, home: Path, key: str) -> None:
        check_no_recovery(home)
        self.db = Database(home / STORE_FOLDER / TRANSCRIPTS_DATABASE, key, steps=STEPS)

    def close(self) -> None:
        self.db.close()

    # -- writing -----------------------------------------------------------------------------------------

    def create(self, **values: Any) -> TranscriptCopy:
        """A new, empty copy. In a transaction."""
        names = [name for name in COLUMNS.split(", ") if name != "id"]
        row = {"size": 0, "replaced": 0, "left_out": 0, "checked": 0.0, **values}
        marks = ",".join("?" * len(names))
        cursor = self.db.execute(
            f"INSERT INTO copy ({', '.join(names)}) VALUES ({marks})", tuple(row[name] for name in names)
        )
        return self.get(int(cursor.lastrowid))

    def find(self, id_: int) -> TranscriptCopy | None:
        row = self.db.execute(f"SELECT {COLUMNS} FROM copy WHERE id=?", (id_,)).fetchone()
        return None if row is None else TranscriptCopy(*row)

    def get(self, id_: int) -> TranscriptCopy:
        row = self.db.execute(f"SELECT {COLUMNS} FROM copy WHERE id=?", (id_,)).fetchone()
        return TranscriptCopy(*row)

    def update(self, copy: TranscriptCopy, **values: Any) -> None:
        """Change columns of a copy. In a transaction."""
        names = ", ".join(f"{name}=?" for name in values)
        self.db.execute(f"UPDATE copy SET {names} WHERE id=?", (*values.values(), copy.id))

    def append(self, copy: TranscriptCopy, data: bytes) -> TranscriptCopy:
        """Add bytes at the end of a copy. In a transaction."""
        size, left = copy.size, memoryview(data)
        while left:
            piece = bytes(left[: SEGMENT - size % SEGMENT])
            left = left[len(piece) :]
            start = size
            size += len(piece)
            for begin, length, digest in reversed(self._parts(copy.id, size - 1 - (size - 1) % SEGMENT)):
                if size % SEGMENT and length > 2 * len(piece):
                    break  # large compared with what is new: stays as it is
                piece = self._chunk(digest) + piece
                start = begin
                self._delete_part(copy.id, begin, digest)
            self._store(copy.id, start, piece)
        self.update(copy, size=size)
        return self.get(copy.id)

    def cut(self, copy: TranscriptCopy, size: int) -> TranscriptCopy:
        """Remove what is behind an offset that is the beginning of a part.

        In a transaction.
        """
        for begin, _, digest in self._parts(copy.id, size):
            self._delete_part(copy.id, begin, digest)
        self.update(copy, size=size)
        return self.get(copy.id)

    def _parts(self, id_: int, start: int = 0) -> list[tuple[int, int, str]]:
        rows = self.db.execute(
            "SELECT start, size, digest FROM part WHERE copy=? AND start>=? ORDER BY start", (id_, start)
        )
        return [(int(begin), int(size), str(digest)) for begin, size, digest in rows.fetchall()]

    def _store(self, id_: int, start: int, data: bytes) -> None:
        digest = hashlib.sha256(data).hexdigest()
        if self.db.execute("SELECT 1 FROM chunk WHERE digest=?", (digest,)).fetchone() is None:
            packed = compress(data, level=5)
            self.db.execute("INSERT INTO chunk VALUES (?,?,?)", (digest, len(data), packed))
        self.db.execute("INSERT INTO part VALUES (?,?,?,?)", (id_, start, len(data), digest))

    def _delete_part(self, id_: int, start: int, digest: str) -> None:
        self.db.execute("DELETE FROM part WHERE copy=? AND start=?", (id_, start))
        self._delete_unused(digest)

    def _delete_unused(self, digest: str) -> None:
        if self.db.execute("SELECT 1 FROM part WHERE digest=? LIMIT 1", (digest,)).fetchone() is None:
            self.db.execute("DELETE FROM chunk WHERE digest=?", (digest,))

    def keep_foreign(
        self, parts: list[tuple[int, int, str]], packed: dict[str, bytes], **values: Any
    ) -> None:
        """Store a copy that another machine made, or what is new in it.

        `packed` has the compressed chunks of `parts` that are not stored here yet.
        """
        size = sum(length for _, length, _ in parts)
        with self.db.transaction():
            row = self.db.execute(
                "SELECT id FROM copy WHERE session=? AND root=? AND path=?",
                (values["session"], values["root"], values["path"]),
            ).fetchone()
            copy = self.create(**values, source_size=size) if row is None else self.get(row[0])
            before = self._parts(copy.id)
            for digest, data in packed.items():
                length = next(length for _, length, one in parts if one == digest)
                self.db.execute("INSERT OR IGNORE INTO chunk VALUES (?,?,?)", (digest, length, data))
            self.db.execute("DELETE FROM part WHERE copy=?", (copy.id,))
            self.db.executemany("INSERT INTO part VALUES (?,?,?,?)", [(copy.id, *part) for part in parts])
            for begin, _, digest in before:
                if (begin, digest) not in {(start, one) for start, _, one in parts}:
                    self._delete_unused(digest)
            self.update(copy, size=size, **values)

    def foreign_bytes(self) -> int:
        """The bytes that chunks of other machines' copies take."""
        row = self.db.execute(
            "SELECT coalesce(sum(length(data)), 0) FROM chunk WHERE digest IN (SELECT digest FROM part"
            " JOIN copy ON copy.id = part.copy WHERE copy.session >= ? AND copy.session < ?)",
            (FOREIGN, f"{FOREIGN}\uffff"),
        ).fetchone()
        return int(row[0])

    # -- reading -----------------------------------------------------------------------------------------

    def stamp(self) -> str:
        """Changes when a copy is added, grows or is deleted."""
        query = "SELECT count(*), max(id), max(at), sum(size), sum(replaced) FROM copy"
        return " ".join(map(str, self.db.execute(query).fetchone()))

    def packed(self, digest: str) -> bytes | None:
        """A chunk as it is stored, compressed."""
        row = self.db.execute("SELECT data FROM chunk WHERE digest=?", (digest,)).fetchone()
        return None if row is None else bytes(row[0])

    def all(self) -> list[TranscriptCopy]:
        rows = self.db.execute(f"SELECT {COLUMNS} FROM copy ORDER BY id").fetchall()
        return [TranscriptCopy(*row) for row in rows]

    def of_session(self, session: str) -> list[TranscriptCopy]:
        """The copies of a session, without files that the agent has replaced."""
        rows = self.db.execute(
            f"SELECT {COLUMNS} FROM copy WHERE session=? AND replaced=0 ORDER BY path", (session,)
        )
        return [TranscriptCopy(*row) for row in rows.fetchall()]

    def sessions(self) -> set[str]:
        rows = self.db.execute("SELECT DISTINCT session FROM copy WHERE replaced=0").fetchall()
        return {row[0] for row in rows}

    def parts(self, copy: TranscriptCopy) -> list[tuple[int, int, str]]:
        """Beginning, size and SHA-256 of each part, in order."""
        return self._parts(copy.id)

    def content(self, copy: TranscriptCopy) -> Iterator[bytes]:
        """The bytes of a copy, part by part."""
        for _, _, digest in self._parts(copy.id):
            yield self._chunk(digest)

    def _chunk(self, digest: str) -> bytes:
        row = self.db.execute("SELECT size, data FROM chunk WHERE digest=?", (digest,)).fetchone()
        return decompress(row[1], row[0])

    def size(self) -> dict[str, int]:
        """Files, bytes of the files, and bytes that their chunks take."""
        files, size = self.db.execute("SELECT count(*), coalesce(sum(size), 0) FROM copy").fetchone()
        (stored,) = self.db.execute("SELECT coalesce(sum(length(data)), 0) FROM chunk").fetchone()
        return {"files": int(files), "bytes": int(size), "stored": int(stored)}

    def count(self, sessions: Collection[str]) -> int:
        """How many files of these sessions are copied."""
        return sum(copy.session in sessions for copy in self.all())

    def sessions_with_text(self, match: TextMatch) -> set[str]:
        """The sessions of which a copy, or its name, has a text."""
        return {copy.session for copy in self.all() if self._has_text(copy, match)}

    def _has_text(self, copy: TranscriptCopy, match: TextMatch) -> bool:
        if match.in_text(copy.path) or match.in_text(copy.origin):
            return True
        before = b""  # the end of the part before: a text may begin in one part and end in the next
        for data in self.content(copy):
            if match.in_bytes(before + data):
                return True
            before = data[-OVERLAP:]
        return False

    # -- deleting ----------------------------------------------------------------------------------------

    def forget(self, sessions: Collection[str], at: int) -> int:
        """Delete all copies of these sessions for good, and make no new ones.

        Return how many there were.
        """
        with self.db.transaction():
            gone = sum(self._delete(session) for session in sessions)
            self.db.executemany(
                "INSERT OR REPLACE INTO forgotten (session, at) VALUES (?,?)",
                [(session, at) for session in sessions],
            )
        self._vacuum(gone)
        return gone

    def forgotten(self) -> set[str]:
        """Sessions of which no copy may be made again."""
        return {row[0] for row in self.db.execute("SELECT session FROM forgotten").fetchall()}

    def drop_before(self, moment: float, *, dry_run: bool = False) -> int:
        """Delete the copies of sessions last written before a time, in seconds.

        Return how many sessions. They are not copied again.
        """
        return self._drop([name for name, last in self._by_age() if last < moment], dry_run=dry_run)

    def drop_above(self, most: int) -> int:
        """Delete the oldest copies until chunks take at most this many bytes.

        Return how many sessions.
        """
        excess, oldest = self.size()["stored"] - most, []
        for session, _ in self._by_age():
            if excess <= 0:
                break
            (own,) = self.db.execute(
                "SELECT coalesce(sum(length(data)), 0) FROM chunk WHERE digest IN"
                " (SELECT digest FROM part JOIN copy ON copy.id = part.copy WHERE copy.session=?)",
                (session,),
            ).fetchone()
            excess -= int(own)
            oldest.append(session)
        return self._drop(oldest)

    def _by_age(self) -> list[tuple[str, float]]:
        query = "SELECT session, max(source_mtime) FROM copy GROUP BY session ORDER BY 2, 1"
        return [(str(session), float(last)) for session, last in self.db.execute(query).fetchall()]

    def _drop(self, sessions: list[str], *, dry_run: bool = False) -> int:
        if sessions and not dry_run:
            self.forget(sessions, 0)
        return len(sessions)

    def _delete(self, session: str) -> int:
        ids = self.db.execute("SELECT id FROM copy WHERE session=?", (session,)).fetchall()
        for (id_,) in ids:
            for begin, _, digest in self._parts(id_):
                self._delete_part(id_, begin, digest)
        self.db.execute("DELETE FROM copy WHERE session=?", (session,))
        return len(ids)

    def _vacuum(self, gone: int) -> None:
        if gone:
            self.db.execute("VACUUM")
            self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def transcript_copies_exist(home: Path) -> bool:
    """Whether any copy was ever made here."""
    return (home / STORE_FOLDER / TRANSCRIPTS_DATABASE).exists()

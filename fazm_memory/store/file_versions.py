"""Versions of files before and after an agent changed them.

Rewinding restores from them. They are in a database of their own, encrypted with the same key, because they
are large and may be deleted while the log may not. A version without content says why: too large, not a
regular file, changed while it was read.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from fazm_memory.paths import inside
from fazm_memory.records import dataclass
from fazm_memory.store.database import Database, compress, decompress
from fazm_memory.store.store import STORE_FOLDER, check_no_recovery
from fazm_memory.text import TextMatch

REWIND = "rewind"  # one of the values of `changed_by`, beside agent, person and unknown
AGED = "let go: it was older than the retention policy keeps"
CROWDED = "let go to make room"
FORGOTTEN = "forgotten by the user"


VERSIONS_DATABASE = "versions.db"
FILE_CAP = 4 << 20
TOTAL_CAP = 1 << 30
LAST_VERSIONS = 4  # times the cap that the last versions of files may take
NEWEST = 1 << 62
ABSENT = "absent"  # the reason of a version that says that there was no file
PERMISSION_BITS = 0o777  # the stored part of a mode: never set-user-id and the like
FOREIGN = "device:"  # begins the root of a version that another machine recorded
NewVersion = tuple[str, int, bytes | str, str, int | None]  # path, time, content or reason, mark, mode

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
# Who made a version and at which position of its session, and the rewinds of files.
STEP_2 = """
ALTER TABLE version ADD COLUMN seq INTEGER;
ALTER TABLE version ADD COLUMN hand TEXT;
CREATE TABLE restore (
    id INTEGER PRIMARY KEY, session TEXT NOT NULL, root TEXT NOT NULL, stage TEXT NOT NULL,
    began INTEGER NOT NULL, ended INTEGER, told TEXT NOT NULL);
CREATE INDEX restore_session ON restore (session, id)
"""
# The permission bits of a file, read for earlier rows from the mark, which ends in the mode. And the folders
# that were created and deleted, and by whom.
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


@dataclass(frozen=True, slots=True)
class FileVersion:
    """The content of a file from `at` on: its digest, or the reason why there is none.

    `mark` is the state of the file (size, times and inode) that the content belongs to, `mode` its
    permission bits if they are known.
    """

    root: str
    path: str
    at: int
    digest: str | None
    reason: str | None = None
    mark: str = ""
    session: str | None = None
    recorded: bool = False  # whether the log has the change
    seq: int | None = None  # the call of that session that made it, if known
    changed_by: str | None = None  # agent, person, unknown or rewind
    id: int = 0
    mode: int | None = None

    @property
    def absent(self) -> bool:
        return self.reason == ABSENT


WRITTEN = "root, path, at, digest, reason, mark, session, told"
COLUMNS = f"{WRITTEN}, seq, hand, id, mode"


def _version(row: tuple[Any, ...]) -> FileVersion:
    root, path, at, digest, reason, mark, session, recorded, seq, changed_by, id_, mode = row
    return FileVersion(
        root, path, at, digest, reason, mark, session, bool(recorded), seq, changed_by, id_, mode
    )


def _same_mode(last: FileVersion, at: int, mode: int | None) -> bool:
    """Whether the mode is unchanged.

    An unknown one counts as unchanged only if no time has passed.
    """
    return mode is None or last.mode == mode or (last.mode is None and at <= last.at)


def _unpacked(data: bytes) -> bytes:
    return decompress(data, FILE_CAP)


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def device_prefix(device: str | None) -> str:
    """The prefix of roots that another machine recorded. Empty for this machine."""
    return "" if device is None else f"{FOREIGN}{device}:"


def plain_root(root: str) -> str:
    """The folder of a root, as it is called on this machine."""
    return root.split(":", 2)[2] if root.startswith(FOREIGN) else root


class FileVersions:
    """Versions of files by root folder and path below it.

    Content is stored once per digest.
    """

    def __init__(self, home: Path, key: str, *, cap: int = TOTAL_CAP) -> None:
        check_no_recovery(home)
        self.db = Database(home / STORE_FOLDER / VERSIONS_DATABASE, key, steps=STEPS)
        self.cap = cap

    def close(self) -> None:
        self.db.close()

    def keep(
        self, root: str, path: str, at: int, content: bytes | str, *, mark: str = "", mode: int | None = None
    ) -> FileVersion:
        """Store the content of a file from `at` on, or the reason why there is none.

        A reason is given as text.
        """
        with self.db.transaction():
            return self._keep(root, path, at, content, mark, mode)

    def keep_all(self, root: str, versions: Iterable[NewVersion]) -> list[FileVersion]:
        with self.db.transaction():
            stored = [self._keep(root, *version) for version in versions]
            self._make_room()
        return stored

    def keep_within(
        self, root: str, path: str, at: int, content: bytes | str, mark: str = "", mode: int | None = None
    ) -> FileVersion:
        """Like `keep`, within a transaction of the caller."""
        return self._keep(root, path, at, content, mark, mode)

    def _keep(
        self, root: str, path: str, at: int, content: bytes | str, mark: str = "", mode: int | None = None
    ) -> FileVersion:
        mode = None if mode is None else mode & PERMISSION_BITS
        digest, reason = self._blob(content) if isinstance(content, bytes) else (None, content)
        last = self.last(root, path)
        if last is not None and (last.digest, last.reason) == (digest, reason) and _same_mode(last, at, mode):
            # The same content again, such as after a touch: only its mark is new.
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
        return FileVersion(root, path, at, digest, reason, mark, mode=mode)

    def _blob(self, data: bytes) -> tuple[str | None, str | None]:
        """Store content. Return its digest, or the reason why it is not stored."""
        if len(data) > FILE_CAP:
            return None, too_large(len(data))
        digest = digest_of(data)
        if self.db.execute("SELECT 1 FROM blob WHERE digest=?", (digest,)).fetchone() is None:
            packed = compress(data)
            self.db.execute("INSERT INTO blob VALUES (?,?,?)", (digest, len(data), packed))
            self.db.execute("UPDATE total SET bytes = bytes + ?", (len(packed),))
        return digest, None

    def tell(self, root: str, path: str, session: str | None) -> None:
        """Note that the log has the change that led to the last version of this file."""
        with self.db.transaction():
            self.mark_recorded(root, path, session)

    def mark_recorded(
        self,
        root: str,
        path: str,
        session: str | None,
        *,
        seq: int | None = None,
        changed_by: str | None = None,
        upto: int = NEWEST,
    ) -> None:
        """Like `tell`, within a transaction, with the call and who made the version.

        It is the last version, or the last with an id up to `upto`. Versions of a rewind are left alone.
        """
        self.db.execute(
            "UPDATE version SET told=1, session=?, seq=?, hand=? WHERE hand IS NOT 'rewind' AND id="
            "(SELECT max(id) FROM version WHERE root=? AND path=? AND id<=?)",
            (session, seq, changed_by, root, path, upto),
        )

    def is_from_rewind(self, version: int) -> bool:
        row = self.db.execute("SELECT hand FROM version WHERE id=?", (version,)).fetchone()
        return row is not None and row[0] == "rewind"

    def roots_around(self, folder: str, device: str | None = None) -> list[str]:
        """Roots that are this folder, contain it or are inside it, of all machines."""
        prefix = device_prefix(device)
        folder = f"{prefix}{folder}"
        inside = f"{folder.rstrip('/')}/"
        rows = self.db.execute("SELECT DISTINCT root FROM version").fetchall()
        return [
            root for (root,) in rows if root == folder or root.startswith(inside)
            or (root.startswith(prefix) and folder.startswith(f"{root.rstrip('/')}/"))
        ]  # fmt: skip

    def count_inside(self, folder: str) -> int:
        """How many stored contents are of files in a folder."""
        rows = self.db.execute("SELECT root, path FROM version WHERE digest IS NOT NULL").fetchall()
        return sum(inside(f"{root.rstrip('/')}/{path}", folder) for root, path in rows)

    def changed_since(self, root: str, moment: int) -> list[str]:
        """Files of a root with a version since a moment."""
        rows = self.db.execute("SELECT DISTINCT path FROM version WHERE at>=? AND root=?", (moment, root))
        return [row[0] for row in rows.fetchall()]

    def history(self, root: str, path: str | None = None) -> list[FileVersion]:
        """Every version of a file, or of all files of a root, oldest first."""
        where, values = ("root=?", (root,)) if path is None else ("root=? AND path=?", (root, path))
        rows = self.db.execute(f"SELECT {COLUMNS} FROM version WHERE {where} ORDER BY id", values)
        return [_version(row) for row in rows.fetchall()]

    def history_below(self, root: str, folder: str) -> list[FileVersion]:
        """Every version of the files below a folder of a root, oldest first."""
        rows = self.db.execute(
            f"SELECT {COLUMNS} FROM version WHERE root=? AND path>=? AND path<? ORDER BY id",
            (root, f"{folder}/", f"{folder}0"),
        )
        return [_version(row) for row in rows.fetchall()]

    def last(self, root: str, path: str) -> FileVersion | None:
        return self._first("root=? AND path=? ORDER BY id DESC LIMIT 1", (root, path))

    def at(self, root: str, path: str, moment: int) -> FileVersion | None:
        """The version at a moment, or None if the file was not known yet."""
        return self._first("root=? AND path=? AND at<=? ORDER BY id DESC LIMIT 1", (root, path, moment))

    def _first(self, where: str, values: tuple[object, ...]) -> FileVersion | None:
        row = self.db.execute(f"SELECT {COLUMNS} FROM version WHERE {where}", values).fetchone()
        return None if row is None else _version(row)

    def histories(self, paths: Iterable[str]) -> Iterator[FileVersion]:
        """Every version of these files, given by absolute paths, oldest first per file."""
        for root, own in self._by_root(paths):
            for path in own:
                rows = self.db.execute(
                    f"SELECT {COLUMNS} FROM version WHERE root=? AND path=? ORDER BY id", (root, path)
                )
                yield from map(_version, rows.fetchall())

    def manifest(self, root: str, moment: int) -> dict[str, FileVersion]:
        """The known files of a root at a moment, without absent ones."""
        rows = self.db.execute(
            f"SELECT {COLUMNS} FROM version WHERE id IN"
            " (SELECT max(id) FROM version WHERE root=? AND at<=? GROUP BY path)",
            (root, moment),
        ).fetchall()
        return {version.path: version for version in map(_version, rows) if not version.absent}

    def marks(self, root: str) -> dict[str, str]:
        """The mark of the last version of every file of a root.

        Files with the same mark need no reading.
        """
        rows = self.db.execute(
            "SELECT path, mark FROM version WHERE id IN"
            " (SELECT max(id) FROM version WHERE root=? GROUP BY path)",
            (root,),
        ).fetchall()
        return dict(rows)

    def has(self, digest: str) -> bool:
        return self.db.execute("SELECT 1 FROM blob WHERE digest=?", (digest,)).fetchone() is not None

    def read(self, digest: str) -> bytes | None:
        """The content, or None if it was deleted to make room."""
        row = self.db.execute("SELECT data FROM blob WHERE digest=?", (digest,)).fetchone()
        return None if row is None else _unpacked(row[0])

    def forget(self, root: str, paths: Collection[str] | None = None) -> int:
        """Delete all versions of these files, or of a whole root.

        Return how many there were.
        """
        with self.db.transaction():
            if paths is None:
                gone = self.db.execute("DELETE FROM version WHERE root=?", (root,)).rowcount
                self.db.execute("DELETE FROM folder WHERE root=?", (root,))
            else:
                deleted = self.db.executemany(
                    "DELETE FROM version WHERE root=? AND path=?", [(root, path) for path in paths]
                )
                gone = deleted.rowcount
                above = {folder.as_posix() for path in paths for folder in PurePosixPath(path).parents}
                self.db.executemany(
                    "DELETE FROM folder WHERE root=? AND path=?", [(root, folder) for folder in above]
                )
            delete_unused_blobs(self.db)
        return int(gone)

    def _by_root(self, paths: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
        """Absolute paths as paths below each known root of any machine."""
        wanted = sorted(set(paths))
        for (root,) in self.db.execute("SELECT DISTINCT root FROM version ORDER BY root").fetchall():
            inside = f"{plain_root(root).rstrip('/')}/"
            own = [path.removeprefix(inside) for path in wanted if path.startswith(inside)]
            if own:
                yield root, own

    def forget_files(self, paths: Iterable[str]) -> int:
        """Delete all versions of these files, given by absolute paths.

        Return how many there were.
        """
        wanted = set(paths)
        gone = sum(self.forget(root, own) for root, own in list(self._by_root(wanted)))
        gone += self._forget_rewinds(wanted)
        if gone:
            self.vacuum()
        return gone

    def with_text(self, match: TextMatch) -> list[FileVersion]:
        """The versions whose content or path has a text."""
        rows = self.db.execute("SELECT digest, data FROM blob")
        found = {digest for digest, data in rows if match.in_bytes(_unpacked(data))}
        return [
            version
            for version in self._all()
            if version.digest in found or match.in_text(f"{version.root}/{version.path}")
        ]

    def between(self, since: int | None, until: int | None) -> list[FileVersion]:
        """The versions of a time that have content."""
        return [
            version
            for version in self._all()
            if version.digest and (since or 0) <= version.at < (NEWEST if until is None else until)
        ]

    def _all(self) -> Iterator[FileVersion]:
        return map(_version, self.db.execute(f"SELECT {COLUMNS} FROM version ORDER BY id").fetchall())

    def forget_contents(self, versions: Iterable[FileVersion]) -> None:
        """Delete the content of versions. That there was a version stays, with the reason."""
        with self.db.transaction():
            self.db.executemany(
                "UPDATE version SET digest=NULL, reason=? WHERE id=?",
                [(FORGOTTEN, version.id) for version in versions],
            )
            delete_unused_blobs(self.db)

    def forget_names(self, match: TextMatch) -> int:
        """Delete versions, folders and finished rewinds that have a text in a path."""
        with self.db.transaction():
            gone = 0
            for table, columns in (("version", "root, path"), ("folder", "root, path"), ("restore", "told")):
                ended = " WHERE stage NOT IN ('planned', 'running')" if table == "restore" else ""
                rows = self.db.execute(f"SELECT id, {columns} FROM {table}{ended}").fetchall()
                named = [(id_,) for id_, *texts in rows if match.in_bytes("/".join(texts).encode())]
                self.db.executemany(f"DELETE FROM {table} WHERE id=?", named)
                gone += len(named)
            delete_unused_blobs(self.db)
        return gone

    def unfinished_rewinds(self, match: TextMatch) -> int:
        """How many rewinds that are planned or running have a text in a path."""
        rows = self.db.execute("SELECT told FROM restore WHERE stage IN ('planned', 'running')").fetchall()
        return sum(match.in_bytes(stored.encode()) for (stored,) in rows)

    def vacuum(self) -> None:
        """Rewrite the database without free pages, so that nothing deleted stays on disk."""
        self.db.execute("VACUUM")
        self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _forget_rewinds(self, paths: set[str]) -> int:
        """Delete the finished rewinds that wrote any of these files.

        They can no longer be undone.
        """
        rows = self.db.execute("SELECT id, told FROM restore WHERE stage NOT IN ('planned', 'running')")
        gone = []
        for id_, stored in rows.fetchall():
            rewind = json.loads(stored)
            written = (step[name] for step in rewind["steps"] for name in ("path", "origin") if step[name])
            if any(f"{rewind['workspace']}/{path}" in paths for path in written):
                gone.append((id_,))
        with self.db.transaction():
            self.db.executemany("DELETE FROM restore WHERE id=?", gone)
        return len(gone)

    # -- versions that other machines recorded -----------------------------------------------------------

    def made_by_sessions(self, after: int) -> list[FileVersion]:
        """Versions that agents or rewinds of sessions made here, oldest first.

        Only those with an id above `after`.
        """
        rows = self.db.execute(
            f"SELECT {COLUMNS} FROM version WHERE id > ? AND session IS NOT NULL"
            " AND hand IN ('agent', 'rewind') AND substr(root, 1, 1) = '/' ORDER BY id",
            (after,),
        )
        return [_version(row) for row in rows.fetchall()]

    def before(self, version: FileVersion) -> FileVersion | None:
        """The version of the same file before this one."""
        return self._first(
            "root=? AND path=? AND id<? ORDER BY id DESC LIMIT 1", (version.root, version.path, version.id)
        )

    def numbered(self, ids: Collection[int]) -> list[FileVersion]:
        """The versions with these ids, as far as they exist, oldest first."""
        found: list[FileVersion] = []
        chosen = sorted(ids)
        for begin in range(0, len(chosen), 500):
            some = chosen[begin : begin + 500]
            marks = ",".join("?" * len(some))
            rows = self.db.execute(f"SELECT {COLUMNS} FROM version WHERE id IN ({marks}) ORDER BY id", some)
            found += map(_version, rows.fetchall())
        return found

    def last_id_before(self, moment: int) -> int:
        """The highest id of the versions that are older than a moment; 0 if there is none."""
        row = self.db.execute("SELECT coalesce(max(id), 0) FROM version WHERE at < ?", (moment,)).fetchone()
        return int(row[0])

    def packed(self, digest: str) -> tuple[int, bytes] | None:
        """The size of a content and its compressed bytes."""
        row = self.db.execute("SELECT size, data FROM blob WHERE digest=?", (digest,)).fetchone()
        return None if row is None else (int(row[0]), bytes(row[1]))

    def keep_foreign(self, version: FileVersion) -> int:
        """Store a version of another machine without content, and return its id.

        It is stored once. In a transaction. Its root begins with the prefix of the machine, so it never mixes
        with ours.
        """
        if not version.root.startswith(FOREIGN):
            raise ValueError("the root of another machine's version begins with the machine")
        mode = None if version.mode is None else version.mode & PERMISSION_BITS
        known = self.db.execute(
            "SELECT id FROM version WHERE root=? AND path=? AND at=? AND mark=?",
            (version.root, version.path, version.at, version.mark),
        ).fetchone()
        told = (version.session, version.seq, version.changed_by)
        if known is not None:
            self.db.execute("UPDATE version SET session=?, seq=?, hand=? WHERE id=?", (*told, known[0]))
            return int(known[0])
        values = (version.root, version.path, version.at, None, version.reason, version.mark)
        added = self.db.execute(
            "INSERT INTO version (root, path, at, digest, reason, mark, session, seq, hand, told, mode)"
            " VALUES (?,?,?,?,?,?,?,?,?,1,?)",
            (*values, *told, mode),
        )
        return int(added.lastrowid)

    def stamp(self) -> str:
        """Changes whenever versions or contents are added or deleted."""
        row = self.db.execute("SELECT count(*), coalesce(max(id), 0) FROM version").fetchone()
        return f"{row[0]} {row[1]} {self.size()}"

    def foreign_bytes(self) -> int:
        """Compressed bytes of the contents that versions of other machines have."""
        row = self.db.execute(
            "SELECT coalesce(sum(length(data)), 0) FROM blob WHERE digest IN"
            " (SELECT digest FROM version WHERE root >= ? AND root < ?)",
            (FOREIGN, f"{FOREIGN[:-1]};"),
        ).fetchone()
        return int(row[0])

    def lacks_content(self, version: int, mark: str) -> bool:
        """Whether this version still has this mark, came from elsewhere and lacks content."""
        row = self.db.execute("SELECT mark, digest FROM version WHERE id=?", (version,)).fetchone()
        return row is not None and (row[0], row[1]) == (mark, None)

    def give_up(self, version: int, reason: str) -> None:
        """Say why the content of a version will not come."""
        self.db.execute("UPDATE version SET reason=? WHERE id=? AND digest IS NULL", (reason, version))

    def fill(self, version: int, digest: str, packed: bytes) -> None:
        """Add the content of a version that came without.

        ValueError if it is not what its digest says.
        """
        import zstandard

        try:
            if zstandard.frame_content_size(packed) > FILE_CAP:
                raise ValueError("it is larger than a version may be")
            data = decompress(packed, FILE_CAP)
        except zstandard.ZstdError as error:
            raise ValueError("it cannot be unpacked") from error
        if digest_of(data) != digest:
            raise ValueError("it is not the content that was announced")
        with self.db.transaction():
            self._blob(data)
            self.db.execute("UPDATE version SET digest=?, reason=NULL WHERE id=?", (digest, version))
            self._make_room()

    def forget_foreign(self, device: str, paths: Collection[str]) -> int:
        """Delete another machine's versions of these files, given by absolute paths."""
        prefix = device_prefix(device)
        return sum(
            self.forget(root, own) for root, own in list(self._by_root(paths)) if root.startswith(prefix)
        )

    def drop_before(self, moment: int, *, dry_run: bool = False) -> int:
        """Delete content older than a moment, except of last versions.

        Return how many versions lose it.
        """
        old = (
            "digest IS NOT NULL AND at < ? AND id <"
            " (SELECT max(id) FROM version w WHERE w.root=version.root AND w.path=version.path)"
        )
        count = int(self.db.execute(f"SELECT count(*) FROM version WHERE {old}", (moment,)).fetchone()[0])
        if count and not dry_run:
            with self.db.transaction():
                self.db.execute(f"UPDATE version SET digest=NULL, reason=? WHERE {old}", (AGED, moment))
                self.db.execute("DELETE FROM folder WHERE at < ?", (moment,))
                delete_unused_blobs(self.db)
            self.vacuum()
        return count

    def size(self) -> int:
        """Bytes of compressed content."""
        return int(self.db.execute("SELECT bytes FROM total").fetchone()[0])

    def _make_room(self) -> None:
        """Delete the oldest content over the cap.

        Files' last versions may take several times as much. Above that the oldest of them go too, so that
        endless new files cannot fill the disk.
        """
        while self.size() > self.cap:
            old = self.db.execute(SUPERSEDED).fetchall()
            if not old and self.size() > LAST_VERSIONS * self.cap:
                old = self.db.execute(OLDEST).fetchall()
            if not old:
                return
            self.db.executemany("UPDATE version SET digest=NULL, reason=? WHERE id=?",
                                [(CROWDED, row[0]) for row in old])  # fmt: skip
            delete_unused_blobs(self.db)


SUPERSEDED = (
    "SELECT id FROM version v WHERE digest IS NOT NULL AND id <"
    " (SELECT max(id) FROM version w WHERE w.root=v.root AND w.path=v.path) ORDER BY at LIMIT 200"
)
OLDEST = (
    "SELECT id FROM version WHERE digest IS NOT NULL ORDER BY at, id"
    " LIMIT (SELECT max(1, count(*) / 20) FROM version WHERE digest IS NOT NULL)"
)


def delete_unused_blobs(db: Database) -> None:
    db.execute("DELETE FROM blob WHERE NOT EXISTS (SELECT 1 FROM version WHERE version.digest = blob.digest)")
    db.execute("UPDATE total SET bytes = (SELECT coalesce(sum(length(data)), 0) FROM blob)")


def too_large(size: int) -> str:
    return f"too large: {size:,} bytes, of which {FILE_CAP:,} are kept at most"


def versions_exist(home: Path) -> bool:
    """Whether any version was ever stored here."""
    return (home / STORE_FOLDER / VERSIONS_DATABASE).exists()


@dataclass(frozen=True, slots=True)
class FolderChange:
    at: int
    came: bool
    changed_by: str
    session: str | None = None
    seq: int | None = None  # the call of that session that did it


class FolderHistory:
    """When folders were created and deleted, and by whom."""

    def __init__(self, versions: FileVersions) -> None:
        self.db = versions.db

    def note_sighting(self, root: str, path: str, change: FolderChange, earliest: int) -> None:
        """Note what the watcher saw, unless a rewind since `earliest` did it.

        In a transaction.
        """
        rewound = (
            row for row in self.history(root, path) if row.changed_by == REWIND and row.came == change.came
        )
        if not any(row.at >= earliest for row in rewound):
            self.note(root, path, change)

    def note(self, root: str, path: str, change: FolderChange) -> None:
        """In a transaction."""
        self.db.execute(
            "INSERT INTO folder (root, path, at, came, hand, session, seq) VALUES (?,?,?,?,?,?,?)",
            (root, path, change.at, int(change.came), change.changed_by, change.session, change.seq),
        )

    def history(self, root: str, path: str) -> list[FolderChange]:
        """Each creation and deletion, oldest first."""
        rows = self.db.execute(
            "SELECT at, came, hand, session, seq FROM folder WHERE root=? AND path=? ORDER BY id",
            (root, path),
        )
        return [FolderChange(at, bool(came), *more) for at, came, *more in rows.fetchall()]

"""File versions of sessions, shared as content-addressed sealed objects.

Sharing is off until it is switched on. A device then puts the contents before and after each change that its
sessions made, newest first and within a size. A batch names the versions; each content is an object of its
own, named by its digest. What is no longer stored here is taken out of the batches and deleted there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

from fazm_memory.lazy import lazy_regex
from fazm_memory.paths import move_folders
from fazm_memory.records import dataclass
from fazm_memory.store import FileVersion, FileVersions, device_prefix
from fazm_memory.sync.crypto import NotAuthentic, derive, seal, unseal
from fazm_memory.sync.heads import newest
from fazm_memory.sync.state import Identity, SyncState

# Contents as sealed objects of their own, named by device, epoch and digest
#
# Versions of files and parts of transcripts travel this way. A batch names them; each is put once and
# deleted when no batch names it any more.

AT_ONCE = 8  # contents that are put or fetched at the same time


@dataclass(frozen=True)
class SealedContents:
    """One kind of contents: how they are called in the store, and how they are sealed."""

    state: SyncState
    identity: Identity
    kind: str
    folder: str

    def name(self, device: str, digest: str, epoch: str) -> str:
        vault = self.identity.vault
        object_ = vault.name(self.kind, device, epoch, digest)
        return f"{vault.id}/{self.folder}/{vault.name('device', device)}/{object_}"

    def put(
        self,
        rows: Iterable[tuple[str, str]],
        packed: Callable[[str], bytes | None],
        put: Callable[[str, bytes], str],
    ) -> Iterable[str]:
        """Put the contents with these digests and epochs.

        Yields a digest once its content is there.

        One that is not stored any more is passed over: the next round withdraws it.
        """
        device, waiting = self.identity.device, iter(rows)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            while some := list(islice(waiting, AT_ONCE)):
                found = [(digest, epoch, packed(digest)) for digest, epoch in some]
                sealed = [
                    (self.name(device, digest, epoch), self._seal(digest, epoch, data))
                    for digest, epoch, data in found
                    if data is not None
                ]
                list(pool.map(lambda one: put(*one), sealed))
                self.state.db.executemany(  # a content may come back before it is deleted
                    "DELETE FROM garbage WHERE name=?", [(name,) for name, _ in sealed]
                )
                yield from (digest for digest, *_ in found)

    def get(self, get: Callable[[str], bytes | None], device: str, digest: str, epoch: str) -> bytes | None:
        """The compressed content of another device; None if it is not in the store."""
        data = get(self.name(device, digest, epoch))
        return None if data is None else unseal(self._key(device, epoch), data, self._context(digest))

    def fetch(
        self, get: Callable[[str], bytes | None], wanted: Iterable[tuple[str, str, str]]
    ) -> Callable[[str], bytes | None]:
        """Get the objects of some contents (device, digest, epoch) in parallel.

        Returns a `get` that has them.
        """
        names = list(dict.fromkeys(self.name(*one) for one in wanted))
        with ThreadPoolExecutor(AT_ONCE) as pool:
            return dict(zip(names, pool.map(get, names), strict=True)).get

    def _seal(self, digest: str, epoch: str, data: bytes) -> bytes:
        return seal(self._key(self.identity.device, epoch), data, self._context(digest))

    def _key(self, device: str, epoch: str) -> bytes:
        secret = self.state.epochs().get(epoch)
        if secret is None:
            raise NotAuthentic("its key is not shared with this machine")
        return derive(bytes.fromhex(secret["secret"]), f"{self.kind}s of {device}")

    def _context(self, digest: str) -> str:
        return f"{self.kind} {self.identity.vault.id} {digest}"


# File versions

LIMIT = 256_000_000  # compressed bytes that a device shares, unless another limit was chosen
ROWS = 2000  # versions that one batch names
SETTLED = 3600 * 1_000_000  # microseconds after which nobody attributes a version any more
TRIES = 5  # rounds in which a content that is missing from the store is asked for
NOT_FETCHED = "not fetched from the other machine (`fazm-memory sync files on` fetches it)"
LOST = "the other machine's copy is gone"
DIGEST = lazy_regex(r"[0-9a-f]{64}")


class NamedVersion(NamedTuple):
    """A version to share, and its session, which says how folders are mapped."""

    version: FileVersion
    session: str


class _Wanted(NamedTuple):
    """A version of another device whose content is not here yet."""

    version: int
    mark: str
    device: str
    digest: str
    epoch: str
    size: int
    tries: int


@dataclass
class FileSharing:
    """The shared file versions of one device: its own, and those of the others."""

    state: SyncState
    identity: Identity
    open_versions: Callable[[], FileVersions]  # creates the database
    existing: Callable[[], FileVersions | None]
    now: Callable[[], int]

    @property
    def on(self) -> bool:
        return bool(self.state.get("files", False))

    @property
    def limit(self) -> int:
        return int(self.state.get("files_limit", LIMIT))

    # -- own versions ------------------------------------------------------------------------------------

    def next_rows(self, own: Callable[[str], bool]) -> list[NamedVersion]:
        """Versions to name in the next batch, newest first.

        Versions of own sessions, each with the one before it.
        """
        versions = self.existing() if self.on else None
        if versions is None:
            return []
        made = [row for row in versions.made_by_sessions(self.state.get("files_from", 0)) if row.session]
        mine = {session for session in {row.session for row in made} if session and own(session)}
        shared = dict(self.state.db.execute("SELECT version, mark FROM shared_file").fetchall())
        room = self.limit - self._shared_bytes()
        chosen: dict[int, NamedVersion] = {}
        for row in reversed(made):
            if row.session not in mine or len(chosen) >= ROWS:
                continue
            for one in (row, versions.before(row)):
                if one is None or one.id in chosen or shared.get(one.id) == _mark(one):
                    continue
                size = self._new_bytes(versions, one)
                if size <= room:
                    room -= size
                    chosen[one.id] = NamedVersion(one, str(row.session))
        settled = versions.last_id_before(self.now() - SETTLED)
        if len(chosen) < ROWS and settled != self.state.get("files_from"):
            self.state.set(files_from=settled)
        return [chosen[number] for number in sorted(chosen)]

    def _shared_bytes(self) -> int:
        row = self.state.db.execute("SELECT coalesce(sum(size), 0) FROM shared_blob").fetchone()
        return int(row[0])

    def _new_bytes(self, versions: FileVersions, row: FileVersion) -> int:
        if row.digest is None or self._blob(row.digest) is not None:
            return 0
        packed = versions.packed(row.digest)
        return 0 if packed is None else len(packed[1])

    def _blob(self, digest: str) -> tuple[str, int] | None:
        row = self.state.db.execute(
            "SELECT epoch, size FROM shared_blob WHERE digest=?", (digest,)
        ).fetchone()
        return None if row is None else (str(row[0]), int(row[1]))

    def add(self, batch: int, rows: Iterable[NamedVersion]) -> None:
        """Note that a batch names these versions. In the transaction that makes the batch."""
        versions = self.open_versions()
        epoch = newest(self.state.epochs())
        for row, session in rows:
            self.state.db.execute(
                "INSERT OR REPLACE INTO shared_file VALUES (?,?,?,?,?)",
                (row.id, batch, row.digest, _mark(row), session),
            )
            if row.digest is not None and self._blob(row.digest) is None:
                size = self._new_bytes(versions, row)
                self.state.db.execute("INSERT INTO shared_blob VALUES (?,?,?,0)", (row.digest, epoch, size))

    def rows(self, batch: int) -> list[dict[str, Any]]:
        """The versions that a batch names, as they are stored now."""
        named = "SELECT version, session FROM shared_file WHERE batch=?"
        of = dict(self.state.db.execute(named, (batch,)).fetchall())
        versions = self.existing() if of else None
        if versions is None:
            return []
        found = []
        again = self.state.origins()
        for row in versions.numbered(list(of)):
            blob = None if row.digest is None else self._blob(row.digest)
            found.append({
                "id": row.id, "of": again.get(of[row.id], of[row.id]), "root": row.root, "path": row.path,
                "at": row.at, "session": row.session and again.get(row.session, row.session),
                "seq": row.seq, "by": row.changed_by, "mode": row.mode, "reason": row.reason,
                "digest": None if blob is None else row.digest,
                "epoch": None if blob is None else blob[0], "size": 0 if blob is None else blob[1],
            })  # fmt: skip
        return found

    def withdraw(self) -> set[int]:
        """Take out versions that are not stored or not to be shared any more.

        Returns the batches that named them.

        In a transaction. The objects of contents that no batch names any more become garbage.
        """
        versions = self.existing() if self.on else None
        stamp = f"{self.limit} {'off' if versions is None else versions.stamp()}"
        if stamp == self.state.get("files_stamp"):
            return set()
        rows = self.state.db.execute("SELECT version, batch, digest FROM shared_file").fetchall()
        stored = {} if versions is None else {
            row.id: row.digest for row in versions.numbered([version for version, *_ in rows])
        }  # fmt: skip
        gone = [(version, batch) for version, batch, digest in rows if stored.get(version, "") != digest]
        gone += self._above_limit(rows) if versions is not None else []
        self.state.db.executemany(
            "DELETE FROM shared_file WHERE version=?", [(version,) for version, _ in gone]
        )
        unused = self.state.db.execute(
            "SELECT digest, epoch FROM shared_blob b WHERE NOT EXISTS"
            " (SELECT 1 FROM shared_file f WHERE f.digest = b.digest)"
        ).fetchall()
        for digest, epoch in unused:
            name = self._contents.name(self.identity.device, digest, epoch)
            self.state.db.execute("INSERT OR IGNORE INTO garbage VALUES (?)", (name,))
            self.state.db.execute("DELETE FROM shared_blob WHERE digest=?", (digest,))
        self.state.set(files_stamp=stamp, **({} if self.on else {"files_from": 0}))
        return {batch for _, batch in gone}

    def _above_limit(self, rows: list[Any]) -> list[tuple[int, int]]:
        """The oldest versions, if all together are above the limit."""
        above = self._shared_bytes() - self.limit
        found: list[tuple[int, int]] = []
        for version, batch, digest in sorted(rows):
            if above <= 0:
                break
            blob = None if digest is None else self._blob(digest)
            above -= 0 if blob is None else blob[1]
            found.append((version, batch))
        return found

    def put(self, put: Callable[[str, bytes], str]) -> None:
        """Put the contents that batches name and that are not in the store yet."""
        rows = self.state.db.execute("SELECT digest, epoch FROM shared_blob WHERE put=0").fetchall()
        for digest in self._contents.put(rows, self._packed, put):
            self.state.db.execute("UPDATE shared_blob SET put=1 WHERE digest=?", (digest,))

    def _packed(self, digest: str) -> bytes | None:
        versions = self.existing()
        packed = None if versions is None else versions.packed(digest)
        return None if packed is None else packed[1]

    @cached_property
    def _contents(self) -> SealedContents:
        return SealedContents(self.state, self.identity, "file", "f")

    # -- versions of other devices -----------------------------------------------------------------------

    def take(self, device: str, rows: list[Any], moved_of: Callable[[str], dict[str, str]]) -> None:
        """Store the versions that a batch of another device names.

        Their contents are fetched later.
        """
        if not rows:
            return
        versions = self.open_versions()
        known = [(self._foreign(device, row, moved_of), row) for row in rows]
        with versions.db.transaction():
            ids = [versions.keep_foreign(version) for version, row in known]
        self.state.db.executemany(
            "INSERT OR REPLACE INTO wanted_blob VALUES (?,?,?,?,?,?,0)",
            [
                (number, version.mark, device, row["digest"], row["epoch"], int(row["size"]))
                for number, (version, row) in zip(ids, known, strict=True)
                if row["digest"] is not None
            ],
        )

    def _foreign(self, device: str, row: Any, moved_of: Callable[[str], dict[str, str]]) -> FileVersion:
        try:
            root, path, digest, session = (row[name] for name in ("root", "path", "digest", "session"))
            valid = isinstance(path, str) and isinstance(root, str) and root.startswith("/")
            if not valid or (digest is not None and not DIGEST.fullmatch(digest)):
                raise NotAuthentic("a file version has no valid path or digest")
            moved = moved_of(row["of"])
            root = move_folders(root, moved) if moved else root
            tombstones = [] if session is None else self.state.tombstones(device, session)
            local = None if session is None else self.state.local_session(device, session) or session
            gone = any(low <= (row["seq"] or 0) < high for low, high in tombstones)
            reason = LOST if gone else row["reason"] if digest is None else NOT_FETCHED
            if gone:
                row["digest"] = None
            mark = f"sync:{int(row['id'])}"
            return FileVersion(
                f"{device_prefix(device)}{root}", path, int(row["at"]), None, reason, mark, local, True,
                row["seq"], row["by"], mode=row["mode"],
            )  # fmt: skip
        except (KeyError, TypeError, ValueError) as error:
            raise error if isinstance(error, NotAuthentic) else NotAuthentic(str(error)) from error

    def forget(self, device: str, paths: set[str]) -> None:
        """Delete the versions of these files that a device recorded."""
        versions = self.existing() if paths else None
        if versions is not None:
            versions.forget_foreign(device, paths)

    def fetch(self, get: Callable[[str], bytes | None], problem: Callable[[str], None]) -> int:
        """Get the contents that are wanted, newest versions first.

        Returns how many arrived.
        """
        if not self.on:
            return 0
        rows = self.state.db.execute(
            "SELECT version, mark, device, digest, epoch, size, tries FROM wanted_blob ORDER BY version DESC"
        ).fetchall()
        if not rows:
            return 0
        versions, arrived = self.open_versions(), 0
        room = self.limit - versions.foreign_bytes()
        waiting = iter([_Wanted._make(row) for row in rows])
        while some := list(islice(waiting, AT_ONCE)):
            affordable = []
            for one in some:
                room -= one.size
                if room >= 0:
                    affordable.append(one)
            lacking = {one for one in affordable if versions.lacks_content(one.version, one.mark)}
            fetched = self._contents.fetch(
                get,
                [
                    (one.device, one.digest, one.epoch)
                    for one in affordable
                    if one in lacking and not versions.packed(one.digest)
                ],
            )
            for one in affordable:
                arrived += self._take_content(versions, one, fetched, problem, lacks=one in lacking)
            if room < 0:
                break
        return arrived

    def _take_content(
        self,
        versions: FileVersions,
        one: _Wanted,
        get: Callable[[str], bytes | None],
        problem: Callable[[str], None],
        *,
        lacks: bool,
    ) -> bool:
        """Store the content of a version. Returns whether it arrived now."""
        arrived = False
        try:
            packed = self._get(versions, get, one) if lacks else None
            if lacks and packed is None and one.tries + 1 < TRIES:  # late, or deleted meanwhile
                self.state.db.execute("UPDATE wanted_blob SET tries=tries+1 WHERE version=?", (one.version,))
                return False
            if packed is not None:
                versions.fill(one.version, one.digest, packed)
                arrived = True
            elif lacks:
                versions.give_up(one.version, LOST)
        except ValueError as error:
            versions.give_up(one.version, LOST)
            problem(f"The content of a file version was refused: {error}.")
        self.state.db.execute("DELETE FROM wanted_blob WHERE version=?", (one.version,))
        return arrived

    def _get(self, versions: FileVersions, get: Callable[[str], bytes | None], one: _Wanted) -> bytes | None:
        known = versions.packed(one.digest)
        if known is not None:
            return known[1]
        return self._contents.get(get, one.device, one.digest, one.epoch)


def _mark(row: FileVersion) -> str:
    """What is known of who made a version.

    A version is named again when this changes.
    """
    return f"{row.session} {row.seq} {row.changed_by} {row.digest}"

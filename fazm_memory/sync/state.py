"""What this device remembers of its vault.

A small encrypted database beside the log.

It holds the device's keys, what it uploaded in which batch, the objects of its own log, the last head of
every other device and how far each was imported. All of it is written before what it describes is put, so
that a round that is killed anywhere is finished by the next one.
"""

from __future__ import annotations

import configparser
import hashlib
import json
import os
import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from fazm_memory.paths import SYNC_DATABASE, read_regular
from fazm_memory.records import dataclass, field
from fazm_memory.store import Database, Store
from fazm_memory.sync.crypto import KeyPairs, VaultKeys

STEP_1 = """
CREATE TABLE setting (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE batch (
    n INTEGER PRIMARY KEY, link TEXT NOT NULL, requests TEXT NOT NULL, forgets INTEGER NOT NULL);
CREATE TABLE part (
    batch INTEGER NOT NULL, place INTEGER NOT NULL, session TEXT NOT NULL, start INTEGER NOT NULL,
    stop INTEGER NOT NULL, mark TEXT NOT NULL, PRIMARY KEY (batch, place)) WITHOUT ROWID;
CREATE INDEX part_session ON part (session, stop);
CREATE TABLE sent (session TEXT PRIMARY KEY, stop INTEGER NOT NULL, mark TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE object (
    first INTEGER PRIMARY KEY, last INTEGER NOT NULL, generation INTEGER NOT NULL, epoch TEXT NOT NULL,
    digest TEXT NOT NULL, size INTEGER NOT NULL, body BLOB);
CREATE TABLE garbage (name TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE device (id TEXT PRIMARY KEY, name TEXT NOT NULL, stamp TEXT NOT NULL, cursor INTEGER NOT NULL,
    link TEXT NOT NULL, head TEXT NOT NULL, problem TEXT) WITHOUT ROWID;
CREATE TABLE copy (
    session TEXT PRIMARY KEY, device TEXT NOT NULL, origin TEXT NOT NULL, moved TEXT NOT NULL) WITHOUT ROWID;
CREATE UNIQUE INDEX copy_origin ON copy (device, origin);
CREATE TABLE waiting (device TEXT NOT NULL, origin TEXT NOT NULL, batch INTEGER NOT NULL,
    PRIMARY KEY (device, origin)) WITHOUT ROWID;
CREATE TABLE tombstone (
    device TEXT NOT NULL, origin TEXT NOT NULL, low INTEGER NOT NULL, high INTEGER NOT NULL,
    PRIMARY KEY (device, origin, low, high)) WITHOUT ROWID
"""
# Shared file versions: the own ones by batch, the contents of them that were put, and the contents of other
# devices' versions (by the id of the version here) that are not here yet.
STEP_2 = """
CREATE TABLE shared_file (version INTEGER PRIMARY KEY, batch INTEGER NOT NULL, digest TEXT,
    mark TEXT NOT NULL, session TEXT NOT NULL);
CREATE INDEX shared_file_batch ON shared_file (batch);
CREATE INDEX shared_file_digest ON shared_file (digest);
CREATE TABLE shared_blob (digest TEXT PRIMARY KEY, epoch TEXT NOT NULL, size INTEGER NOT NULL,
    put INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE wanted_blob (version INTEGER PRIMARY KEY, mark TEXT NOT NULL, device TEXT NOT NULL,
    digest TEXT NOT NULL, epoch TEXT NOT NULL, size INTEGER NOT NULL, tries INTEGER NOT NULL)
"""
# A session whose log is not what was uploaded, for example after a recovery, is uploaded again as another
# origin. What was uploaded before is lost here.
STEP_3 = """
CREATE TABLE edition (session TEXT PRIMARY KEY, origin TEXT NOT NULL) WITHOUT ROWID;
CREATE UNIQUE INDEX edition_origin ON edition (origin);
CREATE TABLE lost (origin TEXT PRIMARY KEY, session TEXT NOT NULL) WITHOUT ROWID
"""
# Shared transcripts: the own ones with the last batch and all batches that name them, their parts, the parts
# that were put, and the transcripts of other devices that are not here yet.
STEP_4 = """
CREATE TABLE shared_transcript (copy INTEGER PRIMARY KEY, batch INTEGER NOT NULL, mark TEXT NOT NULL,
    row TEXT NOT NULL, batches TEXT NOT NULL);
CREATE INDEX shared_transcript_batch ON shared_transcript (batch);
CREATE TABLE shared_part (copy INTEGER NOT NULL, start INTEGER NOT NULL, digest TEXT NOT NULL,
    PRIMARY KEY (copy, start)) WITHOUT ROWID;
CREATE INDEX shared_part_digest ON shared_part (digest);
CREATE TABLE shared_chunk (digest TEXT PRIMARY KEY, epoch TEXT NOT NULL, size INTEGER NOT NULL,
    put INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE wanted_transcript (device TEXT NOT NULL, number INTEGER NOT NULL, row TEXT NOT NULL,
    tries INTEGER NOT NULL, PRIMARY KEY (device, number)) WITHOUT ROWID
"""
# When the newest event of an object was. Objects of earlier versions have 0 until they are written again.
STEP_5 = "ALTER TABLE object ADD COLUMN newest INTEGER NOT NULL DEFAULT 0"
OUTGOING = "outgoing"  # setting: requests for other devices that are in no batch yet
FORMER = "former"  # setting: the devices that this machine was before, and that left or were removed
START = hashlib.sha256(b"fazm-memory sync start").hexdigest()  # the link before the first batch


@dataclass(frozen=True)
class Part:
    """Events `start` to `stop` of one session in a batch.

    `mark` is the MAC of the last event in the log of this device.
    """

    session: str
    start: int
    stop: int
    mark: str


def next_link(link: str, parts: list[Part], requests: list[Any]) -> str:
    """The link of the chain after one more batch.

    Forgetting payloads does not change it.
    """
    said = [[[part.session, part.start, part.stop, part.mark] for part in parts], requests]
    return hashlib.sha256(f"{link} {json.dumps(said, sort_keys=True)}".encode()).hexdigest()


@dataclass(frozen=True)
class Identity:
    """Who this device is: its vault, its id and its keys."""

    vault: VaultKeys
    device: str
    keys: KeyPairs

    @staticmethod
    def fresh(vault: VaultKeys) -> Identity:
        return Identity(vault, secrets.token_hex(16), KeyPairs.generate())


class SyncState:
    """The database of one device."""

    def __init__(self, store: Store) -> None:
        self.db = Database(
            store.path.with_name(SYNC_DATABASE),
            store.keys.database,
            steps=(STEP_1, STEP_2, STEP_3, STEP_4, STEP_5),
        )

    def close(self) -> None:
        self.db.close()

    # -- settings ----------------------------------------------------------------------------------------

    def get(self, key: str, default: Any = None) -> Any:
        row = self.db.execute("SELECT value FROM setting WHERE key=?", (key,)).fetchone()
        return default if row is None else json.loads(row[0])

    def set(self, **values: Any) -> None:
        """Write settings, all or none.

        Each call is durable on its own unless it is in a transaction.
        """
        marks = ",".join(["(?,?)"] * len(values))
        row = [text for key, value in values.items() for text in (key, json.dumps(value))]
        self.db.execute(f"INSERT OR REPLACE INTO setting VALUES {marks}", row)

    @property
    def active(self) -> bool:
        return bool(self.get("active", False))

    def identity(self) -> Identity | None:
        raw = self.get("identity")
        if raw is None:
            return None
        vault = VaultKeys(*(bytes.fromhex(raw[name]) for name in ("key", "root_sign", "root_box")))
        keys = KeyPairs(bytes.fromhex(raw["sign"]), bytes.fromhex(raw["box"]))
        return Identity(vault, raw["device"], keys)

    def begin(self, identity: Identity, **settings: Any) -> None:
        """Forget any former vault and begin with this one."""
        raw = {
            "key": identity.vault.key.hex(), "root_sign": identity.vault.root_sign.hex(),
            "root_box": identity.vault.root_box.hex(), "device": identity.device,
            "sign": identity.keys.sign_private.hex(), "box": identity.keys.box_private.hex(),
        }  # fmt: skip
        self.note_former()
        self.erase()
        with self.db.transaction():
            self.set(identity=raw, number=0, epochs={}, **settings)

    def _unheard(self) -> list[Any]:
        """Requests to quarantine that no other device has read and believes.

        Their batches were not put, or came after this device was removed.
        """
        put = self.db.execute("SELECT coalesce(max(last), 0) FROM object WHERE body IS NULL").fetchone()[0]
        old = self.identity()
        removal = None if old is None else self.get("removed", {}).get(old.device)
        heard = put if removal is None else min(put, removal["log"]["batches"])
        rows = self.db.execute("SELECT requests FROM batch WHERE n > ? ORDER BY n", (heard,)).fetchall()
        return [one for (requests,) in rows for one in json.loads(requests) if one[0] == "quarantine"]

    def note_former(self) -> None:
        """Remember that this machine was this device, and is no more.

        Only if the other machines can know: it was removed, or it announced that it left.
        """
        old = self.identity()
        if old is not None and (self.get("announced") or old.device in self.get("removed", {})):
            self.set(**{FORMER: [*self.get(FORMER, []), old.device]})

    def erase(self) -> None:
        """Forget the vault, its keys and everything remembered of it.

        What others are to be asked stays, and who this machine was: it may join again with new keys.
        """
        kept = {OUTGOING: [*self._unheard(), *self.get(OUTGOING, [])], FORMER: self.get(FORMER, [])}
        with self.db.transaction():
            tables = self.db.execute("SELECT name FROM sqlite_master WHERE type='table'").fetchall()
            for (table,) in tables:
                self.db.execute(f"DELETE FROM {table}")
            self.set(**kept)

    def epochs(self) -> dict[str, dict[str, Any]]:
        """The epoch secrets this device has: id to rank, issuer and secret (hex)."""
        return dict(self.get("epochs", {}))

    # -- own log -----------------------------------------------------------------------------------------

    def last_batch(self) -> tuple[int, str]:
        row = self.db.execute("SELECT n, link FROM batch ORDER BY n DESC LIMIT 1").fetchone()
        return (0, START) if row is None else (int(row[0]), str(row[1]))

    def link_at(self, batch: int) -> str:
        row = self.db.execute("SELECT link FROM batch WHERE n=?", (batch,)).fetchone()
        return START if row is None else str(row[0])

    def sent(self) -> dict[str, tuple[int, str]]:
        """How far each session was put into a batch, and the mark there."""
        rows = self.db.execute("SELECT session, stop, mark FROM sent").fetchall()
        return {session: (stop, mark) for session, stop, mark in rows}

    def origins(self) -> dict[str, str]:
        """Own sessions that were uploaded again, and as what."""
        return dict(self.db.execute("SELECT session, origin FROM edition").fetchall())

    def own_session(self, origin: str) -> str | None:
        """The own session that is uploaded as this; None if that upload is lost here."""
        row = self.db.execute("SELECT session FROM edition WHERE origin=?", (origin,)).fetchone()
        if row is not None:
            return str(row[0])
        lost = self.db.execute("SELECT 1 FROM lost WHERE origin=?", (origin,)).fetchone()
        return origin if lost is None else None

    def begin_edition(self, origin: str, device: str) -> None:
        """Upload a session as another origin from now on.

        The log does not have what was uploaded as this origin.
        """
        session = self.own_session(origin) or origin
        again = hashlib.sha256(f"again {device} {origin}".encode()).hexdigest()[:32]
        self.db.execute("INSERT OR IGNORE INTO lost VALUES (?,?)", (origin, session))
        self.db.execute("DELETE FROM sent WHERE session=?", (origin,))
        self.db.execute("INSERT OR REPLACE INTO edition VALUES (?,?)", (session, again))

    def parts(self, batch: int) -> list[Part]:
        rows = self.db.execute(
            "SELECT session, start, stop, mark FROM part WHERE batch=? ORDER BY place", (batch,)
        )
        return [Part(*row) for row in rows.fetchall()]

    def requests(self, batch: int) -> list[Any]:
        row = self.db.execute("SELECT requests FROM batch WHERE n=?", (batch,)).fetchone()
        return [] if row is None else list(json.loads(row[0]))

    def objects(self) -> list[tuple[int, int, int, str, str, int]]:
        """The objects of the own log in order.

        Each is first, last, generation, epoch, digest and size.
        """
        rows = self.db.execute(
            "SELECT first, last, generation, epoch, digest, size FROM object ORDER BY first"
        ).fetchall()
        return [tuple(row) for row in rows]

    def newest(self) -> tuple[int, ...]:
        """When the newest event of each object was, in the order of `objects`."""
        return tuple(at for (at,) in self.db.execute("SELECT newest FROM object ORDER BY first").fetchall())

    # -- other devices -----------------------------------------------------------------------------------

    def local_session(self, device: str, origin: str) -> str | None:
        """The id that a session of another device has here."""
        row = self.db.execute(
            "SELECT session FROM copy WHERE device=? AND origin=?", (device, origin)
        ).fetchone()
        return None if row is None else str(row[0])

    def origin_of(self, session: str | None) -> str | None:
        """What the machine of a copy calls its session, if it has another name here."""
        row = self.db.execute(
            "SELECT origin FROM copy WHERE session=?1 AND origin<>?1", (session,)
        ).fetchone()
        return None if row is None else str(row[0])

    def tombstones(self, device: str, origin: str) -> list[tuple[int, int]]:
        rows = self.db.execute(
            "SELECT low, high FROM tombstone WHERE device=? AND origin=?", (device, origin)
        )
        return [(low, high) for low, high in rows.fetchall()]


# Folders of another machine as folders of this one: by git remote, then relative to the home folder
#
# A folder that does not exist here when a session arrives may be found later, when a repository with the
# same remote is worked in, or be named by a person. This is remembered in the log's database, where
# sessions are looked up by folder.

LARGEST_CONFIG = 1 << 20  # bytes of a repository's settings
RECENT = 200  # sessions whose folders are looked at
REMOTES = "remotes"  # setting: a folder of another machine to its remote and its path in the repository


class Repository(NamedTuple):
    """Where a folder lies in a repository.

    `remote` is its `origin` in one form, `inside` the path below its top folder.
    """

    remote: str
    inside: str
    top: str

    def place(self, inside: str) -> str:
        """The folder with a path in this repository."""
        return os.path.join(self.top, inside) if inside else self.top


def repository(workspace: str | None) -> Repository | None:
    """The repository around a folder. A remote looks like `github.com/mia/shop`."""
    folder = Path(workspace) if workspace else None
    while folder is not None:
        config = folder / ".git" / "config"
        if config.is_file():
            remote = _origin(config)
            inside = os.path.relpath(str(workspace), folder)
            return (
                None if remote is None else Repository(remote, "" if inside == "." else inside, str(folder))
            )
        folder = folder.parent if folder.parent != folder else None
    return None


def _origin(config: Path) -> str | None:
    parser = configparser.ConfigParser(strict=False, interpolation=None, allow_no_value=True)
    try:
        parser.read_string(read_regular(config, LARGEST_CONFIG).decode("utf-8", "replace"))
        url = parser.get('remote "origin"', "url", fallback=None)
    except (configparser.Error, OSError):
        return None
    if not url:
        return None
    plain = re.sub(r"^[a-z+]+://", "", url.strip(), flags=re.IGNORECASE)
    plain = re.sub(r"^[^/@]*@", "", plain)  # never the user or a token
    return plain.replace(":", "/", 1).removesuffix("/").removesuffix(".git").lower() or None


def moved_folders(store: Store, theirs: dict[str, Any], their_home: str, home: str) -> dict[str, str]:
    """Folders of another machine that have other names here, longest first.

    The workspace, then the home folder.
    """
    moved: dict[str, str] = {}
    workspace = theirs.get("workspace")
    if isinstance(workspace, str) and workspace.strip("/"):
        remote, inside = theirs.get("remote"), theirs.get("inside") or ""
        here = _with_remote(own_folders(store), remote, inside) if isinstance(remote, str) else None
        if here is not None and here != workspace:
            moved[workspace.rstrip("/")] = here.rstrip("/")
    if their_home.strip("/") and their_home.rstrip("/") != home.rstrip("/"):
        moved[their_home.rstrip("/")] = home.rstrip("/")
    return moved


def own_folders(store: Store) -> Iterator[str]:
    """The folders of the latest sessions of this machine."""
    rows = store.sessions.listing(limit=RECENT)
    yield from dict.fromkeys(row.workspace for row in rows if row.device is None and row.workspace)


def _with_remote(folders: Iterable[str], remote: str, inside: str) -> str | None:
    """The folder of a repository with this remote, if one of these is in one."""
    for folder in folders:
        found = repository(folder)
        if found is not None and found.remote == remote:
            return found.place(inside)
    return None


def find_folders(store: Store, remotes: dict[str, list[str]], folders: Iterable[str]) -> dict[str, str]:
    """Folders of other machines that do not exist here, but whose repository does.

    Maps each to the folder here.
    """
    known = store.sessions.folder_names()
    missing = [theirs for theirs in remotes if theirs not in known and not os.path.isdir(theirs)]
    if not missing:
        return {}
    candidates = list(folders)
    found = {theirs: _with_remote(candidates, *remotes[theirs]) for theirs in missing}
    return {theirs: here for theirs, here in found.items() if here is not None}


@dataclass
class RoundReport:
    """What one round did.

    `problems` are sentences about objects that were not believed.
    """

    imported: int = 0
    exported: int = 0
    uploads: int = 0  # batches, also those without events: what was forgotten or quarantined, shared files
    forgot: int = 0
    files: int = 0  # contents of file versions that arrived
    transcripts: int = 0  # transcripts that arrived, or grew
    sessions: list[str] = field(default_factory=list)
    joined: list[str] = field(default_factory=list)  # names of devices that are new to this one
    problems: list[str] = field(default_factory=list)
    requests: dict[str, int] = field(default_factory=dict)
    excluded: dict[str, list[str]] = field(default_factory=dict)  # exclusions of the other devices

    def to_json(self) -> dict[str, Any]:
        return vars(self)

    def problem(self, text: str) -> None:
        """Name what was not believed, once."""
        if text not in self.problems:
            self.problems.append(text)


class RoundProgress:
    """How far a round is.

    The caller is told the events that were imported and uploaded. Other processes read it in the state.
    """

    def __init__(self, state: SyncState, events: Callable[[], int]) -> None:
        self.state, self._events = state, events
        self.call: Callable[[int], None] = lambda done: None
        self.shown: dict[str, Any] | None = None  # what is stored with the next head
        self.total = 0
        self._done = self._told = 0

    def begin(self, total: int) -> None:
        """Begin to count to this many uploads or events."""
        self._done, self.total = 0, total

    def show(self, doing: str, what: str, count: int) -> None:
        """Count what was received or uploaded."""
        self._done += count
        self.shown = {"doing": doing, "what": what, "done": self._done, "total": self.total}
        if self._done >= self.total:
            self.shown = None
        elif doing == "receiving":
            self.state.set(progress=self.shown)
        self.tell()

    def tell(self) -> None:
        """Tell the caller if there are more events than before."""
        done = self._events()
        if done != self._told:
            self._told = done
            self.call(done)

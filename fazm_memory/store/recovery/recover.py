"""Recovery: set the damaged store aside, copy what verifies into a new one.

Positions stay the same: a lost event is replaced by an `unknown` event of type `lost`. Each session that
lost something gets a `recovered` event.
"""

from __future__ import annotations

import errno
import hmac
import json
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import zstandard
from sqlcipher3 import dbapi2 as sqlcipher

from fazm_memory.errors import (
    FazmMemoryError,
    KeyUnavailable,
    StoreBusy,
    StoreDamaged,
    StoreFull,
    StoreReadOnly,
)
from fazm_memory.events import RETAINED_FIELDS, Forgotten, Recovered, SessionOpen, UnknownRecord, read_payload
from fazm_memory.records import dataclass, field
from fazm_memory.store import file_versions, framework_store, hash_chain, keys, transcript_copies, views
from fazm_memory.store.database import FILE_SUFFIXES, Database, database_files, in_use
from fazm_memory.store.event_log import SEQ_MASK, NewEvent, SessionHead, event_id, to_event, unpack
from fazm_memory.store.file_versions import delete_unused_blobs
from fazm_memory.store.forget import NOTED, Tombstones, ranges_of
from fazm_memory.store.hash_chain import ChainHead, ChainHeads
from fazm_memory.store.recovery.journal import (
    COPY,
    QUARANTINE,
    QUIT,
    RecoveryFolder,
    clear,
    set_aside,
    undo_unfinished,
)
from fazm_memory.store.recovery.page_reader import DamagedDatabase, PageReader, RowReader, RowShape
from fazm_memory.store.schema import statements
from fazm_memory.store.store import DATABASE, FIRST_PAGE, HEADS, STORE_FOLDER, Store
from fazm_memory.store.verify import verify_store
from fazm_memory.store.views import NOT_QUARANTINED, QuarantinedEvents
from fazm_memory.store.writer import Writer
from fazm_memory.text import plural

CHOICES = "context.choices"  # the key that `recall/exports.py` uses


def take_over(wreck: DamagedDatabase, store: Store) -> None:
    """Copy quarantine marks and choices for the context. In a transaction."""
    found = dict(wreck.rows("meta", "key, value"))
    try:
        choices = json.loads(found.get(CHOICES, "{}"))
        by_session = {int(n): QuarantinedEvents(bool(entry["whole"]), frozenset(entry["seqs"]))
                for n, entry in json.loads(found.get(views.KEY, "{}")).items()}  # fmt: skip
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        wreck.notes.append(f"pins, exclusions and quarantine could not be read from the old store: {error}")
        return
    if choices:
        store.db.execute("INSERT OR REPLACE INTO meta VALUES (?,?)", (CHOICES, json.dumps(choices)))
    for key, value in found.items():
        if key.startswith((NOTED, "device:")):
            store.db.execute("INSERT OR REPLACE INTO meta VALUES (?,?)", (key, value))
    for number, marks in by_session.items():
        known = views.read_quarantine(store.db).get(number, NOT_QUARANTINED)
        views.write_quarantine(
            store.db, number, QuarantinedEvents(known.whole or marks.whole, known.seqs | marks.seqs)
        )


COLUMNS = "n, id, agent, agent_session_id, opened_at"


@dataclass(frozen=True)
class SessionIdentity:
    """What only the session row says. The `id` may be unknown."""

    id: str | None
    agent: str = "unknown"
    own: str | None = None
    opened: int = 0


def identities_from_rows(wreck: DamagedDatabase) -> dict[int, SessionIdentity]:
    """The sessions whose rows are complete, by number."""
    return {row[0]: SessionIdentity(*row[1:]) for row in wreck.rows("session", COLUMNS)}


def identities_from_chain(
    wreck: DamagedDatabase,
    chain_key: bytes,
    numbers: Iterable[int],
    known: dict[int, SessionIdentity],
    now: int,
) -> dict[int, SessionIdentity]:
    """Sessions whose rows are lost, identified by indexes, parents and hash chain."""
    found = {number: next(wreck.events(event_id(number, 0), event_id(number, 1)), None) for number in numbers}
    lost = [number for number in found if number not in known]
    if not lost:
        return {}
    firsts = {n: row for n, row in found.items() if row and all(isinstance(cell, bytes) for cell in row[9:])}
    openings = {number: opening for number, row in firsts.items() if (opening := _opening(row)) is not None}
    indexed = {number: name for name, number in wreck.raw.rows("session_id", "id, n")}
    parents = sorted({opening.parent for opening in openings.values() if opening.parent is not None})
    ids = {identity.id for identity in known.values()}
    taken = {(identity.own, identity.agent) for identity in known.values()}
    agents = {n: (own, agent) for own, agent, n in wreck.raw.rows("session_agent", "own, agent, n")}
    result = {}
    for number in lost:
        first, opening = firsts.get(number), openings.get(number)
        proved = (
            name
            for name in (indexed.get(number), *parents)
            if first is not None and name is not None and name not in ids
            if linked(chain_key, hash_chain.genesis(chain_key, name), name, first)
        )
        own, agent = agents.get(number, (None, "unknown" if opening is None else opening.agent))
        own = None if (own, agent) in taken else own
        result[number] = SessionIdentity(next(proved, None), agent, own, now if first is None else first[1])
    return result


def linked(chain_key: bytes, prev: bytes, session: str, row: tuple[Any, ...]) -> bool:
    """Whether an event follows the one with the MAC `prev`."""
    id_, at, turn, kind, version, actor, source, trust, key, _stored, digest, mac = row
    link = hash_chain.link(chain_key, prev, bytes(digest), session, id_ & SEQ_MASK, at, turn, kind, version,
                      actor, source, trust, key)  # fmt: skip
    return hmac.compare_digest(link, bytes(mac))


def _opening(row: tuple[Any, ...]) -> SessionOpen | None:
    try:
        payload = to_event(row, "", b"").payload
    except FazmMemoryError:
        return None
    return payload if isinstance(payload, SessionOpen) else None


UNTOLD = "found without content during a recovery; the reason is not known"
LAST_GUESS = 1 << 16  # sessions to look for when nothing says how many there were


@dataclass
class RecoveryReport:
    needed: bool = True
    kept: int = 0
    lost: int = 0
    sessions: int = 0
    quarantine: str | None = None
    notes: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return dict(self.__dict__)


def recover(
    home: Path,
    *,
    key: str,
    now: int,
    aside: RecoveryFolder,
    progress: Callable[[int], None] = lambda done: None,
) -> RecoveryReport:
    """Recover the store of this home. A store that verifies is left alone."""
    undo_unfinished(home)
    for copy in (home / QUARANTINE).glob(f"*/{COPY}"):
        clear(copy.parent)
    path = home / STORE_FOLDER / DATABASE
    if not path.exists():
        raise no_store(home)
    problem = _problem(home, key)
    if problem is None:
        return RecoveryReport(needed=False, notes=["the store opens and verifies; nothing was changed"])
    if in_use(path):
        raise StoreBusy(
            f"The store is damaged ({problem}), but another process has it open. Nothing was changed.",
            hint=QUIT,
        )
    known = keys.load(home / "keys", prefer=key, store_exists=True)
    folder = aside.folder()
    report = RecoveryReport(quarantine=str(folder), notes=[problem])
    try:
        # Move first, then read: events written during the read would be lost.
        with (
            set_aside(home, _belonging(home, path), folder),
            closing(_copied(folder / DATABASE, folder, known.database, folder / FIRST_PAGE)) as wreck,
        ):
            outside = ChainHeads(folder / HEADS, known.chain).read_all()[0]
            if not wreck.readable and not outside:
                raise KeyUnavailable(
                    f"Neither {path} nor the heads file can be read with the key in {known.where}."
                    " It is probably the key of another store. Nothing was changed.",
                    hint="put the right `keys` folder back; to give up this store, move it away",
                )
            with closing(Store(home, key=key, recovering=True)) as store:
                _save(wreck, store, known.chain, outside, now, report, progress)
            report.notes += wreck.notes
    except BaseException as error:  # also KeyboardInterrupt
        raise _translated(error, path) from error
    finally:
        clear(folder)
    return report


def no_store(home: Path) -> StoreDamaged:
    path = home / STORE_FOLDER / DATABASE
    return StoreDamaged(
        f"There is no store at {path}.", hint="nothing was ever recorded here, or it was moved"
    )


def _belonging(home: Path, path: Path) -> list[Path]:
    """The store's files, and those beside the key that belong to it."""
    return [*database_files(path), home / "keys" / HEADS, home / "keys" / FIRST_PAGE]


def _translated(error: BaseException, path: Path) -> BaseException:
    full = isinstance(error, OSError) and error.errno == errno.ENOSPC
    if not (full or isinstance(error, StoreFull)):
        return error
    return StoreFull(
        "there is no room for a second store beside the damaged one; it is as it was",
        hint=f"free as much as {path} takes, then run `fazm-memory recover` again",
    )


def _problem(home: Path, key: str) -> str | None:
    try:
        store = Store(home, key=key, create=False)
    except FazmMemoryError as error:
        if not isinstance(error, StoreDamaged):
            raise  # a wrong key or a newer store is not damage, and must not be "repaired"
        return error.message
    try:
        check = store.db.execute("PRAGMA quick_check(1)").fetchone()[0]
        if check != "ok":
            return f"SQLite reports: {check}"
        report = verify_store(store.log)
        return None if report.clean else report.findings[0].what
    except (StoreFull, StoreReadOnly, StoreBusy):
        raise  # a full disk is not damage either
    except (sqlcipher.Error, FazmMemoryError) as error:
        return str(error)
    finally:
        store.close()


def _copied(path: Path, aside: Path, key: str, first_page: Path) -> DamagedDatabase:
    """A copy of the damaged database, since opening it may write to it."""
    for suffix, side in zip(FILE_SUFFIXES[:2], database_files(path), strict=False):
        if side.exists():
            shutil.copyfile(side, aside / f"{COPY}{suffix}")
    spare = first_page.read_bytes() if first_page.exists() else None
    return DamagedDatabase(aside / COPY, key, PageReader(path, key, spare))


def _save(
    wreck: DamagedDatabase,
    store: Store,
    chain_key: bytes,
    outside: dict[int, ChainHead],
    now: int,
    report: RecoveryReport,
    progress: Callable[[int], None],
) -> None:
    known = identities_from_rows(wreck)
    last = max([0, *known, *outside])
    numbers = sorted({*known, *outside, *wreck.numbers(last or LAST_GUESS)})
    known |= identities_from_chain(wreck, chain_key, numbers, known, now)
    for number in numbers:
        who = known[number]
        with store.writing() as writer:
            head = writer.create(
                who.agent, who.opened, agent_session_id=who.own, session_id=who.id, number=number,
                arrived=now,
            )  # fmt: skip
            kept, lost = _session(
                wreck, writer, head, chain_key, outside.get(number), named=who.id is not None
            )
            alarm = outside[number].alarm if number in outside else None
            if lost or alarm is not None:
                note = f"positions lost: {lost} of {kept + lost}"
                if alarm is not None:  # later events reuse the lost positions, so only the alarm names them
                    note += f"; {alarm.describe()}"
                _housekeep(writer, head, Recovered(kept=kept, lost=lost, note=note), "recovered", now)
        report.kept += kept
        report.lost += lost
        report.sessions += 1
        progress(report.kept)
    _detach_orphans(store, now)
    with store.db.transaction():
        columns = "path, agent, offset, size, inode, fingerprint, carry, updated_at"
        for row in wreck.rows("cursor", columns):
            store.db.execute("INSERT OR REPLACE INTO cursor VALUES (?,?,?,?,?,?,?,?)", row)
        take_over(wreck, store)


def _detach_orphans(store: Store, now: int) -> None:
    """Detach forks whose parent is lost, so that they can be read."""
    orphans = store.db.execute(
        "SELECT n, parent FROM session WHERE parent NOT IN (SELECT id FROM session)"
    ).fetchall()
    for number, parent in orphans:
        with store.writing() as writer:
            writer.db.execute("UPDATE session SET parent=NULL, parent_seq=NULL WHERE n=?", (number,))
            head = writer.head(number)
            note = f"session {parent[:8]}, from which it was forked, is lost"
            _housekeep(writer, head, Recovered(kept=head.head, lost=0, note=note), "recovered", now)


def _session(
    wreck: DamagedDatabase,
    writer: Writer,
    head: SessionHead,
    chain_key: bytes,
    outside: ChainHead | None,
    *,
    named: bool,
) -> tuple[int, int]:
    """Restore a session's events at their positions.

    Return how many were kept and lost.
    """
    kept = lost = 0
    left: dict[int, str] | None = None
    gone: list[int] = []
    tombstones = Tombstones()
    # Without its row the session's id is unknown, so payloads can be checked but not the chain.
    prev: bytes | None = hash_chain.genesis(chain_key, head.id) if named else None
    for row in wreck.events(event_id(head.n, 0), event_id(head.n, SEQ_MASK)):
        id_, at, turn, kind, version, actor, source, trust, key, stored, digest, mac = row
        seq = id_ & SEQ_MASK
        while head.head < seq:
            _lost(writer, head)
            lost += 1
            prev = None
        readable = isinstance(stored, bytes)  # SQLite does not enforce column types
        whole = stored is None or (
            readable and hmac.compare_digest(hash_chain.digest_of(stored), bytes(digest))
        )
        if not whole and readable and kind in RETAINED_FIELDS:  # perhaps forgotten except for its structure
            left = _left(wreck, head, chain_key, named=named) if left is None else left
            whole = left.get(seq) == hash_chain.digest_of(stored).hex()
        whole = whole and (prev is None or linked(chain_key, prev, head.id, row))
        prev = bytes(mac) if named else None
        if not whole:
            _lost(writer, head)
            lost += 1
            continue
        payload = None if stored is None else read_payload(kind, version, json.loads(unpack(stored)))
        entry = NewEvent(kind, payload, at, actor, source, trust, turn=turn, key=key)
        writer.restore(head, entry, version, stored, bytes(digest))
        kept += 1
        if stored is None:
            gone.append(seq)
        elif kind == "forgotten":
            tombstones.add(stored, seq)
    # The tail of a session that another machine records is synced again.
    while outside is not None and head.head < outside.count and head.device is None:
        _lost(writer, head)
        lost += 1
    if unexplained := list(tombstones.taken(gone)):
        ranges = tuple(ranges_of(unexplained))
        _housekeep(writer, head, Forgotten(len(unexplained), UNTOLD, ranges), "forgotten", head.last_at)
    return kept, lost


def _left(wreck: DamagedDatabase, head: SessionHead, chain_key: bytes, *, named: bool) -> dict[int, str]:
    """What valid tombstones of the session say is left of events, by position."""
    found = Tombstones()
    before: tuple[int, bytes] | None = None
    for row in wreck.events(event_id(head.n, 0), event_id(head.n, SEQ_MASK)):
        id_, kind, stored, digest = row[0], row[3], row[9], bytes(row[10])
        follows = before is not None and before[0] == id_ - 1
        if kind == "forgotten" and isinstance(stored, bytes) and follows and before is not None:
            whole = hmac.compare_digest(hash_chain.digest_of(stored), digest)
            if whole and (not named or linked(chain_key, before[1], head.id, row)):
                found.add(stored, id_ & SEQ_MASK)
        before = id_, bytes(row[11])
    return found.left


def _lost(writer: Writer, head: SessionHead) -> None:
    # The true time is lost. The current time would make an old session the latest.
    _housekeep(writer, head, UnknownRecord(type="lost"), "unknown", head.last_at)


def _housekeep(writer: Writer, head: SessionHead, payload: Any, kind: str, now: int) -> None:
    """Append an event about the session without changing its lifecycle."""
    if head.device is not None and kind != "unknown":
        return  # its positions belong to the machine that records it
    before, device, head.device = head.lifecycle, head.device, None
    if head.lifecycle in ("paused", "closed", "archived"):
        head.lifecycle = "active"
    writer.append(head, NewEvent(kind, payload, now, "system", "companion", "unverified"))
    head.lifecycle, head.device = before, device


# The databases beside the log: file versions and framework data
#
# They have no hash chain, but pages are authenticated and content has digests. A damaged database is set
# aside and every complete row is copied into a new one. A database that another process has open is left
# alone.

IN_USE = "another process has it open, so it was left as it is: end that one, then recover again"
LOST = "lost: its content was on a damaged page"
VERSIONS = {
    "version": RowShape(
        "id, root, path, at, session, digest, reason, mark, told, seq, hand, mode", "-ttiTTTti", more=3
    ),
    "blob": RowShape("digest, size, data", "tib"),
    "restore": RowShape("id, session, root, stage, began, ended, told", "-tttiIt"),
    "folder": RowShape("id, root, path, at, came, session, seq, hand", "-ttiiTIt"),
}
MODES = statements(file_versions.STEP_3)[1]
FRAMEWORK_ITEMS = {"item": RowShape("n, shelf, owner, name, at, data", "-ttTib")}

TRANSCRIPTS = {
    "copy": RowShape(transcript_copies.COLUMNS, "-ttttttii?iit?ii", more=1),
    "part": RowShape("copy, start, size, digest", "iiit"),
    "chunk": RowShape("digest, size, data", "tib"),
    "forgotten": RowShape("id, session, at", "-ti"),
}

Save = Callable[[RowReader, Database], str]


@dataclass(frozen=True)
class SideDatabase:
    """A database beside the log: name, schema, row shapes, how rows are saved."""

    file: str
    steps: tuple[str, ...]
    shapes: Mapping[str, RowShape]
    save: Save


@dataclass(frozen=True)
class SideDatabaseCheck:
    """The result of a check: the problem, if any, and whether all pages were read."""

    file: str
    problem: str | None
    whole: bool


def check_side_databases(home: Path, key: str, most: int) -> list[SideDatabaseCheck]:
    """Check each one without changing it.

    Files of more than `most` bytes are only opened.
    """
    found = []
    for side, path in _existing(home):
        whole = path.stat().st_size <= most
        problem = _side_problem(path, key, side) if whole else _refused(path, key, side)
        found.append(SideDatabaseCheck(side.file, problem, whole))
    return found


def recover_side_databases(home: Path, key: str, aside: RecoveryFolder) -> list[str]:
    """Recover each damaged one. Return notes on what was done."""
    notes = []
    for side, path in _existing(home):
        problem = _side_problem(path, key, side)
        if problem is not None:
            result = IN_USE if in_use(path) else _recover(home, path, key, side, aside)
            notes.append(f"{side.file}: {problem}; {result}")
    return notes


def _existing(home: Path) -> Iterator[tuple[SideDatabase, Path]]:
    for side in ALL:
        path = home / STORE_FOLDER / side.file
        if path.exists() and path.stat().st_size:
            yield side, path


def _refused(path: Path, key: str, side: SideDatabase) -> str | None:
    try:
        Database(path, key, create=False, steps=side.steps).close()
    except StoreDamaged as error:
        return error.message
    return None


def _side_problem(path: Path, key: str, side: SideDatabase) -> str | None:
    damage = _damage(path, key)
    if damage is not None and not in_use(path):
        return damage
    try:
        with closing(Database(path, key, create=False, steps=side.steps)) as db:
            if damage is not None:  # perhaps a page being written: check again under the write lock
                with db.transaction():
                    damage = _damage(path, key)
            check = db.execute("PRAGMA quick_check(1)").fetchone()[0] if damage is None else damage
            return None if check == "ok" else damage or f"SQLite reports: {check}"
    except StoreDamaged as error:
        return error.message


def _damage(path: Path, key: str) -> str | None:
    with closing(PageReader(path, key, None)) as pages:
        if not pages.damaged and not pages.cut_off:
            return None
        cut = ", its end was cut off" if pages.cut_off else ""
        return f"{len(pages.damaged)} of {plural(pages.count, 'page')} damaged{cut}"


def _recover(home: Path, path: Path, key: str, side: SideDatabase, aside: RecoveryFolder) -> str:
    folder = aside.folder()
    with (
        set_aside(home, database_files(path), folder),
        closing(PageReader(folder / path.name, key, None)) as pages,
        closing(Database(path, key, steps=side.steps)) as db,
    ):
        return side.save(RowReader(pages, side.shapes), db)


def _insert(db: Database, table: str, columns: str, rows: Iterable[tuple[Any, ...]]) -> None:
    # The last copy counts: a moved row may have left an older one.
    marks = ",".join("?" * (columns.count(",") + 1))
    db.executemany(f"INSERT OR REPLACE INTO {table} ({columns}) VALUES ({marks})", rows)


def _save_versions(rows: RowReader, db: Database) -> str:
    """Copy versions with the content that matches its digest. Others get a reason."""
    with db.transaction():
        for table in ("version", "restore", "folder"):
            columns = VERSIONS[table].columns
            _insert(db, table, columns, rows.each(table, columns))
        db.execute(f"{MODES} AND mode IS NULL")  # rows older than this column
        columns = VERSIONS["blob"].columns
        _insert(db, "blob", columns, (row for row in rows.each("blob", columns) if _true(*row)))
        delete_unused_blobs(db)
        lost = db.execute(
            "UPDATE version SET digest=NULL, reason=?"
            " WHERE digest IS NOT NULL AND digest NOT IN (SELECT digest FROM blob)",
            (LOST,),
        ).rowcount
        kept = db.execute("SELECT count(*) FROM version").fetchone()[0]
    without = f", {lost} without content" if lost else ""
    return f"{plural(kept, 'version')} of files saved{without}"


def _true(digest: str, size: int, data: bytes) -> bool:
    try:
        content = zstandard.ZstdDecompressor().decompress(data, max_output_size=file_versions.FILE_CAP)
    except zstandard.ZstdError:
        return False
    return len(content) == size and file_versions.digest_of(content) == digest


def _save_framework_items(rows: RowReader, db: Database) -> str:
    columns = FRAMEWORK_ITEMS["item"].columns
    with db.transaction():
        _insert(db, "item", columns, rows.each("item", columns))
        kept = db.execute("SELECT count(*) FROM item").fetchone()[0]
    return f"{plural(kept, 'item')} of other programs saved"


def _save_transcripts(rows: RowReader, db: Database) -> str:
    """Save the copies of which every part is readable.

    The others are made again from the agent's file.
    """
    with db.transaction():
        for table in ("copy", "part", "forgotten"):
            columns = TRANSCRIPTS[table].columns
            _insert(db, table, columns, rows.each(table, columns))
        columns = TRANSCRIPTS["chunk"].columns
        _insert(db, "chunk", columns, (row for row in rows.each("chunk", columns) if _true(*row)))
        whole = (
            "SELECT id FROM copy WHERE size = (SELECT coalesce(sum(part.size), 0) FROM part JOIN chunk"
            " ON chunk.digest = part.digest WHERE part.copy = copy.id)"
        )
        lost = db.execute(f"DELETE FROM copy WHERE id NOT IN ({whole})").rowcount
        db.execute("DELETE FROM part WHERE copy NOT IN (SELECT id FROM copy)")
        db.execute("DELETE FROM chunk WHERE digest NOT IN (SELECT digest FROM part)")
        saved = db.execute("SELECT count(*) FROM copy").fetchone()[0]
    gone = f", {lost} incomplete ones dropped" if lost else ""
    return f"{plural(saved, 'copied transcript')} saved{gone}"


ALL = (
    SideDatabase(file_versions.VERSIONS_DATABASE, file_versions.STEPS, VERSIONS, _save_versions),
    SideDatabase(framework_store.DATABASE, framework_store.STEPS, FRAMEWORK_ITEMS, _save_framework_items),
    SideDatabase(
        transcript_copies.TRANSCRIPTS_DATABASE, transcript_copies.STEPS, TRANSCRIPTS, _save_transcripts
    ),
)

"""Recovery: the damaged store is set aside as it is, and all that verifies goes into a new one, aloud.

Positions are kept: where an event is lost an `unknown` event of type `lost` stands in its place, so that
everything that named a position still means it. Each session that lost something gets a `recovered` event.
"""

from __future__ import annotations

import errno
import hmac
import json
import shutil
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlcipher3 import dbapi2 as sqlcipher

from fazm_memory.errors import (
    FazmMemoryError,
    KeyUnavailable,
    StoreBusy,
    StoreDamaged,
    StoreFull,
    StoreReadOnly,
)
from fazm_memory.log import chain, keys
from fazm_memory.log.chain import Head, Heads
from fazm_memory.log.entries import Entry, SessionHead
from fazm_memory.log.forget import ranges_of
from fazm_memory.log.identity import by_proof, by_rows, linked
from fazm_memory.log.journal import COPY, QUARANTINE, QUIT, Aside, clear, put_back, set_aside
from fazm_memory.log.raw_pages import RawPages
from fazm_memory.log.rows import unpack
from fazm_memory.log.salvage import Wreck
from fazm_memory.log.settled import take_over
from fazm_memory.log.sides import SIDES, in_use, sides
from fazm_memory.log.store import DATABASE, FIRST_PAGE, HEADS, STORE_FOLDER, Store
from fazm_memory.log.tables import SEQ_MASK, event_id
from fazm_memory.log.tombstones import Tombstones
from fazm_memory.log.verify import verify
from fazm_memory.log.writer import Writer
from fazm_memory.model.events import read_payload
from fazm_memory.model.payloads import Forgotten, Recovered, Unknown
from fazm_memory.model.structure import BONES

UNTOLD = "found without their content at a recovery; nothing that is left says why"
LAST_GUESS = 1 << 16  # sessions to look for when nothing says how many there were


@dataclass
class Salvage:
    """What came of it."""

    needed: bool = True
    kept: int = 0
    lost: int = 0
    sessions: int = 0
    quarantine: str | None = None
    notes: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        return dict(self.__dict__)


def recover(
    home: Path, *, key: str, now: int, aside: Aside, progress: Callable[[int], None] = lambda done: None
) -> Salvage:
    """Recover the store of this home. A store that verifies is left alone."""
    put_back(home)
    for copy in (home / QUARANTINE).glob(f"*/{COPY}"):
        clear(copy.parent)
    path = home / STORE_FOLDER / DATABASE
    if not path.exists():
        raise no_store(home)
    problem = _problem(home, key)
    if problem is None:
        return Salvage(needed=False, notes=["the store opens and verifies; nothing was changed"])
    if in_use(path):
        raise StoreBusy(
            f"the store is damaged ({problem}), but another process has it open; nothing was changed",
            hint=QUIT,
        )
    known = keys.load(home / "keys", prefer=key, store_exists=True)
    folder = aside.folder()
    told = Salvage(quarantine=str(folder), notes=[problem])
    try:
        # Set aside first and read there: what somebody wrote while it was read in its place would be lost.
        with (
            set_aside(home, _belonging(home, path), folder),
            closing(_copied(folder / DATABASE, folder, known.database, folder / FIRST_PAGE)) as wreck,
        ):
            outside = Heads(folder / HEADS, known.chain).read_all()[0]
            if not wreck.readable and not outside:
                raise KeyUnavailable(
                    f"neither {path} nor the heads beside the key can be read with the key in {known.where}:"
                    " most likely it is the key of another store; nothing was changed",
                    hint="put the right `keys` folder back; to give this store up, move it away by hand",
                )
            with closing(Store(home, key=key, recovering=True)) as store:
                _save(wreck, store, known.chain, outside, now, told, progress)
            told.notes += wreck.notes
    except BaseException as error:  # also when somebody has had enough of waiting
        raise _translated(error, path) from error
    finally:
        clear(folder)
    return told


def no_store(home: Path) -> StoreDamaged:
    path = home / STORE_FOLDER / DATABASE
    return StoreDamaged(
        f"there is no store at {path}", hint="nothing was ever recorded here, or it was moved"
    )


def _belonging(home: Path, path: Path) -> list[Path]:
    """The store's files, and those beside the key that are of this store."""
    return [*sides(path), home / "keys" / HEADS, home / "keys" / FIRST_PAGE]


def _translated(error: BaseException, path: Path) -> BaseException:
    full = isinstance(error, OSError) and error.errno == errno.ENOSPC
    if not (full or isinstance(error, StoreFull)):
        return error
    return StoreFull(
        "there is no room for a second store beside the damaged one; it is as it was",
        hint=f"free as much as {path} takes, then run `fazm-memory recover` again",
    )


def _problem(home: Path, key: str) -> str | None:
    """What is wrong with the store, or None."""
    try:
        store = Store(home, key=key, create=False)
    except FazmMemoryError as error:
        if not isinstance(error, StoreDamaged):
            raise  # a wrong key or a newer store is not damage, and must not be "repaired"
        return error.message
    try:
        check = store.db.execute("PRAGMA quick_check(1)").fetchone()[0]
        if check != "ok":
            return f"the database says: {check}"
        report = verify(store.log)
        return None if report.clean else report.findings[0].what
    except (StoreFull, StoreReadOnly, StoreBusy):
        raise  # nor is a disk that is full
    except (sqlcipher.Error, FazmMemoryError) as error:
        return str(error)
    finally:
        store.close()


def _copied(path: Path, aside: Path, key: str, first_page: Path) -> Wreck:
    """The wreck to read from: a copy, since even opening a database may write to it."""
    for suffix, side in zip(SIDES[:2], sides(path), strict=False):
        if side.exists():
            shutil.copyfile(side, aside / f"{COPY}{suffix}")
    spare = first_page.read_bytes() if first_page.exists() else None
    return Wreck(aside / COPY, key, RawPages(path, key, spare))


def _save(
    wreck: Wreck,
    store: Store,
    chain_key: bytes,
    outside: dict[int, Head],
    now: int,
    told: Salvage,
    progress: Callable[[int], None],
) -> None:
    known = by_rows(wreck)
    last = max([0, *known, *outside])
    numbers = sorted({*known, *outside, *wreck.numbers(last or LAST_GUESS)})
    known |= by_proof(wreck, chain_key, numbers, known, now)
    for number in numbers:
        who = known[number]
        with store.writing() as writer:
            head = writer.create(
                who.agent, who.opened, agent_session_id=who.own, session_id=who.id, number=number
            )
            kept, lost = _session(
                wreck, writer, head, chain_key, outside.get(number), named=who.id is not None
            )
            alarm = outside[number].alarm if number in outside else None
            if lost or alarm is not None:
                note = f"positions lost: {lost} of {kept + lost}"
                if alarm is not None:  # later events stand where the lost ones stood: only this tells of them
                    note += f"; {alarm.told()}"
                _housekeep(writer, head, Recovered(kept=kept, lost=lost, note=note), "recovered", now)
        told.kept, told.lost, told.sessions = told.kept + kept, told.lost + lost, told.sessions + 1
        progress(told.kept)
    _stand_alone(store, now)
    with store.db.transaction():
        columns = "path, agent, offset, size, inode, fingerprint, carry, updated_at"
        for row in wreck.rows("cursor", columns):
            store.db.execute("INSERT OR REPLACE INTO cursor VALUES (?,?,?,?,?,?,?,?)", row)
        take_over(wreck, store)


def _stand_alone(store: Store, now: int) -> None:
    """Forks whose parent is lost begin with nothing from now on: what they began with nobody knows, and
    looking for it would keep every reader from all others."""
    orphans = store.db.execute(
        "SELECT n, parent FROM session WHERE parent NOT IN (SELECT id FROM session)"
    ).fetchall()
    for number, parent in orphans:
        with store.writing() as writer:
            writer.db.execute("UPDATE session SET parent=NULL, parent_seq=NULL WHERE n=?", (number,))
            head = writer.head(number)
            note = f"the session {parent[:8]} that it was forked from is lost: it stands on its own"
            _housekeep(writer, head, Recovered(kept=head.head, lost=0, note=note), "recovered", now)


def _session(
    wreck: Wreck,
    writer: Writer,
    head: SessionHead,
    chain_key: bytes,
    outside: Head | None,
    *,
    named: bool,
) -> tuple[int, int]:
    """Put back a session's events in their places; how many were kept and how many are lost."""
    kept = lost = 0
    left: dict[int, str] | None = None
    gone: list[int] = []
    told = Tombstones()
    # Without its row the session's old id is unknown, and with it the chain cannot be checked: payloads can.
    prev: bytes | None = chain.genesis(chain_key, head.id) if named else None
    for row in wreck.events(event_id(head.n, 0), event_id(head.n, SEQ_MASK)):
        id_, at, turn, kind, version, actor, source, trust, key, stored, digest, mac = row
        seq = id_ & SEQ_MASK
        while head.head < seq:
            _lost(writer, head)
            lost += 1
            prev = None
        readable = isinstance(stored, bytes)  # SQLite would let an editor put anything there
        whole = stored is None or (readable and hmac.compare_digest(chain.digest_of(stored), bytes(digest)))
        if not whole and readable and kind in BONES:  # what is left of it when it was forgotten
            left = _left(wreck, head, chain_key, named=named) if left is None else left
            whole = left.get(seq) == chain.digest_of(stored).hex()
        whole = whole and (prev is None or linked(chain_key, prev, head.id, row))
        prev = bytes(mac) if named else None
        if not whole:
            _lost(writer, head)
            lost += 1
            continue
        payload = None if stored is None else read_payload(kind, version, json.loads(unpack(stored)))
        entry = Entry(kind, payload, at, actor, source, trust, turn=turn, key=key)
        writer.restore(head, entry, version, stored, bytes(digest))
        kept += 1
        if stored is None:
            gone.append(seq)
        elif kind == "forgotten":
            told.add(stored, seq)
    while outside is not None and head.head < outside.count:
        _lost(writer, head)
        lost += 1
    if untold := list(told.taken(gone)):  # what told of them is lost, or somebody took them away
        ranges = tuple(ranges_of(untold))
        _housekeep(writer, head, Forgotten(len(untold), UNTOLD, ranges), "forgotten", head.last_at)
    return kept, lost


def _left(wreck: Wreck, head: SessionHead, chain_key: bytes, *, named: bool) -> dict[int, str]:
    """What the session's tombstones that are whole say is left of events, by position."""
    found = Tombstones()
    before: tuple[int, bytes] | None = None
    for row in wreck.events(event_id(head.n, 0), event_id(head.n, SEQ_MASK)):
        id_, kind, stored, digest = row[0], row[3], row[9], bytes(row[10])
        follows = before is not None and before[0] == id_ - 1
        if kind == "forgotten" and isinstance(stored, bytes) and follows and before is not None:
            whole = hmac.compare_digest(chain.digest_of(stored), digest)
            if whole and (not named or linked(chain_key, before[1], head.id, row)):
                found.add(stored, id_ & SEQ_MASK)
        before = id_, bytes(row[11])
    return found.left


def _lost(writer: Writer, head: SessionHead) -> None:
    # When it happened nobody knows any more; not now, or an old session would be the latest.
    _housekeep(writer, head, Unknown(type="lost"), "unknown", head.last_at)


def _housekeep(writer: Writer, head: SessionHead, payload: Any, kind: str, now: int) -> None:
    """Something about the session rather than in it: its place in life stays what it was."""
    before = head.lifecycle
    if head.lifecycle in ("paused", "closed", "archived"):
        head.lifecycle = "active"
    writer.append(head, Entry(kind, payload, now, "system", "companion", "unverified"))
    head.lifecycle = before

"""Import the batches of another device.

Its sessions become copies that are only read here.

Positions are those of the other device, so importing a batch again adds nothing. What was forgotten anywhere
is not stored again. A session whose parent is not here yet waits for it.
"""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Callable
from typing import Any

from fazm_memory.errors import StoreNewer
from fazm_memory.events import ACTORS, TRUSTS, Forgotten, NewerVersion, Quarantine, SessionOpen, read_payload
from fazm_memory.paths import move_folders
from fazm_memory.records import dataclass, field, replace
from fazm_memory.store import (
    NewEvent,
    SessionHead,
    Store,
    Writer,
    event_id,
    files_named,
    follow_forgotten,
    forget_events,
    hash_chain,
    parse_json,
    record_quarantine,
    to_stored,
)
from fazm_memory.sync.crypto import NotAuthentic
from fazm_memory.sync.files import FileSharing
from fazm_memory.sync.segments import Batch, SegmentEvent, SegmentPart
from fazm_memory.sync.state import REMOTES, SyncState, moved_folders
from fazm_memory.sync.transcripts import TranscriptSharing

NO_PAYLOAD = hash_chain.digest_of(b"")  # the digest of an event that was imported without its payload
COMPARED = "compared"  # setting: copies that were continued, and up to where later parts are compared
APART = "apart"  # setting: "DEVICE SESSION", of which a part of the events is in another session here
CHUNK = 1000  # events of one transaction
ASKED = "asked for on another machine"

Forget = Callable[[dict[int, list[int]]], int]


def _derived(device: str, origin: str) -> str:
    """The name of a copy whose own name another session has here."""
    return hashlib.sha256(f"copy {device} {origin}".encode()).hexdigest()[:32]


@dataclass
class ImportResult:
    """What one round imported."""

    events: int = 0
    sessions: set[str] = field(default_factory=set)  # local ids
    forgot: int = 0  # events that lost content here
    asked: bool = False  # whether anything was to be forgotten: the others wait to hear that it is


@dataclass
class BatchImporter:
    store: Store
    state: SyncState
    own: str  # the id of this device
    home: str
    now: Callable[[], int]
    forget: Forget  # forgets events of our own sessions
    files: FileSharing
    transcripts: TranscriptSharing
    result: ImportResult = field(default_factory=ImportResult)
    members: frozenset[str] = frozenset()  # devices that may still write
    _arrived: list[str] = field(default_factory=list)  # sessions that waited and do no more

    def take(self, device: str, home: str, batch: Batch, only: str | None = None) -> None:
        """Import a batch of a device.

        With `only`, just the events of that session, which waited.
        """
        parts = deque(part for part in batch.parts if only is None or part.part.session == only)
        while parts:
            left, imported = CHUNK, self.result.events
            try:
                with self.store.writing() as writer:  # short transactions: others write meanwhile
                    while parts and left > 0:
                        count, done = self._part(
                            writer, device, home, parts[0], batch.n, replay=only is not None, most=left
                        )
                        left -= 1 + count
                        if done:
                            parts.popleft()
            except BaseException:
                self.result.events = imported  # this transaction was rolled back
                raise
        for origin in self._arrived:
            self.state.db.execute("DELETE FROM waiting WHERE device=? AND origin=?", (device, origin))
        self._arrived.clear()
        if only is None:
            for kind, one in (("files", self.files), ("transcripts", self.transcripts)):
                rows = batch.shared.get(kind, [])
                one.take(device, rows, lambda session: self._moved(device, session, home))
            for request in batch.requests:
                self._request(request)

    def stored(self, key: tuple[str, str]) -> int:
        """How many events of a session of another device are here."""
        session = self.state.local_session(*key)
        row = session and self.store.db.execute("SELECT head FROM standing WHERE id=?", (session,)).fetchone()
        return row[0] if row else 0

    def knows(self, origin: str) -> bool:
        """Whether a session that any device may have recorded is here."""
        return self._local(origin) is not None

    def _moved(self, device: str, origin: str, home: str) -> dict[str, str]:
        """How the folders of a session of another device are called here."""
        row = self.state.db.execute(
            "SELECT moved FROM copy WHERE device=? AND origin=?", (device, origin)
        ).fetchone()
        return moved_folders(self.store, {}, home, self.home) if row is None else json.loads(row[0])

    # -- sessions ----------------------------------------------------------------------------------------

    def _part(
        self,
        writer: Writer,
        device: str,
        home: str,
        part: SegmentPart,
        batch: int,
        *,
        replay: bool,
        most: int,
    ) -> tuple[int, bool]:
        """Import up to `most` events of a part.

        Returns how many, and whether the part is done.
        """
        origin = part.part.session
        waiting = "SELECT 1 FROM waiting WHERE device=? AND origin=?"
        if part.session.get("lost"):
            return 0, True  # its machine has not got it any more, and uploaded the session again
        if not replay and self.state.db.execute(waiting, (device, origin)).fetchone() is not None:
            return 0, True
        known, moved = self._known(device, home, part)
        head = None if known is None else self._head(writer, known)
        if head is None and self._is_here(device, part, moved):
            return 0, True
        if known is None:
            head = self._continued(writer, device, part, moved)
        elif head is not None and not self._goes_on(head, device, part, moved):
            head = None  # it gets a copy of its own, read from the beginning
        opening = self._opening(part, moved) if head is None else None
        if (head is None and opening is None) or (head is not None and head.head < part.part.start):
            # It waits for its parent, or for events before these, which are then read from the beginning.
            begin = batch if head is None and part.part.start == 0 else 0
            if known is None and not begin:  # what came before was here in another session, this is not
                self.state.set(**{APART: [*self.state.get(APART, []), f"{device} {origin}"]})
            self.state.db.execute("INSERT OR IGNORE INTO waiting VALUES (?,?,?)", (device, origin, begin))
            return 0, True
        if head is None:
            assert opening is not None
            session = self._name(device, origin, moved)
            self._note_remote(opening.workspace, part.session)
            if part.session.get("again"):
                self.state.set(again=self.state.get("again", {}) | {str(part.session["again"]): origin})
            opened = part.session["opened_at"]
            head = writer.create(opening.agent, opened, session_id=session, arrived=self.now())
        gone = self.state.tombstones(device, origin)
        begin = head.head - part.part.start
        events = part.events[begin : begin + most]
        for seq, event in enumerate(events, head.head):
            if any(low <= seq < high for low, high in gone):
                event = event._replace(payload=None)
            self._event(writer, head, device, event, moved)
        if replay:
            self._arrived.append(origin)
        self.result.sessions.add(head.id)
        return len(events), head.head >= part.part.stop

    def _note_remote(self, folder: str | None, theirs: dict[str, Any]) -> None:
        """Remember the git remote of a folder, by which it may be found here later."""
        remotes = self.state.get(REMOTES, {})
        if folder is not None and theirs.get("remote") and folder not in remotes:
            entry = [str(theirs["remote"]), str(theirs.get("inside") or "")]
            self.state.set(**{REMOTES: remotes | {folder: entry}})

    def _known(self, device: str, home: str, part: SegmentPart) -> tuple[str | None, dict[str, str]]:
        """The name of the copy of a session, if it has one, and its moved folders."""
        row = self.state.db.execute(
            "SELECT session, moved FROM copy WHERE device=? AND origin=?", (device, part.part.session)
        ).fetchone()
        if row is None:
            return None, moved_folders(self.store, part.session, home, self.home)
        return str(row[0]), dict(json.loads(row[1]))

    def _head(self, writer: Writer, session: str) -> SessionHead | None:
        row = self.store.db.execute("SELECT n FROM session WHERE id=?", (session,)).fetchone()
        return None if row is None else writer.head(row[0])

    def _continued(
        self, writer: Writer, device: str, part: SegmentPart, moved: dict[str, str]
    ) -> SessionHead | None:
        """Find a copy that this session continues.

        The copy came under another name, or from another device.

        That is so after a recovery, or when a machine joined again with new keys. The events of the part
        must be those of the copy. If the copy has more, `_goes_on` compares them with later parts.
        Otherwise the session becomes a copy of its own.
        """
        origin, again = part.part.session, part.session.get("again")
        if part.part.start != 0:
            return None
        rows = self.store.db.execute(
            "SELECT n, id, device, head FROM standing WHERE device IS NOT NULL AND id IN"
            " (SELECT value FROM json_each(?)) ORDER BY device = ? DESC, head DESC",
            (json.dumps(self._names(origin, again)), device),
        ).fetchall()  # fmt: skip
        for number, session, maker, head in rows:
            stored = self._stored(number, 0, part.part.stop)
            if (maker != device and maker in self.members) or not self._same(part.events, stored, moved):
                continue
            old = self.state.db.execute("SELECT device, origin FROM copy WHERE session=?", (session,))
            with self.state.db.transaction():
                for before in old.fetchall():
                    self.state.db.execute(
                        "INSERT OR IGNORE INTO tombstone SELECT ?, ?, low, high FROM tombstone"
                        " WHERE device=? AND origin=?",
                        (device, origin, *before),
                    )
                self._set_copy(session, device, origin, moved)
                if head > part.part.stop:
                    self.state.set(**{COMPARED: self.state.get(COMPARED, {}) | {session: head}})
            self.store.db.execute("UPDATE session SET device=? WHERE n=?", (device, number))
            return writer.head(number)
        return None

    def _goes_on(self, head: SessionHead, device: str, part: SegmentPart, moved: dict[str, str]) -> bool:
        """Whether a part agrees with the events that a continued copy has already.

        If not, the session gets a copy of its own.
        """
        compared = self.state.get(COMPARED, {})
        upto = compared.get(head.id, 0)
        if upto <= part.part.start:
            return True
        if not self._same(
            part.events, self._stored(head.n, part.part.start, min(part.part.stop, upto)), moved
        ):
            self._set_copy(self._free_name(device, part.part.session), device, part.part.session, moved)
        elif upto > part.part.stop:
            return True
        self.state.set(**{COMPARED: {session: at for session, at in compared.items() if session != head.id}})
        return self.state.local_session(device, part.part.session) == head.id

    def _set_copy(self, session: str, device: str, origin: str, moved: dict[str, str]) -> None:
        self.state.db.execute(
            "INSERT OR REPLACE INTO copy VALUES (?,?,?,?)", (session, device, origin, json.dumps(moved))
        )

    def _names(self, origin: str, again: str | None) -> list[str]:
        """The names that copies of a session may have here.

        Also those of a device that was this one before.
        """
        origins = [name for name in (origin, again) if name]
        rows = self.state.db.execute(
            "SELECT session FROM copy WHERE origin IN (SELECT value FROM json_each(?))",
            (json.dumps(origins),),
        ).fetchall()
        makers = self.store.db.execute("SELECT DISTINCT device FROM session WHERE device IS NOT NULL")
        derived = [_derived(maker, name) for (maker,) in makers.fetchall() for name in origins]
        return [*origins, *derived, *(row[0] for row in rows)]

    def _is_here(self, device: str, part: SegmentPart, moved: dict[str, str]) -> bool:
        """Whether the events of a part are here under a former device of its machine.

        The machine, this one or another, has new keys and uploads its sessions again.
        """
        origin = part.part.session
        if f"{device} {origin}" in self.state.get(APART, []):
            return False
        rows = self.store.db.execute(
            "SELECT n, device FROM standing WHERE id IN (SELECT value FROM json_each(?))",
            (json.dumps(self._names(origin, part.session.get("again"))),),
        ).fetchall()
        for number, maker in rows:
            if maker is not None and (maker == device or device in self.members):
                continue
            if maker is not None and maker not in self.members and part.part.start == 0:
                continue  # nobody writes to this copy any more: `_continued` decides
            stored = self._stored(number, part.part.start, part.part.stop)
            if len(stored) == len(part.events) and self._same(part.events, stored, moved):
                return True
        return False

    def _stored(self, number: int, start: int, stop: int) -> list[Any]:
        rows = self.store.db.execute(
            "SELECT at, kind, payload IS NULL, digest FROM event WHERE id >= ? AND id < ? ORDER BY id",
            (event_id(number, start), event_id(number, stop)),
        )
        return list(rows.fetchall())

    def _same(self, events: list[SegmentEvent], rows: list[Any], moved: dict[str, str]) -> bool:
        """Whether stored events are these. Payloads that were forgotten are not compared."""
        for event, (at, kind, gone, digest) in zip(events, rows, strict=False):
            if (event.at, event.kind) != (at, kind):
                return False
            if gone or event.payload is None or kind in ("session.open", "forgotten"):
                continue  # an opening names its device, and what is left after forgetting has other digests
            if hash_chain.digest_of(to_stored(self._payload(event, moved))) != bytes(digest):
                return False
        return True

    def _opening(self, part: SegmentPart, moved: dict[str, str]) -> SessionOpen | None:
        """The opening of a new session.

        None if it, or the session it was forked from, is not here yet.
        """
        if part.part.start != 0 or not part.events:
            return None
        event = part.events[0]
        if event.payload is None:
            return SessionOpen(agent=str(part.session["agent"]))
        opening = self._payload(event, moved)
        if not isinstance(opening, SessionOpen):
            raise NotAuthentic("a session does not begin with its opening")
        if opening.parent is not None:
            parent = self._local(opening.parent)
            row = (
                parent and self.store.db.execute("SELECT head FROM standing WHERE id=?", (parent,)).fetchone()
            )
            if not row or row[0] < (opening.parent_seq or 0):
                return None
        return opening

    def _local(self, origin: str) -> str | None:
        """Our id of a session that any device may have recorded."""
        found = "SELECT session FROM copy WHERE origin=?"
        row = self.state.db.execute(found, (origin,)).fetchone()
        if row is None and (again := self.state.get("again", {}).get(origin)) is not None:
            row = self.state.db.execute(found, (again,)).fetchone()
        row = row or self.store.db.execute("SELECT id FROM session WHERE id=?", (origin,)).fetchone()
        return None if row is None else str(row[0])

    def _name(self, device: str, origin: str, moved: dict[str, str]) -> str:
        """An id for the copy: its own, or a derived one if that is taken here."""
        known = self.state.local_session(device, origin)
        if known is not None:
            return known
        session = origin if self._is_free(origin) else self._free_name(device, origin)
        self._set_copy(session, device, origin, moved)
        return session

    def _free_name(self, device: str, origin: str) -> str:
        session = _derived(device, origin)
        while not self._is_free(session):
            session = _derived(device, session)
        return session

    def _is_free(self, session: str) -> bool:
        return self.store.db.execute("SELECT 1 FROM session WHERE id=?", (session,)).fetchone() is None

    def _event(
        self, writer: Writer, head: SessionHead, device: str, event: SegmentEvent, moved: dict[str, str]
    ) -> None:
        if event.actor not in ACTORS or event.trust not in TRUSTS:
            raise NotAuthentic(f"event {head.head} has an unknown actor or trust")
        payload, stored, digest = self._payload(event, moved), None, NO_PAYLOAD
        if isinstance(payload, SessionOpen):
            parent = None if payload.parent is None else self._local(payload.parent) or payload.parent
            payload = replace(payload, parent=parent, device=device)
        elif isinstance(payload, Forgotten):
            self._forget_files(device, head.n, head.head, payload)
            if event.actor == "person":  # not retention, which has a policy of its own for transcripts
                self.transcripts.forget(device, head.id)
            payload, gone = follow_forgotten(self.store, writer, head, payload)
            self.result.forgot += gone
            self.result.asked = True
        elif head.head == 0:  # its opening was forgotten
            payload = SessionOpen(agent=head.agent, device=device)
        if payload is not None:
            stored = to_stored(payload)
            digest = hash_chain.digest_of(stored)
        entry = NewEvent(event.kind, payload, event.at, event.actor, event.source, event.trust, event.turn)
        writer.restore(head, entry, event.version, stored, digest)
        self.result.events += 1

    def _payload(self, event: SegmentEvent, moved: dict[str, str]) -> Any:
        if event.payload is None:
            return None
        raw = parse_json(event.payload)
        if any(folder.encode() in event.payload for folder in moved):
            raw = move_folders(raw, moved)
        try:
            return read_payload(event.kind, event.version, raw)
        except NewerVersion as error:
            raise StoreNewer(str(error), hint="update Fazm Memory on this machine") from error
        except (ValueError, TypeError) as error:
            raise NotAuthentic(f"an event of kind {event.kind[:40]} cannot be read: {error}") from error

    # -- requests ----------------------------------------------------------------------------------------

    def _request(self, request: Any) -> None:
        """Follow a request of another device.

        It may forget, quarantine or release events of any device's session.
        """
        kind, device, origin, *rest = request
        session = self._asked_about(device, origin)
        row = self.store.db.execute(
            "SELECT n, head, device IS NULL FROM standing WHERE id=?", (session,)
        ).fetchone()
        if kind == "forget":
            ranges = [(int(low), int(high)) for low, high in rest[0]]
            self.state.db.executemany(
                "INSERT OR IGNORE INTO tombstone VALUES (?,?,?,?)",
                [(device, origin, low, high) for low, high in ranges],
            )
            if row:
                seqs = sorted({seq for low, high in ranges for seq in range(low, min(high, row[1]))})
                self._forget(row[0], seqs, mine=bool(row[2]))
        elif kind == "quarantine" and row:
            seqs, released, whole = rest
            mark = Quarantine(seqs=tuple(seqs), released=bool(released), whole=bool(whole))
            with self.store.writing() as writer:
                if row[2]:
                    entry = NewEvent("quarantine", mark, self.now(), "person", "companion", "user")
                    writer.append(writer.head(row[0]), entry)
                else:
                    record_quarantine(self.store.db, row[0], mark)

    def _asked_about(self, device: str, origin: str) -> str | None:
        """The session here that a request of another device is about."""
        if device == self.own:
            return self.state.own_session(origin)
        known = self.state.local_session(device, origin)
        # A machine that joined again with new keys goes on with its sessions: this one, or another.
        return origin if known is None and device not in self.members else known

    def _forget_files(self, device: str, number: int, head: int, event: Forgotten) -> None:
        """Delete the device's versions of the files that are named in what it forgot."""
        seqs = {seq for low, high in event.ranges for seq in range(low, min(high, head))}
        seqs |= {int(seq) for seq in event.left if int(seq) < head}
        if seqs:
            self.files.forget(device, files_named(self.store, {number: sorted(seqs)}))

    def _forget(self, number: int, seqs: list[int], *, mine: bool) -> None:
        if not seqs:
            return
        self.result.asked = True
        if mine:
            self.result.forgot += self.forget({number: seqs})
        else:
            query = "SELECT device, id FROM session WHERE n=?"
            device, session = self.store.db.execute(query, (number,)).fetchone()
            self.files.forget(device, files_named(self.store, {number: seqs}))
            self.transcripts.forget(device, session)
            self.result.forgot += forget_events(
                self.store, {number: seqs}, reason=ASKED, at=self.now(), source="companion"
            )

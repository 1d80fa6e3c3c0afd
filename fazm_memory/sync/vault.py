"""A vault as one device sees it: making and joining it, and one round of sync.

A round lists the heads, reads those that changed, imports what is new, puts what this device has, and puts
its own head. Nothing is believed because of where it stands: every head and object is checked against
signatures, digests and what this device and the others remember. What does not fit is named and left alone.
"""

from __future__ import annotations

import hashlib
import json
import secrets
import socket
from collections.abc import Callable, Iterable, Iterator, Set
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from fazm_memory.clock import iso
from fazm_memory.errors import NotFound, StoreBusy, StoreNewer, SyncRefused
from fazm_memory.records import asdict, dataclass, field, replace
from fazm_memory.store import FileVersions, Store, TranscriptCopies, vacuum
from fazm_memory.sync.crypto import KEY, NotAuthentic, VaultKeys, parse_recovery, recovery_text, vault_of
from fazm_memory.sync.exporter import BatchExporter, Sharing, object_name
from fazm_memory.sync.files import FileSharing
from fazm_memory.sync.heads import (
    ROOT,
    Certificate,
    Head,
    LogState,
    Members,
    ObjectEntry,
    Removal,
    certify,
    learn_secrets,
    members_of,
    newest,
    open_head,
    open_log,
    pack_head,
    share_secret,
)
from fazm_memory.sync.importer import BatchImporter, Forget
from fazm_memory.sync.segments import (
    Backlog,
    FetchedObjects,
    Place,
    Segment,
    SegmentName,
    open_segment,
    segment_key,
)
from fazm_memory.sync.state import FORMER, START, Identity, SyncState
from fazm_memory.sync.transcripts import TranscriptSharing
from fazm_memory.sync.transports import Meter, Transport

DONE = "backlog_done"  # setting: digests of objects that are imported, but not as part of the chain
EXCLUDED = "excluded"  # setting: this device's exclusions, as they travel in its head
BACKLOG = 2  # segments to read from which on sessions are imported newest first
AHEAD = 4  # objects that are put before a head names them, while the next batches are made
ACK_EVERY = 600 * 1_000_000  # microseconds between two heads that only say what was read


# Opens a database beside the log: creating it, and only if it exists.
Versions = tuple[Callable[[], FileVersions], Callable[[], FileVersions | None]]
Transcripts = tuple[Callable[[], TranscriptCopies], Callable[[], TranscriptCopies | None], Callable[..., str]]


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


@dataclass
class Remembered:
    """What is remembered of another device."""

    id: str
    name: str
    stamp: str
    cursor: int
    link: str
    head: Head
    digest: str

    def has_read(self, log: LogState) -> bool:
        """Whether nothing of this log is new."""
        return self.cursor == log.batches and (not self.cursor or self.link == log.link)


class Vault:
    """One device's view of its vault. `transport` is counted."""

    def __init__(
        self, store: Store, state: SyncState, transport: Transport, *, home: str, now: Callable[[], int],
        forget: Forget, versions: Versions, transcripts: Transcripts, fetched: Path,
    ) -> None:  # fmt: skip
        identity = state.identity()
        if identity is None:
            raise NotFound("This machine belongs to no vault.", hint="`fazm-memory sync init`")
        self.store, self.state, self.identity = store, state, identity
        self.transport = Meter(transport)
        self.home, self.now = home, now
        self.files = FileSharing(state, identity, *versions, now)
        self.transcripts = TranscriptSharing(store, state, identity, *transcripts, now)
        sharing: dict[str, Sharing] = {"files": self.files, "transcripts": self.transcripts}
        self.exporter = BatchExporter(store, state, identity, home, sharing)
        self.importer = BatchImporter(
            store, state, identity.device, home, now, forget, self.files, self.transcripts
        )
        self.report = RoundReport()
        self._progress: Callable[[int], None] = lambda done: None
        self._done = self._total = self._told = 0
        self._shown: dict[str, Any] | None = None  # progress that is stored with the next head
        self._fetched = FetchedObjects(fetched)
        self._refused: set[str] = set()  # digests of objects that are not in the store as their head says

    # -- one round ---------------------------------------------------------------------------------------

    def round(
        self, *, acknowledge: bool = True, progress: Callable[[int], None] = lambda done: None
    ) -> RoundReport:
        """Import what is new, then put what is new.

        `acknowledge` puts the head even if only reading moved.
        """
        self.report, self._progress, self._told = RoundReport(), progress, 0
        before = {device for (device,) in self.state.db.execute("SELECT id FROM device").fetchall()}
        heads = self._read_heads()
        members = self._members(heads)
        self._check_own(members)
        self._learn_epochs(heads, members)
        logs = self._open_logs(heads, members)
        current = members.current()
        self._wait_for_former(logs, current.keys())
        self.importer.members = frozenset(
            device for device in current if device not in logs or not logs[device].left
        )
        self._compare_views(logs)
        if self.state.get("last_ok") is not None:  # else all of them are new
            self.report.joined = sorted(logs[one].name for one in logs.keys() & current.keys() - before)
        self.report.excluded = _united(log.excluded for device, log in logs.items() if device in current)
        self._import_newest_first(logs)
        known = self.remembered()
        if not self._total:
            self._total = sum(
                max(0, log.batches - (known[device].cursor if device in known else 0))
                for device, log in logs.items()
            )
        for device, log in logs.items():
            if device not in known or not known[device].has_read(log):
                self._import(device, log)
        self._import_waiting(logs)
        self._forget_backlog(logs)
        result = self.importer.result
        self.report.files = self.files.fetch(self.transport.get, self._problem)
        self.report.transcripts = self.transcripts.fetch(self.transport.get, self._problem)
        self.transcripts.at_once = acknowledge
        self._done, self._total = 0, sum(row.head - row.sent for row in self.exporter.pending())
        self.report.exported = self.exporter.waiting_events()
        with ThreadPoolExecutor(AHEAD) as pool:
            for count in self.exporter.batches():
                self.report.exported += count
                self.report.uploads += 1
                self._show("uploading", "event", count)
                if self.exporter.put_ahead(pool, self.transport.put) >= AHEAD:
                    self._put(force=True)
            self._put(force=acknowledge or result.asked)
        if result.forgot:
            self._clean_pages()
        self.report.imported, self.report.forgot = result.events, result.forgot
        self.report.sessions = sorted(result.sessions)
        self.report.problems += [
            f"Session {session[:8]} differs from what this machine uploaded before. It was uploaded again;"
            " other machines have both."
            for session in self.exporter.again
        ]
        self.report.requests = self.transport.counts()
        self._count()
        return self.report

    def _show(self, doing: str, what: str, count: int) -> None:
        """Say how far this round is: to the caller, and to others by the state."""
        self._done += count
        self._shown = {"doing": doing, "what": what, "done": self._done, "total": self._total}
        if self._done >= self._total:
            self._shown = None
        elif doing == "receiving":
            self.state.set(progress=self._shown)
        self._tell()

    def _tell(self) -> None:
        done = self.importer.result.events + self.report.exported
        if done != self._told:
            self._told = done
            self._progress(done)

    def _clean_pages(self) -> None:
        try:
            vacuum(self.store)
        except StoreBusy as error:
            self.report.problems.append(error.message)

    def _count(self) -> None:
        totals = self.state.get("totals", {})
        counts = {name: totals.get(name, 0) + value for name, value in self.report.requests.items()}
        self.state.set(
            totals=counts, last_ok=self.now(), problems=self.report.problems, error=None, progress=None
        )

    # -- heads -------------------------------------------------------------------------------------------

    def remembered(self, device: str | None = None) -> dict[str, Remembered]:
        """What is remembered of the other devices, or of one."""
        rows = self.state.db.execute(
            "SELECT id, name, stamp, cursor, link, head FROM device WHERE ?1 IS NULL OR id = ?1", (device,)
        ).fetchall()
        found = {}
        for id_, name, stamp, cursor, link, raw in rows:
            head = json.loads(raw)
            found[id_] = Remembered(id_, name, stamp, cursor, link, Head.from_stored(head), head["digest"])
        return found

    def _read_heads(self) -> dict[str, Head]:
        """The newest believed head of every device.

        A head is read if it changed, else it is the remembered one.
        """
        vault, own = self.identity.vault, self.identity.device
        listed = self.transport.list(f"{vault.id}/h")
        known = self.remembered()
        by_name = {vault.name("device", device): entry for device, entry in known.items()}
        heads: dict[str, Head] = {}
        for name, stamp in listed.items():
            entry = by_name.get(name)
            if name == vault.name("device", own):
                self._check_own_head(stamp)
            elif entry is not None and entry.stamp == stamp and stamp:
                heads[entry.id] = entry.head
            else:
                head = self._read_head(name, stamp, entry)
                if head is not None:
                    heads[head.device] = head
        if vault.name("device", own) not in listed and self.state.get("put", 0):
            self._problem("The head of this machine is missing from the store. It was put again.")
            self.state.set(dirty=True)
        for device, entry in known.items():
            if vault.name("device", device) not in listed:
                self._problem(f"The head of “{entry.name}” is missing from the store: deleted or late.")
                heads[device] = entry.head
        return heads

    def _read_head(self, name: str, stamp: str, entry: Remembered | None) -> Head | None:
        """A head that changed. If it is not believed, the remembered one."""
        called = "a device" if entry is None else f"“{entry.name}”"
        before = None if entry is None else entry.head
        data = self.transport.get(f"{self.identity.vault.id}/h/{name}")
        if data is None:
            return before
        digest = hashlib.sha256(data).hexdigest()
        try:
            head = open_head(self.identity.vault, data)
        except NotAuthentic as error:
            self._problem(f"The head of {called} was altered or is incomplete: {error}.")
            return before
        if self.identity.vault.name("device", head.device) != name:
            self._problem(f"The head of {called} was swapped: it belongs to another device.")
            return before
        if entry is not None and before is not None:
            if head.certificate != before.certificate:
                self._problem(f"The head of {called} has other keys than before.")
                return before
            if head.number < before.number:
                self._problem(f"The head of {called} was rolled back from {before.number} to {head.number}.")
                return before
            if head.number == before.number and entry.digest and digest != entry.digest:
                self._problem(f"There are two heads {head.number} of {called}: one was replaced.")
                return before
        if (removal := self._removal(head.device)) is not None and head.number > removal.number:
            self._problem(f"The removed device {called} still writes. It is not believed.")
            return before
        self._remember(head, stamp, digest)
        return head

    def _removal(self, device: str) -> Removal | None:
        raw = self.state.get("removed", {}).get(device)
        return None if raw is None else Removal.from_json(raw)

    def _remember(self, head: Head, stamp: str, digest: str) -> None:
        raw = json.dumps(head.to_stored() | {"digest": digest, "inner": head.raw.hex()})
        self.state.db.execute(
            "INSERT INTO device VALUES (?,?,?,0,?,?,NULL)"
            " ON CONFLICT (id) DO UPDATE SET stamp=excluded.stamp, head=excluded.head",
            (head.device, head.device[:8], stamp, START, raw),
        )

    def _check_own_head(self, stamp: str) -> None:
        """Refuse to write if this store and the uploads of this device disagree.

        Another machine writes as this one, or this store is older than its uploads.
        """
        if stamp and stamp == self.state.get("stamp"):
            return
        vault = self.identity.vault
        data = self.transport.get(f"{vault.id}/h/{vault.name('device', self.identity.device)}")
        number = self.state.get("number", 0)
        try:
            head = None if data is None else open_head(vault, data)
        except NotAuthentic:
            head = None
        digest = hashlib.sha256(data or b"").hexdigest()
        if head is not None and (
            head.number > number or (head.number == number and digest != self.state.get("digest"))
        ):
            raise SyncRefused(
                "The vault has newer uploads of this machine than this store."
                " It was restored from a backup, or another machine uses a copy of it. Nothing was sent.",
                hint="`fazm-memory sync leave --forget-keys`, then join again as a new device",
            )
        if head is None or head.number < self.state.get("put", 0):
            self._problem("The head of this machine was altered or rolled back. It was put again.")
        self.state.set(dirty=True)

    # -- members and epochs ------------------------------------------------------------------------------

    def certificate(self) -> Certificate:
        return Certificate(**self.state.get("certificate"))

    def _members(self, heads: dict[str, Head]) -> Members:
        raw = self.state.get("removed", {})
        known = {device: Removal.from_json(one) for device, one in raw.items()}
        own = Head(self.identity.device, 0, self.certificate(), "", tuple(self._own_removals()))
        members = members_of(self.identity.vault, [own, *heads.values()], known)
        for device in heads:
            if device not in members.certified:
                self._problem(f"A foreign device {device[:8]} is in the store. It has no valid certificate.")
        if len(members.removed) > len(known):
            self.state.set(removed={device: asdict(one) for device, one in members.removed.items()})
        return members

    def _own_removals(self) -> list[Removal]:
        return [Removal.from_json(one) for one in self.state.get("removals", [])]

    def _check_own(self, members: Members) -> None:
        if self.identity.device in members.removed:
            self.state.set(active=False)
            raise SyncRefused(
                "This machine was removed from the vault. Its memory stays here and is not synced any more.",
                hint="join again with the recovery key if that was a mistake",
            )

        if self.identity.device not in members.certified:
            raise SyncRefused(
                "The device that certified this machine was removed, and this machine with it.",
                hint="`fazm-memory sync leave --forget-keys`, then join with the recovery key",
            )

    def _believed(self, heads: dict[str, Head], members: Members) -> list[Head]:
        """The heads of members, and of removed devices up to their removal."""
        found = []
        for device, head in heads.items():
            removal = members.removed.get(device)
            if device in members.certified and (removal is None or head.number <= removal.number):
                found.append(head)
        return found

    def _learn_epochs(self, heads: dict[str, Head], members: Members) -> None:
        """Take epoch secrets shared with this device, and share those others lack."""
        believed = self._believed(heads, members)
        epochs = self.state.epochs()
        found = learn_secrets(believed, self.identity.device, self.identity.keys.box_private)
        news = {epoch: one for epoch, one in found.items() if epoch not in epochs}
        if news:
            epochs |= news
            self.state.set(epochs=epochs)
        shared = self.state.get("shared", {})
        have: dict[str, set[str]] = {epoch: set(one["sealed"]) for epoch, one in shared.items()}
        for head in believed:
            for epoch, one in head.epochs.items():
                have.setdefault(epoch, set()).update(one.get("sealed", {}))
        wanted = {device: bytes.fromhex(one.box) for device, one in members.current().items()}
        wanted |= {ROOT: self.identity.vault.root_box}
        del wanted[self.identity.device]
        changed = False
        for epoch, one in epochs.items():
            lacking = {name: public for name, public in wanted.items() if name not in have.get(epoch, set())}
            if lacking:
                sealed = share_secret(epoch, bytes.fromhex(one["secret"]), lacking)
                entry = shared.setdefault(epoch, {"rank": one["rank"], "sealed": {}})
                entry["sealed"] |= sealed
                changed = True
        if changed:
            self.state.set(shared=shared, dirty=True)

    def _open_logs(self, heads: dict[str, Head], members: Members) -> dict[str, LogState]:
        """The logs of all members. Of a removed device, the last one that is believed."""
        epochs = self.state.epochs()
        logs: dict[str, LogState] = {}
        for device, removal in members.removed.items():
            last = logs[device] = LogState.from_json(removal.log)
            self.state.db.execute("UPDATE device SET name=?1 WHERE id=?2 AND name<>?1", (last.name, device))
            self._name(device, last.name)
        for device in members.current():
            head = heads.get(device)
            if head is None:
                continue
            log = head.log
            if log is None and head.epoch in epochs:
                try:
                    raw = head.raw or self._raw(device)
                    secret = bytes.fromhex(epochs[head.epoch]["secret"])
                    log = open_log(self.identity.vault, replace(head, raw=raw), secret)
                except NotAuthentic as error:
                    self._problem(f"The log of {self._called(device)} was refused: {error}.")
            if log is None:
                continue  # its epoch's secret is not shared with this device yet
            logs[device] = log
            if head.log is None:
                stored = self.state.db.execute("SELECT head FROM device WHERE id=?", (device,)).fetchone()
                raw_head = json.loads(stored[0]) | {"log": log.to_json()}
                self.state.db.execute(
                    "UPDATE device SET name=?, head=? WHERE id=?", (log.name, json.dumps(raw_head), device)
                )
                self._name(device, log.name)
        return logs

    def _wait_for_former(self, logs: dict[str, LogState], current: Set[str]) -> None:
        """Leave a log aside while a former device of its machine seems to go on.

        Else its sessions would be stored twice.
        """
        for device, log in list(logs.items()):
            for former in current & set(log.former) if device in current else ():
                if former not in logs or not logs[former].left:
                    self._problem(
                        f"The uploads of {self._called(device)} wait: it was {self._called(former)} before,"
                        " which has not left yet as far as this machine knows."
                    )
                    logs.pop(device, None)

    def _raw(self, device: str) -> bytes:
        row = self.state.db.execute("SELECT head FROM device WHERE id=?", (device,)).fetchone()
        return bytes.fromhex(json.loads(row[0])["inner"])

    def _name(self, device: str, name: str) -> None:
        """Remember a device's name in the log's database, where sessions are listed."""
        key = f"device:{device}"
        row = self.store.db.execute("SELECT value FROM meta WHERE key=?", (key,)).fetchone()
        if row is None or row[0] != name:
            with self.store.db.transaction():
                self.store.db.execute("INSERT OR REPLACE INTO meta VALUES (?,?)", (key, name))

    def _called(self, device: str) -> str:
        row = self.state.db.execute("SELECT name FROM device WHERE id=?", (device,)).fetchone()
        removed = "the removed " if device in self.state.get("removed", {}) else ""
        return f"{removed}“{device[:8] if row is None else row[0]}”"

    def _compare_views(self, logs: dict[str, LogState]) -> None:
        """Name devices of which the store shows less than others have read.

        Also those of which it shows something else.
        """
        own = self.remembered()
        for reader, log in logs.items():
            for device, (count, link) in log.seen.items():
                shown = logs.get(device)
                mine = own.get(device)
                if shown is not None and count > shown.batches:
                    self._problem(
                        f"The store shows {shown.batches} uploads of {self._called(device)}, but"
                        f" {self._called(reader)} has read {count}: the rest is withheld, or not there yet."
                    )
                elif mine is not None and mine.cursor == count and mine.link != link and count:
                    self._problem(
                        f"{self._called(reader)} was shown another history of {self._called(device)} than"
                        " this machine."
                    )
                elif device == self.identity.device and not self._made(count, link):
                    self._problem(f"{self._called(reader)} has read uploads that this machine did not make.")

    def _made(self, batch: int, link: str) -> bool:
        return batch <= self.state.last_batch()[0] and self.state.link_at(batch) == link

    # -- import ------------------------------------------------------------------------------------------

    def _import(self, device: str, log: LogState) -> None:
        entry = self.remembered(device).get(device)
        cursor, link = (0, START) if entry is None else (entry.cursor, entry.link)
        if entry is None:  # a device that was removed before this one joined
            self._adopt(device, log)
        if log.batches < cursor or (log.batches == cursor and log.batches and log.link != link):
            self._problem(f"The log of {self._called(device)} is not the one that was read before.")
            return
        for segment in self._segments(device, log, cursor):
            for batch in segment.batches:
                if batch.n <= cursor:
                    if batch.n == cursor and batch.link != link:
                        self._problem(f"The history of {self._called(device)} was rewritten.")
                        return
                    continue
                if batch.n == cursor + 1 and batch is segment.batches[0] and segment.before != link:
                    self._problem(f"The history of {self._called(device)} was rewritten.")
                    return
                try:
                    self.importer.take(device, segment.home, batch)
                except (NotAuthentic, StoreNewer) as error:
                    self._problem(f"An upload of {self._called(device)} cannot be read: {error}.")
                    return
                cursor, link = batch.n, batch.link
                self.state.db.execute("UPDATE device SET cursor=?, link=? WHERE id=?", (cursor, link, device))
                self._show("receiving", "upload", 1)
        if cursor == log.batches and cursor and link != log.link:
            self._problem(f"The end of the log of {self._called(device)} is not what its head says.")

    def _import_newest_first(self, logs: dict[str, LogState]) -> None:
        """Import the sessions of a long backlog, newest first.

        Each is imported once all its events are here.

        `_import` comes after it, finds their events here, and does the rest: it checks the chain, follows
        requests and remembers how far this machine has read.
        """
        cursors = {device: entry.cursor for device, entry in self.remembered().items() if device in logs}
        done = self.state.get(DONE, {})
        queue: list[tuple[int, Place]] = []
        for device, cursor in cursors.items():
            ages = dict(zip(logs[device].objects, logs[device].newest, strict=False))
            objects = [one for one in logs[device].objects if one.last > cursor]
            if len(objects) >= BACKLOG:
                queue += [
                    (ages.get(one, 0), (device, one))
                    for one in objects
                    if one.digest not in done.get(device, ())
                ]
        if not queue:
            return
        queue.sort(key=lambda entry: (entry[0], entry[1][1].last), reverse=True)
        self._done, self._total = 0, sum(one.last + 1 - one.first for _, (_, one) in queue)
        backlog = Backlog(lambda place: self._segment(*place))
        try:
            for _, place in queue:
                device, one = place
                segment = self._segment(device, one, keep=True)
                if segment is not None:
                    backlog.add(place, segment, cursors[device])
                    self._record_ready(backlog, cursors)
                self._show("receiving", "upload", one.last + 1 - one.first)
        finally:
            for device, one in backlog.done():
                done.setdefault(device, []).append(one.digest)
            self.state.set(**{DONE: done})

    def _record_ready(self, backlog: Backlog, cursors: dict[str, int]) -> None:
        for key in backlog.ready(self.importer.stored, self.importer.knows):
            device, origin = key
            try:
                for home, batch in backlog.batches(key, cursors):
                    self.importer.take(device, home, batch, only=origin)
            except (NotAuthentic, StoreNewer):  # named when its upload is read again
                backlog.sessions[key].refused = True
                continue
            backlog.sessions[key].recorded = True
            self._tell()

    def _forget_backlog(self, logs: dict[str, LogState]) -> None:
        """Delete the fetched objects.

        Those that follow a missing one are needed once more, and stay.
        """
        cursors = {device: entry.cursor for device, entry in self.remembered().items()}
        ahead = {
            device: {one.digest for one in log.objects if one.last > cursors.get(device, 0)}
            for device, log in logs.items()
        }
        done: dict[str, list[str]] = self.state.get(DONE, {})
        left = {device: sorted(ahead.get(device, set()).intersection(of)) for device, of in done.items()}
        if left != done:
            self.state.set(**{DONE: {device: of for device, of in left.items() if of}})
        self._fetched.drop(keep=set().union(*ahead.values()).difference(*left.values()))

    def _adopt(self, device: str, log: LogState) -> None:
        removal = self._removal(device)
        assert removal is not None
        head = Head(device, removal.number, removal.certificate, "", log=log)
        stored = head.to_stored() | {"digest": "", "inner": ""}
        self.state.db.execute(
            "INSERT OR IGNORE INTO device VALUES (?,?,'',0,?,?,NULL)",
            (device, log.name, START, json.dumps(stored)),
        )

    def _segments(self, device: str, log: LogState, after: int) -> Iterator[Segment]:
        """The segments with batches after a number, in order, each checked."""
        expected = None
        for entry in log.objects:
            if entry.last <= after:
                continue
            if entry.first > after + 1 if expected is None else entry.first != expected:
                self._problem(f"The log of {self._called(device)} has a gap before upload {entry.first}.")
                return
            expected = entry.last + 1
            segment = self._segment(device, entry)
            if segment is None:
                return
            yield segment

    def _segment(self, device: str, entry: ObjectEntry, *, keep: bool = False) -> Segment | None:
        """A segment of a device; None if it is not believed.

        With `keep` it stays until the round ends.
        """
        identity = self.identity
        what = f"Upload {entry.first} to {entry.last} of {self._called(device)}"
        data = self._fetched.get(entry.digest)
        if data is None and entry.digest not in self._refused:
            data = self.transport.get(
                object_name(identity, device, entry.first, entry.last, entry.generation)
            )
            if not self._complete(what, entry, data):
                self._refused.add(entry.digest)
                return None
            if keep and data is not None:
                self._fetched.keep(data)
        if data is None:
            return None
        epoch = self.state.epochs().get(entry.epoch)
        if epoch is None:
            self._problem(f"{what} waits: its key is not shared with this machine yet.")
            return None
        name = SegmentName(identity.vault.id, device, entry.first, entry.last, entry.generation, entry.epoch)
        key = segment_key(bytes.fromhex(epoch["secret"]), device)
        try:
            return open_segment(name, key, self._public(device), data)
        except NotAuthentic as error:
            self._problem(f"{what} was refused: {error}.")
            return None

    def _complete(self, what: str, entry: ObjectEntry, data: bytes | None) -> bool:
        """Whether an object is what the head of its device says. If not, it is named."""
        if data is None:
            self._problem(f"{what} is missing from the store: deleted or late.")
            return False
        if len(data) != entry.size or hashlib.sha256(data).hexdigest() != entry.digest:
            state = "incomplete" if len(data) < entry.size else "altered or replaced"
            self._problem(f"{what} is {state}. It was not read.")
            return False
        return True

    def _public(self, device: str) -> bytes:
        row = self.state.db.execute("SELECT head FROM device WHERE id=?", (device,)).fetchone()
        return bytes.fromhex(json.loads(row[0])["certificate"]["sign"])

    def _import_waiting(self, logs: dict[str, LogState]) -> None:
        """Import sessions that waited for others, if anything arrived that may help."""
        done = -1
        while self.importer.result.events > done:
            done = self.importer.result.events
            if not done:
                return
            waiting = self.state.db.execute("SELECT device, origin, batch FROM waiting").fetchall()
            for device, origin, begin in waiting:
                entry = self.remembered(device).get(device)
                if device not in logs or entry is None:
                    continue
                try:
                    for segment in self._segments(device, logs[device], max(0, begin - 1)):
                        for batch in segment.batches:
                            if begin <= batch.n <= entry.cursor:
                                self.importer.take(device, segment.home, batch, only=origin)
                except (NotAuthentic, StoreNewer) as error:  # it goes on waiting
                    self._problem(f"An upload of {self._called(device)} cannot be read: {error}.")

    # -- put ---------------------------------------------------------------------------------------------

    def _put(self, *, force: bool) -> None:
        """Put the objects that wait, then the head if it changed.

        Then delete what the head no longer names.
        """
        base = self.transport
        new = self.exporter.put(base.put)
        seen = {
            device: [entry.cursor, entry.link] for device, entry in self.remembered().items() if entry.cursor
        }
        stale = seen != self.state.get("seen", {})
        due = force or self.now() - self.state.get("head_at", 0) > ACK_EVERY
        if new or self.state.get("dirty", True) or (stale and due):
            self.put_head(seen)
        self.exporter.drop_garbage(base.delete)

    def leave(self) -> None:
        """Say in the head that this device leaves.

        What was forgotten here is uploaded first: nobody else can do that later. Refused if another machine
        writes as this one.
        """
        self._check_own_head("")
        if self.exporter.forgets_wait():
            self.round()
        self.exporter.put(self.transport.put)  # a head names only what is there
        self.put_head(left=True)
        self.exporter.drop_garbage(self.transport.delete)

    def put_head(self, seen: dict[str, list[Any]] | None = None, *, left: bool = False) -> None:
        state, identity = self.state, self.identity
        seen = state.get("seen", {}) if seen is None else seen
        count, link = state.last_batch()
        epochs = state.epochs()
        epoch = newest(epochs)
        log = LogState(
            count, link, tuple(ObjectEntry(*row) for row in state.objects()), state.get("name"),
            {device: (read, at) for device, (read, at) in seen.items()}, left, self.now(),
            state.get(EXCLUDED, {}), state.newest(), tuple(state.get(FORMER, ())),
        )  # fmt: skip
        number = state.get("number", 0) + 1
        head = Head(
            identity.device, number, self.certificate(), epoch, tuple(self._own_removals()),
            state.get("shared", {}), log,
        )  # fmt: skip
        data = pack_head(identity.vault, head, bytes.fromhex(epochs[epoch]["secret"]), identity.keys)
        # Before it is put: a head that may have been put is never followed by another with its number.
        with state.db.transaction():
            self.exporter.mark_put()
            state.set(number=number, digest=hashlib.sha256(data).hexdigest(), dirty=True)
        stamp = self.transport.put(
            f"{identity.vault.id}/h/{identity.vault.name('device', identity.device)}", data
        )
        state.set(put=number, stamp=stamp, dirty=False, seen=seen, head_at=self.now(), progress=self._shown)

    def _problem(self, text: str) -> None:
        if text not in self.report.problems:
            self.report.problems.append(text)

    # -- devices -----------------------------------------------------------------------------------------

    def remove(self, device: str) -> None:
        """Remove a device and begin a new epoch without it.

        Nothing that it writes from now on is believed.
        """
        heads = self._read_heads()
        members = self._members(heads)
        logs = self._open_logs(heads, members)
        if device not in members.current() or device not in logs:
            raise NotFound(
                f"No device {device[:8]} of this vault.", hint="`fazm-memory sync devices` lists them"
            )
        keep = {name: one for name, one in members.current().items() if name != device}
        removal = {
            "device": device, "number": heads[device].number, "log": logs[device].to_json(),
            "members": sorted(keep), "certificate": asdict(members.certified[device]),
        }  # fmt: skip
        epochs = self.state.epochs()
        epoch, secret = secrets.token_hex(8), secrets.token_bytes(KEY)
        rank = 1 + max(one["rank"] for one in epochs.values())
        publics = {name: bytes.fromhex(one.box) for name, one in keep.items() if name != self.identity.device}
        sealed = share_secret(epoch, secret, publics | {ROOT: self.identity.vault.root_box})
        with self.state.db.transaction():
            self.state.set(
                removals=[*self.state.get("removals", []), removal],
                removed=self.state.get("removed", {}) | {device: removal},
                epochs=epochs | {epoch: {"rank": rank, "secret": secret.hex()}},
                shared=self.state.get("shared", {}) | {epoch: {"rank": rank, "sealed": sealed}},
                dirty=True,
            )
        self.exporter.put(self.transport.put)  # a head names only what is there
        self.put_head()


def _united(exclusions: Iterable[dict[str, list[str]]]) -> dict[str, list[str]]:
    found: dict[str, dict[str, None]] = {}
    for one in exclusions:
        for kind, names in one.items():
            found.setdefault(kind, {}).update(dict.fromkeys(names))
    return {kind: list(names) for kind, names in found.items()}


def create_vault(state: SyncState, *, place: dict[str, Any], name: str) -> str:
    """Make a vault with this device as its first.

    Returns the recovery key, which is stored nowhere.
    """
    recovery = secrets.token_bytes(KEY)
    keys, root = vault_of(recovery)
    identity = Identity.fresh(keys)
    epoch, secret = secrets.token_hex(8), secrets.token_bytes(KEY)
    certificate = certify(keys, identity.device, identity.keys, ROOT, root)
    sealed = share_secret(epoch, secret, {ROOT: keys.root_box})
    state.begin(
        identity, place=place, name=name, active=True, certificate=asdict(certificate), dirty=True,
        shared={epoch: {"rank": 1, "sealed": sealed}},
    )  # fmt: skip
    state.set(epochs={epoch: {"rank": 1, "secret": secret.hex()}})
    return recovery_text(recovery)


def join_vault(
    state: SyncState, transport: Transport, *, recovery: str, place: dict[str, Any], name: str | None
) -> None:
    """Join the vault of a recovery key.

    A device that left it takes up its identity again. One that was removed joins as a new device.
    """
    keys, root = vault_of(parse_recovery(recovery))
    heads = read_all_heads(keys, transport)
    if not heads:
        raise NotFound(
            "There is no vault for this recovery key here.",
            hint="check the folder or URL; a folder that is synced may not have arrived yet",
        )
    members = members_of(keys, heads)
    known = state.identity()
    if known is not None and known.vault == keys and known.device not in members.removed:
        state.set(active=True, place=place, name=name or state.get("name"), dirty=True)
        return
    certified = [head for head in heads if head.device in members.certified]
    epochs = learn_secrets(certified, ROOT, root.box_private)
    identity = Identity.fresh(keys)
    certificate = certify(keys, identity.device, identity.keys, ROOT, root)
    enter(state, identity, certificate, epochs, place=place, name=name or socket.gethostname()[:60])


def enter(
    state: SyncState, identity: Identity, certificate: Certificate, epochs: dict[str, Any], *,
    place: dict[str, Any], name: str,
) -> None:  # fmt: skip
    """Begin as a certified device of a vault that exists."""
    if not epochs:
        raise SyncRefused(
            "The vault shares no key with this recovery key.",
            hint="a folder that is synced may not have arrived yet; else the vault was altered",
        )
    state.begin(
        identity, place=place, name=name, active=True, certificate=asdict(certificate), dirty=True, shared={}
    )
    state.set(epochs=epochs)


def read_all_heads(keys: VaultKeys, transport: Transport) -> list[Head]:
    """Every authentic head of a vault. Others are left out."""
    found = []
    for name in transport.list(f"{keys.id}/h"):
        data = transport.get(f"{keys.id}/h/{name}")
        try:
            if data is not None:
                found.append(open_head(keys, data))
        except NotAuthentic:
            continue
    return found


def device_rows(entries: Iterable[Remembered]) -> list[dict[str, Any]]:
    """Other devices for listings."""
    return [
        {
            "id": entry.id, "name": entry.name, "read": entry.cursor,
            "uploads": entry.cursor if entry.head.log is None else entry.head.log.batches,
            "left": bool(entry.head.log and entry.head.log.left),
            "synced_at": iso(entry.head.log.at) if entry.head.log and entry.head.log.at else None,
        }
        for entry in entries
    ]  # fmt: skip

"""The devices of the vault as one of them knows them.

Reads heads, remembers the newest believed one of each device, and works out from them who is a member, which
epoch secrets are shared, and what each log holds. A head that does not fit is named and left alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Set
from typing import Any

from fazm_memory.clock import iso
from fazm_memory.errors import SyncRefused
from fazm_memory.records import asdict, dataclass, replace
from fazm_memory.store import Store
from fazm_memory.sync.crypto import NotAuthentic
from fazm_memory.sync.heads import (
    ROOT,
    Certificate,
    Head,
    LogState,
    Members,
    Removal,
    learn_secrets,
    members_of,
    open_head,
    open_log,
    share_secret,
)
from fazm_memory.sync.state import START, Identity, RoundReport, SyncState
from fazm_memory.sync.transports import Transport


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


class Devices:
    """What this device knows of itself and the others of its vault."""

    def __init__(
        self, store: Store, state: SyncState, identity: Identity, transport: Transport, report: RoundReport
    ) -> None:
        self.store, self.state, self.identity = store, state, identity
        self.transport, self.report = transport, report

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

    def read_heads(self) -> dict[str, Head]:
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
                self.check_own_head(stamp)
            elif entry is not None and entry.stamp == stamp and stamp:
                heads[entry.id] = entry.head
            else:
                head = self._read_head(name, stamp, entry)
                if head is not None:
                    heads[head.device] = head
        if vault.name("device", own) not in listed and self.state.get("put", 0):
            self.report.problem("The head of this machine is missing from the store. It was put again.")
            self.state.set(dirty=True)
        for device, entry in known.items():
            if vault.name("device", device) not in listed:
                self.report.problem(f"The head of “{entry.name}” is missing from the store: deleted or late.")
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
            self.report.problem(f"The head of {called} was altered or is incomplete: {error}.")
            return before
        if self.identity.vault.name("device", head.device) != name:
            self.report.problem(f"The head of {called} was swapped: it belongs to another device.")
            return before
        if entry is not None and before is not None:
            if head.certificate != before.certificate:
                self.report.problem(f"The head of {called} has other keys than before.")
                return before
            if head.number < before.number:
                self.report.problem(
                    f"The head of {called} was rolled back from {before.number} to {head.number}."
                )
                return before
            if head.number == before.number and entry.digest and digest != entry.digest:
                self.report.problem(f"There are two heads {head.number} of {called}: one was replaced.")
                return before
        if (removal := self.removal(head.device)) is not None and head.number > removal.number:
            self.report.problem(f"The removed device {called} still writes. It is not believed.")
            return before
        self._remember(head, stamp, digest)
        return head

    def removal(self, device: str) -> Removal | None:
        raw = self.state.get("removed", {}).get(device)
        return None if raw is None else Removal.from_json(raw)

    def _remember(self, head: Head, stamp: str, digest: str) -> None:
        raw = json.dumps(head.to_stored() | {"digest": digest, "inner": head.raw.hex()})
        self.state.db.execute(
            "INSERT INTO device VALUES (?,?,?,0,?,?,NULL)"
            " ON CONFLICT (id) DO UPDATE SET stamp=excluded.stamp, head=excluded.head",
            (head.device, head.device[:8], stamp, START, raw),
        )

    def check_own_head(self, stamp: str) -> None:
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
            self.report.problem("The head of this machine was altered or rolled back. It was put again.")
        self.state.set(dirty=True)

    # -- members and epochs ------------------------------------------------------------------------------

    def certificate(self) -> Certificate:
        return Certificate(**self.state.get("certificate"))

    def members(self, heads: dict[str, Head]) -> Members:
        raw = self.state.get("removed", {})
        known = {device: Removal.from_json(one) for device, one in raw.items()}
        own = Head(self.identity.device, 0, self.certificate(), "", tuple(self.own_removals()))
        members = members_of(self.identity.vault, [own, *heads.values()], known)
        for device in heads:
            if device not in members.certified:
                self.report.problem(
                    f"A foreign device {device[:8]} is in the store. It has no valid certificate."
                )
        if len(members.removed) > len(known):
            self.state.set(removed={device: asdict(one) for device, one in members.removed.items()})
        return members

    def own_removals(self) -> list[Removal]:
        return [Removal.from_json(one) for one in self.state.get("removals", [])]

    def check_membership(self, members: Members) -> None:
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

    def learn_epochs(self, heads: dict[str, Head], members: Members) -> None:
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

    # -- logs --------------------------------------------------------------------------------------------

    def open_logs(self, heads: dict[str, Head], members: Members) -> dict[str, LogState]:
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
                    self.report.problem(f"The log of {self.called(device)} was refused: {error}.")
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

    def wait_for_former(self, logs: dict[str, LogState], current: Set[str]) -> None:
        """Leave a log aside while a former device of its machine seems to go on.

        Else its sessions would be stored twice.
        """
        for device, log in list(logs.items()):
            for former in current & set(log.former) if device in current else ():
                if former not in logs or not logs[former].left:
                    self.report.problem(
                        f"The uploads of {self.called(device)} wait: it was {self.called(former)} before,"
                        " which has not left yet as far as this machine knows."
                    )
                    logs.pop(device, None)

    def adopt(self, device: str, log: LogState) -> None:
        removal = self.removal(device)
        assert removal is not None
        head = Head(device, removal.number, removal.certificate, "", log=log)
        stored = head.to_stored() | {"digest": "", "inner": ""}
        self.state.db.execute(
            "INSERT OR IGNORE INTO device VALUES (?,?,'',0,?,?,NULL)",
            (device, log.name, START, json.dumps(stored)),
        )

    def _raw(self, device: str) -> bytes:
        row = self.state.db.execute("SELECT head FROM device WHERE id=?", (device,)).fetchone()
        return bytes.fromhex(json.loads(row[0])["inner"])

    def public(self, device: str) -> bytes:
        row = self.state.db.execute("SELECT head FROM device WHERE id=?", (device,)).fetchone()
        return bytes.fromhex(json.loads(row[0])["certificate"]["sign"])

    def _name(self, device: str, name: str) -> None:
        """Remember a device's name in the log's database, where sessions are listed."""
        key = f"device:{device}"
        row = self.store.db.execute("SELECT value FROM meta WHERE key=?", (key,)).fetchone()
        if row is None or row[0] != name:
            with self.store.db.transaction():
                self.store.db.execute("INSERT OR REPLACE INTO meta VALUES (?,?)", (key, name))

    def called(self, device: str) -> str:
        row = self.state.db.execute("SELECT name FROM device WHERE id=?", (device,)).fetchone()
        removed = "the removed " if device in self.state.get("removed", {}) else ""
        return f"{removed}“{device[:8] if row is None else row[0]}”"

    def compare_views(self, logs: dict[str, LogState]) -> None:
        """Name devices of which the store shows less than others have read.

        Also those of which it shows something else.
        """
        own = self.remembered()
        for reader, log in logs.items():
            for device, (count, link) in log.seen.items():
                shown = logs.get(device)
                mine = own.get(device)
                if shown is not None and count > shown.batches:
                    self.report.problem(
                        f"The store shows {shown.batches} uploads of {self.called(device)}, but"
                        f" {self.called(reader)} has read {count}: the rest is withheld, or not there yet."
                    )
                elif mine is not None and mine.cursor == count and mine.link != link and count:
                    self.report.problem(
                        f"{self.called(reader)} was shown another history of {self.called(device)} than"
                        " this machine."
                    )
                elif device == self.identity.device and not self._made(count, link):
                    self.report.problem(
                        f"{self.called(reader)} has read uploads that this machine did not make."
                    )

    def _made(self, batch: int, link: str) -> bool:
        return batch <= self.state.last_batch()[0] and self.state.link_at(batch) == link


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

"""A vault as one device sees it, and one round of sync.

A round lists the heads, reads those that changed, imports what is new, puts what this device has, and puts
its own head.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from fazm_memory.errors import NotFound, StoreBusy
from fazm_memory.records import asdict
from fazm_memory.store import FileVersions, Store, TranscriptCopies, vacuum
from fazm_memory.sync.crypto import KEY
from fazm_memory.sync.devices import Devices
from fazm_memory.sync.exporter import BatchExporter, Sharing
from fazm_memory.sync.files import FileSharing
from fazm_memory.sync.heads import ROOT, Head, LogState, ObjectEntry, newest, pack_head, share_secret
from fazm_memory.sync.importer import BatchImporter, Forget
from fazm_memory.sync.receiver import Receiver
from fazm_memory.sync.state import FORMER, RoundProgress, RoundReport, SyncState
from fazm_memory.sync.transcripts import TranscriptSharing
from fazm_memory.sync.transports import Meter, Transport

EXCLUDED = "excluded"  # setting: this device's exclusions, as they travel in its head
AHEAD = 4  # objects that are put before a head names them, while the next batches are made
ACK_EVERY = 600 * 1_000_000  # microseconds between two heads that only say what was read


# Opens a database beside the log: creating it, and only if it exists.
Versions = tuple[Callable[[], FileVersions], Callable[[], FileVersions | None]]
Transcripts = tuple[Callable[[], TranscriptCopies], Callable[[], TranscriptCopies | None], Callable[..., str]]


class Vault:
    """One device's view of its vault, for one round. `transport` is counted."""

    def __init__(
        self, store: Store, state: SyncState, transport: Transport, *, home: str, now: Callable[[], int],
        forget: Forget, versions: Versions, transcripts: Transcripts, fetched: Path,
    ) -> None:  # fmt: skip
        identity = state.identity()
        if identity is None:
            raise NotFound("This machine belongs to no vault.", hint="`fazm-memory sync init`")
        self.store, self.state, self.identity, self.now = store, state, identity, now
        self.transport = Meter(transport)
        self.files = FileSharing(state, identity, *versions, now)
        self.transcripts = TranscriptSharing(store, state, identity, *transcripts, now)
        sharing: dict[str, Sharing] = {"files": self.files, "transcripts": self.transcripts}
        self.exporter = BatchExporter(store, state, identity, home, sharing)
        self.importer = BatchImporter(
            store, state, identity.device, home, now, forget, self.files, self.transcripts
        )
        self.report = RoundReport()
        self._progress = RoundProgress(state, lambda: self.importer.result.events + self.report.exported)
        self.devices = Devices(store, state, identity, self.transport, self.report)
        self.receiver = Receiver(
            self.devices, self.importer, self.transport, self.report, self._progress, fetched
        )

    # -- one round ---------------------------------------------------------------------------------------

    def round(
        self, *, acknowledge: bool = True, progress: Callable[[int], None] = lambda done: None
    ) -> RoundReport:
        """Import what is new, then put what is new.

        `acknowledge` puts the head even if only reading moved.
        """
        self._progress.call = progress
        self._receive()
        self._send(acknowledge)
        result, report = self.importer.result, self.report
        if result.forgot:
            self._clean_pages()
        report.imported, report.forgot = result.events, result.forgot
        report.sessions = sorted(result.sessions)
        report.problems += [
            f"Session {session[:8]} differs from what this machine uploaded before. It was uploaded again;"
            " other machines have both."
            for session in self.exporter.again
        ]
        report.requests = self.transport.counts()
        self._count()
        return report

    def _receive(self) -> None:
        """Read the heads, then import what is new in the logs of the others."""
        devices, report = self.devices, self.report
        before = {device for (device,) in self.state.db.execute("SELECT id FROM device").fetchall()}
        heads = devices.read_heads()
        members = devices.members(heads)
        devices.check_membership(members)
        devices.learn_epochs(heads, members)
        logs = devices.open_logs(heads, members)
        current = members.current()
        devices.wait_for_former(logs, current.keys())
        self.importer.members = frozenset(
            device for device in current if device not in logs or not logs[device].left
        )
        devices.compare_views(logs)
        if self.state.get("last_ok") is not None:  # else all of them are new
            report.joined = sorted(logs[one].name for one in logs.keys() & current.keys() - before)
        report.excluded = _united(log.excluded for device, log in logs.items() if device in current)
        self.receiver.receive(logs)
        report.files = self.files.fetch(self.transport.get, report.problem)
        report.transcripts = self.transcripts.fetch(self.transport.get, report.problem)

    def _send(self, acknowledge: bool) -> None:
        """Put what is new here, in batches, and the head."""
        self.transcripts.at_once = acknowledge
        self._progress.begin(sum(row.head - row.sent for row in self.exporter.pending()))
        self.report.exported = self.exporter.waiting_events()
        with ThreadPoolExecutor(AHEAD) as pool:
            for count in self.exporter.batches():
                self.report.exported += count
                self.report.uploads += 1
                self._progress.show("uploading", "event", count)
                if self.exporter.put_ahead(pool, self.transport.put) >= AHEAD:
                    self._put(force=True)
            self._put(force=acknowledge or self.importer.result.asked)

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

    # -- the own head ------------------------------------------------------------------------------------

    def _put(self, *, force: bool) -> None:
        """Put the objects that wait, then the head if it changed.

        Then delete what the head no longer names.
        """
        new = self.exporter.put(self.transport.put)
        seen = {
            device: [entry.cursor, entry.link]
            for device, entry in self.devices.remembered().items()
            if entry.cursor
        }
        stale = seen != self.state.get("seen", {})
        due = force or self.now() - self.state.get("head_at", 0) > ACK_EVERY
        if new or self.state.get("dirty", True) or (stale and due):
            self.put_head(seen)
        self.exporter.drop_garbage(self.transport.delete)

    def leave(self) -> None:
        """Say in the head that this device leaves.

        What was forgotten here is uploaded first: nobody else can do that later. Refused if another machine
        writes as this one.
        """
        self.devices.check_own_head("")
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
            identity.device, number, self.devices.certificate(), epoch, tuple(self.devices.own_removals()),
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
        state.set(
            put=number, stamp=stamp, dirty=False, seen=seen, head_at=self.now(), progress=self._progress.shown
        )

    # -- devices -----------------------------------------------------------------------------------------

    def remove(self, device: str) -> None:
        """Remove a device and begin a new epoch without it.

        Nothing that it writes from now on is believed.
        """
        heads = self.devices.read_heads()
        members = self.devices.members(heads)
        logs = self.devices.open_logs(heads, members)
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

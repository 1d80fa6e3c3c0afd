"""Fetch what the other devices uploaded, and import it.

Nothing is believed because of where it stands: every object is checked against the signed head of its device,
and every log against what this device read of it before. What does not fit is named and left alone.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

from fazm_memory.errors import StoreNewer
from fazm_memory.sync.crypto import NotAuthentic
from fazm_memory.sync.devices import Devices
from fazm_memory.sync.exporter import object_name
from fazm_memory.sync.heads import LogState, ObjectEntry
from fazm_memory.sync.importer import BatchImporter
from fazm_memory.sync.segments import (
    Backlog,
    FetchedObjects,
    Place,
    Segment,
    SegmentName,
    open_segment,
    segment_key,
)
from fazm_memory.sync.state import START, RoundProgress, RoundReport
from fazm_memory.sync.transports import Transport

DONE = "backlog_done"  # setting: digests of objects that are imported, but not as part of the chain
BACKLOG = 2  # segments to read from which on sessions are imported newest first


class Receiver:
    """Reads the logs of the other devices.

    `fetched` is the folder for objects of a long backlog.
    """

    def __init__(
        self, devices: Devices, importer: BatchImporter, transport: Transport, report: RoundReport,
        progress: RoundProgress, fetched: Path,
    ) -> None:  # fmt: skip
        self.devices, self.importer, self.transport = devices, importer, transport
        self.state, self.identity = devices.state, devices.identity
        self.report, self.progress = report, progress
        self._fetched = FetchedObjects(fetched)
        self._refused: set[str] = set()  # digests of objects that are not in the store as their head says

    def receive(self, logs: dict[str, LogState]) -> None:
        """Import what is new in these logs."""
        self._import_newest_first(logs)
        known = self.devices.remembered()
        if not self.progress.total:
            self.progress.begin(
                sum(
                    max(0, log.batches - (known[device].cursor if device in known else 0))
                    for device, log in logs.items()
                )
            )
        for device, log in logs.items():
            if device not in known or not known[device].has_read(log):
                self._import_log(device, log)
        self._import_waiting(logs)
        self._forget_backlog(logs)

    def _import_log(self, device: str, log: LogState) -> None:
        entry = self.devices.remembered(device).get(device)
        cursor, link = (0, START) if entry is None else (entry.cursor, entry.link)
        if entry is None:  # a device that was removed before this one joined
            self.devices.adopt(device, log)
        if log.batches < cursor or (log.batches == cursor and log.batches and log.link != link):
            self.report.problem(
                f"The log of {self.devices.called(device)} is not the one that was read before."
            )
            return
        for segment in self.segments(device, log, cursor):
            for batch in segment.batches:
                if batch.n <= cursor:
                    if batch.n == cursor and batch.link != link:
                        self.report.problem(f"The history of {self.devices.called(device)} was rewritten.")
                        return
                    continue
                if batch.n == cursor + 1 and batch is segment.batches[0] and segment.before != link:
                    self.report.problem(f"The history of {self.devices.called(device)} was rewritten.")
                    return
                try:
                    self.importer.take(device, segment.home, batch)
                except (NotAuthentic, StoreNewer) as error:
                    self.report.problem(
                        f"An upload of {self.devices.called(device)} cannot be read: {error}."
                    )
                    return
                cursor, link = batch.n, batch.link
                self.state.db.execute("UPDATE device SET cursor=?, link=? WHERE id=?", (cursor, link, device))
                self.progress.show("receiving", "upload", 1)
        if cursor == log.batches and cursor and link != log.link:
            self.report.problem(
                f"The end of the log of {self.devices.called(device)} is not what its head says."
            )

    def _import_newest_first(self, logs: dict[str, LogState]) -> None:
        """Import the sessions of a long backlog, newest first.

        Each is imported once all its events are here.

        `_import_log` comes after it, finds their events here, and does the rest: it checks the chain, follows
        requests and remembers how far this machine has read.
        """
        cursors = {
            device: entry.cursor for device, entry in self.devices.remembered().items() if device in logs
        }
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
        self.progress.begin(sum(one.last + 1 - one.first for _, (_, one) in queue))
        backlog = Backlog(lambda place: self._segment(*place))
        try:
            for _, place in queue:
                device, one = place
                segment = self._segment(device, one, keep=True)
                if segment is not None:
                    backlog.add(place, segment, cursors[device])
                    self._record_ready(backlog, cursors)
                self.progress.show("receiving", "upload", one.last + 1 - one.first)
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
            self.progress.tell()

    def _import_waiting(self, logs: dict[str, LogState]) -> None:
        """Import sessions that waited for others, if anything arrived that may help."""
        done = -1
        while self.importer.result.events > done:
            done = self.importer.result.events
            if not done:
                return
            waiting = self.state.db.execute("SELECT device, origin, batch FROM waiting").fetchall()
            for device, origin, begin in waiting:
                entry = self.devices.remembered(device).get(device)
                if device not in logs or entry is None:
                    continue
                try:
                    for segment in self.segments(device, logs[device], max(0, begin - 1)):
                        for batch in segment.batches:
                            if begin <= batch.n <= entry.cursor:
                                self.importer.take(device, segment.home, batch, only=origin)
                except (NotAuthentic, StoreNewer) as error:  # it goes on waiting
                    self.report.problem(
                        f"An upload of {self.devices.called(device)} cannot be read: {error}."
                    )

    def _forget_backlog(self, logs: dict[str, LogState]) -> None:
        """Delete the fetched objects.

        Those that follow a missing one are needed once more, and stay.
        """
        cursors = {device: entry.cursor for device, entry in self.devices.remembered().items()}
        ahead = {
            device: {one.digest for one in log.objects if one.last > cursors.get(device, 0)}
            for device, log in logs.items()
        }
        done: dict[str, list[str]] = self.state.get(DONE, {})
        left = {device: sorted(ahead.get(device, set()).intersection(of)) for device, of in done.items()}
        if left != done:
            self.state.set(**{DONE: {device: of for device, of in left.items() if of}})
        self._fetched.drop(keep=set().union(*ahead.values()).difference(*left.values()))

    def segments(self, device: str, log: LogState, after: int) -> Iterator[Segment]:
        """The segments with batches after a number, in order, each checked."""
        expected = None
        for entry in log.objects:
            if entry.last <= after:
                continue
            if entry.first > after + 1 if expected is None else entry.first != expected:
                self.report.problem(
                    f"The log of {self.devices.called(device)} has a gap before upload {entry.first}."
                )
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
        what = f"Upload {entry.first} to {entry.last} of {self.devices.called(device)}"
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
            self.report.problem(f"{what} waits: its key is not shared with this machine yet.")
            return None
        name = SegmentName(identity.vault.id, device, entry.first, entry.last, entry.generation, entry.epoch)
        key = segment_key(bytes.fromhex(epoch["secret"]), device)
        try:
            return open_segment(name, key, self.devices.public(device), data)
        except NotAuthentic as error:
            self.report.problem(f"{what} was refused: {error}.")
            return None

    def _complete(self, what: str, entry: ObjectEntry, data: bytes | None) -> bool:
        """Whether an object is what the head of its device says. If not, it is named."""
        if data is None:
            self.report.problem(f"{what} is missing from the store: deleted or late.")
            return False
        if len(data) != entry.size or hashlib.sha256(data).hexdigest() != entry.digest:
            state = "incomplete" if len(data) < entry.size else "altered or replaced"
            self.report.problem(f"{what} is {state}. It was not read.")
            return False
        return True

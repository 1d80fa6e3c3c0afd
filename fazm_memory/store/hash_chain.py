"""The keyed hash chain of events, and its heads in a file outside the database.

Each event's MAC covers the MAC before it, the digest of its payload and its envelope. The key stops an
editor who recomputes the chain; the heads file stops one who cuts the tail. Because the MAC covers digests
instead of payloads, a payload can be forgotten and the chain still verifies.
"""

from __future__ import annotations

import hashlib
import hmac
import mmap
import os
import struct
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from fazm_memory.paths import disk_error, full_sync, private_file, sync_folder
from fazm_memory.records import dataclass


class SlotFile:
    """A file of numbered slots of fixed size.

    Slots never written read as empty or as zeros.
    """

    def __init__(self, path: Path, size: int) -> None:
        self.path = path
        self.size = size
        self._descriptor: int | None = None
        self._map: mmap.mmap | None = None

    def open(self) -> int:
        """The descriptor of the file, created if needed.

        Called before a commit, to fail early.
        """
        if self._descriptor is None:
            fresh = not self.path.exists()
            private_file(self.path)
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
            if fresh:
                sync_folder(self.path.parent)
        return self._descriptor

    def count(self) -> int:
        return self._room() // self.size

    def _room(self) -> int:
        # Much cheaper than fstat, and nothing uses the offset.
        return os.lseek(self.open(), 0, os.SEEK_END)

    def read(self, number: int) -> bytes:
        start = number * self.size
        mapped = self._mapped(start + self.size)
        if mapped is not None:
            return mapped[start : start + self.size]
        return os.pread(self.open(), self.size, start)

    def write(self, number: int, slot: bytes, over: bytes | None = None) -> None:
        """Write a slot. `over` is its present content, if the caller has just read it."""
        start = number * self.size
        if over is None:
            over = self.read(number)
        # Through the map only where the slot exists: on a full disk a write to an unallocated block of a map
        # would kill the process.
        mapped = self._mapped(start + self.size) if any(over) else None
        if mapped is not None:
            mapped[start : start + self.size] = slot
            return
        try:
            os.pwrite(self.open(), slot, start)
        except OSError as error:
            raise disk_error(error, self.path) from error

    def _mapped(self, stop: int) -> mmap.mmap | None:
        """The memory map, if the file reaches that far. The file may have been truncated."""
        room = self._room()
        if self._map is not None and not stop <= len(self._map) <= room:
            self._unmap()
        if self._map is None and stop <= room:
            try:
                self._map = mmap.mmap(self.open(), room)
            except (OSError, ValueError):
                # No descriptor left, a file system without maps, or truncated just now. This runs after a
                # commit and must not fail; plain writes still work.
                return None
        return self._map

    def _unmap(self) -> None:
        mapped, self._map = self._map, None  # first: an interrupt must not leave a closed map behind
        if mapped is not None:
            mapped.close()

    def sync(self) -> None:
        """Make everything written durable."""
        if self._map is not None and len(self._map) <= self._room():
            self._map.flush()
        full_sync(self.open())

    def close(self) -> None:
        self._unmap()
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


SLOT = struct.Struct(">Q32s8s16s")  # 64 bytes: a power cut tears no slot, since none crosses a sector
ALARM = struct.Struct(">BxxxQI")  # the last part of a slot
NO_ALARM = bytes(ALARM.size)
TRIES = 3  # a slot may be read while another process writes it


def digest_of(payload: bytes) -> bytes:
    return hashlib.sha256(payload).digest()


@lru_cache(maxsize=8)
def _keyed(key: bytes) -> hmac.HMAC:
    return hmac.new(key, digestmod=hashlib.sha256)


def hmac_sha256(key: bytes, message: bytes) -> bytes:
    # Every event has one. Copying the keyed object is faster than starting from the key.
    mac = _keyed(key).copy()
    mac.update(message)
    return mac.digest()


def genesis(key: bytes, session: str) -> bytes:
    """The MAC before the first event of a session."""
    return hmac_sha256(key, b"genesis\0" + session.encode())


def link(
    key: bytes,
    prev: bytes,
    digest: bytes,
    session: str,
    seq: int,
    at: int,
    turn: int,
    kind: str,
    version: int,
    actor: str,
    source: str,
    trust: str,
    dedupe: str | None,
) -> bytes:
    """The MAC of one event. Fields are joined by NUL, which only the last may contain.

    No dedupe key and an empty one give different MACs.
    """
    envelope = f"{session}\0{seq}\0{at}\0{turn}\0{kind}\0{version}\0{actor}\0{source}\0{trust}"
    if dedupe is not None:
        envelope = f"{envelope}\0{dedupe}"
    return hmac_sha256(key, prev + digest + envelope.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True)
class ChainAlarm:
    """A mismatch that a writer found.

    It stays in the slot until the store is recovered.
    """

    kind: int
    there: int  # events that the heads file counts
    had: int  # events the database had then

    def describe(self) -> str:
        if self.kind == CUT:
            return f"events at the end are missing: {self.there} were known when the log had only {self.had}"
        return {
            MISSING: "its entry in the heads file was missing: events removed at the end cannot be detected",
            ALTERED: "its entry in the heads file was altered: events removed at the end cannot be detected",
            OTHER: f"event {self.there - 1} does not match the heads file",
        }.get(self.kind, "something was wrong with it before it was written to")


CUT, MISSING, ALTERED, OTHER = 1, 2, 3, 4


@dataclass(frozen=True, slots=True)
class ChainHead:
    """The last event of a session as known outside the database."""

    count: int
    mac: bytes
    alarm: ChainAlarm | None = None


ALTERED_HEAD = ChainHead(-1, b"")  # read from an altered slot
UNPROVED = b"", ALTERED_HEAD
SlotWrite = tuple[int, ChainHead, bytes, bytes]  # number, head, new slot, present slot


class ChainHeads:
    """One slot per session in a file, written after each commit.

    It may lag behind the database after a power cut and is then caught up. If it is ahead, the tail of the
    log was cut. A lagging head is no alarm, so that slots need no sync, which keeps appending cheap. Only
    the slot of a new session is synced, before the session is committed, so a missing slot is never caused
    by a crash.
    """

    def __init__(self, path: Path, key: bytes) -> None:
        self.path = path
        self.key = key
        self.slots = SlotFile(path, SLOT.size)
        # Slots as this process last wrote or read them, which need no checking again.
        self._proved: dict[int, tuple[bytes, ChainHead]] = {}

    def open(self) -> None:
        """Fail now, not after a commit, if heads cannot be written."""
        self.slots.open()

    def last(self) -> int:
        """The highest number that ever had a slot.

        A new session must not reuse a lost one.
        """
        return self.slots.count() - 1

    def announce(self, numbers: Sequence[int]) -> None:
        """Give sessions that are about to be committed their slots, durably."""
        if numbers:
            self.write((number, 0, bytes(32)) for number in numbers)
            self.slots.sync()

    def write(self, heads: Iterable[tuple[int, int, bytes]]) -> None:
        for number, count, mac in heads:
            self.put(*self.prepare(number, count, mac))

    def prepare(self, number: int, count: int, mac: bytes) -> SlotWrite:
        """The slot for the newest head, ready to be written. An alarm in the slot stays.

        A slot that was read under the write lock is not read again: if another process writes in between, it
        finds a slot that lags, which is no alarm.
        """
        over, before = self._proved.get(number) or self._read(number)
        return self._slot(number, ChainHead(count, mac, None if before is None else before.alarm), over)

    def _slot(self, number: int, head: ChainHead, over: bytes) -> SlotWrite:
        alarm = (
            NO_ALARM if head.alarm is None else ALARM.pack(head.alarm.kind, head.alarm.there, head.alarm.had)
        )
        slot = SLOT.pack(head.count, head.mac, self._tag(number, head.count, head.mac, alarm), alarm)
        return number, head, slot, over

    def put(self, number: int, head: ChainHead, slot: bytes, over: bytes) -> None:
        self.slots.write(number, slot, over)
        self._proved[number] = slot, head

    def check(self, number: int, count: int, mac: bytes, mac_at: Callable[[int], bytes]) -> None:
        """Compare the slot with the database. Keep an alarm if they differ.

        Done before the slot is overwritten. `mac_at` reads the MAC at a position. It is called only when the
        slot lags.
        """
        raw, proved = self._proved.get(number, UNPROVED)
        if proved.count == count and proved.mac == mac and self.slots.read(number) == raw:
            return  # as this process left it
        over, found = self._read(number)
        alarm: ChainAlarm | None = None
        if found is None:
            alarm = ChainAlarm(MISSING, 0, count) if count else None
        elif found is ALTERED_HEAD:
            alarm = ChainAlarm(ALTERED, 0, count)
        elif found.count > count:
            alarm = ChainAlarm(CUT, found.count, count)
        elif found.count and found.mac != (mac if found.count == count else mac_at(found.count - 1)):
            alarm = ChainAlarm(OTHER, found.count, count)
        if alarm is None:
            return
        if found is not None and found.alarm is not None and found.alarm.there >= alarm.there:
            alarm = found.alarm  # the worse one
        known = found if found is not None and found is not ALTERED_HEAD else ChainHead(count, mac)
        self.put(*self._slot(number, ChainHead(known.count, known.mac, alarm), over))
        self.slots.sync()

    def _read(self, number: int) -> tuple[bytes, ChainHead | None]:
        """The bytes of a slot and its head.

        The head is None if the slot was never written, ALTERED_HEAD if it was altered.
        """
        found: ChainHead | None = None
        raw = b""
        for _ in range(TRIES):
            raw = self.slots.read(number)
            proved = self._proved.get(number)
            if proved is not None and proved[0] == raw:
                return proved
            found = self._parsed(number, raw)
            if found is not ALTERED_HEAD:
                break
        if found is not None and found is not ALTERED_HEAD:
            self._proved[number] = raw, found
        return raw, found

    def _parsed(self, number: int, raw: bytes) -> ChainHead | None:
        if not any(raw):
            return None
        if len(raw) < SLOT.size:
            return ALTERED_HEAD
        count, mac, tag, alarm = SLOT.unpack(raw)
        if not hmac.compare_digest(tag, self._tag(number, count, mac, alarm)):
            return ALTERED_HEAD
        return ChainHead(count, mac, None if alarm == NO_ALARM else ChainAlarm(*ALARM.unpack(alarm)))

    def _tag(self, number: int, count: int, mac: bytes, alarm: bytes) -> bytes:
        message = b"head\0" + struct.pack(">QQ", number, count) + mac
        # Slots without an alarm keep the tag they had before there were alarms.
        return hmac_sha256(self.key, message if alarm == NO_ALARM else message + alarm)[:8]

    def exists(self) -> bool:
        return self.path.exists() and self.path.stat().st_size > 0

    def read_all(self) -> tuple[dict[int, ChainHead], list[int]]:
        """Every head by session number, and the numbers of altered slots."""
        if not self.exists():
            return {}, []
        data = self.path.read_bytes()
        heads: dict[int, ChainHead] = {}
        altered: list[int] = []
        for number in range((len(data) + SLOT.size - 1) // SLOT.size):
            found = self._parsed(number, data[number * SLOT.size : (number + 1) * SLOT.size])
            if found is ALTERED_HEAD:
                altered.append(number)
            elif found is not None:
                heads[number] = found
        return heads, altered

    def close(self) -> None:
        self.slots.close()

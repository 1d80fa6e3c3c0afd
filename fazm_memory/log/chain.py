"""The keyed hash chain, and its heads kept outside the database.

Each event's MAC covers the MAC before it, the digest of its payload and all of its envelope. The key stops an
editor who recomputes the chain; the heads file stops one who cuts the tail; digests instead of payloads let a
payload be forgotten while the chain still verifies.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from fazm_memory.log.slots import Slots

BLOCK = 64  # bytes that SHA-256 takes at a time
SLOT = struct.Struct(">Q32s8s16s")  # 64 bytes: none lies across two sectors, so a power cut tears none
ALARM = struct.Struct(">BxxxQI")  # the last part of a slot: what was once found wrong with the session
QUIET = bytes(ALARM.size)
TRIES = 3  # a slot may be read while another process writes it; an altered one is altered each time


def digest_of(payload: bytes) -> bytes:
    return hashlib.sha256(payload).digest()


@lru_cache(maxsize=8)
def _padded(key: bytes) -> tuple[Any, Any]:
    """The two hashes that HMAC-SHA256 begins with, inside and outside."""
    block = (key if len(key) <= BLOCK else digest_of(key)).ljust(BLOCK, b"\0")
    inside, outside = (hashlib.sha256(bytes(one ^ pad for one in block)) for pad in (0x36, 0x5C))
    return inside, outside


def keyed(key: bytes, message: bytes) -> bytes:
    """HMAC-SHA256. Every event has one, and beginning from the padded key is a quarter of `hmac.digest`."""
    padded = _padded(key)
    inside, outside = padded[0].copy(), padded[1].copy()
    inside.update(message)
    outside.update(inside.digest())
    return bytes(outside.digest())


def genesis(key: bytes, session: str) -> bytes:
    """What the first event of a session follows: no two sessions begin alike."""
    return keyed(key, b"genesis\0" + session.encode())


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
    """The MAC of one event. Fields are joined by NUL, which only the last may hold.

    No key and an empty key are two things.
    """
    envelope = f"{session}\0{seq}\0{at}\0{turn}\0{kind}\0{version}\0{actor}\0{source}\0{trust}"
    if dedupe is not None:
        envelope = f"{envelope}\0{dedupe}"
    return keyed(key, prev + digest + envelope.encode("utf-8", "surrogatepass"))


@dataclass(frozen=True)
class Alarm:
    """What a writer found wrong before it wrote on. It stays in the slot until the store is recovered."""

    kind: int
    there: int  # events the head outside knew of
    had: int  # events the database had then

    def told(self) -> str:
        if self.kind == CUT:
            return f"the tail was cut: {self.there} events were there when the log was back at {self.had}"
        return {
            MISSING: "its head outside the database was missing when it was written on: a cut tail cannot be"
            " ruled out",
            ALTERED: "its head outside the database was altered before it was written on: a cut tail cannot"
            " be ruled out",
            OTHER: f"its event {self.there - 1} was not the one that the head outside remembered",
        }.get(self.kind, "something was wrong with it before it was written on")


CUT, MISSING, ALTERED, OTHER = 1, 2, 3, 4


@dataclass(frozen=True, slots=True)
class Head:
    """The last event of a session as known outside the database."""

    count: int
    mac: bytes
    alarm: Alarm | None = None


WRONG = Head(-1, b"")  # what an altered slot holds: nothing to go by
UNPROVED = b"", WRONG
Made = tuple[int, Head, bytes, bytes]  # a session's number, its head, the slot of that, and what is there


class Heads:
    """One slot per session in a file of its own, written after each commit.

    It may lag behind the database (after a power cut) and is then caught up; if it is ahead, a tail was cut.
    A lagging head is never an alarm, so the slot needs no sync of its own, which keeps appending cheap. Only
    a new session's slot is synced, before the session is committed: a missing slot is never our own doing.
    """

    def __init__(self, path: Path, key: bytes) -> None:
        self.path = path
        self.key = key
        self.slots = Slots(path, SLOT.size)
        # Slots as this process last wrote or read them: the same bytes need not be proved again.
        self._proved: dict[int, tuple[bytes, Head]] = {}

    def open(self) -> None:
        """Find out now, not after a commit, whether heads can be written."""
        self.slots.open()

    def last(self) -> int:
        """The highest number that ever had a slot: a new session must not take the place of a lost one."""
        return self.slots.count() - 1

    def announce(self, numbers: Sequence[int]) -> None:
        """Give sessions that are about to be committed their slots, durably."""
        if numbers:
            self.write((number, 0, bytes(32)) for number in numbers)
            self.slots.sync()

    def write(self, heads: Iterable[tuple[int, int, bytes]]) -> None:
        """The newest heads."""
        for number, count, mac in heads:
            self.put(*self.made(number, count, mac))

    def made(self, number: int, count: int, mac: bytes) -> Made:
        """The newest head, ready to be put in its slot. An alarm that stands there stays there.

        What was found in a slot under the write lock is not read again. Whoever writes in between finds a
        slot that lags, which is no alarm; what was tampered with in between, the next one finds as well.
        """
        over, before = self._proved.get(number) or self._read(number)
        return self._made(number, Head(count, mac, None if before is None else before.alarm), over)

    def _made(self, number: int, head: Head, over: bytes) -> Made:
        alarm = QUIET if head.alarm is None else ALARM.pack(head.alarm.kind, head.alarm.there, head.alarm.had)
        slot = SLOT.pack(head.count, head.mac, self._tag(number, head.count, head.mac, alarm), alarm)
        return number, head, slot, over

    def put(self, number: int, head: Head, slot: bytes, over: bytes) -> None:
        self.slots.write(number, slot, over)
        self._proved[number] = slot, head

    def stands(self, number: int, count: int, mac: bytes) -> bool:
        """Whether the slot is as this process left it, and says what the database says."""
        raw, head = self._proved.get(number, UNPROVED)
        return head.count == count and head.mac == mac and self.slots.read(number) == raw

    def check(self, number: int, count: int, mac: bytes, mac_at: Callable[[int], bytes]) -> None:
        """Hold the slot against the database before it is written over: what it proves must outlive that.

        `mac_at` is the mark of the event at a position, asked for only when the slot lags behind.
        """
        over, found = self._read(number)
        alarm: Alarm | None = None
        if found is None:
            alarm = Alarm(MISSING, 0, count) if count else None
        elif found is WRONG:
            alarm = Alarm(ALTERED, 0, count)
        elif found.count > count:
            alarm = Alarm(CUT, found.count, count)
        elif found.count and found.mac != (mac if found.count == count else mac_at(found.count - 1)):
            alarm = Alarm(OTHER, found.count, count)
        if alarm is None:
            return
        if found is not None and found.alarm is not None and found.alarm.there >= alarm.there:
            alarm = found.alarm  # the worse of the two
        known = found if found is not None and found is not WRONG else Head(count, mac)
        self.put(*self._made(number, Head(known.count, known.mac, alarm), over))
        self.slots.sync()

    def _read(self, number: int) -> tuple[bytes, Head | None]:
        """The bytes of a slot and its head: None in one never written, WRONG in one that was altered."""
        found: Head | None = None
        raw = b""
        for _ in range(TRIES):
            raw = self.slots.read(number)
            proved = self._proved.get(number)
            if proved is not None and proved[0] == raw:
                return proved
            found = self._parsed(number, raw)
            if found is not WRONG:
                break
        if found is not None and found is not WRONG:
            self._proved[number] = raw, found
        return raw, found

    def _parsed(self, number: int, raw: bytes) -> Head | None:
        if not any(raw):
            return None
        if len(raw) < SLOT.size:
            return WRONG
        count, mac, tag, alarm = SLOT.unpack(raw)
        if not hmac.compare_digest(tag, self._tag(number, count, mac, alarm)):
            return WRONG
        return Head(count, mac, None if alarm == QUIET else Alarm(*ALARM.unpack(alarm)))

    def _tag(self, number: int, count: int, mac: bytes, alarm: bytes) -> bytes:
        said = b"head\0" + struct.pack(">QQ", number, count) + mac
        # A slot without an alarm is marked as it was before there were alarms.
        return keyed(self.key, said if alarm == QUIET else said + alarm)[:8]

    def exists(self) -> bool:
        return self.path.exists() and self.path.stat().st_size > 0

    def read_all(self) -> tuple[dict[int, Head], list[int]]:
        """Every head by session number, and the numbers of slots that somebody has altered."""
        if not self.exists():
            return {}, []
        data = self.path.read_bytes()
        heads: dict[int, Head] = {}
        altered: list[int] = []
        for number in range((len(data) + SLOT.size - 1) // SLOT.size):
            found = self._parsed(number, data[number * SLOT.size : (number + 1) * SLOT.size])
            if found is WRONG:
                altered.append(number)
            elif found is not None:
                heads[number] = found
        return heads, altered

    def close(self) -> None:
        self.slots.close()

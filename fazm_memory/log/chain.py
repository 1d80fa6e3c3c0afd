"""The keyed hash chain, and its heads kept outside the database.

Each event's MAC covers the MAC before it, the digest of its payload and all of its envelope. The key stops an
editor who recomputes the chain; the heads file stops one who cuts the tail; digests instead of payloads let a
payload be forgotten while the chain still verifies.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fazm_memory.private import disk_error, full_sync, private_file, sync_folder

SLOT = struct.Struct(">Q32s8s16x")  # 64 bytes: none lies across two sectors, so a power cut tears none


def digest_of(payload: bytes) -> bytes:
    return hashlib.sha256(payload).digest()


def genesis(key: bytes, session: str) -> bytes:
    """What the first event of a session follows: no two sessions begin alike."""
    return hmac.digest(key, b"genesis\0" + session.encode(), "sha256")


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
    return hmac.digest(key, prev + digest + envelope.encode("utf-8", "surrogatepass"), "sha256")


@dataclass(frozen=True)
class Head:
    """The last event of a session as known outside the database."""

    count: int
    mac: bytes


class Heads:
    """One slot per session in a file of its own, written after each commit.

    It may lag behind the database (after a power cut) and is then caught up; if it is ahead, a tail was cut.
    A lagging head is never an alarm, so the slot needs no sync of its own, which keeps appending cheap. Only
    a new session's slot is synced, before the session is committed: a missing slot is never our own doing.
    """

    def __init__(self, path: Path, key: bytes) -> None:
        self.path = path
        self.key = key
        self._descriptor: int | None = None

    def _file(self) -> int:
        if self._descriptor is None:
            fresh = not self.path.exists()
            private_file(self.path)
            self._descriptor = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
            if fresh:
                sync_folder(self.path.parent)
        return self._descriptor

    def open(self) -> None:
        """Find out now, not after a commit, whether heads can be written."""
        self._file()

    def last(self) -> int:
        """The highest number that ever had a slot: a new session must not take the place of a lost one."""
        return os.fstat(self._file()).st_size // SLOT.size - 1

    def announce(self, numbers: Sequence[int]) -> None:
        """Give sessions that are about to be committed their slots, durably."""
        if numbers:
            self.write((number, 0, bytes(32)) for number in numbers)
            full_sync(self._file())

    def write(self, heads: Iterable[tuple[int, int, bytes]]) -> None:
        descriptor = self._file()
        try:
            for number, count, mac in heads:
                slot = SLOT.pack(count, mac, self._tag(number, count, mac))
                os.pwrite(descriptor, slot, number * SLOT.size)
        except OSError as error:
            raise disk_error(error, self.path) from error

    def _tag(self, number: int, count: int, mac: bytes) -> bytes:
        return hmac.digest(self.key, b"head\0" + struct.pack(">QQ", number, count) + mac, "sha256")[:8]

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
            raw = data[number * SLOT.size : (number + 1) * SLOT.size]
            if not any(raw):
                continue
            if len(raw) < SLOT.size:
                altered.append(number)
                continue
            count, mac, tag = SLOT.unpack(raw)
            if hmac.compare_digest(tag, self._tag(number, count, mac)):
                heads[number] = Head(count, mac)
            else:
                altered.append(number)
        return heads, altered

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

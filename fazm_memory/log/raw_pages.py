"""The pages of an encrypted database, each read for itself: no page is needed to read another.

A page is found by its number, proved by its own authentication code and then deciphered, as SQLCipher 4 does
it for a raw key: 4096 bytes, of which the last 80 are the initial vector and the code. As in SQLite the
newest committed frame of the write-ahead log stands for its page. What fails its code is None: never an older
copy, since that may say what was forgotten since.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import struct
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from fazm_memory.log.store import PAGE

VECTOR, CODE = 16, 64
USABLE = PAGE - VECTOR - CODE
SALT = 16  # bytes at the beginning of page 1, in plaintext
MASK = 0x3A  # by which the salt of the code's key differs from it
LOCKS = (1 << 30) // PAGE + 1  # the page that SQLite locks by and never writes
FRAMES = 32  # where they begin in a write-ahead log
FRAME = 24  # bytes before the page in each
ORDERS = {0x377F0682: "<", 0x377F0683: ">"}  # of the words that its checksums are made of


class RawPages:
    """The files are opened at once and read when asked: they may be moved meanwhile."""

    def __init__(self, database: Path, key: str, spare: bytes | None) -> None:
        self.key = bytes.fromhex(key)
        self.spare = spare
        self.file = database.open("rb")
        log = database.with_name(database.name + "-wal")
        self.log = log.open("rb") if log.exists() else None

    def close(self) -> None:
        self.file.close()
        if self.log is not None:
            self.log.close()

    @cached_property
    def frames(self) -> tuple[dict[int, int], int]:
        """Where in the write-ahead log the newest committed frame of each page lies, and how many pages the
        database has by it: what lies behind them is what a VACUUM left there."""
        committed: dict[int, int] = {}
        count = os.fstat(self.file.fileno()).st_size // PAGE
        if self.log is None:
            return committed, count
        self.log.seek(0)
        head = self.log.read(FRAMES)
        if len(head) < FRAMES:
            return committed, count
        order = ORDERS.get(int.from_bytes(head[:4]))
        total = (0, 0)
        if order is None or (total := _summed(order, total, head[:24])) != struct.unpack(">II", head[24:]):
            return committed, count
        waiting: dict[int, int] = {}
        at = FRAMES
        while len(frame := self.log.read(FRAME + PAGE)) == FRAME + PAGE and frame[8:16] == head[16:24]:
            total = _summed(order, total, frame[:8] + frame[FRAME:])
            if total != struct.unpack(">II", frame[16:FRAME]):
                break
            number, size = struct.unpack(">II", frame[:8])
            waiting[number] = at + FRAME
            if size:  # it ends a transaction
                committed |= waiting
                waiting, count = {}, size
            at += FRAME + PAGE
        return committed, count

    @property
    def count(self) -> int:
        return self.frames[1]

    @cached_property
    def code_key(self) -> bytes | None:
        """The key of the authentication codes, or None when no page can be proved. It is made with the salt
        in page 1: where that is damaged, the spare copy of the page has it."""
        for salt in dict.fromkeys((self._sealed(1)[:SALT], (self.spare or b"")[:SALT])):
            masked = bytes(one ^ MASK for one in salt)
            key = hashlib.pbkdf2_hmac("sha512", self.key, masked, 2, 32)
            if any(self._whole(number, self._sealed(number), key) for number in range(1, self.count + 1)):
                return key
        return None

    def read(self, number: int) -> bytes | None:
        """A page in plaintext, or None when it is damaged or not there."""
        sealed = self._sealed(number)
        if self.code_key is None or not self._whole(number, sealed, self.code_key):
            return None
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes  # seldom needed

        vector = sealed[USABLE : USABLE + VECTOR]
        begin = SALT if number == 1 else 0
        opening = Cipher(algorithms.AES(self.key), modes.CBC(vector)).decryptor()
        return sealed[:begin] + opening.update(sealed[begin:USABLE]) + opening.finalize()

    @cached_property
    def free(self) -> set[int]:
        """The pages that the database has given up, as far as its list of them can be read: they still hold
        what they held."""
        found: set[int] = set()
        first = self.read(1)
        trunk = 0 if first is None else int.from_bytes(first[32:36])
        while trunk and trunk not in found and (page := self.read(trunk)) is not None:
            found.add(trunk)
            trunk, count = struct.unpack(">II", page[:8])
            found.update(struct.unpack_from(f">{min(count, USABLE // 4 - 2)}I", page, 8))
        return found

    def used(self) -> Iterator[int]:
        """The numbers of the pages that the database has in use."""
        return (one for one in range(1, self.count + 1) if one not in self.free and one != LOCKS)

    @cached_property
    def damaged(self) -> list[int]:
        """The pages in use that cannot be proved."""
        key = self.code_key
        return [one for one in self.used() if key is None or not self._whole(one, self._sealed(one), key)]

    @cached_property
    def cut_off(self) -> bool:
        """Whether the database says that it is longer than it is."""
        first = self.read(1)
        return first is not None and int.from_bytes(first[28:32]) > self.count

    def _sealed(self, number: int) -> bytes:
        frame = self.frames[0].get(number)
        if frame is not None and self.log is not None:
            return os.pread(self.log.fileno(), PAGE, frame)
        return os.pread(self.file.fileno(), PAGE, (number - 1) * PAGE) if number > 0 else b""

    @staticmethod
    def _whole(number: int, sealed: bytes, key: bytes) -> bool:
        if len(sealed) < PAGE:
            return False
        said = sealed[SALT if number == 1 else 0 : USABLE + VECTOR] + number.to_bytes(4, "little")
        return hmac.compare_digest(hmac.digest(key, said, "sha512"), sealed[USABLE + VECTOR :])


def _summed(order: str, total: tuple[int, int], data: bytes) -> tuple[int, int]:
    """The checksum that goes through a write-ahead log, after some more of it."""
    one, two = total
    for first, second in struct.iter_unpack(f"{order}II", data):
        one = (one + first + two) & 0xFFFFFFFF
        two = (two + second + one) & 0xFFFFFFFF
    return one, two

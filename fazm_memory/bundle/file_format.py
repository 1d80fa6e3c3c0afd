"""The bundle file: JSON lines, compressed and, with a passphrase, encrypted.

A header line, then one zstd stream. With a passphrase the stream is split into ChaCha20-Poly1305 chunks
under a scrypt key. Each chunk is bound to its position and the last is marked, so that no chunk can be
changed, moved or dropped unnoticed. The scrypt cost is fixed by the version. Line length, total size and
memory are limited.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import stat
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import zstandard

from fazm_memory.errors import BundleRefused, StoreNewer
from fazm_memory.paths import disk_error, full_sync, sync_folder

MAGIC = b"FAZM-BUNDLE "
VERSION = 1
CHUNK = 64 << 10
TAG = 16
LONGEST_LINE = 64 << 20
LONGEST_HEADER = 256
LEAST_ROOM = 256 << 20  # most bytes that a small bundle may unpack to
RATIO = 400  # and a large one, as a multiple of its size
WINDOW = 1 << 27
SCRYPT = {"n": 1 << 15, "r": 8, "p": 1, "maxmem": 1 << 27}


def write_bundle(path: Path, lines: Iterable[dict[str, Any]], passphrase: str | None) -> int:
    """Write a bundle, readable by its owner only, completely or not at all. Return its size."""
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                _write(file, lines, passphrase)
                file.flush()
                full_sync(file.fileno())
                size = file.tell()
            os.replace(part, path)
        except BaseException:
            part.unlink()
            raise
        sync_folder(path.parent)
    except OSError as error:
        raise disk_error(error, path) from error
    return size


def _write(file: BinaryIO, lines: Iterable[dict[str, Any]], passphrase: str | None) -> None:
    salt = secrets.token_bytes(16)
    header = {"version": VERSION} | ({} if passphrase is None else {"salt": salt.hex()})
    head = MAGIC + json.dumps(header, separators=(",", ":")).encode() + b"\n"
    file.write(head)
    seal = None if passphrase is None else _Seal(passphrase, salt, head)
    waiting = bytearray()
    for data in _packed(lines):
        waiting += data
        while len(waiting) > CHUNK:
            chunk, waiting = bytes(waiting[:CHUNK]), waiting[CHUNK:]
            file.write(chunk if seal is None else seal.close(chunk))
    file.write(bytes(waiting) if seal is None else seal.close(bytes(waiting), last=True))


def _packed(lines: Iterable[dict[str, Any]]) -> Iterator[bytes]:
    packer = zstandard.ZstdCompressor(level=6).compressobj()
    for line in lines:
        text = json.dumps(line, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        yield packer.compress(text.encode("utf-8", "surrogatepass") + b"\n")
    yield packer.flush()


class _Seal:
    """Encrypts chunks in order, or decrypts them in the same order."""

    def __init__(self, passphrase: str, salt: bytes, head: bytes) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305  # seldom needed

        key = hashlib.scrypt(passphrase.encode("utf-8", "surrogatepass"), salt=salt, dklen=32, **SCRYPT)
        self.cipher = ChaCha20Poly1305(key)
        self.head = head
        self.count = 0

    def _nonce(self, last: bool) -> bytes:
        nonce = struct.pack(">Q3xB", self.count, last)
        self.count += 1
        return nonce

    def close(self, chunk: bytes, *, last: bool = False) -> bytes:
        sealed = self.cipher.encrypt(self._nonce(last), chunk, self.head)
        return struct.pack(">I", len(sealed)) + sealed

    def open(self, sealed: bytes, *, last: bool) -> bytes:
        from cryptography.exceptions import InvalidTag

        try:
            return self.cipher.decrypt(self._nonce(last), sealed, self.head)
        except InvalidTag:
            what = "the passphrase is wrong" if self.count == 1 else "it was truncated or altered"
            raise BundleRefused(f"The bundle cannot be opened: {what}.", hint="nothing was changed") from None


class BundleFile:
    """A bundle, opened once and read as often as needed, so that the checked file is the used one."""

    def __init__(self, path: Path, passphrase: str | None) -> None:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise BundleRefused(f"{path} cannot be read: {error.strerror}") from error
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            os.close(descriptor)
            raise BundleRefused(f"{path} is not a regular file.", hint="give the path of the bundle")
        self.file = os.fdopen(descriptor, "rb")
        self.size = found.st_size
        self.passphrase = passphrase
        try:
            self.head, self.salt = self._header(path)
        except BaseException:
            self.file.close()
            raise

    def close(self) -> None:
        self.file.close()

    @property
    def sealed(self) -> bool:
        """Whether it is encrypted, so only someone with the passphrase can have made it."""
        return self.salt is not None

    def _header(self, path: Path) -> tuple[bytes, bytes | None]:
        head = self.file.readline(LONGEST_HEADER)
        if not head.startswith(MAGIC) or not head.endswith(b"\n"):
            raise BundleRefused(f"{path} is not a Fazm Memory bundle.", hint="`fazm-memory export` makes one")
        try:
            header = json.loads(head[len(MAGIC) :])
            version, salt = header["version"], header.get("salt")
            salt_bytes = None if salt is None else bytes.fromhex(salt)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise BundleRefused(f"The first line of the bundle cannot be read: {error}") from error
        if not isinstance(version, int) or version > VERSION:
            raise StoreNewer(
                f"The bundle has version {version}. This program reads up to {VERSION}.",
                hint="update Fazm Memory; nothing was changed",
            )
        if salt_bytes is not None and len(salt_bytes) != 16:
            raise BundleRefused("The bundle's salt is invalid.")
        if salt_bytes is not None and self.passphrase is None:
            raise BundleRefused(
                "The bundle is encrypted with a passphrase.",
                hint="--passphrase asks for it at the terminal, --passphrase-file FILE reads it from a file",
            )
        if salt_bytes is None and self.passphrase is not None:
            raise BundleRefused(
                "A passphrase was given, but the bundle is not encrypted.",
                hint="leave out the passphrase if you trust the bundle",
            )
        return head, salt_bytes

    def lines(self) -> Iterator[dict[str, Any]]:
        """Every line, from the beginning. BundleRefused at the first error."""
        parts, length, total = [b""], 0, 0  # parts of a line that has not ended, and their length
        room = max(LEAST_ROOM, RATIO * self.size)
        for part in self._unpacked():
            total += len(part)
            if total > room:
                raise BundleRefused(f"The bundle unpacks to more than {room:,} bytes, which is too large.")
            first, *others = part.split(b"\n")
            parts.append(first)
            length += len(first)
            if length > LONGEST_LINE:
                raise BundleRefused("The bundle has a line that is longer than any event.")
            for other in others:
                yield _object(b"".join(parts))
                parts, length = [other], len(other)
        if length:
            raise BundleRefused("The bundle is truncated: it ends in the middle of a line.")

    def _unpacked(self) -> Iterator[bytes]:
        unpacker = zstandard.ZstdDecompressor(max_window_size=WINDOW).decompressobj()
        try:
            for chunk in self._chunks():
                # A little at a time, so that a zip bomb is noticed before it fills the memory.
                for at in range(0, len(chunk), 1024):
                    yield unpacker.decompress(chunk[at : at + 1024])
        except zstandard.ZstdError as error:
            raise BundleRefused(f"The bundle cannot be unpacked: {error}") from error
        if not unpacker.eof:
            raise BundleRefused("The bundle is truncated.")
        if unpacker.unused_data:
            raise BundleRefused("There is data after the end of the bundle.")

    def _chunks(self) -> Iterator[bytes]:
        self.file.seek(len(self.head))
        if self.salt is None or self.passphrase is None:
            while chunk := self.file.read(CHUNK):
                yield chunk
            return
        seal = _Seal(self.passphrase, self.salt, self.head)
        while frame := self.file.read(4):
            length = struct.unpack(">I", frame)[0] if len(frame) == 4 else 0
            if not TAG <= length <= CHUNK + TAG:
                raise BundleRefused("The bundle has a chunk of invalid length. It was truncated or altered.")
            sealed = self.file.read(length)
            last = self.file.tell() >= self.size
            yield seal.open(sealed, last=last)


def _object(line: bytes) -> dict[str, Any]:
    try:
        value = json.loads(line.decode("utf-8", "surrogatepass"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise BundleRefused(f"A line of the bundle is not JSON: {error!s:.80}") from error
    if not isinstance(value, dict):
        raise BundleRefused("A line of the bundle is not a JSON object.")
    return value


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")

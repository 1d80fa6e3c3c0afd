"""The file of a bundle: lines of JSON, compressed and, with a passphrase, sealed.

A line that says what it is, then one zstd stream; sealed, that stream lies in chunks of ChaCha20-Poly1305
under a key made from the passphrase by scrypt, each bound to its place and the last one marked, so that no
chunk can be changed, swapped, dropped or cut off unnoticed. The cost of the key is fixed by the version,
never read from the file. Reading is bounded: in the length of a line, in all there is, and in memory.
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
from fazm_memory.private import disk_error, full_sync, sync_folder

MAGIC = b"FAZM-BUNDLE "
VERSION = 1
CHUNK = 64 << 10
TAG = 16
LONGEST_LINE = 64 << 20
LONGEST_HEADER = 256
LEAST_ROOM = 256 << 20  # what may come out of even the smallest bundle
RATIO = 400  # and how many times its size out of a large one
WINDOW = 1 << 27
SCRYPT = {"n": 1 << 15, "r": 8, "p": 1, "maxmem": 1 << 27}


def write(path: Path, lines: Iterable[dict[str, Any]], passphrase: str | None) -> int:
    """Write a bundle, readable by its owner alone, whole or not at all; its size."""
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
    packer = zstandard.ZstdCompressor(level=6).compressobj()
    seal = None if passphrase is None else _Seal(passphrase, salt, head)
    held = bytearray()
    for line in lines:
        text = json.dumps(line, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
        held += packer.compress(text.encode("utf-8", "surrogatepass") + b"\n")
        while len(held) > CHUNK:
            chunk, held = bytes(held[:CHUNK]), held[CHUNK:]
            file.write(chunk if seal is None else seal.close(chunk))
    held += packer.flush()
    while len(held) > CHUNK:
        chunk, held = bytes(held[:CHUNK]), held[CHUNK:]
        file.write(chunk if seal is None else seal.close(chunk))
    file.write(bytes(held) if seal is None else seal.close(bytes(held), last=True))


class _Seal:
    """Chunks sealed one after another; the same object opens them in the same order."""

    def __init__(self, passphrase: str, salt: bytes, head: bytes) -> None:
        # Late: only a bundle with a passphrase needs it.
        from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

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
            what = "the passphrase is wrong" if self.count == 1 else "it was cut or altered after it was made"
            raise BundleRefused(f"the bundle cannot be opened: {what}", hint="nothing was changed") from None


class BundleFile:
    """A bundle opened once and read as often as needed: what was checked is what is then used."""

    def __init__(self, path: Path, passphrase: str | None) -> None:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise BundleRefused(f"{path} cannot be read: {error.strerror}") from error
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            os.close(descriptor)
            raise BundleRefused(f"{path} is not a plain file", hint="name the bundle itself")
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
        """Whether only somebody with the passphrase can have made it."""
        return self.salt is not None

    def _header(self, path: Path) -> tuple[bytes, bytes | None]:
        head = self.file.readline(LONGEST_HEADER)
        if not head.startswith(MAGIC) or not head.endswith(b"\n"):
            raise BundleRefused(f"{path} is no bundle of Fazm Memory", hint="`fazm-memory export` makes one")
        try:
            header = json.loads(head[len(MAGIC) :])
            version, salt = header["version"], header.get("salt")
            made = None if salt is None else bytes.fromhex(salt)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise BundleRefused(f"the bundle's first line cannot be read: {error}") from error
        if not isinstance(version, int) or version > VERSION:
            raise StoreNewer(
                f"the bundle has version {version}; this program reads up to {VERSION}",
                hint="update Fazm Memory; nothing was changed",
            )
        if made is not None and len(made) != 16:
            raise BundleRefused("the bundle's salt is not one of ours")
        if made is not None and self.passphrase is None:
            raise BundleRefused(
                "the bundle is sealed with a passphrase",
                hint="--passphrase asks for it at the terminal, --passphrase-file FILE reads it from a file",
            )
        if made is None and self.passphrase is not None:
            raise BundleRefused(
                "the bundle is not sealed, though a passphrase was given",
                hint="leave it out, if you trust it",
            )
        return head, made

    def lines(self) -> Iterator[dict[str, Any]]:
        """Every line, from the beginning. BundleRefused at the first thing that is wrong."""
        held, length, total = [b""], 0, 0  # parts of a line that has not ended, and their length
        room = max(LEAST_ROOM, RATIO * self.size)
        for part in self._unpacked():
            total += len(part)
            if total > room:
                raise BundleRefused(f"the bundle unpacks to more than {room:,} bytes: it is not one of ours")
            first, *others = part.split(b"\n")
            held.append(first)
            length += len(first)
            if length > LONGEST_LINE:
                raise BundleRefused("the bundle has a line that is longer than any event")
            for other in others:
                yield _object(b"".join(held))
                held, length = [other], len(other)
        if length:
            raise BundleRefused("the bundle ends in the middle of a line: it was cut")

    def _unpacked(self) -> Iterator[bytes]:
        unpacker = zstandard.ZstdDecompressor(max_window_size=WINDOW).decompressobj()
        try:
            for chunk in self._chunks():
                # A little at a time: a small chunk of a bomb must not become gigabytes before anyone looks.
                for at in range(0, len(chunk), 1024):
                    yield unpacker.decompress(chunk[at : at + 1024])
        except zstandard.ZstdError as error:
            raise BundleRefused(f"the bundle cannot be unpacked: {error}") from error
        if not unpacker.eof:
            raise BundleRefused("the bundle ends too early: it was cut")
        if unpacker.unused_data:
            raise BundleRefused("something follows the end of the bundle")

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
                raise BundleRefused("the bundle has a chunk of impossible length: it was cut or altered")
            sealed = self.file.read(length)
            last = self.file.tell() >= self.size
            yield seal.open(sealed, last=last)


def _object(line: bytes) -> dict[str, Any]:
    try:
        made = json.loads(line.decode("utf-8", "surrogatepass"), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise BundleRefused(f"the bundle has a line that is no JSON: {error!s:.80}") from error
    if not isinstance(made, dict):
        raise BundleRefused("the bundle has a line that is no JSON object")
    return made


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")

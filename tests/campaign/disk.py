"""A disk with a cache, rebuilt from what a process did to it, as a power cut at any moment might leave it.

What was synced is there. Of what was written since, every 512-byte sector holds what it held at some moment
between the last sync and the cut, each sector at another; the file's size likewise. Creations, renames and
removals survive in their order, up to any of them, unless their folder was synced. So nothing is assumed that
a disk does not promise, and a store that acknowledges before it has synced is caught.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

HEAD = struct.Struct("<cIQQQ")
SECTOR = 512


@dataclass(frozen=True)
class Record:
    """One thing that was done: W write, T truncate, S sync, C create, R rename, U unlink, M mkdir, A ack."""

    op: str
    path: str
    other: str
    inode: int
    offset: int
    data: bytes


def read_journal(path: Path) -> list[Record]:
    return list(_records(path.read_bytes()))


def _records(journal: bytes) -> Iterator[Record]:
    at = 0
    while at + HEAD.size <= len(journal):
        op, names, inode, offset, length = HEAD.unpack_from(journal, at)
        at += HEAD.size
        first, _, second = journal[at : at + names].decode().partition("\0")
        at += names
        yield Record(op.decode(), first, second, inode, offset, journal[at : at + length])
        at += length


@dataclass
class File:
    """What surely is on the disk, and what has been done to it since in memory."""

    durable: bytes = b""
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)  # None: cut to this size

    def sync(self) -> None:
        content = bytearray(self.durable)
        for at, data in self.pending:
            _apply(content, at, data)
        self.durable, self.pending = bytes(content), []

    def after_cut(self, random: Random, kept: float) -> bytes:
        """Its content after a cut; `kept` is how likely a step since the last sync reached the disk.

        Cutting a file short goes with its size: either all of it happened or nothing.
        """

        def moment() -> int:
            return sum(random.random() < kept for _ in self.pending)

        done = moment()
        size = len(self.durable)
        for at, data in self.pending[:done]:
            size = at if data is None else max(size, at + len(data))
        made = bytearray(size)
        for start in range(0, size, SECTOR):
            made[start : start + SECTOR] = self._sector(start, min(SECTOR, size - start), moment(), done)
        return bytes(made)

    def _sector(self, start: int, length: int, written: int, done: int) -> bytes:
        """One sector with the first `written` writes in it, in a file of the size it had at `done`."""
        sector = bytearray(self.durable[start : start + length].ljust(length, b"\0"))
        for n, (at, data) in enumerate(self.pending):
            first = max(at, start)
            if data is None and n < done:
                sector[first - start :] = bytes(max(0, start + length - first))
            elif data is not None and n < written and first < min(at + len(data), start + length):
                piece = data[first - at : start + length - at]
                sector[first - start : first - start + len(piece)] = piece
        return bytes(sector)


def _apply(content: bytearray, at: int, data: bytes | None) -> None:
    if data is None:
        content[at:] = bytes(max(0, at - len(content)))
        return
    if len(content) < at:
        content.extend(bytes(at - len(content)))
    content[at : at + len(data)] = data


@dataclass(frozen=True)
class Entry:
    """A change to a folder: a name that now means this file or folder, or nothing."""

    folder: str
    path: str
    now: File | None
    is_folder: bool = False


class Disk:
    """Everything done so far. `root` was there from the beginning."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.files: dict[int, File] = {}
        self.folders: dict[int, str] = {}
        self.names: dict[str, File] = {}
        self.durable: dict[str, Entry] = {}
        self.pending: list[Entry] = []
        self.acks: list[str] = []

    def do(self, record: Record) -> None:
        match record.op:
            case "W":
                self.files[record.inode].pending.append((record.offset, record.data))
            case "T":
                self.files[record.inode].pending.append((record.offset, None))
            case "S" if record.inode in self.files:
                self.files[record.inode].sync()
            case "S":
                self._sync_folder(self.folders.get(record.inode, self.root))
            case "C":
                self.files[record.inode] = File()
                self._name(record.path, self.files[record.inode])
            case "M":
                self.folders[record.inode] = record.path
                self.pending.append(Entry(_parent(record.path), record.path, None, is_folder=True))
            case "R":
                self._name(record.other, self.names.pop(record.path))
                self.pending.append(Entry(_parent(record.path), record.path, None))
            case "U":
                del self.names[record.path]
                self.pending.append(Entry(_parent(record.path), record.path, None))
            case "A":
                self.acks += record.data.decode().splitlines()

    def _name(self, path: str, file: File) -> None:
        self.names[path] = file
        self.pending.append(Entry(_parent(path), path, file))

    def _sync_folder(self, folder: str) -> None:
        for entry in self.pending:
            if entry.folder == folder:
                self.durable[entry.path] = entry
        self.pending = [entry for entry in self.pending if entry.folder != folder]

    def cut(self, into: Path, random: Random, kept: float | None = None) -> None:
        """Put what a power cut at this moment might leave into a folder."""
        kept = random.choice([0.0, 0.1, 0.5, 0.9, 1.0]) if kept is None else kept
        entries = dict(self.durable)
        for entry in self.pending[: random.randint(0, len(self.pending))]:
            entries[entry.path] = entry
        into.mkdir()
        for path, entry in sorted(entries.items()):
            target = into / path.removeprefix(self.root).lstrip("/")
            if not target.parent.is_dir():
                continue  # the folder it was in did not survive
            if entry.is_folder:
                target.mkdir()
            elif entry.now is not None and not path.endswith("-shm"):  # shared memory is no file after a cut
                target.write_bytes(entry.now.after_cut(random, kept))


def _parent(path: str) -> str:
    return path.rpartition("/")[0]

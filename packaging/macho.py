"""Mach-O, as far as packaging needs it: which processors a file is for, and two files as one for both."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import NamedTuple

THIN = b"\xcf\xfa\xed\xfe"  # 64 bits, little-endian: every Mac of the last fifteen years
FAT = b"\xca\xfe\xba\xbe"
NAMES = {0x0100000C: "arm64", 0x01000007: "x86_64"}
ALIGNED = 14  # as powers of two: pages of Apple silicon
MOST = 8  # a Java class begins like a fat file, with its version where the count is


HEADER = 32  # bytes of a 64-bit header; the load commands follow
VERSION_MIN, BUILD_VERSION = 0x24, 0x32
# LC_LOAD_DYLIB and its weak, re-exported and upward forms.
LIBRARY_COMMANDS = frozenset({0x0C, 0x80000018, 0x8000001F, 0x80000023})
# The system's libraries, and places inside the app.
ALLOWED = ("/usr/lib/", "/System/Library/", "@executable_path/", "@loader_path/", "@rpath/")


class NotMachO(ValueError):
    """The file is none."""


def architectures(data: bytes) -> list[str]:
    """The processors a file is for; NotMachO when it is no such file."""
    return [name for name, *_ in _slices(data)]


def _slices(data: bytes) -> list[tuple[str, int, int, bytes]]:
    if data[:4] == THIN:
        processor, kind = struct.unpack("<II", data[4:12])
        return [(_name(processor), processor, kind, data)]
    count = struct.unpack(">I", data[4:8])[0] if data[:4] == FAT and len(data) >= 8 else 0
    if not 0 < count <= MOST:
        raise NotMachO("not a Mach-O file")
    found = []
    for number in range(count):
        entry = data[8 + 20 * number : 28 + 20 * number]
        processor, kind, offset, size, _ = struct.unpack(">IIIII", entry)
        found.append((_name(processor), processor, kind, data[offset : offset + size]))
    return found


def _name(processor: int) -> str:
    return NAMES.get(processor, f"processor {processor:#x}")


class Requirements(NamedTuple):
    """What a file needs of a Mac: the oldest system, and libraries by their path."""

    system: tuple[int, int]
    libraries: tuple[str, ...]

    def problems(self, oldest: tuple[int, int]) -> list[str]:
        """Why it would not load on this system with nothing but the system and the app."""
        newer = [f"needs macOS {self.system[0]}.{self.system[1]}"] if self.system > oldest else []
        return newer + [f"needs {name}" for name in self.libraries if not name.startswith(ALLOWED)]


def requirements(data: bytes) -> dict[str, Requirements]:
    """What each processor's part of a file needs."""
    return {name: _requirements(part) for name, _, _, part in _slices(data)}


def _requirements(data: bytes) -> Requirements:
    count, at, system, libraries = struct.unpack("<I", data[16:20])[0], HEADER, (0, 0), []
    for _ in range(count):
        command, size = struct.unpack("<II", data[at : at + 8])
        if command in (VERSION_MIN, BUILD_VERSION):
            place = at + (8 if command == VERSION_MIN else 12)
            version = struct.unpack("<I", data[place : place + 4])[0]
            system = version >> 16, (version >> 8) & 0xFF
        elif command in LIBRARY_COMMANDS:
            start = at + struct.unpack("<I", data[at + 8 : at + 12])[0]
            libraries.append(data[start : at + size].rstrip(b"\0").decode())
        at += size
    return Requirements(system, tuple(libraries))


def joined(*files: bytes) -> bytes:
    """One file with what each of these has, the first to have it; as `lipo -create` makes it."""
    slices: dict[str, tuple[str, int, int, bytes]] = {}
    for data in files:
        for one in _slices(data):
            slices.setdefault(one[0], one)
    page = 1 << ALIGNED
    head = FAT + struct.pack(">I", len(slices))
    body, offset = b"", page
    for _, processor, kind, data in slices.values():
        head += struct.pack(">IIIII", processor, kind, offset, len(data), ALIGNED)
        body += data + bytes(-len(data) % page)
        offset += len(data) + (-len(data) % page)
    return head + bytes(page - len(head)) + body


def native_files(folder: Path) -> dict[Path, list[str]]:
    """Every Mach-O file below a folder, with its processors."""
    found: dict[Path, list[str]] = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink():
            with path.open("rb") as file:
                if file.read(4) not in (THIN, FAT):
                    continue
            try:
                found[path] = architectures(path.read_bytes())
            except NotMachO:
                continue  # a Java class, whose first bytes are those of a fat file
    return found

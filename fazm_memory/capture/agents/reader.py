"""The contract of a reader: find an agent's records, and read them in chunks from where we stopped.

A reader is a pure function of bytes and a cursor. What it must remember between chunks (a call whose result
has not come yet) it carries in the cursor, which is stored in the same transaction as the events it led to:
so a record is taken in exactly once, whatever is killed in between.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from fazm_memory.capture.draft import Draft

CHUNK = 1 << 20
LONGEST_LINE = 64 << 20  # beyond this a line is skipped, counted and said


@dataclass(frozen=True)
class Places:
    """Where agents keep things on this machine; tests hand in a made-up home."""

    home: Path
    env: Mapping[str, str] = field(default_factory=dict)
    tmp: Path = Path("/tmp")


@dataclass(frozen=True)
class RecordFile:
    """One file of an agent's records; `session` is the agent's id of the session it tells."""

    agent: str
    path: Path
    session: str
    size: int
    mtime: float


@dataclass(frozen=True)
class Cursor:
    """How far a file has been read, and what its reader carries on. JSON-able."""

    offset: int = 0
    carry: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Chunk:
    """What a chunk of a file told. `unknown` counts record types we keep but cannot read; `bad` counts
    lines that are not records at all; `more` says that complete lines are left."""

    drafts: tuple[Draft, ...]
    cursor: Cursor
    more: bool = False
    unknown: Mapping[str, int] = field(default_factory=dict)
    bad: int = 0


class Reader(Protocol):
    """What each agent's module offers."""

    name: str

    def find(self, places: Places) -> Iterator[RecordFile]:
        """The record files on this machine, in any order. A missing folder is no error."""

    def read(self, record: RecordFile, cursor: Cursor, *, limit: int = CHUNK) -> Chunk:
        """The next chunk, at most about `limit` bytes of it, complete lines only."""


@dataclass(frozen=True)
class Lines:
    """Complete lines from a place in a file, and the place after the last of them."""

    lines: tuple[bytes, ...]
    offset: int
    more: bool
    overlong: int = 0


def complete_lines(path: Path, offset: int, limit: int = CHUNK) -> Lines:
    """The complete lines from `offset`, about `limit` bytes of them; a half-written last line waits."""
    lines: list[bytes] = []
    taken = 0
    overlong = 0
    with path.open("rb") as file:
        file.seek(offset)
        while taken < limit:
            line = file.readline(LONGEST_LINE)
            if not line.endswith(b"\n"):
                if len(line) < LONGEST_LINE:
                    return Lines(tuple(lines), offset + taken, more=False, overlong=overlong)
                size = len(line)
                while (rest := file.readline(LONGEST_LINE)) and not rest.endswith(b"\n"):
                    size += len(rest)
                if not rest:
                    return Lines(tuple(lines), offset + taken, more=False, overlong=overlong)
                taken += size + len(rest)
                overlong += 1
                continue
            lines.append(line)
            taken += len(line)
        more = bool(file.read(1))
    return Lines(tuple(lines), offset + taken, more=more, overlong=overlong)

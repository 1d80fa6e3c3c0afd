"""Fazm: what its agents' transcripts do not tell, which is its own chat and what its desktop control left.

Read from the sources of Fazm 2.9.22; its tool calls are in the transcripts of Claude Code and Codex, which
`OwnedByFazm` tells as Fazm's. Nothing is ever written where Fazm keeps its things.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from fazm_memory.capture.agents.fazm_chat import DATABASE, databases, read_chat
from fazm_memory.capture.agents.fazm_desktop import NOBODYS, SETTLE, folder, left_in, read_desktop
from fazm_memory.capture.agents.fazm_sessions import NAME, FazmSession, OwnedByFazm, fazm_sessions
from fazm_memory.capture.agents.reader import CHUNK, Chunk, Cursor, Places, Reader, RecordFile

__all__ = ["Fazm", "FazmSession", "OwnedByFazm", "fazm_sessions"]


@dataclass
class Fazm:
    """Reads the chat and the desktop actions; `beside` are the readers of the transcripts that tell more."""

    places: Places
    beside: tuple[Reader, ...] = ()
    now: Callable[[], float] = time.time
    name: str = field(default=NAME, init=False)
    found: dict[Path, Places] = field(default_factory=dict, init=False, repr=False)

    def find(self, places: Places) -> Iterator[RecordFile]:
        for record in self._records(places):
            self.found[record.path] = places
            yield record

    def _records(self, places: Places) -> Iterator[RecordFile]:
        now = self.now()
        for path in databases(places):
            if (stood := _stood(path)) is not None:
                yield RecordFile(NAME, path, "", stood[0], _settling(stood[1], now))
        if left := left_in(folder(places), now):
            yield RecordFile(NAME, folder(places), NOBODYS, len(left), left[-1].ms / 1000)

    def read(self, record: RecordFile, cursor: Cursor, *, limit: int = CHUNK) -> Chunk:
        places = self.found.get(record.path, self.places)  # a copied home brings its own list and transcripts
        sessions, now = fazm_sessions(places), self.now()

        def beside() -> Iterator[RecordFile]:
            for reader in self.beside:
                yield from reader.find(places)

        if record.path.name == DATABASE:
            return read_chat(record.path, cursor, now=now, sessions=sessions, transcripts=beside)
        return read_desktop(record.path, cursor, now=now, sessions=sessions, transcripts=beside)


def _stood(path: Path) -> tuple[int, float] | None:
    """The size and the last change of a database with the log beside it; None once it is gone."""
    size, changed = 0, 0.0
    for part in (path, path.with_name(f"{path.name}-wal")):
        try:
            stat = part.stat()
        except FileNotFoundError:
            if part is path:
                return None
            continue
        size, changed = size + stat.st_size, max(changed, stat.st_mtime)
    return size, changed


def _settling(changed: float, now: float) -> float:
    """What is new is told only when it has settled: until then the file counts as still changing."""
    return max(changed, min(now, changed + SETTLE + 1))

"""A long backlog of other devices: fetched first, then its sessions are imported newest first.

Uploads are not in the order in which a person wants them: a first sync puts the newest sessions first, later
rounds add still newer ones. So the segments are fetched and kept in a temporary file, sealed as they are in
the store, and an index says which session has events in which of them.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from fazm_memory.records import dataclass, field
from fazm_memory.store import parse_json
from fazm_memory.sync.segments import Batch, Segment, SegmentPart

OPEN = 3  # segments that are unpacked at the same time

Key = tuple[str, str]  # the device and its id of the session
Place = tuple[str, int]  # the device, and the number of a segment in its log


@dataclass
class BacklogSession:
    """Where the events of a session are, and when the last one was."""

    last_at: int = 0
    events: int = 0
    parent: str | None = None
    places: list[Place] = field(default_factory=list)


class Backlog:
    """Segments on disk and the sessions in them. `read` opens a segment again."""

    def __init__(self, read: Callable[[Place], Segment | None]) -> None:
        self.sessions: dict[Key, BacklogSession] = {}
        self._read = read
        self._file: BinaryIO = tempfile.TemporaryFile()  # noqa: SIM115 (closed by close)
        self._objects: dict[str, tuple[int, int]] = {}
        self._opened: dict[Place, Segment | None] = {}

    def keep(self, name: str, data: bytes) -> None:
        """Store an object as it was fetched."""
        begin = self._file.seek(0, 2)
        self._file.write(data)
        self._objects[name] = (begin, len(data))

    def get(self, name: str) -> bytes | None:
        if name not in self._objects:
            return None
        begin, size = self._objects[name]
        self._file.seek(begin)
        return self._file.read(size)

    def close(self) -> None:
        self._file.close()

    def add(self, place: Place, segment: Segment, after: int) -> None:
        """Note which sessions have events in the batches after a number."""
        for batch in segment.batches:
            for part in batch.parts if batch.n > after else ():
                if not part.events:
                    continue
                found = self.sessions.setdefault((place[0], part.part.session), BacklogSession())
                found.last_at = max(found.last_at, max(event.at for event in part.events))
                found.events += len(part.events)
                found.parent = found.parent or _parent(part)
                if found.places[-1:] != [place]:
                    found.places.append(place)

    def newest_first(self) -> list[Key]:
        """The sessions, the one with the newest event first, but parents before forks."""
        by_origin = {origin: (device, origin) for device, origin in self.sessions}
        ordered: dict[Key, None] = {}
        for key in sorted(self.sessions, key=lambda key: -self.sessions[key].last_at):
            line: list[Key] = []
            at: Key | None = key
            while at is not None and at not in ordered and at not in line:
                line.append(at)
                at = by_origin.get(self.sessions[at].parent or "")
            ordered |= dict.fromkeys(reversed(line))
        return list(ordered)

    def batches(self, key: Key, after: int) -> Iterator[tuple[str, Batch]]:
        """The batches with events of a session, in order, with the home folder of their device."""
        for place in self.sessions[key].places:
            segment = self._segment(place)
            for batch in () if segment is None else segment.batches:
                if batch.n > after and any(part.part.session == key[1] for part in batch.parts):
                    assert segment is not None
                    yield segment.home, batch

    def _segment(self, place: Place) -> Segment | None:
        if place not in self._opened:
            if len(self._opened) >= OPEN:
                del self._opened[next(iter(self._opened))]
            self._opened[place] = self._read(place)
        return self._opened[place]


def _parent(part: SegmentPart) -> str | None:
    """The session that this one was forked from, if the part has its opening."""
    if part.part.start != 0 or part.events[0].payload is None:
        return None
    opening: Any = parse_json(part.events[0].payload)
    parent = opening.get("parent") if isinstance(opening, dict) else None
    return parent if isinstance(parent, str) else None

"""Taking in the agents' records: the one engine behind `import` and behind following them live.

The newest sessions come first, so that yesterday is usable in seconds; a wave of files is read in chunks,
merged by time and recorded, and where each file stands is written in the same transaction. Whatever is killed
in between, going on repeats nothing and leaves nothing out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fazm_memory.capture.agents.reader import CHUNK, Cursor, Places, Reader, RecordFile
from fazm_memory.capture.cursors import Cursors, Unread
from fazm_memory.capture.draft import Draft
from fazm_memory.capture.recorder import Recorded, Recorder
from fazm_memory.capture.streams import Stream, Told, ripe
from fazm_memory.log.eventlog import Writer

WAVE = 4 << 20  # bytes of records that are taken in before somebody else gets a turn
LEAST = 64 << 10  # of a chunk, when many files are read at once
BATCH = 400  # drafts in a transaction
Span = tuple[int, int]
Name = tuple[str, str]


@dataclass
class Tally:
    """What came of taking records in."""

    files: int = 0
    bytes: int = 0
    events: int = 0
    known: int = 0
    bad: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    troubles: dict[str, str] = field(default_factory=dict)

    def add(self, other: Tally) -> None:
        for name in ("files", "bytes", "events", "known", "bad"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.unknown.update(other.unknown)
        self.refused.update(other.refused)
        self.troubles.update(other.troubles)

    def count(self, results: Iterable[Recorded]) -> None:
        for result in results:
            if result.error is not None:
                self.refused[result.error.message[:120]] += 1
            elif result.appended is not None:
                self.known += result.appended.duplicate
                self.events += not result.appended.duplicate

    def to_json(self) -> dict[str, Any]:
        return {
            "files": self.files,
            "bytes": self.bytes,
            "events": self.events,
            "known": self.known,
            "bad_lines": self.bad,
            "unknown": dict(self.unknown),
            "refused": dict(self.refused),
            "troubles": self.troubles,
        }


class FileStream(Stream):
    """A file of records as a source: read a chunk at a time, from its cursor on."""

    def __init__(self, unread: Unread) -> None:
        super().__init__()
        self.unread = unread
        self.cursor = unread.cursor
        self.saved = unread.cursor.offset
        self.held: Mapping[str, Any] = unread.held
        self.fresh = False  # has a chunk whose cursor is not saved yet


class Intake:
    """Reads what `readers` find and hands it to the recorder. `pauses` are times of which nothing is kept."""

    def __init__(
        self,
        recorder: Recorder,
        readers: Sequence[Reader],
        places: Places,
        *,
        pauses: Callable[[], Sequence[Span]] = tuple,
    ) -> None:
        self.recorder = recorder
        self.readers = {reader.name: reader for reader in readers}
        self.places = places
        self.pauses = pauses
        self.cursors = Cursors(recorder.store.db)

    # -- what there is -----------------------------------------------------------------------------------

    def find(self, agents: Iterable[str] | None = None, *, places: Places | None = None) -> list[RecordFile]:
        """Every record file of these agents, or of all; what cannot be looked at is not there."""
        found: dict[Path, RecordFile] = {}
        for name in self.readers if agents is None else agents:
            found |= {one.path: one for one in self.readers[name].find(places or self.places)}
        return list(found.values())

    def unread(self, records: Iterable[RecordFile]) -> list[Unread]:
        """Those that hold something new, the newest session first and the files of a session together."""
        new = [one for record in records if (one := self._unread(record)) is not None]
        newest: dict[Name, float] = {}
        for one in new:
            newest[_name(one)] = max(newest.get(_name(one), 0.0), one.record.mtime)
        return sorted(new, key=lambda one: (-newest[_name(one)], _name(one), one.record.path))

    def _unread(self, record: RecordFile) -> Unread | None:
        try:
            return self.cursors.unread(record)
        except FileNotFoundError:
            return None  # agents clear their old records away
        except OSError:
            return Unread(record, Cursor(), record.size)  # reading it will tell what is wrong

    # -- taking it in ------------------------------------------------------------------------------------

    def backlog(self, unread: Sequence[Unread]) -> Iterator[Tally]:
        """Take in everything, a wave at a time. Between two waves the caller may do something else."""
        left = list(unread)
        failed: set[str] = set()
        while left:
            count = _wave(left)
            # Looked at anew: as somebody's parent it may have been read already.
            wave = self.unread(one.record for one in left[:count])
            left = left[count:]
            tally = self.take(wave, elders=left)
            yield tally
            failed |= tally.troubles.keys()
            left = [*self.unread(one.record for one in wave if str(one.record.path) not in failed), *left]

    def take(
        self,
        wave: Sequence[Unread],
        told: Sequence[Draft] = (),
        *,
        elders: Sequence[Unread] = (),
        limit: int = WAVE,
    ) -> Tally:
        """Take in a wave of files, and with them what hooks have told, until all is read or `limit` is.

        `elders` are files that may hold the parents of the wave's forks: those are then read first.
        """
        tally = Tally()
        pauses = self.pauses()
        hooks = Stream(ended=True)
        hooks.add(draft for draft in told if not _within(draft, pauses))
        files = [FileStream(one) for one in wave]
        parents: dict[Name, list[Unread]] = {}
        for one in elders:
            parents.setdefault(_name(one), []).append(one)
        read = 0
        while True:
            read += self._read_on(files, parents, pauses, tally)
            over = read >= limit or all(one.ended for one in files)
            merged = ripe([hooks, *files])
            if over:
                # What is not ripe in a file will be read again; what hooks told is nowhere else.
                merged += [(hooks, draft) for _, draft in hooks.waiting]
            self._record(merged, files, tally)
            if over:
                return tally

    def _read_on(
        self,
        files: list[FileStream],
        parents: dict[Name, list[Unread]],
        pauses: Sequence[Span],
        tally: Tally,
    ) -> int:
        """Read the next chunk of every file that has told all it had; the bytes that were read."""
        read = 0
        for stream in files:  # it grows by the parents of forks
            if stream.waiting or stream.ended:
                continue
            record = stream.unread.record
            limit = max(LEAST, min(CHUNK, WAVE // len(files)))
            try:
                chunk = self.readers[record.agent].read(record, stream.cursor, limit=limit)
            except Exception as error:
                # One file that cannot be read must not keep the others out. It is told, and stays unread.
                tally.troubles[str(record.path)] = f"{type(error).__name__}: {error}"
                stream.ended = True
                continue
            if chunk.more and chunk.cursor == stream.cursor:
                tally.troubles[str(record.path)] = "its reader does not get on"
                stream.ended = True
                continue
            # The reader of a database knows no offset: then a chunk counts for what was allowed.
            read += max(0, chunk.cursor.offset - stream.cursor.offset) or limit
            tally.unknown.update(chunk.unknown)
            tally.bad += chunk.bad
            stream.cursor, stream.ended, stream.fresh = chunk.cursor, not chunk.more, True
            stream.add(_unpaused(stream, chunk.drafts, pauses))
            for parent in _parents(chunk.drafts):
                elders = parents.pop((record.agent, parent), ())
                files.extend(FileStream(one) for one in self.unread(elder.record for elder in elders))
        return read

    def _record(self, merged: list[Told], files: Sequence[FileStream], tally: Tally) -> None:
        """Record in transactions of bounded size; a file's cursor goes with the last draft of its chunk."""
        last = {id(stream): number for number, (stream, _) in enumerate(merged)}
        done = sorted(
            (one for one in files if one.fresh and not one.waiting), key=lambda one: last.get(id(one), -1)
        )
        for start in range(0, max(1, len(merged)), BATCH):
            batch = merged[start : start + BATCH]
            saved = [one for one in done if last.get(id(one), -1) < start + BATCH]
            done = done[len(saved) :]
            if batch or saved:
                results = self.recorder.record([draft for _, draft in batch], also=self._saving(saved))
                tally.count(results)
            for one in saved:
                tally.files += one.ended
                tally.bytes += max(0, one.cursor.offset - one.saved)
                one.saved, one.fresh = one.cursor.offset, False

    def _saving(self, files: Sequence[FileStream]) -> Callable[[Writer], None]:
        def save(writer: Writer) -> None:
            now = self.recorder.now()
            for one in files:
                self.cursors.save(writer, one.unread, one.cursor, ended=one.ended, held=one.held, now=now)

        return save


def _name(unread: Unread) -> Name:
    return unread.record.agent, unread.record.session


def _wave(left: Sequence[Unread]) -> int:
    """How many of the files are read together next: whole sessions, as many as make up a wave."""
    size = 0
    for number, one in enumerate(left):
        if size >= WAVE and _name(one) != _name(left[number - 1]):
            return number
        size += one.bytes
    return len(left)


def _within(draft: Draft, pauses: Sequence[Span]) -> bool:
    return draft.at is not None and any(since <= draft.at < until for since, until in pauses)


def _unpaused(stream: FileStream, drafts: Sequence[Draft], pauses: Sequence[Span]) -> Iterator[Draft]:
    """What was told of other times than pauses. An opening waits until something of its session is."""
    for draft in drafts:
        if not _within(draft, pauses):
            if stream.held:
                yield Draft(**stream.held)
                stream.held = {}
            yield draft
        elif draft.kind == "session.open":
            payload = {name: value for name, value in draft.payload.items() if name != "title"}
            kept = replace(draft, payload=payload)
            stream.held = {name: getattr(kept, name) for name in Draft.__dataclass_fields__}


def _parents(drafts: Iterable[Draft]) -> list[str]:
    return [
        str(draft.payload["parent"])
        for draft in drafts
        if draft.kind == "session.open" and draft.payload.get("parent")
    ]

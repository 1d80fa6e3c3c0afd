"""Taking in the agents' records: the one engine behind `import` and behind following them live.

The newest sessions come first, so that yesterday is usable in seconds; a wave of files is read in chunks,
merged by time and recorded, and where each file stands is written in the same transaction. Whatever is killed
in between, going on repeats nothing and leaves nothing out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from fazm_memory.capture.agents.fazm_sessions import NAME as FAZM
from fazm_memory.capture.agents.reader import CHUNK, Cursor, Places, Reader, RecordFile
from fazm_memory.capture.cursors import Cursors, Unread, of_lines
from fazm_memory.capture.draft import Draft
from fazm_memory.capture.pauses import Span, Unpaused, within
from fazm_memory.capture.recorder import Recorder
from fazm_memory.capture.streams import Stream, Told, ripe
from fazm_memory.capture.tally import Tally
from fazm_memory.log.writer import Writer

WAVE = 4 << 20  # bytes of records that are taken in before somebody else gets a turn
LEAST = 64 << 10  # of a chunk, when many files are read at once
BATCH = 400  # drafts in a transaction
Name = tuple[str, str]


class FileStream(Stream):
    """A file of records as a source: read a chunk at a time, from its cursor on."""

    def __init__(self, unread: Unread) -> None:
        super().__init__()
        self.unread = unread
        self.cursor = unread.cursor
        self.saved = unread.cursor.offset
        self.unpaused = Unpaused(unread.held)
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
        self.readers = readers
        self.places = places
        self.pauses = pauses
        self.cursors = Cursors(recorder.store.db, recorder.scrubber)
        self.reader_of: dict[Path, Reader] = {}
        self.records: dict[Path, RecordFile] = {}
        self.strangers: set[Path] = set()  # files beside the records that are none
        self.closed: dict[str, str] = {}  # what could not be looked at, and why; told with the next wave
        self.owned: set[str] = set()

    # -- what there is -----------------------------------------------------------------------------------

    def find(self, places: Places | None = None) -> list[RecordFile]:
        """Every record file here or, when other places are named, there."""
        found: dict[Path, RecordFile] = {}
        for reader in self.readers:
            try:
                for record in reader.find(places or self.places):
                    found[record.path] = record
                    self.reader_of[record.path] = reader
            except OSError as error:
                # A folder that is closed to us hides the records in it, not those of other agents.
                self.closed[str(error.filename or reader.name)] = error.strerror or str(error)
        self.records |= found
        return list(found.values())

    def look(self, paths: Iterable[Path]) -> list[RecordFile]:
        """The record files at these paths as they are now. Only a path never met before costs a search."""
        wanted = {_database_of(path) for path in paths}
        if new := wanted - self.records.keys() - self.strangers:
            self.find()
            self.strangers |= new - self.records.keys()
        return [record for path in wanted & self.records.keys() if (record := self._again(path)) is not None]

    def _again(self, path: Path) -> RecordFile | None:
        known = self.records[path]
        if not of_lines(known):  # its reader alone knows what belongs to it
            found = (one for one in self.reader_of[path].find(self.places) if one.path == path)
            return next(found, None)
        try:
            stat = path.stat()
        except FileNotFoundError:
            return None
        return replace(known, size=stat.st_size, mtime=stat.st_mtime)

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
        if self.closed:
            yield self.take([])  # nothing to read is no reason to keep quiet about it

    def take(
        self,
        wave: Sequence[Unread],
        told: Sequence[Draft] = (),
        *,
        elders: Sequence[Unread] = (),
        also: Callable[[Writer], None] | None = None,
        limit: int = WAVE,
    ) -> Tally:
        """Take in a wave of files, and with them what hooks have told, until all is read or `limit` is.

        `elders` are files that may hold the parents of the wave's forks: those are then read first. `also` is
        done in the last transaction.
        """
        tally = Tally(troubles=self.closed)
        self.closed = {}
        pauses = self.pauses()
        hooks = Stream(ended=True)
        hooks.add(draft for draft in told if not within(draft, pauses))
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
            self._record(merged, files, tally, also if over else None)
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
                chunk = self.reader_of[record.path].read(record, stream.cursor, limit=limit)
            except Exception as error:
                # One file that cannot be read must not keep the others out. It is told, and stays unread.
                tally.troubles[str(record.path)] = f"{type(error).__name__}: {error}"
                stream.ended = True
                continue
            if chunk.more and chunk.cursor == stream.cursor:
                tally.troubles[str(record.path)] = "its reader does not get on"
                stream.ended = True
                continue
            # Where an offset says nothing of the size, a chunk counts for what it was allowed to be.
            read += _advance(record, stream.cursor.offset, chunk.cursor.offset) if of_lines(record) else limit
            tally.unknown.update(chunk.unknown)
            tally.bad += chunk.bad
            stream.cursor, stream.ended, stream.fresh = chunk.cursor, not chunk.more, True
            stream.add(self._owned(stream.unpaused.of(chunk.drafts, pauses)))
            for parent in _parents(chunk.drafts):
                elders = parents.pop((record.agent, parent), ())
                files.extend(FileStream(one) for one in self.unread(elder.record for elder in elders))
        return read

    def _owned(self, drafts: Iterable[Draft]) -> Iterator[Draft]:
        """A session that hooks told as another agent's, before Fazm listed it, is from now on Fazm's."""
        for draft in drafts:
            if draft.agent == FAZM and draft.session not in self.owned:
                query = "SELECT agent FROM session WHERE agent_session_id=?"
                agents = [row[0] for row in self.recorder.store.db.execute(query, (draft.session,))]
                if agents:
                    self.owned.add(draft.session)
                if agents and FAZM not in agents:
                    opening = {"agent": FAZM, "agent_session_id": draft.session}
                    key = f"{FAZM}:{draft.session}:owned"
                    yield replace(draft, kind="session.open", payload=opening, agent=agents[0], key=key)
            yield draft

    def _record(
        self,
        merged: list[Told],
        files: Sequence[FileStream],
        tally: Tally,
        also: Callable[[Writer], None] | None,
    ) -> None:
        """Record in transactions of bounded size; a file's cursor goes with the last draft of its chunk."""
        ends = {id(stream): number for number, (stream, _) in enumerate(merged)}
        done = sorted(
            (one for one in files if one.fresh and not one.waiting), key=lambda one: ends.get(id(one), -1)
        )
        for start in range(0, max(1, len(merged)), BATCH):
            batch = merged[start : start + BATCH]
            saved = [one for one in done if ends.get(id(one), -1) < start + BATCH]
            done = done[len(saved) :]
            last = start + BATCH >= len(merged)
            if batch or saved or (last and also is not None):
                drafts = [draft for _, draft in batch]
                tally.count(self.recorder.record(drafts, self._saving(saved, also if last else None)))
            for one in saved:
                tally.files += one.ended
                tally.bytes += _advance(one.unread.record, one.saved, one.cursor.offset)
                one.saved, one.fresh = one.cursor.offset, False

    def _saving(
        self, files: Sequence[FileStream], also: Callable[[Writer], None] | None
    ) -> Callable[[Writer], None]:
        def save(writer: Writer) -> None:
            if also is not None:
                also(writer)
            now = self.recorder.now()
            for one in files:
                self.cursors.save(
                    writer, one.unread, one.cursor, ended=one.ended, held=one.unpaused.held, now=now
                )

        return save


def _database_of(path: Path) -> Path:
    """The database whose log this is; any other path as it is."""
    return path.with_name(path.name.removesuffix("-wal"))


def _name(unread: Unread) -> Name:
    return unread.record.agent, unread.record.session


def _advance(record: RecordFile, before: int, after: int) -> int:
    """The bytes between two offsets, where offsets are that."""
    return max(0, after - before) if of_lines(record) else 0


def _wave(left: Sequence[Unread]) -> int:
    """How many of the files are read together next: whole sessions, as many as make up a wave."""
    size = 0
    for number, one in enumerate(left):
        if size >= WAVE and _name(one) != _name(left[number - 1]):
            return number
        size += one.bytes
    return len(left)


def _parents(drafts: Iterable[Draft]) -> list[str]:
    return [
        str(draft.payload["parent"])
        for draft in drafts
        if draft.kind == "session.open" and draft.payload.get("parent")
    ]

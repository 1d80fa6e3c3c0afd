"""Importing the agents' records, for `import` and for following them live.

The newest sessions come first, so that yesterday is usable in seconds. Files are read in chunks, merged by
time and recorded, and each file's cursor is saved in the same transaction. After a crash nothing is repeated
and nothing is left out.
"""

from __future__ import annotations

import gc
import hashlib
import heapq
import json
import os
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

from fazm_memory.agents import CHUNK, OWNERS, Chunk, Cursor, Places, Reader, RecordFile
from fazm_memory.agents import FAZM as FAZM
from fazm_memory.engines.redaction import Redactor
from fazm_memory.events import Draft
from fazm_memory.ingest.read_ahead import (
    WORTHWHILE,
    YOUNG_OBJECTS,
    ReadAhead,
    ReadError,
    ReadResult,
    ReadTask,
    WorkerLost,
)
from fazm_memory.ingest.recorder import Recorder, RecordResult
from fazm_memory.paths import open_regular
from fazm_memory.records import dataclass, field, replace
from fazm_memory.store import SEQ_BITS, Database, Writer, pack, unpack

REASON = 120
# A session among those of its folder.
NEWEST, LAST_DAY, OLDER, NOTHING_LEFT = range(4)


@dataclass
class ImportStatistics:
    """Counts of an import.

    `known` were recorded before; `troubles` are files, each with the reason. `bad_in` counts the lines of
    each file that are no records. `not_copied` are files whose copy failed. `next_age` of a wave says which
    sessions come next: NEWEST, LAST_DAY, OLDER or NOTHING_LEFT. `finished` are the files of sessions that are
    recorded whole. These two are not added up. `lost_workers`: worker processes
    ended early or could not be started, and the importer read what was left by itself.
    """

    files: int = 0
    bytes: int = 0
    events: int = 0
    known: int = 0
    bad_in: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    troubles: dict[str, str] = field(default_factory=dict)
    not_copied: dict[str, str] = field(default_factory=dict)
    sessions: set[str] = field(default_factory=set)  # those with new events
    next_age: int = NOTHING_LEFT
    finished: list[RecordFile] = field(default_factory=list)
    lost_workers: bool = False

    def add(self, other: ImportStatistics) -> None:
        for name in ("files", "bytes", "events", "known"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.bad_in.update(other.bad_in)
        self.unknown.update(other.unknown)
        self.refused.update(other.refused)
        self.troubles.update(other.troubles)
        self.not_copied.update(other.not_copied)
        self.sessions |= other.sessions
        self.lost_workers |= other.lost_workers

    @property
    def bad(self) -> int:
        return self.bad_in.total()

    def count(self, results: Iterable[RecordResult]) -> None:
        for result in results:
            if result.error is not None:
                self.refused[result.error.message[:REASON]] += 1
            elif result.appended is not None:
                if result.appended.duplicate:
                    self.known += 1
                    continue
                self.events += 1
                self.sessions.add(result.appended.session)

    def to_json(self) -> dict[str, Any]:
        return {
            "files": self.files,
            "bytes": self.bytes,
            "events": self.events,
            "known": self.known,
            "sessions": len(self.sessions),
            "bad_lines": self.bad,
            "unknown": dict(self.unknown),
            "refused": dict(self.refused),
            "troubles": self.troubles,
            "bad_files": dict(self.bad_in),
            "not_copied": self.not_copied,
            "lost_workers": self.lost_workers,
        }


TimeRange = tuple[int, int]


def is_within(draft: Draft, pauses: Sequence[TimeRange]) -> bool:
    return draft.at is not None and any(since <= draft.at < until for since, until in pauses)


@dataclass
class PauseFilter:
    """Leaves out what happened while recording was paused.

    `held` is the opening of a session that began in a pause. It is recorded, without its title, before the
    first event after the pause. A session that was paused throughout is never recorded.
    """

    held: Mapping[str, Any] = field(default_factory=dict)

    def of(self, drafts: Iterable[Draft], pauses: Sequence[TimeRange]) -> Iterator[Draft]:
        for draft in drafts:
            if not is_within(draft, pauses):
                if self.held:
                    yield Draft(**self.held)
                    self.held = {}
                yield draft
            elif draft.kind == "session.open":
                untitled = {name: value for name, value in draft.payload.items() if name != "title"}
                opening = replace(draft, payload=untitled)
                self.held = {name: getattr(opening, name) for name in Draft.__match_args__}


@dataclass
class DraftStream:
    """The drafts of a source that wait to be merged. `ended`: it has no more for now."""

    ended: bool = False
    waiting: deque[tuple[int, Draft]] = field(default_factory=deque)
    last: int = 0

    def add(self, drafts: Iterable[Draft]) -> None:
        for draft in drafts:
            # A source's own order is never changed: a draft is no earlier than the one before it.
            self.last = max(self.last, draft.at or 0)
            self.waiting.append((self.last, draft))


Told = tuple[DraftStream, Draft]


def take_ordered(streams: Sequence[DraftStream]) -> list[Told]:
    """Take all drafts that nothing unread can precede, in the order of time.

    At least one stream that has not ended is emptied, so reading always makes progress.
    """
    limits = [stream.last for stream in streams if not stream.ended]
    until = min(limits) if limits else None
    taken = (
        [(at, number, stream, draft) for at, draft in _until(stream, until)]
        for number, stream in enumerate(streams)
    )
    merged = heapq.merge(*taken, key=itemgetter(0, 1))
    return [(stream, draft) for _, _, stream, draft in merged]


def _until(stream: DraftStream, limit: int | None) -> list[tuple[int, Draft]]:
    taken = []
    while stream.waiting and (limit is None or stream.waiting[0][0] <= limit):
        taken.append(stream.waiting.popleft())
    return taken


HEAD = 1024
TAIL = 256
DAY = 86_400.0
QUIET = 300.0  # seconds without a change, after which a last line without its end is complete
WAITING = -2  # the size of a file that is read up to what waits until it is quiet


@dataclass(frozen=True)
class CursorRow:
    """A stored cursor without what its reader carries."""

    path: str
    offset: int
    size: int
    inode: int
    fingerprint: str

    @property
    def mtime(self) -> float:
        return float(self.fingerprint.split(":", 1)[0])

    @property
    def version(self) -> int:
        """The version of the reader that read the file."""
        parts = self.fingerprint.split(":")
        return int(parts[3]) if len(parts) > 3 else 1


@dataclass(frozen=True)
class UnreadFile:
    """A file with new records.

    `held` is an opening from a time when recording was paused.
    """

    record: RecordFile
    cursor: Cursor
    bytes: int
    moved_from: str | None = None
    held: Mapping[str, Any] = field(default_factory=dict)


class CursorTable:
    """The cursors of a store. What a reader carries is loaded only when needed."""

    def __init__(self, database: Database, redactor: Redactor) -> None:
        self.db = database
        self.redactor = redactor
        rows = database.execute("SELECT path, offset, size, inode, fingerprint FROM cursor").fetchall()
        self.rows: dict[str, CursorRow] = {row[0]: CursorRow(*row) for row in rows}
        self.by_inode: dict[int, str] = {row.inode: row.path for row in self.rows.values()}

    def unread(self, record: RecordFile, version: int = 1) -> UnreadFile | None:
        """What is new in a file, or None if it has not changed. May raise OSError.

        `version` is that of its reader. A file that an older one has read is read again from its start.
        """
        row = self.rows.get(str(record.path))
        if row is not None and row.mtime == record.mtime and row.version >= version:
            waits = row.size == WAITING and not record.quiet
            if waits or row.size == record.size:
                return None
        moved_from = None
        if row is None:
            row = self._moved(record)
            moved_from = None if row is None else row.path
        if row is None or not _same(row, record):
            return UnreadFile(record, Cursor(), record.size)
        stored = self.db.execute("SELECT carry FROM cursor WHERE path=?", (row.path,)).fetchone()
        carried = json.loads(unpack(stored[0])) if stored is not None and stored[0] else {}
        if row.version < version and not self._forgotten(record):
            kept = {OWNERS: owners} if (owners := (carried.get("carry") or {}).get(OWNERS)) else {}
            return UnreadFile(record, Cursor(0, kept), record.size, moved_from)
        left = record.size - (row.offset if is_line_based(record) else max(0, row.size))
        cursor = Cursor(row.offset, carried.get("carry") or {})
        return UnreadFile(record, cursor, max(0, left), moved_from, carried.get("held") or {})

    def _forgotten(self, record: RecordFile) -> bool:
        """Whether something of the session was forgotten.

        Reading it again could bring that back.
        """
        query = (
            "SELECT 1 FROM event e JOIN session s ON e.id >= s.n << ? AND e.id < (s.n + 1) << ?"
            " WHERE s.agent_session_id=? AND e.kind='forgotten' LIMIT 1"
        )
        return self.db.execute(query, (SEQ_BITS, SEQ_BITS, record.session)).fetchone() is not None

    def _moved(self, record: RecordFile) -> CursorRow | None:
        """The cursor of a renamed file, from its old name."""
        known = self.by_inode.get(os.stat(record.path).st_ino)
        if known is None or os.path.exists(known):
            return None
        return self.rows.get(known)

    def saved_later(
        self,
        unread: UnreadFile,
        cursor: Cursor,
        *,
        size: int,
        version: int,
        held: Mapping[str, Any],
        now: int,
        clean_carry: Mapping[str, Any] | None = None,
    ) -> Callable[[Writer], None]:
        """A function that saves a cursor with its events.

        `size` is that of the file if it is read to its end, WAITING if the rest waits, and -1 otherwise.
        `clean_carry` is what the cursor carries, if it has been redacted already. Reading the file and
        redacting are done here, before the transaction.
        """
        record = unread.record
        try:
            inode = os.stat(record.path).st_ino
            mark = f"{fingerprint(record, cursor.offset)}:{version}"
        except FileNotFoundError:
            return lambda writer: None  # deleted while it was read
        row = CursorRow(str(record.path), cursor.offset, size, inode, mark)
        # An open call is carried with its input, so this is redacted like everything stored.
        if clean_carry is None:
            clean_carry = self.redactor.value(dict(cursor.carry))[0]
        carry = pack(json.dumps({"carry": clean_carry, "held": self.redactor.value(dict(held))[0]}).encode())

        def save(writer: Writer) -> None:
            writer.db.execute(
                "INSERT OR REPLACE INTO cursor VALUES (?,?,?,?,?,?,?,?)",
                (row.path, record.agent, row.offset, row.size, row.inode, row.fingerprint, carry, now),
            )
            if unread.moved_from is not None:
                writer.db.execute("DELETE FROM cursor WHERE path=?", (unread.moved_from,))
                self.rows.pop(unread.moved_from, None)
            self.rows[row.path] = row
            self.by_inode[row.inode] = row.path

        return save


def is_line_based(record: RecordFile) -> bool:
    """Whether the records are lines, so that an offset is a position in the file."""
    return record.path.suffix == ".jsonl"


def fingerprint(record: RecordFile, offset: int) -> str:
    """Modification time, and hashes of the first and the last bytes that were read."""
    head, tail = _samples(record.path, offset) if is_line_based(record) else ("", "")
    return f"{record.mtime!r}:{head}:{tail}"


def _same(row: CursorRow, record: RecordFile) -> bool:
    if not is_line_based(record):
        return True
    samples = row.fingerprint.split(":")[1:3]
    return record.size >= row.offset and samples == list(_samples(record.path, row.offset))


def _samples(path: Path, offset: int) -> tuple[str, str]:
    with open_regular(path) as file:
        head = file.read(min(HEAD, offset))
        file.seek(max(0, offset - TAIL))
        tail = file.read(min(TAIL, offset))
    return _digest(head), _digest(tail)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


WAVE_BYTES = 4 << 20  # bytes that are imported before other work gets a turn
LONG_WAVE = 2  # times that for old sessions, for which nobody waits: half as many commits
LEAST = 64 << 10  # of a chunk, when many files are read at once
BATCH = 400  # drafts in a transaction
LARGE_BATCH = 1000  # the same for old sessions
Name = tuple[str, str]


class RecordFileStream(DraftStream):
    """A record file as a source, read chunk by chunk from its cursor."""

    def __init__(self, unread: UnreadFile) -> None:
        super().__init__()
        self.unread = unread
        self.cursor = unread.cursor
        self.saved = unread.cursor.offset
        self.unpaused = PauseFilter(unread.held)
        self.clean_carry: Mapping[str, Any] | None = None  # what the cursor carries, if it is redacted
        self.fresh = False  # has a chunk whose cursor is not saved yet
        self.waiting_for_quiet = False
        self.unsaved: tuple[ReadTask, ReadResult] | None = None  # the last chunk, as a worker read it
        self.has_relatives = False  # its session was forked, is a fork, or has news of another session


def take_by_session(streams: Sequence[RecordFileStream]) -> list[Told]:
    """Take what nothing unread of the same session can precede.

    Sessions do not wait for each other.
    """
    sessions: dict[Name, list[RecordFileStream]] = {}
    for stream in streams:
        sessions.setdefault(_name(stream.unread), []).append(stream)
    return [draft for together in sessions.values() for draft in take_ordered(together)]


class Importer:
    """Records what `readers` find, except in the time ranges of `pauses`.

    `read_ahead` starts workers for a long import, if it is given.
    """

    def __init__(
        self,
        recorder: Recorder,
        readers: Sequence[Reader],
        places: Places,
        *,
        pauses: Callable[[], Sequence[TimeRange]] = tuple,
        read_ahead: Callable[[], ReadAhead | None] = lambda: None,
    ) -> None:
        self.recorder = recorder
        self.readers = readers
        self.places = places
        self.pauses = pauses
        self.cursors = CursorTable(recorder.store.db, recorder.redactor)
        self.reader_of: dict[Path, Reader] = {}
        self.records: dict[Path, RecordFile] = {}
        self.strangers: set[Path] = set()  # files beside the records that are not records
        self.closed: dict[str, str] = {}  # unreadable folders with the reason; reported with the next wave
        self.owned: set[str] = set()
        self._start_workers = read_ahead
        self._ahead: ReadAhead | None = None
        self._lost_workers = False

    def find(self, places: Places | None = None) -> list[RecordFile]:
        """All record files in `places`, by default in our own."""
        found: dict[Path, RecordFile] = {}
        for reader in self.readers:
            try:
                for record in reader.find(places or self.places):
                    found[record.path] = record
                    self.reader_of[record.path] = reader
            except OSError as error:
                # An unreadable folder must not stop the other agents.
                self.closed[str(error.filename or reader.name)] = error.strerror or str(error)
        self.records |= found
        return list(found.values())

    def look(self, paths: Iterable[Path]) -> list[RecordFile]:
        """The record files at these paths as they are now.

        Only an unknown path needs a search.
        """
        wanted = {_database_of(path) for path in paths}
        if new := wanted - self.records.keys() - self.strangers:
            self.find()
            self.strangers |= new - self.records.keys()
        return [record for path in wanted & self.records.keys() if (record := self._again(path)) is not None]

    def _again(self, path: Path) -> RecordFile | None:
        known = self.records[path]
        if not is_line_based(known):  # only its reader knows its size
            found = (record for record in self.reader_of[path].find(self.places) if record.path == path)
            return next(found, None)
        try:
            stat = path.stat()
        except FileNotFoundError:
            return None
        return replace(known, size=stat.st_size, mtime=stat.st_mtime)

    def unread(self, records: Iterable[RecordFile]) -> list[UnreadFile]:
        """Files with new records, in the order of import.

        First the newest session of every folder, then the rest of the folder's last day, then older ones.
        Within each of these the newest session comes first, and the files of a session stay together.
        """
        new = [file for record in records if (file := self._unread(record)) is not None]
        newest, ages = _newest(new), _ages(new)

        def order(file: UnreadFile) -> tuple[int, float, Name, Path]:
            name = _name(file)
            return ages[name], -newest[name], name, file.record.path

        return sorted(new, key=order)

    def _unread(self, record: RecordFile) -> UnreadFile | None:
        quiet = self.recorder.now() / 1_000_000 - record.mtime > QUIET
        try:
            return self.cursors.unread(replace(record, quiet=quiet), self.reader_of[record.path].version)
        except FileNotFoundError:
            return None  # agents delete old records
        except OSError:
            return UnreadFile(record, Cursor(), record.size)  # reading it reports the error

    def backlog(self, unread: Sequence[UnreadFile]) -> Iterator[ImportStatistics]:
        """Import everything in waves. Between two waves the caller may do other work."""
        left = list(unread)
        thresholds = gc.get_threshold()
        if sum(file.bytes for file in left) >= WORTHWHILE:
            self._ahead = self._workers()
            gc.set_threshold(YOUNG_OBJECTS, *thresholds[1:])
        try:
            yield from self._waves(left)
        finally:
            gc.set_threshold(*thresholds)
            if self._ahead is not None:
                self._ahead.close()
                self._ahead = None
        if self.closed:
            yield self.take([])  # report the unreadable folders

    def _waves(self, left: list[UnreadFile]) -> Iterator[ImportStatistics]:
        failed: set[str] = set()
        ages = _ages(left)
        while left:
            old = self._ahead is not None and ages[_name(left[0])] == OLDER
            size = LONG_WAVE * WAVE_BYTES if old else WAVE_BYTES
            count = _wave(left, size)
            # Checked again: a parent of a fork may have been read already.
            wave = self.unread(file.record for file in left[:count])
            left = left[count:]
            self._read_early(wave, size)
            self._read_early(left[: _wave(left, size)], size)
            statistics = self.take(wave, elders=left, limit=size, apart=old)
            failed |= statistics.troubles.keys()
            unfinished = self.unread(file.record for file in wave if str(file.record.path) not in failed)
            left = [*unfinished, *left]
            going_on = set(map(_name, unfinished))
            statistics.finished = [file.record for file in wave if _name(file) not in going_on]
            statistics.next_age = min((ages[_name(file)] for file in left), default=NOTHING_LEFT)
            statistics.lost_workers, self._lost_workers = self._lost_workers, False
            yield statistics

    def _workers(self) -> ReadAhead | None:
        """Workers, if they can be started."""
        try:
            return self._start_workers()
        except OSError:
            self._lost_workers = True
            return None

    def _read_early(self, wave: Sequence[UnreadFile], size: int) -> None:
        """Have workers begin to read a wave of this size."""
        if self._ahead is not None:
            for file in wave:
                self._ahead.start(self._task(file.record, file.cursor, _chunk_limit(len(wave), size)))

    def _task(self, record: RecordFile, cursor: Cursor, limit: int) -> ReadTask:
        return ReadTask(self.readers.index(self.reader_of[record.path]), record, cursor, limit)

    def _read_chunk(self, stream: RecordFileStream, limit: int) -> Chunk:
        """The next chunk of a file, by a worker if there is one."""
        record = stream.unread.record
        if self._ahead is not None:
            task = self._task(record, stream.cursor, limit)
            try:
                result = self._ahead.result(task)
            except WorkerLost:
                self._ahead.close()
                self._ahead = None
                self._lost_workers = True
            else:
                self.recorder.learn_secrets(result.secrets)
                stream.clean_carry = result.carry
                stream.unsaved = task, result
                if result.chunk.more:
                    self._ahead.start(self._task(record, result.chunk.cursor, limit))
                return result.chunk
        stream.clean_carry = None
        return self.reader_of[record.path].read(record, stream.cursor, limit=limit)

    def take(
        self,
        wave: Sequence[UnreadFile],
        told: Sequence[Draft] = (),
        *,
        elders: Sequence[UnreadFile] = (),
        also: Callable[[Writer], None] | None = None,
        limit: int = WAVE_BYTES,
        apart: bool = False,
    ) -> ImportStatistics:
        """Import files together with drafts of hooks, until all or `limit` bytes are read.

        `elders` are files that may have the parents of forks, which are read first. `also` runs in the last
        transaction. With `apart` sessions never wait for each other, and transactions are larger.
        """
        statistics = ImportStatistics(troubles=self.closed)
        self.closed = {}
        pauses = self.pauses()
        hooks = DraftStream(ended=True)
        hooks.add(draft for draft in told if not is_within(draft, pauses))
        files = [RecordFileStream(file) for file in wave]
        parents: dict[Name, list[UnreadFile]] = {}
        for file in elders:
            parents.setdefault(_name(file), []).append(file)
        read = 0
        while True:
            read += self._read_on(files, parents, pauses, statistics, limit)
            over = read >= limit or all(stream.ended for stream in files)
            merged = take_ordered([hooks, *files])
            if (over or apart) and not told:
                merged += take_by_session([stream for stream in files if not stream.has_relatives])
            if over:
                # Drafts of files will be read again. Drafts of hooks exist only here.
                merged += [(hooks, draft) for _, draft in hooks.waiting]
            self._record(merged, files, statistics, also if over else None, LARGE_BATCH if apart else BATCH)
            if over:
                self._keep_unsaved(files)
                return statistics

    def _keep_unsaved(self, files: Sequence[RecordFileStream]) -> None:
        """Keep the chunks whose drafts were not all recorded.

        The next wave takes them again.
        """
        if self._ahead is not None:
            for stream in files:
                if stream.fresh and stream.unsaved is not None:
                    self._ahead.keep(*stream.unsaved)

    def _read_on(
        self,
        files: list[RecordFileStream],
        parents: dict[Name, list[UnreadFile]],
        pauses: Sequence[TimeRange],
        statistics: ImportStatistics,
        size: int,
    ) -> int:
        """Read the next chunk of every file without waiting drafts.

        Returns the number of bytes.
        """
        read = 0
        for stream in files:  # it grows by the parents of forks
            if stream.waiting or stream.ended:
                continue
            record = stream.unread.record
            limit = _chunk_limit(len(files), size)
            try:
                chunk = self._read_chunk(stream, limit)
            except Exception as error:
                # An unreadable file must not stop the others. It is reported and stays unread.
                named = str(error) if isinstance(error, ReadError) else f"{type(error).__name__}: {error}"
                statistics.troubles[str(record.path)] = named
                stream.ended = True
                continue
            if chunk.more and chunk.cursor == stream.cursor:
                statistics.troubles[str(record.path)] = "Its reader makes no progress."
                stream.ended = True
                continue
            # Without byte offsets a chunk counts as its limit.
            read += (
                _advance(record, stream.cursor.offset, chunk.cursor.offset)
                if is_line_based(record)
                else limit
            )
            statistics.unknown.update(chunk.unknown)
            if chunk.trouble:
                statistics.troubles[str(record.path)] = chunk.trouble
            elif chunk.bad:
                statistics.bad_in[str(record.path)] += chunk.bad
            stream.cursor, stream.ended, stream.fresh = chunk.cursor, not chunk.more, True
            stream.waiting_for_quiet = chunk.waiting
            stream.add(self._owned(stream.unpaused.of(chunk.drafts, pauses)))
            for parent in _elders(record.session, chunk.drafts):
                for relative in files:
                    relative.has_relatives |= relative.unread.record.session in (parent, record.session)
                elders = parents.pop((record.agent, parent), ())
                files.extend(RecordFileStream(file) for file in self.unread(elder.record for elder in elders))
        return read

    def _owned(self, drafts: Iterable[Draft]) -> Iterator[Draft]:
        """Move a session to Fazm that hooks reported as another agent's.

        Their hooks report it first. Later Fazm lists it as its own.
        """
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
        files: Sequence[RecordFileStream],
        statistics: ImportStatistics,
        also: Callable[[Writer], None] | None,
        size: int,
    ) -> None:
        """Record in transactions of `size` drafts.

        A file's cursor goes with the last draft of its chunk.
        """
        ends = {id(stream): number for number, (stream, _) in enumerate(merged)}
        done = sorted(
            (stream for stream in files if stream.fresh and not stream.waiting),
            key=lambda stream: ends.get(id(stream), -1),
        )
        for start in range(0, max(1, len(merged)), size):
            batch = merged[start : start + size]
            saved = [stream for stream in done if ends.get(id(stream), -1) < start + size]
            done = done[len(saved) :]
            last = start + size >= len(merged)
            if batch or saved or (last and also is not None):
                drafts = [draft for _, draft in batch]
                statistics.count(self.recorder.record(drafts, self._saving(saved, also if last else None)))
            for stream in saved:
                statistics.files += stream.ended
                statistics.bytes += _advance(stream.unread.record, stream.saved, stream.cursor.offset)
                stream.saved, stream.fresh = stream.cursor.offset, False

    def _saving(
        self, files: Sequence[RecordFileStream], also: Callable[[Writer], None] | None
    ) -> Callable[[Writer], None]:
        now = self.recorder.now()
        cursors = [
            self.cursors.saved_later(
                stream.unread,
                stream.cursor,
                size=_saved_size(stream),
                version=self.reader_of[stream.unread.record.path].version,
                held=stream.unpaused.held,
                now=now,
                clean_carry=stream.clean_carry,
            )
            for stream in files
        ]

        def save(writer: Writer) -> None:
            if also is not None:
                also(writer)
            for save_cursor in cursors:
                save_cursor(writer)

        return save


def _database_of(path: Path) -> Path:
    """The database of a log, or the path itself."""
    return path.with_name(path.name.removesuffix("-wal"))


def _name(unread: UnreadFile) -> Name:
    return unread.record.agent, unread.record.session


def _newest(files: Iterable[UnreadFile]) -> dict[Name, float]:
    """When each session was last changed."""
    newest: dict[Name, float] = {}
    for file in files:
        newest[_name(file)] = max(newest.get(_name(file), 0.0), file.record.mtime)
    return newest


def _ages(files: Sequence[UnreadFile]) -> dict[Name, int]:
    """Whether each session is the newest of its folder, of its last day, or older."""
    newest = _newest(files)
    folders: dict[Name, Path] = {}  # of the session itself; its subagents are further down
    for file in sorted(files, key=lambda file: len(file.record.path.parts)):
        folders.setdefault(_name(file), _folder(file.record.path))
    latest: dict[Path, float] = {}
    for name, folder in folders.items():
        latest[folder] = max(latest.get(folder, 0.0), newest[name])

    def age(name: Name, folder: Path) -> int:
        if newest[name] == latest[folder]:
            return NEWEST
        return LAST_DAY if newest[name] > latest[folder] - DAY else OLDER

    return {name: age(name, folder) for name, folder in folders.items()}


def _folder(path: Path) -> Path:
    """The folder of a record.

    Folders named by a date, as Codex has them, count as one.
    """
    folder = path.parent
    while folder.name.isdigit():
        folder = folder.parent
    return folder


def _advance(record: RecordFile, before: int, after: int) -> int:
    """The bytes between two offsets, or 0 if offsets are not bytes."""
    return max(0, after - before) if is_line_based(record) else 0


def _wave(left: Sequence[UnreadFile], size: int) -> int:
    """The number of files in the next wave: whole sessions, about `size` bytes."""
    found = 0
    for number, file in enumerate(left):
        if found >= size and _name(file) != _name(left[number - 1]):
            return number
        found += file.bytes
    return len(left)


def _chunk_limit(files: int, size: int) -> int:
    """The bytes of a chunk when so many files are read in a wave of this size."""
    return max(LEAST, min(CHUNK, size // max(1, files)))


def _saved_size(stream: RecordFileStream) -> int:
    if not stream.ended:
        return -1
    return WAITING if stream.waiting_for_quiet else stream.unread.record.size


def _elders(session: str, drafts: Iterable[Draft]) -> list[str]:
    """Other sessions that drafts are about.

    For example the parent of a fork, or the session that presented a plan.
    """
    parents = (draft.payload.get("parent") for draft in drafts if draft.kind == "session.open")
    others = (draft.session for draft in drafts if draft.session != session)
    return [str(name) for name in dict.fromkeys([*parents, *others]) if name]

"""Copying the agents' own transcripts as they grow.

A copy is byte for byte, with two exceptions. Lines that were written while recording was paused are left out
and counted. With the form "redacted" each line is redacted first. Of a database that sessions share, the rows
of each session are copied.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from io import BytesIO
from typing import BinaryIO

from fazm_memory.agents import (
    NativeFile,
    Places,
    RecordFile,
    database_stats,
    is_row_database,
    moment,
    record_of,
    session_files,
    session_rows,
    snapshot,
)
from fazm_memory.engines.redaction import KnownSecrets, Redactor
from fazm_memory.ingest.importer import QUIET, TimeRange
from fazm_memory.paths import is_utf8, open_regular
from fazm_memory.records import dataclass, field
from fazm_memory.store import EXACT, TranscriptCopies, TranscriptCopy

BLOCK = 4 << 20
HEAD = 1024
TAIL = 4096
SECOND = 1_000_000
LARGEST = 1 << 30  # a larger file is not copied
ROWS_EVERY = 60 * SECOND  # how often a database that is being written to is looked through


@dataclass
class CopyStatistics:
    """What a round of copying added, and which files it could not read."""

    files: int = 0
    bytes: int = 0
    more: bool = False  # stopped at the limit
    troubles: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Source:
    """What is copied: a file, or rows of a database as if they were one."""

    file: BinaryIO
    size: int
    mtime: float
    mode: int


class TranscriptCopier:
    """Brings the copies up to date with the agents' files.

    `allowed` says whether a session, by the agent's id, may be copied. `redactor` is needed for redacted
    copies only.
    """

    def __init__(
        self,
        copies: TranscriptCopies,
        places: Places,
        *,
        form: str,
        redactor: Callable[[], Redactor],
        pauses: Callable[[], Sequence[TimeRange]],
        allowed: Callable[[str], bool],
        now: Callable[[], int],
    ) -> None:
        self.copies = copies
        self.places = places
        self.form = form
        self.redactor = redactor
        self.pauses = pauses
        self.allowed = allowed
        self.now = now
        self._secrets = KnownSecrets()  # found in any file: copies of them are redacted too
        self._known: dict[tuple[str, str, str], TranscriptCopy] = {}
        self._paths: dict[str, TranscriptCopy] = {}
        self._looked: dict[str, tuple[float, int]] = {}  # databases: modified when, looked through when
        for copy in copies.all():
            if not copy.replaced and not copy.foreign:
                self._remember(copy)

    def _remember(self, copy: TranscriptCopy) -> None:
        self._known[_name(copy)] = copy
        self._paths[f"{copy.origin}/{copy.path}"] = copy

    def copy(self, records: Iterable[RecordFile], *, limit: int | None = None) -> CopyStatistics:
        """Copy what is new in these records and in the files that belong to them.

        Stops after the first file with which `limit` bytes are reached.
        """
        done = CopyStatistics()
        changed = [record for record in records if self._changed(record)]
        if not changed:
            return done
        forgotten = self.copies.forgotten()
        for record in changed:
            if limit is not None and done.bytes >= limit:
                done.more = True
                break
            try:
                self._copy_record(record, forgotten, done, limit)
            except FileNotFoundError:
                continue  # deleted meanwhile
            except (OSError, sqlite3.Error) as error:
                if "locked" not in str(error):  # then it is tried again
                    done.troubles[str(record.path)] = getattr(error, "strerror", None) or str(error)
                    self._looked[str(record.path)] = (record.mtime, self.now())
        return done

    def _copy_record(
        self, record: RecordFile, forgotten: set[str], done: CopyStatistics, limit: int | None
    ) -> None:
        rows = is_row_database(record)
        if not rows and (record.session in forgotten or not self.allowed(record.session)):
            return
        for file in session_files(record, self.places):
            if rows and (file.session in forgotten or self._has_rows(file) or not self.allowed(file.session)):
                continue
            if rows and limit is not None and done.bytes >= limit:
                done.more = True
                return
            try:
                self._copy(file, done)
            except FileNotFoundError:
                continue  # deleted meanwhile
            except OSError as error:
                done.troubles[str(file.absolute)] = error.strerror or str(error)
        if rows:
            self._looked[str(record.path)] = (record.mtime, self.now())

    def _has_rows(self, file: NativeFile) -> bool:
        copy = self._current(file)
        return copy is not None and (copy.origin, copy.path, copy.mark) == (
            file.origin,
            file.path,
            file.stamp,
        )

    def _changed(self, record: RecordFile) -> bool:
        if is_row_database(record):
            mtime, at = self._looked.get(str(record.path), (0.0, 0))
            return mtime != record.mtime and (self._quiet(record.mtime) or self.now() - at > ROWS_EVERY)
        known = self._paths.get(str(record.path))
        if known is None or known.source_mtime != record.mtime:
            return True
        if record.path.suffix == ".db":
            return False
        incomplete = known.source_size != record.size or (self._checkable(known) and self._unchecked(known))
        return incomplete and self._quiet(record.mtime)

    def _quiet(self, mtime: float) -> bool:
        return self.now() / SECOND - mtime > QUIET

    def _checkable(self, copy: TranscriptCopy) -> bool:
        return copy.form == EXACT and not copy.left_out

    def _unchecked(self, copy: TranscriptCopy) -> bool:
        return copy.checked != copy.source_mtime

    def _copy(self, file: NativeFile, done: CopyStatistics) -> None:
        path = file.absolute
        if not is_utf8(str(path)) or (file.is_final and str(path) in self._paths):
            return
        with self._opened(file) as opened:
            source = self._source(file, opened)
            if source.size > LARGEST:
                done.troubles[str(path)] = f"larger than {LARGEST >> 20} MiB, not copied"
                return
            copy = self._current(file)
            if copy is not None and self._up_to_date(copy, file, source):
                self._remember(copy)
                return
            if not _has_lines(file) and self._in_pause(round(source.mtime * SECOND)):
                return
            with self.copies.db.transaction():
                before = 0 if copy is None else copy.size
                copy = self._updated(copy, file, source)
            self._remember(copy)
            if copy.size != before:
                done.files += 1
                done.bytes += abs(copy.size - before)

    def _opened(self, file: NativeFile) -> BinaryIO:
        if file.is_rows:
            return BytesIO(session_rows(file.absolute, file.root, file.session))
        if file.is_database:
            return BytesIO(snapshot(file.absolute))
        return open_regular(file.absolute, last_link=False)  # a link could name any file, such as a key

    def _source(self, file: NativeFile, opened: BinaryIO) -> Source:
        if isinstance(opened, BytesIO):
            found = database_stats(file.absolute)
            newest = max(stat.st_mtime for stat in found)
            return Source(opened, opened.getbuffer().nbytes, newest, found[0].st_mode)
        stat = os.fstat(opened.fileno())
        return Source(opened, stat.st_size, stat.st_mtime, stat.st_mode)

    def _current(self, file: NativeFile) -> TranscriptCopy | None:
        """The copy as it is now. Another process may have restored or deleted it."""
        known = self._known.get((file.session, file.root, file.name))
        return None if known is None else self.copies.find(known.id)

    def _up_to_date(self, copy: TranscriptCopy, file: NativeFile, source: Source) -> bool:
        before = (copy.origin, copy.path, copy.source_size, copy.source_mtime)
        if file.is_rows or before != (file.origin, file.path, source.size, source.mtime):
            return False
        return not (self._quiet(source.mtime) and self._checkable(copy) and self._unchecked(copy))

    def _updated(self, copy: TranscriptCopy | None, file: NativeFile, source: Source) -> TranscriptCopy:
        """The copy with all that is new in the file. In a transaction."""
        grows = file.path.endswith(".jsonl")
        if copy is not None and not grows:
            copy = self._rewritten(copy, source.file)
        elif copy is not None and not self._continues(copy, source):
            self.copies.update(copy, replaced=1)  # another file: what was there before stays
            copy = None
        if copy is None:
            copy = self.copies.create(
                session=file.session, agent=file.agent, root=file.root, path=file.path, origin=file.origin,
                form=self.form, source_size=0, source_mtime=0.0, mode=source.mode & 0o777, mark="",
                at=self.now(),
            )  # fmt: skip
        quiet = self._quiet(source.mtime)
        if grows and quiet and self._checkable(copy):
            copy = self._check(copy, source.file)
        end, lines = copy.source_size, _has_lines(file)
        blocks = _blocks(source.file, end, whole=quiet or file.is_rows) if lines else _rest(source.file, end)
        for block in blocks:
            end += len(block)
            kept, left_out = self._filtered(block, copy, lines)
            copy = self.copies.append(copy, kept)
            if left_out:
                self.copies.update(copy, left_out=copy.left_out + left_out)
                copy = self.copies.get(copy.id)
        self.copies.update(
            copy, source_size=end, source_mtime=source.mtime, mark=file.stamp or file_mark(source.file, end),
            path=file.path, origin=file.origin, at=self.now(),
            checked=source.mtime if quiet else copy.checked,
        )  # fmt: skip
        return self.copies.get(copy.id)

    def _continues(self, copy: TranscriptCopy, source: Source) -> bool:
        """Whether the file only grew since it was copied."""
        return source.size >= copy.source_size and file_mark(source.file, copy.source_size) == copy.mark

    def _rewritten(self, copy: TranscriptCopy, source: BinaryIO) -> TranscriptCopy:
        """The equal beginning of a copy and a file that the agent writes as a whole."""
        if self._checkable(copy):
            return self._check(copy, source)
        copy = self.copies.cut(copy, 0)
        self.copies.update(copy, source_size=0, source_mtime=0.0, left_out=0)
        return self.copies.get(copy.id)

    def _check(self, copy: TranscriptCopy, source: BinaryIO) -> TranscriptCopy:
        """Compare the copy with the whole file. From a difference on it is copied again."""
        for begin, size, digest in self.copies.parts(copy):
            source.seek(begin)
            if hashlib.sha256(source.read(size)).hexdigest() != digest:
                self.copies.cut(copy, begin)
                self.copies.update(copy, source_size=begin)
                return self.copies.get(copy.id)
        return copy

    # -- pauses and redaction ----------------------------------------------------------------------------

    def _in_pause(self, at: int) -> bool:
        return any(since <= at < until for since, until in self.pauses())

    def _filtered(self, block: bytes, copy: TranscriptCopy, lines: bool) -> tuple[bytes, int]:
        """What may be stored of a block, and how many lines were left out."""
        pauses = [pause for pause in self.pauses() if pause[1] >= copy.source_mtime * SECOND] if lines else []
        if not pauses and copy.form == EXACT:
            return block, 0
        if not lines:
            return self._redacted(block), 0
        kept, left_out, paused = [], 0, False
        for line in block.splitlines(keepends=True):
            if pauses and (at := moment((record_of(line) or {}).get("timestamp"))) is not None:
                paused = any(since <= at < until for since, until in pauses)
            if paused:
                left_out += 1
            else:
                kept.append(line if copy.form == EXACT else self._redacted(line))
        return b"".join(kept), left_out

    @cached_property
    def _redactor(self) -> Redactor:
        return self.redactor()

    def _redacted(self, data: bytes) -> bytes:
        """A line or a small file without secrets. What has none stays as it is."""
        text = data.decode("utf-8", "surrogateescape")
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(text)
            redacted, _ = self._redactor.value(value, self._secrets)
            if redacted == value:
                return data
            end = "\n" if text.endswith("\n") else ""
            return (json.dumps(redacted, ensure_ascii=False, separators=(",", ":")) + end).encode(
                "utf-8", "surrogatepass"
            )
        return self._redactor.text(text, None, self._secrets).text.encode("utf-8", "surrogateescape")


def _name(copy: TranscriptCopy) -> tuple[str, str, str]:
    return copy.session, copy.root, NativeFile("", "", copy.root, copy.path, "").name


def _has_lines(file: NativeFile) -> bool:
    return file.is_rows or file.path.endswith(".jsonl")


def _rest(source: BinaryIO, start: int) -> Iterator[bytes]:
    source.seek(start)
    yield source.read()


def _blocks(source: BinaryIO, start: int, *, whole: bool) -> Iterator[bytes]:
    """The bytes from `start`, in blocks of whole lines.

    Without `whole` a half line at the end waits.
    """
    source.seek(start)
    rest = b""
    while data := source.read(BLOCK):
        rest += data
        end = rest.rfind(b"\n") + 1
        if end:
            yield rest[:end]
            rest = rest[end:]
    if rest and whole:
        yield rest


def file_mark(source: BinaryIO, size: int) -> str:
    """Identifies the first `size` bytes of a file by its beginning and its end."""
    digest = hashlib.sha256(str(size).encode())
    for begin, length in ((0, min(HEAD, size)), (max(0, size - TAIL), min(TAIL, size))):
        source.seek(begin)
        digest.update(source.read(length))
    return digest.hexdigest()[:32]

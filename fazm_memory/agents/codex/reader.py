"""Codex CLI: the reader of its rollouts, one file per thread, and of the index of thread names.

`$CODEX_HOME or ~/.codex`, `sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl` and `archived_sessions/`.
Tested with rollouts of Codex 0.166.0. Older formats are read as in their sources.

A subagent belongs to the session of its root thread, as in hooks. Hooks and rollouts use the same keys for
calls and prompts. Everything else is reported only by rollouts; its key is the thread and the ordinal.

A fork names its parent. Older versions also copied the parent's records into it, all at once. Records before
the first turn that is younger than the thread are such copies and are skipped.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from fazm_memory.agents.base import CHUNK, Chunk, Cursor, Lines, Places, RecordFile, complete_lines
from fazm_memory.agents.codex.calls import NAME, is_noise, title_key
from fazm_memory.agents.codex.rollout import TITLE, Rollout
from fazm_memory.agents.fields import ident, moment, record_of, records_of, text
from fazm_memory.events import Draft
from fazm_memory.lazy import lazy_regex
from fazm_memory.paths import open_regular

NAMES_FILE = "session_index.jsonl"
HEAD = 1024
ROOT = lazy_regex(rb'"type":"session_meta","payload":\{"session_id":"([0-9A-Za-z-]{1,100})"')


def _rollouts(root: Path) -> Iterator[Path]:
    yield from root.glob("sessions/*/*/*/rollout-*.jsonl")
    yield from root.glob("archived_sessions/**/rollout-*.jsonl")


class Codex:
    """Reads rollouts. `home` is the folder of `~` in their commands."""

    name = NAME
    version = 2

    def __init__(self, home: str | None = None) -> None:
        self.home = home
        self._sessions: dict[Path, str] = {}  # a rollout never changes its session

    def find(self, places: Places) -> Iterator[RecordFile]:
        root = Path(places.env.get("CODEX_HOME") or places.home / ".codex")
        # Oldest first and names last, so that a session comes before its parts.
        for path in [*sorted(_rollouts(root), key=lambda path: path.name), root / NAMES_FILE]:
            try:
                stat, session = path.stat(), self._session(path)
            except FileNotFoundError:
                continue  # no thread has a name, or the rollout was just archived
            yield RecordFile(NAME, path, session, stat.st_size, stat.st_mtime)

    def _session(self, path: Path) -> str:
        """The session of a rollout, from its first record. A subagent names its root's."""
        if path not in self._sessions:
            try:
                with open_regular(path) as file:
                    found = ROOT.search(file.read(HEAD))
            except OSError:
                found = None  # `read` reports the error
            if found is None:
                return _thread(path)  # an older version, or not written yet
            self._sessions[path] = found.group(1).decode()
        return self._sessions[path]

    def read(self, record: RecordFile, cursor: Cursor, *, limit: int = CHUNK) -> Chunk:
        lines = complete_lines(record.path, cursor.offset, limit, quiet=record.quiet)
        if record.path.name == NAMES_FILE:
            return _names(lines, record)
        rollout = Rollout(_thread(record.path), cursor.carry, self.home)
        bad = lines.overlong
        for line in lines.lines:
            if is_noise(line):
                rollout.lines += 1
                continue
            records = records_of(line)
            for taken in records:
                rollout.take(taken)
            bad += not records and bool(line.strip())
        if not lines.more:
            rollout.finish()
        after = Cursor(lines.offset, rollout.carry())
        waiting = lines.rest and not record.quiet
        return Chunk(tuple(rollout.drafts), after, lines.more, rollout.unknown, bad, waiting)


def _thread(path: Path) -> str:
    """The thread in a file name such as `rollout-2026-11-16T00-12-15-<thread>`."""
    stem = path.stem
    return stem[len("rollout-2026-11-16T00-12-15-") :] or stem if stem.startswith("rollout-") else stem


def _names(lines: Lines, record: RecordFile) -> Chunk:
    """The names of threads that still have a rollout."""
    threads = {_thread(path) for path in _rollouts(record.path.parent)} if lines.lines else set()
    drafts = []
    bad = lines.overlong
    for line in lines.lines:
        entry = record_of(line)
        if entry is None:
            bad += bool(line.strip())
            continue
        thread, title = ident(entry.get("id")), text(entry.get("thread_name")).strip()[:TITLE]
        if title and thread in threads:
            at = moment(entry.get("updated_at")) or round(record.mtime * 1_000_000)
            key = title_key(thread, title)
            drafts.append(
                Draft(thread, "session.title", {"title": title}, NAME, at, source="transcript", key=key)
            )
    return Chunk(tuple(drafts), Cursor(lines.offset), lines.more, {}, bad)

"""Codex CLI: its rollouts, one file per thread, and the index of the names that people gave to threads.

`$CODEX_HOME or ~/.codex`, `sessions/YYYY/MM/DD/rollout-<time>-<thread>.jsonl` and `archived_sessions/`.
Verified against what Codex 0.166.0 wrote when it was run, with forks, subagents, aborted turns, processes
that outlive their call and compactions; what older versions wrote otherwise is read as their sources have it.

Sessions and keys. Hooks name the session of a subagent by its root thread and the subagent by `agent_id`; so
do we. An action belongs to `session_meta.session_id`, and its key is `codex:<that id>:<call id>`: a hook has
both as `session_id` and `tool_use_id`. A prompt's key is made of the session, the turn and the text; anything
else is told by rollouts alone and named by its thread and ordinal. `codex_keys` makes them for both doors.

A fork names its parent and continues it; 0.166.0 copies no record into it. Older versions copied all of them
in one burst: what comes before the first turn that is younger than the thread is a copy and is skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from fazm_memory.capture.agents.codex_keys import NAME, title_key
from fazm_memory.capture.agents.codex_kinds import is_noise
from fazm_memory.capture.agents.codex_rollout import TITLE, Rollout
from fazm_memory.capture.agents.fields import ident, moment, record_of, text
from fazm_memory.capture.agents.reader import CHUNK, Chunk, Cursor, Lines, Places, RecordFile, complete_lines
from fazm_memory.capture.draft import Draft

NAMES_FILE = "session_index.jsonl"
HEAD = 1024
ROOT = re.compile(rb'"type":"session_meta","payload":\{"session_id":"([0-9A-Za-z-]{1,100})"')


def _rollouts(root: Path) -> Iterator[Path]:
    yield from root.glob("sessions/*/*/*/rollout-*.jsonl")
    yield from root.glob("archived_sessions/**/rollout-*.jsonl")


class Codex:
    """Reads rollouts; `home` is where `~` points in the commands they hold."""

    name = NAME

    def __init__(self, home: str | None = None) -> None:
        self.home = home
        self._sessions: dict[Path, str] = {}  # a rollout never changes its session: looked up once

    def find(self, places: Places) -> Iterator[RecordFile]:
        root = Path(places.env.get("CODEX_HOME") or places.home / ".codex")
        # The oldest first, and names last: whoever reads in this order meets a session before its parts.
        for path in [*sorted(_rollouts(root), key=lambda path: path.name), root / NAMES_FILE]:
            try:
                stat, session = path.stat(), self._session(path)
            except FileNotFoundError:
                continue  # no name was ever given, or the rollout was archived since it was listed
            yield RecordFile(NAME, path, session, stat.st_size, stat.st_mtime)

    def _session(self, path: Path) -> str:
        """The session a rollout belongs to: its root's, which a subagent names in its first record."""
        if path not in self._sessions:
            try:
                with path.open("rb") as file:
                    found = ROOT.search(file.read(HEAD))
            except OSError:
                found = None  # reading it will tell what is wrong
            if found is None:
                return _thread(path)  # an older version, or not written yet
            self._sessions[path] = found.group(1).decode()
        return self._sessions[path]

    def read(self, record: RecordFile, cursor: Cursor, *, limit: int = CHUNK) -> Chunk:
        lines = complete_lines(record.path, cursor.offset, limit)
        if record.path.name == NAMES_FILE:
            return _names(lines, record)
        rollout = Rollout(_thread(record.path), cursor.carry, self.home)
        bad = lines.overlong
        for line in lines.lines:
            if is_noise(line):
                rollout.lines += 1
            elif (taken := record_of(line)) is not None:
                rollout.take(taken)
            elif line.strip():
                bad += 1
        if not lines.more:
            rollout.finish()
        after = Cursor(lines.offset, rollout.carry())
        return Chunk(tuple(rollout.drafts), after, lines.more, rollout.unknown, bad)


def _thread(path: Path) -> str:
    """The thread of a rollout: `rollout-2026-11-16T00-12-15-<thread>`; the index of names has none."""
    stem = path.stem
    return stem[len("rollout-2026-11-16T00-12-15-") :] or stem if stem.startswith("rollout-") else stem


def _names(lines: Lines, record: RecordFile) -> Chunk:
    """The names of threads whose rollouts are still there: a name alone is no session."""
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

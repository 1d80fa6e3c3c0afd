"""opencode: one SQLite database for all sessions, whose parts are written in place until they are complete.

`$XDG_DATA_HOME/opencode/opencode.db`, else `~/.local/share/opencode/opencode.db`; tables session, message and
part with JSON in `data`. Verified against a database that opencode 1.18.33 made when it was run: tools of all
kinds, a subagent, a fork, a compaction, a killed run. Its newer tables (`session_message`, `session_input`)
were empty then and are not read.

Keys. Whatever a part tells is `opencode:<part id>`; a plugin has the same id in `message.part.updated`. A
subagent's session has a parent: what it does belongs to its root, with its own id as `agent_id`. A fork has
none, but holds copies of messages that are older than itself: those are skipped, and tell whose fork it is.

The cursor is no place in a file: it carries the last row read, the parts that were not complete then, and the
titles told.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from fazm_memory.capture.agents.opencode_log import NAME, PartLog
from fazm_memory.capture.agents.opencode_store import looking, stats
from fazm_memory.capture.agents.reader import CHUNK, Chunk, Cursor, Places, RecordFile


class Opencode:
    """Reads the database; `home` is where `~` points in the commands it holds."""

    name = NAME

    def __init__(self, home: str | None = None) -> None:
        self.home = home

    def find(self, places: Places) -> Iterator[RecordFile]:
        data = Path(places.env.get("XDG_DATA_HOME") or places.home / ".local" / "share")
        path = data / NAME / "opencode.db"
        try:
            found = stats(path)
        except (FileNotFoundError, NotADirectoryError):
            return
        size, newest = sum(stat.st_size for stat in found), max(stat.st_mtime for stat in found)
        yield RecordFile(NAME, path, path.name, size, newest)

    def read(self, record: RecordFile, cursor: Cursor, *, limit: int = CHUNK) -> Chunk:
        record.path.stat()  # a database that is gone is said so; SQLite would not tell why
        parts = PartLog(cursor.carry, self.home)
        try:
            with looking(record.path) as store:
                more = parts.read_on(store, limit)
        except sqlite3.OperationalError as error:
            # Busy, or being made: the next look will tell. Anything else is not a database of this kind.
            busy = "locked" in str(error) or "busy" in str(error)
            return Chunk((), cursor, bad=0 if busy else 1)
        except sqlite3.DatabaseError:
            return Chunk((), cursor, bad=1)
        return Chunk(tuple(parts.drafts), Cursor(0, parts.carry()), more, parts.unknown, parts.bad)

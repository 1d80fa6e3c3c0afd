"""Reading a record file to its end, the way the companion does: the cursor is stored between chunks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fazm_memory.agents.base import CHUNK, Chunk, Cursor, Reader, RecordFile
from fazm_memory.events import codec
from fazm_memory.events.event import Draft, payload_class

FIXTURES = Path(__file__).parent / "fixtures"


def record_of(path: Path, session: str, agent: str = "test") -> RecordFile:
    stat = path.stat()
    return RecordFile(agent, path, session, stat.st_size, stat.st_mtime)


def stored(cursor: Cursor) -> Cursor:
    """The cursor as it comes back from the store."""
    return Cursor(cursor.offset, json.loads(json.dumps(cursor.carry)))


def read_on(
    reader: Reader, record: RecordFile, cursor: Cursor | None = None, *, limit: int = CHUNK
) -> tuple[list[Draft], Cursor, list[Chunk]]:
    """All that is left of a file. Every payload must be one that the log would take."""
    cursor = cursor or Cursor()
    drafts: list[Draft] = []
    chunks: list[Chunk] = []
    while True:
        chunk = reader.read(record, cursor, limit=limit)
        for draft in chunk.drafts:
            codec.to_bytes(codec.decode(payload_class(draft.kind), draft.payload))
        drafts += chunk.drafts
        chunks.append(chunk)
        cursor = stored(chunk.cursor)
        if not chunk.more:
            return drafts, cursor, chunks


def of_kind(drafts: list[Draft], kind: str) -> list[Mapping[str, Any]]:
    return [draft.payload for draft in drafts if draft.kind == kind]


def kinds(drafts: list[Draft]) -> list[str]:
    return [draft.kind for draft in drafts]

"""What was said in Fazm, for the sessions that have no transcript: the chat in its own database.

The database is the app's, which merges and deletes in its folder: it is opened so that not even the files
beside it are made. Plain read-only SQLite would make them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from datetime import UTC
from pathlib import Path
from typing import Any
from urllib.parse import quote

from fazm_memory.capture.agents.fazm_sessions import NAME, FazmSession
from fazm_memory.capture.agents.fields import SAID, capped, ident, moment, sequence, text
from fazm_memory.capture.agents.reader import Chunk, Cursor, Places, RecordFile
from fazm_memory.capture.draft import Draft
from fazm_memory.model import clock

DATABASE = "fazm.db"
APPS = ("Fazm", "Fazm-Dev")
ROWS = 500
SETTLE = 60.0  # seconds: an answer is saved while it is still being written
WANTED = ("messageId", "sender", "messageText", "createdAt", "session_id")
UNPLACED = "chat message without a session"


def databases(places: Places) -> Iterator[Path]:
    support = places.home / "Library" / "Application Support"
    for app in APPS:
        yield from (support / app / "users").glob(f"*/{DATABASE}")


def read_chat(
    path: Path,
    cursor: Cursor,
    *,
    now: float,
    sessions: Mapping[str, FazmSession],
    transcripts: Callable[[], Iterable[RecordFile]],
) -> Chunk:
    """The messages after the cursor that no transcript tells. OSError says that now it cannot be read."""
    last, told = text(cursor.carry.get("last")), list(sequence(cursor.carry.get("told")))
    try:
        rows = _rows(path, last, told)
    except sqlite3.OperationalError as error:
        raise OSError(f"Fazm's chat cannot be read just now: {error}") from error
    except sqlite3.DatabaseError:
        return Chunk((), cursor, bad=1)  # it is no database, or no longer one
    settled = _moment_text(now - SETTLE)
    new = [row for row in rows if text(row["createdAt"]) <= settled]
    covered = {record.session for record in transcripts()} if new else set()
    drafts: list[Draft] = []
    unplaced = 0
    for row in new:
        session = ident(row["session_id"])
        if not session:
            unplaced += 1
        elif session not in covered:
            drafts += _drafts(row, session, sessions.get(session))
        at = text(row["createdAt"])
        told = [*told, text(row["messageId"])] if at == last else [text(row["messageId"])]
        last = at
    carry = {"last": last, "told": told[-ROWS:]} if last else {}
    more = len(rows) == ROWS and len(new) == len(rows)
    unknown = {UNPLACED: unplaced} if unplaced else {}
    return Chunk(tuple(drafts), Cursor(cursor.offset + len(new), carry), more, unknown)


def _drafts(row: Mapping[str, Any], session: str, listed: FazmSession | None) -> Iterator[Draft]:
    kind = {"user": "prompt", "ai": "message"}.get(text(row["sender"]))
    said, name = text(row["messageText"]).strip(), ident(row["messageId"])
    if kind is None or not said or not name:
        return
    at = moment(f"{text(row['createdAt'])[:23]}+00:00")
    opening = {"agent": NAME, "agent_session_id": session} | (listed.opening() if listed else {})
    source = "transcript"
    yield Draft(session, "session.open", opening, NAME, at, source=source, key=f"{NAME}:{session}:open")
    yield Draft(session, kind, {"text": capped(said, SAID)}, NAME, at, source=source, key=f"{NAME}:{name}")


def _rows(path: Path, last: str, told: list[Any]) -> list[dict[str, Any]]:
    """Messages from a moment on. Row numbers are used again after a chat is cleared, moments are not."""
    with closing(sqlite3.connect(_address(path), uri=True, timeout=0.2)) as database:
        database.text_factory = lambda raw: raw.decode("utf-8", "replace")
        columns = {row[1] for row in database.execute("PRAGMA table_info(chat_messages)")}
        if not columns.issuperset(WANTED):
            return []  # no chat yet, or one of a version that did not name its session
        query = (
            f"SELECT {', '.join(WANTED)} FROM chat_messages WHERE typeof(createdAt) = 'text'"
            " AND createdAt >= ? ORDER BY createdAt, messageId LIMIT ?"
        )
        found = database.execute(query, (last, ROWS + len(told))).fetchall()
    rows = [dict(zip(WANTED, row, strict=True)) for row in found]
    return [row for row in rows if row["createdAt"] != last or row["messageId"] not in told][:ROWS]


def _address(path: Path) -> str:
    """With the app at work there is shared memory beside the database, which we only look at; without it the
    database is as good as frozen. Either way nothing is made."""
    shared = path.with_name(f"{path.name}-shm").exists()
    return f"file:{quote(str(path))}?mode=ro&{'readonly_shm' if shared else 'immutable'}=1"


def _moment_text(seconds: float) -> str:
    """A moment as the app writes it: UTC without saying so."""
    return clock.moment(round(seconds * 1_000_000), UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:23]

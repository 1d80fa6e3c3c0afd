"""Databases and whole files that nobody wrote: bent values never raise, and cost only their own row."""

from __future__ import annotations

import json
import random
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.agents.base import Places, RecordFile
from fazm_memory.agents.cline import Cline
from fazm_memory.agents.cursor import CursorAgent
from fazm_memory.events.event import Draft
from tests.agents.reading import FIXTURES, read_on, record_of
from tests.agents.test_database_agents import MAKERS
from tests.agents.test_readers_fuzz import bent, places_in

TABLES = {"hermes": "messages", "goose": "messages", "openclaw": "transcript_events", "cursor": "blobs"}
TEXTS = ("content", "content_json", "event_json")
SEEDS = range(8)
STRANGE: list[Any] = [
    None,
    "",
    0,
    -(2**62),
    1e300,
    b"\xff\x00\xfe",
    "x" * 9000,
    "{",
    "[[[",
    '{"role":{}}',
    "null",
]
CLINE = FIXTURES / "cline-3.0.65/sessions/1794905035000_ab12c/1794905035000_ab12c.messages.json"
every_agent = pytest.mark.parametrize("agent", TABLES)
every_seed = pytest.mark.parametrize("seed", SEEDS)


def read_all(agent: str, home: Path) -> list[Draft]:
    reader = MAKERS[agent][0]()
    (record,) = reader.find(Places(home))
    return read_on(reader, record)[0]


def keys(drafts: list[Draft]) -> set[str | None]:
    return {draft.key for draft in drafts if draft.kind not in ("action.start", "action", "seen", "todos")}


@every_agent
@every_seed
def test_a_bent_row_takes_nothing_from_the_others(agent: str, seed: int, tmp_path: Path) -> None:
    dice = random.Random(f"{agent}:{seed}")
    path = MAKERS[agent][1](tmp_path / "bent")
    whole, table = MAKERS[agent][1](tmp_path / "without"), TABLES[agent]
    connection = sqlite3.connect(path)
    (row,) = dice.choice(connection.execute(f"SELECT rowid FROM {table}").fetchall())
    names = [column[1] for column in connection.execute(f"PRAGMA table_info({table})") if not column[3]]
    names = [name for name in names if name not in ("id", "session_id", "seq", "message_id")]
    name = dice.choice(names)
    value = dice.choice(STRANGE)
    (before,) = connection.execute(f"SELECT {name} FROM {table} WHERE rowid=?", (row,)).fetchone()
    if isinstance(before, (str, bytes)) and before[:1] in ("{", b"{") and dice.random() < 0.6:
        line = before.encode() if isinstance(before, str) else before
        value = bent(line + b"\n", dice).decode("utf-8", "replace")
    connection.execute(f"UPDATE {table} SET {name}=? WHERE rowid=?", (value, row))
    connection.commit()
    connection.close()
    connection = sqlite3.connect(whole)
    connection.execute(f"DELETE FROM {table} WHERE rowid=?", (row,))
    connection.commit()
    connection.close()
    assert keys(read_all(agent, tmp_path / "without")) <= keys(read_all(agent, tmp_path / "bent"))


@pytest.mark.parametrize("agent", ["hermes", "goose", "openclaw"])  # of Cursor, texts are bytes
def test_a_text_that_is_no_utf_8_costs_at_most_its_own_row(agent: str, tmp_path: Path) -> None:
    """One such text once made the whole database unreadable."""
    path, table = MAKERS[agent][1](tmp_path), TABLES[agent]
    whole = keys(read_all(agent, tmp_path))
    connection = sqlite3.connect(path)
    texts = [
        (row, column[1], value)
        for column in connection.execute(f"PRAGMA table_info({table})").fetchall()
        for row, value in connection.execute(f"SELECT rowid, {column[1]} FROM {table}").fetchall()
        if column[1] in TEXTS and isinstance(value, str) and len(value) > 20
    ]
    row, column, value = texts[0]
    middle = len(value) // 2
    broken = f"{value[:middle]}\xff{value[middle:]}".encode("latin-1", "replace")
    connection.execute(f"UPDATE {table} SET {column}=CAST(? AS TEXT) WHERE rowid=?", (broken, row))
    connection.commit()
    connection.close()
    reader = MAKERS[agent][0]()
    (record,) = reader.find(Places(tmp_path))
    assert [chunk.trouble for chunk in read_on(reader, record)[2]] == [""]
    assert len(whole - keys(read_all(agent, tmp_path))) <= 1


@every_seed
def test_a_bent_message_of_cline_takes_nothing_from_the_others(seed: int, tmp_path: Path) -> None:
    dice = random.Random(f"cline:{seed}")
    for _ in range(6):
        stored = json.loads(CLINE.read_bytes())
        hit = dice.randrange(len(stored["messages"]))
        *above, last = dice.choice(list(places_in(stored["messages"][hit])))
        holder = stored["messages"][hit]
        for name in above:
            holder = holder[name]
        holder[last] = dice.choice([None, 7, [], {}, "", [[]], "x", {"type": []}])
        without = json.loads(CLINE.read_bytes())
        del without["messages"][hit]
        assert keys(cline(without, tmp_path)) <= keys(cline(stored, tmp_path))


def cline(stored: Any, folder: Path) -> list[Draft]:
    path = folder / CLINE.name
    path.write_text(json.dumps(stored))
    return read_on(Cline(), record_of(path, CLINE.parent.name))[0]


@every_seed
def test_bent_lines_of_cursor_are_read_to_the_end(seed: int, tmp_path: Path) -> None:
    dice = random.Random(f"cursor:{seed}")
    (source,) = FIXTURES.glob("cursor*/projects/*/agent-transcripts/*/[0-9a-f]*.jsonl")
    lines = source.read_bytes().splitlines(keepends=True)
    path = tmp_path / source.name
    path.write_bytes(b"".join(bent(line, dice) if dice.random() < 0.5 else line for line in lines))
    record = RecordFile("cursor", path, source.stem, path.stat().st_size, 1.0, quiet=True)
    _, cursor, _ = read_on(CursorAgent(), record, limit=dice.choice([1, 300, 1 << 20]))
    assert cursor.offset <= path.stat().st_size

"""Agents with databases: Hermes, Goose, OpenClaw and Cursor's CLI. The cursor is a row, counts are exact."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from fazm_memory.agents.base import Places, Reader
from fazm_memory.agents.cursor import CursorAgent
from fazm_memory.agents.goose import Goose
from fazm_memory.agents.hermes import Hermes
from fazm_memory.agents.openclaw import OpenClaw
from fazm_memory.events.event import Draft
from tests.agents.reading import FIXTURES, of_kind, read_on, record_of

OPENCLAW_EVENTS = (FIXTURES / "openclaw-2026.9.6" / "events.jsonl").read_text().splitlines()
OPENCLAW = json.loads(OPENCLAW_EVENTS[0])["id"]
CURSOR = "3b7d4c10-52aa-4e0f-9d0a-6a1d5a0f7b21"


def from_sql(path: Path, fixture: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path)
    connection.executescript((FIXTURES / fixture).read_text())
    connection.close()
    return path


def openclaw_database(path: Path) -> Path:
    """Every second event is compressed, as OpenClaw does with large ones."""
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path)
    connection.execute(
        "CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT, event_zstd BLOB,"
        " PRIMARY KEY (session_id, seq))"
    )
    for seq, event in enumerate(OPENCLAW_EVENTS):
        packed = zstandard.ZstdCompressor().compress(event.encode()) if seq % 2 else None
        row = (OPENCLAW, seq, None if packed else event, packed)
        connection.execute("INSERT INTO transcript_events VALUES (?, ?, ?, ?)", row)
    connection.commit()
    connection.close()
    return path


MAKERS: dict[str, tuple[type[Any], Callable[[Path], Path]]] = {
    "hermes": (Hermes, lambda home: from_sql(home / ".hermes/state.db", "hermes-0.19.0/state.sql")),
    "goose": (
        Goose,
        lambda home: from_sql(
            home / ".local/share/goose/sessions/sessions.db", "goose-database/sessions.sql"
        ),
    ),
    "openclaw": (
        OpenClaw,
        lambda home: openclaw_database(home / ".openclaw/agents/main/agent/openclaw-agent.sqlite"),
    ),
    "cursor": (
        CursorAgent,
        lambda home: from_sql(home / ".cursor/chats/0f" / CURSOR / "store.db", "cursor/store.sql"),
    ),
}


def found(agent: str, home: Path) -> tuple[Reader, Path]:
    reader, make = MAKERS[agent]
    return reader(), make(home)


def read(agent: str, home: Path, *, limit: int = 1 << 20) -> list[Draft]:
    reader, path = found(agent, home)
    session = next(iter(reader.find(Places(home)))).session
    return read_on(reader, record_of(path, session), limit=limit)[0]


def outcomes(drafts: list[Draft]) -> list[tuple[Any, ...]]:
    return [(one["tool"], one["outcome"], one.get("error")) for one in of_kind(drafts, "action")]


every_agent = pytest.mark.parametrize("agent", MAKERS)


@every_agent
def test_the_database_is_found_and_left_as_it_was(agent: str, tmp_path: Path) -> None:
    reader, path = found(agent, tmp_path)
    before = {file: file.read_bytes() for file in path.parent.iterdir()}
    records = list(reader.find(Places(tmp_path)))
    read_on(reader, records[0])
    assert [(record.agent, record.path) for record in records] == [(agent, path)]
    assert {file: file.read_bytes() for file in path.parent.iterdir()} == before
    assert list(reader.find(Places(tmp_path / "none"))) == []


@every_agent
def test_how_it_is_cut_into_chunks_changes_nothing(agent: str, tmp_path: Path) -> None:
    whole = [draft.key for draft in read(agent, tmp_path / "a") if draft.kind != "action.start"]
    rows = [draft.key for draft in read(agent, tmp_path / "b", limit=1) if draft.kind != "action.start"]
    assert sorted(map(str, rows)) == sorted(map(str, whole))
    assert len(set(whole)) == len(whole)


@every_agent
def test_what_was_read_is_not_read_again_and_no_database_is_bad(agent: str, tmp_path: Path) -> None:
    reader, path = found(agent, tmp_path)
    _, cursor, chunks = read_on(reader, record_of(path, CURSOR))
    assert sum(chunk.bad for chunk in chunks) == 0
    assert all(chunk.unknown == {} for chunk in chunks)
    assert read_on(reader, record_of(path, CURSOR), cursor)[0] == []
    path.write_bytes(b"no database" * 200)
    assert [chunk.bad for chunk in read_on(reader, record_of(path, CURSOR))[2]] == [1]


@every_agent
def test_text_of_hooks_and_context_is_recorded_nowhere(agent: str, tmp_path: Path) -> None:
    told = json.dumps([draft.payload for draft in read(agent, tmp_path)])
    assert "TEXT OF A HOOK" not in told
    assert "user_info" not in told


def test_hermes(tmp_path: Path) -> None:
    drafts = read("hermes", tmp_path)
    connection = sqlite3.connect(tmp_path / ".hermes/state.db")
    query = "SELECT role, count(*) FROM messages WHERE content <> '' GROUP BY role"
    counts = dict(connection.execute(query).fetchall())
    connection.close()
    assert len(of_kind(drafts, "prompt")) == counts["user"] == 2
    assert len(of_kind(drafts, "message")) == counts["assistant"] == 2
    assert len(of_kind(drafts, "action")) == counts["tool"] == 5
    first, second = of_kind(drafts, "session.open")
    assert (first["workspace"], first["title"]) == ("/Users/dana/garden", "Plan of the garden")
    assert second["parent"] == first["agent_session_id"]
    assert outcomes(drafts) == [
        ("terminal", "ok", None),
        ("write_file", "ok", None),
        ("terminal", "error", "exit code 2: no rule"),
        ("todo", "ok", None),
        ("read_file", "error", "File not found: /Users/dana/garden/none"),
    ]
    assert of_kind(drafts, "todos")[0]["items"][0]["text"] == "buy roses"
    assert of_kind(drafts, "seen") == [{"folder": "/Users/dana/garden", "files": ["beds.txt"]}]


def test_hermes_before_it_had_a_table_of_sessions(tmp_path: Path) -> None:
    path = from_sql(tmp_path / "state.db", "hermes-0.19.0/state.sql")
    connection = sqlite3.connect(path)
    connection.execute("DROP TABLE sessions")
    connection.execute("ALTER TABLE messages DROP COLUMN tool_name")
    connection.commit()
    connection.close()
    drafts = read_on(Hermes(), record_of(path, "state.db"))[0]
    assert len(of_kind(drafts, "action")) == 5
    assert "workspace" not in of_kind(drafts, "session.open")[0]


def test_goose(tmp_path: Path) -> None:
    drafts = read("goose", tmp_path)
    assert of_kind(drafts, "session.open") == [
        {
            "agent": "goose",
            "agent_session_id": "20261117_3",
            "workspace": "/Users/dana/bread",
            "title": "Bread recipe",
            "model": "gpt-4.1",
        }
    ]
    assert of_kind(drafts, "prompt") == [{"text": "Write the recipe."}]
    assert [one["text"] for one in of_kind(drafts, "message")] == ["I look.", "I could not write it."]
    assert of_kind(drafts, "evicted") == [{"keys": [], "summary": "Bread: the shelf was looked at."}]
    assert [one[:2] for one in outcomes(drafts)] == [
        ("developer__shell", "ok"),
        ("developer__shell", "error"),
        ("developer__write", "denied"),
    ]
    assert str(outcomes(drafts)[1][2]).startswith("exit code 2: no rule")


def test_goose_inserts_rows_again_under_their_ids(tmp_path: Path) -> None:
    reader, path = found("goose", tmp_path)
    first, cursor, _ = read_on(reader, record_of(path, "sessions.db"))
    connection = sqlite3.connect(path)
    connection.execute("UPDATE messages SET id = id + 100")
    connection.commit()
    connection.close()
    again = read_on(reader, record_of(path, "sessions.db"), cursor)[0]
    assert {draft.key for draft in again} <= {draft.key for draft in first}


def test_openclaw(tmp_path: Path) -> None:
    drafts = read("openclaw", tmp_path)
    messages = [event["message"] for event in map(json.loads, OPENCLAW_EVENTS) if event["type"] == "message"]
    roles = [message["role"] for message in messages]
    assert len(of_kind(drafts, "prompt")) == roles.count("user") == 1
    assert len(of_kind(drafts, "action")) == roles.count("toolResult") == 5
    assert len(of_kind(drafts, "usage")) == roles.count("assistant") == 6
    assert [one["text"] for one in of_kind(drafts, "message")] == ["I look.", "The songs are sorted."]
    assert outcomes(drafts) == [
        ("exec", "ok", None),
        ("write", "ok", None),
        ("edit", "ok", None),
        ("exec", "error", "exit code 3: wrong option"),
        ("read", "error", "File not found"),
    ]
    path = "/Users/dana/music/list.txt"
    assert [one.get("files") for one in of_kind(drafts, "action")[1:3]] == [
        [{"path": path, "change": "created"}],
        [{"path": path, "change": "modified"}],
    ]
    assert of_kind(drafts, "usage")[0]["input_tokens"] == 105
    assert of_kind(drafts, "evicted") == [{"keys": [], "summary": "The songs were listed."}]


def test_openclaw_before_its_database(tmp_path: Path) -> None:
    sessions = tmp_path / ".openclaw" / "agents" / "main" / "sessions"
    sessions.mkdir(parents=True)
    for name in (f"{OPENCLAW}.jsonl", f"{OPENCLAW}.checkpoint.1.jsonl", f"{OPENCLAW}.jsonl.bak"):
        (sessions / name).write_text("\n".join(OPENCLAW_EVENTS) + "\n")
    (record,) = OpenClaw().find(Places(tmp_path))
    lines = read_on(OpenClaw(), record)[0]
    assert [draft.key for draft in lines] == [draft.key for draft in read("openclaw", tmp_path)]
    assert [file.path.suffix for file in OpenClaw().find(Places(tmp_path))] == [".sqlite"]


def test_cursor(tmp_path: Path) -> None:
    drafts = read("cursor", tmp_path)
    assert of_kind(drafts, "session.open")[0] == {
        "agent": "cursor",
        "agent_session_id": CURSOR,
        "workspace": "/Users/dana/notes",
        "title": "Words",
        "model": "auto",
    }
    assert of_kind(drafts, "prompt") == [{"text": "Count words."}]
    assert [one["text"] for one in of_kind(drafts, "message")] == ["I count.", "There is no such file."]
    assert [one[:2] for one in outcomes(drafts)] == [("Shell", "error"), ("Read", "error")]
    assert str(outcomes(drafts)[0][2]).startswith("exit code 1: ")


def test_openclaw_is_read_again_after_it_rewrote_a_transcript(tmp_path: Path) -> None:
    path = openclaw_database(tmp_path / ".openclaw/agents/main/agent/openclaw-agent.sqlite")
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE transcript_rewrite_watermarks (session_id TEXT, generation INTEGER)")
    connection.execute("INSERT INTO transcript_rewrite_watermarks VALUES ('s', 1)")
    connection.commit()
    first, cursor, _ = read_on(OpenClaw(), record_of(path, "x"))
    # The last event is replaced by another one, in the same row.
    new = json.loads(OPENCLAW_EVENTS[-1]) | {"id": "new-event"}
    last = len(OPENCLAW_EVENTS) - 1
    change = "UPDATE transcript_events SET event_json=?, event_zstd=NULL WHERE seq=?"
    connection.execute(change, (json.dumps(new), last))
    connection.execute("UPDATE transcript_rewrite_watermarks SET generation=2")
    connection.commit()
    connection.close()
    second, _, _ = read_on(OpenClaw(), record_of(path, "x"), cursor)
    fresh = {draft.key for draft in second} - {draft.key for draft in first}
    assert fresh
    assert all("new-event" in str(key) for key in fresh)


def test_goose_before_its_database(tmp_path: Path) -> None:
    folder = tmp_path / ".local/share/goose/sessions"
    folder.mkdir(parents=True)
    call = {"status": "success", "value": {"name": "developer__shell", "arguments": {"command": "ls"}}}
    lines: list[dict[str, Any]] = [
        {"description": "Beds", "id": "20250724_1", "working_dir": "/Users/dana/garden", "message_count": 3},
        {"id": "m1", "role": "user", "created": 1784278801, "content": [{"type": "text", "text": "List."}]},
        {
            "id": "m2",
            "role": "assistant",
            "created": 1784278802,
            "content": [
                {"type": "text", "text": "I look."},
                {"type": "toolRequest", "id": "c", "toolCall": call},
            ],
        },
        {
            "id": "m3",
            "role": "user",
            "created": 1784278803,
            "content": [
                {"type": "toolResponse", "id": "c", "toolResult": {"status": "error", "error": "no"}}
            ],
        },
    ]
    path = folder / "20250724_1.jsonl"
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    (record,) = Goose().find(Places(tmp_path))
    drafts = read_on(Goose(), record)[0]
    opened = of_kind(drafts, "session.open")[0]
    assert (opened["workspace"], opened["title"]) == ("/Users/dana/garden", "Beds")
    assert [one["text"] for one in of_kind(drafts, "prompt")] == ["List."]
    assert outcomes(drafts) == [("developer__shell", "error", "no")]
    from_sql(folder / "sessions.db", "goose-database/sessions.sql")
    assert [file.path.name for file in Goose().find(Places(tmp_path))] == ["sessions.db"]

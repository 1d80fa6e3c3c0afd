"""Chats of Cursor's IDE: read in their order, once, when they are complete."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.agents.base import Cursor, Places
from fazm_memory.agents.cursor import CursorAgent
from fazm_memory.events.event import Draft
from tests.agents.reading import of_kind, read_on
from tests.agents.test_database_fuzz import STRANGE
from tests.agents.test_readers_fuzz import bent

CHAT = "5d0c2a7e-0000-4000-8000-00000000c0de"
OTHER = "6e1d3b8f-0000-4000-8000-00000000c0de"


class Ide:
    """A database of the IDE. `add` writes messages and the chat that lists them."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.path = home / ".config" / "Cursor" / "User" / "globalStorage" / "state.vscdb"
        self.path.parent.mkdir(parents=True)
        self.headers: dict[str, list[str]] = {}
        self.connection = sqlite3.connect(self.path, isolation_level=None)
        for table in ("ItemTable", "cursorDiskKV"):
            self.connection.execute(f"CREATE TABLE {table} (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
        self.put("ItemTable", "cursorAuth/accessToken", "secret")

    def put(self, table: str, key: str, value: Any) -> None:
        data = value if isinstance(value, str) else json.dumps(value).encode()
        self.connection.execute(f"INSERT INTO {table} VALUES (?, ?)", (key, data))

    def message(self, name: str, chat: str = CHAT, **values: Any) -> None:
        self.put("cursorDiskKV", f"bubbleId:{chat}:{name}", values)

    def chat(self, *headers: str, chat: str = CHAT, **values: Any) -> None:
        about = {
            "composerId": chat, "name": "Bread", "createdAt": 1_794_900_000_000, "status": "completed",
            "workspaceIdentifier": {"id": "w", "uri": {"fsPath": "/Users/dana/bread", "scheme": "file"}},
            "fullConversationHeadersOnly": [{"bubbleId": name, "type": 1} for name in headers],
        }  # fmt: skip
        self.put("cursorDiskKV", f"composerData:{chat}", about | values)

    def read(self, cursor: Cursor | None = None, limit: int = 1 << 20) -> tuple[list[Draft], Cursor]:
        agent = CursorAgent(str(self.home))
        [record] = [one for one in agent.find(Places(self.home, {})) if one.path == self.path]
        found, drafts = cursor or Cursor(), []
        while True:
            chunk = agent.read(record, found, limit=limit)
            assert (chunk.bad, chunk.unknown) == (0, {})
            drafts += chunk.drafts
            found = Cursor(chunk.cursor.offset, json.loads(json.dumps(chunk.cursor.carry)))
            if not chunk.more:
                return drafts, found


@pytest.fixture
def ide(tmp_path: Path) -> Iterator[Ide]:
    made = Ide(tmp_path)
    with closing(made.connection):
        yield made


def shell(status: str, result: Any = None, **more: Any) -> dict[str, Any]:
    call = {"name": "run_terminal_cmd", "rawArgs": '{"command":"make bread"}', "status": status, **more}
    return {"type": 2, "toolFormerData": call | ({"result": json.dumps(result)} if result else {})}


def texts(drafts: list[Draft]) -> list[str]:
    return [draft.payload["text"] for draft in drafts if draft.kind in ("prompt", "message")]


def test_a_chat_is_read_in_the_order_that_it_lists(ide: Ide) -> None:
    ide.message("b3", type=2, text="Done.", createdAt="2026-11-17T10:00:03Z",
                tokenCount={"inputTokens": 900, "outputTokens": 30})  # fmt: skip
    ide.message("b2", **shell("completed", {"output": "no rule", "exitCode": 2}, toolCallId="c1"))
    ide.message("b1", type=1, text="Bake the bread.", createdAt="2026-11-17T10:00:01Z")
    ide.message("lost", type=1, text="of no chat")
    ide.chat("b1", "b2", "b3")
    drafts, cursor = ide.read()
    assert [draft.kind for draft in drafts] == ["session.open", "prompt", "action", "message", "usage"]
    opened = of_kind(drafts, "session.open")[0]
    assert (opened["workspace"], opened["title"]) == ("/Users/dana/bread", "Bread")
    action = of_kind(drafts, "action")[0]
    assert (action["tool"], action["outcome"], action["call_id"]) == ("run_terminal_cmd", "error", "c1")
    assert texts(drafts) == ["Bake the bread.", "Done."]
    assert ide.read(cursor)[0] == []


def test_a_message_that_is_being_written_waits(ide: Ide) -> None:
    ide.message("b1", type=1, text="Bake.")
    ide.message("b2", type=2, text="I am ba")
    ide.chat("b1", "b2", status="generating")
    first, cursor = ide.read()
    assert texts(first) == ["Bake."]
    ide.message("b2", type=2, text="I am baking.")
    ide.chat("b1", "b2", status="completed")
    second, cursor = ide.read(cursor)
    assert texts(second) == ["I am baking."]
    ide.message("b3", **shell("loading"))
    ide.chat("b1", "b2", "b3", status="generating")
    third, cursor = ide.read(cursor)
    assert third == []
    ide.message("b4", type=1, text="Never mind.")
    ide.chat("b1", "b2", "b3", "b4")
    fourth, _ = ide.read(cursor)
    assert [draft.kind for draft in fourth] == ["action", "prompt"]
    assert of_kind(fourth, "action")[0]["outcome"] == "interrupted"


def test_chats_are_read_in_small_chunks_and_counts_are_exact(ide: Ide) -> None:
    for number in range(30):
        names = [f"m{one}" for one in range(number)]
        for name in names:
            ide.message(name, f"chat-{number}", type=1, text=f"{name} of {number}")
        ide.chat(*names, chat=f"chat-{number}")
    drafts, _ = ide.read(limit=200)
    query = "SELECT count(*) FROM cursorDiskKV WHERE key LIKE 'bubbleId:%'"
    assert len(texts(drafts)) == ide.connection.execute(query).fetchone()[0]
    assert len({draft.key for draft in drafts}) == len(drafts)


def test_messages_that_were_taken_back_stay_recorded_once(ide: Ide) -> None:
    for name in ("b1", "b2", "b3"):
        ide.message(name, type=1, text=name)
    ide.chat("b1", "b2", "b3")
    first, cursor = ide.read()
    ide.message("b4", type=1, text="b4")
    ide.chat("b1", "b4")
    second, _ = ide.read(cursor)
    keys = {draft.key for draft in first}
    assert [draft.payload["text"] for draft in second if draft.key not in keys] == ["b4"]


def test_a_chat_with_a_transcript_is_left_to_it(ide: Ide) -> None:
    transcript = ide.home / ".cursor" / "projects" / "bread" / "agent-transcripts" / CHAT / f"{CHAT}.jsonl"
    transcript.parent.mkdir(parents=True)
    transcript.write_text('{"role":"user","message":{"content":[{"type":"text","text":"Bake."}]}}\n')
    for chat in (CHAT, OTHER):
        ide.message("b1", chat, type=1, text=f"in {chat}")
        ide.chat("b1", chat=chat)
    assert texts(ide.read()[0]) == [f"in {OTHER}"]
    records = list(CursorAgent(str(ide.home)).find(Places(ide.home, {})))
    assert {record.path.name for record in records} == {transcript.name, "state.vscdb"}
    assert texts(read_on(CursorAgent(str(ide.home)), records[0])[0]) == ["Bake."]


@pytest.mark.parametrize("seed", range(20))
def test_bent_values_never_raise_and_cost_only_their_own_message(ide: Ide, seed: int) -> None:
    dice = random.Random(f"cursor-ide:{seed}")
    names = [f"b{number}" for number in range(8)]
    for name in names:
        ide.message(
            name, **(shell("completed", {"output": "ok"}) if name == "b3" else {"type": 1, "text": name})
        )
    ide.chat(*names)
    bad = dice.choice(names[:-1])
    key = f"bubbleId:{CHAT}:{bad}"
    (data,) = ide.connection.execute("SELECT value FROM cursorDiskKV WHERE key=?", (key,)).fetchone()
    value = dice.choice([*STRANGE, bent(data + b"\n", dice), bent(data + b"\n", dice)])
    ide.connection.execute("INSERT INTO cursorDiskKV VALUES (?, ?)", (key, value))
    ide.connection.execute(
        "INSERT INTO cursorDiskKV VALUES (?, ?)", (dice.choice(STRANGE), dice.choice(STRANGE))
    )
    ide.connection.execute(
        "INSERT INTO cursorDiskKV VALUES (?, ?)", (f"composerData:{OTHER}", dice.choice(STRANGE))
    )
    agent = CursorAgent(str(ide.home))
    record = next(one for one in agent.find(Places(ide.home, {})) if one.path == ide.path)
    drafts = read_on(agent, record)[0]
    assert set(names) - {bad, "b3"} <= {str(draft.key).rpartition(":")[2] for draft in drafts}


def test_a_database_without_chats_is_no_error(ide: Ide) -> None:
    ide.connection.execute("DROP TABLE cursorDiskKV")
    agent = CursorAgent(str(ide.home))
    record = next(one for one in agent.find(Places(ide.home, {})) if one.path == ide.path)
    assert agent.read(record, Cursor()).drafts == ()

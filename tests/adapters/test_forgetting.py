"""Forgetting a session removes what a framework stored for it, and nothing else."""

from __future__ import annotations

import asyncio
from typing import Any

from fazm_memory.adapters.claude_sdk import FazmSessionStore
from fazm_memory.adapters.openai_agents import FazmSession
from fazm_memory.store.store import STORE_FOLDER

from .conftest import OpenMemory

SECRET = "the password is swordfish-4711"
ITEM: Any = {"role": "user", "content": SECRET}


def test_a_frameworks_data_is_forgotten_with_its_session(open_memory: OpenMemory) -> None:
    entry: Any = {"type": "user", "uuid": "u1", "message": {"role": "user", "content": SECRET}}
    main: Any = {"project_key": "-w", "session_id": "gone"}
    for name in ("gone", "gone too late"):
        with FazmSession(name, open_memory("one")) as session:
            asyncio.run(session.add_items([ITEM]))
    with FazmSessionStore(open_memory("one")) as store:
        asyncio.run(store.append(main, [entry]))
        asyncio.run(store.append({**main, "subpath": "subagents/agent-1"}, [entry]))

    memory = open_memory("one")
    for row in memory.sessions.listing():
        if row["agent_session_id"] == "gone":
            memory.maintenance.forget(row["id"])
    memory.close()

    with FazmSessionStore(open_memory("one")) as store:
        assert asyncio.run(store.load(main)) is None
        assert asyncio.run(store.list_subkeys(main)) == []
        assert asyncio.run(store.list_sessions("-w")) == []
    for name, left in (("gone", []), ("gone too late", [ITEM])):
        with FazmSession(name, open_memory("one")) as session:
            assert asyncio.run(session.get_items()) == left


def test_a_frameworks_data_is_encrypted_and_readable_by_its_owner_only(open_memory: OpenMemory) -> None:
    memory = open_memory("one")
    with FazmSession("talk", memory) as session:
        asyncio.run(session.add_items([ITEM]))
        folder = memory.config.home / STORE_FOLDER
        files = sorted(folder.glob("drawer.db*"))
        assert files
        for path in files:
            assert path.stat().st_mode & 0o077 == 0
            assert b"swordfish" not in path.read_bytes()


def test_a_frameworks_data_is_in_no_search_and_no_context(open_memory: OpenMemory) -> None:
    memory = open_memory("one")
    memory.recording.pause()
    memory.close()
    with FazmSession("talk", memory) as session:
        asyncio.run(session.add_items([ITEM]))
    memory.recording.resume()
    assert memory.recall.search("swordfish") == []
    assert "swordfish" not in memory.recall.context(None).text

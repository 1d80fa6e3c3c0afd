"""Forgetting a session takes away what a framework left for it, and nothing of anybody else."""

from __future__ import annotations

import asyncio
from typing import Any

from fazm_memory.adapters.claude_sdk import FazmSessionStore
from fazm_memory.adapters.openai_agents import FazmSession
from fazm_memory.log.store import STORE_FOLDER

from .conftest import OpenMemory

SECRET = "the password is swordfish-4711"
ITEM: Any = {"role": "user", "content": SECRET}


def test_what_a_framework_left_goes_with_its_session(open_memory: OpenMemory) -> None:
    entry: Any = {"type": "user", "uuid": "u1", "message": {"role": "user", "content": SECRET}}
    main: Any = {"project_key": "-w", "session_id": "gone"}
    for name in ("gone", "gone too late"):
        with FazmSession(name, open_memory("one")) as session:
            asyncio.run(session.add_items([ITEM]))
    with FazmSessionStore(open_memory("one")) as store:
        asyncio.run(store.append(main, [entry]))
        asyncio.run(store.append({**main, "subpath": "subagents/agent-1"}, [entry]))

    memory = open_memory("one")
    for row in memory.sessions():
        if row["agent_session_id"] == "gone":
            memory.forget(row["id"])
    memory.close()

    with FazmSessionStore(open_memory("one")) as store:
        assert asyncio.run(store.load(main)) is None
        assert asyncio.run(store.list_subkeys(main)) == []
        assert asyncio.run(store.list_sessions("-w")) == []
    for name, left in (("gone", []), ("gone too late", [ITEM])):
        with FazmSession(name, open_memory("one")) as session:
            assert asyncio.run(session.get_items()) == left


def test_what_is_left_here_is_encrypted_and_for_its_owner_alone(open_memory: OpenMemory) -> None:
    memory = open_memory("one")
    with FazmSession("talk", memory) as session:
        asyncio.run(session.add_items([ITEM]))
        folder = memory.config.home / STORE_FOLDER
        kept = sorted(folder.glob("drawer.db*"))
        assert kept
        for path in kept:
            assert path.stat().st_mode & 0o077 == 0
            assert b"swordfish" not in path.read_bytes()


def test_what_is_left_here_is_in_no_search_and_no_context(open_memory: OpenMemory) -> None:
    memory = open_memory("one")
    memory.pause_recording()
    memory.close()
    with FazmSession("talk", memory) as session:
        asyncio.run(session.add_items([ITEM]))
    memory.resume_recording()
    assert memory.search("swordfish") == []
    assert "swordfish" not in memory.context(None).text

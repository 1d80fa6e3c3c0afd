"""The Claude Agent SDK's own suite over our store, and what the memory knows afterwards."""

from __future__ import annotations

import asyncio
from typing import Any

from claude_agent_sdk.testing import run_session_store_conformance

from fazm_memory.adapters.claude_sdk import FazmSessionStore

from .conftest import OpenMemory

KEY: Any = {"project_key": "-w", "session_id": "5f0c1c5e-0d55-4a35-9d35-000000000001"}
SECRET = "sk-ant-api03-" + "A1b2C3d4" * 11 + "-abcdefAA"


def entry(uuid: str, kind: str, content: Any, **more: Any) -> Any:
    base = {"type": kind, "uuid": uuid, "timestamp": "2026-11-15T09:00:00Z", "cwd": "/w"}
    return base | {"message": {"role": kind, "content": content}} | more


TALK = [
    entry("u1", "user", "File the scans."),
    entry(
        "a1",
        "assistant",
        [{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": f"echo {SECRET}"}}],
    ),
]
RESULT = entry(
    "u2", "user", [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "done", "is_error": False}]
)


def test_every_contract_of_the_sdks_own_suite_holds(open_memory: OpenMemory) -> None:
    stores: list[FazmSessionStore] = []

    def make() -> Any:
        stores.append(FazmSessionStore(open_memory()))
        return stores[-1]

    asyncio.run(run_session_store_conformance(make))
    assert len(stores) >= 14
    for store in stores:
        store.close()


def test_an_entry_appended_twice_is_stored_once_and_one_without_an_id_each_time(
    open_memory: OpenMemory,
) -> None:
    async def work(store: FazmSessionStore) -> Any:
        await store.append(KEY, TALK)
        await store.append(KEY, [*TALK, {"type": "mode"}, {"type": "mode"}])
        return await store.load(KEY)

    with FazmSessionStore(open_memory()) as store:
        assert asyncio.run(work(store)) == [*TALK, {"type": "mode"}, {"type": "mode"}]


def test_another_process_resumes_from_exactly_what_was_stored(open_memory: OpenMemory) -> None:
    with FazmSessionStore(open_memory("one")) as store:
        asyncio.run(store.append(KEY, TALK))
    with FazmSessionStore(open_memory("one")) as store:
        assert asyncio.run(store.load(KEY)) == TALK


def test_what_is_mirrored_is_recorded_as_a_session_without_its_secrets(open_memory: OpenMemory) -> None:
    with FazmSessionStore(open_memory("one")) as store:
        asyncio.run(store.append(KEY, TALK))
    with FazmSessionStore(open_memory("one")) as store:  # the call that began before ends here
        asyncio.run(store.append(KEY, [RESULT]))
    memory = open_memory("one")
    events = list(memory.history.events(KEY["session_id"]))
    assert [event["kind"] for event in events] == ["session.open", "prompt", "action.start", "action"]
    assert (events[-1]["tool"], events[-1]["outcome"]) == ("Bash", "ok")
    assert SECRET not in str(events)


def test_while_recording_is_paused_the_transcript_is_stored_and_nothing_is_recorded(
    open_memory: OpenMemory,
) -> None:
    memory = open_memory("one")
    memory.recording.pause()
    memory.close()
    with FazmSessionStore(open_memory("one")) as store:
        asyncio.run(store.append(KEY, TALK))
        assert asyncio.run(store.load(KEY)) == TALK
    memory = open_memory("one")
    memory.recording.resume()
    assert [row["agent"] for row in memory.sessions.listing() if row["agent"] == "claude-code"] == []

"""What the OpenAI Agents SDK asks of its sessions, restated over ours, and run with the SDK's own runner."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from agents.memory import Session
from agents.memory.session_settings import SessionSettings

from fazm_memory.adapters.openai_agents import FazmSession

from .conftest import OpenMemory

TALK: list[Any] = [
    {"role": "user", "content": "What city is the Golden Gate Bridge in?"},
    {"type": "function_call", "call_id": "c1", "name": "look_up", "arguments": '{"what": "bridge"}'},
    {"type": "function_call_output", "call_id": "c1", "output": "San Francisco"},
    {"role": "assistant", "content": [{"type": "output_text", "text": "San Francisco."}]},
]


def using(memory: Any, work: Callable[[FazmSession], Awaitable[Any]], name: str = "talk", **more: Any) -> Any:
    with FazmSession(name, memory, **more) as session:
        return asyncio.run(_awaited(work(session)))


async def _awaited(work: Awaitable[Any]) -> Any:
    return await work


def test_it_is_a_session_to_the_sdk(open_memory: OpenMemory) -> None:
    with FazmSession("talk", open_memory()) as session:
        assert isinstance(session, Session)
        assert session.session_id == "talk"


def test_items_come_back_as_they_were_in_their_order_in_another_process_too(open_memory: OpenMemory) -> None:
    async def fill(session: FazmSession) -> None:
        await session.add_items(TALK[:1])
        await session.add_items(TALK[1:])
        await session.add_items([])

    using(open_memory("one"), fill)
    assert using(open_memory("one"), lambda session: session.get_items()) == TALK


def test_a_limit_gives_the_latest_items_in_their_order(open_memory: OpenMemory) -> None:
    async def work(session: FazmSession) -> list[Any]:
        await session.add_items(TALK)
        return [await session.get_items(limit=number) for number in (0, 2, 10)]

    assert using(open_memory(), work) == [[], TALK[-2:], TALK]


def test_the_limit_of_the_settings_holds_until_a_call_says_otherwise(open_memory: OpenMemory) -> None:
    async def work(session: FazmSession) -> list[Any]:
        await session.add_items(TALK)
        return [await session.get_items(), await session.get_items(limit=3)]

    found = using(open_memory(), work, session_settings=SessionSettings(limit=1))
    assert found == [TALK[-1:], TALK[-3:]]


def test_popping_removes_the_latest_item_until_none_is_left(open_memory: OpenMemory) -> None:
    async def work(session: FazmSession) -> list[Any]:
        await session.add_items(TALK[:2])
        return [await session.pop_item() for _ in range(3)] + [await session.get_items()]

    assert using(open_memory(), work) == [TALK[1], TALK[0], None, []]


def test_clearing_one_session_leaves_the_others(open_memory: OpenMemory) -> None:
    using(open_memory("one"), lambda session: session.add_items(TALK), "first")
    using(open_memory("one"), lambda session: session.add_items(TALK), "second")
    using(open_memory("one"), lambda session: session.clear_session(), "first")
    assert using(open_memory("one"), lambda session: session.get_items(), "first") == []
    assert using(open_memory("one"), lambda session: session.get_items(), "second") == TALK


@pytest.mark.parametrize("text", ["", "Grüße 🌉 \u2028", "'; DROP TABLE item; --", "\x00\x1f", "\ud800"])
def test_any_text_survives(open_memory: OpenMemory, text: str) -> None:
    item: Any = {"role": "user", "content": text}

    async def work(session: FazmSession) -> Any:
        await session.add_items([item])
        return await session.get_items()

    assert using(open_memory(), work, f"talk {text}/%") == [item]


def test_writers_at_once_lose_nothing(open_memory: OpenMemory) -> None:
    async def work(session: FazmSession) -> Any:
        many: list[Any] = [{"role": "user", "content": str(number)} for number in range(30)]
        await asyncio.gather(*(session.add_items([item]) for item in many))
        found = await session.get_items()
        return sorted(found, key=lambda item: int(item["content"])) == many

    assert using(open_memory(), work)


def test_an_item_that_cannot_be_stored_leaves_the_session_as_it_was(open_memory: OpenMemory) -> None:
    async def work(session: FazmSession) -> Any:
        await session.add_items(TALK)
        unfit: Any = {"role": "user", "content": object()}
        with pytest.raises(TypeError):
            await session.add_items([TALK[0], unfit])
        return await session.get_items()

    assert using(open_memory(), work) == TALK


def test_a_conversation_is_recorded_as_a_session(open_memory: OpenMemory) -> None:
    async def work(session: FazmSession) -> None:
        for item in TALK:
            await session.add_items([item])

    using(open_memory("one"), work)
    events = list(open_memory("one").history.events("talk"))
    assert [event["kind"] for event in events] == [
        "session.open",
        "prompt",
        "action.start",
        "action",
        "message",
    ]
    assert (events[3]["tool"], events[3]["payload"]["input"]) == ("look_up", {"what": "bridge"})
    assert events[1]["trust"] == "agent"

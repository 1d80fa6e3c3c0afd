"""LangGraph's own conformance suite over our checkpointer, and what the memory knows afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any
from uuid import uuid4

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.conformance.capabilities import Capability

from fazm_memory.adapters.langgraph import FazmCheckpointSaver

from .conftest import OpenMemory

THREAD: Any = {"configurable": {"thread_id": "invoices", "checkpoint_ns": ""}}
TALK = [
    HumanMessage("File the scans.", id="h1"),
    AIMessage("", id="a1", tool_calls=[{"name": "move", "args": {"to": "2026"}, "id": "c1"}]),
    ToolMessage("no such folder", tool_call_id="c1", id="t1", status="error"),
    AIMessage("I could not.", id="a2"),
]


def put_checkpoint(saver: FazmCheckpointSaver, messages: list[Any], version: int, **metadata: Any) -> Any:
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = {"messages": messages}
    checkpoint["channel_versions"] = {"messages": version}
    full_metadata: Any = {"source": "loop", "step": version, "parents": {}, **metadata}
    return saver.put(THREAD, checkpoint, full_metadata, {"messages": version})


def test_every_capability_of_the_official_suite_passes(open_memory: OpenMemory) -> None:
    @checkpointer_test(name=f"fazm-{uuid4()}")
    async def ours() -> AsyncIterator[FazmCheckpointSaver]:
        with FazmCheckpointSaver(open_memory()) as saver:
            yield saver

    report = asyncio.run(validate(ours))
    failed = {name: result.failures for name, result in report.results.items() if not result.passed}
    assert failed == {}
    assert set(report.results) == {capability.value for capability in Capability}
    assert sum(result.tests_passed for result in report.results.values()) > 50


def test_sync_and_async_methods_agree(open_memory: OpenMemory) -> None:
    with FazmCheckpointSaver(open_memory()) as saver:
        first = put_checkpoint(saver, TALK[:1], 1)
        saver.put_writes(first, [("messages", TALK[1])], "task")
        found = saver.get_tuple(THREAD)
        assert found == asyncio.run(saver.aget_tuple(THREAD))
        assert found is not None
        assert found.pending_writes == [("task", "messages", TALK[1])]
        saver.copy_thread("invoices", "receipts")
        saver.delete_thread("invoices")
        assert list(saver.list(THREAD)) == []
        copied: Any = {"configurable": {"thread_id": "receipts"}}
        assert [row.checkpoint for row in saver.list(copied)] == [found.checkpoint]
        saver.prune(["receipts"], strategy="delete")
        assert list(saver.list(None)) == []
        with pytest.raises(ValueError, match="newest"):
            saver.prune(["receipts"], strategy="newest")


def test_a_thread_that_needs_its_ancestors_keeps_them_when_pruned(open_memory: OpenMemory) -> None:
    with FazmCheckpointSaver(open_memory()) as saver:
        put_checkpoint(saver, TALK[:1], 1)
        put_checkpoint(saver, TALK[:2], 2, counters_since_delta_snapshot={"messages": (1, 1)})
        saver.prune(["invoices"])
        assert len(list(saver.list(THREAD))) == 2
        put_checkpoint(saver, TALK[:3], 3)
        saver.prune(["invoices"])
        assert [row.checkpoint["channel_values"]["messages"] for row in saver.list(THREAD)] == [TALK[:3]]


def test_messages_are_recorded_once_however_many_checkpoints_contain_them(open_memory: OpenMemory) -> None:
    with FazmCheckpointSaver(open_memory("one")) as saver:
        for number in range(1, len(TALK) + 1):
            put_checkpoint(saver, TALK[:number], number)
    with FazmCheckpointSaver(open_memory("one")) as saver:  # another process
        put_checkpoint(saver, TALK, 5)
    memory = open_memory("one")
    events = list(memory.history.events("invoices"))
    assert [event["kind"] for event in events] == [
        "session.open",
        "prompt",
        "action.start",
        "action",
        "message",
    ]
    assert {event["trust"] for event in events if event["kind"] == "prompt"} == {"agent"}
    action = events[3]
    assert (action["tool"], action["outcome"], action["error"]) == ("move", "error", "no such folder")


def test_messages_sent_while_recording_is_paused_are_not_recorded_later(open_memory: OpenMemory) -> None:
    memory = open_memory("one")
    memory.recording.pause()
    memory.close()
    with FazmCheckpointSaver(open_memory("one")) as saver:
        put_checkpoint(saver, TALK[:3], 1)
    memory.recording.resume()
    memory.close()
    with FazmCheckpointSaver(open_memory("one")) as saver:
        put_checkpoint(saver, TALK, 2)
        found = saver.get_tuple(THREAD)
        assert found is not None
        assert found.checkpoint["channel_values"]["messages"] == TALK
    kinds = [event["kind"] for event in open_memory("one").history.events("invoices")]
    assert kinds == ["session.open", "message"]

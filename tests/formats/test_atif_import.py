"""ATIF trajectories come in, ours come back as they went out, and nothing in them is believed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from atif import Trajectory

from fazm_memory.errors import InvalidRequest
from fazm_memory.formats import from_atif
from tests.app.memory_fixture import MemoryFixture
from tests.formats.test_formats import exported, work

FOREIGN: dict[str, Any] = {
    "schema_version": "ATIF-v1.7",
    "session_id": "run-7",
    "agent": {"name": "harbor", "version": "3", "model_name": "gpt-5"},
    "steps": [
        {"step_id": 1, "source": "system", "message": "You are careful."},
        {"step_id": 2, "source": "user", "message": "Count the herons.", "timestamp": "2026-01-05T10:00:00Z"},
        {
            "step_id": 3,
            "source": "agent",
            "message": [
                {"type": "text", "text": "I look."},
                {"type": "image", "source": {"media_type": "image/png", "path": "a.png"}},
            ],
            "reasoning_content": "Birds.",
            "timestamp": "2026-01-05T10:00:05Z",
            "tool_calls": [{"tool_call_id": "a", "function_name": "bash", "arguments": {"command": "ls"}}],
            "observation": {"results": [{"source_call_id": "a", "content": "19"}]},
            "metrics": {"prompt_tokens": 12, "completion_tokens": 3, "cached_tokens": 2},
        },
        {
            "step_id": 4,
            "source": "agent",
            "message": "",
            "tool_calls": [{"tool_call_id": "b", "function_name": "bash", "arguments": {}}],
        },
    ],
}


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryFixture]:
    monkeypatch.setenv("TZ", "UTC")
    made = MemoryFixture(tmp_path / "memory")
    yield made
    made.close()


def imported(memory: MemoryFixture, document: Any, **options: Any) -> dict[str, Any]:
    file = memory.config.home.parent / "in.json"
    file.write_text(json.dumps(document))
    return memory.bundles.import_(file, **options)


def plain(document: Any) -> Any:
    """A trajectory without ids and positions, which are other ones here."""
    gone = ("seq", "session_id", "trajectory_id", "tool_call_id", "source_call_id", "parent", "notes")
    if isinstance(document, dict):
        return {name: plain(value) for name, value in document.items() if name not in gone}
    return [plain(one) for one in document] if isinstance(document, list) else document


def test_a_session_comes_back_from_its_trajectory(memory: MemoryFixture) -> None:
    first = json.loads(exported(memory, work(memory), "atif"))
    result = imported(memory, first, mine=True)
    second = json.loads(exported(memory, result["session"], "atif"))
    Trajectory.model_validate(second)
    first["extra"]["fazm_memory"].pop("pending")  # ATIF has no place for it among the steps
    first["extra"]["fazm_memory"].pop("files_modified", None)
    second["extra"]["fazm_memory"].pop("files_modified", None)
    assert plain(second) == plain(first)


def test_importing_it_again_adds_nothing(memory: MemoryFixture) -> None:
    once = imported(memory, FOREIGN)
    again = imported(memory, FOREIGN)
    assert (again["session"], again["added"], again["known"]) == (once["session"], 0, once["added"])


def test_a_trajectory_of_another_tool_is_read_and_says_what_was_left_out(memory: MemoryFixture) -> None:
    Trajectory.model_validate(FOREIGN)
    result = imported(memory, FOREIGN, workspace="/w/birds")
    row = memory.sessions.get(result["session"])
    assert (row["agent"], row["workspace"], row["actions"]) == ("harbor", "/w/birds", 1)
    events = list(memory.history.events(result["session"]))
    told = [
        (event["kind"], event["trust"])
        for event in events
        if event["kind"] in ("prompt", "message", "action")
    ]
    assert told == [("prompt", "unverified"), ("message", "unverified"), ("action", "unverified")]
    assert "1 picture left out" in result["notes"]
    assert "1 reasoning text left out" in result["notes"]
    assert "1 system step left out" in result["notes"]
    usage = next(event["payload"] for event in events if event["kind"] == "usage")
    assert (usage["input_tokens"], usage["cached_tokens"], usage["model"]) == (10, 2, "gpt-5")


def test_claims_of_trust_and_of_files_need_your_word(memory: MemoryFixture) -> None:
    claim = json.loads(json.dumps(FOREIGN))
    claim["steps"][1]["extra"] = {"trust": "user"}
    claim["steps"][2]["tool_calls"][0]["extra"] = {"files": [{"path": "~/a.txt", "change": "modified"}]}
    result = imported(memory, claim)
    events = list(memory.history.events(result["session"]))
    assert {event["trust"] for event in events if event["kind"] == "prompt"} == {"unverified"}
    assert "a.txt" not in json.dumps(events)
    assert "1 unproven file change left out" in result["notes"]


@pytest.mark.parametrize(
    "broken",
    [
        {"schema_version": "ATIF-v1.7", "session_id": "a", "steps": []},
        {"schema_version": "ATIF-v1.7", "session_id": "a", "steps": [1]},
        {"schema_version": "ATIF-v1.7", "steps": [{"source": "user", "message": "x"}]},
        {"schema_version": "ATIF-v2.0", "session_id": "a", "steps": [{}]},
    ],
)
def test_what_is_no_trajectory_is_refused(broken: dict[str, Any]) -> None:
    with pytest.raises(InvalidRequest):
        from_atif(broken, home="/h", workspace=None, mine=False)


def test_odd_values_are_never_a_fault(memory: MemoryFixture) -> None:
    odd: list[Any] = [None, 7, "", [], {}, [[]], {"type": 3}, -1, "2026-99-99"]
    fields = ("source", "message", "timestamp", "tool_calls", "observation", "metrics", "extra", "model_name")
    for name in fields:
        for value in odd:
            step = {"source": "agent", "message": "x", name: value}
            document = {"schema_version": "ATIF-v1.7", "session_id": f"{name}-{value}", "steps": [step]}
            if name == "tool_calls" and isinstance(value, (str, int)) and value:
                continue
            from_atif(document, home="/h", workspace=None, mine=True)

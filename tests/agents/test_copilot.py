"""Copilot's events: exit codes decide, hooks' text is left out, subagents act but do not speak."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from fazm_memory.agents.base import Cursor, Places
from fazm_memory.agents.copilot import Copilot
from tests.agents.reading import FIXTURES, of_kind, read_on, record_of

STATE = FIXTURES / "copilot-1.0.102"
SESSION = "5d0c7f0e-3a52-4b5e-9a55-0a4f5f8f3c11"
EVENTS = STATE / "session-state" / SESSION / "events.jsonl"
DRAFTS = read_on(Copilot(), record_of(EVENTS, SESSION))[0]
ACTIONS = of_kind(DRAFTS, "action")


def events() -> list[dict[str, Any]]:
    return [json.loads(line) for line in EVENTS.read_text().splitlines()]


def test_sessions_are_found_in_the_folder_that_the_user_chose(tmp_path: Path) -> None:
    shutil.copytree(STATE, tmp_path / ".copilot")
    own = {"COPILOT_HOME": str(STATE)}
    assert [file.session for file in Copilot().find(Places(tmp_path))] == [SESSION]
    assert [file.path for file in Copilot().find(Places(tmp_path, own))] == [EVENTS]
    assert list(Copilot().find(Places(tmp_path / "none"))) == []


def test_counts_equal_those_of_the_records() -> None:
    main = [event for event in events() if "agentId" not in event]
    spoken = [event for event in main if event["type"] == "assistant.message" and event["data"]["content"]]
    ended = [event for event in events() if event["type"] == "tool.execution_complete"]
    assert len(of_kind(DRAFTS, "prompt")) == sum(event["type"] == "user.message" for event in main) == 2
    assert len(of_kind(DRAFTS, "message")) == len(spoken) == 3
    assert [action["call_id"] for action in ACTIONS] == [event["data"]["toolCallId"] for event in ended]


def test_the_opening_names_folder_model_and_title() -> None:
    assert of_kind(DRAFTS, "session.open") == [
        {
            "agent": "copilot",
            "agent_session_id": SESSION,
            "workspace": "/Users/dana/shop",
            "title": "Open orders",
            "model": "gpt-4.1",
        }
    ]


def test_a_command_with_an_exit_code_failed_although_its_record_says_success() -> None:
    assert [(one["tool"], one["outcome"], one.get("error")) for one in ACTIONS] == [
        ("bash", "ok", None),
        ("create", "ok", None),
        ("edit", "ok", None),
        ("bash", "error", "exit code 2: unknown option"),
        ("view", "error", "Path does not exist"),
        ("view", "ok", None),
        ("task", "ok", None),
    ]


def test_text_of_hooks_is_recorded_nowhere() -> None:
    assert "TEXT OF A HOOK" not in json.dumps([draft.payload for draft in DRAFTS])
    assert ACTIONS[0]["output"] == "orders.csv\nreport.py"


def test_files_come_from_the_record_and_listings_from_commands() -> None:
    path = "/Users/dana/shop/count.py"
    assert ACTIONS[1]["files"] == [{"path": path, "change": "created"}]
    assert ACTIONS[2]["files"] == [{"path": path, "change": "modified"}]
    assert of_kind(DRAFTS, "seen") == [{"folder": "/Users/dana/shop", "files": ["orders.csv", "report.py"]}]


def test_arguments_in_old_records_are_text() -> None:
    assert ACTIONS[1]["input"] == {"path": "/Users/dana/shop/count.py", "file_text": "print(3)\n"}


def test_a_call_of_a_subagent_names_it() -> None:
    assert [one.get("agent_id") for one in ACTIONS] == [None, None, None, None, None, "a1", None]


def test_cached_tokens_are_not_counted_twice() -> None:
    assert of_kind(DRAFTS, "usage") == [
        {"input_tokens": 500, "output_tokens": 30, "cached_tokens": 400, "model": "gpt-4.1"}
    ]


def test_a_compaction_is_recorded_with_its_summary() -> None:
    assert of_kind(DRAFTS, "evicted") == [{"keys": [], "summary": "The orders are counted by count.py."}]


def test_a_running_call_is_reported_once_and_ends_when_the_user_stops(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    begun = {"toolCallId": "c9", "toolName": "bash", "arguments": {"command": "sleep 9"}}
    lines = [{"type": "tool.execution_start", "id": "x1", "data": begun}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    first, cursor, _ = read_on(Copilot(), record_of(path, "s"), Cursor())
    again, cursor, _ = read_on(Copilot(), record_of(path, "s"), cursor)
    with path.open("a") as file:
        file.write(json.dumps({"type": "abort", "id": "x2", "data": {"reason": "user"}}) + "\n")
    last, _, _ = read_on(Copilot(), record_of(path, "s"), cursor)

    assert [draft.kind for draft in first] == ["session.open", "action.start"]
    assert again == []
    assert [(one["call_id"], one["outcome"]) for one in of_kind(last, "action")] == [("c9", "interrupted")]


def test_an_unknown_event_is_counted_and_stored(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(json.dumps({"type": "session.new_thing", "id": "n1", "data": {"a": 1}}) + "\n")
    drafts, _, chunks = read_on(Copilot(), record_of(path, "s"))
    assert chunks[0].unknown == {"session.new_thing": 1}
    assert of_kind(drafts, "unknown")[0]["type"] == "session.new_thing"

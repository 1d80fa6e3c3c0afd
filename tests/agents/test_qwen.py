"""Qwen's chats: exit codes are in the text, further parts of a prompt are of hooks."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from fazm_memory.agents.base import Places
from fazm_memory.agents.qwen import Qwen
from tests.agents.reading import FIXTURES, of_kind, read_on, record_of

HOME = FIXTURES / "qwen-0.24.4"
SESSION = "7a1f6c52-91d4-4d0e-8f7b-2f5f0c1d9e33"
PROJECT = HOME / "projects" / "-Users-dana-blog"
CHAT = PROJECT / "chats" / f"{SESSION}.jsonl"
SUBAGENT = PROJECT / "subagents" / SESSION / "agent-look-1.jsonl"
DRAFTS = read_on(Qwen(), record_of(CHAT, SESSION))[0]
ACTIONS = of_kind(DRAFTS, "action")


def records(kind: str) -> list[dict[str, Any]]:
    found = map(json.loads, CHAT.read_text().splitlines())
    return [record for record in found if record["type"] == kind]


def test_chats_and_subagents_are_found(tmp_path: Path) -> None:
    shutil.copytree(HOME, tmp_path / ".qwen")
    found = [(file.session, file.path.name) for file in Qwen().find(Places(tmp_path))]
    assert found == [(SESSION, CHAT.name), (SESSION, SUBAGENT.name)]
    for variable in ("QWEN_HOME", "QWEN_RUNTIME_DIR"):
        places = Places(tmp_path / "none", {variable: str(HOME)})
        assert [file.path for file in Qwen().find(places)] == [CHAT, SUBAGENT]


def test_counts_equal_those_of_the_records() -> None:
    said = [
        record
        for record in records("assistant")
        if any("text" in part and not part.get("thought") for part in record["message"]["parts"])
    ]
    assert len(of_kind(DRAFTS, "prompt")) == len(records("user")) == 1
    assert len(of_kind(DRAFTS, "message")) == len(said) == 2
    assert len(of_kind(DRAFTS, "usage")) == len(records("assistant"))
    assert [one["call_id"] for one in ACTIONS] == [
        record["toolCallResult"]["callId"] for record in records("tool_result")
    ]


def test_prompts_and_outputs_are_without_text_of_hooks() -> None:
    assert of_kind(DRAFTS, "prompt") == [{"text": "Fix the title of the blog."}]
    assert "TEXT OF A HOOK" not in json.dumps([draft.payload for draft in DRAFTS])
    assert ACTIONS[6]["output"] == "The style is plain."


def test_the_users_words_are_kept_behind_a_reminder(tmp_path: Path) -> None:
    asked = records("user")[0]
    parts = [{"text": "<system-reminder>A task ended.</system-reminder>"}, {"text": "And the date."}]
    resumed = asked | {"uuid": "resumed", "message": {"role": "user", "parts": parts}}
    only_reminder = asked | {"uuid": "reminded", "message": {"role": "user", "parts": parts[:1]}}
    chat = tmp_path / CHAT.name
    chat.write_text("".join(f"{json.dumps(record)}\n" for record in (asked, resumed, only_reminder)))
    drafts = read_on(Qwen(), record_of(chat, SESSION))[0]
    assert [prompt["text"] for prompt in of_kind(drafts, "prompt")] == [
        "Fix the title of the blog.",
        "And the date.",
    ]


def test_an_exit_code_in_the_text_is_a_failure_although_the_status_is_success() -> None:
    assert [(one["tool"], one["outcome"], one.get("error")) for one in ACTIONS] == [
        ("run_shell_command", "ok", None),
        ("write_file", "ok", None),
        ("edit", "ok", None),
        ("run_shell_command", "error", "exit code 3: no rule to make check"),
        ("todo_write", "ok", None),
        ("read_file", "error", "File not found: /Users/dana/blog/none.md"),
        ("agent", "ok", None),
    ]
    assert [one["output"] for one in ACTIONS[:1]] == ["index.html\nstyle.css"]


def test_files_steps_summary_and_title_are_recorded() -> None:
    assert ACTIONS[1]["files"] == [{"path": "/Users/dana/blog/about.html", "change": "created"}]
    assert ACTIONS[2]["files"] == [{"path": "/Users/dana/blog/index.html", "change": "modified"}]
    assert [step["text"] for step in of_kind(DRAFTS, "todos")[0]["items"]] == ["fix the title", "publish"]
    assert of_kind(DRAFTS, "evicted") == [{"keys": [], "summary": "The title was fixed."}]
    assert of_kind(DRAFTS, "session.title") == [{"title": "Title of the blog"}]


def test_thoughts_count_as_output_and_cached_tokens_not_as_input() -> None:
    assert of_kind(DRAFTS, "usage")[0] == {
        "input_tokens": 700,
        "output_tokens": 25,
        "cached_tokens": 300,
        "model": "qwen3-coder",
    }


def test_a_subagent_acts_in_its_session_and_does_not_open_it() -> None:
    drafts = read_on(Qwen(), record_of(SUBAGENT, SESSION))[0]
    assert [draft.kind for draft in drafts] == ["action"]
    assert drafts[0].session == SESSION
    assert drafts[0].payload["agent_id"] == "agent-look-1"


def test_records_copied_by_a_fork_are_not_recorded_again(tmp_path: Path) -> None:
    copied, own = records("user")[0], {**records("user")[0], "uuid": "own"}
    path = tmp_path / "f.jsonl"
    lines = [{**copied, "forkedFrom": {"sessionId": SESSION, "messageUuid": "q001"}}, own]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    drafts = read_on(Qwen(), record_of(path, "f"))[0]
    assert [draft.kind for draft in drafts] == ["session.open", "prompt"]
    assert drafts[0].payload["parent"] == SESSION

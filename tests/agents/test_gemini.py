"""Gemini's chats: messages that are written again are told once, exit codes are found in the text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.agents.base import Cursor, Places
from fazm_memory.agents.gemini import MOST_TOLD, Gemini
from fazm_memory.events.event import Draft
from tests.agents.reading import FIXTURES, kinds, of_kind, read_on, record_of

CHATS = FIXTURES / "gemini-0.61.0"
CHAIN = "4ea6b608-4449-4484-94b8-1b01cf71c04c"
SESSION = "172c94ed-e810-463f-b145-564060bab514"
HEADER = {
    "sessionId": SESSION,
    "projectHash": "5377",
    "startTime": "2026-11-16T03:44:41.539Z",
    "kind": "main",
}


def read_drafts(name: str, session: str = CHAIN, *, limit: int = 1 << 20) -> list[Draft]:
    return read_on(Gemini(), record_of(CHATS / f"{name}.jsonl", session), limit=limit)[0]


def chat(path: Path, *records: dict[str, Any]) -> Path:
    file = path / "session-2026-11-16T03-44-172c94ed.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in (HEADER, *records)))
    return file


def read(path: Path) -> list[Draft]:
    return read_on(Gemini(), record_of(path, SESSION))[0]


def message(name: str, kind: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"id": name, "timestamp": "2026-11-16T03:44:42.000Z", "type": kind, "content": content, **more}


def called(tool: str, answer: dict[str, Any], status: str = "success", **args: Any) -> dict[str, Any]:
    result = [{"functionResponse": {"id": "c", "name": tool, "response": answer}}]
    call = {"id": f"{tool}-1", "name": tool, "args": args, "result": result, "status": status}
    return message("m1", "gemini", "", toolCalls=[call])


def test_a_run_is_reported_in_order_though_its_messages_are_written_again() -> None:
    assert [kind for kind in kinds(read_drafts("chain")) if kind != "usage"] == [
        "session.open", "prompt", "message", *["action"] * 7, "message",
    ]  # fmt: skip


def test_the_opening_names_the_workspace() -> None:
    assert of_kind(read_drafts("chain"), "session.open") == [
        {"agent": "gemini", "agent_session_id": CHAIN, "workspace": "/Users/dana/proj"}
    ]


def test_the_mark_beside_the_chats_names_the_workspace_too(tmp_path: Path) -> None:
    chats = tmp_path / "proj" / "chats"
    chats.mkdir(parents=True)
    (tmp_path / "proj" / ".project_root").write_text("/Users/dana/elsewhere\n")
    assert of_kind(read(chat(chats)), "session.open")[0]["workspace"] == "/Users/dana/elsewhere"


def test_prompts_are_what_the_user_reported_without_the_context_that_hooks_put_in() -> None:
    assert of_kind(read_drafts("chain"), "prompt") == [{"text": "Put the notes in order."}]


def test_a_prompt_is_reported_as_it_was_typed_not_as_it_was_expanded(tmp_path: Path) -> None:
    expanded = [{"text": "Read @a.txt\n--- content of a.txt ---\nlong"}]
    path = chat(tmp_path, message("u1", "user", expanded, displayContent=[{"text": "Read @a.txt"}]))
    assert of_kind(read(path), "prompt") == [{"text": "Read @a.txt"}]


def test_outcomes_come_from_the_status_and_exit_codes_from_the_text() -> None:
    actions = of_kind(read_drafts("chain"), "action")
    assert [(one["tool"], one["outcome"], one.get("error")) for one in actions] == [
        ("run_shell_command", "ok", None),
        ("write_file", "ok", None),
        ("read_file", "ok", None),
        ("replace", "ok", None),
        ("run_shell_command", "error", "exit code 3: oops"),
        ("mcp_tinymem_recall", "ok", None),
        ("read_file", "error", "File not found: /Users/dana/proj/none.txt"),
    ]
    assert [one["output"] for one in actions[:1]] == ["hello-from-gemini"]
    assert "RECALLED[parser]: you fixed the parser" in actions[5]["output"]


def test_file_tools_say_what_they_did_to_which_file() -> None:
    touched = [one["files"] for one in of_kind(read_drafts("chain"), "action")[1:4]]
    path = "/Users/dana/proj/note.txt"
    assert touched == [
        [{"path": path, "change": "created"}],
        [{"path": path, "change": "read"}],
        [{"path": path, "change": "modified"}],
    ]
    renewed = [one["files"] for one in of_kind(read_drafts("folder", SESSION), "action")[-2:]]
    path = "/Users/dana/proj/new.txt"
    assert renewed == [[{"path": path, "change": "created"}], [{"path": path, "change": "modified"}]]


def test_a_command_touches_the_files_it_names(tmp_path: Path) -> None:
    answer = {"output": "Output: (empty)\nProcess Group PGID: 1"}
    path = chat(
        tmp_path, called("run_shell_command", answer, command="mv a.txt b.txt", dir_path="/Users/dana")
    )
    action = of_kind(read(path), "action")[0]
    assert [(one["path"], one["change"], one.get("from")) for one in action["files"]] == [
        ("/Users/dana/b.txt", "renamed", "/Users/dana/a.txt")
    ]
    assert action["output"] == ""


def test_listings_tell_what_the_folder_held() -> None:
    assert of_kind(read_drafts("folder", SESSION), "seen") == [
        {"folder": "/Users/dana/proj/d", "files": ["b.txt", "c.txt"]},
        {"folder": "/Users/dana/proj/d", "files": ["c.txt", "b.txt"]},
    ]


@pytest.mark.parametrize(
    ("answer", "status", "outcome", "error"),
    [
        ({"output": "Output: x\nExit Code: 3\nProcess Group PGID: 1"}, "success", "error", "exit code 3: x"),
        ({"output": "Output: x\nSignal: 9\nProcess Group PGID: 1"}, "success", "error", "signal 9: x"),
        ({"output": "Output: Exit Code: 3 is what I print\nand more"}, "success", "ok", None),
        (
            {"output": "Command was automatically cancelled because it exceeded the timeout of 5.0 minutes."},
            "success",
            "timeout",
            "Command was automatically cancelled because it exceeded the timeout of 5.0 minutes.",
        ),
        (
            {"output": "Command was cancelled by user before it could complete."},
            "success",
            "interrupted",
            "Command was cancelled by user before it could complete.",
        ),
        ({"error": "[Operation Cancelled] x"}, "cancelled", "interrupted", "[Operation Cancelled] x"),
        (
            {"error": "Tool execution denied by policy."},
            "error",
            "denied",
            "Tool execution denied by policy.",
        ),
    ],
)
def test_how_a_command_ended_is_in_its_text(
    tmp_path: Path, answer: dict[str, Any], status: str, outcome: str, error: str | None
) -> None:
    path = chat(tmp_path, called("run_shell_command", answer, status, command="make"))
    action = of_kind(read(path), "action")[0]
    assert (action["outcome"], action.get("error")) == (outcome, error)


def test_calls_that_come_later_to_the_same_message_are_reported_once_each(tmp_path: Path) -> None:
    calls = [
        {"id": f"c{n}", "name": "glob", "args": {"n": n}, "result": None, "status": "success"}
        for n in range(3)
    ]
    grown = [message("m1", "gemini", "Looking.", toolCalls=calls[:n]) for n in range(4)]
    path = chat(tmp_path, *grown[:2])
    first, cursor, _ = read_on(Gemini(), record_of(path, SESSION))
    chat(tmp_path, *grown)
    after, _, _ = read_on(Gemini(), record_of(path, SESSION), cursor)
    assert kinds(first) == ["session.open", "message", "action"]
    assert [(draft.key, draft.payload["call_id"]) for draft in after] == [
        (f"gemini:{SESSION}:m1:1", "c1"),
        (f"gemini:{SESSION}:m1:2", "c2"),
    ]


def test_tokens_are_counted_once_and_the_cached_ones_apart() -> None:
    usage = of_kind(read_drafts("folder", SESSION), "usage")
    spent = {"input_tokens": 11017, "output_tokens": 25, "cached_tokens": 700}
    assert usage == [spent | {"model": "gemini-2.5-flash"}]
    assert len(of_kind(read_drafts("chain"), "usage")) == 8


def test_a_summary_becomes_the_title() -> None:
    assert of_kind(read_drafts("folder", SESSION), "session.title") == [
        {"title": "Look around in the project"}
    ]


def test_a_history_replaced_by_a_snapshot_is_a_compaction(tmp_path: Path) -> None:
    snapshot = message("s1", "user", [{"text": "<state_snapshot>\nWe sorted.\n</state_snapshot>"}])
    patch = {"$set": {"messages": [snapshot], "lastUpdated": "2026-11-16T03:50:00.000Z"}}
    drafts = read(chat(tmp_path, message("u1", "user", "Sort."), patch, patch))
    assert kinds(drafts) == ["session.open", "prompt", "evicted"]
    assert of_kind(drafts, "evicted") == [
        {"keys": [], "summary": "<state_snapshot>\nWe sorted.\n</state_snapshot>"}
    ]


def test_a_turn_that_is_taken_back_has_happened_all_the_same(tmp_path: Path) -> None:
    path = chat(tmp_path, message("u1", "user", "Sort."), {"$rewindTo": "u1"}, {"$set": {"messages": []}})
    assert kinds(read(path)) == ["session.open", "prompt"]


def test_a_subagent_acts_in_the_session_that_sent_it(tmp_path: Path) -> None:
    chats = tmp_path / ".gemini" / "tmp" / "proj" / "chats"
    (chats / SESSION).mkdir(parents=True)
    header = {
        "sessionId": "sub-1",
        "projectHash": "x",
        "kind": "subagent",
        "directories": ["/Users/dana/proj"],
    }
    records = [
        header,
        message("u1", "user", "Do it."),
        called("read_file", {"output": "x"}, file_path="a.txt"),
    ]
    lines = "".join(json.dumps(record) + "\n" for record in records)
    (chats / SESSION / "sub-1.jsonl").write_text(lines)
    record = next(iter(Gemini().find(Places(tmp_path))))
    drafts, _, _ = read_on(Gemini(), record)
    assert {draft.session for draft in drafts} == {SESSION}
    assert kinds(drafts) == ["action"]
    action = of_kind(drafts, "action")[0]
    assert action["agent_id"] == "sub-1"
    assert action["files"] == [{"path": "/Users/dana/proj/a.txt", "change": "read"}]


@pytest.mark.parametrize("limit", [1, 700, 5000])
@pytest.mark.parametrize("name", ["chain", "folder"])
def test_chunks_of_any_size_tell_the_same(name: str, limit: int) -> None:
    assert read_drafts(name, "x", limit=limit) == read_drafts(name, "x")


def test_no_two_drafts_have_one_key() -> None:
    for name in ("chain", "folder"):
        keys = [draft.key for draft in read_drafts(name, "x")]
        assert len(keys) == len(set(keys))
        assert None not in keys


def test_a_half_written_line_waits(tmp_path: Path) -> None:
    path = chat(tmp_path, message("u1", "user", "Wait."))
    whole = path.read_bytes()
    path.write_bytes(whole[:-10])
    early, cursor, _ = read_on(Gemini(), record_of(path, SESSION))
    path.write_bytes(whole)
    late, _, _ = read_on(Gemini(), record_of(path, SESSION), cursor)
    assert kinds(early) == ["session.open"]
    assert of_kind(late, "prompt") == [{"text": "Wait."}]


def test_what_is_new_to_us_is_kept_and_what_is_no_record_is_counted(tmp_path: Path) -> None:
    path = chat(tmp_path, {"$merge": {}}, message("h1", "hologram", "?"), message("i1", "info", "noise"))
    with path.open("ab") as file:
        file.write(b"not json\n[1]\n\n")
    drafts, _, chunks = read_on(Gemini(), record_of(path, SESSION))
    assert [one["type"] for one in of_kind(drafts, "unknown")] == ["record", "message/hologram"]
    assert chunks[-1].unknown == {"record": 1, "message/hologram": 1}
    assert chunks[-1].bad == 2


def test_what_is_carried_is_bounded(tmp_path: Path) -> None:
    messages = [message(f"u{number}", "user", "x" * 1000) for number in range(MOST_TOLD * 2)]
    _, cursor, _ = read_on(Gemini(), record_of(chat(tmp_path, *messages), SESSION))
    assert len(cursor.carry["told"]) == MOST_TOLD


def test_chats_are_found_with_the_whole_id_of_their_session(tmp_path: Path) -> None:
    chats = tmp_path / ".gemini" / "tmp" / "proj" / "chats"
    chats.mkdir(parents=True)
    chat(chats)
    (chats / "session-2026-11-16T03-45-empty.jsonl").write_text("")
    found = [record.session for record in Gemini().find(Places(tmp_path))]
    assert found == [SESSION, "session-2026-11-16T03-45-empty"]
    assert list(Gemini().find(Places(tmp_path / "nobody"))) == []


def test_reading_leaves_the_cursor_it_was_given_alone() -> None:
    record = record_of(CHATS / "folder.jsonl", SESSION)
    cursor = Gemini().read(record, Cursor(), limit=3000).cursor
    before = json.dumps(cursor.carry)
    first = Gemini().read(record, cursor)
    assert json.dumps(cursor.carry) == before
    assert Gemini().read(record, cursor) == first


def test_a_chat_of_an_older_version_is_read_and_its_messages_are_reported_once(tmp_path: Path) -> None:
    path = tmp_path / ".gemini" / "tmp" / "proj" / "chats" / "session-2026-01-16T18-34-3739ef95.json"
    path.parent.mkdir(parents=True)
    messages = [message("m1", "user", "Sort the scans"), message("m2", "gemini", "Sorted.")]
    path.write_text(json.dumps(HEADER | {"messages": messages[:1]}, indent=2))
    (record,) = Gemini().find(Places(tmp_path))
    assert record.session == SESSION
    first, cursor, _ = read_on(Gemini(), record)
    path.write_text(json.dumps(HEADER | {"messages": messages}, indent=2))
    second, _, _ = read_on(Gemini(), record, cursor)
    assert (kinds(first), kinds(second)) == (["session.open", "prompt"], ["message"])
    path.write_text(path.read_text()[:-20])  # being written
    assert read_on(Gemini(), record, cursor)[0] == []


def test_a_chat_in_the_oldest_form_is_read(tmp_path: Path) -> None:
    path = tmp_path / "session-old.json"
    turns = [{"role": "user", "parts": [{"text": "Hello"}], "ts": 1695000000}]
    path.write_text(json.dumps({"history": turns, "start_time": "2025-12-16T23:47:00.000Z"}))
    drafts = read_on(Gemini(), record_of(path, "session-old"))[0]
    assert of_kind(drafts, "prompt") == [{"text": "Hello"}]
    assert drafts[-1].at == 1_695_000_000_000_000


def test_steps_and_answers_are_reported(tmp_path: Path) -> None:
    todos = [{"description": "read", "status": "completed"}, {"description": "sort", "status": "cancelled"}]
    questions = [{"question": "Which?", "options": [{"label": "A"}, {"label": "B"}]}]
    calls = [
        {"name": "write_todos", "args": {"todos": todos}, "status": "success", "result": "ok"},
        {
            "name": "ask_user",
            "args": {"questions": questions},
            "status": "success",
            "result": [{"functionResponse": {"response": {"output": json.dumps({"answers": {"0": "B"}})}}}],
        },
    ]
    drafts = read(chat(tmp_path, message("m1", "gemini", "", toolCalls=calls)))
    assert of_kind(drafts, "todos") == [
        {"items": [{"text": "read", "status": "completed"}, {"text": "sort", "status": "cancelled"}]}
    ]
    (answer,) = of_kind(drafts, "decision")
    assert (answer["what"], answer["question"], answer["alternatives"]) == ("B", "Which?", ["A", "B"])

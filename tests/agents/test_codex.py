"""Codex's rollouts: one action per call out of two logs, forks without copies, subagents under their root."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.agents.base import Cursor, Places
from fazm_memory.agents.codex import calls as codex_keys
from fazm_memory.agents.codex.calls import MOST_OPEN
from fazm_memory.agents.codex.rollout import Codex
from fazm_memory.agents.fields import MAX_RAW_TEXT
from fazm_memory.events.event import Draft
from tests.agents.reading import FIXTURES, kinds, of_kind, read_on, record_of

ROLLOUTS = FIXTURES / "codex-0.166.0"
CHAIN = "01a1e1b2-860a-7b01-81c8-77c969be7d6d"
SORTED = "01a1e286-0c65-7002-a71f-ff1fac04fc83"
ROOT = "01a1e286-1b2e-7f12-8d9e-161f6f8fad83"
SUBAGENT = "01a1e286-1bce-77a1-96f2-d0a9734ccb6c"
THREAD = "01a1e286-2d0d-7942-824c-db5d68d41b4f"
OLDER_TURN, OWN_TURN = "01a1e286-0000-7000-8000-000000000000", "01a1e286-3000-7000-8000-000000000000"


def read_drafts(name: str, session: str = CHAIN, *, limit: int = 1 << 20) -> list[Draft]:
    return read_on(Codex(), record_of(ROLLOUTS / f"{name}.jsonl", session), limit=limit)[0]


def rollout(path: Path, *records: dict[str, Any]) -> Path:
    file = path / f"rollout-2026-11-16T04-03-26-{THREAD}.jsonl"
    file.write_text("".join(json.dumps(record) + "\n" for record in records))
    return file


def line(kind: str, payload: dict[str, Any], second: int = 0) -> dict[str, Any]:
    return {"timestamp": f"2026-11-16T04:03:{second:02d}.000Z", "type": kind, "payload": payload}


def meta(**more: Any) -> dict[str, Any]:
    return line("session_meta", {"id": THREAD, "cwd": "/Users/dana/proj", **more})


def call(call_id: str, command: str) -> dict[str, Any]:
    arguments = json.dumps({"cmd": command})
    payload = {"type": "function_call", "name": "exec_command", "call_id": call_id, "arguments": arguments}
    return line("response_item", payload)


def result(call_id: str, output: Any) -> dict[str, Any]:
    return line("response_item", {"type": "function_call_output", "call_id": call_id, "output": output})


def user_message(*texts: str) -> dict[str, Any]:
    content = [{"type": "input_text", "text": text} for text in texts]
    return line("response_item", {"type": "message", "role": "user", "content": content})


def read(path: Path) -> list[Draft]:
    return read_on(Codex(home="/Users/dana"), record_of(path, THREAD))[0]


def test_a_run_is_reported_in_order_without_thoughts_or_doubles() -> None:
    assert [kind for kind in kinds(read_drafts("chain")) if kind != "usage"] == [
        "session.open", "prompt", "message", *["action"] * 7, "message", "prompt", "action", "message",
    ]  # fmt: skip


def test_the_opening_names_the_workspace_and_the_model() -> None:
    assert of_kind(read_drafts("chain"), "session.open") == [
        {"agent": "codex", "agent_session_id": CHAIN, "workspace": "/Users/dana/proj", "model": "gpt-5.5"}
    ]


def test_prompts_are_what_the_user_reported_and_nothing_that_was_put_beside_it() -> None:
    prompts = of_kind(read_drafts("chain"), "prompt")
    assert prompts == [{"text": "Put the notes in order."}, {"text": "Look at it again."}]


def test_without_marks_the_harness_is_known_by_how_it_begins(tmp_path: Path) -> None:
    path = rollout(
        tmp_path,
        meta(),
        user_message("# AGENTS.md instructions for /x\n\n<INSTRUCTIONS>", "<environment_context>…"),
        user_message("<user_instructions>be brief</user_instructions>"),
        user_message("  Sort the folder.  "),
    )
    assert of_kind(read(path), "prompt") == [{"text": "Sort the folder."}]


def test_outcomes_exit_codes_and_durations_come_from_the_event_log() -> None:
    actions = of_kind(read_drafts("chain"), "action")
    assert [(one["tool"], one["outcome"], one.get("error")) for one in actions] == [
        ("exec_command", "ok", None),
        ("apply_patch", "ok", None),
        ("apply_patch", "ok", None),
        ("exec_command", "ok", None),
        ("exec_command", "error", "exit code 3: oops"),
        ("mcp__tinymem__recall", "ok", None),
        ("mcp__tinymem__fail", "error", "Error executing tool fail"),
        ("exec_command", "ok", None),
    ]
    assert actions[0]["output"] == "hello-from-codex\n/Users/dana/proj\n"
    assert actions[0]["output"].splitlines()[0] == "hello-from-codex"
    assert actions[0]["duration_ms"] == 3


def test_a_patch_adds_moves_and_deletes_files() -> None:
    patch = of_kind(read_drafts("sorted", SORTED), "action")[1]
    assert sorted(patch["files"], key=lambda one: one["change"]) == [
        {"path": "/Users/dana/proj/three.txt", "change": "created"},
        {"path": "/Users/dana/proj/two.txt", "change": "deleted"},
        {"path": "/Users/dana/proj/done/uno.txt", "change": "renamed", "from": "/Users/dana/proj/one.txt"},
    ]


def test_a_patch_that_does_not_apply_touches_nothing() -> None:
    patch = of_kind(read_drafts("sorted", SORTED), "action")[2]
    assert patch["outcome"] == "error"
    assert patch["error"].startswith("apply_patch verification failed")
    assert "files" not in patch


def test_a_patch_without_an_item_is_read_from_its_own_text(tmp_path: Path) -> None:
    patch = "*** Begin Patch\n*** Add File: a/b.txt\n+x\n*** End Patch\n"
    path = rollout(
        tmp_path,
        meta(),
        line(
            "response_item",
            {"type": "custom_tool_call", "name": "apply_patch", "call_id": "c", "input": patch},
        ),
        line(
            "response_item", {"type": "custom_tool_call_output", "call_id": "c", "output": "Exit code: 0\nOk"}
        ),
    )
    assert of_kind(read(path), "action")[0]["files"] == [
        {"path": "/Users/dana/proj/a/b.txt", "change": "created"}
    ]


def test_a_command_touches_the_files_it_names() -> None:
    moved = next(
        one for one in of_kind(read_drafts("sorted", SORTED), "action") if "mv " in str(one["input"])
    )
    renamed = [(one["path"], one["change"], one.get("from")) for one in moved["files"]]
    assert renamed == [("/Users/dana/proj/drei.txt", "renamed", "/Users/dana/proj/three.txt")]


def test_listings_tell_what_the_folder_held() -> None:
    assert of_kind(read_drafts("sorted", SORTED), "seen") == [
        {"folder": "/Users/dana/proj", "files": ["one.txt", "two.txt"]},
        {"folder": "/Users/dana/proj", "files": ["drei.txt"]},
        {"folder": "/Users/dana/proj/done", "files": ["uno.txt"]},
    ]


def test_a_process_that_outlives_its_call_is_amended_when_it_ends() -> None:
    drafts = read_drafts("sorted", SORTED)
    slept = of_kind(drafts, "action")[-1]
    assert (slept["input"]["cmd"], slept["outcome"]) == ("sleep 2; echo slept", "ok")
    amended = of_kind(drafts, "action.amend")
    assert [(one["call_id"], one["outcome"], one["error"]) for one in amended] == [
        (slept["call_id"], "interrupted", "stopped before it ended")
    ]


def test_an_aborted_turn_interrupts_its_calls_once() -> None:
    drafts = read_drafts("aborted", THREAD)
    actions = of_kind(drafts, "action")
    assert [(one["outcome"], one["error"]) for one in actions] == [("interrupted", "aborted by user")]
    assert of_kind(drafts, "action.amend") == []


def test_a_turn_that_ends_takes_its_open_calls_with_it(tmp_path: Path) -> None:
    aborted = line("event_msg", {"type": "turn_aborted", "reason": "interrupted"})
    actions = of_kind(
        read(rollout(tmp_path, meta(), call("c1", "true"), aborted, result("c1", "late"))), "action"
    )
    assert [(one["outcome"], one["error"]) for one in actions] == [
        ("interrupted", "the turn ended: interrupted")
    ]


def test_a_fork_names_its_parent_and_tells_only_its_own() -> None:
    drafts = read_drafts("forked", "01a1e286-1545-72d2-84e5-131bbe7bea80")
    assert of_kind(drafts, "session.open")[0]["parent"] == SORTED
    assert of_kind(drafts, "prompt") == [{"text": "Look at it again."}]
    assert [one["input"]["cmd"] for one in of_kind(drafts, "action")] == ["cat drei.txt"]


@pytest.mark.parametrize("old_turn", [OLDER_TURN, "7"], ids=["turns with a time", "turns with a number"])
def test_records_that_an_older_fork_copied_are_not_reported_again(tmp_path: Path, old_turn: str) -> None:
    own_turn = OWN_TURN if old_turn == OLDER_TURN else "8"
    path = rollout(
        tmp_path,
        meta(forked_from_id="parent", timestamp="2026-11-16T04:03:26.000Z"),
        line("session_meta", {"id": "parent", "cwd": "/elsewhere"}, 26),
        line("turn_context", {"turn_id": old_turn, "cwd": "/elsewhere", "model": "old"}, 26),
        user_message("The parent's prompt."),
        call("copied", "true"),
        result("copied", "Process exited with code 0\nOutput:\n"),
        line("event_msg", {"type": "task_started", "turn_id": own_turn}, 40),
        line("turn_context", {"turn_id": own_turn, "cwd": "/Users/dana/proj", "model": "new"}, 40),
        user_message("The fork's own prompt."),
        call("own", "true"),
        result("own", "Process exited with code 0\nOutput:\n"),
    )
    drafts = read(path)
    assert [(one["parent"], one["workspace"]) for one in of_kind(drafts, "session.open")] == [
        ("parent", "/Users/dana/proj")
    ]
    assert of_kind(drafts, "prompt") == [{"text": "The fork's own prompt."}]
    assert [one["call_id"] for one in of_kind(drafts, "action")] == ["own"]


def test_a_subagent_acts_in_the_session_of_its_root() -> None:
    drafts = read_drafts("subagent", SUBAGENT)
    assert {draft.session for draft in drafts} == {ROOT}
    assert [(one["input"]["cmd"], one["agent_id"]) for one in of_kind(drafts, "action")] == [
        ("echo in-sub > sub.txt", SUBAGENT)
    ]
    assert set(kinds(drafts)) == {"action", "usage"}


def test_root_and_subagent_never_share_a_key() -> None:
    root = {draft.key for draft in read_drafts("root", ROOT)}
    assert root.isdisjoint(draft.key for draft in read_drafts("subagent", SUBAGENT))


def test_a_subagents_rollout_is_found_under_its_root(tmp_path: Path) -> None:
    folder = tmp_path / ".codex" / "sessions" / "2026" / "11" / "16"
    folder.mkdir(parents=True)
    for name, thread in (("subagent", SUBAGENT), ("root", ROOT)):
        copied = folder / f"rollout-2026-11-16T04-03-22-{thread}.jsonl"
        copied.write_bytes((ROLLOUTS / f"{name}.jsonl").read_bytes())
    found = list(Codex().find(Places(tmp_path)))
    assert [record.session for record in found] == [ROOT, ROOT]
    assert [kind for record in found for kind in kinds(read_on(Codex(), record)[0])].count(
        "session.open"
    ) == 1


def test_a_compaction_is_reported_with_the_summary_it_left() -> None:
    evicted = of_kind(read_drafts("compacted", "x"), "evicted")
    assert evicted
    assert evicted[0]["keys"] == []
    assert evicted[0]["summary"] == "We printed one."


def test_tokens_are_counted_once_per_answer() -> None:
    usage = of_kind(read_drafts("chain"), "usage")
    assert len(usage) == 10
    assert sum(one["input_tokens"] for one in usage) == 107025
    assert sum(one["output_tokens"] for one in usage) == 200


def test_older_counts_are_repeated_and_reported_once(tmp_path: Path) -> None:
    def count(total: int, last: int) -> dict[str, Any]:
        used = {"input_tokens": last, "cached_input_tokens": 30, "output_tokens": 5}
        info = {"total_token_usage": {"total_tokens": total}, "last_token_usage": used}
        return line("event_msg", {"type": "token_count", "info": info})

    drafts = read(rollout(tmp_path, meta(), count(100, 100), count(100, 100), count(250, 150)))
    assert of_kind(drafts, "usage") == [
        {"input_tokens": 70, "output_tokens": 5, "cached_tokens": 30},
        {"input_tokens": 120, "output_tokens": 5, "cached_tokens": 30},
    ]


@pytest.mark.parametrize("limit", [1, 700, 5000])
@pytest.mark.parametrize("name", ["chain", "sorted", "forked", "root", "subagent", "aborted", "compacted"])
def test_chunks_of_any_size_tell_the_same(name: str, limit: int) -> None:
    assert read_drafts(name, "x", limit=limit) == read_drafts(name, "x")


def test_no_two_drafts_have_one_key() -> None:
    for name in ("chain", "sorted", "forked", "root", "subagent", "aborted", "compacted"):
        keys = [draft.key for draft in read_drafts(name, "x")]
        assert len(keys) == len(set(keys))
        assert None not in keys


def test_a_hook_and_a_rollout_make_the_same_keys() -> None:
    # As the hooks of that very run had them on their standard input.
    hook = {
        "session_id": CHAIN,
        "turn_id": "01a1e1b2-8686-7210-8b1a-e3c42ad579e6",
        "prompt": "Put the notes in order.",
        "tool_use_id": "call_chain_4_0_dc0c05",
    }
    keys = {draft.key for draft in read_drafts("chain")}
    assert codex_keys.action_key(hook["session_id"], hook["tool_use_id"]) in keys
    assert codex_keys.prompt_key(hook["session_id"], hook["turn_id"], hook["prompt"]) in keys


def test_a_call_without_a_result_is_reported_as_begun_once_and_then_as_ended(tmp_path: Path) -> None:
    path = rollout(tmp_path, meta(), call("c1", "make"))
    record = record_of(path, THREAD)
    first, cursor, _ = read_on(Codex(), record)
    again, cursor, _ = read_on(Codex(), record, cursor)
    with path.open("a") as file:
        file.write(json.dumps(result("c1", "Process exited with code 0\nOutput:\nbuilt\n")) + "\n")
    after, cursor, _ = read_on(Codex(), record, cursor)
    assert kinds(first) == ["session.open", "action.start"]
    assert first[1].payload == {"tool": "exec_command", "input": {"cmd": "make"}, "call_id": "c1"}
    assert again == []
    assert [(draft.kind, draft.payload["output"]) for draft in after] == [("action", "built\n")]
    assert first[1].key == f"{after[0].key}:start"
    assert "open" not in cursor.carry


def test_a_half_written_line_waits(tmp_path: Path) -> None:
    path = rollout(tmp_path, meta(), user_message("Wait."))
    whole = path.read_bytes()
    path.write_bytes(whole[:-10])
    early, cursor, _ = read_on(Codex(), record_of(path, THREAD))
    path.write_bytes(whole)
    late, _, _ = read_on(Codex(), record_of(path, THREAD), cursor)
    assert kinds(early) == ["session.open"]
    assert of_kind(late, "prompt") == [{"text": "Wait."}]


def test_what_is_new_to_us_is_kept_and_what_is_no_record_is_counted(tmp_path: Path) -> None:
    path = rollout(tmp_path, meta(), line("hologram", {"a": 1}), line("event_msg", {"type": "telepathy"}))
    with path.open("ab") as file:
        file.write(b'not json\n[1,2]\n\n{"cut": \n')
    drafts, _, chunks = read_on(Codex(), record_of(path, THREAD))
    assert [one["type"] for one in of_kind(drafts, "unknown")] == ["hologram", "event_msg/telepathy"]
    assert chunks[-1].unknown == {"hologram": 1, "event_msg/telepathy": 1}
    assert chunks[-1].bad == 3


def test_what_is_carried_is_bounded(tmp_path: Path) -> None:
    calls = [
        call(f"c{number}", "x" * (40 << 10 if number % 10 == 0 else 10)) for number in range(MOST_OPEN + 50)
    ]
    drafts, cursor, _ = read_on(Codex(), record_of(rollout(tmp_path, meta(), *calls), THREAD))
    assert len(of_kind(drafts, "action.start")) == MOST_OPEN + 50
    assert len(cursor.carry["open"]) == MOST_OPEN
    assert max(len(json.dumps(one)) for one in cursor.carry["open"].values()) < MAX_RAW_TEXT


def test_a_long_output_keeps_its_two_ends(tmp_path: Path) -> None:
    output = "first line\n" + "x" * (2 * MAX_RAW_TEXT) + "\nlast line"
    path = rollout(tmp_path, meta(), call("c1", "cat big"), result("c1", f"Exit code: 0\nOutput:\n{output}"))
    action = of_kind(read(path), "action")[0]
    assert len(action["output"]) <= MAX_RAW_TEXT
    assert action["output"].startswith("first line")
    assert action["output"].endswith("last line")


@pytest.mark.parametrize(
    ("output", "outcome", "error"),
    [
        ("exec command rejected by user", "denied", "exec command rejected by user"),
        (
            "Exit code: 124\nWall time: 10 seconds\nOutput:\ncommand timed out after 10000 milliseconds",
            "timeout",
            None,
        ),
        ("Wall time: 3.8 seconds\naborted by user", "interrupted", "aborted by user"),
        ('{"output":"no\\n","metadata":{"exit_code":2,"duration_seconds":0.1}}', "error", "exit code 2: no"),
        ('{"output":"yes\\n","metadata":{"exit_code":0,"duration_seconds":0.1}}', "ok", None),
        ([{"type": "input_text", "text": "Process exited with code 0\nOutput:\nok"}], "ok", None),
        ({"content": "Exit code: 1\nOutput:\nbad", "success": False}, "error", "exit code 1: bad"),
    ],
)
def test_without_an_item_the_text_tells_how_a_command_ended(
    tmp_path: Path, output: Any, outcome: str, error: str | None
) -> None:
    action = of_kind(read(rollout(tmp_path, meta(), call("c1", "make"), result("c1", output))), "action")[0]
    assert action["outcome"] == outcome
    if error is not None or outcome == "ok":
        assert action.get("error") == error


def test_the_end_events_of_older_versions_say_the_same(tmp_path: Path) -> None:
    end = {
        "type": "exec_command_end",
        "call_id": "c1",
        "exit_code": 4,
        "aggregated_output": "broken\n",
        "duration": {"secs": 1, "nanos": 500_000_000},
    }
    path = rollout(tmp_path, meta(), call("c1", "make"), line("event_msg", end), result("c1", "whatever"))
    action = of_kind(read(path), "action")[0]
    assert (action["outcome"], action["error"], action["duration_ms"]) == (
        "error",
        "exit code 4: broken",
        1500,
    )


def test_what_the_user_ran_is_the_users_doing(tmp_path: Path) -> None:
    item = {
        "type": "CommandExecution",
        "id": "u1",
        "source": "user_shell",
        "command": ["/bin/bash", "-lc", "git status"],
        "cwd": "file:///Users/dana/my%20proj",
        "status": "completed",
        "exit_code": 0,
        "aggregated_output": "clean\n",
    }
    path = rollout(tmp_path, meta(), line("event_msg", {"type": "item_completed", "item": item}))
    draft = next(draft for draft in read(path) if draft.kind == "action")
    assert draft.actor == "person"
    assert draft.payload["input"] == {"cmd": "git status", "workdir": "/Users/dana/my proj"}


def test_rollouts_are_found_oldest_first_and_names_last(tmp_path: Path) -> None:
    home = tmp_path / "elsewhere"
    for day, thread in (("16", CHAIN), ("15", THREAD)):
        folder = home / "sessions" / "2026" / "11" / day
        folder.mkdir(parents=True)
        (folder / f"rollout-2026-11-{day}T04-03-26-{thread}.jsonl").write_text("")
    (home / "session_index.jsonl").write_text("")
    found = list(Codex().find(Places(tmp_path, {"CODEX_HOME": str(home)})))
    assert [record.session for record in found] == [THREAD, CHAIN, "session_index"]
    assert list(Codex().find(Places(tmp_path))) == []


def test_the_names_of_threads_become_titles_while_their_rollouts_are_there(tmp_path: Path) -> None:
    folder = tmp_path / "sessions" / "2026" / "11" / "16"
    folder.mkdir(parents=True)
    rollout(folder, meta())
    index = tmp_path / "session_index.jsonl"
    names = [
        {"id": THREAD, "thread_name": "Sorting", "updated_at": "2026-11-16T04:05:00Z"},
        {"id": "gone", "thread_name": "Long gone", "updated_at": "2026-11-16T04:05:00Z"},
    ]
    index.write_text("".join(json.dumps(name) + "\n" for name in names))
    drafts, cursor, _ = read_on(Codex(), record_of(index, "session_index"))
    assert [(draft.session, draft.payload) for draft in drafts] == [(THREAD, {"title": "Sorting"})]
    assert read_on(Codex(), record_of(index, "session_index"), cursor)[0] == []


def test_reading_leaves_the_cursor_it_was_given_alone(tmp_path: Path) -> None:
    record = record_of(rollout(tmp_path, meta(), call("c1", "make")), THREAD)
    cursor = Codex().read(record, Cursor(), limit=1).cursor
    before = json.dumps(cursor.carry)
    first = Codex().read(record, cursor)
    assert json.dumps(cursor.carry) == before
    assert Codex().read(record, cursor) == first


def function_call(call_id: str, name: str, **arguments: Any) -> dict[str, Any]:
    payload = {"type": "function_call", "name": name, "call_id": call_id, "arguments": json.dumps(arguments)}
    return line("response_item", payload)


def test_a_plan_update_is_the_list_of_steps(tmp_path: Path) -> None:
    plan = [{"step": "read", "status": "completed"}, {"step": "sort", "status": "in_progress"}]
    update = function_call("c1", "update_plan", explanation="two steps", plan=plan)
    drafts = read(rollout(tmp_path, meta(), update, result("c1", "Plan updated")))
    assert of_kind(drafts, "todos") == [
        {"items": [{"text": "read", "status": "completed"}, {"text": "sort", "status": "in_progress"}]}
    ]


def test_an_answer_to_a_question_is_the_users_decision(tmp_path: Path) -> None:
    asked = [{"id": "date", "question": "Which date?", "options": [{"label": "ISO"}, {"label": "US"}]}]
    answers = json.dumps({"answers": {"date": {"answers": ["US"]}}})
    ask = function_call("c1", "request_user_input", questions=asked)
    drafts = read(rollout(tmp_path, meta(), ask, result("c1", answers)))
    (draft,) = [draft for draft in drafts if draft.kind == "decision"]
    assert (draft.actor, draft.payload["what"], draft.payload["form"]) == ("person", "US", "answer")


def said(*texts: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text} for text in texts]
    return line("response_item", {"type": "message", "role": "assistant", "content": content})


PLAN = "# Plan: Rename the scans\n\n1. read the dates"


def test_a_proposed_plan_and_its_acceptance_are_reported(tmp_path: Path) -> None:
    proposed = said(f"I have read them.\n\n<proposed_plan>\n{PLAN}\n</proposed_plan>")
    drafts = read(rollout(tmp_path, meta(), proposed, user_message("Implement the plan.")))
    title = "Rename the scans"
    assert of_kind(drafts, "message") == [{"text": "I have read them."}]
    assert of_kind(drafts, "plan") == [
        {"title": title, "status": "presented", "text": PLAN},
        {"title": title, "status": "accepted"},
    ]
    assert of_kind(drafts, "decision") == [{"what": "accepted", "form": "plan", "about": title}]
    assert of_kind(drafts, "prompt") == [{"text": "Implement the plan."}]


def test_a_later_prompt_of_a_turn_was_typed_while_the_agent_worked(tmp_path: Path) -> None:
    def begun(turn: str) -> dict[str, Any]:
        return line("event_msg", {"type": "task_started", "turn_id": turn})

    first, second = user_message("File the scans."), user_message("The photos too.")
    path = rollout(tmp_path, meta(), begun("t1"), first)
    early, cursor, _ = read_on(Codex(), record_of(path, THREAD))
    with path.open("a") as file:
        for record in (second, begun("t2"), user_message("Thanks.")):
            file.write(json.dumps(record) + "\n")
    late, _, _ = read_on(Codex(), record_of(path, THREAD), cursor)
    assert of_kind([*early, *late], "prompt") == [
        {"text": "File the scans."}, {"text": "The photos too.", "form": "queued"}, {"text": "Thanks."},
    ]  # fmt: skip


def test_a_plan_is_accepted_only_after_it_was_proposed(tmp_path: Path) -> None:
    drafts = read(rollout(tmp_path, meta(), said("Done."), user_message("Implement the plan.")))
    assert of_kind(drafts, "plan") == of_kind(drafts, "decision") == []


def test_a_session_that_begins_with_a_plan_carries_it_out(tmp_path: Path) -> None:
    lead = "A previous agent produced the plan below to accomplish the user's task. Implement the plan."
    drafts = read(rollout(tmp_path, meta(), user_message(f"{lead}\n\n{PLAN}")))
    assert of_kind(drafts, "plan") == [{"title": "Rename the scans", "status": "accepted", "text": PLAN}]


def test_the_branch_is_that_of_the_beginning(tmp_path: Path) -> None:
    git = {"commit_hash": "abc1234", "branch": "topic", "repository_url": "git@example.com:a/b.git"}
    drafts = read(rollout(tmp_path, meta(git=git), user_message("Go.")))
    assert of_kind(drafts, "branch") == [{"name": "topic", "head": "abc1234"}]

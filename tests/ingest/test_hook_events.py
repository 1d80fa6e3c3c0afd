"""Hooks and transcripts tell of the same things by the same names."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.agents.base import Cursor, Places, RecordFile
from fazm_memory.agents.claude_code.reader import ClaudeCode
from fazm_memory.agents.codex.rollout import Codex
from fazm_memory.agents.fazm import FazmAppSession
from fazm_memory.events import codec
from fazm_memory.events.event import Draft, payload_class
from fazm_memory.ingest.spool import HookEvent, InvalidHookEvent, SpoolFile, read_hook_event

HERE = Path(__file__).parent
TRANSCRIPTS = HERE.parent / "agents" / "fixtures"
PLACES = Places(Path("/Users/dana"))
DENIED = "1d779516-aeee-4849-b335-58eba7c1b4c3"


def hooked(agent: str, event: dict[str, Any] | bytes, at: int = 1000, **more: Any) -> HookEvent:
    data = event if isinstance(event, bytes) else json.dumps(event).encode()
    return read_hook_event(SpoolFile(Path("1-0.x.json"), agent, at, data), PLACES, **more)


def sample(agent: str, version: str) -> list[HookEvent]:
    """What the real client told its hooks, in order."""
    lines = (HERE / "fixtures" / "hooks" / f"{agent}-{version}.jsonl").read_bytes().splitlines()
    return [hooked(agent, line, at=number) for number, line in enumerate(lines)]


def drafts_of(events: Iterable[HookEvent]) -> list[Draft]:
    return [draft for event in events for draft in event.drafts]


def claude_transcripts() -> list[Draft]:
    reader = ClaudeCode("/Users/dana")
    places = Places(Path("/nowhere"), {"CLAUDE_CONFIG_DIR": str(TRANSCRIPTS / "claude-code-2.1.197")})
    return [draft for record in reader.find(places) for draft in reader.read(record, Cursor()).drafts]


def codex_rollout() -> list[Draft]:
    path = TRANSCRIPTS / "codex-0.166.0" / "chain.jsonl"
    record = RecordFile("codex", path, "01a1e1b2-860a-7b01-81c8-77c969be7d6d", path.stat().st_size, 0)
    return list(Codex("/Users/dana").read(record, Cursor(), limit=1 << 30).drafts)


def by_key(drafts: Iterable[Draft], *kinds: str) -> dict[str, Draft]:
    return {str(draft.key): draft for draft in drafts if draft.kind in kinds}


def alike(draft: Draft) -> tuple[Any, ...]:
    """What must be the same whoever tells it: outputs are worded otherwise, durations known to one alone."""
    names = ("tool", "input", "outcome", "files", "agent_id", "text")
    return (draft.session, draft.agent, *(draft.payload.get(name) for name in names))


def test_every_payload_is_one_the_log_takes() -> None:
    drafts = drafts_of(sample("claude-code", "2.1.197") + sample("codex", "0.166.0"))

    assert len(drafts) > 100
    for draft in drafts:
        codec.to_bytes(codec.decode(payload_class(draft.kind), draft.payload))
        assert draft.key


def test_claude_codes_hooks_tell_the_same_actions_and_prompts_as_its_transcripts() -> None:
    hooks = by_key(drafts_of(sample("claude-code", "2.1.197")), "action", "prompt")
    transcripts = by_key(claude_transcripts(), "action", "prompt")

    assert {key: alike(draft) for key, draft in hooks.items()} == {
        key: alike(draft) for key, draft in transcripts.items()
    }
    outcomes = [draft.payload["outcome"] for draft in hooks.values() if draft.kind == "action"]
    assert {one: outcomes.count(one) for one in set(outcomes)} == {"ok": 11, "error": 5, "denied": 2}


def test_claude_codes_calls_are_announced_under_the_key_of_their_end() -> None:
    drafts = drafts_of(sample("claude-code", "2.1.197"))
    starts = [str(draft.key).removesuffix(":start") for draft in drafts if draft.kind == "action.start"]

    # Of a call that the client did not accept there is no announcement.
    assert len(set(by_key(drafts, "action")) - set(starts)) == 2
    assert len(starts) == len(set(starts))


def test_a_refused_call_is_reported_once_with_its_batch() -> None:
    denied = [draft for draft in drafts_of(sample("claude-code", "2.1.197")) if draft.session == DENIED]

    actions = [draft.payload for draft in denied if draft.kind == "action"]
    assert [(one["tool"], one["outcome"]) for one in actions] == [("WebFetch", "denied"), ("Bash", "denied")]


def test_codexs_hooks_tell_its_calls_by_the_rollouts_names_and_prompts_by_its_keys() -> None:
    drafts = drafts_of(sample("codex", "0.166.0"))
    rollout = by_key(codex_rollout(), "action", "prompt")

    actions = by_key(drafts, "action")
    assert [(one.payload["tool"], one.payload["input"]) for one in actions.values()] == [
        (rollout[key].payload["tool"], rollout[key].payload["input"]) for key in actions
    ]
    assert [one.payload["files"] for one in actions.values() if "files" in one.payload] == [
        rollout[key].payload["files"] for key, one in actions.items() if "files" in one.payload
    ]
    [prompt] = by_key(drafts, "prompt")
    assert rollout[prompt].payload["text"] == "Put the notes in order."


def test_where_the_rollout_knows_better_the_hook_waits_for_it(tmp_path: Path) -> None:
    event = {
        "session_id": "s",
        "hook_event_name": "PostToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": "exit 3"},
        "tool_response": "",
        "tool_use_id": "c",
        "cwd": "/w",
        "transcript_path": str(tmp_path / "rollout.jsonl"),
    }
    assert hooked("codex", event).wait_seconds == 0.0

    (tmp_path / "rollout.jsonl").touch()

    assert hooked("codex", event).wait_seconds > 0
    assert hooked("codex", event).transcript == tmp_path / "rollout.jsonl"
    assert hooked("claude-code", event).wait_seconds == 0.0


def test_a_compaction_is_left_to_the_transcript_when_there_is_one(tmp_path: Path) -> None:
    event = {
        "session_id": "s",
        "hook_event_name": "PostCompact",
        "trigger": "auto",
        "compact_summary": "So far.",
    }

    alone = hooked("claude-code", event)
    (tmp_path / "t.jsonl").touch()
    beside = hooked("claude-code", event | {"transcript_path": str(tmp_path / "t.jsonl")})

    assert [(draft.kind, draft.payload.get("summary")) for draft in alone.drafts] == [
        ("session.open", None),
        ("evicted", "So far."),
    ]
    assert beside.drafts == ()


def test_a_session_opens_with_what_is_reported_of_it_not_with_its_start() -> None:
    start = hooked("claude-code", {"session_id": "s", "hook_event_name": "SessionStart", "source": "startup"})
    prompt = hooked(
        "claude-code",
        {
            "session_id": "s",
            "hook_event_name": "UserPromptSubmit",
            "prompt": "Hi",
            "prompt_id": "p",
            "cwd": "/w",
        },
    )

    assert start.drafts == ()
    assert [draft.kind for draft in prompt.drafts] == ["session.open", "prompt"]
    assert prompt.drafts[0].payload == {"agent": "claude-code", "agent_session_id": "s", "workspace": "/w"}


def test_the_end_of_a_session_closes_it() -> None:
    event = {"session_id": "s", "hook_event_name": "SessionEnd", "reason": "logout"}

    [draft] = hooked("gemini", event, at=77).drafts

    assert (draft.kind, draft.payload, draft.at, draft.agent) == (
        "session.close",
        {"reason": "logout"},
        77,
        "gemini",
    )


def test_a_session_that_fazm_lists_or_that_is_recorded_as_its_own_is_fazms() -> None:
    event = {
        "session_id": "s",
        "hook_event_name": "UserPromptSubmit",
        "prompt": "Hi",
        "prompt_id": "p",
        "cwd": "/w",
    }

    listed = hooked("claude-code", event, listed={"s": FazmAppSession("s", "main", "/home")})
    recorded = hooked("claude-code", event, agent_of=lambda session: "fazm")

    assert {draft.agent for draft in (*listed.drafts, *recorded.drafts)} == {"fazm"}
    assert listed.drafts[0].payload["workspace"] == "/home"
    assert recorded.drafts[0].payload["workspace"] == "/w"


@pytest.mark.parametrize(
    ("agent", "tool", "given", "files"),
    [
        ("claude-code", "Edit", {"file_path": "/w/a.txt"}, ("/w/a.txt",)),
        ("claude-code", "Write", {"file_path": "b.txt"}, ("/w/b.txt",)),
        ("claude-code", "Read", {"file_path": "/w/a.txt"}, ()),
        (
            "codex",
            "apply_patch",
            {"command": "*** Update File: a\n*** Move to: b\n*** Add File: c"},
            ("/w/a",),
        ),
        ("gemini", "replace", {"file_path": "/w/a.txt"}, ("/w/a.txt",)),
    ],
)
def test_a_call_that_will_change_files_names_them_before_it_does(
    agent: str, tool: str, given: dict[str, str], files: tuple[str, ...]
) -> None:
    name = "BeforeTool" if agent == "gemini" else "PreToolUse"
    event = {"session_id": "s", "hook_event_name": name, "tool_name": tool, "tool_input": given, "cwd": "/w"}

    assert hooked(agent, event).before == files


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON"),
        (b"[" * 200_000, "not JSON"),
        (b"[1]", "not an object"),
        (b"{}", "names no event"),
        (b'{"hook_event_name": "Stop", "session_id": 3}', "names no event or no session"),
    ],
)
def test_what_is_no_event_is_refused_with_the_reason(data: bytes, why: str) -> None:
    with pytest.raises(InvalidHookEvent, match=why):
        hooked("claude-code", data)


@pytest.mark.parametrize(
    "name", ["PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch", "PostCompact"]
)
@pytest.mark.parametrize("agent", ["claude-code", "codex", "gemini", "fazm"])
@pytest.mark.parametrize("odd", [None, 7, "x", [], {}, [None], {"command": 7}, [{"tool_use_id": "c"}]])
def test_odd_fields_break_nothing(agent: str, name: str, odd: Any) -> None:
    fields = (
        "tool_name",
        "tool_input",
        "tool_response",
        "error",
        "duration_ms",
        "cwd",
        "tool_calls",
        "agent_id",
    )
    event = {"session_id": "s", "hook_event_name": name, "tool_use_id": "c", **dict.fromkeys(fields, odd)}

    for draft in hooked(agent, event).drafts:
        codec.to_bytes(codec.decode(payload_class(draft.kind), draft.payload))


REFUSED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file"
    " edit, the new_string was NOT written to the file)."
    " To tell you how to proceed, the user said:\nuse c.txt"
)
ASKED = [{"question": "Which?", "options": [{"label": "ISO"}, {"label": "US"}]}]
# tool, input, output as the model reads it, the client's own object
DECIDED: list[tuple[str, dict[str, Any], str, Any]] = [
    ("ExitPlanMode", {"plan": "# Rename"}, "User has approved your plan.", {"plan": "# Rename"}),
    ("AskUserQuestion", {"questions": ASKED}, "Your questions …", {"answers": {"Which?": "US"}}),
    ("TodoWrite", {"todos": [{"content": "read", "status": "pending"}]}, "ok", {"oldTodos": []}),
    ("Write", {"file_path": "/w/b.txt", "content": "x"}, REFUSED, None),
]


def hooks_of(call: str, tool: str, tool_input: Any, output: str, result: Any) -> list[Draft]:
    about = {"session_id": DENIED, "tool_name": tool, "tool_input": tool_input, "tool_use_id": call}
    drafts = list(hooked("claude-code", about | {"hook_event_name": "PreToolUse"}).drafts)
    if result is not None:
        after = about | {"hook_event_name": "PostToolUse", "tool_response": result}
        return drafts + list(hooked("claude-code", after).drafts)
    batch = {"session_id": DENIED, "hook_event_name": "PostToolBatch"}
    refused = batch | {"tool_calls": [about | {"tool_response": output}]}
    return drafts + list(hooked("claude-code", refused).drafts)


def test_hooks_and_transcript_tell_the_same_decisions_by_the_same_keys(tmp_path: Path) -> None:
    records, hooks = [], []
    for number, (tool, tool_input, output, result) in enumerate(DECIDED):
        call = f"toolu_{number}"
        block = {"type": "tool_use", "id": call, "name": tool, "input": tool_input}
        records.append({"type": "assistant", "uuid": f"a{number}", "message": {"content": [block]}})
        ended = {"type": "tool_result", "tool_use_id": call, "content": output, "is_error": result is None}
        records.append({"type": "user", "uuid": f"u{number}", "message": {"content": [ended]}})
        records[-1] |= {"toolUseResult": result}
        hooks += hooks_of(call, tool, tool_input, output, result)
    path = tmp_path / f"{DENIED}.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    record = RecordFile("claude-code", path, DENIED, path.stat().st_size, 0)
    transcript = ClaudeCode("/Users/dana").read(record, Cursor()).drafts
    kinds = ("decision", "plan", "todos")
    from_hooks, from_transcript = by_key(hooks, *kinds), by_key(transcript, *kinds)
    assert len(from_hooks) == 6
    assert {key: (draft.payload, draft.actor) for key, draft in from_hooks.items()} == {
        key: (draft.payload, draft.actor) for key, draft in from_transcript.items()
    }


def test_the_end_of_a_session_has_a_known_word() -> None:
    event = {"hook_event_name": "SessionEnd", "session_id": DENIED, "reason": "prompt_input_exit"}
    assert hooked("claude-code", event).drafts[-1].payload == {"reason": "exit"}


@pytest.mark.parametrize("agent", ["copilot", "cursor", "cline", "hermes", "qwen", "antigravity"])
def test_hooks_that_only_give_the_context_record_nothing_and_are_never_invalid(agent: str) -> None:
    spooled = SpoolFile(Path("1-0.x.json"), agent, 1, b'{"sessionId":"s","cwd":"/w"}')
    assert read_hook_event(spooled, PLACES).drafts == ()


def test_claude_codes_hook_inside_cursor_records_nothing() -> None:
    event = {"hook_event_name": "SessionEnd", "session_id": "s", "cwd": "/w", "reason": "exit"}
    own = SpoolFile(Path("1-0.x.json"), "claude-code", 1, json.dumps(event).encode())
    inside = SpoolFile(
        Path("1-1.x.json"), "claude-code", 1, json.dumps(event | {"cursor_version": "3"}).encode()
    )
    assert len(read_hook_event(own, PLACES).drafts) == 1
    assert read_hook_event(inside, PLACES).drafts == ()

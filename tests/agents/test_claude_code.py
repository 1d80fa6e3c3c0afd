"""Claude Code's transcripts, as version 2.1.197 wrote them and as people's days write them."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.agents.base import CHUNK, Chunk, Cursor, Places, RecordFile
from fazm_memory.agents.claude_code.reader import ClaudeCode
from fazm_memory.agents.fields import MAX_RAW_TEXT
from fazm_memory.clock import parse_time
from fazm_memory.events.event import Draft, read_payload
from fazm_memory.recall.quoting import fenced

CONFIG = Path(__file__).parent / "fixtures" / "claude-code-2.1.197"
PARENT = "11111111-2222-4333-8444-555555555555"
FORK = "adc7b591-358b-4fea-8913-a678894fb659"
REFUSED = "1d779516-aeee-4849-b335-58eba7c1b4c3"
SESSION = "99999999-2222-4333-8444-555555555555"
CONTINUED = "This session is being continued from a previous conversation that ran out of context."


def found(config: Path = CONFIG, agent: str = "") -> dict[str, RecordFile]:
    places = Places(Path("/nowhere"), {"CLAUDE_CONFIG_DIR": str(config)})
    records = ClaudeCode("/Users/dana").find(places)
    return {record.path.stem: record for record in records if agent in record.path.stem}


def chunks(record: RecordFile, cursor: Cursor | None = None, limit: int = CHUNK) -> Iterator[Chunk]:
    reader, cursor = ClaudeCode("/Users/dana"), cursor or Cursor()
    while True:
        chunk = reader.read(record, cursor, limit=limit)
        yield chunk
        # What is stored between two readings is JSON.
        cursor = Cursor(chunk.cursor.offset, json.loads(json.dumps(chunk.cursor.carry, allow_nan=False)))
        if not chunk.more:
            return


def read(record: RecordFile, limit: int = CHUNK) -> list[Draft]:
    drafts = [draft for chunk in chunks(record, limit=limit) for draft in chunk.drafts]
    for draft in drafts:
        read_payload(draft.kind, 1, draft.payload)
    return drafts


def field_values(drafts: list[Draft], kind: str, field: str) -> list[Any]:
    return [draft.payload.get(field) for draft in drafts if draft.kind == kind]


class Day:
    """A transcript in the making: records as the client writes them, a second after another."""

    def __init__(self, folder: Path, session: str = SESSION) -> None:
        self.path = folder / f"{session}.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.touch()
        self.session = session
        self.count = 0

    def add(self, kind: str, **fields: Any) -> str:
        self.count += 1
        uuid = f"00000000-0000-4000-8000-{self.count:012d}"
        record = {
            "parentUuid": None,
            "isSidechain": False,
            "type": kind,
            "uuid": uuid,
            "timestamp": f"2026-11-16T09:{self.count // 60:02d}:{self.count % 60:02d}.000Z",
            "cwd": "/Users/dana/proj",
            "sessionId": self.session,
        }
        self.write(record | fields)
        return uuid

    def write(self, record: Any) -> None:
        with self.path.open("ab") as file:
            file.write(json.dumps(record, separators=(",", ":")).encode() + b"\n")

    def says(self, content: Any, **fields: Any) -> str:
        return self.add("user", message={"role": "user", "content": content}, **fields)

    def answers(self, *blocks: dict[str, Any], **message: Any) -> str:
        made = {
            "id": f"msg_{self.count}",
            "model": "claude-opus-4-8",
            "role": "assistant",
            "content": list(blocks),
        }
        return self.add("assistant", message=made | message)

    def calls(self, call: str, tool: str, **given: Any) -> str:
        return self.answers({"type": "tool_use", "id": call, "name": tool, "input": given})

    def results(self, call: str, content: Any, result: Any = None, **block: Any) -> str:
        made = {"type": "tool_result", "tool_use_id": call, "content": content} | block
        more = {} if result is None else {"toolUseResult": result}
        return self.says([made], **more)

    def record(self) -> RecordFile:
        stat = self.path.stat()
        return RecordFile("claude-code", self.path, self.session, stat.st_size, stat.st_mtime)

    def read(self) -> list[Draft]:
        return read(self.record())


@pytest.fixture
def day(tmp_path: Path) -> Day:
    return Day(tmp_path / "projects" / "-Users-dana-proj")


def test_sessions_and_their_subagents_are_found_with_the_session_first() -> None:
    records = found()
    assert {name: record.session for name, record in records.items()} == {
        PARENT: PARENT,
        FORK: FORK,
        REFUSED: REFUSED,
        "agent-a518a2adc9434c555": PARENT,
    }
    assert list(records)[-1] == "agent-a518a2adc9434c555"


def test_no_folder_is_no_error_and_files_of_other_names_are_left_alone(tmp_path: Path) -> None:
    assert found(tmp_path) == {}
    folder = tmp_path / "projects" / "-x"
    folder.mkdir(parents=True)
    (folder / "backup of yesterday.jsonl").write_text("{}\n")
    assert found(tmp_path) == {}


def test_a_subagent_of_an_older_version_is_found_beside_its_session(tmp_path: Path, day: Day) -> None:
    aside = Day(day.path.parent, "agent-abc")
    aside.add("user", message={"role": "user", "content": "look"}, sessionId=SESSION, isSidechain=True)
    assert found(tmp_path, "agent-")["agent-abc"].session == SESSION


def test_a_transcript_opens_its_session_in_its_folder_with_its_model() -> None:
    opening = read(found()[PARENT])[0]
    assert (opening.kind, opening.session, opening.agent, opening.source) == (
        "session.open",
        PARENT,
        "claude-code",
        "transcript",
    )
    assert opening.payload == {
        "agent": "claude-code",
        "agent_session_id": PARENT,
        "workspace": "/Users/dana/proj",
        "model": "claude-opus-4-8",
    }
    assert opening.at == 1794787608753000


def test_every_call_becomes_an_action_with_its_outcome_in_the_order_of_the_results() -> None:
    actions = [draft.payload for draft in read(found()[PARENT]) if draft.kind == "action"]
    assert [(one["tool"], one["outcome"]) for one in actions] == [
        ("Bash", "ok"),
        ("Write", "ok"),
        ("Read", "ok"),
        ("Edit", "ok"),
        ("Bash", "error"),
        ("Grep", "error"),
        ("Bash", "ok"),
        ("Bash", "ok"),
        ("mcp__tinymem__recall", "ok"),
        ("mcp__tinymem__fail", "error"),
        ("Agent", "ok"),
        ("Bash", "ok"),
    ]
    first, failed = actions[0], actions[4]
    assert first["input"] == {"command": "echo hello-from-bash && pwd", "description": "Say hello"}
    assert first["output"] == "hello-from-bash\n/Users/dana/proj"
    assert first["output"].splitlines()[0] == "hello-from-bash"
    assert failed["error"].startswith("Exit code 3\noops")
    assert actions[5]["error"].startswith("No such tool available: Grep")
    assert (actions[10]["output"], actions[10]["duration_ms"]) == ("subagent finished", 337)


def test_file_tools_tell_what_they_created_read_and_changed() -> None:
    files = [one for one in field_values(read(found()[PARENT]), "action", "files") if one][:3]
    note = "/Users/dana/proj/note.txt"
    assert files == [
        [{"path": note, "change": "created"}],
        [{"path": note, "change": "read"}],
        [{"path": note, "change": "modified", "line": 2}],
    ]


def test_a_refused_call_is_denied() -> None:
    drafts = read(found()[REFUSED])
    assert field_values(drafts, "action", "outcome") == ["denied", "denied"]
    assert field_values(drafts, "action", "files") == [None, None]


def test_only_what_the_person_typed_is_a_prompt() -> None:
    drafts = read(found()[PARENT])
    asked = ["SCENARIO:chain please do the work", "SCENARIO:again look", "SCENARIO:short hi"]
    assert field_values(drafts, "prompt", "text") == asked
    assert next(draft.key for draft in drafts if draft.kind == "prompt") == (
        "claude-code:c07f8f4e-19ef-4f0e-899a-6970762e11b0:prompt"
    )
    everything = json.dumps([draft.payload for draft in drafts])
    assert "MARKER" not in everything  # what hooks put in
    assert "plan the chain" not in everything  # what the model thought


def test_what_the_agent_reported_is_a_message_and_the_clients_fillers_are_not() -> None:
    assert field_values(read(found()[PARENT]), "message", "text") == [
        "I will run a command.",
        "All steps done. FINAL-ANSWER-42",
        "resumed and done",
        "short answer",
    ]


def test_a_compaction_tells_its_trigger_and_its_summary_without_instructions() -> None:
    evicted = [draft for draft in read(found()[PARENT]) if draft.kind == "evicted"]
    assert [draft.payload for draft in evicted] == [
        {"keys": [], "trigger": "manual", "summary": "resumed and done"}
    ]
    assert evicted[0].key == "claude-code:d1e1a632-c0b3-44b7-b5f2-d30a6d9f2c21"


def test_a_subagents_actions_belong_to_its_parents_session() -> None:
    drafts = read(found()["agent-a518a2adc9434c555"])
    assert {draft.session for draft in drafts} == {PARENT}
    assert Counter(draft.kind for draft in drafts) == {"session.open": 1, "usage": 2, "action": 1}
    assert field_values(drafts, "action", "agent_id") == ["a518a2adc9434c555"]


def test_an_answers_tokens_are_reported_once_however_many_records_repeat_them() -> None:
    keys = [draft.key for draft in read(found()[PARENT]) if draft.kind == "usage"]
    assert len(keys) == len(set(keys)) == 13


def test_tokens_of_an_answer_still_being_written_wait_for_the_final_ones(day: Day) -> None:
    usage = {"input_tokens": 10, "cache_creation_input_tokens": 5, "cache_read_input_tokens": 7}
    day.answers({"type": "text", "text": "a"}, id="m1", usage=usage | {"output_tokens": 1}, stop_reason=None)
    assert field_values(day.read(), "usage", "output_tokens") == []
    day.answers(
        {"type": "text", "text": "b"}, id="m1", usage=usage | {"output_tokens": 90}, stop_reason="end_turn"
    )
    day.answers({"type": "text", "text": "c"}, id="m2", usage=usage | {"output_tokens": 3}, stop_reason=None)
    day.answers(
        {"type": "text", "text": "d"}, id="m3", usage=usage | {"output_tokens": 4}, stop_reason="end_turn"
    )
    spent = [draft.payload for draft in day.read() if draft.kind == "usage"]
    assert [one["output_tokens"] for one in spent] == [90, 3, 4]
    assert (spent[0]["input_tokens"], spent[0]["cached_tokens"], spent[0]["written_tokens"]) == (15, 7, 5)


def test_the_tokens_of_the_last_answer_are_reported_once_when_the_file_is_quiet(day: Day) -> None:
    usage = {"input_tokens": 10, "output_tokens": 3}
    day.answers({"type": "text", "text": "a"}, id="m1", usage=usage, stop_reason=None)
    day.answers({"type": "text", "text": "b"}, id="m1", usage=usage, stop_reason=None)
    reader = ClaudeCode("/Users/dana")
    first = reader.read(day.record(), Cursor())
    assert (field_values(first.drafts, "usage", "output_tokens"), first.waiting) == ([], True)
    second = reader.read(replace(day.record(), quiet=True), first.cursor)
    assert (field_values(second.drafts, "usage", "output_tokens"), second.waiting) == ([3], False)
    day.answers({"type": "text", "text": "c"}, id="m1", usage=usage, stop_reason="end_turn")
    third = reader.read(replace(day.record(), quiet=True), second.cursor)
    assert field_values(third.drafts, "usage", "output_tokens") == []


def test_a_fork_names_its_parent_and_tells_only_what_is_its_own() -> None:
    drafts = read(found()[FORK])
    assert drafts[0].payload["parent"] == PARENT
    assert field_values(drafts, "prompt", "text") == ["SCENARIO:again fork look", "SCENARIO:readfail"]
    assert field_values(drafts, "action", "tool") == ["Bash", "Read", "Edit"]
    parents = {draft.key for draft in read(found()[PARENT])}
    assert not parents & {draft.key for draft in drafts}


def test_a_fork_whose_parent_is_gone_keeps_the_copies_under_the_same_keys(tmp_path: Path) -> None:
    shutil.copytree(CONFIG, tmp_path, dirs_exist_ok=True)
    (tmp_path / "projects" / "-Users-dana-proj" / f"{PARENT}.jsonl").unlink()
    drafts = read(found(tmp_path)[FORK])
    assert "parent" not in drafts[0].payload
    copied = {draft.key for draft in read(found()[PARENT])} & {draft.key for draft in drafts}
    assert len([key for key in copied if key and "toolu_" in key]) == 12


def test_a_fork_of_a_fork_descends_from_the_one_it_shares_most_with(day: Day) -> None:
    def copy(session: str, of: Day, at: str) -> Day:
        made = Day(day.path.parent, session)
        made.write({"type": "queue-operation", "timestamp": at, "sessionId": session})
        for line in of.path.read_text().splitlines():
            if "uuid" in line:  # 2.1.197 writes the new session's id into the copies
                made.write(json.loads(line) | {"sessionId": session})
        made.count = of.count + 10
        return made

    day.says("one")
    day.says("two")
    first = copy("88888888-2222-4333-8444-555555555555", day, "2026-11-17T00:00:00Z")
    first.says("three")
    second = copy("77777777-2222-4333-8444-555555555555", first, "2026-11-18T00:00:00Z")
    second.says("four")
    assert read(second.record())[0].payload["parent"] == first.session
    assert field_values(read(second.record()), "prompt", "text") == ["four"]
    assert read(first.record())[0].payload["parent"] == day.session
    assert field_values(day.read(), "prompt", "text") == ["one", "two"]


def test_a_fork_made_after_a_compaction_begins_in_the_middle_and_is_recognised(day: Day) -> None:
    day.says("long ago")
    kept = [
        day.add("system", subtype="compact_boundary", compactMetadata={"trigger": "manual"}),
        day.says(f"{CONTINUED}\n\nall went well", isCompactSummary=True),
    ]
    lines = [line for line in day.path.read_text().splitlines() if any(uuid in line for uuid in kept)]
    fork = Day(day.path.parent, "88888888-2222-4333-8444-555555555555")
    fork.write({"type": "queue-operation", "timestamp": "2026-11-17T00:00:00Z", "sessionId": fork.session})
    for line in lines:
        fork.write(json.loads(line) | {"sessionId": fork.session})
    fork.count = 20
    fork.says("another way")
    drafts = fork.read()
    assert drafts[0].payload["parent"] == SESSION
    assert [draft.kind for draft in drafts] == ["session.open", "prompt"]
    assert field_values(day.read(), "evicted", "summary") == ["all went well"]


def test_a_fork_that_is_still_copying_is_recognised_when_it_has_copied(tmp_path: Path) -> None:
    shutil.copytree(CONFIG, tmp_path, dirs_exist_ok=True)
    fork = tmp_path / "projects" / "-Users-dana-proj" / f"{FORK}.jsonl"
    lines = fork.read_bytes().splitlines(keepends=True)
    drafts: list[Draft] = []
    reader, cursor = ClaudeCode(), Cursor()
    for count in (2, 10, 30, len(lines)):
        fork.write_bytes(b"".join(lines[:count]))
        chunk = reader.read(found(tmp_path)[FORK], cursor)
        cursor = chunk.cursor
        drafts += chunk.drafts
    assert [(draft.kind, draft.key) for draft in drafts] == [
        (draft.kind, draft.key) for draft in read(found()[FORK])
    ]
    assert drafts[0].payload["parent"] == PARENT


def test_a_copy_that_says_where_it_came_from_is_believed(day: Day) -> None:
    old = day.says("before")
    fork = Day(day.path.parent, "88888888-2222-4333-8444-555555555555")
    fork.says(
        "before",
        uuid="00000000-0000-4000-8000-aaaaaaaaaaaa",
        forkedFrom={"sessionId": SESSION, "messageUuid": old},
    )
    fork.says("after")
    drafts = fork.read()
    assert drafts[0].payload["parent"] == SESSION
    assert field_values(drafts, "prompt", "text") == ["after"]
    day.path.unlink()
    assert next(draft.key for draft in fork.read() if draft.kind == "prompt") == f"claude-code:{old}"


def test_copies_that_still_bear_the_old_sessions_id_are_the_old_sessions(day: Day) -> None:
    day.says("before")
    later = Day(day.path.parent, "88888888-2222-4333-8444-555555555555")
    later.says("before", sessionId=SESSION)
    later.count = 10
    later.says("after")
    drafts = later.read()
    assert drafts[0].payload["parent"] == SESSION
    assert field_values(drafts, "prompt", "text") == ["after"]


def test_a_call_without_a_result_is_reported_as_begun_once_and_then_as_ended(day: Day) -> None:
    day.calls("toolu_1", "Bash", command="sleep 60")
    first = next(chunks(day.record()))
    assert [draft.kind for draft in first.drafts] == ["session.open", "action.start"]
    assert first.drafts[1].key == "claude-code:toolu_1:start"
    day.says("[unrelated] a word meanwhile")
    second = next(chunks(day.record(), first.cursor))
    assert [draft.kind for draft in second.drafts] == ["prompt"]
    day.results("toolu_1", "done", {"stdout": "done", "interrupted": False})
    third = next(chunks(day.record(), second.cursor))
    assert [(draft.kind, draft.key) for draft in third.drafts] == [("action", "claude-code:toolu_1")]
    assert third.drafts[0].payload["input"] == {"command": "sleep 60"}


def test_what_the_user_stopped_was_interrupted(day: Day) -> None:
    day.calls("toolu_1", "Bash", command="make all")
    day.calls("toolu_2", "Read", file_path="/a.txt")
    day.says([{"type": "text", "text": "[Request interrupted by user for tool use]"}])
    drafts = day.read()
    assert field_values(drafts, "action", "outcome") == ["interrupted", "interrupted"]
    assert field_values(drafts, "action.start", "tool") == []
    assert field_values(drafts, "prompt", "text") == []


def test_where_nobody_could_reject_it_a_rejected_call_was_interrupted(day: Day) -> None:
    rejected = (
        "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was …"
    )
    for call, entrypoint in (("toolu_1", "sdk-cli"), ("toolu_2", "cli")):
        day.calls(call, "Bash", command="sleep 50")
        block = {"type": "tool_result", "tool_use_id": call, "content": rejected, "is_error": True}
        day.says([block], toolUseResult="User rejected tool use", entrypoint=entrypoint)
    assert field_values(day.read(), "action", "outcome") == ["interrupted", "denied"]


@pytest.mark.parametrize(
    ("content", "outcome"),
    [
        (
            "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if …",
            "denied",
        ),
        ("Permission to edit /etc/hosts has been denied.", "denied"),
        ("PreToolUse:Bash hook error: [guard.sh]: not here", "denied"),
        ("This command uses the `&` background operator, … Approve only if you trust it.", "denied"),
        (
            "This Bash command contains multiple operations. The following part requires approval: rm x",
            "denied",
        ),
        ("Exit code 1\nThe release requires approval", "error"),
        ("Exit code 143\nCommand timed out after 2m 0s\npartial", "timeout"),
        ('MCP server "web" tool "fetch" timed out after 30s', "timeout"),
        ("MCP error -32001: Request timed out", "timeout"),
        (
            "The user doesn't want to take this action right now. STOP what you are doing and wait",
            "interrupted",
        ),
        ("<tool_use_error>InputValidationError: file_path is missing</tool_use_error>", "error"),
    ],
)
def test_how_a_failed_call_ended_is_in_the_clients_words(day: Day, content: str, outcome: str) -> None:
    day.calls("toolu_1", "Bash", command="true")
    day.results("toolu_1", content, is_error=True)
    assert field_values(day.read(), "action", "outcome") == [outcome]


def test_a_command_that_prints_of_time_outs_has_not_timed_out(day: Day) -> None:
    day.calls("toolu_1", "Bash", command="cat log")
    day.results(
        "toolu_1", "Command timed out after 2m", {"stdout": "…", "interrupted": False}, is_error=False
    )
    assert field_values(day.read(), "action", "outcome") == ["ok"]


def test_a_result_whose_call_is_lost_is_reported_all_the_same(day: Day) -> None:
    day.results("toolu_lost", "42")
    action = day.read()[1]
    assert (action.key, action.payload["tool"], action.payload["output"]) == (
        "claude-code:toolu_lost",
        "unknown",
        "42",
    )


def test_a_prompt_typed_while_the_agent_works_is_a_prompt(day: Day) -> None:
    def queued(prompt: Any, **more: Any) -> None:
        day.add("attachment", attachment={"type": "queued_command", "prompt": prompt} | more)

    queued("and the tests", commandMode="prompt")
    queued("<task-notification>done</task-notification>", commandMode="task-notification")
    queued([{"type": "text", "text": "a word from a peer"}], origin={"kind": "peer"})
    assert field_values(day.read(), "prompt", "text") == ["and the tests"]


def test_a_command_that_became_a_prompt_is_reported_as_it_was_typed(day: Day) -> None:
    day.says("<command-message>review</command-message>\n<command-name>/review</command-name>\n"
             "<command-args>the parser</command-args>")  # fmt: skip
    day.says("<command-name>/model</command-name>\n<command-message>model</command-message>")
    day.says("<local-command-stdout>Set model</local-command-stdout>")
    assert field_values(day.read(), "prompt", "text") == ["/review the parser"]


def test_words_that_follow_an_interruption_are_the_persons(day: Day) -> None:
    day.says("[Request interrupted by user]use the other branch")
    day.says([{"type": "text", "text": "[Request interrupted by user for tool use]"}])
    assert field_values(day.read(), "prompt", "text") == ["use the other branch"]


def test_what_is_put_beside_a_persons_words_is_not_theirs(day: Day) -> None:
    day.says([
        {"type": "text", "text": "<ide_opened_file>main.py is open</ide_opened_file>"},
        {"type": "text", "text": "fix the <Button> layout<system-reminder>be brief</system-reminder>"},
        {"type": "image", "source": {"type": "base64", "data": "xxxx"}},
    ])  # fmt: skip
    day.says("meta", isMeta=True)
    day.says("aside", isSidechain=True)
    day.says("from a task", origin={"kind": "task-notification"})
    assert field_values(day.read(), "prompt", "text") == ["fix the <Button> layout"]


def test_two_prompts_of_one_turn_are_two_prompts(day: Day) -> None:
    first = day.says("do it", promptId="p1")
    second = day.says("and that", promptId="p1")
    keys = [draft.key for draft in day.read() if draft.kind == "prompt"]
    assert keys == ["claude-code:p1:prompt", f"claude-code:{second}"]
    assert first != second


def test_a_record_written_twice_is_reported_once(day: Day) -> None:
    day.says("do it", promptId="p1")
    day.calls("toolu_1", "Bash", command="true")
    day.results("toolu_1", "done")
    for line in day.path.read_text().splitlines():
        day.write(json.loads(line))
    kinds = [draft.kind for draft in day.read()]
    assert kinds == ["session.open", "prompt", "action"]


def test_a_command_the_person_ran_is_the_persons_action(day: Day) -> None:
    day.says("<bash-input>ls</bash-input>")
    day.says("<bash-stdout>a.txt\nb.txt</bash-stdout><bash-stderr></bash-stderr>")
    action = next(draft for draft in day.read() if draft.kind == "action")
    assert (action.actor, action.payload["tool"]) == ("person", "Bash")
    assert action.payload["input"] == {"command": "ls"}
    assert action.payload["output"] == "a.txt\nb.txt"


def test_our_own_words_are_not_taken_in_again(day: Day) -> None:
    ours = fenced(["yesterday you moved 12 files"], "ab" * 16)
    day.says(f"{ours}\ngo on")
    day.answers({"type": "text", "text": f"You told me: {ours}"})
    day.calls("toolu_1", "Bash", command="cat context.md")
    day.results("toolu_1", f"before\n{ours}\nafter")
    drafts = day.read()
    assert field_values(drafts, "prompt", "text") == ["go on"]
    assert field_values(drafts, "message", "text") == ["You told me:"]
    assert field_values(drafts, "action", "output") == ["before\n\nafter"]


def test_a_title_is_reported_when_it_is_new_and_a_persons_own_stays(day: Day) -> None:
    leaf = day.says("hello")
    day.write({"type": "summary", "summary": "Of another session", "leafUuid": "elsewhere"})
    day.write({"type": "summary", "summary": "A greeting", "leafUuid": leaf})
    day.write({"type": "ai-title", "aiTitle": "Greeting  the\nagent", "sessionId": SESSION})
    day.write({"type": "ai-title", "aiTitle": "Greeting the agent", "sessionId": SESSION})
    day.write({"type": "custom-title", "customTitle": "Monday", "sessionId": SESSION})
    day.write({"type": "ai-title", "aiTitle": "Another one", "sessionId": SESSION})
    day.write({"type": "custom-title", "customTitle": "Monday", "sessionId": SESSION})
    drafts = day.read()
    assert field_values(drafts, "session.title", "title") == ["A greeting", "Greeting the agent", "Monday"]
    assert len({draft.key for draft in drafts}) == len(drafts)


def test_what_has_no_moment_of_its_own_is_reported_at_that_of_the_records_around_it(day: Day) -> None:
    day.write({"type": "custom-title", "customTitle": "Monday", "sessionId": SESSION})
    day.says("hello")
    day.write({"type": "custom-title", "customTitle": "Tuesday", "sessionId": SESSION})
    day.write({"type": "hologram"})
    moment = parse_time("2026-11-16T09:00:01+00:00")
    assert {draft.kind: draft.at for draft in day.read()} == dict.fromkeys(
        ("session.open", "session.title", "prompt", "unknown"), moment
    )
    *_, last = chunks(day.record())
    day.write({"type": "custom-title", "customTitle": "Wednesday", "sessionId": SESSION})
    assert [draft.at for draft in next(chunks(day.record(), last.cursor)).drafts] == [moment]


def test_listings_are_seen_so_that_skipped_files_are_known(day: Day) -> None:
    day.calls("toolu_1", "Bash", command="ls -1")
    day.results("toolu_1", "a.pdf\nb.pdf")
    day.calls("toolu_2", "Glob", pattern="**/*.txt")
    day.results("toolu_2", "2 files", {"filenames": ["/x/one.txt", "sub/two.txt"], "numFiles": 2})
    day.calls("toolu_3", "LS", path="/Users/dana/Docs/")
    day.results("toolu_3", "- /Users/dana/Docs/\n  - cv.pdf\n  - old/\n    - older.pdf\n")
    seen = [draft for draft in day.read() if draft.kind == "seen"]
    assert [draft.payload for draft in seen] == [
        {"folder": "/Users/dana/proj", "files": ["a.pdf", "b.pdf"]},
        {"folder": "/x", "files": ["one.txt"]},
        {"folder": "/Users/dana/proj/sub", "files": ["two.txt"]},
        {"folder": "/Users/dana/Docs", "files": ["cv.pdf"]},
    ]
    assert [draft.key for draft in seen][:2] == ["claude-code:toolu_1:seen:0", "claude-code:toolu_2:seen:0"]


def test_shell_commands_tell_their_files_from_the_folder_they_ran_in(day: Day) -> None:
    day.calls("toolu_1", "Bash", command="mv a.txt b.txt")
    day.results("toolu_1", "", {"stdout": "", "stderr": "", "interrupted": False}, is_error=False)
    day.calls("toolu_2", "Bash", command="mv c.txt d.txt")
    day.results(
        "toolu_2", "Permission to use Bash with command mv c.txt d.txt has been denied.", is_error=True
    )
    files = field_values(day.read(), "action", "files")
    assert [(one["path"], one["change"], one["from"]) for one in files[0]] == [
        ("/Users/dana/proj/b.txt", "renamed", "/Users/dana/proj/a.txt")
    ]
    assert files[1] is None


def test_a_command_in_the_background_has_not_surely_done_its_work(day: Day) -> None:
    day.calls("toolu_1", "Bash", command="touch /tmp/x.txt", run_in_background=True)
    day.results("toolu_1", "Command running in background with ID: b1", {"backgroundTaskId": "b1"})
    assert [one["inferred"] for one in field_values(day.read(), "action", "files")[0]] == [True]


def test_an_unknown_record_is_kept_and_counted_and_known_noise_is_not(day: Day) -> None:
    day.write({"type": "mode", "mode": "normal", "sessionId": SESSION})
    day.write({"sessionId": SESSION, "type": "permission-mode", "permissionMode": "plan"})
    day.add("hologram", picture={"deep": [1, 2]})
    day.add("system", subtype="turn_duration", durationMs=5)
    day.add("system", subtype="seance")
    chunk = next(chunks(day.record()))
    assert chunk.unknown == {"hologram": 1, "system/seance": 1}
    assert field_values(list(chunk.drafts), "unknown", "type") == ["hologram", "system/seance"]
    assert chunk.drafts[1].payload["raw"]["picture"] == {"deep": [1, 2]}


def test_bad_lines_are_counted_and_cost_nothing_else(day: Day) -> None:
    day.says("one")
    with day.path.open("ab") as file:
        file.write(b"not json\n[1, 2]\n\n" + b"\0" * 4096 + b"\n\xff\xfe\n")
    day.says("two")
    chunk = next(chunks(day.record()))
    assert field_values(list(chunk.drafts), "prompt", "text") == ["one", "two"]
    assert chunk.bad == 3


def test_two_records_on_one_line_are_both_read(day: Day) -> None:
    day.says("one")
    day.says("two")
    day.path.write_bytes(day.path.read_bytes().replace(b"}\n{", b"}{"))
    chunk = next(chunks(day.record()))
    assert field_values(list(chunk.drafts), "prompt", "text") == ["one", "two"]
    assert chunk.bad == 0


def test_a_half_written_line_waits(day: Day) -> None:
    day.says("one")
    whole = day.path.read_bytes()
    day.says("two")
    line = day.path.read_bytes()[len(whole) :]
    day.path.write_bytes(whole + line[:-5])
    first = next(chunks(day.record()))
    assert field_values(list(first.drafts), "prompt", "text") == ["one"]
    day.path.write_bytes(whole + line)
    second = next(chunks(day.record(), first.cursor))
    assert field_values(list(second.drafts), "prompt", "text") == ["two"]
    assert second.cursor.offset == len(whole + line)


@pytest.mark.parametrize("name", [PARENT, FORK, REFUSED, "agent-a518a2adc9434c555"])
def test_where_the_chunks_are_cut_changes_nothing(name: str) -> None:
    def reply(drafts: list[Draft]) -> list[tuple[Any, ...]]:
        return [
            (draft.kind, draft.key, draft.at, draft.payload)
            for draft in drafts
            if draft.kind not in ("action.start", "session.open")
        ]

    whole = read(found()[name])
    assert reply(read(found()[name], limit=1)) == reply(whole)
    assert len(reply(whole)) > 1


def test_only_so_many_open_calls_are_carried(day: Day) -> None:
    for number in range(250):
        day.calls(f"toolu_{number}", "Write", file_path=f"/{number}.txt", content="x" * 100_000)
    chunk = list(chunks(day.record()))[-1]
    assert len(chunk.cursor.carry["open"]) == 200
    assert len(json.dumps(chunk.cursor.carry)) < 200 * MAX_RAW_TEXT


def test_a_line_of_many_megabytes_is_read_and_capped(day: Day) -> None:
    day.calls("toolu_1", "Bash", command="cat big")
    day.results("toolu_1", "first line\n" + "x" * (24 << 20))
    day.says("after")
    drafts = day.read()
    output = field_values(drafts, "action", "output")[0]
    assert output.startswith("first line\n")
    assert len(output) <= MAX_RAW_TEXT
    assert field_values(drafts, "prompt", "text") == ["after"]


def test_an_edit_names_its_first_changed_line(day: Day) -> None:
    day.calls("c1", "Edit", file_path="/w/a.py", old_string="beta", new_string="gamma")
    patch = [{"oldStart": 6, "lines": [" alpha", "-beta", "+gamma"]}]
    day.results("c1", "The file has been updated.", {"filePath": "/w/a.py", "structuredPatch": patch})
    (files,) = field_values(day.read(), "action", "files")
    assert [(file["path"], file["line"]) for file in files] == [("/w/a.py", 7)]

"""What people decide in Claude Code, and what its agents plan, becomes typed events, each once."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.agents.base import CHUNK, Chunk, Cursor, Places, RecordFile
from fazm_memory.agents.claude_code.reader import ACCEPTED, ClaudeCode
from fazm_memory.engines.redaction import default_redactor
from fazm_memory.events.event import Draft
from fazm_memory.ingest.importer import Importer
from fazm_memory.ingest.recorder import Recorder
from fazm_memory.session.reducer import fold, initial_state
from fazm_memory.session.state import state_to_json
from fazm_memory.store.store import Store
from tests.agents.test_claude_code import SESSION, Day, field_values, read

NEXT = "88888888-2222-4333-8444-555555555555"
REJECTED = (
    "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file"
    " edit, the new_string was NOT written to the file). "
)
BARE = REJECTED + "STOP what you are doing and wait for the user to tell you how to proceed."
REASON = REJECTED + "To tell you how to proceed, the user said:\n"
PLAN = "# Plan: Rename the scans\n\n1. read the dates\n2. rename"
TITLE = "Rename the scans"
QUESTIONS = [
    {"question": "Which date?", "options": [{"label": "Invoice"}, {"label": "Scan"}], "multiSelect": False},
    {"question": "What else?", "options": [{"label": "Nothing"}], "multiSelect": True},
]


@pytest.fixture
def day(tmp_path: Path) -> Day:
    return Day(tmp_path / "projects" / "-Users-dana-proj")


def of_kind(drafts: list[Draft], kind: str, **fields: Any) -> list[dict[str, Any]]:
    """The payloads of a kind, without the ids of their calls. They must be the user's if `actor` says so."""
    found = [draft for draft in drafts if draft.kind == kind]
    for name, value in fields.items():
        assert [getattr(draft, name) for draft in found] == [value] * len(found)
    return [{name: value for name, value in draft.payload.items() if name != "call_id"} for draft in found]


def test_a_refusal_with_a_reason_is_the_users_decision_and_no_failure(day: Day) -> None:
    day.calls("c1", "Edit", file_path="/w/a.py", old_string="a", new_string="b")
    day.results("c1", f"{REASON}fix the test,\nthe code is right", is_error=True)
    drafts = day.read()
    assert of_kind(drafts, "decision", actor="person") == [
        {"what": "fix the test,\nthe code is right", "form": "refusal", "about": "Edit /w/a.py"}
    ]
    assert field_values(drafts, "action", "outcome") == ["denied"]
    assert field_values(drafts, "action", "error") == ["fix the test,\nthe code is right"]


def test_a_refusal_without_a_reason_says_only_that(day: Day) -> None:
    day.calls("c1", "Bash", command="rm -rf build")
    note = "\n\nNote: The user's next message may contain a correction or preference."
    day.results("c1", BARE + note, is_error=True)
    drafts = day.read()
    assert of_kind(drafts, "decision") == []
    assert field_values(drafts, "action", "error") == ["refused by the user"]
    assert field_values(drafts, "action", "output") == [""]


def test_a_reason_that_speaks_of_a_time_out_is_a_refusal_all_the_same(day: Day) -> None:
    day.calls("c1", "Bash", command="make")
    day.results("c1", f"{REASON}Command timed out before, use make fast", is_error=True)
    assert field_values(day.read(), "action", "outcome") == ["denied"]


def test_each_answer_has_its_question_and_its_options(day: Day) -> None:
    day.calls("c1", "AskUserQuestion", questions=QUESTIONS)
    answers = {"Which date?": "Scan", "What else?": "the drafts too"}
    notes = {"Which date?": {"notes": "only for October"}}
    day.results("c1", "Your questions have been answered: …", {"answers": answers, "annotations": notes})
    assert of_kind(day.read(), "decision", actor="person") == [
        {
            "what": "Scan\nonly for October",
            "form": "answer",
            "question": "Which date?",
            "alternatives": ["Invoice", "Scan"],
        },
        {
            "what": "the drafts too",
            "form": "answer",
            "question": "What else?",
            "alternatives": ["Nothing"],
        },
    ]


def test_answers_are_read_from_the_text_where_the_client_has_no_object(day: Day) -> None:
    day.calls("c1", "AskUserQuestion", questions=QUESTIONS)
    day.results("c1", 'User has answered your questions: "Which date?"="Scan". You can now continue.')
    assert field_values(day.read(), "decision", "what") == ["Scan"]


def test_an_accepted_plan_is_presented_and_accepted(day: Day) -> None:
    day.calls("c1", "ExitPlanMode", plan=PLAN)
    day.results("c1", "User has approved your plan. You can now start coding.", {"plan": PLAN})
    drafts = day.read()
    assert of_kind(drafts, "plan") == [
        {"title": TITLE, "text": PLAN, "status": "presented"},
        {"title": TITLE, "status": "accepted"},
    ]
    assert [draft.actor for draft in drafts if draft.kind == "plan"] == [None, "person"]
    assert of_kind(drafts, "decision", actor="person") == [
        {"what": "accepted", "form": "plan", "about": TITLE}
    ]


def test_a_plan_that_the_user_edited_is_accepted_as_edited(day: Day) -> None:
    day.calls("c1", "ExitPlanMode", plan=PLAN)
    day.results("c1", "User has approved your plan.", {"plan": "# Rename two scans", "planWasEdited": True})
    assert of_kind(day.read(), "plan")[1] == {
        "title": "Rename two scans",
        "text": "# Rename two scans",
        "status": "accepted",
    }


def test_a_rejected_plan_has_the_users_words(day: Day) -> None:
    day.calls("c1", "ExitPlanMode", plan=PLAN)
    day.results("c1", f"{REASON}only the first step", is_error=True)
    drafts = day.read()
    assert field_values(drafts, "plan", "status") == ["presented", "rejected"]
    assert of_kind(drafts, "decision", actor="person") == [
        {"what": "only the first step", "form": "plan", "about": TITLE}
    ]


def test_a_plan_that_waits_for_its_verdict_is_presented_once(day: Day) -> None:
    day.calls("c1", "ExitPlanMode", plan=PLAN)
    reader = ClaudeCode("/Users/dana")
    first = reader.read(day.record(), Cursor())
    assert field_values(list(first.drafts), "plan", "status") == ["presented"]
    day.results("c1", "User has approved your plan.", {"plan": PLAN})
    second = reader.read(day.record(), first.cursor)
    keys = [draft.key for draft in (*first.drafts, *second.drafts) if draft.kind == "plan"]
    assert (len(keys), len(set(keys))) == (3, 2)


def left_with_a_plan(folder: Path) -> Day:
    day = Day(folder)
    day.says("Make a plan.")
    day.calls("c1", "ExitPlanMode", plan=PLAN)
    day.results("c1", BARE, is_error=True)
    return day


def implements(folder: Path, plan: str, transcript: str) -> list[Draft]:
    """What a session says that begins with a plan."""
    day = Day(folder, NEXT)
    tail = "\n\n\nIf you need specific details from before exiting plan mode, read the full transcript at: "
    day.says(f"Implement the following plan:\n\n{plan}{tail}{transcript}")
    return day.read()


@pytest.mark.parametrize("named", [True, False], ids=["named", "found by its text"])
def test_a_plan_accepted_in_a_new_session_ends_the_session_that_presented_it(
    tmp_path: Path, named: bool
) -> None:
    elder = left_with_a_plan(tmp_path)
    assert field_values(elder.read(), "plan", "status") == ["presented"]
    drafts = implements(tmp_path, PLAN, str(elder.path) if named else "/Users/dana/.REDACTED.jsonl")
    own, of_elder = ([draft for draft in drafts if draft.session == session] for session in (NEXT, SESSION))
    assert field_values(own, "prompt", "text") == [f"Implement the following plan:\n\n{PLAN}"]
    assert of_kind(own, "plan", actor="person") == [{"title": TITLE, "text": PLAN, "status": "accepted"}]
    assert [draft.kind for draft in of_elder] == ["plan", "decision", "session.close"]
    assert field_values(of_elder, "session.close", "reason") == [ACCEPTED]


def test_a_plan_that_nobody_carried_out_is_not_called_accepted(tmp_path: Path) -> None:
    left_with_a_plan(tmp_path)
    drafts = implements(tmp_path, "# Another plan\n\n1. nothing", "/Users/dana/.REDACTED.jsonl")
    assert {draft.session for draft in drafts} == {NEXT}


def test_a_new_session_does_not_take_over_the_call_that_ended_the_one_before(tmp_path: Path) -> None:
    day = Day(tmp_path, NEXT)
    day.results("c1", BARE, is_error=True)
    day.says(f"Implement the following plan:\n\n{PLAN}")
    assert field_values(day.read(), "action", "tool") == []


def test_a_list_of_steps_is_the_whole_list(day: Day) -> None:
    todos = [
        {"content": "read", "status": "completed", "activeForm": "Reading"},
        {"content": "rename", "status": "in_progress", "activeForm": "Renaming"},
    ]
    day.calls("c1", "TodoWrite", todos=todos)
    day.results("c1", "Todos have been modified successfully.")
    assert field_values(day.read(), "todos", "items") == [
        [{"text": "read", "status": "completed"}, {"text": "rename", "status": "in_progress"}]
    ]


def test_tasks_reported_one_by_one_become_the_whole_list(day: Day) -> None:
    for number, subject in enumerate(("Read", "Rename"), 1):
        day.calls(f"c{number}", "TaskCreate", subject=subject, description="…")
        day.results(f"c{number}", f"Task #{number} created successfully: {subject}")
    day.calls("u1", "TaskUpdate", taskId="1", status="completed")
    day.results("u1", "Updated task #1 status", {"success": True, "taskId": "1"})
    day.calls("u2", "TaskUpdate", taskId="2", status="deleted")
    day.results("u2", "Updated task #2", {"success": True, "taskId": "2"})
    read_task, rename = (
        {"text": text, "status": "pending", "id": id_} for text, id_ in (("Read", "1"), ("Rename", "2"))
    )
    assert field_values(day.read(), "todos", "items") == [
        [read_task],
        [read_task, rename],
        [read_task | {"status": "completed"}, rename],
        [read_task | {"status": "completed"}],
    ]


def test_a_failed_list_of_steps_changes_nothing(day: Day) -> None:
    day.calls("c1", "TodoWrite", todos=[{"content": "read", "status": "pending"}])
    day.results("c1", "<tool_use_error>Error: No such tool available</tool_use_error>", is_error=True)
    assert of_kind(day.read(), "todos") == []


def test_a_subagents_steps_are_not_the_sessions(day: Day) -> None:
    call = {"type": "tool_use", "id": "c1", "name": "TodoWrite", "input": {"todos": [{"content": "x"}]}}
    day.add("assistant", isSidechain=True, message={"id": "m", "content": [call]})
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "ok"}
    day.says([result], isSidechain=True)
    drafts = day.read()
    assert (len(of_kind(drafts, "action")), of_kind(drafts, "todos")) == (1, [])


def test_words_beside_a_result_are_the_users(day: Day) -> None:
    day.says("Go.")
    day.calls("c1", "Bash", command="make")
    result = {"type": "tool_result", "tool_use_id": "c1", "content": "built"}
    reminder = {"type": "text", "text": "<system-reminder>be brief</system-reminder>"}
    day.says([result, {"type": "text", "text": "and run the tests"}, reminder])
    assert of_kind(day.read(), "prompt") == [
        {"text": "Go."},
        {"text": "and run the tests", "form": "queued"},
    ]


class Queue:
    """The records of a prompt that is typed while the agent works."""

    def __init__(self, day: Day) -> None:
        self.day = day

    def operation(self, operation: str, **fields: Any) -> None:
        at = f"2026-11-16T09:00:{self.day.count:02d}.500Z"
        self.day.write(
            {"type": "queue-operation", "operation": operation, "timestamp": at, "sessionId": SESSION}
            | fields
        )

    def attachment(self, words: str) -> None:
        self.day.add(
            "attachment", attachment={"type": "queued_command", "prompt": words, "commandMode": "prompt"}
        )


def queued(day: Day, *, quiet: bool = False) -> list[str]:
    record = replace(day.record(), quiet=quiet)
    drafts = list(ClaudeCode("/Users/dana").read(record, Cursor()).drafts)
    return [draft.payload["text"] for draft in drafts if draft.payload.get("form") == "queued"]


def test_a_queued_prompt_is_reported_once_though_it_is_written_twice(day: Day) -> None:
    queue = Queue(day)
    day.calls("c1", "Bash", command="make")
    queue.operation("enqueue", content="and the tests")
    day.results("c1", "built")
    queue.operation("remove")
    queue.attachment("and the tests")
    day.answers({"type": "text", "text": "Now the tests."})
    assert queued(day) == ["and the tests"]


def test_a_queued_prompt_without_an_attachment_is_reported_when_it_has_left_the_queue(day: Day) -> None:
    queue = Queue(day)
    day.calls("c1", "Bash", command="make")
    queue.operation("enqueue", content="stop")
    assert queued(day) == []
    queue.operation("remove")
    day.answers({"type": "text", "text": "Stopped."})
    assert queued(day) == ["stop"]


def test_a_queued_prompt_that_begins_a_turn_is_an_ordinary_prompt(day: Day) -> None:
    queue = Queue(day)
    day.answers({"type": "text", "text": "Working."})
    queue.operation("enqueue", content="next")
    queue.operation("dequeue")
    day.says("next")
    assert of_kind(day.read(), "prompt") == [{"text": "next"}]


def test_a_queued_prompt_that_was_never_passed_on_is_reported_when_the_file_is_quiet(day: Day) -> None:
    queue = Queue(day)
    day.calls("c1", "Bash", command="make")
    queue.operation("enqueue", content="wait")
    chunk = ClaudeCode("/Users/dana").read(day.record(), Cursor())
    assert (chunk.waiting, queued(day), queued(day, quiet=True)) == (True, [], ["wait"])


def test_notices_and_commands_in_the_queue_are_not_the_users_words(day: Day) -> None:
    queue = Queue(day)
    day.answers({"type": "text", "text": "Working."})
    queue.operation("enqueue", content="<task-notification>\n<task-id>a1</task-id></task-notification>")
    queue.operation("remove")
    queue.operation("enqueue", content="/model")
    queue.operation("remove")
    queue.operation("enqueue", content="/compact keep it brief")
    day.answers({"type": "text", "text": "Still."})
    assert queued(day, quiet=True) == []


def test_the_branch_is_reported_at_first_and_when_it_changes(day: Day) -> None:
    for branch in ("main", "main", "topic", "topic", "main"):
        day.says("Go.", gitBranch=branch)
    drafts = day.read()
    assert field_values(drafts, "branch", "name") == ["main", "topic", "main"]
    assert len(field_values(drafts, "prompt", "text")) == 5
    assert len({draft.key for draft in drafts}) == len(drafts)


@pytest.mark.parametrize("command", ["/exit", "/quit"])
def test_a_goodbye_ends_the_session(day: Day, command: str) -> None:
    day.says("Go.")
    day.says(f"<command-name>{command}</command-name>\n<command-message>exit</command-message>")
    day.says("<local-command-stdout>Bye!</local-command-stdout>")
    drafts = day.read()
    assert (drafts[-1].kind, drafts[-1].payload) == ("session.close", {"reason": "exit"})


CLEARS = "<command-name>/clear</command-name>\n<command-message>clear</command-message>"
OTHER = "77777777-2222-4333-8444-555555555555"


def clears(folder: Path, *, after: int) -> list[Draft]:
    """What a session says that begins with `/clear`, so many seconds into the day."""
    day = Day(folder, NEXT)
    day.count = after
    day.says(CLEARS)
    day.says("Something else now.")
    return day.read()


def test_a_session_that_was_cleared_is_ended_by_the_one_that_replaced_it(tmp_path: Path) -> None:
    Day(tmp_path).says("Go.")
    drafts = clears(tmp_path, after=30)
    own, before = ([draft for draft in drafts if draft.session == session] for session in (NEXT, SESSION))
    assert field_values(own, "prompt", "text") == ["Something else now."]
    assert [(draft.kind, draft.payload, draft.actor) for draft in before] == [
        ("session.close", {"reason": "clear"}, "person")
    ]
    assert len({draft.key for draft in drafts}) == len(drafts)


@pytest.mark.parametrize(
    ("words", "after"), [("<command-name>/exit</command-name>", 30), ("Go.", 3700)], ids=["left", "long ago"]
)
def test_a_session_that_was_no_longer_in_use_was_not_cleared(tmp_path: Path, words: str, after: int) -> None:
    Day(tmp_path).says(words)
    day = Day(tmp_path, NEXT)
    hour, rest = divmod(after, 3600)
    day.says(CLEARS, timestamp=f"2026-11-16T{9 + hour:02d}:{rest // 60:02d}:{rest % 60:02d}.000Z")
    assert day.read() == []


def test_which_of_two_sessions_was_cleared_is_not_guessed(tmp_path: Path) -> None:
    Day(tmp_path).says("Go.")
    other = Day(tmp_path, OTHER)
    other.count = 10
    other.says("Go there.")
    assert {draft.session for draft in clears(tmp_path, after=30)} == {NEXT}


def test_a_clear_within_a_session_ends_nothing(tmp_path: Path) -> None:
    Day(tmp_path).says("Go.")
    day = Day(tmp_path, NEXT)
    day.count = 30
    day.says("First this.")
    day.says(CLEARS)
    assert {draft.kind for draft in day.read()} == {"session.open", "prompt"}


def test_a_summary_that_is_not_marked_is_the_agents_summary(day: Day) -> None:
    head = "This session is being continued from a previous conversation that ran out of context."
    day.says(f"{head}\nAnalysis: two scans are left.")
    drafts = day.read()
    assert field_values(drafts, "evicted", "summary") == ["Analysis: two scans are left."]
    assert field_values(drafts, "prompt", "text") == []


def test_what_a_hook_of_the_client_says_is_not_the_users_word(day: Day) -> None:
    day.says("Operation stopped by hook: Another session is active.")
    assert day.read() == []


def test_a_record_with_the_id_of_another_sessions_record_keeps_its_words(tmp_path: Path) -> None:
    elder = Day(tmp_path)
    elder.says("First words.")
    younger = Day(tmp_path, NEXT)
    younger.count = 60  # later, but its first record has the same id
    younger.says("Other words.", uuid="00000000-0000-4000-8000-000000000001")
    record = RecordFile("claude-code", younger.path, NEXT, younger.path.stat().st_size, 0)
    assert field_values(read(record), "prompt", "text") == ["Other words."]


def as_an_older_version_read_it(reader: ClaudeCode) -> ClaudeCode:
    """A reader that knows only requests, messages and calls."""
    newer = reader.read

    def read(record: RecordFile, cursor: Cursor, *, limit: int = CHUNK) -> Chunk:
        chunk = newer(record, cursor, limit=limit)
        known = ("session.open", "prompt", "message", "action", "action.start")
        old = (draft for draft in chunk.drafts if draft.kind in known and "form" not in draft.payload)
        return replace(chunk, drafts=tuple(old))

    reader.version = 2
    reader.read = read  # type: ignore[method-assign]
    return reader


def test_what_an_older_version_left_out_is_read_again_and_each_once(day: Day, tmp_path: Path) -> None:
    def take_in(store: Store, reader: ClaudeCode) -> int:
        places = Places(tmp_path, {"CLAUDE_CONFIG_DIR": str(tmp_path)})
        importer = Importer(
            Recorder(store, default_redactor(), lambda: 1_900_000_000_000_000), [reader], places
        )
        return sum(wave.events for wave in importer.backlog(importer.unread(importer.find())))

    def told(store: Store) -> tuple[list[str], dict[str, Any]]:
        row = store.sessions.by_key(day.session, "claude-code")
        assert row is not None
        events = list(store.log.slice(row.n, row.id))
        return [repr((event.kind, event.at, event.payload)) for event in events], known_of(events)

    def known_of(events: list[Any]) -> dict[str, Any]:
        state = state_to_json(fold(initial_state("s"), events))
        plan = state["plan"] or {}
        return {
            "decisions": [(row["form"], row["what"], row.get("question")) for row in state["decisions_made"]],
            "plan": (plan.get("title"), plan.get("status")),
            "pending": [row["what"] for row in state["pending_actions"]],
            "requests": sorted(row["text"] for row in state["requests"]),
            "branch": state["branch"],
            "ended": state["ended"],
        }

    day.says("Please see to the scans.", gitBranch="main")
    day.calls("c1", "ExitPlanMode", plan=PLAN)
    day.results("c1", "User has approved your plan.", {"plan": PLAN, "isAgent": False})
    day.calls(
        "c2", "TodoWrite", todos=[{"content": "read the dates", "status": "pending", "activeForm": "r"}]
    )
    day.results("c2", "Todos have been modified successfully.")
    day.calls("c3", "AskUserQuestion", questions=QUESTIONS[:1])
    day.results("c3", "…", {"answers": {"Which date?": "Scan"}})
    day.calls("c4", "Write", file_path="/w/b.txt", content="x")
    day.results("c4", f"{REASON}use c.txt instead", is_error=True)
    day.calls("c5", "Bash", command="make")
    result = {"type": "tool_result", "tool_use_id": "c5", "content": "made"}
    day.says([result, {"type": "text", "text": "also check the tests"}])
    day.answers({"type": "text", "text": "All is done."})
    day.says("<command-name>/exit</command-name>")
    upgraded, fresh = Store(tmp_path / "upgraded", key="file"), Store(tmp_path / "fresh", key="file")
    assert take_in(upgraded, as_an_older_version_read_it(ClaudeCode())) > 0
    assert known_of([])["decisions"] == told(upgraded)[1]["decisions"]
    assert take_in(upgraded, ClaudeCode()) > 0
    assert take_in(upgraded, ClaudeCode()) == 0
    assert take_in(fresh, ClaudeCode()) > 0
    (again, known), (first, wanted) = told(upgraded), told(fresh)
    assert sorted(again) == sorted(first)
    assert known == wanted
    assert known["decisions"][1:] == [
        ("answer", "Scan", "Which date?"),
        ("refusal", "use c.txt instead", None),
    ]
    assert (known["plan"], known["pending"], known["branch"]) == (
        (TITLE, "accepted"),
        ["read the dates"],
        "main",
    )
    assert known["ended"] == "exit"
    upgraded.close()
    fresh.close()

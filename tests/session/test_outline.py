"""The rows of the event list: time order, housekeeping, folded runs."""

from __future__ import annotations

from typing import Any

import pytest

from fazm_memory.events import Action, Event
from fazm_memory.events.event import (
    Branch,
    Decision,
    FileChange,
    FileTouch,
    LifecycleMove,
    Message,
    Prompt,
    SessionOpen,
    TodoItem,
    Todos,
    Usage,
)
from fazm_memory.session import OutlineRow, outline_rows, outline_turns, summary_row

SECOND = 1_000_000


def event(seq: int, payload: Any, kind: str = "action", at: int | None = None, **fields: Any) -> Event:
    values = {"session": "s", "seq": seq, "at": (seq if at is None else at) * SECOND, "turn": 1, "kind": kind,
              "version": 1, "digest": "", "prev": "", "actor": "agent",
              "source": "hook", "trust": "tool", "payload": payload}  # fmt: skip
    return Event(**(values | fields))


def edit(seq: int, path: str = "/p/a.go", **fields: Any) -> Event:
    return event(seq, Action("Edit", {"file_path": path}, **fields))


def said(seq: int, at: int | None = None) -> Event:
    """The result of a turn of its own, so that no call follows it."""
    return event(seq, Message("Done."), "message", at, turn=0)


def positions(rows: list[OutlineRow]) -> list[tuple[int, ...]]:
    return [row.seqs for row in rows]


def test_edits_of_one_file_fold_and_those_of_another_do_not() -> None:
    rows = outline_rows([said(0), *(edit(seq) for seq in range(1, 6)), edit(6, "/p/b.go"), said(7)])
    assert positions(rows) == [(0,), (1, 2, 3, 4, 5), (6,), (7,)]
    assert (rows[1].label, rows[1].detail) == ("5 edits", "in /p/a.go")


def test_a_failed_call_stays_a_row_and_ends_the_run() -> None:
    events = [edit(seq) for seq in range(4)]
    rows = outline_rows([*events, edit(4, outcome="error", error="no such text"), edit(5)])
    assert positions(rows) == [(0, 1, 2, 3), (4,), (5,)]


def test_token_counts_and_changes_on_disk_of_a_call_are_no_rows() -> None:
    by_call = FileChange("/p/a.go", "modified", by="agent", call=1)
    by_person = FileChange("/p/b.go", "modified", by="person")
    rows = outline_rows([
        said(0), edit(1), event(2, Usage(10, 5), "usage"), event(3, by_call, "file", source="files"),
        event(4, by_person, "file", source="files"),
    ])  # fmt: skip
    assert positions(rows) == [(0,), (1,), (4,)]


def test_token_counts_between_calls_do_not_end_a_run() -> None:
    events = [edit(seq) if seq % 2 == 0 else event(seq, Usage(10, 5), "usage") for seq in range(8)]
    assert positions(outline_rows(events)) == [(0, 2, 4, 6)]


def test_rows_are_in_the_order_of_time_and_late_ones_are_marked() -> None:
    rows = outline_rows([said(0, 0), said(1, 50), said(2, 20), said(3, 60)])
    assert positions(rows) == [(0,), (2,), (1,), (3,)]
    assert [row.seqs[0] for row in rows if row.late] == [2]


def test_the_same_branch_again_is_no_row() -> None:
    events = [event(seq, Branch(name), "branch") for seq, name in enumerate(["main", "main", "fix", "main"])]
    assert positions(outline_rows(events)) == [(0,), (2,), (3,)]


def read(seq: int, name: str) -> Event:
    return event(seq, Action("Read", {"file_path": f"/p/{name}"}))


def words(seq: int, text: str = "Let me look.") -> Event:
    return event(seq, Message(text), "message")


def prompt(seq: int, turn: int = 1) -> Event:
    return event(seq, Prompt("Do it."), "prompt", turn=turn)


def test_short_words_before_a_call_are_shown_with_it() -> None:
    rows = outline_rows([prompt(0), words(1, "Now the  test."), edit(2), words(3, "All done.")])
    assert positions(rows) == [(0,), (2,), (3,)]
    assert rows[1].said == "Now the test."


def test_long_words_and_the_last_words_of_a_turn_stay_rows() -> None:
    rows = outline_rows([prompt(0), words(1, "x" * 500), edit(2), words(3), prompt(4, 2)])
    assert positions(rows) == [(0,), (1,), (2,), (3,), (4,)]


def test_reads_fold_with_the_words_between_them() -> None:
    rows = outline_rows([prompt(0), words(1), read(2, "a.go"), words(3), read(4, "b.go"), words(5), edit(6)])
    assert positions(rows) == [(0,), (1, 2, 3, 4), (6,)]
    assert (rows[1].label, rows[1].detail) == ("2 reads and searches", "a.go, b.go")
    assert rows[2].said == "Let me look."


def test_the_actions_of_a_subagent_stand_under_the_call_that_started_it() -> None:
    work = [event(seq, Action("Bash", {"command": f"ls {seq}"}, agent_id="a1"), at=seq) for seq in (2, 3)]
    call = event(4, Action("Task", {"description": "Look"}, duration_ms=5000), at=5)
    rows = outline_rows([prompt(0), words(1), *work, call, said(5, 9)])
    assert positions(rows) == [(0,), (4,), (2, 3), (5,)]
    assert (rows[2].inside, rows[2].label) == (True, "2 actions of the subagent")


def test_a_subagent_without_a_known_call_stays_in_the_list() -> None:
    rows = outline_rows([prompt(0), event(1, Action("Bash", {"command": "ls"}, agent_id="a1"))])
    assert positions(rows) == [(0,), (1,)]


def test_a_question_and_its_answer_are_one_row() -> None:
    asked = event(1, Action("AskUserQuestion", {"questions": []}))
    answer = event(2, Decision("Postgres", form="answer", question="Which?"), "decision")
    assert positions(outline_rows([prompt(0), asked, answer])) == [(0,), (2,)]


def test_a_refusal_says_what_was_refused() -> None:
    refused = event(1, Decision("keep them", form="refusal", about="Bash rm a"), "decision")
    row = summary_row(refused)
    assert (row["title"], row["detail"]) == ("keep them", "refused: Bash rm a")


def test_a_turn_has_its_request_its_result_and_what_happened_between() -> None:
    touch = FileTouch("/p/a.go", "modified")
    events = [prompt(0), edit(1, files=(touch,)), edit(2, "/p/b.go", outcome="error", error="no"),
              edit(3, "/p/c.go"), words(4), prompt(5, 2), words(6)]  # fmt: skip
    rows = outline_rows(events)
    (turn,) = outline_turns(rows, events)
    assert (turn.start, turn.size, turn.result) == (0, 4, 4)
    assert turn.label == "3 actions, 1 file changed, 1 failed"


def test_a_single_read_before_a_change_is_shown_with_the_change() -> None:
    rows = outline_rows(
        [prompt(0), read(1, "a.go"), words(2, "Now add it."), edit(3), read(4, "b.go"), said(5)]
    )
    assert positions(rows) == [(0,), (3,), (4,), (5,)]
    assert rows[1].said == "(Read a.go) Now add it."


def test_a_list_of_steps_is_a_row_when_a_step_was_finished() -> None:
    def steps(seq: int, *statuses: Any) -> Event:
        items = tuple(TodoItem(f"step {nth}", status) for nth, status in enumerate(statuses))
        return event(seq, Todos(items), "todos")

    rows = outline_rows([
        prompt(0), steps(1, "pending", "pending"), edit(2), steps(3, "in_progress", "pending"), edit(4, "/b"),
        steps(5, "completed", "pending"),
    ])  # fmt: skip
    assert positions(rows) == [(0,), (1,), (2,), (4,), (5,)]


def shell(seq: int, command: str, output: str = "", **fields: Any) -> Event:
    return event(seq, Action("Bash", {"command": command}, output, **fields))


def test_shell_commands_that_only_look_fold_with_reads() -> None:
    rows = outline_rows(
        [prompt(0), read(1, "a.go"), shell(2, "git diff a.go | head -20"), shell(3, "ls"), said(4)]
    )
    assert positions(rows) == [(0,), (1, 2, 3), (4,)]
    assert (rows[1].label, rows[1].detail) == ("3 reads and searches", "a.go, git diff, ls")


@pytest.mark.parametrize(
    "command", ["git branch -d old", "find . -delete", "sed -i s/a/b/ x", "git commit -m x"]
)
def test_shell_commands_that_may_change_something_stay_rows(command: str) -> None:
    assert positions(outline_rows([read(0, "a.go"), read(1, "b.go"), shell(2, command)])) == [(0, 1), (2,)]


def test_a_look_that_changed_a_file_stays_a_row() -> None:
    touch = FileTouch("/p/list.txt", "created")
    rows = outline_rows([read(0, "a.go"), read(1, "b.go"), shell(2, "ls > list.txt", files=(touch,))])
    assert positions(rows) == [(0, 1), (2,)]


def test_checks_that_passed_fold_and_one_that_failed_does_not() -> None:
    rows = outline_rows([
        prompt(0), shell(1, "make lint && make test"), words(2, "Now the rest."), shell(3, "go test ./..."),
        shell(4, "go test ./... | tail -5", "--- FAIL: TestOne"), said(5),
    ])  # fmt: skip
    assert positions(rows) == [(0,), (1, 2, 3), (4,), (5,)]
    assert (rows[1].label, rows[1].detail) == ("3 checks passed", "make lint, make test, go test ./...")


def test_a_single_look_before_the_answer_is_shown_with_it() -> None:
    rows = outline_rows([prompt(0), read(1, "a.go"), words(2, "It is in line 3.")])
    assert positions(rows) == [(0,), (2,)]
    assert rows[1].said == "(Read a.go)"


def test_the_branch_on_which_a_fork_began_is_shown_with_its_opening() -> None:
    opened = event(0, SessionOpen("claude-code", "a", parent="p", parent_seq=3), "session.open")
    events = [opened, event(1, Branch("fix"), "branch"), prompt(2), event(3, Branch("HEAD"), "branch"),
              event(4, Branch("fix"), "branch"), event(5, Branch("main"), "branch")]  # fmt: skip
    rows = outline_rows(events)
    assert positions(rows) == [(0,), (2,), (5,)]
    assert rows[0].said == "On branch fix."


def test_the_opening_of_a_session_is_no_row_once_something_happened() -> None:
    opened = event(0, SessionOpen("claude-code", "a"), "session.open")
    assert positions(outline_rows([opened])) == [(0,)]
    assert positions(outline_rows([opened, prompt(1)])) == [(1,)]


def test_a_call_that_did_not_run_beside_a_failed_one_folds_with_the_others() -> None:
    not_run = "<tool_use_error>Sibling tool call errored</tool_use_error>"
    reads = [read(nth, f"{nth}.go") for nth in range(2)]
    unread = event(2, Action("Read", {"file_path": "/p/c.go"}, outcome="error", error=not_run))
    assert positions(outline_rows([*reads, unread])) == [(0, 1, 2)]


def test_a_session_resumed_by_its_own_work_has_no_row_for_it() -> None:
    resumed = event(1, LifecycleMove("seen at work by transcript"), "session.resume")
    asked = event(2, LifecycleMove("from the menu"), "session.resume")
    assert positions(outline_rows([said(0), resumed, asked])) == [(0,), (2,)]


def test_of_a_list_of_steps_each_turn_shows_the_last_form() -> None:
    def steps(seq: int, done: int, turn: int) -> Event:
        items = tuple(TodoItem(f"step {nth}", "completed" if nth < done else "pending") for nth in range(4))
        return event(seq, Todos(items), "todos", turn=turn)

    work = [edit(seq, f"/{seq}.go") for seq in (2, 4, 6)]
    events = [prompt(0), steps(1, 0, 1), work[0], steps(3, 1, 1), work[1], steps(5, 2, 1), work[2],
              steps(7, 2, 2), edit(8, "/8.go"), steps(9, 4, 2)]  # fmt: skip
    assert positions(outline_rows(events)) == [(0,), (1,), (2,), (4,), (5,), (6,), (8,), (9,)]


def test_a_session_without_a_request_has_no_turns() -> None:
    assert outline_turns([], []) == []

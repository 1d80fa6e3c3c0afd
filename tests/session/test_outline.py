"""The rows of the event list: time order, housekeeping, folded runs."""

from __future__ import annotations

from typing import Any

from fazm_memory.events import Action, Event
from fazm_memory.events.event import (
    Branch,
    Decision,
    FileChange,
    FileTouch,
    Message,
    Prompt,
    TodoItem,
    Todos,
    Usage,
)
from fazm_memory.session import OutlineRow, outline_rows, outline_turns

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


def test_a_session_without_a_request_has_no_turns() -> None:
    assert outline_turns([], []) == []

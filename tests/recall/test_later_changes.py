"""What later sessions in the same folder say about a session."""

from __future__ import annotations

from typing import Any

from fazm_memory.events.event import (
    Action,
    Branch,
    Decision,
    FileTouch,
    Message,
    Plan,
    Prompt,
    SessionOpen,
    TodoItem,
    Todos,
)
from fazm_memory.recall.later_changes import as_known_later
from fazm_memory.session import next_steps, waiting_questions
from fazm_memory.session.reducer import fold, initial_state
from fazm_memory.session.state import SessionState
from tests.scribe import event

HOUR = 3_600_000_000
PLAN = "# Export invoices\n\nWith a writer."
DONE = Message("It works.")


def session(
    name: str, *payloads: Any, hour: int = 0, branch: str = "main", folder: str = "/w"
) -> SessionState:
    turn, found = 0, []
    for seq, payload in enumerate((SessionOpen("claude-code", workspace=folder), Branch(branch), *payloads)):
        person = isinstance(payload, Prompt) or getattr(payload, "form", None) is not None
        turn += isinstance(payload, Prompt)
        by = {"actor": "person", "trust": "user"} if person else {}
        found.append(event(payload, seq, session=name, turn=turn, at=hour * HOUR + seq * 1_000_000 + 1, **by))
    return fold(initial_state(name), found)


ANSWER = Decision("CSV", form="answer", question="Which format should the export have?")
OTHER = Decision("JSON", form="answer", question="Which format should the export have?")


def holds(state: SessionState) -> list[str]:
    return [row["what"] for row in state.decisions_made.values() if row["superseded_by"] is None]


def test_a_decision_of_a_later_session_on_the_branch_replaces_the_earlier_one() -> None:
    first = session("a", Prompt("Export"), ANSWER)
    later = session("b", Prompt("Export"), OTHER, hour=1)
    known = as_known_later(first, [first, later])
    assert holds(known) == []
    (row,) = known.decisions_made.values()
    assert (row["superseded_by"], row["superseded_in"]) == (3, "b")
    assert holds(as_known_later(later, [first, later])) == ["JSON"]


def test_other_branches_folders_and_earlier_sessions_replace_nothing() -> None:
    first = session("a", Prompt("Export"), ANSWER)
    for other in (
        session("b", Prompt("Export"), OTHER, hour=1, branch="fix"),
        session("b", Prompt("Export"), OTHER, hour=1, folder="/v"),
        session("b", Prompt("Export"), OTHER, hour=-1),
    ):
        assert holds(as_known_later(first, [other])) == ["CSV"]


def test_a_plan_that_a_later_session_carries_out_waits_no_longer() -> None:
    shown = session("a", Prompt("Export"), Message("A plan."), Plan("Export invoices", text=PLAN))
    assert waiting_questions(shown)
    later = session("b", Prompt(f"Implement the following plan:\n\n{PLAN}"), DONE, hour=5)
    known = as_known_later(shown, [later])
    assert (waiting_questions(known), known.plan and known.plan["status"]) == ([], "carried_out")
    assert waiting_questions(as_known_later(shown, [session("c", Prompt("Other work"), hour=5)]))


def test_an_accepted_plan_is_not_next_once_it_was_taken_up() -> None:
    plan = (Plan("Export invoices", text=PLAN), Plan("Export invoices", status="accepted"))
    first = session("a", Prompt("Export"), DONE, *plan)
    assert [row["from"] for row in next_steps(first)] == ["plan"]
    later = session("b", Prompt(f"Implement the following plan:\n\n{PLAN}"), DONE, hour=1)
    assert next_steps(as_known_later(first, [later])) == []


def test_a_request_that_was_put_again_is_not_open() -> None:
    first = session("a", Prompt("Start"), DONE, Prompt("Add a filter by date to the export"))
    assert next_steps(first)
    again = session("b", Prompt("please add a filter by date to the export"), DONE, hour=1)
    assert next_steps(as_known_later(first, [again])) == []
    assert next_steps(as_known_later(first, [session("b", Prompt("Fix the login"), DONE, hour=1)]))


def test_steps_checks_and_files_that_a_later_session_took_over() -> None:
    test = Action("Bash", {"command": "make test"}, outcome="error")
    edit = Action("Edit", files=(FileTouch("/w/a.py", "modified"),))
    first = session("a", Prompt("Export"), Todos((TodoItem("write"), TodoItem("filter"))), test, edit)
    passed = Action("Bash", {"command": "make test"})
    commit = Action("Bash", {"command": "git commit -am x"}, "[main 1234567] x")
    later = session("b", Prompt("Go on"), Todos((TodoItem("write", "completed"),)), passed, commit, hour=1)
    known = as_known_later(first, [later])
    assert [todo["text"] for todo in known.todos] == ["filter"]
    assert [entry["what"] for entry in known.pending_actions.values()] == ["filter"]
    assert (known.checks, known.uncommitted) == ({}, {})

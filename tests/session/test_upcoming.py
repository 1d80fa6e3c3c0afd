"""What comes next in a session, and which questions wait for the user."""

from __future__ import annotations

from typing import Any

import pytest

from fazm_memory.events.event import (
    Action,
    ActionStart,
    Decision,
    FileTouch,
    Message,
    Plan,
    Prompt,
    SessionOpen,
    TodoItem,
    Todos,
)
from fazm_memory.session import next_steps, waiting_questions
from fazm_memory.session.reducer import fold, initial_state
from fazm_memory.session.state import SessionState
from tests.scribe import event

EDIT = Action("Edit", {"file_path": "/w/a.py"}, files=(FileTouch("/w/a.py", "modified"),))
DONE = Message("The exporter writes CSV now.")
PLAN = "# Export\n\n## Phase 1: Writer\nx\n\n## Phase 2: Filter by date\ny\n\n## Phase 3: Docs\nz"


def after(*payloads: Any) -> SessionState:
    turn, found = 0, []
    for seq, payload in enumerate((SessionOpen("claude-code", workspace="/w"), *payloads)):
        person = isinstance(payload, Prompt) or getattr(payload, "form", None) is not None
        turn += isinstance(payload, Prompt)
        found.append(
            event(payload, seq, turn=turn, **({"actor": "person", "trust": "user"} if person else {}))
        )
    return fold(initial_state("s"), found)


def steps(*payloads: Any) -> list[tuple[str, str, str]]:
    return [(row["from"], row["status"], row["what"]) for row in next_steps(after(*payloads))]


def questions(*payloads: Any) -> list[tuple[str, str]]:
    return [(row["form"], row["text"]) for row in waiting_questions(after(*payloads))]


FIRST = (Prompt("Add an exporter"), DONE)


@pytest.mark.parametrize(
    ("later", "expected"),
    [
        ((Prompt("Add a filter"),), [("request", "no answer", "Add a filter")]),
        ((Prompt("Add a filter"), EDIT), [("request", "broken off", "Add a filter")]),
        (
            (Prompt("Add a filter"), EDIT, Message("Now let me run the tests:"), EDIT),
            [("request", "broken off", "Add a filter")],
        ),
        (
            (Prompt("Add a filter"), Message("Two places use it. Let me look at both.")),
            [("request", "no answer", "Add a filter")],
        ),
        (
            (Prompt("Add a filter"), ActionStart("Task", call_id="c")),
            [("request", "broken off", "Add a filter")],
        ),
        ((Prompt("Add a filter"), EDIT, DONE), []),
        ((Prompt("Add a filter"), EDIT, Message("Done. Let me know if anything breaks.")), []),
        ((Prompt("/model opus"),), []),
        ((Prompt("Add a filter"), DONE, Prompt("/exit")), []),
    ],
)
def test_a_request_without_an_answer_comes_next(later: tuple[Any, ...], expected: list[Any]) -> None:
    assert steps(*FIRST, *later) == expected


def test_without_any_recorded_answer_nothing_is_called_unanswered() -> None:
    assert steps(Prompt("Add an exporter"), EDIT) == []


def test_open_steps_of_a_list_come_next_the_one_in_progress_first() -> None:
    listed = Todos((TodoItem("read", "completed"), TodoItem("write"), TodoItem("test", "in_progress")))
    assert steps(*FIRST, listed) == [("todo", "in_progress", "test"), ("todo", "pending", "write")]


def test_the_last_step_is_done_when_the_user_goes_on_after_an_answer() -> None:
    listed = Todos((TodoItem("read", "completed"), TodoItem("test", "in_progress")))
    assert steps(*FIRST, listed, DONE, Prompt("Great, now the docs"), DONE) == []
    asked = Message("Which format do you prefer?")
    assert steps(*FIRST, listed, asked, Prompt("csv"), DONE) == [("todo", "in_progress", "test")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "Done.\n\n## Next steps\n\n1. Filter by **date**\n2. Docs\n   - with examples\n",
            ["Filter by date", "Docs"],
        ),
        ("Done.\n\n**Remaining work:**\n- [x] Writer\n- [ ] Filter\n- Docs ✅\n\nAll green.", ["Filter"]),
        ("Done.\n\nNext step: filter by date, then the docs.", ["filter by date, then the docs."]),
        ("Done.\n\nNext steps:\n- None", []),
        ("The next steps of the release are in CI.\n- a\n- b", []),
        ("Done.", []),
    ],
)
def test_next_steps_of_the_last_answer_are_proposed(text: str, expected: list[str]) -> None:
    assert steps(*FIRST, Message(text)) == [("agent", "proposed", what) for what in expected]
    assert steps(*FIRST, Message(text), Prompt("Thanks"), DONE) == []


def test_the_phases_after_the_last_finished_one_come_next() -> None:
    begun = (Prompt("Export"), Plan("Export", text=PLAN), Plan("Export", status="accepted"))
    assert steps(*begun, DONE) == [("plan", "accepted", "Export")]
    assert steps(*begun, EDIT, DONE) == []  # begun, and nobody says how far
    assert steps(*begun, EDIT, Message("Phase 1 of 3 is complete.")) == [
        ("plan", "pending", "phase 2: Filter by date"),
        ("plan", "pending", "phase 3: Docs"),
    ]
    assert steps(*begun, EDIT, Message("Phase 3 ✅")) == []
    assert steps(*begun, EDIT, Message("Phase 3 is not complete yet.")) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Should the export also contain the invoices of last year?", 1),
        (
            "Should I use one of these in the name?\n\n1. the date\n2. the number\n\nBoth are short.",
            1,
        ),
        ("Shall I go on with the filter? The tests pass and nothing else is open at the moment.", 1),
        ("Questions:\n\n1. Should old invoices be kept?\n2. Which format do you want?\n", 2),
        ("Should I keep the old writer? And do you want the filter in the same change?", 2),
        ("It works.\n\nLet me know which of the two formats you prefer.", 1),
        ("It works.\n\nPlease confirm that the old writer can go before I remove it.", 1),
        ("It works.\n\nLet me know if you want me to add the filter too.", 1),
        ("It works.\n\nLet me know if you have any questions!", 0),
        ("It works.\n\nLet me know if you'd like me to adjust anything.", 0),
        ("It works. Anything else?", 0),
        (
            "Why was it slow? Because it read every file twice. Now it reads each once.\n"
            + "It is fast. " * 40,
            0,
        ),
    ],
)
def test_closing_questions_wait_for_the_user(text: str, expected: int) -> None:
    assert len(questions(*FIRST, Message(text))) == expected
    assert questions(*FIRST, Message(text), Prompt("Write the docs"), DONE) == []


def test_a_question_survives_commands_of_the_program_and_a_resumed_session() -> None:
    asked = Message("Shall I remove the old writer as well, or keep it for one more release?")
    for later in (Prompt("/model opus"), Prompt("/cost"), Message("No response requested.")):
        assert len(questions(*FIRST, asked, later)) == 1


def test_a_plan_waits_for_approval_until_it_is_judged() -> None:
    shown = (Prompt("Export"), Message("I have a plan."), Plan("Export", text=PLAN))
    assert questions(*shown) == [("plan", "Approve the plan: Export?")]
    assert questions(*shown, Plan("Export", status="accepted")) == []
    assert questions(*shown, Decision("not like this", form="plan", about="Export")) == []
    assert questions(*shown, Prompt("Something else")) == []


def test_a_question_of_a_tool_waits_until_its_call_ends() -> None:
    asked = {"questions": [
        {"question": "Which format?", "options": [{"label": "CSV"}, {"label": "JSON"}]},
        {"question": "Keep the old one?", "options": [{"label": "Yes"}, {"label": "No"}]},
    ]}  # fmt: skip
    call = ActionStart("AskUserQuestion", asked, call_id="c")
    assert questions(*FIRST, call) == [("choice", "Which format?"), ("choice", "Keep the old one?")]
    (first, other) = waiting_questions(after(*FIRST, call))
    assert (first["options"], other["options"]) == ({"1": "CSV", "2": "JSON"}, {"1": "Yes", "2": "No"})
    assert questions(*FIRST, call, Action("AskUserQuestion", asked, call_id="c")) == []


def test_options_are_those_of_a_choice() -> None:
    steps_ = (
        "1. Move it\n2. Export it\n\n"
        "This is larger than what we did. Want me to do that, or leave it as is for now?"
    )
    (offer,) = waiting_questions(after(*FIRST, Message(steps_)))
    assert "options" not in offer
    named = (
        "### Option 1: a token\n1. Make it\n2. Store it\n\n### Option 2: an app\n1. Make it\n\n"
        "Which way do you want to go?"
    )
    (choice,) = waiting_questions(after(*FIRST, Message(named)))
    assert choice["options"] == {"1": "a token", "2": "an app"}

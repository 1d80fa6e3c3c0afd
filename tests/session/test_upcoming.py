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
from tests.scribe import SECOND, T0, event, move

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


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Updated both files. You may want to run `make install` to get the new version.", 1),
        ("Done. Don't forget to restart the server.", 1),
        ("All tests pass. The changes are ready to be committed whenever you'd like.", 1),
        ("Done.\n\n- Linter clean\n- Staged and ready for commit\n\nThe branch is ready for review!", 2),
        ("Done. You might want to check the log if you see an error.", 0),
        ("The command is ready to use.", 0),
        ("Is it ready to commit?", 0),
        ("You need to know that `run` is slow.", 0),
    ],
)
def test_advice_of_the_last_answer_is_proposed(text: str, expected: int) -> None:
    found = steps(*FIRST, Message(text))
    assert [(source, status) for source, status, _ in found] == [("agent", "proposed")] * expected
    assert steps(*FIRST, Message(text), Prompt("Why is that necessary?"), DONE) == []
    assert steps(*FIRST, Message(text), EDIT, DONE) == []


NEXT_STEPS = Message("Done.\n\n## Next steps\n\n1. Filter by date\n2. Write the docs\n")


@pytest.mark.parametrize(
    ("later", "expected"),
    [
        ((Prompt("Why is the header written twice?"), DONE), ["Filter by date", "Write the docs"]),
        ((Prompt("Please add the filter by date now"), DONE), []),
        ((Prompt("1"), DONE), []),
        ((Prompt("Do the next step of these"), DONE), []),
        ((Prompt("Why is the header written twice?"), DONE) * 3, []),
    ],
)
def test_next_steps_last_for_two_turns_unless_they_are_taken_up(
    later: tuple[Any, ...], expected: list[str]
) -> None:
    assert steps(*FIRST, NEXT_STEPS, *later) == [("agent", "passed_over", what) for what in expected]


def test_what_was_committed_is_not_proposed_to_be_committed() -> None:
    ready = Message("The changes are ready to be committed.")
    committed = Action("Bash", {"command": "git commit -m x"}, output="[main 1a2b3c4] x\n 1 file changed")
    assert steps(*FIRST, EDIT, ready)
    assert steps(*FIRST, EDIT, ready, committed, DONE) == []


def test_tests_that_failed_in_the_last_turn_come_next() -> None:
    failed = Action("Bash", {"command": "pytest -q"}, outcome="error", error="exit code 1", output="1 failed")
    passed = Action("Bash", {"command": "pytest -q"}, output="1 passed")
    turn = (Prompt("Add a filter"), EDIT, failed)
    assert steps(*FIRST, *turn, DONE) == [("check", "failed", "pytest -q")]
    assert steps(*FIRST, *turn, passed, DONE) == []
    assert steps(*FIRST, *turn, DONE, Prompt("Now the docs"), EDIT, DONE) == []


def test_a_document_written_to_go_on_from_comes_next() -> None:
    asked = Prompt("Write down where we are in a file, so that we can pick this up tomorrow")
    note = Action("Write", {"file_path": "/w/wip.md"}, files=(FileTouch("/w/wip.md", "created"),))
    assert steps(*FIRST, asked, note, DONE) == [("note", "written", "/w/wip.md")]
    assert steps(*FIRST, asked, note, DONE, Prompt("Add a filter"), EDIT, DONE) == []


def test_the_phases_after_the_last_finished_one_come_next() -> None:
    begun = (Prompt("Export"), Plan("Export", text=PLAN), Plan("Export", status="accepted"))
    assert steps(*begun, DONE) == [("plan", "accepted", "Export")]
    assert steps(*begun, EDIT, DONE) == []  # begun, and nobody says how far
    assert steps(*begun, DONE, move("close", "plan accepted in a new session")) == []
    earlier = (Prompt("Read it"), Todos((TodoItem("read", "completed"),)), *begun[1:])
    assert steps(*earlier, DONE) == [("plan", "accepted", "Export")]  # the list is of other work
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
        ("Stopped. Let me know what you'd like to do next.", 0),
        ("Do you want me to:\n1. Go on\n2. Try another way\n3. Something else?", 1),
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


OFFER = Message("The writer is done. Want me to remove the old one as well?")
ASKED_BACK = Prompt("What happens if a file is empty?")


@pytest.mark.parametrize(
    ("later", "expected"),
    [
        ((), ["waiting"]),
        ((ASKED_BACK,), ["passed_over"]),
        ((ASKED_BACK, DONE), ["passed_over"]),
        ((ASKED_BACK, DONE, ASKED_BACK, DONE), ["passed_over"]),
        ((ASKED_BACK, EDIT, DONE), []),
        ((ASKED_BACK, DONE, Prompt("Write the docs"), DONE), []),
        ((Prompt("Write the docs"), DONE), []),
        ((Prompt("yes, please do"), DONE), []),
        ((ASKED_BACK, Message("It is skipped. Should it be an error?")), ["waiting"]),
    ],
)
def test_a_question_is_passed_over_while_the_user_only_asks(
    later: tuple[Any, ...], expected: list[str]
) -> None:
    assert [row["status"] for row in waiting_questions(after(*FIRST, OFFER, *later))] == expected


def test_a_plan_that_the_user_only_asked_about_is_passed_over() -> None:
    shown = (Prompt("Export"), Plan("Export", text=PLAN), Plan("Export", status="rejected"))
    asked = Decision("are the tests part of it?", form="plan", about="Export")
    refused = Decision("no, use the old writer", form="plan", about="Export")
    (question,) = waiting_questions(after(*shown, asked, DONE))
    assert (question["status"], question["text"]) == ("passed_over", "Approve the plan: Export?")
    assert waiting_questions(after(*shown, refused, DONE)) == []


def test_a_question_names_the_request_it_is_about() -> None:
    (question,) = waiting_questions(after(*FIRST, Prompt("Make it fast"), OFFER))
    assert question["about"] == "Make it fast"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is fixed. In `a.py`:\n\n1. the id\n2. the time\n\nCommit this?", "It is fixed. Commit this?"),
        ("It is fixed.\n\nThe plan covers:\n- the id\n- the time\n\nStart now?", "It is fixed. Start now?"),
        ("**1. `a.py`** - best\n\nThen drop the rest.\n\n**2. `b.py`** - later\n\nDo these?", "Do these?"),
        ("A message for this:\n\n```\nAdd x\n```\n\nCommit it?", "A message for this: Commit it?"),
    ],
)  # fmt: skip
def test_a_short_question_comes_with_what_it_refers_to(text: str, expected: str) -> None:
    assert [words for _, words in questions(*FIRST, Message(text))] == [expected]


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


LISTED = Todos((TodoItem("Write the filter", "completed"), TodoItem("Run the tests", "in_progress")))
TESTED = Action("Bash", {"command": "pytest -q"}, output="1 passed")
APPROVED = Decision("accepted", form="plan", about="Export")


@pytest.mark.parametrize(
    "later",
    [
        (PLAN_SHOWN := Plan("Export", text=PLAN), Plan("Export", status="accepted"), APPROVED, EDIT, DONE),
        (LISTED, EDIT, TESTED, DONE),
        (LISTED, EDIT, DONE, Prompt("Great, now the docs"), EDIT, DONE),
        (PLAN_SHOWN, Plan("Export", status="accepted"), APPROVED, EDIT, OFFER),
    ],
)
def test_what_is_read_again_later_leaves_the_same_open(later: tuple[Any, ...]) -> None:
    said = (SessionOpen("claude-code", workspace="/w"), *FIRST, Prompt("Add a filter"), *later)
    turns = [sum(isinstance(one, Prompt) for one in said[: nth + 1]) for nth in range(len(said))]
    whole = list(zip(said, range(len(said)), turns, strict=True))
    typed = (Plan, Todos, Decision)
    again = [row for row in whole if not isinstance(row[0], typed)]
    again += [row for row in whole if isinstance(row[0], typed)]

    def known(rows: list[Any]) -> tuple[list[Any], list[Any]]:
        state = fold(initial_state("s"), [
            event(payload, seq, turn=turn, at=T0 + 600 * nth * SECOND,
                  **({"actor": "person", "trust": "user"} if isinstance(payload, Prompt | Decision) else {}))
            for seq, (payload, nth, turn) in enumerate(rows)
        ])  # fmt: skip
        open_ = [(row["status"], row["text"]) for row in waiting_questions(state)]
        return open_, [(row["from"], row["what"]) for row in next_steps(state)]

    assert known(again) == known(whole)


@pytest.mark.parametrize("goes_on", [EDIT, Prompt("Write the docs")])
def test_a_message_that_is_recorded_after_what_followed_it_asks_nothing(goes_on: Any) -> None:
    asked = Message("Which one do you prefer?")
    whole = [event(one, seq) for seq, one in enumerate((*FIRST, goes_on))]
    late = fold(initial_state("s"), [*whole, event(asked, 3, at=T0 + SECOND)])
    assert waiting_questions(late) == []

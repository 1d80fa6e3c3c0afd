"""What user and agent say to each other: questions, answers, corrections, goals, plans, notes."""

from __future__ import annotations

from typing import Any

import pytest

from fazm_memory.events.event import (
    Action,
    Decision,
    Event,
    FileTouch,
    Message,
    Plan,
    Prompt,
    SessionOpen,
    TodoItem,
    Todos,
)
from fazm_memory.session.dialogue import closing_question, title_of
from fazm_memory.session.reducer import fold, initial_state
from fazm_memory.session.state import SessionState, state_to_json
from tests.scribe import event


def talk(*payloads: Any) -> list[Event]:
    """A conversation: requests are the user's, each begins a turn."""
    turn, found = 0, []
    for seq, payload in enumerate(payloads):
        person = isinstance(payload, Prompt) or getattr(payload, "form", None) is not None
        turn += isinstance(payload, Prompt)
        by = {"actor": "person", "trust": "user"} if person else {}
        found.append(event(payload, seq, turn=turn, **by))
    return found


def after(*payloads: Any) -> SessionState:
    return fold(initial_state("s"), talk(*payloads))


def only_decision(*payloads: Any) -> dict[str, Any]:
    (found,) = after(*payloads).decisions_made.values()
    return found


OFFER = "The helper is unused.\n\nWant me to remove it?"
LIST = "1. **Link it** to #231\n2. Leave it out\n3. Note it elsewhere"
LONG = "Want me to apply this to the other importers, which have the same fault?"
CHOICE = f"I can either:\n\n{LIST}\n\nWhich would you prefer?"


@pytest.mark.parametrize(
    ("text", "question"),
    [
        (OFFER, "The helper is unused. Want me to remove it?"),
        ("Should the export use the date of the invoice or the date of the scan in its name?", None),
        ("Want me to apply this change to the other importers as well?\n\n```go\nx := 1\n```", None),
        (
            f"**{LONG}** It would:\n- a\n- b",
            LONG,
        ),
        (f"To clarify - would you prefer:\n\n{LIST}", "To clarify - would you prefer:"),
        ("It has two parts, in this order:\n\n1. Read\n2. Write", ""),
        ("All done. The tests pass.", ""),
        ("## Why does it fail?\nIt is the port.", ""),
        ("Done. Is there anything else?", ""),
        ('It asks "should we link this commit?" for every commit, which is slow.', ""),
        ("Is it so? " + "It is long and goes on without asking. " * 20, ""),
    ],
)
def test_the_closing_question_of_a_message_is_found(text: str, question: str | None) -> None:
    found = closing_question(text)
    wanted = text.split("\n\n```")[0] if question is None else question
    assert ("" if found is None else found["text"]) == wanted


def test_a_closing_question_is_found_after_a_block_that_began_far_above() -> None:
    text = (
        "```go\n"
        + "x := 1\n" * 600
        + "```\n\nShall I commit the new exporter and push the branch to the remote now?"
    )
    found = closing_question(text)
    assert found is not None
    assert found["text"].startswith("Shall I commit")


def test_a_question_lists_its_options() -> None:
    found = closing_question(CHOICE)
    assert found is not None
    assert found["options"] == {"1": "Link it to #231", "2": "Leave it out", "3": "Note it elsewhere"}


def test_a_closing_question_is_open_until_the_user_speaks() -> None:
    asked = after(Prompt("clean up"), Message(OFFER))
    (question,) = state_to_json(asked)["questions"]
    assert (question["text"], question["seq"], question["asked_by"]) == (
        "The helper is unused. Want me to remove it?", 1, "agent",
    )  # fmt: skip
    assert after(Prompt("clean up"), Message(OFFER), Prompt("what is it for?")).asking is None


def test_an_agent_that_goes_on_asks_nothing() -> None:
    assert after(Prompt("clean up"), Message(OFFER), Action("Bash", {"command": "ls"})).asking is None


@pytest.mark.parametrize(
    "words", ["yes", "Yes, go ahead", "no, leave it", "ok do it", "let's do that", "sure, and add a test"]
)
def test_a_short_answer_is_joined_to_the_question_before_it(words: str) -> None:
    decision = only_decision(Prompt("clean up"), Message(OFFER), Prompt(words))
    assert (decision["form"], decision["what"]) == ("answer", words)
    assert decision["question"] == "The helper is unused. Want me to remove it?"
    assert (decision["asked"], decision["trust"], decision["actor"]) == (1, "user", "person")


@pytest.mark.parametrize(
    ("words", "chosen"),
    [
        ("1", ["Link it to #231"]),
        ("go with the second", ["Leave it out"]),
        ("option 3", ["Note it elsewhere"]),
        ("1 + 3", ["Link it to #231", "Note it elsewhere"]),
        ("do both", ["Link it to #231", "Leave it out", "Note it elsewhere"]),
        ("link the PR", None),
        ("3 and what about the footer?", ["Note it elsewhere"]),
        ("1. yes, the number\n2. in the footer " + "of the page " * 40, None),
    ],
)
def test_a_choice_names_the_text_of_its_option(words: str, chosen: list[str] | None) -> None:
    decision = only_decision(Prompt("changelog"), Message(CHOICE), Prompt(words))
    assert decision["form"] == "answer"
    assert decision.get("chosen") == chosen
    assert len(decision["alternatives"]) == 3


def test_numbered_answers_are_joined_to_the_numbered_questions() -> None:
    asked = (
        "I have two questions:\n\n1. Keep the old names?\n2. Which folder?\n\nOr shall I start right away?"
    )
    decision = only_decision(Prompt("rename"), Message(asked), Prompt("1. no\n2. ~/Scans"))
    assert decision["question"] == "1. Keep the old names? 2. Which folder?"


def test_numbered_answers_are_joined_to_all_questions_at_the_end_of_a_message() -> None:
    asked = "**Questions for you:**\n1. Lines or dots?\n2. Should the active one be first?"
    decision = only_decision(Prompt("draw it"), Message(asked), Prompt("1. lines, 2. yes"))
    assert decision["question"] == "1. Lines or dots? 2. Should the active one be first?"


def test_an_offer_has_no_options_whatever_it_explains_after_it() -> None:
    offer = "Would you like me to write a test that simulates what the client does?"
    decision = only_decision(Prompt("test it"), Message(f"{LIST}\n\n{offer}"), Prompt("no, ignore this"))
    assert (decision["question"], decision["alternatives"]) == (offer, [])


def test_an_answer_may_name_its_option_after_a_remark() -> None:
    answer = Prompt("the list is wrong then, sorry. 1 is correct")
    decision = only_decision(Prompt("changelog"), Message(CHOICE), answer)
    assert (decision["form"], decision["chosen"]) == ("answer", ["Link it to #231"])


@pytest.mark.parametrize(
    ("words", "form"),
    [
        ("CSV, rather than TSV", "answer"),
        ("tsv please", "answer"),
        ("use YAML instead", "answer"),
        ("look at the importer now", None),
    ],
)
def test_an_answer_may_name_one_of_two_alternatives(words: str, form: str | None) -> None:
    asked = Message("The writer is done. Should I use CSV or TSV for the export?")
    decisions = after(Prompt("export"), asked, Prompt(words)).decisions_made
    assert [decision["form"] for decision in decisions.values()] == ([form] if form else [])


@pytest.mark.parametrize(
    "words",
    [
        "where is it used?",
        "add a section on caching to the docs",
        "yeah but is it really unused?",
        "ok, let's see to the docs",
    ],
)
def test_a_question_or_a_new_request_is_no_answer(words: str) -> None:
    assert not after(Prompt("clean up"), Message(OFFER), Prompt(words)).decisions_made


@pytest.mark.parametrize(
    "words",
    [
        "fix the test, the code is right",
        "do not fallback, print a warning",
        "no, the date comes first",
        "don't stash anything, read the files you need",
        "that warning does not sound right",
        "use the port of the settings instead",
        "thinking again: let's drop the command",
        "let's use true/false and not on/off",
        "quick thing: it's not expected that the list has old branches",
        "option 1 doesn't work since the hash changes",
        "option 1 doesn't work since the hash changes. Should the docs say so?",
        "the test should check the content",
    ],
)
def test_a_short_request_that_overturns_the_work_is_a_correction(words: str) -> None:
    decision = only_decision(Prompt("build it"), Action("Edit"), Message("Done."), Prompt(words))
    assert (decision["form"], decision["what"]) == ("correction", words)


@pytest.mark.parametrize(
    "words",
    [
        "run the tests",
        "can you check the docs instead?",
        "Is option 1 wrong? It uses the old hash. Could you check?",
        "$ go test\nno tests instead",
        "ask if a or b is used instead",
        "The reader should use the helper of the package instead of a copy of its code. "
        "The helper also handles relative paths, which is more robust and consistent with the rest of the "
        "code. Replace these lines with a call of it.",
    ],
)
def test_other_requests_are_no_corrections(words: str) -> None:
    assert not after(Prompt("build it"), Message("Done."), Prompt(words)).decisions_made


def test_what_another_program_says_is_no_answer_of_the_user() -> None:
    state = fold(
        initial_state("s"),
        [event(Prompt("go"), 0), event(Message(OFFER), 1), event(Prompt("yes"), 2)],  # actor: agent
    )
    assert not state.decisions_made


def test_an_answer_may_pick_an_option_by_its_words() -> None:
    said = Message(f"Ways:\n\n{LIST}\n\nShall I look for more?")
    words = "given that it is public, I would like to see   3. Note it elsewhere"
    decision = only_decision(Prompt("Fix it."), said, Prompt(words + " of the file"))
    assert (decision["form"], decision["chosen"]) == ("answer", ["Note it elsewhere"])
    assert "question" not in decision
    assert not after(Prompt("Fix it."), said, Prompt("explain 3. Note it elsewhere")).decisions_made


def test_a_correction_may_quote_what_it_is_about() -> None:
    quoted = "\n".join(f"{line} | text" for line in range(20))
    decision = only_decision(
        Prompt("x"), Message("Done."), Prompt(f"again, this is not correct:\n\n{quoted}")
    )
    assert decision["form"] == "correction"


def test_the_same_question_answered_again_supersedes_the_first_answer() -> None:
    state = after(Prompt("clean up"), Message(OFFER), Prompt("yes"), Message(OFFER), Prompt("no, leave it"))
    assert [row["superseded_by"] for row in state.decisions_made.values()] == [4, None]


def test_the_same_sentence_with_another_value_supersedes_the_first() -> None:
    wish = "create the session folders so that folder {} comes first instead"
    state = after(
        Prompt("x"), Message("Done."), Prompt(wish.format(0)), Message("Done."), Prompt(wish.format(1))
    )
    assert [row["superseded_by"] for row in state.decisions_made.values()] == [4, None]


def test_a_request_that_is_sent_again_completed_supersedes_the_first() -> None:
    first = "no, print the name of the session"
    state = after(Prompt("build"), Prompt(first), Prompt(f"{first} and of its folder, on two lines each"))
    assert [row["superseded_by"] for row in state.decisions_made.values()] == [2, None]


def test_a_decision_of_the_user_answers_what_was_asked() -> None:
    verdict = Decision("accepted", form="plan", about="Export")
    assert after(Prompt("plan it"), Message(OFFER), verdict).asking is None


def test_answers_to_other_questions_supersede_nothing() -> None:
    other = "The doc is old.\n\nWant me to rewrite the whole architecture document from scratch now?"
    state = after(Prompt("x"), Message(OFFER), Prompt("yes"), Message(other), Prompt("yes"))
    assert [row["superseded_by"] for row in state.decisions_made.values()] == [None, None]


def test_what_the_user_said_about_a_plan_outlives_its_acceptance() -> None:
    words = ("rejected", "we need no test of the auto strategy", "accepted")
    state = after(*(Decision(what, form="plan", about="Export") for what in words))
    assert [row["superseded_by"] for row in state.decisions_made.values()] == [1, None, None]


def test_an_agents_decision_never_supersedes_the_users() -> None:
    words = "store the exported invoices below the archive folder"
    state = after(Decision(words, form="refusal"), Decision(words + " of the year"))
    assert [row["superseded_by"] for row in state.decisions_made.values()] == [None, None]


def test_the_goal_is_the_first_real_request_and_stays() -> None:
    state = after(Prompt("hi"), Prompt("sort the scans"), *(Prompt(f"and {n}") for n in range(30)))
    assert state.goal is not None
    assert (state.goal["text"], state.goal["seq"]) == ("sort the scans", 1)
    assert len(state.requests) == 20


PLAN = "Implement the following plan:\n\n# Plan: Export invoices\n\n## Goal\nA CSV file."


def test_a_request_to_implement_a_plan_has_its_heading_as_goal_and_title() -> None:
    state = after(SessionOpen("claude-code"), Prompt(PLAN))
    assert state.goal is not None
    assert state.plan is not None
    assert (state.goal["text"], state.title) == ("Export invoices", "Export invoices")
    assert (state.plan["title"], state.plan["status"]) == ("Export invoices", "accepted")
    lead = "A previous agent produced the plan below to accomplish the user's task. Implement the plan."
    assert title_of(f"{lead}\n\n# Plan: Export invoices\n\n1. write") == "Export invoices"


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("fix the tests", "fix the tests"),
        ("\n# Sort the scans\nby date", "Sort the scans"),
        ("I got this feedback:\nthe comment is wrong", "I got this feedback: the comment is wrong"),
        ("when running:\n❯ make all", "when running: make all"),
        ("• by using this you agree", "by using this you agree"),
        ("when running:\n❯ make all\n✓ built\nI'd like to see more", "I'd like to see more"),
        (
            "I got this during a rebase:\n\n❯ git rebase main\nLink this commit? [Y/n] n",
            "I got this during a rebase: git rebase main",
        ),
        ("• by using this you agree\nwhere does this come from?", "where does this come from?"),
        ("can you check " + "whether " * 9 + "it works", "can you check " + "whether " * 7 + "whether…"),
        ("", None),
    ],
)
def test_a_title_says_what_is_asked_for(text: str, title: str | None) -> None:
    assert title_of(text) == title


def test_a_plan_has_the_status_of_the_last_verdict() -> None:
    state = after(Plan("Export", text="# Export\nCSV"), Plan("Export", "accepted"))
    assert state.plan is not None
    assert (state.plan["status"], state.plan["text"]) == ("accepted", "# Export\nCSV")


def test_open_steps_are_pending_and_close_with_the_next_list() -> None:
    first = after(Todos((TodoItem("write", "completed"), TodoItem("test"), TodoItem("docs"))))
    assert [row["what"] for row in first.pending_actions.values()] == ["test", "docs"]
    assert [row["status"] for row in first.todos] == ["completed", "pending", "pending"]
    second = fold(first, [event(Todos((TodoItem("write", "completed"), TodoItem("docs", "cancelled"))), 1)])
    assert not second.pending_actions


def test_a_document_that_the_user_asked_for_is_named_as_memory() -> None:
    write = Action("Write", {"file_path": "/w/wip.md"}, files=(FileTouch("/w/wip.md", "created"),))
    asked = after(Prompt("x"), Prompt("write down what we have so far in a markdown file"), write)
    assert list(asked.notes) == ["/w/wip.md"]
    assert not after(Prompt("x"), Prompt("write the docs of the exporter"), write).notes


@pytest.mark.parametrize(
    ("question", "where"),
    [
        ("Which would you prefer?", "options"),
        ("Want me to commit these changes?", "listed"),
        ("Shall I go on, or leave it as it is?", "listed"),
        ("Shall I check the tests, or would you prefer to skip them?", "listed"),
        ("Any preferences on the wording?", "listed"),
    ],
)
def test_an_enumeration_is_a_choice_only_if_the_question_asks_for_one(question: str, where: str) -> None:
    found = closing_question(f"Done:\n\n{LIST}\n\n{question}")
    assert found is not None
    assert [*found] == ["text", where]


def test_a_plain_yes_to_a_list_of_changes_rejects_nothing() -> None:
    said = Message(f"Changed:\n\n{LIST}\n\nWant me to commit these changes?")
    assert only_decision(Prompt("Fix it."), said, Prompt("yes"))["alternatives"] == []
    chosen = only_decision(Prompt("Fix it."), said, Prompt("do 2 first"))
    assert chosen["chosen"] == ["Leave it out"]
    assert len(chosen["alternatives"]) == 3


def step(text: str, status: Any = "in_progress") -> Todos:
    return Todos((TodoItem("Write the parser", status="completed"), TodoItem(text, status=status)))


def ran(command: str, outcome: Any = "ok") -> Action:
    return Action("Bash", {"command": command}, outcome=outcome)


def test_a_step_that_only_runs_checks_is_done_when_they_have_passed() -> None:
    begun = (Prompt("Fix it."), ran("make test"), step("Run lint and tests"))
    assert after(*begun, ran("make test")).pending_actions
    assert after(*begun, ran("make lint && make test", "error")).pending_actions
    done = after(*begun, ran("make test"), ran("make lint"))
    assert not done.pending_actions
    assert [(row["status"], row.get("passed_at")) for row in done.todos] == [
        ("completed", None),
        ("completed", 4),
    ]
    assert after(Prompt("Fix it."), step("Run tests and fix failures"), ran("make test")).pending_actions
    assert after(Prompt("Fix it."), step("Run tests", "pending"), ran("make test")).pending_actions


def test_a_request_for_the_next_thing_is_neither_an_answer_nor_a_correction() -> None:
    asked = Message("Do you want exact matching, or should spaces be left out of the comparison as well?")
    for words in (
        "ok, let's write this down now, for a reader who knows the code but not this part",
        "great, new change. the folders begin with 0, they should begin with 1 instead",
    ):
        assert not after(Prompt("Match the lines"), asked, Prompt(words)).decisions_made


@pytest.mark.parametrize(("first", "goal"), [("/team:review", "/team:review"), ("hello", "see to the docs")])
def test_a_command_that_becomes_a_request_is_what_the_session_is_for(first: str, goal: str) -> None:
    found = after(Prompt(first), Message("Done."), Prompt("see to the docs")).goal
    assert found is not None
    assert found["text"] == goal

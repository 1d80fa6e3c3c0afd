"""The handover: turns with their results, compact sentences, only the last state."""

from __future__ import annotations

import pytest

from fazm_memory.events.event import Plan
from fazm_memory.recall.dialogue import (
    Utterance,
    compact_request,
    compact_statement,
    dialogue_lines,
    split_sentences,
    utterances,
)
from fazm_memory.recall.lines import dialogue_items, line_label, replaced_plans
from tests.recall.conftest import ClockedMemory
from tests.scribe import event

MORNING = "2026-11-15T09:00:00+00:00"


@pytest.mark.parametrize(("said", "shown"), [
    ("Done. The upload retries three times.", "The upload retries three times."),
    ("Found the bug! The list lacks `replace`.", "The list lacks replace."),
    ("I've moved the lock into `store.py`", "moved the lock into store.py"),
    ("The lock is missing there. Let me add it.", "The lock is missing there."),
    ("So that old record is left alone", "So that old record is left alone"),
    ("You're absolutely right!", ""),
])  # fmt: skip
def test_a_statement_is_shown_without_remarks(said: str, shown: str) -> None:
    assert compact_statement(said) == shown


@pytest.mark.parametrize(("said", "shown"), [
    ("ok, can you please sort the list by date?", "sort the list by date?"),
    ("no, keep the old order", "no, keep the old order"),
    ("can we try?", "can we try?"),
])  # fmt: skip
def test_a_request_is_shown_without_its_polite_opening(said: str, shown: str) -> None:
    assert compact_request(said) == shown


def test_the_names_of_a_tables_columns_are_no_sentence() -> None:
    rows = split_sentences("| Test | Covers |\n|---|---|\n| test_login | the login page |\n")
    assert [row.text for row in rows] == ["test_login: the login page"]


def test_a_lead_in_of_the_user_stands_with_what_it_announces() -> None:
    text = "Please fix this:\n\nThe counter starts at one, so the first row is never written to the file."
    talk = [Utterance("asked", text, 1, 0, "user")]
    assert dialogue_lines("s", talk)[0].text.startswith("Please fix this: The counter starts at one")


def test_a_question_of_the_user_stands_with_its_answer(memory: ClockedMemory) -> None:
    memory.at("2026-11-14T16:00:00+00:00")
    memory.say("s", "prompt", text="move the invoices to the archive folder")
    memory.say("s", "message", text="Moved all 12 invoices into Archive/2026.")
    memory.say("s", "prompt", text="why is the invoice of Hooli not among them?")
    memory.say("s", "message", text="The invoice of Hooli is a draft, and drafts stay where they are.")
    memory.say("s", "prompt", text="then rename the Globex folder to Globex Ltd")
    memory.say("s", "message", text="Renamed the folder Globex to Globex Ltd.")
    text = memory.at(MORNING).recall.context("/w").text
    assert '"why is the invoice of Hooli not among them?" -> The invoice of Hooli is a draft' in text


def test_a_session_past_midnight_tells_what_came_before_it(memory: ClockedMemory) -> None:
    memory.at("2026-11-14T22:00:00+00:00")
    memory.say("s", "prompt", text="do not use the old exporter for these reports, it drops the last column")
    memory.say("s", "message", text="The new exporter in export_rows.py writes every column of the reports.")
    memory.at("2026-11-15T00:30:00+00:00").say("s", "prompt", text="write the summary of the reports too")
    text = memory.at(MORNING).recall.context("/w").text
    assert "Saturday 22:00-00:30" in text
    assert "drops the last column" in text
    assert "export_rows.py writes every column" in text


def test_a_question_of_the_agent_waits_only_in_the_last_session_of_its_thread(memory: ClockedMemory) -> None:
    files = [{"path": f"/w/{name}.md", "change": "modified"} for name in ("one", "two")]
    for hour, session, words in (
        (10, "a", "Shall I sort the chapters by date?"),
        (15, "b", "Shall I print it?"),
    ):
        memory.at(f"2026-11-14T{hour}:00:00+00:00")
        memory.say(session, "prompt", text=f"tidy the chapters of the report, part {session}")
        memory.say(session, "action", tool="Edit", files=files)
        memory.say(session, "message", text=f"Tidied the chapters of the report.\n\n{words}")
    text = memory.at(MORNING).recall.context("/w").text
    assert "Shall I print it?" in next(line for line in text.splitlines() if line.startswith("WAITING 1:"))
    assert "sort the chapters by date?" not in text


def test_a_rejected_plan_is_not_told() -> None:
    first, second = "# Rename by vendor\n1. read", "# Rename by date\n1. read"
    found = utterances(
        [
            event(Plan("Rename by vendor", text=first), 1),
            event(Plan("Rename by vendor", status="rejected"), 2),
            event(Plan("Rename by date", text=second), 3),
        ]
    )
    assert [one.text for one in found] == [second]


def test_a_plan_replaces_an_earlier_one_with_its_title() -> None:
    plans = [
        "# Plan: export invoices\nUse pandas.",
        "# Plan: login page",
        "# Plan: export the invoices\nStream them.",
    ]
    talk = [Utterance("plan", text, seq, 0, "agent") for seq, text in enumerate(plans)]
    assert replaced_plans(talk) == {0}


def test_only_the_last_wording_of_a_request_is_told() -> None:
    wordings = (
        "label it: Link this commit to your session? [y/n]",
        "label it: Link this commit to the session? [Y/n]",
    )
    talk = [Utterance("asked", text, seq, seq, "user") for seq, text in enumerate(wordings)]
    items = dialogue_items("s" * 8, talk, folder=None, worth=1.0).items
    assert [item.seq for item in items] == [1]


@pytest.mark.parametrize(("role", "text", "label"), [
    ("refusal", "don't run the integration tests, they are too slow", "rule"),
    ("refusal", "please write all steps down first", "asked"),
    ("asked", "never push to main", "rule"),
    ("asked", "this shouldn't be a thing", "asked"),
    ("asked", "don't we have a helper for that, can you check?", "asked"),
])  # fmt: skip
def test_rules_are_what_forbids_or_restricts(role: str, text: str, label: str) -> None:
    [line] = dialogue_lines("s", [Utterance(role, text, 1, 0, "user")])
    assert line_label(line) == label


def test_a_failure_names_the_other_call_that_solved_it(memory: ClockedMemory) -> None:
    memory.at("2026-11-14T16:00:00+00:00")
    memory.say("s", "prompt", text="run the checks")
    wrong, right = "pytest tests/unit", "python -m pytest tests/unit"
    failed = {"outcome": "error", "error": "Exit code 127\npytest: command not found"}
    memory.say("s", "action", tool="Bash", input={"command": wrong}, **failed)
    memory.say("s", "action", tool="Bash", input={"command": right})
    text = memory.at(MORNING).recall.context("/w").text
    assert f'failed: Bash "{wrong}" error: "pytest: command not found", then "{right}" worked @' in text


def forked(memory: ClockedMemory) -> str:
    """A session with a failure and an open step, and its fork, a minute later."""
    memory.say("s", "prompt", text="make the build work")
    memory.say("s", "action", tool="Bash", input={"command": "make build"}, error="undefined reference")
    memory.say("s", "decision", what="use cmake", why="make is broken")
    memory.say("s", "pending", id="p1", what="install cmake")
    memory.at("2026-11-15T09:01:00+00:00")
    parent = memory.store.sessions.by_key("s", "fazm")
    assert parent is not None
    return str(memory.rewind.fork(parent.id)["id"])


def test_what_a_fork_shares_with_its_parent_is_told_once(memory: ClockedMemory) -> None:
    forked(memory)
    text = memory.recall.context(workspace="/w").text
    for words in ("undefined reference", "use cmake", "install cmake", "make the build work"):
        assert text.count(words) == 1, text


def test_what_a_fork_settled_is_not_open_in_its_parent(memory: ClockedMemory) -> None:
    fork = forked(memory)
    memory.say(fork, "action", tool="Bash", input={"command": "make build"}, output="built")
    memory.say(fork, "pending.done", id="p1")
    text = memory.recall.context(workspace="/w").text
    assert "install cmake" not in text
    assert "unresolved" not in text


def test_work_that_was_broken_off_comes_next(memory: ClockedMemory) -> None:
    memory.at("2026-11-14T16:00:00+00:00")
    memory.say("s", "prompt", text="file the scans by sender")
    memory.say("s", "message", text="Filed 37 of 41 scans by sender.")
    memory.say("s", "prompt", text="can you ask me for the sender of the other four?")
    memory.say("s", "message", text="Let me open the first of them:")
    memory.say("s", "action", tool="Read", input={"file_path": "/w/scan 38.pdf"})
    text = memory.at(MORNING).recall.context("/w").text
    assert 'NEXT    1: broken off: "ask me for the sender of the other four?"' in text


def test_a_plan_without_an_answer_waits(memory: ClockedMemory) -> None:
    memory.at("2026-11-14T16:00:00+00:00")
    memory.say("s", "prompt", text="plan the export of the invoices")
    memory.say(
        "s", "plan", title="Export invoices", text="# Export invoices\nStream them.", status="presented"
    )
    text = memory.at(MORNING).recall.context("/w").text
    [waiting] = [line for line in text.splitlines() if line.startswith("WAITING")]
    assert "plan" in waiting
    assert "Export invoices" in waiting


def test_a_question_that_the_user_answered_does_not_wait() -> None:
    talk = [
        Utterance("first", "look for the slow query", 1, 1, "user"),
        Utterance("final", "Shall I add an index on the date?", 2, 2, "agent"),
        Utterance("asked", "add it to the customers table too", 3, 3, "user"),
    ]
    labels = {line.text: line_label(line) for line in dialogue_lines("s", talk)}
    assert labels["Shall I add an index on the date?"] != "waiting"


def _turns(memory: ClockedMemory, *said: str) -> str:
    """The context after requests and answers in turn."""
    memory.at("2026-11-14T16:00:00+00:00")
    for nth, text in enumerate(said):
        memory.say("s", "message" if nth % 2 else "prompt", text=text)
    return memory.at(MORNING).recall.context("/w").text


def test_a_request_stands_with_what_came_of_it(memory: ClockedMemory) -> None:
    text = _turns(
        memory,
        "sort the price list by supplier",
        "Sorted the price list by supplier and saved it as prices.csv.",
        "drop the rows without a supplier",
        "Done. I removed 14 rows without a supplier from prices.csv:\n\n```\nsed -i ...\n```",
        "add a total for each supplier",
        "Added a total after the rows of each supplier.",
    )
    assert '"drop the rows without a supplier" -> I removed 14 rows without a supplier' in text


def test_now_tells_what_came_of_the_last_request(memory: ClockedMemory) -> None:
    text = _turns(
        memory,
        "sort the price list by supplier",
        "Sorted the price list by supplier and saved it as prices.csv.",
        "add a total for each supplier",
        "Added a total after the rows of each supplier.",
    )
    [now] = [line for line in text.splitlines() if line.startswith("NOW")]
    assert now.endswith('"add a total for each supplier" -> Added a total after the rows of each supplier')


def test_a_question_that_waits_has_its_options_and_its_subject(memory: ClockedMemory) -> None:
    text = _turns(
        memory,
        "which format do the exports need for the tax office?",
        "The tax office takes two formats.\n\nWhich one do you want?\n1. CSV with a header\n2. XML of 2025",
    )
    [waiting] = [line for line in text.splitlines() if line.startswith("WAITING")]
    assert "Which one do you want? (1: CSV with a header; 2: XML of 2025)" in waiting


def test_a_question_that_says_little_has_the_request_before_it(memory: ClockedMemory) -> None:
    text = _turns(memory, "which format do the exports need for the tax office?", "Shall I try it?")
    [waiting] = [line for line in text.splitlines() if line.startswith("WAITING")]
    assert waiting.endswith('Shall I try it? (on "which format do the exports need for the tax office?")')


def test_thoughts_at_work_are_left_out_when_an_answer_closes_the_turn(memory: ClockedMemory) -> None:
    memory.at("2026-11-14T16:00:00+00:00")
    memory.say("s", "prompt", text="make the upload retry three times")
    memory.say(
        "s", "message", text="The helper for the upload is in upload_files.py and has no retry at all."
    )
    memory.say("s", "message", text="The problem was that the session is closed before the second try.")
    memory.say("s", "message", text="Added a retry of three tries to upload_files.py.\n\nTests cover it.")
    text = memory.at(MORNING).recall.context("/w").text
    assert "has no retry at all" not in text
    assert "closed before the second try" in text
    assert "Added a retry of three tries" in text


def test_remarks_stay_when_the_last_one_says_nothing(memory: ClockedMemory) -> None:
    memory.at("2026-11-14T16:00:00+00:00")
    memory.say("s", "prompt", text="name the scans by sender")
    memory.say("s", "message", text="Three of four scans are named. On scan004.pdf no date is readable.")
    memory.say("s", "message", text="Entry 12 is as expected.")
    assert "no date is readable" in memory.at(MORNING).recall.context("/w").text


def test_a_request_that_was_typed_anew_is_told_once(memory: ClockedMemory) -> None:
    memory.at("2026-11-14T16:00:00+00:00")
    for _ in range(2):
        memory.say("s", "prompt", text="fix the margins", source="transcript")
    memory.say("s", "message", text="Set all margins of report.md to 2 cm.")
    memory.say("s", "prompt", text="print the report", source="transcript")
    memory.say("s", "message", text="Printed report.md on the office printer.")
    assert memory.at(MORNING).recall.context("/w").text.count("fix the margins") == 1


def test_a_list_that_is_cut_says_so() -> None:
    items = "\n".join(
        f"- the report of {month} got a table of all its sources" for month in ("May", "June") * 4
    )
    first = split_sentences(f"Changed the reports:\n{items}")[0]
    assert first.form == "list"
    assert first.text.endswith("; …")


def test_the_goal_of_a_pasted_log_is_its_error() -> None:
    log = "* loading the configuration of 2026\n\n* release of the packages failed: unknown field retry"
    talk = [Utterance("first", log, 1, 1, "user"), Utterance("final", "Removed the field.", 2, 2, "agent")]
    goal = dialogue_items("s" * 8, talk, folder=None, worth=1.0).goal
    assert goal is not None
    assert "unknown field retry" in goal.text


def test_a_change_that_a_later_session_changed_again_is_told_as_undone(memory: ClockedMemory) -> None:
    files = [{"path": f"/w/{name}.md", "change": "modified"} for name in ("one", "two")]
    for hour, session, request, answer in (
        (10, "a", "Change the numbers to 1-based", "Renumbered every heading in outline.md."),
        (15, "b", "Change the numbers from 1-based to 0-based", "The list starts with zero now."),
    ):
        memory.at(f"2026-11-14T{hour}:00:00+00:00")
        memory.say(session, "prompt", text="tidy the chapters of the report")
        memory.say(session, "message", text="Removed the empty pages of the report.")
        memory.say(session, "prompt", text=request)
        memory.say(session, "action", tool="Edit", files=files)
        memory.say(session, "message", text=answer)
    text = memory.at(MORNING).recall.context("/w").text
    assert '"Change the numbers to 1-based" -> undone later' in text
    assert "Renumbered every heading" not in text
    assert text.count("undone later") == 1

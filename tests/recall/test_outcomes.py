"""What came of a request: the verdict of an answer, and the words of the user beside it."""

from __future__ import annotations

import pytest

from fazm_memory.recall.chooser import PASSED
from fazm_memory.recall.dialogue import Utterance, dialogue_lines, without_quoted
from fazm_memory.recall.outcomes import TurnOutcome, outcomes_by_turn, untaken_points

from .conftest import ClockedMemory

MORNING = "2026-11-15T09:00:00+00:00"


def _outcome(answer: str, longest: int = 200) -> TurnOutcome:
    """What came of one request with this answer."""
    talk = [
        Utterance("first", "change the exporter", 1, 1, "user"),
        Utterance("asked", "fix the last column", 2, 2, "user"),
        Utterance("final", answer, 3, 3, "agent"),
    ]
    lines = dialogue_lines("s", talk)
    return outcomes_by_turn(((line, 0.5) for line in lines), lines, {2}, longest)[2]


def test_the_first_sentence_that_says_something_is_the_verdict() -> None:
    assert _outcome("All tests pass. The exporter writes the last column now.").text == (
        "The exporter writes the last column now."
    )


def test_a_summary_is_told_and_not_announced() -> None:
    text = _outcome(
        "Here's a summary of the changes:\n\n- Added a flag for the last column\n- Removed the old writer"
    ).text
    assert text == "Added a flag for the last column; Removed the old writer"


def test_what_the_answer_calls_its_verdict_comes_first() -> None:
    answer = "I read every file twice.\n\n## Verdict: approve with one change\n\nMinor points follow."
    assert _outcome(answer).text.startswith("Verdict: approve with one change")


def test_the_state_before_is_not_told_as_the_result() -> None:
    answer = (
        "## Before\n\nThe exporter dropped the last column of each row.\n\n"
        "## Fix\n\nThe exporter writes all columns of each row."
    )
    assert _outcome(answer).text == "The exporter writes all columns of each row."


def test_numbered_headings_tell_a_long_report() -> None:
    answer = (
        "The exporter has two faults.\n\n### 1. `write_row` drops the last column\n\nLong text about it.\n\n"
        "### 2. `open_file` ignores the encoding\n\nMore text about it."
    )
    text = _outcome(answer).text
    assert "write_row drops the last column" in text
    assert "open_file ignores the encoding" in text


def test_a_lead_in_without_what_it_announces_is_left_out() -> None:
    answer = f"Fixed the last column of the exporter. The new code now reads:\n\n- {'x' * 300} long line"
    assert _outcome(answer).text == "Fixed the last column of the exporter."


def test_lines_that_repeat_the_agent_are_not_the_users_words() -> None:
    before = "The timestamp comes from the metadata of the checkpoint."
    text = "> The timestamp comes from the metadata of the checkpoint.\nNo, it comes from full.jsonl."
    assert without_quoted(text, before) == "No, it comes from full.jsonl."


def test_a_request_that_only_repeats_the_agent_is_kept() -> None:
    words = "The timestamp comes from the metadata of the checkpoint."
    assert without_quoted(words, words) == words


def _context(memory: ClockedMemory, *said: str) -> str:
    memory.at("2026-11-14T16:00:00+00:00")
    for nth, text in enumerate(said):
        memory.say("s", "message" if nth % 2 else "prompt", text=text)
    return memory.at(MORNING).recall.context("/w").text


def test_a_number_that_the_user_picks_has_the_text_of_its_option(memory: ClockedMemory) -> None:
    text = _context(
        memory,
        "review the exporter",
        "I found two issues:\n\n1. The last column is dropped\n2. The encoding is ignored",
        "let's fix 2 now",
        "Fixed: files are opened as UTF-8.",
    )
    assert '"let\'s fix 2 now" (The encoding is ignored) -> ' in text


def test_a_plain_request_is_short_and_a_correction_is_whole(memory: ClockedMemory) -> None:
    plain = (
        "look through all of the export modules and the helpers that they call in the shop and in the tests,"
        " and list the ones that open files"
    )
    correction = (
        "no, do not open the files in the writer, because the writer also runs on the NAS"
        " where nothing is mounted and nobody looks"
    )
    text = _context(
        memory,
        "tidy the exporter of the shop",
        "Tidied the exporter: the writer opens its files itself.",
        correction,
        "The caller opens the files now and hands them to the writer.",
        plain,
        "Three modules open files: rows.py, sums.py and days.py.",
    )
    assert correction in text
    assert plain not in text
    assert "Three modules open files" in text


def test_now_ends_with_the_last_run_of_the_checks(memory: ClockedMemory) -> None:
    memory.at("2026-11-14T16:00:00+00:00")
    memory.say("s", "prompt", text="add a total for each supplier")
    memory.say(
        "s", "action", tool="Bash", input={"command": "pytest tests/test_totals.py"}, output="1 passed"
    )
    memory.say("s", "message", text="Added a total after the rows of each supplier.")
    text = memory.at(MORNING).recall.context("/w").text
    [now] = [line for line in text.splitlines() if line.startswith("NOW")]
    assert now.endswith("last run: pytest tests/test_totals.py (ok 16:00)")


def test_an_answer_that_begins_with_its_verdict_keeps_it(memory: ClockedMemory) -> None:
    text = _context(
        memory,
        "sort the price list by supplier",
        "Sorted the price list by supplier and saved it as prices.csv.",
        "is the total of each supplier still correct?",
        "No, the totals of two suppliers are missing since the list was sorted.",
        "thanks, add them",
        "Added the totals of both suppliers to prices.csv.",
    )
    assert '"is the total of each supplier still correct?"\n    -> No, the totals of two suppliers' in text


def test_work_that_was_taken_back_is_told_as_undone(memory: ClockedMemory) -> None:
    text = _context(
        memory,
        "tidy the price list of the suppliers",
        "Removed the empty rows from prices.csv.",
        "write the prices with a comma",
        "I changed the price column to commas in prices.csv and in the report.",
        "revert that, the prices need a point",
        "Reverted. The price column of prices.csv has points again.",
        "sort the list by supplier",
        "Sorted the price list by supplier and saved it as prices.csv.",
    )
    assert "-> undone later: I changed the price column to commas" in text
    assert "-> Reverted. The price column of prices.csv has points again" in text


def test_a_review_that_the_user_pasted_is_not_told_as_the_users_order(memory: ClockedMemory) -> None:
    review = (
        "The exporter reads the whole response without a limit. This could exhaust the memory. "
        "Consider using a limited reader of one megabyte for the response of the server."
    )
    text = _context(
        memory,
        "write an exporter for the prices",
        "Added the exporter to export_prices.py.",
        review,
        "The response is limited to one megabyte now.",
        "and add a log line",
        "Added a log line to export_prices.py.",
    )
    assert '  - pasted: "The exporter reads the whole response' in text


def test_the_points_of_a_review_that_nobody_took_up_come_next(memory: ClockedMemory) -> None:
    review = (
        "The exporter has these issues:\n\n### Issue 1: The last column is dropped\n\nSee line 12.\n\n"
        "### Issue 2: Umlauts break in the header\n\nSee line 40.\n\n"
        "### Issue 3: The docs name a removed option\n"
    )
    text = _context(
        memory, "review the exporter", review, "can you fix issue 1", "Every column is written now."
    )
    [left] = [line for line in text.splitlines() if "not taken up" in line]
    assert left.startswith("NEXT    1: named by the agent, not taken up: 2 Umlauts break in the header")
    assert "3 The docs name a removed option" in left
    assert "last column" not in left


@pytest.mark.parametrize("answer", ["can you fix all of them", "fix issue 1, 2 and 3"])
def test_points_that_were_all_taken_up_are_not_open(answer: str) -> None:
    review = "### Issue 1: The last column\n\n### Issue 2: Umlauts break\n\n### Issue 3: The docs"
    talk = [Utterance("closing", review, 1, 0, "agent"), Utterance("asked", answer, 2, 0, "user")]
    assert untaken_points(talk) is None


@pytest.mark.parametrize("outcome", [
    "All tests pass — unit tests, integration tests, and race detection all green.",
    "All tests pass, lint passes, formatting is clean.",
])  # fmt: skip
def test_passed_checks_are_no_outcome(outcome: str) -> None:
    assert PASSED.fullmatch(outcome)

"""What came of a request: the verdict of an answer, and the words of the user beside it."""

from __future__ import annotations

from fazm_memory.recall.dialogue import Utterance, dialogue_lines, without_quoted
from fazm_memory.recall.outcomes import TurnOutcome, outcomes_by_turn

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

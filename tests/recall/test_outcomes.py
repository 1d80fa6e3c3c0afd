"""What came of a request: the verdict of an answer, and the words of the user beside it."""

from __future__ import annotations

import pytest

from fazm_memory.recall.chooser import PASSED
from fazm_memory.recall.dialogue import (
    Utterance,
    dialogue_lines,
    read_dialogue,
    without_copied,
    without_quoted,
)
from fazm_memory.recall.later_changes import read_work
from fazm_memory.recall.lines import dialogue_items
from fazm_memory.recall.open_items import untaken_points

from .conftest import ClockedMemory

MORNING = "2026-11-15T09:00:00+00:00"


def test_lines_that_repeat_the_agent_are_not_the_users_words() -> None:
    before = "The timestamp comes from the metadata of the checkpoint."
    text = "> The timestamp comes from the metadata of the checkpoint.\nNo, it comes from full.jsonl."
    assert without_quoted(text, before) == "No, it comes from full.jsonl."


def test_a_request_that_only_repeats_the_agent_is_kept() -> None:
    words = "The timestamp comes from the metadata of the checkpoint."
    assert without_quoted(words, words) == words


SAID = " Where does the time come from? The metadata.CreatedAt of the checkpoint is available. "


@pytest.mark.parametrize(
    ("text", "own"),
    [
        (
            "Where does the time come from? The `metadata.CreatedAt` of the\ncheckpoint is available. "
            "No, it comes from full.jsonl",
            "No, it comes from full.jsonl",
        ),
        (
            "you wrote: The metadata.CreatedAt of the checkpoint is available.\nwhat does available mean?",
            "what does available mean?",
        ),
        (
            "Look again. The metadata.CreatedAt of the checkpoint is available. It is not",
            "Look again.… It is not",
        ),
        (
            "explain the metadata.CreatedAt of the checkpoint is available",
            "explain the metadata.CreatedAt of the checkpoint is available",
        ),
        (
            "the metadata.CreatedAt of the checkpoint is missing",
            "the metadata.CreatedAt of the checkpoint is missing",
        ),
    ],
)
def test_words_copied_from_the_agent_are_not_the_users(text: str, own: str) -> None:
    assert without_copied(text, SAID) == (own, False)


def test_copied_words_alone_are_not_told_as_the_users(memory: ClockedMemory) -> None:
    answer = "The exporter drops the last column of every sheet, and the reader ignores its encoding."
    text = _context(memory, "review the exporter", answer, "rename the reader", "Renamed the reader.", answer)
    assert f'- "{answer}"' not in text
    assert without_copied(answer, f" {answer} ") == (answer, True)


def test_a_long_path_that_the_agent_named_too_is_the_users_word() -> None:
    path = "packages/exporter/source/sheets/columns/last_column_test.py"
    assert without_copied(f"add a case to {path}", f" I read {path} just now ")[0] == f"add a case to {path}"


@pytest.mark.parametrize(
    ("said", "answer", "refuted"),
    [
        ("but there is no local branch, is there?", "You're right. There is none.", True),
        ("that's not what the log says", "Ah yes, you are right - I had it backwards!", True),
        ("but there is no local branch, is there?", "There is one: main.", False),
        ("thanks, add a test", "Good catch, I added one.", False),
    ],
)
def test_an_answer_is_overturned_if_the_agent_gives_in_to_the_user(
    said: str, answer: str, refuted: bool
) -> None:
    asked = Utterance("first", "why does it fail?", 0, 0, "user")
    told = Utterance("closing", "The branch differs.", 1, 1, "agent")
    talk = [asked, told, Utterance("asked", said, 2, 2, "user"), Utterance("final", answer, 3, 3, "agent")]
    assert [line.overturned for line in dialogue_lines("s" * 8, talk) if line.seq == 1] == [refuted]


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
    assert '"is the total of each supplier still correct?" -> No, the totals of two suppliers' in text


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
    assert '"write the prices with a comma" -> undone later' in text
    assert "commas in prices.csv" not in text
    assert "-> Reverted. The price column of prices.csv has points again" in text


def test_what_came_of_undone_work_is_left_out(memory: ClockedMemory) -> None:
    text = _context(
        memory,
        "tidy the price list of the suppliers",
        "Removed the empty rows from prices.csv.",
        "write the prices with a comma",
        "The new list is ready for everybody in the shop.\n\n"
        "The price column of prices.csv has commas in all 40 rows.",
        "revert that, the prices need a point",
        "Reverted. The price column of prices.csv has points again.",
    )
    assert '"write the prices with a comma" -> undone later' in text
    assert "40 rows" not in text


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
    "All tests pass including integration tests",
])  # fmt: skip
def test_passed_checks_are_no_outcome(outcome: str) -> None:
    assert PASSED.fullmatch(outcome)


def test_the_outcome_is_the_first_line_that_says_something(memory: ClockedMemory) -> None:
    text = _context(
        memory,
        "sort the price list by supplier",
        "All tests pass. Here's a summary of the changes:\n\n## Before\n\nThe list had no order at all.\n\n"
        "## Now\n\nThe list is sorted by supplier and saved as prices.csv.\n\n- Line 12 has the header.",
        "print it",
        "Printed the list on the office printer.",
    )
    assert "- The list is sorted by supplier and saved as prices.csv" in text
    assert "no order at all" not in text


def test_the_bottom_line_of_an_answer_is_its_outcome(memory: ClockedMemory) -> None:
    text = _context(
        memory,
        "tidy the price list of the suppliers",
        "Removed the empty rows from prices.csv.",
        "is it allowed to sell to Austria with this list?",
        "The list has 40 suppliers from three countries.\n\nThe duty is paid by the buyer.\n\n"
        "Bottom line: we can sell to Austria, but not send spirits.",
        "write that into notes.md",
        "Wrote both rules into notes.md.",
    )
    assert '"is it allowed to sell to Austria with this list?" -> Bottom line: we can sell to Austria' in text


def test_an_answer_that_the_agent_took_back_is_not_told(memory: ClockedMemory) -> None:
    text = _context(
        memory,
        "why is the invoice of Globex missing in the export?",
        "The export skips every draft, so Globex must be a draft.",
        "but Globex was sent on Monday, wasn't it?",
        "You're right, Globex was sent. The export reads only the first page of invoices.",
        "read all pages then",
        "The export reads all pages of invoices now.",
    )
    assert "must be a draft" not in text
    assert "only the first page" in text


def test_words_right_after_a_refused_call_are_a_correction(memory: ClockedMemory) -> None:
    memory.at("2026-11-14T16:00:00+00:00")
    memory.say("s", "prompt", text="file the scans of the week")
    memory.say(
        "s", "action", tool="Bash", input={"command": "mv scan1.pdf A.pdf"}, outcome="denied", error="no"
    )
    memory.say("s", "prompt", text="scans keep the name of the sender")
    memory.say("s", "message", text="Renamed all scans by their sender.")
    row = memory.store.sessions.resolve(memory.sessions.get("s")["id"])
    work = read_work(memory.store, row, 0)
    talk = read_dialogue(memory.store, row, 0, {})
    refused = [event.seq for event in work.refused]
    plain = dialogue_items(row.id, talk, folder="/w", worth=1.0).items
    known = dialogue_items(row.id, talk, folder="/w", worth=1.0, refused=refused).items
    [before] = [item.score for item in plain if "keep the name" in item.text]
    [after] = [item.score for item in known if "keep the name" in item.text]
    assert len(refused) == 1
    assert after > before


def test_a_commit_that_the_user_stopped_without_a_word_is_told(memory: ClockedMemory) -> None:
    memory.at("2026-11-14T16:00:00+00:00")
    memory.say("s", "prompt", text="sort the price list by supplier")
    commit = {"command": "git commit -m 'Sort the list'"}
    memory.say("s", "action", tool="Bash", input=commit, outcome="denied", error="refused by the user")
    memory.say("s", "prompt", text="show me the first ten rows")
    memory.say("s", "message", text="The first ten rows are those of Globex and Hooli.")
    text = memory.at(MORNING).recall.context("/w").text
    assert "the user stopped \"git commit -m 'Sort the list'\" at 16:00" in text


def test_a_check_says_when_files_were_edited_since(memory: ClockedMemory) -> None:
    memory.at("2026-11-14T16:00:00+00:00")
    memory.say("s", "prompt", text="sort the price list by supplier")
    memory.say("s", "action", tool="Bash", input={"command": "pytest tests/test_list.py"}, output="3 passed")
    files = [{"path": "/w/list.py", "change": "modified"}]
    memory.say("s", "action", tool="Edit", input={"file_path": "/w/list.py"}, files=files)
    memory.say("s", "message", text="The list is sorted by supplier now.")
    text = memory.at(MORNING).recall.context("/w").text
    assert "pytest tests/test_list.py (ok 16:00, edited since)" in text


def test_an_answer_that_the_agent_corrects_by_itself_is_not_told(memory: ClockedMemory) -> None:
    text = _context(
        memory,
        "does the export read the credit notes?",
        "Yes! The export reads every credit note of the year.",
        "and which pages does it read of the credit notes?",
        "Good question. I was imprecise: the export skips every credit note.",
        "read the credit notes of this year then",
        "The export reads the credit notes of this year now.",
    )
    assert "reads every credit note" not in text
    assert "skips every credit note" in text


def test_the_last_explanation_before_a_change_counts(memory: ClockedMemory) -> None:
    memory.at("2026-11-14T16:00:00+00:00")
    memory.say("s", "prompt", text="why is the invoice of Globex missing in the export?")
    memory.say("s", "message", text="The problem is that the export of Globex skips every draft.")
    memory.say("s", "prompt", text="have a look at the pages of the export")
    memory.say("s", "message", text="The real cause is that the export of Globex reads only one page.")
    files = [{"path": "/w/export.py", "change": "modified"}]
    memory.say("s", "prompt", text="read all pages then")
    memory.say("s", "action", tool="Edit", input={"file_path": "/w/export.py"}, files=files)
    memory.say("s", "message", text="The export reads all pages of invoices now.")
    text = memory.at(MORNING).recall.context("/w").text
    assert "skips every draft" not in text
    assert "reads only one page" in text


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("Should the export also create the folder of the year when the first invoice arrives?", True),
        ("Should I do that?", False),
    ],
)
def test_a_yes_is_told_with_the_question_that_it_decides(
    memory: ClockedMemory, question: str, told: bool
) -> None:
    text = _context(
        memory,
        "export the invoices by month",
        f"The invoices are exported by month now. {question}",
        "yes",
        "The new folders are there for all months.",
        "name the sheets by supplier",
        "The sheets have the names of their suppliers.",
    )
    assert (f'{question} -> "yes"' in text) is told


@pytest.mark.parametrize(
    "outcome", ["Both exports pass.", "The changes look good", "It looks good to me now."]
)
def test_an_approval_is_no_outcome(memory: ClockedMemory, outcome: str) -> None:
    text = _context(memory, "why does the export skip drafts?", outcome, "thanks", "You are welcome.")
    assert outcome.rstrip(".") not in text

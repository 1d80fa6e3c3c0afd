"""Refusals in WebKit: what is not done says why, what was kept and what to do; what was typed is not lost."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path

from tests.page.serving import Served, serving
from tests.page.story import make_world
from tests.page.webkit import Window, part, region, window

NOTES = "- milk\n- stamps\n- call Kim\n"
ALL_THE_SAME = re.compile("^Go ahead all the same")
SEARCH = part("combobox", "Search everything recorded")


def test_a_session_that_waits_for_a_person_is_not_resumed(page: Window, told: Served) -> None:
    told.world.memory.move(told.world.ids["release"], "pause")
    session = page.visit(told, "release")
    page.press("button", "Resume")
    page.there("dialog", "Resume this session")
    page.says("It waits for your answer first: May I push the tag")
    page.press("button", "Resume")
    page.there("alert", re.compile("waits for a person"))
    page.press("button", "Cancel")
    page.gone("dialog")
    assert told.world.memory.session(session)["lifecycle"] == "paused"


def test_what_a_person_changed_since_goes_only_when_that_is_ticked(page: Window, told: Served) -> None:
    notes = told.world.folder / "notes.md"
    session = page.visit(told, "folder", 1)
    notes.write_text("my own words\n")
    page.command("Event commands", "Rewind to here…")
    page.there("dialog", "Rewind to position 2")
    page.press("checkbox", "Put the files back too")
    page.says("Changed by somebody else since")
    page.says(str(notes))
    page.holds(part("button", "Rewind"), "disabled", "true")
    page.press("button", "Cancel")
    page.gone("dialog")
    assert notes.read_text() == "my own words\n"
    assert not list(told.world.memory.events(session, kind="rewind"))
    page.command("Event commands", "Rewind to here…")
    page.press("checkbox", "Put the files back too")
    page.press("checkbox", ALL_THE_SAME)
    page.confirm("Rewind")
    page.says("put back.")
    assert notes.read_text() == NOTES
    page.press("button", "Undo")
    page.says("Undone")
    assert notes.read_text() == "my own words\n"


def test_files_that_change_after_the_plan_was_shown_are_left_alone(tmp_path: Path) -> None:
    with serving(make_world(tmp_path / "own")) as own, window(own.door()) as page:
        notes = own.world.folder / "notes.md"
        page.visit(own, "folder", 1)
        page.command("Event commands", "Rewind to here…")
        page.press("checkbox", "Put the files back too")
        page.fill("textbox", re.compile("^Reason"), "start over")
        notes.write_text("saved while the plan was being read\n")
        page.press("button", "Rewind")
        page.there("alert", re.compile("changed since that plan was shown; nothing was done"))
        page.holds(part("textbox", re.compile("^Reason")), "value", "start over")
        page.keys("Escape")
        page.gone("dialog")
        assert notes.read_text() == "saved while the plan was being read\n"
        assert not list(own.world.memory.events(own.world.ids["folder"], kind="rewind"))
        assert page.errors() == []


def test_without_its_folder_a_session_goes_back_without_files(page: Window, told: Served) -> None:
    session = page.visit(told, "today", 3)
    page.command("Event commands", "Rewind to here…")
    page.there("dialog", "Rewind to position 4")
    page.says("The files stay as they are")
    page.confirm("Rewind")
    page.says("Rewound.")
    (rewound,) = told.world.memory.events(session, kind="rewind")
    assert rewound["payload"]["to"] == 4


def test_a_fork_into_a_folder_that_is_taken_is_refused_and_keeps_what_was_typed(
    page: Window, told: Served
) -> None:
    before = len(told.world.memory.sessions(limit=50))
    taken = told.world.folder / "taken"
    taken.mkdir()
    (taken / "mine.txt").write_text("mine\n")
    page.visit(told, "folder", 2)
    page.command("Event commands", "Fork from here…")
    page.fill("textbox", re.compile("^Title"), "The other way")
    page.fill("textbox", re.compile("^Folder"), str(taken))
    page.press("button", "Fork")
    page.there("alert", re.compile("taken"))
    page.holds(part("textbox", re.compile("^Title")), "value", "The other way")
    page.holds(part("textbox", re.compile("^Folder")), "value", str(taken))
    page.keys("Escape")
    page.gone("dialog")
    assert [one.name for one in taken.iterdir()] == ["mine.txt"]
    assert len(told.world.memory.sessions(limit=50)) == before


def test_a_folder_without_its_whole_path_is_not_excluded(page: Window, told: Served) -> None:
    page.go("#/settings")
    page.press("button", "Exclude a folder or app…")
    page.holds(part("button", "Exclude"), "disabled", "true")
    page.keys(*"Private", on=part("textbox", "Name"))
    page.press("button", "Exclude")
    page.there("alert")
    page.holds(part("textbox", "Name"), "value", "Private")
    page.press("button", "Cancel")
    page.gone("dialog")
    page.says("You have excluded nothing of your own.", region("Never recorded"))


def test_a_link_to_nothing_says_what_is_wrong(page: Window, told: Served) -> None:
    page.go("#/s/ffffffffffff")
    page.there("alert", re.compile("no session"))
    page.there("button", "Try again")
    session = told.world.ids["site"]
    page.go(f"#/s/{session}@999")
    page.there("heading", "Contact form keeps its message", part("main"))
    page.there("alert", re.compile("999"), region("Event"))
    page.press("button", "Close", region("Event"))
    page.gone("region", "Event")


def test_a_search_that_finds_nothing_or_lets_go_of_a_filter_says_so(page: Window, told: Served) -> None:
    page.visit(told, "site")
    page.keys("slash", *"zzzqqqxxy")
    page.says("Nothing recorded matches “zzzqqqxxy”")
    page.keys("Escape", "Escape")
    query = "invoice agent:nobody-here"
    [note] = told.world.memory.query_doubts(query)
    page.evaluate("() => { document.querySelector('fm-search input').value = ''; }")
    page.keys("slash", *(("space" if one == " " else one) for one in query))
    page.says(note[1:])
    page.keys("Escape", "Escape")


def test_filters_that_leave_nothing_say_so(page: Window, told: Served) -> None:
    page.visit(told, "site")
    page.fill("combobox", "Agent", "codex")
    page.fill("combobox", "Workspace", "/Users/dana/Downloads")
    page.there("heading", "No session fits", region("Sessions"))
    page.fill("combobox", "Agent", "")
    page.gone("heading", "No session fits")
    page.fill("combobox", "Workspace", "")
    page.go("#/day/2026-11-10")
    page.there("heading", "Nothing was recorded on this day")


def test_a_page_of_another_run_says_that_nothing_is_lost_and_goes_on_when_let_in(
    page: Window, told: Served
) -> None:
    page.visit(told, "site")
    ours, told.keys.cookie = told.keys.cookie, "that-of-another-run"
    page.go(f"#/s/{told.world.ids['invoices']}")
    page.there("heading", "This page was opened for another run")
    page.says("Nothing is lost, but the page needs a new key.")
    page.says("Run fazm-memory timeline and open the address it prints.")
    told.keys.cookie = ours
    page.press("button", "Try again", part("main"))
    page.there("heading", "Rename invoices, date first", part("main"))


def test_a_server_that_does_not_answer_leaves_word_of_what_is_kept(tmp_path: Path) -> None:
    with ExitStack() as running:
        own = running.enter_context(serving(make_world(tmp_path / "own")))
        with window(own.door()) as page:
            page.visit(own, "today")
            page.press("button", "Hand off…")
            page.fill("textbox", re.compile("^Note"), "Check the totals as well")
            running.close()
            page.press("button", "Hand off")
            page.there("alert", re.compile("The page cannot reach it. What was recorded is kept on disk."))
            page.holds(part("textbox", re.compile("^Note")), "value", "Check the totals as well")
            page.keys("Escape")
            page.gone("dialog")
            page.says("Fazm Memory does not answer; what was recorded is kept. Trying again…")
            page.go(f"#/s/{own.world.ids['invoices']}")
            page.there("heading", "Fazm Memory does not answer")
            page.there("button", "Try again")
            assert page.errors() == []

"""Stories of refusals, in both browsers: why, what was kept, what to do; typed values are not lost."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path

from tests.page.conftest import OpenWindow
from tests.page.server import Server, serve
from tests.page.story import NOTES, add, empty_world, make_world
from tests.page.window import MAIN, Window, part, region

CONTINUE_ANYWAY = re.compile("^Continue anyway")
REASON = part("textbox", re.compile("^Reason"))
NOTE = part("textbox", re.compile("^Note"))


def test_a_session_with_a_question_for_a_person_is_not_resumed(page: Window, server: Server) -> None:
    server.world.memory.sessions.move(server.world.ids["release"], "pause")
    session = page.visit(server, "release")
    page.press("button", "Resume")
    page.there("dialog", "Resume this session")
    page.says("Answer this question first: May I push the tag")
    page.press("button", "Resume and copy briefing")
    page.there("alert", re.compile("person"))
    page.press("button", "Cancel")
    page.gone("dialog")
    assert server.world.memory.sessions.get(session)["lifecycle"] == "paused"


def test_a_file_changed_since_is_overwritten_only_with_a_tick(page: Window, server: Server) -> None:
    notes = server.world.folder / "notes.md"
    session = page.visit(server, "folder", 1)
    notes.write_text("my own words\n")
    page.command("Event commands", "Rewind to here…")
    page.there("dialog", "Rewind")
    page.says("Changed by someone else since then")
    page.says(str(notes))
    page.has(part("button", "Rewind"), "disabled", "true")
    page.press("button", "Cancel")
    page.gone("dialog")
    assert notes.read_text() == "my own words\n"
    assert not list(server.world.memory.history.events(session, kind="rewind"))
    page.command("Event commands", "Rewind to here…")
    page.press("checkbox", CONTINUE_ANYWAY)
    page.confirm("Rewind")
    page.says("restored.")
    assert notes.read_text() == NOTES
    page.press("button", "Undo")
    page.says("Undone")
    assert notes.read_text() == "my own words\n"


def test_files_that_change_after_the_plan_was_shown_are_not_touched(
    open_window: OpenWindow, tmp_path: Path
) -> None:
    with serve(make_world(tmp_path / "own")) as own, open_window(own.door()) as page:
        notes = own.world.folder / "notes.md"
        page.visit(own, "folder", 1)
        page.command("Event commands", "Rewind to here…")
        page.says(str(notes))
        page.fill("textbox", re.compile("^Reason"), "start over")
        notes.write_text("saved while the plan was being read\n")
        page.press("button", "Rewind")
        page.there("alert", re.compile("changed after this plan"))
        page.has(REASON, "value", "start over")
        page.keys("Escape")
        page.gone("dialog")
        assert notes.read_text() == "saved while the plan was being read\n"
        assert not list(own.world.memory.history.events(own.world.ids["folder"], kind="rewind"))
        assert page.errors() == []


def test_without_its_folder_a_session_is_rewound_without_files(page: Window, server: Server) -> None:
    session = page.visit(server, "today", 3)
    page.command("Event commands", "Rewind to here…")
    page.there("dialog", "Rewind")
    page.says("Only the session goes back, no file changes")
    page.confirm("Rewind")
    page.says("Rewound.")
    (rewound,) = server.world.memory.history.events(session, kind="rewind")
    assert rewound["payload"]["to"] == 4


def test_a_fork_into_a_used_folder_is_refused_and_keeps_what_was_typed(page: Window, server: Server) -> None:
    before = len(server.world.memory.sessions.listing(limit=50))
    used = server.world.folder / "used"
    used.mkdir()
    (used / "mine.txt").write_text("mine\n")
    page.visit(server, "folder", 2)
    page.command("Event commands", "Fork from here…")
    page.fill("textbox", re.compile("^Title"), "The other way")
    page.fill("textbox", re.compile("^Folder"), str(used))
    page.press("button", "Fork")
    page.there("alert", re.compile("used"))
    page.has(part("textbox", re.compile("^Title")), "value", "The other way")
    page.has(part("textbox", re.compile("^Folder")), "value", str(used))
    page.keys("Escape")
    page.gone("dialog")
    assert [path.name for path in used.iterdir()] == ["mine.txt"]
    assert len(server.world.memory.sessions.listing(limit=50)) == before


def test_a_folder_without_its_full_path_is_not_excluded(page: Window) -> None:
    page.go("#/settings")
    page.press("button", "Exclude a folder or app…")
    page.has(part("button", "Exclude"), "disabled", "true")
    page.type("Private", on=part("textbox", "Name"))
    page.press("button", "Exclude")
    page.there("alert")
    page.has(part("textbox", "Name"), "value", "Private")
    page.press("button", "Cancel")
    page.gone("dialog")
    page.says("You have not excluded anything.", region("Never recorded"))


def test_a_broken_link_explains_itself_and_stays_whatever_is_recorded(page: Window, server: Server) -> None:
    page.go("#/s/ffffffffffff")
    page.there("alert", re.compile("session"))
    page.there("button", "Try again")
    add(
        server.world,
        "meanwhile",
        "session.open",
        {"agent": "fazm", "title": "Started meanwhile"},
        agent="fazm",
    )
    page.there("link", re.compile("Started meanwhile"), region("Sessions"))  # the page knows about it
    page.there("alert", re.compile("session"))
    assert page.evaluate("() => location.hash") == "#/s/ffffffffffff"
    page.go(f"#/s/{server.world.ids['site']}@999")
    page.there("heading", "Contact form keeps its message", MAIN)
    page.there("alert", re.compile("999"), region("Event"))
    page.press("button", "Close", region("Event"))
    page.gone("region", "Event")


def test_an_expired_page_says_that_nothing_is_lost_and_continues_with_a_new_key(
    page: Window, server: Server
) -> None:
    page.visit(server, "site")
    cookie, server.keys.cookie = server.keys.cookie, "that-of-another-run"
    page.go(f"#/s/{server.world.ids['invoices']}")
    page.there("heading", "This page has expired")
    page.says("Nothing is lost")
    page.says("Run fazm-memory timeline")
    server.keys.cookie = cookie
    page.press("button", "Try again", MAIN)
    page.there("heading", "Rename invoices, date first", MAIN)


def test_an_unreachable_server_is_reported_with_what_is_kept(open_window: OpenWindow, tmp_path: Path) -> None:
    with ExitStack() as running:
        own = running.enter_context(serve(make_world(tmp_path / "own")))
        with open_window(own.door()) as page:
            page.visit(own, "today")
            page.press("button", "Hand off…")
            page.fill("textbox", re.compile("^Note"), "Check the totals as well")
            running.close()
            page.press("button", "Hand off")
            page.there("alert", re.compile("Everything recorded so far is on disk"))
            page.has(NOTE, "value", "Check the totals as well")
            page.keys("Escape")
            page.gone("dialog")
            page.says("Cannot reach Fazm Memory. Everything recorded so far is on disk. Retrying…")
            page.go(f"#/s/{own.world.ids['invoices']}")
            page.there("heading", "Cannot reach Fazm Memory")
            page.there("button", "Try again")
            assert page.errors() == []


def test_an_empty_memory_names_the_cause_and_the_next_step(open_window: OpenWindow, tmp_path: Path) -> None:
    world = empty_world(tmp_path)
    with serve(world) as server, open_window(server.door()) as page:
        page.there("heading", "Nothing recorded yet", region("Sessions"))
        page.says("fazm-memory connect", region("Sessions"))
        page.there("heading", "Nothing recorded yet", MAIN)
        page.go("#/")
        page.there("heading", "Nothing recorded yet", MAIN)
        add(world, "first", "session.open", {"agent": "fazm", "title": "The very first"}, agent="fazm")
        page.there("heading", "The very first", MAIN)
        assert page.errors() == []

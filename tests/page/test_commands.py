"""Stories of the commands on sessions and events, in both browsers, from the button to the log."""

from __future__ import annotations

import re

from tests.page.server import Server
from tests.page.story import NOTES, add
from tests.page.window import MAIN, Window, part, region

UNDERSTOOD = re.compile("^I understand that")
EVENTS = part("listbox", "Events")
NOTE = part("textbox", re.compile("^Note"))
REASON = re.compile("^Reason")


def test_a_session_is_paused_undone_and_resumed(page: Window, server: Server) -> None:
    session, memory = page.visit(server, "today"), server.world.memory
    page.press("button", "Pause")
    page.says("Paused.")
    assert memory.sessions.get(session)["lifecycle"] == "paused"
    page.press("button", "Undo")
    page.says("Undone")
    assert memory.sessions.get(session)["lifecycle"] == "resumed"
    other = page.visit(server, "site")
    page.press("button", "Resume")
    page.there("dialog", "Resume this session")
    page.says("The agent cannot continue this session here: the folder it worked in is gone")
    page.says("paste the briefing as the first message")
    page.confirm("Resume and copy briefing")
    page.says("Resumed. Briefing copied.")
    assert memory.sessions.get(other)["lifecycle"] == "resumed"
    assert page.copied().startswith(f"Fazm Memory: taking up session {other[:8]}")


def test_a_command_that_cannot_be_run_here_is_folded_and_copying_changes_nothing(
    page: Window, server: Server
) -> None:
    session = page.visit(server, "release")
    before = server.world.memory.sessions.get(session)
    page.press("button", "Resume")
    page.there("button", "Copy briefing")
    page.press("summary", "The agent’s own command")
    page.press("button", "Copy command")
    page.there("button", "Copied")
    assert page.copied() == "cd /Users/dana/Projects/tool && codex resume dana-release"
    page.confirm("Copy briefing")
    page.says("Briefing copied. Start a new session of the agent")
    assert page.copied().startswith(f"Fazm Memory: taking up session {session[:8]}")
    assert server.world.memory.sessions.get(session) == before


def test_a_session_is_handed_off_and_a_question_answered(page: Window, server: Server) -> None:
    session = page.visit(server, "today")
    page.press("button", "Hand off…")
    page.has(part("button", "Hand off"), "disabled", "true")
    page.type("Check the totals", on=NOTE)
    page.confirm("Hand off")
    page.says("Handed off.")
    (question,) = server.world.memory.history.state(session)["open_questions"]
    assert (question["to"], question["note"]) == ("agent", "Check the totals")
    asked = page.visit(server, "release")
    page.press("button", "Answer…")
    page.says("May I push the tag")
    page.press("button", "Answer")
    page.there("alert", re.compile("Name of the release.*required"))
    page.press("checkbox", re.compile("^Push the tag"))
    page.fill("combobox", re.compile("^Name of the release"), "2.4.1")
    page.confirm("Answer")
    page.says("Answered.")
    last = list(server.world.memory.history.events(asked, kind="handoff.answer"))[-1]
    assert last["payload"]["answer"] == {"push": True, "name": "2.4.1"}
    assert last["actor"] == "person"


def test_a_rewind_shows_its_plan_restores_files_and_is_undone(page: Window, server: Server) -> None:
    notes, plan = server.world.folder / "notes.md", server.world.folder / "plan.md"
    now = notes.read_text()
    page.visit(server, "folder", 2)
    page.press("button", "Rewind…")
    page.there("dialog", "Rewind")
    page.says("for “Tidy notes.md and write a plan”")
    page.has(part("radio", "Take back this and 1 later action"), "checked", "true")
    page.says("2 files can be restored")
    page.has(part("checkbox", "Also restore the files"), "checked", "true")
    page.says(str(notes))
    page.press("radio", "Keep this, take back the 1 later action")
    page.says("1 file can be restored")
    page.silent("Content restored")
    page.press("radio", "Take back this and 1 later action")
    page.says("Content restored")
    page.type("again", on=part("textbox", REASON))
    page.confirm("Rewind")
    page.there("button", "Undo")
    assert notes.read_text() == NOTES
    assert not plan.exists()
    page.press("button", "Undo")
    page.says("Undone")
    assert notes.read_text() == now
    assert plan.exists()


def test_a_fork_starts_at_its_position_and_is_shown(page: Window, server: Server) -> None:
    session = page.visit(server, "site", 7)
    before = server.world.memory.sessions.get(session)
    page.command("Event commands", "Fork from here…")
    page.there("dialog", "Fork from position 8")
    page.keys("Escape")
    page.gone("dialog")
    assert server.world.memory.sessions.get(session) == before
    page.command("Event commands", "Fork from here…")
    page.fill("textbox", re.compile("^Title"), "The other way")
    page.confirm("Fork")
    page.there("heading", "The other way", MAIN)
    sessions = server.world.memory.sessions.listing(limit=50)
    assert next(each for each in sessions if each["title"] == "The other way")["parent"] == session


def test_the_replay_plan_shows_its_steps(page: Window, server: Server) -> None:
    session = page.visit(server, "invoices")
    page.command("More", "Replay plan…")
    page.there("dialog", "Replay plan")
    for step in server.world.memory.replay.plan(session)["steps"]:
        page.says(step.get("command") or step["what"])
    page.press("summary", "As a script")
    page.says("set -eu")
    page.confirm("Done")


def test_a_menu_is_closed_by_its_button(page: Window, server: Server) -> None:
    page.visit(server, "invoices", 3)
    for menu in ("More", "Event commands"):
        page.press("button", menu)
        page.there("menuitem")
        page.press("button", menu)
        page.gone("menuitem")


def test_an_event_and_a_time_range_are_forgotten_after_a_tick(page: Window, server: Server) -> None:
    session, memory = page.visit(server, "receipts", 3), server.world.memory
    page.command("Event commands", "Forget this event…")
    page.says("1 event in 1 session will be forgotten.")
    page.has(part("button", "Forget"), "disabled", "true")
    page.press("checkbox", UNDERSTOOD)
    page.confirm("Forget")
    page.says("1 event forgotten.")
    assert next(memory.history.events(session, start=3, stop=4))["payload"] is None
    page.go("#/settings")
    page.press("button", "Forget a time range…")
    page.says("Choose a start and an end.")
    page.fill("textbox", "From", "2026-11-13T00:00")
    page.fill("textbox", "Until", "2026-11-14T00:00")
    page.says(re.compile(r"\d+ events in 1 session will be forgotten"))
    page.press("button", "Cancel")
    page.gone("dialog")
    actions = list(memory.history.events(server.world.ids["photos"], kind="action"))
    assert all(event["payload"] for event in actions)
    page.press("button", "Forget a time range…")
    page.fill("textbox", "From", "2026-11-13T00:00")
    page.fill("textbox", "Until", "2026-11-14T00:00")
    page.press("checkbox", UNDERSTOOD)
    page.confirm("Forget")
    page.says(re.compile(r"\d\d events forgotten\."))
    assert {
        event["payload"] for event in memory.history.events(server.world.ids["photos"], kind="action")
    } == {None}
    assert memory.maintenance.verify().clean


def test_an_event_is_quarantined_and_released(page: Window, server: Server) -> None:
    session = page.visit(server, "flights", 2)
    page.command("Event commands", "Quarantine event…")
    page.fill("textbox", REASON, "it tells agents what to do")
    page.confirm("Quarantine")
    page.says("Quarantined.")
    page.press("button", "Undo")
    page.says("Undone")
    marks = server.world.memory.history.events(session, kind="quarantine")
    assert [mark["payload"].get("released", False) for mark in marks] == [False, True]


def test_new_events_appear_at_once_and_wait_for_a_reader_who_scrolled_up(
    page: Window, server: Server
) -> None:
    page.visit(server, "release")
    add(server.world, "dana-release", "message", {"text": "One more thing, live."})
    page.there("option", re.compile("One more thing, live"), EVENTS)
    page.has(part("slider", "Time range"), "aria-valuetext", re.compile(r"to 1[78]:"))  # the lanes follow
    page.settle()
    page.row("Prompt: ")  # the reader scrolls up
    add(server.world, "dana-release", "message", {"text": "And another."})
    page.press("button", re.compile("^1 new event"))
    page.there("option", re.compile("And another"), EVENTS)


def test_folders_and_apps_are_excluded_and_recorded_again(page: Window) -> None:
    page.go("#/settings")
    for kind, name in (("app", "Mail"), ("folder", "/Users/dana/Private")):
        page.press("button", "Exclude a folder or app…")
        page.fill("combobox", "What", kind)
        page.fill("textbox", "Name", name)
        page.confirm("Exclude")
        page.says(name, region("Never recorded"))
    page.press("button", "Remove Mail")
    page.silent("Mail", region("Never recorded"))

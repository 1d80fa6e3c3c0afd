"""The settings in WebKit: who is connected, what is recorded and what never is, how long it is kept."""

from __future__ import annotations

import re

from fazm_memory.capture.instance import only_one
from tests.page.serving import Served
from tests.page.webkit import Window, part, region

AGES = {
    "Details of actions": "180", "Changes seen on disk": "365", "Apps in front": "60",
    "Your own words": "", "Archived sessions": "30", "Contents of files": "90",
}  # fmt: skip
RECORDING = region("Recording")
AGENTS = region("Agents")
RETENTION = region("Retention")
CHANGE = part("dialog", "Change what is kept")


def settings(page: Window) -> None:
    """At the settings, read anew: nothing is left there of what was typed before."""
    page.go("#/context")
    page.go("#/settings")
    page.there("heading", "Settings", part("main"))


def test_recording_is_paused_and_resumed(page: Window, told: Served) -> None:
    settings(page)
    page.press("button", "Pause recording for 15 minutes")
    page.says("Nothing is recorded, summarised or handed out. Until 17:5", RECORDING)
    page.says("Recording is paused until 17:5")  # in the sidebar, which is on every screen
    assert not told.world.memory.recording()["recording"]
    page.press("button", "Resume recording", RECORDING)
    page.there("button", "Pause recording for 1 hour")
    assert told.world.memory.recording()["recording"]


def test_recording_is_paused_from_any_screen(page: Window, told: Served) -> None:
    page.visit(told, "site")
    page.command("Recording", "Pause until resumed")
    page.says("Recording is paused")
    assert not told.world.memory.recording()["recording"]
    assert told.world.memory.recording()["paused_until"] is None
    page.press("button", "Resume recording")
    page.there("button", "Recording")
    assert told.world.memory.recording()["recording"]


def test_what_waits_for_an_answer_is_found_from_any_screen(page: Window, told: Served) -> None:
    page.visit(told, "site")
    page.press("button", "1 question waiting")
    page.count(1, "link", re.compile("Release 2.4"), region("Sessions"))
    page.fill("combobox", "Outcome", "")


def test_whether_the_companion_records_is_said(page: Window, told: Served) -> None:
    settings(page)
    page.says("companion not running", RECORDING)
    page.says("No agent is connected", RECORDING)
    page.says("The companion is not running")
    page.visit(told, "site")
    with only_one(told.world.memory.config.home):
        settings(page)
        page.says("What agents leave in their own records is taken in", RECORDING)
        page.says("running", region("Storage"))
        page.unsaid("companion not running", RECORDING)


def test_what_this_machine_allows_watches_and_holds_is_told(page: Window, told: Served) -> None:
    settings(page)
    page.says("to know which app and window were in front", region("Permissions"))
    page.there("heading", "Watched folders", region("Watched folders"))
    page.says(str(told.world.folder), region("Watched folders"))
    page.says(re.compile(r"\d+ events of \d+ sessions"), region("Storage"))
    page.press("summary", re.compile("^Always excluded: password managers"), region("Never recorded"))
    page.says("keychain", region("Never recorded"))
    page.evaluate("() => document.querySelector('fm-settings').read()")  # as it does from time to time
    page.says("keychain", region("Never recorded"))  # what somebody opened stays open


def test_an_agent_is_joined_after_its_edits_were_shown_and_parted_again(page: Window, told: Served) -> None:
    file = told.world.memory.config.user_home / ".claude" / "settings.json"
    settings(page)
    page.press("button", "Connect Claude Code")
    page.there("dialog", "Connect Claude Code")
    page.says(str(file))
    page.says("SessionStart")  # the edit itself
    assert not file.exists()
    page.press("button", "Cancel")
    page.gone("dialog")
    assert not file.exists()
    page.press("button", "Connect Claude Code")
    page.confirm("Connect")
    page.says("Claude Code is connected.")
    page.there("button", "Disconnect Claude Code")
    page.says("hooks", AGENTS)
    assert "SessionStart" in file.read_text()
    page.evaluate(
        "() => clearInterval(document.querySelector('fm-settings').timer)"
    )  # it looks again unasked
    page.press("button", "Undo")
    page.says("Undone")
    page.there("button", "Connect Claude Code")
    assert not file.exists()


def test_trouble_with_an_agents_configuration_is_said_and_nothing_overwritten(
    page: Window, told: Served
) -> None:
    file = told.world.memory.config.user_home / ".codex" / "config.toml"
    file.write_text("no = toml = at all")
    settings(page)
    page.press("button", "Connect Codex")
    page.there("alert", re.compile("config.toml"))
    page.holds(part("button", "Connect"), "disabled", "true")
    page.press("button", "Cancel")
    page.gone("dialog")
    assert file.read_text() == "no = toml = at all"
    file.unlink()


def test_the_folder_of_a_session_is_excluded_from_its_menu(page: Window, told: Served) -> None:
    page.visit(told, "photos")
    page.command("More", "Exclude this folder…")
    page.there("dialog", "Exclude from recording")
    page.holds(part("combobox", "What"), "value", "folder")
    page.holds(part("textbox", "Name"), "value", "/Users/dana/Pictures/Camera")
    page.confirm("Exclude")
    page.says("/Users/dana/Pictures/Camera is excluded from now on.")
    settings(page)
    page.says("/Users/dana/Pictures/Camera", region("Never recorded"))
    page.press("button", "Record /Users/dana/Pictures/Camera again")
    page.unsaid("/Users/dana/Pictures/Camera", region("Never recorded"))


def test_each_kind_shows_its_age_and_what_stays_is_said(page: Window) -> None:
    settings(page)
    for kind, days in AGES.items():
        page.holds(part("spinbutton", f"{kind}, days to keep", RETENTION), "value", days)
    page.holds(part("spinbutton", "Room for the log, megabytes at most", RETENTION), "value", "4096")
    page.says("kept back to 16 September", RETENTION)
    page.says("what you asked agents for; kept for good", RETENTION)
    page.says("A clean-up today would give back nothing", RETENTION)
    page.says("Decisions, facts, questions, the digests", RETENTION)


def test_what_would_be_lost_is_counted_and_confirmed_by_more_than_a_click(page: Window, told: Served) -> None:
    home, memory = told.world.memory.config.home, told.world.memory
    settings(page)
    page.fill("spinbutton", "Details of actions, days to keep", "2", RETENTION)
    page.says(re.compile(r"would give back .*: details of \d+ events of"), RETENTION)
    page.says(re.compile(r"kept back to Friday · \d+ events, .* would go"), RETENTION)
    page.press("button", "Save…", RETENTION)
    page.says("Details of actions: 180 days → 2 days", CHANGE)
    page.press("button", "Cancel")
    page.gone("dialog")
    assert not (home / "config.toml").exists()
    page.holds(part("spinbutton", "Details of actions, days to keep", RETENTION), "value", "2")
    page.press("button", "Save…", RETENTION)
    page.says("at once and for good, of details of", CHANGE)
    page.holds(part("button", "Change"), "disabled", "true")
    page.press("checkbox", "I understand that what is let go cannot be brought back")
    page.confirm("Change")
    page.says("What is kept is changed; gone are details of")
    assert (home / "config.toml").read_text() == "retain_actions = 2\n"
    flights = list(memory.events(told.world.ids["flights"]))
    assert [one["kind"] for one in flights if one["payload"] is None] != []
    assert [one for one in flights if one["kind"] == "decision" and one["payload"] is None] == []


def test_an_age_that_is_none_is_not_taken(page: Window) -> None:
    settings(page)
    page.fill("spinbutton", "Apps in front, days to keep", "-3", RETENTION)
    page.says("An age is a whole number of days; an empty field keeps for good.", RETENTION)
    page.press("button", "Save…", RETENTION)
    page.gone("dialog")


def test_what_is_typed_outlasts_what_changes_meanwhile(page: Window) -> None:
    settings(page)
    page.fill("spinbutton", "Apps in front, days to keep", "61", RETENTION)
    page.press("button", "Pause recording until I resume")
    page.says("It stays so until you resume it", RECORDING)
    page.holds(part("spinbutton", "Apps in front, days to keep", RETENTION), "value", "61")
    page.press("button", "Resume recording", RECORDING)
    page.says("companion not running", RECORDING)
    page.holds(part("spinbutton", "Apps in front, days to keep", RETENTION), "value", "61")

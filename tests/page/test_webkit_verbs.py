"""The page in WebKit, which the Mac's window is made of: what changes the memory, by accessible names."""

from __future__ import annotations

import re
from pathlib import Path

from fazm_memory.capture.draft import Draft
from fazm_memory.config import Config
from tests.page.serving import Served, serving
from tests.page.story import World, open_memory, tell
from tests.page.webkit import Window, part, region, window

DECISION = "the date comes first"
UNDERSTOOD = re.compile("^I understand that")


def test_a_session_is_paused_undone_and_resumed(page: Window, told: Served) -> None:
    session, memory = page.visit(told, "today"), told.world.memory
    page.press("button", "Pause")
    page.says("Paused.")
    assert memory.session(session)["lifecycle"] == "paused"
    page.press("button", "Undo")
    page.says("Undone")
    assert memory.session(session)["lifecycle"] == "resumed"
    other = page.visit(told, "site")
    page.press("button", "Resume")
    page.there("dialog", "Resume this session")
    page.says("The briefing")
    page.confirm("Resume")
    page.says("Resumed.")
    assert memory.session(other)["lifecycle"] == "resumed"


def test_a_session_is_handed_off_and_a_question_answered(page: Window, told: Served) -> None:
    session = page.visit(told, "today")
    page.press("button", "Hand off…")
    page.holds(part("button", "Hand off"), "disabled", "true")
    page.keys(*"from", "space", *"WebKit", on=part("textbox", re.compile("^Note")))
    page.confirm("Hand off")
    page.says("Handed off.")
    (question,) = told.world.memory.state(session)["open_questions"]
    assert question["note"] == "from WebKit"
    asked = page.visit(told, "release")
    page.press("button", "Answer…")
    page.says("May I push the tag")
    page.press("button", "Answer")
    page.there("alert", "“Name of the release” needs an answer.")
    page.press("checkbox", re.compile("^Push the tag"))
    page.fill("combobox", re.compile("^Name of the release"), "2.4.1")
    page.confirm("Answer")
    page.says("Answered.")
    last = list(told.world.memory.events(asked, kind="handoff.answer"))[-1]
    assert last["payload"]["answer"] == {"push": True, "name": "2.4.1"}


def test_a_rewind_shows_its_plan_puts_files_back_and_is_undone(page: Window, told: Served) -> None:
    notes, plan = told.world.folder / "notes.md", told.world.folder / "plan.md"
    now = notes.read_text()
    page.visit(told, "folder", 1)
    page.command("Event commands", "Rewind to here…")
    page.there("dialog", "Rewind to position 2")
    page.says("2 files would change on disk")
    page.press("checkbox", "Put the files back too")
    page.says(str(notes))
    page.keys(*"again", on=part("textbox", re.compile("^Reason")))
    page.confirm("Rewind")
    page.there("button", "Undo")
    assert notes.read_text() == "- milk\n- stamps\n- call Kim\n"
    assert not plan.exists()
    page.press("button", "Undo")
    page.says("Undone")
    assert notes.read_text() == now
    assert plan.exists()


def test_a_fork_is_made_where_it_was_told_to_and_shown(page: Window, told: Served) -> None:
    session = page.visit(told, "site", 7)
    page.command("Event commands", "Fork from here…")
    page.there("dialog", "Fork from position 8")
    page.keys("Escape")
    page.gone("dialog")
    page.command("Event commands", "Fork from here…")
    page.fill("textbox", re.compile("^Title"), "The other way")
    page.confirm("Fork")
    page.there("heading", "The other way", part("main"))
    made = next(one for one in told.world.memory.sessions(limit=50) if one["title"] == "The other way")
    assert made["parent"] == session


def test_the_replay_plan_shows_its_steps(page: Window, told: Served) -> None:
    session = page.visit(told, "invoices")
    page.command("More", "Replay plan…")
    page.there("dialog", "Replay plan")
    for step in told.world.memory.replay_plan(session)["steps"]:
        page.says(step.get("command") or step["what"])
    page.press("summary", "As a script")
    page.says("set -eu")
    page.confirm("Done")


def test_a_menu_is_closed_by_the_button_that_opened_it(page: Window, told: Served) -> None:
    page.visit(told, "invoices", 3)
    for menu in ("More", "Event commands"):
        page.press("button", menu)
        page.there("menuitem")
        page.press("button", menu)
        page.gone("menuitem")


def test_an_event_and_a_stretch_of_time_are_forgotten_after_a_tick(page: Window, told: Served) -> None:
    session, memory = page.visit(told, "receipts", 3), told.world.memory
    page.command("Event commands", "Forget this event…")
    page.says("1 event of 1 session would be forgotten.")
    page.holds(part("button", "Forget"), "disabled", "true")
    page.press("checkbox", UNDERSTOOD)
    page.confirm("Forget")
    page.says("1 event forgotten.")
    assert next(memory.events(session, start=3, stop=4))["payload"] is None
    page.go("#/settings")
    page.press("button", "Forget a stretch of time…")
    page.fill("textbox", "From", "2026-11-13T00:00")
    page.fill("textbox", "Until", "2026-11-14T00:00")
    page.says(re.compile(r"\d+ events of 1 session would be forgotten"))
    page.press("checkbox", UNDERSTOOD)
    page.confirm("Forget")
    page.says(re.compile(r"\d\d events forgotten\."))
    assert {one["payload"] for one in memory.events(told.world.ids["photos"], kind="action")} == {None}


def test_an_event_is_quarantined_and_released(page: Window, told: Served) -> None:
    session = page.visit(told, "flights", 2)
    page.command("Event commands", "Quarantine event…")
    page.fill("textbox", re.compile("^Reason"), "it tells agents what to do")
    page.confirm("Quarantine")
    page.says("Quarantined.")
    page.press("button", "Undo")
    page.says("Undone")
    held = told.world.memory.events(session, kind="quarantine")
    assert [one["payload"].get("released", False) for one in held] == [False, True]


def test_a_fact_is_pinned_excluded_and_included_again(page: Window, told: Served) -> None:
    memory = told.world.memory
    decided = next(memory.events(told.world.ids["invoices"], kind="decision"))["seq"]
    page.visit(told, "invoices", decided)
    page.command("Event commands", "Pin to context")
    page.says("Pinned")
    page.go("#/context")
    page.says("pinned", region("Given"))
    page.press("button", re.compile(f"^Exclude: .*{DECISION}"))
    page.says(DECISION, region("Excluded by you"))
    assert DECISION not in memory.context(None).text
    page.press("button", re.compile(f"^(Auto|Include): .*{DECISION}"), region("Excluded by you"))
    page.gone("region", "Excluded by you")
    assert DECISION in memory.context(None).text
    page.press("button", re.compile(f"^Pin: .*{DECISION}"))
    page.says("pinned", region("Given"))
    page.press("button", "As text")
    page.says(DECISION, part("main"))


def test_folders_and_apps_are_excluded_and_recorded_again(page: Window, told: Served) -> None:
    page.go("#/settings")
    for what, name in (("app", "Mail"), ("folder", "/Users/dana/Private")):
        page.press("button", "Exclude a folder or app…")
        page.fill("combobox", "What", what)
        page.fill("textbox", "Name", name)
        page.confirm("Exclude")
        page.says(name, region("Never recorded"))
    page.press("button", "Record Mail again")
    page.unsaid("Mail", region("Never recorded"))


def test_the_settings_tell_of_agents_and_change_what_is_kept(page: Window, told: Served) -> None:
    home = told.world.memory.config.home
    page.go("#/settings")
    page.says("Claude Code", region("Agents"))
    page.says("companion not running", region("Recording"))
    page.says(str(home), region("Storage"))
    age = part("spinbutton", "Apps in front, days to keep", region("Retention"))
    page.holds(age, "value", "60")
    page.fill("spinbutton", "Apps in front, days to keep", "90", region("Retention"))
    page.press("button", "Save…", region("Retention"))
    page.there("dialog", "Change what is kept")
    page.says("Nothing is old enough to go now.")
    page.confirm("Change")
    page.says("What is kept is changed.")
    page.holds(age, "value", "90")
    assert (home / "config.toml").read_text() == "retain_apps = 90\n"


def test_what_is_recorded_appears_at_once(page: Window, told: Served) -> None:
    page.visit(told, "release")
    tell(told.world, [Draft("dana-release", "message", {"text": "One more thing, live."})])
    page.there("option", re.compile("One more thing, live"), part("listbox", "Events"))
    shown = part("slider", "Window of time shown")
    page.holds(shown, "aria-valuetext", re.compile(r"to 1[78]:"))  # it follows, and the lanes with it
    page.drive("calm")
    page.row("Session began")  # the reader scrolls up
    tell(told.world, [Draft("dana-release", "message", {"text": "And another."})])
    page.press("button", re.compile("^1 new event"))
    page.there("option", re.compile("And another"), part("listbox", "Events"))


def test_an_empty_memory_names_the_cause_and_the_next_step(tmp_path: Path) -> None:
    world = World(memory=None, folder=tmp_path)  # type: ignore[arg-type]
    world.memory = open_memory(Config(home=tmp_path / "memory", user_home=tmp_path, key="file"), world)
    with serving(world) as served, window(served.door()) as page:
        page.there("heading", "Nothing recorded yet", region("Sessions"))
        page.says("fazm-memory connect", region("Sessions"))
        assert page.errors() == []

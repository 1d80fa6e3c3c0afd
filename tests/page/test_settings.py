"""Stories of the settings, in both browsers: recording, agents, exclusions, retention."""

from __future__ import annotations

import re
from pathlib import Path

from tests.page.server import Server
from tests.page.story import companion_running
from tests.page.window import MAIN, Window, part, region

AGES = {
    "Details of actions": "180", "File changes": "365", "Apps in front": "60",
    "Your prompts": "", "Archived sessions": "30", "File contents": "90",
}  # fmt: skip
RECORDING = region("Recording")
AGENTS = region("Agents")
RETENTION = region("Retention")
NEVER_RECORDED = region("Never recorded")
CHANGE = part("dialog", "Change retention")
RELOADED = "() => { const screen = document.querySelector('fm-settings'); %s }"


def age(kind: str) -> str:
    return f"{kind}, days to keep"


def open_settings(page: Window) -> None:
    """Open the settings anew, without earlier edits."""
    page.go("#/context")
    page.go("#/settings")
    page.there("heading", "Settings", MAIN)


def test_recording_is_paused_and_resumed(page: Window, server: Server) -> None:
    open_settings(page)
    page.press("button", "Pause recording for 15 minutes")
    page.says(re.compile("Nothing is recorded.* Until 17:5"), RECORDING)
    page.says("Recording is paused until 17:5")  # in the sidebar
    assert not server.world.memory.recording.status()["recording"]
    page.press("button", "Resume recording", RECORDING)
    page.there("button", "Pause recording for 1 hour")
    assert server.world.memory.recording.status()["recording"]


def test_recording_is_paused_from_any_screen(page: Window, server: Server) -> None:
    page.visit(server, "site")
    page.command("Recording", "Pause until I resume")
    page.says("Recording is paused")
    assert not server.world.memory.recording.status()["recording"]
    assert server.world.memory.recording.status()["paused_until"] is None
    page.press("button", "Resume recording")
    page.there("button", "Recording")
    assert server.world.memory.recording.status()["recording"]


def test_a_reload_that_changes_nothing_leaves_the_screen_alone(page: Window) -> None:
    open_settings(page)
    page.there("region", "Recording")
    marked = "const [card] = screen.querySelectorAll('.card');"
    page.evaluate(RELOADED % f"{marked} card.marked = true; return screen.load();")
    assert page.evaluate(RELOADED % f"{marked} return card.marked;")


def test_open_questions_are_found_from_any_screen(page: Window, server: Server) -> None:
    page.visit(server, "site")
    page.press("button", "1 question waiting")
    page.count(1, "link", re.compile("Release 2.4"), region("Sessions"))
    page.fill("combobox", "Result", "")


def test_the_state_of_the_companion_is_shown(page: Window, server: Server) -> None:
    open_settings(page)
    page.says("companion not running", RECORDING)
    page.says("No agent is connected", RECORDING)
    page.says("Companion not running", part("complementary", "Sessions and screens"))
    page.visit(server, "site")
    with companion_running(server.world):
        open_settings(page)
        page.says("Sessions are read from the agents' own transcripts", RECORDING)
        page.says("running", region("Storage"))
        page.silent("companion not running", RECORDING)


def test_permissions_folders_and_storage_are_shown(page: Window, server: Server) -> None:
    open_settings(page)
    page.says("Accessibility", region("Permissions"))
    page.says(str(server.world.folder), region("Watched folders"))
    page.says(re.compile(r"\d+ events in \d+ sessions"), region("Storage"))
    page.says(str(server.world.memory.config.home), region("Storage"))
    page.press("summary", re.compile("^Always excluded: password managers"), NEVER_RECORDED)
    page.says("keychain", NEVER_RECORDED)
    page.evaluate(RELOADED % "return screen.load();")
    page.says("keychain", NEVER_RECORDED)  # an open section stays open


def test_an_agent_is_connected_after_its_edits_were_shown_and_disconnected(
    page: Window, server: Server
) -> None:
    file = server.world.memory.config.user_home / ".claude" / "settings.json"
    open_settings(page)
    page.press("button", "Connect Claude Code")
    page.there("dialog", "Connect Claude Code")
    page.says(str(file))
    page.says("SessionStart")  # the edit itself
    page.press("button", "Cancel")
    page.gone("dialog")
    assert not file.exists()
    page.press("button", "Connect Claude Code")
    page.confirm("Connect")
    page.says("Claude Code is connected.")
    page.there("button", "Disconnect Claude Code")
    page.says("hooks", AGENTS)
    assert "SessionStart" in file.read_text()
    page.evaluate(RELOADED % "clearInterval(screen.timer);")
    page.press("button", "Undo")
    page.says("Undone")
    page.there("button", "Connect Claude Code")
    assert not file.exists()


def test_a_broken_configuration_is_reported_and_not_overwritten(page: Window, server: Server) -> None:
    file = server.world.memory.config.user_home / ".codex" / "config.toml"
    file.write_text("no = toml = at all")
    open_settings(page)
    page.press("button", "Connect Codex")
    page.there("alert", re.compile("config.toml"))
    page.has(part("button", "Connect"), "disabled", "true")
    page.press("button", "Cancel")
    page.gone("dialog")
    assert file.read_text() == "no = toml = at all"
    file.unlink()


def test_a_problem_of_claude_code_is_not_shown_for_fazm_which_is_not_installed(
    page: Window, server: Server
) -> None:
    file = server.world.memory.config.user_home / ".claude" / "settings.json"
    file.write_text("{ no json")
    open_settings(page)
    page.says("settings.json", part("listitem", re.compile("^Claude Code"), AGENTS))
    page.says(re.compile("Not found on this machine: .*Fazm"), AGENTS)
    page.gone("listitem", re.compile("^Fazm"), AGENTS)
    file.unlink()


def test_the_folder_of_a_session_is_excluded_from_its_menu(page: Window, server: Server) -> None:
    page.visit(server, "photos")
    page.command("More", "Exclude this folder…")
    page.there("dialog", "Exclude from recording")
    page.has(part("combobox", "What"), "value", "folder")
    page.has(part("textbox", "Name"), "value", "/Users/dana/Pictures/Camera")
    page.confirm("Exclude")
    page.says("/Users/dana/Pictures/Camera is now excluded.")
    open_settings(page)
    page.says("/Users/dana/Pictures/Camera", NEVER_RECORDED)
    page.press("button", "Remove /Users/dana/Pictures/Camera")
    page.silent("/Users/dana/Pictures/Camera", NEVER_RECORDED)


def test_each_kind_shows_its_age_and_what_is_always_kept(page: Window) -> None:
    open_settings(page)
    for kind, days in AGES.items():
        page.has(part("spinbutton", age(kind), RETENTION), "value", days)
    page.has(part("spinbutton", "Size limit of the log, megabytes", RETENTION), "value", "4096")
    page.says("kept since 16 September", RETENTION)
    page.says("kept forever", RETENTION)
    page.says("A clean-up today would free nothing", RETENTION)
    page.says("Always kept", RETENTION)


def test_an_age_that_deletes_nothing_needs_one_click(page: Window, server: Server) -> None:
    config = server.world.memory.config.home / "config.toml"
    open_settings(page)
    page.fill("spinbutton", age("Apps in front"), "90", RETENTION)
    page.press("button", "Save…", RETENTION)
    page.says("Nothing is old enough to be deleted now.", CHANGE)
    page.gone("checkbox", None, CHANGE)
    page.confirm("Change")
    page.says("Retention changed.")
    page.has(part("spinbutton", age("Apps in front"), RETENTION), "value", "90")
    assert config.read_text() == "retain_apps = 90\n"


def test_deleting_content_is_counted_first_and_needs_a_tick(page: Window, server: Server) -> None:
    config, memory = server.world.memory.config.home / "config.toml", server.world.memory
    config.unlink(missing_ok=True)
    with memory.store.db.transaction():
        memory.store.db.execute("DELETE FROM arrival")  # as if it had been recorded when it happened
        memory.store.db.execute("DELETE FROM receipt")
    open_settings(page)
    page.fill("spinbutton", age("Details of actions"), "2", RETENTION)
    page.says(re.compile(r"would free .*: details of \d+ events in"), RETENTION)
    page.says(re.compile(r"kept since Friday · \d+ events, .* to delete"), RETENTION)
    page.press("button", "Save…", RETENTION)
    page.says("Details of actions: 180 days → 2 days", CHANGE)
    page.press("button", "Cancel")
    page.gone("dialog")
    assert not config.exists()
    page.has(part("spinbutton", age("Details of actions"), RETENTION), "value", "2")
    page.press("button", "Save…", RETENTION)
    page.says(re.compile("This deletes details of .* permanently"), CHANGE)
    page.has(part("button", "Change"), "disabled", "true")
    page.press("checkbox", "I understand that deleted content cannot be restored")
    page.confirm("Change")
    page.says("Retention changed. Deleted: details of")
    assert config.read_text() == "retain_actions = 2\n"  # other ages keep following their defaults
    flights = list(memory.history.events(server.world.ids["flights"]))
    assert [event["kind"] for event in flights if event["payload"] is None] != []
    assert [event for event in flights if event["kind"] == "decision" and event["payload"] is None] == []


def test_an_invalid_age_is_refused(page: Window) -> None:
    open_settings(page)
    page.fill("spinbutton", age("Apps in front"), "-3", RETENTION)
    page.says("Enter a whole number of days", RETENTION)
    page.press("button", "Save…", RETENTION)
    page.gone("dialog")


def test_typed_values_survive_reloads(page: Window) -> None:
    apps = part("spinbutton", age("Apps in front"), RETENTION)
    open_settings(page)
    page.fill("spinbutton", age("Apps in front"), "61", RETENTION)
    page.evaluate(RELOADED % "return Promise.all([screen.load(), screen.load(), screen.load()]);")
    page.has(apps, "value", "61")
    page.press("button", "Pause recording until I resume")
    page.says("Until you resume it", RECORDING)
    page.has(apps, "value", "61")
    page.press("button", "Resume recording", RECORDING)
    page.says("companion not running", RECORDING)
    page.has(apps, "value", "61")


def test_the_settings_say_how_to_sync_with_other_machines(page: Window) -> None:
    open_settings(page)
    page.says("syncs with no other", region("Other machines"))


def test_a_vault_is_made_on_the_page_and_its_key_shown_once(page: Window, tmp_path: Path) -> None:
    machines = region("Other machines")
    open_settings(page)
    page.press("button", "Set up sync…", machines)
    page.fill("textbox", "Folder that the machines share, or s3:// URL", str(tmp_path))
    page.press("button", "Make the vault")
    page.says("stored nowhere")
    page.press("button", "Done")
    page.says("this machine", machines)
    page.press("button", "Leave…", machines)
    page.press("button", "Leave")
    page.says("syncs with no other", machines)

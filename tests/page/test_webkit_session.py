"""What else is done with a session or an event in WebKit: waived, exported, revealed, closed, kept apart."""

from __future__ import annotations

import re
import subprocess
from queue import Queue

import pytest

from fazm_memory.capture.draft import Draft
from tests.page.serving import Served
from tests.page.story import tell
from tests.page.webkit import Window, part, region

EVENT = region("Event")
PATIENCE = 15.0
Started = Queue[list[str]]


@pytest.fixture
def started(page: Window, monkeypatch: pytest.MonkeyPatch) -> Started:
    """The programs that the server would have started; the window's own run already."""
    commands: Started = Queue()
    monkeypatch.setattr(subprocess, "Popen", lambda command, **_: commands.put(command))
    return commands


def test_a_question_is_waived_only_after_asking(page: Window, told: Served) -> None:
    session, memory = page.visit(told, "release"), told.world.memory
    page.press("button", "Waive")
    page.there("dialog", "Waive this question?")
    page.press("button", "Cancel")
    page.gone("dialog")
    assert memory.state(session)["open_questions"]
    page.press("button", "Answer…")
    page.press("button", "Waive it instead")
    page.there("dialog", "Waive this question?")
    page.confirm("Waive")
    page.says("Waived.")
    assert not memory.state(session)["open_questions"]
    page.gone("button", "Answer…")


def test_a_session_is_exported_to_a_file_that_is_named(page: Window, told: Served) -> None:
    session = page.visit(told, "receipts")
    page.command("More", "Export…")
    page.says("read it before you share it", part("dialog", "Export this session"))
    page.press("button", "Export")
    page.there("dialog", "Exported")
    (made,) = (told.world.memory.config.home / "exports").iterdir()
    page.says(str(made))
    assert made.name.startswith(session[:12])
    page.press("button", "Copy path")
    page.there("button", "Copied")
    assert page.copied() == str(made)
    page.confirm("Done")


def test_a_file_is_revealed_where_it_lies(page: Window, told: Served, started: Started) -> None:
    page.visit(told, "folder")
    page.press("option", page.row(r"Edit.*notes\.md"))
    page.press("button", "Reveal notes.md")
    page.says("Shown in its folder.", EVENT)
    assert started.get(timeout=PATIENCE)[-1] == str(told.world.folder)


def test_a_file_that_was_only_looked_at_is_revealed_too(page: Window, told: Served, started: Started) -> None:
    looked = told.world.folder / "looked at.md"
    looked.write_text("only read\n")
    files = [{"path": str(looked), "change": "read"}]
    read = {"tool": "Read", "input": {"file_path": str(looked)}, "files": files, "call_id": "looked"}
    tell(told.world, [Draft("folder", "action", read)])
    page.visit(told, "folder")
    page.press("option", page.row(r"Read.*looked at\.md"))
    page.press("button", "Reveal looked at.md")
    page.says("Shown in its folder.", EVENT)
    assert started.get(timeout=PATIENCE)[-1] == str(told.world.folder)


def test_where_no_file_manager_is_the_place_is_said(
    page: Window, told: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: object, **__: object) -> None:
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(subprocess, "Popen", missing)
    page.visit(told, "folder")
    page.press("option", page.row(r"Write.*plan\.md"))
    page.press("button", "Reveal plan.md")
    page.says("xdg-open cannot be started: No such file or directory", EVENT)


def test_a_session_is_closed_archived_and_restored(page: Window, told: Served) -> None:
    session, memory = page.visit(told, "site"), told.world.memory
    page.command("More", "Close session")
    page.says("Closed.")
    page.gone("button", "Pause")
    assert memory.session(session)["lifecycle"] == "closed"
    page.visit(told, "site")  # what was said before is read
    page.command("More", "Archive")
    page.says("Archived. It stays readable and searchable.")
    assert memory.session(session)["lifecycle"] == "archived"
    page.visit(told, "site")
    page.press("button", "Restore")
    page.says("Restored.")
    page.there("button", "Resume")
    page.press("button", "Undo")
    page.says("Undone")
    page.there("button", "Restore")
    assert memory.session(session)["lifecycle"] == "archived"


def test_the_last_rewind_is_undone_from_the_menu_of_the_session(page: Window, told: Served) -> None:
    session, folder = page.visit(told, "folder", 1), told.world.folder
    now = (folder / "notes.md").read_text()
    page.command("Event commands", "Rewind to here…")
    page.press("checkbox", "Put the files back too")
    page.confirm("Rewind")
    page.says("2 files put back.")
    assert (folder / "notes.md").read_text() != now
    page.visit(told, "invoices")
    page.visit(told, "folder")  # the toast is gone, and with it its Undo
    page.row("Rewound to 2.*rewind")
    page.command("More", "Undo the last rewind…")
    page.there("dialog", "Undo the last rewind")
    page.confirm("Undo rewind")
    page.says("The rewind is undone.")
    assert (folder / "notes.md").read_text() == now
    assert not told.world.memory.session(session).get("can_undo")


def test_a_session_is_quarantined_and_an_event_is_released(page: Window, told: Served) -> None:
    session, memory = page.visit(told, "flights", 2), told.world.memory
    assert memory.search("Lisbon")
    page.command("Event commands", "Quarantine event…")
    page.confirm("Quarantine")
    page.says("Quarantined.")
    page.visit(told, "flights", 1)
    page.visit(told, "flights", 2)
    page.command("Event commands", "Lift quarantine…")
    page.says("Released from quarantine.")
    page.command("More", "Quarantine session…")
    page.there("dialog", "Quarantine this session")
    page.fill("textbox", re.compile("^Reason"), "it read a page of doubtful origin")
    page.confirm("Quarantine")
    page.says("Quarantined.")
    held = [one["payload"] for one in memory.events(session, kind="quarantine")]
    assert [one.get("released", False) for one in held] == [False, True, False]
    assert held[-1]["reason"] == "it read a page of doubtful origin"


def test_what_is_shown_of_a_session_is_forgotten_as_a_stretch_of_time(page: Window, told: Served) -> None:
    session, memory = page.visit(told, "photos"), told.world.memory
    other = list(memory.events(told.world.ids["invoices"]))
    page.command("More", "Forget a stretch of time…")
    page.there("dialog", "Forget a stretch of time")
    page.holds(part("textbox", "From"), "value", re.compile("^2026-11-13T09:"))
    page.says(re.compile(r"\d+ events of 1 session would be forgotten"))
    page.press("checkbox", re.compile("^I understand that"))
    page.confirm("Forget")
    page.says(re.compile(r"\d+ events forgotten\."))
    assert {one["payload"] for one in memory.events(session, kind="action")} == {None}
    assert list(memory.events(told.world.ids["invoices"])) == other


def test_what_is_recorded_meanwhile_takes_neither_menu_nor_focus_from_a_hand(
    page: Window, told: Served
) -> None:
    page.visit(told, "today")
    page.press("button", "More")
    page.there("menuitem", "Export…")
    done = {"tool": "Bash", "input": {"command": "ls"}, "error": "no such folder"}
    tell(told.world, [Draft("dana-today", "action", done | {"call_id": "meanwhile-1"})])
    page.there("link", re.compile("Continue organizing files.*1 failed"), region("Sessions"))  # it is known
    page.there("option", re.compile("no such folder"), part("listbox", "Events"))
    page.there("menuitem", "Export…")
    page.keys("Escape")
    page.gone("menuitem")
    page.says("1 failed", part("main"))  # and now it is said here too
    page.drive("focus", part("button", "Fork…"))
    tell(told.world, [Draft("dana-today", "action", done | {"call_id": "meanwhile-2"})])
    page.says("2 failed", part("main"))
    page.keys("Return")
    page.there("dialog", "Fork from here")
    page.press("button", "Cancel")
    page.gone("dialog")


def test_time_without_permission_is_a_gap_of_the_day(page: Window, told: Served) -> None:
    gap = {"what": "permission missing", "since": "2026-11-15T10:00:00+00:00",
           "until": "2026-11-15T10:30:00+00:00"}  # fmt: skip
    tell(told.world, [Draft("companion", "gap", gap, "fazm-memory", source="companion")])
    page.visit(told, "today")
    page.there("img", re.compile("^The day: .*permission missing 10:00 to 10:30"))

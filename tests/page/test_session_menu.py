"""Stories of the other commands on a session or an event, in both browsers."""

from __future__ import annotations

import re
import subprocess
from queue import Queue

import pytest

from tests.page.server import Server
from tests.page.story import add
from tests.page.window import MAIN, Window, part, region

EVENT = region("Event")
TIMEOUT = 60.0
Commands = Queue[list[str]]


@pytest.fixture
def started(page: Window, monkeypatch: pytest.MonkeyPatch) -> Commands:
    """The programs that the server would have started."""
    commands: Commands = Queue()
    monkeypatch.setattr(subprocess, "Popen", lambda command, **_: commands.put(command))
    return commands


def test_a_question_is_waived_only_after_a_confirmation(page: Window, server: Server) -> None:
    session, memory = page.visit(server, "release"), server.world.memory
    page.press("button", "Waive")
    page.there("dialog", "Waive this question?")
    page.press("button", "Cancel")
    page.gone("dialog")
    assert memory.history.state(session)["open_questions"]
    page.press("button", "Answer…")
    page.press("button", "Waive instead")
    page.there("dialog", "Waive this question?")
    page.confirm("Waive")
    page.says("Waived.")
    assert not memory.history.state(session)["open_questions"]
    page.gone("button", "Answer…")


def test_a_session_is_exported_to_a_named_file(page: Window, server: Server) -> None:
    session = page.visit(server, "receipts")
    page.command("More", "Export…")
    page.says("check the file before you share it", part("dialog", "Export this session"))
    page.press("button", "Export")
    page.there("dialog", "Exported")
    (bundle,) = (server.world.memory.config.home / "exports").iterdir()
    page.says(str(bundle))
    assert bundle.name.startswith(session[:12])
    page.press("button", "Copy path")
    page.there("button", "Copied")
    assert page.copied() == str(bundle)
    page.confirm("Done")


def test_a_file_is_revealed(page: Window, server: Server, started: Commands) -> None:
    page.visit(server, "folder")
    page.open_row(r"Edit.*notes\.md")
    page.press("button", "Reveal notes.md")
    page.says("Shown in the file manager.", EVENT)
    assert started.get(timeout=TIMEOUT)[-1] == str(server.world.folder)


def test_a_file_that_was_only_read_is_revealed_too(page: Window, server: Server, started: Commands) -> None:
    path = server.world.folder / "looked at.md"
    path.write_text("only read\n")
    files = [{"path": str(path), "change": "read"}]
    read = {"tool": "Read", "input": {"file_path": str(path)}, "files": files, "call_id": "looked"}
    add(server.world, "folder", "action", read)
    page.visit(server, "folder")
    page.open_row(r"Read.*looked at\.md")
    page.press("button", "Reveal looked at.md")
    page.says("Shown in the file manager.", EVENT)
    assert started.get(timeout=TIMEOUT)[-1] == str(server.world.folder)


def test_without_a_file_manager_the_reason_is_shown(
    page: Window, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(*_: object, **__: object) -> None:
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(subprocess, "Popen", missing)
    page.visit(server, "folder")
    page.open_row(r"Write.*plan\.md")
    page.press("button", "Reveal plan.md")
    page.says(re.compile("xdg-open.*No such file or directory"), EVENT)


def test_a_session_is_closed_archived_and_restored(page: Window, server: Server) -> None:
    session, memory = page.visit(server, "site"), server.world.memory
    page.command("More", "Close session")
    page.says("Closed.")
    page.gone("button", "Pause")
    assert memory.sessions.get(session)["lifecycle"] == "closed"
    page.visit(server, "site")
    page.command("More", "Archive")
    page.says("Archived.")
    assert memory.sessions.get(session)["lifecycle"] == "archived"
    page.visit(server, "site")
    page.press("button", "Restore")
    page.says("Restored.")
    page.there("button", "Resume")
    page.press("button", "Undo")
    page.says("Undone")
    page.there("button", "Restore")
    assert memory.sessions.get(session)["lifecycle"] == "archived"


def test_the_last_rewind_is_undone_from_its_row(page: Window, server: Server) -> None:
    session, folder = page.visit(server, "folder", 1), server.world.folder
    now = (folder / "notes.md").read_text()
    page.command("Event commands", "Rewind to here…")
    page.has(part("checkbox", "Also restore the files"), "checked", "true")
    page.confirm("Rewind")
    page.says("2 files restored.")
    assert (folder / "notes.md").read_text() != now
    page.visit(server, "invoices")
    page.visit(server, "folder")  # the toast with Undo is gone
    page.open_row("Rewound: .*file.*rewind")
    page.silent("Why it happened", EVENT)
    page.silent("Take back", EVENT)
    page.press("button", "Undo this rewind…", EVENT)
    page.there("dialog", "Undo the last rewind")
    page.confirm("Undo rewind")
    page.says("Rewind undone.")
    assert (folder / "notes.md").read_text() == now
    page.says("Undone at", EVENT)
    page.gone("button", "Undo this rewind…")
    undone = list(server.world.memory.history.events(session, kind="rewind"))[-1]
    assert undone["payload"]["undoes"] is not None


def test_a_session_is_quarantined_and_an_event_is_released(page: Window, server: Server) -> None:
    session, memory = page.visit(server, "flights", 2), server.world.memory
    assert memory.recall.search("Lisbon")
    page.command("Event commands", "Quarantine event…")
    page.confirm("Quarantine")
    page.says("Quarantined.")
    page.visit(server, "flights", 1)
    page.visit(server, "flights", 2)
    page.command("Event commands", "Release from quarantine")
    page.says("Released from quarantine.")
    page.command("More", "Quarantine session…")
    page.there("dialog", "Quarantine this session")
    page.fill("textbox", re.compile("^Reason"), "it read an untrusted page")
    page.confirm("Quarantine")
    page.says("Quarantined.")
    marks = [event["payload"] for event in memory.history.events(session, kind="quarantine")]
    assert [mark.get("released", False) for mark in marks] == [False, True, False]
    assert marks[-1]["reason"] == "it read an untrusted page"


def test_the_visible_time_range_of_a_session_is_forgotten(page: Window, server: Server) -> None:
    session, memory = page.visit(server, "photos"), server.world.memory
    other = list(memory.history.events(server.world.ids["invoices"]))
    page.command("More", "Forget a time range…")
    page.there("dialog", "Forget a time range")
    page.has(part("textbox", "From"), "value", re.compile("^2026-11-13T09:"))
    page.says(re.compile(r"\d+ events in 1 session will be forgotten"))
    page.press("checkbox", re.compile("^I understand that"))
    page.confirm("Forget")
    page.says(re.compile(r"\d+ events forgotten\."))
    assert {event["payload"] for event in memory.history.events(session, kind="action")} == {None}
    assert list(memory.history.events(server.world.ids["invoices"])) == other


def test_the_menu_has_a_line_between_groups_only(page: Window, server: Server) -> None:
    page.visit(server, "site")
    page.press("button", "More")
    page.there("menuitem", "Export…")
    shown = page.evaluate("() => [...document.querySelector('[role=menu]:not([hidden])').children].map("
                          "(each) => each.textContent)")  # fmt: skip
    page.keys("Escape")
    page.gone("menuitem")
    assert shown[:4] == ["Compare with now", "Replay plan…", "Export…", ""]
    assert shown[-3:] == ["", "Quarantine session…", "Forget a time range…"]
    assert shown.count("") == 2


def test_new_events_do_not_close_a_menu_or_move_the_focus(page: Window, server: Server) -> None:
    page.visit(server, "today")
    page.press("button", "More")
    page.there("menuitem", "Export…")
    failed = {"tool": "Bash", "input": {"command": "ls"}, "error": "no such folder"}
    add(server.world, "dana-today", "action", failed | {"call_id": "meanwhile-1"})
    page.there("link", re.compile("Continue organizing files.*1 failed"), region("Sessions"))
    page.there("option", re.compile("no such folder"), part("listbox", "Events"))
    page.there("menuitem", "Export…")
    page.keys("Escape")
    page.gone("menuitem")
    page.says("1 failed", MAIN)  # drawn when the menu closes
    page.focus(part("button", "Fork…"))
    add(server.world, "dana-today", "action", failed | {"call_id": "meanwhile-2"})
    page.says("2 failed", MAIN)
    page.keys("Enter")
    page.there("dialog", "Fork from here")
    page.press("button", "Cancel")
    page.gone("dialog")

"""Stories of the setup, in both browsers: connect, skip, import, finish."""

from __future__ import annotations

import os
import re

from tests.cli.test_import import transcript
from tests.page.server import Server
from tests.page.window import MAIN, Window

SESSION = "33333333-2222-4333-8444-555555555555"


def open_setup(page: Window) -> None:
    page.go("#/context")
    page.go("#/setup")
    page.there("heading", "Set up Fazm Memory", MAIN)


def test_an_agent_is_connected_after_its_edits_were_shown_and_disconnected(
    page: Window, server: Server
) -> None:
    file = server.world.memory.config.user_home / ".claude" / "settings.json"
    open_setup(page)
    page.press("summary", "Show the changes")
    page.says("SessionStart")
    assert not file.exists()
    page.press("button", "Connect: claude-code")
    page.there("button", "Take Back: claude-code")
    assert "SessionStart" in file.read_text()
    page.press("button", "Take Back: claude-code")
    page.there("button", "Connect: claude-code")
    assert not file.exists()


def test_the_last_month_is_imported_with_a_bar_and_the_setup_is_left(page: Window, server: Server) -> None:
    memory = server.world.memory
    path = transcript(memory.config.user_home / ".claude", "Sort the photos", session=SESSION)
    now = memory.now() / 1e6
    os.utime(path, (now, now))
    open_setup(page)
    page.there("heading", "Import your last month", MAIN)
    page.press("button", re.compile("^Import: "))
    page.there("heading", re.compile("^Import your last month.*done"), MAIN)
    assert any(session["agent_session_id"] == SESSION for session in memory.sessions.listing())
    page.press("button", "Finish")
    page.gone("heading", "Set up Fazm Memory", MAIN)
    assert memory.setup.finished


def test_a_step_is_skipped_and_there_again_from_the_settings(page: Window, server: Server) -> None:
    open_setup(page)
    page.press("button", "Skip: Connect your agents")
    page.gone("heading", "Connect your agents", MAIN)
    page.go("#/settings")
    page.press("link", re.compile("^Go through the setup again"))
    page.there("heading", "Connect your agents", MAIN)

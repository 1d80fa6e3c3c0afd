"""The menu: the handover, Fazm, updates; for screen readers and in another language."""

from __future__ import annotations

import pytest

from fazm_memory.menubar.menu import Command, Menu, MenuEntry, build_menu
from fazm_memory.menubar.status import (
    AgentLine,
    FazmState,
    OpenPoint,
    Problem,
    Question,
    SessionLine,
    Status,
    Update,
)
from fazm_memory.translation import set_language

NOW = 1_790_000_000_000_000


def entries(menu: Menu) -> dict[str, MenuEntry]:
    found: dict[str, MenuEntry] = {}
    waiting = [row for row in menu.rows if isinstance(row, MenuEntry)]
    while waiting:
        row = waiting.pop()
        found[row.id] = row
        waiting += row.entries
    return found


FULL = Status(
    NOW,
    attention=(Problem("The disk is full", "Delete something."),),
    last_event=NOW,
    sessions=(SessionLine("s1", "Rename", "claude-code", "/w", "w", NOW),),
    questions=(Question("s1", "q1", "Which folder?", "Rename"),),
    agents=(AgentLine("codex", connectable=True), AgentLine("gemini", heard=NOW)),
    login=True,
    fazm=FazmState(True, 3, ("Scans", "Mail")),
    thread="feature/export",
    open_points=(OpenPoint("commit the writer", "s1", 7),),
    update=Update("9.0", "Faster.", "https://example.org"),
    updates_on=True,
)


def test_the_current_thread_and_its_open_points_are_in_the_menu() -> None:
    rows = entries(build_menu(FULL))
    assert rows["thread"].title == "Now: feature/export"
    assert rows["open-points"].title == "1 Open Point"
    assert rows["open-s1-7"].command == Command("open", "s1", "7")
    assert "thread" not in entries(build_menu(Status(NOW)))


@pytest.mark.parametrize(
    ("fazm", "title"),
    [
        (FazmState(True, 2), "Fazm is idle, 2 windows"),
        (FazmState(True, 2, ("Scans",)), "Fazm is working: “Scans”"),
        (FazmState(True, 3, ("Scans", "Mail")), "Fazm is working: “Scans” and 1 more"),
        (FazmState(answers=False), "Fazm is running"),
    ],
)
def test_fazms_state_is_shown_while_it_runs(fazm: FazmState, title: str) -> None:
    assert entries(build_menu(Status(NOW, fazm=fazm)))["fazm"].title == title
    assert "fazm" not in entries(build_menu(Status(NOW)))


def test_a_newer_version_and_its_switch_are_offered_only_with_a_feed() -> None:
    rows = entries(build_menu(FULL))
    assert (rows["update"].title, rows["update"].hint) == ("Version 9.0 is available…", "Faster.")
    assert (rows["updates"].checked, rows["updates"].command) == (True, Command("updates", ""))
    assert {"update", "updates"}.isdisjoint(entries(build_menu(Status(NOW))))


def test_every_item_is_spoken_in_words() -> None:
    rows = entries(build_menu(FULL))
    for row in rows.values():
        assert row.spoken.strip(), row.id
        assert not set(row.spoken) & set("⚠·“”…"), row.spoken
    assert rows["question-s1-q1"].spoken == "Question: Which folder?"
    assert rows["trouble-0"].spoken == "Problem: The disk is full"
    assert rows["session-s1"].spoken == "Rename, w, just now"


def test_the_whole_menu_in_german_has_no_english_left() -> None:
    english = {row.title for row in entries(build_menu(FULL)).values()}
    set_language("de")
    try:
        german = build_menu(FULL)
        assert german.hint == "Fazm Memory: Achtung: The disk is full"
        same = {row.title for row in entries(german).values()} & english
        assert same == {"⚠ The disk is full", "? Which folder?", "commit the writer"}  # recorded text
    finally:
        set_language("en")

"""What is done with a pointer: the window of time dragged, a day and a folder chosen, a file revealed; and
what the rows and the panels say then."""

from __future__ import annotations

import re
import subprocess

import pytest
from playwright.sync_api import Page, expect

from fazm_memory.capture.draft import Draft
from tests.page.conftest import OpenPage
from tests.page.serving import Served
from tests.page.story import tell
from tests.page.test_timeline import rows


def shown_time(page: Page) -> str:
    window = page.get_by_role("slider", name="Window of time shown")
    expect(window).to_have_attribute("aria-valuetext", re.compile(r"^\d\d:\d\d to \d\d:\d\d$"))
    return str(window.get_attribute("aria-valuetext"))


def drag(page: Page, start: tuple[float, float], by: float) -> None:
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(start[0] + by, start[1], steps=4)
    page.mouse.up()
    page.evaluate("() => new Promise(requestAnimationFrame)")  # what was moved is drawn with the next frame


def minutes(said: str) -> tuple[int, int]:
    begin, end = (60 * int(one[:2]) + int(one[3:]) for one in said.split(" to "))
    return begin, end


def test_the_window_of_time_is_dragged_whole_and_by_its_edge(shown: Served, open_page: OpenPage) -> None:
    page = open_page(shown, f"#/s/{shown.world.ids['release']}")
    window = page.get_by_role("slider", name="Window of time shown")
    begin, end = minutes(shown_time(page))
    box = window.bounding_box()
    assert box is not None
    drag(page, (box["x"] + box["width"] / 2, box["y"] + box["height"] / 2), -120)
    moved_begin, moved_end = minutes(shown_time(page))
    assert moved_begin < begin
    assert abs((moved_end - moved_begin) - (end - begin)) <= 1  # as long as before, but for rounding
    box = window.bounding_box()
    assert box is not None
    drag(page, (box["x"] + box["width"] - 1, box["y"] + box["height"] / 2), 80)
    wider_begin, wider_end = minutes(shown_time(page))
    assert wider_end > moved_end
    assert wider_begin == moved_begin


def test_a_day_is_picked_from_those_on_which_anything_happened(shown: Served, open_page: OpenPage) -> None:
    page = open_page(shown)
    picker = page.get_by_label("Day", exact=True)
    expect(picker.locator("option[value='2026-11-12']")).to_have_text(re.compile(r"Thursday.* — \d+ events"))
    picker.select_option("2026-11-12")
    expect(page.get_by_role("img", name=re.compile("^The day: "))).to_have_accessible_name(
        re.compile(r"^The day: \d+ events$")
    )
    expect(page.get_by_role("heading", level=1)).to_have_text("Fares to Lisbon")
    expect(picker).to_have_value("2026-11-12")


def test_time_without_permission_is_a_gap_of_the_day(own: Served, open_page: OpenPage) -> None:
    gap = {"what": "permission missing", "since": "2026-11-15T10:00:00+00:00",
           "until": "2026-11-15T10:30:00+00:00"}  # fmt: skip
    tell(own.world, [Draft("companion", "gap", gap, "fazm-memory", source="companion")])
    page = open_page(own, f"#/s/{own.world.ids['release']}")
    expect(page.get_by_role("img", name=re.compile("^The day: "))).to_have_accessible_name(
        re.compile("permission missing 10:00 to 10:30")
    )


def test_sessions_are_filtered_by_their_folder(shown: Served, open_page: OpenPage) -> None:
    page = open_page(shown)
    side = page.get_by_role("region", name="Sessions", exact=True)
    page.get_by_label("Workspace", exact=True).select_option("/Users/dana/Downloads")
    expect(side.get_by_role("link")).to_have_count(2)
    expect(side.get_by_role("link", name=re.compile("Rename invoices"))).to_be_visible()


@pytest.mark.parametrize(
    ("session", "row", "mark"),
    [
        ("site", r"Compaction: .*form\.ts", "compaction"),
        ("fork", "Rewound to 2", "rewind"),
        ("fork", "use sessionStorage", "rewound"),
        ("release", "WebFetch", "untrusted"),
        ("release", "May I push the tag", "question"),
    ],
)
def test_a_row_bears_the_mark_of_what_it_is(
    shown: Served, open_page: OpenPage, session: str, row: str, mark: str
) -> None:
    page = open_page(shown, f"#/s/{shown.world.ids[session]}")
    expect(rows(page, row).first.get_by_text(mark, exact=True)).to_be_visible()


def test_the_state_follows_the_playhead(shown: Served, open_page: OpenPage) -> None:
    session = shown.world.ids["invoices"]
    decided = next(shown.world.memory.events(session, kind="decision"))["seq"]
    page = open_page(shown, f"#/s/{session}@{decided - 1}")
    page.get_by_text("State at this moment").click()
    here = page.locator("fm-statehere")
    expect(here).to_contain_text("active")
    expect(here).not_to_contain_text("the date comes first")
    page.keyboard.press("j")
    expect(here).to_contain_text("the date comes first")


def test_a_file_is_revealed_where_it_lies(
    own: Served, open_page: OpenPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(subprocess, "Popen", lambda command, **_: started.append(command))
    page = open_page(own, f"#/s/{own.world.ids['folder']}")
    rows(page, r"Edit.*notes\.md").click()
    with page.expect_response(re.compile("/reveal$")) as answered:
        page.get_by_role("button", name="Reveal notes.md").click()
    assert answered.value.ok
    assert [command[-1] for command in started] == [str(own.world.folder)]


def test_a_folder_is_excluded_from_the_page(own: Served, open_page: OpenPage) -> None:
    page = open_page(own, "#/settings")
    page.get_by_role("button", name="Exclude a folder or app…").click()
    asked = page.get_by_role("dialog", name="Exclude from recording")
    asked.get_by_label("What").select_option("folder")
    asked.get_by_label("Name").fill("/Users/dana/Private")
    asked.get_by_role("button", name="Exclude").click()
    never = page.get_by_role("region", name="Never recorded")
    expect(never.get_by_text("/Users/dana/Private", exact=True)).to_be_visible()

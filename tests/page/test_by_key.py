"""Every verb with the keyboard alone: Tab, Enter, arrows in menus, Escape; afterwards the focus is back."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from fazm_memory.capture.draft import Draft
from tests.page.conftest import OpenPage
from tests.page.serving import Served
from tests.page.story import tell
from tests.page.test_timeline import rows
from tests.page.test_verbs import sheet, told

MOST = 150  # presses of Tab to anything
NAME = """() => {
    const one = document.activeElement;
    return one.getAttribute("aria-label") || one.labels?.[0]?.textContent || one.textContent.trim();
}"""


def here(page: Page) -> str:
    return str(page.evaluate(NAME))


def tab_to(page: Page, name: str) -> None:
    met = []
    for _ in range(MOST):
        page.keyboard.press("Tab")
        met.append(here(page))
        if met[-1] == name:
            return
    raise AssertionError(f"Tab does not lead to {name!r}, but to {sorted(set(met))}")


def enter(page: Page, name: str) -> None:
    tab_to(page, name)
    page.keyboard.press("Enter")


def pick(page: Page, menu: str, command: str) -> None:
    enter(page, menu)
    for _ in range(20):
        if here(page) == command:
            return page.keyboard.press("Enter")
        page.keyboard.press("ArrowDown")
    raise AssertionError(f"the menu {menu!r} has no {command!r}")


def opened(page: Page, heading: str | None = None) -> None:
    """The session is there with its rows, and so is the event where one is asked for."""
    expect(rows(page).first).to_be_visible()
    if heading:
        expect(page.get_by_role("region", name="Event", exact=True)).to_contain_text(heading)
        expect(page.get_by_text("Raw event")).to_be_visible()


def back_at(page: Page, name: str) -> None:
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.wait_for_function(f"(name) => ({NAME})() === name", arg=name)


def test_a_session_is_paused_resumed_and_that_undone(own: Served, open_page: OpenPage) -> None:
    session = own.world.ids["today"]
    page = open_page(own, f"#/s/{session}")
    opened(page)
    enter(page, "Pause")
    told(page, "Paused.")
    expect(page.get_by_role("button", name="Pause", exact=True)).to_have_count(0)
    back_at(page, "Resume")  # the button that was pressed is gone; the focus is not
    page.keyboard.press("Enter")
    sheet(page, "Resume this session")
    enter(page, "Resume")
    told(page, "Resumed.")
    back_at(page, "Resume")
    assert own.world.memory.session(session)["lifecycle"] == "resumed"
    page.keyboard.press("u")
    told(page, "Undone")
    assert own.world.memory.session(session)["lifecycle"] == "paused"


def test_a_question_is_answered(own: Served, open_page: OpenPage) -> None:
    session = own.world.ids["release"]
    page = open_page(own, f"#/s/{session}")
    opened(page)
    enter(page, "Answer…")
    sheet(page, "Answer")
    page.keyboard.press("Escape")
    back_at(page, "Answer…")
    page.keyboard.press("Enter")
    sheet(page, "Answer")
    tab_to(page, "Push the tag")
    page.keyboard.press("Space")
    tab_to(page, "Name of the release")
    page.keyboard.type("2.4.1")
    enter(page, "Answer")
    told(page, "Answered.")
    last = list(own.world.memory.events(session, kind="handoff.answer"))[-1]
    assert last["payload"]["answer"] == {"push": True, "name": "2.4.1"}
    expect(page.get_by_role("button", name="Answer…")).to_have_count(0)
    back_at(page, "Resume")


def test_a_question_is_handed_off_and_waived(own: Served, open_page: OpenPage) -> None:
    session = own.world.ids["today"]
    page = open_page(own, f"#/s/{session}")
    opened(page)
    enter(page, "Hand off…")
    sheet(page, "Hand off")
    page.keyboard.type("Check the totals")  # the note has the focus
    enter(page, "Hand off")
    told(page, "Handed off.")
    back_at(page, "Hand off…")
    expect(page.get_by_role("button", name="Waive", exact=True)).to_be_visible()
    enter(page, "Waive")
    sheet(page, "Waive this question?")
    enter(page, "Waive")
    told(page, "Waived.")
    assert not own.world.memory.state(session)["open_questions"]


def test_a_session_goes_back_with_its_files(own: Served, open_page: OpenPage) -> None:
    session, notes = own.world.ids["folder"], own.world.folder / "notes.md"
    now = notes.read_text()
    page = open_page(own, f"#/s/{session}")
    opened(page)
    tab_to(page, "Events")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    opened(page, "position 1")
    pick(page, "Event commands", "Rewind to here…")
    sheet(page, "Rewind to position 2")
    tab_to(page, "Put the files back too")
    page.keyboard.press("Space")
    enter(page, "Rewind")
    expect(page.get_by_role("button", name="Undo", exact=True)).to_be_visible()
    assert notes.read_text() == "- milk\n- stamps\n- call Kim\n"
    back_at(page, "Event commands")
    page.keyboard.press("u")
    told(page, "Undone")
    assert notes.read_text() == now


def test_a_fork_is_made_by_enter_in_its_title(own: Served, open_page: OpenPage) -> None:
    page = open_page(own, f"#/s/{own.world.ids['site']}")
    opened(page)
    enter(page, "Fork…")
    sheet(page, re.compile("Fork from"))
    tab_to(page, "Title")
    page.keyboard.press("Control+A")
    page.keyboard.type("The other way")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="The other way", level=1)).to_be_visible()


def test_replaying_exporting_and_excluding_a_folder_from_the_menu(own: Served, open_page: OpenPage) -> None:
    page = open_page(own, f"#/s/{own.world.ids['invoices']}")
    opened(page)
    pick(page, "More", "Replay plan…")
    sheet(page, "Replay plan")
    page.keyboard.press("Escape")
    back_at(page, "More")
    page.keyboard.press("Shift+Tab")
    pick(page, "More", "Export…")
    sheet(page, "Export this session")
    enter(page, "Export")
    sheet(page, "Exported")
    enter(page, "Done")
    back_at(page, "More")
    page.keyboard.press("Shift+Tab")
    pick(page, "More", "Exclude this folder…")
    sheet(page, "Exclude from recording")
    enter(page, "Exclude")
    told(page, "/Users/dana/Downloads is excluded from now on.")
    back_at(page, "More")


def test_an_app_is_excluded_in_the_settings(own: Served, open_page: OpenPage) -> None:
    page = open_page(own, "#/settings")
    button = "Exclude a folder or app…"
    expect(page.get_by_role("button", name=button)).to_be_visible()
    enter(page, button)
    sheet(page, "Exclude from recording")
    tab_to(page, "What")
    page.keyboard.type("An app")
    tab_to(page, "Name")
    page.keyboard.type("Diary")
    page.keyboard.press("Enter")
    told(page, "Diary is excluded from now on.")
    expect(page.get_by_role("region", name="Never recorded").get_by_text("Diary", exact=True)).to_be_visible()
    back_at(page, button)  # though the whole card was drawn anew


def test_an_event_is_pinned_and_forgotten(own: Served, open_page: OpenPage) -> None:
    session = own.world.ids["invoices"]
    decision = next(own.world.memory.events(session, kind="decision"))["seq"]
    page = open_page(own, f"#/s/{session}@{decision}")
    opened(page, f"position {decision}")
    pick(page, "Event commands", "Pin to context")
    told(page, "Pinned")
    page.keyboard.press("Shift+Tab")
    pick(page, "Event commands", "Forget this event…")
    asked = sheet(page, f"Forget the event at position {decision}")
    expect(asked.get_by_text("would be forgotten")).to_be_visible()
    tab_to(page, "I understand that this cannot be undone")
    page.keyboard.press("Space")
    enter(page, "Forget")
    told(page, "1 event forgotten.")
    back_at(page, "Event commands")
    assert next(own.world.memory.events(session, start=decision, stop=decision + 1))["payload"] is None


def test_a_stretch_of_time_is_forgotten(own: Served, open_page: OpenPage) -> None:
    session = own.world.ids["flights"]
    page = open_page(own, f"#/s/{session}")
    opened(page)
    pick(page, "More", "Forget a stretch of time…")
    asked = sheet(page, "Forget a stretch of time")
    expect(asked.get_by_text("would be forgotten")).to_be_visible()  # what the lanes show is filled in
    tab_to(page, "I understand that this cannot be undone")
    page.keyboard.press("Space")
    enter(page, "Forget")
    told(page, "forgotten.")
    back_at(page, "More")
    assert session not in [one["session"] for one in own.world.memory.search("fares")]


def test_the_focus_comes_back_though_the_session_went_on_meanwhile(own: Served, open_page: OpenPage) -> None:
    page = open_page(own, f"#/s/{own.world.ids['release']}")
    opened(page)
    enter(page, "Fork…")
    sheet(page, re.compile("Fork from"))
    tell(own.world, [Draft("dana-release", "prompt", {"text": "One more thing."})])
    expect(page.locator(".session-line")).to_contain_text("2 turns")  # the header is another one now
    page.keyboard.press("Escape")
    back_at(page, "Fork…")

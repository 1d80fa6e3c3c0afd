"""The timeline, driven by what people and screen readers call its parts: day, list, drawer, playhead."""

from __future__ import annotations

import re

from playwright.sync_api import Locator, Page, expect

from fazm_memory.capture.draft import Draft
from tests.page.conftest import OpenPage
from tests.page.serving import Served
from tests.page.story import tell


def rows(page: Page, name: str = "") -> Locator:
    """The rows of the list that are in the document, or those whose words hold a pattern."""
    return page.get_by_role("listbox", name="Events").get_by_role("option", name=re.compile(name))


def test_the_page_opens_at_the_latest_session_and_its_newest_event(
    shown: Served, open_page: OpenPage
) -> None:
    page = open_page(shown)
    latest = shown.world.memory.sessions(limit=1)[0]
    expect(page.get_by_role("heading", level=1)).to_have_text(latest["title"])
    expect(rows(page).last).to_be_visible()
    expect(page.get_by_text("You are looking at")).to_be_hidden()


def test_sessions_stand_under_their_days(shown: Served, open_page: OpenPage) -> None:
    page = open_page(shown)
    side = page.get_by_role("region", name="Sessions", exact=True)
    for day in ("Today", "Yesterday", "Friday"):
        expect(side.get_by_role("heading", name=day, exact=True)).to_be_visible()
    side.get_by_role("link", name=re.compile("Rename invoices, date first")).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Rename invoices, date first")
    expect(page.get_by_role("img", name=re.compile("^The day: "))).to_be_visible()
    expect(page.get_by_label("Day", exact=True)).to_have_value("2026-11-14")


def test_sessions_are_filtered_by_agent_and_outcome(shown: Served, open_page: OpenPage) -> None:
    page = open_page(shown)
    side = page.get_by_role("region", name="Sessions", exact=True)
    page.get_by_label("Agent", exact=True).select_option("codex")
    expect(side.get_by_role("link")).to_have_count(2)
    page.get_by_label("Outcome", exact=True).select_option("waiting")
    expect(side.get_by_role("link")).to_have_count(1)
    expect(side.get_by_role("link", name=re.compile("Release 2.4"))).to_be_visible()


def test_an_event_opens_with_what_went_in_and_what_came_out(shown: Served, open_page: OpenPage) -> None:
    page = open_page(shown, f"#/s/{shown.world.ids['invoices']}")
    rows(page, "brew install qpdf").click()
    drawer = page.get_by_role("region", name="Event", exact=True)
    expect(drawer.get_by_role("heading", level=2)).to_contain_text("Bash brew install qpdf")
    expect(drawer.get_by_text("installed qpdf 12.2")).to_be_visible()
    expect(drawer.get_by_role("heading", name="Why it happened")).to_be_visible()
    expect(drawer.get_by_role("heading", name="Provenance")).to_be_visible()
    drawer.get_by_text("Raw event").click()
    expect(drawer.get_by_text('"digest"')).to_be_visible()


def test_a_retry_is_shown_beside_what_it_retried(shown: Served, open_page: OpenPage) -> None:
    page = open_page(shown, f"#/s/{shown.world.ids['invoices']}")
    rows(page, "retry of").click()
    drawer = page.get_by_role("region", name="Event", exact=True)
    expect(drawer.get_by_role("heading", name="Retry")).to_be_visible()
    drawer.get_by_role("link", name=re.compile("^position")).first.click()
    expect(drawer.get_by_role("heading", name="Error")).to_be_visible()
    expect(drawer.get_by_text("qpdf: command not found").first).to_be_visible()


def test_a_changed_file_is_shown_before_and_after(shown: Served, open_page: OpenPage) -> None:
    page = open_page(shown, f"#/s/{shown.world.ids['folder']}")
    rows(page, r"Edit.*notes\.md").click()
    diff = page.get_by_role("region", name="File difference")
    expect(diff.get_by_role("row", name=re.compile("# Errands"))).to_be_visible()
    expect(page.get_by_role("button", name="Reveal notes.md")).to_be_visible()


def test_the_playhead_is_said_and_left_again(shown: Served, open_page: OpenPage) -> None:
    page = open_page(shown, f"#/s/{shown.world.ids['invoices']}@3")
    expect(page.get_by_text("You are looking at Yesterday, 16:0")).to_be_visible()
    expect(page.get_by_role("slider", name="Playhead")).to_have_attribute("aria-valuenow", "3")
    page.get_by_role("button", name="Return to now").click()
    expect(page.get_by_text("You are looking at")).to_be_hidden()
    expect(page.get_by_role("region", name="Event", exact=True)).to_be_hidden()
    assert page.url.endswith(f"#/s/{shown.world.ids['invoices']}")


def test_the_playhead_walks_from_event_to_event_by_key(shown: Served, open_page: OpenPage) -> None:
    page = open_page(shown, f"#/s/{shown.world.ids['invoices']}@3")
    head = page.get_by_role("slider", name="Playhead")
    expect(head).to_have_attribute("aria-valuenow", "3")
    head.focus()
    page.keyboard.press("ArrowRight")
    expect(head).to_have_attribute("aria-valuenow", "4")
    page.keyboard.press("Home")
    expect(head).to_have_attribute("aria-valuenow", "0")


def test_the_list_is_walked_read_and_left_by_key(shown: Served, open_page: OpenPage) -> None:
    session = shown.world.ids["site"]
    page = open_page(shown, f"#/s/{session}@4")
    chosen = page.get_by_role("listbox", name="Events").get_by_role("option", selected=True)
    expect(chosen).to_have_attribute("aria-posinset", "5")
    page.keyboard.press("j")
    expect(chosen).to_have_attribute("aria-posinset", "6")
    page.keyboard.press("k")
    page.keyboard.press("k")
    expect(chosen).to_have_attribute("aria-posinset", "4")
    page.keyboard.press("Escape")
    expect(page.get_by_role("region", name="Event", exact=True)).to_be_hidden()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keys")).to_be_visible()


def test_search_jumps_to_what_it_finds(shown: Served, open_page: OpenPage) -> None:
    page = open_page(shown)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("lisbon fares")
    found = page.get_by_role("listbox", name="Search results").get_by_role("option")
    expect(found.first).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Fares to Lisbon")
    expect(page.get_by_text("You are looking at Thursday")).to_be_visible()


def test_what_a_search_finds_is_all_in_sight_on_a_narrow_screen(shown: Served, open_page: OpenPage) -> None:
    page = open_page(shown, viewport={"width": 420, "height": 800})
    page.get_by_role("button", name="Sidebar").click()
    page.get_by_role("combobox", name="Search everything recorded").fill("invoice")
    found = page.get_by_role("listbox", name="Search results")
    expect(found).to_be_visible()
    # Whoever points at its right edge points at it, and not at what covers or clips it.
    assert found.evaluate(
        """list => {
            const { right, top } = list.getBoundingClientRect();
            return list.contains(document.elementFromPoint(right - 8, top + 16));
        }"""
    )


def test_a_search_that_let_go_of_the_day_says_so_above_what_it_found(
    shown: Served, open_page: OpenPage
) -> None:
    query = "invoice agent:nobody-here"
    [note] = shown.world.memory.query_doubts(query)
    page = open_page(shown)
    page.get_by_role("combobox", name="Search everything recorded").fill(query)
    expect(page.locator(".found-note")).to_contain_text(note[1:])


def test_a_search_that_finds_nothing_says_so(shown: Served, open_page: OpenPage) -> None:
    page = open_page(shown)
    page.get_by_role("combobox", name="Search everything recorded").fill("zzzqqqxxy")
    expect(page.get_by_text("Nothing recorded matches “zzzqqqxxy”")).to_be_visible()


def test_the_list_is_filtered_by_kind_outcome_and_file(shown: Served, open_page: OpenPage) -> None:
    page = open_page(shown, f"#/s/{shown.world.ids['site']}")
    page.get_by_role("button", name="Decisions", exact=True).click()
    expect(rows(page)).to_have_count(1)
    expect(rows(page)).to_contain_text("keep the message in the form")
    page.get_by_role("button", name="All", exact=True).click()
    page.get_by_role("button", name="Failed", exact=True).click()
    expect(rows(page)).to_have_count(2)
    page.get_by_role("button", name="Decisions", exact=True).click()
    expect(page.get_by_role("heading", name="No event fits the filters")).to_be_visible()
    page.get_by_role("button", name="Show all events").click()
    page.get_by_label("Only events about this file").fill("mail.ts")
    page.keyboard.press("Enter")
    expect(rows(page)).to_have_count(2)


def test_the_day_shows_its_gaps_and_leads_to_other_days(shown: Served, open_page: OpenPage) -> None:
    page = open_page(shown, f"#/s/{shown.world.ids['release']}")
    day = page.get_by_role("img", name=re.compile("^The day: "))
    expect(day).to_have_accessible_name(re.compile("paused 11:00 to 11:45"))
    expect(day).to_have_accessible_name(re.compile("asleep 12:10 to 13:30"))
    page.get_by_role("button", name="Day before").click()
    expect(page.get_by_label("Day", exact=True)).to_have_value("2026-11-14")


def test_the_window_of_time_is_moved_zoomed_and_fitted(shown: Served, open_page: OpenPage) -> None:
    page = open_page(shown, f"#/s/{shown.world.ids['release']}")
    window = page.get_by_role("slider", name="Window of time shown")
    expect(window).to_have_attribute("aria-valuetext", re.compile(r"^\d\d:\d\d to \d\d:\d\d$"))
    fitted = window.get_attribute("aria-valuetext")
    for _ in range(12):
        page.get_by_role("button", name="Zoom out").click()
    expect(window).to_have_attribute("aria-valuetext", "00:00 to 00:00")
    expect(page.get_by_role("link", name="Continue organizing files", exact=True)).to_be_visible()
    page.get_by_role("button", name="Fit session").click()
    expect(window).to_have_attribute("aria-valuetext", str(fitted))
    window.focus()
    page.keyboard.press("ArrowLeft")
    expect(window).not_to_have_attribute("aria-valuetext", str(fitted))


def test_what_is_recorded_appears_at_once_and_waits_for_who_scrolled_up(
    own: Served, open_page: OpenPage
) -> None:
    page = open_page(own, f"#/s/{own.world.ids['release']}", viewport={"width": 1280, "height": 640})
    expect(rows(page).last).to_be_in_viewport()  # it stands at its end, where news is followed
    tell(own.world, [Draft("dana-release", "message", {"text": "One more thing, live."})])
    expect(rows(page, "One more thing, live")).to_be_in_viewport()
    page.get_by_role("listbox", name="Events").hover()
    page.mouse.wheel(0, -3000)
    expect(rows(page, "One more thing, live")).to_have_count(0)
    tell(own.world, [Draft("dana-release", "message", {"text": "And another."})])
    page.get_by_role("button", name="1 new event").click()
    expect(rows(page, "And another")).to_be_in_viewport()


def test_an_event_is_copied_as_markdown_and_as_a_link(shown: Served, open_page: OpenPage) -> None:
    page = open_page(
        shown, f"#/s/{shown.world.ids['invoices']}@3", permissions=["clipboard-read", "clipboard-write"]
    )
    page.get_by_role("button", name="Copy as Markdown").click()
    expect(page.get_by_text("Copied as Markdown").first).to_be_attached()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith("### Action · Bash")
    assert "```" in copied
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_text("Link copied").first).to_be_attached()
    assert page.evaluate("navigator.clipboard.readText()") == page.url


def test_a_link_to_nothing_says_what_is_wrong_whatever_is_recorded_meanwhile(
    own: Served, open_page: OpenPage
) -> None:
    page = open_page(own, "#/s/ffffffffffff", refusals=True)
    expect(page.get_by_role("alert")).to_contain_text("no session")
    expect(page.get_by_role("button", name="Try again")).to_be_visible()
    side = page.get_by_role("region", name="Sessions", exact=True)
    opening = {"agent": "fazm", "title": "Begun meanwhile"}
    tell(own.world, [Draft("meanwhile", "session.open", opening, agent="fazm")])
    expect(side.get_by_role("link", name=re.compile("Begun meanwhile"))).to_be_visible()  # the page has heard
    expect(page.get_by_role("alert")).to_contain_text("no session")
    assert page.url.endswith("#/s/ffffffffffff")

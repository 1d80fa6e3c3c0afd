"""The page at 200 %, as a browser's own zoom lays it out: half as many pixels, each twice as large.

Everything must still be there, whole, by its name. A pinch is another thing (it magnifies a part of the page
and lays out nothing anew) and must not be forbidden.
"""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.page.axe import serious
from tests.page.conftest import OpenPage
from tests.page.serving import Served
from tests.page.test_accessible import SCREENS, go

ZOOMED: dict[str, Any] = {"viewport": {"width": 640, "height": 430}, "device_scale_factor": 2}
VERBS = ("Resume", "Pause", "Rewind…", "Fork…", "Hand off…", "More", "Answer…", "Waive")
TOOLS = ("Sidebar", "Earlier", "Later", "Zoom out", "Zoom in", "Day before")
CARDS = ("Recording", "Agents", "Permissions", "Watched folders", "Never recorded", "Retention", "Storage")

# Each control in sight must be met where it stands; what is met there instead covers it or cuts it off.
COVERED = """() => {
    const seen = (one) =>
        one.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && !one.closest("[inert]");
    const name = (one) => one.getAttribute("aria-label") || one.textContent.trim().slice(0, 40) || one.id;
    const wrong = [];
    for (const one of document.querySelectorAll("button, a[href], input, select, textarea, summary")) {
        if (!seen(one)) continue;
        one.scrollIntoView({ block: "center", inline: "center" });
        const box = one.getBoundingClientRect();
        if (box.width < 2 || box.height < 2) { wrong.push([name(one), "has no size"]); continue; }
        if (box.left < -1 || box.right > innerWidth + 1) wrong.push([name(one), "is cut at the side"]);
        const part = one.getClientRects()[0];  // a link may go over two lines
        const met = document.elementFromPoint(part.left + part.width / 2, part.top + part.height / 2);
        const its = met && (one.contains(met) || met.closest("label")?.control === one);
        if (!its) wrong.push([name(one), "is under", met ? met.className || met.tagName : "nothing"]);
    }
    return wrong;
}"""
# Words may be shortened with an ellipsis on purpose; those that are just cut are not.
CUT = """() => [..."h1 h2 h3 p label button dd li".split(" ")]
    .flatMap((tag) => [...document.querySelectorAll(`main ${tag}`)])
    .filter((one) => one.checkVisibility({ visibilityProperty: true }))
    .filter((one) => getComputedStyle(one).textOverflow !== "ellipsis")
    .filter((one) => getComputedStyle(one).overflowX !== "visible" && one.scrollWidth > one.clientWidth + 1)
    .map((one) => one.textContent.slice(0, 60))"""


def in_reach(one: Locator) -> None:
    """There by its name, and can be brought in sight."""
    expect(one).to_have_count(1)
    one.scroll_into_view_if_needed()
    expect(one).to_be_in_viewport(ratio=0.9)


def sideways(page: Page) -> bool:
    """Whether the whole page can be pushed to the side."""
    return bool(
        page.evaluate(
            """() => {
                const tops = [document.documentElement, document.body, document.querySelector("main"),
                              document.querySelector(".screen"), document.querySelector(".timeline-main")];
                return tops.some((one) => one && one.scrollWidth > one.clientWidth + 1);
            }"""
        )
    )


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_covered_cut_or_pushed_aside(shown: Served, open_page: OpenPage, scheme: str) -> None:
    page = open_page(shown, **ZOOMED, color_scheme=scheme)
    found = {}
    for screen in SCREENS:
        go(page, shown, screen)
        expect(page.locator("[aria-busy=true]")).to_have_count(0)
        wrong = {"covered": page.evaluate(COVERED), "cut": page.evaluate(CUT), "axe": serious(page)}
        found[screen] = {name: one for name, one in wrong.items() if one} | (
            {"wide": 1} if sideways(page) else {}
        )
    assert {screen: wrong for screen, wrong in found.items() if wrong} == {}


def test_every_part_and_verb_of_the_timeline_is_in_reach(shown: Served, open_page: OpenPage) -> None:
    page = open_page(shown, f"#/s/{shown.world.ids['release']}", **ZOOMED)
    for verb in VERBS:
        in_reach(page.get_by_role("button", name=verb, exact=True))
    for tool in TOOLS:
        in_reach(page.get_by_role("button", name=tool, exact=True))
    in_reach(page.get_by_role("img", name=re.compile("^The day: ")))
    in_reach(page.get_by_role("slider", name="Playhead"))
    events = page.get_by_role("listbox", name="Events")
    in_reach(events)
    assert events.bounding_box()["height"] >= 200  # type: ignore[index]
    events.get_by_role("option", name=re.compile("WebFetch")).click()
    event = page.get_by_role("region", name="Event", exact=True)
    expect(event.get_by_role("heading", level=2)).to_contain_text("WebFetch")
    for button in ("Previous event", "Next event", "Copy link", "Event commands", "Close"):
        in_reach(event.get_by_role("button", name=button, exact=True))
    event.get_by_role("button", name="Close", exact=True).click()
    expect(event).to_be_hidden()


def test_the_sidebar_lies_over_the_page_and_holds_all_its_parts(shown: Served, open_page: OpenPage) -> None:
    page = open_page(shown, **ZOOMED)
    page.get_by_role("button", name="Sidebar").click()
    side = page.get_by_role("complementary", name="Sessions and screens")
    in_reach(side.get_by_role("combobox", name="Search everything recorded"))
    for screen in ("Timeline", "Context", "Compare", "Settings"):
        in_reach(side.get_by_role("link", name=screen, exact=True))
    for choice in ("Agent", "Workspace", "Outcome"):
        in_reach(side.get_by_label(choice, exact=True))
    in_reach(side.get_by_role("link", name=re.compile("Sort receipts by shop")))
    in_reach(side.get_by_role("button", name="Recording", exact=True))
    side.get_by_role("link", name="Settings", exact=True).click()
    for card in CARDS:
        heading = page.get_by_role("region", name=card, exact=True).get_by_role("heading", name=card)
        in_reach(heading)


def test_a_dialog_fits_and_its_buttons_are_in_reach(shown: Served, open_page: OpenPage) -> None:
    page = open_page(shown, f"#/s/{shown.world.ids['release']}", **ZOOMED, refusals=True)
    for verb in ("Answer…", "Fork…", "Hand off…", "Rewind…"):
        page.get_by_role("button", name=verb, exact=True).click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_be_visible()
        expect(page.locator("[aria-busy=true]")).to_have_count(0)
        box = dialog.bounding_box()
        assert box is not None
        assert min(box["x"], box["y"]) >= 0
        assert box["x"] + box["width"] <= 640
        assert box["y"] + box["height"] <= 430
        in_reach(dialog.get_by_role("button", name=re.compile("^(Cancel|Done)$")))
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)


def test_keys_do_not_lead_under_an_event_that_covers_the_page(shown: Served, open_page: OpenPage) -> None:
    page = open_page(shown, f"#/s/{shown.world.ids['release']}@3", **ZOOMED)
    event = page.get_by_role("region", name="Event", exact=True)
    expect(event.get_by_role("heading", level=2)).to_be_visible()
    for _ in range(25):
        page.keyboard.press("Tab")
        assert not page.evaluate("() => Boolean(document.activeElement.closest('.timeline-main'))")
    event.get_by_role("heading", level=2).click()
    page.keyboard.press("Enter")  # into the event
    page.keyboard.press("Escape")  # and out of it: nothing lies beside it to go to
    expect(event).to_be_hidden()
    expect(page.get_by_role("listbox", name="Events")).to_be_focused()


def test_a_pinch_is_not_forbidden(shown: Served, open_page: OpenPage) -> None:
    page = open_page(shown, f"#/s/{shown.world.ids['release']}")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    page.context.new_cdp_session(page).send("Emulation.setPageScaleFactor", {"pageScaleFactor": 2})
    page.wait_for_function("() => visualViewport.scale === 2")
    assert not sideways(page)  # what is magnified is looked around in; the layout is as it was

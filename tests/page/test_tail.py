"""The live tail while the page is still laid out: what comes then is followed, until somebody scrolls up."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Page, Route, expect

from fazm_memory.capture.draft import Draft
from tests.page.conftest import OpenPage
from tests.page.serving import Served
from tests.page.story import tell
from tests.page.test_timeline import rows

TALL = {"width": 1280, "height": 960}
# What stands above the list grows after the list went to its end, and before the list is told that it moved.
GROWS = """
    document.addEventListener("scroll", (event) => {
        if (!event.target.matches?.(".list-scroll") || globalThis.grown) return;
        globalThis.grown = true;
        document.querySelector(".session-head").style.minHeight = "260px";
    }, true);
"""


def say(own: Served, text: str) -> None:
    tell(own.world, [Draft("dana-release", "message", {"text": text})])


def again(page: Page, own: Served) -> None:
    """The session, in a document that loads anew."""
    page.goto("about:blank")
    page.goto(f"{own.origin}/#/s/{own.world.ids['release']}")


def test_what_comes_while_the_rest_is_laid_out_is_followed_until_somebody_scrolls_up(
    own: Served, open_page: OpenPage
) -> None:
    page = open_page(own, "#/settings", viewport=TALL)
    page.add_init_script(GROWS)
    again(page, own)
    page.wait_for_function("() => globalThis.grown")
    say(own, "Said during the first layout.")
    expect(rows(page, "Said during the first layout")).to_be_in_viewport()
    expect(page.get_by_role("button", name=re.compile("new event"))).to_be_hidden()
    page.get_by_role("listbox", name="Events").hover()
    page.mouse.wheel(0, -3000)
    expect(rows(page, "Said during the first layout")).to_have_count(0)
    say(own, "Said to who reads above.")
    expect(page.get_by_role("button", name="1 new event")).to_be_visible()
    expect(rows(page, "Said to who reads above")).to_have_count(0)


def test_what_comes_while_the_first_rows_are_on_their_way_is_read_after_them(
    own: Served, open_page: OpenPage
) -> None:
    page = open_page(own, "#/settings", viewport=TALL)
    held: list[tuple[Route, Any]] = []

    def hold(route: Route) -> None:
        if held or "limit=100" not in route.request.url:
            return route.continue_()
        held.append((route, route.fetch()))  # as it was before anything else is said
        page.evaluate("() => { globalThis.held = true; }")
        return None

    page.route("**/api/v1/sessions/*/events?*", hold)
    with page.expect_request(lambda one: "limit=100" in one.url):
        again(page, own)
    expect(page.get_by_role("heading", level=1)).to_have_text("Release 2.4")
    page.wait_for_function("() => globalThis.held")
    asked = page.expect_response(lambda one: "/events?" in one.url and "limit=1" in one.url.split("&"))
    told = page.expect_response(lambda one: one.url.endswith(own.world.ids["release"]))
    with asked, told:  # both ways on which the page hears of it
        say(own, "Said while the rows were on their way.")
    ((route, before),) = held
    route.fulfill(response=before)
    expect(rows(page, "Said while the rows were on their way")).to_be_in_viewport()


def test_what_comes_before_the_line_is_up_is_asked_for_when_it_is(own: Served, open_page: OpenPage) -> None:
    page = open_page(own, "#/settings", viewport=TALL)
    held: list[Route] = []
    page.route("**/api/v1/changes*", lambda route: held.append(route))
    again(page, own)
    expect(rows(page).last).to_be_in_viewport()
    say(own, "Said before the line was up.")
    held[0].continue_()
    expect(rows(page, "Said before the line was up")).to_be_in_viewport()


def test_a_box_that_is_taller_for_a_moment_when_the_list_goes_to_its_end_is_no_reader_who_scrolled_up(
    own: Served, open_page: OpenPage
) -> None:
    page = open_page(own, f"#/s/{own.world.ids['release']}", viewport=TALL)
    expect(rows(page).last).to_be_in_viewport()
    heights = page.evaluate("""() => {
        const list = document.querySelector("fm-list");
        const box = list.querySelector(".list-scroll");
        const lanes = document.querySelector("fm-lanes");
        lanes.style.display = "none";
        const taller = box.clientHeight;
        list.toEnd();
        lanes.style.display = "";
        return [taller, box.clientHeight];
    }""")
    assert heights[0] > heights[1]
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    say(own, "Said after that moment.")
    expect(rows(page, "Said after that moment")).to_be_in_viewport()

"""The event list follows new events while the page is still loading or changes its layout. Chromium only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.page.conftest import OpenPage
from tests.page.server import Server, serve
from tests.page.story import add, make_world

TALL = {"width": 1280, "height": 960}
# The header grows after the list scrolled to its end, and before the list receives the scroll event.
GROWS = """
    document.addEventListener("scroll", (event) => {
        if (!event.target.matches?.(".list-scroll") || globalThis.grown) return;
        globalThis.grown = true;
        document.querySelector(".session-head").style.minHeight = "260px";
    }, true);
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    world = make_world(tmp_path_factory.mktemp("live"))
    for number in range(40):  # more rows than fit on the screen
        add(world, "dana-release", "prompt", {"text": f"Request {number}."})
    with serve(world) as server:
        yield server


def rows(page: Page, name: str = "") -> Locator:
    return page.get_by_role("listbox", name="Events").get_by_role("option", name=re.compile(name))


def add_message(server: Server, text: str) -> None:
    add(server.world, "dana-release", "message", {"text": text})


def reopen(page: Page, server: Server) -> None:
    """Open the session in a new document."""
    page.goto("about:blank")
    page.goto(f"{server.origin}/#/s/{server.world.ids['release']}")


def test_events_during_the_first_layout_are_followed_until_the_reader_scrolls_up(
    server: Server, open_page: OpenPage
) -> None:
    page = open_page(server, "#/settings", viewport=TALL)
    page.add_init_script(GROWS)
    reopen(page, server)
    page.wait_for_function("() => globalThis.grown")
    add_message(server, "During the first layout.")
    expect(rows(page, "During the first layout")).to_be_in_viewport()
    expect(page.get_by_role("button", name=re.compile("new event"))).to_be_hidden()
    page.get_by_role("listbox", name="Events").hover()
    page.mouse.wheel(0, -3000)
    expect(rows(page, "During the first layout")).to_have_count(0)
    add_message(server, "For a reader above.")
    expect(page.get_by_role("button", name="1 new event")).to_be_visible()
    expect(rows(page, "For a reader above")).to_have_count(0)


def test_an_event_that_is_on_the_screen_is_not_new(server: Server, open_page: OpenPage) -> None:
    page = open_page(server, f"#/s/{server.world.ids['today']}@1", viewport=TALL)
    expect(page.get_by_role("region", name="Event", exact=True)).to_be_visible()
    add(server.world, "dana-today", "message", {"text": "In full view."})
    expect(rows(page, "In full view")).to_be_in_viewport()
    expect(page.get_by_role("button", name=re.compile("new event"))).to_be_hidden()


def test_events_during_the_first_request_are_loaded_after_it(server: Server, open_page: OpenPage) -> None:
    page = open_page(server, "#/settings", viewport=TALL)
    delayed: list[tuple[Route, Any]] = []

    def delay(route: Route) -> None:
        if delayed or "limit=100" not in route.request.url:
            return route.continue_()
        delayed.append((route, route.fetch()))
        page.evaluate("() => { globalThis.delayed = true; }")
        return None

    page.route("**/api/v1/sessions/*/events?*", delay)
    with page.expect_request(lambda request: "limit=100" in request.url):
        reopen(page, server)
    expect(page.get_by_role("heading", level=1)).to_have_text("Release 2.4")
    page.wait_for_function("() => globalThis.delayed")
    events = page.expect_response(lambda got: "/events?" in got.url and "limit=1" in got.url.split("&"))
    session = page.expect_response(lambda got: got.url.endswith(server.world.ids["release"]))
    with events, session:  # both requests that follow a change
        add_message(server, "During the first request.")
    ((route, answer),) = delayed
    route.fulfill(response=answer)
    expect(rows(page, "During the first request")).to_be_in_viewport()


def test_events_before_the_connection_is_up_are_loaded_then(server: Server, open_page: OpenPage) -> None:
    page = open_page(server, "#/settings", viewport=TALL)
    delayed: list[Route] = []
    page.route("**/api/v1/changes*", lambda route: delayed.append(route))
    reopen(page, server)
    expect(rows(page).last).to_be_in_viewport()
    turns = page.locator(".session-facts-line").get_by_text(re.compile("turns"))
    before = int(turns.inner_text().split()[0])
    add(server.world, "dana-release", "prompt", {"text": "Before the connection."})
    delayed[0].continue_()
    expect(rows(page, "Before the connection")).to_be_in_viewport()
    expect(turns).to_have_text(f"{before + 1} turns")


def test_a_slow_search_says_that_it_is_searching(server: Server, open_page: OpenPage) -> None:
    page = open_page(server, "#/overview")
    delayed: list[Route] = []
    page.route("**/api/v1/search*", lambda route: delayed.append(route))
    page.get_by_label("Search everything recorded").fill("lisbon")
    expect(page.get_by_text("Searching…")).to_be_visible()
    delayed[0].continue_()
    expect(page.get_by_role("listbox", name="Search results").get_by_role("option").first).to_be_visible()
    expect(page.get_by_text("Searching…")).to_be_hidden()


def test_a_box_that_is_taller_for_a_moment_does_not_stop_following(
    server: Server, open_page: OpenPage
) -> None:
    page = open_page(server, f"#/s/{server.world.ids['release']}", viewport=TALL)
    expect(rows(page).last).to_be_in_viewport()
    heights = page.evaluate("""() => {
        const list = document.querySelector("fm-event-list");
        const box = list.querySelector(".list-scroll");
        const lanes = document.querySelector("fm-lanes");
        lanes.style.display = "none";
        const taller = box.clientHeight;
        list.scrollToEnd();
        lanes.style.display = "";
        return [taller, box.clientHeight];
    }""")
    assert heights[0] > heights[1]
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    add_message(server, "After that moment.")
    expect(rows(page, "After that moment")).to_be_in_viewport()

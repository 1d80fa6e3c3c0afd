"""Stories of narrow windows, 200 % zoom, dark mode and reduced motion, in both browsers."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.page.axe import serious_problems
from tests.page.conftest import OpenPage
from tests.page.screens import SCREENS, each_screen, open_screen
from tests.page.server import Server
from tests.page.window import MAIN, Window, part, region

EVENT = region("Event")
NARROW = {"width": 480, "height": 800}
LOOKS: dict[str, dict[str, Any]] = {
    "wide": {}, "dark": {"dark": True}, "narrow": NARROW, "200 %": {"zoom": 2},
}  # fmt: skip
COMMANDS = ("Resume", "Pause", "Rewind…", "Fork…", "Hand off…", "More", "Answer…", "Waive")
TOOLS = ("Sidebar", "Earlier", "Later", "Zoom out", "Zoom in", "Previous day")
CARDS = ("Recording", "Agents", "Permissions", "Watched folders", "Never recorded", "Retention", "Storage")
DIALOGS = ("Answer…", "Resume", "Rewind…", "Fork…", "Hand off…")

# Each visible control must be hit at its middle.
COVERED = """() => {
    const shown = (each) =>
        each.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && !each.closest("[inert]");
    const name = (each) => each.getAttribute("aria-label") || each.textContent.trim().slice(0, 40) || each.id;
    const wrong = [];
    for (const each of document.querySelectorAll("button, a[href], input, select, textarea, summary")) {
        if (!shown(each)) continue;
        each.scrollIntoView({ block: "center", inline: "center" });
        const box = each.getBoundingClientRect();
        if (box.width < 2 || box.height < 2) { wrong.push([name(each), "has no size"]); continue; }
        if (box.left < -1 || box.right > innerWidth + 1) wrong.push([name(each), "is cut at the side"]);
        const line = each.getClientRects()[0];  // a link may have two lines
        const hit = document.elementFromPoint(line.left + line.width / 2, line.top + line.height / 2);
        const own = hit && (each.contains(hit) || hit.closest("label")?.control === each);
        if (!own) wrong.push([name(each), "is under", hit ? hit.className || hit.tagName : "nothing"]);
    }
    return wrong;
}"""
# Text that is cut without an ellipsis.
CUT = """() => [..."h1 h2 h3 p label button dd li".split(" ")]
    .flatMap((tag) => [...document.querySelectorAll(`main ${tag}`)])
    .filter((each) => each.checkVisibility({ visibilityProperty: true }))
    .filter((each) => getComputedStyle(each).textOverflow !== "ellipsis")
    .filter((it) => getComputedStyle(it).overflowX !== "visible" && it.scrollWidth > it.clientWidth + 1)
    .map((each) => each.textContent.slice(0, 60))"""
# Whether the page scrolls sideways.
SIDEWAYS = """() => [document.documentElement, document.body, document.querySelector("main"),
        document.querySelector(".screen"), document.querySelector(".timeline-main")]
    .some((each) => each && each.scrollWidth > each.clientWidth + 1)"""
MOVING = """() => [...document.querySelectorAll("*")]
    .flatMap((each) => ["", "::before", "::after"].map((part) => getComputedStyle(each, part)))
    .filter((look) => parseFloat(look.transitionDuration) || parseFloat(look.animationDuration)).length"""
COLOURS = """() => ["color", "backgroundColor"].map((property) => {
    const shade = getComputedStyle(document.querySelector("main"))[property].match(/[\\d.]+/g).slice(0, 3);
    return shade.reduce((sum, part) => sum + Number(part) / 3, 0);
})"""
DIALOG_EDGES = """() => {
    const { left, top, right, bottom } = document.querySelector("dialog[open]").getBoundingClientRect();
    return [left, top, innerWidth - right, innerHeight - bottom];
}"""
# The right edge of the results, beside the scroll bar, is not covered or clipped.
RESULTS_VISIBLE = """() => {
    const list = document.querySelector("[aria-label='Search results']");
    const { right, top } = list.getBoundingClientRect();
    return list.contains(document.elementFromPoint(right - 20, top + 16));
}"""
# Controls under a toast, with everything scrolled to its end.
UNDER_TOASTS = """() => {
    for (const each of document.querySelectorAll("main *")) each.scrollTop = each.scrollHeight;
    const toasts = document.querySelector(".toasts").getBoundingClientRect();
    const controls =
        "button, a[href], input, select, textarea, summary, canvas, [role=option], [role=slider]";
    const shown = (each) =>
        each.checkVisibility({ visibilityProperty: true }) && !each.closest("[inert], .toasts");
    const clipped = (each) => {
        let { top, right, bottom, left } = each.getBoundingClientRect();
        for (let at = each.parentElement; at; at = at.parentElement) {
            if (getComputedStyle(at).overflowY === "visible") continue;
            const box = at.getBoundingClientRect();
            [top, left] = [Math.max(top, box.top), Math.max(left, box.left)];
            [right, bottom] = [Math.min(right, box.right), Math.min(bottom, box.bottom)];
        }
        return { top, right, bottom, left };
    };
    return [...document.querySelectorAll(controls)].filter(shown).filter((each) => {
        const { top, right, bottom, left } = clipped(each);
        const width = Math.min(right, toasts.right) - Math.max(left, toasts.left);
        const height = Math.min(bottom, toasts.bottom) - Math.max(top, toasts.top);
        return right > left && bottom > top && width > 0.5 && height > 0.5;
    }).map((each) => each.getAttribute("aria-label") || each.textContent.trim().slice(0, 40) || each.tagName);
}"""
FLASH_LETS_CLICKS_THROUGH = """() => {
    const flash = document.querySelector(".flash");
    const { left, right, top, bottom } = flash.getBoundingClientRect();
    const hit = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
    return hit !== null && hit !== flash;
}"""


def only_wrong(found: dict[str, Any]) -> dict[str, Any]:
    return {where: wrong for where, wrong in found.items() if wrong}


@pytest.mark.parametrize("look", ["wide", "narrow", "200 %"])
def test_nothing_is_covered_cut_or_scrolls_sideways(page: Window, server: Server, look: str) -> None:
    found = {}
    with page.looking(**LOOKS[look]):
        for screen in each_screen(page, server):
            checks = {"covered": COVERED, "cut": CUT, "sideways": SIDEWAYS}
            found[screen] = only_wrong({name: page.evaluate(check) for name, check in checks.items()})
    assert only_wrong(found) == {}


@pytest.mark.parametrize("look", LOOKS)
def test_axe_finds_no_serious_problem(page: Window, server: Server, look: str) -> None:
    with page.looking(**LOOKS[look]):
        found = {screen: serious_problems(page.evaluate) for screen in each_screen(page, server)}
        page.visit(server, "release")
        for button in DIALOGS:
            page.press("button", button)
            page.there("dialog")
            page.settle()
            found[button] = serious_problems(page.evaluate)
            page.keys("Escape")
            page.gone("dialog")
    assert only_wrong(found) == {}


def test_dark_is_dark_and_light_is_light(page: Window, server: Server) -> None:
    page.visit(server, "site")
    text, ground = page.evaluate(COLOURS)
    assert text < 80 < 200 < ground
    with page.looking(dark=True):
        text, ground = page.evaluate(COLOURS)
        assert ground < 80 < 200 < text


def test_with_reduced_motion_nothing_moves(page: Window, server: Server) -> None:
    page.visit(server, "today")
    page.press("button", "Pause")
    page.says("Paused.")
    with page.looking(width=1200):
        assert page.evaluate(MOVING) > 0
    with page.looking(width=1200, still=True):  # WebKitGTK updates styles for this only after a resize
        assert page.evaluate(MOVING) == 0
    page.press("button", "Undo")
    page.says("Undone")


@pytest.mark.parametrize("look", ["narrow", "200 %"])
def test_every_part_of_the_timeline_is_in_reach(page: Window, server: Server, look: str) -> None:
    with page.looking(**LOOKS[look]):
        page.visit(server, "release")
        for name in (*COMMANDS, *TOOLS):
            page.in_reach(part("button", name))
        page.in_reach(part("img", re.compile("^Day: ")))
        assert page.evaluate("() => document.querySelector('.list-scroll').clientHeight") >= 200
        page.press("button", "Lanes")  # folded on a narrow screen
        page.in_reach(part("slider", "Playhead"))
        page.press("button", "Lanes")
        page.open_row("WebFetch")
        page.there("heading", re.compile("WebFetch"), EVENT)
        for name in ("Previous event", "Next event", "Copy link", "Event commands"):
            page.in_reach(part("button", name, EVENT))
        page.press("button", "Close", EVENT)
        page.gone("region", "Event")


@pytest.mark.parametrize("look", ["narrow", "200 %"])
def test_the_sidebar_covers_the_page_and_leads_on(page: Window, server: Server, look: str) -> None:
    with page.looking(**LOOKS[look]):
        page.visit(server, "release")
        page.press("button", "Sidebar")
        for name in ("Search everything recorded", "Agent", "Folder", "Result"):
            page.in_reach(part("combobox", name))
        for name in ("Timeline", "Context", "Compare", "Settings"):
            page.in_reach(part("link", name))
        page.in_reach(part("button", "Recording"))
        page.press("link", re.compile("Sort receipts by shop"), region("Sessions"))
        page.there("heading", "Sort receipts by shop", MAIN)
        page.gone("combobox", "Search everything recorded")  # it closes by itself
        page.press("button", "Sidebar")
        page.in_reach(part("combobox", "Search everything recorded"))
        page.keys("Escape")
        page.gone("combobox", "Search everything recorded")
        page.press("button", "Sidebar")
        page.press("link", "Settings", part("navigation", "Screens"))
        for card in CARDS:
            page.in_reach(part("heading", card, region(card)))


def test_the_screens_stay_one_press_away_when_the_sidebar_folds(page: Window, server: Server) -> None:
    page.visit(server, "release")
    with page.looking(width=800):
        page.gone("combobox", "Search everything recorded")
        page.press("link", "Decisions", part("navigation", "Screens"))
        page.there("heading", "Decisions and open points", MAIN)
        page.press("link", "Timeline", part("navigation", "Screens"))
        page.there("heading", "Release 2.4", MAIN)
        rows = "() => Math.floor(document.querySelector('.list-scroll').clientHeight / 32)"
        assert page.evaluate(rows) >= 12
    page.there("combobox", "Search everything recorded")


def test_the_days_of_the_week_fit_their_places(page: Window) -> None:
    with page.looking(**NARROW):
        page.go("#/overview")
        page.there("region", "Totals: Today")
        fits = (
            "() => [...document.querySelectorAll('.week a')].map((day) => day.scrollWidth <= day.clientWidth)"
        )
        assert set(page.evaluate(fits)) == {True}


def test_search_results_are_visible_on_a_narrow_screen(page: Window, server: Server) -> None:
    with page.looking(**NARROW):
        page.visit(server, "site")
        page.search("invoice")
        page.there("option", None, part("listbox", "Search results"))
        assert page.evaluate(RESULTS_VISIBLE)
        page.keys("Enter")
        page.there("region", "Event")


@pytest.mark.parametrize("look", ["narrow", "200 %"])
def test_a_dialog_fits_and_its_buttons_are_in_reach(page: Window, server: Server, look: str) -> None:
    with page.looking(**LOOKS[look]):
        page.visit(server, "release")
        for button in DIALOGS:
            page.press("button", button)
            page.there("dialog")
            page.settle()
            assert min(page.evaluate(DIALOG_EDGES)) >= 0, button
            page.in_reach(part("button", re.compile("^(Cancel|Done)$")))
            page.keys("Escape")
            page.gone("dialog")


def test_keys_do_not_lead_under_an_event_that_covers_the_page(page: Window, server: Server) -> None:
    with page.looking(**NARROW):
        page.go(f"#/s/{server.world.ids['release']}@3")
        page.says("position 3", EVENT)
        page.gone("listbox", "Events")  # it is inert
        page.keys("Enter")
        page.keys("Escape")
        page.gone("region", "Event")
        page.there("listbox", "Events")
        page.until("() => document.activeElement.getAttribute('aria-label') === 'Events'")


@pytest.mark.parametrize("look", ["wide", "narrow", "200 %"])
def test_a_toast_covers_no_control(page: Window, server: Server, look: str) -> None:
    with page.looking(**LOOKS[look]):
        page.visit(server, "today")
        page.press("button", "Pause")
        page.says("Paused.")
        assert page.evaluate(UNDER_TOASTS) == []
        page.press("button", "Undo")
        page.says("Undone")
        page.go("#/settings")
        folders = [f"/Users/dana/{name} {look}" for name in ("Private", "Letters")]
        for folder in folders:
            page.press("button", "Exclude a folder or app…")
            page.fill("textbox", "Name", folder)
            page.confirm("Exclude")
            page.says(f"{folder} is now excluded.")
        assert page.evaluate(UNDER_TOASTS) == []
        page.in_reach(part("button", "Undo"))


def test_a_confirmation_lets_clicks_through(page: Window, server: Server) -> None:
    page.visit(server, "site", 3)
    page.press("button", "Copy link")
    page.says("Link copied")
    assert page.evaluate(FLASH_LETS_CLICKS_THROUGH)


def test_the_region_of_the_toasts_is_there_from_the_start(page: Window) -> None:
    """Screen readers ignore a live region that appears together with its text."""
    assert page.evaluate("() => document.querySelector('.toasts').getAttribute('role')") == "status"


def test_no_screen_is_wider_than_a_large_window(shared_server: Server, open_page: OpenPage) -> None:
    page = open_page(shared_server, viewport={"width": 3840, "height": 800})
    for screen in SCREENS:
        open_screen(page, shared_server, screen)
        assert not page.evaluate(SIDEWAYS), screen


def test_pinch_zoom_is_allowed(shared_server: Server, open_page: OpenPage) -> None:
    page = open_page(shared_server)
    open_screen(page, shared_server, "#/s/{release}")
    page.context.new_cdp_session(page).send("Emulation.setPageScaleFactor", {"pageScaleFactor": 2})
    page.wait_for_function("() => visualViewport.scale === 2")
    assert not page.evaluate(SIDEWAYS)

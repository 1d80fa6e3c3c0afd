"""The page in WebKit in narrow windows, at 200 %, dark and without motion: all of it can be reached."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from tests.page.axe import RUN, SOURCE
from tests.page.serving import Served
from tests.page.test_accessible import SCREENS
from tests.page.test_zoomed import CARDS, COVERED, CUT, TOOLS, VERBS
from tests.page.webkit import Window, part, region, window

EVENT = region("Event")
NARROW = {"width": 480, "height": 800}
LOOKS: dict[str, dict[str, Any]] = {
    "wide": {}, "dark": {"dark": True}, "narrow": NARROW, "200 %": {"zoom": 2},
}  # fmt: skip
WIDTH = "() => document.documentElement.scrollWidth"
MOVES = """() => [...document.querySelectorAll("*")].map((one) => getComputedStyle(one))
    .filter((look) => parseFloat(look.transitionDuration) || parseFloat(look.animationDuration)).length"""
COLOURS = """() => ["color", "backgroundColor"].map((what) => {
    const shade = getComputedStyle(document.querySelector("main"))[what].match(/[\\d.]+/g).slice(0, 3);
    return shade.reduce((sum, one) => sum + Number(one) / 3, 0);
})"""
EDGES = """() => {
    const { left, top, right, bottom } = document.querySelector("dialog[open]").getBoundingClientRect();
    return [left, top, innerWidth - right, innerHeight - bottom];
}"""
# Beside the bar that it is scrolled with, its right edge is met, and not what covers or clips it.
FOUND = """() => {
    const list = document.querySelector("[aria-label='Search results']");
    const { right, top } = list.getBoundingClientRect();
    return list.contains(document.elementFromPoint(right - 20, top + 16));
}"""


@pytest.fixture(scope="module")
def opened(shown: Served) -> Iterator[Window]:
    """One window for all that only looks."""
    with window(shown.door()) as page:
        yield page


def screens(page: Window, shown: Served) -> Iterator[str]:
    """Each screen in turn, once it is read."""
    for screen in SCREENS:
        page.go(screen.format(**shown.world.ids))
        page.there("heading", None, part("main"))
        page.drive("calm")
        yield screen


@pytest.mark.parametrize("look", ["wide", "narrow", "200 %"])
def test_nothing_is_covered_cut_or_pushed_aside(page: Window, shown: Served, look: str) -> None:
    found = {}
    with page.looking(**LOOKS[look]):
        width = page.evaluate("() => innerWidth")
        for screen in screens(page, shown):
            wrong = {"covered": page.evaluate(COVERED), "cut": page.evaluate(CUT)}
            wrong["wide"] = page.evaluate(WIDTH) > width
            found[screen] = {name: one for name, one in wrong.items() if one}
    assert {screen: wrong for screen, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize("look", ["wide", "narrow", "dark"])
def test_nothing_serious_keeps_anybody_out(page: Window, shown: Served, look: str) -> None:
    found = {}
    with page.looking(**LOOKS[look]):
        page.evaluate(f"() => {{ {SOURCE.read_text(encoding='utf-8')} }}")
        for screen in screens(page, shown):
            found[screen] = [one for one in page.evaluate(RUN) if one[0] in ("serious", "critical")]
    assert {screen: wrong for screen, wrong in found.items() if wrong} == {}


def test_dark_is_dark_and_light_is_light(page: Window, shown: Served) -> None:
    page.visit(shown, "site")
    text, ground = page.evaluate(COLOURS)
    assert text < 80 < 200 < ground
    with page.looking(dark=True):
        text, ground = page.evaluate(COLOURS)
        assert ground < 80 < 200 < text


def test_without_motion_nothing_moves(page: Window, shown: Served) -> None:
    page.visit(shown, "site", 3)
    with page.looking(width=1200):
        assert page.evaluate(MOVES) > 0
    with page.looking(width=1200, still=True):  # of this wish alone WebKitGTK tells queries, but not styles
        assert page.evaluate(MOVES) == 0


@pytest.mark.parametrize("look", ["narrow", "200 %"])
def test_every_part_and_verb_of_the_timeline_is_in_reach(page: Window, shown: Served, look: str) -> None:
    with page.looking(**LOOKS[look]):
        page.visit(shown, "release")
        for name in (*VERBS, *TOOLS):
            page.drive("point", part("button", name))  # in sight, and not covered
        page.drive("point", part("slider", "Playhead"))
        page.press("option", page.row("WebFetch"))
        page.there("heading", re.compile("WebFetch"), EVENT)
        for name in ("Previous event", "Next event", "Copy link", "Event commands"):
            page.drive("point", part("button", name, EVENT))
        page.press("button", "Close", EVENT)
        page.gone("region", "Event")


@pytest.mark.parametrize("look", ["narrow", "200 %"])
def test_the_sidebar_lies_over_the_page_and_leads_on(page: Window, shown: Served, look: str) -> None:
    with page.looking(**LOOKS[look]):
        page.visit(shown, "release")
        page.press("button", "Sidebar")
        page.drive("point", part("combobox", "Agent"))
        page.press("link", re.compile("Sort receipts by shop"), region("Sessions"))
        page.there("heading", "Sort receipts by shop", part("main"))
        page.gone("link", "Settings")  # it makes room by itself
        page.press("button", "Sidebar")
        page.press("link", "Settings", part("navigation", "Screens"))
        for card in CARDS:
            page.drive("point", part("heading", card, region(card)))


def test_what_a_search_finds_is_all_in_sight_on_a_narrow_screen(page: Window, shown: Served) -> None:
    with page.looking(**NARROW):
        page.visit(shown, "site")
        page.keys("slash", *"invoice")
        page.there("option", None, part("listbox", "Search results"))
        assert page.evaluate(FOUND)
        page.keys("Return")
        page.there("region", "Event")


@pytest.mark.parametrize("look", ["narrow", "200 %"])
def test_a_dialog_fits_and_its_buttons_are_in_reach(page: Window, shown: Served, look: str) -> None:
    with page.looking(**LOOKS[look]):
        page.visit(shown, "release")
        for verb in ("Answer…", "Fork…", "Hand off…", "Rewind…"):
            page.press("button", verb)
            page.there("dialog")
            page.drive("calm")
            assert min(page.evaluate(EDGES)) >= 0, verb
            page.drive("point", part("button", re.compile("^(Cancel|Done)$")))
            page.keys("Escape")
            page.gone("dialog")


def test_an_event_that_covers_the_page_is_left_by_key(page: Window, shown: Served) -> None:
    with page.looking(**NARROW):
        page.go(f"#/s/{shown.world.ids['release']}@3")
        page.says("position 3", EVENT)
        page.gone("listbox", "Events")  # keys do not lead under it
        page.keys("Return")
        page.keys("Escape")
        page.gone("region", "Event")
        page.there("listbox", "Events")

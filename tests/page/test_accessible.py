"""Every screen and every kind of dialog, light, dark, narrow and with more contrast, as axe sees it."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.page.axe import serious
from tests.page.conftest import OpenPage
from tests.page.serving import Served

LOOKS: dict[str, dict[str, Any]] = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "narrow": {"viewport": {"width": 480, "height": 800}},
    "more contrast": {"contrast": "more"},
}
SCREENS = (
    "#/s/{site}", "#/s/{site}@11", "#/s/{release}", "#/context", "#/settings",
    "#/compare?a={site}@3&b={site}@18", "#/day/2026-11-10",
)  # fmt: skip
VERBS = ("Answer…", "Resume", "Rewind…", "Fork…", "Hand off…")


def go(page: Page, served: Served, screen: str) -> None:
    page.goto(f"{served.origin}/{screen.format(**served.world.ids)}")
    expect(page.get_by_role("heading", level=1).first).to_be_visible()
    expect(page.locator("[aria-busy=true]")).to_have_count(0)


@pytest.mark.parametrize("look", LOOKS)
def test_nothing_serious_keeps_anybody_out(shown: Served, open_page: OpenPage, look: str) -> None:
    page = open_page(shown, **LOOKS[look])
    found = {}
    for screen in SCREENS:
        go(page, shown, screen)
        found[screen] = serious(page)
    assert {screen: wrong for screen, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize("look", ["light", "dark"])
def test_nothing_serious_keeps_anybody_from_a_verb(shown: Served, open_page: OpenPage, look: str) -> None:
    page = open_page(shown, refusals=True, **LOOKS[look])  # the plan of a rewind, where the folder is gone
    go(page, shown, "#/s/{release}")
    found = {}
    for button in VERBS:
        page.get_by_role("button", name=button, exact=True).first.click()
        expect(page.get_by_role("dialog")).to_be_visible()
        expect(page.locator("[aria-busy=true]")).to_have_count(0)
        found[button] = serious(page)
        page.keyboard.press("Escape")
        expect(page.get_by_role("dialog")).to_have_count(0)
    assert {button: wrong for button, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize("width", [480, 640, 3840])
def test_no_screen_is_wider_than_its_window(shown: Served, open_page: OpenPage, width: int) -> None:
    page = open_page(shown, viewport={"width": width, "height": 800})
    for screen in SCREENS:
        go(page, shown, screen)
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width, screen

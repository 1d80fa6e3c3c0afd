"""Every screen and every kind of dialog, light, dark and narrow, as axe sees it."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.page.axe import serious
from tests.page.conftest import OpenPage
from tests.page.serving import Served

NARROW = {"width": 480, "height": 800}
LOOKS = {
    "light": {"color_scheme": "light"},
    "dark": {"color_scheme": "dark"},
    "narrow": {"viewport": NARROW},
    "more contrast": {"contrast": "more"},
}
SCREENS = (
    "",
    "#/s/{site}",
    "#/s/{site}@11",
    "#/s/{release}",
    "#/context",
    "#/settings",
    "#/compare?a={site}@3&b={site}@18",
)


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("screen", SCREENS)
def test_nothing_serious_keeps_anybody_out(
    shown: Served, open_page: OpenPage, screen: str, look: str
) -> None:
    page = open_page(shown, screen.format(**shown.world.ids), **LOOKS[look])
    expect(page.get_by_role("heading", level=1).first).to_be_visible()
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    assert serious(page) == []


@pytest.mark.parametrize("look", ["light", "dark"])
@pytest.mark.parametrize("button", ["Answer…", "Resume", "Rewind…", "Fork…", "Hand off…"])
def test_nothing_serious_keeps_anybody_from_a_verb(
    shown: Served, open_page: OpenPage, button: str, look: str
) -> None:
    page = open_page(shown, f"#/s/{shown.world.ids['release']}", **LOOKS[look])
    page.get_by_role("button", name=button, exact=True).first.click()
    expect(page.get_by_role("dialog")).to_be_visible()
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    assert serious(page) == []


@pytest.mark.parametrize("screen", SCREENS)
@pytest.mark.parametrize("width", [480, 640, 3840])
def test_no_screen_is_wider_than_its_window(
    shown: Served, open_page: OpenPage, screen: str, width: int
) -> None:
    page = open_page(shown, screen.format(**shown.world.ids), viewport={"width": width, "height": 800})
    expect(page.get_by_role("heading", level=1).first).to_be_visible()
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width

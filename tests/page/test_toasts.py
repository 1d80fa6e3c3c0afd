"""What tells that something was done stands in nobody's way: what can be pressed is met where it is."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.page.conftest import OpenPage
from tests.page.serving import Served
from tests.page.test_checked import STATIC
from tests.page.test_verbs import press, sheet, told

WINDOWS: dict[str, dict[str, Any]] = {
    "wide": {},
    "narrow": {"viewport": {"width": 480, "height": 800}},
    "200 %": {"viewport": {"width": 640, "height": 430}, "device_scale_factor": 2},
}
# What can be pressed and has a toast over the part of it in sight, with everything scrolled to its end.
UNDER = """() => {
    for (const one of document.querySelectorAll("main *")) one.scrollTop = one.scrollHeight;
    const tray = document.querySelector(".toasts").getBoundingClientRect();
    const pressed = "button, a[href], input, select, textarea, summary, canvas, [role=option], [role=slider]";
    const shown = (one) =>
        one.checkVisibility({ visibilityProperty: true }) && !one.closest("[inert], .toasts");
    const clipped = (one) => {
        let { top, right, bottom, left } = one.getBoundingClientRect();
        for (let at = one.parentElement; at; at = at.parentElement) {
            if (getComputedStyle(at).overflowY === "visible") continue;
            const box = at.getBoundingClientRect();
            [top, left] = [Math.max(top, box.top), Math.max(left, box.left)];
            [right, bottom] = [Math.min(right, box.right), Math.min(bottom, box.bottom)];
        }
        return { top, right, bottom, left };
    };
    return [...document.querySelectorAll(pressed)].filter(shown).filter((one) => {
        const { top, right, bottom, left } = clipped(one);
        const wide = Math.min(right, tray.right) - Math.max(left, tray.left);
        const tall = Math.min(bottom, tray.bottom) - Math.max(top, tray.top);
        return right > left && bottom > top && wide > 0.5 && tall > 0.5;
    }).map((one) => one.getAttribute("aria-label") || one.textContent.trim().slice(0, 40) || one.tagName);
}"""


def exclude(page: Page, folder: str) -> None:
    press(page, "Exclude a folder or app…")
    asked = sheet(page, "Exclude from recording")
    asked.get_by_label("Name").fill(folder)
    asked.get_by_role("button", name="Exclude").click()
    told(page, f"{folder} is excluded from now on.")


@pytest.mark.parametrize("window", WINDOWS)
def test_a_toast_covers_nothing_that_can_be_pressed(own: Served, open_page: OpenPage, window: str) -> None:
    page = open_page(own, f"#/s/{own.world.ids['release']}", **WINDOWS[window])
    press(page, "Pause")
    told(page, "Paused.")
    assert page.evaluate(UNDER) == []
    page.goto(f"{own.origin}/#/settings")
    exclude(page, "/Users/dana/Private")
    exclude(page, "/Users/dana/Letters")
    assert page.evaluate(UNDER) == []
    expect(page.locator(".toasts").get_by_role("button", name="Undo").last).to_be_in_viewport()


def test_a_word_that_something_was_copied_lets_presses_through(shown: Served, open_page: OpenPage) -> None:
    page = open_page(
        shown, f"#/s/{shown.world.ids['site']}@3", permissions=["clipboard-read", "clipboard-write"]
    )
    page.get_by_role("button", name="Copy link").click()
    said = page.locator(".said")
    expect(said).to_be_visible()
    assert said.evaluate("""(one) => {
        const { left, right, top, bottom } = one.getBoundingClientRect();
        const met = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
        return met !== null && met !== one;
    }""")


def test_what_the_tests_keep_in_sight_is_what_the_page_takes_away() -> None:
    """Under other numbers a busy machine would look for a toast that is gone."""
    assert "STAYS = 8000;" in (STATIC / "verbs" / "toast.js").read_text(encoding="utf-8")
    assert ", 1800)" in (STATIC / "app.js").read_text(encoding="utf-8")


def test_what_is_told_is_told_to_who_listens_from_the_first_word(shown: Served, open_page: OpenPage) -> None:
    page = open_page(shown)
    expect(
        page.locator(".toasts[role=status]")
    ).to_be_attached()  # a region that comes with its words is not heard

"""What the keyboard stands on is in sight: no header that stays, no floating button lies over it.

Each stop of the Tab key is looked at where it stands, forwards and backwards, since each way brings what was
out of sight in at another edge.
"""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Page

from tests.page.conftest import OpenPage
from tests.page.serving import Served
from tests.page.test_accessible import SCREENS, go

WINDOWS: dict[str, dict[str, Any]] = {
    "480 px": {"viewport": {"width": 480, "height": 800}},
    "200 %": {"viewport": {"width": 640, "height": 430}, "device_scale_factor": 2},
    "low": {"viewport": {"width": 1280, "height": 420}},
}
MOST = 600  # stops: more than any screen has
# The name of what has the focus, and what is met in its middle instead of it, if anything is. Of what is
# larger than the window the part in it counts; of a link over two lines, the first. Null ends a round.
MET = """() => {
    const one = document.activeElement;
    if (one === document.body || one === globalThis.began) return null;
    globalThis.began ??= one;
    const names = (it) => it.getAttribute("aria-label") || it.textContent.trim().slice(0, 40) || it.tagName;
    const box = one.getClientRects()[0];
    const middle = (from, to, most) => (Math.max(0, from) + Math.min(most, to)) / 2;
    const x = middle(box.left, box.right, innerWidth), y = middle(box.top, box.bottom, innerHeight);
    const met = document.elementFromPoint(x, y);
    const its = met && (one.contains(met) || met.closest("label")?.control === one);
    return [names(one), its ? null : met ? met.className || met.tagName : "nothing"];
}"""


def stops(page: Page, key: str) -> list[list[str | None]]:
    """Every stop of one round, with what covers it."""
    met: list[list[str | None]] = []
    page.evaluate("() => { globalThis.began = null; }")
    for _ in range(MOST):
        page.keyboard.press(key)
        here = page.evaluate(MET)
        if here is None and met:
            return met
        if here is not None:
            met.append(here)
    raise AssertionError(f"more than {MOST} stops, the last: {met[-3:]}")


@pytest.mark.parametrize("window", WINDOWS)
def test_what_has_the_focus_is_not_covered(shown: Served, open_page: OpenPage, window: str) -> None:
    page = open_page(shown, **WINDOWS[window])
    covered: dict[str, Any] = {}
    for screen in SCREENS:
        page.goto("about:blank")  # the focus begins before the first control
        go(page, shown, screen)
        forwards = stops(page, "Tab")
        backwards = stops(page, "Shift+Tab")
        assert len(forwards) > 5, screen
        if wrong := [one for one in [*forwards, *backwards] if one[1]]:
            covered[screen] = wrong
    assert covered == {}

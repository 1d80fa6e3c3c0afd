"""Stories of a sidebar with many sessions, in both browsers: all are reachable, few are in the document."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.page.conftest import OpenWindow
from tests.page.server import Server
from tests.page.story import MINUTE, NOW, World, add
from tests.page.window import MAIN, Window, part, region

COUNT = 250
APART = 90 * MINUTE  # many per day, and the oldest weeks ago
MAX_LINKS = 120  # in the document
SESSIONS = region("Sessions")
OLDEST = f"Errand {COUNT - 1:03}"
OLDER = part("button", "Older sessions")
LINKS = "() => document.querySelectorAll('a.session').length"
ERRAND = "() => Number(/Errand (\\d{3})/.exec(document.activeElement.textContent)?.[1] ?? -1)"
FOCUSED = "() => document.activeElement.matches('a.session')"
SCROLL_TO_END = f"""() => {{
    const box = document.querySelector(".sidebar-scroll");
    box.scrollTo(0, box.scrollHeight);
    return box.textContent.includes("{OLDEST}");
}}"""
FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(null))))"
# Scroll to parts of the list: its height stays, sessions fill it, and they are in order.
FILLED = """async () => {
    const box = document.querySelector(".sidebar-scroll");
    const height = box.scrollHeight;
    const frames = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    const wrong = [];
    for (const part of [0.8, 0.31, 0.55, 0.07]) {
        box.scrollTo(0, height * part);
        await frames();
        const { top, bottom, left } = box.getBoundingClientRect();
        const filled = [top + 40, (top + bottom) / 2, bottom - 8].every(
            (y) => document.elementFromPoint(left + 60, y)?.closest("section"));
        const errands = [...box.textContent.matchAll(/Errand (\\d{3})/g)].map(([, number]) => Number(number));
        const ordered = errands.every((number, index) => !index || number > errands[index - 1]);
        const still = Math.abs(box.scrollHeight - height) <= 2;
        if (!filled || !ordered || !still) wrong.push([part, filled, ordered, still]);
    }
    return wrong;
}"""


@pytest.fixture(scope="module")
def add_to_story() -> Callable[[World], None]:
    def add_errands(world: World) -> None:
        for number in reversed(range(COUNT)):
            opening = {"agent": "fazm", "title": f"Errand {number:03}"}
            at = NOW - 7 * 24 * 60 * MINUTE - number * APART
            add(world, f"many-{number}", "session.open", opening, agent="fazm", at=at)

    return add_errands


def scroll_to_end(page: Window) -> None:
    page.until(SCROLL_TO_END)
    page.evaluate(FRAMES)  # the last rows are drawn


def test_older_sessions_are_loaded_by_key_and_the_first_is_focused(page: Window, server: Server) -> None:
    page.visit(server, "site")
    page.keys("Enter", on=OLDER)
    page.until(FOCUSED)
    reached = page.evaluate(ERRAND)
    assert reached >= 25  # beyond the first page
    page.keys("Tab")
    page.until(f"() => ({ERRAND})() === {reached + 1}")


def test_older_sessions_are_focused_also_if_others_were_loaded_by_scrolling(
    server: Server, open_window: OpenWindow
) -> None:
    with open_window(server.door()) as page:
        page.visit(server, "site")
        before = page.evaluate("() => document.querySelector('.sidebar-scroll').scrollHeight")
        page.focus(OLDER)
        page.until(f"() => document.querySelector('.sidebar-scroll').scrollHeight > {before}")
        page.keys("Enter")
        page.until(FOCUSED)
        assert page.evaluate(ERRAND) >= 65  # beyond the second page
        assert page.errors() == []


def test_the_oldest_session_is_scrolled_to_and_opened(page: Window, server: Server) -> None:
    page.visit(server, "site")
    scroll_to_end(page)
    page.gone("button", "Older sessions")
    page.count(1, "link", re.compile(OLDEST), SESSIONS)
    page.press("link", re.compile(OLDEST), SESSIONS)
    page.there("heading", OLDEST, MAIN)
    page.row("Session started")
    assert page.evaluate(LINKS) <= MAX_LINKS


def test_at_every_scroll_position_sessions_fill_the_list_in_order(page: Window, server: Server) -> None:
    page.visit(server, "site")
    scroll_to_end(page)
    assert page.evaluate(FILLED) == []
    assert page.evaluate(LINKS) <= MAX_LINKS


def test_a_new_session_comes_first_and_does_not_take_the_focus(page: Window, server: Server) -> None:
    page.visit(server, "site")
    page.evaluate("() => document.querySelector('.sidebar-scroll').scrollTo(0, 0)")
    page.evaluate(FRAMES)
    page.focus(part("link", re.compile("Errand 003"), SESSIONS))
    page.evaluate(FRAMES)
    top = page.evaluate("() => document.querySelector('.sidebar-scroll').scrollTop")
    add(server.world, "late", "session.open", {"agent": "fazm", "title": "Just now"}, agent="fazm")
    page.until("() => document.querySelector('a.session').textContent.includes('Just now')")
    assert page.evaluate(ERRAND) == 3
    assert page.evaluate("() => document.querySelector('.sidebar-scroll').scrollTop") == top


@pytest.mark.parametrize("path", ["/", "/api/v1/sessions"])
def test_without_a_key_nothing_is_shown(server: Server, open_window: OpenWindow, path: str) -> None:
    with open_window(server.origin + path) as page:
        text = page.evaluate("() => document.body.innerText")
        assert "fazm-memory timeline" in text
        assert "Errand" not in text

"""A sidebar with more sessions than a document should hold: all can be reached, few are in it at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from fazm_memory.capture.draft import Draft
from tests.page.conftest import OpenPage
from tests.page.serving import Served, serving
from tests.page.story import MINUTE, NOW, make_world, tell

COUNT = 750
APART = 90 * MINUTE  # so that a day holds many, and the last lie weeks back
MOST = 120  # in the document, whatever there is


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    world = make_world(tmp_path_factory.mktemp("many"))
    drafts = [
        Draft(f"many-{nth}", "session.open", {"agent": "fazm", "title": f"Errand {nth:03}"}, agent="fazm",
              at=NOW - 7 * 24 * 60 * MINUTE - nth * APART)
        for nth in reversed(range(COUNT))
    ]  # fmt: skip
    tell(world, drafts)
    with serving(world) as served:
        yield served


def side(page: Page) -> Locator:
    return page.get_by_role("region", name="Sessions", exact=True)


def scroll_to_the_end(page: Page) -> None:
    """As far as there is anything: what is read on the way makes it longer."""
    oldest = side(page).get_by_role("link", name=re.compile(f"Errand {COUNT - 1:03}"))
    box = page.locator(".sidebar-scroll")
    for _ in range(COUNT):
        if oldest.count():
            break
        before = box.evaluate("(box) => box.scrollHeight")
        box.evaluate("(box) => box.scrollTo(0, box.scrollHeight)")
        page.wait_for_function(
            """([before, oldest]) => {
                const box = document.querySelector(".sidebar-scroll");
                return box.scrollHeight > before || box.textContent.includes(oldest);
            }""",
            arg=[before, f"Errand {COUNT - 1:03}"],
        )
    expect(oldest).to_be_visible()


def test_the_oldest_session_is_scrolled_to_and_opened(many: Served, open_page: OpenPage) -> None:
    page = open_page(many)
    expect(side(page).get_by_role("link").first).to_be_visible()
    scroll_to_the_end(page)
    assert side(page).get_by_role("link").count() <= MOST
    expect(page.get_by_role("button", name="Older sessions")).to_be_hidden()
    side(page).get_by_role("link", name=re.compile(f"Errand {COUNT - 1:03}")).click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Errand {COUNT - 1:03}")
    page.locator(".sidebar-scroll").evaluate("(box) => box.scrollTo(0, 0)")
    expect(side(page).get_by_role("heading", name="Today", exact=True)).to_be_in_viewport()
    assert side(page).get_by_role("link").count() <= MOST


def test_wherever_it_is_scrolled_sessions_fill_it_in_their_order(many: Served, open_page: OpenPage) -> None:
    page = open_page(many)
    expect(side(page).get_by_role("link").first).to_be_visible()
    scroll_to_the_end(page)
    box = page.locator(".sidebar-scroll")
    whole = int(box.evaluate("(box) => box.scrollHeight"))
    for part in (0.8, 0.31, 0.55, 0.07):
        box.evaluate("(box, top) => box.scrollTo(0, top)", int(whole * part))
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        assert box.evaluate("(box) => box.scrollHeight") == pytest.approx(whole, abs=2)  # nothing jumps
        seen = box.evaluate(
            """(box) => {
                const { top, bottom, left } = box.getBoundingClientRect();
                const at = (y) => document.elementFromPoint(left + 60, y);
                const heights = [top + 40, (top + bottom) / 2, bottom - 8];
                return heights.map((y) => Boolean(at(y)?.closest("section")));
            }"""
        )
        assert seen == [True, True, True], part
        shown = [int(one) for one in re.findall(r"Errand (\d+)", side(page).inner_text())]
        assert shown == sorted(shown)
        assert len(shown) <= MOST


def test_older_sessions_are_asked_for_by_key(many: Served, open_page: OpenPage) -> None:
    page = open_page(many)
    older = page.get_by_role("button", name="Older sessions")
    older.focus()
    page.keyboard.press("Enter")
    focused = page.locator("a.session:focus")
    expect(focused).to_have_count(1)
    reached = int(re.findall(r"Errand (\d+)", focused.inner_text())[0])
    assert reached >= 25  # beyond what the first page held
    page.keyboard.press("Tab")  # and on from there, one by one
    expect(page.locator("a.session:focus")).to_contain_text(f"Errand {reached + 1:03}")


def test_older_sessions_are_in_hand_also_when_some_came_by_scrolling_there(
    many: Served, open_page: OpenPage
) -> None:
    page = open_page(many)
    box = page.locator(".sidebar-scroll")
    older = page.get_by_role("button", name="Older sessions")
    expect(older).to_be_attached()
    before = box.evaluate("(box) => box.scrollHeight")
    older.focus()
    page.wait_for_function(
        "(before) => document.querySelector('.sidebar-scroll').scrollHeight > before", arg=before
    )
    page.keyboard.press("Enter")
    focused = page.locator("a.session:focus")
    expect(focused).to_have_count(1)
    expect(focused).to_be_in_viewport()
    assert int(re.findall(r"Errand (\d+)", focused.inner_text())[0]) >= 65  # beyond the second page


def test_a_session_in_hand_stays_in_hand_while_others_are_recorded(many: Served, open_page: OpenPage) -> None:
    page = open_page(many)
    chosen = side(page).get_by_role("link", name=re.compile("Errand 003"))
    chosen.focus()
    top = page.locator(".sidebar-scroll").evaluate("(box) => box.scrollTop")
    tell(
        many.world,
        [Draft("late", "session.open", {"agent": "fazm", "title": "Just now"}, agent="fazm", at=NOW)],
    )
    expect(side(page).get_by_role("link", name=re.compile("Just now"))).to_have_count(1)
    expect(chosen).to_be_focused()
    assert page.locator(".sidebar-scroll").evaluate("(box) => box.scrollTop") == top

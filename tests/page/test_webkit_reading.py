"""Reading in WebKit: where the page opens, the list by keys, many sessions, and what is told to nobody."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from fazm_memory.capture.draft import Draft
from tests.page.serving import Served, serving
from tests.page.story import MINUTE, NOW, make_world, tell
from tests.page.test_many_sessions import APART, MOST
from tests.page.webkit import Window, part, region, window

SESSIONS = region("Sessions")
ROWS = part("listbox", "Events")
COUNT = 150
OLDEST = re.compile(f"Errand {COUNT - 1:03}")
CHOSEN = "() => document.querySelector('[role=option][aria-selected=true]')?.ariaPosInSet === '%d'"
FOCUSED = "() => document.activeElement.textContent"
END = """() => {
    const box = document.querySelector(".sidebar-scroll");
    box.scrollTo(0, box.scrollHeight);
    return box.textContent.includes("Errand %03d");
}"""


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The story, and more errands before it than a sidebar should hold."""
    world = make_world(tmp_path_factory.mktemp("many"))
    for nth in reversed(range(COUNT)):
        opening = {"agent": "fazm", "title": f"Errand {nth:03}"}
        at = NOW - 7 * 24 * 60 * MINUTE - nth * APART
        tell(world, [Draft(f"many-{nth}", "session.open", opening, agent="fazm", at=at)])
    with serving(world) as served:
        yield served


def test_the_page_opens_at_the_latest_session_and_its_newest_event(page: Window, told: Served) -> None:
    latest = told.world.memory.sessions(limit=1)[0]
    page.go("#/")
    page.there("heading", latest["title"], part("main"))
    page.there("option", None, ROWS)
    page.unsaid("You are looking at")
    page.gone("region", "Event")


def test_the_list_is_walked_read_and_left_by_key(page: Window, told: Served) -> None:
    page.visit(told, "site", 4)
    for key, place in (("j", 6), ("k", 5), ("k", 4)):
        page.keys(key)
        page.says(re.compile(rf"position {place - 1}\b"), region("Event"))
        page.until(CHOSEN % place)
    page.keys("Return")
    page.says("Provenance", region("Event"))
    page.keys("Escape")  # out of the event, to the list
    page.there("region", "Event")
    page.keys("Escape")
    page.gone("region", "Event")
    page.keys("n")
    page.unsaid("You are looking at")


def test_the_oldest_session_is_scrolled_to_and_opened(page: Window, told: Served) -> None:
    page.visit(told, "site")
    page.until(END % (COUNT - 1))
    page.count(1, "link", OLDEST, SESSIONS)
    page.press("link", OLDEST, SESSIONS)
    page.there("heading", f"Errand {COUNT - 1:03}", part("main"))
    page.row("Session began")
    assert page.evaluate("() => document.querySelectorAll('a.session').length") <= MOST


def test_older_sessions_are_asked_for_by_key(told: Served) -> None:
    with window(told.door()) as page:
        page.visit(told, "site")
        page.keys("Return", on=part("button", "Older sessions"))
        page.until("() => document.activeElement.matches('a.session')")
        reached = int(re.findall(r"Errand (\d+)", page.evaluate(FOCUSED))[0])
        assert reached >= 25  # beyond what the first page held
        assert page.errors() == []


def test_a_session_recorded_now_stands_first(page: Window, told: Served) -> None:
    page.visit(told, "site")
    page.evaluate("() => document.querySelector('.sidebar-scroll').scrollTo(0, 0)")
    opening = {"agent": "fazm", "title": "Just now"}
    tell(told.world, [Draft("late", "session.open", opening, agent="fazm", at=told.world.now())])
    page.there("link", re.compile("^Just now"), SESSIONS)


@pytest.mark.parametrize("path", ["/", "/api/v1/sessions"])
def test_without_a_key_the_page_tells_nothing(told: Served, path: str) -> None:
    with window(told.origin + path) as page:
        said = page.evaluate("() => document.body.innerText")
        assert "fazm-memory timeline" in said
        assert "Errand" not in said

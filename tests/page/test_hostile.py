"""What was recorded stays text: no script, dialog, request or element; with the policy and without."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.page.conftest import OpenPage
from tests.page.hostile import write_hostile
from tests.page.serving import Served, serving
from tests.page.story import make_world

# What the strings would have made, had any of them been taken for markup.
MADE = """() => ({
    ran: typeof window.pwned,
    elements: [...document.querySelectorAll("script:not([src]), img, iframe, object, embed, base," +
        "[onerror], [onload], [srcdoc], meta[http-equiv=refresh]")].map((one) => one.outerHTML.slice(0, 80)),
    links: [...document.querySelectorAll("[href], [src], [action]")]
        .map((one) => one.getAttribute("href") || one.getAttribute("src") || one.getAttribute("action"))
        .filter((at) => /^\\s*(javascript|data|vbscript|https?):/i.test(at)),
})"""
NOTHING = {"ran": "undefined", "elements": [], "links": []}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Served, str]]:
    world = make_world(tmp_path_factory.mktemp("hostile"))
    session = write_hostile(world)
    with serving(world) as served:
        yield served, session


@pytest.fixture(params=[False, True], ids=["with the policy", "without any policy"])
def page(request: pytest.FixtureRequest, hostile: tuple[Served, str], open_page: OpenPage) -> Page:
    served, session = hostile
    return open_page(served, f"#/s/{session}", bypass_csp=request.param, refusals=True)


def settled(page: Page) -> None:
    expect(page.locator("[aria-busy=true]")).to_have_count(0)


def test_each_event_of_a_hostile_session_is_shown_as_text(page: Page, hostile: tuple[Served, str]) -> None:
    served, session = hostile
    events = served.world.memory.session(session)["events"]
    assert events > 50
    for seq in range(events):
        page.goto(f"{served.origin}/#/s/{session}@{seq}")
        expect(
            page.get_by_role("region", name="Event", exact=True).get_by_text(f"position {seq}").first
        ).to_be_visible()
        assert page.evaluate(MADE) == NOTHING, f"at {seq}"
    expect(page.get_by_text("<script>").first).to_be_visible()


@pytest.mark.parametrize("screen", ["#/context", "#/settings", "#/compare?a={id}@0&b={id}@50", ""])
def test_the_other_screens_show_hostile_text_as_text(
    page: Page, hostile: tuple[Served, str], screen: str
) -> None:
    served, session = hostile
    page.goto(f"{served.origin}/{screen.format(id=session)}")
    expect(page.get_by_role("heading", level=1).first).to_be_visible()
    settled(page)
    for more in page.get_by_role("button", name="As text").all():
        more.click()
        settled(page)
    assert page.evaluate(MADE) == NOTHING


@pytest.mark.parametrize("button", ["Resume", "Fork…", "Rewind…", "Answer…", "Hand off…"])
def test_what_a_verb_asks_shows_hostile_text_as_text(page: Page, button: str) -> None:
    page.get_by_role("button", name=button, exact=True).first.click()
    expect(page.get_by_role("dialog")).to_be_visible()
    settled(page)
    assert page.evaluate(MADE) == NOTHING


def test_a_hostile_search_finds_text_and_makes_nothing(page: Page) -> None:
    page.get_by_role("combobox", name="Search everything recorded").fill("pwned onerror")
    found = page.get_by_role("listbox", name="Search results").get_by_role("option")
    expect(found.first).to_be_visible()
    assert page.evaluate(MADE) == NOTHING

"""Hostile text in WebKit: in every field, on every screen, it stays text."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.page.hostile import write_hostile
from tests.page.serving import Served, serving
from tests.page.story import make_world
from tests.page.test_hostile import MADE, NOTHING
from tests.page.webkit import Window, part, region

ASKED = ("Resume", "Fork…", "Rewind…", "Answer…", "Hand off…")


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    world = make_world(tmp_path_factory.mktemp("hostile"))
    world.ids["hostile"] = write_hostile(world)
    with serving(world) as served:
        yield served


def test_each_event_of_a_hostile_session_is_shown_as_text(page: Window, told: Served) -> None:
    session = told.world.ids["hostile"]
    events = told.world.memory.session(session)["events"]
    assert events > 50
    for seq in range(events):
        page.visit(told, "hostile", seq)
        assert page.evaluate(MADE) == NOTHING, f"at {seq}"
    page.says("<script>")


def test_the_other_screens_show_hostile_text_as_text(page: Window, told: Served) -> None:
    session = told.world.ids["hostile"]
    for screen in ("#/context", "#/settings", f"#/compare?a={session}@0&b={session}@50"):
        page.go(screen)
        page.there("heading", None, part("main"))
        page.drive("calm")
        assert page.evaluate(MADE) == NOTHING, screen
    page.go("#/context")
    page.press("button", "As text")
    page.says("<script>", part("main"))
    assert page.evaluate(MADE) == NOTHING


def test_what_a_verb_asks_shows_hostile_text_as_text(page: Window, told: Served) -> None:
    for button in ASKED:
        page.go(f"#/s/{told.world.ids['hostile']}")
        page.press("button", button)
        page.there("dialog")
        page.drive("calm")
        assert page.evaluate(MADE) == NOTHING, button
        page.keys("Escape")
        page.gone("dialog")


def test_a_hostile_search_finds_text_and_makes_nothing(page: Window, told: Served) -> None:
    page.go(f"#/s/{told.world.ids['hostile']}")
    page.keys("slash", *"pwned", "space", *"onerror")
    page.there("option", None, part("listbox", "Search results"))
    assert page.evaluate(MADE) == NOTHING
    page.keys("Return")
    page.there("region", "Event")
    page.says("<script>", region("Event"))

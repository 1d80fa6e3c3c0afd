"""Hostile recorded text stays text: on every screen, in both browsers, and even without the CSP."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Browser

from tests.page.chromium import chromium_window
from tests.page.hostile import record_hostile
from tests.page.server import Server
from tests.page.story import World
from tests.page.window import MAIN, Window, part, region

# What the texts would have created if any of them had become markup.
CREATED = """() => ({
    ran: typeof window.pwned,
    elements: [...document.querySelectorAll("script:not([src]), img, iframe, object, embed, base," +
        "[onerror], [onload], [srcdoc], meta[http-equiv=refresh]")].map((it) => it.outerHTML.slice(0, 80)),
    links: [...document.querySelectorAll("[href], [src], [action]")]
        .map((each) => each.getAttribute("href") || each.getAttribute("src") || each.getAttribute("action"))
        .filter((at) => /^\\s*(javascript|data|vbscript|https?):/i.test(at)),
})"""
NOTHING = {"ran": "undefined", "elements": [], "links": []}
DIALOGS = ("Resume", "Fork…", "Rewind…", "Answer…", "Hand off…")


@pytest.fixture(scope="module")
def add_to_story() -> Callable[[World], None]:
    return record_hostile


def check_events(page: Window, server: Server) -> None:
    events = server.world.memory.sessions.get(server.world.ids["hostile"])["events"]
    assert events > 50
    for seq in range(events):
        page.visit(server, "hostile", seq)
        assert page.evaluate(CREATED) == NOTHING, f"at {seq}"
    page.says("<script>")


def check_screens(page: Window, server: Server) -> None:
    session = server.world.ids["hostile"]
    for screen in ("#/context", "#/settings", f"#/compare?a={session}@0&b={session}@50"):
        page.go(screen)
        page.there("heading", None, MAIN)
        page.settle()
        assert page.evaluate(CREATED) == NOTHING, screen
    page.go("#/context")
    page.press("button", "As text")
    page.says("<script>", MAIN)
    assert page.evaluate(CREATED) == NOTHING


def check_dialogs(page: Window, server: Server) -> None:
    for button in DIALOGS:
        page.go(f"#/s/{server.world.ids['hostile']}")
        page.press("button", button)
        page.there("dialog")
        page.settle()
        assert page.evaluate(CREATED) == NOTHING, button
        page.keys("Escape")
        page.gone("dialog")


def check_search(page: Window, server: Server) -> None:
    page.go(f"#/s/{server.world.ids['hostile']}")
    page.search("pwned onerror")
    page.there("option", None, part("listbox", "Search results"))
    assert page.evaluate(CREATED) == NOTHING
    page.keys("Enter")
    page.says("<script>", region("Event"))


CHECKS = {"events": check_events, "screens": check_screens, "dialogs": check_dialogs, "search": check_search}


@pytest.mark.parametrize("check", CHECKS)
def test_hostile_text_is_shown_as_text(page: Window, server: Server, check: str) -> None:
    CHECKS[check](page, server)


def test_hostile_text_is_shown_as_text_without_the_policy(
    engine: str, server: Server, browser: Browser
) -> None:
    if engine != "chromium":
        pytest.skip("only Chromium can ignore the policy")
    with chromium_window(browser, server.door(), bypass_csp=True) as page:
        for check in CHECKS.values():
            check(page, server)
        assert page.errors() == []

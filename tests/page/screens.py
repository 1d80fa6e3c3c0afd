"""The screens of the story, and what to look for on each of them."""

from __future__ import annotations

from collections.abc import Iterator

from playwright.sync_api import Page, expect

from tests.page.server import Server
from tests.page.window import MAIN, Window

SCREENS = (
    "#/s/{site}", "#/s/{site}@11", "#/s/{site}@11?then", "#/s/{release}", "#/overview", "#/context",
    "#/decisions", "#/settings", "#/setup", "#/compare?a={site}@3&b={site}@18", "#/day/2026-11-10",
    "#/files?session={invoices}", "#/files?path=/Users/dana/Downloads/notes.txt",
    "#/retries?session={invoices}",
)  # fmt: skip


def each_screen(page: Window, server: Server) -> Iterator[str]:
    """Open each screen."""
    for screen in SCREENS:
        page.go(screen.format(**server.world.ids))
        page.there("heading", None, MAIN)
        page.settle()
        yield screen


def open_screen(page: Page, server: Server, screen: str) -> None:
    """The same for Chromium only."""
    page.goto(f"{server.origin}/{screen.format(**server.world.ids)}")
    expect(page.get_by_role("heading", level=1).first).to_be_visible()
    expect(page.locator("[aria-busy=true]")).to_have_count(0)

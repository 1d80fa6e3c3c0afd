"""A real Chromium to look at the page with, and a watch over all that must not happen in it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
NAMES = ("chromium", "chromium-browser", "google-chrome")
WIDE = {"width": 1280, "height": 860}
PATIENCE = 15_000  # milliseconds: a busy machine is slow, a broken page is slower

# What the page takes away by itself, a toast or a word that something was copied, stays until it is looked
# at: a busy machine may look later than any person.
LASTING = """(() => {
    const later = window.setTimeout;
    window.setTimeout = (work, ms, ...given) =>
        later.call(window, work, [1800, 8000].includes(ms) ? 600000 : ms, ...given);
})();"""

expect.set_options(timeout=PATIENCE)


def find_chromium() -> str:
    """Where Chromium is. A machine without one fails the test, which would prove nothing otherwise."""
    for name in NAMES:
        if found := shutil.which(name):
            return found
    pytest.fail("no Chromium on this machine: apt-get install chromium", pytrace=False)


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class Watch:
    """What went wrong in a page: errors in its console, script dialogs, requests that left its origin."""

    origin: str
    refusals: bool = False  # whether the server may refuse something: a browser tells that as an error too
    errors: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)

    def over(self, page: Page) -> None:
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("dialog", self._dialog)
        page.on("request", lambda request: self._request(request.url))

    def _console(self, message: Any) -> None:
        if self.refusals and message.text.startswith("Failed to load resource"):
            return
        if message.type in ("error", "warning"):
            self.errors.append(f"{message.text} ({message.location.get('url', '')})")

    def _dialog(self, dialog: Any) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def _request(self, address: str) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("data", "about") and f"{parts.scheme}://{parts.netloc}" != self.origin:
            self.foreign.append(address)

    def check(self) -> None:
        assert not self.errors, self.errors
        assert not self.dialogs, self.dialogs
        assert not self.foreign, self.foreign


def new_context(browser: Browser, now_ms: int, **options: Any) -> BrowserContext:
    """A window of its own, in the story's time zone and at the story's time."""
    given: dict[str, Any] = {"viewport": WIDE, "timezone_id": "UTC", "locale": "en-GB"}
    context = browser.new_context(**(given | options))
    context.set_default_timeout(PATIENCE)
    context.clock.set_fixed_time(now_ms / 1000)
    context.add_init_script(LASTING)
    return context

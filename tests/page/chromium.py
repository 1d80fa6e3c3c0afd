"""Chromium through Playwright: as an engine for stories, and with Playwright's own API for Chromium only."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.page.server import Server
from tests.page.story import NOW
from tests.page.window import DRIVER, USUAL_LOOK, Window

FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
NAMES = ("chromium", "chromium-browser", "google-chrome")
TIMEOUT = 60_000  # milliseconds; a busy machine is slow, a failing test is rare
SETUP = Path(__file__).with_name("page_setup.js").read_text().replace("NOW_MS", str(NOW // 1000))

expect.set_options(timeout=TIMEOUT)


def find_chromium() -> str:
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
class PageErrors:
    """Console errors, script dialogs, and requests to other origins."""

    origin: str
    failed_requests: bool = False  # whether the server may refuse something, which the console reports too
    found: list[str] = field(default_factory=list)

    def watch(self, page: Page) -> None:
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.found.append(str(error)))
        page.on("dialog", self._dialog)
        page.on("request", lambda request: self._request(request.url))

    def _console(self, message: Any) -> None:
        if self.failed_requests and message.text.startswith("Failed to load resource"):
            return
        if message.type in ("error", "warning"):
            self.found.append(f"{message.text} ({message.location.get('url', '')})")

    def _dialog(self, dialog: Any) -> None:
        self.found.append(f"a script opened a dialog: {dialog.message}")
        dialog.dismiss()

    def _request(self, address: str) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("data", "about") and f"{parts.scheme}://{parts.netloc}" != self.origin:
            self.found.append(f"request to {address}")


def new_context(browser: Browser, **options: Any) -> BrowserContext:
    """A browser context in the time zone and at the time of the story."""
    size = {"width": USUAL_LOOK["width"], "height": USUAL_LOOK["height"]}
    usual: dict[str, Any] = {"viewport": size, "timezone_id": "UTC", "locale": "en-GB"}
    context = browser.new_context(**(usual | options))
    context.set_default_timeout(TIMEOUT)
    context.add_init_script(SETUP)
    return context


def enter(page: Page, server: Server, address: str = "") -> None:
    """Open the page with a key, then an address in a document of its own."""
    page.goto(server.door())
    page.goto("about:blank")
    page.goto(f"{server.origin}/{address}")


class ChromiumEngine:
    def __init__(self, page: Page, errors: PageErrors) -> None:
        self.page = page
        self.page_errors = errors

    def run(self, body: str) -> Any:
        try:
            return json.loads(self.page.evaluate(f"async () => {{ {body} }}"))
        except Exception as error:
            raise AssertionError(str(error)) from None

    def drag(self, x: float, y: float, by: float) -> None:
        self.page.mouse.move(x, y)
        self.page.mouse.down()
        if by:
            self.page.mouse.move(x + by, y, steps=4)
        self.page.mouse.up()

    def wheel(self, x: float, y: float, by: float) -> None:
        self.page.mouse.move(x, y)
        self.page.mouse.wheel(100 * by, 0)

    def keys(self, names: tuple[str, ...]) -> None:
        for name in names:
            self.page.keyboard.press(name)

    def look(self, look: dict[str, Any]) -> None:
        width, height = (round(look[side] / look["zoom"]) for side in ("width", "height"))
        self.page.set_viewport_size({"width": width, "height": height})
        self.page.emulate_media(
            color_scheme="dark" if look["dark"] else "light",
            reduced_motion="reduce" if look["still"] else "no-preference",
        )

    def clipboard(self) -> str:
        return str(self.page.evaluate("navigator.clipboard.readText()"))

    def picture(self, file: Path) -> None:
        self.page.screenshot(path=file)

    def errors(self) -> list[str]:
        return self.page_errors.found


@contextmanager
def chromium_window(browser: Browser, address: str, **options: Any) -> Iterator[Window]:
    context = new_context(browser, permissions=["clipboard-read", "clipboard-write"], **options)
    context.add_init_script(path=DRIVER)
    page = context.new_page()
    parts = urlsplit(address)
    errors = PageErrors(f"{parts.scheme}://{parts.netloc}", failed_requests=True)
    errors.watch(page)
    page.goto(address)
    try:
        yield Window(ChromiumEngine(page, errors))
    finally:
        context.close()

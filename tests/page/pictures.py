"""Take the pictures of the documentation: `python -m tests.page.pictures docs/pictures`."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from tests.page.chromium import chromium, new_context
from tests.page.screens import open_screen
from tests.page.server import Server, serve
from tests.page.story import NOW, make_world

SIZE = {"width": 1440, "height": 860}
NARROW = {"width": 800, "height": 860}
NARROW_TOO = ("overview", "timeline", "event", "context", "decisions")  # also taken 800 pixels wide
SCREENS = {
    "overview": "#/overview",
    "timeline": "#/s/{site}",
    "decisions": "#/decisions",
    "context": "#/context?workspace=/Users/dana/Downloads",
    "compare": "#/compare?a={site}&b={fork}",
    "settings": "#/settings",
    "event": "#/s/{site}@9",
}
SCHEMES = ("light", "dark")
FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


def take(browser: Browser, server: Server, folder: Path) -> list[Path]:
    """Each screen in light and dark, some also narrow."""
    folder.mkdir(parents=True, exist_ok=True)
    pictures = []
    for scheme in SCHEMES:
        context = new_context(browser, viewport=SIZE, color_scheme=scheme, reduced_motion="reduce")
        context.clock.set_fixed_time(NOW / 1_000_000)
        page = context.new_page()
        page.goto(server.door())
        for name, address in SCREENS.items():
            open_screen(page, server, address)
            pictures.append(picture(page, folder / f"{name}-{scheme}.png"))
        page.set_viewport_size(NARROW)
        for name in NARROW_TOO:
            page.goto("about:blank")
            open_screen(page, server, SCREENS[name])
            pictures.append(picture(page, folder / f"{name}-narrow-{scheme}.png"))
        page.set_viewport_size(SIZE)
        open_screen(page, server, "#/s/{folder}@1")
        event = page.get_by_role("region", name="Event", exact=True)
        expect(event.get_by_text("Tidy notes.md and write a plan").first).to_be_visible()
        page.get_by_role("button", name="Event commands").click()
        page.get_by_role("menuitem", name="Rewind to here…").click()
        page.get_by_label("Also restore the files").check()
        pictures.append(picture(page, folder / f"rewind-{scheme}.png"))
        context.close()
    return pictures


def picture(page: Page, path: Path) -> Path:
    page.wait_for_load_state("load")
    page.evaluate(FRAMES)
    page.screenshot(path=path)
    return path


if __name__ == "__main__":
    os.environ["TZ"] = "UTC"
    time.tzset()
    with (
        tempfile.TemporaryDirectory(prefix="dana-") as folder,
        serve(make_world(Path(folder))) as server,
        chromium() as browser,
    ):
        for path in take(browser, server, Path(sys.argv[1])):
            print(path)

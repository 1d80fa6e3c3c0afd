"""The pictures of the docs, taken of the story: `python -m tests.page.pictures docs/pictures`."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from tests.page.browsing import chromium, new_context
from tests.page.serving import Served, serving
from tests.page.story import NOW, make_world

SIZE = {"width": 1240, "height": 780}
SCREENS = {
    "timeline": "#/s/{site}",
    "context": "#/context?workspace=/Users/dana/Downloads",
    "compare": "#/compare?a={site}&b={fork}",
    "settings": "#/settings",
    "event": "#/s/{site}@14",
}
SCHEMES = ("light", "dark")


def take(browser: Browser, served: Served, into: Path) -> list[Path]:
    """Each screen in light and dark; the files."""
    into.mkdir(parents=True, exist_ok=True)
    made = []
    for scheme in SCHEMES:
        context = new_context(
            browser,
            NOW // 1000,
            viewport=SIZE,
            color_scheme=scheme,
            reduced_motion="reduce",
        )
        page = context.new_page()
        page.goto(served.door())
        for name, address in SCREENS.items():
            page.goto(f"{served.origin}/{address.format(**served.world.ids)}")
            settle(page)
            made.append(into / f"{name}-{scheme}.png")
            page.screenshot(path=made[-1])
        page.goto(f"{served.origin}/#/s/{served.world.ids['folder']}@1")
        settle(page)
        event = page.get_by_role("region", name="Event", exact=True)
        expect(event.get_by_text("Tidy notes.md and write a plan").first).to_be_visible()
        page.get_by_role("button", name="Event commands").click()
        page.get_by_role("menuitem", name="Rewind to here…").click()
        page.get_by_label("Put the files back too").check()
        made.append(into / f"rewind-{scheme}.png")
        page.screenshot(path=made[-1])
        context.close()
    return made


def settle(page: Page) -> None:
    """Nothing is being read any more, and what was read is drawn."""
    expect(page.get_by_role("heading", level=1).first).to_be_visible()
    page.wait_for_load_state("load")
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


if __name__ == "__main__":
    os.environ["TZ"] = "UTC"
    time.tzset()
    with (
        tempfile.TemporaryDirectory(prefix="dana-") as folder,
        serving(make_world(Path(folder))) as served,
        chromium() as browser,
    ):
        for path in take(browser, served, Path(sys.argv[1])):
            print(path)

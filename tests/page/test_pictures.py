"""The pictures can be taken anew at any time, and show something, in both lights."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser

from tests.page.pictures import SCREENS, take
from tests.page.serving import Served

LARGEST = 400_000  # bytes: they are kept in the repository


def test_each_screen_is_pictured_in_light_and_dark(shown: Served, browser: Browser, tmp_path: Path) -> None:
    made = take(browser, shown, tmp_path)
    assert len(made) == 2 * (len(SCREENS) + 1)
    for path in made:
        assert 15_000 < path.stat().st_size < LARGEST, path.name
    assert len({path.read_bytes() for path in made}) == len(made)

"""The pictures of the documentation can be taken at any time."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser

from tests.page.pictures import NARROW_TOO, SCREENS, take
from tests.page.server import Server

MAX_BYTES = 400_000  # they are in the repository


def test_each_screen_is_pictured_in_light_and_dark(
    shared_server: Server, browser: Browser, tmp_path: Path
) -> None:
    pictures = take(browser, shared_server, tmp_path)
    assert len(pictures) == 2 * (len(SCREENS) + len(NARROW_TOO) + 1)
    for path in pictures:
        assert 15_000 < path.stat().st_size < MAX_BYTES, path.name
    assert len({path.read_bytes() for path in pictures}) == len(pictures)

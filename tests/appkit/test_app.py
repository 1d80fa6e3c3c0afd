"""The whole app over the stand-in and the real rumps: from a click to its effect in the store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.appkit.office import Office
from tests.appkit.standin.mac import Mac


@pytest.fixture
def office(mac: Mac, tmp_path: Path) -> Iterator[Office]:
    made = Office(mac, tmp_path)
    yield made
    made.memory.close()


def test_it_launches_shows_its_menu_and_quits(office: Office) -> None:
    office.work()
    titles: list[str] = []
    office.play(lambda: titles.extend(office.mac.titles()))
    assert titles[0] == "Recording"
    assert "Resume “Rename the invoices”" in titles
    assert office.left == ["left"]
    assert office.said == []

"""What every test of a verb may ask for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .desk import Desk


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    monkeypatch.setenv("TZ", "UTC")
    made = Desk(tmp_path / "memory")
    yield made
    made.close()

"""What every test of a verb may ask for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.app.memory_fixture import MemoryFixture


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MemoryFixture]:
    monkeypatch.setenv("TZ", "UTC")
    made = MemoryFixture(tmp_path / "memory")
    yield made
    made.close()

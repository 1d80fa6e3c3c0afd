from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sync.machines import Machines


@pytest.fixture
def machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machines]:
    monkeypatch.setenv("TZ", "UTC")
    found = Machines(tmp_path)
    yield found
    found.close()

"""The time suite measures states, differences and forks at every size, and snapshots at other distances."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks import long_session
from benchmarks.figures import Options
from fazm_memory.store import views


def test_every_size_is_measured_and_the_spacing_is_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long_session, "ROUNDS", (1, 1))
    monkeypatch.setattr(long_session, "SPACINGS", (100, 200))
    before = views.SPACING
    figures = list(long_session.run(Options((300, 1200), quick=True, folder=tmp_path), lambda *_: None))
    assert before == views.SPACING
    measured = [(one.what, one.events) for one in figures]
    for what in long_session.JOBS:
        assert [(what, 300), (what, 1200)] == [one for one in measured if one[0] == what]
    assert all(one.ours > 0 for one in figures)
    assert sum(one.what.startswith("snapshots every") for one in figures) == 6
    assert list(tmp_path.iterdir()) == []

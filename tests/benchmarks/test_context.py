"""The context suite measures what it says, on small stores."""

from __future__ import annotations

from pathlib import Path

from benchmarks.context import run
from benchmarks.figures import Options


def test_rendering_and_starting_are_measured_at_every_size(tmp_path: Path) -> None:
    figures = list(run(Options((1000, 2000), quick=True, folder=tmp_path), lambda what, done, total: None))
    assert [(one.what, one.events) for one in figures] == [
        ("context, rendered", 1000),
        ("context, rendered", 2000),
        ("session start", 1000),
        ("session start", 2000),
        ("session start", 1000),
        ("session start", 2000),
    ]
    assert {one.against for one in figures} == {"the same at 1,000", "true"}
    assert all(one.ours > 0 for one in figures)
    assert list(tmp_path.iterdir()) == []

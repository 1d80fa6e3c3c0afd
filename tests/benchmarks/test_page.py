"""The page suite says plainly what it lacks, and computes its ratios from two visits."""

from __future__ import annotations

import pytest

from benchmarks import page
from benchmarks.__main__ import suite
from benchmarks.events import LONG, Workload
from benchmarks.figures import Options
from benchmarks.page import SMALL, Visit, _figures, wheels
from fazm_memory.errors import NotFound


def test_without_a_browser_nothing_is_built_and_the_reason_is_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page.shutil, "which", lambda name: None)
    progress: list[str] = []
    with pytest.raises(NotFound, match="needs Chromium") as caught:
        list(suite("page")(Options(), lambda what, done, total: progress.append(what)))
    assert "apt-get install chromium" in caught.value.hint
    assert progress == []


def test_the_large_store_is_held_against_the_small_one() -> None:
    small = Visit(100, 20, 30, 40, 16, 0, 700, 0, 900, 2e6)
    large = Visit(150, 20, 30, 40, 16, 5, 700, 60, 1900, 2e6)
    figures = {figure.what: figure for figure in _figures(small, large, 10**6)}
    assert figures["first rows"].ratio == 1.5
    assert figures["first rows"].against == f"the same at {SMALL:,} events"
    assert (figures["first rows"].ok, figures["elements"].ok) == (True, False)
    assert (figures["longest task while used"].ours, figures["longest task while used"].ok) == (60, None)
    assert figures["rows scrolled over"].ratio == 1


def test_both_are_scrolled_over_rows_that_both_have() -> None:
    """An end that stops the wheel would leave frames in which nothing is to be drawn."""
    row, most_of_a_screen = 32, 1000
    at, furthest = 0, 0
    for by in wheels():
        at += by
        furthest = min(furthest, at)
        assert at <= 0  # it begins at the newest event, and there is nothing beyond it
    rows = sum(len(batch.entries) for batch in Workload(SMALL).batches() if batch.session == LONG)
    assert -furthest <= rows * row - most_of_a_screen
    assert sum(map(abs, wheels())) / row > 700

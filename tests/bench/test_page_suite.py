"""The page suite says plainly what it lacks, and computes its ratios from two visits."""

from __future__ import annotations

import pytest

from fazm_memory.bench import chromium
from fazm_memory.bench.page_suite import SMALL, _figures
from fazm_memory.bench.page_visit import Visit
from fazm_memory.bench.suites import Options, suite
from fazm_memory.errors import NotFound


def test_without_a_browser_nothing_is_built_and_the_reason_is_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chromium.shutil, "which", lambda name: None)
    told: list[str] = []
    with pytest.raises(NotFound, match="needs Chromium") as caught:
        list(suite("page")(Options(), lambda what, done, total: told.append(what)))
    assert "apt-get install chromium" in caught.value.hint
    assert told == []


def test_the_large_store_is_held_against_the_small_one() -> None:
    small = Visit(100, 20, 30, 40, 16, 0, 0, 900, 2e6)
    large = Visit(150, 20, 30, 40, 16, 5, 60, 1900, 2e6)
    figures = {figure.what: figure for figure in _figures(small, large, 10**6)}
    assert figures["first rows"].ratio == 1.5
    assert figures["first rows"].against == f"the same at {SMALL:,} events"
    assert (figures["first rows"].ok, figures["elements"].ok) == (True, False)
    assert (figures["longest task while used"].ours, figures["longest task while used"].ok) == (60, None)

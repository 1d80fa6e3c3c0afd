"""Bursts of file changes, seen by watchers in their own processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.__main__ import suite
from benchmarks.figures import Options
from benchmarks.watch import COUNT, MOST_EVENTS, make_changes, watch_burst


def test_a_burst_creates_the_files_and_renames_half_of_them(tmp_path: Path) -> None:
    for number in range(100):
        (tmp_path / f"d{number}").mkdir()
    make_changes(tmp_path, 300)
    names = [path.name[0] for path in tmp_path.rglob("*") if path.is_file()]
    assert (names.count("f"), names.count("g")) == (150, 150)


def test_our_watcher_knows_the_truth_after_a_small_burst(tmp_path: Path) -> None:
    found = watch_burst("ours", 400, tmp_path)
    assert found["wrong"] == 0
    assert list(tmp_path.iterdir()) == []


def test_a_burst_does_not_fill_the_log(tmp_path: Path) -> None:
    found = watch_burst("whole", 1500, tmp_path)
    assert found["wrong"] == 0
    assert found["logged"] <= MOST_EVENTS


@pytest.mark.campaign
def test_fifty_thousand_files_end_in_the_truth_and_not_in_the_log(tmp_path: Path) -> None:
    figures = {
        one.what: one for one in suite("watch")(Options(folder=tmp_path), lambda what, done, total: None)
    }
    assert {one.events for one in figures.values()} == {COUNT}
    assert figures["paths not known or wrong"].ours == 0
    assert figures["with log and versions: wrong"].ours == 0
    assert figures["with log and versions: events"].ok

"""A storm of files, seen by watchers in processes of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from fazm_memory.bench.suites import Options, suite
from fazm_memory.bench.watching import COUNT, MOST_EVENTS, make_storm, storm


def test_a_storm_makes_as_many_files_as_it_says_and_renames_half_of_them(tmp_path: Path) -> None:
    for number in range(100):
        (tmp_path / f"d{number}").mkdir()
    make_storm(tmp_path, 300)
    names = [path.name[0] for path in tmp_path.rglob("*") if path.is_file()]
    assert (names.count("f"), names.count("g")) == (150, 150)


def test_our_watcher_knows_the_truth_after_a_small_storm(tmp_path: Path) -> None:
    found = storm("ours", 400, tmp_path)
    assert found["wrong"] == 0
    assert list(tmp_path.iterdir()) == []


def test_a_storm_does_not_reach_the_log(tmp_path: Path) -> None:
    found = storm("whole", 1500, tmp_path)
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

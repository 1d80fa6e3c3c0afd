"""Counts as people say them."""

from __future__ import annotations

from fazm_memory.model.counting import plural, they


def test_one_and_many() -> None:
    assert plural(1, "file") == "1 file"
    assert plural(0, "file") == "0 files"
    assert plural(1200, "file") == "1,200 files"


def test_what_they_do() -> None:
    assert they(1, "file", "are") == "1 file is"
    assert they(2, "file", "were") == "2 files were"
    assert they(1, "event", "have") == "1 event has"

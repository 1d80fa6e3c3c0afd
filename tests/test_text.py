"""Counts as people say them."""

from __future__ import annotations

from fazm_memory.text import plan_title, plural, plural_with_verb


def test_one_and_many() -> None:
    assert plural(1, "file") == "1 file"
    assert plural(0, "file") == "0 files"
    assert plural(1200, "file") == "1,200 files"


def test_what_they_do() -> None:
    assert plural_with_verb(1, "file", "are") == "1 file is"
    assert plural_with_verb(2, "file", "were") == "2 files were"
    assert plural_with_verb(1, "event", "have") == "1 event has"


def test_the_title_of_a_plan_is_its_heading() -> None:
    assert plan_title("# Plan: Rotate the keys\n\n## Context\nold") == "Rotate the keys"
    assert plan_title("# Implementation Plan\n\n## Cache the index\n1. …") == "Cache the index"


def test_a_plan_without_a_heading_is_titled_by_its_first_line() -> None:
    assert plan_title("\nPlan: move **two** files\nthen test") == "move **two** files"


def test_a_long_title_is_cut_at_a_word() -> None:
    title = plan_title("# " + "word " * 40)
    assert len(title) <= 120
    assert title.endswith("word…")

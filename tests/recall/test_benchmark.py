"""The recall benchmark holds: answers are in the context, and search finds them."""

from __future__ import annotations

from collections import Counter

import pytest

from fazm_memory.bench.history import NotAHistory, histories
from fazm_memory.bench.recall import Asked, all_histories, ask_all, newest, shares


@pytest.fixture(scope="module")
def asked() -> list[Asked]:
    return list(ask_all(all_histories()))


def test_there_are_enough_histories_of_every_sort() -> None:
    told = all_histories()
    assert len(told) >= 40
    assert len({one.name for one in told}) == len(told)
    assert {"filing", "coding", "research", "mixed", "interrupted", "parallel", "compacted"} == {
        one.sort for one in told
    }
    sorts = Counter(question.sort for one in told for question in one.questions)
    wanted = ("which folders", "what convention", "what was skipped", "why", "what failed", "what is open",
              "what changed since")  # fmt: skip
    assert min(sorts[sort] for sort in wanted) >= 5


def test_the_context_holds_the_answers_within_its_budget(asked: list[Asked]) -> None:
    missed = [(one.history, one.question.words) for one in asked if not one.context]
    assert shares(asked)["all"]["context"] >= 0.95, missed


def test_search_finds_the_answers_in_the_first_five(asked: list[Asked]) -> None:
    missed = [(one.history, one.question.words) for one in asked if not one.search]
    assert shares(asked)["all"]["search"] >= 0.95, missed


def test_what_is_usually_handed_on_holds_far_fewer(asked: list[Asked]) -> None:
    told = shares(asked)["all"]
    assert told["context"] > told["messages"] + 0.2
    assert told["context"] > told["actions"] + 0.2


def test_a_line_that_means_nothing_is_refused() -> None:
    with pytest.raises(NotAHistory):
        histories("== x (y)\n@ 2026-11-14 10:00 k fazm /w\nnonsense here")


def test_the_newest_lines_fill_the_room() -> None:
    assert newest(["one", "", "two", "three"], 10) == "two\nthree"

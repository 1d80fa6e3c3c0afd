"""The recall benchmark holds: answers are in the context, and search finds them."""

from __future__ import annotations

from collections import Counter

import pytest

from benchmarks.recall import (
    InvalidHistory,
    QuestionResult,
    all_histories,
    ask_all,
    desktop_days,
    histories,
    newest,
    shares,
)


@pytest.fixture(scope="module")
def asked() -> list[QuestionResult]:
    return list(ask_all(all_histories()))


def test_there_are_enough_histories_of_every_sort() -> None:
    results = all_histories()
    assert len(results) >= 40
    assert len({one.name for one in results}) == len(results)
    assert {"filing", "coding", "research", "mixed", "interrupted", "parallel", "compacted"} == {
        one.sort for one in results
    }
    sorts = Counter(question.sort for one in results for question in one.questions)
    wanted = ("which folders", "what convention", "what was skipped", "why", "what failed", "what is open",
              "what changed since")  # fmt: skip
    assert min(sorts[sort] for sort in wanted) >= 5


def test_the_context_holds_the_answers_within_its_budget(asked: list[QuestionResult]) -> None:
    missed = [(one.history, one.question.words) for one in asked if not one.context]
    assert shares(asked)["all"]["context"] >= 0.95, missed


def test_search_finds_the_answers_in_the_first_five(asked: list[QuestionResult]) -> None:
    missed = [(one.history, one.question.words) for one in asked if not one.search]
    assert shares(asked)["all"]["search"] >= 0.95, missed


def test_what_is_usually_handed_on_holds_far_fewer(asked: list[QuestionResult]) -> None:
    result = shares(asked)["all"]
    assert result["context"] > result["messages"] + 0.2
    assert result["context"] > result["actions"] + 0.2


def test_a_line_that_means_nothing_is_refused() -> None:
    with pytest.raises(InvalidHistory):
        histories("== x (y)\n@ 2026-11-14 10:00 k fazm /w\nnonsense here")


def test_the_newest_lines_fill_the_room() -> None:
    assert newest(["one", "", "two", "three"], 10) == "two\nthree"


def test_desktop_days_that_are_told_in_words_are_handed_over() -> None:
    days = desktop_days()
    assert len(days) >= 12
    assert not {day.name for day in days} & {history.name for history in all_histories()}
    asked = list(ask_all(days))
    missed = [f"{result.history}: {result.question.words}" for result in asked if not result.context]
    assert shares(asked)["all"]["context"] >= 0.95, missed

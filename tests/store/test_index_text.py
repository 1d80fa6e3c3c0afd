"""The words an event is indexed by."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from fazm_memory.events.event import (
    Action,
    Evicted,
    FileChange,
    FileTouch,
    Gap,
    HandoffAnswer,
    Message,
    Usage,
)
from fazm_memory.store.search_text import MOST, event_text, flat
from tests.laws.strategies import histories, json_values
from tests.scribe import event


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("parseInvoiceDate", {"parse", "Invoice", "Date"}),
        ("see getURL2Path now", {"get", "Path"}),
    ],
)
def test_identifiers_are_split_into_their_words(text: str, parts: set[str]) -> None:
    words = event_text(event(Message(text))).split()
    assert words[: len(text.split())] == text.split()
    assert parts <= set(words)


@pytest.mark.parametrize("text", ["plain words", "ALL CAPS", "Title Case", "snake_case", "größe"])
def test_other_text_is_left_as_it_is(text: str) -> None:
    assert event_text(event(Message(text))) == text


def test_what_says_nothing_has_no_words() -> None:
    assert event_text(event(("action", None))) == ""
    assert event_text(event(Usage(1, 2))) == ""


def test_a_long_event_is_indexed_by_its_beginning() -> None:
    assert len(event_text(event(Message("word " * 5000)))) <= MOST


@pytest.mark.parametrize(
    ("expected", "words"),
    [
        (Action("Bash", {"a": ["x", {"b": 7}]}), ["Bash", "x", "7"]),
        (Action("mv", files=(FileTouch("/p", "renamed", "/o"),)), ["mv", "/p", "/o"]),
        (FileChange("/a/b", "deleted"), ["deleted", "/a/b"]),
        (Evicted(("plan",), "sum"), ["sum", "plan"]),
        (HandoffAnswer("q", {"yes": "left"}), ["left"]),
        (Gap("asleep", "a", "b", "lid"), ["asleep", "lid"]),
    ],
)  # fmt: skip
def test_every_kind_is_reported_by_what_people_look_for(expected: Any, words: list[str]) -> None:
    assert set(words) <= set(event_text(event(expected)).split())


def test_flattening_goes_in_order_and_stops_when_the_room_is_used() -> None:
    assert list(flat({"a": "one", "b": ["two", 3, True, None]})) == ["one", "b", "two", "3"]
    assert "".join(flat(["abc", "def"], room=4)) == "abcdef"[: 3 + 1]


def test_a_value_however_deep_is_flattened() -> None:
    deep: Any = "bottom"
    for _ in range(5000):
        deep = [deep]
    assert list(flat(deep)) == ["bottom"]


@given(value=json_values)
def test_any_value_can_be_flattened(value: Any) -> None:
    assert all(isinstance(one, str) for one in flat(value))


@given(history=histories(max_size=6))
def test_any_event_has_words_or_none(history: list[Any]) -> None:
    for one in history:
        assert len(event_text(one)) <= 3 * MOST

"""What comes out of a record has the type that was asked for, and is bounded, finite and storable."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fazm_memory.agents.fields import (
    bounded,
    capped,
    ident,
    mapping,
    moment,
    moment_ms,
    record_of,
    sequence,
    text,
    tokens,
    whole,
)

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@pytest.mark.parametrize(
    ("line", "record"),
    [
        (b'{"a":1}\n', {"a": 1}),
        (b'\0\0{"a":1}', {"a": 1}),
        ('\ufeff{"a":1}', {"a": 1}),
        (b'{"a":NaN,"b":-Infinity}', {"a": None, "b": None}),
        (b'{"a":"\\ud800","b":"\\ud83d\\ude00"}', {"a": "\ufffd", "b": "😀"}),
        (b"[1]", None),
        (b'{"a":', None),
        (b"\xff\xfe", None),
        (b'{"a":' + b"[" * 100_000, None),
    ],
)
def test_a_line_is_a_record_or_nothing(line: bytes | str, record: dict[str, Any] | None) -> None:
    assert record_of(line) == record


@given(anything)
def test_every_field_has_the_type_it_was_asked_for(value: Any) -> None:
    assert isinstance(text(value), str)
    assert isinstance(mapping(value), dict)
    assert isinstance(sequence(value), list)
    assert ident(value) == "" or ident(value) == value
    assert tokens(value) >= 0
    for number in (whole(value), moment(value), moment_ms(value)):
        assert number is None or isinstance(number, int)


@given(anything, st.integers(min_value=300, max_value=2000))
def test_a_bounded_value_can_be_written_and_is_bounded_once_and_for_all(value: Any, limit: int) -> None:
    once = bounded(value, limit)
    assert len(json.dumps(once, allow_nan=False)) < limit * 20
    assert bounded(once, limit) == once


def test_what_says_that_a_text_was_left_out_is_not_left_out_in_its_turn() -> None:
    once = bounded(["a" * 280, *[None] * 5, "b" * 40, "c" * 15], 300)
    assert once[6:] == ["… 40 characters left out …", "… 15 characters left out …"]
    assert bounded(once, 300) == once


def test_a_small_value_is_left_as_it_is() -> None:
    value = {"command": "ls", "timeout": 5, "env": [None, True, 1.5]}
    assert bounded(value, 1000) is value


def test_what_is_long_deep_or_wide_is_cut() -> None:
    deep: Any = "bottom"
    for _ in range(900):
        deep = [deep]
    assert "…" in json.dumps(bounded(deep, 1000), ensure_ascii=False)
    assert len(json.dumps(bounded({"a": "x" * 10_000, "b": "y" * 10_000}, 1000))) < 1500
    assert len(bounded(list(range(10_000)), 1000)) <= 2000


def test_a_capped_text_keeps_its_two_ends_and_says_what_it_lost() -> None:
    cut = capped("a" * 600 + "b" * 600, 400)
    assert len(cut) <= 400
    assert cut.startswith("aaa")
    assert cut.endswith("bbb")
    assert "characters left out" in cut
    assert capped("short", 400) == "short"


def test_moments_are_read_from_text_and_from_milliseconds() -> None:
    assert moment("2026-11-16T04:03:00.5Z") == moment_ms(1794801780500) == 1794801780500000
    assert moment("2026-13-45") is moment(7) is moment_ms("7") is moment_ms(10**20) is None

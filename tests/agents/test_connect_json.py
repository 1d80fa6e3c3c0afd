"""Members and items go in and out of JSON, and no other byte moves."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fazm_memory.agents.config_edit import NotJson, add_item, add_member, parse, remove

OURS: dict[str, Any] = {"command": "run", "args": ["a", 1]}

SHAPES = [
    '{\n  "a": 1\n}\n',
    '{\n    "a": {"b": []},\n    "c": "x"\n}',
    '{\n\t"a": 1,\n\t"b": 2\n}\n',
    '{"a":1}',
    '{ "a": 1 }\n',
    '{\r\n  "a": 1\r\n}\r\n',
    '\ufeff{\n  "a": 1\n}\n',
    '{\n  // why\n  "a": 1, // the first\n  "b": 2 // the last\n}\n',
    '{\n  "a": 1, /* in */ "b": [1, 2,],\n}\n',
    '{\n  "a": 1\n  // the end\n}\n',
    '{"a": "}{][,:\\"//"}',
    '{\n  "a": 1,\n\n\n  "b": 2\n\n}\n\n\n',
    '{\n  "ä€😀": "Ünïcode"\n}\n',
]


@pytest.mark.parametrize("text", SHAPES)
def test_what_is_put_in_is_there_and_what_is_taken_out_leaves_the_bytes_as_they_were(text: str) -> None:
    longer = add_member(text, (), "ours", OURS)

    assert parse(longer).value == {**parse(text).value, "ours": OURS}
    assert remove(longer, (), lambda one: one.key == "ours") == text


@pytest.mark.parametrize("text", SHAPES)
def test_the_users_own_lines_are_all_still_there_in_their_order(text: str) -> None:
    longer = add_member(text, (), "ours", OURS)

    rest = iter(longer)
    assert all(char in rest for char in text)  # the old text is a subsequence of the new one


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("{}", '{\n  "ours": 1\n}'),
        ("{}\n", '{\n  "ours": 1\n}\n'),
        ('{\n  "a": 1\n}\n', '{\n  "a": 1,\n  "ours": 1\n}\n'),
        ('{\n\t"a": 1 // one\n}\n', '{\n\t"a": 1, // one\n\t"ours": 1\n}\n'),
        ('{\n    "a": 1,\n}\n', '{\n    "a": 1,\n    "ours": 1,\n}\n'),
        ('{"a":1}', '{"a":1, "ours": 1}'),
        ("{ // nothing yet\n}\n", '{ // nothing yet\n  "ours": 1\n}\n'),
    ],
)
def test_it_is_written_as_the_rest_is(text: str, wanted: str) -> None:
    assert add_member(text, (), "ours", 1) == wanted


def test_below_and_in_lists() -> None:
    text = '{\n  "hooks": {\n    "Start": [\n      {"x": 1}\n    ]\n  }\n}\n'

    longer = add_item(text, ("hooks", "Start"), {"y": 2})

    assert longer == text.replace('{"x": 1}', '{"x": 1},\n      {\n        "y": 2\n      }')
    assert remove(longer, ("hooks", "Start"), lambda one: one.child("y") is not None) == text
    assert parse(remove(text, ("hooks", "Start", 0), lambda one: True)).value == {"hooks": {"Start": [{}]}}


def test_an_entry_in_the_middle_or_at_the_front_goes_without_a_trace() -> None:
    text = '{\n  "ours": 1, // mine\n  "a": 1,\n  "ours2": [\n    1\n  ],\n  "b": 2\n}\n'

    left = remove(text, (), lambda one: str(one.key).startswith("ours"))

    assert parse(left).value == {"a": 1, "b": 2}
    assert '"a": 1,\n  "b": 2\n}\n' in left


def test_a_comment_never_swallows_what_follows() -> None:
    text = '{\n  "a": 1, // note\n  "ours": 1 }'

    assert parse(remove(text, (), lambda one: one.key == "ours")).value == {"a": 1}


def test_of_two_members_with_one_name_the_last_counts_as_it_does_for_agents() -> None:
    found = parse('{"a": {"x": 1}, "a": {"y": 2}}').child("a")

    assert found is not None
    assert found.value == {"y": 2}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[1",
        '{"a"}',
        '{"a" 1}',
        "{1: 2}",
        '{"a": }',
        '{"a": 1 "b": 2}',
        "{} x",
        "/* {}",
        "nul",
        "[" * 300,
    ],
)
def test_what_is_not_json_is_refused(text: str) -> None:
    with pytest.raises(NotJson):
        parse(text)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


@given(
    value=st.dictionaries(st.text(max_size=5).filter(lambda name: name != "ours"), JSON, max_size=4),
    indent=st.sampled_from([None, 1, 2, 4, "\t"]),
    ours=JSON,
)
def test_any_document_in_any_indentation(value: dict[str, Any], indent: Any, ours: Any) -> None:
    text = json.dumps(value, indent=indent)

    longer = add_member(text, (), "ours", ours)

    assert parse(longer).value == {**value, "ours": ours}
    assert remove(longer, (), lambda one: one.key == "ours") == text

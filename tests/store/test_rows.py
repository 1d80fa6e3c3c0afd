"""How an event lies in its table: whichever encoder wrote it, the bytes say all of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fazm_memory.events import codec
from fazm_memory.events.codec import PayloadError
from fazm_memory.events.event import KINDS, Fact, read_payload
from fazm_memory.store.event_log import parse_json, to_stored, unpack
from tests.laws.strategies import PAYLOADS

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(data=st.data(), kind=st.sampled_from(sorted(KINDS)))
def test_stored_bytes_say_all_of_a_payload(data: st.DataObject, kind: str) -> None:
    made = data.draw(PAYLOADS[kind])
    result = parse_json(unpack(to_stored(made)))
    assert result == json.loads(codec.to_bytes(made))
    assert read_payload(kind, KINDS[kind].version, result) == made


@pytest.mark.parametrize(
    "value", [2**64, -(2**70), None, [None, 1], {"a": None}, 1e300, 0.1, "null", "größe 😀", [[[]]] * 3]
)
def test_every_value_of_json_comes_back_as_it_was(value: Any) -> None:
    assert json.loads(unpack(to_stored(Fact("k", value))))["value"] == value


@pytest.mark.parametrize(
    "value", [float("nan"), [1, float("inf")], "half a pair: \ud83d", {"\udc00": 1}, b"bytes", {"a": {1, 2}}]
)
def test_what_json_cannot_hold_is_refused_and_not_guessed(value: Any) -> None:
    with pytest.raises(PayloadError, match="cannot be kept as JSON"):
        to_stored(Fact("k", value))


def test_compact_bytes_in_the_order_of_the_fields() -> None:
    assert to_stored(Fact("k", {"b": 1, "a": "é"})) == '{"key":"k","value":{"b":1,"a":"é"}}'.encode()


@given(JSON_VALUES)
def test_what_is_kept_is_read_as_the_patient_parser_reads_it(value: Any) -> None:
    stored = to_stored(Fact("k", value))
    assert repr(parse_json(unpack(stored))) == repr(json.loads(unpack(stored)))


@pytest.mark.parametrize(
    "text",
    [
        '{"n":18446744073709551616}',
        '{"n":-9999999999999999999}',
        '{"n":1234567890123456789012345678901234567890}',
        '{"n":9223372036854775807,"m":-9223372036854775808,"o":999999999999999999}',
        '{"n":0.1234567890123456789012345,"m":1e22,"o":-0.0}',
        '{"n":"\\ud800"}',
        '{"n":NaN}',
    ],
)
def test_what_the_quick_parser_gets_wrong_or_refuses_is_read_all_the_same(text: str) -> None:
    assert repr(parse_json(text.encode())) == repr(json.loads(text))

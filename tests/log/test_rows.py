"""How an event lies in its table: whichever encoder wrote it, the bytes say all of it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fazm_memory.log.rows import to_stored, unpack
from fazm_memory.model import codec
from fazm_memory.model.codec import PayloadError
from fazm_memory.model.events import KINDS, read_payload
from fazm_memory.model.payloads import Fact
from tests.laws.strategies import PAYLOADS


@given(data=st.data(), kind=st.sampled_from(sorted(KINDS)))
def test_stored_bytes_say_all_of_a_payload(data: st.DataObject, kind: str) -> None:
    made = data.draw(PAYLOADS[kind])
    told = json.loads(unpack(to_stored(made)))
    assert told == json.loads(codec.to_bytes(made))
    assert read_payload(kind, KINDS[kind].version, told) == made


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

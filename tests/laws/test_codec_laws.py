"""Encoding and decoding are inverses, for every payload the log can hold."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fazm_memory.events import codec
from fazm_memory.events.codec import PayloadError
from fazm_memory.events.event import KINDS, canonical_json, input_hash, read_payload
from tests.laws.strategies import PAYLOADS, json_values, payload, payload_classes


@pytest.mark.parametrize("cls", payload_classes, ids=lambda cls: cls.__name__)
@given(data=st.data())
def test_a_payload_comes_back_from_json_as_it_was(cls: type, data: st.DataObject) -> None:
    made = data.draw(payload(cls))
    assert codec.decode(cls, json.loads(json.dumps(codec.encode(made)))) == made


@given(data=st.data(), kind=st.sampled_from(sorted(KINDS)))
def test_the_stored_bytes_of_a_payload_say_all_of_it(data: st.DataObject, kind: str) -> None:
    made = data.draw(PAYLOADS[kind])
    stored = codec.to_bytes(made)
    assert read_payload(kind, KINDS[kind].version, json.loads(stored)) == made
    assert codec.to_bytes(read_payload(kind, KINDS[kind].version, json.loads(stored))) == stored


@given(data=st.data(), kind=st.sampled_from(sorted(KINDS)), name=st.text(min_size=1), value=json_values)
def test_a_field_nobody_declared_is_refused(data: st.DataObject, kind: str, name: str, value: Any) -> None:
    cls = KINDS[kind].payload
    raw = codec.encode(data.draw(PAYLOADS[kind]))
    if name not in {slot.name for slot in codec.fields_of(cls)}:
        with pytest.raises(PayloadError, match="unknown field"):
            codec.decode(cls, raw | {name: value})


@given(raw=json_values, kind=st.sampled_from(sorted(KINDS)))
def test_any_json_is_decoded_or_refused_in_words(raw: Any, kind: str) -> None:
    cls = KINDS[kind].payload
    try:
        made: Any = codec.decode(cls, raw)
    except PayloadError as error:
        refused = str(error)
    else:
        refused = ""
        assert codec.decode(cls, codec.encode(made)) == made
    assert refused or isinstance(made, cls)


@given(value=json_values)
def test_canonical_json_is_one_spelling_however_the_keys_were_ordered(value: Any) -> None:
    def shuffled(one: Any) -> Any:
        if isinstance(one, dict):
            return {key: shuffled(one[key]) for key in reversed(one)}
        return [shuffled(inner) for inner in one] if isinstance(one, list) else one

    assert canonical_json(shuffled(value)) == canonical_json(value)
    assert input_hash("Bash", shuffled(value)) == input_hash("Bash", value)
    assert input_hash("Bash", value) != input_hash("Read", value)

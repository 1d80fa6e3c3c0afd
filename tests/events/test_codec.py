"""Decoding is strict and says where: a payload is kept for years."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from fazm_memory.events import codec
from fazm_memory.events.codec import PayloadError, decode, encode, json_schema, to_bytes
from fazm_memory.events.event import (
    KINDS,
    Action,
    Decision,
    Fact,
    FileTouch,
    Forgotten,
    Handoff,
    Prompt,
    Usage,
)


@pytest.mark.parametrize(
    ("cls", "raw", "words"),
    [
        (Prompt, {}, "text is missing"),
        (Prompt, {"text": 3}, "text must be text, not a whole number"),
        (Prompt, {"text": None}, "text must be text, not null"),
        (Prompt, ["text"], "the payload must be an object, not a list"),
        (Prompt, {"text": "x", "tone": "calm"}, "unknown field tone. Known are text"),
        (Action, {"tool": "t", "outcome": "fine"}, "outcome must be one of ok, error, denied"),
        (Action, {"tool": "t", "duration_ms": True}, "duration_ms must be a whole number, not true or false"),
        (Action, {"tool": "t", "duration_ms": 1.5}, "duration_ms must be a whole number, not a number"),
        (Action, {"tool": "t", "files": {}}, "files must be a list, not an object"),
        (Action, {"tool": "t", "files": [{"path": "a"}]}, r"files\[0\].change is missing"),
        (Action, {"tool": "t", "files": [{"path": "a", "change": "read", "x": 1}]}, r"field files\[0\].x"),
        (Decision, {"what": "a", "alternatives": ["b", 4]}, r"alternatives\[1\] must be text"),
        (Handoff, {"id": "a", "to": "cat", "note": "n"}, "to must be one of human, agent, not 'cat'"),
        (Handoff, {"id": "a", "to": "human", "note": "n", "answer_schema": 4}, "must be an object"),
        (Forgotten, {"count": 1, "reason": "r", "ranges": [[1, "2"]]}, r"ranges\[0\]\[1\] must be a whole"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(cls: type, raw: Any, words: str) -> None:
    with pytest.raises(PayloadError, match=words):
        decode(cls, raw)


def test_what_is_at_its_default_is_left_out_and_comes_back() -> None:
    assert encode(Action("Bash")) == {"tool": "Bash"}
    assert decode(Action, {"tool": "Bash"}) == Action("Bash")


def test_a_required_field_is_written_even_when_it_says_nothing() -> None:
    assert encode(Fact("k", None)) == {"key": "k", "value": None}


def test_from_is_spelt_as_the_contract_spells_it() -> None:
    touch = FileTouch("/b", "renamed", origin="/a")
    assert encode(touch) == {"path": "/b", "change": "renamed", "from": "/a"}
    assert encode(Action("mv", files=(touch,)))["files"] == [encode(touch)]


def test_stored_bytes_are_compact_utf8_in_the_order_of_the_fields() -> None:
    made = Action("mv", input={"b": 1, "a": "é"}, duration_ms=3)
    assert to_bytes(made) == '{"tool":"mv","input":{"b":1,"a":"é"},"duration_ms":3}'.encode()


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), "half a pair: \ud83d", {"\udc00": 1}, b"bytes"]
)
def test_what_json_cannot_hold_is_refused_in_words(value: Any) -> None:
    with pytest.raises(PayloadError, match="cannot be kept as JSON"):
        to_bytes(Fact("k", value))


def test_a_literal_is_matched_by_its_type_too() -> None:
    check = codec.checker(Literal[1, "a"])
    assert [check(1, "n"), check("a", "n")] == [1, "a"]
    with pytest.raises(PayloadError, match="must be one of 1, a"):
        check(True, "n")


def test_whole_numbers_pass_where_numbers_are_asked_for() -> None:
    assert codec.checker(float)(2, "n") == 2.0


def test_a_schema_names_every_field_and_admits_no_other() -> None:
    schema = json_schema(Usage)
    assert set(schema["properties"]) == {
        "input_tokens",
        "output_tokens",
        "cached_tokens",
        "budget_tokens",
        "model",
        "cost_usd",
        "budget_usd",
        "budget_seconds",
        "budget_actions",
        "written_tokens",
        "written_hour_tokens",
    }
    assert schema["required"] == []
    assert schema["additionalProperties"] is False
    assert json_schema(FileTouch)["properties"]["from"] == {"anyOf": [{"type": "string"}, {"type": "null"}]}


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_has_a_schema_with_its_required_fields(kind: str) -> None:
    schema = json_schema(KINDS[kind].payload)
    required = [slot.name for slot in codec.fields_of(KINDS[kind].payload) if slot.required]
    assert schema["required"] == required
    assert set(required) <= set(schema["properties"])

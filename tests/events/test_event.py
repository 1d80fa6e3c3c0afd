"""Kinds, their versions, and the upcasters that read the old ones."""

from __future__ import annotations

from dataclasses import dataclass, is_dataclass
from typing import Any

import pytest

from fazm_memory.events import event as events
from fazm_memory.events.codec import PayloadError
from fazm_memory.events.event import (
    KINDS,
    EventKind,
    NewerVersion,
    Prompt,
    UnknownKind,
    canonical_json,
    input_hash,
    payload_class,
    read_payload,
    target_of,
)
from fazm_memory.events.kinds import KIND_NAMES
from tests.scribe import event


@dataclass(frozen=True)
class Weather:
    """A made-up kind in its third version: degrees were a number, then text, then got a scale."""

    degrees: float
    scale: str


WEATHER = EventKind(
    "weather",
    Weather,
    version=3,
    upcasters={
        1: lambda raw: {"temperature": str(raw["temp"])},
        2: lambda raw: {"degrees": float(raw["temperature"]), "scale": "C"},
    },
)


@pytest.fixture
def _weather(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(events.KINDS, "weather", WEATHER)


@pytest.mark.usefixtures("_weather")
def test_every_older_version_is_brought_up_step_by_step() -> None:
    assert read_payload("weather", 1, {"temp": 21}) == Weather(21.0, "C")
    assert read_payload("weather", 2, {"temperature": "21"}) == Weather(21.0, "C")
    assert read_payload("weather", 3, {"degrees": 70.0, "scale": "F"}) == Weather(70.0, "F")


@pytest.mark.usefixtures("_weather")
def test_reading_an_old_version_leaves_what_was_stored_alone() -> None:
    raw = {"temp": 21}
    read_payload("weather", 1, raw)
    assert raw == {"temp": 21}


@pytest.mark.usefixtures("_weather")
def test_a_newer_version_is_refused_and_never_guessed_at() -> None:
    with pytest.raises(NewerVersion, match="weather version 4 was written by a newer"):
        read_payload("weather", 4, {"degrees": 70.0, "scale": "F"})


def test_a_kind_of_the_future_is_refused_and_never_guessed_at() -> None:
    with pytest.raises(NewerVersion, match="newer Fazm Memory"):
        read_payload("dream", 1, {})


def test_there_is_an_upcaster_from_every_version_that_was_ever_written() -> None:
    for kind in KINDS.values():
        assert set(kind.upcasters) == set(range(1, kind.version)), kind.name


def test_a_kind_is_known_by_its_own_name() -> None:
    assert all(name == kind.name for name, kind in KINDS.items())


def test_a_kind_nobody_knows_is_reported_by_name() -> None:
    with pytest.raises(UnknownKind, match="'dream'"):
        payload_class("dream")
    assert issubclass(UnknownKind, PayloadError)


def test_events_and_payloads_cannot_be_changed() -> None:
    made = event(Prompt("hello"))
    with pytest.raises(AttributeError):
        made.seq = 4  # type: ignore[misc]
    for kind in KINDS.values():
        assert is_dataclass(kind.payload)
        assert kind.payload.__dataclass_params__.frozen, kind.name  # type: ignore[attr-defined]


def test_what_matters_is_in_the_durable_tier() -> None:
    transient = {name for name, kind in KINDS.items() if not kind.durable}
    assert transient == {
        "prompt", "message", "action.start", "action", "action.amend", "file", "seen", "app", "unknown",
    }  # fmt: skip


def test_equal_values_have_one_spelling() -> None:
    assert canonical_json({"b": 1, "a": "é"}) == '{"a":"é","b":1}'.encode()


def test_the_hash_of_an_input_tells_tools_apart_and_ignores_the_order_of_keys() -> None:
    assert input_hash("t", {"a": 1, "b": 2}) == input_hash("t", {"b": 2, "a": 1})
    assert input_hash("t", {"a": 1}) != input_hash("u", {"a": 1})
    assert input_hash("t", {"a": 1}) != input_hash("t", {"a": "1"})
    assert len(input_hash("t", None)) == 32


def test_the_names_of_kinds_are_those_of_the_kinds() -> None:
    assert tuple(KINDS) == KIND_NAMES


@pytest.mark.parametrize(
    ("call_input", "target"),
    [
        ({"command": "ls -a\n"}, "ls -a"),
        ({"files": [{"path": "/a.txt"}, {"path": "/b.txt"}]}, "/a.txt /b.txt"),
        (
            {"todos": [{"id": "1", "content": "check parser"}, {"id": "2", "content": "ship"}]},
            "check parser ship",
        ),
        ({"where": {"depth": 2}}, '{"depth":2}'),
        ({"paths": ["/a", "/b"]}, "/a /b"),
        ("plain", "plain"),
    ],
)
def test_the_target_of_a_call_is_text_that_people_read(call_input: Any, target: str) -> None:
    assert target_of(call_input) == target

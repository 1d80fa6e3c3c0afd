"""What was typed wrongly ends with 2 and in words, what is not there with 4."""

from __future__ import annotations

import pytest

from .conftest import Run

HUGE = "9" * 40


@pytest.mark.parametrize(
    "typed",
    [
        ["events", "ID", "--turns", HUGE],
        ["events", "ID", "--turns", "5-2"],
        ["events", "ID", "--turns", "3-"],
        ["events", "ID", "--limit", HUGE],
        ["state", "ID", "--at", "x"],
        ["diff", "ID", "a", "b"],
        ["files", "ID", "--turns", "0"],
        ["context", "--budget", "much"],
        ["rewind", "ID", "--to", "1.5"],
        ["quarantine", "ID", "--seq", "²"],
        ["quarantine", "ID", "--lift"],
        ["handoff", "ID", "--to", "human", "--note", "?", "--schema", "{"],
        ["handoff", "ID", "--to", "human", "--note", "?", "--schema", "[]"],
        ["handoff", "ID", "--to", "human", "--note", "?", "--schema", '{"type": "nothing"}'],
        ["handoff", "ID", "--to", "human", "--note", " "],
        ["open", "--key", ""],
        ["answer", "ID", "q"],
        ["facts", "add", " ", "value"],
        ["exclude", "--remove"],
        ["exclude", "--folder", ""],
        ["serve", "--port", "99999999"],
        ["recording", "pause", "soon"],
    ],
    ids=" ".join,
)
def test_what_was_typed_wrongly_is_a_usage_error(run: Run, session: str, typed: list[str]) -> None:
    results = run(*[session if one == "ID" else one for one in typed])
    assert results.code == 2, results
    assert "invalid int value" not in results.err


@pytest.mark.parametrize(
    "typed",
    [
        ["state", "ID", "--at", HUGE],
        ["state", "ID", "--at", "-1"],
        ["diff", "ID", "0", HUGE],
        ["rewind", "ID", "--to", HUGE],
        ["quarantine", "ID", "--seq", "4"],
        ["quarantine", "ID", "--seq", HUGE],
    ],
    ids=" ".join,
)
def test_a_place_that_is_not_there_is_reported_to_be_missing(
    run: Run, session: str, typed: list[str]
) -> None:
    assert run(*[session if one == "ID" else one for one in typed]).code == 4


def test_nothing_typed_wrongly_is_recorded(run: Run, session: str) -> None:
    before = run("events", session, "--json").json
    run("handoff", session, "--to", "human", "--note", "?", "--schema", "{")
    run("facts", "add", "", "value")
    run("exclude", "--folder", "")
    assert run("events", session, "--json").json == before
    assert run("facts", "--json").json == []
    assert run("exclude", "--json").json["folders"] == []

"""Durable facts: superseded, retracted, never silently overwritten."""

from __future__ import annotations

import pytest

from .conftest import Run

LATER = "2026-11-15T09:01:00+00:00"


def test_a_persons_fact_is_a_preference_in_every_context(run: Run, session: str) -> None:
    assert run("facts", "add", "date format", "ISO").code == 0
    fact = run("facts", "--json").json[0]
    assert (fact["key"], fact["value"], fact["trust"], fact["actor"]) == (
        "date format",
        "ISO",
        "user",
        "person",
    )
    assert 'preference "date format" = "ISO" [user]' in run("context", "--workspace", "/w").out


def test_a_later_word_supersedes_and_the_history_keeps_both(run: Run) -> None:
    run("facts", "add", "k", "one")
    run("facts", "add", "k", "two", now=LATER)
    assert [fact["value"] for fact in run("facts", "--json", now=LATER).json] == ["two"]
    assert [fact["value"] for fact in run("facts", "--json").json] == ["one"]
    history = run("facts", "list", "k", "--history", "--json", now=LATER).json
    assert [fact["value"] for fact in history] == ["one", "two"]


def test_an_agent_does_not_overrule_the_user(run: Run) -> None:
    run("facts", "add", "k", "mine")
    later = "2026-11-15T10:00:00+00:00"
    run("record", stdin=[{"type": "fact", "session": "s", "key": "k", "value": "theirs"}], now=later)
    assert [fact["value"] for fact in run("facts", "--json").json] == ["mine"]


def test_an_agent_is_told_that_it_does_not_retract_what_the_user_said(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("facts", "add", "k", "mine")
    monkeypatch.setenv("CLAUDECODE", "1")

    assert "k stays" in run("facts", "retract", "k", now=LATER).out
    assert [fact["value"] for fact in run("facts", "--json", now=LATER).json] == ["mine"]


def test_what_is_taken_back_no_longer_holds(run: Run) -> None:
    run("facts", "add", "k", "v")
    assert run("facts", "retract", "k", now=LATER).code == 0
    assert run("facts", "--json", now=LATER).json == []
    assert run("facts", "retract", "k", now=LATER).code == 4
    history = run("facts", "--history", "--json", now=LATER).json
    assert [fact["retracted"] for fact in history] == [False, True]


def test_a_forgotten_fact_is_gone(run: Run) -> None:
    run("record", stdin=[{"type": "fact", "session": "s", "key": "k", "value": {"deep": "plan"}}])
    assert run("facts", "--json").json[0]["value"] == {"deep": "plan"}
    run("forget", "--match", "plan", "--yes")
    assert run("facts", "--history", "--json").json == []


def test_a_fact_without_a_value_says_what_is_missing(run: Run) -> None:
    assert run("facts", "add", "k").code == 2


def test_a_long_fact_is_cut_in_the_list_and_whole_where_it_is_asked_for(run: Run) -> None:
    long = " ".join(["word"] * 200)
    run("facts", "add", "k", long)
    assert long not in run("facts").out
    assert max(map(len, run("facts").out.splitlines())) < 300
    assert f"k = {long}" in run("facts", "list", "k").out

"""A question that makes no sense is refused in plain words, as one: nothing was to be recorded."""

from __future__ import annotations

import pytest

from fazm_memory.cli.output import printable

from .conftest import Run


@pytest.mark.parametrize(
    "asked",
    [
        ("events", "{session}", "--kind", "bogus"),
        ("events", "{session}", "--outcome", "bogus"),
        ("events", "{session}", "--trust", "bogus"),
        ("events", "{session}", "--turns", "x"),
        ("events", "{session}", "--since", "bogus"),
        ("files", "{session}", "--turns", "0"),
        ("context", "--budget", "1"),
        ("rewind", "{session}"),
        ("recording", "pause", "10x"),
        ("connect", "clod"),
        ("replay", "{session}", "--onto", "/nope/nope"),
        ("forget",),
        ("answer", "{session}", "q", "3", "--waive"),
    ],
)
def test_what_makes_no_sense_ends_with_two(run: Run, session: str, asked: tuple[str, ...]) -> None:
    refused = run(*(word.format(session=session) for word in asked), "--json")
    assert (refused.code, refused.json["title"]) == (2, "Invalid request"), refused
    assert refused.err
    assert "isoformat" not in refused.err


@pytest.mark.parametrize(
    "asked",
    [
        ("events", "{session}", "--limit", "-1"),
        ("events", "{session}", "--from", "-1"),
        ("events", "{session}", "--to", "-1"),
        ("sessions", "--limit", "-1"),
        ("search", "x", "--limit", "-1"),
        ("sessions", "--limit", "9" * 23),
    ],
)
def test_no_count_is_below_nothing(run: Run, session: str, asked: tuple[str, ...]) -> None:
    results = run(*(one.format(session=session) for one in asked))
    assert (results.code, "not a whole number" in results.err) == (2, True), results


def test_a_clock_that_cannot_be_read_is_refused(run: Run) -> None:
    refused = run("sessions", now="foo")
    assert (refused.code, 'Invalid time "foo"' in refused.err) == (2, True)


def test_events_say_when_none_matches(run: Run, session: str) -> None:
    assert run("events", session, "--tool", "Nothing").out == "No events match.\n"
    assert run("events", session, "--tool", "Nothing", "--json").json == []


def test_events_since_a_day_as_a_person_says_it(run: Run, session: str) -> None:
    later = "2026-11-16T09:00:00+00:00"
    assert len(run("events", session, "--since", "yesterday", "--json", now=later).json) == 4
    assert run("events", session, "--since", "today", "--json", now=later).json == []


@pytest.mark.parametrize("turns", [("0", "9"), ("9", "0"), ("-1", "0")])
def test_a_turn_that_is_not_there_is_not_found(run: Run, session: str, turns: tuple[str, str]) -> None:
    results = run("diff", session, "--turns", "--", *turns, now=None)
    assert (results.code, "has no turn" in results.err) == (4, True), results


def test_an_answer_is_judged_as_what_was_asked_for(run: Run, session: str) -> None:
    schema = '{"type": "integer", "minimum": 1}'
    run("handoff", session, "--to", "human", "--note", "how many?", "--schema", schema)
    question = run("questions", "--json").json[0]["id"]
    assert "0 is less than the minimum of 1" in run("answer", session, question, "0").err
    assert "'many' is not of type 'integer'" in run("answer", session, question, "many").err
    assert run("answer", session, question, "3", "--waive").code == 2
    assert run("answer", session, question, "3").code == 0


@pytest.mark.parametrize("code", ["8", "30", "5", "7", ""])
def test_only_our_own_colours_reach_the_terminal(code: str) -> None:
    assert "\x1b" not in printable(f"\x1b[{code}mhidden")
    assert printable("\x1b[31mred\x1b[0m") == "\x1b[31mred\x1b[0m"


def test_a_refused_line_repeats_no_secret(run: Run) -> None:
    secret = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"
    lines = [
        {"type": secret, "session": "x"},
        {"type": "prompt", "session": "x", "text": "t", "trust": secret},
        f'{{"{secret}": 1, "{secret}": 2}}'.encode(),
    ]
    results = run("record", stdin=lines)
    assert [one["ok"] for one in results.lines] == [False] * 3
    assert secret not in results.out


def test_a_workspace_is_a_whole_path(run: Run) -> None:
    results = run("record", stdin=[{"type": "session.open", "session": "x", "workspace": "relative"}])
    assert results.code == 6
    assert "must be the absolute path of a folder" in results.lines[0]["error"]

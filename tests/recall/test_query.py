"""Filters and days in what a person types."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fazm_memory.clock import TimeError, iso, parse_time
from fazm_memory.recall.search import SearchQuery, parse_query, parse_start

NOW = parse_time("2026-11-18T09:00:00+00:00")  # a Wednesday


@pytest.fixture(autouse=True)
def _utc(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "UTC")


def read(text: str) -> SearchQuery:
    return parse_query(text, now=NOW, home="/Users/dana")


def days(query: SearchQuery) -> tuple[str | None, str | None]:
    since, until = query.since, query.until
    return (None if since is None else iso(since)[:10], None if until is None else iso(until)[:10])


def test_filters_are_taken_out_and_words_stay() -> None:
    query = read('agent:codex mv tool:Bash kind:action in:~/Downloads "agent:fazm" session:9d0d invoices')
    assert query == SearchQuery(
        'mv "agent:fazm" invoices', "codex", "Bash", "action", "/Users/dana/Downloads", "9d0d"
    )


@pytest.mark.parametrize(
    ("text", "first", "after"),
    [
        ("yesterday", "2026-11-17", "2026-11-18"),
        ("today", "2026-11-18", "2026-11-19"),
        ("last week", "2026-11-09", "2026-11-16"),
        ("this week", "2026-11-16", "2026-11-23"),
        ("last month", "2026-10-01", "2026-11-01"),
        ("on monday", "2026-11-16", "2026-11-17"),
        ("last Wednesday", "2026-11-11", "2026-11-12"),
        ("3 days ago", "2026-11-15", "2026-11-16"),
        ("two days ago", "2026-11-16", "2026-11-17"),
        ("in the last 7 days", "2026-11-11", "2026-11-19"),
        ("in december", "2025-12-01", "2026-01-01"),
        ("in October", "2026-10-01", "2026-11-01"),
        ("in October 2025", "2025-10-01", "2025-11-01"),
        ("the day before yesterday", "2026-11-16", "2026-11-17"),
        ("this afternoon", "2026-11-18", "2026-11-19"),
        ("on 2026-11-02", "2026-11-02", "2026-11-03"),
        ("on:2026-11-02", "2026-11-02", "2026-11-03"),
        ("since:yesterday", "2026-11-17", None),
        ("before:last-week", None, "2026-11-09"),
        ("after:2026-11-01 before:2026-11-10", "2026-11-01", "2026-11-10"),
    ],
)
def test_days_are_understood(text: str, first: str | None, after: str | None) -> None:
    query = read(f"invoices {text} acme")
    assert days(query) == (first, after)
    assert query.text == "invoices acme"


@pytest.mark.parametrize(
    ("text", "ago"),
    [
        ("90m", 5400), ("2h", 7200), ("1h30m ago", 5400), ("10 minutes ago", 600), ("1 hour 5 mins", 3900),
        ("3d", 259_200), ("now", 0), (" 45 secs ", 45),
    ],
)  # fmt: skip
def test_how_long_ago_is_a_moment(text: str, ago: int) -> None:
    assert parse_start(text, now=NOW) == NOW - ago * 1_000_000


def test_a_moment_that_names_its_zone_is_that_moment() -> None:
    assert parse_start("2026-11-17T01:25:30Z", now=NOW) == parse_start("2026-11-17T02:25:30+01:00", now=NOW)


@pytest.mark.parametrize("text", ["2 months", "-5m", "", "ago", "m", "9" * 5000 + "d", "25:61", "in an hour"])
def test_what_names_no_moment_is_refused(text: str) -> None:
    with pytest.raises(TimeError):
        parse_start(text, now=NOW)


@pytest.mark.parametrize("text", ["on 9999-12-31", "on:9999-12-31", "since:9999-12-31"])
def test_the_last_day_there_is_is_no_surprise(text: str) -> None:
    assert read(f"{text} acme").text.endswith("acme")


@pytest.mark.parametrize(
    "text",
    ['"last week"', "2026-11-02-acme.pdf", "yesterday.txt", "/w/today/x", "since:whenever", "on:", "in:"],
)
def test_what_only_looks_like_a_filter_stays_a_word(text: str) -> None:
    assert replace(read(text), notes=()) == SearchQuery(text)


@pytest.mark.parametrize(("text", "doubt"), [
    ("since:whenever x", "since:whenever is not a date"), ("kind:bogus x", "kind:bogus is not a kind"),
    ('on:"next year" x', 'on:"next year" is not a date'),
])  # fmt: skip
def test_it_is_reported_what_was_no_filter(text: str, doubt: str) -> None:
    (reply,) = read(text).notes
    assert reply.startswith(doubt)
    assert read(text).text == text


def test_what_is_a_filter_is_in_no_doubt() -> None:
    assert read("kind:Decision since:monday kind:convention on:2026-11-02 agent:any x").notes == ()


@given(st.text(max_size=80))
def test_any_text_is_a_query(text: str) -> None:
    assert isinstance(read(text), SearchQuery)

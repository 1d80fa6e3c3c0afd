"""Moments are integers inside and ISO 8601 with offset outside."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fazm_memory.clock import (
    EARLIEST,
    LATEST,
    TimeError,
    iso,
    parse_duration,
    parse_time,
    to_datetime,
    to_micros,
)

BERLIN = ZoneInfo("Europe/Berlin")
ZONES = st.sampled_from(
    [UTC, BERLIN, ZoneInfo("Asia/Kolkata"), ZoneInfo("America/St_Johns"), timezone(timedelta(hours=14))]
)


@given(at=st.integers(EARLIEST, LATEST), zone=ZONES)
def test_a_moment_comes_back_from_its_text(at: int, zone: timezone) -> None:
    assert parse_time(iso(at, zone)) == at
    assert to_micros(to_datetime(at, zone)) == at


@given(first=st.integers(EARLIEST, LATEST), second=st.integers(EARLIEST, LATEST))
def test_texts_of_one_zone_sort_like_their_moments(first: int, second: int) -> None:
    shown = [to_datetime(one, UTC).isoformat(timespec="microseconds") for one in (first, second)]
    assert (first < second) == (shown[0] < shown[1])


@given(text=st.text() | st.from_regex(r"[0-9]{1,4}-[0-9]{2}-[0-9]{2}([T ][0-9:.+Z-]{0,14})?"))
def test_any_text_is_a_moment_or_refused_in_words(text: str) -> None:
    try:
        at = parse_time(text)
    except TimeError:
        return
    assert EARLIEST <= at <= LATEST
    assert parse_time(iso(at)) == at


@pytest.mark.parametrize("given", [None, 5, True, 1.5, b"2026-11-14", ["2026-11-14"]])
def test_a_time_that_is_not_text_is_refused(given: object) -> None:
    with pytest.raises(TimeError, match="Invalid time"):
        parse_time(given)


def test_without_an_offset_a_time_is_local() -> None:
    assert parse_time("2026-07-01T12:00:00", zone=BERLIN) == parse_time("2026-07-01T12:00:00+02:00")
    assert parse_time("2026-01-01", zone=BERLIN) == parse_time("2025-12-31T23:00:00Z")


def test_an_offset_is_kept_to_and_the_zone_then_ignored() -> None:
    assert parse_time("2026-07-01T12:00:00-03:00", zone=BERLIN) == parse_time("2026-07-01T15:00:00+00:00")


@pytest.mark.parametrize(
    "text", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "0001-01-01T00:00:00+14:00"]
)
def test_a_moment_that_some_zone_could_not_show_is_refused(text: str) -> None:
    with pytest.raises(TimeError, match="outside the years 1 to 9999"):
        parse_time(text)


def test_an_impossible_offset_is_reported_in_plain_words() -> None:
    with pytest.raises(TimeError, match="the offset is a day or more"):
        parse_time("2026-01-01T00:00:00+99:99")


def test_a_moment_is_shown_with_as_many_digits_as_it_has() -> None:
    at = to_micros(datetime(2026, 11, 14, 9, 30, tzinfo=UTC))
    assert iso(at, UTC) == "2026-11-14T09:30:00.000+00:00"
    assert iso(at + 1, UTC) == "2026-11-14T09:30:00.000001+00:00"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("15m", 900),
        ("1h30m", 5400),
        ("2d", 172_800),
        ("90s", 90),
        ("1d 0h".replace(" ", ""), 86_400),
        ("5min", 300),
        (" 1H ", 3600),
    ],
)
def test_a_span_is_read_as_people_write_it(text: str, seconds: int) -> None:
    assert parse_duration(text) == seconds * 1_000_000


@pytest.mark.parametrize(
    "text", ["", "h", "15", "-5m", "1m2h", "1.5h", "soon", "9" * 5000 + "d", "9" * 300 + "d"]
)
def test_a_span_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(TimeError, match="duration"):
        parse_duration(text)

"""Dates in file names: every usual spelling is found where it stands, and read in every order it allows."""

from __future__ import annotations

import pytest

from fazm_memory.model.naming.dates import scan
from fazm_memory.model.naming.moments import Moment, from_iso, write

DAY = Moment(2026, 11, 14)
MORNING = Moment(2026, 11, 14, 9, 30, 12)


@pytest.mark.parametrize(
    ("name", "moment"),
    [
        ("20261114", DAY),
        ("2026-11-14", DAY),
        ("2026_11_14 notes", DAY),
        ("notes 2026.11.14", DAY),
        ("14.11.2026", DAY),
        ("14-11-2026", DAY),
        ("Nov 14 2026", DAY),
        ("November 14, 2026", DAY),
        ("14 November 2026", DAY),
        ("14th of November 2026", DAY),
        ("14. November 2026", DAY),
        ("14Nov2026", DAY),
        ("14Nov26", DAY),
        ("2026 Nov 14", DAY),
        ("14 novembre 2026", DAY),
        ("14 noviembre 2026", DAY),
        ("2026年11月14日", DAY),
        ("2026:11:14 09:30:12", MORNING),
        ("IMG_20261114_093012", MORNING),
        ("PXL_20261114_093012345", MORNING),
        ("20261114093012", MORNING),
        ("20261114T093012Z", MORNING),
        ("2026-11-14T09-30-12", MORNING),
        ("Screenshot 2026-11-14 at 9.30.12 AM", MORNING),
        ("Screenshot 2026-11-14 at 9.30.12\u202fAM", MORNING),
        ("Screen Shot 2026-11-14 at 09.30.12", MORNING),
        ("signal-2026-11-14-093012", MORNING),
        ("2026-11", Moment(2026, 11)),
        ("November 2026", Moment(2026, 11)),
        ("11-2026", Moment(2026, 11)),
        ("2026-Q4", Moment(2026, quarter=4)),
        ("Q4 2026", Moment(2026, quarter=4)),
        ("2026-W46", Moment(2026, week=46)),
        ("14 Nov", Moment(month=11, day=14)),
    ],
)
def test_a_date_is_found_however_it_is_written(name: str, moment: Moment) -> None:
    (slot,) = [slot for slot in scan(name) if slot.kind == "date"]
    assert slot.readings["dmy"] == moment


def test_an_afternoon_is_an_afternoon() -> None:
    (slot,) = scan("Screenshot 2026-11-14 at 12.05.00 AM")
    assert slot.readings["ymd"].hour == 0
    (slot,) = scan("Screenshot 2026-11-14 at 4.05.00 PM")
    assert slot.readings["ymd"].hour == 16


def test_a_date_that_can_be_read_two_ways_is() -> None:
    (slot,) = scan("03-04-2026")
    assert slot.readings == {"dmy": Moment(2026, 4, 3), "mdy": Moment(2026, 3, 4)}
    (slot,) = scan("11-14-26")
    assert slot.readings == {"mdy": DAY}


def test_bare_digits_that_may_be_something_else_are_kept_apart_from_dates() -> None:
    assert [slot.kind for slot in scan("141126")] == ["stamp"]
    assert [slot.kind for slot in scan("1794648612")] == ["stamp"]
    assert scan("1794648612")[0].readings["ymd"] == Moment(2026, 11, 14, 9, 30, 12)


@pytest.mark.parametrize(
    "name", ["2026-13-45", "99999999", "v1.2.3 build 7", "1920x1080", "ſep 2026 ıan", "31.02.x"]
)
def test_what_is_no_date_is_not_read_as_one(name: str) -> None:
    assert [slot for slot in scan(name) if slot.kind == "date"] == []


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("%Y", "2026"), ("%y", "26"), ("%m", "11"), ("%d", "14"), ("%B", "November"), ("%h", "Nov"),
        ("%q", "4"), ("%V", "46"), ("%j", "318"), ("%A", "Saturday"), ("%o", "14th"), ("%-H", "9"),
        ("%I", "09"), ("%p", "AM"),
    ],
)  # fmt: skip
def test_a_moment_is_written_in_its_components(code: str, text: str) -> None:
    assert write(MORNING, code) == text


def test_what_a_moment_does_not_say_is_not_written() -> None:
    assert write(Moment(2026), "%m") is None
    assert write(Moment(2026, 11), "%A") is None


def test_month_names_come_in_the_language_of_the_convention() -> None:
    assert [write(Moment(month=3), "%B", code) for code in ("en", "de", "fr")] == ["March", "März", "Mars"]


def test_a_time_that_is_none_is_no_moment() -> None:
    assert from_iso("yesterday") is None
    assert from_iso("2026-11-14T09:30:12+01:00") == MORNING

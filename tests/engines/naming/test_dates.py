"""Dates in file names: every usual spelling is found and read in every order it allows."""

from __future__ import annotations

import pytest

from fazm_memory.engines.naming.parts import DateParts, find_dates, format_date, from_iso

DAY = DateParts(2026, 11, 14)
MORNING = DateParts(2026, 11, 14, 9, 30, 12)


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
        ("2026-11", DateParts(2026, 11)),
        ("November 2026", DateParts(2026, 11)),
        ("11-2026", DateParts(2026, 11)),
        ("2026-Q4", DateParts(2026, quarter=4)),
        ("Q4 2026", DateParts(2026, quarter=4)),
        ("2026-W46", DateParts(2026, week=46)),
        ("14 Nov", DateParts(month=11, day=14)),
    ],
)
def test_a_date_is_found_however_it_is_written(name: str, moment: DateParts) -> None:
    (slot,) = [slot for slot in find_dates(name) if slot.kind == "date"]
    assert slot.readings["dmy"] == moment


def test_an_afternoon_is_an_afternoon() -> None:
    (slot,) = find_dates("Screenshot 2026-11-14 at 12.05.00 AM")
    assert slot.readings["ymd"].hour == 0
    (slot,) = find_dates("Screenshot 2026-11-14 at 4.05.00 PM")
    assert slot.readings["ymd"].hour == 16


def test_a_date_that_can_be_read_two_ways_is() -> None:
    (slot,) = find_dates("03-04-2026")
    assert slot.readings == {"dmy": DateParts(2026, 4, 3), "mdy": DateParts(2026, 3, 4)}
    (slot,) = find_dates("11-14-26")
    assert slot.readings == {"mdy": DAY}


def test_bare_digits_that_may_be_something_else_are_kept_apart_from_dates() -> None:
    assert [slot.kind for slot in find_dates("141126")] == ["stamp"]
    assert [slot.kind for slot in find_dates("1794648612")] == ["stamp"]
    assert find_dates("1794648612")[0].readings["ymd"] == DateParts(2026, 11, 14, 9, 30, 12)


@pytest.mark.parametrize(
    "name", ["2026-13-45", "99999999", "v1.2.3 build 7", "1920x1080", "ſep 2026 ıan", "31.02.x"]
)
def test_what_is_no_date_is_not_read_as_one(name: str) -> None:
    assert [slot for slot in find_dates(name) if slot.kind == "date"] == []


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("%Y", "2026"), ("%y", "26"), ("%m", "11"), ("%d", "14"), ("%B", "November"), ("%h", "Nov"),
        ("%q", "4"), ("%V", "46"), ("%j", "318"), ("%A", "Saturday"), ("%o", "14th"), ("%-H", "9"),
        ("%I", "09"), ("%p", "AM"),
    ],
)  # fmt: skip
def test_each_component_of_a_date_is_written(code: str, text: str) -> None:
    assert format_date(MORNING, code) == text


def test_a_missing_component_is_not_written() -> None:
    assert format_date(DateParts(2026), "%m") is None
    assert format_date(DateParts(2026, 11), "%A") is None


def test_month_names_come_in_the_language_of_the_convention() -> None:
    assert [format_date(DateParts(month=3), "%B", code) for code in ("en", "de", "fr")] == [
        "March",
        "März",
        "Mars",
    ]


def test_text_that_is_not_iso_8601_is_not_a_date() -> None:
    assert from_iso("yesterday") is None
    assert from_iso("2026-11-14T09:30:12+01:00") == MORNING

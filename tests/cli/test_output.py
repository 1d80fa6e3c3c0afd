"""What people read: moments as they would say them."""

from __future__ import annotations

import time

import pytest

from fazm_memory.cli import output
from fazm_memory.cli.output import format_time
from fazm_memory.clock import parse_time


@pytest.mark.parametrize(("at", "expected"), [
    ("2026-10-26T08:00:00+00:00", "today 09:00"), ("2026-10-25T00:30:00+00:00", "yesterday 02:30"),
    ("2026-10-24T22:30:00+00:00", "yesterday 00:30"), ("2026-10-24T21:30:00+00:00", "2026-10-24 23:30"),
])  # fmt: skip
def test_a_moment_before_the_clocks_changed_is_reported_by_the_clock_of_then(
    at: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    try:
        assert format_time(at, parse_time("2026-10-26T09:30:00+01:00")) == expected
    finally:
        monkeypatch.setenv("TZ", "UTC")
        time.tzset()


def test_without_a_terminal_progress_is_a_line_every_few_seconds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter([0.0, 1.0, 4.0, 5.0, 8.0])
    monkeypatch.setattr(output.time, "monotonic", lambda: next(clock))
    with output.Progress("Importing", 300, "MB") as progress:
        for done in (10, 90, 120, 200):
            progress.at(done)
    assert capsys.readouterr().err == "Importing: 90 of 300 MB\nImporting: 200 of 300 MB\n"


def test_a_line_is_fitted_to_the_terminal_with_its_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "one \x1b[2mtwo three\x1b[0m four"
    assert output.fit(text) == text  # no terminal
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setattr(output, "terminal_width", lambda: 10)
    assert output.fit(text) == "one \x1b[2mtwo t…\x1b[0m"
    assert output.fit("one two three four five", lines=2, indent=2) == "one two\n  three …"

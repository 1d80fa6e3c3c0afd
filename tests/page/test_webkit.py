"""The page in WebKit, which the Mac's window is made of: what is looked at, by the names that people read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.page.serving import Served
from tests.page.webkit import EngineCrashed, Window, part, region, window

SESSIONS = region("Sessions")
EVENT = region("Event")
ROWS = part("listbox", "Events")
SPAN = part("slider", "Window of time shown")
HEAD = part("slider", "Playhead")
CLOCK = re.compile(r"^\d\d:\d\d to \d\d:\d\d$")


@pytest.fixture(scope="module")
def opened(shown: Served) -> Iterator[Window]:
    """One window for all that only looks: each test goes to its own address."""
    with window(shown.door()) as page:
        yield page


def test_sessions_stand_under_their_days_and_are_filtered(page: Window) -> None:
    for day in ("Today", "Yesterday", "Friday"):
        page.there("heading", day, SESSIONS)
    page.press("link", re.compile("Rename invoices, date first"), SESSIONS)
    page.there("heading", "Rename invoices, date first")
    page.holds(part("combobox", "Day"), "value", "2026-11-14")
    page.fill("combobox", "Agent", "codex")
    page.count(2, "link", within=SESSIONS)
    page.fill("combobox", "Outcome", "waiting")
    page.count(1, "link", re.compile("Release 2.4"), SESSIONS)
    page.fill("combobox", "Outcome", "")
    page.fill("combobox", "Agent", "")
    page.fill("combobox", "Workspace", "/Users/dana/Downloads")
    page.count(2, "link", within=SESSIONS)
    page.fill("combobox", "Workspace", "")


def test_search_jumps_to_what_it_finds(page: Window) -> None:
    page.keys("slash", *"lisbon", "space", *"fares")
    page.there("option", re.compile("Lisbon"), part("listbox", "Search results"))
    page.keys("Return")
    page.there("heading", "Fares to Lisbon")
    page.says("You are looking at Thursday")


def test_who_types_faster_than_it_is_found_jumps_to_what_was_typed(page: Window, shown: Served) -> None:
    page.visit(shown, "site")
    page.keys("slash", *"fares", "space", *"lisbon", "Return")
    page.there("heading", "Fares to Lisbon", part("main"))
    page.gone("listbox", "Search results")
    page.press("button", "Day before")  # what is found later does not lie over it
    page.gone("heading", "Fares to Lisbon", part("main"))


def minutes(said: str) -> tuple[int, int]:
    begin, end = (60 * int(one[:2]) + int(one[3:]) for one in said.split(" to "))
    return begin, end


def another_than(said: str) -> re.Pattern[str]:
    return re.compile(rf"^(?!{re.escape(said)}$)\d\d:\d\d to \d\d:\d\d$")


def test_the_day_shows_its_gaps_and_leads_to_other_days(page: Window, shown: Served) -> None:
    page.visit(shown, "release")
    day = page.there("img", re.compile("^The day: .*paused"))
    assert "paused 11:00 to 11:45" in day
    assert "asleep 12:10 to 13:30" in day
    page.press("button", "Day before")
    page.holds(part("combobox", "Day"), "value", "2026-11-14")
    page.keys("bracketright")
    page.holds(part("combobox", "Day"), "value", "2026-11-15")
    page.fill("combobox", "Day", "2026-11-12")
    page.there("heading", "Fares to Lisbon", part("main"))
    page.there("img", re.compile(r"^The day: \d+ events$"))


def test_the_window_of_time_is_dragged_and_moved_by_keys(page: Window, shown: Served) -> None:
    page.visit(shown, "release")
    fitted = page.holds(SPAN, "aria-valuetext", CLOCK)
    page.drag(SPAN, -120)
    dragged = page.holds(SPAN, "aria-valuetext", another_than(fitted))
    (begin, end), (moved_begin, moved_end) = minutes(fitted), minutes(dragged)
    assert moved_begin < begin
    assert abs((moved_end - moved_begin) - (end - begin)) <= 1  # as long as before, but for rounding
    page.drag(SPAN, 80, across=1)
    wider = page.holds(SPAN, "aria-valuetext", another_than(dragged))
    assert minutes(wider)[0] == moved_begin
    assert minutes(wider)[1] > moved_end
    page.keys("Left", on=SPAN)
    page.holds(SPAN, "aria-valuetext", another_than(wider))
    page.keys("Home", on=SPAN)
    page.holds(SPAN, "aria-valuetext", re.compile("^00:00 to"))


def test_the_lanes_are_zoomed_moved_and_fitted(page: Window, shown: Served) -> None:
    page.visit(shown, "release")
    page.press("button", "Fit session")
    fitted = page.holds(SPAN, "aria-valuetext", re.compile("^14:5. to 15:2.$"))
    page.press("button", "Zoom in")
    near = page.holds(SPAN, "aria-valuetext", another_than(fitted))
    page.press("button", "Later")
    later = page.holds(SPAN, "aria-valuetext", another_than(near))
    assert minutes(later)[0] > minutes(near)[0]
    page.drag(HEAD, 160)
    earlier = page.holds(SPAN, "aria-valuetext", another_than(later))
    assert minutes(earlier)[0] < minutes(later)[0]
    page.wheel(HEAD, 3)
    page.holds(SPAN, "aria-valuetext", another_than(earlier))
    page.keys("0")
    page.holds(SPAN, "aria-valuetext", fitted)
    page.keys(*["minus"] * 12)
    page.holds(SPAN, "aria-valuetext", "00:00 to 00:00")
    page.there("link", "Continue organizing files")
    page.press("button", "Fit session")
    page.holds(SPAN, "aria-valuetext", fitted)


@pytest.mark.parametrize(
    ("session", "rows"),
    [
        ("site", ["Session began: ", "Prompt: The contact form loses", r"Action: Read .*form\.ts",
                  r"Action: Bash .*expected the message to stay.*failed", "Decision: keep the message",
                  r"npm test.*retry of \d+", r"Compaction: .*form\.ts.*compaction", "Fact: tests",
                  "To do: "]),
        ("invoices", [r"File: modified notes\.txt", "Message: I will go this way", "Paused"]),
        ("fork", ["use sessionStorage.*rewound", "Rewound to 2.*rewind", "Prompt: Try it the other way"]),
        ("release", ["WebFetch.*untrusted", "May I push the tag.*question"]),
    ],
)  # fmt: skip
def test_a_row_says_what_it_is(page: Window, shown: Served, session: str, rows: list[str]) -> None:
    page.visit(shown, session)
    for row in rows:
        page.row(row)


def test_a_fork_is_marked_where_it_left_and_leads_to_its_own_session(page: Window, shown: Served) -> None:
    page.visit(shown, "site")
    left = page.row("fork")
    page.press("option", left)
    page.press("link", "fork", EVENT)
    page.there("heading", "Contact form, stored in the browser", part("main"))


def test_the_list_is_filtered_by_pills_and_file(page: Window, shown: Served) -> None:
    page.visit(shown, "site")
    page.press("button", "Decisions")
    page.count(1, "option", within=ROWS)
    page.there("option", re.compile("keep the message in the form"), ROWS)
    page.press("button", "All")
    page.press("button", "Failed")
    page.count(2, "option", within=ROWS)
    page.press("button", "Decisions")
    page.there("heading", "No event fits the filters")
    page.press("button", "Show all events")
    page.gone("heading", "No event fits the filters")
    page.keys(*"mail.ts", "Return", on=part("searchbox", "Only events about this file"))
    page.count(2, "option", within=ROWS)
    page.press("button", "All")


def test_the_drawer_shows_input_output_error_causes_and_the_raw_event(page: Window, shown: Served) -> None:
    page.visit(shown, "invoices")
    page.press("option", page.row("brew install qpdf"))
    page.there("heading", re.compile("^Bash brew install qpdf"), EVENT)
    for heading in ("Input", "Output", "Why it happened", "Provenance"):
        page.there("heading", heading, EVENT)
    page.says("installed qpdf 12.2", EVENT)
    page.press("summary", "Raw event", EVENT)
    page.says('"digest"', EVENT)
    page.press("option", page.row("retry of"))
    page.there("heading", "Retry", EVENT)
    page.says("-qpdf: command not found +No syntax or stream encoding errors found", EVENT)
    page.press("link", re.compile("^position"), EVENT)
    page.there("heading", "Error", EVENT)
    page.there("heading", "Mended", EVENT)
    page.says("qpdf: command not found", EVENT)


def test_the_drawer_shows_a_file_before_and_after(page: Window, shown: Served) -> None:
    page.visit(shown, "folder")
    page.press("option", page.row(r"Edit.*notes\.md"))
    page.there("row", re.compile("# Errands"), region("File difference"))
    page.there("button", "Reveal notes.md")


def test_an_event_is_copied_as_markdown_and_as_a_link(page: Window, shown: Served) -> None:
    session = page.visit(shown, "invoices", 3)
    page.press("button", "Copy as Markdown")
    page.says("Copied as Markdown")
    assert page.copied().startswith("### Action · Bash")
    page.press("button", "Copy link")
    page.says("Link copied")
    assert page.copied() == f"{shown.origin}/#/s/{session}@3"


def test_the_playhead_walks_the_state_follows_and_now_is_returned_to(page: Window, shown: Served) -> None:
    decided = next(shown.world.memory.events(shown.world.ids["invoices"], kind="decision"))["seq"]
    page.visit(shown, "invoices", decided - 1)
    page.says("You are looking at Yesterday, 16:0")
    page.says("no version was kept", EVENT)  # the last that is read, and moves what is below it
    page.press("summary", "State at this moment", EVENT)
    page.says("lifecycle", EVENT)
    page.unsaid("the date comes first", EVENT)
    page.keys("Right", on=HEAD)
    page.holds(HEAD, "aria-valuenow", str(decided))
    page.says("the date comes first", EVENT)
    page.press("summary", "State at this moment", EVENT)
    page.keys("Home", on=HEAD)
    page.holds(HEAD, "aria-valuenow", "0")
    page.keys("j", "j", "k")
    page.holds(HEAD, "aria-valuenow", "1")
    page.press("button", "Return to now")
    page.unsaid("You are looking at")
    page.gone("region", "Event")
    page.keys("question")
    page.there("dialog", "Keys")
    page.keys("Escape")
    page.gone("dialog", "Keys")


def test_two_places_are_compared_with_causes(page: Window, shown: Served) -> None:
    site = page.visit(shown, "site", 3)
    page.press("button", "Compare with now")
    page.there("heading", "Compare", part("main"))
    page.says("/Users/dana/Projects/site/src/form.test.ts", region("Files changed"))
    page.says("send is not a function", region("Why"))
    page.there("link", "@7", region("Why"))
    page.press("link", "Compare", part("navigation", "Screens"))
    page.there("heading", "Choose two places")
    page.fill("combobox", "First session", site)
    page.fill("combobox", "Second session", shown.world.ids["fork"])
    page.press("button", "Compare", part("main"))
    page.says("/Users/dana/Projects/site/src/mail.ts", region("Files changed"))
    page.says("Contact form, stored in the browser", part("main"))


def test_each_screen_draws_something(page: Window, shown: Served, tmp_path: Path) -> None:
    for screen in ("Context", "Settings", "Timeline"):
        page.press("link", screen, part("navigation", "Screens"))
        if screen != "Timeline":
            page.there("heading", screen, part("main"))
        page.drive("calm")
        page.picture(tmp_path / f"{screen}.png")
        assert (tmp_path / f"{screen}.png").stat().st_size > 20_000, "a blank window compresses to less"


def test_a_crash_of_the_engine_is_told_as_one(shown: Served) -> None:
    with window(shown.door()) as page:
        page.ask(crash=True)
        with pytest.raises(EngineCrashed):
            page.evaluate("() => 1")
    EngineCrashed.count -= 1  # this one was wanted

"""Stories of the timeline, in both browsers: days, search, lanes, event list, event panel, playhead."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fazm_memory.clock import parse_time
from tests.page.server import Server
from tests.page.story import add, search_notes
from tests.page.webkit import EngineCrashed, WebKitEngine, webkit_window
from tests.page.window import MAIN, Window, part, region

SESSIONS = region("Sessions")
EVENT = region("Event")
ROWS = part("listbox", "Events")
RANGE = part("slider", "Time range")
PLAYHEAD = part("slider", "Playhead")
DAY = part("combobox", "Day")
RESULTS = part("listbox", "Search results")
CLOCK = re.compile(r"^\d\d:\d\d to \d\d:\d\d$")
LANES = "[...document.querySelectorAll('.lanes-session')].map((link) => link.textContent)"
SELECTED = "() => document.querySelector('.row[aria-selected=true]')?.ariaPosInSet === '%d'"


def minutes(text: str) -> tuple[int, int]:
    begin, end = (60 * int(clock[:2]) + int(clock[3:]) for clock in text.split(" to "))
    return begin, end


def other_than(text: str) -> re.Pattern[str]:
    return re.compile(rf"^(?!{re.escape(text)}$)\d\d:\d\d to \d\d:\d\d$")


def test_the_page_opens_at_the_latest_session_and_its_newest_event(page: Window, server: Server) -> None:
    page.go("#/")
    page.there("heading", server.world.memory.sessions.listing(limit=1)[0]["title"], MAIN)
    page.there("option", None, ROWS)
    page.silent("You are looking back")
    page.gone("region", "Event")


def test_the_first_screen_shows_the_day_and_the_threads_with_what_is_open(
    page: Window, server: Server
) -> None:
    page.go("#/overview")
    page.there("region", "Totals: Today")
    page.says("active", region("Totals: Today"))
    page.says("May I push the tag", MAIN)
    page.press("link", re.compile("May I push the tag"), MAIN)
    page.there("heading", "Release 2.4", MAIN)


def test_sessions_are_grouped_by_day_and_filtered(page: Window) -> None:
    for day in ("Today", "Yesterday", "Friday"):
        page.there("heading", day, SESSIONS)
    page.press("link", re.compile("Rename invoices, date first"), SESSIONS)
    page.there("heading", "Rename invoices, date first")
    page.has(DAY, "value", "2026-11-14")
    page.fill("combobox", "Agent", "codex")
    page.count(2, "link", within=SESSIONS)
    page.fill("combobox", "Result", "waiting")
    page.count(1, "link", re.compile("Release 2.4"), SESSIONS)
    page.fill("combobox", "Result", "")
    page.fill("combobox", "Folder", "/Users/dana/Downloads")
    page.there("heading", "No sessions match", SESSIONS)
    page.fill("combobox", "Agent", "")
    page.count(2, "link", within=SESSIONS)
    page.fill("combobox", "Folder", "")


def test_search_opens_a_result(page: Window) -> None:
    page.search("lisbon fares")
    page.there("option", re.compile("Lisbon"), RESULTS)
    page.keys("Enter")
    page.there("heading", "Fares to Lisbon")
    page.there("region", "Event")


def test_enter_before_the_results_are_there_opens_what_was_typed(page: Window, server: Server) -> None:
    page.visit(server, "site")
    page.type("/fares lisbon")
    page.keys("Enter")
    page.there("heading", "Fares to Lisbon", MAIN)
    page.gone("listbox", "Search results")
    page.press("button", "Previous day")  # late results do not cover it
    page.gone("heading", "Fares to Lisbon", MAIN)


def test_a_search_without_results_or_with_a_dropped_filter_says_so(page: Window, server: Server) -> None:
    page.visit(server, "site")
    page.search("zzzqqqxxy")
    page.says("Nothing recorded matches “zzzqqqxxy”")
    page.keys("Escape", "Escape")
    query = "invoice agent:nobody-here"
    [note] = search_notes(server.world, query)
    page.evaluate("() => { document.querySelector('fm-search input').value = ''; }")
    page.search(query)
    page.says(note[1:])
    page.keys("Escape", "Escape")


def test_the_day_chart_names_gaps_and_leads_to_other_days(page: Window, server: Server) -> None:
    page.visit(server, "release")
    day = page.there("img", re.compile("^Day: .*paused"))
    assert "paused 11:00 to 11:45" in day
    assert "asleep 12:10 to 13:30" in day
    page.press("button", "Previous day")
    page.has(DAY, "value", "2026-11-14")
    page.keys("]")
    page.has(DAY, "value", "2026-11-15")
    options = page.evaluate("() => [...document.querySelector('.day-select').options].map((day) => day.text)")
    assert any(re.fullmatch(r"Thursday — \d+ events", option) for option in options)
    page.fill("combobox", "Day", "2026-11-12")
    page.there("heading", "Fares to Lisbon", MAIN)
    page.there("img", re.compile(r"^Day: \d+ events$"))
    page.go("#/day/2026-11-10")
    page.there("heading", "Nothing recorded on this day")


def test_time_without_permission_is_a_gap(page: Window, server: Server) -> None:
    gap = {"what": "permission missing", "since": "2026-11-15T10:00:00+00:00",
           "until": "2026-11-15T10:30:00+00:00"}  # fmt: skip
    add(server.world, "companion", "gap", gap, agent="fazm-memory", source="companion")
    page.visit(server, "today")
    page.there("img", re.compile("^Day: .*permission missing 10:00 to 10:30"))


def test_the_time_range_is_dragged_and_moved_by_keys(page: Window, server: Server) -> None:
    page.visit(server, "release")
    fitted = page.has(RANGE, "aria-valuetext", CLOCK)
    page.drag(RANGE, -120)
    dragged = page.has(RANGE, "aria-valuetext", other_than(fitted))
    (begin, end), (moved_begin, moved_end) = minutes(fitted), minutes(dragged)
    assert moved_begin < begin
    assert abs((moved_end - moved_begin) - (end - begin)) <= 1  # rounding
    page.drag(RANGE, 80, across=1)
    wider = page.has(RANGE, "aria-valuetext", other_than(dragged))
    assert minutes(wider)[0] == moved_begin
    assert minutes(wider)[1] > moved_end
    page.keys("ArrowLeft", on=RANGE)
    page.has(RANGE, "aria-valuetext", other_than(wider))
    page.keys("Home", on=RANGE)
    page.has(RANGE, "aria-valuetext", re.compile("^00:00 to"))


def test_the_lanes_are_zoomed_panned_and_fitted(page: Window, server: Server) -> None:
    page.visit(server, "release")
    page.press("button", "Fit session")
    fitted = page.has(RANGE, "aria-valuetext", re.compile("^14:5. to 15:2.$"))
    page.press("button", "Zoom in")
    near = page.has(RANGE, "aria-valuetext", other_than(fitted))
    page.press("button", "Later")
    later = page.has(RANGE, "aria-valuetext", other_than(near))
    assert minutes(later)[0] > minutes(near)[0]
    page.drag(PLAYHEAD, 160)
    earlier = page.has(RANGE, "aria-valuetext", other_than(later))
    assert minutes(earlier)[0] < minutes(later)[0]
    page.wheel(PLAYHEAD, 3)
    page.has(RANGE, "aria-valuetext", other_than(earlier))
    page.keys("0")
    page.has(RANGE, "aria-valuetext", fitted)
    page.keys(*"-" * 12)
    page.has(RANGE, "aria-valuetext", "00:00 to 00:00")
    page.there("link", "Continue organizing files")
    page.press("button", "Fit session")
    page.has(RANGE, "aria-valuetext", fitted)


@pytest.mark.parametrize(
    ("session", "rows"),
    [
        ("site", ["Prompt: The contact form loses", r"3 reads and searches .*form\.ts",
                  r"Action: Bash .*expected the message to stay.*failed", "Decision: keep the message",
                  r"npm test.*retry of \d+", r"Compaction: .*form\.ts.*compaction", "Fact: tests",
                  "To do: "]),
        ("invoices", [r"File: modified notes\.txt", "Action: .*I will go this way", "Paused"]),
        ("fork", ["use sessionStorage.*rewound", "to position 2.*rewind", "Prompt: Try it the other way"]),
        ("release", ["WebFetch.*untrusted", "May I push the tag.*question"]),
    ],
)  # fmt: skip
def test_a_row_shows_its_kind_and_marks(page: Window, server: Server, session: str, rows: list[str]) -> None:
    page.visit(server, session)
    for row in rows:
        page.row(row)


def test_a_fork_is_marked_at_its_origin_and_linked(page: Window, server: Server) -> None:
    page.visit(server, "site")
    page.open_row("fork")
    page.press("link", "fork", EVENT)
    page.there("heading", "Contact form, stored in the browser", MAIN)


def test_the_list_is_filtered_by_pills_and_file(page: Window, server: Server) -> None:
    page.visit(server, "site")
    page.press("button", "Decisions")
    page.count(1, "option", within=ROWS)
    page.there("option", re.compile("keep the message in the form"), ROWS)
    page.press("button", "All")
    page.press("button", "Failed")
    page.count(2, "option", within=ROWS)
    page.press("button", "Decisions")
    page.there("heading", "No events match the filters")
    page.press("button", "Show all events")
    page.gone("heading", "No events match the filters")
    page.type("mail.ts", on=part("searchbox", "Only events about this file"))
    page.keys("Enter")
    page.count(2, "option", within=ROWS)
    page.press("button", "All")


def test_the_event_panel_shows_input_output_error_causes_and_raw_event(page: Window, server: Server) -> None:
    page.visit(server, "invoices")
    page.open_row("brew install qpdf")
    page.there("heading", re.compile("^Bash brew install qpdf"), EVENT)
    for heading in ("Input", "Output", "Why it happened", "Provenance"):
        page.there("heading", heading, EVENT)
    page.says("installed qpdf 12.2", EVENT)
    page.says(re.compile("By the agent · .* · trust: tool"), EVENT)
    page.press("summary", "Raw event", EVENT)
    page.says('"digest"', EVENT)
    page.open_row("retry of")
    page.there("heading", "Retry", EVENT)
    page.says("-qpdf: command not found +No syntax or stream encoding errors found", EVENT)
    page.press("link", re.compile("^position"), EVENT)
    page.there("heading", "Error", EVENT)
    page.there("heading", "Fixed later", EVENT)
    page.says("qpdf: command not found", EVENT)


def test_the_event_panel_shows_a_file_before_and_after(page: Window, server: Server) -> None:
    page.visit(server, "folder")
    page.open_row(r"Edit.*notes\.md")
    page.there("row", re.compile("# Errands"), region("File difference"))
    page.there("button", "Reveal notes.md")


def test_an_event_is_copied_as_markdown_and_as_a_link(page: Window, server: Server) -> None:
    session = page.visit(server, "invoices", 3)
    page.press("button", "Copy as Markdown")
    page.says("Copied as Markdown")
    assert page.copied().startswith("### Action · Bash")
    page.press("button", "Copy link")
    page.says("Link copied")
    assert page.copied() == f"{server.origin}/#/s/{session}@3"


def test_the_playhead_steps_and_the_state_follows(page: Window, server: Server) -> None:
    decided = next(server.world.memory.history.events(server.world.ids["invoices"], kind="decision"))["seq"]
    page.visit(server, "invoices", decided - 1)
    page.silent("You are looking back")  # a row is only selected
    page.press("button", "Look back", EVENT)
    page.says("You are looking back to Yesterday, 16:0")
    page.says("No snapshot of this file", EVENT)  # loaded last, and moves what is below it
    page.press("summary", "State after this event", EVENT)
    page.says("lifecycle", EVENT)
    page.silent("the date comes first", EVENT)
    page.keys("ArrowRight", on=PLAYHEAD)
    page.has(PLAYHEAD, "aria-valuenow", str(decided))
    page.says("the date comes first", EVENT)
    page.press("summary", "State after this event", EVENT)
    page.keys("Home", on=PLAYHEAD)
    page.has(PLAYHEAD, "aria-valuenow", "0")
    page.keys("j", "j", "k")
    page.has(PLAYHEAD, "aria-valuenow", "1")
    page.press("button", "Return to now")
    page.silent("You are looking back")
    page.gone("region", "Event")
    page.keys("?")
    page.there("dialog", "Keyboard shortcuts")
    page.keys("Escape")
    page.gone("dialog")


def test_the_list_is_walked_read_and_left_by_key(page: Window, server: Server) -> None:
    page.visit(server, "site", 4)
    for key, seq, place in (("j", 5, 6), ("k", 4, 5), ("k", 3, 4)):  # the third row is the fold around them
        page.keys(key)
        page.says(re.compile(rf"position {seq}\b"), EVENT)
        page.until(SELECTED % place)
    page.keys("Enter")
    page.says("Provenance", EVENT)
    page.keys("Escape")  # from the event to the list
    page.there("region", "Event")
    page.keys("Escape")
    page.gone("region", "Event")
    page.keys("k", "t")
    page.says("You are looking back")
    page.keys("n")
    page.silent("You are looking back")


def test_the_list_shows_where_a_day_begins(page: Window, server: Server) -> None:
    for day in (13, 14):
        at = parse_time(f"2026-11-{day}T12:30:00+00:00")
        add(server.world, "days", "session.title", {"title": "Two days"}, at=at)
        add(server.world, "days", "prompt", {"text": f"Work of the {day}th"}, at=at)
    server.world.ids["days"] = server.world.memory.sessions.get("days")["id"]
    page.visit(server, "days")
    days = "() => [...document.querySelectorAll('.row-day')].map((each) => each.textContent.trim())"
    page.there("option", re.compile("Sat 14 Nov"), ROWS)
    assert page.evaluate(days) == ["Fri 13 Nov", "Sat 14 Nov"]
    page.press("button", "Prompts")
    page.there("option", re.compile("Sat 14 Nov"), ROWS)
    page.press("button", "All")


def test_a_day_opens_at_an_event_not_at_a_token_count(page: Window, server: Server) -> None:
    spent = {"input_tokens": 10, "output_tokens": 2}
    for kind, payload, at in (
        ("prompt", {"text": "Work of the 9th"}, "09T12:30"),
        ("prompt", {"text": "Work of the 15th"}, "15T08:00"),
        ("usage", spent, "09T12:31"),  # recorded late
    ):
        add(server.world, "long", kind, payload, at=parse_time(f"2026-11-{at}:00+00:00"))
    page.go("#/day/2026-11-09")
    page.says("Work of the 9th", EVENT)


def test_lanes_of_other_sessions_have_something_to_draw(page: Window, server: Server) -> None:
    add(server.world, "talk", "session.title", {"title": "Only words"}, at=parse_time("2026-11-15T15:05:00Z"))
    add(server.world, "talk", "prompt", {"text": "Hello"}, at=parse_time("2026-11-15T15:06:00Z"))
    page.visit(server, "release")
    page.keys(*"-" * 12)  # the whole day
    page.until(f"() => {LANES}.includes('Continue organizing files')")
    assert "Only words" not in page.evaluate(f"() => {LANES}")


def test_the_selected_row_stays_in_the_list_when_the_list_gets_lower(page: Window, server: Server) -> None:
    page.visit(server, "release", 3)
    place = """() => {
        const list = document.querySelector(".list-scroll");
        const row = list.querySelector("[aria-selected=true]").getBoundingClientRect();
        return Math.round(list.getBoundingClientRect().bottom - row.bottom);
    }"""
    below = page.evaluate(place)
    assert below > 0
    grow = "() => { document.querySelector('.session-head').style.paddingBottom = '%s'; }"
    page.evaluate(grow % f"{below + 40}px")
    page.until(f"() => ({place})() >= 0")
    page.evaluate(grow % "")


def test_closing_an_event_keeps_the_place_in_the_list(page: Window, server: Server) -> None:
    page.visit(server, "photos")
    page.open_row("Rename the camera photos")
    page.there("region", "Event")
    top = "() => document.querySelector('.list-scroll').scrollTop"
    before = page.evaluate(top)
    page.press("button", "Close", EVENT)
    page.gone("region", "Event")
    page.settle()
    assert page.evaluate(top) == before


def test_after_closing_an_event_the_keys_go_on_from_its_row(page: Window, server: Server) -> None:
    site = page.visit(server, "site", 9)
    page.there("region", "Event")
    page.keys("j")
    page.until(f"() => location.hash !== '#/s/{site}@9'")
    following = page.evaluate("() => location.hash")
    page.keys("k")
    page.until(f"() => location.hash === '#/s/{site}@9'")
    page.there("region", "Event")
    page.keys("Escape")
    page.gone("region", "Event")
    page.until("() => document.querySelector('.row.is-left')?.id === 'fm-row-9'")
    page.keys("j")
    page.until(f"() => location.hash === '{following}'")


def test_a_link_into_a_fold_shows_no_new_events(page: Window, server: Server) -> None:
    page.visit(server, "site", 4)
    page.until("() => document.querySelector('.row.is-fold.is-open')")
    page.settle()
    page.gone("button", re.compile("new event"))


def test_a_message_is_shown_as_prose(page: Window, server: Server) -> None:
    text = "## Result\n\nAll **three** pass:\n\n- `form.ts`\n\n```\nnpm test\n```"
    at = parse_time("2026-11-09T12:45:00+00:00")
    for kind, said in (("prompt", "Run the tests"), ("message", text)):
        add(server.world, "prose", kind, {"text": said}, at=at)
    session = server.world.memory.sessions.get("prose")
    server.world.ids["prose"] = session["id"]
    page.visit(server, "prose", session["events"] - 1)
    page.says("All three pass:", EVENT)
    parts = """() => [...document.querySelectorAll(".prose :is(p, pre, strong, code)")]
        .map((part) => part.textContent)"""
    assert page.evaluate(parts) == ["Result", "All three pass:", "three", "•form.ts", "form.ts", "npm test"]


def test_a_call_that_moved_files_says_so_and_is_taken_back_with_one_key(page: Window, server: Server) -> None:
    page.visit(server, "receipts")
    page.open_row("moved 1 file")
    page.there("region", "Event")
    page.in_reach(part("button", "Take back…", EVENT))
    page.keys("b")
    page.there("dialog", "Rewind")
    page.says("Take back this and", part("dialog"))
    page.keys("Escape")
    page.gone("dialog")


def test_the_search_offers_the_history_of_a_file(page: Window, server: Server) -> None:
    page.visit(server, "site")
    page.search("mail.ts")
    page.press("option", re.compile("^Who changed"), RESULTS)
    page.there("heading", "Files", MAIN)
    page.says("/Users/dana/Projects/site/src/mail.ts", MAIN)


def test_two_positions_and_two_branches_are_compared_with_causes(page: Window, server: Server) -> None:
    site = page.visit(server, "site", 3)
    page.press("button", "Look back", EVENT)
    page.press("button", "Compare with now")
    page.there("heading", "Compare", MAIN)
    page.says("/Users/dana/Projects/site/src/form.test.ts", region("Files changed"))
    page.says("send is not a function", region("Why"))
    page.has(part("link", "@7", region("Why")), "href", re.compile(f"#/s/{site}@7$"))
    page.press("link", "Compare", part("navigation", "Screens"))
    page.there("heading", "Choose two positions")
    page.fill("combobox", "First session", site)
    page.fill("combobox", "Second session", server.world.ids["fork"])
    page.press("button", "Compare", MAIN)
    page.says("/Users/dana/Projects/site/src/mail.ts", region("Files changed"))
    page.says("Contact form, stored in the browser", MAIN)


def test_a_link_names_its_moment_by_turn_time_or_event(page: Window, server: Server) -> None:
    site = server.world.ids["site"]
    at = server.world.memory.sessions.position
    for moment in ("turn 1", "event 7", "start"):
        page.go(f"#/s/{site}@{moment}")
        page.until(f"() => location.hash === '#/s/{site}@{at(site, moment, begin=True)}'")
        page.there("region", "Event")
    page.go(f"#/s/{site}@turn 99")
    page.says("has no turn 99", MAIN)
    page.go(f"#/compare?a={site}@turn 1&b={site}@event 7")
    page.says(f"position {at(site, 'turn 1')}", MAIN)
    page.has(part("textbox", "Second position"), "value", "event 7")


def test_each_screen_draws_something(page: Window, tmp_path: Path) -> None:
    for screen in ("Context", "Settings", "Timeline"):
        page.press("link", screen, part("navigation", "Screens"))
        if screen != "Timeline":
            page.there("heading", screen, MAIN)
        page.settle()
        page.picture(tmp_path / f"{screen}.png")
        assert (tmp_path / f"{screen}.png").stat().st_size > 20_000, "a blank window is smaller"


def test_a_crash_of_webkit_is_reported_as_one(shared_server: Server) -> None:
    with webkit_window(shared_server.door()) as page:
        assert isinstance(page.engine, WebKitEngine)
        page.engine.crash()
        with pytest.raises(EngineCrashed):
            page.evaluate("() => 1")
    with webkit_window(shared_server.door()) as page:
        assert isinstance(page.engine, WebKitEngine)
        page.evaluate("() => 1")
        page.engine.process.kill()
        with pytest.raises(EngineCrashed, match="ended with -9"):
            page.evaluate("() => 1")
    EngineCrashed.count -= 2  # these crashes were intended

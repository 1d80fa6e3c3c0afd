"""What a person in a terminal reads: the verdict first, and what was left out is said."""

from __future__ import annotations

from .conftest import Run


def test_resuming_says_how_before_the_briefing(run: Run, session: str) -> None:
    lines = run("resume", session).out.splitlines()
    assert lines[1].startswith("How to continue: ")
    assert f"`fazm-memory resume {session[:8]} --offer > briefing.txt`" in lines[2]


def test_a_name_that_nothing_has_exactly_is_said_to_be_only_similar(run: Run, session: str) -> None:
    run("record", stdin=[{"type": "prompt", "session": session, "text": "read the invoice_list.txt today"}])
    assert "exactly" not in run("search", "invoice_list.txt").out
    assert "exactly" not in run("search", "invoice").out
    near = run("search", "invoice_test.txt")
    assert near.out.startswith("Nothing matches 'invoice_test.txt' exactly. Similar:\n")
    assert run("search", "invoice_test.txt", "--json").json != []


def test_questions_have_a_time_and_can_be_limited_by_it(run: Run, session: str) -> None:
    run("handoff", session, "--to", "human", "--note", "Which order?")
    asked = {"type": "message", "session": session, "text": "Shall I rename the drafts as well?"}
    run("record", stdin=[asked])
    listed = run("questions").out
    assert "Which order?  today 09:00" in listed
    assert f"{session[:8]}  today 09:00  Tidy\n    Shall I rename the drafts as well?\n" in listed
    assert f"    fazm-memory resume {session[:8]}\n" in listed
    assert run("questions", "--since", "1h").out == listed
    later = "2026-11-16T09:00:00+00:00"
    assert run("questions", "--since", "1h", now=later).out == "No questions wait for you.\n"
    assert run("questions", "--since", "1h", "--json", now=later).json == []


def test_the_first_or_the_last_events_are_listed_of_the_latest_session(run: Run, session: str) -> None:
    def positions(*options: str) -> list[int]:
        return [int(line.split()[0]) for line in run("events", *options).out.splitlines()]

    every = positions()
    assert positions("--limit", "2") == every[:2]
    assert positions("--last", "2") == every[-2:]
    assert [event["seq"] for event in run("events", session, "--last", "2", "--json").json] == every[-2:]
    assert run("events", "--last", "1", "--limit", "1").code == 2


def test_a_limit_counts_the_lines_that_are_shown(run: Run, session: str) -> None:
    run("record", stdin=[{"type": "usage", "session": session, "input_tokens": 1, "output_tokens": 1},
                         {"type": "prompt", "session": session, "text": "and the drafts"}])  # fmt: skip
    shown = run("events", session).out.splitlines()
    assert not any(" usage " in line for line in shown)
    assert run("events", session, "--limit", str(len(shown))).out.splitlines() == shown


def test_a_list_of_sessions_says_how_many_more_there_are(run: Run) -> None:
    for key in "abc":
        run("open", "--agent", "fazm", "--key", key, "--workspace", "/w")
    cut = run("sessions", "--limit", "2")
    assert (len(cut.out.splitlines()), cut.err) == (3, "2 of 3 sessions. --limit N shows more.\n")
    assert run("sessions", "--limit", "3").err == ""


def test_silent_sessions_are_found_by_that_word(run: Run, session: str) -> None:
    assert run("sessions", "--lifecycle", "silent").out == "No sessions match.\n"
    tomorrow = "2026-11-16T09:00:00+00:00"
    found = run("sessions", "--lifecycle", "silent", "--json", now=tomorrow).json
    assert [row["id"] for row in found] == [session]
    assert run("sessions", "--lifecycle", "closed", now=tomorrow).out == "No sessions match.\n"


def test_show_with_all_leaves_nothing_out(run: Run, session: str) -> None:
    run("record", stdin=[{"type": "decision", "session": session, "what": f"choice {n}"} for n in range(20)])
    assert " more (--all" in run("show", session).out
    shown = run("show", session, "--all").out
    assert " more (--all" not in shown
    assert all(f"choice {n}" in shown for n in range(20))


def test_help_without_a_command_is_the_overview_also_after_a_time(run: Run) -> None:
    overview = run("--help", now=None).out
    assert run("--now", "2026-11-15T09:00:00Z", "--help", now=None).out == overview
    assert "usage: fazm-memory show" in run("--json", "show", "--help", now=None).out


def test_costs_can_be_asked_by_week(run: Run, session: str) -> None:
    run("record", stdin=[{"type": "usage", "session": session, "input_tokens": 1000, "output_tokens": 10,
                          "model": "claude-sonnet-4-5"}])  # fmt: skip
    assert "this week " in run("cost").out
    for since in ("1w", "week", "this week"):
        assert "total" in run("cost", "--since", since).out


def test_the_request_behind_a_change_is_shown_in_full(run: Run, session: str) -> None:
    text = "Do these: " + " ".join(f"{n}. rename the invoices of shop number {n}" for n in range(1, 12))
    run("record", stdin=[
        {"type": "prompt", "session": session, "text": text},
        {"type": "action", "session": session, "tool": "Write", "input": {"file_path": "/w/list.txt"},
         "files": [{"path": "/w/list.txt", "change": "created"}], "call_id": "9"}])  # fmt: skip
    shown = run("files", "list.txt").out
    assert "shop number 11" in shown
    assert shown.endswith("file: /w/list.txt\n")


def test_the_overview_fits_on_eighty_columns(run: Run) -> None:
    assert [line for line in run("--help", now=None).out.splitlines() if len(line) > 80] == []

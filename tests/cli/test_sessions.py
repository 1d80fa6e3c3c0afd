"""Reading a session back."""

from __future__ import annotations

import pytest

from .conftest import Run


def test_a_session_has_the_promised_fields(run: Run, session: str) -> None:
    row = run("sessions", "--json").json[0]
    promised = [
        "id",
        "agent",
        "agent_session_id",
        "title",
        "workspace",
        "lifecycle",
        "parent",
        "opened_at",
        "last_at",
        "turns",
        "actions",
        "failures",
        "files_modified",
    ]
    assert set(promised) <= set(row)
    assert (row["id"], row["agent"], row["title"], row["lifecycle"]) == (session, "fazm", "Tidy", "active")


def test_an_event_has_the_promised_fields(run: Run, session: str) -> None:
    action = run("events", session[:6], "--kind", "action", "--json").json[0]
    promised = [
        "seq",
        "at",
        "turn",
        "kind",
        "actor",
        "source",
        "trust",
        "payload",
        "digest",
        "prev",
        "tool",
        "input_hash",
        "output_summary",
        "outcome",
        "error",
        "duration_ms",
        "retry_of",
        "delta",
    ]
    assert set(promised) <= set(action)
    assert action["delta"]["files_modified"][0]["path"] == "/w/b"


def test_a_state_has_the_promised_fields(run: Run, session: str) -> None:
    state = run("state", session, "--json").json
    promised = [
        "session",
        "at",
        "lifecycle",
        "turn",
        "tools_used",
        "files_modified",
        "files_read",
        "folders",
        "apps",
        "decisions_made",
        "pending_actions",
        "facts",
        "errors",
        "evicted_keys",
        "conventions",
        "skipped",
        "trust",
        "budget",
    ]
    assert set(promised) <= set(state)
    assert state["tools_used"] == {"Bash": 1}
    assert state["files_modified"] == [
        {
            "path": "/w/b",
            "change": "renamed",
            "from": "/w/a",
            "by": "agent",
            "evidence": "Bash call",
            "seq": 2,
            "turn": 1,
        }
    ]


def test_slices_are_half_open(run: Run, session: str) -> None:
    events = run("events", session, "--from", "1", "--to", "3", "--json").json
    assert [event["seq"] for event in events] == [1, 2]


def test_state_at_a_position_is_the_fold_of_what_came_before(run: Run, session: str) -> None:
    assert run("state", session, "--at", "2", "--json").json["tools_used"] == {}
    assert run("state", session, "--at", "3", "--json").json["tools_used"] == {"Bash": 1}


def test_a_position_beyond_the_head_is_refused(run: Run, session: str) -> None:
    results = run("state", session, "--at", "99")
    assert results.code == 4
    assert "positions go from 0 to 4" in results.err


def test_a_diff_tells_what_changed_and_why(run: Run, session: str) -> None:
    made = run("diff", session, "2", "4", "--json").json
    assert (made["from"], made["to"]) == (2, 4)
    assert made["added"]["tools_used"] == {"Bash": 1}
    assert made["added"]["decisions_made"][0]["what"] == "dates first"
    because = {"seq": 3, "turn": 1, "kind": "decision", "role": "decision"}
    assert because | {"what": "dates first", "why": "they sort"} in made["because"]


def test_a_diff_of_turns_names_the_turns(run: Run, session: str) -> None:
    result = run("diff", session, "0", "1", "--turns", "--json").json
    assert (result["from_turn"], result["to_turn"]) == (0, 1)
    assert "from_turn" not in run("diff", session, "0", "1", "--json").json


def test_data_is_shown_as_json(run: Run, session: str) -> None:
    run("record", stdin=[{"type": "fact", "session": session, "key": "vendor", "value": {"n": [1, None]}}])
    assert 'vendor · {"n": [1, null]}' in run("events", session, "--kind", "fact").out


def test_a_diff_of_turns_compares_their_ends(run: Run, session: str) -> None:
    made = run("diff", session, "0", "1", "--turns", "--json").json
    assert (made["from"], made["to"]) == (1, 4)


def test_search_finds_by_words_and_names_the_place(run: Run, session: str) -> None:
    hit = run("search", "invoices", "--json").json[0]
    assert (hit["session"], hit["seq"], hit["kind"]) == (session, 1, "prompt")
    assert "invoices" in hit["snippet"]


def test_any_search_is_safe(run: Run, session: str) -> None:
    for query in (
        '"',
        "NEAR(",
        "a AND",
        "*",
        "-",
        "col:x",
        "'; DROP TABLE event; --",
        "\x00",
        "🗂️",
        ")" * 500,
    ):
        refused = not any(map(str.isalnum, query)) or query.count('"') % 2
        assert run("search", query, "--json").code == (6 if refused else 0)


def test_people_can_read_it_too(run: Run, session: str) -> None:
    shown = run("show", session).out
    assert "dates first — they sort" in shown
    assert "renamed /w/b (from /w/a) by agent" in shown
    assert "mv a b" in run("events", session).out
    assert "because" in run("diff", session, "0", "4").out
    assert "tools used" in run("state", session).out
    assert "Tidy" in run("sessions").out
    assert session[:8] in run("search", "invoices").out


def test_recorded_text_cannot_drive_the_terminal(run: Run) -> None:
    run("record", stdin=[{"type": "prompt", "session": "x", "text": "\x1b]0;owned\x07 \x1b[2J red \x9b31m"}])
    session = run("sessions", "--json").json[0]["id"]
    for command in (("events", session), ("show", session), ("search", "red"), ("sessions",)):
        assert "\x1b" not in run(*command).out


def test_what_is_no_filter_is_reported_beside_the_hits(run: Run, session: str) -> None:
    results = run("search", "invoices since:garbage kind:bogus", "--json")
    assert results.json
    assert "note: since:garbage is not a date" in results.err
    assert "note: kind:bogus is not a kind" in results.err


def test_a_quarantined_session_says_so_wherever_it_is_listed(run: Run, session: str) -> None:
    assert run("sessions", "--json").json[0]["quarantined"] is None
    run("quarantine", session, "--seq", "1")
    assert run("sessions", "--json").json[0]["quarantined"] == "part"
    run("quarantine", session)
    for results in (run("sessions"), run("show", session)):
        assert "active, quarantined" in results.out
    assert run("export", session, "x.fazm").code == 18


def test_an_empty_search_and_an_open_quote_are_refused_with_a_hint(run: Run) -> None:
    refused = (
        ("", "The search is empty."),
        ('"two words', "is not closed"),
        ("(((*", "no word to search for"),
    )
    for query, words in refused:
        refused = run("search", query)
        assert refused.code != 0
        assert words in refused.err


def test_a_long_session_fits_one_screen_and_all_of_it_on_request(run: Run, session: str) -> None:
    prompts = [{"type": "prompt", "session": session, "text": f"request {n}"} for n in range(30)]
    pending = [{"type": "pending", "session": session, "id": f"p{n}", "what": f"step {n}"} for n in range(30)]
    files = [{"type": "file", "session": session, "path": f"/w/{n}", "change": "created"} for n in range(60)]
    run("record", stdin=[*prompts, *pending, *files])
    shown = run("show", session).out
    assert len(shown.splitlines()) <= 46
    assert shown.index("\nopen\n") < shown.index("\nrequests\n")
    assert len(run("show", session, "--all").out.splitlines()) > 46


def test_completion_lists_sessions_with_their_titles(run: Run, session: str) -> None:
    assert run("completion", "ids").out.startswith(f"{session[:8]}\t")
    for shell in ("bash", "zsh", "fish"):
        script = run("completion", shell).out
        assert "completion ids" in script
        assert "claude-code" in script


def test_without_an_id_the_latest_session_is_meant(run: Run, session: str) -> None:
    assert run("show", "--json").json["session"]["id"] == session
    offered = run("resume").out
    assert session in offered
    assert "Nothing was changed" in offered


def test_costs_of_a_span_are_shown(run: Run, session: str) -> None:
    run("record", stdin=[
        {"type": "usage", "session": session, "at": at, "model": "claude-opus-4-5", "input_tokens": tokens}
        for at, tokens in (("2026-11-14T09:00:00Z", 1000), ("2026-10-30T09:00:00Z", 500))
    ])  # fmt: skip
    assert "1,000 tokens in" in run("cost", "--since", "7d").out
    month = run("cost").out
    assert "last 7 days" in month
    assert "1,000 tokens in" in month
    assert "1,500 tokens in" in month.splitlines()[-1]


@pytest.mark.parametrize("width", [80, 130])
def test_sessions_fit_the_terminal_with_title_and_folder(
    run: Run, session: str, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    run(
        "open", "--title", "A title that is too long for any terminal " * 4, "--workspace", "/Users/dana/site"
    )
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr("fazm_memory.cli.output.terminal_width", lambda: width)
    monkeypatch.setattr("fazm_memory.cli.commands.sessions.terminal_width", lambda: width)
    lines = run("sessions").out.splitlines()
    assert max(map(len, lines)) == width
    assert next(line for line in lines if "A title" in line).split()[-1] == "site"


def test_an_open_step_that_comes_next_is_shown_once(run: Run, session: str) -> None:
    items = [{"text": "rename the scans", "status": "in_progress"}, {"text": "tell Dana"}]
    run("record", stdin=[{"type": "todos", "session": session, "agent": "fazm", "items": items}])
    state = run("state", session, "--json").json
    assert "tell Dana" in {action["what"] for action in state["pending_actions"]}
    assert "tell Dana" in {step["what"] for step in state["next"]}
    shown = run("show", session, "--all").out
    opened = shown.partition("\nopen\n")[2].partition("\n\n")[0]
    assert "tell Dana" not in opened
    assert "tell Dana" in shown

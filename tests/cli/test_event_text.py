"""What people read: no digests, no brackets of a programming language, every event on a line of its own."""

from __future__ import annotations

import re

import pytest

from fazm_memory.cli.event_text import entry_text, value_text

from .conftest import Run

SHA = "9f" * 32
LINES = [
    {"type": "session.open", "session": "t", "agent": "fazm", "workspace": "/w", "title": "Tidy"},
    {"type": "prompt", "session": "t", "text": "rename the invoices"},
    {"type": "seen", "session": "t", "folder": "/w", "files": ["a.pdf", "notes.txt"]},
    {"type": "action", "session": "t", "tool": "Bash", "input": {"command": "mv a.pdf b.pdf"},
     "error": "no such file " + "x" * 900, "outcome": "error"},
    {"type": "action", "session": "t", "tool": "Bash", "input": {"command": "mv a.pdf b.pdf"}, "output": "ok",
     "files": [{"path": "b.pdf", "change": "renamed", "from": "a.pdf"}]},
    {"type": "file", "session": "t", "path": "/w/c.pdf", "change": "modified", "before": SHA, "after": SHA},
    {"type": "fact", "session": "t", "key": "owner", "value": {"name": "Dana", "tags": ["a", ["b"]]}},
    {"type": "fact", "session": "t", "key": "year", "value": 2026},
    {"type": "decision", "session": "t", "what": "dates first", "why": "they sort",
     "alternatives": ["names"]},
    {"type": "pending", "session": "t", "id": "po", "what": "ask for the order"},
    {"type": "evicted", "session": "t", "keys": ["k1", "k2"]},
    {"type": "session.pause", "session": "t"},
]  # fmt: skip


@pytest.fixture
def session(run: Run) -> str:
    made = run("record", stdin=LINES)
    assert made.code == 0, made
    return str(made.lines[0]["session"])


def test_an_event_is_one_readable_line(run: Run, session: str) -> None:
    lines = run("events", session).out.splitlines()
    assert len(lines) == len(LINES)
    assert lines[1].endswith("prompt         rename the invoices")
    assert "action         Bash mv a.pdf b.pdf → error: no such file xxx" in lines[3]
    assert lines[4].endswith("Bash mv a.pdf b.pdf → ok (retry of 3)")
    assert "file           modified /w/c.pdf" in lines[5]
    assert lines[8].endswith("decision       dates first · they sort")
    assert lines[11].endswith("session.pause")


def test_an_event_shows_no_digests_and_no_endless_values(run: Run, session: str) -> None:
    shown = run("events", session).out
    assert not re.search(r"[0-9a-f]{32}", shown)
    assert max(map(len, shown.splitlines())) < 280
    assert SHA in run("events", session, "--json").out  # for programs nothing is left out


def test_a_state_is_sections_and_no_literals(run: Run, session: str) -> None:
    shown = run("state", session).out
    assert "\nfiles modified (2)\n  renamed /w/b.pdf (from /w/a.pdf) by agent, @4\n" in shown
    assert "\ntools used\n  Bash 2\n" in shown
    assert "\ndecisions made (1)\n  @8 dates first — they sort; not names\n" in shown
    assert "  @3 (resolved at @4) Bash mv a.pdf b.pdf → error: no such file" in shown
    assert "  po: ask for the order\n" in shown
    assert "  year = 2,026" not in shown  # a value is not a count
    assert "  year = 2026 (" in shown
    assert "['" not in shown
    assert "{'" not in shown
    assert "None" not in shown


def test_a_long_section_says_how_much_more_there_is(run: Run) -> None:
    many = [{"type": "decision", "session": "m", "what": f"choice {n}", "why": "x" * 400} for n in range(13)]
    made = run("record", stdin=many).lines[0]["session"]
    shown = run("state", made).out
    assert "decisions made (13)" in shown
    assert "and 3 more" in shown
    assert max(map(len, shown.splitlines())) < 210


def test_values_without_the_marks_of_a_language() -> None:
    assert value_text(["a", 1]) == "a, 1"
    assert value_text({"last_seq": 3, "by": "agent"}) == "last seq 3, by agent"
    assert value_text(True) == "yes"
    assert value_text([["a", "b"]]) == '[["a", "b"]]'
    assert entry_text({"path": "/w", "renamed": 3, "moved": None}) == "/w (renamed 3)"
    assert entry_text({}) == ""


def test_no_listing_shows_literals(run: Run, session: str) -> None:
    shown = {
        "show": run("show", session).out,
        "facts": run("facts").out,
        "diff": run("diff", session, "0", "12").out,
        "compare": run("compare", f"{session}@1", session).out,
    }
    for name, text in shown.items():
        assert "{'" not in text, name
        assert "['" not in text, name
        assert "None" not in text, name
    assert "@3 (resolved at @4) Bash mv a.pdf b.pdf → error: no such file" in shown["show"]
    assert 'owner = {"name": "Dana", "tags": ["a", ["b"]]}' in shown["facts"]


def test_goal_plan_and_branch_are_one_line_each(run: Run) -> None:
    lines = [
        {"type": "prompt", "session": "p", "text": "Sort the scans."},
        {"type": "plan", "session": "p", "title": "By date", "text": "1. read\n2. move"},
        {"type": "branch", "session": "p", "name": "topic"},
        {
            "type": "todos",
            "session": "p",
            "items": [{"text": "read", "status": "completed"}, {"text": "move"}],
        },
        {
            "type": "decision",
            "session": "p",
            "what": "use the date of the scan in every name",
            "why": "x" * 300,
        },
        {"type": "decision", "session": "p", "what": "use the date of the mail", "replaces": 5},
    ]
    made = run("record", stdin=lines)
    session = str(made.lines[0]["session"])
    shown = run("state", session).out
    assert "\ngoal\n  @1 Sort the scans.\n" in shown
    assert "\nplan\n  @2 By date (presented)\n" in shown
    assert "\nbranch\n  topic\n" in shown
    assert "(superseded at @6) use the date of the scan" in shown
    assert "\nsteps\n  1 of 2 steps done\n" in run("show", session).out

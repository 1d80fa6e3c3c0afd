"""With a time in the past, reading commands show what was known then, and nothing later."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.cli.main import COMMANDS
from tests.cli.conftest import Run

EARLY, LATE = "2026-03-01T10:00:00+00:00", "2026-03-05T10:00:00+00:00"
BETWEEN = "2026-03-03T10:00:00+00:00"


def line(kind: str, at: str, session: str = "early", **fields: Any) -> dict[str, Any]:
    return {"type": kind, "session": session, "agent": "fazm", "at": at, **fields}


@pytest.fixture
def read(run: Run) -> Any:
    """Read as JSON, at a time between two sessions."""
    lines = [
        line("session.open", EARLY, workspace="/w", title="Early"),
        line("prompt", EARLY, text="sort the scans"),
        line("fact", EARLY, key="naming", value="date first"),
        line("action", EARLY, tool="Write", files=[{"path": "/w/a", "change": "created"}]),
        line("prompt", LATE, text="now rename the invoices"),
        line("fact", LATE, key="naming", value="vendor first"),
        line("action", LATE, tool="Write", error="no", files=[{"path": "/w/b", "change": "created"}]),
        line("session.open", LATE, "late", workspace="/w", title="Late"),
        line("prompt", LATE, "late", text="pay the invoices"),
    ]
    assert run("record", stdin=lines, now=LATE).code == 0
    return lambda *words, now=BETWEEN: run(*words, "--json", now=now).json


def test_listings_show_what_was_there_then(read: Any) -> None:
    (session,) = read("sessions")
    assert (session["title"], session["events"], session["turns"]) == ("Early", 4, 1)
    assert (session["actions"], session["failures"], session["files_modified"]) == (1, 0, 1)
    assert session["last_at"].startswith("2026-03-01")
    assert len(read("sessions", now=LATE)) == 2


def test_the_status_counts_what_was_there_then(read: Any) -> None:
    status = read("status")
    assert status["sessions"] == 1
    assert status["sources"]["record"]["at"].startswith("2026-03-01")


def test_a_session_is_shown_as_it_was(read: Any) -> None:
    (session,) = read("sessions")
    shown = read("show", session["id"])["state"]
    assert [request["text"] for request in shown["requests"]] == ["sort the scans"]
    assert read("state", session["id"])["facts"]["naming"]["value"] == "date first"
    assert [event["seq"] for event in read("events", session["id"])] == [0, 1, 2, 3]
    assert [file["path"] for file in read("files", session["id"])["files"]] == ["/w/a"]


def test_facts_and_search_know_nothing_later(read: Any) -> None:
    assert [fact["value"] for fact in read("facts")] == ["date first"]
    assert read("search", "invoices") == []
    assert [hit["seq"] for hit in read("search", "scans")][:1] == [1]


def test_the_context_knows_nothing_later(read: Any) -> None:
    assert "invoices" not in json.dumps(read("context", "--workspace", "/w"))
    assert "invoices" in json.dumps(read("context", "--workspace", "/w", now=LATE))


def test_a_session_of_the_future_is_not_found(read: Any, run: Run) -> None:
    late = next(row["id"] for row in read("sessions", now=LATE) if row["title"] == "Late")
    assert run("show", late, now=BETWEEN).code != 0


def test_a_briefing_and_a_session_that_goes_on_know_nothing_later(read: Any, run: Run) -> None:
    late = next(row["id"] for row in read("sessions", now=LATE) if row["title"] == "Late")
    assert run("resume", late, now=BETWEEN).code == 4
    assert run("continue", late, "--with", "codex", now=BETWEEN).code == 4
    (early,) = read("sessions")
    briefing = run("resume", early["id"], "--offer", now=BETWEEN).out
    assert "sort the scans" in briefing
    assert "invoices" not in briefing
    assert "invoices" in run("resume", early["id"], "--offer", now=LATE).out


def test_what_was_recorded_late_brings_nothing_of_the_future_with_it(read: Any, run: Run) -> None:
    late = line("usage", EARLY, input_tokens=1)
    assert run("record", stdin=[late], now=LATE).code == 0
    (session,) = read("sessions")
    assert (session["events"], session["turns"]) == (4, 1)


def test_only_sessions_at_work_are_listed_as_active(read: Any) -> None:
    soon = "2026-03-01T12:00:00+00:00"
    assert [row["title"] for row in read("sessions", "--lifecycle", "active", now=soon)] == ["Early"]
    assert read("sessions", "--lifecycle", "active") == []
    assert len(read("sessions", "--lifecycle", "active", now=LATE)) == 2
    assert read("sessions", "--lifecycle", "closed", now=LATE) == []


def test_a_silent_session_is_not_active(read: Any, run: Run) -> None:
    (session,) = read("sessions")
    ended = "silent since 2026-03-01T10:00:00.000+00:00"
    assert (session["lifecycle"], session["ended"]) == ("active", ended)
    assert " silent " in run("sessions", now=BETWEEN).out


@pytest.mark.parametrize(("reason", "ended"), [("exit", "exit"), ("clear", "replaced"), (None, "closed")])
def test_a_closed_session_says_how_it_ended(read: Any, run: Run, reason: str | None, ended: str) -> None:
    more = {} if reason is None else {"reason": reason}
    assert run("record", stdin=[line("session.close", LATE, **more)], now=LATE).code == 0
    row = next(row for row in read("sessions", now=LATE) if row["title"] == "Early")
    assert (row["lifecycle"], row["ended"]) == ("closed", ended)
    assert read("state", row["id"], now=LATE)["ended"] == ended


def test_files_are_counted_once_however_often_they_change(read: Any, run: Run) -> None:
    change = line("action", LATE, tool="Edit", files=[{"path": "/w/b", "change": "modified"}])
    assert run("record", stdin=[change, change | {"call_id": "x"}], now=LATE).code == 0
    row = next(row for row in read("sessions", now=LATE) if row["title"] == "Early")
    assert row["files_modified"] == 2


def test_exports_for_other_tools_and_offers_know_nothing_later(read: Any, run: Run, tmp_path: Path) -> None:
    (session,) = read("sessions")
    file = tmp_path / "session.md"
    assert run("export", session["id"], str(file), "--format", "markdown", now=BETWEEN).code == 0
    assert "sort the scans" in file.read_text()
    assert "rename the invoices" not in file.read_text()
    assert "rename the invoices" not in run("resume", session["id"], "--offer", now=BETWEEN).out


def test_a_hit_does_not_say_what_changed_its_file_later(read: Any, run: Run) -> None:
    lines = [
        line(
            "action",
            EARLY,
            tool="Edit",
            output="wrote the header",
            files=[{"path": "/w/h.py", "change": "modified"}],
        ),
        line("action", LATE, tool="Edit", files=[{"path": "/w/h.py", "change": "modified"}]),
    ]
    assert run("record", stdin=lines, now=LATE).code == 0
    assert read("search", "header", now=LATE)[0]["changed_since"] is not None
    assert read("search", "header")[0]["changed_since"] is None


# Every command, at a time before something was recorded: none may show it.

LATER = "zinnober"  # a word of everything that was recorded later
TOTAL = ("7777", "7,777")  # dollars
AFTER = {"at": LATE, "session": "early", "agent": "fazm"}


def shell(command: str, **fields: str) -> dict[str, Any]:
    return {"type": "action", "tool": "Bash", "input": {"command": command}, **fields}


LATER_LINES: list[dict[str, Any]] = [
    {"type": "session.title", "title": f"Later {LATER}"},
    {"type": "prompt", "text": f"fetch the {LATER} https://example.org/{LATER}/issues/77"},
    {"type": "message", "text": f"It is {LATER}. Shall I push {LATER}?"},
    {"type": "decision", "what": f"{LATER} first", "why": LATER, "alternatives": [f"no {LATER}"]},
    {"type": "decision", "form": "answer", "actor": "person", "question": f"{LATER}?", "what": LATER},
    {"type": "plan", "title": f"Paint it {LATER}", "text": f"1. {LATER}", "status": "presented"},
    {"type": "todos", "items": [{"text": f"buy {LATER}", "status": "pending"}]},
    {"type": "branch", "name": LATER},
    {"type": "artifact", "name": LATER, "items": [LATER]},
    {"type": "usage", "input_tokens": 1000, "output_tokens": 1, "model": LATER, "cost_usd": 7777},
    {"type": "fact", "key": "naming", "value": LATER},
    {"type": "fact", "key": LATER, "value": LATER},
    {"type": "pending", "id": LATER, "what": LATER},
    {"type": "file", "path": f"/w/{LATER}.txt", "change": "modified"},
    {"type": "file", "path": "/w/a", "change": "renamed", "from": f"/w/{LATER}"},
    {"type": "evicted", "keys": [f"file:/w/{LATER}"], "summary": LATER},
    {"type": "handoff", "id": LATER, "to": "human", "note": f"which {LATER}?"},
    {"type": "app", "app": LATER, "title": LATER, "document": f"/w/{LATER}"},
    {"type": "action", "tool": "WebFetch", "input": {"url": f"https://example.org/{LATER}"}, "output": LATER},
    *[shell(f"{LATER} --all", error=f"no {LATER}") for _ in range(2)],
    shell("git commit -m x", output=f"[main 1234abc] {LATER}"),
    *[shell(f"mv /w/s{n}.pdf /w/{LATER}-{n}.pdf", output="") for n in (1, 2, 3)],
]
# What each command is called with. {early} has a past and a future then, {late} only a future.
CALLS = [
    "status", "sessions", "sessions --limit 50", "show", "show {early}", "show {late}", "events {early}",
    "events {late}", "events {early} --from 0 --to 99", "state {early}", "state {late}",
    "state {early} --at 9", "files {early}", "files {early} --turns 9", "files /w/a", "files {late}",
    "retries", "retries {early}", "diff {early} 0 4", "diff {early} 0 30", "diff {early} 0 2 --turns",
    "compare {early} {late}", "untrusted", "untrusted {early}", "search scans", "search fetch",
    "search naming", "cost", "cost --by model", "cost --by session", "cost {early}", "habits",
    "rewind {early} --to 2 --dry-run", "rewind {early} --to 12 --dry-run", "fork {early} --at 12",
    "branches", "branches {early}", "resume {early} --offer", "resume {late} --offer", "resume --offer",
    "restore", "restore {early}", "continue {early} --with codex", "continue {late} --with codex",
    "context", "context --workspace /w", "conventions {early}", "conventions {early} --apply s9.pdf",
    "replay {early} --dry-run", "replay {early} --script", "artifacts", "artifacts {early}", "facts",
    "handoff {early} --to human --note n", "questions", "folders", "agents", "recording status",
    "exclude", "quarantine", "quarantine {early}", "forget {late}", "forget --match fetch",
    "forget --since 2026-03-04 --until 2026-03-06", "retain --dry-run", "sync status", "doctor",
    "verify", "export {early} {out}", "export {early} {out} --format markdown",
    "export {early} {out} --format atif", "export {early} {out} --format otel", "export {late} {out}",
]  # fmt: skip
# They show nothing that was recorded: they write, ask, serve, or work outside this memory.
SILENT = {
    "timeline", "answer", "open", "pause", "close", "archive", "setup", "connect", "disconnect", "import",
    "record", "run", "mcp", "serve", "recover", "import-bundle", "demo", "completion",
}  # fmt: skip


def test_every_command_is_asked_about_the_past_or_shows_nothing_recorded() -> None:
    assert {call.split()[0] for call in CALLS} | SILENT == set(COMMANDS)
    assert not {call.split()[0] for call in CALLS} & SILENT


@pytest.mark.parametrize("call", CALLS)
def test_no_command_shows_what_was_recorded_later(read: Any, run: Run, tmp_path: Path, call: str) -> None:
    late = [AFTER | {"session": "late"} | entry for entry in LATER_LINES]
    assert run("record", stdin=[*(AFTER | entry for entry in LATER_LINES), *late], now=LATE).code == 0
    ids = {row["agent_session_id"]: row["id"] for row in read("sessions", now=LATE)}
    words = [word.format(**ids, out=tmp_path / "out") for word in call.split()]
    for form in ([], ["--json"]):
        shown = run(*words, *form, now=BETWEEN)
        assert [word for word in (LATER, *TOTAL) if word in shown.out + shown.err] == []
        written = tmp_path / "out"
        assert not written.exists() or LATER.encode() not in written.read_bytes()
        written.unlink(missing_ok=True)

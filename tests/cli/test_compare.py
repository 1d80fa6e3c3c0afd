"""Comparing, handing over, holding back and doing again, on the command line."""

from __future__ import annotations

from pathlib import Path

from .conftest import Run


def test_turns_of_a_file_are_refused_with_what_to_do(run: Run, session: str) -> None:
    refused = run("files", "notes.txt", "--turns", "2")
    assert refused.code != 0
    assert "Leave --turns out" in refused.err


def test_which_files_were_changed_in_the_last_turns_is_one_command(run: Run, session: str) -> None:
    run("record", stdin=[
        {"type": "prompt", "session": session, "text": "and the rest"},
        {"type": "action", "session": session, "tool": "Write",
         "files": [{"path": "c", "change": "created"}]},
    ])  # fmt: skip
    results = run("files", session, "--turns", "1", "--json").json
    assert (results["turns"], [one["path"] for one in results["files"]]) == ([2, 2], ["/w/c"])
    assert "created   /w/c  by agent  @5\n1 file in turns 2 to 2" in run("files", session, "--turns", "1").out
    assert run("files", session, "--turns", "5", "--by", "person", "--json").json["files"] == []
    assert run("files", session, "--turns", "0").code == 2


def test_who_changed_a_file_and_why_is_one_command(run: Run, session: str) -> None:
    run("record", stdin=[
        {"type": "session.open", "session": "later", "agent": "codex", "workspace": "/w", "title": "Typos"},
        {"type": "prompt", "session": "later", "text": "fix the report"},
        *({"type": "action", "session": "later", "tool": "Edit", "input": {"file_path": "/w/docs/report.md"},
           "files": [{"path": "/w/docs/report.md", "change": "modified"}]} for _ in range(3)),
        {"type": "action", "session": "later", "tool": "Read",
         "files": [{"path": "/w/other/report.md", "change": "read"}]},
        {"type": "prompt", "session": "later", "text": "delete it"},
        {"type": "action", "session": "later", "tool": "Bash", "input": {"command": "rm docs/report.md"},
         "files": [{"path": "/w/docs/report.md", "change": "deleted"}]},
    ])  # fmt: skip
    found = run("files", "docs/report.md", "--json").json["changes"]
    changes = [(change["change"], change["count"], change["request"]) for change in found]
    assert changes == [("deleted", 1, "delete it"), ("modified", 3, "fix the report")]
    assert run("files", "/w/docs/report.md", "--json").json["changes"] == found
    shown = run("files", "report.md").out
    assert "modified, 3 times by agent" in shown
    assert "fix the report" in shown
    assert "other/report.md" not in shown
    assert run("files", "./docs/report.md", "--json").json["changes"] == found
    assert run("files", "report.md", "--by", "person").code == 4
    assert run("files", "nowhere.md").code == 4


def test_the_name_of_a_hidden_file_keeps_its_dot(run: Run, session: str) -> None:
    files = [{"path": "/w/.editorconfig", "change": "created"}]
    run("record", stdin=[{"type": "action", "session": session, "tool": "Write", "files": files}])
    assert run("files", ".editorconfig", "--json").json["changes"][0]["path"] == "/w/.editorconfig"


def test_events_are_filtered_by_any_of_it(run: Run, session: str) -> None:
    def seqs(*wanted: str) -> list[int]:
        return [one["seq"] for one in run("events", session, *wanted, "--json").json]

    assert seqs("--tool", "Bash", "--outcome", "ok") == [2]
    assert seqs("--file", "/w/b") == [2]
    assert seqs("--turns", "1", "--kind", "decision") == [3]
    assert seqs("--trust", "user") == [1]
    assert seqs("--until", "2020-01-01T00:00:00+00:00") == []
    assert seqs("--limit", "1") == [0]
    assert run("events", session, "--turns", "x").code == 2
    assert run("events", session, "--kind", "nonsense").code == 2


def test_a_difference_reads_as_words_or_as_a_page(run: Run, session: str) -> None:
    text = run("diff", session, "1", "4").out
    assert "Files\n  + renamed /w/b (from /w/a) by agent — after request @1: rename the invoices  @2" in text
    assert "Causes\n  request rename the invoices  @1\n  decision dates first — they sort  @3" in text
    page = run("diff", session, "1", "4", "--html").out
    assert page.startswith("<!doctype html>")
    assert "renamed /w/b" in page


def test_two_branches_are_compared(run: Run, session: str) -> None:
    branch = run("fork", session, "--at", "3", "--json").json["id"]
    run("record", stdin=[{"type": "decision", "session": branch, "what": "vendor first"}])
    result = run("compare", session, branch, "--json").json
    assert result["common"] == {"session": session, "at": 3}
    text = run("compare", f"{session}@4", branch).out
    assert text.startswith(f"{session[:8]} at 4 compared with {branch[:8]} at 2")
    assert "+ vendor first" in text
    assert "- dates first" in text


def test_what_failed_and_then_worked_is_reported_in_one_line(run: Run, session: str) -> None:
    call = {"type": "action", "session": session, "tool": "Bash", "input": {"command": "make"}}
    run("record", stdin=[call | {"error": "exit 2"}, call | {"output": "built"}])
    assert "@4 → @5  Bash make: error → ok" in run("retries", session).out
    assert "retries\n  @4 → @5 Bash make: error, then ok" in run("show", session).out


def test_a_call_with_another_input_on_the_same_target_is_a_retry(run: Run, session: str) -> None:
    def edit(old: str) -> dict[str, object]:
        given = {"file_path": "/w/a.py", "old_string": old}
        return {"type": "action", "session": session, "tool": "Edit", "input": given}

    run("record", stdin=[edit("x") | {"error": "not found"}, edit("y"), edit("x")])
    (result,) = run("retries", session, "--json").json
    assert (result["retry_of"], result["seq"], result["same_input"]) == (4, 5, False)


def test_a_question_asked_in_passing_is_listed_until_it_is_answered(run: Run, session: str) -> None:
    asked = {"type": "message", "session": session, "text": "All dated. Shall I rename the drafts as well?"}
    run("record", stdin=[asked])
    listed = run("questions").out
    assert f"{session[:8]}  " in listed
    assert "Shall I rename the drafts as well?" in listed
    assert f"fazm-memory resume {session[:8]}" in listed
    run("record", stdin=[{"type": "prompt", "session": session, "text": "Yes, please."}])
    assert run("questions").out == "No questions wait for you.\n"


def test_a_question_with_a_schema_is_answered_as_asked(run: Run, session: str) -> None:
    asked = run("handoff", session, "--to", "human", "--note", "How many?", "--schema", '{"type": "integer"}',
                "--json").json["question"]  # fmt: skip
    results = run("questions").out
    assert f"{session[:8]}  {asked}: How many?" in results
    assert 'expected: {"type": "integer"}' in results
    assert run("answer", session, asked, "many").code == 6
    assert run("answer", session, asked, "3").code == 0
    assert run("questions").out == "No questions wait for you.\n"
    assert "How many? → 3 by person" in run("show", session).out
    assert run("handoff", session, "--to", "human", "--note", "x", "--schema", "[").code == 2
    asked = run("handoff", session, "--to", "human", "--note", "Which?", "--json").json["question"]
    assert run("answer", session, asked, "the {'odd'} one").code == 0
    assert "Which? → the {'odd'} one by person" in run("show", session).out
    asked = run("handoff", session, "--to", "human", "--note", "What?", "--schema", '{"type": "object"}',
                "--json").json["question"]  # fmt: skip
    assert run("answer", session, asked, '{"copies": 2, "colour": "red"}').code == 0
    assert "What? → copies 2, colour red by person" in run("show", session).out


def test_quarantine_holds_back_and_is_lifted(run: Run, session: str) -> None:
    assert "in quarantine: 3" in run("quarantine", session, "--seq", "3", "--reason", "odd").out
    assert "dates first" not in run("context", "--workspace", "/w").out
    assert run("search", "dates first", "--json").json == []
    assert run("search", "dates first", "--quarantined", "--json").json != []
    assert "in quarantine: 1 event" in run("show", session).out
    assert "nothing in quarantine" in run("quarantine", session, "--seq", "3", "--lift").out
    assert "dates first" in run("context", "--workspace", "/w").out
    assert run("verify").code == 0


def test_resuming_says_which_way_it_took(run: Run, session: str) -> None:
    offered = run("resume", session, "--offer")
    assert "copy the text above into a new session" in offered.out
    assert "is active. Nothing was changed" in offered.out
    assert run("sessions", "--json").json[0]["lifecycle"] == "active"
    run("pause", session)
    assert run("resume", session, "--json").json["offer"]["took"] == "clipboard"


def test_a_replay_on_another_folder_is_shown_and_done_without_asking_when_reported(
    run: Run, tmp_path: Path
) -> None:
    folder = tmp_path / "November"
    folder.mkdir()
    (folder / "Invoice 11-02.pdf").write_text("x")
    for day in ("03", "09", "14", "28"):
        old, new = (f"/d/October/{name}.pdf" for name in (f"Invoice 10-{day}", f"2026-10-{day} Invoice"))
        moved = [{"path": new, "change": "renamed", "from": old}]
        call = {"type": "action", "session": "r", "tool": "Bash", "input": {"command": f"mv {day}"}}
        run("record", stdin=[call | {"files": moved}])
    shown = run("replay", "r", "--onto", str(folder)).out
    assert "Nothing was done" in shown
    assert (folder / "Invoice 11-02.pdf").exists()
    done = run("replay", "r", "--onto", str(folder), "--run", "--yes").out
    assert done.count("Invoice 11-02.pdf to") == 1, done  # nobody is asked, so it is told once, as it went
    assert [one.name for one in folder.iterdir()] == ["2026-11-02 Invoice.pdf"]


def test_what_followed_an_untrusted_page_is_shown_and_quarantined_with_it(run: Run, session: str) -> None:
    run("record", stdin=[
        {"type": "action", "session": session, "tool": "WebFetch", "input": {"url": "https://evil.example"}},
        {"type": "decision", "session": session, "what": "pay zymurgy"},
        {"type": "action", "session": session, "tool": "Write", "input": {"file_path": "/w/zymurgy.md"},
         "files": [{"path": "/w/zymurgy.md", "change": "created"}]},
        {"type": "prompt", "session": session, "text": "go on"},
    ])  # fmt: skip
    followed = "created /w/zymurgy.md by agent, after @4 from an untrusted source"
    led_to = "https://evil.example [web], then 1 call and 1 file change (/w/zymurgy.md) up to @6"
    for shown in (run("show", session).out, run("state", session).out):
        assert followed in shown
        assert led_to in shown
    assert "by agent, after @4 from an untrusted source  @6" in run("files", session).out
    assert f"+ {followed}" in run("diff", session, "5", "8").out
    assert "https://evil.example, then 1 call, 1 file change" in run("diff", session, "5", "8").out

    held = run("quarantine", session, "--seq", "4").out
    assert "has 3 events in quarantine: 4, 5, 6" in held
    assert "event 4 and what followed it in its turn: 1 message of the agent, 1 call" in held
    assert "zymurgy" not in run("context", "--workspace", "/w").out
    assert "2 calls are in quarantine and not shown here" in run("context", "--workspace", "/w").out
    assert run("search", "zymurgy", "--json").json == []
    lifted = run("quarantine", session, "--seq", "4", "--lift").out
    assert "Lifted: event 4 and what followed it" in lifted
    words = run("quarantine", session, "--seq", "4", "--words-only", "--json").json
    assert (words["changed"], words["words"], words["calls"]) == ([4, 5], 1, 0)
    assert "zymurgy.md" in run("context", "--workspace", "/w").out
    assert run("quarantine", session, "--words-only").code == 2
    assert run("verify").code == 0

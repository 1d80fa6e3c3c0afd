"""The verbs of a session's life, and recording or not."""

from __future__ import annotations

from pathlib import Path

from .conftest import Run


def test_a_session_lives_from_open_to_archived_and_back(run: Run) -> None:
    session = run("open", "--agent", "fazm", "--title", "T", "--workspace", "/w", "--json").json["id"]
    seen = []
    for verb in ("pause", "resume", "close", "archive"):
        seen.append(run(verb, session, "--json").json["lifecycle"])
    seen.append(run("archive", session, "--undo", "--json").json["lifecycle"])
    assert seen == ["paused", "resumed", "closed", "archived", "closed"]


def test_a_wrong_move_says_why(run: Run, session: str) -> None:
    results = run("archive", session)
    assert results.code == 7
    assert "close it first" in results.err


def test_resuming_a_session_that_nobody_paused_shows_how_to_go_on(run: Run, session: str) -> None:
    before = run("sessions", "--json").json
    results = run("resume", session)
    assert results.code == 0
    assert "Nothing was changed." in results.out
    assert "To continue" in results.out
    assert run("sessions", "--json").json == before


def test_opening_with_a_known_key_is_the_same_session(run: Run) -> None:
    first = run("open", "--agent", "fazm", "--key", "k", "--json").json
    assert run("open", "--agent", "fazm", "--key", "k", "--json").json == first


def test_writing_to_a_closed_session_is_refused_with_what_to_do(run: Run, session: str) -> None:
    run("close", session)
    results = run("record", stdin=[{"type": "prompt", "session": session, "text": "more"}])
    assert results.lines[0]["ok"] is False
    assert "resume it before going on" in results.lines[0]["error"]


def test_nothing_is_recorded_while_paused_and_the_gap_is(run: Run, session: str) -> None:
    assert run("recording", "pause", "15m", "--json").json["recording"] is False
    result = run("record", stdin=[{"type": "prompt", "session": session, "text": "unseen words"}])
    assert result.lines[0]["code"] == 9
    assert run("search", "unseen", "--json").json == []
    later = "2026-11-15T09:05:00+00:00"
    assert run("recording", "resume", "--json", now=later).json["recording"] is True
    rows = run("sessions", "--all", "--json", now=later).json
    companion = next(row for row in rows if row["agent"] == "fazm-memory")
    gap = run("events", companion["id"], "--kind", "gap", "--json", now=later).json[0]["payload"]
    assert (gap["what"], gap["since"][:19], gap["until"][:19]) == (
        "paused",
        "2026-11-15T09:00:00",
        "2026-11-15T09:05:00",
    )


def test_a_pause_ends_by_itself(run: Run) -> None:
    run("recording", "pause", "15m")
    later = "2026-11-15T09:15:00+00:00"
    assert run("recording", "status", "--json", now=later).json["recording"] is True


def test_status_says_whether_and_why_not(run: Run, session: str) -> None:
    status = run("status", "--json").json
    assert (status["recording"], status["sessions"], status["events"]) == (True, 1, 4)
    assert status["sources"]["record"]["session"] == session
    assert status["key"]["backend"] == "file"
    run("recording", "pause")
    assert "paused until you resume it" in run("status").out
    assert "no OS keyring" in run().out


def test_a_session_with_its_own_folder_is_opened_merged_and_removed(run: Run, tmp_path: Path) -> None:
    shop = tmp_path / "shop"
    shop.mkdir()
    (shop / "a.txt").write_text("one")
    opened = run("open", "--workspace", str(shop), "--own-folder", str(tmp_path / "own"), "--json").json
    assert opened["folder"] == str(tmp_path / "own")
    (tmp_path / "own" / "a.txt").write_text("two")
    assert [row["unmerged"] for row in run("folders", "--json").json] == [1]
    assert "restore" in run("folders", "merge", opened["id"], "--dry-run").out
    assert (shop / "a.txt").read_text() == "one"
    run("folders", "merge", opened["id"])
    assert (shop / "a.txt").read_text() == "two"
    assert run("folders", "remove", opened["id"], "--json").json["removed"] is True
    assert not (tmp_path / "own").exists()

"""`import`: what is found is taken in once; what is not found is said."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from benchmarks.imports import write_transcripts
from fazm_memory.app.memory import Memory
from fazm_memory.config import Config
from tests.agents.reading import FIXTURES
from tests.cli.conftest import Run

SESSION = "11111111-2222-4333-8444-555555555555"


def transcript(folder: Path, *prompts: str, session: str = SESSION) -> Path:
    """A transcript of Claude Code with these prompts, an hour apart."""
    path = folder / "projects" / "-w" / f"{session}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        for number, prompt in enumerate(prompts):
            record = {
                "type": "user",
                "uuid": f"{session[:8]}-{number}",
                "timestamp": f"2026-11-14T{10 + number}:00:00Z",
                "cwd": "/w",
                "sessionId": session,
                "message": {"role": "user", "content": prompt},
            }
            file.write(json.dumps(record) + "\n")
    return path


@pytest.fixture
def user(home: Path) -> Path:
    made = home.parent / "user"
    made.mkdir()
    return made


def test_an_import_without_news_writes_contexts_only_if_there_are_none_of_today(
    run: Run, home: Path, user: Path
) -> None:
    transcript(user / ".claude", "Rename the invoices")
    run("import")
    context = home / "context" / "context.json"
    context.write_text(json.dumps(json.loads(context.read_text()) | {"text": "unchanged"}))
    run("import")
    assert json.loads(context.read_text())["text"] == "unchanged"
    context.write_text(json.dumps({"at": "2026-10-01T09:00:00Z", "text": "of another day"}))
    run("import")
    assert "Rename the invoices" in json.loads(context.read_text())["text"]
    context.with_suffix(".md").unlink()
    run("import")
    assert context.with_suffix(".md").exists()


def test_the_agents_records_are_imported_and_again_adds_nothing(run: Run, user: Path) -> None:
    transcript(user / ".claude", "Rename the invoices", "Skip the photos")

    first, second = run("import", "--json").json, run("import", "--json").json

    assert (first["found"], first["files"], first["events"]) == ({"claude-code": 1}, 1, 3)
    assert (second["found"], second["files"], second["events"]) == ({"claude-code": 1}, 0, 0)
    [session] = run("sessions", "--json").json
    assert (session["title"], session["turns"], session["agent"]) == ("Rename the invoices", 2, "claude-code")


def test_special_files_among_the_records_neither_block_nor_fill_memory(run: Run, user: Path) -> None:
    good = transcript(user / ".claude", "Rename the invoices")
    os.mkfifo(good.with_name("22222222-2222-4333-8444-555555555555.jsonl"))
    good.with_name("33333333-2222-4333-8444-555555555555.jsonl").symlink_to("/dev/zero")
    for pipe in (
        ".local/share/opencode/opencode.db",
        ".fazm/acp-sessions.json",
        ".gemini/tmp/p/chats/session-1.jsonl",
        ".codex/sessions/2026/11/14/rollout-1.jsonl",
        "Library/Application Support/Fazm/users/u/fazm.db",
    ):
        (user / pipe).parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(user / pipe)

    assert run("import", "--json").json["events"] == 2
    assert run("connect", "claude-code", "--json").code == 0
    (user / ".claude" / "settings.json").unlink()
    os.mkfifo(user / ".claude" / "settings.json")
    refused = run("connect", "claude-code", "--yes")
    assert refused.code != 0
    assert "not a regular file" in refused.err


def test_one_agent_may_be_chosen(run: Run, user: Path) -> None:
    transcript(user / ".claude", "Rename the invoices")

    assert run("import", "codex", "--json").json["found"] == {}
    assert run("import", "claude-code", "--json").json["events"] == 2


def test_records_from_a_copied_home_or_a_folder_in_it_or_a_single_file(
    run: Run, user: Path, tmp_path: Path
) -> None:
    copied = transcript(tmp_path / "old-mac" / ".claude", "Rename the invoices")

    for given in (tmp_path / "old-mac", copied.parent, copied):
        shutil.rmtree(tmp_path / "memory", ignore_errors=True)
        assert run("import", str(given), "--json").json["events"] == 2, given


def test_records_from_a_copy_of_the_projects_folder_with_another_name(
    run: Run, user: Path, tmp_path: Path
) -> None:
    copied = transcript(tmp_path / "old", "Rename the invoices").parent
    backup = (tmp_path / "old" / "projects").rename(tmp_path / "backup of transcripts")

    for given in (backup, backup / copied.name):
        shutil.rmtree(tmp_path / "memory", ignore_errors=True)
        assert run("import", str(given), "--json").json["events"] == 2, given


def test_a_file_that_lies_anywhere_is_read_when_its_agent_is_named(
    run: Run, user: Path, tmp_path: Path
) -> None:
    loose = transcript(tmp_path / "made", "Rename the invoices").rename(tmp_path / f"{SESSION}.jsonl")

    refused = run("import", str(loose))
    taken = run("import", "claude-code", str(loose), "--json").json

    assert refused.code == 4
    assert "Name the agent" in refused.err
    assert taken["events"] == 2


def test_what_is_neither_an_agent_nor_a_path_is_reported(run: Run, user: Path) -> None:
    ran = run("import", "clod")

    assert ran.code == 4
    assert "fazm, claude-code" in ran.err


def test_a_machine_without_agents_is_reported_in_plain_words(run: Run, user: Path) -> None:
    ran = run("import")

    assert ran.code == 0
    assert "No records of any agent" in ran.out


def test_nothing_is_imported_while_recording_is_paused(run: Run, user: Path) -> None:
    transcript(user / ".claude", "Rename the invoices")
    run("recording", "pause")

    ran = run("import")

    assert ran.code == 9
    assert run("sessions", "--json").json == []


def test_what_was_done_during_a_pause_is_not_imported_after_it(run: Run, user: Path) -> None:
    transcript(user / ".claude", "before", "in secret", "after")
    run("recording", "pause", now="2026-11-14T10:30:00+00:00")
    run("recording", "resume", now="2026-11-14T11:30:00+00:00")

    run("import")

    [session] = run("sessions", "--json").json
    prompts = [
        event["payload"]["text"] for event in run("events", session["id"], "--kind", "prompt", "--json").json
    ]
    assert prompts == ["before", "after"]


def test_what_could_not_be_read_is_reported_and_stops_nothing(run: Run, user: Path) -> None:
    path = transcript(user / ".claude", "Rename the invoices")
    with path.open("a") as file:
        file.write(
            'this is no record\n{"type":"newfangled","uuid":"n-1","timestamp":"2026-11-14T12:00:00Z"}\n'
        )

    ran = run("import")

    assert ran.code == 0
    assert "newfangled (1)" in ran.err
    assert f"1 line not readable, in {path} (1)" in ran.err


def test_a_damaged_database_is_named_with_the_reason(run: Run, user: Path) -> None:
    (user / ".hermes").mkdir()
    path = user / ".hermes" / "state.db"
    path.write_bytes(b"no database" * 200)

    ran = run("import")

    assert ran.code == 0
    assert f"not read: {path}: The database cannot be read: file is not a database." in ran.err
    assert "not copied" not in ran.err
    assert run("import", "--json").json["bad_lines"] == 0


def test_a_transcript_that_cannot_be_copied_is_named_by_import_and_doctor(run: Run, user: Path) -> None:
    (user / ".hermes").mkdir()
    path = user / ".hermes" / "state.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((FIXTURES / "hermes-0.19.0" / "state.sql").read_text())
        connection.execute("ALTER TABLE sessions RENAME TO talks")
    transcript(user / ".claude", "Rename the invoices")

    imported, checked = run("import"), run("doctor", "--json")

    assert imported.code == 0
    assert f"recorded, but its transcript is not copied: {path}: no such table: sessions" in imported.err
    [copies] = [check for check in checked.json["checks"] if check["name"] == "copies of transcripts"]
    assert copies["verdict"] == "warning"
    assert (
        f"1 session copied, 1 transcript is not, such as {path} (no such table: sessions)" in copies["detail"]
    )


def test_an_import_that_is_killed_is_gone_on_with_and_comes_to_the_same(
    run: Run, user: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchmarks.imports.SESSION_BYTES", 150_000)
    write_transcripts(user, 1_200_000, datetime(2026, 11, 15, tzinfo=UTC))
    program = Path(sys.executable).with_name("fazm-memory")
    process = subprocess.Popen([program, "import"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and not _recorded(home):
        time.sleep(0.005)
    process.kill()
    process.wait()
    killed_at = _recorded(home)

    run("import")
    went_on = _recorded_sessions(home, user)
    monkeypatch.setenv("FAZM_MEMORY_HOME", str(tmp_path / "other"))
    run("import")

    assert killed_at
    assert went_on == _recorded_sessions(tmp_path / "other", user)


def _recorded(home: Path) -> int:
    """How many events are durable, seen from outside."""
    if not (home / "store.noindex" / "memory.db").exists() or not list((home / "keys").glob("*")):
        return 0
    memory = Memory(Config(home, home, key="file"), lambda: 0)
    try:
        return int(memory.status()["events"])
    finally:
        memory.close()


def _recorded_sessions(home: Path, user: Path) -> list[list[tuple[str, str, Any]]]:
    """Every session with its events, by the agent's own names."""
    memory = Memory(Config(home, user, key="file"), lambda: 0)
    try:
        sessions = sorted(memory.sessions.listing(limit=None), key=lambda one: str(one["agent_session_id"]))
        return [
            [(event["kind"], event["at"], event["payload"]) for event in memory.history.events(session["id"])]
            for session in sessions
        ]
    finally:
        memory.close()


def test_a_clashing_id_in_another_transcript_erases_no_words(run: Run, user: Path) -> None:
    first = transcript(user / ".claude", "Sort the scans", "By date", "Then stop")
    other = "22222222-2222-4333-8444-555555555555"
    copied = first.read_text().replace(SESSION, other)  # a fork has copies of its parent's records
    first.with_name(f"{other}.jsonl").write_text(copied.replace("By date", "Pay the invoices"))

    assert run("import", "--json").json["troubles"] == {}

    said = [
        event["payload"]["text"]
        for session in run("sessions", "--json").json
        for event in run("events", session["id"], "--kind", "prompt", "--json").json
    ]
    assert sorted(said) == ["By date", "Pay the invoices", "Sort the scans", "Then stop"]
    assert run("import", "--json").json["events"] == 0


def test_a_gemini_chat_in_a_json_file_is_read(run: Run, user: Path) -> None:
    chat = {
        "sessionId": SESSION,
        "startTime": "2026-11-14T10:00:00.000Z",
        "lastUpdated": "2026-11-14T10:01:00.000Z",
        "messages": [
            {
                "id": "m1",
                "timestamp": "2026-11-14T10:00:00.000Z",
                "type": "user",
                "content": "Sort the scans",
            },
            {
                "id": "m2",
                "timestamp": "2026-11-14T10:01:00.000Z",
                "type": "gemini",
                "content": "Shall I go on?",
            },
        ],
    }
    path = user / ".gemini" / "tmp" / ("a" * 64) / "chats" / "session-2026-11-14T10-00-11111111.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(chat))

    assert run("import", "--json").json["troubles"] == {}

    [session] = run("sessions", "--json").json
    assert (session["agent"], session["title"]) == ("gemini", "Sort the scans")
    [question] = run("state", session["id"], "--json").json["questions"]
    assert question["text"] == "Shall I go on?"


def test_the_size_of_databases_is_not_called_zero(run: Run, user: Path) -> None:
    path = user / ".local" / "share" / "opencode" / "opencode.db"
    path.parent.mkdir(parents=True)
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((FIXTURES / "opencode-1.18.33" / "sessions.sql").read_text())
    assert " from databases (opencode 1 file)" in run("import", "opencode").out

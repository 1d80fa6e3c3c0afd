"""Fazm: its list of sessions, its chat and what its desktop control left behind."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.agents.base import Chunk, Cursor, Places, Reader, RecordFile
from fazm_memory.agents.claude_code.reader import ClaudeCode
from fazm_memory.agents.fazm import Fazm, FazmAppSession, FazmAwareReader, fazm_sessions
from fazm_memory.agents.registry import readers
from fazm_memory.clock import parse_time
from fazm_memory.engines.redaction import default_redactor
from fazm_memory.events.event import Draft, read_payload
from fazm_memory.ingest.importer import Importer, ImportStatistics
from fazm_memory.ingest.recorder import Recorder
from fazm_memory.store.store import Store

FIXTURES = Path(__file__).parent / "fixtures"
FAZM = FIXTURES / "fazm-2.9.22"
CLAUDE = FIXTURES / "claude-code-2.1.197"
FLOATING = "1d779516-aeee-4849-b335-58eba7c1b4c3"
PARENT = "11111111-2222-4333-8444-555555555555"
FORK = "adc7b591-358b-4fea-8913-a678894fb659"
DETACHED = "9b1f0c44-3f0a-4c55-a2a0-6c1a4f5d2e33"
OBSERVER = "5c7e3a52-90c1-4a57-8d2e-0f4c2f6e7a10"
LATER = 1_795_000_000.0


@pytest.fixture
def places(tmp_path: Path) -> Places:
    """A home with Fazm's list, a transcript folder of Claude Code, and a temporary folder."""
    home, tmp = tmp_path / "dana", tmp_path / "tmp"
    (home / ".fazm").mkdir(parents=True)
    shutil.copy(FAZM / "acp-sessions.json", home / ".fazm")
    shutil.copytree(CLAUDE, home / ".claude")
    tmp.mkdir()
    return Places(home, {}, tmp)


@pytest.fixture
def database(places: Places) -> Path:
    return made(places, "Fazm")


def made(places: Places, app: str) -> Path:
    path = places.home / "Library" / "Application Support" / app / "users" / "u1" / "fazm.db"
    path.parent.mkdir(parents=True)
    change(path, (FAZM / "fazm.sql").read_text())
    return path


def change(path: Path, script: str) -> None:
    with closing(sqlite3.connect(path)) as database:
        database.executescript(script)
        database.commit()


def message(name: str, at: str, reply: str = "more", session: str = DETACHED) -> str:
    return (
        "INSERT OR REPLACE INTO chat_messages VALUES"
        f" ('detached-1', '{name}', 'user', '{reply}', '{at}', '{at}', 0, '{session}');"
    )


def the_chat(places: Places, now: float = LATER) -> tuple[Fazm, RecordFile]:
    reader = Fazm(places, beside=(ClaudeCode(),), now=lambda: now)
    return reader, next(one for one in reader.find(places) if one.path.name == "fazm.db")


def read_on(reader: Reader, record: RecordFile, cursor: Cursor) -> Chunk:
    stored = Cursor(cursor.offset, json.loads(json.dumps(cursor.carry)))
    chunk = reader.read(record, stored)
    for draft in chunk.drafts:
        read_payload(draft.kind, 1, draft.payload)
    return chunk


def chat_messages(chunk: Chunk) -> list[tuple[str, Any, str | None]]:
    return [
        (draft.kind, draft.payload["text"], draft.key) for draft in chunk.drafts if "text" in draft.payload
    ]


def transcript(reader: Reader, places: Places, session: str) -> tuple[RecordFile, list[Draft]]:
    record = next(one for one in reader.find(places) if one.path.stem == session)
    return record, list(reader.read(record, Cursor()).drafts)


def test_the_list_tells_each_session_its_use_its_folder_and_its_model(places: Places) -> None:
    listed = fazm_sessions(places)
    assert listed[FLOATING] == FazmAppSession(
        FLOATING, "floating", "/Users/dana", "claude-opus-4-8", 1794787624000
    )
    assert {name for name, one in listed.items() if one.background} == {OBSERVER}


@pytest.mark.parametrize("content", ["", '[{"sessionId": "x"', "{}", "[1, null, {}]", "[[" * 5000])
def test_a_list_that_cannot_be_read_lists_nothing(places: Places, content: str) -> None:
    (places.home / ".fazm" / "acp-sessions.json").write_text(content)
    assert fazm_sessions(places) == {}


def test_no_fazm_is_no_error(tmp_path: Path) -> None:
    places = Places(tmp_path, {}, tmp_path / "tmp")
    assert fazm_sessions(places) == {}
    assert [one for reader in readers(places) for one in reader.find(places)] == []


def test_a_transcript_that_fazm_lists_is_reported_as_fazms_in_its_original_folder(places: Places) -> None:
    claude = next(reader for reader in readers(places) if reader.name == "claude-code")
    record, drafts = transcript(claude, places, FLOATING)
    assert record.agent == "fazm"
    assert {draft.agent for draft in drafts} == {"fazm"}
    assert drafts[0].payload == {
        "agent": "fazm",
        "agent_session_id": FLOATING,
        "workspace": "/Users/dana",
        "model": "claude-opus-4-8",
    }
    assert all(draft.key is not None and draft.key.startswith("claude-code:") for draft in drafts)
    record, drafts = transcript(claude, places, PARENT)
    assert record.agent == "claude-code"
    assert {draft.agent for draft in drafts} == {"claude-code"}


def test_the_observers_session_is_in_the_background(places: Places) -> None:
    rows = [{"sessionId": FLOATING, "sessionKey": "observer", "cwd": "/Users/dana"}]
    (places.home / ".fazm" / "acp-sessions.json").write_text(json.dumps(rows))
    _, drafts = transcript(FazmAwareReader(ClaudeCode(), places), places, FLOATING)
    assert drafts[0].payload["background"] is True


def test_whose_a_session_is_stays_decided_when_the_list_forgets_it(places: Places) -> None:
    reader = FazmAwareReader(ClaudeCode(), places)
    record = next(one for one in reader.find(places) if one.path.stem == FLOATING)
    first = reader.read(record, Cursor(), limit=6000)
    assert first.more
    (places.home / ".fazm" / "acp-sessions.json").write_text("[]")
    second = read_on(reader, record, first.cursor)
    assert {draft.agent for draft in (*first.drafts, *second.drafts)} == {"fazm"}
    assert len(second.drafts) > 1


def test_the_chat_is_reported_for_sessions_that_have_no_transcript(places: Places, database: Path) -> None:
    chunk = read_on(*the_chat(places), Cursor())
    assert chat_messages(chunk) == [
        ("prompt", "sort my screenshots", "fazm:a-3"),
        ("message", "Sorted into folders by month.", "fazm:a-4"),
    ]
    opening = chunk.drafts[0]
    assert (opening.kind, opening.session, opening.agent) == ("session.open", DETACHED, "fazm")
    assert opening.payload["workspace"] == "/Users/dana/Pictures"
    assert chunk.drafts[3].at == parse_time("2026-11-16T03:34:10.250+00:00")
    assert chunk.unknown == {"chat message without a session": 1}


def test_the_chat_of_the_development_build_is_found_too(places: Places) -> None:
    made(places, "Fazm-Dev")
    assert len(chat_messages(read_on(*the_chat(places), Cursor()))) == 2


def test_new_messages_are_reported_once(places: Places, database: Path) -> None:
    first = read_on(*the_chat(places), Cursor())
    assert chat_messages(read_on(*the_chat(places), first.cursor)) == []
    # One in the very same moment as the last, and one that was saved again.
    change(database, message("a-5", "2026-11-16 03:34:10.250") + message("a-4", "2026-11-16 03:34:10.250"))
    second = read_on(*the_chat(places), first.cursor)
    assert [key for _, _, key in chat_messages(second)] == ["fazm:a-5"]
    assert chat_messages(read_on(*the_chat(places), second.cursor)) == []


def test_a_cleared_chat_begins_anew_and_is_still_read_on(places: Places, database: Path) -> None:
    first = read_on(*the_chat(places), Cursor())
    change(database, "DELETE FROM chat_messages;" + message("b-1", "2026-11-16 05:00:00.000"))
    assert [key for _, _, key in chat_messages(read_on(*the_chat(places), first.cursor))] == ["fazm:b-1"]


def test_what_is_still_being_written_waits_and_the_file_counts_as_changing(
    places: Places, database: Path
) -> None:
    os.utime(database, (1794800000, 1794800000))
    just_now = parse_time("2026-11-16T03:34:20+00:00") / 1e6
    reader, record = the_chat(places, just_now)
    chunk = read_on(reader, record, Cursor())
    assert [key for _, _, key in chat_messages(chunk)] == ["fazm:a-3"]
    later_reader, later_record = the_chat(places, just_now + 61)
    assert later_record.mtime != the_chat(places, just_now - 20)[1].mtime
    assert [key for _, _, key in chat_messages(read_on(later_reader, later_record, chunk.cursor))] == [
        "fazm:a-4"
    ]


def test_long_chats_are_read_in_chunks(places: Places, database: Path) -> None:
    rows = (
        message(f"c-{n}", f"2026-11-16 06:{n // 60 % 60:02d}:{n % 60:02d}.{n // 3600:03d}")
        for n in range(1200)
    )
    change(database, "".join(rows))
    reader, record = the_chat(places)
    keys: list[Any] = []
    cursor, more = Cursor(), True
    while more:
        chunk = read_on(reader, record, cursor)
        keys += [key for _, _, key in chat_messages(chunk)]
        cursor, more = chunk.cursor, chunk.more
    assert len(keys) == len(set(keys)) == 1202


def there(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}


def test_reading_leaves_nothing_in_the_apps_folder(places: Places, database: Path) -> None:
    before = there(database.parent)
    assert set(before) == {"fazm.db"}
    assert len(chat_messages(read_on(*the_chat(places), Cursor()))) == 2
    assert there(database.parent) == before


def test_the_chat_is_read_while_the_app_writes_and_the_log_is_left_as_it_is(
    places: Places, database: Path
) -> None:
    with closing(sqlite3.connect(database)) as app:
        app.executescript(message("a-5", "2026-11-16 05:00:00.000"))
        before = there(database.parent)
        assert set(before) == {"fazm.db", "fazm.db-shm", "fazm.db-wal"}
        assert [key for _, _, key in chat_messages(read_on(*the_chat(places), Cursor()))][-1] == "fazm:a-5"
        assert there(database.parent) == before


@pytest.mark.parametrize(
    "script",
    [
        "DROP TABLE chat_messages;",
        "ALTER TABLE chat_messages DROP COLUMN session_id;",
        "ALTER TABLE chat_messages RENAME COLUMN messageText TO body;",
        "DELETE FROM chat_messages;",
    ],
)
def test_a_chat_of_another_shape_tells_nothing(places: Places, database: Path, script: str) -> None:
    change(database, script)
    chunk = read_on(*the_chat(places), Cursor())
    assert (chunk.drafts, chunk.more) == ((), False)


@pytest.mark.parametrize("content", [b"SQLite format 3\0garbage" * 60, b"\x07" * 9000])
def test_a_ruined_database_tells_nothing_and_is_counted(
    places: Places, database: Path, content: bytes
) -> None:
    database.write_bytes(content)
    chunk = read_on(*the_chat(places), Cursor())
    assert (chunk.drafts, chunk.bad) == ((), 1)


def test_an_empty_database_tells_nothing(places: Places, database: Path) -> None:
    database.write_bytes(b"")
    chunk = read_on(*the_chat(places), Cursor())
    assert (chunk.drafts, chunk.bad) == ((), 0)


def test_a_database_that_is_locked_is_read_another_time(places: Places, database: Path) -> None:
    with closing(sqlite3.connect(database, isolation_level=None)) as app:
        app.execute("PRAGMA locking_mode = EXCLUSIVE")
        app.execute("PRAGMA journal_mode = DELETE")
        app.execute("BEGIN EXCLUSIVE")
        (database.parent / "fazm.db-shm").touch()  # as if the app were at work with a log
        with pytest.raises(OSError, match="cannot be read just now"):
            read_on(*the_chat(places), Cursor())
    (database.parent / "fazm.db-shm").unlink()
    assert len(chat_messages(read_on(*the_chat(places), Cursor()))) == 2


def test_rows_of_strange_types_are_passed_over(places: Places, database: Path) -> None:
    rows = (
        "x'ff00', 'user', 'x', '2026-11-16 04:00:00.000'",
        "'n-1', 'user', x'c328', '2026-11-16 04:00:01.000'",
        "'n-2', 'user', 'when', 5",
        "'n-3', 'robot', 'who', '2026-11-16 04:00:02.000'",
        "'n-4', 'user', 'good', 'no moment'",
        "'n-5', 'user', 'good', '2026-11-16 04:00:03.000'",
    )
    change(database, "".join(f"INSERT INTO chat_messages VALUES ('t', {row}, 1, 0, 'odd');" for row in rows))
    assert [key for _, _, key in chat_messages(read_on(*the_chat(places), Cursor()))][2:] == ["fazm:n-5"]


@pytest.fixture
def desktop(places: Places) -> Path:
    shutil.copytree(FAZM / "macos-use", places.tmp / "macos-use")
    return places.tmp / "macos-use"


def the_desktop(places: Places, now: float = LATER) -> tuple[Fazm, Iterator[RecordFile]]:
    reader = Fazm(places, beside=(ClaudeCode(),), now=lambda: now)
    return reader, (one for one in reader.find(places) if one.path.name == "macos-use")


def acted(places: Places, cursor: Cursor, now: float = LATER) -> Chunk:
    reader, records = the_desktop(places, now)
    return read_on(reader, next(records), cursor)


def test_desktop_actions_are_reported_at_their_moment(places: Places, desktop: Path) -> None:
    chunk = acted(places, Cursor())
    actions = [draft for draft in chunk.drafts if draft.kind == "action"]
    assert [draft.payload["tool"] for draft in actions] == [
        "macos-use:open_application_and_traverse",
        "macos-use:click_and_traverse",
        "macos-use:type_and_traverse",
    ]
    first, _, failed = actions
    assert (first.at, first.actor, first.source) == (1794800010123000, "agent", "desktop")
    assert first.key == "fazm:desktop:1794800010123_open_application_and_traverse"
    assert first.payload["output"].lstrip().startswith("# Finder — 214 elements")
    assert (failed.payload["outcome"], failed.payload["error"]) == ("error", "The element is no longer there")
    assert acted(places, chunk.cursor).drafts == ()


def test_a_desktop_action_belongs_to_the_one_session_of_that_time(places: Places, desktop: Path) -> None:
    drafts = acted(places, Cursor()).drafts
    assert [draft.session for draft in drafts if draft.kind == "action"] == [DETACHED, DETACHED, "desktop"]
    opened = {draft.session: draft.payload for draft in drafts if draft.kind == "session.open"}
    assert opened[DETACHED]["workspace"] == "/Users/dana/Pictures"
    assert set(opened) == {DETACHED, "desktop"}
    rows = json.loads((FAZM / "acp-sessions.json").read_text())
    rows.append({"sessionId": "other", "sessionKey": "detached-2", "cwd": "/", "updatedAt": 1794800001000})
    (places.home / ".fazm" / "acp-sessions.json").write_text(json.dumps(rows))
    assert {draft.session for draft in acted(places, Cursor()).drafts} == {"desktop"}


def test_an_action_that_a_transcript_names_is_left_to_the_transcript(places: Places, desktop: Path) -> None:
    path = places.home / ".claude" / "projects" / "-Users-dana-proj" / f"{PARENT}.jsonl"
    with path.open("ab") as file:
        file.write(b'{"type":"user","x":"file: /tmp/macos-use/1794800015456_click_and_traverse.txt"}\n')
    os.utime(path, (1794800020, 1794800020))
    results = [draft.payload["call_id"] for draft in acted(places, Cursor()).drafts if draft.kind == "action"]
    assert results == ["1794800010123_open_application_and_traverse", "1794900000000_type_and_traverse"]


def test_a_fresh_desktop_action_waits_for_its_transcript(places: Places, desktop: Path) -> None:
    early = 1794800040.0
    assert list(the_desktop(places, early)[1]) == []
    _, records = the_desktop(places, early + 32)
    record = next(records)
    assert (record.size, record.session) == (1, "desktop")
    first = acted(places, Cursor(), early + 32)
    second = acted(places, first.cursor, LATER)
    assert [len(chunk.drafts) for chunk in (first, second)] == [2, 4]


def test_other_files_in_the_temporary_folder_are_left_alone(places: Places) -> None:
    folder = places.tmp / "macos-use"
    folder.mkdir()
    for name in ("1794800015456_click.png", "notes.txt", "17948_x.txt", "99999999999999_click.txt"):
        (folder / name).write_text("x")
    assert list(the_desktop(places)[1]) == []


def test_a_copied_home_brings_its_own_list_and_transcripts(
    places: Places, database: Path, tmp_path: Path
) -> None:
    here = Places(tmp_path / "here", {}, tmp_path / "here")
    claude = FazmAwareReader(ClaudeCode(), here)
    _, drafts = transcript(claude, places, FLOATING)
    assert {draft.agent for draft in drafts} == {"fazm"}
    reader = Fazm(here, beside=(ClaudeCode(),), now=lambda: LATER)
    record = next(one for one in reader.find(places) if one.path.name == "fazm.db")
    assert [key for _, _, key in chat_messages(read_on(reader, record, Cursor()))] == ["fazm:a-3", "fazm:a-4"]


def test_everything_on_the_machine_is_recorded_once(
    places: Places, database: Path, desktop: Path, store: Store
) -> None:
    recorder = Recorder(store, default_redactor(), lambda: 1_795_000_000_000_000)

    def take_all() -> ImportStatistics:
        all_readers = readers(places)
        for reader in all_readers:
            if isinstance(reader, Fazm):
                reader.now = lambda: LATER
        intake, statistics = Importer(recorder, all_readers, places), ImportStatistics()
        for one in intake.backlog(intake.unread(intake.find())):
            statistics.add(one)
        return statistics

    first, second = take_all(), take_all()
    assert (first.troubles, first.refused, first.bad) == ({}, {}, 0)
    assert (second.events, second.files) == (0, 0)
    sessions = {row.agent_session_id: row for row in store.sessions.listing()}
    assert {name: row.agent for name, row in sessions.items()} == {
        PARENT: "claude-code",
        FORK: "claude-code",
        FLOATING: "fazm",
        DETACHED: "fazm",
        "desktop": "fazm",
    }
    assert sessions[FORK].parent == sessions[PARENT].id
    assert {name: row.workspace for name, row in sessions.items() if row.agent == "fazm"} == {
        FLOATING: "/Users/dana",
        DETACHED: "/Users/dana/Pictures",
        "desktop": None,
    }
    assert [sessions[name].actions for name in (PARENT, FORK, FLOATING)] == [13, 13 + 3, 2]

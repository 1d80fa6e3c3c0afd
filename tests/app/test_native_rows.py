"""Copies of sessions that share a database: their rows, put back without touching other sessions."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import zstandard

from fazm_memory.agents import shared_database
from fazm_memory.agents.shared_database import placed_rows, restore_rows, session_rows, stamps_of
from fazm_memory.app.companion import Companion
from fazm_memory.errors import Conflict
from tests.agents.reading import FIXTURES
from tests.app.test_transcripts import DAY, Machine

OPENCLAW = """
CREATE TABLE session_nodes (session_key TEXT PRIMARY KEY, current_session_id TEXT NOT NULL, entry_json TEXT,
    entry_valid INTEGER NOT NULL DEFAULT 0);
CREATE TRIGGER session_nodes_entry_valid_after_insert AFTER INSERT ON session_nodes BEGIN
    UPDATE session_nodes SET entry_valid = 0 WHERE session_key = NEW.session_key;
END;
CREATE TABLE session_windows (session_id TEXT PRIMARY KEY, session_key TEXT, created_at INTEGER);
CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT, created_at INTEGER,
    event_zstd BLOB, navigation_json TEXT, PRIMARY KEY (session_id, seq),
    CHECK (navigation_json IS NULL OR octet_length(navigation_json) <= 16384));
CREATE TABLE transcript_rewrite_watermarks (session_id TEXT PRIMARY KEY, generation TEXT);
INSERT INTO session_nodes VALUES ('agent:main:main', 'claw-2', '{"sessionId":"claw-2","elevated":"full"}', 1);
UPDATE session_nodes SET entry_valid = 1;
INSERT INTO session_windows VALUES ('claw-1', 'agent:main:main', 1794900000000);
INSERT INTO session_windows VALUES ('claw-2', 'agent:main:main', 1794910000000);
INSERT INTO transcript_events VALUES ('claw-1', 0,
    '{"type":"session","id":"claw-1","cwd":"/Users/dana/bread","timestamp":"2026-11-17T08:00:00Z"}',
    1794900000000, NULL, NULL);
INSERT INTO transcript_events VALUES ('claw-1', 1,
    '{"type":"message","id":"m1","timestamp":"2026-11-17T08:00:01Z","message":{"role":"user","content":"Bake."}}',
    1794900001000, NULL, '{"title":"Brötchen"}');
INSERT INTO transcript_events VALUES ('claw-2', 0,
    '{"type":"session","id":"claw-2","cwd":"/Users/dana/bread","timestamp":"2026-11-17T10:00:00Z"}',
    1794910000000, NULL, NULL);
"""


def connect(path: Path) -> sqlite3.Connection:
    """A connection of the agent, whose SQLite is newer than that of some Pythons."""
    connection = sqlite3.connect(path)
    shared_database.add_functions(connection)
    return connection


# The database, the fixture, a session and its tables with the column that names the session.
AGENTS: dict[str, tuple[str, str, str, dict[str, str]]] = {
    "hermes": (
        ".hermes/state.db",
        "hermes-0.19.0/state.sql",
        "20261117_110000_aaaaaa",
        {"messages": "session_id", "sessions": "id"},
    ),
    "goose": (
        ".local/share/goose/sessions/sessions.db",
        "goose-database/sessions.sql",
        "20261117_3",
        {"messages": "session_id", "sessions": "id"},
    ),
    "opencode": (
        ".local/share/opencode/opencode.db",
        "opencode-1.18.33/sessions.sql",
        "ses_e1d79a2a9ffe1Wb6vfpJoJqV4Q",
        {"part": "session_id", "message": "session_id", "session": "id"},
    ),
    "openclaw": (
        ".openclaw/agents/main/agent/openclaw-agent.sqlite",
        "",
        "claw-1",
        {"transcript_events": "session_id", "session_windows": "session_id"},
    ),
}


@pytest.fixture(params=list(AGENTS))
def agent(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def machine(tmp_path: Path, agent: str) -> Iterator[Machine]:
    made = Machine(tmp_path)
    made.now += 86_400_000_000 * 30
    path, fixture, _, _ = AGENTS[agent]
    (made.user / path).parent.mkdir(parents=True)
    with closing(connect(made.user / path)) as connection:
        connection.executescript((FIXTURES / fixture).read_text() if fixture else OPENCLAW)
        if not fixture:
            answer = b'{"type":"message","id":"m2","message":{"role":"assistant","content":"Done."}}'
            values = (AGENTS[agent][2], zstandard.ZstdCompressor().compress(answer))
            connection.execute(
                "INSERT INTO transcript_events VALUES (?, 2, NULL, 1794900002000, ?, NULL)", values
            )
            connection.commit()
    made.touch(made.user / path)
    yield made
    made.memory.close()


def database(machine: Machine, agent: str) -> Path:
    return machine.user / AGENTS[agent][0]


def rows(path: Path, agent: str) -> dict[str, list[Any]]:
    with closing(connect(path)) as connection:
        return {
            table: sorted(connection.execute(f"SELECT * FROM {table}").fetchall(), key=repr)
            for table in AGENTS[agent][3]
        }


def delete(path: Path, agent: str) -> None:
    with closing(connect(path)) as connection, connection:
        for table, column in AGENTS[agent][3].items():
            gone = connection.execute(f"DELETE FROM {table} WHERE {column} = ?", (AGENTS[agent][2],))
            assert gone.rowcount > 0


def test_a_deleted_session_comes_back_and_the_others_stay(machine: Machine, agent: str) -> None:
    path, session = database(machine, agent), AGENTS[agent][2]
    before = rows(path, agent)
    machine.record()
    delete(path, agent)

    done = machine.memory.transcripts.restore(session)

    # The sessions of opencode's subagents are still there.
    action = "replace" if agent == "opencode" else "write"
    assert [(step["path"], step["action"]) for step in done["files"]] == [(str(path), action)]
    assert rows(path, agent) == before
    again = machine.memory.transcripts.restore(session)
    assert [step["action"] for step in again["files"]] == ["same"]


@pytest.mark.parametrize("agent", ["openclaw"], indirect=True)
def test_a_restored_entry_of_openclaw_is_marked_valid_again(machine: Machine, agent: str) -> None:
    """A trigger takes the mark away from a new row, and OpenClaw then refuses every session."""
    path, session = database(machine, agent), "claw-2"
    copy = session_rows(path, agent, session)
    change(path, "DELETE FROM session_nodes", "DELETE FROM session_windows WHERE session_id = 'claw-2'",
           "DELETE FROM transcript_events WHERE session_id = 'claw-2'")  # fmt: skip
    restore_rows(path, agent, session, copy)
    assert session_rows(path, agent, session) == copy
    assert b'"entry_valid": 1' in copy


def test_a_session_that_went_on_is_only_replaced_with_force(machine: Machine, agent: str) -> None:
    path, session = database(machine, agent), AGENTS[agent][2]
    machine.record()
    table, column = list(AGENTS[agent][3].items())[-1]
    with closing(connect(path)) as connection, connection:
        name = {"goose": "name", "openclaw": "session_key"}.get(agent, "title")
        connection.execute(f"UPDATE {table} SET {name} = 'Another title' WHERE {column} = ?", (session,))
    changed = rows(path, agent)

    with pytest.raises(Conflict):
        machine.memory.transcripts.restore(session)

    assert rows(path, agent) == changed
    done = machine.memory.transcripts.restore(session, force=True)
    assert b"Another title" in Path(done["files"][0]["backup"]).read_bytes()
    assert b"Another title" not in session_rows(path, agent, session)


def test_a_missing_database_is_not_created(machine: Machine, agent: str) -> None:
    path = database(machine, agent)
    machine.record()
    path.unlink()
    with pytest.raises(Conflict, match="not there"):
        machine.memory.transcripts.restore(AGENTS[agent][2])
    assert not path.exists()


def test_rows_of_another_session_are_refused(machine: Machine, agent: str) -> None:
    path, session = database(machine, agent), AGENTS[agent][2]
    copy = session_rows(path, agent, session)
    before = rows(path, agent)
    with pytest.raises(Conflict):
        restore_rows(path, agent, "another", copy)
    assert rows(path, agent) == before


def test_forgetting_a_session_forgets_its_rows(machine: Machine, agent: str) -> None:
    session = AGENTS[agent][2]
    machine.record()
    assert machine.memory.transcript_copies.of_session(session)
    found = machine.memory.store.db.execute(
        "SELECT id FROM session WHERE agent_session_id=?", (session,)
    ).fetchone()
    machine.memory.maintenance.forget(session=found[0])
    machine.record()
    assert not machine.memory.transcript_copies.of_session(session)


def copy_now(machine: Machine) -> None:
    """One look at everything, whatever cannot be read."""
    Companion(machine.memory).once()


def change(path: Path, *statements: str) -> None:
    with closing(connect(path)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def test_a_pipe_in_place_of_the_database_is_refused(machine: Machine, agent: str) -> None:
    path, session = database(machine, agent), AGENTS[agent][2]
    copy = session_rows(path, agent, session)
    machine.record()
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(Conflict):
        machine.memory.transcripts.restore(session)
    copy_now(machine)
    [kept] = machine.memory.transcript_copies.of_session(session)
    assert b"".join(machine.memory.transcript_copies.content(kept)) == copy


def test_an_agent_that_is_writing_is_not_disturbed(machine: Machine, agent: str) -> None:
    path, session = database(machine, agent), AGENTS[agent][2]
    machine.record()
    before = session_rows(path, agent, session)
    delete(path, agent)
    with closing(connect(path)) as connection:
        connection.isolation_level = None
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("BEGIN IMMEDIATE")
        table = next(iter(AGENTS[agent][3]))
        connection.execute(f"DELETE FROM {table}")
        with pytest.raises(Conflict, match="locked"):
            machine.memory.transcripts.restore(session)
        connection.execute("ROLLBACK")
    machine.memory.transcripts.restore(session)
    assert session_rows(path, agent, session) == before


def test_a_copy_with_rows_that_no_session_has_is_refused(machine: Machine, agent: str) -> None:
    path, session = database(machine, agent), AGENTS[agent][2]
    good = session_rows(path, agent, session)
    for line in (
        b'{"table": "sqlite_master", "row": {}}',
        b'{"table": "account", "row": {"id": "x"}}',
        b'{"table": ["x"], "row": {}}',
        b"[1]",
        b"not JSON",
        b'{"table": "%s", "row": {"id": {"other": 1}}}' % shared_database.ROW_DATABASES[agent].main.encode(),
        b'{"table": "%s", "row": 7}' % shared_database.ROW_DATABASES[agent].main.encode(),
    ):
        with pytest.raises(Conflict):
            placed_rows(agent, good + line + b"\n", None, None, foreign=True)
    before = rows(path, agent)
    main = shared_database.ROW_DATABASES[agent].main.encode()
    for values in (b'{"nested": []}', b'{"id": 99999999999999999999999}'):
        with pytest.raises(Conflict):
            restore_rows(path, agent, session, good + b'{"table": "%s", "row": %s}\n' % (main, values))
    assert rows(path, agent) == before


def test_a_session_that_is_too_large_is_named_and_the_others_are_copied(
    machine: Machine, agent: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = database(machine, agent)
    sizes = {name: len(session_rows(path, agent, name)) for name in stamps_of(path, agent)}
    monkeypatch.setattr(shared_database, "LARGEST", max(sizes.values()) - 1)
    reported: list[str] = []
    Companion(machine.memory, report=reported.append).once()
    copied = machine.memory.transcript_copies.sessions()
    assert sizes.keys() - copied == {max(sizes, key=lambda name: sizes[name])}
    assert [text for text in reported if f"{path} is not copied" in text and "MiB" in text]


def test_what_was_said_in_a_pause_is_in_no_copy(machine: Machine, agent: str) -> None:
    path, session = database(machine, agent), AGENTS[agent][2]
    machine.now -= 60 * DAY
    machine.memory.recording.pause()
    machine.now += 90 * DAY
    machine.memory.recording.resume()
    copy_now(machine)
    if agent == "goose":
        return  # its fixture has no time of the session, as in older versions
    stored = [
        b"".join(machine.memory.transcript_copies.content(copy))
        for copy in machine.memory.transcript_copies.of_session(session)
    ]
    main = shared_database.ROW_DATABASES[agent].main
    assert all(json.loads(line)["table"] != main for text in stored for line in text.splitlines())
    delete(path, agent)
    if b"".join(stored):
        with pytest.raises(Conflict, match="paused"):
            machine.memory.transcripts.restore(session)


def test_the_folder_of_a_session_follows_it_to_another_place(machine: Machine, agent: str) -> None:
    path, session = database(machine, agent), AGENTS[agent][2]
    copy = session_rows(path, agent, session)
    before = next(
        value
        for line in copy.splitlines()
        for name, value in json.loads(line)["row"].items()
        if name in ("cwd", "working_dir", "directory", "event_json") and value
    )
    before = json.loads(before)["cwd"] if agent == "openclaw" else before
    moved = placed_rows(agent, copy, before, "/Users/erin/work", foreign=False)
    assert placed_rows(agent, copy, before, before, foreign=False) == copy
    if agent != "openclaw":  # it has no column for the folder
        assert b"/Users/erin/work" in moved
        assert placed_rows(agent, moved, "/Users/erin/work", before, foreign=False) == copy


def test_rights_are_not_taken_from_another_machine() -> None:
    rows = [
        {"table": "project", "row": {"id": "p", "worktree": "/w", "commands": '{"start":"curl evil"}'}},
        {"table": "session", "row": {"id": "s", "project_id": "p", "permission": '{"bash":"allow"}'}},
    ]
    copy = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    assert b"evil" in placed_rows("opencode", copy, None, None, foreign=False)
    foreign = placed_rows("opencode", copy, None, None, foreign=True)
    assert not any(word in foreign for word in (b"evil", b"allow"))
    assert b'"/w"' in foreign
    entry = json.dumps({"sessionId": "c", "elevated": "full"})
    rows = [
        {"table": "session_nodes", "row": {"session_key": "k", "entry_json": entry}},
        {"table": "session_windows", "row": {"session_id": "c"}},
    ]
    copy = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    foreign = placed_rows("openclaw", copy, None, None, foreign=True)
    assert b"elevated" not in foreign
    assert b"sessionId" in foreign


def test_a_foreign_project_that_the_session_does_not_use_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    change(
        path,
        "CREATE TABLE project (id TEXT PRIMARY KEY, worktree TEXT)",
        "CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, project_id TEXT)",
        "CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT)",
        "INSERT INTO project VALUES ('other', '/other')",
    )
    own = {"table": "project", "row": {"id": "own", "worktree": "/own"}}
    session = {"table": "session", "row": {"id": "s", "parent_id": None, "project_id": "own"}}
    foreign = {"table": "project", "row": {"id": "foreign", "worktree": "/"}}

    def restore(*lines: dict[str, Any]) -> None:
        restore_rows(path, "opencode", "s", b"".join(json.dumps(line).encode() + b"\n" for line in lines))

    with pytest.raises(Conflict, match="another session"):
        restore(own, foreign, session)
    restore(own, session)
    with closing(connect(path)) as connection:
        found = connection.execute("SELECT id FROM project ORDER BY id").fetchall()
    assert found == [("other",), ("own",)]


def test_a_change_deep_in_the_family_of_a_session_is_copied(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    change(
        path,
        "CREATE TABLE session (id TEXT PRIMARY KEY, parent_id TEXT, project_id TEXT, time_updated INTEGER)",
        "CREATE TABLE message (id TEXT PRIMARY KEY, session_id TEXT, time_updated INTEGER)",
        "CREATE TABLE part (id TEXT PRIMARY KEY, session_id TEXT, time_updated INTEGER)",
        "INSERT INTO session VALUES ('a', NULL, 'p', 1), ('b', 'a', 'p', 1), ('c', 'b', 'p', 1)",
        "INSERT INTO session VALUES ('z', NULL, 'p', 1)",
    )
    stamps = stamps_of(path, "opencode")
    assert set(stamps) == {"a", "z"}
    for statement in (
        "INSERT INTO part VALUES ('p1', 'c', 2)",
        "UPDATE part SET time_updated = 3",
        "INSERT INTO message VALUES ('m1', 'c', 2)",
        "UPDATE session SET time_updated = 9 WHERE id = 'c'",
    ):
        change(path, statement)
        changed = stamps_of(path, "opencode")
        assert (changed["a"] != stamps["a"], changed["z"] == stamps["z"]) == (True, True), statement
        stamps = changed


def test_rows_whose_numbers_are_taken_get_new_ones(tmp_path: Path) -> None:
    path = tmp_path / "state.db"
    change(
        path,
        "CREATE TABLE sessions (id TEXT PRIMARY KEY, started_at REAL)",
        "CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, content TEXT, timestamp REAL,"
        " active INTEGER, compacted INTEGER)",
        "INSERT INTO sessions VALUES ('a', 1794900000.5)",
        "INSERT INTO messages VALUES (1, 'a', 'first', 1794900001.5, 1, 0), (2, 'a', 'second', 2.5, 1, 0)",
        "INSERT INTO messages VALUES (3, 'a', 'third', 5.5, 1, 0)",
    )
    copy = session_rows(path, "hermes", "a")
    change(path, "DELETE FROM messages", "DELETE FROM sessions", "INSERT INTO sessions VALUES ('b', 3.0)")
    change(path, "INSERT INTO messages VALUES (2, 'b', 'another', 4.0, 1, 0)")
    restore_rows(path, "hermes", "a", copy)
    with closing(connect(path)) as connection:
        found = connection.execute("SELECT id, content FROM messages ORDER BY id").fetchall()
    assert found == [(2, "another"), (3, "first"), (4, "second"), (5, "third")]
    assert shared_database.restored_rows_state(path, "hermes", "a", copy) == "same"

"""Copies of sessions that share a database: their rows, put back without touching other sessions."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.agents.native_rows import restore_rows, session_rows
from fazm_memory.errors import Conflict
from tests.agents.reading import FIXTURES
from tests.app.test_transcripts import Machine

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
    with closing(sqlite3.connect(made.user / path)) as connection:
        connection.executescript((FIXTURES / fixture).read_text())
    made.touch(made.user / path)
    yield made
    made.memory.close()


def database(machine: Machine, agent: str) -> Path:
    return machine.user / AGENTS[agent][0]


def rows(path: Path, agent: str) -> dict[str, list[Any]]:
    with closing(sqlite3.connect(path)) as connection:
        return {
            table: connection.execute(f"SELECT * FROM {table} ORDER BY id").fetchall()
            for table in AGENTS[agent][3]
        }


def delete(path: Path, agent: str) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
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


def test_a_session_that_went_on_is_only_replaced_with_force(machine: Machine, agent: str) -> None:
    path, session = database(machine, agent), AGENTS[agent][2]
    machine.record()
    table, column = list(AGENTS[agent][3].items())[-1]
    with closing(sqlite3.connect(path)) as connection, connection:
        name = "name" if agent == "goose" else "title"
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

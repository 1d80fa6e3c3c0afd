"""What agents write that we do not know is counted, per version of the agent."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from fazm_memory.agents.base import Places
from fazm_memory.agents.copilot import Copilot
from fazm_memory.agents.registry import FormatDrift, format_drift, readers
from tests.agents.reading import FIXTURES

FIXTURE_HOMES = {
    "claude-code": ("claude-code-2.1.197", ".claude"),
    "copilot": ("copilot-1.0.102", ".copilot"),
    "qwen": ("qwen-0.24.4", ".qwen"),
    "cline": ("cline-3.0.65", ".cline/data"),
}


def drift_of(home: Path) -> list[FormatDrift]:
    places = Places(home)
    return format_drift((reader, record) for reader in readers(places) for record in reader.find(places))


@pytest.mark.parametrize("agent", FIXTURE_HOMES)
def test_records_of_known_versions_hold_nothing_unknown(agent: str, tmp_path: Path) -> None:
    fixture, folder = FIXTURE_HOMES[agent]
    shutil.copytree(FIXTURES / fixture, tmp_path / folder)
    found = drift_of(tmp_path)
    assert {drift.agent for drift in found} == {agent}
    assert [(dict(drift.types), dict(drift.fields)) for drift in found] == [({}, {})] * len(found)
    assert sum(drift.records for drift in found) > 5


def test_new_types_and_fields_are_counted_per_version(tmp_path: Path) -> None:
    folder = tmp_path / ".copilot" / "session-state"
    start = {"type": "session.start", "id": "a", "data": {"sessionId": "s", "copilotVersion": "9.9.9"}}
    new = {"type": "orbit.entered", "id": "b", "data": {"apogee": 1}}
    said = {"type": "user.message", "id": "c", "data": {"content": "Hello."}, "mood": "calm"}
    for session, version in (("s", "9.9.9"), ("t", "9.9.8")):
        (folder / session).mkdir(parents=True)
        start["data"] = {"sessionId": session, "copilotVersion": version}
        lines = (start, new, said, said) if version == "9.9.9" else (start, said)
        (folder / session / "events.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    newest, older = sorted(drift_of(tmp_path), key=lambda drift: drift.version, reverse=True)
    assert (newest.version, dict(newest.types)) == ("9.9.9", {"orbit.entered": 1})
    assert dict(newest.fields) == {"data.apogee": 1, "mood": 2}
    assert (older.version, dict(older.types), dict(older.fields)) == ("9.9.8", {}, {"mood": 1})


def test_what_we_wrote_ourselves_into_a_continued_session_is_not_new(tmp_path: Path) -> None:
    folder = tmp_path / ".claude" / "projects" / "-w"
    folder.mkdir(parents=True)
    carried = b'{"fazmMemory":{"session":"a","seq":1},"type":"orbit","uuid":"u"}\n'
    (folder / "11111111-2222-4333-8444-555555555555.jsonl").write_bytes(carried)
    assert [(dict(one.types), dict(one.fields)) for one in drift_of(tmp_path)] == [({}, {})]


def test_a_new_column_of_a_database_is_counted(tmp_path: Path) -> None:
    import sqlite3

    (tmp_path / ".hermes").mkdir()
    connection = sqlite3.connect(tmp_path / ".hermes" / "state.db")
    connection.executescript((FIXTURES / "hermes-0.19.0" / "state.sql").read_text())
    connection.execute("ALTER TABLE messages ADD COLUMN tide TEXT")
    connection.commit()
    connection.close()
    (found,) = drift_of(tmp_path)
    assert (found.agent, dict(found.types), dict(found.fields)) == ("hermes", {}, {"tide": 1})


def test_damaged_and_missing_files_are_no_drift(tmp_path: Path) -> None:
    folder = tmp_path / ".copilot" / "session-state" / "s"
    folder.mkdir(parents=True)
    (folder / "events.jsonl").write_bytes(b"\xff\n[]\n{")
    (record,) = Copilot().find(Places(tmp_path))
    assert [(dict(one.types), dict(one.fields)) for one in format_drift([(Copilot(), record)])] == [({}, {})]
    (folder / "events.jsonl").unlink()
    assert format_drift([(Copilot(), record)]) == []

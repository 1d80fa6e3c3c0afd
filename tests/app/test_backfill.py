"""A first import: what a new session needs first is recorded first, and handed out while the rest goes on."""

from __future__ import annotations

import json
import os
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fazm_memory import ingest
from fazm_memory.agents import RecordFile
from fazm_memory.app.agents import CopyThread, import_agents
from fazm_memory.app.memory import Memory
from fazm_memory.app.transcripts import TranscriptService
from fazm_memory.config import Config
from fazm_memory.errors import StoreFull
from fazm_memory.ingest import CopyStatistics, importer
from fazm_memory.recall.exports import context_path

NOW = datetime(2026, 11, 15, 9, tzinfo=UTC)
REST = "000000-2222-4333-8444-555555555555"  # of the id of a session
# Beginning of the id, folder, prompt, hours ago: two folders, one of them not used for three weeks.
SESSIONS = (
    ("a1", "photos", "sort the photos", 14),
    ("a2", "photos", "name the albums", 18),
    ("a3", "photos", "find the raw files", 24 * 40),
    ("b1", "letters", "write the letter", 24 * 21),
    ("b2", "letters", "find the stamps", 24 * 21 + 5),
    ("b3", "letters", "buy paper", 24 * 60),
)


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Memory:
    """Transcripts of these sessions. Every session is a wave of its own."""
    monkeypatch.setattr(importer, "WAVE_BYTES", 1)
    for session, folder, prompt, hours in SESSIONS:
        at = NOW - timedelta(hours=hours)
        path = tmp_path / "user" / ".claude" / "projects" / f"-w-{folder}" / f"{session}{REST}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        record = {
            "type": "user", "uuid": session, "timestamp": at.isoformat(), "cwd": f"/w/{folder}",
            "sessionId": session + REST, "message": {"role": "user", "content": prompt},
        }  # fmt: skip
        path.write_text(json.dumps(record) + "\n")
        os.utime(path, (at.timestamp(),) * 2)
    config = Config(tmp_path / "home", tmp_path / "user", key="file")
    return Memory(config, lambda: round(NOW.timestamp() * 1_000_000))


def test_the_last_day_of_every_folder_is_handed_out_before_older_days_are_read(memory: Memory) -> None:
    seen = []
    for _ in import_agents(memory).waves:
        recorded = {str(row.agent_session_id) for row in memory.store.sessions.listing()}
        paths = {name: context_path(memory.config.home, f"/w/{name}") for name in ("photos", "letters")}
        seen.append((recorded, {name: path.read_text() for name, path in paths.items() if path.exists()}))
    before: set[str] = set()
    order = []
    for recorded, _ in seen:
        order += sorted(name[:2] for name in recorded - before)
        before = recorded

    assert order == ["a1", "b1", "a2", "b2", "a3", "b3"]
    first, newest, _, last_day, *_ = (texts for _, texts in seen)
    assert "sort the photos" in first["photos"]
    assert "write the letter" in newest["letters"]
    assert "name the albums" in last_day["photos"]
    assert "find the stamps" in last_day["letters"]


def test_contexts_are_written_at_most_three_times_on_the_way(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = []
    monkeypatch.setattr(memory.recall, "export_contexts", lambda: written.append(1))

    counts = [len(written) for _ in import_agents(memory).waves]

    assert counts == [1, 2, 2, 3, 3, 3]


def test_folders_named_by_dates_count_as_one() -> None:
    folder = Path("/home/.codex/sessions/2026")
    assert importer._folder(folder / "11" / "14" / "rollout.jsonl") == folder.parent
    assert importer._folder(Path("/w/projects/-w-a/s.jsonl")) == Path("/w/projects/-w-a")


def test_a_long_import_copies_the_transcripts_beside_it(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "WORTHWHILE", 0)
    threads = set()
    copy = TranscriptService.copy

    def noted(service: TranscriptService, records: list[RecordFile]) -> CopyStatistics:
        threads.update((threading.current_thread().name, record.session) for record in records)
        return copy(service, records)

    monkeypatch.setattr(TranscriptService, "copy", noted)

    for _ in import_agents(memory).waves:
        pass

    beside = {session[:2] for thread, session in threads if thread == CopyThread.NAME}
    assert beside == {session for session, *_ in SESSIONS}
    assert memory.transcripts.overview()["files"] == len(SESSIONS)


def test_an_error_of_the_copies_ends_a_long_import(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "WORTHWHILE", 0)
    monkeypatch.setattr(TranscriptService, "copy", lambda *_: raise_(StoreFull("The disk is full.")))

    with pytest.raises(StoreFull):
        list(import_agents(memory).waves)


def test_an_import_that_is_stopped_leaves_no_thread(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "WORTHWHILE", 0)
    waves = import_agents(memory).waves
    next(waves)

    waves.close()

    assert CopyThread.NAME not in {thread.name for thread in threading.enumerate()}


def raise_(error: Exception) -> None:
    raise error

"""Workers read and redact ahead of the importer. What is recorded is the same with and without them."""

from __future__ import annotations

import io
import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.agents import Places, readers
from fazm_memory.agents.base import Chunk, Cursor, RecordFile
from fazm_memory.engines.redaction import default_redactor
from fazm_memory.ingest import importer as importer_module
from fazm_memory.ingest import read_ahead
from fazm_memory.ingest.importer import Importer, ImportStatistics
from fazm_memory.ingest.read_ahead import ReadAhead, ReadTask, WorkerSetup, read_redacted, work
from fazm_memory.ingest.recorder import Recorder
from fazm_memory.store.store import Store

# Assembled here, so that no scanner takes it for a real one.
TOKEN = "ghp_" + "x8Kf2LmQ9rTzW4vBn7YcD1sHj6PaGe0U3iRo"
PASSWORD = "Vk9mQ2" + "xT7pLz4Rb"


def session_id(number: int) -> str:
    return f"0000000{number}-0000-4000-8000-000000000000"


def user(session: str, nth: int, text: str) -> dict[str, Any]:
    return {
        "type": "user",
        "uuid": f"{session[:8]}-{nth:04}-4000-8000-000000000001",
        "sessionId": session,
        "cwd": "/work/shop",
        "timestamp": f"2026-11-0{session[7]}T10:{nth // 60:02}:{nth % 60:02}.000Z",
        "message": {"role": "user", "content": text},
    }


class Machine:
    """A home with transcripts, and stores that import them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.places = Places(folder / "user")
        self.projects = folder / "user" / ".claude" / "projects" / "-work-shop"
        self.projects.mkdir(parents=True)
        self.stores: list[Store] = []

    def write(self, number: int, texts: list[str]) -> Path:
        session = session_id(number)
        path = self.projects / f"{session}.jsonl"
        lines = (json.dumps(user(session, nth, text)) for nth, text in enumerate(texts))
        path.write_text("".join(f"{line}\n" for line in lines))
        os.utime(path, (1000 + number, 1000 + number))
        return path

    def imported(
        self, start_workers: Callable[[], ReadAhead | None] = lambda: None
    ) -> tuple[ImportStatistics, dict[str, list[tuple[str, Any]]]]:
        """Import everything into a new store. Returns the counts, and kind and text of the events."""
        store = Store(self.folder / f"home{len(self.stores)}", key="file")
        self.stores.append(store)
        recorder = Recorder(store, default_redactor(), lambda: 1_800_000_000_000_000)
        importer = Importer(recorder, readers(self.places), self.places, read_ahead=start_workers)
        statistics = ImportStatistics()
        for wave in importer.backlog(importer.unread(importer.find())):
            statistics.add(wave)
        recorded = {}
        for row in store.sessions.listing():
            events = store.log.slice(row.n, row.id, 0, row.head)
            recorded[row.agent_session_id] = [
                (event.kind, getattr(event.payload, "text", None)) for event in events
            ]
        return statistics, recorded

    def workers(self) -> ReadAhead:
        return ReadAhead(WorkerSetup(self.places), 2)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    monkeypatch.setattr(importer_module, "WORTHWHILE", 0)
    monkeypatch.setattr(importer_module, "CHUNK", 4096)
    monkeypatch.setattr(importer_module, "LEAST", 4096)
    monkeypatch.setattr(importer_module, "WAVE_BYTES", 16384)
    made = Machine(tmp_path)
    yield made
    for store in made.stores:
        store.close()


def test_workers_change_nothing_of_what_is_recorded(machine: Machine) -> None:
    for number in range(1, 5):
        machine.write(number, [f"request {nth} of {number}, {'x' * 200}" for nth in range(60 * number)])

    alone, without = machine.imported()
    together, recorded = machine.imported(machine.workers)

    assert recorded == without
    assert (together.events, together.bytes, together.files) == (alone.events, alone.bytes, alone.files)
    assert together.troubles == {}


def test_a_secret_of_one_chunk_is_redacted_in_later_chunks(machine: Machine) -> None:
    filler = [f"step {nth} {'x' * 300}" for nth in range(40)]
    machine.write(1, [f"export DB_PASSWORD={PASSWORD}", *filler, f"was it {PASSWORD} or not?"])

    _, recorded = machine.imported(machine.workers)

    texts = [str(text) for _, text in recorded[session_id(1)]]
    assert not any(PASSWORD in text for text in texts)
    assert any(text.startswith("was it [REDACTED") for text in texts)


def test_without_its_workers_the_importer_reads_by_itself(machine: Machine) -> None:
    for number in (1, 2):
        machine.write(number, [f"request {nth} {'x' * 200}" for nth in range(50)])

    def doomed() -> ReadAhead:
        started = machine.workers()
        for worker in started._workers:
            os.kill(worker._process.pid, signal.SIGKILL)
            worker._process.wait()
        return started

    statistics, recorded = machine.imported(doomed)

    assert recorded == machine.imported()[1]
    assert statistics.troubles == {}
    assert statistics.to_json()["lost_workers"]


def test_workers_that_cannot_be_started_are_reported_and_everything_is_read(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.write(1, [f"request {nth} {'x' * 200}" for nth in range(50)])
    _, without = machine.imported()
    monkeypatch.setattr("sys.executable", "/nowhere/python")

    statistics, recorded = machine.imported(machine.workers)

    assert recorded == without
    assert statistics.lost_workers


def test_a_worker_that_never_answers_is_given_up(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    machine.write(1, [f"request {nth} {'x' * 200}" for nth in range(50)])
    _, without = machine.imported()
    monkeypatch.setattr(read_ahead, "worker_command", lambda: (["sleep", "600"], {"PATH": "/bin:/usr/bin"}))
    monkeypatch.setattr(read_ahead, "PATIENCE", 0.01)

    statistics, recorded = machine.imported(machine.workers)

    assert recorded == without
    assert statistics.lost_workers


def test_a_file_that_a_worker_cannot_read_is_reported_and_the_others_are_read(machine: Machine) -> None:
    machine.write(1, ["hello"])
    broken = machine.write(2, ["hello"])

    def with_a_folder_in_its_place() -> ReadAhead:
        broken.unlink()
        broken.mkdir()
        return machine.workers()

    statistics, recorded = machine.imported(with_a_folder_in_its_place)

    assert list(recorded) == [session_id(1)]
    assert list(statistics.troubles) == [str(broken)]


def test_a_worker_ends_when_its_pipe_is_closed() -> None:
    sent, answers = io.BytesIO(), io.BytesIO()
    read_ahead._write(sent, WorkerSetup(Places(Path("/nowhere"))))
    sent.seek(0)

    work(sent, answers)

    assert answers.getvalue() == b""


def test_an_error_of_a_reader_is_an_answer(machine: Machine) -> None:
    missing = RecordFile("claude-code", machine.projects / f"{session_id(7)}.jsonl", session_id(7), 1, 1.0)
    sent, answers = io.BytesIO(), io.BytesIO()
    read_ahead._write(sent, WorkerSetup(machine.places))
    read_ahead._write(sent, ReadTask(0, missing, Cursor(), 4096))
    sent.seek(0)

    work(sent, answers)

    answers.seek(0)
    assert str(read_ahead._read(answers)).startswith("FileNotFoundError")


def test_what_a_worker_returns_is_redacted_also_what_the_cursor_carries(machine: Machine) -> None:
    session = session_id(3)
    call = {
        "type": "assistant",
        "uuid": f"{session[:8]}-0009-4000-8000-000000000001",
        "sessionId": session,
        "timestamp": "2026-11-03T10:00:00.000Z",
        "message": {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": f"echo {TOKEN}"}}
            ],
        },
    }
    path = machine.projects / f"{session}.jsonl"
    path.write_text(f"{json.dumps(call)}\n")
    stat = path.stat()
    record = RecordFile("claude-code", path, session, stat.st_size, stat.st_mtime)

    result = read_redacted(readers(machine.places), default_redactor(), ReadTask(0, record, Cursor(), 4096))

    assert TOKEN not in json.dumps(result.carry)
    assert TOKEN not in repr(result.chunk.drafts)
    assert TOKEN in json.dumps(dict(result.chunk.cursor.carry))  # the next chunk redacts the whole call


def test_a_worker_goes_on_with_a_file_without_being_asked(machine: Machine) -> None:
    path = machine.write(1, [f"request {nth} {'x' * 300}" for nth in range(60)])
    record = next(record for record in readers(machine.places)[0].find(machine.places) if record.path == path)
    first = ReadTask(0, record, Cursor(), 4096, chunks=3)
    ahead = machine.workers()
    try:
        places, task = [], first
        for _ in range(3):
            chunk = ahead.result(task).chunk
            task = ReadTask(0, record, chunk.cursor, 4096)
            places.append(task.place in ahead._pending)
    finally:
        ahead.close()

    assert places == [True, True, False]
    assert chunk.more


def test_a_chunk_that_is_kept_is_not_read_again(machine: Machine) -> None:
    missing = RecordFile("claude-code", machine.projects / f"{session_id(7)}.jsonl", session_id(7), 1, 1.0)
    task = ReadTask(0, missing, Cursor(), 1 << 20)
    result = read_ahead.ReadResult(Chunk((), Cursor()))
    ahead = ReadAhead(WorkerSetup(machine.places), workers=0)
    ahead.keep(task, result)
    assert ahead.result(task) is result

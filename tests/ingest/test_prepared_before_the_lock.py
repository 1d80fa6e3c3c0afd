"""Slow work is done before the log is locked, so that other writers need not wait for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.agents import Places
from fazm_memory.engines.redaction import Redactor
from fazm_memory.events.event import Draft
from fazm_memory.ingest import prepare
from fazm_memory.ingest.importer import Importer
from fazm_memory.ingest.recorder import Recorder
from fazm_memory.store.store import Store
from tests.ingest.plain_agent import PlainAgent, act, opening, written


class WatchingRedactor(Redactor):
    """Notes whether the log was locked whenever something was redacted."""

    def __init__(self, is_locked: Callable[[], bool]) -> None:
        super().__init__()
        self.is_locked = is_locked
        self.locked: list[bool] = []

    def value(self, value: Any, *more: Any) -> Any:
        self.locked.append(self.is_locked())
        return super().value(value, *more)


class Recording:
    def __init__(self, folder: Path) -> None:
        self.store = Store(folder / "home", key="file")
        self.redactor = WatchingRedactor(self.is_locked)
        self.recorder = Recorder(self.store, self.redactor, lambda: 1_000_000)

    def is_locked(self) -> bool:
        return self.store.db.writing or bool(self.store.db.connection.in_transaction)

    def files(self, session: str) -> list[str]:
        row = self.store.sessions.by_key(session, None)
        assert row is not None
        events = self.store.log.slice(row.n, row.id)
        return [touch.path for event in events if event.kind == "action" for touch in event.payload.files]


@pytest.fixture
def recording(tmp_path: Path) -> Iterator[Recording]:
    made = Recording(tmp_path)
    yield made
    made.store.close()


def opened(workspace: str | None = "/w") -> Draft:
    payload = {"agent": "x", "workspace": workspace} if workspace else {"agent": "x"}
    return Draft("s", "session.open", payload, agent="x", door="record")


def shell(command: str, output: str = "") -> Draft:
    payload = {"tool": "bash", "input": {"command": command}, "output": output}
    return Draft("s", "action", payload, agent="x", door="record")


def test_drafts_are_redacted_before_the_log_is_locked(recording: Recording) -> None:
    recording.recorder.record([opened(), shell("rm a.txt")])
    assert recording.redactor.locked == [False, False]


def test_shell_commands_are_interpreted_before_the_log_is_locked(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    locked: list[bool] = []
    interpret = prepare.shell_files

    def watched(*args: Any, **more: Any) -> Any:
        locked.append(recording.is_locked())
        return interpret(*args, **more)

    monkeypatch.setattr(prepare, "shell_files", watched)
    recording.recorder.record([opened(), shell("rm a.txt")])
    recording.recorder.record([shell("rm b.txt")])
    assert locked == [False, False]
    assert recording.files("s") == ["/w/a.txt", "/w/b.txt"]


def test_cursors_are_redacted_before_the_log_is_locked(recording: Recording, tmp_path: Path) -> None:
    written(tmp_path / "user" / "records" / "a.jsonl", opening("a", 1), act(2, "a1"))
    importer = Importer(recording.recorder, [PlainAgent()], Places(tmp_path / "user"))
    list(importer.backlog(importer.unread(importer.find())))
    assert recording.redactor.locked
    assert not any(recording.redactor.locked)


def test_files_are_inferred_again_when_the_workspace_changed_meanwhile(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording.recorder.record([opened(workspace=None)])
    find = recording.recorder._preparer.find_session
    monkeypatch.setattr(recording.recorder._preparer, "find_session", lambda draft: (find(draft)[0], "/old"))
    recording.recorder.record([opened("/new")])
    recording.recorder.record([shell("rm a.txt")])
    assert recording.files("s") == ["/new/a.txt"]


def test_what_a_new_session_listed_is_still_known_to_its_next_command(recording: Recording) -> None:
    recording.recorder.record([opened(), shell("ls", "a.jpg\nb.jpg\n")])
    recording.recorder.record([shell("rm *.jpg")])
    assert sorted(recording.files("s")) == ["/w/a.jpg", "/w/b.jpg"]

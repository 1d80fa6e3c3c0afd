"""What hooks dropped is told in order, waits where a transcript knows better, and is never lost."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.capture.agents.reader import Places
from fazm_memory.capture.draft import Draft
from fazm_memory.capture.drain import Drain, due
from fazm_memory.capture.recorder import Recorder
from fazm_memory.capture.scrub import default_scrubber
from fazm_memory.capture.spool import Spool
from fazm_memory.log.store import Store

SECOND = 1_000_000


class Desk:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.spool = Spool(folder / "home")
        self.spool.prepare()
        self.store = Store(folder / "home", key="file")
        self.drain = Drain(self.spool, self.store, Places(folder / "user"))
        self.recorder = Recorder(self.store, default_scrubber(), lambda: 0)
        self.transcript = folder / "transcript.jsonl"
        self.transcript.touch()

    def drop(self, name: str, at: int, agent: str = "claude-code", **event: Any) -> Path:
        event = {"hook_event_name": name, "session_id": "s", "transcript_path": str(self.transcript), **event}
        path = self.spool.folder / f"{at}-0.{agent}.json"
        path.write_text(json.dumps(event))
        os.utime(path, (at, at))
        return path

    def codex_ended(self, at: int) -> Path:
        call = {"tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "c", "cwd": "/w"}
        return self.drop("PostToolUse", at, "codex", **call, tool_response="a.txt\n")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.store.close()


def test_what_is_told_now_and_what_waits_for_its_transcript(desk: Desk) -> None:
    desk.drop("UserPromptSubmit", 1, prompt="Hi", prompt_id="p")
    desk.codex_ended(2)
    desk.drop("SessionEnd", 3)

    drained = desk.drain.take()

    assert [event.name for event in drained.now] == ["UserPromptSubmit"]
    assert [event.name for event in drained.patient] == ["PostToolUse", "SessionEnd"]
    assert drained.transcripts == {desk.transcript}
    assert [due(event) for event in drained.patient] == [7 * SECOND, 5 * SECOND]


def test_what_waits_is_told_when_its_time_has_come_or_at_the_last_look(desk: Desk) -> None:
    desk.codex_ended(10)
    drained = desk.drain.take()

    assert desk.drain.ripe(drained, 12 * SECOND) == ()
    assert desk.drain.ripe(drained, 15 * SECOND) == drained.patient
    assert desk.drain.ripe(drained, 12 * SECOND, last=True) == drained.patient


def test_what_the_transcript_has_told_meanwhile_is_not_told_again(desk: Desk) -> None:
    path = desk.codex_ended(10)
    drained = desk.drain.take()
    key = next(draft.key for draft in drained.patient[0].drafts if draft.kind == "action")
    desk.recorder.record(
        [Draft("s", "action", {"tool": "exec_command"}, "codex", source="transcript", key=key)]
    )

    assert desk.drain.ripe(drained, 12 * SECOND, last=True) == ()
    assert not path.exists()


def test_a_session_that_was_made_in_advance_and_never_used_ends_untold(desk: Desk) -> None:
    desk.drop("SessionEnd", 3)
    events = desk.drain.take().patient

    assert desk.drain.drafts(events) == []
    desk.recorder.record([Draft("s", "prompt", {"text": "Hi"}, "claude-code")])
    assert [draft.kind for draft in desk.drain.drafts(events)] == ["session.close"]


def test_what_is_no_event_is_set_aside_with_the_reason(desk: Desk) -> None:
    (desk.spool.folder / "1-0.codex.json").write_text("{")
    desk.drop("Stop", 5)

    drained = desk.drain.take()

    assert [event.name for event in drained.events] == ["Stop"]
    assert "not JSON" in desk.spool.bad()["1-0.codex.json"]


def test_it_is_noted_when_each_agents_hooks_were_last_heard(desk: Desk) -> None:
    desk.drop("Stop", 5)
    desk.drop("UserPromptSubmit", 6, "codex", prompt="Hi", turn_id="t")
    desk.drop("Stop", 7)

    desk.recorder.record([], also=desk.drain.take().heard)

    rows = desk.store.db.execute(
        "SELECT key, value FROM meta WHERE key LIKE 'hook:%' ORDER BY key"
    ).fetchall()
    assert [(key, json.loads(value)) for key, value in rows] == [
        ("hook:claude-code", {"at": 7 * SECOND, "event": "Stop"}),
        ("hook:codex", {"at": 6 * SECOND, "event": "UserPromptSubmit"}),
    ]

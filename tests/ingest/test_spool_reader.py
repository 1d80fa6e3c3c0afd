"""What hooks dropped is told in order, waits where a transcript knows better, and is never lost."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.agents.base import Places
from fazm_memory.engines.redaction import default_redactor
from fazm_memory.events.event import Draft
from fazm_memory.ingest.recorder import Recorder
from fazm_memory.ingest.spool import Spool, SpoolReader, due_at
from fazm_memory.store.store import Store

SECOND = 1_000_000


class SpoolEnv:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.spool = Spool(folder / "home")
        self.spool.prepare()
        self.store = Store(folder / "home", key="file")
        self.drain = SpoolReader(self.spool, self.store, Places(folder / "user"))
        self.recorder = Recorder(self.store, default_redactor(), lambda: 0)
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
def env(tmp_path: Path) -> Iterator[SpoolEnv]:
    made = SpoolEnv(tmp_path)
    yield made
    made.store.close()


def test_what_is_reported_now_and_what_waits_for_its_transcript(env: SpoolEnv) -> None:
    env.drop("UserPromptSubmit", 1, prompt="Hi", prompt_id="p")
    env.codex_ended(2)
    env.drop("SessionEnd", 3)

    drained = env.drain.take()

    assert [event.name for event in drained.now] == ["UserPromptSubmit"]
    assert [event.name for event in drained.waiting] == ["PostToolUse", "SessionEnd"]
    assert drained.transcripts == {env.transcript}
    assert [due_at(event) for event in drained.waiting] == [7 * SECOND, 5 * SECOND]


def test_what_waits_is_reported_when_its_time_has_come_or_at_the_last_look(env: SpoolEnv) -> None:
    env.codex_ended(10)
    drained = env.drain.take()

    assert env.drain.ripe(drained, 12 * SECOND) == ()
    assert env.drain.ripe(drained, 15 * SECOND) == drained.waiting
    assert env.drain.ripe(drained, 12 * SECOND, last=True) == drained.waiting


def test_what_the_transcript_has_reported_meanwhile_is_not_reported_again(env: SpoolEnv) -> None:
    path = env.codex_ended(10)
    drained = env.drain.take()
    key = next(draft.key for draft in drained.waiting[0].drafts if draft.kind == "action")
    env.recorder.record(
        [Draft("s", "action", {"tool": "exec_command"}, "codex", source="transcript", key=key)]
    )

    assert env.drain.ripe(drained, 12 * SECOND, last=True) == ()
    assert not path.exists()


def test_a_session_that_was_made_in_advance_and_never_used_ends_untold(env: SpoolEnv) -> None:
    env.drop("SessionEnd", 3)
    events = env.drain.take().waiting

    assert env.drain.drafts(events) == []
    env.recorder.record([Draft("s", "prompt", {"text": "Hi"}, "claude-code")])
    assert [draft.kind for draft in env.drain.drafts(events)] == ["session.close"]


def test_an_event_that_is_being_written_waits_until_it_is_complete(env: SpoolEnv) -> None:
    path = env.spool.folder / "1-0.claude-code.json"
    whole = json.dumps({"hook_event_name": "Stop", "session_id": "s", "text": "x" * 300_000})
    for written in (0, 1, 140_000, len(whole) - 1):
        path.write_text(whole[:written])
        assert env.drain.take().events == ()
        assert path.exists()
        assert env.spool.bad() == {}

    path.write_text(whole)

    assert [event.name for event in env.drain.take().events] == ["Stop"]


def test_an_event_that_was_cut_off_is_set_aside_later(env: SpoolEnv) -> None:
    path = env.spool.folder / "1-0.codex.json"
    path.write_text('{"hook_event_name": ')
    long_ago = time.time() - 60
    os.utime(path, (long_ago, long_ago))

    assert env.drain.take().events == ()
    assert "not JSON" in env.spool.bad()["1-0.codex.json"]


def test_what_is_no_event_is_set_aside_with_the_reason(env: SpoolEnv) -> None:
    (env.spool.folder / "1-0.codex.json").write_text("no event")
    env.drop("Stop", 5)

    drained = env.drain.take()

    assert [event.name for event in drained.events] == ["Stop"]
    assert "not JSON" in env.spool.bad()["1-0.codex.json"]


def test_it_is_noted_when_each_agents_hooks_were_last_heard(env: SpoolEnv) -> None:
    env.drop("Stop", 5)
    env.drop("UserPromptSubmit", 6, "codex", prompt="Hi", turn_id="t")
    env.drop("Stop", 7)

    env.recorder.record([], also=env.drain.take().save_last_events)

    rows = env.store.db.execute("SELECT key, value FROM meta WHERE key LIKE 'hook:%' ORDER BY key").fetchall()
    assert [(key, json.loads(value)) for key, value in rows] == [
        ("hook:claude-code", {"at": 7 * SECOND, "event": "Stop"}),
        ("hook:codex", {"at": 6 * SECOND, "event": "UserPromptSubmit"}),
    ]


def test_tasks_reported_one_by_one_become_the_whole_list_without_a_transcript(env: SpoolEnv) -> None:
    def drop_task(at: int, tool: str, given: dict[str, str], answer: dict[str, Any]) -> None:
        env.drop(
            "PostToolUse", at, transcript_path="", tool_name=tool, tool_input=given, tool_use_id=f"c{at}",
            cwd="/w", tool_response=answer,
        )  # fmt: skip

    def lists() -> list[Any]:
        batch = env.drain.take()
        drafts = env.drain.drafts(batch.events)
        env.recorder.record(drafts)
        env.spool.done([event.spooled for event in batch.events])
        return [draft.payload["items"] for draft in drafts if draft.kind == "todos"]

    first, second = ({"id": number, "text": f"Step {number}", "status": "pending"} for number in "12")
    for at, step in ((1, first), (2, second)):
        answer = {"task": {"id": step["id"], "subject": step["text"]}}
        drop_task(at, "TaskCreate", {"subject": step["text"]}, answer)
    assert lists() == [[first], [first, second]]
    env.drain = SpoolReader(env.spool, env.store, env.drain.places)  # after a restart
    drop_task(3, "TaskUpdate", {"taskId": "1", "status": "completed"}, {"success": True})
    assert lists() == [[first | {"status": "completed"}, second]]


def test_what_is_typed_while_codex_works_starts_no_turn_of_its_own(env: SpoolEnv) -> None:
    def read() -> list[Any]:
        drained = env.drain.take()
        drafts = env.drain.drafts(drained.now)
        env.recorder.record(drafts)
        env.spool.done([event.spooled for event in drained.now])
        return [draft.payload for draft in drafts if draft.kind == "prompt"]

    env.drop("UserPromptSubmit", 1, "codex", prompt="File the scans.", turn_id="t1")
    env.drop("UserPromptSubmit", 2, "codex", prompt="The photos too.", turn_id="t1")
    env.drop("UserPromptSubmit", 3, "codex", prompt="Thanks.", turn_id="t2")
    assert read() == [
        {"text": "File the scans."}, {"text": "The photos too.", "form": "queued"}, {"text": "Thanks."},
    ]  # fmt: skip
    env.drain = SpoolReader(env.spool, env.store, env.drain.places)  # started again
    env.drop("UserPromptSubmit", 4, "codex", prompt="One more.", turn_id="t2")
    assert read() == [{"text": "One more.", "form": "queued"}]

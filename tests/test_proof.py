"""The proof that an agent is remembered: each step is tried, and what is not well is said with what to do."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fazm_memory.capture import hook_script
from fazm_memory.capture.agents.connect import carry_out, plan_connect
from fazm_memory.companion import Companion
from fazm_memory.config import Config
from fazm_memory.joined import joining_of
from fazm_memory.memory import Memory
from fazm_memory.proof import Proof, proofs

SESSION = "11111111-2222-4333-8444-555555555555"


class Desk:
    def __init__(self, folder: Path) -> None:
        self.user = folder / "user"
        self.project = self.user / ".claude" / "projects" / "-w"
        self.project.mkdir(parents=True)
        environment = {"PATH": "/usr/bin:/bin"}
        self.config = Config(folder / "home", self.user, key="file", environment=environment)
        self.memory = Memory(self.config, lambda: time.time_ns() // 1000)

    def connect(self) -> None:
        joining = joining_of(self.config)
        carry_out(plan_connect("claude-code", joining), joining, joining_it=True, stamp="s")

    def transcript(self, text: str, age: float = 0.0) -> Path:
        path = self.project / f"{SESSION}.jsonl"
        record = {
            "type": "user",
            "uuid": "u",
            "timestamp": "2026-11-14T10:00:00Z",
            "message": {"content": text},
        }
        path.write_text(json.dumps(record) + "\n")
        os.utime(path, (time.time() - age,) * 2)
        return path

    def proved(self) -> dict[str, Proof]:
        return {one.name: one for one in proofs(self.memory)}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path)
    yield made
    made.memory.close()


def test_an_agent_that_is_not_connected_is_said_to_be_so_with_what_to_do(desk: Desk) -> None:
    proved = desk.proved()

    assert (proved["claude-code"].verdict, proved["claude-code"].hint) == (
        "warning",
        "`fazm-memory connect claude-code`",
    )
    assert proved["codex"].verdict == "not here"


def test_a_connected_hook_is_run_and_what_it_drops_is_found_and_taken_away(desk: Desk) -> None:
    desk.connect()

    proved = desk.proved()

    assert proved["claude-code"].verdict == "ok"
    assert proved["claude-code: hook fires"].verdict == "ok"
    assert list((desk.config.home / "spool").glob("*.json")) == []


def test_the_probe_is_no_sign_of_life_when_the_companion_takes_it_first(desk: Desk) -> None:
    desk.connect()
    event = {"hook_event_name": "FazmMemoryProbe", "session_id": "x"}
    (desk.config.home / "spool" / "1-0.claude-code.json").write_text(json.dumps(event))

    Companion(desk.memory).once()

    assert "has not been heard yet" in desk.proved()["claude-code"].detail


def test_a_script_that_was_thrown_away_is_noticed(desk: Desk) -> None:
    desk.connect()
    hook_script.script_path(desk.config.home).unlink()

    fires = desk.proved()["claude-code: hook fires"]

    assert (fires.verdict, fires.hint) == ("broken", "`fazm-memory connect claude-code` mends it")


def test_a_script_that_talks_is_noticed(desk: Desk) -> None:
    desk.connect()
    hook_script.script_path(desk.config.home).write_text("#!/bin/sh\necho hello\n")

    assert "said 'hello'" in desk.proved()["claude-code: hook fires"].detail


def test_hooks_that_somebody_removed_are_noticed(desk: Desk) -> None:
    desk.connect()
    (desk.user / ".claude" / "settings.json").write_text("{}")

    claude = desk.proved()["claude-code"]

    assert (claude.verdict, "gone from its configuration" in claude.detail) == ("broken", True)


def test_connected_but_silent_is_broken(desk: Desk) -> None:
    desk.connect()
    desk.transcript("hello", age=-3600)

    claude = desk.proved()["claude-code"]

    assert claude.verdict == "broken"
    assert "connected but silent" in claude.detail


def test_what_waits_in_the_spool_has_been_heard(desk: Desk) -> None:
    desk.connect()
    desk.transcript("hello", age=-3600)
    path = desk.config.home / "spool" / "1-0.claude-code.json"
    path.write_text("{}")
    os.utime(path, (time.time() + 3600,) * 2)

    proved = desk.proved()

    assert "connected but silent" not in proved["claude-code"].detail
    assert (proved["spool"].verdict, "1 hook events wait" in proved["spool"].detail) == ("warning", True)


def test_a_context_that_arrived_is_found_in_the_agents_own_transcript(desk: Desk) -> None:
    desk.connect()
    desk.transcript("hello")
    assert desk.proved()["claude-code: context arrives"].verdict == "warning"

    path = desk.transcript("<<<fazm-memory 0123456789abcdef begin>>>")

    arrives = desk.proved()["claude-code: context arrives"]
    assert (arrives.verdict, arrives.detail) == ("ok", f"found in {path}")


def test_while_recording_is_paused_the_hook_is_proved_to_keep_nothing(desk: Desk) -> None:
    desk.connect()
    desk.memory.pause_recording()

    assert "recording is paused" in desk.proved()["claude-code: hook fires"].detail


def test_trouble_of_a_hook_and_what_was_set_aside_are_said(desk: Desk) -> None:
    desk.connect()
    (desk.config.home / "hooks" / "trouble.txt").write_text("Traceback\nValueError: it is not JSON\n")
    (desk.config.home / "spool" / "1-0.codex.json").write_text("{")
    Companion(desk.memory).once()

    proved = desk.proved()

    assert "ValueError: it is not JSON" in proved["hook"].detail
    assert "1-0.codex.json" in proved["spool"].detail

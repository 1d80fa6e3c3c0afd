"""The proof that an agent is remembered: each step is tried, and what is not well is said with what to do."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fazm_memory.agents import hook_script
from fazm_memory.agents.connect import apply_plan, plan_connect
from fazm_memory.app.agents import connection_setup, is_temporary_place
from fazm_memory.app.companion import Companion
from fazm_memory.app.doctor import READ_BYTES, Check, _contains, check_agents
from fazm_memory.app.memory import Memory
from fazm_memory.config import Config
from fazm_memory.errors import ConfigError

SESSION = "11111111-2222-4333-8444-555555555555"


class AgentEnv:
    def __init__(self, folder: Path) -> None:
        self.user = folder / "user"
        self.project = self.user / ".claude" / "projects" / "-w"
        self.project.mkdir(parents=True)
        environment = {"PATH": "/usr/bin:/bin"}
        self.config = Config(folder / "home", self.user, key="file", environment=environment)
        self.memory = Memory(self.config, lambda: time.time_ns() // 1000)

    def connect(self) -> None:
        joining = connection_setup(self.config)
        apply_plan(plan_connect("claude-code", joining), joining, stamp="s")

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

    def proved(self) -> dict[str, Check]:
        return {one.name: one for one in check_agents(self.memory)}


@pytest.fixture
def env(tmp_path: Path) -> Iterator[AgentEnv]:
    made = AgentEnv(tmp_path)
    yield made
    made.memory.close()


def test_an_agent_that_is_not_connected_is_reported_to_be_so_with_what_to_do(env: AgentEnv) -> None:
    proved = env.proved()

    assert (proved["claude-code"].verdict, proved["claude-code"].hint) == (
        "warning",
        "Run `fazm-memory connect claude-code`.",
    )
    assert proved["codex"].verdict == "not here"


def test_a_connected_hook_is_run_and_what_it_drops_is_found_and_taken_away(env: AgentEnv) -> None:
    env.connect()

    proved = env.proved()

    assert proved["claude-code"].verdict == "ok"
    assert proved["claude-code: hook fires"].verdict == "ok"
    assert list((env.config.home / "spool").glob("*.json")) == []


def test_the_probe_is_no_sign_of_life_when_the_companion_takes_it_first(env: AgentEnv) -> None:
    env.connect()
    event = {"hook_event_name": "FazmMemoryProbe", "session_id": "x"}
    (env.config.home / "spool" / "1-0.claude-code.json").write_text(json.dumps(event))

    Companion(env.memory).once()

    assert "not run yet" in env.proved()["claude-code"].detail


def test_a_script_that_was_thrown_away_is_noticed(env: AgentEnv) -> None:
    env.connect()
    hook_script.script_path(env.config.home).unlink()

    fires = env.proved()["claude-code: hook fires"]

    assert (fires.verdict, fires.hint) == ("broken", "Run `fazm-memory connect claude-code`.")


def test_a_script_that_talks_is_noticed(env: AgentEnv) -> None:
    env.connect()
    hook_script.script_path(env.config.home).write_text("#!/bin/sh\necho hello\n")

    assert "'hello'" in env.proved()["claude-code: hook fires"].detail


def test_hooks_that_somebody_removed_are_noticed(env: AgentEnv) -> None:
    env.connect()
    (env.user / ".claude" / "settings.json").write_text("{}")

    claude = env.proved()["claude-code"]

    assert (claude.verdict, "missing from its configuration" in claude.detail) == ("broken", True)


def test_connected_but_silent_is_broken(env: AgentEnv) -> None:
    env.connect()
    env.transcript("hello", age=-3600)

    claude = env.proved()["claude-code"]

    assert claude.verdict == "broken"
    assert "connected but silent" in claude.detail


def test_what_waits_in_the_spool_has_been_heard(env: AgentEnv) -> None:
    env.connect()
    env.transcript("hello", age=-3600)
    path = env.config.home / "spool" / "1-0.claude-code.json"
    path.write_text("{}")
    os.utime(path, (time.time() + 3600,) * 2)

    proved = env.proved()

    assert "connected but silent" not in proved["claude-code"].detail
    assert (proved["spool"].verdict, "1 hook event waiting" in proved["spool"].detail) == ("warning", True)


@pytest.mark.parametrize(("left", "right"), [("<", ">"), ("&lt;", "&gt;")])  # Qwen Code escapes it
def test_a_context_that_arrived_is_found_in_the_agents_own_transcript(
    env: AgentEnv, left: str, right: str
) -> None:
    env.connect()
    env.transcript("hello")
    assert env.proved()["claude-code: context arrives"].verdict == "warning"

    path = env.transcript(f"{left * 3}fazm-memory 0123456789abcdef begin{right * 3}")

    arrives = env.proved()["claude-code: context arrives"]
    assert (arrives.verdict, arrives.detail) == ("ok", f"found in {path}")


def test_a_context_is_found_in_what_a_database_wrote_last(env: AgentEnv) -> None:
    path = env.transcript("hello")
    assert not _contains(Path(f"{path}-wal"), "mark")
    env.connect()
    Path(f"{path}-wal").write_text("<<<fazm-memory 0123456789abcdef begin>>>")
    assert env.proved()["claude-code: context arrives"].verdict == "ok"


def test_the_beginning_and_the_end_of_a_long_file_are_looked_at(tmp_path: Path) -> None:
    path = tmp_path / "long"
    for place, found in ((0, True), (READ_BYTES + 1000, False), (3 * READ_BYTES - 100, True)):
        path.write_bytes((b" " * place + b"mark").ljust(3 * READ_BYTES))
        assert _contains(path, "mark") is found


def test_while_recording_is_paused_the_hook_is_proved_to_keep_nothing(env: AgentEnv) -> None:
    env.connect()
    env.memory.recording.pause()

    assert "recording is paused" in env.proved()["claude-code: hook fires"].detail


def test_trouble_of_a_hook_and_what_was_set_aside_are_reported(env: AgentEnv) -> None:
    env.connect()
    (env.config.home / "hooks" / "trouble.txt").write_text("Traceback\nValueError: it is not JSON\n")
    (env.config.home / "spool" / "1-0.codex.json").write_text("no event")
    Companion(env.memory).once()

    proved = env.proved()

    assert "ValueError: it is not JSON" in proved["hook"].detail
    assert "1-0.codex.json" in proved["spool"].detail


def test_an_answering_hook_whose_interpreter_fails_is_broken_though_its_events_arrive(
    env: AgentEnv, tmp_path: Path
) -> None:
    env.connect()
    assert env.proved()["claude-code: hook answers"].verdict == "ok"
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\nexit 1\n")
    python.chmod(0o700)
    hook_script.write(env.config.home, python=str(python))

    proved = env.proved()

    assert proved["claude-code: hook fires"].verdict == "ok"
    assert proved["claude-code: hook answers"].verdict == "broken"
    assert "get no context" in proved["claude-code: hook answers"].detail


def test_after_the_program_was_moved_connecting_again_is_advised(
    env: AgentEnv, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    env.connect()
    moved = tmp_path / "Applications" / "fazm-memory"
    moved.parent.mkdir()
    moved.write_text("#!/bin/sh\n")
    monkeypatch.setattr("sys.executable", str(moved.with_name("python")))

    claude = env.proved()["claude-code"]
    assert (claude.verdict, claude.hint) == ("broken", "Run `fazm-memory connect claude-code`.")
    assert "another place" in claude.detail
    env.connect()
    assert str(moved) in (env.user / ".claude.json").read_text()
    assert env.proved()["claude-code"].verdict == "ok"


@pytest.mark.parametrize(
    ("program", "temporary"),
    [("/private/var/folders/x/AppTranslocation/1/d/Fazm Memory.app/Contents/MacOS/fazm-memory", True),
     ("/Volumes/Fazm Memory/Fazm Memory.app/Contents/MacOS/fazm-memory", True),
     ("/Applications/Fazm Memory.app/Contents/MacOS/fazm-memory", False)],
)  # fmt: skip
def test_a_place_that_is_gone_tomorrow_is_known(program: str, temporary: bool) -> None:
    assert is_temporary_place(program) is temporary


def test_no_agent_is_connected_with_a_program_in_a_temporary_place(env: AgentEnv) -> None:
    setup = replace(connection_setup(env.config), temporary=True)
    with pytest.raises(ConfigError, match="temporary place"):
        plan_connect("claude-code", setup)
    assert not (env.user / ".claude.json").exists()

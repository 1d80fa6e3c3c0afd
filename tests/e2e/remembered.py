"""A memory beside a real client: connected as a user would, then asked what it knows of a run."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from fazm_memory.app.memory import Memory
from fazm_memory.config import Config
from tests.e2e.clients.claude import Claude
from tests.e2e.clients.client import Client
from tests.e2e.scenarios.script import Action, JsonObject, Scenario

PROGRAM = Path(sys.executable).with_name("fazm-memory")
UNFINISHED = "unfinished"  # announced, and never told to have ended


@dataclass(frozen=True)
class Recorded:
    """A call as the memory knows it."""

    tool: str
    input: JsonObject | str
    outcome: str
    agent_id: str | None


class Remembered:
    """One home of the memory, and the environment it is asked in."""

    def __init__(self, client: Client, home: Path, user: Path | None = None) -> None:
        self.client = client
        self.home = home
        self.user = user or client.home
        self.agent = client.agent
        self.env = {**client.environment(), "FAZM_MEMORY_HOME": str(home), "FAZM_MEMORY_KEY": "file"}
        if user is not None:
            self.env |= {"HOME": str(user), "CLAUDE_CONFIG_DIR": str(user), "CODEX_HOME": str(user)}

    def run(self, *words: str) -> str:
        done = subprocess.run([PROGRAM, *words], env=self.env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{words}: {done.stdout}\n{done.stderr}"
        return done.stdout

    def record(self, *lines: JsonObject) -> None:
        """What another agent tells with `record`."""
        told = "".join(f"{json.dumps(line)}\n" for line in lines)
        command = [PROGRAM, "record"]
        subprocess.run(command, env=self.env, input=told, text=True, capture_output=True, check=True)

    def connect(self) -> None:
        self.run("connect", self.agent)
        self.client.trust_hooks()

    def take_in(self) -> dict[str, Any]:
        result: dict[str, Any] = json.loads(self.run("run", "--once", "--json"))
        assert (result["troubles"], result["refused"], result["unknown"], result["bad_lines"]) == (
            {},
            {},
            {},
            0,
        )
        return result

    @cached_property
    def memory(self) -> Memory:
        return Memory(Config(self.home, self.user, key="file"), lambda: time.time_ns() // 1000)

    def session(self, session_id: str) -> dict[str, Any]:
        return self.memory.sessions.get(session_id)

    def events(self, session_id: str, *kinds: str) -> list[dict[str, Any]]:
        events = self.memory.history.events(session_id)
        return [event for event in events if not kinds or event["kind"] in kinds]

    def calls(self, session_id: str) -> list[Recorded]:
        """Every call in the order of the log, those that never ended among them."""
        events = self.events(session_id, "action", "action.start")
        ended = {event["payload"]["call_id"] for event in events if event["kind"] == "action"}
        amended = {
            event["payload"]["call_id"]: event["payload"].get("outcome")
            for event in self.events(session_id, "action.amend")
        }
        calls = []
        for event in events:
            payload = event["payload"]
            if event["kind"] == "action.start" and payload["call_id"] in ended:
                continue
            outcome = amended.get(payload["call_id"]) or event.get("outcome", UNFINISHED)
            calls.append(Recorded(payload["tool"], payload["input"], outcome, payload.get("agent_id")))
        return calls

    def until(self, holds: Callable[[], bool], what: str, timeout: float = 120) -> None:
        deadline = time.monotonic() + timeout
        while not holds():
            assert time.monotonic() < deadline, f"not within {timeout} s: {what}"
            time.sleep(0.05)

    def close(self) -> None:
        if "memory" in self.__dict__:
            self.memory.close()

    # -- the same run, known from one side only ----------------------------------------------------------

    def from_transcripts(self, home: Path) -> Remembered:
        """Another memory that was never connected: it has the client's own records and nothing else."""
        return Remembered(self.client, home)

    def from_hooks(self, home: Path) -> Remembered:
        """Another memory that has what the hooks dropped, on a machine without any transcript."""
        user = home / "user"
        user.mkdir(parents=True)
        alone = Remembered(self.client, home / "memory", user)
        shutil.copytree(self.home / "spool", alone.home / "spool")
        os.chmod(alone.home, 0o700)
        for path in (alone.home / "spool").glob("*.json"):
            stat = path.stat()
            event = json.loads(path.read_bytes()) | {"transcript_path": str(user / "gone.jsonl")}
            path.write_text(json.dumps(event))
            os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
        return alone


def scripted(client: Client, *scenarios: Scenario) -> list[Recorded]:
    """What must be known of these scenarios; `agent_id` says only whose it is."""
    return [
        Recorded(_name(client, one), one.input, _outcome(one), "subagent" if one.by == "subagent" else None)
        for scenario in scenarios
        for one in scenario.expected_actions
    ]


def scripted_for_hooks(client: Client, *scenarios: Scenario) -> list[Recorded]:
    """What hooks alone can know: Codex does not tell them how a command ended, nor that a call failed."""
    known = []
    for one in scripted(client, *scenarios):
        outcome = one.outcome
        if not isinstance(client, Claude) and outcome in ("error", "denied"):
            outcome = "ok" if one.tool == "exec_command" and outcome == "error" else UNFINISHED
        known.append(Recorded(one.tool, one.input, outcome, one.agent_id))
    return known


def _name(client: Client, one: Action) -> str:
    """A tool of an MCP server is known by both names, any other by the model's."""
    return one.hook_tool if one.hook_tool.startswith("mcp__") else one.tool


def _outcome(one: Action) -> str:
    return UNFINISHED if one.outcome == "interrupted" else one.outcome


def by_whom(calls: list[Recorded]) -> dict[str, list[Recorded]]:
    """The calls of the agent and of its subagent apart: beside each other they have no order."""
    apart: dict[str, list[Recorded]] = {"agent": [], "subagent": []}
    for one in calls:
        whose = "agent" if one.agent_id is None else "subagent"
        apart[whose].append(Recorded(one.tool, one.input, one.outcome, None))
    return apart

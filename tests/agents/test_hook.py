"""The hook that answers: the right context, once, in a valid envelope, and never a failure."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.agents import hook_script
from fazm_memory.ingest.spool import Spool
from fazm_memory.recall.context import context_file_name


class HookEnv:
    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.user = folder / "user"
        self.user.mkdir()
        hook_script.write(self.home)
        self.variables = {"HOME": str(self.user), "PATH": os.environ["PATH"], "TZ": "UTC"}

    def render(self, workspace: str | None, text: str, mtime: float | None = None) -> None:
        path = self.home / "context" / f"{context_file_name(workspace)}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        if mtime is not None:
            os.utime(path, (mtime, mtime))

    def run(self, data: bytes, agent: str = "claude-code") -> str:
        command = [str(hook_script.script_path(self.home)), agent, "answer"]
        done = subprocess.run(command, input=data, env=self.variables, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout.decode()

    def context(self, name: str, agent: str = "claude-code", **event: Any) -> str:
        """The context an event was answered with; empty when nothing was said."""
        event = {"hook_event_name": name, "session_id": "s1", "cwd": "/w/tidy", **event}
        out = self.run(json.dumps(event).encode(), agent)
        if not out:
            return ""
        envelope = json.loads(out)["hookSpecificOutput"]
        assert envelope["hookEventName"] == name
        return str(envelope["additionalContext"])


@pytest.fixture
def env(tmp_path: Path) -> HookEnv:
    return HookEnv(tmp_path)


@pytest.mark.parametrize("source", ["startup", "clear", "compact"])
def test_a_session_that_starts_afresh_is_given_the_context_of_its_folder(env: HookEnv, source: str) -> None:
    env.render("/w/tidy", "Yesterday: two scans.\n")
    env.render(None, "Everywhere.\n")

    assert env.context("SessionStart", source=source) == "Yesterday: two scans.\n"


def test_below_a_known_folder_its_context_holds_and_elsewhere_that_of_the_machine(env: HookEnv) -> None:
    env.render("/w/tidy", "Tidy.\n")
    env.render(None, "Everywhere.\n")

    assert env.context("SessionStart", source="startup", cwd="/w/tidy/invoices/2026") == "Tidy.\n"
    assert env.context("SessionStart", source="startup", cwd="/elsewhere") == "Everywhere.\n"


@pytest.mark.parametrize("source", ["resume", "fork"])
def test_a_session_that_goes_on_has_it_already(env: HookEnv, source: str) -> None:
    env.render("/w/tidy", "Yesterday: two scans.\n")

    assert env.context("SessionStart", source=source) == ""
    assert env.context("UserPromptSubmit", prompt="go on") == ""


def test_a_prompt_after_a_start_that_was_answered_gets_nothing_more(env: HookEnv) -> None:
    env.render("/w/tidy", "Yesterday: two scans.\n")

    assert env.context("SessionStart", source="startup")
    assert env.context("UserPromptSubmit", prompt="hello") == ""


def test_a_session_that_fazm_made_in_advance_is_given_it_at_its_first_prompt_once(env: HookEnv) -> None:
    (env.user / ".fazm").mkdir()
    (env.user / ".fazm" / "acp-sessions.json").write_text(json.dumps([{"sessionId": "s1"}]))
    env.render("/w/tidy", "Old.\n")

    assert env.context("SessionStart", source="startup") == ""
    env.render("/w/tidy", "Fresh.\n")
    assert env.context("UserPromptSubmit", prompt="hello") == "Fresh.\n"
    assert env.context("UserPromptSubmit", prompt="and then") == ""


def test_one_that_fazm_has_not_listed_yet_shows_by_what_started_it(env: HookEnv) -> None:
    env.render("/w/tidy", "Yesterday.\n")
    env.variables["CLAUDE_CODE_ENTRYPOINT"] = "sdk-ts"
    assert env.context("SessionStart", source="startup", session_id="other") == "Yesterday.\n"

    (env.user / ".fazm").mkdir()

    assert env.context("SessionStart", source="startup") == ""
    assert env.context("UserPromptSubmit", prompt="hello") == "Yesterday.\n"


def test_what_was_rendered_on_another_day_says_so(env: HookEnv) -> None:
    env.render("/w/tidy", "Yesterday: two scans.\n", mtime=1_700_000_000)

    assert env.context("SessionStart", source="startup") == (
        "Rendered on Tuesday, 2023-11-14 at 22:13; days below count from then.\nYesterday: two scans.\n"
    )


def test_it_never_gives_more_than_clients_take(env: HookEnv) -> None:
    env.render("/w/tidy", "a line of text\n" * 2000)

    results = env.context("SessionStart", source="startup")

    assert 9_900 < len(results) <= 10_000
    assert results.endswith("a line of text")


def test_with_nothing_rendered_it_says_nothing_and_keeps_what_it_was_reported(env: HookEnv) -> None:
    assert env.context("SessionStart", "codex", source="startup") == ""

    [dropped] = Spool(env.home).take()
    assert dropped.agent == "codex"
    assert json.loads(dropped.data)["source"] == "startup"


@pytest.mark.parametrize("data", [b"", b"not json", b"[]", b'{"session_id": 7}', b"\xff\xfe", b"[" * 100_000])
def test_whatever_it_is_given_it_ends_well_and_doctor_can_find_what_went_wrong(
    env: HookEnv, data: bytes
) -> None:
    assert env.run(data) == ""

    assert [one.data for one in Spool(env.home).take()] == [data]
    assert "Error" in (env.home / "hooks" / "trouble.txt").read_text()


def test_what_it_leaves_is_its_owners_alone(env: HookEnv) -> None:
    env.context("SessionStart", source="startup")

    assert [path for path in env.home.rglob("*") if path.stat().st_mode & 0o077] == []

"""The hook that answers: the right context, once, in a valid envelope, and never a failure."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.capture import hook_script
from fazm_memory.capture.spool import Spool
from fazm_memory.recall.exports import file_name


class Desk:
    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.user = folder / "user"
        self.user.mkdir()
        hook_script.write(self.home)
        self.env = {"HOME": str(self.user), "PATH": os.environ["PATH"], "TZ": "UTC"}

    def render(self, workspace: str | None, text: str, mtime: float | None = None) -> None:
        path = self.home / "context" / f"{file_name(workspace)}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        if mtime is not None:
            os.utime(path, (mtime, mtime))

    def run(self, data: bytes, agent: str = "claude-code") -> str:
        command = [str(hook_script.script_path(self.home)), agent, "answer"]
        done = subprocess.run(command, input=data, env=self.env, capture_output=True, check=False)
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout.decode()

    def told(self, name: str, agent: str = "claude-code", **event: Any) -> str:
        """The context an event was answered with; empty when nothing was said."""
        event = {"hook_event_name": name, "session_id": "s1", "cwd": "/w/tidy", **event}
        out = self.run(json.dumps(event).encode(), agent)
        if not out:
            return ""
        envelope = json.loads(out)["hookSpecificOutput"]
        assert envelope["hookEventName"] == name
        return str(envelope["additionalContext"])


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.mark.parametrize("source", ["startup", "clear", "compact"])
def test_a_session_that_starts_afresh_is_given_the_context_of_its_folder(desk: Desk, source: str) -> None:
    desk.render("/w/tidy", "Yesterday: two scans.\n")
    desk.render(None, "Everywhere.\n")

    assert desk.told("SessionStart", source=source) == "Yesterday: two scans.\n"


def test_below_a_known_folder_its_context_holds_and_elsewhere_that_of_the_machine(desk: Desk) -> None:
    desk.render("/w/tidy", "Tidy.\n")
    desk.render(None, "Everywhere.\n")

    assert desk.told("SessionStart", source="startup", cwd="/w/tidy/invoices/2026") == "Tidy.\n"
    assert desk.told("SessionStart", source="startup", cwd="/elsewhere") == "Everywhere.\n"


@pytest.mark.parametrize("source", ["resume", "fork"])
def test_a_session_that_goes_on_has_it_already(desk: Desk, source: str) -> None:
    desk.render("/w/tidy", "Yesterday: two scans.\n")

    assert desk.told("SessionStart", source=source) == ""
    assert desk.told("UserPromptSubmit", prompt="go on") == ""


def test_a_prompt_after_a_start_that_was_answered_gets_nothing_more(desk: Desk) -> None:
    desk.render("/w/tidy", "Yesterday: two scans.\n")

    assert desk.told("SessionStart", source="startup")
    assert desk.told("UserPromptSubmit", prompt="hello") == ""


def test_a_session_that_fazm_made_in_advance_is_given_it_at_its_first_prompt_once(desk: Desk) -> None:
    (desk.user / ".fazm").mkdir()
    (desk.user / ".fazm" / "acp-sessions.json").write_text(json.dumps([{"sessionId": "s1"}]))
    desk.render("/w/tidy", "Old.\n")

    assert desk.told("SessionStart", source="startup") == ""
    desk.render("/w/tidy", "Fresh.\n")
    assert desk.told("UserPromptSubmit", prompt="hello") == "Fresh.\n"
    assert desk.told("UserPromptSubmit", prompt="and then") == ""


def test_one_that_fazm_has_not_listed_yet_shows_by_what_started_it(desk: Desk) -> None:
    desk.render("/w/tidy", "Yesterday.\n")
    desk.env["CLAUDE_CODE_ENTRYPOINT"] = "sdk-ts"
    assert desk.told("SessionStart", source="startup", session_id="other") == "Yesterday.\n"

    (desk.user / ".fazm").mkdir()

    assert desk.told("SessionStart", source="startup") == ""
    assert desk.told("UserPromptSubmit", prompt="hello") == "Yesterday.\n"


def test_what_was_rendered_on_another_day_says_so(desk: Desk) -> None:
    desk.render("/w/tidy", "Yesterday: two scans.\n", mtime=1_700_000_000)

    assert desk.told("SessionStart", source="startup") == (
        "Rendered on Tuesday, 2023-11-14 at 22:13; days below count from then.\nYesterday: two scans.\n"
    )


def test_it_never_gives_more_than_clients_take(desk: Desk) -> None:
    desk.render("/w/tidy", "a line of text\n" * 2000)

    told = desk.told("SessionStart", source="startup")

    assert 9_900 < len(told) <= 10_000
    assert told.endswith("a line of text")


def test_with_nothing_rendered_it_says_nothing_and_keeps_what_it_was_told(desk: Desk) -> None:
    assert desk.told("SessionStart", "codex", source="startup") == ""

    [dropped] = Spool(desk.home).take()
    assert dropped.agent == "codex"
    assert json.loads(dropped.data)["source"] == "startup"


@pytest.mark.parametrize("data", [b"", b"not json", b"[]", b'{"session_id": 7}', b"\xff\xfe", b"[" * 100_000])
def test_whatever_it_is_given_it_ends_well_and_doctor_can_find_what_went_wrong(
    desk: Desk, data: bytes
) -> None:
    assert desk.run(data) == ""

    assert [one.data for one in Spool(desk.home).take()] == [data]
    assert "Error" in (desk.home / "hooks" / "trouble.txt").read_text()


def test_what_it_leaves_is_its_owners_alone(desk: Desk) -> None:
    desk.told("SessionStart", source="startup")

    assert [path for path in desk.home.rglob("*") if path.stat().st_mode & 0o077] == []

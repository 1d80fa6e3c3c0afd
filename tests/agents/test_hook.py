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
from fazm_memory.recall.exports import context_file_name, write_folders, write_note_request


class HookEnv:
    def __init__(self, folder: Path, *, listed: bool = True) -> None:
        self.listed = listed
        self.folders: dict[str | None, None] = {}
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
        if self.listed:
            self.folders[workspace] = None
            write_folders(self.home, self.folders)

    def run(self, data: bytes, agent: str = "claude-code", event: str = "") -> str:
        command = [str(hook_script.script_path(self.home)), agent, "answer", event]
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


@pytest.fixture(params=[True, False], ids=["by the script", "by hook.py"])
def env(tmp_path: Path, request: pytest.FixtureRequest) -> HookEnv:
    """With a list of folders the script answers most starts itself, without one `hook.py` does."""
    return HookEnv(tmp_path, listed=request.param)


@pytest.fixture
def shell(tmp_path: Path) -> HookEnv:
    """Only the script answers: its interpreter notes that it was started and fails."""
    env = HookEnv(tmp_path)
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\necho started >"{tmp_path}/started"\nexit 1\n')
    python.chmod(0o700)
    hook_script.write(env.home, python=str(python))
    return env


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


# What each agent sends when a session begins, the event's name in its command, and where its answer holds the
# context.
DIALECTS: dict[str, tuple[str, dict[str, Any], tuple[str | int, ...]]] = {
    "copilot": (
        "sessionStart",
        {"sessionId": "c1", "cwd": "/w/tidy", "source": "new"},
        ("additionalContext",),
    ),
    "cursor": (
        "sessionStart",
        {"conversation_id": "c1", "workspace_roots": ["/w/tidy"]},
        ("additional_context",),
    ),
    "hermes": (
        "",
        {"hook_event_name": "pre_llm_call", "session_id": "c1", "cwd": "/w/tidy", "extra": {}},
        ("context",),
    ),
    "cline": (
        "PreToolUse",
        {
            "sessionContext": {"rootSessionId": "c1"},
            "workspaceRoots": ["/w/tidy"],
            "parent_agent_id": None,
            "hookName": "tool_call",
        },
        ("contextModification",),
    ),
    "antigravity": (
        "PreInvocation",
        {"invocationNum": 1, "workspacePaths": ["/w/tidy"], "conversationId": "c1"},
        ("injectSteps", 0, "ephemeralMessage"),
    ),
    "qwen": (
        "",
        {"hook_event_name": "UserPromptSubmit", "session_id": "c1", "cwd": "/w/tidy", "prompt": "Go."},
        ("hookSpecificOutput", "additionalContext"),
    ),
}
every_dialect = pytest.mark.parametrize("agent", DIALECTS)


@every_dialect
def test_an_agent_with_an_envelope_of_its_own_is_given_the_context_once(env: HookEnv, agent: str) -> None:
    env.render("/w/tidy", 'Yesterday: "two" scans.\n')
    event, data, place = DIALECTS[agent]

    answer = json.loads(env.run(json.dumps(data).encode(), agent, event))
    again = env.run(json.dumps(data).encode(), agent, event)

    for name in place:
        answer = answer[name]
    assert (answer, again) == ('Yesterday: "two" scans.\n', "")
    spooled = [json.loads(path.read_bytes()) for path in (env.home / "spool").glob(f"*.{agent}.json")]
    assert [(one["session_id"], one["cwd"]) for one in spooled] == [("c1", "/w/tidy")] * 2


@every_dialect
def test_other_events_subagents_and_pauses_are_given_nothing(env: HookEnv, agent: str) -> None:
    env.render("/w/tidy", "Yesterday: two scans.\n")
    event, data, _ = DIALECTS[agent]
    later = {"parent_agent_id": "a", "prompt": "", "invocationNum": 2}

    assert env.run(json.dumps(data | later).encode(), agent, event) == ""
    assert env.run(json.dumps(data | {"hook_event_name": "stop"}).encode(), agent, "stop") == ""
    (env.home / "recording-paused.json").write_text("{}")
    assert env.run(json.dumps(data).encode(), agent, event) == ""


@every_dialect
def test_what_these_agents_send_is_never_a_fault(env: HookEnv, agent: str) -> None:
    env.render(None, "Everywhere.\n")
    event = DIALECTS[agent][0] or "x"
    for data in (b"{}", b'{"sessionContext":[],"workspaceRoots":{},"sessionId":{}}', b"[]", b"\xff"):
        env.run(data, agent, event)
    assert not list((env.home / "spool").glob("*.part"))


def test_an_agent_that_stops_is_asked_for_a_note_once_and_only_if_one_is_wanted(env: HookEnv) -> None:
    stop = {"hook_event_name": "Stop", "session_id": "s1", "cwd": "/w"}
    assert env.run(json.dumps(stop).encode()) == ""
    write_note_request(env.home, "s1", "Leave a note.")
    assert env.run(json.dumps(stop | {"stop_hook_active": True}).encode()) == ""
    assert json.loads(env.run(json.dumps(stop).encode())) == {"decision": "block", "reason": "Leave a note."}
    assert env.run(json.dumps(stop).encode()) == ""
    assert env.run(json.dumps(stop | {"session_id": "s2"}).encode()) == ""


# What the script answers by itself, without an interpreter. What it leaves to `hook.py` leaves a note that
# the interpreter failed.


@pytest.mark.parametrize("source", ["startup", "clear", "compact"])
def test_the_script_itself_gives_a_new_session_its_context(shell: HookEnv, source: str) -> None:
    text = 'Yesterday: "two" scans \\ & \u00e4\u2014\U0001f600 of C:\\new.\n\n- a\\\\b "\n'
    shell.render("/w/tidy", text)
    shell.render(None, "Everywhere.\n")

    assert shell.context("SessionStart", source=source) == text
    assert shell.context("SessionStart", source=source, cwd="/w/tidy/a b/c", flag=True, n=3) == text
    assert shell.context("SessionStart", source=source, cwd="/w/tidying") == "Everywhere.\n"
    assert shell.context("SessionStart", "codex", source=source, cwd="/elsewhere") == "Everywhere.\n"
    assert not (shell.home.parent / "started").exists()
    assert [json.loads(one.data)["source"] for one in Spool(shell.home).take()] == [source] * 4


def test_the_script_skips_contexts_that_are_gone(shell: HookEnv) -> None:
    shell.render("/w/tidy", "Yesterday: two scans.\n")
    shell.render("/w", "Both folders.\n")
    (shell.home / "context" / f"{context_file_name('/w/tidy')}.md").unlink()

    assert shell.context("SessionStart", source="startup") == "Both folders.\n"
    assert not (shell.home.parent / "started").exists()


def test_the_script_knows_that_nothing_answers_prompts_and_stops(shell: HookEnv) -> None:
    shell.render("/w/tidy", "Yesterday: two scans.\n")

    assert shell.context("UserPromptSubmit", prompt='say "hello"\n\\') == ""
    assert shell.context("BeforeAgent", prompt="x" * 1_000_000) == ""
    assert shell.context("Stop") == ""
    assert not (shell.home.parent / "started").exists()
    assert len(Spool(shell.home).take()) == 3


UNSURE: dict[str, dict[str, Any]] = {
    "an escape": {"cwd": '/w/ti"dy'},
    "an object inside": {"about": {"cwd": "/w/tidy"}},
    "a list inside": {"roots": ["/w/tidy"]},
    "another source": {"source": "resume"},
    "no source": {"source": None},
    "no folder": {"cwd": ""},
    "a relative folder": {"cwd": "w/tidy"},
    "a folder with dots": {"cwd": "/w/tidy/../other"},
    "a folder with a slash too many": {"cwd": "/w/tidy/"},
}


@pytest.mark.parametrize("event", UNSURE.values(), ids=UNSURE)
def test_the_script_leaves_other_starts_to_the_interpreter(shell: HookEnv, event: dict[str, Any]) -> None:
    shell.render("/w/tidy", "Yesterday: two scans.\n")
    shell.render(None, "Everywhere.\n")

    assert shell.context("SessionStart", **{"source": "startup", **event}) == ""
    assert (shell.home.parent / "started").exists()
    assert len(Spool(shell.home).take()) == 1
    assert not list((shell.home / "spool").glob("*.part"))


@pytest.mark.parametrize(
    ("text", "mtime"),
    [("a line of text\n" * 2000, None), ("a bell \a\n", None), ("Old.\n", 1_700_000_000)],
    ids=["too long", "a control character", "another day"],
)
def test_the_script_leaves_other_contexts_to_the_interpreter(
    shell: HookEnv, text: str, mtime: float | None
) -> None:
    shell.render("/w/tidy", text, mtime)

    assert shell.context("SessionStart", source="startup") == ""
    assert (shell.home.parent / "started").exists()


def test_a_session_that_fazm_lists_is_left_to_the_interpreter(shell: HookEnv) -> None:
    (shell.user / ".fazm").mkdir()
    (shell.user / ".fazm" / "acp-sessions.json").write_text('[{"sessionId": "s1"}]')
    shell.render("/w/tidy", "Yesterday: two scans.\n")

    assert shell.context("SessionStart", source="startup", session_id="s2") == "Yesterday: two scans.\n"
    assert not (shell.home.parent / "started").exists()
    assert shell.context("SessionStart", source="startup", session_id="s1") == ""
    assert (shell.home.parent / "started").exists()


def test_a_file_below_ten_thousand_characters_is_given_whole_however_many_bytes(shell: HookEnv) -> None:
    text = "\u2014" * 9_000 + "\n"
    shell.render("/w/tidy", text)

    assert shell.context("SessionStart", source="startup") == text
    assert not (shell.home.parent / "started").exists()


def test_a_folder_whose_name_cannot_stand_in_the_list_is_not_in_it(shell: HookEnv) -> None:
    shell.render("/w/ti\tdy", "Odd.\n")
    shell.render(None, "Everywhere.\n")

    assert shell.context("SessionStart", source="startup", cwd="/w/x") == "Everywhere.\n"
    assert len((shell.home / "context" / "folders.tsv").read_text().splitlines()) == 1

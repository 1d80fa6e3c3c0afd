"""Reminders: what the user forbade, a file that a person changed, a failure that was solved."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.agents import hook_script
from fazm_memory.ingest.spool import Spool
from fazm_memory.recall import Reminder
from tests.recall.conftest import ClockedMemory


def keys_and_texts(memory: ClockedMemory) -> list[tuple[str, str]]:
    return [(reminder.key, reminder.text) for reminder in memory.recall.reminders()]


@pytest.mark.parametrize(
    ("asked", "keys"),
    [
        ("do not stash anything, read the files you need", ["git stash"]),
        ("Fix the parser. Never touch legacy/config.yml, it is shared.", ["config.yml"]),
        ("please don't run `npm run e2e:all`, it is too slow", ["npm run e2e:all"]),
        ("don't amend", ["commit --amend"]),
        ("do not fall back, print a warning", []),
        ("why do you never push?", []),
        ("commit and push it", []),
    ],
)
def test_a_prohibition_that_names_a_command_or_file_is_a_reminder(
    memory: ClockedMemory, asked: str, keys: list[str]
) -> None:
    memory.say("s", "prompt", text=asked)
    assert [key for key, _ in keys_and_texts(memory)] == keys


def test_words_that_are_not_the_users_own_remind_of_nothing(memory: ClockedMemory) -> None:
    memory.say("s", "prompt", text="never push", trust="web")
    memory.say("s", "message", text="Do not push.")
    assert keys_and_texts(memory) == []


def run(memory: ClockedMemory, command: str, error: str | None = None) -> None:
    memory.say("s", "action", tool="Bash", input={"command": command}, error=error)


def test_a_failure_that_another_command_solved_is_a_reminder(memory: ClockedMemory) -> None:
    run(memory, "make test", "no module named yaml")
    run(memory, "pip install pyyaml")
    run(memory, "make test")
    [(key, text)] = keys_and_texts(memory)
    assert key == "make test"
    assert '"no module named yaml"' in text
    assert '"pip install pyyaml"' in text


def test_a_failure_that_was_solved_by_editing_or_looking_is_none(memory: ClockedMemory) -> None:
    run(memory, "make test", "1 failed")
    memory.say("s", "action", tool="Edit", input={"file_path": "/w/a.py"})
    run(memory, "make test")
    run(memory, "make lint", "unused import")
    run(memory, "cat a.py")
    run(memory, "make lint")
    assert keys_and_texts(memory) == []


def test_old_sessions_remind_of_nothing(memory: ClockedMemory) -> None:
    memory.at("2026-09-01T10:00:00+00:00").say("s", "prompt", text="do not stash")
    assert len(keys_and_texts(memory.at("2026-09-20T10:00:00+00:00"))) == 1
    assert keys_and_texts(memory.at("2026-11-15T10:00:00+00:00")) == []


def correct(memory: ClockedMemory, *words: str) -> None:
    """An agent changes a file, and the user says this about it."""
    memory.say("s", "prompt", text="Write the exporter.")
    memory.say("s", "action", tool="Edit", input={"file_path": "/w/export.py"},
        files=[{"path": "/w/export.py", "change": "modified"}])  # fmt: skip
    for text in words:
        memory.say("s", "prompt", text=text)


FALLBACK = "Do not fallback, print a warning if the vendor is unknown"


def test_a_correction_after_a_change_is_a_reminder_for_the_file(memory: ClockedMemory) -> None:
    correct(memory, FALLBACK)
    [found] = memory.recall.reminders()
    assert (found.key, found.folder) == ("export.py", "/w")
    assert f'about a change of this file, the user said: "{FALLBACK}"' in found.text
    assert found.words == ("+fallback", "print", "warning", "vendor", "unknown")


def test_a_file_of_the_agents_that_a_person_changed_is_a_reminder(memory: ClockedMemory) -> None:
    made = [{"path": "/w/report.md", "change": "created"}]
    memory.say("s", "action", tool="Write", input={"file_path": "/w/report.md"}, files=made)
    for path in ("/w/report.md", "/w/only-mine.md"):
        memory.say("s", "file", path=path, change="modified", by="person")
    [(key, text)] = keys_and_texts(memory)
    assert key == "report.md"
    assert "a person changed report.md" in text


def test_a_refused_change_with_a_reason_is_a_reminder_for_the_file(memory: ClockedMemory) -> None:
    memory.say("s", "prompt", text="Write the exporter.")
    memory.say("s", "decision", form="refusal", actor="person", about="Write /w/export.py",
        what="It must use parse_date() for every date")  # fmt: skip
    [found] = memory.recall.reminders()
    assert found.key == "export.py"
    assert "+parse_date" in found.words


@pytest.mark.parametrize("said", ["No, revert the exporter change", "Wait, I have to think about exporters"])
def test_what_is_to_be_done_at_once_is_no_reminder(memory: ClockedMemory, said: str) -> None:
    correct(memory, said)
    assert memory.recall.reminders() == []


class HookBeforeCalls:
    """The hook script before a call, in a data folder with reminders."""

    def __init__(self, memory: ClockedMemory) -> None:
        self.home = memory.config.home
        hook_script.write(self.home)
        self.script = [str(hook_script.script_path(self.home)), "claude-code", "remind"]

    def added(self, command: str = "", session: str = "s1", cwd: str = "/w/sub", **given: Any) -> list[str]:
        """The lines that are added before a call."""
        event = {
            "hook_event_name": "PreToolUse", "session_id": session, "cwd": cwd,
            "tool_name": given.pop("tool", "Bash" if command else "Edit"),
            "tool_input": {"command": command} if command else given,
        }  # fmt: skip
        data = json.dumps(event).encode()
        done = subprocess.run(
            self.script, input=data, capture_output=True, check=False, env={"PATH": os.environ["PATH"]}
        )
        assert (done.returncode, done.stderr) == (0, b"")
        spool = Spool(self.home)
        spooled = spool.take()
        assert [row.data for row in spooled] == [data]
        spool.done(spooled)
        if not done.stdout:
            return []
        envelope = json.loads(done.stdout)["hookSpecificOutput"]
        assert envelope["hookEventName"] == "PreToolUse"
        return str(envelope["additionalContext"]).splitlines()


@pytest.fixture
def hook(memory: ClockedMemory) -> HookBeforeCalls:
    memory.say("s", "prompt", text="do not stash anything")
    memory.say("s", "prompt", text="never touch config.yml")
    memory.recall.export_contexts()
    return HookBeforeCalls(memory)


STASH = ['Fazm Memory: the user said: "do not stash anything"']


def test_the_agent_is_reminded_at_the_call_and_only_once(hook: HookBeforeCalls) -> None:
    assert hook.added("ls") == []
    assert hook.added("git status && git stash -u") == STASH
    assert hook.added("git stash") == []
    assert hook.added("git stash", session="s2") == STASH


def test_a_command_that_only_mentions_the_key_is_not_meant(hook: HookBeforeCalls) -> None:
    assert hook.added("echo git stash") == []
    assert hook.added("git stashes") == []


def test_a_file_is_meant_when_it_is_changed_and_not_when_it_is_read(hook: HookBeforeCalls) -> None:
    assert hook.added(tool="Read", file_path="/w/config.yml") == []
    assert hook.added(file_path="/w/myconfig.yml") == []
    assert hook.added(file_path="/w/config.yml") == ['Fazm Memory: the user said: "never touch config.yml"']


def test_another_folder_is_not_meant(hook: HookBeforeCalls) -> None:
    assert hook.added("git stash", cwd="/work") == []


def test_one_setting_turns_reminders_off(memory: ClockedMemory) -> None:
    memory.say("s", "prompt", text="do not stash anything")
    memory.recall.export_contexts()
    hook = HookBeforeCalls(memory)
    memory.config = replace(memory.config, reminders=False)
    memory.recall.export_contexts()
    assert hook.added("git stash") == []


def test_there_are_at_most_two_at_a_call_and_five_in_a_session(
    hook: HookBeforeCalls, memory: ClockedMemory
) -> None:
    from fazm_memory.recall import write_reminders

    many = [Reminder("git stash", "/w", f"reason {number}", 0) for number in range(9)]
    write_reminders(Path(memory.config.home) / "context", many)
    assert [len(hook.added("git stash")) for _ in range(4)] == [2, 2, 1, 0]


def test_what_was_said_about_a_file_is_told_when_a_change_is_about_the_same(memory: ClockedMemory) -> None:
    correct(memory, FALLBACK)
    memory.recall.export_contexts()
    hook = HookBeforeCalls(memory)
    file = "/w/export.py"
    assert hook.added(file_path=file, old_string="a", new_string="the vendor") == []
    assert hook.added(tool="Read", file_path=file, note="fallback") == []
    assert len(hook.added(file_path=file, old_string="a", new_string="use the Fallback")) == 1
    assert hook.added(file_path=file, old_string="a", new_string="use the fallback") == []
    assert len(hook.added(session="s2", file_path=file, old_string="", new_string="unknown vendor")) == 1


@pytest.mark.parametrize("awk", [*filter(shutil.which, ("awk", "mawk", "gawk", "original-awk"))])
def test_an_event_is_spooled_byte_for_byte_by_every_awk(
    hook: HookBeforeCalls, tmp_path: Path, awk: str
) -> None:
    (tmp_path / "awk").symlink_to(str(shutil.which(awk)))
    path = f"{tmp_path}:{os.environ['PATH']}"
    for data in (b'{"a":\n "\xc3\xa4\xff"}', b"x" * 300_000, b"", b'{"tool_name":"Bash"}'):
        subprocess.run(hook.script, input=data, check=True, env={"PATH": path})
        spool = Spool(hook.home)
        spooled = spool.take()
        assert [row.data for row in spooled] == [data]
        spool.done(spooled)

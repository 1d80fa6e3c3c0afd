"""A person at Claude Code's terminal decides: transcript and hooks tell the same typed events, each once."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.clients.claude import Claude
from tests.e2e.clients.codex import AppServer, Codex
from tests.e2e.clients.gate import Gate
from tests.e2e.clients.terminal import DOWN, TAB, Terminal, wait_until, wait_until_written
from tests.e2e.remembered import Remembered
from tests.e2e.scenarios.claude import bash, write
from tests.e2e.scenarios.codex import shell
from tests.e2e.scenarios.script import Call, Scenario, do, say

pytestmark = pytest.mark.e2e

PLAN = "# Plan: Rename the scans\n\n1. read the dates\n2. rename\n"
QUESTION = {
    "question": "Which date format?",
    "header": "Dates",
    "options": [{"label": "ISO", "description": "2026-01-02"}, {"label": "US", "description": "01/02"}],
    "multiSelect": False,
}
LEAVE = "leave it on this branch"
KINDS = ("prompt", "decision", "plan", "todos", "branch", "session.close")


def scenario(workspace: Path) -> Scenario:
    waits = f"touch '{workspace}/waiting'; until test -e '{workspace}/go-on'; do sleep 0.1; done"
    commit = (
        "git checkout -qb topic && git commit -qm 'Rename the scans' --allow-empty && git log --oneline -1"
    )
    return Scenario(
        "decisions",
        (
            do(Call("ExitPlanMode", {"plan": PLAN})),
            do(Call("TaskCreate", {"subject": "Read the dates", "description": "of all scans"})),
            do(Call("TaskUpdate", {"taskId": "1", "status": "completed"})),
            do(Call("AskUserQuestion", {"questions": [QUESTION]})),
            do(write(workspace / "b.txt", "x")),
            do(bash(waits)),
            do(bash(commit)),
            say("All is renamed. Shall I push?"),
        ),
    )


@pytest.fixture
def memory(claude: Claude, tmp_path: Path) -> Iterator[Remembered]:
    allowed = {"permissions": {"allow": ["Bash", "Read", "TaskCreate", "TaskUpdate"]}}
    (claude.config_dir / "settings.json").write_text(json.dumps(allowed))
    git = ["git", "-c", "user.email=dana@example.com", "-c", "user.name=Dana"]
    subprocess.run([*git, "init", "-q", "-b", "main", str(claude.workspace)], check=True)
    begin = [*git, "-C", str(claude.workspace), "commit", "-q", "--allow-empty", "-m", "Begin"]
    subprocess.run(begin, check=True)
    claude.env |= {"GIT_AUTHOR_NAME": "Dana", "GIT_AUTHOR_EMAIL": "dana@example.com"}
    claude.env |= {"GIT_COMMITTER_NAME": "Dana", "GIT_COMMITTER_EMAIL": "dana@example.com"}
    made = Remembered(claude, tmp_path / "memory")
    made.connect()
    yield made
    made.close()


def _wait_until_idle(claude: Claude, turns: int) -> None:
    """Wait until the client has written the end of these turns. If it is busy, it does not write `/exit`."""
    wait_until(lambda: _transcript(claude).count('"turn_duration"') >= turns, f"{turns} turns have ended")


def _transcript(claude: Claude) -> str:
    return "".join(path.read_text() for path in claude.config_dir.glob("projects/*/*.jsonl"))


def _say_until_the_branch_is_known(claude: Claude, terminal: Terminal) -> int:
    """Say one thing until a record has the new branch. The client looks it up now and then.

    Returns how often it was said.
    """
    for number in range(1, 11):
        terminal.type(LEAVE)
        terminal.see("It stays here.")
        _wait_until_idle(claude, turns=1 + number)
        if '"gitBranch":"topic"' in _transcript(claude):
            return number
    raise AssertionError("The client never wrote the new branch.")


def decide(claude: Claude, memory: Remembered) -> tuple[str, int]:
    """Play the session as a person would. Returns its id, and how often its last request was said."""
    claude.model.learn("Please see to the scans.", scenario(claude.workspace))
    claude.model.learn(LEAVE, Scenario("second", (say("It stays here."),)))
    terminal = Terminal(claude, "--permission-mode", "plan")
    try:
        terminal.see("plan mode on")
        terminal.type("Please see to the scans.")
        terminal.see("Exit plan mode?")
        terminal.press("1")
        terminal.see("Which date format?")
        terminal.press("2")
        terminal.see("Do you want to create b.txt?")
        terminal.press(DOWN, DOWN)
        terminal.see("❯ No")
        terminal.press(TAB)
        terminal.see("tell Claude what to do differently")
        terminal.type("use c.txt instead")
        memory.until((claude.workspace / "waiting").exists, "the command runs")
        terminal.type("also check the tests")
        wait_until_written(claude.config_dir / "projects", '"operation":"enqueue"')
        (claude.workspace / "go-on").touch()
        terminal.see("Shall I push?")
        _wait_until_idle(claude, turns=1)
        said = _say_until_the_branch_is_known(claude, terminal)
        terminal.type("/exit")
        terminal.end()
    finally:
        terminal.close()
    (transcript,) = claude.config_dir.glob("projects/*/*.jsonl")
    return transcript.stem, said


def typed_events(memory: Remembered, session: str, *kinds: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Kind, trust and payload of the typed events, without ids, in the order of the log."""
    return [
        (
            event["kind"],
            event["trust"],
            {name: value for name, value in event["payload"].items() if name not in ("call_id", "head")},
        )
        for event in memory.events(session, *kinds)
    ]


def _has_taken_in(memory: Remembered, session: str, count: int) -> bool:
    memory.take_in()
    return len(typed_events(memory, session, *KINDS)) >= count


def spelled(events: list[tuple[str, str, dict[str, Any]]]) -> list[str]:
    """Events in an order of their own: hooks and transcript are read at different times."""
    return sorted(json.dumps(event, sort_keys=True) for event in events)


def test_what_a_person_decides_is_known_from_transcript_and_hooks_each_once(
    claude: Claude, memory: Remembered, tmp_path: Path
) -> None:
    session, said = decide(claude, memory)
    plan, step = "Rename the scans", {"text": "Read the dates", "id": "1"}
    wanted = [
        ("branch", "agent", {"name": "main"}),
        ("prompt", "user", {"text": "Please see to the scans."}),
        ("plan", "agent", {"title": plan, "text": PLAN.strip()}),
        ("plan", "user", {"title": plan, "status": "accepted"}),
        ("decision", "user", {"what": "accepted", "form": "plan", "about": plan}),
        ("todos", "agent", {"items": [step]}),
        ("todos", "agent", {"items": [step | {"status": "completed"}]}),
        (
            "decision",
            "user",
            {
                "what": "US",
                "form": "answer",
                "question": "Which date format?",
                "alternatives": ["ISO", "US"],
            },
        ),
        (
            "decision",
            "user",
            {"what": "use c.txt instead", "form": "refusal", "about": f"Write {claude.workspace}/b.txt"},
        ),
        ("prompt", "user", {"text": "also check the tests", "form": "queued"}),
        *[("prompt", "user", {"text": LEAVE})] * said,
        ("branch", "agent", {"name": "topic"}),
        ("session.close", "agent", {"reason": "exit"}),
    ]
    # Hooks know neither the branch nor what was typed while a tool ran.
    by_hooks = [event for event in wanted if event[0] != "branch" and event[2].get("form") != "queued"]
    transcripts, hooks = memory.from_transcripts(tmp_path / "t"), memory.from_hooks(tmp_path / "h")
    # The client does not always write `/exit`. The hook says it anyway, once its grace time is over.
    written = "<command-name>/exit" in _transcript(claude)
    by_transcript = [event for event in wanted if written or event[0] != "session.close"]
    for one, expected in ((memory, wanted), (transcripts, by_transcript), (hooks, by_hooks)):
        wait_until(partial(_has_taken_in, one, session, len(expected)), f"there are {len(expected)} events")
        assert spelled(typed_events(one, session, *KINDS)) == spelled(expected)
        assert one.take_in()["events"] == 0
        state = one.memory.history.state(session)
        assert [row["subject"] for row in state["commits"]] == ["Rename the scans"]
        assert (state["branch"], state["pending_actions"]) == ("topic", [])
        is_closed = one.session(session)["lifecycle"] == "closed"
        assert is_closed == any(kind == "session.close" for kind, _, _ in expected)
        one.close()


def test_a_cleared_session_is_replaced_by_transcript_and_hooks_alike(
    claude: Claude, memory: Remembered, tmp_path: Path
) -> None:
    claude.model.learn("Please read the dates.", Scenario("first", (say("All dates are read."),)))
    claude.model.learn("Please rename the scans.", Scenario("second", (say("All scans are renamed."),)))
    projects = claude.config_dir / "projects"
    terminal = Terminal(claude)
    try:
        terminal.see("❯")
        terminal.type("Please read the dates.")
        terminal.see("All dates are read.")
        wait_until_written(projects, "All dates are read.")
        terminal.type("/clear")
        wait_until_written(projects, "<command-name>/clear</command-name>")
        terminal.type("Please rename the scans.")
        terminal.see("All scans are renamed.")
        wait_until_written(projects, "All scans are renamed.")
        terminal.type("/exit")
        terminal.end()
    finally:
        terminal.close()
    (cleared,) = (path.stem for path in projects.glob("*/*.jsonl") if "read the dates" in path.read_text())
    for one in (memory, memory.from_transcripts(tmp_path / "t"), memory.from_hooks(tmp_path / "h")):
        one.take_in()
        (end,) = one.events(cleared, "session.close")
        assert end["payload"] == {"reason": "clear"}
        found = one.session(cleared)
        assert (found["lifecycle"], found["ended"]) == ("closed", "replaced")
        assert one.take_in()["events"] == 0
        one.close()


def _plan_of_codex(first: str, second: str) -> Call:
    steps = [{"step": "Read the dates", "status": first}, {"step": "Rename", "status": second}]
    return Call("update_plan", {"plan": steps})


def test_codexs_list_of_steps_and_its_request_are_known_from_rollout_and_hooks_each_once(
    codex: Codex, tmp_path: Path
) -> None:
    git = ["git", "-c", "user.email=dana@example.com", "-c", "user.name=Dana"]
    subprocess.run([*git, "init", "-q", "-b", "main", str(codex.workspace)], check=True)
    commit = f"{' '.join(git)} commit -qm 'Rename the scans' --allow-empty && git log --oneline -1"
    memory = Remembered(codex, tmp_path / "memory")
    memory.connect()
    script = Scenario(
        "steps",
        (
            do(_plan_of_codex("in_progress", "pending")),
            do(shell(commit)),
            do(_plan_of_codex("completed", "in_progress")),
            say("The dates are read. Shall I rename the scans?"),
        ),
        settings={"tools": {"update_plan": {"enabled": True}}},
    )
    session = codex.run("Please see to the scans.", scenario=script).session_id
    read, rename = {"text": "Read the dates"}, {"text": "Rename"}
    wanted = [
        ("prompt", "user", {"text": "Please see to the scans."}),
        ("todos", "agent", {"items": [read | {"status": "in_progress"}, rename]}),
        ("todos", "agent", {"items": [read | {"status": "completed"}, rename | {"status": "in_progress"}]}),
    ]
    sides = (memory, memory.from_transcripts(tmp_path / "t"), memory.from_hooks(tmp_path / "h"))
    for one in sides:
        wait_until(partial(_has_taken_in, one, session, len(wanted)), f"there are {len(wanted)} events")
        found = typed_events(one, session, "prompt", "todos", "decision", "plan")
        assert spelled(found) == spelled(wanted)
        assert one.take_in()["events"] == 0
        state = one.memory.history.state(session)
        assert [row["what"] for row in state["pending_actions"]] == ["Rename"]
        assert [row["subject"] for row in state["commits"]] == ["Rename the scans"]
        one.close()


CODEX_PLAN = "# Plan: Rename the scans\n\n1. read the dates\n2. rename"
CODEX_QUESTION = {name: value for name, value in QUESTION.items() if name != "multiSelect"} | {"id": "format"}


def decide_in_codex(codex: Codex) -> str:
    """Play a session as Codex's own screens do, in plan mode and out of it. Returns its id."""
    plan = f"I have read them.\n\n<proposed_plan>\n{CODEX_PLAN}\n</proposed_plan>"
    asks = do(Call("request_user_input", {"questions": [CODEX_QUESTION]}))
    codex.model.learn("Please see to the scans.", Scenario("plans", (asks, say(plan))))
    removes = {
        "cmd": "rm *.jpg",
        "sandbox_permissions": "require_escalated",
        "justification": "Delete the scans?",
    }
    works = (do(_plan_of_codex("completed", "in_progress")), do(Call("exec_command", removes)))
    codex.model.learn("Implement the plan.", Scenario("works", (*works, say("Nothing is deleted."))))

    def person(method: str, params: Any) -> Any:
        if method == "item/tool/requestUserInput":
            return {"answers": {"format": {"answers": ["US"]}}}
        assert method == "item/commandExecution/requestApproval", method
        return {"decision": "decline"}

    with AppServer(codex, person) as server:
        asked = {"cwd": str(codex.workspace), "approvalPolicy": "on-request", "sandbox": "workspace-write"}
        config = {"tools": {"update_plan": {"enabled": True}}}
        thread: str = server.call("thread/start", asked | {"config": config})["thread"]["id"]
        server.turn(thread, "Please see to the scans.", "plan")
        server.turn(thread, "Implement the plan.", "default")
    return thread


def test_what_a_person_decides_in_codex_is_known_from_rollout_and_hooks_each_once(
    codex: Codex, tmp_path: Path
) -> None:
    memory = Remembered(codex, tmp_path / "memory")
    memory.connect()
    session = decide_in_codex(codex)
    plan = "Rename the scans"
    answer = {"what": "US", "form": "answer", "question": QUESTION["question"], "alternatives": ["ISO", "US"]}
    by_hooks = [
        ("prompt", "user", {"text": "Please see to the scans."}),
        ("decision", "user", answer),
        ("prompt", "user", {"text": "Implement the plan."}),
        ("todos", "agent", {"items": [
            {"text": "Read the dates", "status": "completed"}, {"text": "Rename", "status": "in_progress"},
        ]}),
    ]  # fmt: skip
    # Only the rollout has what the agent says, and a plan is a part of that.
    wanted = [
        *by_hooks,
        ("plan", "agent", {"title": plan, "text": CODEX_PLAN}),
        ("plan", "user", {"title": plan, "status": "accepted"}),
        ("decision", "user", {"what": "accepted", "form": "plan", "about": plan}),
    ]
    transcripts, hooks = memory.from_transcripts(tmp_path / "t"), memory.from_hooks(tmp_path / "h")
    for one, expected in ((memory, wanted), (transcripts, wanted), (hooks, by_hooks)):
        wait_until(partial(_has_taken_in, one, session, len(expected)), f"there are {len(expected)} events")
        found = typed_events(one, session, "prompt", "todos", "decision", "plan")
        assert spelled(found) == spelled(expected)
        assert one.take_in()["events"] == 0
        refused = [call for call in one.calls(session) if call.tool == "exec_command"]
        assert [call.outcome for call in refused] == (["unfinished"] if one is hooks else ["denied"])
        one.close()


def test_what_is_typed_or_stopped_while_codex_works_is_known_from_rollout_and_hooks_each_once(
    codex: Codex, gate: Gate, tmp_path: Path
) -> None:
    memory = Remembered(codex, tmp_path / "memory")
    memory.connect()
    subprocess.run(["git", "init", "-q", "-b", "main", str(codex.workspace)], check=True)
    git = "git -c user.email=dana@example.com -c user.name=Dana"
    commit = f"{git} commit -qm 'File the scans' --allow-empty && git log --oneline -1"
    waits = {"cmd": gate.command, "yield_time_ms": 30_000}
    works = (do(Call("exec_command", waits)), do(shell(commit)), say("All are filed. Shall I push?"))
    codex.model.learn("Please file the scans.", Scenario("works", works))
    sleeps = do(Call("exec_command", {"cmd": "sleep 60", "yield_time_ms": 30_000}))
    codex.model.learn("Yes.", Scenario("stopped", (sleeps, say("It is pushed."))))
    with AppServer(codex) as server:
        asked = {"cwd": str(codex.workspace), "approvalPolicy": "never", "sandbox": "danger-full-access"}
        session: str = server.call("thread/start", asked)["thread"]["id"]
        turn = server.begin(session, "Please file the scans.")
        wait_until(gate.reached, "the command runs")
        server.steer(session, turn, "the photos too")
        gate.open()
        server.until("turn/completed")
        turn = server.begin(session, "Yes.")
        server.until("item/started", "commandExecution")
        server.call("turn/interrupt", {"threadId": session, "turnId": turn})
        server.until("turn/completed")
    by_hooks = [
        ("prompt", "user", {"text": "Please file the scans."}),
        ("prompt", "user", {"text": "the photos too", "form": "queued"}),
        ("prompt", "user", {"text": "Yes."}),
        ("session.close", "agent", {"reason": "other"}),
    ]
    # Only hooks know that the session ended, only the rollout that a call was stopped.
    transcripts, hooks = memory.from_transcripts(tmp_path / "t"), memory.from_hooks(tmp_path / "h")
    for one in (memory, transcripts, hooks):
        expected = [event for event in by_hooks if one is not transcripts or event[0] != "session.close"]
        wait_until(partial(_has_taken_in, one, session, len(expected)), f"there are {len(expected)} events")
        assert spelled(typed_events(one, session, *KINDS)) == spelled(expected)
        assert one.take_in()["events"] == 0
        state = one.memory.history.state(session)
        assert [row["subject"] for row in state["commits"]] == ["File the scans"]
        outcomes = [call.outcome for call in one.calls(session)]
        assert outcomes[2] == ("unfinished" if one is hooks else "interrupted")
        one.close()

"""A day with the app, over the stand-in and the real rumps; in the evening the log tells exactly that day."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.clock import iso
from fazm_memory.watch import foreground_app
from fazm_memory.watch.foreground_app import DesktopState
from tests.appkit.app_env import AppEnv
from tests.appkit.standin.mac import Mac
from tests.appkit.standin.runtime import taught

SESSION = "11111111-2222-4333-8444-555555555555"
MINUTE = 60.0


@pytest.fixture
def env(mac: Mac, tmp_path: Path) -> Iterator[AppEnv]:
    made = AppEnv(mac, tmp_path)
    yield made
    made.memory.close()


@taught("NSTextField", "-stringValue")
def _typed(mac: Mac, field: Any) -> str:
    return str(mac.defaults.get("typed", ""))


class Day:
    def __init__(self, env: AppEnv) -> None:
        self.env, self.mac, self.world = env, env.mac, env.world
        self.transcripts = env.user / ".claude" / "projects" / "-w"
        self.transcripts.mkdir(parents=True)

    def ask_agent(self, text: str) -> None:
        """The user asks Claude Code for something; it is in its transcript a moment later."""
        record = {
            "type": "user",
            "uuid": f"u-{text}",
            "timestamp": iso(self.env.now()),
            "cwd": str(self.env.user),
            "sessionId": SESSION,
            "promptId": text,
            "message": {"role": "user", "content": text},
        }
        with (self.transcripts / f"{SESSION}.jsonl").open("a") as file:
            file.write(json.dumps(record) + "\n")

    def wait_for_desktop_state(self, *, permitted: bool, watching: bool = True) -> None:
        """Wait until the companion reports this desktop state."""
        wanted = DesktopState(watching, permitted)
        self.env.until(lambda: foreground_app.read_state(self.env.config.home) == wanted)

    def spend(self, seconds: float) -> None:
        """Time passes as it does: the polls of the source fire, and the companion records what they saw."""
        for _ in range(round(seconds / 10)):
            self.env.pass_time(10)
        self.env.app.companion.wake()
        self.env.until(lambda: self.env.app.companion._wake.is_set() is False)
        self.mac.settle()

    def prompts(self) -> list[str]:
        return [one["text"] for one in self.env.kept("prompt")]


def test_a_day(env: AppEnv) -> None:
    day, mac, world = Day(env), env.mac, env.world
    world.trusted = False
    editor = env.front("Editor", "plan.md")
    mac.defaults["typed"] = "The second one"

    def script() -> None:
        # Launch. The permission is missing: the menu says so, and the app in front is known all the same.
        day.wait_for_desktop_state(permitted=False)
        env.app.refresh()
        env.settle()
        assert mac.titles()[0].startswith("Attention: Windows and documents are not recorded")
        day.spend(2 * MINUTE)
        # It is given: the menu is calm again by itself.
        world.trusted = True
        day.spend(1 * MINUTE)
        day.wait_for_desktop_state(permitted=True)
        env.settle()
        assert mac.titles()[0] == "Recording"
        # An agent works.
        day.ask_agent("Rename the invoices")
        env.until(lambda: day.prompts() == ["Rename the invoices"])
        env.until(lambda: any(one.startswith("Resume “") for one in mac.titles()))
        # The machine sleeps for an hour, and wakes.
        mac.workspace("NSWorkspaceWillSleepNotification")
        env.at += 3_600_000_000
        mac.workspace("NSWorkspaceDidWakeNotification")
        day.spend(2 * MINUTE)
        # A pause: what happens in it is nobody's business.
        env.choose("Pause Recording", "Until I Resume")
        day.wait_for_desktop_state(permitted=True, watching=False)
        diary = env.front("Diary", "my secret")
        world.activate(diary)
        day.ask_agent("in secret")
        for _ in range(6):
            env.pass_time(10)
        env.front("Editor", "plan.md")
        env.choose("Resume Recording")
        day.wait_for_desktop_state(permitted=True)
        day.spend(1 * MINUTE)
        # The agent hands a question over; the person answers it from the menu.
        (session,) = env.memory.sessions.listing()
        env.memory.sessions.handoff(session["id"], to="human", note="Which folder?", source="mcp")
        env.app.refresh()
        env.settle()
        mac.answers.append("Answer")
        env.choose("? Which folder?")
        # Quit.
        mac.choose("Quit Fazm Memory (Recording Stops)")
        mac.wait_for(lambda: mac.terminated)

    env.play(script)
    assert editor.pid
    assert env.messages == []

    background, worked = [], []
    for one in env.memory.sessions.listing(background=True):
        (background if one["background"] else worked).append(one)
    (own,), (agent,) = background, worked

    results = [
        (event["kind"], *(event["payload"].get(name) for name in ("what", "app", "title")))
        for event in env.memory.history.events(own["id"])
    ]
    assert results == [
        ("session.open", None, None, "The companion's own log"),
        ("gap", "permission missing", None, None),
        ("app", None, "Editor", None),
        ("app", None, "Editor", "plan.md"),
        ("gap", "asleep", None, None),
        ("gap", "paused", None, None),
        ("app", None, "Editor", "plan.md"),
        ("app", None, "Editor", "plan.md"),
    ]
    messages = [(event["kind"], event["actor"]) for event in env.memory.history.events(agent["id"])]
    assert [one for one in messages if one[0] in ("prompt", "handoff", "handoff.answer")] == [
        ("prompt", "person"),
        ("handoff", "agent"),
        ("handoff.answer", "person"),
    ]
    assert "secret" not in json.dumps(list(env.memory.history.events(own["id"]))) + json.dumps(
        list(env.memory.history.events(agent["id"]))
    )
    assert [one.title for one in mac.notifications] == ["Rename the invoices is waiting for your answer"]
    assert env.memory.maintenance.verify().clean
    assert world.sources == []
    assert world.registered == 0

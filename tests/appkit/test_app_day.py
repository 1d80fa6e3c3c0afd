"""A day with the app, over the stand-in and the real rumps; in the evening the log tells exactly that day."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.capture import desk_state
from fazm_memory.capture.desk_state import DeskState
from fazm_memory.model.clock import iso
from tests.appkit.office import Office
from tests.appkit.standin.mac import Mac
from tests.appkit.standin.runtime import taught

SESSION = "11111111-2222-4333-8444-555555555555"
MINUTE = 60.0


@pytest.fixture
def office(mac: Mac, tmp_path: Path) -> Iterator[Office]:
    made = Office(mac, tmp_path)
    yield made
    made.memory.close()


@taught("NSTextField", "-stringValue")
def _typed(mac: Mac, field: Any) -> str:
    return str(mac.defaults.get("typed", ""))


class Day:
    def __init__(self, office: Office) -> None:
        self.office, self.mac, self.world = office, office.mac, office.world
        self.transcripts = office.user / ".claude" / "projects" / "-w"
        self.transcripts.mkdir(parents=True)

    def ask_agent(self, text: str) -> None:
        """The user asks Claude Code for something; it is in its transcript a moment later."""
        record = {
            "type": "user",
            "uuid": f"u-{text}",
            "timestamp": iso(self.office.now()),
            "cwd": str(self.office.user),
            "sessionId": SESSION,
            "promptId": text,
            "message": {"role": "user", "content": text},
        }
        with (self.transcripts / f"{SESSION}.jsonl").open("a") as file:
            file.write(json.dumps(record) + "\n")

    def desk(self, *, permitted: bool, watching: bool = True) -> None:
        """Until the companion's desk stands so."""
        wanted = DeskState(watching, permitted)
        self.office.until(lambda: desk_state.read(self.office.config.home) == wanted)

    def spend(self, seconds: float) -> None:
        """Time passes as it does: the polls of the source fire, and the companion records what they saw."""
        for _ in range(round(seconds / 10)):
            self.office.pass_time(10)
        self.office.app.companion.wake()
        self.office.until(lambda: self.office.app.companion._wake.is_set() is False)
        self.mac.settle()

    def prompts(self) -> list[str]:
        return [one["text"] for one in self.office.kept("prompt")]


def test_a_day(office: Office) -> None:
    day, mac, world = Day(office), office.mac, office.world
    world.trusted = False
    mac.answers.append("Continue")
    editor = office.front("Editor", "plan.md")
    mac.defaults["typed"] = "The second one"

    def script() -> None:
        # Launch. The permission is missing: the menu says so, and the app in front is known all the same.
        day.desk(permitted=False)
        office.app.refresh()
        office.settle()
        assert mac.titles()[0].startswith("Attention: windows and documents cannot be seen")
        day.spend(2 * MINUTE)
        # It is given: the menu is calm again by itself.
        world.trusted = True
        day.spend(1 * MINUTE)
        day.desk(permitted=True)
        office.settle()
        assert mac.titles()[0] == "Recording"
        # An agent works.
        day.ask_agent("Rename the invoices")
        office.until(lambda: day.prompts() == ["Rename the invoices"])
        office.until(lambda: any(one.startswith("Resume “") for one in mac.titles()))
        # The machine sleeps for an hour, and wakes.
        mac.workspace("NSWorkspaceWillSleepNotification")
        office.at += 3_600_000_000
        mac.workspace("NSWorkspaceDidWakeNotification")
        day.spend(2 * MINUTE)
        # A pause: what happens in it is nobody's business.
        office.choose("Pause Recording", "Until I Resume")
        day.desk(permitted=True, watching=False)
        diary = office.front("Diary", "my secret")
        world.activate(diary)
        day.ask_agent("in secret")
        for _ in range(6):
            office.pass_time(10)
        office.front("Editor", "plan.md")
        office.choose("Resume Recording")
        day.desk(permitted=True)
        day.spend(1 * MINUTE)
        # The agent hands a question over; the person answers it from the menu.
        (session,) = office.memory.sessions()
        office.memory.handoff(session["id"], to="human", note="Which folder?", source="mcp")
        office.app.refresh()
        office.settle()
        mac.answers.append("Answer")
        office.choose("? Which folder?")
        # Quit.
        mac.choose("Quit Fazm Memory (Recording Stops)")
        mac.wait_for(lambda: mac.terminated)

    office.play(script)
    assert editor.pid
    assert office.said == []

    background, worked = [], []
    for one in office.memory.sessions(background=True):
        (background if one["background"] else worked).append(one)
    (own,), (agent,) = background, worked

    told = [
        (event["kind"], *(event["payload"].get(name) for name in ("what", "app", "title")))
        for event in office.memory.events(own["id"])
    ]
    assert told == [
        ("session.open", None, None, "The companion's own log"),
        ("gap", "permission missing", None, None),
        ("app", None, "Editor", None),
        ("app", None, "Editor", "plan.md"),
        ("gap", "asleep", None, None),
        ("gap", "paused", None, None),
        ("app", None, "Editor", "plan.md"),
        ("app", None, "Editor", "plan.md"),
    ]
    said = [(event["kind"], event["actor"]) for event in office.memory.events(agent["id"])]
    assert [one for one in said if one[0] in ("prompt", "handoff", "handoff.answer")] == [
        ("prompt", "person"),
        ("handoff", "agent"),
        ("handoff.answer", "person"),
    ]
    assert "secret" not in json.dumps(list(office.memory.events(own["id"]))) + json.dumps(
        list(office.memory.events(agent["id"]))
    )
    assert [one.title for one in mac.notifications] == ["Rename the invoices waits for your answer"]
    assert office.memory.verify().clean
    assert world.sources == []
    assert world.registered == 0

"""Fazm's control commands and files as data: what we send, and what it writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.agents import FazmWindow, Places, fazm_sessions
from fazm_memory.agents import fazm as fazm_module
from fazm_memory.agents.fazm import FazmControl

CONTRACT: dict[str, Any] = json.loads(
    (Path(__file__).parent / "fixtures" / "fazm_control.json").read_text(encoding="utf-8")
)
COMMANDS: dict[str, dict[str, Any]] = CONTRACT["commands"]
KEY = CONTRACT["windows"]["popouts"][0]["sessionKey"]


class Fazm:
    """Answers each command as the contract says, and refuses one that it does not list."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.sent = folder, list[str]()
        self.answers = {"fazm-control-state.json": dict(CONTRACT["state"])}
        self.answers["fazm-control-popouts.json"] = json.loads(json.dumps(CONTRACT["windows"]))

    def __call__(self, command: str) -> None:
        name, colon, argument = command.partition(":")
        rule = COMMANDS[name + colon]  # KeyError: Fazm would log "Unknown control command"
        self.sent.append(name + colon)
        if name == "setWorkspace":
            self.answers["fazm-control-state.json"]["workspace"] = argument
        if name == "newPopOutChat":
            first = self.answers["fazm-control-popouts.json"]["popouts"][0]
            self.answers["fazm-control-popouts.json"]["popouts"].append(
                {**first, "sessionKey": "detached-new"}
            )
        if answer := rule.get("answers_in"):
            part = self.folder / "part"
            part.write_text(json.dumps(self.answers[answer]))
            part.replace(self.folder / answer)  # atomically, as Swift writes it


@pytest.fixture
def fazm(tmp_path: Path) -> Fazm:
    return Fazm(tmp_path)


def control(fazm: Fazm) -> FazmControl:
    return FazmControl(fazm, folder=fazm.folder, wait_factor=5.0)


def test_names_and_places_are_those_of_the_contract() -> None:
    assert CONTRACT["notification"] == fazm_module.FAZM_NOTIFICATION
    assert CONTRACT["application"] == fazm_module.FAZM_APP
    files = {rule["answers_in"] for rule in COMMANDS.values() if "answers_in" in rule}
    assert files == {fazm_module.STATE_FILE, fazm_module.WINDOWS_FILE}
    assert FazmControl(lambda command: None).folder == Path(CONTRACT["folder"])


def test_every_command_of_ours_is_in_the_contract_and_none_that_harms() -> None:
    ours = {
        fazm_module.GET_STATE, fazm_module.LIST_WINDOWS, fazm_module.NEW_WINDOW,
        fazm_module.SET_WORKSPACE, fazm_module.SEND,
    }  # fmt: skip
    assert ours <= set(COMMANDS)
    assert ours.isdisjoint(CONTRACT["never_sent"])


def test_the_state_and_the_windows_are_understood(fazm: Fazm) -> None:
    assert control(fazm).state() == CONTRACT["state"]
    assert control(fazm).windows() == [
        FazmWindow("detached-1111", "Scans", True),
        FazmWindow("detached-2222", "Mail", False),
    ]
    assert CONTRACT["windows"]["openWindowCount"] == len(CONTRACT["windows"]["popouts"])


def test_looking_at_the_windows_changes_nothing_in_fazm(fazm: Fazm) -> None:
    control(fazm).windows()
    assert fazm.sent == ["listPopOuts"]


def test_an_exact_resume_sends_only_what_it_needs(fazm: Fazm) -> None:
    assert control(fazm).resume(KEY, "/w", "briefing") == "exact"
    assert fazm.sent == ["getState", "listPopOuts", "sendQueryToWindow:"]


def test_a_new_window_leaves_the_default_folder_as_it_was(fazm: Fazm) -> None:
    assert control(fazm).resume("detached-gone", "/elsewhere", "briefing") == "new window"
    assert fazm.answers["fazm-control-state.json"]["workspace"] == CONTRACT["state"]["workspace"]
    assert set(fazm.sent).isdisjoint(CONTRACT["never_sent"])
    assert fazm.sent[-1] == "sendQueryToWindow:"


def test_a_session_is_found_in_fazms_list_by_the_agents_id(tmp_path: Path) -> None:
    listed = CONTRACT["session_list"]
    path = tmp_path / listed["path"]
    path.parent.mkdir()
    path.write_text(json.dumps(listed["rows"]))
    (row,) = listed["rows"]
    found = fazm_sessions(Places(tmp_path, {}))[row["sessionId"]]
    assert (found.session_key, found.cwd, found.updated_ms) == (
        row["sessionKey"],
        row["cwd"],
        row["updatedAt"],
    )
    assert fazm_module.is_session_key(found.session_key)

"""Fazm's control commands and files, as its source has them, and a resume over them."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from fazm_memory.agents import fazm as fazm_module
from fazm_memory.agents.fazm import CONTINUE, FazmControl

# As Fazm 2.9.22 writes them.
STATE = {
    "model": "m",
    "modelLabel": "M",
    "voiceEnabled": False,
    "workspace": "/Users/dana",
    "isVisible": True,
}
WINDOW = {
    "title": "Scans", "workspace": "/w", "selectedModel": "m", "isVisible": True, "isMinimized": False,
    "isAILoading": False, "chatHistoryCount": 3, "frame": {"x": 0, "y": 0, "width": 1, "height": 1},
}  # fmt: skip
OWN, NEW = "detached-1111", "detached-2222"


class Fazm:
    """Answers as Fazm does, and remembers what it was sent."""

    opened_in: str

    def __init__(self, folder: Path, *windows: str, running: bool = True) -> None:
        self.folder, self.open, self.running = folder, list(windows), running
        self.workspace, self.commands, self.queries = "/Users/dana", [], []  # type: ignore[var-annotated]
        self.deaf: set[str] = set()

    def __call__(self, command: str) -> None:
        self.commands.append(command)
        name = command.split(":")[0]
        if not self.running or name in self.deaf:
            return
        if name == "getState":
            self._write("fazm-control-state.json", {**STATE, "workspace": self.workspace})
        elif name == "listPopOuts":
            windows = [{**WINDOW, "sessionKey": key} for key in self.open]
            self._write(
                "fazm-control-popouts.json",
                {"timestamp": 1.5, "openWindowCount": len(windows), "popouts": windows},
            )
        elif name == "newPopOutChat":
            self.open.append(NEW)
            self.opened_in = self.workspace
        elif name == "setWorkspace":
            self.workspace = command.removeprefix("setWorkspace:")
        elif name == "sendQueryToWindow":
            key, _, words = command.removeprefix("sendQueryToWindow:").partition(":")
            self.queries.append((key, words))

    def _write(self, name: str, content: object) -> None:
        """Atomically, as Swift's `write(toFile:atomically:)`: always another file."""
        part = self.folder / f"{name}.part"
        part.write_text(json.dumps(content))
        part.replace(self.folder / name)

    def launch(self) -> bool:
        self.running = True
        return True


def control(fazm: Fazm, **more: object) -> FazmControl:
    return FazmControl(fazm, folder=fazm.folder, wait_factor=0.2, **more)  # type: ignore[arg-type]


def test_the_commands_and_files_are_those_of_fazms_source() -> None:
    assert (fazm_module.FAZM_NOTIFICATION, fazm_module.FAZM_APP) == ("com.fazm.control", "com.fazm.app")
    assert (fazm_module.STATE_FILE, fazm_module.WINDOWS_FILE) == (
        "fazm-control-state.json",
        "fazm-control-popouts.json",
    )


def test_a_session_whose_window_is_open_goes_on_in_it(tmp_path: Path) -> None:
    fazm = Fazm(tmp_path, "detached-0000", OWN)
    assert control(fazm).resume(OWN, "/w", "briefing") == "exact"
    assert fazm.queries == [(OWN, CONTINUE)]
    assert fazm.workspace == "/Users/dana"
    assert not any(
        command.startswith(("setWorkspace", "newPopOut", "sendFollowUp")) for command in fazm.commands
    )


def test_otherwise_a_new_window_in_its_folder_gets_the_briefing_and_the_default_folder_is_restored(
    tmp_path: Path,
) -> None:
    fazm = Fazm(tmp_path, "detached-0000")
    assert control(fazm).resume(OWN, "/w:odd", "Go on: a\nb") == "new window"
    assert fazm.queries == [(NEW, "Go on: a\nb")]
    assert (fazm.opened_in, fazm.workspace) == ("/w:odd", "/Users/dana")


def test_the_default_folder_is_restored_when_no_window_opens(tmp_path: Path) -> None:
    fazm = Fazm(tmp_path)
    fazm.deaf = {"newPopOutChat"}
    assert control(fazm).resume(OWN, "/w", "briefing") == "no answer"
    assert (fazm.queries, fazm.workspace) == ([], "/Users/dana")


def test_a_fazm_that_is_closed_is_launched(tmp_path: Path) -> None:
    fazm = Fazm(tmp_path, OWN, running=False)
    assert control(fazm, launch=fazm.launch).resume(OWN, None, "briefing") == "exact"


@pytest.mark.parametrize("deaf", ["getState", "listPopOuts"])
def test_nothing_is_sent_to_a_fazm_that_does_not_answer(tmp_path: Path, deaf: str) -> None:
    fazm = Fazm(tmp_path, OWN)
    fazm.deaf = {deaf}
    assert control(fazm).resume(OWN, "/w", "briefing") == "no answer"
    assert set(fazm.commands) <= {"getState", "listPopOuts"}


def test_files_of_another_user_and_links_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fazm = Fazm(tmp_path, OWN)
    with monkeypatch.context() as patch:
        patch.setattr(os, "getuid", lambda: 12345)
        assert control(fazm).state() is None
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text(json.dumps(STATE))
    fazm.deaf = {"getState"}
    answer = tmp_path / "fazm-control-state.json"
    answer.unlink()
    linking = FazmControl(lambda command: answer.symlink_to(elsewhere), folder=tmp_path, wait_factor=0.2)
    assert linking.state() is None


@pytest.mark.parametrize(
    "content", ["", "[]", "null", '{"popouts": 7}', '{"popouts": [{"sessionKey": "a:b"}, 3]}']
)
def test_a_list_of_another_form_has_no_windows(tmp_path: Path, content: str) -> None:
    def post(command: str) -> None:
        (tmp_path / "fazm-control-popouts.json").write_text(content)

    assert not FazmControl(post, folder=tmp_path, wait_factor=0.2).windows()

"""The setup over the page's API."""

from __future__ import annotations

import os

import pytest

from fazm_memory import translation
from tests.cli.test_import import transcript
from tests.web.conftest import NOW, Asking, World


def test_the_steps_are_listed_done_and_taken_back(ask: Asking, world: World) -> None:
    user = world.memory.config.user_home
    (user / ".claude").mkdir(parents=True)
    steps = {step["name"]: step for step in ask.get("setup")["steps"]}
    assert steps["connect"]["state"] == "todo"
    assert ask.post("setup", step="connect", choice="claude-code")["message"]
    assert (user / ".claude" / "settings.json").exists()
    ask.post("setup", step="connect", choice="claude-code", on=False)
    assert not (user / ".claude" / "settings.json").exists()
    assert ask.raw("POST", "setup", {"step": "nope"})[0] == 400


def test_the_import_goes_part_by_part_until_nothing_is_left(
    ask: Asking, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fazm_memory.app.setup.PART_BYTES", 1)
    monkeypatch.setattr("fazm_memory.ingest.importer.WAVE_BYTES", 1)
    for number in (1, 2):
        session = f"{number}1111111-2222-4333-8444-555555555555"
        path = transcript(world.memory.config.user_home / ".claude", "Tidy", session=session)
        os.utime(path, (NOW / 1e6, NOW / 1e6))
    left: list[int] = []
    while not left or left[-1]:
        left.append(ask.post("setup/import")["left"])
    assert left == sorted(left, reverse=True)
    assert len(left) > 1


def test_it_is_finished_once_and_in_the_users_language(ask: Asking, world: World) -> None:
    assert ask.get("setup")["finished"] is False
    ask.post("setup/finish")
    translation.set_language("de")
    try:
        body = ask.get("setup")
    finally:
        translation.set_language("en")
    assert (body["finished"], body["language"], body["labels"]["skip"]) == (True, "de", "Überspringen")

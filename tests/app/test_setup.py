"""The steps of the setup, each done, skipped and taken back."""

from __future__ import annotations

import json
import os
import plistlib
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fazm_memory import translation
from fazm_memory.app.companion import SWITCHES, Companion
from fazm_memory.app.memory import Memory
from fazm_memory.app.setup import MONTH, LoginFile, PlainSystem
from fazm_memory.config import CONFIG_FILE, Config, load
from fazm_memory.errors import InvalidRequest
from fazm_memory.events import Draft
from tests.cli.test_import import transcript

NOW = 1_790_000_000_000_000
DAY = 86_400
SESSION = "{}1111111-2222-4333-8444-555555555555"


class System(PlainSystem):
    """A Mac that answers as told."""

    def __init__(self, config: Config, *, misplaced: bool = False, permitted: bool | None = False) -> None:
        super().__init__(config, LoginFile(config, "darwin"))
        self._misplaced, self._permitted, self.asked = misplaced, permitted, 0

    def misplaced(self) -> bool:
        return self._misplaced

    def permitted(self) -> bool | None:
        return self._permitted

    def ask_permission(self) -> None:
        self.asked += 1


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    user = tmp_path / "user"
    (user / ".claude").mkdir(parents=True)
    (user / ".claude" / "settings.json").write_text("{}")
    monkeypatch.setenv("PATH", "/nowhere")
    config = load({"HOME": str(user), "FAZM_MEMORY_HOME": str(tmp_path / "home"), "FAZM_MEMORY_KEY": "file"})
    made = Memory(config, lambda: NOW)
    made.setup.platform = "darwin"
    made.setup.system = System(config)
    yield made
    made.close()


def step(memory: Memory, name: str):  # type: ignore[no-untyped-def]
    return next((step for step in memory.setup.steps() if step.name == name), None)


def worked_in(memory: Memory, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    opening = {"agent": "fazm", "workspace": str(folder), "title": "t"}
    (result,) = memory.sessions.record([Draft("s", "session.open", opening, agent="fazm")])
    assert result.error is None


def test_an_agent_is_connected_with_its_edits_shown_and_disconnected_again(memory: Memory) -> None:
    settings = memory.config.user_home / ".claude" / "settings.json"
    (choice,) = step(memory, "connect").choices
    assert [Path(edit["path"]).name for edit in choice.edits] == ["settings.json", ".claude.json"]
    assert "+" in choice.edits[0]["diff"]
    memory.setup.apply("connect", "claude-code")
    assert "hooks" in json.loads(settings.read_text())
    assert step(memory, "connect").state == "done"
    assert memory.setup.remove() == (["claude-code"], {})
    assert settings.read_text() == "{}"


def test_a_machine_without_agents_is_told_so(memory: Memory) -> None:
    shutil.rmtree(memory.config.user_home / ".claude")
    assert "No agent was found" in step(memory, "connect").note
    assert step(memory, "connect").state == "not here"


def test_one_broken_configuration_does_not_keep_the_other_agents_connected(memory: Memory) -> None:
    (memory.config.user_home / ".codex").mkdir()
    for agent in ("claude-code", "codex"):
        memory.setup.apply("connect", agent)
    settings = memory.config.user_home / ".claude" / "settings.json"
    settings.write_text(settings.read_text() + "}")
    removed, failed = memory.setup.remove()
    assert removed == ["codex"]
    assert str(settings) in failed["claude-code"].message


def test_the_app_is_moved_only_when_it_is_in_a_temporary_place(memory: Memory) -> None:
    assert step(memory, "move") is None
    memory.setup.system = System(memory.config, misplaced=True)
    assert step(memory, "move").state == "todo"


def test_the_permission_is_asked_for_and_seen_when_it_is_granted(memory: Memory) -> None:
    assert step(memory, "accessibility").state == "todo"
    assert "Accessibility" in memory.setup.apply("accessibility")
    assert memory.setup.system.asked == 1  # type: ignore[attr-defined]
    memory.setup.system = System(memory.config, permitted=True)
    assert step(memory, "accessibility").state == "done"
    memory.setup.system = PlainSystem(memory.config, LoginFile(memory.config, "linux", Path("/nowhere")))
    assert (step(memory, "accessibility"), step(memory, "login")) == (None, None)


def test_a_protected_folder_of_an_agent_is_suggested_and_then_watched(memory: Memory) -> None:
    project = memory.config.user_home / "Documents" / "tax"
    worked_in(memory, project)
    (memory.config.user_home / "Desktop").mkdir()
    choices = {choice.id: choice for choice in step(memory, "folders").choices}
    assert (choices[str(project)].suggested, choices[str(project)].done) == (True, False)
    assert not choices[str(memory.config.user_home / "Desktop")].suggested
    memory.setup.apply("folders", str(project))
    assert memory.recording.added_folders() == (str(project),)
    assert step(memory, "folders").state == "done"
    memory.setup.apply("folders", str(project), on=False)
    assert memory.recording.added_folders() == ()


def test_a_folder_that_the_system_refuses_says_where_to_allow_it(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = memory.config.user_home / "Documents"
    folder.mkdir()

    def refused(path: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("fazm_memory.app.setup.os.scandir", refused)
    assert "Files and Folders" in memory.setup.apply("folders", "~/Documents")


def test_only_a_folder_that_exists_is_added(memory: Memory) -> None:
    with pytest.raises(InvalidRequest):
        memory.setup.apply("folders", "relative")
    with pytest.raises(InvalidRequest):
        memory.setup.apply("folders", "/no/such/folder")


def test_settings_of_people_stay_when_a_folder_is_added(memory: Memory) -> None:
    path = memory.config.home / "config.toml"
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.write_text(
        '# mine\nkey = "file"\nwatch = [\n  "~/x",  # why\n]\n\n[[redact]]\nname = "n"\nregex = "r"\n'
    )
    documents = memory.config.user_home / "Documents"
    documents.mkdir()
    memory.setup.apply("folders", str(documents))
    assert path.read_text() == (
        f'# mine\nkey = "file"\nwatch = ["~/x", "{documents}"]\n\n[[redact]]\nname = "n"\nregex = "r"\n'
    )


def test_launch_at_login_is_one_file_on_a_mac(memory: Memory) -> None:
    agent = memory.config.user_home / "Library" / "LaunchAgents" / "org.fazm.memory.plist"
    assert str(agent) in memory.setup.apply("login")
    written = plistlib.loads(agent.read_bytes())
    assert written["ProgramArguments"][-1] == "run"
    assert written["EnvironmentVariables"] == {"FAZM_MEMORY_HOME": str(memory.config.home)}
    assert step(memory, "login").state == "done"
    assert memory.setup.remove() == (["login"], {})
    assert not agent.exists()


def test_launch_at_login_is_a_unit_and_its_link_on_linux(memory: Memory, tmp_path: Path) -> None:
    item = LoginFile(memory.config, "linux", tmp_path)
    item.command, item.env = ("/opt/a b/fazm-memory", "run"), {"FAZM_MEMORY_HOME": '/h "%$'}
    item.enable()
    item.enable()
    units = memory.config.user_home / ".config" / "systemd" / "user"
    text = (units / "fazm-memory.service").read_text()
    assert 'ExecStart="/opt/a b/fazm-memory" run' in text
    assert 'Environment="FAZM_MEMORY_HOME=/h \\"%%$$"' in text
    link = units / "default.target.wants" / "fazm-memory.service"
    assert link.resolve() == units / "fazm-memory.service"
    assert item.enabled()
    item.disable()
    assert not item.enabled()
    assert not link.is_symlink()


def test_only_the_last_month_is_imported_and_its_progress_is_known(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fazm_memory.app.setup.PART_BYTES", 1)
    monkeypatch.setattr("fazm_memory.ingest.importer.WAVE_BYTES", 1)
    for number, age in enumerate((2, 1, MONTH // 1_000_000 // DAY + 1)):
        session = SESSION.format(number)
        path = transcript(memory.config.user_home / ".claude", "Tidy", session=session)
        os.utime(path, (NOW / 1e6 - age * DAY,) * 2)
    left = [memory.setup.import_part()["left"]]
    while left[-1]:
        left.append(memory.setup.import_part()["left"])
    assert left[0] > left[-1] == 0
    assert step(memory, "import").state == "done"
    assert memory.setup.import_part() == {"events": 0, "bytes": 0, "left": 0}
    assert len(memory.sessions.listing()) == 2
    assert (memory.config.home / "context" / "context.md").exists()


def test_nothing_is_imported_while_recording_is_paused(memory: Memory) -> None:
    path = transcript(memory.config.user_home / ".claude", "x")
    os.utime(path, (NOW / 1e6, NOW / 1e6))
    memory.recording.pause()
    assert step(memory, "import") is None


def test_it_is_shown_once_and_not_to_users_of_an_older_version(memory: Memory, tmp_path: Path) -> None:
    shown = [memory.setup.finished]
    memory.setup.finish()
    assert [*shown, memory.setup.finished] == [False, True]
    older = Memory(replace(memory.config, home=tmp_path / "older"), lambda: NOW)
    (tmp_path / "older").mkdir()
    (tmp_path / "older" / "permission-asked").write_text("asked once\n")
    assert older.setup.finished


def test_an_unknown_step_is_refused(memory: Memory) -> None:
    with pytest.raises(InvalidRequest):
        memory.setup.apply("nope")


def test_the_steps_are_in_the_language_that_was_chosen(memory: Memory) -> None:
    translation.set_language("de")
    try:
        assert step(memory, "connect").title == "Deine Agenten verbinden"
    finally:
        translation.set_language("en")


def test_a_running_companion_watches_an_added_folder_and_survives_a_broken_setting(memory: Memory) -> None:
    reports: list[str] = []
    companion = Companion(memory, report=reports.append)
    folder = memory.config.user_home / "Documents"
    folder.mkdir()
    assert companion._added_folders() == ()
    Memory(memory.config, memory.now).recording.add_folder(str(folder))  # as another process does
    assert companion._added_folders() == (str(folder),)
    assert CONFIG_FILE in SWITCHES  # the change wakes it
    path = memory.config.home / CONFIG_FILE
    path.write_text("watch = 5\n")
    os.utime(path, (1, 1))
    assert companion._added_folders() == memory.config.watch
    assert "watch" in reports[0]

"""What the setup does on a Mac: moving the app, the permission, the login item."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.errors import InvalidRequest
from tests.appkit.app_env import AppEnv
from tests.appkit.ax_world import World
from tests.appkit.standin.mac import Mac

TRANSLOCATED = "/private/var/folders/x/AppTranslocation/1234/d/Fazm Memory.app"


class Commands:
    """What was run, and how the first command ends."""

    def __init__(self, error: str = "") -> None:
        self.error, self.ran, self.started, self.left = error, list[Any](), list[Any](), 0

    def run(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        self.ran.append(list(command))
        return subprocess.CompletedProcess(command, 1 if self.error else 0, "", self.error)

    def leave(self) -> None:
        self.left += 1


def system(mac: Mac, folder: Path, commands: Commands, *, in_app: bool = True) -> Any:
    from fazm_memory.macos.setup import MacSetup

    env = AppEnv(mac, folder)
    env.memory.close()
    (folder / "Applications").mkdir()
    return MacSetup(
        env.config, in_app=in_app, leave=commands.leave, run=commands.run, start=commands.started.append,
        applications=folder / "Applications",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("place", "misplaced"),
    [
        (TRANSLOCATED, True),
        ("/Applications/Fazm Memory.app", False),
        ("{user}/Downloads/Fazm Memory.app", True),
    ],
)
def test_an_app_in_a_temporary_place_is_known(mac: Mac, tmp_path: Path, place: str, misplaced: bool) -> None:
    mac.bundle_path = place.format(user=tmp_path / "user")
    assert system(mac, tmp_path, Commands()).misplaced() is misplaced


def test_it_is_copied_opened_when_this_one_has_ended_and_the_setup_goes_on(mac: Mac, tmp_path: Path) -> None:
    mac.bundle_path = TRANSLOCATED
    commands = Commands()
    setup = system(mac, tmp_path, commands)
    target = str(tmp_path / "Applications" / "Fazm Memory.app")
    setup.move()
    assert commands.ran == [
        ["/usr/bin/ditto", TRANSLOCATED, target],
        ["/usr/bin/xattr", "-dr", "com.apple.quarantine", target],
    ]
    ((shell, option, script),) = commands.started
    assert (shell, option) == ("/bin/sh", "-c")
    assert f"kill -0 {os.getpid()} " in script
    assert f"/usr/bin/open '{target}'" in script
    assert commands.left == 1
    assert not (setup.home / "setup-done").exists()


def test_a_copy_that_is_there_already_is_not_overwritten(mac: Mac, tmp_path: Path) -> None:
    mac.bundle_path = TRANSLOCATED
    commands = Commands()
    setup = system(mac, tmp_path, commands)
    (tmp_path / "Applications" / "Fazm Memory.app").mkdir()
    with pytest.raises(InvalidRequest):
        setup.move()
    assert (commands.ran, commands.left) == ([], 0)


def test_an_app_that_cannot_be_copied_goes_on_where_it_is(mac: Mac, tmp_path: Path) -> None:
    mac.bundle_path = TRANSLOCATED
    commands = Commands("ditto: Permission denied")
    with pytest.raises(InvalidRequest, match="Permission denied"):
        system(mac, tmp_path, commands).move()
    assert (commands.started, commands.left) == ([], 0)


def test_the_permission_of_a_terminal_is_not_shown_as_that_of_the_app(mac: Mac, tmp_path: Path) -> None:
    world = World()
    setup = system(mac, tmp_path, Commands(), in_app=False)
    world.join(mac)
    world.trusted = True
    assert setup.permitted() is None


def test_the_system_asks_once_and_then_its_settings_open(mac: Mac, tmp_path: Path) -> None:
    env = AppEnv(mac, tmp_path)
    env.world.trusted = False

    def script() -> None:
        from fazm_memory.macos.setup import MacSetup

        for _ in range(2):
            env.app.worker.do(lambda memory: MacSetup(env.config, in_app=True).ask_permission())
            env.settle()

    env.play(script)
    env.memory.close()
    assert env.world.prompts == 1
    assert [str(opened) for opened in mac.opened] == [
        "x-apple.systempreferences:com.apple.preference.security?Privacy_Accessibility"
    ]


def test_the_login_item_is_the_systems_in_the_app_and_a_launch_agent_without(tmp_path: Path) -> None:
    for bundle, folder in (("org.example.app", "a"), (None, "b")):
        (tmp_path / folder).mkdir()
        with Mac(bundle_identifier=bundle).installed() as mac:
            setup = system(mac, tmp_path / folder, Commands(), in_app=False)
            setup.login_file.platform = "darwin"
            setup.login_file.available = True
            states = [setup.login()]
            setup.set_login(True)
            assert [*states, setup.login()] == [False, True]
            agent = tmp_path / folder / "user" / "Library" / "LaunchAgents" / "org.fazm.memory.plist"
            assert agent.exists() is (bundle is None)

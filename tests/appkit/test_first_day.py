"""The first days of a fresh user, from the first launch to an uninstall that leaves nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fazm_memory.app.memory import Memory
from fazm_memory.config import Config
from fazm_memory.web.server import InProcessPage
from tests.app.test_updates import NEWER, FeedHost
from tests.appkit.app_env import AppEnv
from tests.appkit.standin.mac import Mac
from tests.appkit.test_app_day import Day
from tests.packaging.test_app import recorder

ROOT = Path(__file__).parents[2]
DAY = 86_400_000_000


class FreshUser(AppEnv):
    """A user with Claude Code, who launches the app for the first time, with the real page in its window."""

    def __init__(self, mac: Mac, folder: Path, feed: str, key: str) -> None:
        super().__init__(mac, folder, fresh=True)
        self.memory.close()
        home = self.config.home
        (home / "config.toml").write_text(f'key = "file"\nupdate_feed = "{feed}"\nupdate_key = "{key}"\n')
        env = {"HOME": str(self.user), "FAZM_MEMORY_HOME": str(home)}
        self.config = Config(home, self.user, key="file", update_feed=feed, update_key=key, environment=env)
        self.memory = self.memory_of_app()
        self.day = Day(self)
        self.settings = self.user / ".claude" / "settings.json"
        self.settings.write_text('{"theme": "dark"}\n')
        self.day.ask_agent("Sort the photos")
        for path in self.day.transcripts.iterdir():
            os.utime(path, (self.at / 1e6, self.at / 1e6))

    def memory_of_app(self) -> Memory:
        from fazm_memory.macos.setup import MacSetup

        memory = Memory(self.config, self.now)
        memory.setup.system = MacSetup(self.config, in_app=True)
        return memory

    def build(self) -> Any:
        from fazm_memory.macos.app import MenuBarApp

        page = InProcessPage(self.memory_of_app)

        def leaving() -> None:
            page.close()
            self.left.append("left")

        self.app = MenuBarApp(self.memory_of_app, page, say=self.messages.append, leaving=leaving)
        return self.app

    # -- the window --------------------------------------------------------------------------------------

    def post(self, path: str, **body: Any) -> Any:
        status, text = self.mac.message(
            self.mac.web_views[0], "fazm", {"path": f"/api/v1/{path}", "body": json.dumps(body)}
        )
        assert status == 200, text
        return json.loads(text)

    def steps(self) -> dict[str, str]:
        answer = self.mac.fetch(self.mac.web_views[0], "fazm://app/api/v1/setup")
        return {step["name"]: step["state"] for step in json.loads(answer.body)["steps"]}

    def files(self) -> dict[str, bytes]:
        """All files of the user outside our data folder."""
        found = (path for path in self.user.rglob("*") if path.is_file())
        return {str(path.relative_to(self.user)): path.read_bytes() for path in found}

    def uninstall(self, folder: Path) -> subprocess.CompletedProcess[str]:
        app = folder / "Fazm Memory.app"
        cli = app / "Contents" / "MacOS" / "fazm-memory"
        cli.parent.mkdir(parents=True)
        cli.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m fazm_memory.cli.main "$@"\n')
        cli.chmod(0o755)
        recorder(folder / "bin", folder / "ran", "launchctl", "osascript", "tccutil", "security")
        env = {
            "HOME": str(self.user), "PATH": f"{folder / 'bin'}:/usr/bin:/bin", "APP": str(app),
            "FAZM_MEMORY_HOME": str(self.config.home), "FAZM_MEMORY_KEY": "file", "PYTHONPATH": str(ROOT),
        }  # fmt: skip
        command = ["bash", str(ROOT / "packaging" / "uninstall"), "--everything"]
        return subprocess.run(command, env=env, capture_output=True, text=True)


@pytest.fixture
def host(tmp_path: Path) -> FeedHost:
    host = FeedHost(tmp_path)
    host.sign({"version": "0.0.1"})
    return host


@pytest.fixture
def user(mac: Mac, tmp_path: Path, host: FeedHost) -> Iterator[FreshUser]:
    with host.serving() as address:
        made = FreshUser(mac, tmp_path, address, host.public)
        yield made
        made.memory.close()


def test_the_first_days_of_a_fresh_user(user: FreshUser, host: FeedHost, mac: Mac, tmp_path: Path) -> None:
    before = user.files()
    user.world.trusted = False
    user.front("Editor", "plan.md")

    def set_up() -> None:
        (window,) = mac.windows
        assert window._p["visible"]
        assert (mac.alerts, mac.notification_requests, user.world.prompts) == ([], 0, 0)
        states = user.steps()
        assert [states[name] for name in ("connect", "accessibility", "login")] == ["todo"] * 3
        assert "move" not in states
        # The permission is denied at first, then granted in the system's settings.
        user.post("setup", step="accessibility")
        assert (user.world.prompts, user.steps()["accessibility"]) == (1, "todo")
        user.post("setup", step="accessibility")
        assert user.world.prompts == 1
        assert "Privacy_Accessibility" in mac.opened[-1]
        user.world.trusted = True
        assert user.steps()["accessibility"] == "done"
        # Connect, launch at login, import.
        user.post("setup", step="connect", choice="claude-code")
        assert "hooks" in json.loads(user.settings.read_text())
        user.post("setup", step="login")
        while user.post("setup/import")["left"]:
            pass
        assert {user.steps()[name] for name in ("connect", "login", "import")} == {"done"}
        user.post("setup/finish")
        window.performClose_(None)

    def work() -> None:
        user.day.spend(60)
        user.day.wait_for_desktop_state(permitted=True)
        user.until(lambda: user.day.prompts() == ["Sort the photos"])
        user.day.ask_agent("Rename the invoices")
        user.until(lambda: user.day.prompts() == ["Sort the photos", "Rename the invoices"])
        user.until(lambda: mac.titles()[0] == "Recording")
        user.until(lambda: any(title.startswith("Now: ") for title in mac.titles()))
        (session,) = user.memory.sessions.listing()
        user.memory.sessions.handoff(session["id"], to="human", note="Which folder?", source="mcp")
        user.app.refresh()
        user.settle()
        assert mac.notification_requests == 1

    def sleep_and_update() -> None:
        user.until(lambda: len(host.requests) == 1)
        user.until(lambda: user.memory.updates.status()["checked"] is not None)
        mac.workspace("NSWorkspaceWillSleepNotification")
        user.at += DAY
        mac.workspace("NSWorkspaceDidWakeNotification")
        host.sign(NEWER, days=1)
        assert user.memory.updates.check_if_due()
        user.app.refresh()
        user.settle()
        assert [one.title for one in mac.notifications].count("Version 99.1.0 is available") == 1
        mac.answers.append("Open Its Page")
        user.choose("Version 99.1.0 is available…")
        assert (mac.alerts[-1].message, mac.opened[-1]) == ("Faster.", NEWER["page"])

    def script() -> None:
        set_up()
        work()
        sleep_and_update()
        # The user logs out while an alert waits for an answer.
        mac.while_alert = lambda: mac.singleton("NSApplication").terminate_(None)
        mac.choose("? Which folder?")
        mac.wait_for(lambda: mac.terminated)

    user.play(script)
    assert (user.left, user.messages) == (["left"], [])
    assert mac.login_item != 0
    assert user.memory.setup.finished
    assert user.memory.maintenance.verify().clean
    user.memory.close()
    done = user.uninstall(tmp_path)
    assert done.returncode == 0, done.stderr
    after = user.files()
    assert {name: text for name, text in after.items() if "projects" not in name} == {
        name: text for name, text in before.items() if "projects" not in name
    }
    assert sorted(after) == sorted(before)
    assert not user.config.home.exists()


def test_the_second_launch_shows_no_setup(user: FreshUser, mac: Mac) -> None:
    user.memory.setup.finish()
    user.play(lambda: None)
    assert mac.windows == []

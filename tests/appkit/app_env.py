"""An env for the app: a Mac that is played, a user, and the whole app over a real store."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from fazm_memory.app.memory import Memory
from fazm_memory.config import Config
from fazm_memory.events.event import Draft
from tests.appkit.ax_world import App, Window, World
from tests.appkit.standin.app import Exited
from tests.appkit.standin.mac import Mac

NOON = 1_790_000_000_000_000


class AppEnv:
    """`at` is the clock of the store; the Mac's own is moved along with it by `pass_time`."""

    def __init__(self, mac: Mac, folder: Path, *, fresh: bool = False) -> None:
        """A `fresh` user launches the app for the first time."""
        self.mac, self.world = mac, World()
        self.world.join(mac)
        self.user = folder / "user"
        self.user.mkdir()
        self.config = Config(folder / "home", self.user, key="file")
        self._lock = threading.Lock()
        self.at = NOON
        self.messages: list[str] = []
        self.asked: list[tuple[str, str, bytes]] = []
        self.left: list[str] = []
        self.memory = Memory(self.config, self.now)  # the test's own look into the store
        _ = self.memory.store
        if not fresh:
            self.memory.setup.finish()
        self.app: Any = None

    def now(self) -> int:
        with self._lock:
            self.at += 1000
            return self.at

    def build(self) -> Any:
        from fazm_memory.macos.app import MenuBarApp

        self.app = MenuBarApp(
            lambda: Memory(self.config, self.now),
            self._respond,
            say=self.messages.append,
            leaving=lambda: self.left.append("left"),
        )
        return self.app

    def _respond(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[int, Mapping[str, str], bytes]:
        self.asked.append((method, path, body))
        if path == "/broken":
            raise RuntimeError("the page broke")
        return 200, {"content-type": "application/json"}, json.dumps({"path": path}).encode()

    def play(self, script: Callable[[], None], *, settled: bool = True) -> None:
        """Launch the app, play the script, and quit."""
        app = self.app or self.build()
        failed: list[BaseException] = []

        def played() -> None:
            try:
                if settled:
                    self.settle()
                script()
            except BaseException as error:
                failed.append(error)
            finally:
                if not self.mac.terminated:
                    self.quit()

        self.mac.script = played
        try:
            app.run()
        except Exited:
            pass
        finally:
            self.mac.script = None
        if failed:
            raise failed[0]

    def quit(self) -> None:
        self.mac.singleton("NSApplication").terminate_(None)
        self.mac.wait_for(lambda: self.mac.terminated)

    def settle(self) -> None:
        """Until everything that was asked for is done and shown."""
        done: list[bool] = []
        self.app.worker.do(lambda memory: self.app.worker.do(lambda memory: _bell(done)))
        self.mac.wait_for(lambda: bool(done))
        self.mac.wait_for(lambda: not self.app._gathering)

    def choose(self, *path: str) -> None:
        self.mac.choose(*path)
        self.settle()

    def until(self, holds: Callable[[], bool], patience: float = 20.0) -> None:
        """Until it holds, with what the threads hand over done meanwhile."""
        deadline = time.monotonic() + patience
        while not holds():
            assert time.monotonic() < deadline, self.messages
            self.mac.settle()
            threading.Event().wait(0.01)

    def pass_time(self, seconds: float) -> None:
        with self._lock:
            self.at += round(seconds * 1e6)
        self.mac.advance(seconds)

    # -- the user and their agents -----------------------------------------------------------------------

    def work(self, session: str = "s1", title: str = "Rename the invoices", **more: Any) -> str:
        given = {"agent": "claude-code", "title": title, "workspace": str(self.user), **more}
        agent = given["agent"]
        results = self.memory.sessions.record(
            [
                Draft(session, "session.open", given, agent=agent),
                Draft(session, "prompt", {"text": title}, agent=agent),
                Draft(session, "action", {"tool": "Bash", "input": {"command": "mv a b"}}, agent=agent),
            ]
        )
        assert [one.error for one in results] == [None] * 3
        assert results[0].appended is not None
        return results[0].appended.session

    def front(self, name: str, title: str = "notes.md") -> App:
        app = self.world.app(name, f"com.example.{name.lower()}", Window(title, f"file:///w/{title}"))
        self.mac.frontmost = self.mac.make(
            "NSRunningApplication", localizedName=name, bundleIdentifier=app.bundle, processIdentifier=app.pid
        )
        return app

    def kept(self, kind: str) -> list[Mapping[str, Any]]:
        return [
            event["payload"]
            for session in reversed(self.memory.sessions.listing(background=True))
            for event in self.memory.history.events(session["id"], kind=kind)
        ]


def _bell(done: list[bool]) -> None:
    from fazm_memory.macos.system import on_main

    on_main(lambda: done.append(True))

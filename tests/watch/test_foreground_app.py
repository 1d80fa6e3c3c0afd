"""Observations of the desktop become spans. A pause or an exclusion takes effect at once."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import fazm_memory.macos
from fazm_memory.app.memory import Memory
from fazm_memory.config import Config
from fazm_memory.errors import ConfigError, InvalidInput, StoreBusy
from fazm_memory.watch import foreground_app, scope
from fazm_memory.watch.foreground_app import DesktopState, ForegroundRecorder
from tests.appkit.ax_world import App, Window, World
from tests.appkit.standin.mac import Mac


class ForegroundEnv:
    """A scripted Mac, its accessibility source, and a memory."""

    def __init__(self, world: World, folder: Path) -> None:
        self.world = world
        self.memory = Memory(Config(folder / "home", folder, key="file"), world.now)
        _ = self.memory.store
        self.troubles: list[Exception] = []
        self.fail: Exception | None = None
        source = fazm_memory.macos.desktop_source(world.now, trouble=self.troubles.append, platform="darwin")
        assert source is not None
        self.recorder = ForegroundRecorder(
            source,
            self.memory.recorder.redactor,
            self._record,
            world.now,
            home=self.memory.config.home,
            exclusions=self.memory.recording.exclusions,
        )

    def _record(self, drafts: Any) -> Any:
        if self.fail is not None:
            raise self.fail
        return self.memory.sessions.record(drafts)

    def app(self, name: str, title: str = "notes.md") -> App:
        return self.world.app(name, f"com.example.{name.lower()}", Window(title, f"file:///w/{title}"))

    def show(self, app: App, seconds: float = 30) -> None:
        self.world.activate(app)
        self.world.advance(seconds)

    def kept(self, kind: str, *names: str) -> list[tuple[Any, ...]]:
        return [
            tuple(event["payload"].get(name) for name in names)
            for session in self.memory.sessions.listing(background=True)
            for event in self.memory.history.events(session["id"], kind=kind)
        ]

    def apps(self) -> list[tuple[Any, ...]]:
        return self.kept("app", "app", "title")


@pytest.fixture
def env(tmp_path: Path) -> Iterator[ForegroundEnv]:
    with Mac().installed() as mac:
        world = World()
        world.join(mac)
        made = ForegroundEnv(world, tmp_path)
        yield made
        made.recorder.source.stop()
        made.memory.close()
        assert made.troubles == []


def test_apps_are_recorded_as_spans_in_a_background_session_opened_first(env: ForegroundEnv) -> None:
    editor, mail = env.app("Editor"), env.app("Mail", "Inbox")
    env.world.front = editor
    env.recorder.tick()
    env.show(editor)
    env.show(mail)
    env.recorder.tick()
    env.recorder.stop()
    assert env.apps() == [("Editor", "notes.md"), ("Mail", "Inbox")]
    (session,) = env.memory.sessions.listing(background=True)
    assert (session["agent"], session["title"]) == ("fazm-memory", "The companion's own log")
    assert env.memory.sessions.listing() == []
    first = next(env.memory.history.events(session["id"]))
    assert (first["kind"], first["source"]) == ("session.open", "companion")


def test_while_recording_is_paused_nothing_is_looked_at_and_what_was_seen_before_is_kept(
    env: ForegroundEnv,
) -> None:
    editor, secret = env.app("Editor"), env.app("Diary", "my secret")
    env.world.front = editor
    env.recorder.tick()
    env.world.advance(30)
    since = env.world.now()
    env.memory.recording.pause()
    env.show(secret)  # before the companion has noticed
    env.recorder.rest(since)
    reads = len(env.world.reads)
    env.show(secret, 100)
    env.show(editor, 100)
    env.recorder.rest(since)
    assert len(env.world.reads) == reads
    assert env.world.running() == []
    env.memory.recording.resume()
    env.recorder.tick()
    env.world.advance(30)
    env.recorder.stop()
    assert env.apps() == [("Editor", "notes.md"), ("Editor", "notes.md")]
    assert env.kept("gap", "what") == [("paused",)]


def test_an_app_excluded_by_a_click_is_let_go_of_at_once_and_its_open_span_is_dropped(
    env: ForegroundEnv,
) -> None:
    editor, chat = env.app("Editor"), env.app("Chat", "Alice")
    env.world.front = editor
    env.recorder.tick()
    env.world.advance(30)
    env.show(chat)
    env.memory.recording.exclude_app("Chat", "com.example.chat")
    env.recorder.tick()
    reads = len(env.world.reads)
    env.world.advance(60)
    env.recorder.tick()
    env.recorder.stop()
    assert len(env.world.reads) == reads
    assert env.apps() == [("Editor", "notes.md")]
    env.memory.recording.include_app("com.example.chat")
    assert env.memory.recording.excluded_apps()["apps"] == []


def test_sleep_and_lock_are_gaps(env: ForegroundEnv) -> None:
    env.world.front = env.app("Editor")
    env.recorder.tick()
    env.world.advance(30)
    env.world.sleep()
    env.world.advance(3600)
    env.world.wake()
    env.world.lock()
    env.world.advance(60)
    env.world.unlock()
    env.world.advance(20)
    env.recorder.tick()
    env.recorder.stop()
    assert env.kept("gap", "what") == [("asleep",), ("locked",)]
    assert [app for app, _ in env.apps()] == ["Editor", "Editor"]


def test_a_missing_permission_is_a_state_that_ends_when_it_is_given(env: ForegroundEnv) -> None:
    env.world.trusted = False
    env.world.front = env.app("Editor")
    home = env.memory.config.home
    env.recorder.tick()
    env.recorder.tick()
    assert foreground_app.read_state(home) == DesktopState(watching=True, permitted=False)
    env.world.advance(30)
    env.world.trusted = True
    env.world.advance(30)
    env.recorder.tick()
    assert foreground_app.read_state(home) == DesktopState(watching=True, permitted=True)
    env.recorder.stop()
    assert foreground_app.read_state(home) is None
    assert env.kept("gap", "what") == [("permission missing",)]
    assert env.apps() == [("Editor", None), ("Editor", "notes.md")]


def test_what_cannot_be_written_waits(env: ForegroundEnv) -> None:
    env.world.front = env.app("Editor")
    env.recorder.tick()
    env.world.advance(30)
    env.show(env.app("Mail", "Inbox"))
    env.fail = StoreBusy("busy")
    with pytest.raises(StoreBusy):
        env.recorder.tick()
    env.fail = None
    env.recorder.tick()
    assert env.apps() == [("Editor", "notes.md")]


def test_with_an_unreadable_list_of_apps_no_app_is_looked_at(env: ForegroundEnv) -> None:
    home = env.memory.config.home
    (home / scope.APPS).write_text("{")
    env.world.front = env.app("Editor")
    with pytest.raises(ConfigError, match="nothing that it may exclude is watched"):
        env.recorder.tick()
    assert env.world.reads == []


def test_the_source_is_begun_and_ended_through_its_own_thread_only(env: ForegroundEnv) -> None:
    waiting: list[Callable[[], None]] = []
    env.recorder.on_main = waiting.append
    env.world.front = env.app("Editor")
    env.recorder.tick()
    assert env.world.reads == []
    waiting.pop()()
    env.world.advance(30)
    assert env.world.reads != []
    env.recorder.rest()
    assert env.world.running() != []
    waiting.pop()()
    assert env.world.running() == []


@pytest.mark.parametrize("name", ["", " ", "*", "**?", "x" * 300, "a\x07b"])
def test_what_is_no_apps_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInput):
        scope.add_apps(tmp_path / "home", [name])


def test_a_name_with_a_star_excludes_only_itself(tmp_path: Path) -> None:
    home = tmp_path / "home"
    scope.add_apps(home, [scope.literal_pattern("Star*Writer [x]")])
    made = scope.current_exclusions(("Signal", "com.corp.*"), home)
    assert made.app("Star*Writer [x]", None)
    assert not made.app("StarShipWriter x", None)
    assert made.app("signal", "org.whispersystems.signal-desktop")
    assert made.app("Payroll", "com.corp.payroll")
    assert made.app("1Password", "com.1password.1password")
    assert not made.app("Editor", "com.example.editor")


def test_a_full_buffer_drops_the_oldest_observations_and_spans(env: ForegroundEnv) -> None:
    assert env.recorder._observations.maxlen == env.recorder._waiting.maxlen == foreground_app.MOST_WAITING
    env.recorder._observations = deque(maxlen=4)
    env.recorder._waiting = deque(maxlen=2)
    env.world.front = env.app("First")
    env.recorder.tick()
    env.fail = StoreBusy("busy")
    for name in ("Second", "Third", "Fourth", "Fifth"):
        env.show(env.app(name, name))
        with contextlib.suppress(StoreBusy):
            env.recorder.tick()
    env.fail = None
    env.recorder.stop()
    assert [app for app, _ in env.apps()] == ["Fourth", "Fifth"]

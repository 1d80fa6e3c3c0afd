"""The desk: what a source tells is recorded as spans, and a pause or an exclusion holds at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import fazm_memory.macos
from fazm_memory.capture import desk_state, excluded
from fazm_memory.capture.desk import Desk
from fazm_memory.capture.desk_state import DeskState
from fazm_memory.config import Config
from fazm_memory.errors import ConfigError, InvalidInput, StoreBusy
from fazm_memory.memory import Memory
from tests.appkit.ax_world import App, Window, World
from tests.appkit.standin.mac import Mac


class Office:
    """A scripted Mac, its accessibility source, and a memory."""

    def __init__(self, world: World, folder: Path) -> None:
        self.world = world
        self.memory = Memory(Config(folder / "home", folder, key="file"), world.now)
        _ = self.memory.store
        self.troubles: list[Exception] = []
        self.fail: Exception | None = None
        source = fazm_memory.macos.desktop_source(world.now, trouble=self.troubles.append, platform="darwin")
        assert source is not None
        self.desk = Desk(
            source,
            self.memory.recorder.scrubber,
            self._record,
            world.now,
            home=self.memory.config.home,
            exclusions=self.memory.exclusions,
        )

    def _record(self, drafts: Any) -> Any:
        if self.fail is not None:
            raise self.fail
        return self.memory.record(drafts)

    def app(self, name: str, title: str = "notes.md") -> App:
        return self.world.app(name, f"com.example.{name.lower()}", Window(title, f"file:///w/{title}"))

    def show(self, app: App, seconds: float = 30) -> None:
        self.world.activate(app)
        self.world.advance(seconds)

    def kept(self, kind: str, *names: str) -> list[tuple[Any, ...]]:
        return [
            tuple(event["payload"].get(name) for name in names)
            for session in self.memory.sessions(background=True)
            for event in self.memory.events(session["id"], kind=kind)
        ]

    def apps(self) -> list[tuple[Any, ...]]:
        return self.kept("app", "app", "title")


@pytest.fixture
def office(tmp_path: Path) -> Iterator[Office]:
    with Mac().installed() as mac:
        world = World()
        world.join(mac)
        made = Office(world, tmp_path)
        yield made
        made.desk.source.stop()
        made.memory.close()
        assert made.troubles == []


def test_apps_are_recorded_as_spans_in_a_background_session_opened_first(office: Office) -> None:
    editor, mail = office.app("Editor"), office.app("Mail", "Inbox")
    office.world.front = editor
    office.desk.tick()
    office.show(editor)
    office.show(mail)
    office.desk.tick()
    office.desk.stop()
    assert office.apps() == [("Editor", "notes.md"), ("Mail", "Inbox")]
    (session,) = office.memory.sessions(background=True)
    assert (session["agent"], session["title"]) == ("fazm-memory", "The companion's own log")
    assert office.memory.sessions() == []
    first = next(office.memory.events(session["id"]))
    assert (first["kind"], first["source"]) == ("session.open", "companion")


def test_while_recording_is_paused_nothing_is_looked_at_and_what_was_seen_before_is_kept(
    office: Office,
) -> None:
    editor, secret = office.app("Editor"), office.app("Diary", "my secret")
    office.world.front = editor
    office.desk.tick()
    office.world.advance(30)
    since = office.world.now()
    office.memory.pause_recording()
    office.show(secret)  # before the companion has noticed
    office.desk.rest(since)
    reads = len(office.world.reads)
    office.show(secret, 100)
    office.show(editor, 100)
    office.desk.rest(since)
    assert len(office.world.reads) == reads
    assert office.world.running() == []
    office.memory.resume_recording()
    office.desk.tick()
    office.world.advance(30)
    office.desk.stop()
    assert office.apps() == [("Editor", "notes.md"), ("Editor", "notes.md")]
    assert office.kept("gap", "what") == [("paused",)]


def test_an_app_excluded_by_a_click_is_let_go_of_at_once_and_its_open_span_is_dropped(
    office: Office,
) -> None:
    editor, chat = office.app("Editor"), office.app("Chat", "Alice")
    office.world.front = editor
    office.desk.tick()
    office.world.advance(30)
    office.show(chat)
    office.memory.exclude_app("Chat", "com.example.chat")
    office.desk.tick()
    reads = len(office.world.reads)
    office.world.advance(60)
    office.desk.tick()
    office.desk.stop()
    assert len(office.world.reads) == reads
    assert office.apps() == [("Editor", "notes.md")]
    office.memory.include_app("com.example.chat")
    assert office.memory.excluded_apps()["apps"] == []


def test_sleep_and_lock_are_gaps(office: Office) -> None:
    office.world.front = office.app("Editor")
    office.desk.tick()
    office.world.advance(30)
    office.world.sleep()
    office.world.advance(3600)
    office.world.wake()
    office.world.lock()
    office.world.advance(60)
    office.world.unlock()
    office.world.advance(20)
    office.desk.tick()
    office.desk.stop()
    assert office.kept("gap", "what") == [("asleep",), ("locked",)]
    assert [app for app, _ in office.apps()] == ["Editor", "Editor"]


def test_a_missing_permission_is_a_state_that_ends_when_it_is_given(office: Office) -> None:
    office.world.trusted = False
    office.world.front = office.app("Editor")
    home = office.memory.config.home
    office.desk.tick()
    office.desk.tick()
    assert desk_state.read(home) == DeskState(watching=True, permitted=False)
    office.world.advance(30)
    office.world.trusted = True
    office.world.advance(30)
    office.desk.tick()
    assert desk_state.read(home) == DeskState(watching=True, permitted=True)
    office.desk.stop()
    assert desk_state.read(home) is None
    assert office.kept("gap", "what") == [("permission missing",)]
    assert office.apps() == [("Editor", None), ("Editor", "notes.md")]


def test_what_cannot_be_written_waits(office: Office) -> None:
    office.world.front = office.app("Editor")
    office.desk.tick()
    office.world.advance(30)
    office.show(office.app("Mail", "Inbox"))
    office.fail = StoreBusy("busy")
    with pytest.raises(StoreBusy):
        office.desk.tick()
    office.fail = None
    office.desk.tick()
    assert office.apps() == [("Editor", "notes.md")]


def test_with_an_unreadable_list_of_apps_no_app_is_looked_at(office: Office) -> None:
    home = office.memory.config.home
    (home / excluded.FILE).write_text("{")
    office.world.front = office.app("Editor")
    with pytest.raises(ConfigError, match="nothing that it may name is looked at"):
        office.desk.tick()
    assert office.world.reads == []


def test_the_source_is_begun_and_ended_through_its_own_thread_only(office: Office) -> None:
    waiting: list[Callable[[], None]] = []
    office.desk.on_main = waiting.append
    office.world.front = office.app("Editor")
    office.desk.tick()
    assert office.world.reads == []
    waiting.pop()()
    office.world.advance(30)
    assert office.world.reads != []
    office.desk.rest()
    assert office.world.running() != []
    waiting.pop()()
    assert office.world.running() == []


@pytest.mark.parametrize("name", ["", " ", "*", "**?", "x" * 300, "a\x07b"])
def test_what_is_no_apps_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InvalidInput):
        excluded.add(tmp_path / "home", [name])


def test_a_name_with_a_star_excludes_only_itself(tmp_path: Path) -> None:
    home = tmp_path / "home"
    excluded.add(home, [excluded.literally("Star*Writer [x]")])
    made = excluded.exclusions(("Signal", "com.corp.*"), home)
    assert made.app("Star*Writer [x]", None)
    assert not made.app("StarShipWriter x", None)
    assert made.app("signal", "org.whispersystems.signal-desktop")
    assert made.app("Payroll", "com.corp.payroll")
    assert made.app("1Password", "com.1password.1password")
    assert not made.app("Editor", "com.example.editor")

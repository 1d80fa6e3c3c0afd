"""The accessibility code as it ships, in a scripted macOS: statically verified, and no more than that."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import fazm_memory.macos
from fazm_memory.engines.redaction import default_redactor
from fazm_memory.watch.foreground_app import (
    Available,
    DesktopSource,
    ForegroundWindow,
    HiddenWindow,
    Observation,
    SpanMerger,
    Unavailable,
)
from fazm_memory.watch.scope import Exclusions
from tests.appkit.ax_world import API_DISABLED, CANNOT_COMPLETE, SUCCESS, App, Ref, Window, World
from tests.appkit.standin.mac import Mac
from tests.appkit.standin.web import url

MODULES = tuple(f"fazm_memory.macos.{name}" for name in ("accessibility", "ax_observer", "system"))
ALLOWED = {"AXFocusedWindow", "AXTitle", "AXDocument", "AXURL"}


class SourceEnv:
    """A source in its world, and all that it told."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.observations: list[Observation] = []
        self.troubles: list[Exception] = []
        source = fazm_memory.macos.desktop_source(
            world.now, exclusions=Exclusions(), trouble=self.troubles.append, platform="darwin"
        )
        assert source is not None
        self.source: DesktopSource = source

    def start(self) -> SourceEnv:
        self.source.start(self.observations.append)
        return self

    def seen(self) -> list[tuple[str, str | None]]:
        return [(one.app, one.title) for one in self.observations if isinstance(one, ForegroundWindow)]

    def last(self) -> Observation:
        return self.observations[-1]

    def nothing_left(self) -> bool:
        """Let go at once, not when garbage is collected: until then the ports would stay open."""
        world = self.world
        held = (world.sources, list(world.observers), list(world.refs), world.running())
        return held == ([], [], [], []) and world.registered == 0 and not world.listening()


@pytest.fixture
def world(mac: Mac) -> World:
    made = World()
    made.join(mac)
    return made


@pytest.fixture
def env(world: World) -> Iterator[SourceEnv]:
    made = SourceEnv(world)
    yield made
    made.source.stop()
    assert made.troubles == []
    assert made.nothing_left()
    assert {name for _, name in world.reads} <= ALLOWED
    assert len(world.callbacks) <= 1
    assert world.most <= 1


def editor(world: World, title: str = "notes.md") -> App:
    return world.app("Editor", "com.example.editor", Window(title, f"file:///w/{title}"))


def focused(app: App) -> Window:
    assert app.focused is not None
    return app.focused


def test_the_app_in_front_is_reported_with_its_window_and_document(env: SourceEnv, world: World) -> None:
    world.front = editor(world)
    env.start()
    assert env.observations == [
        ForegroundWindow(world.now(), "Editor", "com.example.editor", "notes.md", "/w/notes.md")
    ]
    assert world.messages == {"read": 1, "multi-read": 1}


def test_another_app_another_window_and_another_title_are_reported(env: SourceEnv, world: World) -> None:
    one = editor(world)
    browser = world.app(
        "Browser", "org.browser", Window("News", url=url(world.mac, "https://example.com/a?q=1"))
    )
    world.front = one
    env.start()
    world.activate(browser)
    assert env.last() == ForegroundWindow(
        world.now(), "Browser", "org.browser", "News", "https://example.com/a"
    )
    world.retitle(focused(browser), "Mail")
    world.advance(1)
    world.focus(browser, Window("Second"))
    world.advance(1)
    assert env.seen() == [
        ("Editor", "notes.md"),
        ("Browser", "News"),
        ("Browser", "Mail"),
        ("Browser", "Second"),
    ]


def test_a_burst_of_titles_is_read_once(env: SourceEnv, world: World) -> None:
    world.front = editor(world)
    env.start()
    before = world.messages["multi-read"]
    for n in range(500):
        world.retitle(focused(world.front), f"line {n}")
    world.advance(1)
    assert world.messages["multi-read"] == before + 1
    assert env.seen()[-1] == ("Editor", "line 499")


def test_what_no_event_reported_is_found_by_the_poll(env: SourceEnv, world: World) -> None:
    world.front = editor(world)
    env.start()
    focused(world.front).title = "quietly renamed"
    world.advance(10)
    assert env.seen()[-1] == ("Editor", "quietly renamed")
    world.front = editor(world, "other")
    world.advance(10)
    assert env.seen()[-1] == ("Editor", "other")


def test_an_app_without_notifications_is_looked_at_in_turns(env: SourceEnv, world: World) -> None:
    world.front = editor(world)
    world.front.deaf = True
    env.start()
    focused(world.front).title = "changed"
    world.advance(10)
    assert env.seen() == [("Editor", "notes.md"), ("Editor", "changed")]


def test_slots_that_are_not_what_they_should_be_are_left_out(env: SourceEnv, world: World) -> None:
    world.front = world.app("Odd", None, Window(title=7, document=b"bytes", url=object()))
    env.start()
    assert env.observations == [ForegroundWindow(world.now(), "Odd")]


def test_an_app_without_a_window_is_reported_by_its_name(env: SourceEnv, world: World) -> None:
    world.front = world.app("Finder", "com.apple.finder")
    env.start()
    assert env.observations == [ForegroundWindow(world.now(), "Finder", "com.apple.finder")]


# -- what is left alone --------------------------------------------------------------------------------------

SECRET = [
    ("1Password", "com.1password.1password"),
    ("Keychain Access", "com.apple.keychainaccess"),
    ("Innocent", "com.bitwarden.desktop"),
    ("KeePassXC", None),
    (None, "com.example.nameless"),
]


@pytest.mark.parametrize(("name", "bundle"), SECRET)
def test_nothing_of_an_excluded_app_is_read(
    env: SourceEnv, world: World, name: str | None, bundle: str | None
) -> None:
    secret = world.app(name, bundle, Window("Vault: bank"))
    world.front = editor(world)
    env.start()
    world.activate(secret)
    world.launched(secret)
    world.advance(120)
    assert [read for read in world.reads if read[0] == secret.pid] == []
    assert world.elements[secret.pid] == 0
    assert world.sources == []
    assert isinstance(env.last(), HiddenWindow)
    assert env.seen() == [("Editor", "notes.md")]


def test_a_private_window_is_dropped_and_not_read_again(env: SourceEnv, world: World) -> None:
    private = Window("Secrets - Browser (Incognito)", "https://secret.example/x")
    world.front = world.app("Browser", "org.browser", private)
    env.start()
    assert env.observations == [HiddenWindow(world.now())]
    reads = world.messages["multi-read"]
    world.retitle(private, "More secrets - Browser (Incognito)")
    world.advance(60)
    assert world.messages["multi-read"] == reads
    assert {type(one) for one in env.observations} == {HiddenWindow}
    world.focus(world.front, Window("Open page"))
    world.advance(1)
    assert env.seen() == [("Browser", "Open page")]


def test_a_private_window_that_does_not_answer_stays_hidden(env: SourceEnv, world: World) -> None:
    world.front = world.app("Browser", "org.browser", Window("x (Incognito)"))
    env.start()
    world.front.error = CANNOT_COMPLETE
    world.advance(30)
    assert {type(one) for one in env.observations} == {HiddenWindow}


def test_we_do_not_ask_ourselves(env: SourceEnv, world: World) -> None:
    own = world.app("Fazm Memory", "com.fazm.memory", Window("Timeline"))
    own.pid = os.getpid()
    world.apps[own.pid] = own
    world.front = own
    env.start()
    world.advance(20)
    assert world.reads == []
    assert env.seen()[-1] == ("Fazm Memory", None)


def test_the_code_names_no_value_no_focused_element_and_no_setter() -> None:
    """A promise held by the text itself: these names are nowhere in the room."""
    forbidden = {
        "kAXValueAttribute",
        "kAXSelectedTextAttribute",
        "kAXFocusedUIElementAttribute",
        "AXUIElementSetAttributeValue",
        "AXUIElementCreateSystemWide",
    }
    room = Path(fazm_memory.macos.__file__).parent
    for path in room.glob("*.py"):
        tree = ast.parse(path.read_text())
        names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        names |= {
            one.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for one in node.names
        }
        texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
        assert forbidden.isdisjoint(names), path.name
        assert texts.isdisjoint({"AXValue", "AXEnhancedUserInterface", "AXManualAccessibility"}), path.name


# -- permission ----------------------------------------------------------------------------------------------


def test_without_permission_apps_are_reported_and_nothing_is_asked_of_them(
    env: SourceEnv, world: World
) -> None:
    world.trusted = False
    world.front = editor(world)
    env.start()
    world.activate(world.app("Mail", "com.apple.mail", Window("Inbox")))
    world.advance(30)
    assert env.observations[0] == Unavailable(env.observations[0].at, "permission missing")
    assert sum(isinstance(one, Unavailable) for one in env.observations) == 1
    assert set(env.seen()) == {("Editor", None), ("Mail", None)}
    assert (world.reads, world.elements, world.prompts) == ([], {}, 0)


def test_a_permission_that_is_given_is_noticed_and_one_that_is_taken_too(
    env: SourceEnv, world: World
) -> None:
    world.trusted = False
    world.front = editor(world)
    env.start()
    world.trusted = True
    world.advance(10)
    assert env.observations[-2:] == [
        Available(world.now(), "permission missing"),
        ForegroundWindow(world.now(), "Editor", "com.example.editor", "notes.md", "/w/notes.md"),
    ]
    world.trusted = False
    world.front.error = API_DISABLED
    world.advance(10)
    assert env.observations[-2:] == [
        Unavailable(world.now(), "permission missing"),
        ForegroundWindow(world.now(), "Editor", "com.example.editor"),
    ]
    assert world.sources == []


def test_a_refusal_in_the_middle_of_a_look_is_a_state_and_no_error(env: SourceEnv, world: World) -> None:
    world.front = editor(world)
    world.front.error = API_DISABLED
    env.start()
    assert env.observations == [ForegroundWindow(world.now(), "Editor", "com.example.editor")]


def test_the_user_is_asked_once(env: SourceEnv, world: World) -> None:
    world.trusted = False
    source: Any = env.source
    for _ in range(3):
        source.ask()
    assert world.prompts == 1
    assert not source.permitted()


# -- sleep and lock ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("leave", "enter", "why"),
    [(World.sleep, World.wake, "asleep"), (World.lock, World.unlock, "locked")],
)
def test_asleep_or_locked_nothing_is_read_and_nothing_ticks(
    env: SourceEnv,
    world: World,
    leave: Callable[[World], None],
    enter: Callable[[World], None],
    why: str,
) -> None:
    world.front = editor(world)
    env.start()
    leave(world)
    reads = len(world.reads)
    world.activate(editor(world, "late"))
    world.advance(3600)
    assert (len(world.reads), world.running(), world.sources) == (reads, [], [])
    assert isinstance(env.last(), Unavailable)
    enter(world)
    assert [type(one) for one in env.observations[-2:]] == [Available, ForegroundWindow]
    assert env.seen()[-1] == ("Editor", "late")
    assert [one.why for one in env.observations if isinstance(one, Unavailable | Available)] == [why, why]


def test_locked_and_asleep_end_only_with_both(env: SourceEnv, world: World) -> None:
    world.front = editor(world)
    env.start()
    world.lock()
    world.sleep()
    world.wake()
    assert world.running() == []
    world.unlock()
    assert len(world.running()) == 1
    assert env.seen()[-1] == ("Editor", "notes.md")


def test_a_day_becomes_spans_and_gaps(env: SourceEnv, world: World) -> None:
    mail = world.app("Mail", "com.apple.mail", Window("Inbox"))
    world.front = editor(world)
    env.start()
    world.advance(60)
    world.activate(world.app("1Password", "com.1password.1password", Window("bank")))
    world.advance(30)
    world.activate(mail)
    world.advance(30)
    world.sleep()
    world.advance(3600)
    world.wake()
    world.advance(30)
    merger = SpanMerger(default_redactor())
    drafts = [draft for one in env.observations for draft in merger.take(one)] + merger.close(world.now())
    assert [(draft.kind, draft.payload.get("app") or draft.payload["what"]) for draft in drafts] == [
        ("app", "Editor"),
        ("app", "Mail"),
        ("gap", "asleep"),
        ("app", "Mail"),
    ]


# -- hygiene -------------------------------------------------------------------------------------------------


def test_ten_thousand_switches_hold_one_observer_and_read_nothing_excluded(
    env: SourceEnv, world: World
) -> None:
    apps = [
        world.app(f"App {n}", f"com.example.app{n}", Window(f"Window {n}", f"file:///w/{n}"))
        for n in range(40)
    ]
    secret = [world.app(name, bundle, Window("secret")) for name, bundle in SECRET]
    everybody = apps + secret
    world.front = apps[0]
    env.start()
    held = 0
    for n in range(10_000):
        app = everybody[n * 7 % len(everybody)]
        app.error = CANNOT_COMPLETE if n % 11 == 0 else SUCCESS
        world.activate(app)
        if n % 3 == 0:
            world.focus(app, Window(f"Another {n}"))
        if n % 5 == 0:
            world.advance(0.4)
        if n % 500 == 499:
            held = max(held, len(world.observers), len(world.sources))
            assert len(world.refs) <= 2
            assert world.registered <= 2
            assert len(world.running()) <= 2
    assert (world.most, held) == (1, 1)
    excluded = {app.pid for app in secret}
    assert [read for read in world.reads if read[0] in excluded] == []
    assert not excluded & world.elements.keys()


def test_an_app_that_does_not_answer_is_asked_a_few_times_and_then_only_by_the_poll(
    env: SourceEnv, world: World
) -> None:
    world.front = editor(world)
    world.front.error = CANNOT_COMPLETE
    env.start()
    world.advance(9)
    assert world.elements[world.front.pid] == 4
    assert env.seen() == [("Editor", None)] * 4
    world.advance(600)
    assert world.elements[world.front.pid] == 4 + 60
    world.front.error = SUCCESS
    world.launched(world.front)
    assert env.seen()[-1] == ("Editor", "notes.md")


@pytest.mark.parametrize("answers", range(6))
def test_an_app_that_stops_answering_halfway_leaves_nothing_half_done(
    env: SourceEnv, world: World, answers: int
) -> None:
    """Its answers are: observer, notification, focused window, what the window says, its title's changes."""
    world.front = editor(world)
    world.front.answers = answers
    env.start()
    kept = 1 if answers >= 2 else 0
    assert (len(world.sources), len(world.observers)) == (kept, kept)
    assert env.seen() == [("Editor", "notes.md" if answers == 5 else None)]
    world.front.answers = None
    world.advance(1)
    assert env.seen()[-1] == ("Editor", "notes.md")
    (observer,) = world.observers
    assert {name for _, name in observer.registered} == {"AXFocusedWindowChanged", "AXTitleChanged"}


def test_an_app_that_ends_is_let_go(env: SourceEnv, world: World) -> None:
    world.front = editor(world)
    env.start()
    ended, world.front = world.front, None
    world.quit(ended)
    assert world.sources == []
    world.advance(10)
    assert isinstance(env.last(), HiddenWindow)


def test_a_notification_that_comes_after_its_observer_is_gone_does_nothing(
    env: SourceEnv, world: World
) -> None:
    one, other = editor(world), editor(world, "other")
    world.front = one
    env.start()
    (old,) = world.observers
    world.activate(other)
    timers, result = len(world.running()), len(env.observations)
    old.callback(old, Ref(focused(one)), "AXTitleChanged", None)
    assert (len(world.running()), len(env.observations)) == (timers, result)


def test_what_goes_wrong_in_a_callback_is_reported_and_does_not_reach_the_system(world: World) -> None:
    world.front = editor(world)
    env = SourceEnv(world)

    def full(result: Observation) -> None:
        raise RuntimeError("no ink")

    env.source.start(full)
    world.advance(10)
    assert [str(one) for one in env.troubles] == ["no ink", "no ink"]
    env.source.stop()
    assert env.nothing_left()


def test_after_stop_nothing_is_reported(env: SourceEnv, world: World) -> None:
    world.front = editor(world)
    env.start()
    env.source.stop()
    result = len(env.observations)
    world.activate(editor(world, "other"))
    world.sleep()
    world.advance(60)
    assert len(env.observations) == result


def test_what_was_stopped_in_its_sleep_can_be_started_again(env: SourceEnv, world: World) -> None:
    world.front = editor(world)
    env.start()
    world.sleep()
    env.source.stop()
    env.start()
    assert env.seen() == [("Editor", "notes.md")] * 2


def test_elsewhere_there_is_no_source_and_pyobjc_is_not_asked_for() -> None:
    assert fazm_memory.macos.desktop_source(lambda: 0, trouble=print, platform="linux") is None
    assert not set(MODULES) & sys.modules.keys()

"""The stand-in runs the real rumps, and is as unforgiving as a Mac."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.appkit.standin.app import Alert, Exited, OpenMenuChanged
from tests.appkit.standin.mac import Mac
from tests.appkit.standin.runtime import NotTaught, OffMainThread, UnknownSelector


@pytest.fixture
def app(mac: Mac) -> Any:
    """A rumps app, launched; `did` is what its callbacks did."""
    import rumps

    class App(rumps.App):  # type: ignore[misc]
        def __init__(self) -> None:
            menu = ["Open", None, {"Pause": ["15 minutes", "1 hour"]}, "Grey"]
            super().__init__("Example", title="E", menu=menu)
            self.did: list[Any] = []

        @rumps.timer(2)
        def tick(self, timer: Any) -> None:
            self.did.append(mac.loop.now)

        @rumps.clicked("Open")
        def open_it(self, sender: Any) -> None:
            self.did.append(sender.title)

        @rumps.clicked("Pause", "1 hour")
        def pause(self, sender: Any) -> None:
            self.did.append("pause")

    made = App()
    made.run()
    return made


def test_a_rumps_menu_is_read_and_clicked(mac: Mac, app: Any) -> None:
    assert mac.titles() == ["Open", "—", "Pause", "Grey", "Quit"]
    mac.choose("Open")
    mac.choose("Pause", "1 hour")
    assert app.did == ["Open", "pause"]


def test_an_item_without_an_action_cannot_be_clicked(mac: Mac, app: Any) -> None:
    with pytest.raises(AssertionError, match="grey"):
        mac.choose("Grey")


def test_timers_follow_the_virtual_clock(mac: Mac, app: Any) -> None:
    mac.advance(5)
    assert app.did == [0.0, 2.0, 4.0]


def test_a_timer_of_the_default_mode_waits_while_a_menu_is_open(mac: Mac, app: Any) -> None:
    with mac.menu_open():
        mac.advance(60)
        assert app.did == []
    mac.advance(0)
    assert app.did == [60.0]


def test_an_open_menu_may_not_be_changed(mac: Mac, app: Any) -> None:
    with mac.menu_open(), pytest.raises(OpenMenuChanged):
        app.menu.add("Another")


def test_appkit_off_the_main_thread_raises(mac: Mac, app: Any) -> None:
    raised: list[Exception] = []

    def off() -> None:
        try:
            app.title = "late"
        except Exception as error:
            raised.append(error)

    thread = threading.Thread(target=off)
    thread.start()
    thread.join()
    assert [type(one) for one in raised] == [OffMainThread]


def test_what_a_thread_hands_over_runs_on_the_main_thread(mac: Mac, app: Any) -> None:
    from PyObjCTools import AppHelper

    def change() -> None:
        app.title = "now"

    threading.Thread(target=AppHelper.callAfter, args=(change,)).start()
    mac.wait_for(lambda: app.title == "now")
    assert mac.status_items[0].title() == "now"


def test_an_alert_is_answered_by_the_name_of_its_button(mac: Mac, app: Any) -> None:
    import rumps

    mac.answers.append("No")
    assert rumps.alert("Forget?", "All of it", ok="Yes", cancel="No") == 0
    assert mac.alerts == [Alert("Forget?", "All of it", ("Yes", "No"))]


def test_an_alert_that_nobody_answers_raises(mac: Mac, app: Any) -> None:
    import rumps

    with pytest.raises(AssertionError, match="nobody answers"):
        rumps.alert("Hello?")


def test_nothing_runs_after_the_event_loop_of_an_app_that_was_quit(mac: Mac, app: Any) -> None:
    import rumps

    results: list[str] = []
    rumps.events.before_quit.register(lambda: results.append("quit"))
    mac.script = lambda: mac.choose("Quit")
    with pytest.raises(Exited):
        mac.run_event_loop()
    assert results == ["quit"]


def test_a_selector_that_is_not_in_the_sdk_raises(mac: Mac) -> None:
    from AppKit import NSMenuItem

    with pytest.raises(UnknownSelector, match="initWithTitle:action:key:"):
        NSMenuItem.alloc().initWithTitle_action_key_("Quit", "quit:", "q")


def test_a_selector_newer_than_the_system_raises_there_and_not_on_a_newer_one(mac: Mac) -> None:
    from AppKit import NSApplication

    with pytest.raises(UnknownSelector, match=r"macOS 13\.0"):
        NSApplication.sharedApplication().activate()
    with Mac((14, 0)).installed():
        from AppKit import NSApplication as Newer

        Newer.sharedApplication().activate()


@pytest.mark.parametrize(
    "arguments",
    [("Quit", "quit:"), ("Quit", "quit:", 3), (None, 7, "q"), ("Quit", "quit:", "q", None)],
    ids=["too few", "a number for a text", "a number for a selector", "too many"],
)
def test_wrong_arguments_raise(mac: Mac, arguments: tuple[Any, ...]) -> None:
    from AppKit import NSMenuItem

    with pytest.raises(TypeError, match="initWithTitle:action:keyEquivalent:"):
        NSMenuItem.alloc().initWithTitle_action_keyEquivalent_(*arguments)


def test_a_block_of_the_wrong_arity_raises(mac: Mac) -> None:
    from WebKit import WKWebView, WKWebViewConfiguration

    view = WKWebView.alloc().initWithFrame_configuration_(
        ((0, 0), (1, 1)), WKWebViewConfiguration.alloc().init()
    )
    with pytest.raises(TypeError, match="a function of 2 arguments"):
        view.evaluateJavaScript_completionHandler_("1", lambda result: None)


def test_a_name_that_is_in_another_module_cannot_be_imported(mac: Mac) -> None:
    with pytest.raises(ImportError):
        from Foundation import NSStatusItem  # noqa: F401
    with pytest.raises(ImportError):
        from AppKit import NSStatusBarItem  # noqa: F401


def test_apples_objects_take_no_attributes_and_ours_do(mac: Mac) -> None:
    from Foundation import NSURL, NSObject

    class Ours(NSObject):
        pass

    Ours.alloc().init().anything = 1
    with pytest.raises(AttributeError):
        NSURL.URLWithString_("fazm://app/").anything = 1


def test_what_nobody_taught_says_so(mac: Mac) -> None:
    from AppKit import NSWorkspace

    with pytest.raises(NotTaught, match="iconForFile"):
        NSWorkspace.sharedWorkspace().iconForFile_("/")
    with pytest.raises(NotTaught, match="NSAppKitVersionNumber"):
        from AppKit import NSAppKitVersionNumber  # noqa: F401

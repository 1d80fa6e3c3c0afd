"""A Mac to run our code and the real rumps on, anywhere: strict, quick, on a clock of its own.

    with Mac().installed() as mac:
        import rumps …
        mac.choose("Pause", "15 minutes")
        mac.advance(60)

Its state is plain attributes that a test reads and sets. What passes here is statically verified; whether it
works on a Mac is for a Mac to say.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

from fazm_memory import translation
from tests.appkit.sdk.database import MINIMUM, Version, load
from tests.appkit.standin import modules
from tests.appkit.standin.app import Alert, Exited, items
from tests.appkit.standin.loop import Loop, answers, send
from tests.appkit.standin.runtime import Runtime, held
from tests.appkit.standin.system import NOT_REGISTERED, Notified, Person
from tests.appkit.standin.web import Browser

# Objects that come with another: (class, property) → class.
OWNED = {
    ("NSStatusItem", "button"): "NSStatusBarButton",
    ("NSWorkspace", "notificationCenter"): "NSNotificationCenter",
    ("NSWindow", "contentView"): "NSView",
    ("NSAlert", "window"): "NSWindow",
    ("WKWebViewConfiguration", "userContentController"): "WKUserContentController",
    ("WKWebViewConfiguration", "preferences"): "WKPreferences",
    ("WKWebViewConfiguration", "websiteDataStore"): "WKWebsiteDataStore",
}
# What pyobjc adds to these classes so that they feel like Python's.
DUNDERS: dict[str, dict[str, Any]] = {
    "NSData": {
        "__bytes__": lambda self: self._p["content"],
        "__len__": lambda self: len(self._p["content"]),
    },
}


class Mac(Browser, Person):
    def __init__(self, system: Version = MINIMUM, bundle_identifier: str | None = "org.example.app") -> None:
        self.system, self.bundle_identifier = system, bundle_identifier
        self.owned, self.dunders = dict(OWNED), DUNDERS
        self.runtime = Runtime(self, load(), system)
        self.loop = Loop()
        self.sent: deque[str] = deque(maxlen=10_000)  # messages, newest last
        self.terminated = self.stopped = False
        self.script: Callable[[], None] | None = None  # what happens while the event loop runs
        # what is on the screen
        self.status_items: list[Any] = []
        self.open_menus: list[Any] = []
        self.windows: list[Any] = []
        self.web_views: list[Any] = []
        self.alerts: list[Alert] = []
        self.answers: deque[str] = deque()  # the buttons a person will press
        self.while_alert: Callable[[], None] | None = None  # what happens while nobody answers the next alert
        # what the system keeps
        self.frontmost: Any = None
        self.running: list[Any] = []
        self.activities: list[tuple[int, str]] = []  # why the system must not slow us down
        self.applications: dict[str, str] = {}  # bundle identifier → path
        self.opened: list[Any] = []
        self.pasteboard: dict[str, str] = {}
        self.apple_scripts: list[str] = []
        self.apple_script_error: dict[str, Any] | None = None
        self.defaults: dict[str, Any] = {}
        self.info: dict[str, Any] = {}
        self.languages = ["en-GB"]  # as the user ordered them
        self.library = ""  # the folder of the user's Library, while installed
        self.bundle_path = "/Applications/Example.app"
        self.url_handler: tuple[Any, str] | None = None
        self.login_item, self.login_item_needs_approval = NOT_REGISTERED, False
        self.login_item_error: int | None = None
        self.notifications_allowed, self.notification_requests = True, 0
        self.notifications: list[Notified] = []
        self.delivered: list[Any] = []
        # name → what a C function does; AXWorld and tests add theirs
        self.functions: dict[str, Callable[..., Any]] = modules.functions(self)

    # -- objects -----------------------------------------------------------------------------------------

    def make(self, name: str, /, **state: Any) -> Any:
        return self.runtime.make(name, **state)

    @property
    def singletons(self) -> dict[tuple[str, str], Any]:
        return self.runtime.singletons

    def singleton(self, name: str, /, **state: Any) -> Any:
        if (name, "") not in self.singletons:
            self.singletons[name, ""] = self.make(name, **state)
        return self.singletons[name, ""]

    # -- time --------------------------------------------------------------------------------------------

    def advance(self, seconds: float) -> None:
        """Let so much time pass: timers fire, and what was handed to the main thread runs."""
        self.loop.advance(seconds)

    def settle(self) -> None:
        self.loop.settle()

    def wait_for(self, condition: Callable[[], bool]) -> None:
        """Run what worker threads hand to the main thread until it holds."""
        self.loop.wait_for(condition)

    def run_event_loop(self) -> None:
        """Launch, then the script; like Cocoa's it does not come back from an app that was quit."""
        app = self.singleton("NSApplication")
        for name in ("WillFinishLaunching", "DidFinishLaunching"):
            note = self.make("NSNotification", name=f"NSApplication{name}Notification", object=app)
            if answers(held(app, "delegate"), f"application{name}:"):
                send(held(app, "delegate"), f"application{name}:", note)
            self.post_default(f"NSApplication{name}Notification", app)
        self.loop.settle()
        if self.script is not None:
            self.script()
        if self.terminated:
            raise Exited

    def post_default(self, name: str, sender: Any = None, **info: Any) -> None:
        center = self.runtime.named("NSNotificationCenter").defaultCenter()
        center.postNotificationName_object_userInfo_(name, sender, info)

    def workspace(self, name: str, **info: Any) -> None:
        """Tell a workspace notification: `mac.workspace("NSWorkspaceWillSleepNotification")`."""
        center = self.runtime.named("NSWorkspace").sharedWorkspace().notificationCenter()
        center.postNotificationName_object_userInfo_(name, None, info)
        self.loop.settle()

    def distributed(self, name: str, **info: Any) -> None:
        self.singleton("NSDistributedNotificationCenter").postNotificationName_object_userInfo_(
            name, None, info
        )
        self.loop.settle()

    # -- the menu ----------------------------------------------------------------------------------------

    def menu(self) -> Any:
        """The menu of the one status item."""
        (item,) = self.status_items
        return item._p["menu"]

    def titles(self, menu: Any = None) -> list[str]:
        """As they stand; `—` is a separator, hidden ones are left out."""
        shown = [one._p for one in items(menu or self.menu()) if not one._p.get("hidden")]
        return ["—" if one.get("separatorItem") else one["title"] for one in shown]

    def item(self, *path: str) -> Any:
        menu = self.menu()
        for number, title in enumerate(path):
            found = [one for one in items(menu) if one._p["title"] == title and not one._p.get("hidden")]
            if len(found) != 1:
                raise AssertionError(f"{len(found)} items are called {title!r}: {self.titles(menu)}")
            if number + 1 < len(path):
                menu = found[0]._p["submenu"]
        return found[0]

    def choose(self, *path: str) -> None:
        """Open the menu, click the item at this path, and let the app do what it does."""
        with self.menu_open():
            item = self.item(*path)
            enabled, action, target = (held(item, key) for key in ("enabled", "action", "target"))
            if enabled is False or action is None:
                raise AssertionError(f"{path} is grey")
            target = target if target is not None else self.singleton("NSApplication")
            if answers(target, "validateMenuItem:") and not target.validateMenuItem_(item):
                raise AssertionError(f"{path} is grey: validateMenuItem: said no")
        send(target, action, item)  # Cocoa sends the action once the menu is closed
        self.loop.settle()

    @contextmanager
    def menu_open(self) -> Iterator[Any]:
        """The status item's menu is open: to change it now raises, and timers of the default mode wait."""
        menu = self.menu()
        delegate = held(menu, "delegate")
        for selector in ("menuNeedsUpdate:", "menuWillOpen:"):
            if answers(delegate, selector):
                send(delegate, selector, menu)
        self.open_menus = list(_with_submenus(menu))
        self.loop.tracking += 1
        try:
            yield menu
        finally:
            self.loop.tracking -= 1
            self.open_menus = []
            if answers(delegate, "menuDidClose:"):
                send(delegate, "menuDidClose:", menu)
        self.loop.settle()

    # -- Python ------------------------------------------------------------------------------------------

    @contextmanager
    def installed(self) -> Iterator[Mac]:
        """pyobjc's modules are this Mac; rumps and our macOS room are imported anew, and forgotten after."""
        before = _taken_out()
        sys.modules.update(modules.made(self))
        try:
            with TemporaryDirectory() as self.library:
                yield self
        finally:
            translation.set_language(
                translation.ENGLISH
            )  # the app chose it, and this Mac's way to write dates
            _taken_out()
            sys.modules.update(before)


def _taken_out() -> dict[str, ModuleType]:
    """What is bound to a Mac, no longer imported. A package keeps its modules as attributes too."""
    found = {name: module for name, module in sys.modules.items() if modules.is_ours(name)}
    for name in found:
        del sys.modules[name]
        package, _, own = name.rpartition(".")
        if package in sys.modules:
            names = vars(sys.modules[package])
            names.pop(own, None)
            for public, value in list(names.items()):  # what the package has exported lazily
                if getattr(value, "__module__", None) == name:
                    del names[public]
    return found


def _with_submenus(menu: Any) -> Iterator[Any]:
    yield menu
    for item in items(menu):
        if item._p.get("submenu") is not None:
            yield from _with_submenus(item._p["submenu"])

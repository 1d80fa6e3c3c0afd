"""A scripted desktop on a stand-in Mac: apps and their windows, behind the accessibility functions.

It is strict where the real thing is unforgiving: everything happens on one thread, and the same element is a
new reference each time it is asked for. It remembers every read, and counts what is alive.
"""

from __future__ import annotations

import threading
import weakref
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.appkit.standin.loop import COMMON
from tests.appkit.standin.mac import Mac

SUCCESS, CANNOT_COMPLETE, API_DISABLED, NO_VALUE = 0, -25204, -25211, -25212
UNSUPPORTED, NOT_REGISTERED = -25207, -25210

FUNCTIONS = (
    "AXIsProcessTrusted",
    "AXIsProcessTrustedWithOptions",
    "AXObserverAddNotification",
    "AXObserverCreate",
    "AXObserverGetRunLoopSource",
    "AXObserverRemoveNotification",
    "AXUIElementCopyAttributeValue",
    "AXUIElementCopyMultipleAttributeValues",
    "AXUIElementCreateApplication",
    "AXUIElementSetMessagingTimeout",
    "CFRunLoopAddSource",
    "CFRunLoopGetMain",
    "CFRunLoopRemoveSource",
)
DAWN = 1_790_000_000.0  # when the Mac's clock began


class AXErrorValue:
    """What stands in a slot of a multi-read for an attribute the element does not have."""


@dataclass(eq=False)
class Window:
    title: Any = None
    document: Any = None
    url: Any = None
    pid: int = 0

    def attribute(self, name: str) -> Any:
        known = {"AXTitle": self.title, "AXDocument": self.document, "AXURL": self.url}
        return known[name]  # anything else is something we promised never to read


@dataclass(eq=False)
class App:
    """An application and, as NSRunningApplication, what the system says of it without asking it."""

    name: str | None
    bundle: str | None
    pid: int
    focused: Window | None = None
    error: int = SUCCESS  # what it answers to everything
    answers: int | None = None  # so many times; after that it is busy
    deaf: bool = False  # knows no notifications

    def localizedName(self) -> str | None:
        return self.name

    def bundleIdentifier(self) -> str | None:
        return self.bundle

    def processIdentifier(self) -> int:
        return self.pid


class Ref:
    """A reference to an element: equal to others of the same element, and never the same object."""

    def __init__(self, target: App | Window) -> None:
        self.target = target

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ref) and other.target is self.target

    def __hash__(self) -> int:
        return id(self.target)


class Observer:
    def __init__(self, pid: int, callback: Callable[..., None]) -> None:
        self.pid, self.callback = pid, callback
        self.registered: set[tuple[App | Window, str]] = set()
        self.source = object()


class World:
    """`reads` are (pid, attribute) in their order, `elements` the apps of which an element was made."""

    def __init__(self) -> None:
        self.apps: dict[int, App] = {}
        self.trusted = True
        self.prompts = 0
        self.reads: list[tuple[int, str]] = []
        self.messages: Counter[str] = Counter()
        self.elements: Counter[int] = Counter()
        self.timeouts: set[App | Window] = set()
        self.refs: weakref.WeakSet[Ref] = weakref.WeakSet()
        self.observers: weakref.WeakSet[Observer] = weakref.WeakSet()
        self.callbacks: set[Callable[..., None]] = set()
        self.sources: list[Any] = []
        self.most = 0  # observers on the run loop at once
        self.registered = 0  # notifications that were added and not removed, by whatever observer
        self.mac: Mac
        self._thread = threading.get_ident()

    def join(self, mac: Mac) -> None:
        """Be the desktop of this Mac."""
        self.mac = mac
        mac.functions |= {name: self._function(name) for name in FUNCTIONS}

    @property
    def front(self) -> App | None:
        found: App | None = self.mac.frontmost
        return found

    @front.setter
    def front(self, app: App | None) -> None:
        self.mac.frontmost = app

    # -- the script --------------------------------------------------------------------------------------

    def app(self, name: str | None, bundle: str | None = None, window: Window | None = None) -> App:
        made = App(name, bundle, 1000 + len(self.apps), window)
        if window is not None:
            window.pid = made.pid
        self.apps[made.pid] = made
        return made

    def activate(self, app: App) -> None:
        self.front = app
        self._workspace("DidActivateApplication", app)

    def launched(self, app: App) -> None:
        self._workspace("DidLaunchApplication", app)

    def quit(self, app: App) -> None:
        app.error = -25202  # kAXErrorInvalidUIElement
        self._workspace("DidTerminateApplication", app)

    def _workspace(self, what: str, app: App) -> None:
        self.mac.workspace(f"NSWorkspace{what}Notification", NSWorkspaceApplicationKey=app)

    def sleep(self) -> None:
        self.mac.workspace("NSWorkspaceWillSleepNotification")

    def wake(self) -> None:
        self.mac.workspace("NSWorkspaceDidWakeNotification")

    def lock(self) -> None:
        self.mac.distributed("com.apple.screenIsLocked")

    def unlock(self) -> None:
        self.mac.distributed("com.apple.screenIsUnlocked")

    def focus(self, app: App, window: Window | None) -> None:
        app.focused = window
        if window is not None:
            window.pid = app.pid
        self._notify(app, "AXFocusedWindowChanged", window or app)

    def retitle(self, window: Window, title: Any, document: Any = None) -> None:
        window.title, window.document = title, document
        self._notify(window, "AXTitleChanged", window)

    def _notify(self, on: App | Window, name: str, element: App | Window) -> None:
        for observer in list(self.observers):
            if observer.source in self.sources and (on, name) in observer.registered:
                observer.callback(observer, self.ref(element), name, None)

    def advance(self, seconds: float) -> None:
        """Let time pass, and the timers fire."""
        self.mac.advance(seconds)

    def now(self) -> int:
        return round((DAWN + self.mac.loop.now) * 1e6)

    def running(self) -> list[Any]:
        """Timers that will fire, and also while a menu is open."""
        found = self.mac.loop.timers()
        assert all(COMMON in timer._p["modes"] for timer in found)
        return found

    def listening(self) -> list[Any]:
        """Whoever still hears of apps, sleep and lock."""
        centers = (
            self.mac.runtime.named("NSWorkspace").sharedWorkspace().notificationCenter(),
            self.mac.singleton("NSDistributedNotificationCenter"),
        )
        return [one for center in centers for one in center._p.get("observers", ()) if one[0]() is not None]

    def ref(self, target: App | Window) -> Ref:
        made = Ref(target)
        self.refs.add(made)
        return made

    # -- what is asked of it -----------------------------------------------------------------------------

    def _function(self, name: str) -> Callable[..., Any]:
        behaviour = getattr(self, "_" + name)

        def function(*arguments: Any) -> Any:
            assert threading.get_ident() == self._thread, f"{name} was called on another thread"
            return behaviour(*arguments)

        return function

    def _error(self, target: App | Window) -> int:
        app = self.apps[target.pid]
        if app.answers is not None:
            app.answers -= 1
            if app.answers < 0:
                return CANNOT_COMPLETE
        return app.error

    def _AXIsProcessTrusted(self) -> bool:
        return self.trusted

    def _AXIsProcessTrustedWithOptions(self, options: dict[str, Any]) -> bool:
        self.prompts += options == {"AXTrustedCheckOptionPrompt": True}
        return self.trusted

    def _AXUIElementCreateApplication(self, pid: int) -> Ref:
        self.elements[pid] += 1
        return self.ref(self.apps[pid])

    def _AXUIElementSetMessagingTimeout(self, element: Ref, seconds: float) -> int:
        assert seconds == 0.25
        self.timeouts.add(element.target)
        return SUCCESS

    def _AXObserverCreate(self, pid: int, callback: Any, out: None) -> tuple[int, Observer | None]:
        self.callbacks.add(callback)
        if (error := self._error(self.apps[pid])) != SUCCESS:
            return error, None
        made = Observer(pid, callback)
        self.observers.add(made)
        return SUCCESS, made

    def _AXObserverAddNotification(self, observer: Observer, element: Ref, name: str, refcon: None) -> int:
        assert refcon is None
        if (error := self._error(element.target)) != SUCCESS:
            return error
        if self.apps[element.target.pid].deaf:
            return UNSUPPORTED
        assert (element.target, name) not in observer.registered
        observer.registered.add((element.target, name))
        self.registered += 1
        return SUCCESS

    def _AXObserverRemoveNotification(self, observer: Observer, element: Ref, name: str) -> int:
        if (element.target, name) not in observer.registered:
            return NOT_REGISTERED
        observer.registered.discard((element.target, name))
        self.registered -= 1
        return SUCCESS

    def _AXObserverGetRunLoopSource(self, observer: Observer) -> object:
        return observer.source

    def _CFRunLoopGetMain(self) -> str:
        return "main"

    def _CFRunLoopAddSource(self, loop: str, source: object, mode: str) -> None:
        assert (loop, mode) == ("main", "kCFRunLoopCommonModes")
        self.sources.append(source)
        self.most = max(self.most, len(self.sources))

    def _CFRunLoopRemoveSource(self, loop: str, source: object, mode: str) -> None:
        assert (loop, mode) == ("main", "kCFRunLoopCommonModes")
        if source in self.sources:
            self.sources.remove(source)

    def _AXUIElementCopyAttributeValue(self, element: Ref, name: str, out: None) -> tuple[int, Ref | None]:
        app = element.target
        assert isinstance(app, App)
        assert name == "AXFocusedWindow"
        self._read(app, name)
        if (error := self._error(app)) != SUCCESS:
            return error, None
        return (NO_VALUE, None) if app.focused is None else (SUCCESS, self.ref(app.focused))

    def _AXUIElementCopyMultipleAttributeValues(
        self, element: Ref, names: list[str], options: int, out: None
    ) -> tuple[int, list[Any] | None]:
        assert options == 0
        window = element.target
        assert isinstance(window, Window)
        for name in names:
            self.reads.append((window.pid, name))
        self._message(window, "multi-read")
        if (error := self._error(window)) != SUCCESS:
            return error, None
        values = (window.attribute(name) for name in names)
        return SUCCESS, [AXErrorValue() if value is None else value for value in values]

    def _read(self, target: App | Window, name: str) -> None:
        self.reads.append((target.pid, name))
        self._message(target, "read")

    def _message(self, target: App | Window, what: str) -> None:
        assert target in self.timeouts, "it may keep us waiting for six seconds"
        self.messages[what] += 1

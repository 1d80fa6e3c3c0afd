"""A scripted macOS: enough of pyobjc's modules for the accessibility code to run as it is, on any system.

It is strict where the real thing is unforgiving. Functions take exactly as many arguments as in pyobjc's
metadata, callbacks must be closures, everything happens on one thread, and the same element is a new
reference each time it is asked for. It remembers every read, and counts what is alive.
"""

from __future__ import annotations

import builtins
import heapq
import itertools
import threading
import weakref
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.appkit.standin.mac import Mac

SUCCESS, CANNOT_COMPLETE, API_DISABLED, NO_VALUE = 0, -25204, -25211, -25212
UNSUPPORTED, NOT_REGISTERED = -25207, -25210

# Number of arguments, from the metadata of pyobjc 12.2.2.
ARITY = {
    "AXIsProcessTrusted": 0,
    "AXIsProcessTrustedWithOptions": 1,
    "AXObserverAddNotification": 4,
    "AXObserverCreate": 3,
    "AXObserverGetRunLoopSource": 1,
    "AXObserverRemoveNotification": 3,
    "AXUIElementCopyAttributeValue": 3,
    "AXUIElementCopyMultipleAttributeValues": 4,
    "AXUIElementCreateApplication": 1,
    "AXUIElementSetMessagingTimeout": 2,
    "CFRunLoopAddSource": 3,
    "CFRunLoopGetMain": 0,
    "CFRunLoopRemoveSource": 3,
}
CONSTANTS: dict[str, dict[str, Any]] = {
    "ApplicationServices": {
        "kAXDocumentAttribute": "AXDocument",
        "kAXErrorAPIDisabled": API_DISABLED,
        "kAXErrorCannotComplete": CANNOT_COMPLETE,
        "kAXErrorSuccess": SUCCESS,
        "kAXFocusedWindowAttribute": "AXFocusedWindow",
        "kAXFocusedWindowChangedNotification": "AXFocusedWindowChanged",
        "kAXTitleAttribute": "AXTitle",
        "kAXTitleChangedNotification": "AXTitleChanged",
        "kAXTrustedCheckOptionPrompt": "AXTrustedCheckOptionPrompt",
        "kAXURLAttribute": "AXURL",
    },
    "CoreFoundation": {"kCFRunLoopCommonModes": "kCFRunLoopCommonModes"},
    "Foundation": {"NSRunLoopCommonModes": "kCFRunLoopCommonModes"},
    "AppKit": {
        name: name
        for name in (
            "NSWorkspaceApplicationKey",
            "NSWorkspaceDidActivateApplicationNotification",
            "NSWorkspaceDidLaunchApplicationNotification",
            "NSWorkspaceDidTerminateApplicationNotification",
            "NSWorkspaceDidWakeNotification",
            "NSWorkspaceSessionDidBecomeActiveNotification",
            "NSWorkspaceSessionDidResignActiveNotification",
            "NSWorkspaceWillSleepNotification",
        )
    },
}


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


class NSObject:
    @classmethod
    def alloc(cls) -> Any:
        return cls.__new__(cls)

    def init(self) -> Any:
        return self


class NSURL(NSObject):
    def __init__(self, text: str) -> None:
        self.text = text

    def absoluteString(self) -> str:
        return self.text


@dataclass
class Note:
    info: dict[str, Any] = field(default_factory=dict)

    def userInfo(self) -> dict[str, Any]:
        return self.info


class Center:
    def __init__(self) -> None:
        self.observers: list[tuple[Any, str, str]] = []

    def addObserver_selector_name_object_(self, target: Any, selector: str, name: str, sender: None) -> None:
        assert callable(getattr(target, selector.replace(":", "_")))
        self.observers.append((target, selector, name))

    def removeObserver_(self, target: Any) -> None:
        self.observers = [one for one in self.observers if one[0] is not target]

    def post(self, name: str, **info: Any) -> None:
        for target, selector, wanted in list(self.observers):
            if wanted == name:
                send(target, selector, Note(info))


class Told(Center):
    """A center of the stand-in's, in whose place the world posts there."""

    def __init__(self, mac: Mac, posting: Callable[..., None]) -> None:
        super().__init__()
        self._mac, self._posting = mac, posting

    def post(self, name: str, **info: Any) -> None:
        if name == "NSWorkspaceDidActivateApplicationNotification":
            self._mac.frontmost = info["NSWorkspaceApplicationKey"]
        self._posting(name, **info)


def send(target: Any, selector: str, argument: Any) -> None:
    getattr(target, selector.replace(":", "_"))(argument)


class Timer(NSObject):
    def __init__(self, seconds: float, target: Any, selector: str, repeats: bool) -> None:
        self.seconds, self.target, self.selector, self.repeats = seconds, target, selector, repeats
        self.valid = True

    def setTolerance_(self, seconds: float) -> None:
        assert 0 <= seconds < self.seconds

    def invalidate(self) -> None:
        self.valid = False
        self.target = None


class World:
    """`reads` are (pid, attribute) in their order, `elements` the apps of which an element was made."""

    def __init__(self) -> None:
        self.apps: dict[int, App] = {}
        self.front: App | None = None
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
        self.workspace, self.distributed = Center(), Center()
        self.clock = 1_790_000_000.0
        self.timers: list[tuple[float, int, Timer]] = []
        self._order = itertools.count()
        self._thread = threading.get_ident()

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
        self.workspace.post(f"NSWorkspace{what}Notification", NSWorkspaceApplicationKey=app)

    def sleep(self) -> None:
        self.workspace.post("NSWorkspaceWillSleepNotification")

    def wake(self) -> None:
        self.workspace.post("NSWorkspaceDidWakeNotification")

    def lock(self) -> None:
        self.distributed.post("com.apple.screenIsLocked")

    def unlock(self) -> None:
        self.distributed.post("com.apple.screenIsUnlocked")

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
        until = self.clock + seconds
        while self.timers and self.timers[0][0] <= until:
            due, _, timer = heapq.heappop(self.timers)
            self.clock = due
            if not timer.valid:
                continue
            send(timer.target, timer.selector, timer)
            if timer.repeats and timer.valid:
                heapq.heappush(self.timers, (due + timer.seconds, next(self._order), timer))
        self.clock = until

    def now(self) -> int:
        return round(self.clock * 1e6)

    def running(self) -> list[Timer]:
        return [timer for _, _, timer in self.timers if timer.valid]

    def ref(self, target: App | Window) -> Ref:
        made = Ref(target)
        self.refs.add(made)
        return made

    # -- pyobjc ------------------------------------------------------------------------------------------

    def join(self, mac: Mac) -> None:
        """Be the desktop of a whole stand-in, whose notification centers and timers then serve both."""
        mac.functions |= {name: self._function(name) for name in ARITY}
        self.workspace, self.distributed = Told(mac, mac.workspace), Told(mac, mac.distributed)

    def modules(self) -> dict[str, ModuleType]:
        made = {
            name: ModuleType(name)
            for name in ("objc", "ApplicationServices", "CoreFoundation", "Foundation", "AppKit")
        }
        for name, constants in CONSTANTS.items():
            vars(made[name]).update(constants)
        for name in ARITY:
            vars(made["ApplicationServices" if name.startswith("AX") else "CoreFoundation"])[name] = (
                self._function(name)
            )
        vars(made["objc"]).update(super=builtins.super, callbackFor=self._callback_for)
        world = self

        class NSWorkspace(NSObject):
            @classmethod
            def sharedWorkspace(cls) -> Any:
                return cls()

            def notificationCenter(self) -> Center:
                return world.workspace

            def frontmostApplication(self) -> App | None:
                return world.front

        class NSDistributedNotificationCenter(NSObject):
            @classmethod
            def defaultCenter(cls) -> Center:
                return world.distributed

        class NSTimer(NSObject):
            @classmethod
            def timerWithTimeInterval_target_selector_userInfo_repeats_(
                cls, seconds: float, target: Any, selector: str, info: None, repeats: bool
            ) -> Timer:
                assert callable(getattr(target, selector.replace(":", "_")))
                return Timer(seconds, target, selector, repeats)

        class NSRunLoop(NSObject):
            @classmethod
            def mainRunLoop(cls) -> Any:
                return cls()

            def addTimer_forMode_(self, timer: Timer, mode: str) -> None:
                assert mode == "kCFRunLoopCommonModes"
                heapq.heappush(world.timers, (world.clock + timer.seconds, next(world._order), timer))

        vars(made["Foundation"]).update(
            NSObject=NSObject,
            NSURL=NSURL,
            NSTimer=NSTimer,
            NSRunLoop=NSRunLoop,
            NSDistributedNotificationCenter=NSDistributedNotificationCenter,
        )
        vars(made["AppKit"]).update(NSWorkspace=NSWorkspace, NSRunningApplication=App)
        return made

    def _function(self, name: str) -> Callable[..., Any]:
        behaviour = getattr(self, "_" + name)

        def function(*arguments: Any) -> Any:
            assert len(arguments) == ARITY[name], f"{name} takes {ARITY[name]} arguments"
            assert threading.get_ident() == self._thread, f"{name} was called on another thread"
            return behaviour(*arguments)

        function.__name__ = name
        return function

    def _callback_for(self, function: Callable[..., Any]) -> Callable[[Any], Any]:
        assert function.__name__ == "AXObserverCreate"

        def closure(callback: Any) -> Any:
            callback.pyobjc_closure = object()
            return callback

        return closure

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
        assert out is None
        assert hasattr(callback, "pyobjc_closure"), "Callable argument is not a PyObjC closure"
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
        assert out is None
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
        assert (options, out) == (0, None)
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

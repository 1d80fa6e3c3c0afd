"""The desktop of macOS as a `DesktopSource`.

It tells which app, window and document is in front.

Everything happens on the main thread. System events and one observer on the front app say when to look. A
look every ten seconds catches what they miss, and stops while the Mac sleeps or is locked. Without the
Accessibility permission apps are reported without windows, until the permission is given.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from typing import Any

import objc
from AppKit import (
    NSRunningApplication,
    NSWorkspace,
    NSWorkspaceApplicationKey,
    NSWorkspaceDidActivateApplicationNotification,
    NSWorkspaceDidLaunchApplicationNotification,
    NSWorkspaceDidTerminateApplicationNotification,
    NSWorkspaceDidWakeNotification,
    NSWorkspaceSessionDidBecomeActiveNotification,
    NSWorkspaceSessionDidResignActiveNotification,
    NSWorkspaceWillSleepNotification,
)
from ApplicationServices import (
    AXObserverAddNotification,
    AXObserverCreate,
    AXObserverGetRunLoopSource,
    AXObserverRemoveNotification,
    AXUIElementCopyAttributeValue,
    AXUIElementCopyMultipleAttributeValues,
    AXUIElementCreateApplication,
    AXUIElementSetMessagingTimeout,
    kAXDocumentAttribute,
    kAXErrorAPIDisabled,
    kAXErrorCannotComplete,
    kAXErrorSuccess,
    kAXFocusedWindowAttribute,
    kAXFocusedWindowChangedNotification,
    kAXTitleAttribute,
    kAXTitleChangedNotification,
    kAXURLAttribute,
)
from CoreFoundation import CFRunLoopAddSource, CFRunLoopGetMain, CFRunLoopRemoveSource, kCFRunLoopCommonModes
from Foundation import (
    NSURL,
    NSDistributedNotificationCenter,
    NSObject,
    NSRunLoop,
    NSRunLoopCommonModes,
    NSTimer,
)

from fazm_memory.macos.system import has_permission, prompt_permission
from fazm_memory.records import dataclass
from fazm_memory.watch import (
    Available,
    Exclusions,
    ForegroundWindow,
    HiddenWindow,
    OnObservation,
    Unavailable,
    UnavailableReason,
    document_of,
    title_of,
)

TIMEOUT = 0.25  # seconds that an app has for an answer
ATTRIBUTES = [kAXTitleAttribute, kAXDocumentAttribute, kAXURLAttribute]


class AppBusy(Exception):
    """The app did not answer. It is starting or busy, and can be asked again."""


class PermissionMissing(Exception):
    """The Accessibility permission was taken away."""


@dataclass(frozen=True, slots=True)
class WindowInfo:
    """Title and document of a window. None for a value of an unexpected type."""

    title: str | None = None
    document: str | None = None


@objc.callbackFor(AXObserverCreate)
def _notified(observer: Any, element: Any, notification: Any, refcon: Any) -> None:
    """The callback of all observers. A callback per observer would have to outlive it."""
    current = AxObserver.current
    # Notifications of an observer that was just closed still arrive.
    if current is not None and current.observer == observer:
        current.changed()


class AxObserver:
    """Observe one app and call `changed` when it is time to look again.

    `changed` runs on the main thread and must not raise.
    """

    current: AxObserver | None = None

    def __init__(self, pid: int, changed: Callable[[], None]) -> None:
        """Attach to an app, which the caller has checked against the exclusions.

        May raise AppBusy.
        """
        if AxObserver.current is not None:
            raise RuntimeError("Only one observer may exist at a time.")
        self.pid, self.changed = pid, changed
        self.window: Any = None  # the focused window
        self.private = False  # whether that window must not be read
        self._titled = False
        self._added = False
        self.app = AXUIElementCreateApplication(pid)
        AXUIElementSetMessagingTimeout(self.app, TIMEOUT)
        error, self.observer = AXObserverCreate(pid, _notified, None)
        _check(error)
        self._listening = error == kAXErrorSuccess and self.observer is not None
        AxObserver.current = self
        if not self._listening:
            return  # an app without accessibility support: only the poll looks at it
        try:
            error = AXObserverAddNotification(
                self.observer, self.app, kAXFocusedWindowChangedNotification, None
            )
            _check(error)
            self._added = error == kAXErrorSuccess
            CFRunLoopAddSource(
                CFRunLoopGetMain(), AXObserverGetRunLoopSource(self.observer), kCFRunLoopCommonModes
            )
        except Exception:
            self.close()
            raise

    def focus(self) -> bool:
        """Find the focused window. False if there is none or it is private."""
        error, window = AXUIElementCopyAttributeValue(self.app, kAXFocusedWindowAttribute, None)
        _check(error)
        if error != kAXErrorSuccess:
            window = None
        if window != self.window:
            self._leave()
            self.window = window
            if window is not None:
                AXUIElementSetMessagingTimeout(window, TIMEOUT)
        return window is not None and not self.private

    def read(self) -> WindowInfo:
        """Read the focused window with one message.

        A missing attribute comes back as an error object.
        """
        error, values = AXUIElementCopyMultipleAttributeValues(self.window, ATTRIBUTES, 0, None)
        _check(error)
        if error != kAXErrorSuccess or values is None or len(values) != len(ATTRIBUTES):
            return WindowInfo()
        title, document, address = (_text(value) for value in values)
        return WindowInfo(title, document or address)

    def follow(self) -> None:
        """Subscribe to title changes of the focused window, such as another tab."""
        if self._listening and not self._titled:
            error = AXObserverAddNotification(self.observer, self.window, kAXTitleChangedNotification, None)
            _check(error)
            self._titled = error == kAXErrorSuccess

    def mark_private(self) -> None:
        """Do not read the focused window again until another one was focused."""
        self._unfollow()
        self.private = True

    def close(self) -> None:
        """Undo every step.

        Errors do not matter: if the app has ended, nothing is left to undo.
        """
        self._leave()
        if self._listening:
            if self._added:
                AXObserverRemoveNotification(self.observer, self.app, kAXFocusedWindowChangedNotification)
            # Removing a source that was not added is harmless.
            CFRunLoopRemoveSource(
                CFRunLoopGetMain(), AXObserverGetRunLoopSource(self.observer), kCFRunLoopCommonModes
            )
        self._listening = self._added = False
        self.observer = self.app = None
        AxObserver.current = None

    def _leave(self) -> None:
        self._unfollow()
        self.window, self.private = None, False

    def _unfollow(self) -> None:
        if self._titled:
            AXObserverRemoveNotification(self.observer, self.window, kAXTitleChangedNotification)
            self._titled = False


def _check(error: int) -> None:
    if error == kAXErrorCannotComplete:
        raise AppBusy
    if error == kAXErrorAPIDisabled:
        raise PermissionMissing


def _text(value: Any) -> str | None:
    """An attribute as text. Titles and documents are strings, URLs are NSURL objects."""
    if isinstance(value, NSURL):
        value = value.absoluteString()
    return str(value) if isinstance(value, str) else None


# -- the source ------------------------------------------------------------------------------------------

POLL = 10.0
SETTLE = 0.3  # a title that changes in a burst is read once
RETRIES = (0.5, 1.0, 2.0)  # seconds before a busy app is asked again; after that only the poll asks


def _safely(method: Callable[..., None]) -> Callable[..., None]:
    """Report exceptions: in the run loop they would end the app."""

    @wraps(method)
    def safe(self: AccessibilitySource, *arguments: Any) -> None:
        try:
            method(self, *arguments)
        except Exception as error:
            self.trouble(error)

    return safe


class AccessibilitySource:
    """Watches the front app. `trouble` receives errors of callbacks."""

    def __init__(
        self, now: Callable[[], int], *, exclusions: Exclusions, trouble: Callable[[Exception], None]
    ) -> None:
        self.now, self.exclusions, self.trouble = now, exclusions, trouble
        self._told: OnObservation | None = None
        self._listener: DesktopListener | None = None
        self._app: NSRunningApplication | None = None  # in front, and not excluded
        self._observer: AxObserver | None = None
        self._away: set[UnavailableReason] = set()
        self._poll: NSTimer | None = None
        self._again: NSTimer | None = None
        self._tries = 0
        self._prompted = False

    # -- DesktopSource -----------------------------------------------------------------------------------

    def start(self, told: OnObservation) -> None:
        self._told = told
        self._listener = DesktopListener.alloc().initWithSource_(self)
        subscribe(self._listener)
        self._begin()

    def stop(self) -> None:
        if self._listener is not None:
            unsubscribe(self._listener)
        self._rest()
        self._away.clear()
        self._listener = self._told = None

    @_safely
    def leave_alone(self, exclusions: Exclusions) -> None:
        self.exclusions = exclusions
        if self._told is not None:
            self.front(NSWorkspace.sharedWorkspace().frontmostApplication())

    def permitted(self) -> bool:
        return has_permission()

    def ask(self) -> None:
        """Let the system ask for the permission, once."""
        if not self._prompted:
            self._prompted = True
            prompt_permission()

    # -- system events -----------------------------------------------------------------------------------

    @_safely
    def front(self, app: NSRunningApplication | None) -> None:
        """Another app is in front. It is not touched before the exclusions are checked."""
        self._detach()
        self._app = None
        if self._told is None or self._blind():
            return
        if app is None or self.exclusions.app(app.localizedName(), app.bundleIdentifier()):
            self._told(HiddenWindow(self.now()))
            return
        self._app = app
        self._tries = 0
        self._look()

    @_safely
    def launched(self, app: NSRunningApplication) -> None:
        """An app may come to the front before it has finished launching."""
        if self._app is not None and self._app.processIdentifier() == app.processIdentifier():
            self._tries = 0
            self._look()

    @_safely
    def terminated(self, app: NSRunningApplication) -> None:
        if self._app is not None and self._app.processIdentifier() == app.processIdentifier():
            self._detach()
            self._app = None

    @_safely
    def away(self, why: UnavailableReason) -> None:
        if why not in self._away and self._told is not None:
            self._away.add(why)
            self._rest()
            self._told(Unavailable(self.now(), why))

    @_safely
    def back(self, why: UnavailableReason) -> None:
        if why in self._away and self._told is not None:
            self._away.discard(why)
            self._told(Available(self.now(), why))
            if not self._blind():
                self._begin()

    @_safely
    def poll(self) -> None:
        """Catch missed changes: another app, another title, a permission given or taken."""
        if self._told is None or self._blind():
            return
        app = NSWorkspace.sharedWorkspace().frontmostApplication()
        known = None if self._app is None else self._app.processIdentifier()
        if app is None or known is None or app.processIdentifier() != known:
            self.front(app)
        else:
            self._look()

    @_safely
    def again(self) -> None:
        self._again = None
        self._look()

    @_safely
    def changed(self) -> None:
        """The observer reported a change."""
        self._later(SETTLE)

    # -- looking -----------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Report the front app, with its window if we may read it and the app answers."""
        app = self._app
        if app is None or self._told is None or self._blind():
            return
        bundle = app.bundleIdentifier()
        seen = ForegroundWindow(self.now(), str(app.localizedName()), None if bundle is None else str(bundle))
        pid = app.processIdentifier()
        # Asking our own app would block: this thread is the one that would have to answer.
        if not self._permit() or pid == os.getpid():
            self._told(seen)
            return
        try:
            if self._observer is None:
                self._observer = AxObserver(pid, self.changed)
            shown = self._window(self._observer, seen)
            self._tries = 0
        except AppBusy:
            self._retry()
            shown = seen if self._observer is None or not self._observer.private else HiddenWindow(seen.at)
        except PermissionMissing:
            self._permit()
            shown = seen
        self._told(shown)

    def _window(self, observer: AxObserver, seen: ForegroundWindow) -> ForegroundWindow | HiddenWindow:
        if not observer.focus():
            return HiddenWindow(seen.at) if observer.private else seen
        window = observer.read()
        if self.exclusions.window(window.title):
            observer.mark_private()
            return HiddenWindow(seen.at)
        observer.follow()
        return ForegroundWindow(
            seen.at, seen.app, seen.bundle, title_of(window.title), document_of(window.document)
        )

    def _permit(self) -> bool:
        """Whether we may read windows. Reports a change of that."""
        permitted = self.permitted()
        if self._told is not None:
            if not permitted and "permission missing" not in self._away:
                self._detach()
                self._away.add("permission missing")
                self._told(Unavailable(self.now(), "permission missing"))
            elif permitted and "permission missing" in self._away:
                self._away.discard("permission missing")
                self._told(Available(self.now(), "permission missing"))
        return permitted

    def _blind(self) -> bool:
        return not self._away.isdisjoint(("asleep", "locked"))

    def _retry(self) -> None:
        if self._tries < len(RETRIES):
            self._tries += 1
            self._later(RETRIES[self._tries - 1])

    # -- timers and the observer -------------------------------------------------------------------------

    def _begin(self) -> None:
        self._permit()
        self._poll = self._timer(POLL, "polled:", repeats=True)
        self.front(NSWorkspace.sharedWorkspace().frontmostApplication())

    def _rest(self) -> None:
        """Drop the observer, the timer and the app. Only system events are left."""
        self._detach()
        self._app = None
        if self._poll is not None:
            self._poll.invalidate()
            self._poll = None

    def _detach(self) -> None:
        if self._again is not None:
            self._again.invalidate()
            self._again = None
        if self._observer is not None:
            observer, self._observer = self._observer, None
            observer.close()

    def _later(self, seconds: float) -> None:
        if self._again is None:
            self._again = self._timer(seconds, "again:", repeats=False)

    def _timer(self, seconds: float, selector: str, *, repeats: bool) -> NSTimer:
        # In the common modes, so that an open menu does not stop the timer.
        timer = NSTimer.timerWithTimeInterval_target_selector_userInfo_repeats_(
            seconds, self._listener, selector, None, repeats
        )
        timer.setTolerance_(seconds / 5)
        NSRunLoop.mainRunLoop().addTimer_forMode_(timer, NSRunLoopCommonModes)
        return timer


# Not documented by Apple, but nothing else reports the screen lock.
LOCKED, UNLOCKED = "com.apple.screenIsLocked", "com.apple.screenIsUnlocked"

WORKSPACE = {
    NSWorkspaceDidActivateApplicationNotification: "activated:",
    NSWorkspaceDidLaunchApplicationNotification: "launched:",
    NSWorkspaceDidTerminateApplicationNotification: "terminated:",
    NSWorkspaceWillSleepNotification: "fellAsleep:",
    NSWorkspaceDidWakeNotification: "woke:",
    NSWorkspaceSessionDidResignActiveNotification: "locked:",
    NSWorkspaceSessionDidBecomeActiveNotification: "unlocked:",
}


class DesktopListener(NSObject):
    """Passes system notifications and our timers on.

    Its methods are Objective-C selectors.
    """

    def initWithSource_(self, source: AccessibilitySource) -> Any:
        self = objc.super(DesktopListener, self).init()
        if self is not None:
            self.source = source
        return self

    def activated_(self, note: Any) -> None:
        self.source.front(note.userInfo()[NSWorkspaceApplicationKey])

    def launched_(self, note: Any) -> None:
        self.source.launched(note.userInfo()[NSWorkspaceApplicationKey])

    def terminated_(self, note: Any) -> None:
        self.source.terminated(note.userInfo()[NSWorkspaceApplicationKey])

    def fellAsleep_(self, note: Any) -> None:
        self.source.away("asleep")

    def woke_(self, note: Any) -> None:
        self.source.back("asleep")

    def locked_(self, note: Any) -> None:
        self.source.away("locked")

    def unlocked_(self, note: Any) -> None:
        self.source.back("locked")

    def polled_(self, timer: Any) -> None:
        self.source.poll()

    def again_(self, timer: Any) -> None:
        self.source.again()


def subscribe(listener: DesktopListener) -> None:
    center = NSWorkspace.sharedWorkspace().notificationCenter()
    for name, selector in WORKSPACE.items():
        center.addObserver_selector_name_object_(listener, selector, name, None)
    others = NSDistributedNotificationCenter.defaultCenter()
    others.addObserver_selector_name_object_(listener, "locked:", LOCKED, None)
    others.addObserver_selector_name_object_(listener, "unlocked:", UNLOCKED, None)


def unsubscribe(listener: DesktopListener) -> None:
    NSWorkspace.sharedWorkspace().notificationCenter().removeObserver_(listener)
    NSDistributedNotificationCenter.defaultCenter().removeObserver_(listener)

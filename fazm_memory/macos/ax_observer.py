"""An Accessibility observer on one app, and all questions that we ask another app.

An observer holds Mach ports until it is closed, so there is only one at a time and `close` undoes every step.
Only the title, document and URL of the focused window are read, never its contents.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import objc
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
from Foundation import NSURL

from fazm_memory.records import dataclass

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
    """Calls `changed`, which must not raise, on the main thread when it is time to look again."""

    current: AxObserver | None = None

    def __init__(self, pid: int, changed: Callable[[], None]) -> None:
        """Attach to an app, which the caller has checked against the exclusions. May raise AppBusy."""
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
        """Read the focused window with one message. A missing attribute comes back as an error object."""
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
        """Undo every step. Errors do not matter: if the app has ended, nothing is left to undo."""
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

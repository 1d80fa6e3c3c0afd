"""One observer on one app: everything that is asked of another app, and everything that is let go again.

An observer holds Mach ports until it is taken apart, so there is one at a time and `close` undoes every step.
What is read is the focused window, and of it the title, the document and the address: never a value, and
nothing of what is inside a window.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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
from CoreFoundation import (
    CFRunLoopAddSource,
    CFRunLoopGetMain,
    CFRunLoopRemoveSource,
    kCFRunLoopCommonModes,
)
from Foundation import NSURL

TIMEOUT = 0.25  # seconds that an app may keep us waiting
ATTRIBUTES = [kAXTitleAttribute, kAXDocumentAttribute, kAXURLAttribute]


class NotNow(Exception):
    """The app did not answer: it is starting, or busy. It may be asked again, a few times."""


class NotPermitted(Exception):
    """The permission is gone."""


@dataclass(frozen=True, slots=True)
class Window:
    """What a window said of itself, each slot only if it was what it should be."""

    title: str | None = None
    document: str | None = None


@objc.callbackFor(AXObserverCreate)
def _notified(observer: Any, element: Any, notification: Any, refcon: Any) -> None:
    """The one callback of all observers: one that was made per observer would have to outlive it."""
    attached = Attachment.current
    # What was under way when its observer was let go still arrives.
    if attached is not None and attached.observer == observer:
        attached.changed()


class Attachment:
    """`changed` is called on the main thread, and must not raise, whenever there is reason to look again."""

    current: Attachment | None = None

    def __init__(self, pid: int, changed: Callable[[], None]) -> None:
        """Attach to an app that nobody excludes. NotNow when it does not answer yet."""
        if Attachment.current is not None:
            raise RuntimeError("there is an observer already, and there may be only one")
        self.pid, self.changed = pid, changed
        self.window: Any = None  # the focused one
        self.private = False  # and whether it is one that we do not read
        self._titled = False
        self._added = False
        self.app = AXUIElementCreateApplication(pid)
        AXUIElementSetMessagingTimeout(self.app, TIMEOUT)
        error, self.observer = AXObserverCreate(pid, _notified, None)
        _check(error)
        self._listening = error == kAXErrorSuccess and self.observer is not None
        Attachment.current = self
        if not self._listening:
            return  # an app without accessibility: it is looked at in turns
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
        """Find the focused window; False when there is none, or when it is one that we do not read."""
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

    def read(self) -> Window:
        """What the focused window says, in one message. A slot it does not have holds an error instead."""
        error, values = AXUIElementCopyMultipleAttributeValues(self.window, ATTRIBUTES, 0, None)
        _check(error)
        if error != kAXErrorSuccess or values is None or len(values) != len(ATTRIBUTES):
            return Window()
        title, document, address = (_text(value) for value in values)
        return Window(title, document or address)

    def follow(self) -> None:
        """Hear of it when the focused window changes its title: another tab, another document."""
        if self._listening and not self._titled:
            error = AXObserverAddNotification(self.observer, self.window, kAXTitleChangedNotification, None)
            _check(error)
            self._titled = error == kAXErrorSuccess

    def shun(self) -> None:
        """Leave the focused window alone until another has been in front."""
        self._unfollow()
        self.private = True

    def close(self) -> None:
        """Undo all that was done. An app that has ended has undone it already, so answers do not matter."""
        self._leave()
        if self._listening:
            if self._added:
                AXObserverRemoveNotification(self.observer, self.app, kAXFocusedWindowChangedNotification)
            # Removing what was not added is harmless, leaving what was is not.
            CFRunLoopRemoveSource(
                CFRunLoopGetMain(), AXObserverGetRunLoopSource(self.observer), kCFRunLoopCommonModes
            )
        self._listening = self._added = False
        self.observer = self.app = None
        Attachment.current = None

    def _leave(self) -> None:
        self._unfollow()
        self.window, self.private = None, False

    def _unfollow(self) -> None:
        if self._titled:
            AXObserverRemoveNotification(self.observer, self.window, kAXTitleChangedNotification)
            self._titled = False


def _check(error: int) -> None:
    if error == kAXErrorCannotComplete:
        raise NotNow
    if error == kAXErrorAPIDisabled:
        raise NotPermitted


def _text(value: Any) -> str | None:
    """A slot as text; titles and documents are strings, addresses are URL objects."""
    if isinstance(value, NSURL):
        value = value.absoluteString()
    return str(value) if isinstance(value, str) else None

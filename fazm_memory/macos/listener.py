"""What macOS tells of its desktop: another app in front, sleep and waking, the lock; and our own timers.

The listener only passes on. The names of its methods are selectors, which is why they look as they do.
"""

from __future__ import annotations

from typing import Any, Protocol

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
from Foundation import NSDistributedNotificationCenter, NSObject

from fazm_memory.capture.desktop import Why

# Apple does not document these two, and there is nothing else that tells of the lock.
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


class Listening(Protocol):
    """Whoever is told."""

    def front(self, app: NSRunningApplication) -> None: ...

    def launched(self, app: NSRunningApplication) -> None: ...

    def terminated(self, app: NSRunningApplication) -> None: ...

    def away(self, why: Why) -> None: ...

    def back(self, why: Why) -> None: ...

    def poll(self) -> None: ...

    def again(self) -> None: ...


class DesktopListener(NSObject):
    """What the system calls, on the main thread."""

    def initWithSource_(self, source: Listening) -> Any:
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


def listen(listener: DesktopListener) -> None:
    center = NSWorkspace.sharedWorkspace().notificationCenter()
    for name, selector in WORKSPACE.items():
        center.addObserver_selector_name_object_(listener, selector, name, None)
    others = NSDistributedNotificationCenter.defaultCenter()
    others.addObserver_selector_name_object_(listener, "locked:", LOCKED, None)
    others.addObserver_selector_name_object_(listener, "unlocked:", UNLOCKED, None)


def unlisten(listener: DesktopListener) -> None:
    NSWorkspace.sharedWorkspace().notificationCenter().removeObserver_(listener)
    NSDistributedNotificationCenter.defaultCenter().removeObserver_(listener)

"""The desktop of macOS: the system tells which app comes to the front, one observer tells of its windows.

Everything happens on the main thread. Events only say that it is worth looking; a look ten seconds apart
catches what they miss, and rests while the machine sleeps or is locked. Without permission the apps are told
and their windows are not: that is a state, and it ends by itself when the permission is given.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import wraps
from typing import Any

from AppKit import NSRunningApplication, NSWorkspace
from ApplicationServices import (
    AXIsProcessTrusted,
    AXIsProcessTrustedWithOptions,
    kAXTrustedCheckOptionPrompt,
)
from Foundation import NSRunLoop, NSRunLoopCommonModes, NSTimer

from fazm_memory.capture.desktop import Away, Back, Hidden, Seen, Told, Why, document_of, title_of
from fazm_memory.capture.exclusions import Exclusions
from fazm_memory.macos.attachment import Attachment, NotNow, NotPermitted
from fazm_memory.macos.listener import DesktopListener, listen, unlisten

POLL = 10.0
SETTLE = 0.3  # a title that changes in bursts is read once for each
RETRIES = (0.5, 1.0, 2.0)  # seconds before an app that did not answer is asked again; then the poll must do
SETTINGS = "x-apple.systempreferences:com.apple.preference.security?Privacy_Accessibility"


def _safely(method: Callable[..., None]) -> Callable[..., None]:
    """An exception must not reach the run loop, which would end the app; it is told instead."""

    @wraps(method)
    def safe(self: AccessibilitySource, *arguments: Any) -> None:
        try:
            method(self, *arguments)
        except Exception as error:
            self.trouble(error)

    return safe


class AccessibilitySource:
    """A DesktopSource. `trouble` hears of what went wrong inside a callback."""

    def __init__(
        self, now: Callable[[], int], *, exclusions: Exclusions, trouble: Callable[[Exception], None]
    ) -> None:
        self.now, self.exclusions, self.trouble = now, exclusions, trouble
        self._told: Told | None = None
        self._listener: DesktopListener | None = None
        self._app: NSRunningApplication | None = None  # in front, and not excluded
        self._attached: Attachment | None = None
        self._away: set[Why] = set()
        self._poll: NSTimer | None = None
        self._again: NSTimer | None = None
        self._tries = 0
        self._asked = False

    # -- the contract ------------------------------------------------------------------------------------

    def start(self, told: Told) -> None:
        self._told = told
        self._listener = DesktopListener.alloc().initWithSource_(self)
        listen(self._listener)
        self._begin()

    def stop(self) -> None:
        if self._listener is not None:
            unlisten(self._listener)
        self._rest()
        self._away.clear()
        self._listener = self._told = None

    @_safely
    def leave_alone(self, exclusions: Exclusions) -> None:
        self.exclusions = exclusions
        if self._told is not None:
            self.front(NSWorkspace.sharedWorkspace().frontmostApplication())

    def permitted(self) -> bool:
        return bool(AXIsProcessTrusted())

    def ask(self) -> None:
        """Have the system ask the user for permission: once. After that, SETTINGS is where to go."""
        if not self._asked:
            self._asked = True
            AXIsProcessTrustedWithOptions({kAXTrustedCheckOptionPrompt: True})

    # -- what the system tells ---------------------------------------------------------------------------

    @_safely
    def front(self, app: NSRunningApplication | None) -> None:
        """Another app is in front. Nothing of it is touched before it is known that it may be."""
        self._detach()
        self._app = None
        if self._told is None or self._blind():
            return
        if app is None or self.exclusions.app(app.localizedName(), app.bundleIdentifier()):
            self._told(Hidden(self.now()))
            return
        self._app = app
        self._tries = 0
        self._look()

    @_safely
    def launched(self, app: NSRunningApplication) -> None:
        """An app may come to the front before it can answer; now it can."""
        if self._app is not None and self._app.processIdentifier() == app.processIdentifier():
            self._tries = 0
            self._look()

    @_safely
    def terminated(self, app: NSRunningApplication) -> None:
        if self._app is not None and self._app.processIdentifier() == app.processIdentifier():
            self._detach()
            self._app = None

    @_safely
    def away(self, why: Why) -> None:
        if why not in self._away and self._told is not None:
            self._away.add(why)
            self._rest()
            self._told(Away(self.now(), why))

    @_safely
    def back(self, why: Why) -> None:
        if why in self._away and self._told is not None:
            self._away.discard(why)
            self._told(Back(self.now(), why))
            if not self._blind():
                self._begin()

    @_safely
    def poll(self) -> None:
        """Whatever was missed: another app, another title, a permission given or taken."""
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
        """The observer heard something."""
        self._later(SETTLE)

    # -- looking -----------------------------------------------------------------------------------------

    def _look(self) -> None:
        """Tell what is in front, with its window if we may and it answers."""
        app = self._app
        if app is None or self._told is None or self._blind():
            return
        bundle = app.bundleIdentifier()
        seen = Seen(self.now(), str(app.localizedName()), None if bundle is None else str(bundle))
        pid = app.processIdentifier()
        # To ask ourselves, on the thread that would have to answer, is to wait for nobody.
        if not self._permit() or pid == os.getpid():
            self._told(seen)
            return
        try:
            if self._attached is None:
                self._attached = Attachment(pid, self.changed)
            shown = self._window(self._attached, seen)
            self._tries = 0
        except NotNow:
            self._retry()
            shown = seen if self._attached is None or not self._attached.private else Hidden(seen.at)
        except NotPermitted:
            self._permit()
            shown = seen
        self._told(shown)

    def _window(self, attached: Attachment, seen: Seen) -> Seen | Hidden:
        if not attached.focus():
            return Hidden(seen.at) if attached.private else seen
        window = attached.read()
        if self.exclusions.window(window.title):
            attached.shun()
            return Hidden(seen.at)
        attached.follow()
        return Seen(seen.at, seen.app, seen.bundle, title_of(window.title), document_of(window.document))

    def _permit(self) -> bool:
        """Whether we may read windows; told when it changes."""
        permitted = self.permitted()
        if self._told is not None:
            if not permitted and "permission missing" not in self._away:
                self._detach()
                self._away.add("permission missing")
                self._told(Away(self.now(), "permission missing"))
            elif permitted and "permission missing" in self._away:
                self._away.discard("permission missing")
                self._told(Back(self.now(), "permission missing"))
        return permitted

    def _blind(self) -> bool:
        return not self._away.isdisjoint(("asleep", "locked"))

    def _retry(self) -> None:
        if self._tries < len(RETRIES):
            self._tries += 1
            self._later(RETRIES[self._tries - 1])

    # -- beginning and letting go ------------------------------------------------------------------------

    def _begin(self) -> None:
        self._permit()
        self._poll = self._timer(POLL, "polled:", repeats=True)
        self.front(NSWorkspace.sharedWorkspace().frontmostApplication())

    def _rest(self) -> None:
        """No observer, no timer, no app: nothing wakes us but the system."""
        self._detach()
        self._app = None
        if self._poll is not None:
            self._poll.invalidate()
            self._poll = None

    def _detach(self) -> None:
        if self._again is not None:
            self._again.invalidate()
            self._again = None
        if self._attached is not None:
            attached, self._attached = self._attached, None
            attached.close()

    def _later(self, seconds: float) -> None:
        if self._again is None:
            self._again = self._timer(seconds, "again:", repeats=False)

    def _timer(self, seconds: float, selector: str, *, repeats: bool) -> NSTimer:
        """In the common modes: an open menu must not stop it."""
        timer = NSTimer.timerWithTimeInterval_target_selector_userInfo_repeats_(
            seconds, self._listener, selector, None, repeats
        )
        timer.setTolerance_(seconds / 5)
        NSRunLoop.mainRunLoop().addTimer_forMode_(timer, NSRunLoopCommonModes)
        return timer

"""What macOS asks of the app itself: to open a link, to come back when opened again, to end in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import objc
from AppKit import NSTerminateLater
from Foundation import NSURL, NSObject


class Asked(Protocol):
    """Whoever answers, on the main thread."""

    def link(self, text: str) -> None: ...

    def reopen(self) -> None: ...

    def leave(self) -> None: ...


class AppDelegate(NSObject):
    def initWithApp_(self, app: Asked) -> Any:
        self = objc.super(AppDelegate, self).init()
        if self is not None:
            self.app = app
        return self

    def application_openURLs_(self, application: Any, urls: Sequence[NSURL]) -> None:
        for url in urls:
            self.app.link(str(url.absoluteString()))

    def applicationShouldHandleReopen_hasVisibleWindows_(self, application: Any, visible: bool) -> bool:
        """The icon may be hidden behind the notch: opening the app again is another way in."""
        self.app.reopen()
        return False

    def applicationShouldTerminate_(self, application: Any) -> int:
        """Later: what was seen is written first. The app answers when that is done."""
        self.app.leave()
        return NSTerminateLater

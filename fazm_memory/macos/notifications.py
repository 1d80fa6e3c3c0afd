"""Notifications of the system, where we are an app that may send any; a click on one opens what it is about.

Outside a bundle the notification center ends the process that asks for it, so it is never asked there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import objc
from Foundation import NSObject
from UserNotifications import (
    UNAuthorizationOptionAlert,
    UNAuthorizationOptionSound,
    UNMutableNotificationContent,
    UNNotificationPresentationOptionBanner,
    UNNotificationRequest,
    UNUserNotificationCenter,
)

from fazm_memory.macos.bundle import bundle_identifier
from fazm_memory.macos.main_thread import on_main
from fazm_memory.menubar.news import Notice

ROUTE = "route"


class NotificationListener(NSObject):
    """What the center tells, on whatever thread it likes."""

    def initWithOpen_(self, opened: Callable[[str], None]) -> Any:
        self = objc.super(NotificationListener, self).init()
        if self is not None:
            self.opened = opened
        return self

    def userNotificationCenter_didReceiveNotificationResponse_withCompletionHandler_(
        self, center: Any, response: Any, done: Callable[[], None]
    ) -> None:
        info = response.notification().request().content().userInfo() or {}
        route = info.get(ROUTE)
        if isinstance(route, str):
            on_main(lambda: self.opened(route))
        done()

    def userNotificationCenter_willPresentNotification_withCompletionHandler_(
        self, center: Any, notification: Any, present: Callable[[int], None]
    ) -> None:
        """Shown although a window of ours is in front."""
        present(UNNotificationPresentationOptionBanner)


class Notifications:
    """`opened` gets the route of a notice that was clicked, on the main thread."""

    def __init__(self, opened: Callable[[str], None], trouble: Callable[[Exception], None]) -> None:
        self.opened, self.trouble = opened, trouble
        self.allowed = False
        self._listener: NotificationListener | None = None

    def start(self) -> None:
        """Ask once whether we may; the system remembers the answer."""
        if bundle_identifier() is None:
            return
        self._listener = NotificationListener.alloc().initWithOpen_(self.opened)
        center = UNUserNotificationCenter.currentNotificationCenter()
        center.setDelegate_(self._listener)
        options = UNAuthorizationOptionAlert | UNAuthorizationOptionSound
        center.requestAuthorizationWithOptions_completionHandler_(options, self._answered)

    def _answered(self, granted: bool, error: Any) -> None:
        self.allowed = bool(granted)

    def send(self, notice: Notice) -> bool:
        """Whether the system took it. One with the same id takes the place of the earlier."""
        if self._listener is None or not self.allowed:
            return False
        content = UNMutableNotificationContent.alloc().init()
        content.setTitle_(notice.title)
        content.setBody_(notice.text)
        content.setUserInfo_({ROUTE: notice.route})
        request = UNNotificationRequest.requestWithIdentifier_content_trigger_(notice.id, content, None)
        center = UNUserNotificationCenter.currentNotificationCenter()
        center.addNotificationRequest_withCompletionHandler_(request, self._sent)
        return True

    def _sent(self, error: Any) -> None:
        if error is not None:
            self.trouble(RuntimeError(f"a notification was refused: {error.localizedDescription()}"))

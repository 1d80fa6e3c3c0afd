"""System notifications. A click opens the route of the notice in the timeline.

The notification center ends a process without a bundle, so it is used only in the app.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import objc
from Foundation import NSObject
from UserNotifications import (
    UNAuthorizationOptionAlert,
    UNAuthorizationOptionSound,
    UNAuthorizationStatusAuthorized,
    UNAuthorizationStatusNotDetermined,
    UNMutableNotificationContent,
    UNNotificationPresentationOptionBanner,
    UNNotificationRequest,
    UNUserNotificationCenter,
)

from fazm_memory.macos.system import bundle_identifier, on_main
from fazm_memory.menubar import Notice
from fazm_memory.translation import translate

ROUTE = "route"


class NotificationListener(NSObject):
    """The center's delegate. It is called on any thread."""

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
        # Show it although our window is in front.
        present(UNNotificationPresentationOptionBanner)


class Notifications:
    """Sends notices. `opened` is called on the main thread with the route of a clicked one."""

    def __init__(self, opened: Callable[[str], None], trouble: Callable[[Exception], None]) -> None:
        self.opened, self.trouble = opened, trouble
        self.allowed = self.undecided = False
        self._listener: NotificationListener | None = None

    def start(self) -> None:
        """Listen for clicks, and find out whether we may send. Nobody is asked yet."""
        if bundle_identifier() is None:
            return
        self._listener = NotificationListener.alloc().initWithOpen_(self.opened)
        center = UNUserNotificationCenter.currentNotificationCenter()
        center.setDelegate_(self._listener)
        center.getNotificationSettingsWithCompletionHandler_(self._settings)

    def _settings(self, settings: Any) -> None:
        status = settings.authorizationStatus()
        self.allowed = status == UNAuthorizationStatusAuthorized
        self.undecided = status == UNAuthorizationStatusNotDetermined

    def ask(self) -> None:
        """Let the system ask the user. It does so once."""
        if self._listener is None:
            return
        self.undecided = False
        options = UNAuthorizationOptionAlert | UNAuthorizationOptionSound
        center = UNUserNotificationCenter.currentNotificationCenter()
        center.requestAuthorizationWithOptions_completionHandler_(options, self._answered)

    def _answered(self, granted: bool, error: Any) -> None:
        self.allowed = bool(granted)

    def send(self, notice: Notice) -> bool:
        """Send a notice, replacing one with the same id. Returns whether it was sent.

        The first notice asks for permission, so that the first launch does not.
        """
        if self.undecided:
            self.ask()
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
            why = str(error.localizedDescription())
            self.trouble(RuntimeError(translate("A notification was refused: {why}", why=why)))

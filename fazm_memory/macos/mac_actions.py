"""`SystemActions` on a Mac.

The window, the clipboard, dialogs, notifications, and messages to Fazm.

Called on the worker thread. Everything is done on the main thread; a question blocks only the worker.

A click on a notification opens its route in the timeline. The notification center ends a process without a
bundle, so it is used only in the app.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import objc
from AppKit import (
    NSApplication,
    NSPasteboard,
    NSPasteboardTypeString,
    NSRunningApplication,
    NSTextField,
    NSWorkspace,
    NSWorkspaceOpenConfiguration,
)
from Foundation import NSURL, NSDistributedNotificationCenter, NSMakeRect, NSObject
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

from fazm_memory.agents import FAZM_APP, FAZM_NOTIFICATION, FazmControl, FazmWindow, Resumed
from fazm_memory.macos.system import (
    alert,
    ask_on_main,
    bring_to_front,
    bundle_identifier,
    call_on_main,
    on_main,
    open_permission_settings,
    set_login_item,
)
from fazm_memory.macos.window import TimelineWindow
from fazm_memory.menubar import TERMINALS, Notice
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
    """Sends notices.

    `opened` is called on the main thread with the route of a clicked one.
    """

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


FIELD_SIZE = (320.0, 24.0)


class MacActions:
    def __init__(self, window: TimelineWindow, notifications: Notifications) -> None:
        self.window, self.notifications = window, notifications

    def show(self, route: str) -> None:
        call_on_main(lambda: self.window.show(route))

    def copy(self, text: str) -> None:
        def copy() -> None:
            board = NSPasteboard.generalPasteboard()
            board.clearContents()
            board.setString_forType_(text, NSPasteboardTypeString)

        call_on_main(copy)

    def open_file(self, path: Path) -> None:
        url = NSURL.fileURLWithPath_(str(path))
        if not call_on_main(lambda: NSWorkspace.sharedWorkspace().openURL_(url)):
            self.tell(translate("macOS could not open the file"), str(path))

    def open_page(self, address: str) -> None:
        url = NSURL.URLWithString_(address)
        if url is not None and url.scheme() == "https":
            call_on_main(lambda: NSWorkspace.sharedWorkspace().openURL_(url))

    def run_in_terminal(self, script: Path, terminal: str) -> None:
        """Run it in the chosen terminal.

        One that is not installed is replaced by the system's choice.
        """
        chosen = TERMINALS.get(terminal)
        app = None if chosen is None else call_on_main(lambda: _app_url(chosen.bundle))
        if chosen is None or app is None:
            self.open_file(script)
        else:
            call_on_main(lambda: _open_with(script, app, chosen.arguments))

    def fazm_windows(self) -> list[FazmWindow] | None:
        return FazmControl(_post).windows()

    def resume_in_fazm(self, session_key: str, folder: str | None, first_message: str) -> Resumed:
        control = FazmControl(_post, launch=lambda: call_on_main(_launch_fazm))
        return control.resume(session_key, folder, first_message)

    def tell(self, title: str, text: str) -> None:
        """Send a notification if we may, else show an alert."""
        notice = Notice("told", title, text, "#/")
        if not call_on_main(lambda: self.notifications.send(notice)):
            ask_on_main(lambda: alert(title, text, (translate("OK"),)), unanswered=False)

    def ask(self, title: str, text: str, yes: str) -> bool:
        return ask_on_main(lambda: alert(title, text, (yes, translate("Cancel"))), unanswered=False)

    def ask_words(self, title: str, text: str) -> str | None:
        def ask() -> str | None:
            field = NSTextField.alloc().initWithFrame_(NSMakeRect(0.0, 0.0, *FIELD_SIZE))
            answered = alert(title, text, (translate("Answer"), translate("Cancel")), field)
            return str(field.stringValue()) if answered else None

        return ask_on_main(ask, unanswered=None)

    def about(self) -> None:
        def show() -> None:
            bring_to_front()
            NSApplication.sharedApplication().orderFrontStandardAboutPanel_(None)

        call_on_main(show)

    def login(self, on: bool) -> str:
        return call_on_main(lambda: set_login_item(on))

    def permissions(self) -> None:
        call_on_main(open_permission_settings)

    def quit(self) -> None:
        on_main(lambda: NSApplication.sharedApplication().terminate_(None))


# -- other apps ------------------------------------------------------------------------------------------


def _app_url(bundle: str) -> NSURL | None:
    return NSWorkspace.sharedWorkspace().URLForApplicationWithBundleIdentifier_(bundle)


def _open_with(script: Path, app: NSURL, arguments: Sequence[str] | None) -> None:
    """Open a script in an app, as a document or as arguments of a new instance."""
    configuration = NSWorkspaceOpenConfiguration.configuration()
    workspace, url = NSWorkspace.sharedWorkspace(), NSURL.fileURLWithPath_(str(script))
    if arguments is None:
        workspace.openURLs_withApplicationAtURL_configuration_completionHandler_(
            [url], app, configuration, None
        )
        return
    configuration.setCreatesNewApplicationInstance_(True)  # a running one would not get the arguments
    configuration.setArguments_([*arguments, str(script)])
    workspace.openApplicationAtURL_configuration_completionHandler_(app, configuration, None)


def fazm_process() -> int | None:
    """The process id of Fazm, if it runs."""
    running = list(NSRunningApplication.runningApplicationsWithBundleIdentifier_(FAZM_APP))
    return int(running[0].processIdentifier()) if running else None


def _launch_fazm() -> bool:
    app = _app_url(FAZM_APP)
    if app is not None:
        configuration = NSWorkspaceOpenConfiguration.configuration()
        NSWorkspace.sharedWorkspace().openApplicationAtURL_configuration_completionHandler_(
            app, configuration, None
        )
    return app is not None


def _post(command: str) -> None:
    def post() -> None:
        center = NSDistributedNotificationCenter.defaultCenter()
        center.postNotificationName_object_userInfo_deliverImmediately_(
            FAZM_NOTIFICATION, None, {"command": command}, True
        )

    call_on_main(post)

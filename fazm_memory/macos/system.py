"""Small services of macOS.

App bundle, alerts, launch at login, the Accessibility permission.
"""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from datetime import datetime
from typing import Any, TypeVar

from AppKit import NSAlert, NSAlertFirstButtonReturn, NSApplication, NSTextField, NSWorkspace
from ApplicationServices import AXIsProcessTrusted, AXIsProcessTrustedWithOptions, kAXTrustedCheckOptionPrompt
from Foundation import NSURL, NSBundle, NSDateFormatter, NSLocale
from PyObjCTools import AppHelper
from ServiceManagement import SMAppService, SMAppServiceStatusEnabled, SMAppServiceStatusRequiresApproval

from fazm_memory.errors import FazmMemoryError
from fazm_memory.menubar import error_text
from fazm_memory.translation import first_supported, set_language, translate

WEEKDAY_TIME = "EEEE jmm"  # the order and the 12 or 24 hours are the system's choice


def preferred_language(chosen: str) -> str:
    """The language of the settings.

    With "auto", the first of the user's languages that we have.
    """
    if chosen != "auto":
        return chosen
    return first_supported([str(name) for name in NSLocale.preferredLanguages()])


def format_weekday_time(moment: datetime) -> str:
    formatter = NSDateFormatter.alloc().init()
    formatter.setLocalizedDateFormatFromTemplate_(WEEKDAY_TIME)
    return str(formatter.stringFromDate_(moment.astimezone()))  # pyobjc reads a datetime as local time


T = TypeVar("T")

# -- the app bundle --------------------------------------------------------------------------------------

PYTHON = "org.python."  # a plain interpreter runs inside Python.app, which has an identifier too


def bundle_identifier() -> str | None:
    """The identifier of our app bundle, or None when a plain interpreter runs us.

    Some system services end a process that has no bundle, so this is checked first.
    """
    identifier = NSBundle.mainBundle().bundleIdentifier()
    if identifier is None or str(identifier).startswith(PYTHON):
        return None
    return str(identifier)


def bundle_path() -> str:
    return str(NSBundle.mainBundle().bundlePath())


# -- alerts ----------------------------------------------------------------------------------------------


def bring_to_front() -> None:
    """Make us the active app.

    A menu bar item is not, so its windows would open behind others.
    """
    app = NSApplication.sharedApplication()
    if app.respondsToSelector_("activate"):
        app.activate()  # type: ignore[deprecated, unused-ignore]
    else:
        app.activateIgnoringOtherApps_(True)


_closing = threading.Event()  # the app quits: no alert is shown any more, and all count as not answered
_waiting: dict[Future[Any], Any] = {}  # threads that wait for an alert, and their result if nobody answers


def ask_on_main(show: Callable[[], T], unanswered: T) -> T:
    """Show an alert with `show` on the main thread and wait for its result.

    Not from the main thread itself.

    When the app quits, macOS waits for us inside the alert's own event loop, so `show` does not return any
    more. The thread that waits gets `unanswered`.
    """
    result: Future[T] = Future()
    _waiting[result] = unanswered

    def do() -> None:
        try:
            shown: T | Exception = show()
        except Exception as error:
            shown = error
        if result.done():
            return  # the app quits
        if isinstance(shown, Exception):
            result.set_exception(shown)
        else:
            result.set_result(shown)

    try:
        if _closing.is_set():
            return unanswered
        on_main(do)
        return result.result()
    finally:
        _waiting.pop(result, None)


def close_alerts() -> None:
    """Hide the alert that is open, if any, because the app quits. On the main thread."""
    _closing.set()
    for result, unanswered in list(_waiting.items()):
        if not result.done():
            result.set_result(unanswered)
    window = NSApplication.sharedApplication().modalWindow()
    if window is not None:
        window.orderOut_(None)


def alert(title: str, text: str, buttons: Sequence[str], field: NSTextField | None = None) -> bool:
    """Show a modal alert. Returns whether the first button was pressed."""
    if _closing.is_set():
        return False
    box = NSAlert.alloc().init()
    box.setMessageText_(title)
    box.setInformativeText_(text)
    for button in buttons:
        box.addButtonWithTitle_(button)
    if field is not None:
        box.setAccessoryView_(field)
        box.window().setInitialFirstResponder_(field)
    # Without this the alert would block quitting, logging out and shutting down.
    box.window().setPreventsApplicationTerminationWhenModal_(False)
    bring_to_front()
    return bool(box.runModal() == NSAlertFirstButtonReturn)


def show_failed_start(error: FazmMemoryError) -> None:
    """Say why the app cannot start.

    Before the event loop runs; only in the app, not in a terminal.
    """
    if bundle_identifier() is None:
        return
    set_language(preferred_language("auto"))  # the settings may be what is wrong
    alert(translate("Fazm Memory cannot start"), error_text(error)[1], (translate("Quit"),))


# -- launch at login -------------------------------------------------------------------------------------


def login_item_state() -> bool | None:
    """Whether we are launched at login. None if we are not an app."""
    if bundle_identifier() is None:
        return None
    return bool(SMAppService.mainAppService().status() == SMAppServiceStatusEnabled)


def set_login_item(on: bool) -> str:
    """Turn launch at login on or off.

    Returns a message for the user, or an empty string.
    """
    if bundle_identifier() is None:
        return translate("Only the app can be launched at login, not a plain Python program.")
    service = SMAppService.mainAppService()
    done, error = service.registerAndReturnError_(None) if on else service.unregisterAndReturnError_(None)
    if on and service.status() == SMAppServiceStatusRequiresApproval:
        SMAppService.openSystemSettingsLoginItems()
        return translate("macOS asks you to allow it: System Settings → General → Login Items.")
    if not done:
        why = "" if error is None else str(error.localizedDescription())
        return translate("macOS refused. {why}", why=why or translate("No reason was given."))
    return ""


# -- the Accessibility permission ------------------------------------------------------------------------

SETTINGS = "x-apple.systempreferences:com.apple.preference.security?Privacy_Accessibility"


def has_permission() -> bool:
    return bool(AXIsProcessTrusted())


def prompt_permission() -> None:
    """Let the system ask.

    It does so once in the life of an app; after that only its settings help.
    """
    AXIsProcessTrustedWithOptions({kAXTrustedCheckOptionPrompt: True})


def open_permission_settings() -> None:
    NSWorkspace.sharedWorkspace().openURL_(NSURL.URLWithString_(SETTINGS))


# Work on the main thread, the only one that may use AppKit. It never waits for other threads


def _print_failure(error: Exception) -> None:
    traceback.print_exception(error)


_failed: Callable[[Exception], None] = _print_failure


def report_failures(report: Callable[[Exception], None]) -> None:
    """Pass on what `on_main` could not do. The system's event loop would only log it."""
    global _failed
    _failed = report


def on_main(work: Callable[[], object]) -> None:
    """Run `work` on the main thread soon, without waiting."""

    def do() -> None:
        try:
            work()
        except Exception as error:
            _failed(error)

    AppHelper.callAfter(do)


def call_on_main(work: Callable[[], T]) -> T:
    """Run `work` on the main thread and wait for its result.

    Not from the main thread itself.
    """
    if threading.current_thread() is threading.main_thread():
        raise RuntimeError("The main thread cannot wait for itself.")
    result: Future[T] = Future()

    def do() -> None:
        try:
            result.set_result(work())
        except Exception as error:
            result.set_exception(error)

    AppHelper.callAfter(do)
    return result.result()

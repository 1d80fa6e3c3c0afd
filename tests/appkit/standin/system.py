"""What the system keeps: the workspace, the pasteboard, defaults, notifications, the login item, URLs.

Completion handlers that Apple calls on a queue of its own are called here on another thread too, so that
AppKit in one of them is caught.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.appkit.standin.loop import answers, send
from tests.appkit.standin.runtime import held, taught
from tests.appkit.standin.web import Once, url

if TYPE_CHECKING:
    from tests.appkit.standin.mac import Mac

NOT_REGISTERED, ENABLED, REQUIRES_APPROVAL, NOT_FOUND = range(4)


def elsewhere(function: Callable[..., Any], *arguments: Any) -> None:
    """Call it on another thread and wait; what it raises is raised here."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            function(*arguments)
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, name="a queue of the system's")
    thread.start()
    thread.join()
    if raised:
        raise raised[0]


# -- workspace -------------------------------------------------------------------------------------------


@taught("NSWorkspace", "-frontmostApplication")
def _frontmost(mac: Mac, workspace: Any) -> Any:
    return mac.frontmost


@taught("NSWorkspace", "-openURL:")
def _open(mac: Mac, workspace: Any, where: Any) -> bool:
    mac.opened.append(where._p["text"])
    return True


@taught("NSWorkspace", "-openURL:configuration:completionHandler:")
def _open_with(mac: Mac, workspace: Any, where: Any, configuration: Any, handler: Any) -> None:
    mac.opened.append(where._p["text"])
    if handler is not None:
        elsewhere(handler, mac.make("NSRunningApplication"), None)


@taught("NSWorkspace", "-openURLs:withApplicationAtURL:configuration:completionHandler:")
def _open_in(mac: Mac, workspace: Any, urls: Any, app: Any, configuration: Any, handler: Any) -> None:
    mac.opened.extend((one._p["text"], app._p["text"]) for one in urls)
    if handler is not None:
        elsewhere(handler, mac.make("NSRunningApplication"), None)


@taught("NSWorkspace", "-openApplicationAtURL:configuration:completionHandler:")
def _open_app(mac: Mac, workspace: Any, app: Any, configuration: Any, handler: Any) -> None:
    arguments = held(configuration, "arguments")
    if arguments and held(configuration, "createsNewApplicationInstance") is not True:
        raise AssertionError("an app that runs already does not get these arguments")
    mac.opened.append((app._p["text"], list(arguments)) if arguments else app._p["text"])
    if handler is not None:
        elsewhere(handler, mac.make("NSRunningApplication"), None)


@taught("NSWorkspace", "-URLForApplicationWithBundleIdentifier:")
def _application(mac: Mac, workspace: Any, identifier: str) -> Any:
    path = mac.applications.get(identifier)
    return None if path is None else url(mac, "file://" + path)


@taught("NSWorkspace", "-activateFileViewerSelectingURLs:")
def _reveal(mac: Mac, workspace: Any, urls: Any) -> None:
    mac.opened.extend(one._p["text"] for one in urls)


@taught("NSRunningApplication", "+currentApplication")
def _current(mac: Mac, cls: Any) -> Any:
    return mac.singleton("NSRunningApplication", bundleIdentifier=mac.bundle_identifier)


@taught("NSRunningApplication", "+runningApplicationsWithBundleIdentifier:")
def _running(mac: Mac, cls: Any, identifier: str) -> list[Any]:
    return [one for one in mac.running if one.bundleIdentifier() == identifier]


@taught("NSRunningApplication", "-activateWithOptions:")
def _activate(mac: Mac, app: Any, options: int) -> bool:
    app._p["active"] = True
    return True


@taught("NSPasteboard", "+generalPasteboard")
def _pasteboard(mac: Mac, cls: Any) -> Any:
    return mac.singleton("NSPasteboard")


@taught("NSPasteboard", "-clearContents")
def _clear(mac: Mac, board: Any) -> int:
    mac.pasteboard.clear()
    return 1


@taught("NSPasteboard", "-setString:forType:")
def _set_string(mac: Mac, board: Any, text: str, kind: str) -> bool:
    mac.pasteboard[kind] = text
    return True


@taught("NSPasteboard", "-stringForType:")
def _string(mac: Mac, board: Any, kind: str) -> str | None:
    return mac.pasteboard.get(kind)


@taught("NSAppleScript", "-initWithSource:")
def _script(mac: Mac, script: Any, source: str) -> Any:
    script._p["source"] = source
    return script


@taught("NSAppleScript", "-executeAndReturnError:")
def _execute(mac: Mac, script: Any, out: None) -> tuple[Any, Any]:
    mac.apple_scripts.append(script._p["source"])
    if mac.apple_script_error is not None:
        return None, mac.apple_script_error
    return mac.make("NSAppleEventDescriptor"), None


# -- this app --------------------------------------------------------------------------------------------


@taught("NSBundle", "+mainBundle")
def _bundle(mac: Mac, cls: Any) -> Any:
    return mac.singleton("NSBundle", bundleIdentifier=mac.bundle_identifier)


@taught("NSBundle", "-objectForInfoDictionaryKey:")
def _info(mac: Mac, bundle: Any, key: str) -> Any:
    return mac.info.get(key)


@taught("NSBundle", "-infoDictionary")
def _info_dictionary(mac: Mac, bundle: Any) -> dict[str, Any]:
    return mac.info


@taught("NSBundle", "-bundlePath")
def _bundle_path(mac: Mac, bundle: Any) -> str:
    return mac.bundle_path


@taught("NSUserDefaults", "-objectForKey:", "-stringForKey:", "-dictionaryForKey:", "-arrayForKey:")
def _default(mac: Mac, defaults: Any, key: str) -> Any:
    return mac.defaults.get(key)


@taught("NSUserDefaults", "-boolForKey:")
def _default_bool(mac: Mac, defaults: Any, key: str) -> bool:
    return bool(mac.defaults.get(key))


@taught("NSUserDefaults", "-setObject:forKey:", "-setBool:forKey:")
def _set_default(mac: Mac, defaults: Any, value: Any, key: str) -> None:
    mac.defaults[key] = value


@taught("NSProcessInfo", "+processInfo")
def _process_info(mac: Mac, cls: Any) -> Any:
    return mac.singleton("NSProcessInfo")


@taught("NSProcessInfo", "-beginActivityWithOptions:reason:")
def _begin_activity(mac: Mac, info: Any, options: int, reason: str) -> Any:
    mac.activities.append((options, reason))
    return mac.make("NSObject")


@taught("NSProcessInfo", "-isOperatingSystemAtLeastVersion:")
def _at_least(mac: Mac, info: Any, version: Any) -> bool:
    return tuple(version) <= (*mac.system, 0)


@taught("NSProcessInfo", "-operatingSystemVersion")
def _version(mac: Mac, info: Any) -> tuple[int, ...]:
    return (*mac.system, 0)


@taught("NSAppleEventManager", "-setEventHandler:andSelector:forEventClass:andEventID:")
def _event_handler(mac: Mac, manager: Any, handler: Any, selector: str, kind: int, event: int) -> None:
    if not callable(getattr(handler, selector.replace(":", "_"), None)):
        raise AttributeError(f"{handler!r} does not answer to {selector!r}")
    mac.url_handler = handler, selector


@taught("NSAppleEventDescriptor", "-paramDescriptorForKeyword:")
def _parameter(mac: Mac, event: Any, key: int) -> Any:
    return event._p.get("parameter")


@taught("NSAppleEventDescriptor", "-stringValue")
def _string_value(mac: Mac, event: Any) -> Any:
    return event._p.get("stringValue")


# -- the login item --------------------------------------------------------------------------------------


@taught("SMAppService", "+mainAppService")
def _service(mac: Mac, cls: Any) -> Any:
    return mac.singleton("SMAppService")


@taught("SMAppService", "-status")
def _status(mac: Mac, service: Any) -> int:
    return mac.login_item


@taught("SMAppService", "-registerAndReturnError:")
def _register(mac: Mac, service: Any, out: None) -> tuple[bool, Any]:
    if mac.login_item_error is not None:
        error = mac.make("NSError", domain="SMAppServiceErrorDomain", code=mac.login_item_error)
        return False, error
    mac.login_item = REQUIRES_APPROVAL if mac.login_item_needs_approval else ENABLED
    return True, None


@taught("SMAppService", "-unregisterAndReturnError:")
def _unregister(mac: Mac, service: Any, out: None) -> tuple[bool, Any]:
    mac.login_item = NOT_REGISTERED
    return True, None


@taught("SMAppService", "+openSystemSettingsLoginItems")
def _login_settings(mac: Mac, cls: Any) -> None:
    mac.opened.append("login items")


# -- user notifications ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Notified:
    identifier: str
    title: str | None
    body: str | None
    info: Any


@taught("UNUserNotificationCenter", "+currentNotificationCenter")
def _center(mac: Mac, cls: Any) -> Any:
    if mac.bundle_identifier is None:
        raise RuntimeError("bundleProxyForCurrentProcess is nil: outside a bundle this ends the process")
    return mac.singleton("UNUserNotificationCenter")


@taught("UNUserNotificationCenter", "-requestAuthorizationWithOptions:completionHandler:")
def _authorize(mac: Mac, center: Any, options: int, handler: Any) -> None:
    mac.notification_requests += 1
    elsewhere(handler, mac.notifications_allowed, None)


@taught("UNUserNotificationCenter", "-getNotificationSettingsWithCompletionHandler:")
def _settings(mac: Mac, center: Any, handler: Any) -> None:
    # UNAuthorizationStatusNotDetermined until the user was asked, then …Authorized or …Denied
    status = 0 if not mac.notification_requests else 2 if mac.notifications_allowed else 1
    elsewhere(handler, mac.make("UNNotificationSettings", authorizationStatus=status))


@taught("UNNotificationRequest", "+requestWithIdentifier:content:trigger:")
def _request(mac: Mac, cls: Any, identifier: str, content: Any, trigger: Any) -> Any:
    return mac.make("UNNotificationRequest", identifier=identifier, content=content, trigger=trigger)


@taught("UNNotificationAction", "+actionWithIdentifier:title:options:")
def _action(mac: Mac, cls: Any, identifier: str, title: str, options: int) -> Any:
    return mac.make("UNNotificationAction", identifier=identifier, title=title, options=options)


@taught("UNNotificationCategory", "+categoryWithIdentifier:actions:intentIdentifiers:options:")
def _category(mac: Mac, cls: Any, identifier: str, actions: Any, intents: Any, options: int) -> Any:
    return mac.make("UNNotificationCategory", identifier=identifier, actions=actions)


@taught("UNUserNotificationCenter", "-addNotificationRequest:withCompletionHandler:")
def _add(mac: Mac, center: Any, request: Any, handler: Any) -> None:
    content = request._p["content"]._p
    if mac.notifications_allowed:
        reply = Notified(
            request._p["identifier"], content.get("title"), content.get("body"), content.get("userInfo")
        )
        mac.notifications.append(reply)
        mac.delivered.append(request)
    if handler is not None:
        elsewhere(handler, None)


@taught("UNUserNotificationCenter", "-removeDeliveredNotificationsWithIdentifiers:")
def _withdraw(mac: Mac, center: Any, identifiers: Any) -> None:
    mac.delivered = [one for one in mac.delivered if one._p["identifier"] not in identifiers]


class Person:
    """What a person or the system does to the app from outside; a part of the Mac."""

    def tap(self: Mac, identifier: str, action: str = "UNNotificationDefaultActionIdentifier") -> None:  # type: ignore[misc]
        """A click on a notification, or on one of its buttons."""
        request = next(one for one in self.delivered if one._p["identifier"] == identifier)
        center = self.singleton("UNUserNotificationCenter")
        delegate, done = held(center, "delegate"), Once(0)
        notification = self.make("UNNotification", request=request)
        response = self.make("UNNotificationResponse", notification=notification, actionIdentifier=action)
        selector = "userNotificationCenter:didReceiveNotificationResponse:withCompletionHandler:"
        if not answers(delegate, selector):
            raise AssertionError("nobody listens to clicks on notifications")
        elsewhere(send, delegate, selector, center, response, done)  # on no thread that Apple promises
        self.loop.wait_for(lambda: done.given is not None)

    def open_url(self: Mac, where: str) -> None:  # type: ignore[misc]
        """Somebody clicked a link of our scheme."""
        delegate = held(self.singleton("NSApplication"), "delegate")
        if self.url_handler is not None:
            handler, selector = self.url_handler
            inner = self.make("NSAppleEventDescriptor", stringValue=where)
            send(handler, selector, self.make("NSAppleEventDescriptor", parameter=inner), None)
        elif answers(delegate, "application:openURLs:"):
            delegate.application_openURLs_(self.singleton("NSApplication"), [url(self, where)])
        else:
            raise AssertionError("nobody answers the URL scheme")
        self.loop.settle()

    def reopen(self: Mac) -> Any:  # type: ignore[misc]
        """The app was opened again, from Finder or the Dock."""
        app = self.singleton("NSApplication")
        delegate = held(app, "delegate")
        visible = any(one._p.get("visible") for one in self.windows)
        return delegate.applicationShouldHandleReopen_hasVisibleWindows_(app, visible)


@taught("NSWorkspaceOpenConfiguration", "+configuration")
def _open_configuration(mac: Mac, cls: Any) -> Any:
    return mac.make("NSWorkspaceOpenConfiguration")


# -- language and dates ----------------------------------------------------------------------------------


@taught("NSLocale", "+preferredLanguages")
def _preferred_languages(mac: Mac, cls: Any) -> list[str]:
    return list(mac.languages)


@taught("NSDateFormatter", "-setLocalizedDateFormatFromTemplate:")
def _date_template(mac: Mac, formatter: Any, template: str) -> None:
    formatter._p["template"] = template


@taught("NSDateFormatter", "-stringFromDate:")
def _date_string(mac: Mac, formatter: Any, date: Any) -> str:
    """The template and the moment: how a system writes them is its own business."""
    return f"{formatter._p['template']} {mac.languages[0]} {date:%Y-%m-%d %H:%M}"

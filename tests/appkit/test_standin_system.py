"""The stand-in's system: notifications, the login item, links, windows, the desktop; and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest

from fazm_memory.watch.scope import Exclusions
from tests.appkit.ax_world import Window, World
from tests.appkit.standin.mac import Mac
from tests.appkit.standin.runtime import BadPrototypeError, ObjCError, ObjCSuperWarning, OffMainThread
from tests.appkit.standin.system import ENABLED, NOT_REGISTERED, REQUIRES_APPROVAL, Notified


def notify(identifier: str) -> None:
    from UserNotifications import (
        UNMutableNotificationContent,
        UNNotificationRequest,
        UNUserNotificationCenter,
    )

    content = UNMutableNotificationContent.alloc().init()
    content.setTitle_("Done")
    content.setBody_("All of it")
    content.setUserInfo_({"route": "#/"})
    request = UNNotificationRequest.requestWithIdentifier_content_trigger_(identifier, content, None)
    UNUserNotificationCenter.currentNotificationCenter().addNotificationRequest_withCompletionHandler_(
        request, lambda error: None
    )


def test_a_notification_is_shown_and_tapped(mac: Mac) -> None:
    from Foundation import NSObject
    from UserNotifications import UNUserNotificationCenter

    routes: list[str] = []

    class Listener(NSObject):
        def userNotificationCenter_didReceiveNotificationResponse_withCompletionHandler_(
            self, center: Any, response: Any, done: Any
        ) -> None:
            routes.append(response.notification().request().content().userInfo()["route"])
            done()

    listener = Listener.alloc().init()
    UNUserNotificationCenter.currentNotificationCenter().setDelegate_(listener)
    notify("one")
    assert mac.notifications == [Notified("one", "Done", "All of it", {"route": "#/"})]
    mac.tap("one")
    assert routes == ["#/"]


def test_outside_a_bundle_the_notification_center_ends_the_process() -> None:
    with Mac(bundle_identifier=None).installed(), pytest.raises(RuntimeError, match="bundle"):
        notify("one")


def test_a_completion_handler_of_the_systems_is_on_another_thread(mac: Mac) -> None:
    from AppKit import NSApplication
    from UserNotifications import UNUserNotificationCenter

    center = UNUserNotificationCenter.currentNotificationCenter()
    with pytest.raises(OffMainThread):
        center.requestAuthorizationWithOptions_completionHandler_(
            4, lambda granted, error: NSApplication.sharedApplication().activateIgnoringOtherApps_(True)
        )


def test_the_login_item_is_registered_approved_and_removed(mac: Mac) -> None:
    from ServiceManagement import SMAppService

    service = SMAppService.mainAppService()
    assert service.status() == NOT_REGISTERED
    mac.login_item_needs_approval = True
    assert service.registerAndReturnError_(None) == (True, None)
    assert service.status() == REQUIRES_APPROVAL
    mac.login_item = ENABLED  # the user allowed it
    assert service.unregisterAndReturnError_(None) == (True, None)
    assert service.status() == NOT_REGISTERED
    mac.login_item_error = 3
    done, error = service.registerAndReturnError_(None)
    assert (done, error.code()) == (False, 3)


def test_an_out_argument_is_given_as_none(mac: Mac) -> None:
    from ServiceManagement import SMAppService

    with pytest.raises(TypeError, match="comes back"):
        SMAppService.mainAppService().registerAndReturnError_([])


def test_a_window_that_was_released_on_closing_cannot_be_shown_again(mac: Mac) -> None:
    from AppKit import NSBackingStoreBuffered, NSMakeRect, NSWindow

    def window() -> Any:
        return NSWindow.alloc().initWithContentRect_styleMask_backing_defer_(
            NSMakeRect(0, 0, 1, 1), 1, NSBackingStoreBuffered, False
        )

    released, kept = window(), window()
    kept.setReleasedWhenClosed_(False)
    for one in (released, kept):
        one.makeKeyAndOrderFront_(None)
        one.close()
    kept.makeKeyAndOrderFront_(None)
    assert kept.isVisible()
    with pytest.raises(RuntimeError, match="released"):
        released.makeKeyAndOrderFront_(None)


def test_a_link_reaches_the_delegate_of_the_app(mac: Mac) -> None:
    from AppKit import NSApplication
    from Foundation import NSObject

    opened: list[str] = []

    class Delegate(NSObject):
        def application_openURLs_(self, app: Any, urls: Any) -> None:
            opened.extend(one.absoluteString() for one in urls)

    with pytest.raises(AssertionError, match="nobody answers"):
        mac.open_url("fazm-memory://resume/1")
    delegate = Delegate.alloc().init()
    NSApplication.sharedApplication().setDelegate_(delegate)
    mac.open_url("fazm-memory://resume/1")
    assert opened == ["fazm-memory://resume/1"]


def test_the_scripted_desktop_drives_our_accessibility_code_over_the_stand_in(mac: Mac) -> None:
    from fazm_memory.macos.accessibility import AccessibilitySource

    world = World()
    world.join(mac)
    troubles: list[Exception] = []
    results: list[Any] = []
    source = AccessibilitySource(world.now, exclusions=Exclusions(), trouble=troubles.append)
    source.start(results.append)
    editor = world.app("Editor", "org.example.editor", Window("notes.md"))
    world.activate(editor)
    mac.advance(11)
    mac.workspace("NSWorkspaceWillSleepNotification")
    source.stop()
    assert troubles == []
    assert ("Editor", "notes.md") in [
        (getattr(one, "app", None), getattr(one, "title", None)) for one in results
    ]
    assert type(results[-1]).__name__ == "Unavailable"
    assert mac.loop.timers() == []
    assert world.registered == 0


def test_a_plain_function_is_no_c_callback(mac: Mac) -> None:
    import objc
    from ApplicationServices import AXObserverCreate

    with pytest.raises(TypeError, match="callbackFor"):
        AXObserverCreate(1, lambda observer, element, name, refcon: None, None)
    with pytest.raises(BadPrototypeError):
        objc.callbackFor(AXObserverCreate)(lambda observer: None)


def test_a_method_whose_arguments_do_not_fit_its_name_raises(mac: Mac) -> None:
    from Foundation import NSObject

    with pytest.raises(BadPrototypeError, match="refresh"):

        class Wrong(NSObject):
            def refresh(self, force: bool) -> None: ...


def test_a_class_cannot_be_defined_twice(mac: Mac) -> None:
    from Foundation import NSObject

    type(NSObject)("Once", (NSObject,), {})
    with pytest.raises(ObjCError, match="overriding existing"):
        type(NSObject)("Once", (NSObject,), {})


def test_a_bare_super_warns_as_pyobjc_does(mac: Mac) -> None:
    from Foundation import NSObject

    with pytest.raises(ObjCSuperWarning):

        class Bare(NSObject):
            def init(self) -> Any:
                return super().init()


def test_a_timer_whose_target_does_not_answer_raises(mac: Mac) -> None:
    from Foundation import NSObject, NSTimer

    class Deaf(NSObject):
        pass

    with pytest.raises(AttributeError, match="tick:"):
        NSTimer.timerWithTimeInterval_target_selector_userInfo_repeats_(
            1, Deaf.alloc().init(), "tick:", None, 1
        )


def test_our_modules_are_bound_to_the_mac_they_were_imported_on() -> None:
    states = []
    for state in (NOT_REGISTERED, ENABLED):
        with Mac().installed() as mac:
            from fazm_memory.macos import system

            mac.login_item = state
            states.append(system.SMAppService.mainAppService().status())
    assert states == [NOT_REGISTERED, ENABLED]


def test_everything_is_as_before_when_the_mac_is_gone() -> None:
    import sys

    with Mac().installed():
        import AppKit

        assert AppKit.NSMenu is not None
    assert not {"AppKit", "objc", "rumps"} & set(sys.modules)

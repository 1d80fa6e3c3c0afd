"""The timeline's window: made when first asked for, kept when closed, found again from Finder or the Dock.

While it is open we are an app like others, with a place in the Dock and a menu with Copy and Paste in it;
when it closes we are a menu bar item again.
"""

from __future__ import annotations

import json
from typing import Any

from AppKit import (
    NSApplication,
    NSApplicationActivationPolicyAccessory,
    NSApplicationActivationPolicyRegular,
    NSBackingStoreBuffered,
    NSMenu,
    NSMenuItem,
    NSWindow,
    NSWindowStyleMaskClosable,
    NSWindowStyleMaskMiniaturizable,
    NSWindowStyleMaskResizable,
    NSWindowStyleMaskTitled,
)
from Foundation import NSURL, NSMakeRect, NSMakeSize, NSObject, NSURLRequest
from WebKit import (
    WKContentWorld,
    WKUserScript,
    WKUserScriptInjectionTimeAtDocumentStart,
    WKWebsiteDataStore,
    WKWebView,
    WKWebViewConfiguration,
)

from fazm_memory.macos.asking import bring_to_front
from fazm_memory.macos.page import (
    BRIDGE,
    BRIDGE_SCRIPT,
    ORIGIN,
    SCHEME,
    Answering,
    Bridge,
    Respond,
    SchemeHandler,
)

TITLE = "Fazm Memory"
SIZE = (1120.0, 720.0)
SMALLEST = (480.0, 360.0)
STYLE = (
    NSWindowStyleMaskTitled
    | NSWindowStyleMaskClosable
    | NSWindowStyleMaskResizable
    | NSWindowStyleMaskMiniaturizable
)
SEARCH = "#/?search"
FOCUS_SEARCH = "document.querySelector('fm-search input')?.focus()"
# title, selector, key
APP_MENU = (("Close Window", "performClose:", "w"), ("Quit Fazm Memory", "terminate:", "q"))
EDIT_MENU = (
    ("Undo", "undo:", "z"),
    ("Cut", "cut:", "x"),
    ("Copy", "copy:", "c"),
    ("Paste", "paste:", "v"),
    ("Select All", "selectAll:", "a"),
)


class WindowListener(NSObject):
    def windowWillClose_(self, note: Any) -> None:
        NSApplication.sharedApplication().setActivationPolicy_(NSApplicationActivationPolicyAccessory)


class TimelineWindow:
    def __init__(self, respond: Respond) -> None:
        self.answering = Answering(respond)
        self._window: NSWindow | None = None
        self._view: WKWebView | None = None
        self._kept: list[Any] = []  # delegates: the system holds them weakly
        self._bridge: Bridge | None = None

    def show(self, route: str = "#/") -> None:
        """Bring it to the front, at an address of the page."""
        if self._window is None:
            self._make()
            self._load(route)
        else:
            self._go(route)
        app = NSApplication.sharedApplication()
        app.setActivationPolicy_(NSApplicationActivationPolicyRegular)
        bring_to_front()
        if self._window is not None:
            self._window.makeKeyAndOrderFront_(None)

    def is_visible(self) -> bool:
        return self._window is not None and bool(self._window.isVisible())

    def stop(self) -> None:
        """No more answers. The window goes with the app."""
        self.answering.stop()

    # -- making it ---------------------------------------------------------------------------------------

    def _make(self) -> None:
        scheme = SchemeHandler.alloc().initWithAnswering_(self.answering)
        bridge = Bridge.alloc().initWithAnswering_(self.answering)
        listener = WindowListener.alloc().init()
        self._kept, self._bridge = [scheme, listener], bridge
        configuration = WKWebViewConfiguration.alloc().init()
        configuration.setWebsiteDataStore_(WKWebsiteDataStore.nonPersistentDataStore())
        configuration.setURLSchemeHandler_forURLScheme_(scheme, SCHEME)
        content = configuration.userContentController()
        content.addScriptMessageHandlerWithReply_contentWorld_name_(
            bridge, WKContentWorld.pageWorld(), BRIDGE
        )
        script = WKUserScript.alloc().initWithSource_injectionTime_forMainFrameOnly_(
            BRIDGE_SCRIPT, WKUserScriptInjectionTimeAtDocumentStart, True
        )
        content.addUserScript_(script)
        frame = NSMakeRect(0.0, 0.0, *SIZE)
        window = NSWindow.alloc().initWithContentRect_styleMask_backing_defer_(
            frame, STYLE, NSBackingStoreBuffered, False
        )
        window.setReleasedWhenClosed_(False)
        window.setTitle_(TITLE)
        window.setContentMinSize_(NSMakeSize(*SMALLEST))
        view = WKWebView.alloc().initWithFrame_configuration_(frame, configuration)
        view.setNavigationDelegate_(bridge)
        window.setDelegate_(listener)
        window.setContentView_(view)
        window.center()
        window.setFrameAutosaveName_("timeline")
        NSApplication.sharedApplication().setMainMenu_(main_menu())
        self._window, self._view = window, view

    def _load(self, route: str) -> None:
        if self._view is not None and self._bridge is not None:
            url = NSURL.URLWithString_(f"{ORIGIN}/{'' if route == SEARCH else route}")
            self._bridge.then = FOCUS_SEARCH if route == SEARCH else ""
            self._view.loadRequest_(NSURLRequest.requestWithURL_(url))

    def _go(self, route: str) -> None:
        """To another place of a page that is there: its address is the one truth of what it shows."""
        if self._view is None:
            return
        script = FOCUS_SEARCH if route == SEARCH else f"location.hash = {json.dumps(route)}"
        self._view.evaluateJavaScript_completionHandler_(script, None)


def main_menu() -> NSMenu:
    """What a window needs above it: without an Edit menu nothing can be copied by its key."""
    bar = NSMenu.alloc().init()
    for title, rows in (("Fazm Memory", APP_MENU), ("Edit", EDIT_MENU)):
        menu = NSMenu.alloc().initWithTitle_(title)
        for name, action, key in rows:
            menu.addItemWithTitle_action_keyEquivalent_(name, action, key)
        holder = NSMenuItem.alloc().init()
        holder.setSubmenu_(menu)
        bar.addItem_(holder)
    return bar

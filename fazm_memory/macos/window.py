"""The timeline window, created when first shown and kept when closed.

While it is open the app has a Dock icon and a main menu with Copy and Paste. When it closes, the app is only
a menu bar item again.
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

from fazm_memory.macos.page import (
    BRIDGE,
    BRIDGE_SCRIPT,
    ORIGIN,
    SCHEME,
    Bridge,
    PageResponder,
    Respond,
    SchemeHandler,
)
from fazm_memory.macos.system import bring_to_front
from fazm_memory.translation import translate

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
SETUP = "#/setup"
FOCUS_SEARCH = "document.querySelector('fm-search input')?.focus()"
# title, selector, key
APP_MENU = (
    ("About Fazm Memory", "orderFrontStandardAboutPanel:", ""),
    ("Quit Fazm Memory", "terminate:", "q"),
)
EDIT_MENU = (
    ("Undo", "undo:", "z"),
    ("Cut", "cut:", "x"),
    ("Copy", "copy:", "c"),
    ("Paste", "paste:", "v"),
    ("Select All", "selectAll:", "a"),
)
WINDOW_MENU = (
    ("Close Window", "performClose:", "w"),
    ("Minimize", "performMiniaturize:", "m"),
    ("Zoom", "performZoom:", ""),
    ("Bring All to Front", "arrangeInFront:", ""),
)


class WindowListener(NSObject):
    def windowWillClose_(self, note: Any) -> None:
        NSApplication.sharedApplication().setActivationPolicy_(NSApplicationActivationPolicyAccessory)


class TimelineWindow:
    def __init__(self, respond: Respond) -> None:
        self.answering = PageResponder(respond)
        self._window: NSWindow | None = None
        self._view: WKWebView | None = None
        self._delegates: list[Any] = []  # the system holds them weakly
        self._bridge: Bridge | None = None

    def show(self, route: str = "#/") -> None:
        """Bring the window to the front at a route of the page."""
        if self._window is None:
            self._make()
            self._load(route)
        elif self._view is not None and self._view.isLoading():
            self._load(route)  # there is no page yet that could go there
        else:
            self._go(route)
        app = NSApplication.sharedApplication()
        app.setActivationPolicy_(NSApplicationActivationPolicyRegular)
        bring_to_front()
        if self._window is not None:
            self._window.makeKeyAndOrderFront_(None)
            self._window.orderFrontRegardless()  # from macOS 14 on, another app need not give up its place

    def is_visible(self) -> bool:
        return self._window is not None and bool(self._window.isVisible())

    def stop(self) -> None:
        """Stop answering requests of the page."""
        self.answering.stop()

    def _make(self) -> None:
        scheme = SchemeHandler.alloc().initWithAnswering_(self.answering)
        bridge = Bridge.alloc().initWithAnswering_(self.answering)
        listener = WindowListener.alloc().init()
        self._delegates, self._bridge = [scheme, listener], bridge
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
        install_main_menu()
        self._window, self._view = window, view

    def _load(self, route: str) -> None:
        if self._view is not None and self._bridge is not None:
            url = NSURL.URLWithString_(f"{ORIGIN}/{'' if route == SEARCH else route}")
            self._bridge.then = FOCUS_SEARCH if route == SEARCH else ""
            self._view.loadRequest_(NSURLRequest.requestWithURL_(url))

    def _go(self, route: str) -> None:
        """Go to another route of the loaded page."""
        if self._view is None:
            return
        script = FOCUS_SEARCH if route == SEARCH else f"location.hash = {json.dumps(route)}"
        self._view.evaluateJavaScript_completionHandler_(script, None)


def install_main_menu() -> None:
    """Set the main menu. Without an Edit menu the keyboard shortcuts for copying do not work."""
    app = NSApplication.sharedApplication()
    bar = NSMenu.alloc().init()
    for title, rows in (("Fazm Memory", APP_MENU), ("Edit", EDIT_MENU), ("Window", WINDOW_MENU)):
        menu = NSMenu.alloc().initWithTitle_(translate(title))
        for name, action, key in rows:
            menu.addItemWithTitle_action_keyEquivalent_(translate(name), action, key)
        holder = NSMenuItem.alloc().init()
        holder.setSubmenu_(menu)
        bar.addItem_(holder)
        if rows is WINDOW_MENU:
            app.setWindowsMenu_(menu)  # the system lists the windows there
    app.setMainMenu_(bar)

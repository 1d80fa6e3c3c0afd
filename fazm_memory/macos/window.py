"""The timeline window, created when first shown and kept when closed.

While it is open the app has a Dock icon and a main menu with Copy and Paste. When it closes, the app is only
a menu bar item again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import objc
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
    NSWorkspace,
)
from Foundation import (
    NSURL,
    NSData,
    NSError,
    NSHTTPURLResponse,
    NSMakeRect,
    NSMakeSize,
    NSObject,
    NSURLRequest,
)
from WebKit import (
    WKContentWorld,
    WKNavigationActionPolicyAllow,
    WKNavigationActionPolicyCancel,
    WKNavigationTypeLinkActivated,
    WKUserScript,
    WKUserScriptInjectionTimeAtDocumentStart,
    WKWebsiteDataStore,
    WKWebView,
    WKWebViewConfiguration,
)

from fazm_memory.macos.system import bring_to_front, on_main
from fazm_memory.translation import translate

# The page inside the window, served in process over `fazm://` without a port
#
# GET requests use the URL scheme. POST requests use a script message with a reply, because WebKit does not
# guarantee a scheme handler the body of a request. Responses are made on worker threads and delivered on
# the main thread.

SCHEME, HOST = "fazm", "app"
ORIGIN = f"{SCHEME}://{HOST}"
EXTERNAL = ("http", "https")  # a link of these that the user clicks opens in their browser
BRIDGE = "fazm"
LARGEST = 2 << 20  # bytes of one message from the page
DOMAIN = "org.fazm.memory"
THREADS = 4

# method, path with query, headers, body → status, headers, body
Respond = Callable[[str, str, Mapping[str, str], bytes], tuple[int, Mapping[str, str], bytes]]

# Replaces `fetch` for POST, which goes through the bridge.
BRIDGE_SCRIPT = """
(() => {
  const real = window.fetch.bind(window);
  window.fetch = (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : input, location.href);
    if ((init.method || "GET").toUpperCase() !== "POST" || url.protocol !== "fazm:") return real(input, init);
    return window.webkit.messageHandlers.fazm
      .postMessage({ path: url.pathname + url.search, body: String(init.body ?? "") })
      .then(([status, body]) => new Response(body, { status }));
  };
})();
"""


class PageResponder:
    """Makes responses on its own threads."""

    def __init__(self, respond: Respond) -> None:
        self.respond = respond
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="page")

    def ask(
        self, method: str, path: str, body: bytes, done: Callable[[int, Mapping[str, str], bytes], None]
    ) -> None:
        """Call `done` once, on the main thread, with the response."""

        def work() -> None:
            headers = {"origin": ORIGIN} | ({"content-type": "application/json"} if method == "POST" else {})
            try:
                answer = self.respond(method, path, headers, body)
            except Exception as error:  # the page shows it
                answer = (500, {"content-type": "text/plain"}, f"{type(error).__name__}: {error}".encode())
            on_main(lambda: done(*answer))

        self._threads.submit(work)

    def stop(self) -> None:
        self._threads.shutdown(wait=True, cancel_futures=True)


class SchemeHandler(NSObject):
    """Answers requests for `fazm://app/…`.

    A stopped task must not be answered: that would end the app.
    """

    def initWithAnswering_(self, answering: PageResponder) -> Any:
        self = objc.super(SchemeHandler, self).init()
        if self is not None:
            self.answering = answering
            self.tasks: dict[int, Any] = {}
        return self

    def webView_startURLSchemeTask_(self, view: Any, task: Any) -> None:
        request = task.request()
        url = request.URL()
        key = id(task)
        self.tasks[key] = task
        parts = urlsplit(str(url.absoluteString()))  # NSURL's own path is already decoded
        if parts.netloc != HOST or request.HTTPMethod() != "GET":
            self.refuse(key, "Only addresses of the page are answered.")
            return
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self.answering.ask("GET", path, b"", lambda *answer: self.give(key, url, *answer))

    def webView_stopURLSchemeTask_(self, view: Any, task: Any) -> None:
        self.tasks.pop(id(task), None)

    @objc.python_method
    def give(self, key: int, url: NSURL, status: int, headers: Mapping[str, str], body: bytes) -> None:
        task = self.tasks.pop(key, None)
        if task is None:
            return
        response = NSHTTPURLResponse.alloc().initWithURL_statusCode_HTTPVersion_headerFields_(
            url, status, "HTTP/1.1", dict(headers)
        )
        task.didReceiveResponse_(response)
        task.didReceiveData_(NSData.dataWithBytes_length_(body, len(body)))
        task.didFinish()

    @objc.python_method
    def refuse(self, key: int, why: str) -> None:
        task = self.tasks.pop(key)
        task.didFailWithError_(
            NSError.errorWithDomain_code_userInfo_(DOMAIN, 403, {"NSLocalizedDescription": why})
        )


class Bridge(NSObject):
    """Receives the page's POST requests, and allows navigation only within the page.

    A clicked link to the web opens in the user's browser.
    """

    def initWithAnswering_(self, answering: PageResponder) -> Any:
        self = objc.super(Bridge, self).init()
        if self is not None:
            self.answering = answering
            self.then = ""  # a script to run when the page has loaded
        return self

    def webView_didFinishNavigation_(self, view: Any, navigation: Any) -> None:
        script, self.then = self.then, ""
        if script:
            view.evaluateJavaScript_completionHandler_(script, None)

    def webViewWebContentProcessDidTerminate_(self, view: Any) -> None:
        # The page runs in a process of its own, which the system may end. The window would stay empty.
        view.reload()

    def userContentController_didReceiveScriptMessage_replyHandler_(
        self, controller: Any, message: Any, reply: Callable[[Any, Any], None]
    ) -> None:
        content, frame = message.body(), message.frameInfo()
        path, body = (content.get("path"), content.get("body")) if hasattr(content, "get") else (None, None)
        if not frame.isMainFrame() or frame.request().URL().scheme() != SCHEME:
            reply(None, "Only the page itself may send messages.")
        elif not isinstance(path, str) or not path.startswith("/") or not isinstance(body, str):
            reply(None, "A message needs a path and a body.")
        elif len(body) > LARGEST:
            reply(None, "The message is too large.")
        else:
            self.answering.ask(
                "POST", path, body.encode(), lambda status, _, text: reply([status, text.decode()], None)
            )

    def webView_decidePolicyForNavigationAction_decisionHandler_(
        self, view: Any, action: Any, decide: Callable[[int], None]
    ) -> None:
        url = action.request().URL()
        ours = url is not None and url.scheme() == SCHEME and url.host() == HOST
        decide(WKNavigationActionPolicyAllow if ours else WKNavigationActionPolicyCancel)
        clicked = action.navigationType() == WKNavigationTypeLinkActivated
        if url is not None and clicked and url.scheme() in EXTERNAL:
            NSWorkspace.sharedWorkspace().openURL_(url)


# The window

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
    """Set the main menu.

    Without an Edit menu the keyboard shortcuts for copying do not work.
    """
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

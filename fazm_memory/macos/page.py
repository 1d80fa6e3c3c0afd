"""The page inside the window: answered in process over `fazm://`, with no port and nothing remote.

Reading goes through the scheme, writing through a message with a reply, since WebKit does not promise a
scheme the body of a request. Answers are made on threads that may wait; they are handed over on the main one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import urlsplit

import objc
from Foundation import NSURL, NSData, NSError, NSHTTPURLResponse, NSObject
from WebKit import WKNavigationActionPolicyAllow, WKNavigationActionPolicyCancel

from fazm_memory.macos.main_thread import on_main

SCHEME, HOST = "fazm", "app"
ORIGIN = f"{SCHEME}://{HOST}"
BRIDGE = "fazm"
LARGEST = 2 << 20  # bytes of one message from the page
DOMAIN = "org.fazm.memory"
THREADS = 4

# method, path with query, headers, body → status, headers, body
Respond = Callable[[str, str, Mapping[str, str], bytes], tuple[int, Mapping[str, str], bytes]]

# The page asks as on any server; what it would post goes through the bridge.
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


class Answering:
    """Makes answers on threads of its own and hands them to whoever still wants them."""

    def __init__(self, respond: Respond) -> None:
        self.respond = respond
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="page")

    def ask(
        self, method: str, path: str, body: bytes, done: Callable[[int, Mapping[str, str], bytes], None]
    ) -> None:
        """`done` is called on the main thread, once, whatever happens."""

        def work() -> None:
            headers = {"origin": ORIGIN} | ({"content-type": "application/json"} if method == "POST" else {})
            try:
                answer = self.respond(method, path, headers, body)
            except Exception as error:  # the page shows it; nobody else would
                answer = (500, {"content-type": "text/plain"}, f"{type(error).__name__}: {error}".encode())
            on_main(lambda: done(*answer))

        self._threads.submit(work)

    def stop(self) -> None:
        self._threads.shutdown(wait=True, cancel_futures=True)


class SchemeHandler(NSObject):
    """WebKit asks for `fazm://app/…`. A task that was stopped must not be answered: that ends the app."""

    def initWithAnswering_(self, answering: Answering) -> Any:
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
        parts = urlsplit(str(url.absoluteString()))  # as it was asked: NSURL's own path is decoded already
        if parts.netloc != HOST or request.HTTPMethod() != "GET":
            self.refuse(key, "only the page's own addresses are answered")
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
    """What the page posts, and where it may go: nowhere but to itself."""

    def initWithAnswering_(self, answering: Answering) -> Any:
        self = objc.super(Bridge, self).init()
        if self is not None:
            self.answering = answering
            self.then = ""  # a script for when the page is there
        return self

    def webView_didFinishNavigation_(self, view: Any, navigation: Any) -> None:
        script, self.then = self.then, ""
        if script:
            view.evaluateJavaScript_completionHandler_(script, None)

    def userContentController_didReceiveScriptMessage_replyHandler_(
        self, controller: Any, message: Any, reply: Callable[[Any, Any], None]
    ) -> None:
        told = message.body()
        frame = message.frameInfo()
        asked = (told.get("path"), told.get("body")) if hasattr(told, "get") else (None, None)
        path, body = asked
        if not frame.isMainFrame() or frame.request().URL().scheme() != SCHEME:
            reply(None, "only the page itself is listened to")
        elif not isinstance(path, str) or not path.startswith("/") or not isinstance(body, str):
            reply(None, "a message needs a path and a body")
        elif len(body) > LARGEST:
            reply(None, "the message is too large")
        else:
            self.answering.ask(
                "POST", path, body.encode(), lambda status, _, said: reply([status, said.decode()], None)
            )

    def webView_decidePolicyForNavigationAction_decisionHandler_(
        self, view: Any, action: Any, decide: Callable[[int], None]
    ) -> None:
        url = action.request().URL()
        ours = url is not None and url.scheme() == SCHEME and url.host() == HOST
        decide(WKNavigationActionPolicyAllow if ours else WKNavigationActionPolicyCancel)

"""WebKit without an engine: requests to our own scheme, messages between page and app, and navigation.

A scheme task is as unforgiving as WebKit's: a response first, then data, then the end, once, and nothing
after a stop. A decision or reply that is never given, or given twice, is an error too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tests.appkit.standin.loop import answers
from tests.appkit.standin.runtime import held, taught

if TYPE_CHECKING:
    from tests.appkit.standin.mac import Mac


@dataclass
class Answer:
    """What a scheme handler answered."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""
    error: Any = None
    done: bool = False


class SchemeTask:
    """A `WKURLSchemeTask`, which may be answered later, on the main thread."""

    def __init__(self, mac: Mac, request: Any) -> None:
        self._mac, self._request, self.answer, self.stopped = mac, request, Answer(), False

    def request(self) -> Any:
        return self._request

    def _alive(self) -> None:
        self._mac.runtime.on_its_thread("WKWebView")
        if self.stopped:
            raise RuntimeError("This task has already been stopped")
        if self.answer.done:
            raise RuntimeError("This task has already been completed")

    def didReceiveResponse_(self, response: Any) -> None:
        self._alive()
        if self.answer.body:
            raise RuntimeError("No response may follow the data")
        self.answer.status = response._p.get("statusCode", 200)
        self.answer.headers = dict(response._p.get("allHeaderFields") or {})

    def didReceiveData_(self, data: Any) -> None:
        self._alive()
        if not self.answer.status:
            raise RuntimeError("No response has been sent for this task")
        self.answer.body += bytes(data)

    def didFinish(self) -> None:
        self._alive()
        if not self.answer.status:
            raise RuntimeError("No response has been sent for this task")
        self.answer.done = True

    def didFailWithError_(self, error: Any) -> None:
        self._alive()
        self.answer.error, self.answer.done = error, True


class Once:
    """A completion handler that must be called, and once."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.given: tuple[Any, ...] | None = None

    def __call__(self, *values: Any) -> None:
        if len(values) != self.count:
            raise TypeError(f"the handler takes {self.count} values, {len(values)} given")
        if self.given is not None:
            raise RuntimeError("Completion handler was called more than once")
        self.given = values


# -- requests --------------------------------------------------------------------------------------------


def url(mac: Mac, text: str) -> Any:
    return mac.make("NSURL", text=text)


@taught("NSURL", "+URLWithString:")
def _url(mac: Mac, cls: Any, text: str) -> Any:
    return url(mac, text)


@taught("NSURL", "+fileURLWithPath:")
def _file_url(mac: Mac, cls: Any, path: str) -> Any:
    return url(mac, "file://" + path)


@taught("NSURL", "-absoluteString")
def _absolute(mac: Mac, one: Any) -> str:
    return str(one._p["text"])


@taught("NSURL", "-isFileURL")
def _is_file(mac: Mac, one: Any) -> bool:
    return str(one._p["text"]).startswith("file:")


def _part(name: str) -> Callable[[Mac, Any], str | None]:
    def part(mac: Mac, one: Any) -> str | None:
        found: str | None = getattr(urlsplit(one._p["text"]), name)
        return found or None

    return part


for _selector, _name in {"scheme": "scheme", "host": "hostname", "query": "query"}.items():
    taught("NSURL", f"-{_selector}")(_part(_name))


@taught("NSURL", "-path")
def _path(mac: Mac, one: Any) -> str:
    return str(urlsplit(one._p["text"]).path)


@taught("NSURLRequest", "+requestWithURL:")
def _request(mac: Mac, cls: Any, where: Any) -> Any:
    return request(mac, where._p["text"])


def request(
    mac: Mac, where: str, method: str = "GET", headers: dict[str, str] | None = None, body: Any = None
) -> Any:
    return mac.make(
        "NSURLRequest",
        URL=url(mac, where),
        HTTPMethod=method,
        allHTTPHeaderFields=headers or {},
        HTTPBody=body,
    )


@taught("NSURLRequest", "-valueForHTTPHeaderField:")
def _header(mac: Mac, one: Any, name: str) -> str | None:
    return next(
        (value for key, value in one._p["allHTTPHeaderFields"].items() if key.lower() == name.lower()), None
    )


@taught("NSHTTPURLResponse", "-initWithURL:statusCode:HTTPVersion:headerFields:")
def _response(mac: Mac, one: Any, where: Any, status: int, version: Any, headers: Any) -> Any:
    one._p.update(URL=where, statusCode=status, allHeaderFields=headers)
    return one


@taught("NSData", "+dataWithBytes:length:")
def _data(mac: Mac, cls: Any, content: bytes, length: int) -> Any:
    if len(content) < length:
        raise ValueError(f"{length} bytes of {len(content)}")
    return mac.make("NSData", content=bytes(content[:length]))


@taught("NSData", "-length")
def _length(mac: Mac, data: Any) -> int:
    return len(data._p["content"])


@taught("NSError", "+errorWithDomain:code:userInfo:")
def _error(mac: Mac, cls: Any, domain: str, code: int, info: Any) -> Any:
    return mac.make("NSError", domain=domain, code=code, userInfo=info)


@taught("NSError", "-localizedDescription")
def _description(mac: Mac, error: Any) -> str:
    info = error._p.get("userInfo") or {}
    return str(info.get("NSLocalizedDescription", f"{error._p.get('domain')} error {error._p.get('code')}."))


# -- the view --------------------------------------------------------------------------------------------


@taught("WKWebViewConfiguration", "-setURLSchemeHandler:forURLScheme:")
def _handler(mac: Mac, configuration: Any, handler: Any, scheme: str) -> None:
    handlers = configuration._p.setdefault("handlers", {})
    if scheme in ("http", "https", "file", "about", "blob", "data") or scheme in handlers:
        raise ValueError(f"'{scheme}' has a handler already")
    for name in ("webView_startURLSchemeTask_", "webView_stopURLSchemeTask_"):
        if not hasattr(type(handler), name):
            raise TypeError(f"a WKURLSchemeHandler must have {name}")
    handlers[scheme] = handler


@taught("WKUserContentController", "-addScriptMessageHandlerWithReply:contentWorld:name:")
def _with_reply(mac: Mac, controller: Any, handler: Any, world: Any, name: str) -> None:
    _add(controller, name, handler, "userContentController_didReceiveScriptMessage_replyHandler_")


@taught("WKUserContentController", "-addScriptMessageHandler:name:")
def _without_reply(mac: Mac, controller: Any, handler: Any, name: str) -> None:
    _add(controller, name, handler, "userContentController_didReceiveScriptMessage_")


def _add(controller: Any, name: str, handler: Any, method: str) -> None:
    messages = controller._p.setdefault("messages", {})
    if name in messages:
        raise ValueError(f"a script message handler named '{name}' exists already")
    if not hasattr(type(handler), method):
        raise TypeError(f"the handler must have {method}")
    messages[name] = handler, method


@taught("WKUserContentController", "-removeScriptMessageHandlerForName:")
def _remove(mac: Mac, controller: Any, name: str) -> None:
    controller._p.get("messages", {}).pop(name, None)


@taught("WKWebsiteDataStore", "+nonPersistentDataStore")
def _store(mac: Mac, cls: Any) -> Any:
    return mac.make("WKWebsiteDataStore", persistent=False)


@taught("WKContentWorld", "+pageWorld")
def _world(mac: Mac, cls: Any) -> Any:
    return mac.singleton("WKContentWorld")


@taught("WKUserScript", "-initWithSource:injectionTime:forMainFrameOnly:")
def _user_script(mac: Mac, script: Any, source: str, when: int, main_only: bool) -> Any:
    script._p.update(source=source, injectionTime=when, forMainFrameOnly=main_only)
    return script


@taught("WKUserContentController", "-addUserScript:")
def _add_script(mac: Mac, controller: Any, script: Any) -> None:
    controller._p.setdefault("userScripts", []).append(script)


@taught("WKWebView", "-initWithFrame:configuration:")
def _web_view(mac: Mac, view: Any, frame: Any, configuration: Any) -> Any:
    view._p.update(frame=frame, configuration=configuration, scripts=[])
    mac.web_views.append(view)
    return view


@taught("WKWebView", "-loadRequest:")
def _load(mac: Mac, view: Any, wanted: Any) -> Any:
    mac.navigate(view, wanted._p["URL"]._p["text"])
    return mac.make("WKNavigation")


@taught("WKWebView", "-isLoading")
def _is_loading(mac: Mac, view: Any) -> bool:
    return bool(view._p.get("loading", False))


@taught("WKWebView", "-reload")
def _reload(mac: Mac, view: Any) -> Any:
    mac.navigate(view, view._p["URL"]._p["text"])
    return mac.make("WKNavigation")


@taught("WKWebView", "-evaluateJavaScript:completionHandler:")
def _evaluate(mac: Mac, view: Any, script: str, handler: Any) -> None:
    view._p["scripts"].append(script)
    if handler is not None:
        mac.loop.call_after(handler, None, None)


class Browser:
    """What the page and its reader do; a part of the Mac."""

    def start_task(self: Mac, view: Any, where: str, **request_parts: Any) -> SchemeTask:  # type: ignore[misc]
        handler = view._p["configuration"]._p.get("handlers", {}).get(urlsplit(where).scheme)
        if handler is None:
            raise AssertionError(f"nothing answers {where}")
        task = SchemeTask(self, request(self, where, **request_parts))
        handler.webView_startURLSchemeTask_(view, task)
        return task

    def stop_task(self: Mac, view: Any, task: SchemeTask) -> None:  # type: ignore[misc]
        """The page went away before the answer came."""
        handler = view._p["configuration"]._p["handlers"][
            urlsplit(task.request()._p["URL"]._p["text"]).scheme
        ]
        handler.webView_stopURLSchemeTask_(view, task)
        task.stopped = True

    def fetch(self: Mac, view: Any, where: str, **request_parts: Any) -> Answer:  # type: ignore[misc]
        task = self.start_task(view, where, **request_parts)
        self.loop.wait_for(lambda: task.answer.done)
        return task.answer

    def navigate(self: Mac, view: Any, where: str, *, clicked: bool = False) -> Answer | None:  # type: ignore[misc]
        """Go there if the navigation delegate lets; None when it does not. `clicked`: on a link."""
        delegate = held(view, "navigationDelegate")
        if answers(delegate, "webView:decidePolicyForNavigationAction:decisionHandler:"):
            kind = 0 if clicked else -1  # WKNavigationTypeLinkActivated, …Other
            asked = request(self, where)
            action, decide = self.make("WKNavigationAction", request=asked, navigationType=kind), Once(1)
            delegate.webView_decidePolicyForNavigationAction_decisionHandler_(view, action, decide)
            self.loop.wait_for(lambda: decide.given is not None)
            if decide.given != (1,):  # WKNavigationActionPolicyAllow
                return None
        view._p["URL"] = url(self, where)
        return self.fetch(view, where)

    def message(self: Mac, view: Any, name: str, body: Any) -> Any:  # type: ignore[misc]
        """What the page gets back for `webkit.messageHandlers.<name>.postMessage(body)`."""
        controller = view._p["configuration"].userContentController()
        handler, method = controller._p.get("messages", {})[name]
        frame = self.make("WKFrameInfo", mainFrame=True, request=request(self, view._p["URL"]._p["text"]))
        message = self.make("WKScriptMessage", body=body, name=name, webView=view, frameInfo=frame)
        if not method.endswith("replyHandler_"):
            getattr(handler, method)(controller, message)
            return None
        reply = Once(2)
        getattr(handler, method)(controller, message, reply)
        self.loop.wait_for(lambda: reply.given is not None)
        value, error = reply.given or (None, None)
        if error is not None:
            raise PageError(error)
        return value


class PageError(Exception):
    """The promise that the page awaits was rejected."""

"""The stand-in's WebKit: as strict about tasks, decisions and replies as the real one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.appkit.standin.mac import Mac
from tests.appkit.standin.runtime import OffMainThread
from tests.appkit.standin.web import PageError


class Page:
    """A web view whose handlers do what a test says."""

    def __init__(self, mac: Mac) -> None:
        import objc
        from Foundation import NSData, NSHTTPURLResponse, NSObject
        from WebKit import WKContentWorld, WKWebView, WKWebViewConfiguration

        page = self
        self.response = NSHTTPURLResponse.alloc().initWithURL_statusCode_HTTPVersion_headerFields_
        self.data = NSData.dataWithBytes_length_(b"hello", 5)

        class Handler(NSObject, protocols=[objc.protocolNamed("WKURLSchemeHandler")]):
            def webView_startURLSchemeTask_(self, view: Any, task: Any) -> None:
                page.answer(task)

            def webView_stopURLSchemeTask_(self, view: Any, task: Any) -> None: ...

            def userContentController_didReceiveScriptMessage_replyHandler_(
                self, controller: Any, message: Any, reply: Any
            ) -> None:
                page.reply(message.body(), reply)

            def webView_decidePolicyForNavigationAction_decisionHandler_(
                self, view: Any, action: Any, decide: Any
            ) -> None:
                decide(1 if action.request().URL().scheme() == "fazm" else 0)

        self.answer = self.hello
        self.reply: Any = lambda body, reply: reply(body, None)
        self.handler = Handler.alloc().init()
        configuration = WKWebViewConfiguration.alloc().init()
        configuration.setURLSchemeHandler_forURLScheme_(self.handler, "fazm")
        configuration.userContentController().addScriptMessageHandlerWithReply_contentWorld_name_(
            self.handler, WKContentWorld.pageWorld(), "bridge"
        )
        self.view = WKWebView.alloc().initWithFrame_configuration_(((0, 0), (1, 1)), configuration)
        self.view.setNavigationDelegate_(self.handler)

    def hello(self, task: Any) -> None:
        task.didReceiveResponse_(self.response(task.request().URL(), 200, "HTTP/1.1", {"a": "b"}))
        task.didReceiveData_(self.data)
        task.didFinish()


@pytest.fixture
def page(mac: Mac) -> Page:
    return Page(mac)


def test_a_request_to_our_scheme_is_answered(mac: Mac, page: Page) -> None:
    answer = mac.fetch(page.view, "fazm://app/x?y=1", method="GET")
    assert (answer.status, answer.headers, answer.body) == (200, {"a": "b"}, b"hello")


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (lambda page, task: task.didReceiveData_(page.data), "No response"),
        (lambda page, task: task.didFinish(), "No response"),
        (lambda page, task: (page.hello(task), task.didFinish()), "already been completed"),
    ],
)
def test_a_task_that_is_answered_out_of_order_raises(mac: Mac, page: Page, wrong: Any, words: str) -> None:
    page.answer = lambda task: wrong(page, task)
    with pytest.raises(RuntimeError, match=words):
        mac.fetch(page.view, "fazm://app/")


def test_a_task_that_was_stopped_may_not_be_answered(mac: Mac, page: Page) -> None:
    page.answer = lambda task: None
    task = mac.start_task(page.view, "fazm://app/")
    mac.stop_task(page.view, task)
    with pytest.raises(RuntimeError, match="already been stopped"):
        page.hello(task)


def test_a_task_is_answered_on_the_main_thread_only(mac: Mac, page: Page) -> None:
    from tests.appkit.standin.system import elsewhere

    page.answer = lambda task: elsewhere(page.hello, task)
    with pytest.raises(OffMainThread):
        mac.fetch(page.view, "fazm://app/")


def test_navigation_elsewhere_is_refused_by_the_delegate(mac: Mac, page: Page) -> None:
    assert mac.navigate(page.view, "https://example.org/") is None
    assert mac.navigate(page.view, "fazm://app/") is not None
    assert page.view.URL().absoluteString() == "fazm://app/"


def test_a_message_of_the_page_gets_its_reply(mac: Mac, page: Page) -> None:
    mac.navigate(page.view, "fazm://app/")
    assert mac.message(page.view, "bridge", {"n": 1}) == {"n": 1}
    page.reply = lambda body, reply: reply(None, "not this")
    with pytest.raises(PageError, match="not this"):
        mac.message(page.view, "bridge", {})


def test_a_reply_is_given_once_and_with_two_values(mac: Mac, page: Page) -> None:
    mac.navigate(page.view, "fazm://app/")
    page.reply = lambda body, reply: (reply(1, None), reply(2, None))
    with pytest.raises(RuntimeError, match="more than once"):
        mac.message(page.view, "bridge", {})
    page.reply = lambda body, reply: reply(1)
    with pytest.raises(TypeError, match="takes 2 values"):
        mac.message(page.view, "bridge", {})


def test_a_class_that_lacks_a_required_method_of_its_protocol_raises(mac: Mac) -> None:
    import objc
    from Foundation import NSObject

    with pytest.raises(TypeError, match="WKURLSchemeHandler"):

        class Half(NSObject, protocols=[objc.protocolNamed("WKURLSchemeHandler")]):
            def webView_startURLSchemeTask_(self, view: Any, task: Any) -> None: ...


def test_a_delegate_that_nobody_keeps_is_gone(mac: Mac, page: Page) -> None:
    from Foundation import NSObject

    class Passing(NSObject):
        pass

    page.view.setNavigationDelegate_(Passing.alloc().init())
    assert page.view.navigationDelegate() is None

"""The lint finds what it claims to find, every time, and nothing in code that is right."""

from __future__ import annotations

import textwrap

import pytest

from tests.appkit.lint import lint, room_sources

HEAD = """\
import objc
from AppKit import NSApplication, NSMenuItem, NSWindow
from Foundation import NSObject, NSTimer
"""

# What is wrong, the kind it is reported as, and the code with it.
FAULTS = [
    ("a name without underscores that takes an argument", "ARITY", "def refresh(self, force): pass"),
    ("a selector with too few arguments", "ARITY", "def windowWillClose_(self): pass"),
    ("a selector with too many arguments", "ARITY", "def menuDidClose_(self, menu, more): pass"),
    ("a keyword-only argument without a default", "ARITY", "def menuDidClose_(self, menu, *, more): pass"),
    (
        "a misspelt delegate method",
        "UNKNOWN",
        "def userContentController_didReceiveScriptMesage_(self, controller, message): pass",
    ),
    (
        "a delegate method without its last underscore",
        "PLAIN",
        "def webView_startURLSchemeTask(self, v, t): pass",
    ),
    ("a helper called like a method of the runtime", "RUNTIME", "def release(self): pass"),
    ("another one", "RUNTIME", "def hash(self): return 1"),
    ("a bare super()", "SUPER", "def init(self):\n    self = super().init()\n    return self"),
    ("an initializer that returns nothing", "INIT", "def init(self):\n    objc.super(Ours, self).init()"),
    (
        "a decision that is not given back",
        "RETURNS",
        "def applicationShouldHandleReopen_hasVisibleWindows_(self, app, visible) -> None: pass",
    ),
    (
        "a selector that no method has",
        "DANGLING",
        'def init(self):\n    return self.item.setAction_("onClik:")',
    ),
    (
        "a selector that lost its colon",
        "DANGLING",
        'def init(self):\n    return self.item.setAction_("onClik")',
    ),
    (
        "a timer's selector that takes nothing",
        "SHAPE",
        "def tick(self): pass\n"
        "def init(self):\n"
        "    return NSTimer.timerWithTimeInterval_target_selector_userInfo_repeats_(1, self, 'tick', 0, 0)",
    ),
    (
        "a call of a selector nobody has",
        "NO-SUCH-CALL",
        "def init(self):\n    return self.item.setTitel_('x')",
    ),
    (
        "a selector that what the system hands over does not have",
        "NO-SUCH-CALL",
        "def userContentController_didReceiveScriptMessage_(self, controller, message):\n"
        "    frame = message.frameInfo()\n"
        "    return frame.request().url()",
    ),
    (
        "a misspelt initializer of the parent",
        "NO-SUCH-CALL",
        "def init(self):\n    return objc.super(Ours, self).int()",
    ),
    (
        "a selector that a task of WebKit's does not have",
        "NO-SUCH-CALL",
        "def webView_startURLSchemeTask_(self, view, task):\n    task.request().method()",
    ),
    ("a call with an argument too few", "CALL-ARITY", "def init(self):\n    return self.item.setTarget_()"),
    ("a call with a keyword", "CALL-ARITY", "def init(self):\n    return self.item.setTarget_(target=1)"),
    (
        "a selector of a later macOS",
        "TOO-NEW",
        "def init(self):\n    return self.app.yieldActivationToApplication_(None)",
    ),
    (
        "silencing mypy without asking the system",
        "UNGUARDED",
        "def init(self):\n    return self.app.activate()  # type: ignore[deprecated]",
    ),
    (
        "a selector that is deprecated everywhere",
        "DEPRECATED",
        "def init(self):\n    return self.center.scheduleNotification_(None)",
    ),
]


def wrapped(method: str, header: str = "class Ours(NSObject):") -> str:
    return f"{HEAD}\n{header}\n{textwrap.indent(method, '    ')}\n"


def kinds(source: str) -> list[str]:
    return [one.kind for one in lint({"sample.py": source})]


@pytest.mark.parametrize(("kind", "method"), [fault[1:] for fault in FAULTS], ids=[one[0] for one in FAULTS])
def test_a_seeded_fault_is_found(kind: str, method: str) -> None:
    assert kind in kinds(wrapped(method))


@pytest.mark.parametrize(
    ("kind", "source"),
    [
        ("TOO-NEW", "from AppKit import NSAdaptiveImageGlyph"),
        ("DEPRECATED", "from Foundation import NSUserNotificationCenter"),
        ("DEPRECATED", "import AppKit\nAppKit.NSWorkspaceCompressOperation"),
        ("TWICE", wrapped("pass") + wrapped("pass")),
        ("TWICE", wrapped("pass", "class NSMenu(NSObject):")),
        (
            "PROTOCOL",
            wrapped("pass", 'class A(NSObject, protocols=[objc.protocolNamed("WKURLSchemeHandler")]):'),
        ),
        (
            "PROTOCOL",
            wrapped("pass", 'class A(NSObject, protocols=[objc.protocolNamed("WKSchemeHandler")]):'),
        ),
    ],
)
def test_a_fault_outside_methods_is_found(kind: str, source: str) -> None:
    assert kind in kinds(source)


def test_code_that_is_right_is_left_alone() -> None:
    assert lint({"sample.py": RIGHT}) == []


def test_our_own_macos_code_is_clean() -> None:
    assert [str(one) for one in lint(room_sources())] == []


RIGHT = f"""\
'''A doc string that ends with a colon, like this one here:'''
{HEAD}
LABEL = "Last event: "


class Base(NSObject):
    def initWithSource_(self, source):
        self = objc.super(Base, self).init()
        if self is not None:
            self.source = source
        return self

    @objc.python_method
    def refresh(self, force): ...

    def plain_helper(self, a, b): ...

    def ticked_(self, timer): ...


class Ours(Base, protocols=[objc.protocolNamed("WKURLSchemeHandler")]):
    def webView_startURLSchemeTask_(self, view, task):
        if task.respondsToSelector_("didFinish"):
            task.didFinish()

    def webView_stopURLSchemeTask_(self, view, task): ...

    def applicationShouldHandleReopen_hasVisibleWindows_(self, app, visible):
        return True

    def validateMenuItem_(self, item) -> bool:
        item = item.title()
        return item.upper() != "GREY"

    def userContentController_didReceiveScriptMessage_(self, controller, message):
        self.path = message.body().get("path")
        self.scheme = message.frameInfo().request().URL().scheme().lower()

    async def later(self, a): ...


def build():
    ours = Ours.alloc().initWithSource_(None)
    NSTimer.timerWithTimeInterval_target_selector_userInfo_repeats_(1, ours, "ticked:", None, True)
    NSMenuItem.alloc().initWithTitle_action_keyEquivalent_("Undo", "undo:", "z")
    app = NSApplication.sharedApplication()
    if app.respondsToSelector_("activate"):
        app.activate()  # type: ignore[deprecated]
    else:
        app.activateIgnoringOtherApps_(True)
"""

"""mypy over stubs made from the SDK finds what it claims to find, and the committed stubs are those."""

from __future__ import annotations

from pathlib import Path

import pytest
from mypy import api

from tests.appkit.sdk.database import load
from tests.appkit.sdk.stubs import STUBS, Stubs, by_hand, room, used

# Each line marked FAULT has one, and no other has.
FAULTY = """\
from typing import Any

import objc
from AppKit import NSApplication, NSImage, NSMakeRect, NSMenuItem, NSStatusBar, NSWindow, NSWorkspace
from AppKit import NSVariableStatusItemLength, NSWorkspaceDidWakeNotification
from AppKit import NSWorkspaceDidActivateAppNotification  # FAULT: no such constant
from AppKit import NSStatusBarItem  # FAULT: no such class
from ApplicationServices import AXObserverCreate, AXUIElementCopyAttributeValue
from ApplicationServices import kAXFocusedWindowNotification  # FAULT: no such constant
from Foundation import NSStatusItem  # FAULT: in another module
from Foundation import NSObject
from ServiceManagement import SMAppService
from WebKit import WKWebView, WKWebViewConfiguration


class Handler(NSObject):
    def initWithName_(self, name: str) -> Any:
        self = objc.super(Handler, self).init()
        self.name = name
        return self


def three(observer: Any, element: Any, name: Any) -> None: ...


def build() -> None:
    app = NSApplication.sharedApplication()
    app.setActivationPolicy(1)  # FAULT: its underscore is missing
    app.setActivationPolicy_("regular")  # FAULT: a text for a number
    app.activate()  # FAULT: only from macOS 14
    item = NSStatusBar.systemStatusBar().statusItemWithLength_(NSVariableStatusItemLength)
    item.button().setImage_(None)
    item.button().setTemplateImage_(None)  # FAULT: no such selector
    item.setMenu_()  # FAULT: an argument is missing
    item.setTitle_("x")  # FAULT: deprecated
    menu_item = NSMenuItem.alloc().initWithTitle_action_keyEquivalent_("Quit", "quit:", "q")
    NSMenuItem.alloc().initWithTitle_action_key_("Quit", "quit:", "q")  # FAULT: no such initializer
    menu_item.setTarget_action_(None, None)  # FAULT: no such selector
    menu_item.title().upper()
    AXObserverCreate(1, three, None)  # FAULT: not made by callbackFor
    AXUIElementCopyAttributeValue(None, "AXTitle")  # FAULT: the out argument is missing
    error, value = AXUIElementCopyAttributeValue(None, "AXTitle", None)
    error, value, more = AXUIElementCopyAttributeValue(None, "AXTitle", None)  # FAULT: gives two
    SMAppService.mainAppService().register()  # FAULT: no such selector
    if SMAppService.mainAppService().registerAndReturnError_(None) == True: ...  # FAULT: a pair
    frame = NSMakeRect(0, 0, 1, 1)
    web = WKWebView.alloc().initWithFrame_configuration_(frame, WKWebViewConfiguration.alloc().init())
    web.evaluateJavaScript_completionHandler_("1", lambda result, error: None)
    web.evaluateJavaScript_completionHandler_("1", lambda result: None)  # FAULT: the block takes two
    front = NSWorkspace.sharedWorkspace().frontmostApplication()
    if front is not None:
        front.bundleIdentifier()
        front.bundleID()  # FAULT: no such selector
    NSWorkspace.sharedWorkspace().frontmostApp()  # FAULT: no such selector
    NSImage.imageNamed_(3)  # FAULT: a number for a text
    NSWindow.alloc().initWithContentRect_styleMask_backing_(frame, 1, 2)  # FAULT: no such initializer
    Handler.alloc().initWithName_("x")
    print(NSWorkspaceDidWakeNotification, menu_item)
"""


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """The sample beside stubs made for it."""
    folder = tmp_path / "stubs"
    for path in by_hand():
        if "rumps" not in path.parts:
            (folder / path.relative_to(STUBS)).parent.mkdir(parents=True, exist_ok=True)
            (folder / path.relative_to(STUBS)).write_text(path.read_text())
    for name, text in Stubs(load(), used([FAULTY])).files().items():
        (folder / name).write_text(text)
    sample = tmp_path / "sample.py"
    sample.write_text(FAULTY)
    return sample


def test_mypy_finds_every_seeded_fault_and_nothing_else(
    written: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MYPYPATH", str(tmp_path / "stubs"))
    reply, trouble, _ = api.run(
        [
            str(written),
            "--strict",
            "--platform=darwin",
            "--python-version=3.11",
            "--enable-error-code=deprecated",
            "--config-file=",
            f"--cache-dir={tmp_path / 'cache'}",
        ]
    )
    assert trouble == ""
    lines = reply.splitlines()
    found = {
        int(line.split(":")[1]) for line in lines if line.startswith(str(written)) and " error: " in line
    }
    marked = {number for number, line in enumerate(FAULTY.splitlines(), 1) if "# FAULT" in line}
    assert found == marked, reply
    assert len(marked) >= 20


def test_the_committed_stubs_are_those_of_the_source() -> None:
    made = Stubs(load(), used(room())).files()
    committed = {
        str(path.relative_to(STUBS)): path.read_text(encoding="utf-8")
        for path in STUBS.rglob("*.pyi")
        if path not in by_hand()
    }
    assert committed == made, "the macOS room uses something else now: run make stubs"

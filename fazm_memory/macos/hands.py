"""The hands of the menu on a Mac: the window, the clipboard, questions, each done on the main thread.

They are called on the thread that works; a question waits there until it is answered, and the main thread
goes on with everything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from AppKit import (
    NSApplication,
    NSPasteboard,
    NSPasteboardTypeString,
    NSTextField,
    NSWorkspace,
)
from Foundation import NSURL, NSMakeRect

from fazm_memory.macos.asking import alert
from fazm_memory.macos.fazm_control import tell_fazm
from fazm_memory.macos.login_item import set_login
from fazm_memory.macos.main_thread import ask_main, on_main
from fazm_memory.macos.notifications import Notifications
from fazm_memory.macos.permissions import open_settings
from fazm_memory.macos.window import TimelineWindow
from fazm_memory.menubar.news import Notice

CANCEL = "Cancel"
FIELD = (320.0, 24.0)


class MacHands:
    def __init__(self, window: TimelineWindow, notifications: Notifications) -> None:
        self.window, self.notifications = window, notifications

    def show(self, route: str) -> None:
        ask_main(lambda: self.window.show(route))

    def copy(self, text: str) -> None:
        def copy() -> None:
            board = NSPasteboard.generalPasteboard()
            board.clearContents()
            board.setString_forType_(text, NSPasteboardTypeString)

        ask_main(copy)

    def open_file(self, path: Path) -> None:
        opened = ask_main(lambda: NSWorkspace.sharedWorkspace().openURL_(NSURL.fileURLWithPath_(str(path))))
        if not opened:
            self.tell("macOS could not open it", str(path))

    def tell_fazm(self, messages: Sequence[str]) -> bool:
        return tell_fazm(messages)

    def tell(self, title: str, text: str) -> None:
        """As a notification where we may send one, else as a box that waits to be closed."""
        notice = Notice("told", title, text, "#/")
        if not ask_main(lambda: self.notifications.send(notice)):
            ask_main(lambda: alert(title, text, ("OK",)))

    def ask(self, title: str, text: str, yes: str) -> bool:
        return ask_main(lambda: alert(title, text, (yes, CANCEL)))

    def ask_words(self, title: str, text: str) -> str | None:
        def ask() -> str | None:
            field = NSTextField.alloc().initWithFrame_(NSMakeRect(0.0, 0.0, *FIELD))
            answered = alert(title, text, ("Answer", CANCEL), field)
            return str(field.stringValue()) if answered else None

        return ask_main(ask)

    def login(self, on: bool) -> str:
        return ask_main(lambda: set_login(on))

    def permissions(self) -> None:
        ask_main(open_settings)

    def quit(self) -> None:
        on_main(lambda: NSApplication.sharedApplication().terminate_(None))

"""Questions to the person in front of the screen: a box with a title, words and buttons."""

from __future__ import annotations

from collections.abc import Sequence

from AppKit import (
    NSAlert,
    NSAlertFirstButtonReturn,
    NSApplicationActivateAllWindows,
    NSRunningApplication,
    NSTextField,
)


def bring_to_front() -> None:
    NSRunningApplication.currentApplication().activateWithOptions_(NSApplicationActivateAllWindows)


def alert(title: str, text: str, buttons: Sequence[str], field: NSTextField | None = None) -> bool:
    """A question in front of everything; whether the first button was pressed."""
    box = NSAlert.alloc().init()
    box.setMessageText_(title)
    box.setInformativeText_(text)
    for one in buttons:
        box.addButtonWithTitle_(one)
    if field is not None:
        box.setAccessoryView_(field)
        box.window().setInitialFirstResponder_(field)
    bring_to_front()
    return bool(box.runModal() == NSAlertFirstButtonReturn)

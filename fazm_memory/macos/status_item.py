"""The status item: rumps behind one adapter that shows a menu value and knows nothing else.

rumps keeps the run loop and the menu items. Its menus are keyed by our ids, since two sessions may have one
title; what it remembers of removed items, and never lets go of, is taken back here. The menu is changed by
difference, on the main thread, and never while it is open.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import objc
import rumps
from AppKit import NSImage, NSImageLeft, NSStatusItem
from Foundation import NSObject

from fazm_memory.macos.bundle import bundle_identifier
from fazm_memory.macos.main_thread import on_main
from fazm_memory.menubar.menu import Command, Entry, Icon, Line, Menu

# Both the app's own images and the system's symbols are templates: they follow the menu bar, light or dark.
IMAGES: dict[Icon, str] = {
    "recording": "recordingTemplate",
    "paused": "pausedTemplate",
    "attention": "attentionTemplate",
}
SYMBOLS: dict[Icon, str] = {
    "recording": "record.circle",
    "paused": "pause.circle",
    "attention": "exclamationmark.circle",
}
LETTERS: dict[Icon, str] = {"recording": "●", "paused": "◌", "attention": "⚠"}

Clicked = Callable[[Command], None]
Rows = tuple[Entry | Line, ...]


class MenuWatcher(NSObject):
    """What the menu tells of itself: that it opens, and that it has closed."""

    def initWithItem_(self, item: StatusItem) -> Any:
        self = objc.super(MenuWatcher, self).init()
        if self is not None:
            self.item = item
        return self

    def menuNeedsUpdate_(self, menu: Any) -> None:
        self.item.will_open()

    def menuWillOpen_(self, menu: Any) -> None:
        self.item.opened()

    def menuDidClose_(self, menu: Any) -> None:
        self.item.closed()


class StatusItem:
    """`clicked` hears of clicks; `fresh` gives the menu as it is this very moment, before it opens."""

    def __init__(
        self, clicked: Clicked, fresh: Callable[[], Menu | None], trouble: Callable[[Exception], None]
    ) -> None:
        self.clicked, self.fresh, self.trouble = clicked, fresh, trouble
        self.app = rumps.App("Fazm Memory", title=LETTERS["recording"], quit_button=None)
        self.shown: Menu | None = None
        self.is_open = False
        self._waiting: Menu | None = None
        self._watcher = MenuWatcher.alloc().initWithItem_(self)
        self.app.menu._menu.setDelegate_(self._watcher)

    def run(self, started: Callable[[], None]) -> None:
        """Give the main thread to the system; `started` is called when the status item is there."""
        rumps.events.before_start.register(started)
        try:
            self.app.run()
        finally:
            rumps.events.before_start.unregister(started)

    # -- showing -----------------------------------------------------------------------------------------

    def show(self, menu: Menu) -> None:
        """Show this menu: now, or as soon as the one that is open has closed."""
        if self.is_open:
            self._waiting = menu
            return
        if menu == self.shown:
            return
        self._fill(self.app.menu, () if self.shown is None else self.shown.rows, menu.rows)
        if self.shown is None or (menu.icon, menu.hint) != (self.shown.icon, self.shown.hint):
            self._icon(menu)
        self.shown = menu

    def _icon(self, menu: Menu) -> None:
        button = self._status_item().button()
        if button is None:
            return
        image = _image(menu)
        if image is not None:
            image.setTemplate_(True)
            image.setAccessibilityDescription_(menu.hint)
            button.setImage_(image)
            button.setImagePosition_(NSImageLeft)
        button.setTitle_("" if image is not None else LETTERS[menu.icon])
        button.setToolTip_(menu.hint)
        button.setAccessibilityLabel_(menu.hint)

    def _status_item(self) -> NSStatusItem:
        return self.app._nsapp.nsstatusitem

    # -- the difference ----------------------------------------------------------------------------------

    def _fill(self, holder: Any, before: Rows, after: Rows) -> None:
        """Make one level of the menu what it should be: change what stayed, replace what follows."""
        same = 0
        while same < min(len(before), len(after)) and _form(before[same]) == _form(after[same]):
            self._change(holder[after[same].id], before[same], after[same])
            same += 1
        for one in reversed(before[same:]):
            self._remove(holder, one)
        for one in after[same:]:
            self._add(holder, one)

    def _add(self, holder: Any, row: Entry | Line) -> None:
        if isinstance(row, Line):
            holder[row.id] = rumps.separator
            return
        item = rumps.MenuItem(row.title)
        holder[row.id] = item
        self._dress(item, row)
        for one in row.entries:
            self._add(item, one)

    def _change(self, item: Any, before: Entry | Line, after: Entry | Line) -> None:
        if isinstance(before, Line) or isinstance(after, Line) or before == after:
            return
        if before.title != after.title:
            item.title = after.title
        self._dress(item, after)
        if after.entries:
            self._fill(item, before.entries, after.entries)

    def _dress(self, item: Any, row: Entry) -> None:
        command = row.command
        item.set_callback(None if command is None else lambda _: self._click(command), key=row.key)
        item.state = int(row.checked)
        item._menuitem.setToolTip_(row.hint or None)

    def _remove(self, holder: Any, row: Entry | Line) -> None:
        item = holder[row.id]
        if isinstance(row, Entry):
            for one in reversed(row.entries):
                self._remove(item, one)
            rumps.rumps.NSApp._ns_to_py_and_callback.pop(item._menuitem, None)
        del holder[row.id]

    # -- what the menu tells -----------------------------------------------------------------------------

    def _click(self, command: Command) -> None:
        try:
            self.clicked(command)
        except Exception as error:
            self.trouble(error)

    def will_open(self) -> None:
        """The last moment to change it: its ages and countdowns are those of now."""
        try:
            fresh = self.fresh()
            if fresh is not None:
                self.show(fresh)
        except Exception as error:
            self.trouble(error)

    def opened(self) -> None:
        self.is_open = True

    def closed(self) -> None:
        """The click is told after the menu has closed: only then may what was clicked be replaced."""
        self.is_open = False
        on_main(self._show_waiting)

    def _show_waiting(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            try:
                self.show(waiting)
            except Exception as error:
                self.trouble(error)


def _form(row: Entry | Line) -> tuple[str, bool, bool]:
    """What cannot be changed in an item that is there: what it is, and whether it has a menu of its own."""
    return row.id, isinstance(row, Line), isinstance(row, Entry) and bool(row.entries)


def _image(menu: Menu) -> NSImage | None:
    """The image in our bundle, or a symbol of the system where we are not in one."""
    image = NSImage.imageNamed_(IMAGES[menu.icon]) if bundle_identifier() is not None else None
    if image is not None:
        return image
    return NSImage.imageWithSystemSymbolName_accessibilityDescription_(SYMBOLS[menu.icon], menu.hint)

"""The status item: shows a `Menu` value with rumps.

The menu is keyed by our ids, because two sessions may have the same title. It is updated by difference, on
the main thread, and never while it is open. rumps keeps references to removed items, which are removed here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import objc
import rumps
from AppKit import NSApplication, NSImage, NSImageLeft, NSStatusItem
from Foundation import NSObject
from PyObjCTools import AppHelper

from fazm_memory.macos.system import bundle_identifier, on_main
from fazm_memory.menubar import Command, Icon, Menu, MenuEntry, Separator

# Images and symbols are templates: they follow the menu bar, light or dark.
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
Rows = tuple[MenuEntry | Separator, ...]


class MenuWatcher(NSObject):
    """Reports when the menu opens and closes."""

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
    """Calls `clicked` for clicks. `fresh` returns the current menu before it opens."""

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
        """Run the app's event loop. `started` is called when the status item exists.

        The same as rumps' own `run`, which also takes the focus from the app that the user works in.
        """
        native: Any = rumps.rumps.NSApp.alloc().init()
        native._app = self.app.__dict__
        self.app._nsapp = native
        NSApplication.sharedApplication().setDelegate_(native)
        native.initializeStatusBar()
        started()
        AppHelper.runEventLoop()

    # -- showing -----------------------------------------------------------------------------------------

    def show(self, menu: Menu) -> None:
        """Show this menu now, or when the open one has closed."""
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

    # -- update by difference ----------------------------------------------------------------------------

    def _fill(self, holder: Any, before: Rows, after: Rows) -> None:
        """Update one level of the menu: change the common beginning, replace the rest."""
        same = 0
        while same < min(len(before), len(after)) and _form(before[same]) == _form(after[same]):
            self._change(holder[after[same].id], before[same], after[same])
            same += 1
        for row in reversed(before[same:]):
            self._remove(holder, row)
        for row in after[same:]:
            self._add(holder, row)

    def _add(self, holder: Any, row: MenuEntry | Separator) -> None:
        if isinstance(row, Separator):
            holder[row.id] = rumps.separator
            return
        item = rumps.MenuItem(row.title)
        holder[row.id] = item
        self._set_properties(item, row)
        for entry in row.entries:
            self._add(item, entry)

    def _change(self, item: Any, before: MenuEntry | Separator, after: MenuEntry | Separator) -> None:
        if isinstance(before, Separator) or isinstance(after, Separator) or before == after:
            return
        if before.title != after.title:
            item.title = after.title
        self._set_properties(item, after)
        if after.entries:
            self._fill(item, before.entries, after.entries)

    def _set_properties(self, item: Any, row: MenuEntry) -> None:
        command = row.command
        item.set_callback(None if command is None else lambda _: self._click(command), key=row.key)
        item.state = int(row.checked)
        item._menuitem.setToolTip_(row.hint or None)
        item._menuitem.setAccessibilityLabel_(row.spoken)
        item._menuitem.setAccessibilityHelp_(row.hint or None)

    def _remove(self, holder: Any, row: MenuEntry | Separator) -> None:
        item = holder[row.id]
        if isinstance(row, MenuEntry):
            for entry in reversed(row.entries):
                self._remove(item, entry)
            rumps.rumps.NSApp._ns_to_py_and_callback.pop(item._menuitem, None)
        del holder[row.id]

    # -- events of the menu ------------------------------------------------------------------------------

    def _click(self, command: Command) -> None:
        try:
            self.clicked(command)
        except Exception as error:
            self.trouble(error)

    def will_open(self) -> None:
        """Update ages and countdowns, the last change before the menu opens."""
        try:
            fresh = self.fresh()
            if fresh is not None:
                self.show(fresh)
        except Exception as error:
            self.trouble(error)

    def opened(self) -> None:
        self.is_open = True

    def closed(self) -> None:
        """Show the waiting menu later: the click is reported after the menu has closed."""
        self.is_open = False
        on_main(self._show_waiting)

    def _show_waiting(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            try:
                self.show(waiting)
            except Exception as error:
                self.trouble(error)


def _form(row: MenuEntry | Separator) -> tuple[str, bool, bool]:
    """What cannot be changed in an existing item: its id, and whether it has a submenu."""
    return row.id, isinstance(row, Separator), isinstance(row, MenuEntry) and bool(row.entries)


def _image(menu: Menu) -> NSImage | None:
    """The image in our bundle, or a system symbol without a bundle."""
    image = NSImage.imageNamed_(IMAGES[menu.icon]) if bundle_identifier() is not None else None
    if image is not None:
        return image
    return NSImage.imageWithSystemSymbolName_accessibilityDescription_(SYMBOLS[menu.icon], menu.hint)

"""The status item, which shows a `Menu` with rumps, and global shortcuts.

The menu is keyed by our ids, because two sessions may have the same title. It is updated by difference, on
the main thread, and never while it is open. rumps keeps references to removed items, which are removed here.

No shortcut is registered unless the user chose it. AppKit could only watch every key that is pressed, which
needs a permission and sees too much. Carbon's hot keys report the chosen keys only. pyobjc does not cover
Carbon, so it is called directly.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from ctypes import POINTER, Structure, byref, c_int32, c_uint32, c_ulong, c_void_p
from typing import Any

import objc
import rumps
from AppKit import NSApplication, NSImage, NSImageLeft, NSStatusItem
from Foundation import NSObject
from PyObjCTools import AppHelper

from fazm_memory.macos.system import bundle_identifier, on_main
from fazm_memory.menubar import Command, Icon, Menu, MenuEntry, Separator
from fazm_memory.translation import translate

CARBON = "/System/Library/Frameworks/Carbon.framework/Carbon"
# Events.h: modifiers, and virtual key codes of the US layout, which are positions on the keyboard.
MODIFIERS = {"cmd": 0x0100, "shift": 0x0200, "opt": 0x0800, "ctrl": 0x1000}
CODES = {letter: code for code, letter in enumerate("asdfhgzxcv")}
CODES |= {"b": 11, "q": 12, "w": 13, "e": 14, "r": 15, "y": 16, "t": 17, "1": 18, "2": 19, "3": 20, "4": 21,
          "6": 22, "5": 23, "9": 25, "7": 26, "8": 28, "0": 29, "o": 31, "u": 32, "i": 34, "p": 35, "l": 37,
          "j": 38, "k": 40, "n": 45, "m": 46, "space": 49, "f5": 96, "f6": 97, "f7": 98, "f3": 99, "f8": 100,
          "f9": 101, "f11": 103, "f13": 105, "f16": 106, "f14": 107, "f10": 109, "f12": 111, "f15": 113,
          "f4": 118, "f2": 120, "f1": 122, "f17": 64, "f18": 79, "f19": 80}  # fmt: skip


def four_letters(text: str) -> int:
    """A type code of Carbon."""
    return int.from_bytes(text.encode("ascii"), "big")


SIGNATURE = four_letters("FzMm")
KEYBOARD, PRESSED = four_letters("keyb"), 5
DIRECT_OBJECT, HOT_KEY_ID = four_letters("----"), four_letters("hkid")
NO_ERROR = 0


class EventHotKeyID(Structure):
    _fields_ = (("signature", c_uint32), ("id", c_uint32))


class EventTypeSpec(Structure):
    _fields_ = (("eventClass", c_uint32), ("eventKind", c_uint32))


Handler = ctypes.CFUNCTYPE(c_int32, c_void_p, c_void_p, c_void_p)


def load_carbon() -> Any:
    """Carbon with the types of the functions that are used. Pointers are 64 bits wide."""
    carbon = ctypes.CDLL(CARBON)
    carbon.GetEventDispatcherTarget.restype = c_void_p
    carbon.InstallEventHandler.argtypes = (
        c_void_p, Handler, c_ulong, POINTER(EventTypeSpec), c_void_p, POINTER(c_void_p),
    )  # fmt: skip
    carbon.RegisterEventHotKey.argtypes = (
        c_uint32, c_uint32, EventHotKeyID, c_void_p, c_uint32, POINTER(c_void_p),
    )  # fmt: skip
    carbon.UnregisterEventHotKey.argtypes = (c_void_p,)
    carbon.RemoveEventHandler.argtypes = (c_void_p,)
    carbon.GetEventParameter.argtypes = (
        c_void_p, c_uint32, c_uint32, c_void_p, c_ulong, c_void_p, c_void_p,
    )  # fmt: skip
    return carbon


def parse_keys(keys: str) -> tuple[int, int]:
    """The key code and the modifiers of "ctrl+opt+space"."""
    *names, key = keys.split("+")
    return CODES[key], sum({MODIFIERS[name] for name in names})


class Hotkeys:
    """Registers shortcuts.

    All on the main thread; `clicked` gets the command of a pressed one.
    """

    def __init__(
        self,
        clicked: Callable[[Command], None],
        trouble: Callable[[Exception], None],
        carbon: Callable[[], Any] = load_carbon,
    ) -> None:
        self.clicked, self.trouble, self._load = clicked, trouble, carbon
        self._carbon: Any = None
        self._commands: dict[int, Command] = {}
        self._registered: list[c_void_p] = []
        self._installed: c_void_p | None = None
        self._handler = Handler(self._pressed)  # the system keeps only its address

    def register(self, wanted: Mapping[str, Command]) -> None:
        """Register these. One that another app has taken is reported, and the others work."""
        if not wanted:
            return
        try:
            self._install()
            for number, (keys, command) in enumerate(wanted.items(), 1):
                self._add(number, keys, command)
        except Exception as error:  # the app works without shortcuts
            self.trouble(error)

    def unregister(self) -> None:
        if self._carbon is None:
            return
        for reference in self._registered:
            self._carbon.UnregisterEventHotKey(reference)
        if self._installed is not None:
            self._carbon.RemoveEventHandler(self._installed)
        self._carbon, self._installed, self._registered = None, None, []

    def _install(self) -> None:
        self._carbon = self._load()
        kind, reference = EventTypeSpec(KEYBOARD, PRESSED), c_void_p()
        target = self._carbon.GetEventDispatcherTarget()
        error = self._carbon.InstallEventHandler(
            target, self._handler, 1, byref(kind), None, byref(reference)
        )
        if error != NO_ERROR:
            raise OSError(error, translate("Keyboard shortcuts are not possible"))
        self._installed = reference

    def _add(self, number: int, keys: str, command: Command) -> None:
        code, modifiers = parse_keys(keys)
        reference = c_void_p()
        target = self._carbon.GetEventDispatcherTarget()
        identity = EventHotKeyID(SIGNATURE, number)
        error = self._carbon.RegisterEventHotKey(code, modifiers, identity, target, 0, byref(reference))
        if error != NO_ERROR:
            self.trouble(OSError(error, translate("Another app uses the shortcut {keys}", keys=keys)))
            return
        self._registered.append(reference)
        self._commands[number] = command

    def _pressed(self, caller: Any, event: Any, data: Any) -> int:
        """Called by Carbon on the main thread. An exception must not reach it."""
        try:
            identity = EventHotKeyID()
            size = ctypes.sizeof(identity)
            error = self._carbon.GetEventParameter(
                event, DIRECT_OBJECT, HOT_KEY_ID, None, size, None, byref(identity)
            )
            command = self._commands.get(identity.id)
            if error == NO_ERROR and identity.signature == SIGNATURE and command is not None:
                on_main(lambda: self.clicked(command))
        except Exception as error:
            self.trouble(error)
        return NO_ERROR


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
    """What cannot change in an existing menu item: its id, and its submenu."""
    return row.id, isinstance(row, Separator), isinstance(row, MenuEntry) and bool(row.entries)


def _image(menu: Menu) -> NSImage | None:
    """The image in our bundle, or a system symbol without a bundle."""
    image = NSImage.imageNamed_(IMAGES[menu.icon]) if bundle_identifier() is not None else None
    if image is not None:
        return image
    return NSImage.imageWithSystemSymbolName_accessibilityDescription_(SYMBOLS[menu.icon], menu.hint)

"""Keyboard shortcuts that work in every app. None is registered unless the user chose it.

AppKit could only watch every key that is pressed, which needs a permission and sees too much. Carbon's hot
keys report the chosen keys only. pyobjc does not cover Carbon, so it is called directly.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from ctypes import POINTER, Structure, byref, c_int32, c_uint32, c_ulong, c_void_p
from typing import Any

from fazm_memory.macos.system import on_main
from fazm_memory.menubar import Command
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
    """Registers shortcuts. All on the main thread; `clicked` gets the command of a pressed one."""

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

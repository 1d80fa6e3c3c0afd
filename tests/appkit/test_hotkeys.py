"""Shortcuts over a scripted Carbon: registered only if chosen, and undone when the app quits."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import pytest

from fazm_memory.config import KEYS
from tests.appkit.standin.mac import Mac


class Carbon:
    """Keeps what was registered. `press` calls the handler as Carbon does."""

    def __init__(self, *, taken: tuple[int, ...] = ()) -> None:
        self.taken, self.registered = taken, dict[int, Any]()
        self.handler: Any = None
        self.pressed: Any = None

    def GetEventDispatcherTarget(self) -> int:
        return 1

    def InstallEventHandler(self, target: int, handler: Any, *_: Any) -> int:
        self.handler = handler
        return 0

    def RegisterEventHotKey(self, code: int, modifiers: int, identity: Any, *rest: Any) -> int:
        if code in self.taken:
            return -9878  # eventHotKeyExistsErr
        rest[-1]._obj.value = code + 1
        self.registered[code + 1] = (code, modifiers, identity)
        return 0

    def UnregisterEventHotKey(self, reference: ctypes.c_void_p) -> int:
        del self.registered[int(reference.value or 0)]
        return 0

    def RemoveEventHandler(self, reference: Any) -> int:
        self.handler = None
        return 0

    def GetEventParameter(self, event: Any, name: int, kind: int, *rest: Any) -> int:
        rest[-1]._obj.signature, rest[-1]._obj.id = self.pressed
        return 0

    def press(self, identity: tuple[int, int]) -> None:
        self.pressed = identity
        assert self.handler(None, None, None) == 0


def hotkeys(carbon: Carbon, clicked: Callable[[Any], None], trouble: Callable[[Any], None]) -> Any:
    from fazm_memory.macos.status_item import Hotkeys

    return Hotkeys(clicked, trouble, lambda: carbon)


def test_a_chosen_shortcut_does_its_command_and_is_given_back(mac: Mac) -> None:
    from fazm_memory.macos.status_item import SIGNATURE
    from fazm_memory.menubar import Command

    carbon, clicked = Carbon(), list[Any]()
    keys = hotkeys(carbon, clicked.append, pytest.fail)
    keys.register({"ctrl+opt+space": Command("search"), "cmd+shift+r": Command("resume.last")})
    assert [(code, modifiers) for code, modifiers, _ in carbon.registered.values()] == [
        (49, 0x1000 | 0x0800),
        (15, 0x0100 | 0x0200),
    ]
    carbon.press((SIGNATURE, 2))
    carbon.press((SIGNATURE, 9))
    carbon.press((1, 1))  # of another program
    mac.settle()
    assert clicked == [Command("resume.last")]
    keys.unregister()
    assert (carbon.registered, carbon.handler) == ({}, None)


def test_without_a_choice_carbon_is_not_even_loaded(mac: Mac) -> None:
    from fazm_memory.macos.status_item import Hotkeys

    keys = Hotkeys(pytest.fail, pytest.fail, pytest.fail)  # type: ignore[arg-type]
    keys.register({})
    keys.unregister()


def test_a_shortcut_of_another_app_is_reported_and_the_others_work(mac: Mac) -> None:
    from fazm_memory.menubar import Command

    carbon, troubles = Carbon(taken=(49,)), list[Exception]()
    hotkeys(carbon, pytest.fail, troubles.append).register(
        {"ctrl+opt+space": Command("search"), "ctrl+r": Command("resume.last")}
    )
    assert "ctrl+opt+space" in str(troubles[0])
    assert len(carbon.registered) == 1


def test_every_key_that_the_settings_accept_has_a_code(mac: Mac) -> None:
    import re
    import string

    from fazm_memory.macos.status_item import CODES, parse_keys

    names = [*string.ascii_lowercase, *string.digits, "space", *(f"f{number}" for number in range(1, 20))]
    assert sorted(CODES) == sorted(names)
    assert len(set(CODES.values())) == len(CODES)
    for name in names:
        assert re.fullmatch(KEYS, f"ctrl+{name}")
        assert parse_keys(f"ctrl+{name}")[1] == 0x1000

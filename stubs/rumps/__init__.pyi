# What we use of rumps 0.4.0, by hand: it is Python without types.
from collections.abc import Callable, Iterator
from typing import Any

from AppKit import NSMenu, NSMenuItem
from rumps import events as events
from rumps import rumps as rumps
from rumps.rumps import NSApp

separator: object

class Menu:
    _menu: NSMenu
    def __getitem__(self, key: str, /) -> Any: ...
    def __setitem__(self, key: str, item: object, /) -> None: ...
    def __delitem__(self, key: str, /) -> None: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...
    def add(self, item: object, /) -> None: ...
    def clear(self) -> None: ...

class MenuItem(Menu):
    _menuitem: NSMenuItem
    title: str
    state: int
    def __init__(
        self,
        title: str,
        callback: Callable[[MenuItem], object] | None = ...,
        key: str | None = ...,
        icon: str | None = ...,
        dimensions: tuple[int, int] | None = ...,
        template: bool | None = ...,
    ) -> None: ...
    def set_callback(self, callback: Callable[[MenuItem], object] | None, key: str | None = ...) -> None: ...

class App:
    _nsapp: NSApp
    title: str | None
    icon: str | None
    template: bool | None
    menu: Menu
    def __init__(
        self,
        name: str,
        title: str | None = ...,
        icon: str | None = ...,
        template: bool | None = ...,
        menu: object = ...,
        quit_button: str | None = ...,
    ) -> None: ...
    def run(self, **options: Any) -> None: ...

def quit_application(sender: object = ...) -> None: ...

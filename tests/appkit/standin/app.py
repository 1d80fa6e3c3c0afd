"""The application, its status items, menus, alerts and windows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.appkit.standin.loop import answers, send
from tests.appkit.standin.runtime import held, taught

if TYPE_CHECKING:
    from tests.appkit.standin.mac import Mac


class OpenMenuChanged(RuntimeError):
    """A Mac crashes, or draws what is no longer there."""


class Exited(BaseException):
    """The process has ended: nothing after the event loop runs, as with Cocoa's `terminate:`."""


@dataclass(frozen=True)
class Alert:
    title: str | None
    message: str | None
    buttons: tuple[str, ...]


# -- the application -------------------------------------------------------------------------------------


@taught("NSApplication", "+sharedApplication")
def _shared(mac: Mac, cls: Any) -> Any:
    return mac.singleton("NSApplication")


@taught("NSApplication", "-run")
def _run(mac: Mac, app: Any) -> None:
    mac.run_event_loop()


@taught("NSApplication", "-setActivationPolicy:")
def _policy(mac: Mac, app: Any, policy: int) -> bool:
    app._p["activationPolicy"] = policy
    return True


@taught("NSApplication", "-activationPolicy")
def _policy_of(mac: Mac, app: Any) -> int:
    return int(app._p.get("activationPolicy", 0))


@taught("NSApplication", "-activateIgnoringOtherApps:")
def _activate_now(mac: Mac, app: Any, ignoring: bool) -> None:
    app._p["active"] = True


@taught("NSApplication", "-activate")
def _activate(mac: Mac, app: Any) -> None:
    app._p["active"] = True


@taught("NSApplication", "-sendAction:to:from:")
def _send_action(mac: Mac, app: Any, action: str, target: Any, sender: Any) -> bool:
    if target is None:
        return False
    send(target, action, sender)
    return True


@taught("NSApplication", "-modalWindow")
def _modal_window(mac: Mac, app: Any) -> Any:
    return app._p.get("modalWindow")


@taught("NSApplication", "-orderFrontStandardAboutPanel:")
def _about_panel(mac: Mac, app: Any, sender: Any) -> None:
    app._p["aboutPanel"] = True


@taught("NSApplication", "-terminate:")
def _terminate(mac: Mac, app: Any, sender: Any) -> None:
    modal = app._p.get("modalWindow")
    if modal is not None and held(modal, "preventsApplicationTerminationWhenModal") is not False:
        raise AssertionError("an open alert keeps the app from quitting, and the user from logging out")
    delegate = held(app, "delegate")
    if answers(delegate, "applicationShouldTerminate:"):
        answer = delegate.applicationShouldTerminate_(app)
        if answer == 0:  # NSTerminateCancel
            return
        if answer == 2:  # NSTerminateLater: it waits here, also when it was called inside an alert's loop
            app._p["leaving"] = True
            mac.wait_for(lambda: not app._p.get("leaving"))
            return
    _leave(mac, app)


@taught("NSApplication", "-replyToApplicationShouldTerminate:")
def _reply(mac: Mac, app: Any, go: bool) -> None:
    if app._p.get("leaving") and go:
        _leave(mac, app)
    app._p["leaving"] = False


def _leave(mac: Mac, app: Any) -> None:
    delegate = held(app, "delegate")
    if answers(delegate, "applicationWillTerminate:"):
        delegate.applicationWillTerminate_(
            mac.make("NSNotification", name="NSApplicationWillTerminateNotification", object=app)
        )
    mac.post_default("NSApplicationWillTerminateNotification", app)
    mac.terminated = True


# -- status items and menus ------------------------------------------------------------------------------


@taught("NSStatusBar", "-statusItemWithLength:")
def _status_item(mac: Mac, bar: Any, length: float) -> Any:
    made = mac.make("NSStatusItem", length=length, statusBar=bar, visible=True)
    mac.status_items.append(made)
    return made


@taught("NSStatusBar", "-removeStatusItem:")
def _remove_status_item(mac: Mac, bar: Any, item: Any) -> None:
    mac.status_items.remove(item)


def items(menu: Any) -> list[Any]:
    held: list[Any] = menu._p.setdefault("itemArray", [])
    return held


def _change(mac: Mac, menu: Any) -> list[Any]:
    if menu in mac.open_menus:
        raise OpenMenuChanged(f"the menu {menu._p.get('title')!r} is open")
    return items(menu)


@taught("NSMenu", "-initWithTitle:")
def _menu(mac: Mac, menu: Any, title: str) -> Any:
    menu._p["title"] = title
    return menu


@taught("NSMenu", "-itemArray")
def _item_array(mac: Mac, menu: Any) -> list[Any]:
    return list(items(menu))


@taught("NSMenu", "-numberOfItems")
def _count(mac: Mac, menu: Any) -> int:
    return len(items(menu))


@taught("NSMenu", "-itemAtIndex:")
def _item_at(mac: Mac, menu: Any, index: int) -> Any:
    return items(menu)[index]


@taught("NSMenu", "-itemWithTitle:")
def _item_with(mac: Mac, menu: Any, title: str) -> Any:
    return next((one for one in items(menu) if one._p.get("title") == title), None)


@taught("NSMenu", "-indexOfItem:")
def _index(mac: Mac, menu: Any, item: Any) -> int:
    return items(menu).index(item) if item in items(menu) else -1


@taught("NSMenu", "-insertItem:atIndex:")
def _insert(mac: Mac, menu: Any, item: Any, index: int) -> None:
    if item._p.get("menu") is not None:
        raise ValueError("Item to be inserted into menu already is in another menu")
    if not 0 <= index <= len(items(menu)):
        raise IndexError(f"{index} is not a place in a menu of {len(items(menu))}")
    _change(mac, menu).insert(index, item)
    item._p["menu"] = menu


@taught("NSMenu", "-addItem:")
def _add(mac: Mac, menu: Any, item: Any) -> None:
    _insert(mac, menu, item, len(items(menu)))


@taught("NSMenu", "-addItemWithTitle:action:keyEquivalent:")
def _add_titled(mac: Mac, menu: Any, title: str, action: Any, key: str) -> Any:
    made = _item(mac, mac.make("NSMenuItem"), title, action, key)
    _add(mac, menu, made)
    return made


@taught("NSMenu", "-removeItem:")
def _remove(mac: Mac, menu: Any, item: Any) -> None:
    _change(mac, menu).remove(item)
    item._p["menu"] = None


@taught("NSMenu", "-removeItemAtIndex:")
def _remove_at(mac: Mac, menu: Any, index: int) -> None:
    _remove(mac, menu, items(menu)[index])


@taught("NSMenu", "-removeAllItems")
def _clear(mac: Mac, menu: Any) -> None:
    for item in list(items(menu)):
        _remove(mac, menu, item)


@taught("NSMenuItem", "-initWithTitle:action:keyEquivalent:")
def _item(mac: Mac, item: Any, title: str, action: Any, key: str) -> Any:
    item._p.update(title=title, action=action, keyEquivalent=key, enabled=True)
    return item


@taught("NSMenuItem", "+separatorItem")
def _separator(mac: Mac, cls: Any) -> Any:
    return mac.make("NSMenuItem", title="", separatorItem=True)


@taught("NSMenuItem", "-hasSubmenu")
def _has_submenu(mac: Mac, item: Any) -> bool:
    return item._p.get("submenu") is not None


# -- alerts ----------------------------------------------------------------------------------------------


@taught(
    "NSAlert",
    "+alertWithMessageText:defaultButton:alternateButton:otherButton:informativeTextWithFormat:",
)
def _alert(mac: Mac, cls: Any, title: Any, ok: Any, alternate: Any, other: Any, message: Any) -> Any:
    titles = [one for one in (ok or "OK", alternate, other) if one]
    values = [value for value, one in zip((1, 0, -1), (ok or "OK", alternate, other), strict=True) if one]
    return mac.make("NSAlert", messageText=title, informativeText=message, titles=titles, values=values)


@taught("NSAlert", "-addButtonWithTitle:")
def _add_button(mac: Mac, alert: Any, title: str) -> Any:
    alert._p.setdefault("titles", []).append(title)
    return mac.make("NSButton", title=title)


@taught("NSAlert", "-runModal")
def _run_modal(mac: Mac, alert: Any) -> int:
    """Somebody must answer: a modal alert stops the app until then."""
    titles = alert._p.get("titles", ["OK"])
    reply = Alert(alert._p.get("messageText"), alert._p.get("informativeText"), tuple(titles))
    mac.alerts.append(reply)
    if mac.while_alert is not None:  # nobody answers, and something else happens meanwhile
        app = mac.singleton("NSApplication")
        app._p["modalWindow"], happens = alert.window(), mac.while_alert
        mac.while_alert = None
        happens()
        if not mac.terminated:
            raise AssertionError("the alert is still open, and nobody answers it")
        return -1001  # the process has ended, so nobody sees it
    if not mac.answers:
        raise AssertionError(f"nobody answers the alert: {reply}")
    place = titles.index(mac.answers.popleft())
    return int(alert._p["values"][place]) if "values" in alert._p else 1000 + int(place)


# -- windows and images ----------------------------------------------------------------------------------


@taught("NSWindow", "-initWithContentRect:styleMask:backing:defer:")
def _window(mac: Mac, window: Any, rect: Any, mask: int, backing: int, defer: bool) -> Any:
    window._p.update(frame=rect, styleMask=mask, releasedWhenClosed=True)
    mac.windows.append(window)
    return window


@taught("NSWindow", "-makeKeyAndOrderFront:", "-orderFront:")
def _show(mac: Mac, window: Any, sender: Any) -> None:
    _alive(window)
    window._p["visible"] = True


@taught("NSWindow", "-orderFrontRegardless")
def _show_regardless(mac: Mac, window: Any) -> None:
    _show(mac, window, None)
    window._p["beforeOtherApps"] = True


@taught("NSWindow", "-orderOut:")
def _hide(mac: Mac, window: Any, sender: Any) -> None:
    window._p["visible"] = False


@taught("NSWindow", "-performClose:")
def _perform_close(mac: Mac, window: Any, sender: Any) -> None:
    delegate = held(window, "delegate")
    if answers(delegate, "windowShouldClose:") and not delegate.windowShouldClose_(window):
        return
    _close(mac, window)


@taught("NSWindow", "-close")
def _close(mac: Mac, window: Any) -> None:
    _alive(window)
    window._p["visible"] = False
    note = mac.make("NSNotification", name="NSWindowWillCloseNotification", object=window)
    if answers(held(window, "delegate"), "windowWillClose:"):
        held(window, "delegate").windowWillClose_(note)
    if window._p["releasedWhenClosed"]:
        window._p["released"] = True


def _alive(window: Any) -> None:
    if window._p.get("released"):
        raise RuntimeError("the window was released when it closed: setReleasedWhenClosed_(False)")


@taught("NSWindow", "-setFrameAutosaveName:")
def _autosave(mac: Mac, window: Any, name: str) -> bool:
    window._p["frameAutosaveName"] = name
    return True


@taught("NSWindow", "-frame")
@taught("NSView", "-frame", "-bounds")
def _frame(mac: Mac, view: Any) -> Any:
    return view._p.get("frame", ((0.0, 0.0), (0.0, 0.0)))


@taught("NSView", "-initWithFrame:")
def _view(mac: Mac, view: Any, frame: Any) -> Any:
    view._p["frame"] = frame
    return view


@taught("NSImage", "-initByReferencingFile:", "-initWithContentsOfFile:")
def _image(mac: Mac, image: Any, path: str) -> Any:
    image._p["path"] = path
    return image


@taught("NSImage", "+imageNamed:")
def _image_named(mac: Mac, cls: Any, name: str) -> Any:
    return mac.make("NSImage", name=name)


@taught("NSImage", "+imageWithSystemSymbolName:accessibilityDescription:")
def _symbol(mac: Mac, cls: Any, name: str, description: Any) -> Any:
    return mac.make("NSImage", name=name, accessibilityDescription=description)


@taught("NSAppearance", "+appearanceNamed:")
def _appearance(mac: Mac, cls: Any, name: str) -> Any:
    return mac.make("NSAppearance", name=name)

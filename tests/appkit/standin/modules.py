"""pyobjc's modules, as they are imported: a name is there when the SDK of the played system has it."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tests.appkit.standin.arguments import taken
from tests.appkit.standin.runtime import (
    BadPrototypeError,
    NotTaught,
    ObjCError,
    ObjCSuperWarning,
    objc_class,
    objc_super,
    python_method,
)

if TYPE_CHECKING:
    from tests.appkit.standin.mac import Mac


class Struct(tuple[Any, ...]):
    """NSSize, NSPoint and their like."""

    def __new__(cls, *values: Any) -> Struct:
        return super().__new__(cls, values)


FRAMEWORKS = (
    "AppKit", "ApplicationServices", "Cocoa", "CoreFoundation", "Foundation", "HIServices", "Quartz",
    "ServiceManagement", "UserNotifications", "WebKit",
)  # fmt: skip
# What only a running system knows, and code compares or sends.
VALUES: dict[str, Any] = {"kAXTrustedCheckOptionPrompt": "AXTrustedCheckOptionPrompt"}
VALUES |= dict.fromkeys(("NSPoint", "NSRect", "NSSize"), Struct)
# Imported over the stand-in, so bound to one Mac. `fazm_memory.macos` itself imports no pyobjc at its top.
BOUND = ("rumps", "objc", "PyObjCTools", *FRAMEWORKS)


def is_ours(name: str) -> bool:
    return name.partition(".")[0] in BOUND or name.startswith("fazm_memory.macos.")


def functions(mac: Mac) -> dict[str, Callable[..., Any]]:
    return {
        "NSLog": lambda *_: None,
        "NSMakeRect": lambda x, y, width, height: ((x, y), (width, height)),
        "NSMakePoint": lambda x, y: (x, y),
        "NSMakeSize": lambda width, height: (width, height),
        "NSMakeRange": lambda start, length: (start, length),
        "NSSearchPathForDirectoriesInDomains": lambda *_: Paths([mac.library]),
    }


class Paths(list[str]):
    def objectAtIndex_(self, index: int) -> str:
        return self[index]


def made(mac: Mac) -> dict[str, ModuleType]:
    modules = {name: _framework(mac, name) for name in FRAMEWORKS}
    helper = ModuleType("PyObjCTools.AppHelper")
    vars(helper).update(
        callAfter=mac.loop.call_after,
        callLater=lambda seconds, function, *arguments: _later(mac, seconds, function, arguments),
        runEventLoop=lambda *_, **__: mac.run_event_loop(),
        stopEventLoop=lambda: _stop(mac),
        installMachInterrupt=lambda: None,
    )
    tools = ModuleType("PyObjCTools")
    vars(tools).update(AppHelper=helper, __path__=[])
    return modules | {"objc": _objc(mac), "PyObjCTools": tools, "PyObjCTools.AppHelper": helper}


def _later(mac: Mac, seconds: float, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    mac.runtime.named("NSTimer").scheduledTimerWithTimeInterval_repeats_block_(
        seconds, False, lambda _: function(*arguments)
    )


def _stop(mac: Mac) -> bool:
    mac.stopped = True
    return True


def _framework(mac: Mac, name: str) -> ModuleType:
    module, database = ModuleType(name), mac.runtime.database
    has = set(database.modules_of(name))

    def lookup(wanted: str) -> Any:
        entry: Any = next(
            (
                table[wanted]
                for table in (database.classes, database.functions, database.constants)
                if wanted in table
            ),
            None,
        )
        if wanted.startswith("__") or entry is None or entry.framework not in has:
            raise AttributeError(f"module '{name}' has no attribute '{wanted}'")
        if wanted in database.classes:
            return mac.runtime.named(wanted)
        if entry.introduced is not None and entry.introduced > mac.system:
            raise AttributeError(f"{wanted} came with macOS {'.'.join(map(str, entry.introduced))}")
        return _function(mac, wanted) if wanted in database.functions else _constant(mac, wanted)

    vars(module).update(__getattr__=lookup, __path__=[])
    return module


def _constant(mac: Mac, name: str) -> Any:
    if name == "NSApp":
        return mac.singleton("NSApplication")
    constant = mac.runtime.database.constants[name]
    if constant.value is not None:
        return constant.value
    if name in VALUES:
        return VALUES[name]
    if constant.type == "@NSString":
        return name  # its text is known to the system only; it is enough that it is one, and no other
    raise NotTaught(f"{name}: its value is known to a running system only, put it into VALUES")


def _function(mac: Mac, name: str) -> Callable[..., Any]:
    entry = mac.runtime.database.functions[name]

    def function(*arguments: Any) -> Any:
        given = taken(mac.runtime, "", entry, arguments)
        if name not in mac.functions:
            raise NotTaught(f"{name}: put what it does into mac.functions")
        return mac.functions[name](*given)

    function.__name__ = name
    return function


def _objc(mac: Mac) -> ModuleType:
    objc = ModuleType("objc")

    def protocol(name: str) -> str:
        if name not in mac.runtime.database.protocols:
            raise ObjCError(f"protocol not found: {name}")
        return name

    def look_up(name: str) -> Any:
        if name not in mac.runtime.database.classes and name not in mac.runtime.classes:
            raise ObjCError(f"{name}: no such class")
        return mac.runtime.named(name)

    def callback_for(function: Any, argument: int = -1) -> Callable[[Any], Any]:
        words = mac.runtime.database.functions[function.__name__].arguments
        word = next(one for one in words if one.startswith("closure/")) if argument < 0 else words[argument]

        def closure(callback: Any) -> Any:
            given = callback.__code__.co_argcount
            if given != int(word.removeprefix("closure/")):
                raise BadPrototypeError(
                    f"{function.__name__} calls back with {word}, {callback.__name__} takes {given}"
                )
            callback.pyobjc_closure = object()
            return callback

        return closure

    vars(objc).update(
        BadPrototypeError=BadPrototypeError,
        IBAction=lambda function: function,
        NO=False,
        NULL=None,
        ObjCSuperWarning=ObjCSuperWarning,
        YES=True,
        callbackFor=callback_for,
        error=ObjCError,
        lookUpClass=look_up,
        nil=None,
        nosuchclass_error=ObjCError,
        objc_class=objc_class,
        protocolNamed=protocol,
        python_method=python_method,
        super=objc_super,
        typedSelector=lambda signature: lambda function: function,
    )
    return objc

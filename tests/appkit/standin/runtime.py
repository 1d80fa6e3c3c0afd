"""The Objective-C runtime as pyobjc shows it, strict: a selector must be in the SDK of the played system, be
given as many arguments and of such types as there, and be sent on the main thread where AppKit wants that.

What a selector does is taught in the modules beside this one. Properties keep what is set, methods that give
nothing back are noted and do nothing; whatever else nobody taught raises `NotTaught`: an answer made up here
would prove nothing.
"""

from __future__ import annotations

import inspect
import threading
import types
import warnings
import weakref
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from tests.appkit.sdk.database import Database, Method, Version, selector_of
from tests.appkit.standin.arguments import taken

if TYPE_CHECKING:
    from tests.appkit.standin.mac import Mac

MAIN_THREAD_ONLY = {"AppKit", "WebKit"}
SHARED = ("shared", "default", "standard", "main", "current", "system", "general")

Behaviour = Callable[..., Any]
TAUGHT: dict[tuple[str, str], Behaviour] = {}


class UnknownSelector(AttributeError):
    """No class of the system that is played has it."""


class OffMainThread(RuntimeError):
    """On a Mac this corrupts or ends the app, and not always at once."""


class NotTaught(NotImplementedError):
    """The SDK has it, the stand-in does not know what it does: teach it with `@taught(class, key)`."""


class BadPrototypeError(Exception):
    """pyobjc's: a method's arguments do not fit the selector its name stands for."""


class ObjCError(Exception):
    """pyobjc's `objc.error`."""


class ObjCSuperWarning(DeprecationWarning):
    """pyobjc's: a bare `super()` in an Objective-C subclass."""


def taught(owner: str, *keys: str) -> Callable[[Behaviour], Behaviour]:
    """What `owner` does when it is sent `key`: called with the Mac, the receiver and the arguments."""

    def teach(behaviour: Behaviour) -> Behaviour:
        for key in keys:
            TAUGHT[owner, key] = behaviour
        return behaviour

    return teach


class python_method:
    """pyobjc's decorator: a plain method in an Objective-C class."""

    def __init__(self, function: Any) -> None:
        self.function = function


class objc_class(type):
    """The class of classes. `native` is the name in the SDK, of a class of ours its nearest parent's."""

    runtime: Runtime
    native: str
    ours: bool

    def __new__(
        cls,
        name: str,
        bases: tuple[type, ...],
        body: dict[str, Any],
        *,
        protocols: Iterable[Any] = (),
        **more: Any,
    ) -> Any:
        if "native" not in body:
            parent = next(base for base in bases if isinstance(base, objc_class))
            body = parent.runtime.subclass(name, parent, body, list(protocols))
        return super().__new__(cls, name, bases, body)

    def __init__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any], **more: Any) -> None:
        super().__init__(name, bases, body)
        cls.runtime.classes[name] = cls

    def __getattr__(cls, name: str) -> Any:
        return cls.runtime.bound(cls, cls, "+", name)


def call(receiver: Any, name: str) -> Any:
    return type(receiver).runtime.bound(receiver, type(receiver), "-", name)


def set_attribute(receiver: Any, name: str, value: Any) -> None:
    if not type(receiver).ours:
        raise AttributeError(f"'{type(receiver).__name__}' object has no attribute '{name}'")
    object.__setattr__(receiver, name, value)


class Runtime:
    """The classes of one Mac, made when first asked for."""

    def __init__(self, mac: Mac, database: Database, system: Version) -> None:
        self.mac, self.database, self.system = mac, database, system
        self.thread = threading.get_ident()
        self.classes: dict[str, Any] = {}
        self.singletons: dict[tuple[str, str], Any] = {}
        self._found: dict[tuple[str, str], Method | None] = {}
        self._taught: dict[tuple[str, str], Behaviour | None] = {}

    # -- classes -----------------------------------------------------------------------------------------

    def named(self, name: str) -> Any:
        if name not in self.classes:
            entry = self.database.classes[name]
            if entry.methods and all(not self.exists(one) for one in entry.methods.values()):
                raise AttributeError(f"{name} came after macOS {_dotted(self.system)}")
            body: dict[str, Any] = {"runtime": self, "native": name, "ours": False}
            if entry.parent in self.database.classes:
                bases: tuple[Any, ...] = (self.named(str(entry.parent)),)
            else:
                bases = ()
                body |= {"__getattr__": call, "__setattr__": set_attribute}
            body |= self.mac.dunders.get(name, {})
            self.classes[name] = objc_class(name, bases, body)
        return self.classes[name]

    def subclass(self, name: str, parent: Any, body: dict[str, Any], protocols: list[Any]) -> dict[str, Any]:
        """The body of a class of ours, once it has passed what pyobjc asks of it."""
        if name in self.classes or name in self.database.classes:
            raise ObjCError(f"{name} is overriding existing Objective-C class")
        if "__classcell__" in body:
            warnings.warn(
                "Objective-C subclass uses super(), but super is not objc.super",
                ObjCSuperWarning,
                stacklevel=4,
            )
        for key, value in list(body.items()):
            if isinstance(value, python_method):
                body[key] = value.function
            elif (selector := selector_of(key)) is not None:
                _fits(name, key, selector, value)
        names = {*body, *(name for cls in parent.__mro__ for name in vars(cls))}
        for protocol in protocols:
            lineage = self.database.protocol_lineage(protocol)
            for method in (one for each in lineage for one in each.methods.values()):
                has = method.python in names or self.find(parent.native, method.key) is not None
                if method.required and not has:
                    words = f"no implementation for '{method.selector}'"
                    raise TypeError(f"class does not fully implement protocol '{protocol}': {words}")
        return {**body, "native": parent.native, "ours": True}

    def make(self, name: str, /, **state: Any) -> Any:
        """One that the system made, with these properties."""
        made = self.alloc(self.named(name))
        made._p.update(state)
        return made

    def alloc(self, cls: Any) -> Any:
        self.on_its_thread(cls.native)
        made = object.__new__(cls)
        object.__setattr__(made, "_p", {})
        return made

    # -- messages ----------------------------------------------------------------------------------------

    def exists(self, method: Method) -> bool:
        return method.introduced is None or method.introduced <= self.system

    def find(self, native: str, key: str) -> Method | None:
        if (native, key) not in self._found:
            method = self.database.method(native, key)
            self._found[native, key] = method if method is not None and self.exists(method) else None
        return self._found[native, key]

    def bound(self, receiver: Any, cls: Any, sign: str, name: str) -> Callable[..., Any]:
        if name.startswith("__") or name == "_p":
            raise AttributeError(name)
        selector = selector_of(name)
        method = self.find(cls.native, sign + selector) if selector is not None else None
        if method is None:
            raise UnknownSelector(
                f"{sign}[{cls.native} {selector or name}] is not in macOS {_dotted(self.system)}"
            )
        found: Method = method

        def send(*arguments: Any) -> Any:
            self.on_its_thread(cls.native)
            return self._do(receiver, cls, found, taken(self, cls.native, found, arguments))

        send.__name__ = name
        return send

    def on_its_thread(self, native: str) -> None:
        if threading.get_ident() == self.thread:
            return
        if any(one.framework in MAIN_THREAD_ONLY for one in self.database.lineage(native)):
            raise OffMainThread(f"{native} was used on {threading.current_thread().name}")

    def _do(self, receiver: Any, cls: Any, method: Method, arguments: tuple[Any, ...]) -> Any:
        self.mac.sent.append(f"{method.key[0]}[{cls.native} {method.selector}]")
        if (behaviour := self._behaviour(cls.native, method.key)) is not None:
            return behaviour(self.mac, receiver, *arguments)
        if method.of_class:
            return self._made(receiver, method)
        if method.accesses is not None:
            return self._property(receiver, method, arguments)
        if method.selector.startswith("init"):
            return receiver
        if method.returns == "v":
            return None
        raise NotTaught(f"{method.key[0]}[{cls.native} {method.selector}]")

    def _behaviour(self, native: str, key: str) -> Behaviour | None:
        if (native, key) not in self._taught:
            known = (TAUGHT.get((one.name, key)) for one in self.database.lineage(native))
            self._taught[native, key] = next((one for one in known if one is not None), None)
        return self._taught[native, key]

    def _made(self, cls: Any, method: Method) -> Any:
        own = method.returns in ("self", "@" + cls.native)
        if own and not method.arguments and method.selector.startswith(SHARED):
            key = cls.native, method.key
            if key not in self.singletons:
                self.singletons[key] = self.alloc(cls)
            return self.singletons[key]
        if method.key == "+alloc":
            return self.alloc(cls)
        if method.key == "+new":
            return self.alloc(cls).init()
        raise NotTaught(f"+[{cls.native} {method.selector}]")

    def _property(self, receiver: Any, method: Method, arguments: tuple[Any, ...]) -> Any:
        name = str(method.accesses)
        if arguments:
            weak = method.weak and hasattr(type(arguments[0]), "__weakref__")
            receiver._p[name] = weakref.ref(arguments[0]) if weak else arguments[0]
            return None
        if name not in receiver._p and (owned := self.mac.owned.get((receiver.native, name))) is not None:
            receiver._p[name] = self.make(owned)
        return held(receiver, name, {"B": False, "i": 0, "f": 0.0}.get(method.returns))


def _fits(name: str, key: str, selector: str, value: Any) -> None:
    function = value.__func__ if isinstance(value, classmethod) else value
    if not isinstance(function, types.FunctionType):
        return
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        return
    wanted, parameters = selector.count(":") + 1, list(inspect.signature(function).parameters.values())
    if any(one.kind is one.VAR_POSITIONAL for one in parameters):
        return
    if any(one.kind is one.KEYWORD_ONLY and one.default is one.empty for one in parameters):
        raise BadPrototypeError(f"{name}.{key} has keyword-only arguments without a default")
    given = [one for one in parameters if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    least = sum(one.default is one.empty for one in given)
    if not least <= wanted <= len(given):
        raise BadPrototypeError(
            f"{selector!r} expects {wanted - 1} arguments, {name}.{key} has {len(given) - 1}"
        )


def held(receiver: Any, name: str, otherwise: Any = None) -> Any:
    """A property as it is now: a delegate or target that nobody else keeps alive is gone."""
    value = receiver._p.get(name, otherwise)
    return value() if isinstance(value, weakref.ref) else value


class objc_super:
    """pyobjc's `objc.super(Class, self)`: what the parents do, ours or the system's."""

    def __init__(self, cls: Any, receiver: Any) -> None:
        self._cls, self._receiver = cls, receiver

    def __getattr__(self, name: str) -> Any:
        order = type(self._receiver).__mro__
        for parent in order[order.index(self._cls) + 1 :]:
            if name in vars(parent) and name != "__getattr__":
                return vars(parent)[name].__get__(self._receiver)
        return call(self._receiver, name)


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))

"""What pyobjc and the frameworks take for an argument. A wrong one ends on a Mac in a crash, or in an
exception later and elsewhere; here it is a TypeError at the call.
"""

from __future__ import annotations

import datetime
import inspect
from collections.abc import Mapping, Set
from types import MethodType
from typing import TYPE_CHECKING, Any

from tests.appkit.sdk.database import Function, Method, selector_of

if TYPE_CHECKING:
    from tests.appkit.standin.runtime import Runtime

# Python values that pyobjc hands over as objects of these classes.
BRIDGED: dict[str, tuple[type, ...]] = {
    "NSString": (str,),
    "NSArray": (list, tuple),
    "NSDictionary": (Mapping,),
    "NSSet": (Set,),
    "NSNumber": (int, float),
    "NSValue": (int, float),
    "NSData": (bytes, bytearray),
    "NSDate": (datetime.datetime,),
}


def taken(
    runtime: Runtime, owner: str, method: Method | Function, arguments: tuple[Any, ...]
) -> tuple[Any, ...]:
    """The arguments, selectors as text; or a TypeError that says which is wrong, and what was wanted."""
    words = method.arguments
    if len(arguments) != len(words) and not (method.variadic and len(arguments) > len(words)):
        raise TypeError(f"{_description(owner, method)} takes {len(words)} arguments, {len(arguments)} given")
    given = list(arguments)
    for number, word in enumerate(words):
        if word == ":":
            given[number] = _selector(given[number])
        if (wrong := _wrong(runtime, word, given[number])) is not None:
            raise TypeError(
                f"{_description(owner, method)}, argument {number + 1}: {wrong}, not {given[number]!r}"
            )
    return tuple(given)


def _description(owner: str, method: Method | Function) -> str:
    return f"{method.key[0]}[{owner} {method.selector}]" if isinstance(method, Method) else method.name


def _selector(value: Any) -> Any:
    """Methods of Objective-C objects are selectors too."""
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, MethodType) and hasattr(type(value.__self__), "native"):
        for cls in type(value.__self__).__mro__:
            for name, function in vars(cls).items():
                if function is value.__func__ and selector_of(name) is not None:
                    return selector_of(name)
    return value


def _wrong(runtime: Runtime, word: str, value: Any) -> str | None:
    """What it should have been; None when it is that."""
    if word in ("*", "@", "#") or word.startswith("@<"):
        return None
    if word == "B":
        return None if isinstance(value, bool | int) else "a truth value"
    if word == "i":
        return None if isinstance(value, int) else "an integer"
    if word == "f":
        return None if isinstance(value, int | float) else "a number"
    if word == ":":
        return None if value is None or isinstance(value, str) else "a selector"
    if word.startswith("out"):
        return None if value is None else "None, since it comes back"
    if word.startswith("block/"):
        return None if value is None else _takes(value, int(word[6:].rstrip("=")))
    if word.startswith("closure/"):
        if value is None or hasattr(value, "pyobjc_closure"):
            return None
        return "a function made by @objc.callbackFor"
    if word.startswith("@") and len(word) > 1 and value is not None:
        return _object(runtime, word[1:], value)
    return None


def _object(runtime: Runtime, name: str, value: Any) -> str | None:
    for one in (name, name.replace("Mutable", "")):
        if isinstance(value, BRIDGED.get(one, ())):
            return None
    native = getattr(type(value), "native", None)
    if native is None:  # a plain Python object
        stands_for = getattr(value, "stands_for", None)
        return None if name in ("NSObject", stands_for) else f"a {name}"
    if name in {one.name for one in runtime.database.lineage(native)}:
        return None
    return f"a {name}"


def _takes(value: Any, count: int) -> str | None:
    if not callable(value):
        return f"a function of {count} arguments"
    try:
        signature = inspect.signature(value)
    except ValueError:  # a builtin that does not say
        return None
    try:
        signature.bind(*[None] * count)
    except TypeError:
        return f"a function of {count} arguments"
    return None

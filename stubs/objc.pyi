# What we use of pyobjc 12.2.2, written by hand from its metadata: a name that is not here is not used.
from collections.abc import Callable
from typing import Any, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])

super = Any

def callbackFor(callable: Callable[..., Any], argIndex: int = ...) -> Callable[[_F], _F]: ...

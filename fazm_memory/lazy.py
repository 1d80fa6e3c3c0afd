"""Names that are imported, and patterns that are compiled, when first used."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import re
    from typing import AnyStr


def lazy_exports(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a package that exports names of its modules.

    `modules` has the public names of each module, separated by spaces. A package stays cheap to import: a
    module is loaded when one of its names is first used. A module without names is public itself.
    """
    where = {name: module for module, names in modules.items() for name in names.split()}

    def __getattr__(name: str) -> Any:
        if name in modules:
            return import_module(f"{package}.{name}")
        if name not in where:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{where[name]}"), name)
        setattr(sys.modules[package], name, value)  # the next import finds it without a call
        return value

    return __getattr__


def lazy_regex(source: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """A regular expression that is compiled when first used.

    A command imports some hundred patterns and uses few. The methods and attributes are those of a compiled
    pattern. The functions of `re` do not accept it.
    """
    return LazyRegex(source, flags)  # type: ignore[return-value]


class LazyRegex:
    """A pattern that is compiled at its first use."""

    def __init__(self, source: str | bytes, flags: int) -> None:
        self._source = source
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        import re  # the first use of a pattern

        compiled: re.Pattern[Any] = re.compile(self._source, self._flags)
        for method in ("search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer"):
            setattr(self, method, getattr(compiled, method))
        return getattr(compiled, name)

"""What Apple's SDK has, as pyobjc 12.2.2 published it: classes and their selectors, protocols, functions and
constants, each with its types and the system it came with. `make.py` writes it, all checks read it.

Types are words of a small language: `v` nothing, `B` truth, `i` integer, `f` float, `:` selector, `#` class,
`@` an object, `@NSMenu` one of a class, `@<NSCoding>` one that follows a protocol, `self` the receiver's
class, `block/2` a block of two arguments (`block/2=` when it gives a value back), `closure/4` a C callback,
`out` or `out@NSError` an argument given as None and returned beside the value, `inout` one given and back,
`*` anything else.
"""

from __future__ import annotations

import json
import keyword
import lzma
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("sdk.json.xz")
MINIMUM = (13, 0)  # the oldest macOS we run on

Version = tuple[int, ...]


@dataclass(frozen=True)
class Method:
    """`key` is the selector after its `-` or `+`; `accesses` names the property it reads or writes."""

    key: str
    returns: str
    arguments: tuple[str, ...]
    introduced: Version | None = None
    deprecated: Version | None = None
    accesses: str | None = None
    variadic: bool = False
    required: bool = False
    weak: bool = False  # its property does not keep what it is given alive

    @property
    def selector(self) -> str:
        return self.key[1:]

    @property
    def of_class(self) -> bool:
        return self.key[0] == "+"

    @property
    def python(self) -> str:
        name = self.selector.replace(":", "_")
        return name + "__" if keyword.iskeyword(name) else name


@dataclass(frozen=True)
class Class:
    name: str
    framework: str
    parent: str | None
    protocols: tuple[str, ...]
    methods: dict[str, Method]


@dataclass(frozen=True)
class Protocol:
    name: str
    implements: tuple[str, ...]
    methods: dict[str, Method]


@dataclass(frozen=True)
class Function:
    name: str
    framework: str
    returns: str
    arguments: tuple[str, ...]
    introduced: Version | None
    deprecated: Version | None
    variadic: bool


@dataclass(frozen=True)
class Constant:
    """Its value where pyobjc knows it; what only a running system knows has None."""

    name: str
    framework: str
    type: str
    value: int | float | str | None
    introduced: Version | None
    deprecated: Version | None


@dataclass(frozen=True)
class Database:
    classes: dict[str, Class]
    protocols: dict[str, Protocol]
    functions: dict[str, Function]
    constants: dict[str, Constant]
    parents: dict[str, tuple[str, ...]]  # module → the modules whose names it has too

    def lineage(self, name: str) -> Iterator[Class]:
        """The class, its parent, and so on up."""
        current: str | None = name
        while current is not None and current in self.classes:
            yield self.classes[current]
            current = self.classes[current].parent

    def method(self, of: str, key: str) -> Method | None:
        """What `of` answers to, itself or by its parents and the protocols they follow."""
        for one in self.lineage(of):
            if key in one.methods:
                return one.methods[key]
            for protocol in one.protocols:
                if (found := self.protocol_method(protocol, key)) is not None:
                    return found
        return None

    def protocol_method(self, protocol: str, key: str) -> Method | None:
        for one in self.protocol_lineage(protocol):
            if key in one.methods:
                return one.methods[key]
        return None

    def protocol_lineage(self, protocol: str) -> Iterator[Protocol]:
        waiting, seen = [protocol], set[str]()
        while waiting:
            name = waiting.pop()
            if name not in seen and name in self.protocols:
                seen.add(name)
                yield self.protocols[name]
                waiting.extend(self.protocols[name].implements)

    def everywhere(self, selector: str) -> list[Method]:
        """Every method with this selector, of whatever class or protocol."""
        return self._by_selector.get(selector, [])

    @cached_property
    def _by_selector(self) -> dict[str, list[Method]]:
        index: dict[str, list[Method]] = {}
        owners: tuple[dict[str, Class] | dict[str, Protocol], ...] = (self.classes, self.protocols)
        for owner in owners:
            for one in owner.values():
                for method in one.methods.values():
                    index.setdefault(method.selector, []).append(method)
        return index

    def modules_of(self, module: str) -> Iterator[str]:
        """The frameworks whose names `module` has, its own first."""
        yield module
        for parent in self.parents.get(module, ()):
            yield from self.modules_of(parent)


def version(text: str | None) -> Version | None:
    return None if text is None else tuple(int(part) for part in text.split("."))


@cache
def selector_of(name: str) -> str | None:
    """The selector pyobjc makes of a method's name, None where it stays plain Python (objc/_transform.py)."""
    if name.endswith("__") and keyword.iskeyword(name[:-2]):
        name = name[:-2]
    if name.startswith("__") and name.endswith("__"):
        return None
    if "_" in name[1:] and not name.endswith("_"):
        return None
    selector = name.replace("_", ":")
    return "_" + selector[1:] if selector.startswith(":") else selector


@cache
def load(path: Path = FILE) -> Database:
    return read(json.loads(lzma.decompress(path.read_bytes())))


def read(raw: dict[str, Any]) -> Database:
    types: list[str] = raw["types"]

    def methods(of: dict[str, list[Any]]) -> dict[str, Method]:
        return {
            key: Method(
                key,
                types[returns],
                tuple(types[one] for one in arguments),
                version(introduced),
                version(deprecated),
                property_,
                "v" in flags,
                "r" in flags,
                "w" in flags,
            )
            for key, (returns, arguments, introduced, deprecated, property_, flags) in of.items()
        }

    return Database(
        classes={
            name: Class(name, framework, parent, tuple(protocols), methods(own))
            for name, (framework, parent, protocols, own) in raw["classes"].items()
        },
        protocols={
            name: Protocol(name, tuple(implements), methods(own))
            for name, (implements, own) in raw["protocols"].items()
        },
        functions={
            name: Function(
                name,
                framework,
                types[returns],
                tuple(types[one] for one in arguments),
                version(introduced),
                version(deprecated),
                "v" in flags,
            )
            for name, (framework, returns, arguments, introduced, deprecated, flags) in raw[
                "functions"
            ].items()
        },
        constants={
            name: Constant(name, framework, types[kind], value, version(introduced), version(deprecated))
            for name, (framework, kind, value, introduced, deprecated) in raw["constants"].items()
        },
        parents={name: tuple(parents) for name, parents in raw["parents"].items()},
    )

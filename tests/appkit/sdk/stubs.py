"""Type stubs for what our macOS room uses of pyobjc, made from the database: `make stubs`.

Only what the source names is in them, so a selector, class or constant that the SDK does not have is missing
from its stub and mypy says so. What is deprecated, or came after the oldest macOS we run on, is marked
deprecated, which mypy reports too. Whether an object may be nil is not in pyobjc's data: what a method gives
back is `X | Any`, whose misspelt selectors are found and which may be compared with None.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tests.appkit.sdk.database import MINIMUM, Class, Database, Function, Method, Version, load, selector_of

ROOT = Path(__file__).parents[3]
ROOM = ROOT / "fazm_memory" / "macos"
STUBS = ROOT / "stubs"
BY_HAND = ("objc.pyi", "PyObjCTools/*.pyi", "rumps/*.pyi")
MODULES = (
    "CoreFoundation", "Foundation", "AppKit", "Cocoa", "HIServices", "Quartz", "ApplicationServices",
    "WebKit", "UserNotifications", "ServiceManagement",
)  # fmt: skip
HEADER = '# Made by tests/appkit/sdk/stubs.py from pyobjc 12.2.2: run "make stubs", do not edit.\n'
IMPORTS = """\
# mypy: disable-error-code="override,misc"
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from objc import Closure, objc_object
from typing_extensions import deprecated

"""
GIVEN = {"B": "bool", "i": "int", "f": "float", ":": "str | None", "out": "None", "out@NSError": "None"}
GIVEN |= {
    "@NSString": "str | None",
    "@NSArray": "Sequence[Any] | None",
    "@NSDictionary": "Mapping[Any, Any] | None",
}
BACK = {"v": "None", "B": "bool", "i": "int", "f": "float", "self": "Self", "@NSString": "str | Any"}
# Objects that Python sees as its own kinds.
BRIDGED = {
    "NSString",
    "NSArray",
    "NSDictionary",
    "NSSet",
    "NSNumber",
    "NSDate",
    "NSMutableArray",
    "NSMutableDictionary",
}
DUNDERS = {
    "NSData": ("def __bytes__(self) -> bytes: ...", "def __len__(self) -> int: ..."),
    "NSObject": ("def __init__(self, *_: Any) -> None: ...",),
}


@dataclass
class Used:
    """What source names: `(module, name)` of imports, and every attribute."""

    names: set[tuple[str, str]] = field(default_factory=set)
    attributes: set[str] = field(default_factory=lambda: {"alloc", "init", "new"})


def used(sources: Iterable[str]) -> Used:
    found = Used()
    for source in sources:
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ImportFrom) and node.module in MODULES:
                found.names |= {(node.module, one.name) for one in node.names}
            elif isinstance(node, ast.Attribute):
                found.attributes.add(node.attr)
                if isinstance(node.value, ast.Name) and node.value.id in MODULES:
                    found.names.add((node.value.id, node.attr))
    return found


class Stubs:
    def __init__(self, database: Database, found: Used) -> None:
        self.database = database
        self.keys = {
            sign + selector
            for name in found.attributes
            if (selector := selector_of(name)) is not None
            for sign in "+-"
        }
        self.exported: dict[str, dict[str, str]] = defaultdict(dict)  # module → name → its own module
        self.classes: set[str] = set()
        self.others: set[str] = set()
        for module, name in sorted(found.names):
            self._name(module, name)
        self._close()

    def files(self) -> dict[str, str]:
        """Path → text, formatted."""
        made: dict[str, str] = {}
        for module in MODULES:
            body = "\n".join(self._module(module))
            if body.strip():
                made[f"{module}.pyi"] = _formatted(HEADER + body + "\n")
        return made

    def _name(self, module: str, name: str) -> None:
        database = self.database
        tables = (database.classes, database.functions, database.constants)
        entry = next((table[name] for table in tables if name in table), None)
        if entry is None or entry.framework not in set(database.modules_of(module)):
            return
        self.exported[module][name] = entry.framework
        if name in database.classes:
            self.classes.add(name)
        else:
            self.others.add(name)

    def _close(self) -> None:
        """Parents, and the classes of what the used selectors give back."""
        waiting = {*self.classes, "NSObject"}
        self.classes = set()
        while waiting:
            name = waiting.pop()
            if name in self.classes or name in BRIDGED:
                continue
            self.classes.add(name)
            waiting |= {one.name for one in self.database.lineage(name)}
            for one in self._methods(self.database.classes[name]):
                back = {
                    one.returns,
                    *(word.removeprefix("out") for word in one.arguments if word[:3] == "out"),
                }
                waiting |= {word[1:] for word in back if word[1:] in self.database.classes}

    def _methods(self, cls: Class) -> Iterator[Method]:
        """The used ones that this class brings, by itself or by a protocol."""
        inherited = {key for key in self.keys if cls.parent and self.database.method(cls.parent, key)}
        seen = set()
        for key in sorted(self.keys, key=lambda one: (one[0] == "+", one)):
            own = key in cls.methods
            method = self.database.method(cls.name, key)
            if method is None or (key in inherited and not own) or method.python in seen:
                continue
            seen.add(method.python)
            yield method

    def _module(self, module: str) -> Iterator[str]:
        own = [self.database.classes[name] for name in sorted(self.classes)]
        own = [one for one in own if one.framework == module]
        others = [name for name in sorted(self.others) if self._framework(name) == module]
        elsewhere = {name: where for name, where in self.exported[module].items() if where != module}
        if not (own or others or elsewhere):
            return
        needed: dict[str, str] = {}
        lines: list[str] = []
        for name in others:
            lines += self._other(name)
        for cls in sorted(own, key=lambda one: len(list(self.database.lineage(one.name)))):
            lines += self._class(cls, needed)
        yield IMPORTS
        for name, where in sorted({**needed, **elsewhere}.items(), key=lambda one: (one[1], one[0])):
            if where != module:
                yield f"from {where} import {name} as {name}"
        yield from lines

    def _framework(self, name: str) -> str:
        entry = self.database.functions.get(name) or self.database.constants[name]
        return entry.framework

    def _other(self, name: str) -> list[str]:
        if (function := self.database.functions.get(name)) is not None:
            return [*_marks(function, ""), f"def {name}({self._signature(function, {}, '')}"]
        kind = self.database.constants[name].type
        return [f"{name}: {BACK.get(kind, 'Any').removesuffix(' | Any')}"]

    def _class(self, cls: Class, needed: dict[str, str]) -> list[str]:
        parent = cls.parent if cls.parent in self.classes else "objc_object"
        if parent in self.database.classes:
            needed[str(parent)] = self.database.classes[str(parent)].framework
        lines = [f"class {cls.name}({parent}):", *(f"    {one}" for one in DUNDERS.get(cls.name, ()))]
        for method in self._methods(cls):
            lines += _marks(method, "    ")
            if method.of_class:
                lines.append("    @classmethod")
            first = "cls" if method.of_class else "self"
            lines.append(f"    def {method.python}({self._signature(method, needed, first)}")
        return lines if len(lines) > 1 else [lines[0] + " ..."]

    def _signature(self, called: Method | Function, needed: dict[str, str], first: str) -> str:
        words = called.arguments
        given = [first] if first else []
        given += [f"_{number}: {self._given(one, needed)}" for number, one in enumerate(words)]
        if called.variadic:
            given.append("*_: Any")
        elif words:
            given.append("/")
        back = self._back(called, needed)
        outs = [self._out(one, needed) for one in words if one.startswith(("out", "inout"))]
        if outs:
            both = outs if back == "None" else [back, *outs]
            back = both[0] if len(both) == 1 else f"tuple[{', '.join(both)}]"
        return f"{', '.join(given)}) -> {back}: ..."

    def _given(self, word: str, needed: dict[str, str]) -> str:
        if word in GIVEN:
            return GIVEN[word]
        if word.startswith("block/"):
            arguments = ", ".join(["Any"] * int(word[6:].rstrip("=")))
            return f"Callable[[{arguments}], {'Any' if word.endswith('=') else 'object'}] | None"
        if word.startswith("closure/"):
            return "Closure | None"
        return f"{name} | None" if (name := self._known(word, needed)) is not None else "Any"

    def _out(self, word: str, needed: dict[str, str]) -> str:
        name = self._known(word.removeprefix("out"), needed)
        return "Any" if name is None else f"{name} | Any"

    def _back(self, called: Method | Function, needed: dict[str, str]) -> str:
        if called.returns in BACK:
            return BACK[called.returns]
        name = self._known(called.returns, needed)
        if name is None:
            return "Any"
        # What a class makes is there; what an object holds may be nil.
        return name if isinstance(called, Method) and called.of_class else f"{name} | Any"

    def _known(self, word: str, needed: dict[str, str]) -> str | None:
        name = word[1:]
        if not word.startswith("@") or name not in self.classes or name in ("NSObject", "NSData"):
            return None
        needed[name] = self.database.classes[name].framework
        return name


def _marks(called: Method | Function, indent: str) -> list[str]:
    """Deprecated, or too new: either must not be used without a word about it."""
    if called.deprecated is not None:
        return [f'{indent}@deprecated("since macOS {_dotted(called.deprecated)}")']
    if called.introduced is not None and called.introduced > MINIMUM:
        words = f"only from macOS {_dotted(called.introduced)}, and we run on {_dotted(MINIMUM)}"
        return [f'{indent}@deprecated("{words}")']
    return []


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))


def _formatted(text: str) -> str:
    ruff = Path(sys.executable).with_name("ruff")
    for command in (["check", "--fix", "--select", "I,F401", "--quiet"], ["format", "--quiet"]):
        text = subprocess.run(
            [ruff, *command, "--stdin-filename", str(STUBS / "made.pyi"), "-"],
            input=text, capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip
    return text


def by_hand() -> list[Path]:
    return sorted(path for pattern in BY_HAND for path in STUBS.glob(pattern))


def room() -> list[str]:
    """The source that is typed, and the stubs written by hand, which name classes too."""
    return [path.read_text(encoding="utf-8") for path in (*sorted(ROOM.rglob("*.py")), *by_hand())]


def main() -> None:
    made = Stubs(load(), used(room())).files()
    for path in STUBS.rglob("*.pyi"):
        if path.name not in made and path not in by_hand():
            path.unlink()
    for name, text in made.items():
        (STUBS / name).write_text(text, encoding="utf-8")
    print(f"{len(made)} stubs, {sum(text.count(chr(10)) for text in made.values())} lines")


if __name__ == "__main__":
    main()

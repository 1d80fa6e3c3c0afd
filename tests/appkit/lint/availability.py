"""The oldest macOS we run on: nothing that came later without a guard, and nothing that is deprecated.

mypy over our stubs says this of every value with a type; here it is said of names, and of selectors that are
too new or deprecated wherever they occur. A guard is an `if` that asks: `respondsToSelector_`, `hasattr` or
`isOperatingSystemAtLeastVersion_`. Whoever silences mypy's `deprecated` must stand under one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from tests.appkit.lint.room import Finding, Room
from tests.appkit.sdk.database import MINIMUM, Class, Constant, Function, Method, Version, selector_of

GUARDS = ("respondsToSelector_", "hasattr", "isOperatingSystemAtLeastVersion_")
SILENCED = "type: ignore[deprecated]"


def findings(room: Room, sources: dict[str, str], minimum: Version = MINIMUM) -> Iterator[Finding]:
    for file, tree in room.trees.items():
        guarded = _guarded(tree)
        for node in ast.walk(tree):
            line = getattr(node, "lineno", 0)
            if isinstance(node, ast.ImportFrom):
                names = [one.name for one in node.names] if _framework(room, node.module) else []
            elif isinstance(node, ast.Attribute):
                names = [node.attr] if _framework(room, ast.unparse(node.value)) else []
                if line not in guarded and (reply := _selector(room, node.attr, minimum)) is not None:
                    yield Finding(file, line, *reply)
            else:
                continue
            for name in names:
                if line not in guarded and (reply := _name(room, name, minimum)) is not None:
                    yield Finding(file, line, *reply)
        for number, text in enumerate(sources[file].splitlines(), 1):
            if SILENCED in text and number not in guarded:
                words = "mypy is silenced about a system that may not have it, and nothing asks that system"
                yield Finding(file, number, "UNGUARDED", words)


def _framework(room: Room, module: str | None) -> bool:
    return module is not None and (module in room.database.parents or module == "CoreFoundation")


def _selector(room: Room, name: str, minimum: Version) -> tuple[str, str] | None:
    selector = selector_of(name)
    if selector is None or selector in room.defined:
        return None
    # A name without arguments may be anything; with them it is nothing else.
    return _description(room.database.everywhere(selector), selector, minimum) if ":" in selector else None


def _name(room: Room, name: str, minimum: Version) -> tuple[str, str] | None:
    database = room.database
    if (cls := database.classes.get(name)) is not None:
        return _description(_of(cls), name, minimum)
    entry = database.functions.get(name) or database.constants.get(name)
    return None if entry is None else _description([entry], name, minimum)


def _of(cls: Class) -> list[Method]:
    return list(cls.methods.values())


def _description(
    entries: Iterable[Method | Function | Constant], name: str, minimum: Version
) -> tuple[str, str] | None:
    every = list(entries)
    if every and all(one.introduced is not None and one.introduced > minimum for one in every):
        first = min(one.introduced for one in every if one.introduced is not None)
        return "TOO-NEW", f"{name} came with macOS {'.'.join(map(str, first))}"
    if every and all(one.deprecated is not None for one in every):
        first = min(one.deprecated for one in every if one.deprecated is not None)
        return "DEPRECATED", f"{name} is deprecated since macOS {'.'.join(map(str, first))}"
    return None


def _guarded(tree: ast.Module) -> set[int]:
    """The lines that run only where somebody asked first."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.If | ast.IfExp) and any(one in ast.unparse(node.test) for one in GUARDS):
            body = node.body if isinstance(node, ast.If) else [node.body]
            for one in body:
                lines |= set(range(one.lineno, (one.end_lineno or one.lineno) + 1))
    return lines

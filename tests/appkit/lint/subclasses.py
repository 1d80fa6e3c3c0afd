"""What pyobjc makes of a class's methods, and where that is not what was meant (objc/_transform.py)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.appkit.lint.room import Finding, ObjectiveC, Room
from tests.appkit.sdk.database import selector_of

# Part of an object's life in memory. Whoever has one of these by accident has a crash somewhere else.
RUNTIME = {
    "autorelease",
    "class",
    "copy",
    "dealloc",
    "hash",
    "release",
    "retain",
    "self",
    "superclass",
    "zone",
}


def findings(room: Room) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for cls in room.classes:
        name = cls.node.name
        if name in seen or name in room.database.classes:
            words = f"{name} is defined twice, and a class name is one for the whole process"
            yield Finding(cls.file, cls.node.lineno, "TWICE", words)
        seen[name] = cls.file
        yield from _conforms(room, cls)
        for method, selector in cls.methods():
            for kind, words in _method(room, method, selector):
                yield Finding(cls.file, method.lineno, kind, f"{name}.{method.name}: {words}")
            for line in _bare_super(method):
                yield Finding(
                    cls.file, line, "SUPER", f"{name}.{method.name}: write objc.super({name}, self)"
                )


def _method(room: Room, method: ast.FunctionDef, selector: str | None) -> Iterator[tuple[str, str]]:
    if selector is None:
        if (meant := selector_of(method.name + "_")) and room.database.everywhere(meant):
            yield "PLAIN", f"without its last underscore it is not {meant!r}, and is never called"
        return
    if not _fits(method, selector):
        yield "ARITY", f"the arguments are not those of {selector!r}; is @objc.python_method missing?"
    if selector in RUNTIME:
        yield "RUNTIME", "overrides the runtime's own; is @objc.python_method missing?"
    if selector.startswith("init") and not _gives_back(method):
        yield "INIT", "an initializer must return self"
    known = room.database.everywhere(selector)
    if ":" in selector and not known and not _meant(room, selector):
        yield "UNKNOWN", f"{selector!r} is in no class or protocol, and nothing here names or calls it"
    if known and all(one.returns != "v" for one in known) and _gives_nothing(method):
        yield "RETURNS", f"{selector!r} must give a value back"


def _fits(method: ast.FunctionDef, selector: str) -> bool:
    given, wanted = method.args, selector.count(":")
    if given.vararg is not None:
        return True
    if any(default is None for default in given.kw_defaults):
        return False
    most = len(given.posonlyargs) + len(given.args) - 1
    return most - len(given.defaults) <= wanted <= most


def _gives_back(method: ast.FunctionDef) -> bool:
    return any(isinstance(node, ast.Return) and node.value is not None for node in ast.walk(method))


def _gives_nothing(method: ast.FunctionDef) -> bool:
    """Whether it says so, or has no return with a value. One that only raises gives nothing either way."""
    reply = isinstance(method.returns, ast.Constant) and method.returns.value is None
    return reply or not _gives_back(method)


def _meant(room: Room, selector: str) -> bool:
    """Our own selectors are named in a string, or sent from Python."""
    return selector in room.strings or selector in room.called


def _bare_super(method: ast.FunctionDef) -> Iterator[int]:
    for node in ast.walk(method):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super":
            yield node.lineno


def _conforms(room: Room, cls: ObjectiveC) -> Iterator[Finding]:
    own = {selector for _, selector in cls.methods()}
    for name in cls.protocols():
        if name not in room.database.protocols:
            yield Finding(cls.file, cls.node.lineno, "PROTOCOL", f"there is no protocol {name}")
        for protocol in room.database.protocol_lineage(name):
            for method in protocol.methods.values():
                inherited = room.database.method(cls.native, method.key) is not None
                if method.required and method.selector not in own and not inherited:
                    words = f"{cls.node.name} lacks {method.selector!r}, which {name} requires"
                    yield Finding(cls.file, cls.node.lineno, "PROTOCOL", words)

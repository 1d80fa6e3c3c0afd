"""What the system hands to our methods has a class that the SDK names, though the source says Any.

`message.frameInfo().request()` in a delegate method is followed from there, call by call, as far as the SDK
says what comes back; a selector that the class at hand does not have is found although mypy sees no type.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.appkit.lint.room import Finding, ObjectiveC, Room
from tests.appkit.sdk.database import Method, selector_of

# What Python sees as its own kinds, with methods of their own.
BRIDGED = {"NSString", "NSArray", "NSDictionary", "NSSet", "NSNumber", "NSDate", "NSData"}


def findings(room: Room) -> Iterator[Finding]:
    for cls in room.classes:
        for method, selector in cls.methods():
            if selector is not None:
                yield from _Chains(room, cls, _given(room, method, selector)).of(method)


def _given(room: Room, method: ast.FunctionDef, selector: str) -> dict[str, str]:
    """Parameter → its class, where all that have this selector agree."""
    known = room.database.everywhere(selector)
    names = [one.arg for one in (*method.args.posonlyargs, *method.args.args)][1:]
    given = {}
    for number, name in enumerate(names):
        words = {one.arguments[number] for one in known if number < len(one.arguments)}
        if len(words) == 1 and (found := _class(room, words.pop())) is not None:
            given[name] = found
    return given


def _class(room: Room, word: str) -> str | None:
    """A class or, in angle brackets, a protocol."""
    name = word[1:]
    if name.startswith("<"):
        return name
    return name if word[:1] == "@" and name in room.database.classes and name not in BRIDGED else None


class _Chains:
    def __init__(self, room: Room, cls: ObjectiveC, known: dict[str, str]) -> None:
        self.room, self.cls, self.known = room, cls, known
        self.found: list[Finding] = []

    def of(self, method: ast.FunctionDef) -> list[Finding]:
        for statement in method.body:
            for node in ast.walk(statement):
                if isinstance(node, ast.Assign) and len(node.targets) == 1:
                    self._assigned(node.targets[0], node.value)
                elif isinstance(node, ast.Call):
                    self._type(node)
        return self.found

    def _assigned(self, target: ast.expr, value: ast.expr) -> None:
        if isinstance(target, ast.Name) and target.id != "self":
            if (made := self._type(value)) is not None:
                self.known[target.id] = made
            else:
                self.known.pop(target.id, None)

    def _type(self, node: ast.expr) -> str | None:
        """The class of what this gives, as far as it is known."""
        if isinstance(node, ast.Name):
            return self.known.get(node.id)
        if not isinstance(node, ast.Call):
            return None
        if ast.unparse(node.func) == "objc.super":
            return self.cls.native
        if not isinstance(node.func, ast.Attribute) or (owner := self._type(node.func.value)) is None:
            return None
        method = self._method(owner, node.func.attr)
        if method is None:
            words = f"{owner} has no {node.func.attr!r}"
            self.found.append(Finding(self.cls.file, node.lineno, "NO-SUCH-CALL", words))
            return None
        return owner if method.returns == "self" else _class(self.room, method.returns)

    def _method(self, owner: str, name: str) -> Method | None:
        selector = selector_of(name)
        if selector is None:
            return None
        database, key = self.room.database, "-" + selector
        if owner.startswith("<"):  # whoever follows it is an object too
            return database.protocol_method(owner[1:-1], key) or database.method("NSObject", key)
        return database.method(owner, key)

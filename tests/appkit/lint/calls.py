"""Messages sent, and selectors named in strings. mypy checks what has a type; this also what comes as Any."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from tests.appkit.lint.room import Finding, Room
from tests.appkit.sdk.database import selector_of

SELECTOR = re.compile(r"[a-z][A-Za-z0-9]*:(?:[A-Za-z0-9]+:)*")
RESPONDER = {"undo:", "redo:"}  # answered by whatever is edited, declared in no header


def findings(room: Room) -> Iterator[Finding]:
    for file, node in room.walk():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            for kind, words in _call(room, node, node.func.attr):
                yield Finding(file, node.lineno, kind, words)
    for file, tree in room.trees.items():
        if not _imports_pyobjc(tree):
            continue
        texts = _docstrings(tree)
        for node in ast.walk(tree):
            text = node.value if isinstance(node, ast.Constant) and id(node) not in texts else None
            if isinstance(text, str) and SELECTOR.fullmatch(text) and not _exists(room, text):
                words = f"{text!r} is the selector of no method, here or in the SDK"
                yield Finding(file, getattr(node, "lineno", 0), "DANGLING", words)


def _call(room: Room, call: ast.Call, name: str) -> Iterator[tuple[str, str]]:
    selector = selector_of(name)
    if selector is None or ":" not in selector or name.startswith("_"):
        return
    known = room.database.everywhere(selector)
    if not known and selector not in room.defined:
        yield "NO-SUCH-CALL", f"no class or protocol has {selector!r}"
        return
    starred = any(isinstance(one, ast.Starred) for one in call.args)
    if call.keywords or (not starred and not any(one.variadic for one in known)):
        wanted = selector.count(":")
        if call.keywords or len(call.args) != wanted:
            yield "CALL-ARITY", f"{selector!r} is given {len(call.args)} arguments and takes {wanted}"
    for number, given in enumerate(call.args):
        takes_selector = any(one.arguments[number : number + 1] == (":",) for one in known)
        if takes_selector and isinstance(given, ast.Constant) and isinstance(given.value, str):
            yield from _named(room, selector, given.value)


def _named(room: Room, by: str, selector: str) -> Iterator[tuple[str, str]]:
    """A selector in a string: Cocoa calls it back with one argument, the timer, note or sender."""
    if not SELECTOR.fullmatch(selector) and not _exists(room, selector):
        yield "DANGLING", f"{selector!r} is the selector of no method, here or in the SDK"
    called_back = any(word in by for word in ("selector:name:", "target:selector:", "action:", "setAction:"))
    if called_back and selector.count(":") != 1:
        yield "SHAPE", f"{selector!r} will be sent with one argument"


def _exists(room: Room, selector: str) -> bool:
    return selector in room.defined or selector in RESPONDER or bool(room.database.everywhere(selector))


def _imports_pyobjc(tree: ast.Module) -> bool:
    names = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    names |= {one.name for node in ast.walk(tree) if isinstance(node, ast.Import) for one in node.names}
    return bool(names & {"AppKit", "Foundation", "WebKit", "UserNotifications", "objc", "rumps"})


def _docstrings(tree: ast.Module) -> set[int]:
    return {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}

"""The messages that our macOS code sends, each made wrong: the lint names exactly those lines."""

from __future__ import annotations

import ast
from collections.abc import Callable

import pytest

from tests.appkit.lint import calls, room_sources
from tests.appkit.lint.room import Room
from tests.appkit.sdk.database import load, selector_of


def misspell(call: ast.Call, function: ast.Attribute) -> None:
    function.attr = "x" + function.attr


def drop_an_argument(call: ast.Call, function: ast.Attribute) -> None:
    call.args.pop()


def add_an_argument(call: ast.Call, function: ast.Attribute) -> None:
    call.args.append(ast.Constant(None))


def messages(tree: ast.Module) -> list[tuple[ast.Call, ast.Attribute]]:
    """The calls of selectors with arguments, all written out."""
    return [
        (node, node.func)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and ":" in (selector_of(node.func.attr) or "")
        and not any(isinstance(one, ast.Starred) for one in node.args)
    ]


@pytest.mark.parametrize(
    ("spoil", "kind"),
    [(misspell, "NO-SUCH-CALL"), (drop_an_argument, "CALL-ARITY"), (add_an_argument, "CALL-ARITY")],
)
def test_every_message_that_is_made_wrong_is_found(
    spoil: Callable[[ast.Call, ast.Attribute], None], kind: str
) -> None:
    trees = {file: ast.parse(text) for file, text in room_sources().items()}
    spoiled: set[tuple[str, int]] = set()
    for file, tree in trees.items():
        sent = messages(tree)
        for call, function in sent:
            spoil(call, function)
        left = set(ast.walk(tree))  # one that was another's last argument may be gone
        spoiled |= {(file, call.lineno) for call, _ in sent if call in left}
    found = {(one.file, one.line) for one in calls.findings(Room(load(), trees)) if one.kind == kind}
    assert len(spoiled) > 50
    assert found == spoiled

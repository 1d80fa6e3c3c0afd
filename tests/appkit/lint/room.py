"""The source under the lint: its trees, its Objective-C classes, and the selectors it defines and names."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from tests.appkit.sdk.database import Database, selector_of

PLAIN = {"objc.python_method", "python_method", "staticmethod", "property", "cached_property"}


@dataclass(frozen=True, order=True)
class Finding:
    """`kind` is a word to look for, `words` say what would happen on a Mac."""

    file: str
    line: int
    kind: str
    words: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.kind}: {self.words}"


@dataclass(frozen=True)
class ObjectiveC:
    """A class of ours whose parents lead to one of the SDK."""

    file: str
    node: ast.ClassDef
    native: str

    def methods(self) -> Iterator[tuple[ast.FunctionDef, str | None]]:
        """Those that pyobjc looks at, with the selector it makes of the name, None for a plain one."""
        for node in self.node.body:
            if isinstance(node, ast.FunctionDef):
                marks = {ast.unparse(one).partition("(")[0] for one in node.decorator_list}
                if not marks & PLAIN:
                    yield node, selector_of(node.name)

    def protocols(self) -> list[str]:
        """Those it is declared to follow: `protocols=[objc.protocolNamed("…")]`."""
        given = [one.value for one in self.node.keywords if one.arg == "protocols"]
        return [
            str(node.value)
            for tree in given
            for node in ast.walk(tree)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        ]


@dataclass
class Room:
    database: Database
    trees: dict[str, ast.Module] = field(default_factory=dict)

    @classmethod
    def of(cls, database: Database, sources: Iterable[tuple[str, str]]) -> Room:
        return cls(database, {file: ast.parse(text, file) for file, text in sources})

    def walk(self) -> Iterator[tuple[str, ast.AST]]:
        for file, tree in self.trees.items():
            for node in ast.walk(tree):
                yield file, node

    @cached_property
    def classes(self) -> list[ObjectiveC]:
        native = {name: name for name in self.database.classes}
        found: list[ObjectiveC] = []
        waiting = [(file, node) for file, node in self.walk() if isinstance(node, ast.ClassDef)]
        while True:
            ready = [
                (file, node, parent)
                for file, node in waiting
                for base in node.bases
                if (parent := native.get(ast.unparse(base).rpartition(".")[2])) is not None
            ]
            if not ready:
                return found
            for file, node, parent in ready:
                native[node.name] = parent
                found.append(ObjectiveC(file, node, parent))
                waiting.remove((file, node))

    @cached_property
    def defined(self) -> set[str]:
        """The selectors of our own methods."""
        return {selector for one in self.classes for _, selector in one.methods() if selector is not None}

    @cached_property
    def called(self) -> set[str]:
        """The selectors of everything that is read from an object, called or not."""
        names = {node.attr for _, node in self.walk() if isinstance(node, ast.Attribute)}
        return {selector for name in names if (selector := selector_of(name)) is not None}

    @cached_property
    def strings(self) -> set[str]:
        return {
            node.value
            for _, node in self.walk()
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        }

"""Editing JSON the way a careful person does: what is not ours keeps every byte.

A configuration is a user's own text, with their indentation, order and comments. It is parsed only to learn
where things stand; members and items are then put in and taken out as text. Comments and trailing commas,
which some agents allow, are understood and left alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

SPACE = " \t\r\n"
DEEPEST = 200
_scan: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder().scan_once  # type: ignore[attr-defined]


class NotJson(ValueError):
    """The text is not JSON that we can edit; the message says where."""


@dataclass
class Node:
    """A value and where it stands. An object's children carry their keys, an array's do not."""

    start: int
    end: int = 0
    value: Any = None
    key: str | None = None
    key_start: int = 0
    children: list[Node] = field(default_factory=list)

    @property
    def begin(self) -> int:
        """Where it begins as a child: at its key, if it has one."""
        return self.key_start if self.key is not None else self.start

    def child(self, key: str) -> Node | None:
        """The member of this name; of several the last one counts, as it does for agents."""
        return next((one for one in reversed(self.children) if one.key == key), None)


def parse(text: str) -> Node:
    """The document as a tree of places. Raises NotJson."""
    at = _skip(text, 1 if text.startswith("\ufeff") else 0)
    root = _value(text, at, 0)
    rest = _skip(text, root.end)
    if rest != len(text):
        raise NotJson(f"there is something after the end, {_where(text, rest)}")
    return root


Path = tuple[str | int, ...]


def add_member(text: str, path: Path, key: str, value: Any) -> str:
    """The text with a member more, at the end of the object at `path`."""
    return _add(text, _at(parse(text), path), value, key)


def add_item(text: str, path: Path, value: Any) -> str:
    """The text with an item more, at the end of the array at `path`."""
    return _add(text, _at(parse(text), path), value, None)


def remove(text: str, path: Path, ours: Callable[[Node], bool]) -> str:
    """The text without those children of the container at `path` that are ours."""
    while True:
        container = _at(parse(text), path)
        for number, one in enumerate(container.children):
            if ours(one):
                text = _without(text, container, number)
                break
        else:
            return text


def _at(root: Node, path: Path) -> Node:
    node = root
    for name in path:
        found = node.children[name] if isinstance(name, int) else node.child(name)
        if found is None:
            raise KeyError(name)
        node = found
    return node


def _add(text: str, container: Node, value: Any, key: str | None) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    inner, outer = _indents(text, container)
    name = f"{json.dumps(key, ensure_ascii=False)}: " if key is not None else ""
    if inner is None:
        made = name + json.dumps(value, ensure_ascii=False)
        lead, tail = (" " if container.children else ""), ""
    else:
        unit = inner[len(outer) :] or "  "
        lines = json.dumps(value, ensure_ascii=False, indent=unit).split("\n")
        made = name + (newline + inner).join(lines)
        lead, tail = newline + inner, newline + outer
    if not container.children:
        kept = text[container.start + 1 : container.end - 1].rstrip()  # a comment, or nothing
        return text[: container.start + 1] + kept + lead + made + tail + text[container.end - 1 :]
    last = container.children[-1].end
    comma = _skip(text, last)
    if text[comma] == ",":  # a trailing comma stays one
        place = _line_end(text, comma + 1)
        return text[:place] + lead + made + "," + text[place:]
    place = _line_end(text, last)
    return text[:last] + "," + text[last:place] + lead + made + text[place:]


def _without(text: str, container: Node, number: int) -> str:
    one = container.children[number]
    begin = one.begin
    while text[begin - 1] in SPACE:
        begin -= 1
    after = _skip(text, one.end)
    before = container.children[number - 1].end if number else container.start + 1
    if "//" in text[before:begin] and "\n" not in text[one.end : after + 2]:
        begin = one.begin  # the line break before us is what ends a comment
    if number + 1 < len(container.children) or (text[after] == "," and number > 0):
        return text[:begin] + text[after + 1 :]
    if number > 0:
        comma = _skip(text, before)
        return text[:comma] + text[comma + 1 : begin] + text[one.end :]
    end = after + 1 if text[after] == "," else one.end
    # The only child: what is left between the brackets goes too when it is nothing but line breaks.
    left = text[container.start + 1 : begin] + text[end : container.end - 1]
    if not left.strip():
        return text[: container.start + 1] + text[container.end - 1 :]
    return text[:begin] + text[end:]


def _indents(text: str, container: Node) -> tuple[str | None, str]:
    """How the children of a container are indented, and it itself; None when it is written on one line."""
    outer = _indent_of(text, container.begin)
    if container.children:
        first = container.children[0].begin
        if "\n" not in text[container.start : first]:
            return None, outer
        return _indent_of(text, first), outer
    if "\n" not in text.strip("\r\n"):
        return (None if text.strip() not in ("", "{}", "[]") else "  "), outer
    return outer + _unit(text), outer


def _indent_of(text: str, at: int) -> str:
    start = text.rfind("\n", 0, at) + 1
    line = text[start:at]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """One step of indentation, as the first indented line has it."""
    for line in text.split("\n")[1:]:
        indent = line[: len(line) - len(line.lstrip(" \t"))]
        if indent and line.strip():
            return indent
    return "  "


def _line_end(text: str, at: int) -> int:
    """The end of a comment that follows on the same line: it belongs to what stands before it."""
    ahead = at
    while ahead < len(text) and text[ahead] in " \t":
        ahead += 1
    if text.startswith("//", ahead):
        end = text.find("\n", ahead)
        end = len(text) if end < 0 else end
        return end - 1 if text[end - 1] == "\r" else end
    if text.startswith("/*", ahead):
        end = text.find("*/", ahead)
        if end >= 0 and "\n" not in text[ahead:end]:
            return end + 2
    return at


def _skip(text: str, at: int) -> int:
    """Past white space and comments."""
    while at < len(text):
        if text[at] in SPACE:
            at += 1
        elif text.startswith("//", at):
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        elif text.startswith("/*", at):
            end = text.find("*/", at + 2)
            if end < 0:
                raise NotJson(f"a comment does not end, {_where(text, at)}")
            at = end + 2
        else:
            break
    return at


def _value(text: str, at: int, depth: int) -> Node:
    if depth > DEEPEST:
        raise NotJson("it is nested too deeply")
    node = Node(at)
    if text[at : at + 1] in ("{", "["):
        is_object = text[at] == "{"
        node.children = list(_children(text, node, "}" if is_object else "]", depth))
        values = [(one.key, one.value) for one in node.children]
        node.value = dict(values) if is_object else [value for _, value in values]
        return node
    try:
        node.value, node.end = _scan(text, at)
    except StopIteration:
        raise NotJson(f"a value is missing, {_where(text, at)}") from None
    except ValueError as error:
        raise NotJson(str(error)) from None
    return node


def _children(text: str, node: Node, closing: str, depth: int) -> Iterator[Node]:
    at = _skip(text, node.start + 1)
    while text[at : at + 1] != closing:
        key, key_start = None, at
        if closing == "}":
            if text[at : at + 1] != '"':
                raise NotJson(f"a name is missing, {_where(text, at)}")
            named = _value(text, at, depth)
            key, at = str(named.value), _skip(text, named.end)
            if text[at : at + 1] != ":":
                raise NotJson(f"a colon is missing, {_where(text, at)}")
            at = _skip(text, at + 1)
        child = _value(text, at, depth + 1)
        child.key, child.key_start = key, key_start
        yield child
        at = _skip(text, child.end)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
        elif text[at : at + 1] != closing:
            raise NotJson(f"a comma or {closing} is missing, {_where(text, at)}")
    node.end = at + 1


def _where(text: str, at: int) -> str:
    return f"line {text.count(chr(10), 0, at) + 1}"

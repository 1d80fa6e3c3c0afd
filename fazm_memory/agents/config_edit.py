"""Edits of JSON and TOML configurations that change nothing else.

A configuration is the user's own text, with indentation, order and comments. It is parsed only to find
positions; members and items are inserted and removed as text. Comments and trailing commas are understood and
left alone.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from fazm_memory.records import dataclass, field

SPACE = " \t\r\n"
DEEPEST = 200
_scan: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder().scan_once  # type: ignore[attr-defined]


class NotJson(ValueError):
    """The text is not JSON that we can edit; the message says where."""


@dataclass
class JsonNode:
    """A value and its position. The children of an object have keys."""

    start: int
    end: int = 0
    value: Any = None
    key: str | None = None
    key_start: int = 0
    children: list[JsonNode] = field(default_factory=list)

    @property
    def begin(self) -> int:
        """The position of the key, or of the value if there is no key."""
        return self.key_start if self.key is not None else self.start

    def child(self, key: str) -> JsonNode | None:
        """The member of this name, the last of several."""
        return next((child for child in reversed(self.children) if child.key == key), None)


def parse(text: str) -> JsonNode:
    """The document as a tree of positions. Raises NotJson."""
    at = _skip(text, 1 if text.startswith("\ufeff") else 0)
    root = _value(text, at, 0)
    rest = _skip(text, root.end)
    if rest != len(text):
        raise NotJson(f"there is something after the end, {_where(text, rest)}")
    return root


Path = tuple[str | int, ...]


def add_member(text: str, path: Path, key: str, value: Any) -> str:
    """Add a member at the end of the object at `path`."""
    return _add(text, _node_at(parse(text), path), value, key)


def add_item(text: str, path: Path, value: Any) -> str:
    """Add an item at the end of the array at `path`."""
    return _add(text, _node_at(parse(text), path), value, None)


def remove(text: str, path: Path, ours: Callable[[JsonNode], bool]) -> str:
    """Remove the children of the container at `path` for which `ours` is true."""
    while True:
        container = _node_at(parse(text), path)
        for number, child in enumerate(container.children):
            if ours(child):
                text = _without_child(text, container, number)
                break
        else:
            return text


def _node_at(root: JsonNode, path: Path) -> JsonNode:
    node = root
    for name in path:
        found = node.children[name] if isinstance(name, int) else node.child(name)
        if found is None:
            raise KeyError(name)
        node = found
    return node


def _add(text: str, container: JsonNode, value: Any, key: str | None) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    inner, outer = _indents(text, container)
    name = f"{json.dumps(key, ensure_ascii=False)}: " if key is not None else ""
    if inner is None:
        added = name + json.dumps(value, ensure_ascii=False)
        lead, tail = (" " if container.children else ""), ""
    else:
        unit = inner[len(outer) :] or "  "
        lines = json.dumps(value, ensure_ascii=False, indent=unit).split("\n")
        added = name + (newline + inner).join(lines)
        lead, tail = newline + inner, newline + outer
    if not container.children:
        comment = text[container.start + 1 : container.end - 1].rstrip()  # a comment, or nothing
        return text[: container.start + 1] + comment + lead + added + tail + text[container.end - 1 :]
    last = container.children[-1].end
    comma = _skip(text, last)
    if text[comma] == ",":  # keep a trailing comma
        place = _line_end(text, comma + 1)
        return text[:place] + lead + added + "," + text[place:]
    place = _line_end(text, last)
    return text[:last] + "," + text[last:place] + lead + added + text[place:]


def _without_child(text: str, container: JsonNode, number: int) -> str:
    child = container.children[number]
    begin = child.begin
    while text[begin - 1] in SPACE:
        begin -= 1
    after = _skip(text, child.end)
    before = container.children[number - 1].end if number else container.start + 1
    if "//" in text[before:begin] and "\n" not in text[child.end : after + 2]:
        begin = child.begin  # this line break ends a comment
    if number + 1 < len(container.children) or (text[after] == "," and number > 0):
        return text[:begin] + text[after + 1 :]
    if number > 0:
        comma = _skip(text, before)
        return text[:comma] + text[comma + 1 : begin] + text[child.end :]
    end = after + 1 if text[after] == "," else child.end
    # The only child: remove white space between the brackets too.
    left = text[container.start + 1 : begin] + text[end : container.end - 1]
    if not left.strip():
        return text[: container.start + 1] + text[container.end - 1 :]
    return text[:begin] + text[end:]


def _indents(text: str, container: JsonNode) -> tuple[str | None, str]:
    """The indents of the children (None if on one line) and of the container."""
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
    """The indentation of the first indented line."""
    for line in text.split("\n")[1:]:
        indent = line[: len(line) - len(line.lstrip(" \t"))]
        if indent and line.strip():
            return indent
    return "  "


def _line_end(text: str, at: int) -> int:
    """The position after a comment on the same line, or `at`."""
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
    """The position after white space and comments."""
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


def _value(text: str, at: int, depth: int) -> JsonNode:
    if depth > DEEPEST:
        raise NotJson("it is nested too deeply")
    node = JsonNode(at)
    if text[at : at + 1] in ("{", "["):
        is_object = text[at] == "{"
        node.children = list(_children(text, node, "}" if is_object else "]", depth))
        values = [(child.key, child.value) for child in node.children]
        node.value = dict(values) if is_object else [value for _, value in values]
        return node
    try:
        node.value, node.end = _scan(text, at)
    except StopIteration:
        raise NotJson(f"a value is missing, {_where(text, at)}") from None
    except ValueError as error:
        raise NotJson(str(error)) from None
    return node


def _children(text: str, node: JsonNode, closing: str, depth: int) -> Iterator[JsonNode]:
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


class NotToml(ValueError):
    """The text is not TOML that we can edit; the message says why."""


def parse_toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text.removeprefix("\ufeff").replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        raise NotToml(str(error)) from None


def table(text: str, path: tuple[str, str]) -> dict[str, Any] | None:
    """The table at `path`, or None."""
    found = parse_toml(text).get(path[0], {})
    inner = found.get(path[1]) if isinstance(found, dict) else None
    return inner if isinstance(inner, dict) else None


def add_table(text: str, path: tuple[str, str], values: Mapping[str, Any]) -> str:
    """Add a table at the end of the text."""
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [f"[{path[0]}.{path[1]}]", *(f"{name} = {_toml_value(value)}" for name, value in values.items())]
    gap = "" if not text else newline if text.endswith("\n") else newline * 2
    result = text + gap + newline.join(lines) + newline
    wanted = parse_toml(text)
    holder = wanted.setdefault(path[0], {})
    if not isinstance(holder, dict):
        raise NotToml(f"{path[0]} is not a table there")
    holder[path[1]] = dict(values)
    _check(result, wanted)
    return result


def remove_table(text: str, path: tuple[str, str]) -> str:
    """Remove a table and the tables below it."""
    wanted = parse_toml(text)
    holder = wanted.get(path[0])
    if not isinstance(holder, dict) or path[1] not in holder:
        return text
    del holder[path[1]]
    if not holder:
        del wanted[path[0]]
    header = re.compile(rf"\[\s*{re.escape(path[0])}\s*\.\s*[\"']?{re.escape(path[1])}[\"']?\s*[.\]]")
    lines = text.splitlines(keepends=True)
    for number in reversed(range(len(lines))):
        if number < len(lines) and header.match(lines[number].strip()):
            shorter = _without_block(lines, number)
            # A line in a multi-line string may look like our header.
            if _is_toml("".join(shorter)):
                lines = shorter
    text = "".join(lines)
    _check(text, wanted)
    return text


def _without_block(lines: list[str], start: int) -> list[str]:
    """The lines without a table and the empty line before it."""
    end = start + 1
    while end < len(lines) and lines[end].strip() and not lines[end].lstrip().startswith(("#", "[")):
        end += 1
    begin = start - 1 if start and not lines[start - 1].strip() else start
    return lines[:begin] + lines[end:]


def _is_toml(text: str) -> bool:
    try:
        parse_toml(text)
    except NotToml:
        return False
    return True


def _toml_value(value: Any) -> str:
    """A value in TOML, with a table inline. Other values look as in JSON."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{name} = {_toml_value(item)}" for name, item in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)


def _check(text: str, wanted: dict[str, Any]) -> None:
    if parse_toml(text) != wanted:
        raise NotToml("it is written in a way that cannot be edited without touching the rest")

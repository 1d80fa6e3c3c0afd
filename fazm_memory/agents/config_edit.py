"""Edits of JSON, TOML and YAML configurations that change nothing else.

A configuration is the user's own text, with indentation, order and comments. It is parsed only to find
positions; members and items are inserted and removed as text. Comments and trailing commas are understood and
left alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from fazm_memory.lazy import lazy_regex
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
        raise NotJson(f"there is text after the end, {_where(text, rest)}")
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
    import tomllib  # takes as long as a tenth of `status`, and few agents have TOML

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


# -- YAML ------------------------------------------------------------------------------------------------
# There is no parser for YAML here, so only plain block mappings are edited, line by line. What we add is one
# line of JSON, which is YAML too. Anything unusual on the way to it is refused.

_EMPTY_VALUES = ("", "{}", "[]", "null", "~")
_YAML_KEY = lazy_regex(r"""( *)("[^"\\]+"|'[^']+'|[^\s'"#&*!|>%@`\[\]{},-][^:#]*?) *:(?: +(.*))?$""")


class NotYaml(ValueError):
    """The text is not YAML that we can edit; the message says why."""


@dataclass(frozen=True)
class _YamlBlock:
    """A member of a mapping: its lines, its indent, and what follows its name.

    `end` is the line after the last.
    """

    start: int
    end: int
    indent: int
    name: str
    value: str


def yaml_member(text: str, section: str, name: str) -> str | None:
    """The value of a member of a top-level mapping as it is written, or None."""
    lines = _yaml_lines(text)
    found = _yaml_child(lines, _yaml_child(lines, None, section), name)
    if found is None:
        return None
    return "\n".join([found.value, *lines[found.start + 1 : found.end]]).strip()


def add_yaml_member(text: str, section: str, name: str, value: str) -> str:
    """Add a member to a top-level mapping, which is made if it is missing."""
    lines = _yaml_lines(text)
    holder = _yaml_child(lines, None, section)
    if holder is None:
        return _yaml_text(text, [*lines, f"{section}:", f"  {name}: {value}"])
    return _yaml_text(text, _with_child(lines, holder, f"{name}: {value}"))


def remove_yaml_member(text: str, section: str, name: str) -> str:
    """Remove a member of a top-level mapping.

    The mapping goes too if nothing is left in it.
    """
    lines = _yaml_lines(text)
    holder = _yaml_child(lines, None, section)
    found = _yaml_child(lines, holder, name)
    if holder is None or found is None:
        return text
    del lines[found.start : found.end]
    return _yaml_text(text, _without_empty(lines, section))


def yaml_items(text: str, place: tuple[str, str], ours: Callable[[str], bool]) -> list[str]:
    """The items of a list that `ours` is true for, as they are written."""
    lines = _yaml_lines(text)
    found = _yaml_child(lines, _yaml_child(lines, None, place[0]), place[1])
    if found is None:
        return []
    if found.value not in _EMPTY_VALUES:
        return [item for item in _flow_items(found.value) if ours(item)]
    items = ("\n".join(lines[start:end]).strip()[1:].strip() for start, end in _list_items(lines, found))
    return [item for item in items if ours(item)]


def add_yaml_item(text: str, place: tuple[str, str], value: str) -> str:
    """Add an item to a list in a top-level mapping."""
    lines = _yaml_lines(text)
    holder = _yaml_child(lines, None, place[0])
    found = _yaml_child(lines, holder, place[1])
    if holder is None:
        return _yaml_text(text, [*lines, f"{place[0]}:", f"  {place[1]}:", f"    - {value}"])
    if found is None:
        return _yaml_text(text, _with_child(lines, holder, f"{place[1]}:", f"  - {value}"))
    if found.value not in _EMPTY_VALUES:
        items = [*_flow_items(found.value), value]
        lines[found.start] = f"{_name_part(lines[found.start], found)} [{', '.join(items)}]"
        return _yaml_text(text, lines)
    items_at = _list_items(lines, found)
    indent = _indent(lines[items_at[0][0]]) if items_at else found.indent + 2
    lines[found.start] = _name_part(lines[found.start], found)
    lines.insert(found.end, f"{' ' * indent}- {value}")
    return _yaml_text(text, lines)


def remove_yaml_items(text: str, place: tuple[str, str], ours: Callable[[str], bool]) -> str:
    """Remove the items of a list that `ours` is true for.

    The list goes too if nothing is left in it.
    """
    lines = _yaml_lines(text)
    found = _yaml_child(lines, _yaml_child(lines, None, place[0]), place[1])
    if found is None or not yaml_items(text, place, ours):
        return text
    if found.value not in _EMPTY_VALUES:
        items = [item for item in _flow_items(found.value) if not ours(item)]
        lines[found.start] = f"{_name_part(lines[found.start], found)} [{', '.join(items)}]"
        left = bool(items)
    else:
        blocks = _list_items(lines, found)
        gone = [block for block in blocks if ours("\n".join(lines[slice(*block)]))]
        for start, end in reversed(gone):
            del lines[start:end]
        left = len(gone) < len(blocks)
    if not left:
        return remove_yaml_member(_yaml_text(text, lines), *place)
    return _yaml_text(text, lines)


def _yaml_lines(text: str) -> list[str]:
    lines = text.removeprefix("\ufeff").splitlines()
    for number, line in enumerate(lines, 1):
        if "\t" in line[: len(line) - len(line.lstrip())]:
            raise NotYaml(f"line {number} is indented with a tab")
        if line.startswith("...") or (line.startswith("---") and any(map(_has_content, lines[: number - 1]))):
            raise NotYaml(f"line {number} starts another document")
    return lines


def _yaml_text(before: str, lines: list[str]) -> str:
    newline = "\r\n" if "\r\n" in before else "\n"
    return "".join(f"{line}{newline}" for line in lines)


def _has_content(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _yaml_children(lines: list[str], holder: _YamlBlock | None) -> Iterator[_YamlBlock]:
    """The members of a mapping, or of the document."""
    start, end = (0, len(lines)) if holder is None else (holder.start + 1, holder.end)
    inside = [n for n in range(start, end) if _has_content(lines[n]) and not lines[n].startswith("---")]
    if not inside:
        return
    indent = _indent(lines[inside[0]])
    heads = [n for n in inside if _indent(lines[n]) <= indent and not lines[n].lstrip().startswith("- ")]
    if inside[0] not in heads:
        raise NotYaml(f"line {inside[0] + 1} is not a plain member of a mapping")
    for head, following in zip(heads, [*heads[1:], end], strict=True):
        found = _YAML_KEY.match(lines[head])
        if found is None or _indent(lines[head]) != indent:
            raise NotYaml(f"line {head + 1} is not a plain member of a mapping")
        value = found[3] or ""
        value = value if '"' in value else re.sub(r"(?:^| +)#.*", "", value)
        last = max(n for n in inside if head <= n < following)
        yield _YamlBlock(head, last + 1, indent, found[2].strip("\"'"), value.strip())


def _yaml_child(lines: list[str], holder: _YamlBlock | None, name: str) -> _YamlBlock | None:
    if holder is not None and holder.value not in _EMPTY_VALUES:
        raise NotYaml(f"line {holder.start + 1} has its value on the same line")
    return next((child for child in _yaml_children(lines, holder) if child.name == name), None)


def _with_child(lines: list[str], holder: _YamlBlock, *added: str) -> list[str]:
    """The lines with a member at the end of a mapping."""
    if holder.value not in _EMPTY_VALUES:
        raise NotYaml(f"line {holder.start + 1} has its value on the same line")
    first = next(_yaml_children(lines, holder), None)
    indent = " " * (holder.indent + 2 if first is None else first.indent)
    head = _name_part(lines[holder.start], holder) if holder.value else lines[holder.start]
    before = [*lines[: holder.start], head, *lines[holder.start + 1 : holder.end]]
    return [*before, *(f"{indent}{line}" for line in added), *lines[holder.end :]]


def _without_empty(lines: list[str], section: str) -> list[str]:
    holder = _yaml_child(lines, None, section)
    if holder is not None and holder.end == holder.start + 1 and not holder.value:
        del lines[holder.start]
    return lines


def _name_part(line: str, block: _YamlBlock) -> str:
    """The line up to the colon after its name."""
    return line[: line.index(":", block.indent + len(block.name)) + 1]


def _list_items(lines: list[str], holder: _YamlBlock) -> list[tuple[int, int]]:
    """The first line of each item of a list, and the line after its last."""
    inside = [n for n in range(holder.start + 1, holder.end) if _has_content(lines[n])]
    if not inside:
        return []
    indent = _indent(lines[inside[0]])
    heads = [n for n in inside if _indent(lines[n]) == indent]
    if not all(lines[n].lstrip().startswith("- ") for n in heads):
        raise NotYaml(f"line {inside[0] + 1} is not an item of a list")
    return list(zip(heads, [*heads[1:], holder.end], strict=True))


def _flow_items(value: str) -> list[str]:
    """The items of a list that is written on one line."""
    if not (value.startswith("[") and value.endswith("]")):
        raise NotYaml("a list is written in a way that cannot be edited")
    items, depth, quote, start = [], 0, "", 1
    for at, sign in enumerate(value[1:-1], 1):
        if quote:
            quote = "" if sign == quote and value[at - 1] != "\\" else quote
        elif sign in "\"'":
            quote = sign
        elif sign in "[{":
            depth += 1
        elif sign in "]}":
            depth -= 1
        elif sign == "," and not depth:
            items.append(value[start:at].strip())
            start = at + 1
    if quote or depth:
        raise NotYaml("a list on one line does not end there")
    return [item for item in [*items, value[start:-1].strip()] if item]

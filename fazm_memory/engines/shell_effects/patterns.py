"""Globs and POSIX expressions as linear-time expressions (RE2).

Functions return None for what cannot be translated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeAlias

import re2

Pieces: TypeAlias = Sequence[tuple[str, bool]]
"""Texts, and whether the pattern characters in each are active (not quoted)."""

ANYTHING = "(?s:.*)"
NEVER = r"[^\x00-\x{10FFFF}]"
_MAGIC = re.compile(r"[*?]|[@+!]\(|\[[^\]/]+\]")
_CLASS = re.compile(r"\[[!^]?\]?(?:\[:\w+:\]|[^\]])*\]")
_SURROGATE = re.compile("[\ud800-\udfff]")
_LONGEST_PATTERN = 2_000


class Match(Protocol):
    def group(self, group: int = 0) -> str | None: ...

    def groups(self) -> Sequence[str | None]: ...

    def start(self) -> int: ...

    def end(self) -> int: ...


class Pattern(Protocol):
    def fullmatch(self, text: str) -> Match | None: ...

    def search(self, text: str) -> Match | None: ...

    def finditer(self, text: str) -> Iterator[Match]: ...


def compiled(source: str, *, longest: bool = True, ignore_case: bool = False) -> Pattern | None:
    """Compile a pattern. POSIX takes the `longest` match, Perl the first alternative."""
    if len(source) > _LONGEST_PATTERN:
        return None
    options = re2.Options()
    options.log_errors = False
    options.longest_match = longest
    options.case_sensitive = not ignore_case
    options.max_mem = 1 << 20
    try:
        pattern: Pattern = re2.compile(source, options)
    except (re2.error, UnicodeEncodeError):
        return None
    return pattern


def matches(source: str, text: str) -> bool:
    """Whether the whole text matches. False if the pattern cannot be compiled."""
    pattern = compiled(source)
    return pattern is not None and is_text(text) and pattern.fullmatch(text) is not None


def is_text(text: str) -> bool:
    """Whether the text can be encoded. RE2 cannot search lone surrogates."""
    return text.isascii() or _SURROGATE.search(text) is None


def escape(text: str) -> str:
    if not is_text(text):
        return NEVER
    escaped: str = re2.escape(text)
    return escaped


def is_glob(pieces: Pieces) -> bool:
    return any(active and _MAGIC.search(text) for text, active in pieces)


def glob_source(pieces: Pieces, *, any_char: str = "(?s:.)", lazy: bool = False) -> str | None:
    """Translate a glob. `any_char` is `[^/]` where a star must not match a slash."""
    if sum(len(text) for text, _ in pieces) > _LONGEST_PATTERN:
        return None
    out: list[str] = []
    for text, active in pieces:
        if not active:
            out.append(escape(text))
            continue
        translated = _active(text, any_char, "?" if lazy else "")
        if translated is None:
            return None
        out.append(translated)
    return "".join(out)


def _active(text: str, any_char: str, lazy: str) -> str | None:
    out: list[str] = []
    closers: list[str] = []
    at = 0
    while at < len(text):
        char, following = text[at], text[at + 1 : at + 2]
        at += 1
        if following == "(" and char in "?*+@!":
            if char == "!":
                return None  # RE2 has no negative lookahead
            out.append("(?:")
            closers.append(")" + ("" if char == "@" else char))
            at += 1
        elif char == ")" and closers:
            out.append(closers.pop())
        elif char == "|" and closers:
            out.append("|")
        elif char == "*":
            out.append(f"{any_char}*{lazy}")
        elif char == "?":
            out.append(any_char)
        elif char == "[" and (found := _CLASS.match(text, at - 1)):
            out.append(bracket(found[0]))
            at = found.end()
        elif char == "\\" and following:
            out.append(escape(following))
            at += 1
        else:
            out.append(escape(char))
    return None if closers else "".join(out)


def bracket(text: str) -> str:
    """Translate a POSIX bracket expression.

    Backslash and inner bracket are ordinary there.
    """
    negated = text[1] in "!^"
    inner = text[2 if negated else 1 : -1]
    inner = inner.replace("\\", "\\\\")
    if inner.startswith("]"):
        inner = "\\]" + inner[1:]
    inner = re.sub(r"\[(?!:)", r"\\[", inner)
    return f"[{'^' if negated else ''}{inner}]"


def trimmed(value: str, op: str, pieces: Pieces) -> str | None:
    """Evaluate `${value#…}`, `##`, `%` and `%%`."""
    shortest = len(op) == 1
    source = glob_source(pieces, lazy=shortest)
    if source is None or not is_text(value):
        return None
    if op[0] == "#":
        whole = f"(?s:(?:{source})(.*))" if shortest else f"(?s:(?:{source})(.*?))"
    else:
        whole = f"(?s:(.*)(?:{source}))" if shortest else f"(?s:(.*?)(?:{source}))"
    pattern = compiled(whole, longest=False)
    if pattern is None:
        return None
    found = pattern.fullmatch(value)
    return value if found is None else found.group(1) or ""


def replaced(value: str, op: str, pieces: Pieces, new: str) -> str | None:
    """Evaluate `${value/…/new}`: `//` for all, `/#` at the start, `/%` at the end."""
    source = glob_source(pieces)
    if source is None or not is_text(value):
        return None
    if not source:
        return value
    source = {"/#": f"^(?:{source})", "/%": f"(?:{source})$"}.get(op, source)
    pattern = compiled(source)
    return None if pattern is None else substituted(pattern, value, lambda _: new, 0 if op == "//" else 1)


def substituted(pattern: Pattern, text: str, new: Callable[[Match], str], count: int, first: int = 1) -> str:
    """Replace `count` matches from the `first` on. 0 means all."""
    out: list[str] = []
    begin = done = matched = 0
    last = -1
    for found in pattern.finditer(text):
        if found.start() == found.end() == last:
            continue  # an empty match right after a match does not count
        last = found.end()
        matched += 1
        if matched >= first:
            out += (text[begin : found.start()], new(found))
            begin, done = last, done + 1
        if count and done >= count:
            break
    return "".join(out) + text[begin:]


_SPECIAL_WHEN_ESCAPED = frozenset("(){}+?|")


def posix_source(pattern: str, *, extended: bool) -> str | None:
    """Translate a POSIX expression. None if it has back references."""
    if len(pattern) > _LONGEST_PATTERN:
        return None
    out: list[str] = []
    at = 0
    while at < len(pattern):
        char, following = pattern[at], pattern[at + 1 : at + 2]
        if char == "[" and (found := _CLASS.match(pattern, at)):
            out.append(bracket(found[0]))
            at = found.end()
            continue
        at += 1
        if char == "\\" and following:
            at += 1
            if following.isdigit():
                return None
            special = following in _SPECIAL_WHEN_ESCAPED and not extended
            known = following in "sSwWbBdD"
            out.append(following if special else "\\" + following if known else escape(following))
        elif (char in _SPECIAL_WHEN_ESCAPED and not extended) or (char == "*" and not out):
            out.append("\\" + char)
        else:
            out.append(char)
    return "".join(out)

"""The words of sh, bash and zsh as they are written: quoting undone, expansions named but not yet made.

A word is a tuple of parts. What was quoted stays marked, because only unquoted text may later be split,
braced or matched as a glob.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from typing import Self

from fazm_memory.capture.shell.syntax import Arithmetic, Param, Part, Script, Substitution, Text, Word

DEEPEST = 32
MOST_COMMANDS = 20_000
META = frozenset(" \t\n;&|<>()")
NOTHING: frozenset[str] = frozenset()
_ORDINARY = re.compile(r"[^\s;&|<>()\\$`\"'\]}/:]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-]")
_SIMPLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]")
_OPERATOR = re.compile(r":[-=+?]|##?|%%?|/[/#%]?|,,?|\^\^?|[-=+?@:]")
_MODIFIERS = re.compile(r"(:[threlu])+(?=\})")
_PATTERN_OPERATORS = frozenset({"#", "##", "%", "%%", "/", "//", "/#", "/%", ",", ",,", "^", "^^"})
_ANSI = re.compile(r"\\(x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|U[0-9A-Fa-f]{1,8}|[0-7]{1,3}|c.|.)", re.DOTALL)
_ANSI_QUOTED = re.compile(r"(?:[^'\\]|\\.)*'", re.DOTALL)
_ANSI_LETTERS = dict(zip("abefnrtvE", "\a\b\x1b\f\n\r\t\v\x1b", strict=True))


class Unreadable(ValueError):
    """The text is not shell that can be read to its end."""


def ansi_escape(match: re.Match[str]) -> str:
    """What one backslash escape of `$'…'` stands for."""
    code = match[1]
    if code[0] in "xuU" and len(code) > 1:
        point = int(code[1:], 16)
        return chr(point) if point < 0x110000 and not 0xD800 <= point < 0xE000 else match[0]
    if code[0] in "01234567":
        return chr(int(code, 8) % 256)
    if code[0] == "c" and len(code) > 1:
        return chr(ord(code[1]) & 0x1F)
    return _ANSI_LETTERS.get(code, code if code in "\\'\"?" else match[0])


def ansi_text(text: str) -> str:
    return _ANSI.sub(ansi_escape, text)


class Reader(ABC):
    """Reads words from a text, starting at `pos`."""

    def __init__(self, text: str, depth: int = 0, budget: list[int] | None = None) -> None:
        if depth > DEEPEST:
            raise Unreadable("nested too deeply")
        self.text = text
        self.pos = 0
        self.depth = depth
        self.budget = budget if budget is not None else [MOST_COMMANDS]
        """How many commands may still be read; shared by the readers of nested texts."""

    def spend(self) -> None:
        self.budget[0] -= 1
        if self.budget[0] < 0:
            raise Unreadable("too many commands")

    def nested(self, source: str) -> Self:
        """A reader for a text within this one."""
        return type(self)(source, self.depth + 1, self.budget)

    @abstractmethod
    def script_in_parentheses(self) -> Script:
        """The commands up to the closing parenthesis, which is consumed."""

    @abstractmethod
    def script_of(self, source: str) -> Script:
        """The commands of a text of their own."""

    def peek(self, length: int = 1) -> str:
        return self.text[self.pos : self.pos + length]

    def expect(self, token: str) -> None:
        if not self.text.startswith(token, self.pos):
            raise Unreadable(f"expected {token!r} at {self.pos}")
        self.pos += len(token)

    def word(self, stops: frozenset[str] = META, *, quoted: bool = False, quotes: str = "\"'") -> Word:
        """The parts up to a character in `stops`. In quoted text only the named `quotes` are special."""
        parts: list[Part] = []
        text, end = self.text, len(self.text)

        def add(piece: str, protected: bool = quoted) -> None:
            last = parts[-1] if parts else None
            if isinstance(last, Text) and last.quoted == protected and piece and last.text:
                pending.append(piece)
            else:
                flush()
                parts.append(Text(piece, protected))

        pending: list[str] = []

        def flush() -> None:
            if pending:
                last = parts[-1]
                assert isinstance(last, Text)
                parts[-1] = Text(last.text + "".join(pending), last.quoted)
                pending.clear()

        while self.pos < end:
            char = text[self.pos]
            if char in stops:
                flush()
                if char == "(" and stops is META and _opens_group(parts):
                    add(self._group())
                elif char in "<>" and stops is META and text.startswith("(", self.pos + 1):
                    self.pos += 2
                    parts.append(self._nested(char))
                else:
                    break
            elif char == "\\":
                following = text[self.pos + 1 : self.pos + 2]
                self.pos += 2
                if following == "\n":
                    continue
                escapes = not quoted or following in "$`\\" or following in stops or following in quotes
                add(following if escapes and following else "\\" + following, quoted or escapes)
            elif char == "$":
                flush()
                parts.append(self._dollar(quoted))
            elif char == "`":
                flush()
                parts.append(self._backquoted(quoted))
            elif char == '"' and char in quotes:
                flush()
                parts.extend(self._double_quoted())
            elif char == "'" and char in quotes:
                close = text.find("'", self.pos + 1)
                if close < 0:
                    raise Unreadable("unclosed quote")
                add(text[self.pos + 1 : close], True)
                self.pos = close + 1
            else:
                run = _ORDINARY.match(text, self.pos)
                piece = run[0] if run else char
                add(piece)
                self.pos += len(piece)
        flush()
        return tuple(parts)

    def _double_quoted(self) -> Word:
        self.pos += 1
        inner = self.word(frozenset('"'), quoted=True, quotes="")
        self.expect('"')
        return inner or (Text("", True),)

    def _group(self) -> str:
        """An extended glob's `(a|b)`, or zsh's qualifiers, kept as written."""
        start, level = self.pos, 0
        while self.pos < len(self.text) and self.text[self.pos] != "\n":
            level += {"(": 1, ")": -1}.get(self.text[self.pos], 0)
            self.pos += 1
            if level == 0:
                return self.text[start : self.pos]
        raise Unreadable("unclosed parenthesis")

    def _nested(self, direction: str, quoted: bool = False) -> Substitution:
        self.depth += 1
        if self.depth > DEEPEST:
            raise Unreadable("nested too deeply")
        body = self.script_in_parentheses()
        self.depth -= 1
        return Substitution(body, quoted, direction)

    def _backquoted(self, quoted: bool) -> Substitution:
        close = self.pos + 1
        while (found := self.text[close : close + 1]) != "`":
            if not found:
                raise Unreadable("unclosed backquote")
            close += 2 if found == "\\" else 1
        self.spend()
        source = re.sub(r"\\([$`\\\"])" if quoted else r"\\([$`\\])", r"\1", self.text[self.pos + 1 : close])
        self.pos = close + 1
        return Substitution(self.script_of(source), quoted)

    def _dollar(self, quoted: bool) -> Part:
        following = self.text[self.pos + 1 : self.pos + 2]
        if following == "(":
            if (source := self.arithmetic(self.pos + 1)) is not None:
                return Arithmetic(source, quoted)
            self.pos += 2
            return self._nested("", quoted)
        if following == "{":
            return self._braced(quoted)
        if following == "'" and not quoted:
            close = _ANSI_QUOTED.match(self.text, self.pos + 2)
            if close is None:
                raise Unreadable("unclosed quote")
            self.pos = close.end()
            return Text(ansi_text(close[0][:-1]), True)
        if following == '"' and not quoted:
            self.pos += 1
            inner = self._double_quoted()
            return inner[0] if len(inner) == 1 else Param("", "unknown", quoted=True)
        name = _SIMPLE_NAME.match(self.text, self.pos + 1)
        self.pos = name.end() if name else self.pos + 1
        return Param(name[0], quoted=quoted) if name else Text("$", quoted)

    def arithmetic(self, opening: int) -> Word | None:
        """The inside of `((…))` when the parentheses at `opening` are such a pair, which is then consumed."""
        source = self.arithmetic_source(opening)
        return None if source is None else self.quoted_word(source)

    def arithmetic_source(self, opening: int) -> str | None:
        if not self.text.startswith("((", opening):
            return None
        level = 0
        for at in range(opening, len(self.text)):
            level += {"(": 1, ")": -1}.get(self.text[at], 0)
            if level == 1 and at > opening + 1:
                if self.text[at : at + 2] != "))":
                    return None
                self.pos = at + 2
                return self.text[opening + 2 : at]
        raise Unreadable("unclosed parenthesis")

    def quoted_word(self, source: str) -> Word:
        """A text of its own in which only `$`, backquotes and backslashes are special."""
        return self.nested(source).word(NOTHING, quoted=True, quotes="")

    def _braced(self, quoted: bool) -> Param:
        self.pos += 2
        self.depth += 1
        if self.depth > DEEPEST:
            raise Unreadable("nested too deeply")
        prefix = self.peek() if re.match(r"[#!][A-Za-z0-9_@*]", self.peek(2)) else ""
        self.pos += len(prefix)
        name = _NAME.match(self.text, self.pos)
        if name is None:
            self._to_brace(quoted)
            return Param("", "unknown", quoted=quoted)
        self.pos = name.end()
        index = None
        if self.peek() == "[":
            self.pos += 1
            index = self.word(frozenset("]"))
            self.expect("]")
        if prefix:
            listed = index is not None and index in ((Text("@"),), (Text("*"),))
            op = "length" if prefix == "#" else "keys" if listed else "indirect"
            unread = bool(self._to_brace(quoted))
            return Param(name[0], "unknown" if unread else op, (), index, quoted)
        if mods := _MODIFIERS.match(self.text, self.pos):
            self.pos = mods.end()
            self._to_brace(quoted)
            return Param(name[0], "modifiers", ((Text(mods[0]),),), index, quoted)
        operator = _OPERATOR.match(self.text, self.pos)
        op = operator[0] if operator else ""
        self.pos += len(op)
        args = []
        if op in ("/", "//", "/#", "/%", ":"):
            divider = ":" if op == ":" else "/"
            args.append(self.word(frozenset(divider + "}")))
            if self.peek() == divider:
                self.pos += 1
        rest = self._to_brace(quoted and op not in _PATTERN_OPERATORS)
        return Param(name[0], op if op or not rest else "unknown", (*args, rest), index, quoted)

    def _to_brace(self, quoted: bool) -> Word:
        rest = self.word(frozenset("}"), quoted=quoted, quotes='"' if quoted else "\"'")
        self.expect("}")
        self.depth -= 1
        return rest


def _opens_group(parts: list[Part]) -> bool:
    last = parts[-1] if parts else None
    return isinstance(last, Text) and not last.quoted and last.text[-1:] in tuple("?*+@!")

"""Parser for sh, bash and zsh, and the syntax tree that it returns.

A word is a tuple of parts. Quoted parts stay marked, because only unquoted text is later split, expanded as
braces or matched as a glob. If the text cannot be parsed to its end, the commands before the error are
returned, as a shell would run them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Text:
    text: str
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Param:
    """`$name` and `${name…}`.

    `op` is the operator as written, `length`, or `unknown` (arrays, `${!x}`, zsh `${f:t:r}`).
    """

    name: str
    op: str = ""
    args: tuple[Word, ...] = ()
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Substitution:
    """`$(…)` and backquotes.

    With a direction: the process substitutions `<(…)` and `>(…)`.
    """

    body: Script
    quoted: bool = False
    direction: str = ""


@dataclass(frozen=True, slots=True)
class Arithmetic:
    source: Word
    quoted: bool = False


Part: TypeAlias = Text | Param | Substitution | Arithmetic
Word: TypeAlias = tuple[Part, ...]


@dataclass(slots=True)
class Redirect:
    """A redirection.

    `body` is the text of a here-document, which is read after the line: not frozen.
    """

    fd: str
    op: str
    target: Word
    body: Word | None = None


@dataclass(frozen=True, slots=True)
class Assign:
    name: str
    value: Word
    append: bool = False


@dataclass(frozen=True, slots=True)
class Simple:
    assigns: tuple[Assign, ...] = ()
    words: tuple[Word, ...] = ()
    redirects: tuple[Redirect, ...] = ()


@dataclass(frozen=True, slots=True)
class Pipeline:
    stages: tuple[Node, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class AndOr:
    first: Node
    rest: tuple[tuple[str, Node], ...]


@dataclass(frozen=True, slots=True)
class Script:
    items: tuple[tuple[Node, bool], ...]
    """Each command, and whether it runs in the background."""


@dataclass(frozen=True, slots=True)
class CommandGroup:
    body: Script
    subshell: bool


@dataclass(frozen=True, slots=True)
class If:
    branches: tuple[tuple[Script, Script], ...]
    otherwise: Script | None


@dataclass(frozen=True, slots=True)
class For:
    name: str
    words: tuple[Word, ...] | None
    body: Script


@dataclass(frozen=True, slots=True)
class CountingFor:
    """`for ((start; condition; step))`."""

    start: Word
    condition: Word
    step: Word
    body: Script


@dataclass(frozen=True, slots=True)
class While:
    condition: Script
    body: Script
    until: bool


@dataclass(frozen=True, slots=True)
class Case:
    subject: Word
    arms: tuple[tuple[tuple[Word, ...], Script], ...]


@dataclass(frozen=True, slots=True)
class DoubleBracket:
    tokens: tuple[str | Word, ...]


@dataclass(frozen=True, slots=True)
class Calculation:
    source: Word


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    body: Node


@dataclass(frozen=True, slots=True)
class Redirected:
    node: Node
    redirects: tuple[Redirect, ...]


Loop: TypeAlias = For | CountingFor | While
Node: TypeAlias = (
    Simple
    | Pipeline
    | AndOr
    | CommandGroup
    | If
    | Loop
    | Case
    | DoubleBracket
    | Calculation
    | Function
    | Redirected
)


def plain(word: Word) -> str | None:
    """Return the text of a word that has only unquoted text, else None."""
    if len(word) == 1 and isinstance(word[0], Text) and not word[0].quoted:
        return word[0].text
    return None


# Words

DEEPEST = 32
MOST_COMMANDS = 20_000
META = frozenset(" \t\n;&|<>()")
NOTHING: frozenset[str] = frozenset()
_ORDINARY = re.compile(r"[^\s;&|<>()\\$`\"'\]}/:]+")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-]")
_SIMPLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-]")
_OPERATOR = re.compile(r":[-=+?]|##?|%%?|/[/#%]?|,,?|\^\^?|[-=+?@:]")
_ZSH_MODIFIERS = re.compile(r"(:[threlu])+(?=\})")
_PATTERN_OPERATORS = frozenset({"#", "##", "%", "%%", "/", "//", "/#", "/%", ",", ",,", "^", "^^"})
_ANSI = re.compile(r"\\(x[0-9A-Fa-f]{1,2}|u[0-9A-Fa-f]{1,4}|U[0-9A-Fa-f]{1,8}|[0-7]{1,3}|c.|.)", re.DOTALL)
_ANSI_QUOTED = re.compile(r"(?:[^'\\]|\\.)*'", re.DOTALL)
_ANSI_LETTERS = dict(zip("abefnrtvE", "\a\b\x1b\f\n\r\t\v\x1b", strict=True))


class Unreadable(ValueError):
    """The text cannot be parsed to its end."""


def ansi_escape(match: re.Match[str]) -> str:
    """Return the text of one backslash escape in `$'…'`."""
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


def _opens_group(parts: list[Part]) -> bool:
    last = parts[-1] if parts else None
    return isinstance(last, Text) and not last.quoted and last.text[-1:] in tuple("?*+@!")


def _joined(parts: list[Part]) -> Word:
    """Join neighbouring texts that are quoted alike."""
    if len(parts) < 2:
        return tuple(parts)
    word: list[Part] = []
    for quoted, group in groupby(parts, lambda part: part.quoted if isinstance(part, Text) else None):
        if quoted is None:
            word.extend(group)
        else:
            word.append(Text("".join([part.text for part in group if isinstance(part, Text)]), quoted))
    return tuple(word)


# Commands

DECLARING = frozenset({"declare", "typeset", "local", "export", "readonly"})
_REDIRECT = re.compile(r"(\d+|\{[A-Za-z_]\w*\})?(&>>|&>|<<<|<<-|<<|<>|<&|>>|>\||>&|<|>)")
_ASSIGN = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(\[|\+?=)")
_BLANK = re.compile(r"(?:[ \t\r]|\\\n)+")
_INDEXED = re.compile(r"\](\+?=)")
_CLOSER = re.compile(r"(?:then|do|done|fi|else|elif|esac|\})(?=[\s;&|()<>]|$)|\)|;;|;&")
_KEYWORD = re.compile(r"(?:if|for|select|while|until|case|function|coproc|time|\[\[|[{!])(?=[\s;(]|$)")
_FUNCTION = re.compile(r"([^\s;&|<>()$`\"'\\={}]+)[ \t]*\([ \t]*\)")
_COMMAND_NAME = re.compile(r"[^\s;&|<>(){}$`\"'\\=]+")
_TEST_OPERATOR = re.compile(r"&&|\|\||[()<>]")
_ARM_END = re.compile(r"[;&]+")
_SPACES = frozenset(" \t\n")


@dataclass(frozen=True, slots=True)
class Parsed:
    script: Script
    complete: bool


def parse(text: str, depth: int = 0) -> Parsed:
    """Parse a script. The result says whether it was parsed to its end."""
    items: list[tuple[Node, bool]] = []
    try:
        parser = Parser(text, depth)
        parser.items_into(items)
        complete = parser.pos >= len(text)
    except Unreadable:
        complete = False
    return Parsed(Script(tuple(items)), complete)


@dataclass(frozen=True, slots=True)
class _Heredoc:
    redirect: Redirect
    delimiter: str
    quoted: bool


class Parser:
    """Read words and commands from a text, starting at `pos`."""

    def __init__(self, text: str, depth: int = 0, budget: list[int] | None = None) -> None:
        if depth > DEEPEST:
            raise Unreadable("nested too deeply")
        self.text = text
        self.pos = 0
        self.depth = depth
        self.budget = budget if budget is not None else [MOST_COMMANDS]
        """How many commands may still be read. Shared with the parsers of nested texts."""
        self.heredocs: list[_Heredoc] = []

    def spend(self) -> None:
        self.budget[0] -= 1
        if self.budget[0] < 0:
            raise Unreadable("too many commands")

    def nested(self, source: str) -> Parser:
        """Return a parser for a text within this text."""
        return Parser(source, self.depth + 1, self.budget)

    def peek(self, length: int = 1) -> str:
        return self.text[self.pos : self.pos + length]

    def expect(self, token: str) -> None:
        if not self.text.startswith(token, self.pos):
            raise Unreadable(f"expected {token!r} at {self.pos}")
        self.pos += len(token)

    def word(self, stops: frozenset[str] = META, *, quoted: bool = False, quotes: str = "\"'") -> Word:
        """Read parts up to a character in `stops`.

        In quoted text only `quotes` are special.
        """
        parts: list[Part] = []
        text, end = self.text, len(self.text)
        while self.pos < end:
            char = text[self.pos]
            if char in stops:
                if char == "(" and stops is META and _opens_group(parts):
                    parts.append(Text(self._group(), quoted))
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
                piece = following if escapes and following else "\\" + following
                parts.append(Text(piece, quoted or escapes))
            elif char == "$":
                parts.append(self._dollar(quoted))
            elif char == "`":
                parts.append(self._backquoted(quoted))
            elif char == '"' and char in quotes:
                parts.extend(self._double_quoted())
            elif char == "'" and char in quotes:
                close = text.find("'", self.pos + 1)
                if close < 0:
                    raise Unreadable("unclosed quote")
                parts.append(Text(text[self.pos + 1 : close], True))
                self.pos = close + 1
            else:
                run = _ORDINARY.match(text, self.pos)
                piece = run[0] if run else char
                parts.append(Text(piece, quoted))
                self.pos += len(piece)
        return _joined(parts)

    def _double_quoted(self) -> Word:
        self.pos += 1
        inner = self.word(frozenset('"'), quoted=True, quotes="")
        self.expect('"')
        return inner or (Text("", True),)

    def _group(self) -> str:
        """Read `(a|b)` of an extended glob, or zsh qualifiers, as written."""
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
        """Read `((…))` at `opening`. Return its inside, or None if it is something else."""
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
        """Parse a separate text in which only `$`, backquotes and backslashes are special."""
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
        if self.peek() == "[" or prefix or _ZSH_MODIFIERS.match(self.text, self.pos):
            length = prefix == "#" and self.peek() == "}"
            self._to_brace(quoted)
            return Param(name[0], "length" if length else "unknown", quoted=quoted)
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
        return Param(name[0], op if op or not rest else "unknown", (*args, rest), quoted)

    def _to_brace(self, quoted: bool) -> Word:
        rest = self.word(frozenset("}"), quoted=quoted, quotes='"' if quoted else "\"'")
        self.expect("}")
        self.depth -= 1
        return rest

    def _at(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.pos)
        return found[0] if found else ""

    def _blank(self) -> None:
        self.pos += len(self._at(_BLANK))
        if self.peek() == "#" and self.text[self.pos - 1 : self.pos] in ("", *" \t\r\n;&|()"):
            end = self.text.find("\n", self.pos)
            self.pos = end if end >= 0 else len(self.text)

    def _newlines(self) -> None:
        self._blank()
        while self.peek() == "\n":
            self.pos += 1
            for here in self.heredocs:
                self._read_heredoc(here)
            self.heredocs.clear()
            self._blank()

    def _read_heredoc(self, here: _Heredoc) -> None:
        lines = []
        while self.pos < len(self.text):
            end = self.text.find("\n", self.pos)
            end = len(self.text) if end < 0 else end
            line = self.text[self.pos : end]
            self.pos = min(end + 1, len(self.text))
            line = line.lstrip("\t") if here.redirect.op == "<<-" else line
            if line == here.delimiter:
                break
            lines.append(line + "\n")
        body = "".join(lines)
        here.redirect.body = (Text(body, True),)
        if not here.quoted:
            here.redirect.body = self.quoted_word(body)

    def _words(self) -> tuple[Word, ...]:
        words: list[Word] = []
        while True:
            self._blank()
            start = self.pos
            word = self.word()
            if self.pos == start:
                return tuple(words)
            words.append(word)

    def _simple(self) -> Simple:
        self.spend()
        assigns: list[Assign] = []
        words: list[Word] = []
        redirects: list[Redirect] = []
        while True:
            self._blank()
            if self._redirect(redirects):
                continue
            declares = bool(words) and plain(words[0]) in DECLARING
            if (not words or declares) and self._assign(assigns):
                continue
            start = self.pos
            word = self.word()
            if self.pos == start:
                break
            words.append(word)
        if not (assigns or words or redirects):
            raise Unreadable(f"a command is missing at {self.pos}")
        return Simple(tuple(assigns), tuple(words), tuple(redirects))

    def _assign(self, assigns: list[Assign]) -> bool:
        start = self.pos
        found = _ASSIGN.match(self.text, start)
        if found is None:
            return False
        self.pos = found.end()
        op, array = found[2], False
        if op == "[":
            self.word(frozenset("]\n"))
            after = _INDEXED.match(self.text, self.pos)
            if after is None:
                self.pos = start
                return False
            self.pos, op, array = after.end(), after[1], True
        if self.peek() == "(":
            self._skip_array()
            array = True
        value = self.word()
        assigns.append(Assign(found[1], (Param("", "unknown"),) if array else value, op == "+="))
        return True

    def _skip_array(self) -> None:
        """Read `(a b c)` after an assignment. Arrays are not followed."""
        self.pos += 1
        while True:
            self._newlines()
            if self.peek() == ")":
                self.pos += 1
                return
            start = self.pos
            self.word()
            if self.pos == start:
                raise Unreadable("unclosed array")

    def _redirect(self, redirects: list[Redirect]) -> bool:
        found = _REDIRECT.match(self.text, self.pos)
        if found is None or (found[0] in "<>" and self.text.startswith("(", found.end())):
            return False
        self.pos = found.end()
        self._blank()
        start = self.pos
        redirect = Redirect(found[1] or "", found[2], self.word())
        if self.pos == start:
            raise Unreadable("a redirection has no target")
        redirects.append(redirect)
        if found[2] in ("<<", "<<-"):
            texts = [part.text for part in redirect.target if isinstance(part, Text)]
            quoted = any(isinstance(part, Text) and part.quoted for part in redirect.target)
            self.heredocs.append(_Heredoc(redirect, "".join(texts), quoted))
        return True

    def script_in_parentheses(self) -> Script:
        body = self._script()
        self.expect(")")
        return body

    def script_of(self, source: str) -> Script:
        return self.nested(source)._script()

    def _script(self) -> Script:
        if self.depth >= DEEPEST:
            raise Unreadable("nested too deeply")
        self.depth += 1
        items: list[tuple[Node, bool]] = []
        self.items_into(items)
        self.depth -= 1
        return Script(tuple(items))

    def items_into(self, items: list[tuple[Node, bool]]) -> None:
        while True:
            self._newlines()
            if self._at(_CLOSER) or self.pos >= len(self.text):
                return
            node = self._and_or()
            self._blank()
            background = self.peek() == "&"
            if background or (self.peek() == ";" and not self._at(_CLOSER)):
                self.pos += 1
            elif self.peek() not in ("\n", "") and not self._at(_CLOSER):
                raise Unreadable(f"unexpected text at {self.pos}")
            items.append((node, background))

    def _and_or(self) -> Node:
        first = self._pipeline()
        rest: list[tuple[str, Node]] = []
        self._blank()
        while (op := self.peek(2)) in ("&&", "||"):
            self.pos += 2
            self._newlines()
            rest.append((op, self._pipeline()))
            self._blank()
        return AndOr(first, tuple(rest)) if rest else first

    def _pipeline(self) -> Node:
        self._blank()
        negated = False
        while (word := self._at(_KEYWORD)) in ("!", "time"):
            self.pos += len(word)
            negated ^= word == "!"
            self._blank()
            if word == "time" and self.peek(3) == "-p ":
                self.pos += 3
                self._blank()
        stages = [self._command()]
        self._blank()
        while self.peek() == "|" and self.peek(2) != "||":
            self.pos += 2 if self.peek(2) == "|&" else 1
            self._newlines()
            stages.append(self._command())
            self._blank()
        return Pipeline(tuple(stages), negated) if negated or len(stages) > 1 else stages[0]

    def _command(self) -> Node:
        keyword = self._at(_KEYWORD)
        function = _FUNCTION.match(self.text, self.pos)
        node: Node
        if self.peek() == "(":
            source = self.arithmetic(self.pos)
            if source is not None:
                node = Calculation(source)
            else:
                self.pos += 1
                node = CommandGroup(self.script_in_parentheses(), subshell=True)
        elif keyword and keyword != "coproc":
            self.pos += len(keyword)
            node = self._compound(keyword)
        elif function:
            self.pos = function.end()
            self._newlines()
            return Function(function[1], self._command())
        else:
            return self._simple()
        redirects: list[Redirect] = []
        self._blank()
        while self._redirect(redirects):
            self._blank()
        return Redirected(node, tuple(redirects)) if redirects else node

    def _compound(self, keyword: str) -> Node:
        if keyword == "{":
            return CommandGroup(self._closed("}"), subshell=False)
        if keyword == "if":
            return self._if()
        if keyword in ("while", "until"):
            return While(self._closed("do"), self._closed("done"), keyword == "until")
        if keyword == "case":
            return self._case()
        if keyword == "[[":
            return self._test()
        self._blank()
        if keyword == "function":
            name = self._at(_COMMAND_NAME)
            self.pos += len(name)
            self._blank()
            if self.peek() == "(":
                self.pos += 1
                self._blank()
                self.expect(")")
            self._newlines()
            return Function(name, self._command())
        return self._for()

    def _closed(self, closer: str) -> Script:
        body = self._script()
        self.expect(closer)
        return body

    def _if(self) -> If:
        branches = [(self._closed("then"), self._script())]
        while self._at(_CLOSER) == "elif":
            self.pos += 4
            branches.append((self._closed("then"), self._script()))
        otherwise = None
        if self._at(_CLOSER) == "else":
            self.pos += 4
            otherwise = self._script()
        self.expect("fi")
        return If(tuple(branches), otherwise)

    def _for(self) -> Node:
        if self.peek(2) == "((" and (source := self.arithmetic_source(self.pos)) is not None:
            clauses = [self.quoted_word(clause) for clause in source.split(";")]
            if len(clauses) != 3:
                raise Unreadable("a counting loop has three parts")
            return CountingFor(clauses[0], clauses[1], clauses[2], self._loop_body())
        name = self._at(_COMMAND_NAME)
        self.pos += len(name)
        self._newlines()
        words: tuple[Word, ...] | None = None
        if self.peek() == "(":
            self.pos += 1
            words = self._words()
            self.expect(")")
        elif re.match(r"in\b", self.peek(3)):
            self.pos += 2
            words = self._words()
        return For(name, words, self._loop_body())

    def _loop_body(self) -> Script:
        self._blank()
        if self.peek() == ";":
            self.pos += 1
        self._newlines()
        if self.peek() == "{":
            self.pos += 1
            return self._closed("}")
        if self._at(_CLOSER) != "do":
            return Script(((self._and_or(), False),))  # zsh short form: for f (a b) command
        self.pos += 2
        return self._closed("done")

    def _case(self) -> Case:
        self._blank()
        subject = self.word()
        self._newlines()
        self.expect("in")
        arms: list[tuple[tuple[Word, ...], Script]] = []
        while True:
            self._newlines()
            if self._at(_CLOSER) == "esac":
                self.pos += 4
                return Case(subject, tuple(arms))
            if self.peek() == "(":
                self.pos += 1
            patterns: list[Word] = []
            while not patterns or self.peek() == "|":
                self.pos += bool(patterns)
                self._blank()
                patterns.append(self.word())
                self._blank()
            self.expect(")")
            arms.append((tuple(patterns), self._script()))
            if self._at(_CLOSER) != "esac":
                self.expect(";")
                self.pos += len(self._at(_ARM_END))

    def _test(self) -> DoubleBracket:
        tokens: list[str | Word] = []
        while True:
            self._newlines()
            if self.peek(2) == "]]":
                self.pos += 2
                return DoubleBracket(tuple(tokens))
            regex = bool(tokens) and not isinstance(tokens[-1], str) and plain(tokens[-1]) == "=~"
            if not regex and (operator := self._at(_TEST_OPERATOR)):
                self.pos += len(operator)
                tokens.append(operator)
                continue
            start = self.pos
            tokens.append(self.word(_SPACES if regex else META))
            if self.pos == start:
                raise Unreadable("unclosed test")

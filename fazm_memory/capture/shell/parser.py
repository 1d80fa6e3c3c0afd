"""From a shell text to its commands.

A text that cannot be read to its end still gives the commands before the trouble, as a shell would run them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from fazm_memory.capture.shell.clauses import Clauses
from fazm_memory.capture.shell.syntax import (
    AndOr,
    Calculation,
    Case,
    Count,
    DoubleBracket,
    For,
    Function,
    Group,
    If,
    Node,
    Pipeline,
    Redirect,
    Redirected,
    Script,
    While,
    Word,
    plain,
)
from fazm_memory.capture.shell.words import DEEPEST, META, Unreadable

_CLOSER = re.compile(r"(?:then|do|done|fi|else|elif|esac|\})(?=[\s;&|()<>]|$)|\)|;;|;&")
_KEYWORD = re.compile(r"(?:if|for|select|while|until|case|function|coproc|time|\[\[|[{!])(?=[\s;(]|$)")
_FUNCTION = re.compile(r"([^\s;&|<>()$`\"'\\={}]+)[ \t]*\([ \t]*\)")
_NAME = re.compile(r"[^\s;&|<>(){}$`\"'\\=]+")
_TEST_OPERATOR = re.compile(r"&&|\|\||[()<>]")
_ARM_END = re.compile(r"[;&]+")
_SPACES = frozenset(" \t\n")


@dataclass(frozen=True, slots=True)
class Parsed:
    script: Script
    complete: bool


def parse(text: str, depth: int = 0) -> Parsed:
    """The commands of a text, and whether it could be read to its end."""
    items: list[tuple[Node, bool]] = []
    try:
        parser = Parser(text, depth)
        parser.items_into(items)
        complete = parser.pos >= len(text)
    except Unreadable:
        complete = False
    return Parsed(Script(tuple(items)), complete)


class Parser(Clauses):
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
                node = Group(self.script_in_parentheses(), subshell=True)
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
            return Group(self._closed("}"), subshell=False)
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
            name = self._at(_NAME)
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
            return Count(clauses[0], clauses[1], clauses[2], self._loop_body())
        name = self._at(_NAME)
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
            return Script(((self._and_or(), False),))  # zsh's short form: for f (a b) command
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

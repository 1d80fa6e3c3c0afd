"""Conditions: `test`, `[ … ]` and `[[ … ]]`, answered from what is known, or with None."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fazm_memory.capture.shell.call import Status
from fazm_memory.capture.shell.parameters import arithmetic
from fazm_memory.capture.shell.pattern import Pieces, compiled, escape, glob_source, is_text
from fazm_memory.capture.shell.syntax import DoubleBracket, Word, plain
from fazm_memory.capture.shell.value import Value, known
from fazm_memory.capture.shell.world import Kind

if TYPE_CHECKING:
    from fazm_memory.capture.shell.run import Run

_NUMBERS: dict[str, Callable[[int, int], bool]] = {
    "-eq": lambda a, b: a == b,
    "-ne": lambda a, b: a != b,
    "-lt": lambda a, b: a < b,
    "-le": lambda a, b: a <= b,
    "-gt": lambda a, b: a > b,
    "-ge": lambda a, b: a >= b,
}
_BINARY = frozenset({"=", "==", "!=", "=~", "<", ">", "-nt", "-ot", "-ef", *_NUMBERS})
_UNARY_LETTERS = "eafdsrwxLhnzvtpbcSgukOGN"
_UNARY = frozenset("-" + letter for letter in _UNARY_LETTERS)


@dataclass(frozen=True, slots=True)
class _Token:
    value: Value
    pieces: Pieces | None = None
    """For `[[ … ]]`: the token as a pattern."""


def tested(run: Run, args: list[Value]) -> Status:
    """`test` and `[`, whose arguments the shell has expanded already."""
    return _Condition(run, [_Token(arg) for arg in args]).answer()


def double_bracket(run: Run, test: DoubleBracket) -> Status:
    tokens: list[_Token] = []
    for token in test.tokens:
        tokens.append(_Token(known(token)) if isinstance(token, str) else _word(run, token))
    return _Condition(run, tokens).answer()


def _word(run: Run, word: Word) -> _Token:
    bare = plain(word)
    if bare is not None and not bare.startswith("~"):
        return _Token(known(bare), [(bare, True)])
    return _Token(run.single(word), run.pieces(word))


def negated(status: Status) -> Status:
    return None if status is None else not status


class _Condition:
    """A recursive reading of the tokens: or, and, not, then one test."""

    def __init__(self, run: Run, tokens: list[_Token]) -> None:
        self.run, self.tokens, self.at = run, tokens, 0

    def answer(self) -> Status:
        if not self.tokens:
            return False
        status = self._either(0)
        return status if self.at == len(self.tokens) else None

    def _peek(self, ahead: int = 0) -> str | None:
        return self.tokens[self.at + ahead].value.text if self.at + ahead < len(self.tokens) else None

    def _either(self, depth: int) -> Status:
        status = self._both(depth)
        while self._peek() in ("||", "-o"):
            self.at += 1
            other = self._both(depth)
            status = True if True in (status, other) else None if None in (status, other) else False
        return status

    def _both(self, depth: int) -> Status:
        status = self._not(depth)
        while self._peek() in ("&&", "-a"):
            self.at += 1
            other = self._not(depth)
            status = False if False in (status, other) else None if None in (status, other) else True
        return status

    def _not(self, depth: int) -> Status:
        odd = False
        while self._peek() == "!" and self.at + 1 < len(self.tokens):
            self.at += 1
            odd = not odd
        status = self._one(depth)
        return negated(status) if odd else status

    def _one(self, depth: int) -> Status:
        if self._peek() == "(" and depth < 20 and self._peek(1) not in _BINARY:
            self.at += 1
            status = self._either(depth + 1)
            self.at += self._peek() == ")"
            return status
        if self._peek(1) in _BINARY and self.at + 2 < len(self.tokens):
            left, op, right = self.tokens[self.at], self._peek(1), self.tokens[self.at + 2]
            self.at += 3
            return self._compared(left.value, op or "", right)
        if self._peek() in _UNARY and self.at + 1 < len(self.tokens):
            op = self._peek() or ""
            self.at += 2
            return self._single(op, self.tokens[self.at - 1].value)
        if self.at >= len(self.tokens):
            return None
        self.at += 1
        return _filled(self.tokens[self.at - 1].value)

    def _single(self, op: str, value: Value) -> Status:
        if op in ("-n", "-z"):
            filled = _filled(value)
            return filled if op == "-n" else negated(filled)
        path = None if value.text is None else self.run.state.path(value.text)
        if value.is_no_match:
            return False
        if path is None or op not in ("-e", "-a", "-f", "-d", "-L", "-h", "-s", "-r", "-w", "-x"):
            return False if value.text == "" else None
        sight = self.run.state.world.look(path)
        if not sight.sure:
            return None
        if sight.kind is Kind.ABSENT:
            return False
        if op in ("-e", "-a"):
            return True
        if op in ("-f", "-d") and sight.kind is not Kind.PRESENT:
            return (sight.kind is Kind.FILE) == (op == "-f")
        return None

    def _compared(self, left: Value, op: str, right: _Token) -> Status:
        if op in _NUMBERS:
            numbers = arithmetic(self.run, left), arithmetic(self.run, right.value)
            return None if None in numbers else _NUMBERS[op](numbers[0] or 0, numbers[1] or 0)
        if op == "=~":
            return self._regex(left, right)
        if op not in ("=", "==", "!="):
            return None
        same: Status = None
        if left.text is not None and right.pieces is not None:
            source = glob_source(right.pieces)
            pattern = None if source is None else compiled(source)
            if pattern is not None and is_text(left.text):
                same = pattern.fullmatch(left.text) is not None
        elif left.text is not None and right.value.text is not None:
            same = left.text == right.value.text
        return negated(same) if op == "!=" else same

    def _regex(self, left: Value, right: _Token) -> Status:
        if left.text is None or right.pieces is None or not is_text(left.text):
            self.run.state.variables["BASH_REMATCH"] = None
            return None
        source = "".join(text if active else escape(text) for text, active in right.pieces)
        pattern = compiled(source)
        if pattern is None:
            return None
        found = pattern.search(left.text)
        if found is None:
            return False
        texts = [found.group(0), *found.groups()]
        self.run.state.variables["BASH_REMATCH"] = {str(i): known(text or "") for i, text in enumerate(texts)}
        return True


def _filled(value: Value) -> Status:
    if value.text is not None:
        return value.text != ""
    return True if any(isinstance(part, str) and part for part in value.parts) else None

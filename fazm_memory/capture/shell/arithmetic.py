"""The shell's integer arithmetic, `$((…))`: an answer in 64 bits, or None when a part of it is not known."""

from __future__ import annotations

import re
from collections.abc import Callable

_TOKEN = re.compile(
    r"\s*(0[xX][0-9a-fA-F]+|\d+#\w+|\d+|[A-Za-z_]\w*|\*\*|\+\+|--|<<|>>|[-+*/%&|^<>=!]=|&&|\|\||[-+*/%<>=!~&|^?:(),])"
)
_ASSIGNING = frozenset({"=", "+=", "-=", "*=", "/=", "%="})
_LEVELS = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<=", ">=", "<", ">"),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)
_DEEPEST = 20


class _NotKnown(Exception):
    """A part of the expression has no value here, or none at all."""


def calculate(source: str, get: Callable[[str], int | None], put: Callable[[str, int], None]) -> int | None:
    tokens: list[str] = []
    at = 0
    source = source.strip()
    while at < len(source):
        found = _TOKEN.match(source, at)
        if found is None or len(tokens) > 500:
            return None
        tokens.append(found[1])
        at = found.end()
    if not tokens:
        return 0
    calculation = _Calculation(tokens, get, put)
    try:
        result = calculation.sequence(0)
    except _NotKnown:
        return None
    return result if calculation.at == len(tokens) else None


class _Calculation:
    def __init__(
        self, tokens: list[str], get: Callable[[str], int | None], put: Callable[[str, int], None]
    ) -> None:
        self.tokens, self.get, self.put = tokens, get, put
        self.at = 0

    def _next(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1] if self.at <= len(self.tokens) else ""

    def _peek(self, ahead: int = 0) -> str:
        return self.tokens[self.at + ahead] if self.at + ahead < len(self.tokens) else ""

    def sequence(self, depth: int) -> int:
        if depth > _DEEPEST:
            raise _NotKnown
        result = self._assignment(depth)
        while self._peek() == ",":
            self.at += 1
            result = self._assignment(depth)
        return result

    def _assignment(self, depth: int) -> int:
        if self._peek(1) in _ASSIGNING and self._peek()[:1].isidentifier():
            name, op = self._next(), self._next()
            value = self._assignment(depth + 1) if depth <= _DEEPEST else self._unknown()
            if op != "=":
                value = _apply(op[0], self._value(name), value)
            self.put(name, value)
            return value
        condition = self._binary(0, depth)
        if self._peek() != "?":
            return condition
        self.at += 1
        yes = self.sequence(depth + 1)
        if self._next() != ":":
            raise _NotKnown
        no = self.sequence(depth + 1)
        return yes if condition else no

    def _binary(self, level: int, depth: int) -> int:
        if level == len(_LEVELS):
            return self._power(depth)
        left = self._binary(level + 1, depth)
        while (op := self._peek()) in _LEVELS[level]:
            self.at += 1
            left = _apply(op, left, self._binary(level + 1, depth))
        return left

    def _power(self, depth: int) -> int:
        base = self._unary(depth)
        if self._peek() != "**":
            return base
        self.at += 1
        return _apply("**", base, self._power(depth + 1) if depth <= _DEEPEST else self._unknown())

    def _unary(self, depth: int) -> int:
        token = self._next()
        if depth > _DEEPEST or not token:
            raise _NotKnown
        if token in ("++", "--"):
            name = self._next()
            value = self._value(name) + (1 if token == "++" else -1)
            self.put(name, value)
            return value
        if token in "+-!~":
            value = self._unary(depth + 1)
            return {"+": value, "-": -value, "!": int(not value), "~": ~value}[token]
        if token == "(":
            value = self.sequence(depth + 1)
            if self._next() != ")":
                raise _NotKnown
            return value
        if token[0].isdigit():
            return _number(token)
        if not token.isidentifier():
            raise _NotKnown
        value = self._value(token)
        if self._peek() in ("++", "--"):
            self.put(token, value + (1 if self._next() == "++" else -1))
        return value

    def _value(self, name: str) -> int:
        value = self.get(name)
        return self._unknown() if value is None else value

    def _unknown(self) -> int:
        raise _NotKnown


def _number(token: str) -> int:
    try:
        if "#" in token:
            base, digits = token.split("#")
            return int(digits, int(base))
        octal = len(token) > 1 and token[0] == "0" and token.isdigit()
        return int(token, 8 if octal else 0) if len(token) < 20 else _wrap(int(token, 0))
    except ValueError as problem:
        raise _NotKnown from problem


def _wrap(value: int) -> int:
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def _apply(op: str, left: int, right: int) -> int:
    if op in ("/", "%"):
        if right == 0:
            raise _NotKnown
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return _wrap(quotient if op == "/" else left - quotient * right)
    if op == "**":
        if not 0 <= right < 64:
            raise _NotKnown
        return _wrap(left**right)
    if op in ("<<", ">>"):
        return _wrap(left << (right % 64) if op == "<<" else left >> (right % 64))
    table: dict[str, Callable[[], int]] = {
        "+": lambda: left + right,
        "-": lambda: left - right,
        "*": lambda: left * right,
        "|": lambda: left | right,
        "&": lambda: left & right,
        "^": lambda: left ^ right,
        "||": lambda: int(bool(left or right)),
        "&&": lambda: int(bool(left and right)),
        "==": lambda: int(left == right),
        "!=": lambda: int(left != right),
        "<=": lambda: int(left <= right),
        ">=": lambda: int(left >= right),
        "<": lambda: int(left < right),
        ">": lambda: int(left > right),
    }
    return _wrap(table[op]())

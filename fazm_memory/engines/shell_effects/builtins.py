"""Builtin commands of the shell: conditions, variables, working folder, options, control flow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from fazm_memory.engines.shell_effects.expansion import arithmetic
from fazm_memory.engines.shell_effects.file_commands import Status, options
from fazm_memory.engines.shell_effects.parser import Assign, DoubleBracket, Word, parse, plain
from fazm_memory.engines.shell_effects.patterns import Pieces, compiled, escape, glob_source, is_text
from fazm_memory.engines.shell_effects.state import (
    FileKind,
    Value,
    joined,
    known,
    spaced,
    unknown,
)
from fazm_memory.engines.shell_effects.text_tools import printf

if TYPE_CHECKING:
    from fazm_memory.engines.shell_effects.interpreter import Interpreter


class FlowScope(IntEnum):
    """How far something reaches: to the end of a round, a loop, a function or the shell."""

    ROUND = 0
    LOOP = 1
    FUNCTION = 2
    SHELL = 3


class ControlFlow(Exception):
    """The shell does not continue with the next command."""

    scope = FlowScope.SHELL

    def __init__(self, levels: int = 1) -> None:
        super().__init__(levels)
        self.levels = levels


class Break(ControlFlow):
    scope = FlowScope.LOOP


class Continue(ControlFlow):
    scope = FlowScope.ROUND


class Return(ControlFlow):
    scope = FlowScope.FUNCTION


class Exit(ControlFlow):
    """End of the shell. `levels` is its status."""


Builtin = Callable[["Interpreter", list[Value]], Status]


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


def evaluate_test(run: Interpreter, args: list[Value]) -> Status:
    """Evaluate `test` and `[`."""
    return _Condition(run, [_Token(arg) for arg in args]).answer()


def evaluate_double_bracket(run: Interpreter, test: DoubleBracket) -> Status:
    tokens: list[_Token] = []
    for token in test.tokens:
        tokens.append(_Token(known(token)) if isinstance(token, str) else _test_word(run, token))
    return _Condition(run, tokens).answer()


def _test_word(run: Interpreter, word: Word) -> _Token:
    bare = plain(word)
    if bare is not None and not bare.startswith("~"):
        return _Token(known(bare), [(bare, True)])
    return _Token(run.single(word), run.pieces(word))


def negated(status: Status) -> Status:
    return None if status is None else not status


class _Condition:
    """Recursive descent parser: or, and, not, then a single test."""

    def __init__(self, run: Interpreter, tokens: list[_Token]) -> None:
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
        status = self._primary(depth)
        return negated(status) if odd else status

    def _primary(self, depth: int) -> Status:
        if self._peek() == "(" and depth < 20 and self._peek(1) not in _BINARY:
            self.at += 1
            status = self._either(depth + 1)
            self.at += self._peek() == ")"
            return status
        if self._peek(1) in _BINARY and self.at + 2 < len(self.tokens):
            left, op, right = self.tokens[self.at], self._peek(1), self.tokens[self.at + 2]
            self.at += 3
            return self._binary(left.value, op or "", right)
        if self._peek() in _UNARY and self.at + 1 < len(self.tokens):
            op = self._peek() or ""
            self.at += 2
            return self._unary(op, self.tokens[self.at - 1].value)
        if self.at >= len(self.tokens):
            return None
        self.at += 1
        return _is_filled(self.tokens[self.at - 1].value)

    def _unary(self, op: str, value: Value) -> Status:
        if op in ("-n", "-z"):
            filled = _is_filled(value)
            return filled if op == "-n" else negated(filled)
        path = None if value.text is None else self.run.state.path(value.text)
        if value.is_no_match:
            return False
        if path is None or op not in ("-e", "-a", "-f", "-d", "-L", "-h", "-s", "-r", "-w", "-x"):
            return False if value.text == "" else None
        lookup = self.run.state.files.look(path)
        if not lookup.sure:
            return None
        if lookup.kind is FileKind.ABSENT:
            return False
        if op in ("-e", "-a"):
            return True
        if op in ("-f", "-d") and lookup.kind is not FileKind.PRESENT:
            return (lookup.kind is FileKind.FILE) == (op == "-f")
        return None

    def _binary(self, left: Value, op: str, right: _Token) -> Status:
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
            return None
        source = "".join(text if active else escape(text) for text, active in right.pieces)
        pattern = compiled(source)
        if pattern is None:
            return None
        return pattern.search(left.text) is not None


def _is_filled(value: Value) -> Status:
    if value.text is not None:
        return value.text != ""
    return True if any(isinstance(part, str) and part for part in value.parts) else None


def assign(run: Interpreter, assignment: Assign) -> None:
    variables, name = run.state.variables, assignment.name
    value = run.single(assignment.value).with_reason(next(iter(run.reasons), ""))
    if assignment.append:
        before = run.state.variable(name)
        variables[name] = joined([before if before is not None else known(""), value])
    else:
        variables[name] = value


def _read(run: Interpreter, args: list[Value]) -> Status:
    opts = options(args, "dnNptuia")
    names = [name.text or "" for name in opts.operands] or ["REPLY"]
    ending = opts.value("d")
    array = opts.value("a")
    delimiter = "\n" if ending is None or ending.text is None else ending.text[:1] or "\0"
    line = run.state.input.line(delimiter)
    if line is None:
        return False
    if line.text is None or array is not None:
        for name in [*names, (array.text if array else None) or "REPLY"]:
            run.state.variables[name] = unknown(name)
        return None if line.text is None else True
    separators = run.state.variable("IFS") if "IFS" in run.state.variables else known(" \t\n")
    chars = (separators.text if separators is not None else None) or ""
    text = line.text if "r" in opts else line.text.replace("\\", "")
    blanks = "".join(char for char in chars if char in " \t\n")
    rest = text.strip(blanks) if blanks else text
    for name in names[:-1]:
        at = next((i for i, char in enumerate(rest) if char in chars), len(rest))
        run.state.variables[name] = known(rest[:at], line.reason)
        rest = rest[at + 1 :].lstrip(blanks) if blanks else rest[at + 1 :]
    run.state.variables[names[-1]] = known(rest, line.reason)
    return True


def _mapfile(run: Interpreter, args: list[Value]) -> Status:
    run.state.input.rest()
    for value in options(args, "dnOsuCc").operands:
        run.state.variables[value.text or ""] = unknown(value.text or "")
    return None


def _shift(run: Interpreter, args: list[Value]) -> Status:
    text = (args[0].text if args else "1") or ""
    run.state.arguments = run.state.arguments[int(text) if text.isdigit() and len(text) < 5 else 1 :]
    return True


def _local(run: Interpreter, args: list[Value]) -> Status:
    for value in options(args).operands:
        if value.text:
            run.save_local(value.text)
            run.state.variables[value.text] = None
    return True


def _unset(run: Interpreter, args: list[Value]) -> Status:
    for value in options(args).operands:
        if value.text:
            run.state.variables[value.text] = None
            run.state.functions.pop(value.text, None)
    return True


def _let(run: Interpreter, args: list[Value]) -> Status:
    results = [arithmetic(run, arg) for arg in args]
    return None if not results or results[-1] is None else results[-1] != 0


def printf_into(run: Interpreter, args: list[Value]) -> Status:
    """`printf -v name format values…`."""
    texts = [arg.text for arg in args[2:]]
    formatted = printf([text for text in texts if text is not None], "") if None not in texts else None
    run.state.variables[args[1].text or ""] = unknown() if formatted is None else known(formatted)
    return True


VARIABLES: dict[str, Callable[[Interpreter, list[Value]], Status]] = {
    "read": _read,
    "mapfile": _mapfile,
    "readarray": _mapfile,
    "shift": _shift,
    **dict.fromkeys(("declare", "typeset", "export", "readonly"), lambda *_: True),
    "local": _local,
    "unset": _unset,
    "let": _let,
}


def _cd(run: Interpreter, args: list[Value]) -> Status:
    targets = [arg for arg in args if arg.text not in ("-P", "-L", "--", "-e")]
    target = targets[0] if targets else run.state.variable("HOME")
    if target is not None and target.text == "-":
        target = run.state.variable("OLDPWD")
    return _change_folder(run, target if target is not None else unknown())


def _change_folder(run: Interpreter, target: Value, name: str = "cd") -> Status:
    path = None if target.text is None else run.state.path(target.text)
    if path is None or target.text is None:
        run.state.change_folder(None)
        return None
    call = run.call(name, [target], succeeded=None)
    if call.certain(path, FileKind.ABSENT) or call.certain(path, FileKind.FILE):
        return call.must_fail(target.text)
    if call.verdict(target.text) is None:
        return False
    if call.look(path).kind is FileKind.UNKNOWN:
        run.state.files.mark_folder(path, not run.reasons)
    run.state.change_folder(path)
    return True


def _pushd(run: Interpreter, args: list[Value]) -> Status:
    names = [arg for arg in args if not (arg.text or "").startswith(("-", "+"))]
    before = run.state.cwd
    if not names:
        if not run.state.folders:
            return False
        run.state.folders, top = (before, *run.state.folders[1:]), run.state.folders[0]
        run.state.change_folder(top)
        return True
    status = _change_folder(run, names[0], "pushd")
    if status is not False:
        run.state.folders = (before, *run.state.folders)
    return status


def _popd(run: Interpreter, _: list[Value]) -> Status:
    if not run.state.folders:
        return False
    top, *rest = run.state.folders
    run.state.folders = tuple(rest)
    run.state.change_folder(top)
    return True


def _set(run: Interpreter, args: list[Value]) -> Status:
    def switch(sign: str, names: set[str]) -> None:
        options = run.state.options
        run.state.options = options | names if sign == "-" else options - names

    letters = {"e": "errexit", "f": "noglob"}
    while args:
        text, args = args[0].text or "", args[1:]
        if text == "--" or text[:1] not in ("-", "+"):
            run.state.arguments = tuple(args) if text == "--" else (known(text), *args)
            return True
        switch(text[0], {letters[letter] for letter in text[1:] if letter in letters})
        if text.endswith("o") and args:
            switch(text[0], {args[0].text or ""})
            args = args[1:]
    return True


def _shopt(run: Interpreter, args: list[Value]) -> Status:
    names = {arg.text or "" for arg in args if not (arg.text or "").startswith("-")}
    if any(arg.text == "-s" for arg in args):
        run.state.options |= names
    elif any(arg.text == "-u" for arg in args):
        run.state.options -= names
    return True


def _eval(run: Interpreter, args: list[Value]) -> Status:
    return run.text(spaced(args))


def _trap(run: Interpreter, args: list[Value]) -> Status:
    source = args[0].text if any(arg.text in ("EXIT", "0") for arg in args[1:]) else None
    if source:
        run.state.traps = () if source == "-" else (parse(source, run.nesting).script,)
    return True


def _control_flow(kind: type[ControlFlow], default: int = 1) -> Builtin:
    def leave(_: Interpreter, args: list[Value]) -> Status:
        text = (args[0].text or "" if args else "")[:4]
        raise kind(int(text) if text.isdigit() else default)

    return leave


def _bracket(run: Interpreter, args: list[Value]) -> Status:
    return evaluate_test(run, args[:-1] if args and args[-1].text == "]" else args)


BUILTINS: dict[str, Builtin] = {
    **VARIABLES,
    "cd": _cd,
    "chdir": _cd,
    "pushd": _pushd,
    "popd": _popd,
    "set": _set,
    "setopt": lambda run, args: _shopt(run, [known("-s"), *args]),
    "shopt": _shopt,
    "eval": _eval,
    "trap": _trap,
    "break": _control_flow(Break),
    "continue": _control_flow(Continue),
    "return": _control_flow(Return, 0),
    "exit": _control_flow(Exit, 0),
    "test": evaluate_test,
    "[": _bracket,
    "true": lambda *_: True,
    ":": lambda *_: True,
    "false": lambda *_: False,
}

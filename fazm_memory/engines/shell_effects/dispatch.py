"""Dispatch of a command by name.

A name is a function, a builtin, a wrapper, a shell, or an external command.

The first part has the builtins: conditions, variables, working folder, options, control flow.
"""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from fazm_memory.engines.shell_effects.file_commands import (
    FILE_COMMANDS,
    Command,
    CommandCall,
    Status,
    git,
    options,
)
from fazm_memory.engines.shell_effects.search import (
    ASKING,
    HARMLESS,
    QUERIES,
    READERS,
    find,
    read_files,
    xargs,
)
from fazm_memory.engines.shell_effects.state import Value, joined, known, spaced, unknown
from fazm_memory.engines.shell_effects.text_tools import (
    PACKERS,
    TOOLS,
    UNPACKERS,
    apply_patch,
    compress,
    download,
    perl,
    sed,
    tar,
    unzip,
    zip_files,
)

if TYPE_CHECKING:
    from fazm_memory.engines.shell_effects.interpreter import Interpreter
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from fazm_memory.engines.shell_effects.expansion import arithmetic
from fazm_memory.engines.shell_effects.parser import Assign, DoubleBracket, Word, parse, plain
from fazm_memory.engines.shell_effects.patterns import Pieces, compiled, escape, glob_source, is_text
from fazm_memory.engines.shell_effects.state import (
    FileKind,
)
from fazm_memory.engines.shell_effects.text_tools import printf

if TYPE_CHECKING:
    from fazm_memory.engines.shell_effects.interpreter import Interpreter


class FlowScope(IntEnum):
    """The scope that a jump leaves: a round, a loop, a function or the shell."""

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


COMMANDS: dict[str, Command] = {
    **FILE_COMMANDS,
    **dict.fromkeys(READERS, read_files),
    **dict.fromkeys(("sed", "gsed"), sed),
    **dict.fromkeys(("tar", "gtar", "bsdtar"), tar),
    **dict.fromkeys((*PACKERS, *UNPACKERS), compress),
    **dict.fromkeys(("curl", "wget"), download),
    "perl": perl,
    "git": git,
    "find": find,
    "gfind": find,
    "xargs": xargs,
    "unzip": unzip,
    "zip": zip_files,
}
"""The external commands that are followed. Each takes a `CommandCall` and reports the effects on it."""

_WRAPPERS: dict[str, tuple[str, int]] = {
    "sudo": ("ugpCTRDhrtU", 0),
    "doas": ("uC", 0),
    "env": ("uCS", 0),
    "nice": ("n", 0),
    "ionice": ("cnp", 0),
    "time": ("fo", 0),
    "gtime": ("fo", 0),
    "nohup": ("", 0),
    "command": ("", 0),
    "builtin": ("", 0),
    "exec": ("a", 0),
    "noglob": ("", 0),
    "nocorrect": ("", 0),
    "stdbuf": ("ioe", 0),
    "timeout": ("ks", 1),
    "gtimeout": ("ks", 1),
    "caffeinate": ("tw", 0),
    "setsid": ("", 0),
    "arch": ("", 0),
    "unbuffer": ("", 0),
}
"""Commands that run another command: option letters with a value, number of own operands."""

_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh"})
_INTERPRETERS = re.compile(r"python[\d.]*|node|ruby|php|Rscript|osascript|deno|bun|lua|tclsh")
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)=")
_DEEPEST = 12


def follow_command(run: Interpreter, args: list[Value], succeeded: Status) -> Status:
    """Follow a command. Return its exit status, None if not known."""
    typed = args[0].text if args else None
    if typed is None or run.nesting > _DEEPEST:
        return run.unknown_program()
    name, rest = posixpath.basename(typed), args[1:]
    if typed in run.state.functions:
        return _follow_function(run, typed, rest, succeeded)
    if typed == "printf" and len(rest) > 2 and rest[0].text == "-v":
        return printf_into(run, rest)
    if typed in BUILTINS:
        return BUILTINS[typed](run, rest)
    with run.nested():
        if name in _WRAPPERS:
            return _follow_wrapper(run, name, rest, succeeded)
        if name in _SHELLS:
            return _follow_shell(run, rest, succeeded)
        if typed in ("source", "."):
            return _script_file(run, rest, succeeded)
        return _follow_external(run, name, rest, succeeded)


def _follow_function(run: Interpreter, name: str, args: list[Value], succeeded: Status) -> Status:
    outer = run.state.arguments
    run.state.arguments = tuple(args)
    try:
        with run.nested(), run.scope(FlowScope.FUNCTION), run.locals():
            return run.node(run.state.functions[name], succeeded)
    except Return:
        return None
    finally:
        run.state.arguments = outer


def _follow_wrapper(run: Interpreter, name: str, args: list[Value], succeeded: Status) -> Status:
    valued, own = _WRAPPERS[name]
    opts = options(args, valued, "user", "group", "adjustment", "signal", "kill-after", "chdir", leading=True)
    if name == "command" and opts.any("v", "V"):
        run.print(unknown())
        return None
    rest = opts.operands[own:]
    if name in ("env", "sudo"):
        return _with_environment(run, rest, opts.value("C", "chdir"), succeeded)
    return follow_command(run, rest, succeeded) if rest else None


def _with_environment(
    run: Interpreter, words: list[Value], folder: Value | None, succeeded: Status
) -> Status:
    with run.subshell():
        while words and isinstance(first := (words[0].parts or ("",))[0], str) and _ASSIGNED.match(first):
            name, _, text = first.partition("=")
            run.state.variables[name] = known(text) if len(words[0].parts) == 1 else unknown(name)
            words = words[1:]
        if folder is not None:
            run.state.cwd = None if folder.text is None else run.state.path(folder.text)
        if words:
            return follow_command(run, words, succeeded)
        run.print(unknown())
        return None


def _follow_shell(run: Interpreter, args: list[Value], succeeded: Status) -> Status:
    """`bash -c text`, `bash file`, or a shell that reads its commands from its input."""
    has_text = False
    flags: list[str] = []
    while args and (text := args[0].text) is not None and text[:1] in ("-", "+") and len(text) > 1:
        args = args[1:]
        if text == "--":
            break
        if text.startswith("--"):
            continue
        has_text = has_text or "c" in text[1:]
        flags.append(text)
        if text.endswith(("o", "O")) and args:
            args = args[1:]
    if not has_text:
        return (
            _script_file(run, args, succeeded)
            if args
            else run.in_subshell(run.state.input.rest(), (), succeeded)
        )
    if not args:
        return None
    return run.in_subshell(args[0], tuple(args[1:]), succeeded, errexit=any("e" in flag for flag in flags))


def _script_file(run: Interpreter, args: list[Value], succeeded: Status) -> Status:
    """Follow a script file that this script wrote itself.

    Of others only the read is known.
    """
    if not args:
        return None
    call = run.call("shell", args, succeeded)
    call.read(args[0])
    path = call.path(args[0])
    if path is None or path not in run.state.contents:
        return run.unknown_program()
    return run.in_subshell(run.state.contents[path], tuple(args), succeeded)


def _follow_external(run: Interpreter, name: str, args: list[Value], succeeded: Status) -> Status:
    call = run.call(name, args, succeeded)
    if name in ("apply_patch", "applypatch"):
        return apply_patch(call, args[0].text if args else call.input.rest().text)
    effect = COMMANDS.get(name)
    if name in QUERIES:
        return QUERIES[name](call)
    status: Status = None
    if effect is not None:
        status = effect(call)
    elif _INTERPRETERS.fullmatch(name):
        _follow_interpreter(call)
        return run.unknown_program()
    elif name not in HARMLESS:
        return run.unknown_program()
    else:
        status = None if name in ASKING else True
    silent = (
        name in FILE_COMMANDS and name != "tee" and not any((arg.text or "").startswith("-") for arg in args)
    )
    if name not in ("find", "xargs") and not silent:
        run.print(_printed(run, call, name))
    return status if succeeded is None else succeeded


def _follow_interpreter(call: CommandCall) -> None:
    first = call.args[0] if call.args else None
    if first is not None and first.text is not None and not first.text.startswith("-"):
        call.read(first)


def _printed(run: Interpreter, call: CommandCall, name: str) -> Value:
    """Return what a command prints, as far as it is known."""
    texts = [arg.text for arg in call.args]
    reason = next((arg.reason for arg in call.args if arg.reason), "")
    if name == "tee":
        return call.input.rest()
    if name == "cat" and call.args:
        paths = [call.path(arg) for arg in call.args]
        return joined(run.state.contents.get(path or "", unknown()) for path in paths)
    tool = TOOLS.get(name)
    if tool is None:
        return unknown()
    if None in texts:
        return joined([spaced(call.args), known("\n")]) if name == "echo" else unknown()
    reads_input = name not in ("echo", "printf", "basename", "dirname", "seq")
    source = call.input.value if reads_input else known("")
    if source.text is None:
        return unknown()
    waiting = source.text[call.input.at :] if reads_input else ""
    printed = tool([text for text in texts if text is not None], waiting)
    if printed is None:
        return unknown()
    if reads_input:
        call.input.rest()
    return known(printed, source.reason or reason)

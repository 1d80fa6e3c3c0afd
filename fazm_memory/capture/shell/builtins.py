"""The shell's own commands that change its folder and options, or the way it goes on."""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import TYPE_CHECKING

from fazm_memory.capture.shell.call import Status
from fazm_memory.capture.shell.conditions import tested
from fazm_memory.capture.shell.parser import parse
from fazm_memory.capture.shell.value import Value, known, spaced, unknown
from fazm_memory.capture.shell.variables import VARIABLES
from fazm_memory.capture.shell.world import Kind

if TYPE_CHECKING:
    from fazm_memory.capture.shell.run import Run


class Scope(IntEnum):
    """How far something reaches: to the end of a loop's round, of the loop, of a function, of the shell."""

    ROUND = 0
    LOOP = 1
    FUNCTION = 2
    SHELL = 3


class Leaving(Exception):
    """The shell does not go on with the next command of a scope."""

    scope = Scope.SHELL

    def __init__(self, levels: int = 1) -> None:
        super().__init__(levels)
        self.levels = levels


class Break(Leaving):
    scope = Scope.LOOP


class Continue(Leaving):
    scope = Scope.ROUND


class Return(Leaving):
    scope = Scope.FUNCTION


class Exit(Leaving):
    """Leaves the whole shell; `levels` is its status."""


Builtin = Callable[["Run", list[Value]], Status]


def _cd(run: Run, args: list[Value]) -> Status:
    targets = [arg for arg in args if arg.text not in ("-P", "-L", "--", "-e")]
    target = targets[0] if targets else run.state.scalar("HOME")
    if target is not None and target.text == "-":
        target = run.state.scalar("OLDPWD")
    return _enter(run, target if target is not None else unknown())


def _enter(run: Run, target: Value, name: str = "cd") -> Status:
    path = None if target.text is None else run.state.path(target.text)
    if path is None or target.text is None:
        run.state.change_folder(None)
        return None
    call = run.call(name, [target], ended=None)
    if call.certain(path, Kind.ABSENT) or call.certain(path, Kind.FILE):
        return call.foresee(target.text)
    if call.verdict(target.text) is None:
        return False
    if call.look(path).kind is Kind.UNKNOWN:
        run.state.world.note_folder(path, not run.reasons)
    run.state.change_folder(path)
    return True


def _pushd(run: Run, args: list[Value]) -> Status:
    names = [arg for arg in args if not (arg.text or "").startswith(("-", "+"))]
    before = run.state.cwd
    if not names:
        if not run.state.folders:
            return False
        run.state.folders, top = (before, *run.state.folders[1:]), run.state.folders[0]
        run.state.change_folder(top)
        return True
    status = _enter(run, names[0], "pushd")
    if status is not False:
        run.state.folders = (before, *run.state.folders)
    return status


def _popd(run: Run, _: list[Value]) -> Status:
    if not run.state.folders:
        return False
    top, *rest = run.state.folders
    run.state.folders = tuple(rest)
    run.state.change_folder(top)
    return True


def _set(run: Run, args: list[Value]) -> Status:
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


def _shopt(run: Run, args: list[Value]) -> Status:
    names = {arg.text or "" for arg in args if not (arg.text or "").startswith("-")}
    if any(arg.text == "-s" for arg in args):
        run.state.options |= names
    elif any(arg.text == "-u" for arg in args):
        run.state.options -= names
    return True


def _eval(run: Run, args: list[Value]) -> Status:
    return run.text(spaced(args))


def _trap(run: Run, args: list[Value]) -> Status:
    source = args[0].text if any(arg.text in ("EXIT", "0") for arg in args[1:]) else None
    if source:
        run.state.traps = () if source == "-" else (parse(source, run.nesting).script,)
    return True


def _leave(kind: type[Leaving], default: int = 1) -> Builtin:
    def leave(_: Run, args: list[Value]) -> Status:
        text = (args[0].text or "" if args else "")[:4]
        raise kind(int(text) if text.isdigit() else default)

    return leave


def _bracket(run: Run, args: list[Value]) -> Status:
    return tested(run, args[:-1] if args and args[-1].text == "]" else args)


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
    "break": _leave(Break),
    "continue": _leave(Continue),
    "return": _leave(Return, 0),
    "exit": _leave(Exit, 0),
    "test": tested,
    "[": _bracket,
    "true": lambda *_: True,
    ":": lambda *_: True,
    "false": lambda *_: False,
}

"""Variables as the shell's own commands set them: assignments, read, mapfile, declare, let and their kin."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from fazm_memory.capture.shell.arithmetic import calculate
from fazm_memory.capture.shell.call import Status, options
from fazm_memory.capture.shell.parameters import arithmetic, index_key
from fazm_memory.capture.shell.state import Array, Variable
from fazm_memory.capture.shell.syntax import Assign
from fazm_memory.capture.shell.text import printf
from fazm_memory.capture.shell.value import Value, joined, known, unknown

if TYPE_CHECKING:
    from fazm_memory.capture.shell.run import Run


def assign(run: Run, assignment: Assign) -> None:
    variables, name = run.state.variables, assignment.name
    held: Variable = variables.get(name)
    if assignment.items is not None:
        array: Array = dict(held) if assignment.append and isinstance(held, dict) else {}
        for key, word in assignment.items:
            if key is not None:
                text = index_key(run, name, key)
                if text is None:
                    variables[name] = unknown(name)
                    return
                array[text] = run.single(word)
            else:
                for value in run.fields(word):
                    array[str(len(array))] = value
        variables[name] = array
        return
    value = run.single(assignment.value)
    value = value.doubted(next(iter(run.reasons), ""))
    if assignment.index is not None:
        text = index_key(run, name, assignment.index)
        array = dict(held) if isinstance(held, dict) else {}
        if text is None:
            variables[name] = unknown(name)
        else:
            array[text] = joined([array.get(text, known("")), value]) if assignment.append else value
            variables[name] = array
    elif assignment.append:
        before = run.state.scalar(name)
        variables[name] = joined([before if before is not None else known(""), value])
    else:
        variables[name] = value


def _read(run: Run, args: list[Value]) -> Status:
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
    separators = run.state.scalar("IFS") if "IFS" in run.state.variables else known(" \t\n")
    chars = (separators.text if separators is not None else None) or ""
    text = line.text if "r" in opts else line.text.replace("\\", "")
    blanks = "".join(char for char in chars if char in " \t\n")
    rest = text.strip(blanks) if blanks else text
    for name in names[:-1]:
        at = next((i for i, char in enumerate(rest) if char in chars), len(rest))
        run.state.variables[name] = known(rest[:at], line.doubt)
        rest = rest[at + 1 :].lstrip(blanks) if blanks else rest[at + 1 :]
    run.state.variables[names[-1]] = known(rest, line.doubt)
    return True


def _mapfile(run: Run, args: list[Value]) -> Status:
    opts = options(args, "dnOsuCc")
    name = (opts.operands[0].text if opts.operands else "MAPFILE") or "MAPFILE"
    given = run.state.input.rest()
    if given.text is None or "t" not in opts:
        run.state.variables[name] = unknown(name)
        return None
    ending = opts.value("d")
    end = "\n" if ending is None else (ending.text or "")[:1] or "\0"
    rows = given.text.removesuffix(end).split(end) if given.text else []
    run.state.variables[name] = {str(i): known(row, given.doubt) for i, row in enumerate(rows)}
    return True


def _shift(run: Run, args: list[Value]) -> Status:
    count = calculate((args[0].text if args else "1") or "1", lambda _: None, lambda *_: None)
    run.state.arguments = run.state.arguments[max(0, 1 if count is None else count) :]
    return True


def _declare(run: Run, args: list[Value]) -> Status:
    opts = options(args)
    for value in opts.operands:
        if value.text and "A" in opts:
            run.state.keyed.add(value.text)
            run.state.variables.setdefault(value.text, {})
    return True


def _local(run: Run, args: list[Value]) -> Status:
    for value in options(args).operands:
        if value.text:
            run.keep_local(value.text)
            run.state.variables[value.text] = None
    return _declare(run, args)


def _unset(run: Run, args: list[Value]) -> Status:
    for value in options(args).operands:
        if value.text:
            run.state.variables[value.text] = None
            run.state.functions.pop(value.text, None)
    return True


def _let(run: Run, args: list[Value]) -> Status:
    results = [arithmetic(run, arg) for arg in args]
    return None if not results or results[-1] is None else results[-1] != 0


def printf_into(run: Run, args: list[Value]) -> Status:
    """`printf -v name format values…`."""
    texts = [arg.text for arg in args[2:]]
    made = printf([text for text in texts if text is not None], "") if None not in texts else None
    run.state.variables[args[1].text or ""] = unknown() if made is None else known(made)
    return True


VARIABLES: dict[str, Callable[[Run, list[Value]], Status]] = {
    "read": _read,
    "mapfile": _mapfile,
    "readarray": _mapfile,
    "shift": _shift,
    "declare": _declare,
    "typeset": _declare,
    "export": _declare,
    "readonly": _declare,
    "local": _local,
    "unset": _unset,
    "let": _let,
}

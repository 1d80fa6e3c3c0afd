"""Dispatch of a command by its name: function, builtin, wrapper, shell, or external command."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from fazm_memory.engines.shell_effects.builtins import BUILTINS, FlowScope, Return, printf_into
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
    """Follow a script file that this script wrote itself. Of others only the read is known."""
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

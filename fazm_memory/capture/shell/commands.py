"""A command by its name: functions, builtins, wrappers, shells, and the tools whose doings are known."""

from __future__ import annotations

import posixpath
import re
from typing import TYPE_CHECKING

from fazm_memory.capture.shell.archives import (
    PACKERS,
    UNPACKERS,
    compressed,
    download,
    rsync,
    tar,
    unzip,
    zipped,
)
from fazm_memory.capture.shell.builtins import BUILTINS, Return, Scope
from fazm_memory.capture.shell.call import Call, Status, options
from fazm_memory.capture.shell.editors import apply_patch, mass_move, patch, perl, rename, sed
from fazm_memory.capture.shell.effects import EFFECTS, Effect
from fazm_memory.capture.shell.find import find
from fazm_memory.capture.shell.git import git
from fazm_memory.capture.shell.queries import ASKING, HARMLESS, QUERIES
from fazm_memory.capture.shell.reads import READERS, reads
from fazm_memory.capture.shell.text import TOOLS
from fazm_memory.capture.shell.value import Value, joined, known, spaced, unknown
from fazm_memory.capture.shell.variables import printf_into
from fazm_memory.capture.shell.xargs import xargs

if TYPE_CHECKING:
    from fazm_memory.capture.shell.run import Run

TOOLS_WITH_EFFECTS: dict[str, Effect] = {
    **EFFECTS,
    **dict.fromkeys(READERS, reads),
    **dict.fromkeys(("sed", "gsed"), sed),
    **dict.fromkeys(("rename", "prename", "file-rename"), rename),
    **dict.fromkeys(("mmv", "zmv"), mass_move),
    **dict.fromkeys(("tar", "gtar", "bsdtar"), tar),
    **dict.fromkeys((*PACKERS, *UNPACKERS), compressed),
    **dict.fromkeys(("curl", "wget"), download),
    "perl": perl,
    "patch": patch,
    "git": git,
    "find": find,
    "gfind": find,
    "xargs": xargs,
    "unzip": unzip,
    "zip": zipped,
    "rsync": rsync,
}
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
"""Commands that run another one: their letters that take a value, and the operands of their own."""

_SHELLS = frozenset({"sh", "bash", "zsh", "dash", "ksh"})
_INTERPRETERS = re.compile(r"python[\d.]*|node|ruby|php|Rscript|osascript|deno|bun|lua|tclsh")
_ASSIGNED = re.compile(r"([A-Za-z_]\w*)=")
_DEEPEST = 12


def command(run: Run, args: list[Value], ended: Status) -> Status:
    """Follows one command; its status where it is known."""
    typed = args[0].text if args else None
    if typed is None or run.nesting > _DEEPEST:
        return run.disturbed()
    name, rest = posixpath.basename(typed), args[1:]
    if typed in run.state.functions:
        return _function(run, typed, rest, ended)
    if typed == "printf" and len(rest) > 2 and rest[0].text == "-v":
        return printf_into(run, rest)
    if typed in BUILTINS:
        return BUILTINS[typed](run, rest)
    with run.nested():
        if name in _WRAPPERS:
            return _wrapped(run, name, rest, ended)
        if name in _SHELLS:
            return _shell(run, rest, ended)
        if typed in ("source", "."):
            return _script_file(run, rest, ended)
        return _tool(run, name, rest, ended)


def _function(run: Run, name: str, args: list[Value], ended: Status) -> Status:
    outer = run.state.arguments
    run.state.arguments = tuple(args)
    try:
        with run.nested(), run.scope(Scope.FUNCTION), run.locals():
            return run.node(run.state.functions[name], ended)
    except Return:
        return None
    finally:
        run.state.arguments = outer


def _wrapped(run: Run, name: str, args: list[Value], ended: Status) -> Status:
    valued, own = _WRAPPERS[name]
    opts = options(args, valued, "user", "group", "adjustment", "signal", "kill-after", "chdir", leading=True)
    if name == "command" and opts.any("v", "V"):
        run.say(unknown())
        return None
    rest = opts.operands[own:]
    if name in ("env", "sudo"):
        return _with_environment(run, rest, opts.value("C", "chdir"), ended)
    return command(run, rest, ended) if rest else None


def _with_environment(run: Run, words: list[Value], folder: Value | None, ended: Status) -> Status:
    with run.subshell():
        while words and isinstance(first := (words[0].parts or ("",))[0], str) and _ASSIGNED.match(first):
            name, _, text = first.partition("=")
            run.state.variables[name] = known(text) if len(words[0].parts) == 1 else unknown(name)
            words = words[1:]
        if folder is not None:
            run.state.cwd = None if folder.text is None else run.state.path(folder.text)
        if words:
            return command(run, words, ended)
        run.say(unknown())
        return None


def _shell(run: Run, args: list[Value], ended: Status) -> Status:
    """`bash -c text`, `bash file`, or a shell that reads its commands from its input."""
    given = False
    flags: list[str] = []
    while args and (text := args[0].text) is not None and text[:1] in ("-", "+") and len(text) > 1:
        args = args[1:]
        if text == "--":
            break
        if text.startswith("--"):
            continue
        given = given or "c" in text[1:]
        flags.append(text)
        if text.endswith(("o", "O")) and args:
            args = args[1:]
    if not given:
        return _script_file(run, args, ended) if args else run.in_subshell(run.state.input.rest(), (), ended)
    if not args:
        return None
    return run.in_subshell(args[0], tuple(args[1:]), ended, errexit=any("e" in flag for flag in flags))


def _script_file(run: Run, args: list[Value], ended: Status) -> Status:
    """A script that this command wrote itself can be followed; any other can only be known to be read."""
    if not args:
        return None
    call = run.call("shell", args, ended)
    call.read(args[0])
    path = call.path(args[0])
    if path is None or path not in run.state.contents:
        return run.disturbed()
    return run.in_subshell(run.state.contents[path], tuple(args), ended)


def _tool(run: Run, name: str, args: list[Value], ended: Status) -> Status:
    call = run.call(name, args, ended)
    if name in ("apply_patch", "applypatch"):
        return apply_patch(call, args[0].text if args else call.input.rest().text)
    effect = TOOLS_WITH_EFFECTS.get(name)
    if name in QUERIES:
        return QUERIES[name](call)
    status: Status = None
    if effect is not None:
        status = effect(call)
    elif _INTERPRETERS.fullmatch(name):
        _interpreter(call)
        return run.disturbed()
    elif name not in HARMLESS:
        return run.disturbed()
    else:
        status = None if name in ASKING else True
    if name not in ("find", "xargs"):
        run.say(_said(run, call, name))
    return status if ended is None else ended


def _interpreter(call: Call) -> None:
    first = call.args[0] if call.args else None
    if first is not None and first.text is not None and not first.text.startswith("-"):
        call.read(first)


def _said(run: Run, call: Call, name: str) -> Value:
    """What a command prints, where that can be told."""
    if name in EFFECTS and not any((arg.text or "").startswith("-") for arg in call.args) and name != "tee":
        return Value()
    texts = [arg.text for arg in call.args]
    doubt = next((arg.doubt for arg in call.args if arg.doubt), "")
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
    given = call.input.value if reads_input else known("")
    if given.text is None:
        return unknown()
    waiting = given.text[call.input.at :] if reads_input else ""
    printed = tool([text for text in texts if text is not None], waiting)
    if printed is None:
        return unknown()
    if reads_input:
        call.input.rest()
    return known(printed, given.doubt or doubt)

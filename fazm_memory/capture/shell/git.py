"""The git commands that name files of the working tree. Others that change it only unsettle what is known."""

from __future__ import annotations

import posixpath
import re

from fazm_memory.capture.shell.call import Call, Options, Status, options
from fazm_memory.capture.shell.folders import remove
from fazm_memory.capture.shell.transfers import move
from fazm_memory.capture.shell.world import Kind

_CLONING = re.compile(r"Cloning into (?:bare repository )?'(.+)'\.\.\.")
_QUIET_NAMES = """
add commit status log diff show branch tag remote fetch push config blame grep ls-files rev-parse describe
reflog shortlog ls-remote ls-tree cat-file rev-list check-ignore init notes version help --version --help
"""
_QUIET = frozenset(_QUIET_NAMES.split())
"""They leave the files of the working tree alone."""


def git(call: Call) -> Status:
    args = list(call.args)
    cwd = call.state.cwd
    while args and (text := args[0].text) is not None and text.startswith("-") and text not in _QUIET:
        if text == "-C" and len(args) > 1:
            call.state.cwd = call.path(args[1])
        args = args[2:] if text in ("-C", "-c", "--git-dir", "--work-tree") else args[1:]
    call.args = args[1:]
    status = _subcommand(call, args[0].text if args else None)
    call.state.cwd = cwd
    return status


def _subcommand(call: Call, name: str | None) -> Status:
    opts = options(call.args, "s" if name == "restore" else "", "source")
    if name == "mv":
        return True if opts.any("n", "dry-run") else move(call)
    if name == "rm":
        return True if opts.any("n", "dry-run", "cached") else _removed(call, opts)
    if name in ("checkout", "restore"):
        return _restored(call, opts, name)
    if name == "clone":
        return _cloned(call, opts)
    if name not in _QUIET:
        call.state.world.disturb()
    return None


def _removed(call: Call, opts: Options) -> Status:
    status = remove(call)
    for value in opts.operands:
        path = call.path(value)
        above = posixpath.dirname(path) if path is not None else "/"
        while above not in ("/", call.state.cwd):
            found = call.state.world.entries(above)
            if found is None or found[0]:
                break
            call.remove(above, "git removes folders that become empty")
            above = posixpath.dirname(above)
    return status


def _restored(call: Call, opts: Options, name: str) -> Status:
    texts = [arg.text for arg in call.args]
    if name == "checkout" and "--" not in texts:
        call.state.world.disturb()
        return None
    if opts.any("staged", "S") and not opts.any("worktree", "W"):
        return True
    files = call.args[texts.index("--") + 1 :] if "--" in texts else opts.operands
    for value in files:
        path, text = call.path(value), value.text
        if path is None or text is None or call.look(path).kind is Kind.FOLDER:
            call.state.world.disturb()
        elif call.verdict(text) is not None:
            there = call.look(path).kind is not Kind.ABSENT
            ran = call.emit(
                path, "modified" if there else "created", None, "only if it differed from the commit"
            )
            call.state.world.put(path, Kind.FILE, ran)
    return None


def _cloned(call: Call, opts: Options) -> Status:
    shown = [found[1] for line in call.evidence.lines if (found := _CLONING.fullmatch(line))]
    address = (opts.operands[0].text if opts.operands else None) or ""
    typed = opts.operands[1].text if len(opts.operands) == 2 else None
    name = shown[0] if len(shown) == 1 else typed or posixpath.basename(address.removesuffix(".git"))
    path = call.state.path(name)
    doubt = call.verdict(name)
    if path is None or doubt is None:
        return None
    why = doubt or ("" if shown or typed else "the folder is named after the address")
    ran = call.emit(path, "created", None, why)
    call.state.world.note_folder(path, ran and not doubt)
    return True

"""sed -i, perl -pi, and the apply_patch of coding agents."""

from __future__ import annotations

import posixpath
import re

from fazm_memory.engines.shell_effects.commands.basic import (
    Change,
    CommandCall,
    Status,
    options,
    worst_status,
)
from fazm_memory.engines.shell_effects.state import FileKind, Value, known

_PATCH_FILE = re.compile(r"\*\*\* (Add|Update|Delete) File: (.+)|\*\*\* Move to: (.+)")


def sed(call: CommandCall) -> Status:
    args = list(call.args)
    for place, arg in enumerate(args[:-2]):
        following = args[place + 1].text
        # BSD sed has the suffix as an argument: `-i ''`, `-i .bak`. A script never starts with a dot.
        if arg.text == "-i" and following is not None and (not following or following.startswith(".")):
            args[place : place + 2] = [known("-i" + following)]
            break
    opts = options(args, "efl", "expression", "file", "line-length", optional="i")
    scripted = opts.any("e", "f", "expression", "file")
    files = opts.operands if scripted else opts.operands[1:]
    if not opts.any("i", "in-place"):
        return worst_status(*(call.read(value) for value in files))
    suffix = opts.value("i", "in-place")
    return _edit_in_place(call, files, (suffix.text if suffix else "") or "")


def perl(call: CommandCall) -> Status:
    opts = options(call.args, "eEIm", optional="iMF0lCx")
    files = opts.operands if opts.any("e", "E") else opts.operands[1:]
    if "i" not in opts or not opts.any("e", "E"):
        call.state.files.invalidate()
        return None
    suffix = opts.flags["i"]
    return _edit_in_place(call, files, (suffix.text if suffix else "") or "")


def _edit_in_place(call: CommandCall, files: list[Value], suffix: str) -> Status:
    statuses: list[Status] = []
    for value in files:
        path, text = call.path(value), value.text
        if path is None or text is None:
            statuses.append(False if value.is_no_match else None)
            continue
        reason = call.verdict(text, proven=call.certain(path, FileKind.FILE))
        if reason is None or call.missing(path) or call.certain(path, FileKind.FOLDER):
            statuses.append(False if reason is None else call.must_fail(text))
            continue
        if suffix:
            folder, name = posixpath.split(path)
            backup = suffix.replace("*", name) if "*" in suffix else name + suffix
            call.write(posixpath.join(folder, backup), reason)
        call.emit(path, "modified", None, reason)
        call.state.contents.pop(path, None)
        statuses.append(True)
    return worst_status(*statuses)


def apply_patch(call: CommandCall, text: str | None) -> Status:
    """Follow the patch format of Codex."""
    if text is None:
        return None
    updated = ""
    for line in text.split("\n"):
        found = _PATCH_FILE.fullmatch(line.rstrip("\r"))
        if found is None:
            continue
        path = call.state.path((found[2] or found[3]).strip())
        reason = call.verdict((found[2] or found[3]).strip())
        if path is None or reason is None:
            continue
        if found[3]:
            if updated:
                call.rename(updated, path, reason)
            continue
        updated = path
        changes: dict[str, Change] = {"Add": "created", "Update": "modified", "Delete": "deleted"}
        change = changes[found[1]]
        if change == "deleted":
            call.remove(path, reason)
        else:
            ran = call.emit(path, change, None, reason)
            call.state.files.put(path, FileKind.FILE, ran and not reason)
    return True

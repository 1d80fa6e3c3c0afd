"""sed -i, perl -pi, rename, mmv, zmv, patch, and the apply_patch of coding agents."""

from __future__ import annotations

import posixpath
import re

from fazm_memory.engines.shell_effects.commands.basic import (
    NAMED,
    Change,
    CommandCall,
    Status,
    options,
    worst_status,
)
from fazm_memory.engines.shell_effects.commands.text_tools import substitutions
from fazm_memory.engines.shell_effects.state import FileKind, Value, known

_PATCH_FILE = re.compile(r"\*\*\* (Add|Update|Delete) File: (.+)|\*\*\* Move to: (.+)")
_PATCHED = re.compile(r"patching file (.+?)(?: \(renamed from (.+)\)| using Plan A\.*)?")


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


def rename(call: CommandCall) -> Status:
    """Follow `rename 's/a/b/' files` (Perl) and `rename from to files` (util-linux)."""
    opts = options(call.args, "e")
    script = opts.value("e")
    operands = opts.operands if script is not None else opts.operands[1:]
    script = script if script is not None else (opts.operands or [known("")])[0]
    if opts.any("n", "nono", "no-act", "dry-run", "just-print"):
        return True
    edit = None if script.text is None else substitutions(script.text, extended=True, perl=True)
    if edit is None and script.text is not None and len(operands) > 1 and operands[0].text is not None:
        old, new = script.text, operands[0].text
        operands = operands[1:]

        def edit(name: str) -> str:
            return name.replace(old, new, 1)

    for value in operands:
        path, text = call.path(value), value.text
        if path is None or text is None or edit is None:
            _renamed_in_output(call, value)
            continue
        folder, name = posixpath.split(text)
        target = call.state.path(posixpath.join(folder, edit(name)))
        if target is not None and target != path and not call.missing(path):
            call.rename(path, target, "the pattern of rename was followed, not its output")
    return None


def rename_in_output(call: CommandCall) -> Status:
    """Follow mmv and zmv, of which only the output is read."""
    _renamed_in_output(call, Value())
    return None


def _renamed_in_output(call: CommandCall, value: Value) -> None:
    for number, pair in enumerate(call.output.pairs):
        old, new = call.state.path(pair.old), call.state.path(pair.new)
        if number not in call.used and old and new and (not value.parts or value.could_be(pair.old)):
            call.used.add(number)
            call.rename(old, new, NAMED)


def patch(call: CommandCall) -> Status:
    opts = options(call.args, "pdiorFBzYVDg", "strip", "directory", "input", "output")
    patch_file = opts.value("i", "input")
    if patch_file is not None:
        call.read(patch_file)
    if opts.any("dry-run"):
        return None
    folder = opts.value("d", "directory")
    for line in call.output.lines:
        found = _PATCHED.fullmatch(line)
        if found is None:
            continue
        name = found[1].strip("'\"‘’")
        path = call.state.path(posixpath.join((folder.text if folder else None) or "", name))
        if path is not None:
            call.write(path, "", append=True)
    return None


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

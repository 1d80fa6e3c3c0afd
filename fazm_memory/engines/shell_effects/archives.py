"""tar, zip, unzip, gzip and others, curl and wget."""

from __future__ import annotations

import posixpath
import re

from fazm_memory.engines.shell_effects.file_commands import (
    IF_ABSENT,
    CommandCall,
    Status,
    options,
    worst_status,
)
from fazm_memory.engines.shell_effects.state import FileKind, Value, known

_UNZIPPED = re.compile(r" *(inflating|extracting|creating|linking): (.+?)(?: +-> .*)?")
_TAR_LETTERS = re.compile(r"[A-Za-z]*[cxtruA][A-Za-z]*")
_DOWNLOADED = re.compile(r".*?[‘'\"`](.+?)[’'\"] saved \[.*|Saving to: [‘'\"`](.+?)[’'\"]")
IN_OUTPUT = "named in output"


def tar(call: CommandCall) -> Status:
    args = list(call.args)
    if args and args[0].text is not None and _TAR_LETTERS.fullmatch(args[0].text):
        letters = args[0].text
        args[0] = known("-" + letters.replace("f", "") + ("f" if "f" in letters else ""))
    opts = options(args, "fCTXIg", "file", "directory", "exclude", "files-from", "transform")
    archive = opts.value("f", "file")
    folder = opts.value("C", "directory")
    base = "" if folder is None else folder.text
    if opts.any("c", "create", "r", "u"):
        statuses = [_read_member(call, base, value) for value in opts.operands]
        return worst_status(*statuses, _write_archive(call, archive, append=not opts.any("c", "create")))
    if archive is not None and archive.text != "-":
        call.read(archive)
    if not opts.any("x", "extract", "get") or opts.any("O", "to-stdout"):
        return True
    marked = [line.removeprefix("x ") for line in call.output.lines if line.startswith("x ")]
    members = (marked or _own_lines(call)) if opts.any("v", "verbose") else []
    _write_members(call, base, members, "" if marked else IN_OUTPUT)
    if not members:
        call.state.files.invalidate()
    return True


def _own_lines(call: CommandCall) -> list[str]:
    """Return the output lines of this command: all, or those in a folder that it names."""
    if call.only_printer:
        return call.output.lines
    folders = tuple(line for line in call.output.lines if line.endswith("/") and " " not in line)
    return [line for line in call.output.lines if line.startswith(folders)] if folders else []


def _read_member(call: CommandCall, base: str | None, value: Value) -> Status:
    if base is None or value.text is None:
        return None
    path = call.state.path(posixpath.join(base, value.text))
    reason = call.verdict(value.text)
    if path is None or reason is None or call.missing(path):
        return False
    call.emit(path, "read", None, reason)
    return True


def _write_archive(call: CommandCall, archive: Value | None, *, append: bool) -> Status:
    path = None if archive is None else call.path(archive)
    if path is None or archive is None or archive.text in (None, "-"):
        return None
    if call.lacks_parent(path):
        return call.must_fail(archive.text or "")
    call.write(path, call.verdict(archive.text or "") or "", append=append)
    return True


def _write_members(call: CommandCall, base: str | None, names: list[str], why: str) -> None:
    if base is None:
        call.state.files.invalidate()
        return
    for name in names:
        path = call.state.path(posixpath.join(base, name.strip()))
        if path is None:
            continue
        if not name.strip().endswith("/"):
            call.write(path, why)
        elif not call.look(path).exists:
            unsure = "" if call.look(path).sure else IF_ABSENT
            ran = call.emit(path, "created", None, why or unsure)
            call.state.files.put(path, FileKind.FOLDER, ran and not why)


def unzip(call: CommandCall) -> Status:
    opts = options(call.args, "dxP")
    if not opts.operands:
        return None
    archive = opts.operands[0]
    text = archive.text or ""
    call.read(archive if posixpath.splitext(text)[1] or archive.text is None else known(text + ".zip"))
    if opts.any("l", "t", "p", "v", "Z"):
        return True
    shown = [found[2].rstrip() for line in call.output.lines if (found := _UNZIPPED.fullmatch(line))]
    folder = opts.value("d")
    folder_text = None if folder is None else (folder.text or "").rstrip("/")
    if folder_text:
        shown = [name.removeprefix(folder_text + "/") for name in shown]
        path = call.state.path(folder_text)
        if path is not None and call.certain(path, FileKind.ABSENT):
            _write_members(call, "", [folder_text + "/"], "")
    _write_members(call, folder_text if folder is not None else "", shown, "")
    if not shown:
        call.state.files.invalidate()
    return True


def zip_files(call: CommandCall) -> Status:
    opts = options(call.args, "xibnt")
    if not opts.operands:
        return None
    text = opts.operands[0].text
    if text is not None and not posixpath.splitext(text)[1]:
        text += ".zip"
    statuses = [_read_member(call, "", value) for value in opts.operands[1:]]
    statuses.append(None if text is None else _write_archive(call, known(text), append=True))
    for value in opts.operands[1:] if opts.any("m") else ():
        if path := call.path(value):
            call.remove(path, call.verdict(value.text or "") or "")
    return worst_status(*statuses)


PACKERS = {"gzip": ".gz", "bzip2": ".bz2", "xz": ".xz", "zstd": ".zst", "lz4": ".lz4"}
UNPACKERS = {"gunzip": "gzip", "bunzip2": "bzip2", "unxz": "xz", "unzstd": "zstd"}


def compress(call: CommandCall) -> Status:
    """Follow gzip and others, which replace a file by another beside it."""
    tool = UNPACKERS.get(call.name, call.name)
    opts = options(call.args, "STo")
    ending = PACKERS[tool]
    unpack = call.name in UNPACKERS or opts.any("d", "decompress", "uncompress")
    keep = opts.any("k", "keep") or (tool in ("zstd", "lz4") and "rm" not in opts)
    if opts.any("c", "stdout", "to-stdout", "l", "t", "list", "test"):
        return worst_status(*(call.read(value) for value in opts.operands))
    statuses: list[Status] = []
    for value in opts.operands:
        path, text = call.path(value), value.text
        if path is None or text is None or opts.any("r"):
            statuses.append(None)
            continue
        reason = call.verdict(text, proven=call.certain(path, FileKind.FILE))
        if reason is None or call.missing(path) or (unpack and not path.endswith((ending, ".tgz"))):
            statuses.append(False if reason is None else call.must_fail(text))
            continue
        plain = path[: -len(".tgz")] + ".tar" if path.endswith(".tgz") else path.removesuffix(ending)
        target = plain if unpack else path + ending
        there = call.look(target)
        if there.exists and there.sure and not opts.any("f", "force"):
            statuses.append(call.must_fail(target))
            continue
        call.emit(path, "read", None, reason)
        call.write(target, reason)
        if not keep:
            call.remove(path, reason)
        statuses.append(True)
    return worst_status(*statuses)


def download(call: CommandCall) -> Status:
    if call.name == "curl":
        opts = options(call.args, "oHXdbcuAeFTwmxKErtyYzQ", "output", "header", "request", "data", "user")
        target = opts.value("o", "output")
        named = opts.any("O", "remote-name")
    else:
        opts = options(call.args, "OPoUtTQe", "output-document", "directory-prefix", "header", "user-agent")
        target, named = opts.value("O", "output-document"), True
    if target is not None:
        return _write_archive(call, target, append=False) if target.text != "/dev/null" else None
    shown = [found[1] or found[2] for line in call.output.lines if (found := _DOWNLOADED.fullmatch(line))]
    urls = [value.text.partition("?")[0].rstrip("/") for value in opts.operands if value.text]
    for name in dict.fromkeys(shown) or [posixpath.basename(url) for url in urls if "/" in url and named]:
        path = call.state.path(name)
        if path is not None and named:
            call.write(path, "" if shown else "named after the address")
    return None

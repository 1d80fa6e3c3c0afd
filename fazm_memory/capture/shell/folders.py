"""Folders made and things removed: mkdir, rm, rmdir."""

from __future__ import annotations

import posixpath

from fazm_memory.capture.shell.call import (
    IF_ABSENT,
    IF_EXISTED,
    NAMED,
    Call,
    Options,
    Status,
    options,
    worst,
)
from fazm_memory.capture.shell.value import Value
from fazm_memory.capture.shell.world import Kind


def mkdir(call: Call) -> Status:
    opts = options(call.args, "m", "mode")
    return make_folders(call, opts, parents=opts.any("p", "parents"))


def make_folders(call: Call, opts: Options, *, parents: bool) -> Status:
    statuses: list[Status] = []
    for value in opts.operands:
        path, text = call.path(value), value.text
        if path is None or text is None:
            for name in [made for made in call.evidence.made if value.could_be(made)]:
                if named := call.state.path(name):
                    call.emit(named, "created", None, NAMED)
                    call.state.world.put(named, Kind.FOLDER, False)
            statuses.append(None)
            continue
        sight = call.look(path)
        doubt = call.verdict(text)
        there = sight.exists and sight.sure
        if doubt is None or (not parents and (there or call.homeless(path))):
            statuses.append(False if doubt is None else call.foresee(text))
            continue
        if parents:
            make_folder(call, path, doubt, shown=text in call.evidence.made)
        else:
            ran = call.emit(path, "created", None, doubt)
            call.state.world.put(path, Kind.FOLDER, ran and not doubt)
        statuses.append(True)
    return worst(*statuses)


def make_folder(call: Call, path: str, why: str = "", *, shown: bool = False) -> None:
    """`mkdir -p`: the folders above first; those that cannot be told to be new are left out."""
    missing = [path]
    while call.certain(posixpath.dirname(missing[-1]), Kind.ABSENT):
        missing.append(posixpath.dirname(missing[-1]))
    for folder in reversed(missing[1:]):
        ran = call.emit(folder, "created", None, why)
        call.state.world.put(folder, Kind.FOLDER, ran and not why)
    sight = call.look(path)
    if sight.exists and sight.sure:
        return
    if sight.kind is Kind.UNKNOWN and not shown:
        ran = call.emit(path, "created", None, why or IF_ABSENT)
        call.state.world.note_folder(path, ran and not why)
    else:
        ran = call.emit(path, "created", None, why or ("" if sight.sure or shown else IF_ABSENT))
        call.state.world.put(path, Kind.FOLDER, ran and not why)


def remove(call: Call) -> Status:
    opts = options(call.args)
    recursive = opts.any("r", "R", "recursive", "d", "dir") or call.name in ("trash", "rmdir")
    forced = opts.any("f", "force")
    statuses: list[Status] = []
    for value in opts.operands:
        path, text = call.path(value), value.text
        if path is None or text is None:
            statuses.append(forced if value.is_no_match else _remove_named(call, value, opts))
            continue
        sight = call.look(path)
        shown = text in call.evidence.removed
        if call.missing(path) or (forced and sight.kind is Kind.ABSENT and sight.sure):
            statuses.append(forced or call.foresee(text))
            continue
        doubt = call.verdict(text, proven=sight.exists and sight.sure)
        filled = call.name == "rmdir" and bool((call.state.world.entries(path) or ([], True))[0])
        if doubt is None or filled or (sight.kind is Kind.FOLDER and sight.sure and not recursive):
            statuses.append(False if doubt is None else call.foresee(text))
            continue
        certain = shown or (sight.exists and sight.sure) or not forced
        call.remove(path, doubt or ("" if certain else IF_EXISTED))
        above = posixpath.dirname(text.rstrip("/"))
        while call.name == "rmdir" and opts.any("p", "parents") and above and above != "/":
            call.remove(call.state.path(above) or path, doubt)
            above = posixpath.dirname(above)
        statuses.append(True)
    return worst(*statuses)


def _remove_named(call: Call, value: Value, opts: Options) -> Status:
    bare = call.evidence.lines if opts.any("v", "verbose") else []
    call.spend((len(call.evidence.removed) + len(bare)) // 20)
    for name in [*call.evidence.removed, *bare]:
        path = call.state.path(name)
        if path is not None and value.could_be(name.rstrip("/")):
            call.remove(path, NAMED)
    return None

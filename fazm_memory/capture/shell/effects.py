"""What commands do to files: the table of all that are followed, and the small ones themselves."""

from __future__ import annotations

import re
from collections.abc import Callable

from fazm_memory.capture.shell.call import IF_ABSENT, Call, Status, options, worst
from fazm_memory.capture.shell.folders import mkdir, remove
from fazm_memory.capture.shell.transfers import copy, install, link, move
from fazm_memory.capture.shell.value import Value, known
from fazm_memory.capture.shell.world import Kind

Effect = Callable[[Call], Status]
ONLY_MODE = "only its mode, if that was another"


def touch(call: Call) -> Status:
    opts = options(call.args, "dtrA", "date", "reference")
    statuses: list[Status] = []
    for value in opts.operands:
        path, text = call.path(value), value.text
        if path is None or text is None:
            statuses.append(None)
            continue
        sight = call.look(path)
        doubt = call.verdict(text)
        if doubt is None or (sight.kind is Kind.ABSENT and call.homeless(path)):
            statuses.append(False if doubt is None else call.foresee(text))
        elif not sight.exists and not opts.any("c", "no-create"):
            ran = call.emit(path, "created", None, doubt or ("" if sight.sure else IF_ABSENT))
            call.state.world.put(path, Kind.FILE, ran and not doubt)
            statuses.append(True)
        else:
            if sight.exists:
                call.emit(path, "modified", None, doubt or "only its time changed")
            statuses.append(True)
    return worst(*statuses)


def chmod(call: Call) -> Status:
    """Who may use a file. What its mode was is not known here, so whether it changed is not, either."""
    words = [value for value in call.args if not _flag(value.text)]
    given = options([value for value in call.args if _flag(value.text)], "", "reference")
    operands = words if "reference" in given else words[1:]
    statuses: list[Status] = []
    for value in operands:
        path, text = call.path(value), value.text
        if path is None or text is None:
            statuses.append(False if value.is_no_match else None)
            continue
        if call.missing(path):
            statuses.append(call.foresee(text))
            continue
        doubt = call.verdict(text)
        if doubt is None:
            statuses.append(False)
            continue
        sight = call.look(path)
        if sight.kind is Kind.FILE or (sight.kind is not Kind.FOLDER and not given.any("R", "recursive")):
            call.emit(path, "modified", None, doubt or ONLY_MODE)
        statuses.append(True)
    return worst(*statuses)


def _flag(text: str | None) -> bool:
    """An option of chmod; `-x` takes a right away, and is none."""
    return text is not None and text.startswith("-") and not re.fullmatch(r"-[rwxXstugo]+(,.*)?", text)


def written(call: Call, values: list[Value], *, append: bool = False) -> Status:
    statuses: list[Status] = []
    for value in values:
        path, text = call.path(value), value.text
        doubt = None if text is None else call.verdict(text)
        if path is None or text is None or doubt is None:
            statuses.append(None if text is None else False)
        elif call.homeless(path) or call.certain(path, Kind.FOLDER):
            statuses.append(call.foresee(text))
        elif not path.startswith("/dev/"):
            call.write(path, doubt, append=append)
            statuses.append(True)
    return worst(*statuses)


def tee(call: Call) -> Status:
    opts = options(call.args)
    return written(call, opts.operands, append=opts.any("a", "append"))


def truncate(call: Call) -> Status:
    opts = options(call.args, "sr", "size", "reference")
    kept = [value for value in opts.operands if not (opts.any("c", "no-create") and _absent(call, value))]
    return written(call, kept, append=True)


def _absent(call: Call, value: Value) -> bool:
    path = call.path(value)
    return path is not None and call.certain(path, Kind.ABSENT)


def dd(call: Call) -> Status:
    statuses: list[Status] = []
    for value in call.args:
        key, equals, rest = (value.text or "").partition("=")
        if equals and key == "if" and not rest.startswith("/dev/"):
            statuses.append(call.read(known(rest)))
        elif equals and key == "of":
            statuses.append(written(call, [known(rest)]))
    return worst(*statuses)


EFFECTS: dict[str, Effect] = {
    "mv": move,
    "cp": copy,
    "ditto": copy,
    "ln": link,
    "install": install,
    "mkdir": mkdir,
    "rm": remove,
    "rmdir": remove,
    "unlink": remove,
    "trash": remove,
    "touch": touch,
    "chmod": chmod,
    "tee": tee,
    "truncate": truncate,
    "dd": dd,
}

"""The commands that leave all files alone, and what the few of them print that name files."""

from __future__ import annotations

from fazm_memory.capture.shell.call import Call, Status, options
from fazm_memory.capture.shell.effects import Effect
from fazm_memory.capture.shell.value import joined, known, unknown
from fazm_memory.capture.shell.world import Kind

_QUIET = """
ll tree stat du df date whoami id uname hostname sleep ps top uptime man help history seq bc basename dirname
chown chgrp chflags xattr umask ulimit wait jobs alias clear tput stty tty mdls open pbpaste pbcopy say
sw_vers system_profiler getconf printenv locale nproc free echo printf tr sync logger mktemp
"""
_ASKING = "which where whereis type expr kill ping dig host lsof hash mdfind"
ASKING = frozenset(_ASKING.split())
"""They too leave files alone, but may fail without a word."""
HARMLESS = frozenset(_QUIET.split()) | ASKING
"""They leave the contents, the names and the modes of files alone. Owners and times are not followed."""


def ls(call: Call) -> Status:
    opts = options(call.args, "I", "ignore")
    names: list[str] | None = []
    doubt = next((value.doubt for value in opts.operands if value.doubt), "")
    if set(opts.flags) - {"1", "a", "A", "d", "color", "G"}:
        names = None
    for value in opts.operands or [known(".")]:
        path = call.path(value)
        if value.is_no_match:
            continue
        kind = Kind.UNKNOWN if path is None else call.look(path).kind
        if names is None or path is None or value.text is None or kind in (Kind.UNKNOWN, Kind.PRESENT):
            names = None
        elif kind is Kind.FILE or (kind is Kind.FOLDER and "d" in opts):
            names.append(value.text)
        elif kind is Kind.FOLDER:
            found = call.state.world.entries(path)
            if found is None or len(opts.operands) > 1 or "a" in opts:
                names = None
            else:
                doubt = doubt or ("" if found[1] else "the folder may have changed before it was listed")
                names += [name for name in found[0] if "A" in opts or not name.startswith(".")]
    call.say(unknown() if names is None else joined(known(name + "\n", doubt) for name in names))
    verdicts = [call.verdict(value.text or "") for value in opts.operands]
    return None if not call.visible or None in verdicts else True


def pwd(call: Call) -> Status:
    call.say(unknown() if call.state.cwd is None else known(call.state.cwd + "\n"))
    return True


def realpath(call: Call) -> Status:
    """Links are not known, so this is only what the path would be without any."""
    opts = options(call.args)
    paths = [call.path(value) for value in opts.operands]
    if (call.name == "readlink" and not opts.any("f", "e", "m")) or None in paths:
        call.say(unknown())
        return None
    lines = [known((path or "") + "\n", "assumes that no link is on the way") for path in paths]
    call.say(joined(lines))
    return True


QUERIES: dict[str, Effect] = {"ls": ls, "pwd": pwd, "realpath": realpath, "readlink": realpath}

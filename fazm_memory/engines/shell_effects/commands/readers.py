"""Commands that only read files, and commands that do not touch files at all."""

from __future__ import annotations

from fazm_memory.engines.shell_effects.commands.basic import (
    Command,
    CommandCall,
    Status,
    options,
    worst_status,
    write_files,
)
from fazm_memory.engines.shell_effects.state import FileKind, Value, joined, known, unknown

_PLAIN = """
cat tac rev nl less more wc cmp comm paste zcat gzcat bzcat xzcat zless zmore file
md5sum sha1sum sha256sum sha512sum cksum sum md5 b2sum
"""
READERS: dict[str, tuple[str, int]] = {
    **dict.fromkeys(_PLAIN.split(), ("", 0)),
    **dict.fromkeys(("xxd", "hexdump", "strings", "expand", "uniq"), ("slcn", 0)),
    "bat": ("lrH", 0),
    "head": ("nc", 0),
    "tail": ("ncs", 0),
    "cut": ("dfcb", 0),
    "sort": ("kotST", 0),
    "diff": ("UCIx", 0),
    "colordiff": ("UCIx", 0),
    "od": ("AtNjw", 0),
    "fold": ("wcs", 0),
    "fmt": ("w", 0),
    "column": ("csoN", 0),
    "join": ("12tjoae", 0),
    "base64": ("wi", 0),
    "shasum": ("a", 0),
    "grep": ("efmABCdD", 1),
    "egrep": ("efmABCdD", 1),
    "fgrep": ("efmABCdD", 1),
    "rg": ("efgtTmABCj", 1),
    "awk": ("Fvf", 1),
    "gawk": ("Fvf", 1),
    "jq": ("", 1),
}
"""Option letters that take a value, and the number of operands before the files."""

_LONG_VALUED = """
include exclude exclude-dir regexp file max-count context after-context before-context lines bytes key width
field-separator output delimiter fields glob type label from-file indent
"""
_PATTERN_OPTIONS = ("e", "f", "regexp", "file", "from-file")
_SEARCHERS = frozenset({"grep", "egrep", "fgrep", "rg", "diff"})
_STATUS_IS_AN_ANSWER = _SEARCHERS | {"cmp", "colordiff", "jq", "awk", "gawk"}
"""Their exit status is an answer that the output does not show."""
_IN_OUTPUT = "named in output"


def read_files(call: CommandCall) -> Status:
    """Report the operands after the pattern or program as read."""
    valued, skipped = READERS[call.name]
    opts = options(
        _without_jq_arguments(call.args) if call.name == "jq" else call.args, valued, *_LONG_VALUED.split()
    )
    if call.name == "jq" and opts.any("n", "null-input"):
        return None
    recursive = call.name == "rg" or (call.name in _SEARCHERS and opts.any("r", "R", "recursive"))
    files = opts.operands[0 if opts.any(*_PATTERN_OPTIONS) and skipped else skipped :]
    pattern_file = opts.value("f", "file") if skipped else None
    statuses: list[Status] = [] if pattern_file is None else [call.read(pattern_file)]
    for value in files:
        if call.name in ("awk", "gawk") and "=" in (value.text or ""):
            continue
        path = call.path(value)
        if path is not None and recursive and call.look(path).kind is not FileKind.FILE:
            _read_searched(call, value)
        elif value.text not in ("-", "") and not (path or "").startswith("/dev/"):
            statuses.append(call.read(value))
    target = opts.value("o", "output") if call.name == "sort" else None
    if target is not None:
        statuses.append(write_files(call, [target]))
    return None if call.name in _STATUS_IS_AN_ANSWER and False not in statuses else worst_status(*statuses)


def _without_jq_arguments(args: list[Value]) -> list[Value]:
    """Remove `--arg name value` of jq."""
    remaining: list[Value] = []
    skip = 0
    for arg in args:
        if skip:
            skip -= 1
        elif arg.text in ("--arg", "--argjson", "--slurpfile", "--rawfile"):
            skip = 2
        else:
            remaining.append(arg)
    return remaining


def _read_searched(call: CommandCall, value: Value) -> None:
    """Report the files of a searched folder that the output names."""
    folder = (value.text or "").rstrip("/") + "/"
    names = dict.fromkeys(line.split(":", 1)[0] for line in call.output.lines if line.startswith(folder))
    for name in names:
        call.read(known(name), _IN_OUTPUT)


# Commands that change nothing

_QUIET_COMMANDS = """
ll tree stat du df date whoami id uname hostname sleep ps top uptime man help history seq bc basename dirname
chown chgrp chflags xattr umask ulimit wait jobs alias clear tput stty tty mdls open pbpaste pbcopy say
sw_vers system_profiler getconf printenv locale nproc free echo printf tr sync logger mktemp
"""
_ASKING_COMMANDS = "which where whereis type expr kill ping dig host lsof hash mdfind"
ASKING = frozenset(_ASKING_COMMANDS.split())
"""They may fail without an error message."""
HARMLESS = frozenset(_QUIET_COMMANDS.split()) | ASKING
"""They change no contents, names or modes. Owners and times are not followed."""


def ls(call: CommandCall) -> Status:
    opts = options(call.args, "I", "ignore")
    names: list[str] | None = []
    reason = next((value.reason for value in opts.operands if value.reason), "")
    if set(opts.flags) - {"1", "a", "A", "d", "color", "G"}:
        names = None
    for value in opts.operands or [known(".")]:
        path = call.path(value)
        if value.is_no_match:
            continue
        kind = FileKind.UNKNOWN if path is None else call.look(path).kind
        if (
            names is None
            or path is None
            or value.text is None
            or kind in (FileKind.UNKNOWN, FileKind.PRESENT)
        ):
            names = None
        elif kind is FileKind.FILE or (kind is FileKind.FOLDER and "d" in opts):
            names.append(value.text)
        elif kind is FileKind.FOLDER:
            found = call.state.files.entries(path)
            if found is None or len(opts.operands) > 1 or "a" in opts:
                names = None
            else:
                reason = reason or ("" if found[1] else "the folder may have changed before it was listed")
                names += [name for name in found[0] if "A" in opts or not name.startswith(".")]
    call.print(unknown() if names is None else joined(known(name + "\n", reason) for name in names))
    verdicts = [call.verdict(value.text or "") for value in opts.operands]
    return None if not call.errors_visible or None in verdicts else True


def pwd(call: CommandCall) -> Status:
    call.print(unknown() if call.state.cwd is None else known(call.state.cwd + "\n"))
    return True


def realpath(call: CommandCall) -> Status:
    """Print the path. Links are not known, so it is uncertain."""
    opts = options(call.args)
    paths = [call.path(value) for value in opts.operands]
    if (call.name == "readlink" and not opts.any("f", "e", "m")) or None in paths:
        call.print(unknown())
        return None
    lines = [known((path or "") + "\n", "assumes that no link is on the way") for path in paths]
    call.print(joined(lines))
    return True


QUERIES: dict[str, Command] = {"ls": ls, "pwd": pwd, "realpath": realpath, "readlink": realpath}

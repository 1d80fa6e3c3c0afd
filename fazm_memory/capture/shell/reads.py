"""The commands that only read the files they are given."""

from __future__ import annotations

from fazm_memory.capture.shell.call import Call, Status, options, worst
from fazm_memory.capture.shell.effects import written
from fazm_memory.capture.shell.value import Value, known
from fazm_memory.capture.shell.world import Kind

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
"""The letters that take a value, and how many operands come before the files."""

_LONG_VALUED = """
include exclude exclude-dir regexp file max-count context after-context before-context lines bytes key width
field-separator output delimiter fields glob type label from-file indent
"""
_PATTERN_GIVEN = ("e", "f", "regexp", "file", "from-file")
_SEARCHERS = frozenset({"grep", "egrep", "fgrep", "rg", "diff"})
_UNTOLD = _SEARCHERS | {"cmp", "colordiff", "jq", "awk", "gawk"}
"""Their status is an answer, and nothing in the output says which."""
_NAMED = "named in output"


def reads(call: Call) -> Status:
    """Every operand after the pattern or program is a file that is read."""
    valued, skipped = READERS[call.name]
    opts = options(
        _without_pairs(call.args) if call.name == "jq" else call.args, valued, *_LONG_VALUED.split()
    )
    if call.name == "jq" and opts.any("n", "null-input"):
        return None
    recursive = call.name == "rg" or (call.name in _SEARCHERS and opts.any("r", "R", "recursive"))
    files = opts.operands[0 if opts.any(*_PATTERN_GIVEN) and skipped else skipped :]
    given = opts.value("f", "file") if skipped else None
    statuses: list[Status] = [] if given is None else [call.read(given)]
    for value in files:
        if call.name in ("awk", "gawk") and "=" in (value.text or ""):
            continue
        path = call.path(value)
        if path is not None and recursive and call.look(path).kind is not Kind.FILE:
            _searched(call, value)
        elif value.text not in ("-", "") and not (path or "").startswith("/dev/"):
            statuses.append(call.read(value))
    target = opts.value("o", "output") if call.name == "sort" else None
    if target is not None:
        statuses.append(written(call, [target]))
    return None if call.name in _UNTOLD and False not in statuses else worst(*statuses)


def _without_pairs(args: list[Value]) -> list[Value]:
    """jq's `--arg name value` takes two."""
    kept: list[Value] = []
    skip = 0
    for arg in args:
        if skip:
            skip -= 1
        elif arg.text in ("--arg", "--argjson", "--slurpfile", "--rawfile"):
            skip = 2
        else:
            kept.append(arg)
    return kept


def _searched(call: Call, value: Value) -> None:
    """A folder searched through: its files that the output names were read."""
    folder = (value.text or "").rstrip("/") + "/"
    told = dict.fromkeys(line.split(":", 1)[0] for line in call.evidence.lines if line.startswith(folder))
    for name in told:
        call.read(known(name), _NAMED)

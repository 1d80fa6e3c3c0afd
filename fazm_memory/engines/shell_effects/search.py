"""Commands that find and read files, and commands that do not touch files at all."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from fazm_memory.engines.shell_effects.file_commands import (
    Command,
    CommandCall,
    Status,
    options,
    worst_status,
    write_files,
)
from fazm_memory.engines.shell_effects.patterns import ANYTHING, compiled, glob_source
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


WALKED = "found by walking the folder listing"
IN_OUTPUT = "files named in output"
_MOST_FOUND = 20_000
_GLOBAL = frozenset({"-depth", "-xdev", "-mount", "-follow", "-daystart", "-noleaf", "-warn", "-nowarn"})
_BARE = frozenset({"-readable", "-writable", "-executable", "-ls", "-quit", "-nouser", "-nogroup"})


@dataclass(frozen=True, slots=True)
class _Entry:
    text: str
    path: str
    kind: FileKind
    depth: int


_Test = Callable[[_Entry], Status]


@dataclass
class _Search:
    """What the expression asks for, collected while it is parsed."""

    call: CommandCall
    deepest: int = 1_000
    shallowest: int = 0
    acts: bool = False
    prints: bool = False
    after: bool = False
    """Contents come before their folder, as with -delete."""
    like: str = ""
    printed: list[Value] = field(default_factory=list)
    batches: list[tuple[list[Value], list[Value]]] = field(default_factory=list)
    complete: bool = True


def find(call: CommandCall) -> Status:
    args = list(call.args)
    while args and args[0].text in ("-H", "-L", "-P", "-E", "-X", "-s"):
        args.pop(0)
    starts: list[Value] = []
    while args and not (args[0].text or "").startswith(("-", "(", "!")):
        starts.append(args.pop(0))
    search = _Search(call)
    test = _Expression(search, args).any_of(0) if args else None
    if not search.acts:
        test = _and(test, _print_test(search, "\n")) if test else _print_test(search, "\n")
        search.prints = True
    for start in starts or [known(".")]:
        entries = _walk_folders(search, start)
        with call.uncertain(WALKED if entries is not None else IN_OUTPUT):
            for entry in entries if entries is not None else _paths_in_output(search, start):
                if test is not None and test(entry) is None:
                    search.complete = False
        if entries is None:
            search.complete = False
            _exec_on_unknown(search, start)
    with call.uncertain(WALKED):
        for command, found in search.batches:
            if found:
                call.execute([part for arg in command for part in (found if arg.text == "{}" else [arg])])
    if search.prints:
        call.print(joined(search.printed).with_reason(WALKED) if search.complete else unknown())
    return None


def _walk_folders(search: _Search, start: Value) -> list[_Entry] | None:
    call = search.call
    path = call.path(start)
    if path is None or start.text is None or call.look(path).kind is FileKind.UNKNOWN:
        return None
    if call.look(path).kind is FileKind.ABSENT:
        return []
    out: list[_Entry] = []
    waiting = [_Entry(start.text, path, call.look(path).kind, 0)]
    while waiting and len(out) < _MOST_FOUND:
        entry = waiting.pop()
        if entry.depth >= search.shallowest:
            out.append(entry)
        if entry.depth >= search.deepest or entry.kind is FileKind.FILE:
            continue
        found = call.state.files.entries(entry.path)
        if found is None:
            if entry.kind is FileKind.PRESENT:
                continue
            return None
        for name in reversed(found[0]):
            below = posixpath.join(entry.path, name)
            text = posixpath.join(entry.text, name)
            waiting.append(_Entry(text, below, call.look(below).kind, entry.depth + 1))
    return out[::-1] if search.after else out


def _paths_in_output(search: _Search, start: Value) -> list[_Entry]:
    """Return the files that find printed."""
    if not search.prints or start.text is None:
        return []
    prefix = start.text.rstrip("/") + "/"
    out = []
    for line in search.call.output.lines:
        path = search.call.state.path(line)
        if line.startswith(prefix) and path is not None:
            out.append(_Entry(line, path, search.call.look(path).kind, line[len(prefix) :].count("/") + 1))
    return out


def _exec_on_unknown(search: _Search, start: Value) -> None:
    """Run -exec on an unknown name, so that the output of `mv -v` can name the files."""
    like = search.like or ANYTHING
    anyone = joined([start, unknown("", f"(?:/(?:{ANYTHING}/)?{like})?" if search.like else ANYTHING)])
    for command, _ in search.batches:
        search.call.execute([anyone if arg.text == "{}" else arg for arg in command])


class _Expression:
    def __init__(self, search: _Search, args: list[Value]) -> None:
        self.search, self.args, self.at = search, args, 0

    def _peek(self) -> str | None:
        return self.args[self.at].text if self.at < len(self.args) else None

    def _next(self) -> Value:
        self.at += 1
        return self.args[self.at - 1] if self.at <= len(self.args) else known("")

    def any_of(self, depth: int) -> _Test:
        left = self._all_of(depth)
        while self._peek() in ("-o", "-or"):
            self.at += 1
            left = _or(left, self._all_of(depth))
        return left

    def _all_of(self, depth: int) -> _Test:
        left: _Test = lambda _: True  # noqa: E731 - the empty conjunction
        while self.at < len(self.args) and self._peek() not in ("-o", "-or", ")", ","):
            if self._peek() in ("-a", "-and"):
                self.at += 1
                continue
            left = _and(left, self._primary(depth))
        return left

    def _primary(self, depth: int) -> _Test:
        token = self._next().text
        if token in ("!", "-not") and depth < 20:
            inner = self._primary(depth + 1)
            return lambda entry: None if (answer := inner(entry)) is None else not answer
        if token == "(" and depth < 20:
            grouped = self.any_of(depth + 1)
            self.at += self._peek() == ")"
            return grouped
        if token in ("-maxdepth", "-mindepth"):
            count = (self._next().text or "")[:4]
            if count.isdigit() and token == "-maxdepth":
                self.search.deepest = int(count)
            elif count.isdigit():
                self.search.shallowest = int(count)
            return lambda _: True
        if token in ("-name", "-iname", "-path", "-wholename", "-ipath"):
            return self._name_test(token, self._next().text)
        if token == "-type":
            wanted = {"f": FileKind.FILE, "d": FileKind.FOLDER}.get(self._next().text or "")
            return lambda entry: None if None in (wanted, _clear_kind(entry)) else entry.kind is wanted
        if token in ("-print", "-print0"):
            self.search.acts = self.search.prints = True
            return _print_test(self.search, "\n" if token == "-print" else "\0")
        if token == "-delete":
            self.search.acts = self.search.after = True
            return self._delete
        if token in ("-exec", "-execdir", "-ok", "-okdir"):
            return self._exec_test(token)
        if token == "-empty":
            return self._empty
        if token in _GLOBAL:
            self.search.after |= token == "-depth"
            return lambda _: True
        if token not in _BARE:
            self.at += 1  # tests of age, size or owner take an argument and cannot be answered
        return lambda _: None

    def _name_test(self, token: str, glob: str | None) -> _Test:
        any_char = "[^/]" if token.endswith("iname") or token == "-name" else "(?s:.)"
        source = None if glob is None else glob_source([(glob, True)], any_char=any_char)
        pattern = None if source is None else compiled(source, ignore_case=token[1] == "i")
        if pattern is None:
            return lambda _: None
        if token == "-name":
            self.search.like = self.search.like or source or ""
        whole = token.endswith(("path", "wholename"))
        return lambda entry: (
            pattern.fullmatch(entry.text if whole else posixpath.basename(entry.text.rstrip("/"))) is not None
        )

    def _delete(self, entry: _Entry) -> Status:
        reason = self.search.call.verdict(entry.text)
        if reason is None or entry.depth == 0:
            return False
        self.search.call.remove(entry.path, reason)
        return True

    def _empty(self, entry: _Entry) -> Status:
        found = self.search.call.state.files.entries(entry.path) if entry.kind is FileKind.FOLDER else None
        return None if found is None else not found[0]

    def _exec_test(self, token: str) -> _Test:
        command: list[Value] = []
        while self.at < len(self.args) and self._peek() not in (";", "+"):
            command.append(self._next())
        batched = self._next().text == "+"
        self.search.acts = True
        found: list[Value] = []
        self.search.batches.append((command, found))

        def run(entry: _Entry) -> Status:
            if batched and not token.endswith("dir"):
                found.append(known(entry.text))
                return True
            state = self.search.call.state
            cwd = state.cwd
            text = entry.text
            if token.endswith("dir"):
                state.cwd, text = posixpath.dirname(entry.path), "./" + posixpath.basename(entry.path)
            status = self.search.call.execute([_with_path(arg, text) for arg in command])
            state.cwd = cwd
            return status

        return run


def _clear_kind(entry: _Entry) -> FileKind | None:
    return None if entry.kind in (FileKind.PRESENT, FileKind.UNKNOWN) else entry.kind


def _with_path(arg: Value, text: str) -> Value:
    return arg if arg.text is None else known(arg.text.replace("{}", text))


def _print_test(search: _Search, end: str) -> _Test:
    def print(entry: _Entry) -> Status:
        search.printed.append(known(entry.text + end))
        return True

    return print


def _and(left: _Test, right: _Test) -> _Test:
    def both(entry: _Entry) -> Status:
        answer = left(entry)
        return right(entry) if answer is True else answer

    return both


def _or(left: _Test, right: _Test) -> _Test:
    def any_of(entry: _Entry) -> Status:
        answer = left(entry)
        return right(entry) if answer is False else answer

    return any_of


# xargs

_WORD = re.compile(r"""\s*((?:"[^"\n]*"|'[^'\n]*'|\\.|[^\s"'\\])+)""")
_QUOTED = re.compile(r"""\"([^"]*)"|'([^']*)'|\\(.)""")


def xargs(call: CommandCall) -> Status:
    opts = options(call.args, "InLPdaEs", "max-args", "max-procs", "delimiter", "arg-file", leading=True)
    command = opts.operands or [known("echo")]
    source = call.input.rest()
    marker = opts.value("I")
    items = _input_items(source, opts.any("0", "null"), opts.value("d", "delimiter"), marker is not None)
    if items is None:
        call.execute(
            [_with_item(arg, marker, unknown()) for arg in command] + ([] if marker else [unknown()])
        )
        return None
    size = opts.value("n", "L", "max-args")
    text = (size.text if size is not None else None) or ""
    step = int(text) if re.fullmatch(r"[1-9]\d{0,5}", text) else len(items)
    with call.uncertain(source.reason):
        if marker is not None:
            for item in items:
                call.execute([_with_item(arg, marker, known(item)) for arg in command])
        else:
            for at in range(0, len(items), step or 1):
                call.execute([*command, *(known(item) for item in items[at : at + step])])
    return None


def _with_item(arg: Value, marker: Value | None, item: Value) -> Value:
    if marker is None or arg.text is None or not marker.text:
        return arg
    first, *rest = arg.text.split(marker.text)
    return joined([known(first), *(part for text in rest for part in (item, known(text)))])


def _input_items(source: Value, null: bool, delimiter: Value | None, by_line: bool) -> list[str] | None:
    if source.text is None or (delimiter is not None and not delimiter.text):
        return None
    if null or delimiter is not None:
        end = "\0" if null else (delimiter.text or "").replace("\\n", "\n") if delimiter else "\n"
        return [item for item in source.text.removesuffix(end).split(end) if item]
    if by_line:
        return [line.strip() for line in source.text.split("\n") if line.strip()]
    return list(_split_input(source.text))


def _split_input(text: str) -> Iterator[str]:
    """Split at blanks and remove quotes. Stop at an unmatched quote, as xargs does."""
    at = 0
    while found := _WORD.match(text, at):
        at = found.end()
        if text[at : at + 1] in ('"', "'"):
            return
        yield _QUOTED.sub(lambda part: part[1] or part[2] or part[3] or "", found[1])

"""find: what it does to the files it finds, as far as the folders or the output show them."""

from __future__ import annotations

import posixpath
from collections.abc import Callable
from dataclasses import dataclass, field

from fazm_memory.capture.shell.call import Call, Status
from fazm_memory.capture.shell.pattern import ANYTHING, compiled, glob_source
from fazm_memory.capture.shell.value import Value, joined, known, unknown
from fazm_memory.capture.shell.world import Kind

WALKED = "found by walking the folder listing"
TOLD = "files named in output"
_MOST_FOUND = 20_000
_GLOBAL = frozenset({"-depth", "-xdev", "-mount", "-follow", "-daystart", "-noleaf", "-warn", "-nowarn"})
_BARE = frozenset({"-readable", "-writable", "-executable", "-ls", "-quit", "-nouser", "-nogroup"})


@dataclass(frozen=True, slots=True)
class _Entry:
    text: str
    path: str
    kind: Kind
    depth: int


_Test = Callable[[_Entry], Status]


@dataclass
class _Search:
    """What an expression asks for, gathered while it is read."""

    call: Call
    deepest: int = 1_000
    shallowest: int = 0
    acts: bool = False
    prints: bool = False
    after: bool = False
    """Contents come before their folder, as -delete needs it."""
    like: str = ""
    said: list[Value] = field(default_factory=list)
    batches: list[tuple[list[Value], list[Value]]] = field(default_factory=list)
    complete: bool = True


def find(call: Call) -> Status:
    args = list(call.args)
    while args and args[0].text in ("-H", "-L", "-P", "-E", "-X", "-s"):
        args.pop(0)
    starts: list[Value] = []
    while args and not (args[0].text or "").startswith(("-", "(", "!")):
        starts.append(args.pop(0))
    search = _Search(call)
    test = _Expression(search, args).either(0) if args else None
    if not search.acts:
        test = _and(test, _printing(search, "\n")) if test else _printing(search, "\n")
        search.prints = True
    for start in starts or [known(".")]:
        entries = _walk(search, start)
        with call.doubting(WALKED if entries is not None else TOLD):
            for entry in entries if entries is not None else _told(search, start):
                if test is not None and test(entry) is None:
                    search.complete = False
        if entries is None:
            search.complete = False
            _symbolic(search, start)
    with call.doubting(WALKED):
        for command, found in search.batches:
            if found:
                call.execute([part for arg in command for part in (found if arg.text == "{}" else [arg])])
    if search.prints:
        call.say(joined(search.said).doubted(WALKED) if search.complete else unknown())
    return None


def _walk(search: _Search, start: Value) -> list[_Entry] | None:
    call = search.call
    path = call.path(start)
    if path is None or start.text is None or call.look(path).kind is Kind.UNKNOWN:
        return None
    if call.look(path).kind is Kind.ABSENT:
        return []
    out: list[_Entry] = []
    waiting = [_Entry(start.text, path, call.look(path).kind, 0)]
    while waiting and len(out) < _MOST_FOUND:
        entry = waiting.pop()
        if entry.depth >= search.shallowest:
            out.append(entry)
        if entry.depth >= search.deepest or entry.kind is Kind.FILE:
            continue
        found = call.state.world.entries(entry.path)
        if found is None:
            if entry.kind is Kind.PRESENT:
                continue
            return None
        for name in reversed(found[0]):
            below = posixpath.join(entry.path, name)
            text = posixpath.join(entry.text, name)
            waiting.append(_Entry(text, below, call.look(below).kind, entry.depth + 1))
    return out[::-1] if search.after else out


def _told(search: _Search, start: Value) -> list[_Entry]:
    """Files that find itself printed."""
    if not search.prints or start.text is None:
        return []
    prefix = start.text.rstrip("/") + "/"
    out = []
    for line in search.call.evidence.lines:
        path = search.call.state.path(line)
        if line.startswith(prefix) and path is not None:
            out.append(_Entry(line, path, search.call.look(path).kind, line[len(prefix) :].count("/") + 1))
    return out


def _symbolic(search: _Search, start: Value) -> None:
    """Nothing is known of the folder: `-exec mv -v {} …` may still show in the output what it did."""
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

    def either(self, depth: int) -> _Test:
        left = self._both(depth)
        while self._peek() in ("-o", "-or"):
            self.at += 1
            left = _or(left, self._both(depth))
        return left

    def _both(self, depth: int) -> _Test:
        left: _Test = lambda _: True  # noqa: E731 - the empty conjunction
        while self.at < len(self.args) and self._peek() not in ("-o", "-or", ")", ","):
            if self._peek() in ("-a", "-and"):
                self.at += 1
                continue
            left = _and(left, self._one(depth))
        return left

    def _one(self, depth: int) -> _Test:
        token = self._next().text
        if token in ("!", "-not") and depth < 20:
            inner = self._one(depth + 1)
            return lambda entry: None if (answer := inner(entry)) is None else not answer
        if token == "(" and depth < 20:
            grouped = self.either(depth + 1)
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
            return self._named(token, self._next().text)
        if token == "-type":
            wanted = {"f": Kind.FILE, "d": Kind.FOLDER}.get(self._next().text or "")
            return lambda entry: None if None in (wanted, _told_kind(entry)) else entry.kind is wanted
        if token in ("-print", "-print0"):
            self.search.acts = self.search.prints = True
            return _printing(self.search, "\n" if token == "-print" else "\0")
        if token == "-delete":
            self.search.acts = self.search.after = True
            return self._delete
        if token in ("-exec", "-execdir", "-ok", "-okdir"):
            return self._command(token)
        if token == "-empty":
            return self._empty
        if token in _GLOBAL:
            self.search.after |= token == "-depth"
            return lambda _: True
        if token not in _BARE:
            self.at += 1  # tests of age, size, owner: each takes one argument, none can be answered here
        return lambda _: None

    def _named(self, token: str, glob: str | None) -> _Test:
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
        doubt = self.search.call.verdict(entry.text)
        if doubt is None or entry.depth == 0:
            return False
        self.search.call.remove(entry.path, doubt)
        return True

    def _empty(self, entry: _Entry) -> Status:
        found = self.search.call.state.world.entries(entry.path) if entry.kind is Kind.FOLDER else None
        return None if found is None else not found[0]

    def _command(self, token: str) -> _Test:
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
            status = self.search.call.execute([_filled(arg, text) for arg in command])
            state.cwd = cwd
            return status

        return run


def _told_kind(entry: _Entry) -> Kind | None:
    return None if entry.kind in (Kind.PRESENT, Kind.UNKNOWN) else entry.kind


def _filled(arg: Value, text: str) -> Value:
    return arg if arg.text is None else known(arg.text.replace("{}", text))


def _printing(search: _Search, end: str) -> _Test:
    def say(entry: _Entry) -> Status:
        search.said.append(known(entry.text + end))
        return True

    return say


def _and(left: _Test, right: _Test) -> _Test:
    def both(entry: _Entry) -> Status:
        answer = left(entry)
        return right(entry) if answer is True else answer

    return both


def _or(left: _Test, right: _Test) -> _Test:
    def either(entry: _Entry) -> Status:
        answer = left(entry)
        return right(entry) if answer is False else answer

    return either

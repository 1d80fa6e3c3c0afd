"""A command call and the basic file commands (mv, cp, rm, mkdir, git …)."""

from __future__ import annotations

import posixpath
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from fazm_memory.engines.shell_effects.output import CommandOutput
from fazm_memory.engines.shell_effects.patterns import ANYTHING
from fazm_memory.engines.shell_effects.state import FileKind, Hole, Input, Lookup, State, Value

Change: TypeAlias = Literal["read", "created", "modified", "renamed", "deleted"]
Status: TypeAlias = bool | None
Emit: TypeAlias = Callable[[str, Change, str | None, str], bool]
"""Records an effect and why it is uncertain. Returns whether the command surely ran."""

NAMED = "glob not expanded: files named in output"
HIDDEN = "its errors are not shown"
OVERWRITES = "overwrites if it existed"
IF_EXISTED = "only if it existed"
IF_ABSENT = "only if it did not exist"
_ALL_OR_NOTHING = {"mv": 2, "ln": 2, "rm": 1, "rmdir": 1, "unlink": 1, "mkdir": 1, "touch": 1}
"""With at most this many operands, a failed command changed nothing. Of more, it names those that failed."""


@dataclass(frozen=True, slots=True)
class FileEffect:
    """What a command did to a file or folder.

    An effect on a folder includes its contents.
    """

    path: str
    change: Change
    origin: str | None = None
    """The old path of a renamed file."""
    inferred: bool = False
    why: str = ""
    """Why it is not certain."""


@dataclass(frozen=True, slots=True)
class Options:
    """The options and operands of a command."""

    flags: dict[str, Value | None]
    operands: list[Value]

    def __contains__(self, name: str) -> bool:
        return name in self.flags

    def any(self, *names: str) -> bool:
        return any(name in self.flags for name in names)

    def value(self, *names: str) -> Value | None:
        return next((self.flags[name] for name in names if self.flags.get(name) is not None), None)


def options(
    args: Sequence[Value], valued: str = "", *long_valued: str, optional: str = "", leading: bool = False
) -> Options:
    """Split arguments as getopt does.

    Letters in `valued` take a value, letters in `optional` an attached one. With `leading`, options end at
    the first operand.
    """
    flags: dict[str, Value | None] = {}
    operands: list[Value] = []
    waiting = deque(args)
    while waiting:
        arg = waiting.popleft()
        first = arg.parts[0] if arg.parts else ""
        text = arg.text if arg.text is not None else first if isinstance(first, str) else ""
        if text == "--" and arg.text is not None:
            operands += waiting
            break
        if text.startswith("--"):
            name, equals, attached = text[2:].partition("=")
            taken: Value | None = Value((attached,)) if equals and arg.text is not None else None
            if not equals and name in long_valued and waiting:
                taken = waiting.popleft()
            flags[name] = taken
        elif text.startswith("-") and len(text) > 1:
            for place, letter in enumerate(text[1:], start=2):
                rest = text[place:]
                if letter in optional:
                    flags[letter] = Value((rest,))
                    break
                if letter in valued:
                    flags[letter] = Value((rest,)) if rest else waiting.popleft() if waiting else None
                    break
                flags[letter] = None
        else:
            operands.append(arg)
            if leading:
                operands += waiting
                break
    return Options(flags, operands)


@dataclass
class CommandCall:
    """A command with its arguments and what it may use while it is followed."""

    name: str
    args: list[Value]
    state: State
    output: CommandOutput
    emit: Emit
    succeeded: Status
    """Whether the command succeeded, if known."""
    errors_visible: bool
    """Whether its error messages would be in the output."""
    only_printer: bool
    """Whether no other command of the script prints."""
    expected_failures: list[tuple[str, str]]
    used: set[int]
    """Positions of the pairs in the output that are already used."""
    input: Input
    print: Callable[[Value], None]
    execute: Callable[[list[Value]], Status]
    uncertain: Callable[[str], AbstractContextManager[None]]
    spend: Callable[[int], None]

    def path(self, value: Value) -> str | None:
        return None if value.text is None else self.state.path(value.text)

    def look(self, path: str) -> Lookup:
        if path in (self.state.cwd, self.state.home):
            return Lookup(FileKind.FOLDER, True)
        return self.state.files.look(path)

    def certain(self, path: str, kind: FileKind) -> bool:
        lookup = self.look(path)
        return lookup.kind is kind and lookup.sure

    def verdict(self, *names: str, proven: bool = False) -> str | None:
        """Why the command's success is uncertain.

        None if it failed for one of the names.
        """
        if self.output.reports_error(self.name, *names):
            return None  # also if the agent reports no failure
        if self.succeeded:
            return ""
        if self.succeeded is False and self.name in _ALL_OR_NOTHING and self._did_nothing():
            return None
        return "" if self.errors_visible or proven else HIDDEN

    def _did_nothing(self) -> bool:
        """Whether a failed command changed no file.

        It does if it has few operands, or no message says which failed.
        """
        operands = [arg for arg in self.args if not (arg.text or "").startswith("-")]
        silent = self.errors_visible and not self.output.has_errors
        return silent or len(operands) <= _ALL_OR_NOTHING[self.name]

    def must_fail(self, name: str) -> Status:
        """Note that the command must fail for this name."""
        self.expected_failures.append((self.name, name))
        return False

    def missing(self, path: str) -> bool:
        """Whether the file surely does not exist.

        A successful command proves that it does.
        """
        return not self.succeeded and self.certain(path, FileKind.ABSENT)

    def lacks_parent(self, path: str) -> bool:
        """Whether the folder of the file surely does not exist."""
        return not self.succeeded and self.certain(posixpath.dirname(path), FileKind.ABSENT)

    def read(self, value: Value, why: str = "") -> Status:
        path = self.path(value)
        if path is None or value.text is None:
            return False if value.is_no_match else None
        if self.missing(path) or self.certain(path, FileKind.FOLDER):
            return self.must_fail(value.text)
        reason = self.verdict(value.text)
        if reason is None:
            return False
        self.emit(path, "read", None, why or reason)
        return True

    def write(self, path: str, why: str = "", *, append: bool = False) -> None:
        """Report new contents of a file: created or modified."""
        lookup = self.look(path)
        change: Change = (
            "modified" if lookup.exists or (append and lookup.kind is FileKind.UNKNOWN) else "created"
        )
        unsure = "creates it if it did not exist" if change == "modified" else OVERWRITES
        self.state.contents.pop(path, None)
        ran = self.emit(path, change, None, why or ("" if lookup.sure else unsure))
        self.state.files.put(path, FileKind.FILE, ran and not why)

    def remove(self, path: str, why: str = "") -> None:
        self.state.contents.pop(path, None)
        ran = self.emit(path, "deleted", None, why)
        self.state.files.put(path, FileKind.ABSENT, ran and why in ("", IF_EXISTED))

    def rename(self, old: str, new: str, why: str = "") -> None:
        if old in self.state.contents:
            self.state.contents[new] = self.state.contents.pop(old)
        ran = self.emit(new, "renamed", old, why)
        self.state.files.transfer(old, new, ran and not why, keep=False)


def worst_status(*statuses: Status) -> Status:
    """Combine statuses: failed if any failed, unknown if any is unknown."""
    return False if False in statuses else None if None in statuses else True


Command: TypeAlias = Callable[[CommandCall], Status]
"""Reports the effects of a call and returns its exit status, None if not known."""


PERHAPS_FOLDER = "the target may be a folder"
TAKEN_FOR_FOLDER = "the target is taken for a folder"
PERHAPS_NEW = "a folder takes the name of a target that did not exist"
TO_UNKNOWN = "moved to a name that is not known"
FROM_UNKNOWN = "it came from a name that is not known"
NOT_REPLACED = "not done if the target existed"
MERGED = "merged into a folder that may hold other files"


@dataclass(frozen=True, slots=True)
class Transfer:
    """A source and its target, as typed and as paths."""

    source: str
    target: str
    old: str
    new: str
    why: str = ""


def _sources_and_target(opts: Options) -> tuple[list[Value], Value | None, bool]:
    """Return the sources, the target, and whether the target must be a folder."""
    folder = opts.value("t", "target-directory")
    if folder is not None:
        return opts.operands, folder, True
    if len(opts.operands) < 2:
        return opts.operands, None, False
    return opts.operands[:-1], opts.operands[-1], len(opts.operands) > 2


def transfers(call: CommandCall, opts: Options) -> Iterator[Transfer | None]:
    """Yield every source with its target. None if it is not known or must fail."""
    sources, target, many = _sources_and_target(opts)
    if target is None:
        return
    place = call.path(target)
    for source in sources:
        old = call.path(source)
        if old is not None and place is not None and source.text is not None and target.text is not None:
            yield _with_target(call, opts, Transfer(source.text, target.text, old, place), many)
        elif source.is_no_match or target.is_no_match:
            yield None
        else:
            named = list(_shown_in_output(call, source, target))
            yield from named
            if not named:
                yield None


def _shown_in_output(call: CommandCall, source: Value, target: Value) -> Iterator[Transfer]:
    """Yield what `-v` printed for unknown operands.

    The pairs of `ln` have another meaning.
    """
    pairs = call.output.pairs if call.name != "ln" else []
    call.spend(len(pairs) // 20)
    for number, pair in enumerate(pairs):
        if number in call.used or not source.could_be(pair.old):
            continue
        folder = posixpath.dirname(pair.new)
        if any(target.could_be(text) for text in (pair.new, folder, folder + "/", folder + "/.")):
            old, new = call.state.path(pair.old), call.state.path(pair.new)
            if old is not None and new is not None:
                call.used.add(number)
                yield Transfer(pair.old, pair.new, old, new, NAMED)


def _with_target(call: CommandCall, opts: Options, step: Transfer, many: bool) -> Transfer:
    name = posixpath.basename(step.source.rstrip("/"))
    inside = call.state.path(posixpath.join(step.target, name)) or step.new
    if "parents" in opts:
        return Transfer(step.source, step.target, step.old, posixpath.normpath(f"{step.new}/{step.source}"))
    for number in call.output.pair_numbers.get(step.source, ()) if call.name != "ln" else ():
        shown = call.state.path(call.output.pairs[number].new)
        if number not in call.used and shown in (step.new, inside):
            call.used.add(number)
            return Transfer(step.source, step.target, step.old, shown)
    within = Transfer(step.source, step.target, step.old, inside)
    if opts.any("T", "no-target-directory"):
        return step
    lookup = call.look(step.new)
    if (
        step.target.endswith("/")
        and lookup.kind is FileKind.ABSENT
        and call.certain(step.old, FileKind.FOLDER)
    ):
        return step
    if many or step.target.endswith(("/", "/.", "/..")) or step.target in (".", ".."):
        bare = step.target.endswith("/") and not lookup.sure and not posixpath.splitext(step.old)[1]
        return replace(within, why=PERHAPS_NEW) if bare and not many else within
    if lookup.kind is FileKind.FOLDER:
        return within if lookup.sure else replace(within, why=PERHAPS_FOLDER)
    if (lookup.sure and lookup.kind is not FileKind.PRESENT) or _clearly_a_file(step):
        return step
    if posixpath.splitext(step.old)[1] and not posixpath.splitext(step.new)[1]:
        return replace(within, why=TAKEN_FOR_FOLDER)
    return replace(step, why=PERHAPS_FOLDER)


def _clearly_a_file(step: Transfer) -> bool:
    """Whether the target is surely no folder, as in `a.txt b.txt` and `a a.bak`."""
    ending = posixpath.splitext(step.old)[1].lower()
    same = len(ending) > 1 and ending == posixpath.splitext(step.new)[1].lower()
    return same or step.new.startswith((step.old + ".", step.old + "~"))


def move(call: CommandCall) -> Status:
    opts = options(call.args, "tS", "target-directory", "suffix")
    sources, target, _ = _sources_and_target(opts)
    before = len(call.used)
    statuses: list[Status] = []
    for step in transfers(call, opts):
        statuses.append(_move(call, opts, step) if step else None)
    if target is not None and len(call.used) == before:
        _receive_unknown(call, sources, target)
        for source in sources if target.text is None and not target.is_no_match else ():
            path = call.path(source)
            if path is not None and not call.missing(path) and call.verdict(source.text or "") is not None:
                call.remove(path, TO_UNKNOWN)
    return worst_status(*statuses)


def _receive_unknown(call: CommandCall, sources: list[Value], target: Value) -> None:
    """Report a known target whose source is not known, as from mktemp."""
    path = call.path(target)
    if len(sources) != 1 or sources[0].text is not None or path is None or target.text is None:
        return
    globbed = any(isinstance(part, Hole) and part.like != ANYTHING for part in sources[0].parts)
    lookup = call.look(path)
    named = bool(posixpath.splitext(path)[1]) or (lookup.sure and lookup.kind is not FileKind.PRESENT)
    if globbed or target.text.endswith("/") or lookup.kind is FileKind.FOLDER or not named:
        return
    if not call.lacks_parent(path) and call.verdict(target.text) is not None:
        call.write(path, FROM_UNKNOWN)


def _move(call: CommandCall, opts: Options, step: Transfer) -> Status:
    within_itself = f"{step.new}/".startswith(f"{step.old}/")
    if call.missing(step.old) or call.lacks_parent(step.new) or within_itself:
        return call.must_fail(step.source)
    target = call.look(step.new)
    found = call.look(step.old)
    proven = found.exists and found.sure
    reason = call.verdict(step.source, step.target, posixpath.join(step.target, step.source), proven=proven)
    if reason is None:
        return False
    if opts.any("n", "no-clobber", "i", "u", "update"):
        if target.exists and target.sure and "n" in opts:
            return True
        reason = reason or ("" if target.kind is FileKind.ABSENT and target.sure else NOT_REPLACED)
    if opts.any("b", "backup", "S") and target.exists:
        suffix = opts.value("S", "suffix")
        call.rename(step.new, step.new + ((suffix.text if suffix else None) or "~"), reason or step.why)
    call.rename(step.old, step.new, step.why or reason)
    return True


def copy(call: CommandCall) -> Status:
    opts = options(call.args, "tSmog", "target-directory", "suffix", "mode", "owner", "group")
    sources, target, _ = _sources_and_target(opts)
    recursive = opts.any("r", "R", "a", "recursive", "archive") or call.name == "ditto"
    before = len(call.used)
    statuses: list[Status] = []
    for step in transfers(call, opts):
        statuses.append(_copy(call, opts, step, recursive) if step else None)
    if target is not None and len(call.used) == before:
        _receive_unknown(call, sources, target)
    return worst_status(*statuses)


def _copy(call: CommandCall, opts: Options, step: Transfer, recursive: bool) -> Status:
    source, target = call.look(step.old), call.look(step.new)
    is_folder = source.kind is FileKind.FOLDER and source.sure
    if f"{step.new}/".startswith(f"{step.old}/"):
        return call.must_fail(step.source)
    parents = "D" in opts or call.name == "ditto"
    if (
        call.missing(step.old)
        or (is_folder and not recursive)
        or (call.lacks_parent(step.new) and not parents)
    ):
        return call.must_fail(step.source)
    inside = posixpath.join(step.target, step.source)
    reason = call.verdict(step.source, step.target, inside, proven=source.exists and source.sure)
    if reason is None:
        return False
    why = step.why or reason
    call.emit(step.old, "read", None, NAMED if step.why == NAMED else reason)
    if opts.any("n", "no-clobber", "i", "u", "update"):
        if target.exists and target.sure and "n" in opts:
            return True
        why = why or ("" if target.kind is FileKind.ABSENT and target.sure else NOT_REPLACED)
    if is_folder and step.source.endswith("/") and target.kind is not FileKind.ABSENT:
        why = why or "a trailing slash copies the folder on Linux and its contents on macOS"
    if parents:
        make_folder(call, posixpath.dirname(step.new), why)
    if recursive and target.exists and (is_folder or step.source.endswith("/.")):
        _merge_folder(call, step.old, step.new, why)
    elif is_folder:
        ran = call.emit(step.new, "created", None, why or ("" if target.sure else OVERWRITES))
        call.state.files.transfer(step.old, step.new, ran and not why, keep=True)
    else:
        contents = call.state.contents.get(step.old)
        call.write(step.new, why)
        if contents is not None:
            call.state.contents[step.new] = contents
    return True


def _merge_folder(call: CommandCall, old: str, new: str, why: str, depth: int = 0) -> None:
    """Merge a folder into an existing one, file by file if the names are known."""
    found = call.state.files.entries(old)
    if found is None or depth > 20 or len(found[0]) > 1_000:
        call.emit(new, "modified", None, why or MERGED)
        call.state.files.put(new, FileKind.FOLDER, False, new)
        return
    for name in found[0]:
        below, target = f"{old}/{name}", f"{new}/{name}"
        folder, there = call.look(below).kind is FileKind.FOLDER, call.look(target)
        if folder and there.exists:
            _merge_folder(call, below, target, why, depth + 1)
        elif folder:
            ran = call.emit(target, "created", None, why or ("" if there.sure else OVERWRITES))
            call.state.files.transfer(below, target, ran and not why, keep=True)
        else:
            call.write(target, why)


def link(call: CommandCall) -> Status:
    opts = options(call.args, "tS", "target-directory", "suffix")
    if len(opts.operands) == 1 and opts.value("t", "target-directory") is None:
        opts.operands.append(Value((".",)))
    statuses: list[Status] = []
    for step in transfers(call, opts):
        if step is None:
            statuses.append(None)
            continue
        reason = call.verdict(step.target, posixpath.join(step.target, posixpath.basename(step.source)))
        there = call.look(step.new)
        forced = opts.any("f", "force")
        if reason is None or call.lacks_parent(step.new) or (there.exists and there.sure and not forced):
            statuses.append(call.must_fail(step.target) if reason is not None else False)
        elif there.kind is FileKind.UNKNOWN and not forced:
            call.state.files.put(step.new, FileKind.ABSENT, True)  # otherwise it would have failed
            call.write(step.new, step.why or reason)
            statuses.append(True)
        else:
            call.write(step.new, step.why or reason)
            statuses.append(True)
    return worst_status(*statuses)


def install(call: CommandCall) -> Status:
    opts = options(call.args, "tSmog", "target-directory", "suffix", "mode", "owner", "group")
    return make_folders(call, opts, parents=True) if opts.any("d", "directory") else copy(call)


# Folders and removal


def mkdir(call: CommandCall) -> Status:
    opts = options(call.args, "m", "mode")
    return make_folders(call, opts, parents=opts.any("p", "parents"))


def make_folders(call: CommandCall, opts: Options, *, parents: bool) -> Status:
    statuses: list[Status] = []
    for value in opts.operands:
        path, text = call.path(value), value.text
        if path is None or text is None:
            for name in [created for created in call.output.created if value.could_be(created)]:
                if named := call.state.path(name):
                    call.emit(named, "created", None, NAMED)
                    call.state.files.put(named, FileKind.FOLDER, False)
            statuses.append(None)
            continue
        lookup = call.look(path)
        reason = call.verdict(text)
        there = lookup.exists and lookup.sure
        if reason is None or (not parents and (there or call.lacks_parent(path))):
            statuses.append(False if reason is None else call.must_fail(text))
            continue
        if parents:
            make_folder(call, path, reason, shown=text in call.output.created)
        else:
            ran = call.emit(path, "created", None, reason)
            call.state.files.put(path, FileKind.FOLDER, ran and not reason)
        statuses.append(True)
    return worst_status(*statuses)


def make_folder(call: CommandCall, path: str, why: str = "", *, shown: bool = False) -> None:
    """Create a folder as `mkdir -p` does.

    Parents are reported only if they are surely new.
    """
    missing = [path]
    while call.certain(posixpath.dirname(missing[-1]), FileKind.ABSENT):
        missing.append(posixpath.dirname(missing[-1]))
    for folder in reversed(missing[1:]):
        ran = call.emit(folder, "created", None, why)
        call.state.files.put(folder, FileKind.FOLDER, ran and not why)
    lookup = call.look(path)
    if lookup.exists and lookup.sure:
        return
    if lookup.kind is FileKind.UNKNOWN and not shown:
        ran = call.emit(path, "created", None, why or IF_ABSENT)
        call.state.files.mark_folder(path, ran and not why)
    else:
        ran = call.emit(path, "created", None, why or ("" if lookup.sure or shown else IF_ABSENT))
        call.state.files.put(path, FileKind.FOLDER, ran and not why)


def remove(call: CommandCall) -> Status:
    opts = options(call.args)
    recursive = opts.any("r", "R", "recursive", "d", "dir") or call.name in ("trash", "rmdir")
    forced = opts.any("f", "force")
    statuses: list[Status] = []
    for value in opts.operands:
        path, text = call.path(value), value.text
        if path is None or text is None:
            statuses.append(forced if value.is_no_match else _remove_named(call, value, opts))
            continue
        lookup = call.look(path)
        shown = text in call.output.removed
        if call.missing(path) or (forced and lookup.kind is FileKind.ABSENT and lookup.sure):
            statuses.append(forced or call.must_fail(text))
            continue
        reason = call.verdict(text, proven=lookup.exists and lookup.sure)
        filled = call.name == "rmdir" and bool((call.state.files.entries(path) or ([], True))[0])
        if reason is None or filled or (lookup.kind is FileKind.FOLDER and lookup.sure and not recursive):
            statuses.append(False if reason is None else call.must_fail(text))
            continue
        certain = shown or (lookup.exists and lookup.sure) or not forced
        call.remove(path, reason or ("" if certain else IF_EXISTED))
        above = posixpath.dirname(text.rstrip("/"))
        while call.name == "rmdir" and opts.any("p", "parents") and above and above != "/":
            call.remove(call.state.path(above) or path, reason)
            above = posixpath.dirname(above)
        statuses.append(True)
    return worst_status(*statuses)


def _remove_named(call: CommandCall, value: Value, opts: Options) -> Status:
    bare = call.output.lines if opts.any("v", "verbose") else []
    call.spend((len(call.output.removed) + len(bare)) // 20)
    for name in [*call.output.removed, *bare]:
        path = call.state.path(name)
        if path is not None and value.could_be(name.rstrip("/")):
            call.remove(path, NAMED)
    return None


# Touch, modes and contents

ONLY_MODE = "only its mode, if that was another"


def touch(call: CommandCall) -> Status:
    opts = options(call.args, "dtrA", "date", "reference")
    statuses: list[Status] = []
    for value in opts.operands:
        path, text = call.path(value), value.text
        if path is None or text is None:
            statuses.append(None)
            continue
        lookup = call.look(path)
        reason = call.verdict(text)
        if reason is None or (lookup.kind is FileKind.ABSENT and call.lacks_parent(path)):
            statuses.append(False if reason is None else call.must_fail(text))
        elif not lookup.exists and not opts.any("c", "no-create"):
            ran = call.emit(path, "created", None, reason or ("" if lookup.sure else IF_ABSENT))
            call.state.files.put(path, FileKind.FILE, ran and not reason)
            statuses.append(True)
        else:
            if lookup.exists:
                call.emit(path, "modified", None, reason or "only its time changed")
            statuses.append(True)
    return worst_status(*statuses)


def chmod(call: CommandCall) -> Status:
    """Report changed modes.

    The old mode is not known, so the change is always inferred.
    """
    words = [value for value in call.args if not _is_chmod_option(value.text)]
    opts = options([value for value in call.args if _is_chmod_option(value.text)], "", "reference")
    operands = words if "reference" in opts else words[1:]
    statuses: list[Status] = []
    for value in operands:
        path, text = call.path(value), value.text
        if path is None or text is None:
            statuses.append(False if value.is_no_match else None)
            continue
        if call.missing(path):
            statuses.append(call.must_fail(text))
            continue
        reason = call.verdict(text)
        if reason is None:
            statuses.append(False)
            continue
        lookup = call.look(path)
        if lookup.kind is FileKind.FILE or (
            lookup.kind is not FileKind.FOLDER and not opts.any("R", "recursive")
        ):
            call.emit(path, "modified", None, reason or ONLY_MODE)
        statuses.append(True)
    return worst_status(*statuses)


def _is_chmod_option(text: str | None) -> bool:
    """Whether an argument of chmod is an option. `-x` is a mode."""
    return text is not None and text.startswith("-") and not re.fullmatch(r"-[rwxXstugo]+(,.*)?", text)


def write_files(call: CommandCall, values: list[Value], *, append: bool = False) -> Status:
    statuses: list[Status] = []
    for value in values:
        path, text = call.path(value), value.text
        reason = None if text is None else call.verdict(text)
        if path is None or text is None or reason is None:
            statuses.append(None if text is None else False)
        elif call.lacks_parent(path) or call.certain(path, FileKind.FOLDER):
            statuses.append(call.must_fail(text))
        elif not path.startswith("/dev/"):
            call.write(path, reason, append=append)
            statuses.append(True)
    return worst_status(*statuses)


def tee(call: CommandCall) -> Status:
    opts = options(call.args)
    return write_files(call, opts.operands, append=opts.any("a", "append"))


def truncate(call: CommandCall) -> Status:
    opts = options(call.args, "sr", "size", "reference")
    operands = [
        value for value in opts.operands if not (opts.any("c", "no-create") and _surely_absent(call, value))
    ]
    return write_files(call, operands, append=True)


def _surely_absent(call: CommandCall, value: Value) -> bool:
    path = call.path(value)
    return path is not None and call.certain(path, FileKind.ABSENT)


FILE_COMMANDS: dict[str, Command] = {
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
}


_CLONING = re.compile(r"Cloning into (?:bare repository )?'(.+)'\.\.\.")
_QUIET_NAMES = """
add commit status log diff show branch tag remote fetch push config blame grep ls-files rev-parse describe
reflog shortlog ls-remote ls-tree cat-file rev-list check-ignore init notes version help --version --help
"""
_QUIET = frozenset(_QUIET_NAMES.split())
"""Subcommands that do not change files of the working tree."""


def git(call: CommandCall) -> Status:
    args = list(call.args)
    cwd = call.state.cwd
    while args and (text := args[0].text) is not None and text.startswith("-") and text not in _QUIET:
        if text == "-C" and len(args) > 1:
            call.state.cwd = call.path(args[1])
        args = args[2:] if text in ("-C", "-c", "--git-dir", "--work-tree") else args[1:]
    call.args = args[1:]
    status = _subcommand(call, args[0].text if args else None)
    call.state.cwd = cwd
    return status


def _subcommand(call: CommandCall, name: str | None) -> Status:
    opts = options(call.args, "s" if name == "restore" else "", "source")
    if name == "mv":
        return True if opts.any("n", "dry-run") else move(call)
    if name == "rm":
        return True if opts.any("n", "dry-run", "cached") else _remove(call, opts)
    if name in ("checkout", "restore"):
        return _restore(call, opts, name)
    if name == "clone":
        return _clone(call, opts)
    if name not in _QUIET:
        call.state.files.invalidate()
    return None


def _remove(call: CommandCall, opts: Options) -> Status:
    status = remove(call)
    for value in opts.operands:
        path = call.path(value)
        above = posixpath.dirname(path) if path is not None else "/"
        while above not in ("/", call.state.cwd):
            found = call.state.files.entries(above)
            if found is None or found[0]:
                break
            call.remove(above, "git removes folders that become empty")
            above = posixpath.dirname(above)
    return status


def _restore(call: CommandCall, opts: Options, name: str) -> Status:
    texts = [arg.text for arg in call.args]
    if name == "checkout" and "--" not in texts:
        call.state.files.invalidate()
        return None
    if opts.any("staged", "S") and not opts.any("worktree", "W"):
        return True
    files = call.args[texts.index("--") + 1 :] if "--" in texts else opts.operands
    for value in files:
        path, text = call.path(value), value.text
        if path is None or text is None or call.look(path).kind is FileKind.FOLDER:
            call.state.files.invalidate()
        elif call.verdict(text) is not None:
            there = call.look(path).kind is not FileKind.ABSENT
            ran = call.emit(
                path, "modified" if there else "created", None, "only if it differed from the commit"
            )
            call.state.files.put(path, FileKind.FILE, ran)
    return None


def _clone(call: CommandCall, opts: Options) -> Status:
    shown = [found[1] for line in call.output.lines if (found := _CLONING.fullmatch(line))]
    address = (opts.operands[0].text if opts.operands else None) or ""
    typed = opts.operands[1].text if len(opts.operands) == 2 else None
    name = shown[0] if len(shown) == 1 else typed or posixpath.basename(address.removesuffix(".git"))
    path = call.state.path(name)
    reason = call.verdict(name)
    if path is None or reason is None:
        return None
    why = reason or ("" if shown or typed else "the folder is named after the address")
    ran = call.emit(path, "created", None, why)
    call.state.files.mark_folder(path, ran and not reason)
    return True

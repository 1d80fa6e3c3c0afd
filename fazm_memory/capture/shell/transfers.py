"""What takes a file from one place to another: mv, cp, ln and install."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass, replace

from fazm_memory.capture.shell.call import NAMED, OVERWRITES, Call, Options, Status, options, worst
from fazm_memory.capture.shell.folders import make_folder, make_folders
from fazm_memory.capture.shell.pattern import ANYTHING
from fazm_memory.capture.shell.value import Hole, Value
from fazm_memory.capture.shell.world import Kind

PERHAPS_FOLDER = "the target may be a folder"
TAKEN_FOR_FOLDER = "the target is taken for a folder"
PERHAPS_NEW = "a folder takes the name of a target that did not exist"
TO_UNKNOWN = "moved to a name that is not known"
FROM_UNKNOWN = "it came from a name that is not known"
NOT_REPLACED = "not done if the target existed"
MERGED = "merged into a folder that may hold other files"


@dataclass(frozen=True, slots=True)
class Step:
    """One source on its way to one target, both as typed and as paths."""

    source: str
    target: str
    old: str
    new: str
    why: str = ""


def _operands(opts: Options) -> tuple[list[Value], Value | None, bool]:
    """Sources, target, and whether the target must be a folder."""
    folder = opts.value("t", "target-directory")
    if folder is not None:
        return opts.operands, folder, True
    if len(opts.operands) < 2:
        return opts.operands, None, False
    return opts.operands[:-1], opts.operands[-1], len(opts.operands) > 2


def steps(call: Call, opts: Options) -> Iterator[Step | None]:
    """Every source with its target; None for one that cannot be told or is known to fail."""
    sources, target, many = _operands(opts)
    if target is None:
        return
    place = call.path(target)
    for source in sources:
        old = call.path(source)
        if source.is_no_match or target.is_no_match:
            yield None
        elif old is None or place is None or source.text is None or target.text is None:
            named = list(_named(call, source, target))
            yield from named
            if not named:
                yield None
        else:
            yield _aimed(call, opts, Step(source.text, target.text, old, place), many)


def _named(call: Call, source: Value, target: Value) -> Iterator[Step]:
    """What `-v` printed for operands that are not known. (For `ln` it shows another thing.)"""
    pairs = call.evidence.pairs if call.name != "ln" else []
    call.spend(len(pairs) // 20)
    for number, pair in enumerate(pairs):
        if number in call.used or not source.could_be(pair.old):
            continue
        folder = posixpath.dirname(pair.new)
        if any(target.could_be(text) for text in (pair.new, folder, folder + "/", folder + "/.")):
            old, new = call.state.path(pair.old), call.state.path(pair.new)
            if old is not None and new is not None:
                call.used.add(number)
                yield Step(pair.old, pair.new, old, new, NAMED)


def _aimed(call: Call, opts: Options, step: Step, many: bool) -> Step:
    name = posixpath.basename(step.source.rstrip("/"))
    inside = call.state.path(posixpath.join(step.target, name)) or step.new
    if "parents" in opts:
        return Step(step.source, step.target, step.old, posixpath.normpath(f"{step.new}/{step.source}"))
    for number in call.evidence.numbers.get(step.source, ()) if call.name != "ln" else ():
        shown = call.state.path(call.evidence.pairs[number].new)
        if number not in call.used and shown in (step.new, inside):
            call.used.add(number)
            return Step(step.source, step.target, step.old, shown)
    within = Step(step.source, step.target, step.old, inside)
    if opts.any("T", "no-target-directory"):
        return step
    sight = call.look(step.new)
    if step.target.endswith("/") and sight.kind is Kind.ABSENT and call.certain(step.old, Kind.FOLDER):
        return step
    if many or step.target.endswith(("/", "/.", "/..")) or step.target in (".", ".."):
        bare = step.target.endswith("/") and not sight.sure and not posixpath.splitext(step.old)[1]
        return replace(within, why=PERHAPS_NEW) if bare and not many else within
    if sight.kind is Kind.FOLDER:
        return within if sight.sure else replace(within, why=PERHAPS_FOLDER)
    if (sight.sure and sight.kind is not Kind.PRESENT) or _clearly_a_file(step):
        return step
    if posixpath.splitext(step.old)[1] and not posixpath.splitext(step.new)[1]:
        return replace(within, why=TAKEN_FOR_FOLDER)
    return replace(step, why=PERHAPS_FOLDER)


def _clearly_a_file(step: Step) -> bool:
    """`a.txt b.txt` and `a a.bak`: nobody has folders of such names beside such files."""
    ending = posixpath.splitext(step.old)[1].lower()
    same = len(ending) > 1 and ending == posixpath.splitext(step.new)[1].lower()
    return same or step.new.startswith((step.old + ".", step.old + "~"))


def move(call: Call) -> Status:
    opts = options(call.args, "tS", "target-directory", "suffix")
    sources, target, _ = _operands(opts)
    before = len(call.used)
    statuses: list[Status] = []
    for step in steps(call, opts):
        statuses.append(_move(call, opts, step) if step else None)
    if target is not None and len(call.used) == before:
        _arrive(call, sources, target)
        for source in sources if target.text is None and not target.is_no_match else ():
            path = call.path(source)
            if path is not None and not call.missing(path) and call.verdict(source.text or "") is not None:
                call.remove(path, TO_UNKNOWN)
    return worst(*statuses)


def _arrive(call: Call, sources: list[Value], target: Value) -> None:
    """One file of unknown name, as from mktemp, that gets a name which is clearly a file's."""
    path = call.path(target)
    if len(sources) != 1 or sources[0].text is not None or path is None or target.text is None:
        return
    globbed = any(isinstance(part, Hole) and part.like != ANYTHING for part in sources[0].parts)
    sight = call.look(path)
    named = bool(posixpath.splitext(path)[1]) or (sight.sure and sight.kind is not Kind.PRESENT)
    if globbed or target.text.endswith("/") or sight.kind is Kind.FOLDER or not named:
        return
    if not call.homeless(path) and call.verdict(target.text) is not None:
        call.write(path, FROM_UNKNOWN)


def _move(call: Call, opts: Options, step: Step) -> Status:
    within_itself = f"{step.new}/".startswith(f"{step.old}/")
    if call.missing(step.old) or call.homeless(step.new) or within_itself:
        return call.foresee(step.source)
    target = call.look(step.new)
    proven = call.look(step.old).exists and call.look(step.old).sure
    doubt = call.verdict(step.source, step.target, posixpath.join(step.target, step.source), proven=proven)
    if doubt is None:
        return False
    if opts.any("n", "no-clobber", "i", "u", "update"):
        if target.exists and target.sure and "n" in opts:
            return True
        doubt = doubt or ("" if target.kind is Kind.ABSENT and target.sure else NOT_REPLACED)
    if opts.any("b", "backup", "S") and target.exists:
        suffix = opts.value("S", "suffix")
        call.rename(step.new, step.new + ((suffix.text if suffix else None) or "~"), doubt or step.why)
    call.rename(step.old, step.new, step.why or doubt)
    return True


def copy(call: Call) -> Status:
    opts = options(call.args, "tSmog", "target-directory", "suffix", "mode", "owner", "group")
    sources, target, _ = _operands(opts)
    recursive = opts.any("r", "R", "a", "recursive", "archive") or call.name == "ditto"
    before = len(call.used)
    statuses: list[Status] = []
    for step in steps(call, opts):
        statuses.append(_copy(call, opts, step, recursive) if step else None)
    if target is not None and len(call.used) == before:
        _arrive(call, sources, target)
    return worst(*statuses)


def _copy(call: Call, opts: Options, step: Step, recursive: bool) -> Status:
    source, target = call.look(step.old), call.look(step.new)
    is_folder = source.kind is Kind.FOLDER and source.sure
    if f"{step.new}/".startswith(f"{step.old}/"):
        return call.foresee(step.source)
    parents = "D" in opts or call.name == "ditto"
    if call.missing(step.old) or (is_folder and not recursive) or (call.homeless(step.new) and not parents):
        return call.foresee(step.source)
    inside = posixpath.join(step.target, step.source)
    doubt = call.verdict(step.source, step.target, inside, proven=source.exists and source.sure)
    if doubt is None:
        return False
    why = step.why or doubt
    call.emit(step.old, "read", None, NAMED if step.why == NAMED else doubt)
    if opts.any("n", "no-clobber", "i", "u", "update"):
        if target.exists and target.sure and "n" in opts:
            return True
        why = why or ("" if target.kind is Kind.ABSENT and target.sure else NOT_REPLACED)
    if is_folder and step.source.endswith("/") and target.kind is not Kind.ABSENT:
        why = why or "a trailing slash copies the folder on Linux and its contents on macOS"
    if parents:
        make_folder(call, posixpath.dirname(step.new), why)
    if recursive and target.exists and (is_folder or step.source.endswith("/.")):
        _merge(call, step.old, step.new, why)
    elif is_folder:
        ran = call.emit(step.new, "created", None, why or ("" if target.sure else OVERWRITES))
        call.state.world.carry(step.old, step.new, ran and not why, keep=True)
    else:
        contents = call.state.contents.get(step.old)
        call.write(step.new, why)
        if contents is not None:
            call.state.contents[step.new] = contents
    return True


def _merge(call: Call, old: str, new: str, why: str, depth: int = 0) -> None:
    """A folder's contents into a folder that exists: file by file where the names are known."""
    found = call.state.world.entries(old)
    if found is None or depth > 20 or len(found[0]) > 1_000:
        call.emit(new, "modified", None, why or MERGED)
        call.state.world.put(new, Kind.FOLDER, False, new)
        return
    for name in found[0]:
        below, target = f"{old}/{name}", f"{new}/{name}"
        folder, there = call.look(below).kind is Kind.FOLDER, call.look(target)
        if folder and there.exists:
            _merge(call, below, target, why, depth + 1)
        elif folder:
            ran = call.emit(target, "created", None, why or ("" if there.sure else OVERWRITES))
            call.state.world.carry(below, target, ran and not why, keep=True)
        else:
            call.write(target, why)


def link(call: Call) -> Status:
    opts = options(call.args, "tS", "target-directory", "suffix")
    if len(opts.operands) == 1 and opts.value("t", "target-directory") is None:
        opts.operands.append(Value((".",)))
    statuses: list[Status] = []
    for step in steps(call, opts):
        if step is None:
            statuses.append(None)
            continue
        doubt = call.verdict(step.target, posixpath.join(step.target, posixpath.basename(step.source)))
        there = call.look(step.new)
        forced = opts.any("f", "force")
        if doubt is None or call.homeless(step.new) or (there.exists and there.sure and not forced):
            statuses.append(call.foresee(step.target) if doubt is not None else False)
        elif there.kind is Kind.UNKNOWN and not forced:
            call.state.world.put(step.new, Kind.ABSENT, True)  # it would have failed had there been one
            call.write(step.new, step.why or doubt)
            statuses.append(True)
        else:
            call.write(step.new, step.why or doubt)
            statuses.append(True)
    return worst(*statuses)


def install(call: Call) -> Status:
    opts = options(call.args, "tSmog", "target-directory", "suffix", "mode", "owner", "group")
    return make_folders(call, opts, parents=True) if opts.any("d", "directory") else copy(call)

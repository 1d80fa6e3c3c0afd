"""Plan a rewind of files from their content then, their content now, and who changed them.

Pure functions: the caller has read the disk and the stored versions. The plan changes only files that this
session's agent changed since. A file that anybody else changed too needs force, and a file of which no copy
can be stored is never removed.
"""

from __future__ import annotations

import hashlib
import json
import stat
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from fazm_memory.records import asdict, dataclass, replace
from fazm_memory.store import REWIND

Action = Literal["restore", "delete", "recreate", "rename_back", "keep", "refuse", "cannot"]
NO_SNAPSHOT = "No snapshot of this file."
OURS: frozenset[str] = frozenset({"agent", REWIND})


@dataclass(frozen=True, slots=True)
class FileContent:
    """The content of a path at one moment: a digest, nothing, or the reason why it is not stored.

    `identity` (device, inode, size, modification time) identifies a file whose content is not known.
    The fields are stored in the journal.
    """

    digest: str | None = None
    absent: bool = False
    reason: str | None = None
    identity: str | None = None
    mode: int | None = None
    mtime_ns: int | None = None
    size: int | None = None
    ctime_ns: int | None = None

    @property
    def bits(self) -> int | None:
        """The permissions of a plain file, if known, without set-user-id and the like."""
        return None if self.mode is None or not stat.S_ISREG(self.mode) else self.mode & 0o777

    def alike(self, other: FileContent) -> bool:
        """Same content and, if both are known, same permissions."""
        unknown = self.bits is None or other.bits is None
        return self.same(other) and (unknown or self.bits == other.bits)

    def same(self, other: FileContent) -> bool:
        if self.absent or other.absent:
            return self.absent and other.absent
        if self.digest is not None and other.digest is not None:
            return self.digest == other.digest
        return self.identity is not None and self.identity == other.identity


ABSENT = FileContent(absent=True)


@dataclass(frozen=True, slots=True)
class Author:
    """Who made a change: the agent of a session, a rewind, a person, or unknown."""

    by: str
    session: str | None = None


@dataclass(frozen=True, slots=True)
class FileHistory:
    """A file: its content at the position (None: unknown), its content now, who changed it since."""

    path: str
    was: FileContent | None
    now: FileContent
    hands: tuple[Author, ...] = ()
    barred: str | None = None  # why this path may not be written to at all
    claimed: bool = False  # only the agent says that it was created since


@dataclass(frozen=True, slots=True)
class RewindStep:
    """What to do with one file. A refused step has in `would` what force would do.

    The fields are stored in the journal.
    """

    path: str
    action: Action
    why: str
    by: str
    origin: str | None = None  # for a rename: the name it has now
    was: FileContent | None = None
    now: FileContent | None = None
    would: Action | None = None

    @property
    def does(self) -> str:
        """The action, also of a refused step."""
        return self.would or self.action

    @property
    def only_mode(self) -> bool:
        """Whether only the permissions changed."""
        return self.was is not None and self.now is not None and _only_mode(self.was, self.now)

    @property
    def mode(self) -> tuple[int, int] | None:
        """The permissions now and then, if both are known and differ."""
        now, was = (None if content is None else content.bits for content in (self.now, self.was))
        return None if now is None or was is None or now == was else (now, was)


@dataclass(frozen=True, slots=True)
class RewindPlan:
    steps: tuple[RewindStep, ...]

    @property
    def refused(self) -> tuple[RewindStep, ...]:
        return tuple(step for step in self.steps if step.action == "refuse")

    def writes(self) -> tuple[RewindStep, ...]:
        """The writes with force, in an order in which each step finds its path free."""

        def of(action: str) -> list[RewindStep]:
            return [step for step in self.steps if step.does == action]

        return (*of("delete"), *_replayable(of("rename_back")), *of("restore"), *of("recreate"))

    def allowed(self) -> tuple[RewindStep, ...]:
        """The writes that need no force."""
        return tuple(step for step in self.writes() if step.action != "refuse")

    def counts(self) -> dict[str, int]:
        return dict(Counter(step.action for step in self.steps))

    def digest(self) -> str:
        """Plans with the same digest do the same to the same files."""
        rows = [
            [step.path, step.action, step.would, step.origin, _mark(step.was), _mark(step.now)]
            for step in self.steps
        ]
        return hashlib.sha256(json.dumps(rows).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _mark(content: FileContent | None) -> list[Any] | None:
    if content is None:
        return None
    return [content.digest, content.absent, content.reason, content.identity, content.bits]


def _only_mode(was: FileContent, now: FileContent) -> bool:
    return not was.absent and was.same(now) and not was.alike(now)


def make_plan(files: Iterable[FileHistory], session: str, *, everyone: bool = False) -> RewindPlan:
    """The steps that restore these files, as far as possible and allowed.

    With `everyone` files that only others changed are restored too, if a person insists.
    """
    ordered = sorted(files, key=lambda file: file.path)
    changed = [file for file in ordered if file.was is None or not file.was.alike(file.now)]
    pairs = _moved([file for file in changed if _touched(file, session)])
    steps = []
    taken = {origin.path for origin in pairs.values()}
    for file in changed:
        if file.path in taken:
            continue
        origin = pairs.get(file.path)
        steps.append(_decide(file, session, everyone) if origin is None else _rename(file, origin, session))
    return RewindPlan(tuple(steps))


def _touched(file: FileHistory, session: str) -> bool:
    return any(author.by in OURS and author.session == session for author in file.hands)


def _last_author(file: FileHistory, session: str) -> str:
    """Whose change is undone: the agent's or, for an undo, the rewind's."""
    return [author.by for author in file.hands if author.by in OURS and author.session == session][-1]


def _moved(changed: Sequence[FileHistory]) -> dict[str, FileHistory]:
    """Files that were moved: old path → the file at its new path."""
    came = [file for file in changed if file.was is not None and file.was.absent and not file.now.absent]
    pairs: dict[str, FileHistory] = {}
    for gone in changed:
        if gone.was is None or gone.was.absent or not gone.now.absent or gone.barred:
            continue
        alike = [file for file in came if gone.was.same(file.now) and not file.barred]
        if alike:
            name = gone.path.rpartition("/")[2]
            best = next((file for file in alike if file.path.rpartition("/")[2] == name), alike[0])
            pairs[gone.path] = best
            came.remove(best)
    return pairs


def _rename(gone: FileHistory, there: FileHistory, session: str) -> RewindStep:
    who = _last_author(there, session)
    step = RewindStep(gone.path, "rename_back", f"the {who} moved it", who, there.path, gone.was, there.now)
    return _unless_others(_mode_unknown(step), (*gone.hands, *there.hands), session)


def _decide(file: FileHistory, session: str, everyone: bool) -> RewindStep:
    touched = _touched(file, session)
    if not touched and (not everyone or file.was is None or file.was.absent):
        return _left(file)  # what others created is theirs
    if not touched and not file.hands:
        file = replace(file, hands=(Author("unknown"),))
    who, was, now = _last_author(file, session) if touched else file.hands[-1].by, file.was, file.now

    def step(action: Action, why: str) -> RewindStep:
        return RewindStep(file.path, action, why, who, None, was, now)

    if file.barred is not None:
        return step("cannot", file.barred)
    if was is None:
        return step("cannot", NO_SNAPSHOT)
    if _only_mode(was, now):
        return _unless_others(step("restore", f"the {who} changed its mode"), file.hands, session)
    if not now.absent and now.digest is None:
        why = f"no copy of what it holds now can be kept first: {now.reason or 'it is unknown'}"
        return step("cannot", why)
    if was.absent and file.claimed:
        why = "only the agent says that it made it; a copy of it is kept if you insist"
        return RewindStep(file.path, "refuse", why, "unknown", None, was, now, "delete")
    if was.absent:
        chosen = step("delete", f"the {who} created it")
    elif was.digest is None:
        return step("cannot", f"no copy of what it held then is kept: {was.reason or 'it was not read'}")
    elif now.absent:
        chosen = step("recreate", f"the {who} deleted it")
    else:
        chosen = step("restore", f"the {who} changed it")
    return _unless_others(_mode_unknown(chosen), file.hands, session)


def _mode_unknown(step: RewindStep) -> RewindStep:
    """If the permissions then are unknown, say which ones the file gets."""
    if step.was is None or step.was.absent or step.was.bits is not None:
        return step
    fate = "it gets that of a new file" if step.action == "recreate" else "the mode of now stays"
    return replace(step, why=f"{step.why}; its mode then is not known: {fate}")


def _left(file: FileHistory) -> RewindStep:
    """A file that only others changed stays as it is."""
    last = file.hands[-1] if file.hands else Author("unknown")
    who = {"person": "a person", "agent": f"session {(last.session or '')[:8]}", REWIND: "another rewind"}
    why = f"changed since by {who.get(last.by, 'somebody unknown')}, not by this session's agent"
    return RewindStep(file.path, "keep", why, last.by, None, file.was, file.now)


def _unless_others(step: RewindStep, authors: Sequence[Author], session: str) -> RewindStep:
    """Refuse the step if anybody else changed the file since."""
    others = [author for author in authors if author.by not in OURS or author.session != session]
    if not others:
        return step
    last = others[-1]
    if last.by in OURS:
        who = "the agent" if last.session is None else f"session {last.session[:8]}"
    else:
        who = "somebody unknown" if last.by == "unknown" else f"a {last.by}"
    why = f"{who} changed it since; a copy of it is kept if you insist"
    if step.only_mode:
        why = f"{who} changed its mode since; what it is now is remembered if you insist"
    return replace(step, action="refuse", would=step.action, why=why, by=last.by)


def _replayable(renames: list[RewindStep]) -> list[RewindStep]:
    """Renames in an order in which each finds its path free."""
    waiting = {step.origin: step for step in renames}
    ordered: list[RewindStep] = []
    while waiting:
        free = [origin for origin, step in waiting.items() if step.path not in waiting]
        if not free:
            break  # a cycle, which the pairing never produces
        ordered += [waiting.pop(origin) for origin in free]
    return [*ordered, *waiting.values()]


def step_json(step: RewindStep) -> dict[str, Any]:
    """The step as stored in the journal."""
    return asdict(step)


def step_from_json(raw: Mapping[str, Any]) -> RewindStep:
    contents = {name: None if raw[name] is None else FileContent(**raw[name]) for name in ("was", "now")}
    return RewindStep(**{**raw, **contents})

"""The plan of bringing files back: what each held at a position, what it holds now, whose hands were on it.

Pure: whoever calls has looked at the disk and at the kept versions. The plan touches only what this session's
agent changed since. What anybody else changed as well is refused until somebody insists, and what cannot be
kept first is never taken away.
"""

from __future__ import annotations

import hashlib
import json
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

Action = Literal["restore", "delete", "recreate", "rename_back", "keep", "refuse", "cannot"]
WRITES: frozenset[str] = frozenset({"restore", "delete", "recreate", "rename_back"})
REWIND = "rewind"  # the hand of a rewind, beside agent, person and unknown
OURS: frozenset[str] = frozenset({"agent", REWIND})


@dataclass(frozen=True, slots=True)
class Held:
    """What a path holds at one moment: a content, nothing, or something of which no copy is kept and why.

    `identity` tells the very same file (device, inode, size, time of change) where the content is not known.
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
        """Who may read, write and run a plain file, where that is known; never set-user-id or its like."""
        return None if self.mode is None or not stat.S_ISREG(self.mode) else self.mode & 0o777

    def alike(self, other: Held) -> bool:
        """The same content and, as far as both are known, the same bits."""
        unknown = self.bits is None or other.bits is None
        return self.same(other) and (unknown or self.bits == other.bits)

    def same(self, other: Held) -> bool:
        if self.absent or other.absent:
            return self.absent and other.absent
        if self.digest is not None and other.digest is not None:
            return self.digest == other.digest
        return self.identity is not None and self.identity == other.identity


ABSENT = Held(absent=True)


@dataclass(frozen=True, slots=True)
class Hand:
    """Who changed a file once: the agent of a session, a rewind, a person, or nobody can tell."""

    by: str
    session: str | None = None


@dataclass(frozen=True, slots=True)
class Past:
    """One file: what it held at the position (None: never known), what it holds now, whose hands since."""

    path: str
    was: Held | None
    now: Held
    hands: tuple[Hand, ...] = ()
    barred: str | None = None  # why this path may not be written to at all
    claimed: bool = False  # that it was made since is the agent's word alone


@dataclass(frozen=True, slots=True)
class Step:
    """What is to be done with one file. A refused step says in `would` what insisting would do."""

    path: str
    action: Action
    why: str
    by: str
    origin: str | None = None  # for a rename: the name it has now
    was: Held | None = None
    now: Held | None = None
    would: Action | None = None

    @property
    def does(self) -> str:
        """What it does once it is allowed to."""
        return self.would or self.action

    @property
    def only_mode(self) -> bool:
        """Whether the file holds what it held, and only who may use it has changed."""
        return self.was is not None and self.now is not None and _only_mode(self.was, self.now)

    @property
    def mode(self) -> tuple[int, int] | None:
        """The bits of now and those of then, where both are known and differ."""
        now, was = (None if one is None else one.bits for one in (self.now, self.was))
        return None if now is None or was is None or now == was else (now, was)


@dataclass(frozen=True, slots=True)
class Plan:
    steps: tuple[Step, ...]

    @property
    def refused(self) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if step.action == "refuse")

    def writes(self) -> tuple[Step, ...]:
        """What insisting would write, in an order in which each step finds its place free."""
        chosen = [step for step in self.steps if step.does in WRITES]
        order = {"delete": 0, "rename_back": 1, "restore": 2, "recreate": 3}
        chosen.sort(key=lambda step: order[step.does])
        renames = _replayable([step for step in chosen if step.does == "rename_back"])
        rest = [step for step in chosen if step.does != "rename_back"]
        first = [step for step in rest if step.does == "delete"]
        return (*first, *renames, *(step for step in rest if step.does != "delete"))

    def counts(self) -> dict[str, int]:
        made: dict[str, int] = {}
        for step in self.steps:
            made[step.action] = made.get(step.action, 0) + 1
        return made

    def digest(self) -> str:
        """Two plans with one digest do the same to the same files."""
        told = [
            [step.path, step.action, step.would, step.origin, _mark(step.was), _mark(step.now)]
            for step in self.steps
        ]
        return hashlib.sha256(json.dumps(told).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _mark(held: Held | None) -> list[Any] | None:
    return None if held is None else [held.digest, held.absent, held.reason, held.identity, held.bits]


def _only_mode(was: Held, now: Held) -> bool:
    return not was.absent and was.same(now) and not was.alike(now)


def plan(files: Iterable[Past], session: str) -> Plan:
    """What brings these files back to where they were, as far as that can be done and may be done."""
    known = sorted(files, key=lambda one: one.path)
    changed = [one for one in known if one.was is None or not one.was.alike(one.now)]
    pairs = _moved([one for one in changed if _touched(one, session)])
    steps = []
    taken = {origin.path for origin in pairs.values()}
    for one in changed:
        if one.path in taken:
            continue
        origin = pairs.get(one.path)
        steps.append(_decide(one, session) if origin is None else _rename(one, origin, session))
    return Plan(tuple(steps))


def _touched(one: Past, session: str) -> bool:
    return any(hand.by in OURS and hand.session == session for hand in one.hands)


def _mover(one: Past, session: str) -> str:
    """Whose change is taken back: the agent's or, when a rewind is undone, the rewind's."""
    return [hand.by for hand in one.hands if hand.by in OURS and hand.session == session][-1]


def _moved(changed: Sequence[Past]) -> dict[str, Past]:
    """Files that are gone and lie elsewhere now, as they were: by the path they had."""
    came = [one for one in changed if one.was is not None and one.was.absent and not one.now.absent]
    pairs: dict[str, Past] = {}
    for gone in changed:
        if gone.was is None or gone.was.absent or not gone.now.absent or gone.barred:
            continue
        alike = [one for one in came if gone.was.same(one.now) and not one.barred]
        if alike:
            name = gone.path.rpartition("/")[2]
            best = next((one for one in alike if one.path.rpartition("/")[2] == name), alike[0])
            pairs[gone.path] = best
            came.remove(best)
    return pairs


def _rename(gone: Past, there: Past, session: str) -> Step:
    who = _mover(there, session)
    made = Step(gone.path, "rename_back", f"the {who} moved it", who, there.path, gone.was, there.now)
    return _unless_others(_mode_unknown(made), (*gone.hands, *there.hands), session)


def _decide(one: Past, session: str) -> Step:
    if not _touched(one, session):
        return _left(one)
    who = _mover(one, session)
    if one.barred is not None:
        return Step(one.path, "cannot", one.barred, who, None, one.was, one.now)
    if one.was is None:
        why = "what it held then was never read, so no copy of it is kept"
        return Step(one.path, "cannot", why, who, None, None, one.now)
    if _only_mode(one.was, one.now):
        made = Step(one.path, "restore", f"the {who} changed its mode", who, None, one.was, one.now)
        return _unless_others(made, one.hands, session)
    if not one.now.absent and one.now.digest is None:
        why = f"no copy of what it holds now can be kept first: {one.now.reason or 'it is unknown'}"
        return Step(one.path, "cannot", why, who, None, one.was, one.now)
    if one.was.absent and one.claimed:
        why = "only the agent says that it made it; a copy of it is kept if you insist"
        return Step(one.path, "refuse", why, "unknown", None, one.was, one.now, "delete")
    if one.was.absent:
        made = Step(one.path, "delete", f"the {who} created it", who, None, one.was, one.now)
    elif one.was.digest is None:
        why = f"no copy of what it held then is kept: {one.was.reason or 'it was not read'}"
        return Step(one.path, "cannot", why, who, None, one.was, one.now)
    elif one.now.absent:
        made = Step(one.path, "recreate", f"the {who} deleted it", who, None, one.was, one.now)
    else:
        made = Step(one.path, "restore", f"the {who} changed it", who, None, one.was, one.now)
    return _unless_others(_mode_unknown(made), one.hands, session)


def _mode_unknown(made: Step) -> Step:
    """Where nobody knows who might use a file then, the plan says what becomes of that."""
    if made.was is None or made.was.absent or made.was.bits is not None:
        return made
    fate = "it gets that of a new file" if made.action == "recreate" else "the mode of now stays"
    return replace(made, why=f"{made.why}; its mode then is not known: {fate}")


def _left(one: Past) -> Step:
    """Changed since, but not by this agent: none of this rewind's business."""
    last = one.hands[-1] if one.hands else Hand("unknown")
    who = {"person": "a person", "agent": f"session {(last.session or '')[:8]}", REWIND: "another rewind"}
    why = f"changed since by {who.get(last.by, 'somebody unknown')}, not by this session's agent"
    return Step(one.path, "keep", why, last.by, None, one.was, one.now)


def _unless_others(made: Step, hands: Sequence[Hand], session: str) -> Step:
    """Refused when anybody else had a hand in it since."""
    others = [hand for hand in hands if hand.by not in OURS or hand.session != session]
    if not others:
        return made
    last = others[-1]
    if last.by in OURS:
        who = "the agent" if last.session is None else f"session {last.session[:8]}"
    else:
        who = "somebody unknown" if last.by == "unknown" else f"a {last.by}"
    why = f"{who} changed it since; a copy of it is kept if you insist"
    if made.only_mode:
        why = f"{who} changed its mode since; what it is now is remembered if you insist"
    return replace(made, action="refuse", would=made.action, why=why, by=last.by)


def _replayable(renames: list[Step]) -> list[Step]:
    """Renames in an order in which each finds its name free: a name that another still has comes after it."""
    waiting = {step.origin: step for step in renames}
    ordered: list[Step] = []
    while waiting:
        free = [origin for origin, step in waiting.items() if step.path not in waiting]
        if not free:
            break  # a circle; the pairing never makes one, since a name in it is neither gone nor new
        ordered += [waiting.pop(origin) for origin in free]
    return [*ordered, *waiting.values()]


def step_json(step: Step) -> dict[str, Any]:
    """The step as the journal keeps it."""
    return asdict(step)


def step_from(raw: Mapping[str, Any]) -> Step:
    held = {name: None if raw[name] is None else Held(**raw[name]) for name in ("was", "now")}
    return Step(**{**raw, **held})

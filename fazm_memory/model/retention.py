"""Which payloads may be let go: a policy by kind and age, and a limit by size.

Only what is transient ages: what tools were given and gave back, what was seen on disk and on the screen.
Decisions, facts, questions, and what the user asked for stay, unless the user says otherwise; so does where a
session stood, which is kept as an event of its own before anything that led there is let go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from fazm_memory.model.events import KINDS

DAY = 86_400_000_000
SETTLED = 7 * DAY  # a session that was at work so lately is not touched to make room

GROUPS: dict[str, tuple[str, ...]] = {
    "actions": ("action", "action.start", "action.amend", "message", "seen", "unknown"),
    "files": ("file",),
    "apps": ("app",),
    "prompts": ("prompt",),
}
GROUP_OF = {kind: group for group, kinds in GROUPS.items() for kind in kinds}
TRANSIENT = frozenset(GROUP_OF)


@dataclass(frozen=True)
class Policy:
    """Days that each group of kinds is kept; 0 keeps it for good."""

    actions: int = 180
    files: int = 365
    apps: int = 60
    prompts: int = 0
    archived: int = 30  # for all but prompts, once the session is archived
    versions: int = 90
    megabytes: int = 4096  # of the log; 0 sets no limit

    def cutoff(self, kind: str, now: int, *, archived: bool) -> int | None:
        """What is older than this may go; None when nothing of this kind may, however old."""
        group = GROUP_OF.get(kind)
        if group is None or KINDS[kind].durable:
            return None
        days = int(getattr(self, group))
        if archived and group != "prompts" and self.archived:
            days = min(days or self.archived, self.archived)
        return now - days * DAY if days else None

    def earliest(self, now: int) -> int:
        """Nothing younger than this can be due, whatever its kind."""
        both = [(kind, archived) for kind in TRANSIENT for archived in (True, False)]
        cutoffs = [self.cutoff(kind, now, archived=archived) for kind, archived in both]
        return max((one for one in cutoffs if one is not None), default=0)


@dataclass(frozen=True)
class Held:
    """One payload that is still there: its place, its kind, how old and how large."""

    seq: int
    kind: str
    at: int
    size: int


def due(policy: Policy, held: Iterable[Held], now: int, *, archived: bool) -> list[Held]:
    """Which of a session's payloads have had their time."""
    limits = {kind: policy.cutoff(kind, now, archived=archived) for kind in TRANSIENT}
    return [one for one in held if (limit := limits.get(one.kind)) is not None and one.at < limit]


def for_room(held: Iterable[Held], wanted: int) -> list[Held]:
    """The oldest transient payloads of a session that give back at least `wanted` bytes, or all of them."""
    chosen: list[Held] = []
    for one in held:
        if wanted <= 0:
            break
        if one.kind in TRANSIENT and one.kind not in GROUPS["prompts"]:
            chosen.append(one)
            wanted -= one.size
    return chosen


def by_group(held: Iterable[Held]) -> Mapping[str, dict[str, int]]:
    """How many payloads and bytes of each group these are, as a plan tells it."""
    told = {group: {"events": 0, "bytes": 0} for group in GROUPS}
    for one in held:
        entry = told[GROUP_OF[one.kind]]
        entry["events"] += 1
        entry["bytes"] += one.size
    return {group: entry for group, entry in told.items() if entry["events"]}

"""Which payloads may be forgotten: a policy by kind and age, and a limit by size.

Only transient payloads expire: inputs and outputs of tools, and what was seen on disk and on the screen.
`at` of a stored payload is when it arrived, so imported history counts from its import.
Decisions, facts, questions and requests stay unless the user decides otherwise. The state of a session stays
as a checkpoint event, written before the payloads that led to it are forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from fazm_memory.events import KINDS
from fazm_memory.records import dataclass

DAY = 86_400_000_000
RECENTLY_ACTIVE = 7 * DAY  # younger sessions lose details for space last

GROUPS: dict[str, tuple[str, ...]] = {
    "actions": ("action", "action.start", "action.amend", "seen", "unknown"),
    "messages": ("message",),
    "files": ("file",),
    "apps": ("app",),
    "prompts": ("prompt",),
}
GROUP_OF = {kind: group for group, kinds in GROUPS.items() for kind in kinds}
TRANSIENT = frozenset(GROUP_OF)


@dataclass(frozen=True)
class RetentionPolicy:
    """Days to keep each group of kinds. 0 keeps it forever."""

    actions: int = 180
    messages: int = 0
    files: int = 365
    apps: int = 60
    prompts: int = 0
    archived: int = 30  # in an archived session, for all but prompts
    versions: int = 90
    megabytes: int = 4096  # size of the log; 0 is no limit

    def cutoff(self, kind: str, now: int, *, archived: bool) -> int | None:
        """The time before which this kind expires, or None if it never does."""
        group = GROUP_OF.get(kind)
        if group is None or KINDS[kind].durable:
            return None
        days = int(getattr(self, group))
        if archived and group != "prompts" and self.archived:
            days = min(days or self.archived, self.archived)
        return now - days * DAY if days else None

    def earliest(self, now: int) -> int:
        """The latest cutoff of all kinds. Nothing younger can expire."""
        both = [(kind, archived) for kind in TRANSIENT for archived in (True, False)]
        cutoffs = [self.cutoff(kind, now, archived=archived) for kind, archived in both]
        return max((cutoff for cutoff in cutoffs if cutoff is not None), default=0)


@dataclass(frozen=True)
class StoredPayload:
    """A payload in the log."""

    seq: int
    kind: str
    at: int
    size: int


def expired(
    policy: RetentionPolicy, payloads: Iterable[StoredPayload], now: int, *, archived: bool
) -> list[StoredPayload]:
    """The payloads of a session that the policy no longer keeps."""
    limits = {kind: policy.cutoff(kind, now, archived=archived) for kind in TRANSIENT}
    return [row for row in payloads if (limit := limits.get(row.kind)) is not None and row.at < limit]


def oldest_payloads(payloads: Iterable[StoredPayload], wanted: int) -> list[StoredPayload]:
    """The oldest transient payloads that free at least `wanted` bytes, or all of them."""
    chosen: list[StoredPayload] = []
    for payload in payloads:
        if wanted <= 0:
            break
        if payload.kind in TRANSIENT and payload.kind not in GROUPS["prompts"]:
            chosen.append(payload)
            wanted -= payload.size
    return chosen


def totals_by_group(payloads: Iterable[StoredPayload]) -> Mapping[str, dict[str, int]]:
    """Number and bytes of the payloads of each group."""
    totals = {group: {"events": 0, "bytes": 0} for group in GROUPS}
    for payload in payloads:
        total = totals[GROUP_OF[payload.kind]]
        total["events"] += 1
        total["bytes"] += payload.size
    return {group: total for group, total in totals.items() if total["events"]}

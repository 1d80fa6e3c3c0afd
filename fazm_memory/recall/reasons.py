"""Why an item is in the context or out of it, in plain words: from what the ranking looked at, no more.

A person's choice comes before all. Otherwise an item matters by what kind of fact it is, by how long ago its
session was at work, and half as much when its origin is in doubt; what matters less waits for room.
"""

from __future__ import annotations

from fazm_memory.model.trust import DOUBTED
from fazm_memory.recall.items import Item

KINDS: dict[str, str] = {
    "question": "an open question",
    "pending": "still to do",
    "failed": "failed and not mended yet",
    "interrupted": "began and never finished",
    "convention": "how files are named there",
    "changed": "changed by somebody other than the agent",
    "folder": "how far a folder has come",
    "skipped": "files that were left alone",
    "preference": "your own preference, which holds everywhere",
    "answered": "a question that was settled",
    "decision": "a decision",
    "said": "where the agent left off",
    "files": "the files changed last",
    "held": "calls that are in quarantine",
    "place": "the folders changed most",
    "fact": "a fact that was noted",
    "evicted": "no longer in the model's context",
    "request": "one more thing that was asked",
    "mended": "failed at first, then worked",
    "looked": "what was looked at",
    "vain": "a look-up that found nothing",
    "more": "files changed before the last ones",
    "apps": "the apps in front",
}
MORE_FAILED = "older failures, not mended yet"
PINNED = "you pinned it"
NO_ROOM_FOR_PINS = "you pinned it, but all pins together do not fit"
EXCLUDED = "you excluded it"
DOUBT = "of doubtful origin, so it counts half"
NO_ROOM = "left out, since facts that matter more filled the budget"


def reason(item: Item, *, label: str | None, choice: str | None, included: bool) -> str:
    """Why; `label` is the day of the item's session as the digest names it, `choice` a person's."""
    if choice == "exclude":
        return EXCLUDED
    if choice == "pin":
        return PINNED if included else NO_ROOM_FOR_PINS
    kind = MORE_FAILED if (item.kind, item.section) == ("more", "OPEN") else KINDS[item.kind]
    when = f", {label if _adverb(label) else f'on {label}'}" if label else ""
    doubt = f"; {DOUBT}" if item.trust in DOUBTED else ""
    return f"{kind}{when}{doubt}{'' if included else f'; {NO_ROOM}'}"


def _adverb(label: str) -> bool:
    """Whether a day's name says when as it stands."""
    return label.startswith(("earlier today", "yesterday", "on "))

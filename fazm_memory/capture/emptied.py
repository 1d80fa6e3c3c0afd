"""The folders that a rewind leaves empty: those the agent made since go with their files, all others stay.

A folder is the agent's only if it was seen to come since by the agent's hand, or if a call told so. What
nobody saw being made may be a person's, and an empty folder in its place does no harm.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from fazm_memory.capture.enclosure import Enclosure
from fazm_memory.capture.files_then import Names, Spot, then_held
from fazm_memory.log.folders import FoldersSeen
from fazm_memory.log.versions import Versions
from fazm_memory.model.events import Event
from fazm_memory.model.payloads import Action, ActionAmend
from fazm_memory.model.rewinding import OURS, Step

MADE = "the agent made it"
STOOD = "it was there before"
Stays = Callable[[str], str | None]  # a folder → why it stays once it is empty; None: it goes


@dataclass(frozen=True, slots=True)
class Emptied:
    """A folder that the steps of a plan leave empty: whether it goes or stays, and why."""

    path: str
    goes: bool
    why: str


def around(steps: Iterable[Step]) -> list[str]:
    """Every folder that a step takes something out of, and those around it, the innermost first."""
    found: set[str] = set()
    for step in steps:
        path = step.origin or step.path
        while (path := os.path.dirname(path)) and path not in found:
            found.add(path)
    return sorted(found, key=lambda folder: (-folder.count("/"), folder))


def told_folders(events: Iterable[Event]) -> set[str]:
    """What calls say for certain that they made, by full paths; which of it are folders the disk knows."""
    return {
        touch.path
        for event in events
        if isinstance(event.payload, (Action, ActionAmend))
        for touch in event.payload.files
        if touch.change == "created" and not touch.inferred
    }


def stays(
    versions: Versions, names: Names, where: Spot, told: Callable[[], set[str]]
) -> Stays:  # asked only for folders that nobody watched
    """Why a folder of the workspace stays when a rewind to this spot has emptied it."""
    seen = FoldersSeen(versions)

    def why(folder: str) -> str | None:
        places = names.of(folder)
        if any(then_held(versions.history_below(root, below), where) for root, below in places):
            return "it held files then"
        rows = sorted(
            (row for root, below in places for row in seen.history(root, below) if not where.has(row)),
            key=lambda row: row.at,
        )
        if not rows:
            if f"{names.workspace}/{folder}" in told():
                return None
            return "nobody saw it being made since, so it may have been there"
        if not rows[0].came:
            return "it was there then"
        others = [row for row in rows if row.hand not in OURS or row.session != where.session]
        if others:
            return f"{'a person' if others[-1].hand == 'person' else 'somebody else'} made it"
        return None

    return why


def emptied(place: Enclosure, steps: Sequence[Step], stay: Stays) -> list[Emptied]:
    """The folders that these steps leave empty, the innermost first."""
    taken = {step.origin or step.path for step in steps if step.does in ("delete", "rename_back")}
    given = {step.path for step in steps if step.does != "delete"}
    gone: set[str] = set()
    found = []
    for folder in around(step for step in steps if step.does in ("delete", "rename_back")):
        left = [f"{folder}/{name}" for name in place.names(folder)]
        if any(path.startswith(f"{folder}/") for path in given) or not {*left} <= taken | gone:
            continue
        why = stay(folder)
        found.append(Emptied(folder, why is None, why or MADE))
        if why is None:
            gone.add(folder)
    return found

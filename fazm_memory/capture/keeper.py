"""The keeper: what changed files hold, kept the moment the change is seen, and what they held before.

It works in the watcher's thread, between two looks, and within a budget: what it does not reach, the baseline
reads when there is time.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass

from fazm_memory.capture.baseline import Baseline, mark_of, read
from fazm_memory.capture.looking import Flush, Root, Sighting
from fazm_memory.log.versions import ABSENT, Given, Version, Versions
from fazm_memory.model.rewinding import REWIND

BUDGET = 2.0  # seconds for the versions of one flush
MOST_BYTES = 64 << 20  # and how much of them is in memory at once
NOT_READ_YET = "not read yet"


@dataclass(frozen=True, slots=True)
class Noted:
    """A sighting with the digests of what the file held before and after, or why they are not known."""

    sighting: Sighting
    before: str | None = None
    after: str | None = None
    missing: str | None = None
    version: int | None = None  # the number of the version that it led to
    mode: tuple[int, int] | None = None  # the bits before and after, where they are known and differ


class Keeper:
    def __init__(self, versions: Versions, baseline: Baseline, *, budget: float = BUDGET) -> None:
        self.versions = versions
        self.baseline = baseline
        self.budget = budget

    def note(self, flush: Flush, roots: Iterable[Root]) -> list[Noted]:
        """Keep the versions of a flush; what is no change after all, or was told before, is left out."""
        by_name = {root.given: root for root in roots}
        lasts = [self._last(one, list(by_name)) for one in flush.sightings]
        unfinished = self._keep(flush, list(by_name))
        noted = [
            made
            for one, before in zip(flush.sightings, lasts, strict=True)
            if (made := self._noted(one, before)) is not None
        ]
        away = {one.root for one in flush.blind}
        for name in {*flush.first, *away, *unfinished} & by_name.keys():
            self.baseline.begin(name, by_name[name].tree)
        return noted

    def _keep(self, flush: Flush, roots: list[str]) -> set[str]:
        """Keep what there is now; the roots of which the budget left something unread."""
        end = time.monotonic() + self.budget
        unfinished: set[str] = set()
        kept: dict[str, list[Given]] = {}
        size = 0
        for one in flush.sightings:
            here = kept.setdefault(one.root, [])
            changed = one.changed
            if changed.change == "deleted":
                here.append((_below(one.root, changed.path), one.at, ABSENT, "", None))
                continue
            if changed.origin is not None:
                for root in roots:
                    if _inside(changed.origin, root):
                        gone: Given = (_below(root, changed.origin), one.at, ABSENT, "", None)
                        kept.setdefault(root, []).append(gone)
            if time.monotonic() > end:
                unfinished.add(one.root)
                continue
            if changed.change in ("created", "renamed"):
                self._never_before(one, here)
            reading = read(changed.path)
            since = min(max(reading.since, one.earliest), one.at)
            here.append((_below(one.root, changed.path), since, reading.content, reading.mark, reading.mode))
            size += len(reading.content)
            if size > MOST_BYTES:
                self._flush(kept)
                size = 0
        self._flush(kept)
        return unfinished

    def _never_before(self, one: Sighting, here: list[Given]) -> None:
        """The last look found nothing by this name: that, too, is something to go back to."""
        below = _below(one.root, one.changed.path)
        if self.versions.last(one.root, below) is None:
            here.append((below, 0, ABSENT, "", None))

    def _flush(self, kept: dict[str, list[Given]]) -> None:
        for root, given in kept.items():
            if given:
                self.versions.keep_all(root, given)
        kept.clear()

    def _last(self, one: Sighting, roots: list[str]) -> Version | None:
        path = one.changed.origin or one.changed.path
        root = next((root for root in roots if _inside(path, root)), one.root)
        return self.versions.last(root, _below(root, path))

    def _noted(self, one: Sighting, before: Version | None) -> Noted | None:
        changed = one.changed
        after = self.versions.last(one.root, _below(one.root, changed.path))
        unread = after is None or (after.absent and changed.change != "deleted")
        now = None if unread or after is None else after
        if now is not None and now.hand == REWIND:
            return None  # a rewind made it what it is, and has told so
        mode = _modes(before, now) if changed.change == "modified" else None
        if changed.change == "renamed":
            if one.away and now is not None and now.told and now.mark == _mark(one):
                return None
        elif before is not None and now is not None:
            same = (before.digest, before.reason) == (now.digest, now.reason) and mode is None
            if same and before.digest is not None and changed.change == "modified":
                return None  # a touch: it holds what it held, and may be used as before
            if same and one.away and before.told:
                return None  # told before the last stop, which came too early for the checkpoint
        missing = None
        if changed.change != "created" and (before is None or before.digest is None):
            missing = (before.reason if before is not None else None) or NOT_READ_YET
        return Noted(
            one,
            None if before is None or changed.change == "created" else before.digest,
            None if now is None else now.digest,
            missing,
            None if after is None else after.id,
            mode,
        )


def _modes(before: Version | None, now: Version | None) -> tuple[int, int] | None:
    """The bits of a file before and after a change, if they are known and differ."""
    if before is None or now is None or before.mode is None or now.mode is None or before.mode == now.mode:
        return None
    return before.mode, now.mode


def _mark(one: Sighting) -> str:
    return "" if one.changed.after is None else mark_of(one.changed.after)


def _inside(path: str, root: str) -> bool:
    return path.startswith(root.rstrip("/") + "/")


def _below(root: str, path: str) -> str:
    return path[len(root.rstrip("/")) + 1 :]

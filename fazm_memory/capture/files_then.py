"""What files held at a position of a session, from the kept versions, and whose hands were on them since.

A version that a call of the session made stands at that call's position. Any other stands at its time, which
is held against the moment at which the event at the position began.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from fazm_memory.capture.enclosure import Enclosure, Refused
from fazm_memory.log.folders import FolderSeen
from fazm_memory.log.sessions import SessionRow
from fazm_memory.log.store import Store
from fazm_memory.log.versions import Version, Versions
from fazm_memory.model import rewinding, safe_path
from fazm_memory.model.payloads import Action, ActionAmend, FileChange, FileTouch
from fazm_memory.model.rewinding import Hand, Held, Past

MARGIN = 10_000_000  # microseconds: how late the watcher's word of a change may be
Judge = Callable[[str, int], Hand]  # a path and when it changed → whose hand that was


@dataclass(frozen=True, slots=True)
class Spot:
    """A position of a session, and the moment at which what comes after it began."""

    session: str
    to: int
    moment: int

    def has(self, version: Version | FolderSeen) -> bool:
        """Whether a version was there by then, or a folder had come or gone."""
        if version.seq is not None and version.session == self.session:
            return version.seq < self.to
        return version.at < self.moment


def spot(store: Store, row: SessionRow, to: int, now: int) -> Spot:
    """The spot of a position: from the events on both sides of it."""
    around = list(store.log.slice(row.n, row.id, max(0, to - 1), to + 1))
    before = around[0].at if to > 0 and around else row.opened_at - 1
    after = now + 1
    if to < row.head and around and around[-1].seq == to:
        event = around[-1]
        length = event.payload.duration_ms or 0 if isinstance(event.payload, Action) else 0
        after = event.at - length * 1000
    return Spot(row.id, to, max(before + 1, after))


class Names:
    """By which roots the versions know the files of a workspace, which may be watched within a larger one."""

    def __init__(self, versions: Versions, workspace: str) -> None:
        self.workspace = workspace.rstrip("/")
        self.roots = versions.roots_around(self.workspace) or [self.workspace]

    def of(self, path: str) -> list[tuple[str, str]]:
        """Roots and paths below them for a path below the workspace."""
        full = f"{self.workspace}/{path}"
        return [(root, full[len(root.rstrip("/")) + 1 :]) for root in self.roots if _inside(full, root)]

    def ours(self, root: str, path: str) -> str | None:
        """The path below the workspace; None when it lies elsewhere."""
        full = f"{root.rstrip('/')}/{path}"
        return full[len(self.workspace) + 1 :] if _inside(full, self.workspace) else None


def histories(versions: Versions, names: Names, paths: Iterable[str]) -> dict[str, list[Version]]:
    """Every version of these files, oldest first, by whatever root it was kept."""
    made = {}
    for path in paths:
        rows = [row for root, below in names.of(path) for row in versions.history(root, below)]
        made[path] = sorted(rows, key=lambda row: (row.at, row.id))
    return made


def held(version: Version | None) -> Held | None:
    """What a version says that its file held."""
    if version is None:
        return None
    if version.absent:
        return rewinding.ABSENT
    parts = version.mark.split(":")
    mode = None if version.mode is None else stat.S_IFREG | version.mode
    if len(parts) != 5:
        return Held(version.digest, reason=version.reason, mode=mode)
    size, mtime = map(int, parts[2:4])
    return Held(version.digest, False, version.reason, ":".join(parts[:4]), mode, mtime, size)


def then_held(rows: Iterable[Version], where: Spot) -> dict[str, Version]:
    """What was there at a spot, of these versions, by path."""
    last: dict[str, Version] = {}
    for row in rows:
        if where.has(row):
            last[row.path] = row
    return {path: row for path, row in last.items() if not row.absent}


def candidates(
    store: Store, versions: Versions, names: Names, row: SessionRow, where: Spot
) -> tuple[dict[str, bool | None], list[str]]:
    """Files below the workspace that may have changed since; and those elsewhere that the agent named.

    Of the first it is said whether the log tells that they were made since: then there was nothing before.
    None: only the agent says so.
    """
    found: dict[str, bool | None] = {}
    for root in names.roots:
        for path in versions.changed_since(root, where.moment - MARGIN):
            ours = names.ours(root, path)
            if ours is not None:
                found.setdefault(ours, False)
    told: set[str] = set()
    elsewhere: dict[str, None] = {}
    for event in store.log.slice(row.n, row.id, where.to, row.head):
        for path, made in _told(event.payload):
            if _inside(path, names.workspace):
                ours = path[len(names.workspace) + 1 :]
                seen = made and event.source == "files" and event.trust != "unverified"
                if ours not in told:
                    found[ours] = made if seen or not made else None
                elif found[ours] is None and seen:
                    found[ours] = True
                told.add(ours)
            elif isinstance(event.payload, (Action, ActionAmend)):
                elsewhere[path] = None
    return found, list(elsewhere)


def _told(payload: object) -> Iterator[tuple[str, bool]]:
    """Files that an event says were changed, and whether it says that they were new."""
    touches: Sequence[FileTouch | FileChange] = ()
    if isinstance(payload, (Action, ActionAmend)):
        touches = payload.files
    elif isinstance(payload, FileChange):
        touches = (payload,)
    for touch in touches:
        if touch.change != "read":
            if touch.origin is not None:
                yield touch.origin, False
            yield touch.path, touch.change in ("created", "renamed")


def pasts(
    place: Enclosure,
    known: dict[str, list[Version]],
    made: Mapping[str, bool | None],
    where: Spot,
    judge: Judge,
    now: int,
) -> list[Past]:
    """Each file as it was, as it is, and who had a hand in that. Folders come and go with their files."""
    found = (
        _past(place, path, rows, made.get(path, False), where, judge, now) for path, rows in known.items()
    )
    return [one for one in found if one.now.mode is None or not stat.S_ISDIR(one.now.mode)]


def look(place: Enclosure, path: str) -> tuple[Held, str | None]:
    """What a path holds now, and why it may not be written to, if so."""
    if (barred := safe_path.refusal(path)) is not None:
        return Held(reason=barred), barred
    try:
        return place.look(path).held, None
    except (Refused, OSError) as error:
        return Held(reason=str(error)), str(error)


def changed_at(last: Held | None, found: Held, now: int) -> int:
    """When a file came to be what it is and was not when it was last seen.

    A change of its rights alone leaves no mark on the time of its content.
    """
    told = found.ctime_ns if last is not None and last.same(found) else found.mtime_ns
    return now if told is None else told // 1000


def _past(
    place: Enclosure,
    path: str,
    rows: Sequence[Version],
    made: bool | None,
    where: Spot,
    judge: Judge,
    now: int,
) -> Past:
    found, barred = look(place, path)
    then = [row for row in rows if where.has(row)]
    since = [row for row in rows if not where.has(row)]
    was = rewinding.ABSENT if made is not False and not then else held(then[-1] if then else None)
    hands = [Hand(row.hand, row.session) if row.hand is not None else judge(path, row.at) for row in since]
    last = held(rows[-1] if rows else None)
    if last is None or not last.alike(found):  # changed since anybody looked
        hands.append(judge(path, changed_at(last, found, now)))
    # The watcher's mark on the version after is as good as its word that the file was made then.
    seen = bool(since) and since[0].hand is not None
    return Past(path, was, found, tuple(hands), barred, claimed=made is None and not then and not seen)


def _inside(path: str, folder: str) -> bool:
    return path.startswith(folder.rstrip("/") + "/")

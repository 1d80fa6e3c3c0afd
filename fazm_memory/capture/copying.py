"""A workspace as it was at a position, written into a new folder of its own.

What was kept comes from the versions; what nobody has touched since is copied from the workspace itself,
however large. Git's own folder, ignored files and links are left out: by them two branches would share.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from fazm_memory.capture.enclosure import SPARE, Enclosure, Refused
from fazm_memory.capture.files_then import Names, Spot, held, histories
from fazm_memory.capture.ignore import Ignore
from fazm_memory.capture.restoring import keep
from fazm_memory.capture.tree import scan
from fazm_memory.log.versions import Version, Versions
from fazm_memory.model import rewinding, safe_path
from fazm_memory.model.rewinding import Held

SHARED = "it is a link, which the two folders would share"
UNREAD = "what it held then was never read"
CLAIMED = "the agent says that it made it since"
BATCH = 64  # files that are kept in one transaction
Barred = Callable[[str], str | None]  # a path below the workspace → why it is left out, if so


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of a manifest: its content, where that is to be had, or why it is not."""

    path: str
    held: Held
    kept: bool = False  # among the versions
    here: bool = False  # in the workspace, as it was
    missing: str | None = None


def manifest(
    place: Enclosure,
    versions: Versions,
    names: Names,
    where: Spot,
    never: str,
    barred: Barred,
    told: Mapping[str, bool | None],
) -> Iterator[Entry]:
    """Every file of the workspace at a spot, as far as it is known, with where its content is to be had.

    What is barred is named and not read. `told` is which files the log says have changed since, and whether
    they were made then (None: only the agent says so): a rename keeps a file's time, so that tells nothing.
    """
    tree = scan(place.root, Ignore(place.root, [never]))
    present = dict(tree.files())
    known: dict[str, None] = {}
    for root in names.roots:
        for row in versions.history(root):
            ours = names.ours(root, row.path)
            if ours is not None and safe_path.refusal(ours) is None:
                known[ours] = None
    for path, rows in histories(versions, names, sorted({*known, *present, *told})).items():
        then = [row for row in rows if where.has(row)]
        if (why := barred(path)) is not None:
            if path in present or (then and not then[-1].absent):
                yield Entry(path, Held(reason=why), missing=why)
        elif then:
            if not then[-1].absent:
                yield _entry(place, versions, path, then[-1])
        elif path in present and not rows:
            made = told.get(path, False)
            if made is None:
                yield Entry(path, _look(place, path), missing=CLAIMED)
            elif not made:
                yield _unread(place, path, where)
        elif told.get(path, True) is False and not rows and _look(place, path).absent:  # gone since
            yield Entry(path, Held(reason=UNREAD), missing=UNREAD)


def _entry(place: Enclosure, versions: Versions, path: str, row: Version) -> Entry:
    was = held(row) or rewinding.ABSENT
    if row.digest is None and (row.reason or "").startswith("a link to "):
        return Entry(path, was, missing=SHARED)
    if row.digest is not None and versions.has(row.digest):
        return Entry(path, was, kept=True)
    if _look(place, path).same(was):
        return Entry(path, was, here=True)
    return Entry(path, was, missing=row.reason or "the kept copy had to make room")


def _unread(place: Enclosure, path: str, where: Spot) -> Entry:
    """A file nobody has read: as it was, if it is older than the spot."""
    now = _look(place, path)
    if now.reason == "it is a link":
        return Entry(path, now, missing=SHARED)
    if now.mtime_ns is not None and now.mtime_ns // 1000 < where.moment:
        return Entry(path, now, here=True)
    return Entry(path, now, missing=UNREAD)


def _look(place: Enclosure, path: str) -> Held:
    try:
        return place.look(path).held
    except (Refused, OSError) as error:
        return Held(reason=str(error))


def write_out(
    entries: list[Entry], source: Enclosure, target: Enclosure, versions: Versions, root: str | None, at: int
) -> list[Entry]:
    """Write a manifest into an empty folder, and keep it as what that folder began with, if it has a root.

    Returns the manifest as it came out: what could not be copied after all says why.
    """
    made = []
    for number, entry in enumerate(entries):
        spare = f"{SPARE}-{os.getpid()}-{number}"
        done = entry
        if entry.missing is None:
            try:
                _one(entry, source, target, versions, spare)
            except (Refused, OSError) as error:
                done = Entry(entry.path, entry.held, missing=str(error))
        made.append(done)
    if root is None:
        return made
    there = [entry.path for entry in made if entry.missing is None]
    for first in range(0, len(there), BATCH):
        with versions.db.transaction():
            for path in there[first : first + BATCH]:
                keep(versions, root, path, target.look(path), at)
    return made


def _one(entry: Entry, source: Enclosure, target: Enclosure, versions: Versions, spare: str) -> None:
    data = versions.read(entry.held.digest) if entry.kept and entry.held.digest is not None else None
    if data is None:
        source.copy_out(entry.path, target, spare, entry.held.bits)
        return
    was = entry.held
    if was.bits is None:  # then those it has now are the best there is
        was = replace(was, mode=_look(source, entry.path).mode)
    target.put(entry.path, data, was, rewinding.ABSENT, spare)

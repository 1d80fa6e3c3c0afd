"""What was seen on disk, as drafts: a change with who made it, counts where there were too many, gaps."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from typing import Any

from fazm_memory.capture.attribution import Happening, Verdict
from fazm_memory.capture.draft import Draft
from fazm_memory.capture.keeper import Noted
from fazm_memory.capture.looking import START, Blind, Flush, FolderSighting
from fazm_memory.capture.recording import COMPANION, COMPANION_AGENT
from fazm_memory.model.clock import iso
from fazm_memory.model.counting import plural


def happening(one: Noted) -> Happening:
    """When it happened, as closely as the file itself tells."""
    sighting, changed = one.sighting, one.sighting.changed
    earliest, latest = sighting.earliest, sighting.at
    unwritten = changed.before and changed.after and changed.before.mtime_ns == changed.after.mtime_ns
    if changed.after is not None and changed.change != "renamed" and not unwritten:
        written = changed.after.mtime_ns // 1000
        if earliest <= written <= latest:
            earliest = latest = written
    return Happening(
        changed.path, changed.change, earliest, latest, changed.origin, sighting.away is not None
    )


def folder_happening(one: FolderSighting) -> Happening:
    change = "created" if one.came else "deleted"
    return Happening(one.path, change, one.earliest, one.at, None, one.away is not None)


def draft(one: Noted, verdict: Verdict) -> Draft:
    sighting, changed = one.sighting, one.sighting.changed
    evidence = verdict.evidence
    if one.missing is not None:
        evidence += f"; what it held before was not kept: {one.missing}"
    if one.mode is not None:
        only = "only " if one.before is not None and one.before == one.after else ""
        evidence += f"; {only}its mode changed: {one.mode[0]:o} → {one.mode[1]:o}"
    payload: dict[str, Any] = {
        "path": printable(changed.path),
        "change": changed.change,
        "from": None if changed.origin is None else printable(changed.origin),
        "by": verdict.by,
        "evidence": evidence,
        "since": iso(sighting.earliest) if sighting.away is not None else None,
        "before": one.before,
        "after": one.after,
        "sure": verdict.sure,
        "call": verdict.seq,
    }
    given = {name: value for name, value in payload.items() if value is not None}
    session = verdict.session or COMPANION
    actor = verdict.by if verdict.by != "unknown" else None
    agent = COMPANION_AGENT if session == COMPANION else None
    return Draft(session, "file", given, agent, sighting.at, actor=actor, source="files")


def summaries(rest: Sequence[tuple[Noted, Verdict]], now: int) -> list[Draft]:
    """One event for each session and who it was: how many files, of which changes, in which folders."""
    groups: dict[tuple[str, str], list[Noted]] = {}
    for one, verdict in rest:
        groups.setdefault((verdict.session or COMPANION, verdict.by), []).append(one)
    made = []
    for (session, by), some in groups.items():
        kinds = Counter(one.sighting.changed.change for one in some)
        folders = Counter(os.path.dirname(one.sighting.changed.path) for one in some)
        counts = ", ".join(f"{count:,} {kind}" for kind, count in kinds.most_common())
        places = ", ".join(printable(folder) for folder, _ in folders.most_common(3))
        more = f" and {len(folders) - 3:,} more folders" if len(folders) > 3 else ""
        payload = {
            "what": "files",
            "since": iso(min(one.sighting.earliest for one in some)),
            "until": iso(max(one.sighting.at for one in some)),
            "note": f"{plural(len(some), 'more file')} changed, by {by}, too many to tell one by one:"
            f" {counts}; in {places}{more}",
        }
        agent = COMPANION_AGENT if session == COMPANION else None
        made.append(Draft(session, "gap", payload, agent, now, source="files"))
    return made


def worth_telling(blind: Blind, flush: Flush) -> bool:
    """A start is a gap worth telling only if something happened meanwhile."""
    return blind.why != START or any(one.root == blind.root for one in flush.sightings)


def gap(blind: Blind, flush: Flush) -> Draft:
    count = sum(one.root == blind.root for one in flush.sightings)
    payload = {
        "what": "files",
        "since": iso(blind.since),
        "until": iso(blind.until),
        "note": f"{printable(blind.root)}: {blind.why}; found by looking again: {plural(count, 'change')}",
    }
    return Draft(COMPANION, "gap", payload, COMPANION_AGENT, blind.until, source="files")


def printable(path: str) -> str:
    """A path as text: bytes that are no UTF-8 are shown, not lost."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")

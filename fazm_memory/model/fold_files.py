"""The fold's hand for files: what a call touched, what was seen on disk, which files a folder held."""

from __future__ import annotations

from typing import Any

from fazm_memory.model import doubts, payloads
from fazm_memory.model.builder import Builder, short
from fazm_memory.model.events import Event
from fazm_memory.model.eviction import in_sight
from fazm_memory.model.late import place_of
from fazm_memory.model.state import SEEN_FILES
from fazm_memory.model.words import By
from fazm_memory.model.working_set import apply_change, parent_folder


def touch_all(
    b: Builder,
    event: Event,
    files: tuple[payloads.FileTouch, ...],
    *,
    evidence: str,
    certain: bool,
    doubted_by: int | None = None,
) -> None:
    by: By = "person" if event.actor == "person" else "agent"
    for touch in files:
        why = "" if certain and not touch.inferred else f", inferred{': ' + touch.why if touch.why else ''}"
        if touch.change == "read":
            b.put("files_read", touch.path, event.seq)
            _visit(b, touch.path, "read", event)
        else:
            _changed(b, event, touch.path, touch.change, touch.origin, by, evidence + why, doubted_by)


def _changed(
    b: Builder,
    event: Event,
    path: str,
    change: Any,
    origin: str | None,
    by: By,
    evidence: str,
    doubted_by: int | None,
) -> None:
    b.count("files_modified")
    told = short(evidence) or ""
    source = doubted_by if by == "agent" else None
    apply_change(
        b.files_modified, path, change, origin=origin, by=by, evidence=told, seq=event.seq, doubted_by=source
    )
    doubts.led_to(b, source, event, path)
    b.trim("files_modified")
    _visit(b, path, change, event)
    if change == "renamed" and origin is not None and parent_folder(origin) != parent_folder(path):
        _visit(b, origin, "moved_out", event)


def _visit(b: Builder, path: str, change: str, event: Event) -> None:
    in_sight(b, f"file:{path}")
    folder = parent_folder(path)
    entry = b.folders.get(folder, {})
    b.put("folders", folder, entry | {change: entry.get(change, 0) + 1, "last_seq": event.seq})


def file_changed(b: Builder, event: Event, p: payloads.FileChange) -> None:
    followed = doubts.source(b, place_of(event))
    _changed(b, event, p.path, p.change, p.origin, p.by, p.evidence or "seen on disk", followed)


def files_seen(b: Builder, event: Event, p: payloads.Seen) -> None:
    known = b.seen.get(p.folder, {"files": [], "total": 0})
    files = list(dict.fromkeys([*known["files"], *p.files]))
    total = max(known["total"], p.total or 0, len(files))
    b.put("seen", p.folder, {"files": files[:SEEN_FILES], "total": total, "seq": event.seq})

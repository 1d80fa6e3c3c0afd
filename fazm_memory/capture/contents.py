"""What a change left in its file, where that is known: so two branches can be seen to have done the same.

The watcher writes the digest into its own events; of a call that told its files it marks the kept version
with the call. Nothing else counts: what a file happens to hold may be somebody else's doing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fazm_memory.capture.attribution import SLACK
from fazm_memory.log.effects import Effects
from fazm_memory.log.sessions import SessionRow
from fazm_memory.log.store import Store
from fazm_memory.log.versions import ABSENT, Version, Versions
from fazm_memory.model.payloads import FileChange


def content(store: Store, versions: Versions | None, row: SessionRow, entry: Mapping[str, Any]) -> str | None:
    """The digest of what a `files_modified` entry of a session's state left behind, or `absent`; None when
    that is not known."""
    if entry["change"] == "deleted":
        return ABSENT
    own = store.sessions.resolve(entry.get("session") or row.id)
    event = next(store.log.slice(own.n, own.id, entry["seq"], entry["seq"] + 1), None)
    if event is None or event.payload is None:
        return None
    if isinstance(event.payload, FileChange):
        return event.payload.after
    if versions is None:
        return None
    ended, began = Effects(store.log, own.n, own.id).span(event.seq)
    before = next(store.log.slice(own.n, own.id, began, began + 1), event).at

    def made(version: Version) -> bool:
        if version.session != own.id:
            return False
        if version.seq is not None:
            return version.seq == ended
        return before - SLACK <= version.at <= event.at + SLACK  # seen while the call still ran

    last = [one for one in versions.histories([entry["path"]]) if made(one)][-1:]
    return last[0].digest if last else None

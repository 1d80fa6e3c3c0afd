"""What is worth a notification: the difference of two statuses, as notices.

A question somebody waits with, trouble a person should hear of, a session that has ended: each once, and
nothing on the first look, when everything would be new.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from fazm_memory.menubar.labels import counted, label
from fazm_memory.menubar.status import SessionLine, Status

MOST = 3  # at once; a pile of notices is read by nobody
AT_WORK = frozenset({"open", "active", "resumed"})


@dataclass(frozen=True)
class Notice:
    """`route` is where in the timeline a click leads."""

    id: str
    title: str
    text: str
    route: str


def news(before: Status | None, after: Status) -> list[Notice]:
    if before is None:
        return []
    asked = {(one.session, one.id) for one in before.questions}
    known = {one.what for one in before.attention}
    working = {one.id for one in before.sessions if one.lifecycle in AT_WORK}
    found = [
        Notice(
            f"question-{one.session}-{one.id}",
            f"{label(one.title, 40)} waits for your answer",
            label(one.note, 200, empty="A question"),
            f"#/s/{quote(one.session, safe='')}",
        )
        for one in after.questions
        if (one.session, one.id) not in asked
    ]
    found += [
        Notice(
            f"attention-{label(one.what, 60)}", "Fazm Memory needs a look", label(one.what, 200), "#/settings"
        )
        for one in after.attention
        if one.what not in known
    ]
    found += [_summary(one) for one in after.sessions if one.lifecycle == "closed" and one.id in working]
    return found[:MOST]


def _summary(one: SessionLine) -> Notice:
    parts = [counted(one.actions, "action"), counted(one.files, "file") + " changed"]
    if one.failures:
        parts.append(f"{one.failures:,} failed")
    where = f" in {one.folder}" if one.folder else ""
    text = f"{', '.join(parts)}{where}."
    return Notice(f"session-{one.id}", f"Done: {label(one.title, 40)}", text, f"#/s/{quote(one.id, safe='')}")

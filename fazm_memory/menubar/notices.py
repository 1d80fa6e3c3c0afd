"""Notifications, from the difference of two statuses: new questions, new problems, ended sessions."""

from __future__ import annotations

from urllib.parse import quote

from fazm_memory.menubar.labels import label
from fazm_memory.menubar.status import SessionLine, Status
from fazm_memory.records import dataclass
from fazm_memory.translation import translate, translate_count

MOST = 3  # at once
AT_WORK = frozenset({"open", "active", "resumed"})


@dataclass(frozen=True)
class Notice:
    """A notification. A click opens the timeline at `route`."""

    id: str
    title: str
    text: str
    route: str


def new_notices(before: Status | None, after: Status) -> list[Notice]:
    if before is None:  # on the first look everything would be new
        return []
    asked = {(question.session, question.id) for question in before.questions}
    known = {problem.what for problem in before.attention}
    working = {session.id for session in before.sessions if session.lifecycle in AT_WORK}
    notices = [
        Notice(
            f"question-{question.session}-{question.id}",
            translate("{title} is waiting for your answer", title=label(question.title, 40)),
            label(question.note, 200, empty=translate("A question")),
            f"#/s/{quote(question.session, safe='')}",
        )
        for question in after.questions
        if (question.session, question.id) not in asked
    ]
    notices += [
        Notice(
            f"attention-{label(problem.what, 60)}",
            translate("Fazm Memory needs attention"),
            label(problem.what, 200),
            "#/settings",
        )
        for problem in after.attention
        if problem.what not in known
    ]
    ended = [session for session in after.sessions if session.lifecycle == "closed" and session.id in working]
    return [*notices, *_update(before, after), *map(_summary, ended)][:MOST]


def _update(before: Status, after: Status) -> list[Notice]:
    """A newer version that was not known before."""
    if after.update is None or (before.update is not None and before.update.version == after.update.version):
        return []
    version = after.update.version
    title = translate("Version {version} is available", version=version)
    text = label(after.update.notes, 200, empty=translate("The menu says how to get it."))
    return [Notice(f"update-{version}", title, text, "#/settings")]


def _summary(session: SessionLine) -> Notice:
    parts = [
        translate_count(session.actions, "{n} action", "{n} actions"),
        translate_count(session.files, "{n} file changed", "{n} files changed"),
    ]
    if session.failures:
        parts.append(translate_count(session.failures, "{n} failed", "{n} failed"))
    title, text = translate("Done: {title}", title=label(session.title, 40)), ", ".join(parts)
    if session.folder:
        text = translate("{counts} in {folder}", counts=text, folder=session.folder)
    return Notice(f"session-{session.id}", title, f"{text}.", f"#/s/{quote(session.id, safe='')}")

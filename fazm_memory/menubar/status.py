"""The status that the menu shows, and notifications when it changes.

Reading may take a while, so it is never done on the main thread. What only the system knows (the front app, a
permission, the login item) is passed in.
"""

from __future__ import annotations

import posixpath
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from urllib.parse import quote
from weakref import WeakKeyDictionary

from fazm_memory.agents import CONNECTABLE, FazmWindow
from fazm_memory.app import AgentOverview, Memory, agent_overviews
from fazm_memory.clock import parse_time, to_datetime
from fazm_memory.errors import FazmMemoryError
from fazm_memory.recall import Digest
from fazm_memory.records import dataclass
from fazm_memory.store import open_questions
from fazm_memory.text import sentence
from fazm_memory.translation import (
    current_language,
    format_weekday_time,
    translate,
    translate_count,
    translate_filled,
)

# Labels: recorded text in one line, ages and countdowns

SECOND = 1_000_000
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86400 * SECOND
LONGEST = 48
_INVISIBLE = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})


def error_text(error: FazmMemoryError) -> tuple[str, str]:
    """The title and the message of an error, in the user's language.

    The message says what to do next.
    """
    words = (translate_filled(part) for part in (error.message, error.hint) if part)
    return translate(error.title), " ".join(map(sentence, words))


def label(text: str | None, most: int = LONGEST, *, empty: str | None = None) -> str:
    """One line of at most `most` characters."""
    start = (text or "")[: 8 * most]  # texts may be very long
    visible = "".join(" " if unicodedata.category(char) in _INVISIBLE else char for char in start)
    line = " ".join(visible.split())
    return (line if len(line) <= most else line[: most - 1].rstrip() + "…") or (
        translate("untitled") if empty is None else empty
    )


def folder_label(path: str | None, user_home: str) -> str | None:
    """The last part of a folder's path, or ~ for the home folder."""
    if not path:
        return None
    return (
        "~" if path.rstrip("/") == user_home.rstrip("/") else label(posixpath.basename(path.rstrip("/")), 28)
    )


def age(at: int, now: int) -> str:
    """How long ago, in the largest useful unit."""
    past = max(0, now - at)
    if past < MINUTE:
        return translate("just now")
    if past < HOUR:
        return translate("{n} min ago", n=past // MINUTE)
    if past < DAY:
        return translate("{n} h ago", n=past // HOUR)
    days = (to_datetime(now).date() - to_datetime(at).date()).days
    if days <= 1:
        return translate("yesterday")
    return translate_count(days, "{n} day ago", "{n} days ago")


def time_left(until: int, now: int) -> str:
    """How much longer, rounded up."""
    rest = max(0, until - now)
    minutes = max(1, -(-rest // MINUTE))
    if minutes < 60:
        return translate("{n} min left", n=minutes)
    if minutes < 24 * 60:
        hours, minutes = divmod(minutes, 60)
        if minutes:
            return translate("{hours} h {minutes} min left", hours=hours, minutes=minutes)
        return translate("{n} h left", n=hours)
    return translate("until {moment}", moment=format_weekday_time(to_datetime(until)))


# What Fazm does at this moment. It is asked only while it runs, and not again soon if it does not answer

EVERY = 30_000_000  # microseconds
MOST_FAILURES = 2


@dataclass(frozen=True)
class FazmState:
    """Fazm's open windows, and the titles of those that work.

    `answers` is false if Fazm does not answer.
    """

    answers: bool = True
    windows: int = 0
    busy: tuple[str, ...] = ()


class FazmMonitor:
    """Asks Fazm for its open windows.

    `windows` returns None if Fazm does not answer. Not for the main thread.
    """

    def __init__(self, windows: Callable[[], Sequence[FazmWindow] | None]) -> None:
        self._windows = windows
        self._process: int | None = None
        self._asked: int | None = None
        self._failures = 0
        self._state: FazmState | None = None

    def look(self, process: int | None, now: int) -> FazmState | None:
        """The state of Fazm's process, or None if it does not run."""
        if process != self._process:
            self._process, self._asked, self._failures = process, None, 0
        if process is None:
            return None
        due = self._asked is None or not 0 <= now - self._asked < EVERY
        if due and self._failures < MOST_FAILURES:
            self._asked = now
            found = self._windows()
            self._failures = self._failures + 1 if found is None else 0
            self._state = FazmState(answers=False) if found is None else _state(found)
        return self._state


def _state(windows: Sequence[FazmWindow]) -> FazmState:
    return FazmState(True, len(windows), tuple(window.title for window in windows if window.busy))


# The status

LATEST = 12
OPEN_POINTS = 5


@dataclass(frozen=True)
class SessionLine:
    id: str
    title: str | None
    agent: str
    workspace: str | None
    folder: str | None
    last_at: int
    lifecycle: str = "active"
    actions: int = 0
    failures: int = 0
    files: int = 0
    device: str | None = None  # the machine that records it, if not this one


@dataclass(frozen=True)
class Question:
    session: str
    id: str
    note: str
    title: str | None = None


@dataclass(frozen=True)
class AgentLine:
    """An agent on this machine: its connection, last activity and problem."""

    name: str
    joined: str = ""
    heard: int | None = None
    trouble: str | None = None
    connectable: bool = False
    stale: bool = False  # connecting again repairs it


@dataclass(frozen=True)
class FrontApp:
    name: str
    bundle: str | None = None


@dataclass(frozen=True)
class Problem:
    """What is wrong and what to do about it."""

    what: str
    hint: str = ""
    permission: bool = False


@dataclass(frozen=True)
class SyncLine:
    """Sync with other machines: when it last worked, and what is wrong."""

    last_ok: int | None = None
    trouble: str | None = None


@dataclass(frozen=True)
class OpenPoint:
    """Something that the current thread has left to do."""

    text: str
    session: str
    seq: int


@dataclass(frozen=True)
class Update:
    """A newer version."""

    version: str
    notes: str = ""
    page: str = ""


@dataclass(frozen=True)
class SystemState:
    """What only the system knows.

    `permitted` and `login` are None where they do not apply.
    """

    front: FrontApp | None = None
    permitted: bool | None = None
    login: bool | None = None
    problems: tuple[Problem, ...] = ()
    fazm: FazmState | None = None


@dataclass(frozen=True)
class Status:
    now: int
    recording: bool = True
    paused_since: int | None = None
    paused_until: int | None = None
    attention: tuple[Problem, ...] = ()
    last_event: int | None = None
    sessions: tuple[SessionLine, ...] = ()
    questions: tuple[Question, ...] = ()
    yesterday_name: str = ""  # the last active day before today; empty before the first look
    yesterday: str = ""
    agents: tuple[AgentLine, ...] = ()
    front: FrontApp | None = None
    login: bool | None = None
    sync: SyncLine | None = None
    fazm: FazmState | None = None
    thread: str = ""  # what the current thread is about, in the words of the handover
    open_points: tuple[OpenPoint, ...] = ()
    update: Update | None = None
    updates_on: bool | None = None  # None: there is no feed


@dataclass(frozen=True)
class HandoverLines:
    """What the menu shows of the handover."""

    day: str
    yesterday: str
    now: str = ""
    open_points: tuple[OpenPoint, ...] = ()


# Rendering a context takes longer than the rest of the status, so it is done again only after a new event.
_handovers: WeakKeyDictionary[Memory, tuple[object, HandoverLines]] = WeakKeyDictionary()


def _handover(memory: Memory, sources: Mapping[str, tuple[int, str]]) -> HandoverLines:
    key = (sorted(sources.items()), to_datetime(memory.now()).date(), current_language())
    found = _handovers.get(memory)
    if found is None or found[0] != key:
        found = _handovers[memory] = key, _handover_lines(memory)
    return found[1]


def _handover_lines(memory: Memory) -> HandoverLines:
    day, summary = headline(memory.recall.digest())
    threads = memory.recall.present_context().data["threads"]
    if not threads:
        return HandoverLines(day, summary)
    current = threads[0]
    points = [OpenPoint(row["text"], row["session"], row["seq"]) for row in current["open"][:OPEN_POINTS]]
    about = current["branch"] or current["goal"]
    return HandoverLines(day, summary, label(about, 80, empty=""), tuple(points))


def gather_status(memory: Memory, system: SystemState) -> Status:
    """The status now. Errors of the store are shown in it."""
    now = memory.now()
    problems = list(system.problems)
    if system.permitted is False:
        what = translate("Windows and documents are not recorded: the permission is missing")
        hint = translate("System Settings → Privacy & Security → Accessibility. Everything else is recorded.")
        problems.append(Problem(what, hint, permission=True))
    more = translate("`fazm-memory doctor` checks everything.")
    try:
        recording = memory.recording.status()
        if (stopped := memory.recording.stopped_watcher()) is not None:
            problems.append(Problem(translate_filled(stopped), more))
        if (warning := memory.recording.quota()["warning"]) is not None:
            problems.append(Problem(translate_filled(warning), more))
        sources = memory.store.projections.sources()
        handover = _handover(memory, sources)
        newer = memory.updates.newer()
        agents = tuple(_agent(agent) for agent in agent_overviews(memory) if agent.here)
        return Status(
            now,
            bool(recording["recording"]),
            _moment(recording["paused_since"]),
            _moment(recording["paused_until"]),
            tuple(problems),
            max((at for at, _ in sources.values()), default=None),
            _sessions(memory),
            _questions(memory),
            handover.day,
            handover.yesterday,
            agents,
            _front(memory, system.front),
            system.login,
            _sync(memory),
            system.fazm,
            handover.now,
            handover.open_points,
            None if newer is None else Update(newer.version, newer.notes, newer.page),
            memory.updates.enabled() if memory.updates.available() else None,
        )
    except FazmMemoryError as error:
        what = f"{translate(error.title)}: {translate_filled(error.message)}"
        problems.append(Problem(what, translate_filled(error.hint)))
        return Status(now, False, attention=tuple(problems), login=system.login)


def _sessions(memory: Memory) -> tuple[SessionLine, ...]:
    home = str(memory.config.user_home)
    return tuple(
        SessionLine(
            row.id,
            row.title,
            row.agent,
            row.workspace,
            folder_label(row.workspace, home),
            row.last_at,
            row.lifecycle,
            row.actions,
            row.failures,
            row.files_modified,
            row.device_name or row.device,
        )
        for row in memory.store.sessions.listing(limit=LATEST)
    )


def _sync(memory: Memory) -> SyncLine | None:
    found = memory.sync.summary()
    if found is None:
        return None
    trouble = found["error"] or next(iter(found["problems"]), None)
    return SyncLine(_moment(found["last_ok"]), None if trouble is None else translate_filled(trouble))


def _questions(memory: Memory) -> tuple[Question, ...]:
    return tuple(
        Question(row["session"], row["id"], row["note"], row["title"]) for row in open_questions(memory.store)
    )


def _agent(agent: AgentOverview) -> AgentLine:
    joined = translate(agent.connection_text()) if agent.hooks or agent.mcp else ""
    heard = [parse_time(at) for at in (agent.last_hook, agent.last_record) if at is not None]
    trouble = None if agent.trouble is None else translate_filled(agent.trouble)
    return AgentLine(
        agent.agent, joined, max(heard, default=None), trouble, agent.agent in CONNECTABLE, agent.stale
    )


def _front(memory: Memory, front: FrontApp | None) -> FrontApp | None:
    """The front app, unless it is already excluded."""
    if front is None or memory.recording.exclusions().app(front.name, front.bundle):
        return None
    return front


def headline(digest: Digest) -> tuple[str, str]:
    """The name of the last active day before today, and a short summary of it."""
    # A session of that day that continued today is listed with today.
    before = [
        task for task in digest.tasks if task.also_on or (task.label != "earlier today" and task.worth >= 1.0)
    ]
    if not before:
        return translate("Yesterday"), ""
    day = (before[0].also_on or before[0].label).split(",")[0]
    titles = [label(task.session.title or (task.requests[0].text if task.requests else ""), 40, empty="")
              for task in before]  # fmt: skip
    named = _first_and_count([title for title in titles if title])
    return translate(day[0].upper() + day[1:]), named or translate_count(
        len(before), "{n} session", "{n} sessions"
    )


def _first_and_count(names: Sequence[str]) -> str:
    if len(names) <= 1:
        return "".join(names)
    more = translate_count(len(names) - 1, "and {n} more", "and {n} more sessions")
    return f"{names[0]}, {more}"


def _moment(text: str | None) -> int | None:
    return None if text is None else parse_time(text)


# Notifications


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

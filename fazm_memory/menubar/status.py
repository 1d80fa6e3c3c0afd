"""The status that the menu shows, read from the memory.

Reading may take a while, so it is never done on the main thread. What only the system knows (the front app, a
permission, the login item) is passed in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from weakref import WeakKeyDictionary

from fazm_memory.agents import CONNECTABLE
from fazm_memory.app import AgentOverview, Memory, agent_overviews
from fazm_memory.clock import parse_time, to_datetime
from fazm_memory.errors import FazmMemoryError
from fazm_memory.menubar.fazm_state import FazmState
from fazm_memory.menubar.labels import folder_label, label
from fazm_memory.recall import Digest
from fazm_memory.records import dataclass
from fazm_memory.store import open_questions
from fazm_memory.translation import current_language, translate, translate_count, translate_filled

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
    """An agent on this machine: how it is connected, when it was last active, any problem."""

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
    """What only the system knows. `permitted` and `login` are None where they do not apply."""

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
    threads = memory.recall.context().data["threads"]
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
    return SyncLine(_moment(found["last_ok"]), found["error"] or next(iter(found["problems"]), None))


def _questions(memory: Memory) -> tuple[Question, ...]:
    return tuple(
        Question(row["session"], row["id"], row["note"], row["title"]) for row in open_questions(memory.store)
    )


def _agent(agent: AgentOverview) -> AgentLine:
    joined = agent.connection_text() if agent.hooks or agent.mcp else ""
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

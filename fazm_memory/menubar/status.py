"""The status: all that the menu needs to know, gathered from memory by whoever may wait for it.

Reading takes as long as it takes, so it is never done on the thread that shows the menu. What the system
alone knows (the app in front, a permission, the login item) is handed in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fazm_memory.capture.agents.names import CONNECTABLE
from fazm_memory.errors import FazmMemoryError
from fazm_memory.joined import AgentHere, survey
from fazm_memory.log.overview import open_questions
from fazm_memory.memory import Memory
from fazm_memory.menubar.labels import counted, folder_label, label
from fazm_memory.model.clock import parse
from fazm_memory.recall.digest import Digest

LATEST = 12
PERMISSION = "windows and documents cannot be seen: the permission is missing"
PERMISSION_HINT = (
    "System Settings → Privacy & Security → Accessibility. Everything else is recorded meanwhile."
)


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


@dataclass(frozen=True)
class Question:
    session: str
    id: str
    note: str
    title: str | None = None


@dataclass(frozen=True)
class AgentLine:
    """An agent found here: how it is joined, when it was last heard, what is wrong with it."""

    name: str
    joined: str = ""
    heard: int | None = None
    trouble: str | None = None
    connectable: bool = False


@dataclass(frozen=True)
class App:
    name: str
    bundle: str | None = None


@dataclass(frozen=True)
class Trouble:
    """Why a person should look: what is wrong, and what to do about it."""

    what: str
    hint: str = ""
    permission: bool = False


@dataclass(frozen=True)
class Surroundings:
    """What only the system knows. `permitted` and `login` are None where there is nothing to say."""

    front: App | None = None
    permitted: bool | None = None
    login: bool | None = None
    troubles: tuple[Trouble, ...] = ()


@dataclass(frozen=True)
class Status:
    now: int
    recording: bool = True
    paused_since: int | None = None
    paused_until: int | None = None
    attention: tuple[Trouble, ...] = ()
    last_event: int | None = None
    sessions: tuple[SessionLine, ...] = ()
    questions: tuple[Question, ...] = ()
    yesterday_name: str = "Yesterday"
    yesterday: str = ""
    agents: tuple[AgentLine, ...] = ()
    front: App | None = None
    login: bool | None = None


def gather(memory: Memory, around: Surroundings) -> Status:
    """The status now. Trouble with the store is something to show, not a reason to show nothing."""
    now = memory.now()
    troubles = list(around.troubles)
    if around.permitted is False:
        troubles.append(Trouble(PERMISSION, PERMISSION_HINT, permission=True))
    try:
        recording = memory.recording()
        name, headline = _yesterday(memory)
        agents = tuple(_agent(one) for one in survey(memory) if one.here)
        return Status(
            now,
            bool(recording["recording"]),
            _moment(recording["paused_since"]),
            _moment(recording["paused_until"]),
            tuple(troubles),
            max((at for at, _ in memory.store.follower.sources().values()), default=None),
            _sessions(memory),
            _questions(memory),
            name,
            headline,
            agents,
            _front(memory, around.front),
            around.login,
        )
    except FazmMemoryError as error:
        troubles.append(Trouble(f"{error.title}: {error.message}", error.hint))
        return Status(now, False, attention=tuple(troubles), login=around.login)


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
        )
        for row in memory.store.sessions.listing(limit=LATEST)
    )


def _questions(memory: Memory) -> tuple[Question, ...]:
    return tuple(
        Question(one["session"], one["id"], one["note"], one["title"]) for one in open_questions(memory.store)
    )


def _agent(one: AgentHere) -> AgentLine:
    joined = one.joined_words() if one.hooks or one.mcp else ""
    heard = [parse(at) for at in (one.last_hook, one.last_record) if at is not None]
    return AgentLine(
        one.agent, joined, max(heard, default=None), one.trouble, connectable=one.agent in CONNECTABLE
    )


def _front(memory: Memory, front: App | None) -> App | None:
    """The app in front, unless it is not recorded anyway."""
    if front is None or memory.exclusions().app(front.name, front.bundle):
        return None
    return front


def _yesterday(memory: Memory) -> tuple[str, str]:
    return headline(memory.digest())


def headline(told: Digest) -> tuple[str, str]:
    """The name of the last active day before today, and what was done on it, in a few words."""
    # A session of that day that went on today is told of with today.
    before = [
        task for task in told.tasks if task.also_on or (task.label != "earlier today" and task.worth >= 1.0)
    ]
    if not before:
        return "Yesterday", ""
    day = (before[0].also_on or before[0].label).split(",")[0]
    asked = [label(task.session.title or (task.requests[0].text if task.requests else ""), 40, empty="")
             for task in before]  # fmt: skip
    named = _some([one for one in asked if one])
    return day[0].upper() + day[1:], named or counted(len(before), "session")


def _some(names: Sequence[str]) -> str:
    if len(names) <= 1:
        return "".join(names)
    return f"{names[0]}, and {counted(len(names) - 1, 'more session')}".replace("1 more session", "1 more")


def _moment(text: str | None) -> int | None:
    return None if text is None else parse(text)

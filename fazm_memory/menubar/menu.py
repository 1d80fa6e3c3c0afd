"""The menu as a pure value, made from a status: what stands where, in which words, and what a click means.

Nothing here knows a system. An item's `id` says what it is whatever its words are, so that whoever shows the
menu can change what is different and leave the rest alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from fazm_memory.menubar.labels import age, counted, label, left
from fazm_memory.menubar.status import AgentLine, Question, SessionLine, Status

Icon = Literal["recording", "paused", "attention"]
Verb = Literal[
    "about", "answer", "connect", "context.copy", "context.open", "exclude", "forget", "login", "open",
    "pause", "permissions", "quit", "record", "resume", "search", "settings", "timeline", "why", "yesterday",
]  # fmt: skip

LATEST = 6  # sessions
QUESTIONS = 4
PAUSES = (("15m", "15 Minutes"), ("1h", "1 Hour"), ("tomorrow", "Until Tomorrow"), ("", "Until I Resume"))
PERIODS = (("5m", "Last 5 Minutes"), ("1h", "Last Hour"), ("today", "Today"))


@dataclass(frozen=True)
class Command:
    """What a click means: a verb and what it is about."""

    verb: Verb
    about: str = ""
    more: str = ""


@dataclass(frozen=True)
class Entry:
    """One line of the menu. Without a command and without entries of its own it only says something."""

    id: str
    title: str
    command: Command | None = None
    entries: tuple[Entry, ...] = ()
    checked: bool = False
    key: str = ""
    hint: str = ""


@dataclass(frozen=True)
class Line:
    """A line between groups."""

    id: str
    title: str = ""


@dataclass(frozen=True)
class Menu:
    icon: Icon
    hint: str  # what the icon says to whoever rests on it, or has it read aloud
    rows: tuple[Entry | Line, ...]

    def commands(self) -> dict[str, Command]:
        """Every command by the id of its entry."""
        found: dict[str, Command] = {}
        waiting: list[Entry | Line] = list(self.rows)
        while waiting:
            one = waiting.pop()
            if isinstance(one, Entry):
                waiting += one.entries
                if one.command is not None:
                    found[one.id] = one.command
        return found


def menu(status: Status) -> Menu:
    """What the menu bar shows for a status."""
    icon: Icon = "attention" if status.attention else "recording" if status.recording else "paused"
    groups = (
        _state(status),
        _questions(status),
        _sessions(status),
        _looking(status),
        _recording(status),
        _about_us(status),
        (Entry("quit", "Quit Fazm Memory (Recording Stops)", Command("quit"), key="q"),),
    )
    rows: list[Entry | Line] = []
    for number, group in enumerate(one for one in groups if one):
        if number:
            rows.append(Line(f"line-{group[0].id}"))
        rows += group
    return Menu(icon, f"Fazm Memory: {_state_words(status)}", tuple(rows))


# -- groups ----------------------------------------------------------------------------------------------


def _state_words(status: Status) -> str:
    if status.attention:
        return f"attention: {label(status.attention[0].what, 60)}"
    if status.recording:
        return "recording"
    if status.paused_until is None:
        return "paused until you resume"
    return f"paused, {left(status.paused_until, status.now)}"


def _state(status: Status) -> tuple[Entry, ...]:
    words = _state_words(status)
    last = "nothing recorded yet"
    if status.last_event is not None:
        last = f"last event {age(status.last_event, status.now)}"
    rows = [Entry("state", words[0].upper() + words[1:]), Entry("last", last[0].upper() + last[1:])]
    for number, trouble in enumerate(status.attention):
        command = Command("permissions") if trouble.permission else Command("why", trouble.what, trouble.hint)
        title = "Fix Permissions…" if trouble.permission else f"⚠ {label(trouble.what, 60)}"
        id_ = "permissions" if trouble.permission else f"trouble-{number}"
        rows.append(Entry(id_, title, command, hint=trouble.hint))
    return tuple(rows)


def _questions(status: Status) -> tuple[Entry, ...]:
    shown = [_question(one) for one in status.questions[:QUESTIONS]]
    more = len(status.questions) - len(shown)
    if more > 0:
        shown.append(Entry("questions-more", f"{counted(more, 'more question')}…", Command("timeline")))
    return tuple(shown)


def _question(one: Question) -> Entry:
    about = label(one.title, 30)
    return Entry(
        f"question-{one.session}-{one.id}",
        f"? {label(one.note, 60, empty='A question')}",
        Command("answer", one.session, one.id),
        hint=f"{about} waits for your answer",
    )


def _sessions(status: Status) -> tuple[Entry, ...]:
    if not status.sessions:
        return (Entry("sessions-none", "No session yet: start an agent, and it appears here"),)
    last, *others = status.sessions[:LATEST]
    rows = [
        Entry(
            "resume",
            f"Resume “{label(last.title)}”",
            Command("resume", last.id),
            key="r",
            hint=f"{_where(last)}, {age(last.last_at, status.now)}",
        )
    ]
    latest = [_session(one, status.now) for one in (last, *others)]
    return (*rows, Entry("sessions", "Latest Sessions", entries=tuple(latest)))


def _session(one: SessionLine, now: int) -> Entry:
    title = " · ".join((label(one.title), *filter(None, (one.folder,)), age(one.last_at, now)))
    id_ = f"session-{one.id}"
    does = (
        Entry(f"{id_}-resume", "Resume", Command("resume", one.id)),
        Entry(f"{id_}-open", "Show in Timeline", Command("open", one.id)),
    )
    return Entry(id_, title, entries=does, hint=_where(one))


def _where(one: SessionLine) -> str:
    return label(f"{one.agent} in {one.workspace}" if one.workspace else one.agent, 120)


def _looking(status: Status) -> tuple[Entry, ...]:
    yesterday = label(status.yesterday, 60, empty="nothing recorded")
    return (
        Entry("timeline", "Timeline…", Command("timeline"), key="t"),
        Entry("search", "Search…", Command("search"), key="f"),
        Entry("yesterday", f"{status.yesterday_name}: {yesterday}", Command("yesterday")),
        Entry("context.copy", "Copy Context", Command("context.copy"), key="c"),
        Entry("context.open", "Open Context File", Command("context.open")),
    )


def _recording(status: Status) -> tuple[Entry, ...]:
    rows = []
    if not status.recording:
        rows.append(Entry("record", "Resume Recording", Command("record")))
    pauses = [Entry(f"pause-{span or 'open'}", title, Command("pause", span)) for span, title in PAUSES]
    rows.append(Entry("pause", "Pause Recording" if status.recording else "Pause For", entries=tuple(pauses)))
    front = status.front
    if front is not None:
        name = label(front.name, 30)
        rows.append(
            Entry("exclude", f"Don’t Record {name}", Command("exclude", front.name, front.bundle or ""))
        )
    periods = [Entry(f"forget-{span}", title, Command("forget", span)) for span, title in PERIODS]
    return (*rows, Entry("forget", "Forget", entries=tuple(periods)))


def _about_us(status: Status) -> tuple[Entry, ...]:
    agents = [_agent(one, status.now) for one in status.agents]
    none = (Entry("agents-none", "No agent was found on this Mac"),)
    rows = [
        Entry("agents", "Connected Agents", entries=tuple(agents) or none),
        Entry("settings", "Settings…", Command("settings"), key=","),
    ]
    if status.login is not None:
        rows.append(
            Entry("login", "Launch at Login", Command("login", "" if status.login else "on"),
                  checked=status.login)
        )  # fmt: skip
    return (*rows, Entry("about", "About Fazm Memory", Command("about")))


def _agent(one: AgentLine, now: int) -> Entry:
    heard = f", heard {age(one.heard, now)}" if one.heard is not None else ""
    if one.trouble:
        health = f"⚠ {label(one.trouble, 60)}"
        command: Command | None = Command("why", f"{one.name}: {one.trouble}")
    elif one.joined:
        health, command = f"connected by {label(one.joined, 30)}{heard}", None
    elif one.connectable:
        health, command = "not connected: connect…", Command("connect", one.name)
    else:
        health, command = f"read from its records{heard}", None
    return Entry(f"agent-{one.name}", f"{label(one.name, 20)}: {health}", command)

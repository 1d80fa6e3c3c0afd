"""The menu as a value, built from a status.

Independent of the system. The `id` of an entry does not depend on its text, so that the menu can be updated
by difference.
"""

from __future__ import annotations

from typing import Literal

from fazm_memory.menubar.status import (
    AgentLine,
    FazmState,
    Question,
    SessionLine,
    Status,
    SyncLine,
    age,
    label,
    time_left,
)
from fazm_memory.records import dataclass
from fazm_memory.translation import translate, translate_count

Icon = Literal["recording", "paused", "attention"]
Verb = Literal[
    "about", "answer", "connect", "context.copy", "context.open", "exclude", "forget", "login", "open",
    "pause", "permissions", "quit", "record", "resume", "resume.last", "search", "settings", "setup",
    "timeline", "update", "updates", "why", "yesterday",
]  # fmt: skip

LATEST = 6  # sessions
QUESTIONS = 4
# Symbols that a screen reader would name one by one, and what separates parts of a title.
SYMBOLS = str.maketrans({"⚠": "", "·": ",", "“": "", "”": "", "„": "", "…": ""})


@dataclass(frozen=True)
class Command:
    """What a click does: a verb and its arguments."""

    verb: Verb
    about: str = ""
    more: str = ""


@dataclass(frozen=True)
class MenuEntry:
    """A line of the menu. Without a command and entries it is only text."""

    id: str
    title: str
    command: Command | None = None
    entries: tuple[MenuEntry, ...] = ()
    checked: bool = False
    key: str = ""
    hint: str = ""

    @property
    def spoken(self) -> str:
        """What a screen reader says.

        The title in words, and whether it is a problem or a question.
        """
        words = " ".join(self.title.removeprefix("?").translate(SYMBOLS).split()).replace(" ,", ",")
        if self.title.startswith("⚠"):
            return translate("Problem: {what}", what=words)
        if self.title.startswith("?"):
            return translate("Question: {what}", what=words)
        return words


@dataclass(frozen=True)
class Separator:
    """A line between groups."""

    id: str
    title: str = ""


@dataclass(frozen=True)
class Menu:
    icon: Icon
    hint: str  # the icon's tooltip and accessibility label
    rows: tuple[MenuEntry | Separator, ...]

    def commands(self) -> dict[str, Command]:
        """All commands by the id of their entry."""
        found: dict[str, Command] = {}
        waiting: list[MenuEntry | Separator] = list(self.rows)
        while waiting:
            row = waiting.pop()
            if isinstance(row, MenuEntry):
                waiting += row.entries
                if row.command is not None:
                    found[row.id] = row.command
        return found


def build_menu(status: Status) -> Menu:
    icon: Icon = "attention" if status.attention else "recording" if status.recording else "paused"
    groups = (
        _state(status),
        _questions(status),
        _thread(status),
        _sessions(status),
        _views(status),
        _recording(status),
        _app(status),
        (MenuEntry("quit", translate("Quit Fazm Memory (Recording Stops)"), Command("quit"), key="q"),),
    )
    rows: list[MenuEntry | Separator] = []
    for number, group in enumerate(group for group in groups if group):
        if number:
            rows.append(Separator(f"line-{group[0].id}"))
        rows += group
    return Menu(icon, f"Fazm Memory: {_state_words(status)}", tuple(rows))


# -- groups ----------------------------------------------------------------------------------------------


def _state_words(status: Status) -> str:
    if status.attention:
        return translate("attention: {what}", what=label(status.attention[0].what, 60))
    if status.recording:
        return translate("recording")
    if status.paused_until is None:
        return translate("paused until you resume")
    return translate("paused, {left}", left=time_left(status.paused_until, status.now))


def _state(status: Status) -> tuple[MenuEntry, ...]:
    words = _state_words(status)
    last = translate("nothing recorded yet")
    if status.last_event is not None:
        last = translate("last event {age}", age=age(status.last_event, status.now))
    rows = [MenuEntry("state", words[0].upper() + words[1:]), MenuEntry("last", last[0].upper() + last[1:])]
    if status.sync is not None:
        rows.append(_sync(status.sync, status.now))
    for number, trouble in enumerate(status.attention):
        command = Command("permissions") if trouble.permission else Command("why", trouble.what, trouble.hint)
        fix = translate("Fix Permissions…")
        title = fix if trouble.permission else f"⚠ {label(trouble.what, 60)}"
        id_ = "permissions" if trouble.permission else f"trouble-{number}"
        rows.append(MenuEntry(id_, title, command, hint=trouble.hint))
    if status.fazm is not None:
        rows.append(MenuEntry("fazm", _fazm_words(status.fazm)))
    if status.update is not None:
        title = translate("Version {version} is available…", version=status.update.version)
        rows.append(
            MenuEntry("update", title, Command("update"), hint=label(status.update.notes, 200, empty=""))
        )
    return tuple(rows)


def _fazm_words(fazm: FazmState) -> str:
    if not fazm.answers:
        return translate("Fazm is running")
    if not fazm.busy:
        return translate_count(fazm.windows, "Fazm is idle, {n} window", "Fazm is idle, {n} windows")
    first = label(fazm.busy[0], 40)
    if len(fazm.busy) == 1:
        return translate("Fazm is working: “{title}”", title=first)
    more = len(fazm.busy) - 1
    return translate_count(
        more,
        "Fazm is working: “{title}” and {n} more",
        "Fazm is working: “{title}” and {n} more",
        title=first,
    )


def _thread(status: Status) -> tuple[MenuEntry, ...]:
    """The handover's headline, and what the current thread has left to do."""
    if not status.thread:
        return ()
    rows = [MenuEntry("thread", translate("Now: {what}", what=label(status.thread, 70)), hint=status.thread)]
    points = [
        MenuEntry(
            f"open-{point.session}-{point.seq}",
            label(point.text, 70),
            Command("open", point.session, str(point.seq)),
            hint=label(point.text, 300),
        )
        for point in status.open_points
    ]
    if points:
        count = translate_count(len(points), "{n} Open Point", "{n} Open Points")
        rows.append(MenuEntry("open-points", count, entries=tuple(points)))
    return tuple(rows)


def _sync(sync: SyncLine, now: int) -> MenuEntry:
    """When sync last worked. What is wrong is shown on a click."""
    worked = translate("Not Synced Yet")
    if sync.last_ok is not None:
        worked = translate("Synced {age}", age=age(sync.last_ok, now))
    if sync.trouble is None:
        return MenuEntry("sync", worked)
    hint = translate("{state}. `fazm-memory sync status` says more.", state=worked)
    return MenuEntry(
        "sync",
        f"⚠ {translate('Sync: {what}', what=label(sync.trouble, 60))}",
        Command("why", sync.trouble, hint),
        hint=hint,
    )


def _questions(status: Status) -> tuple[MenuEntry, ...]:
    shown = [_question(question) for question in status.questions[:QUESTIONS]]
    more = len(status.questions) - len(shown)
    if more > 0:
        shown.append(
            MenuEntry(
                "questions-more",
                translate_count(more, "{n} more question…", "{n} more questions…"),
                Command("timeline"),
            )
        )
    return tuple(shown)


def _question(question: Question) -> MenuEntry:
    about = label(question.title, 30)
    return MenuEntry(
        f"question-{question.session}-{question.id}",
        f"? {label(question.note, 60, empty=translate('A question'))}",
        Command("answer", question.session, question.id),
        hint=translate("{title} is waiting for your answer", title=about),
    )


def _sessions(status: Status) -> tuple[MenuEntry, ...]:
    if not status.sessions:
        return (
            MenuEntry("sessions-none", translate("No session yet. Start an agent, and it appears here.")),
        )
    last, *others = status.sessions[:LATEST]
    rows = [
        MenuEntry(
            "resume",
            translate("Resume “{title}”", title=label(last.title)),
            Command("resume", last.id),
            key="r",
            hint=f"{_where(last)}, {age(last.last_at, status.now)}",
        )
    ]
    latest = [_session(session, status.now) for session in (last, *others)]
    return (*rows, MenuEntry("sessions", translate("Latest Sessions"), entries=tuple(latest)))


def _session(session: SessionLine, now: int) -> MenuEntry:
    on = None if session.device is None else translate("on {machine}", machine=label(session.device, 28))
    title = " · ".join((label(session.title), *filter(None, (session.folder, on)), age(session.last_at, now)))
    id_ = f"session-{session.id}"
    actions = (
        MenuEntry(f"{id_}-resume", translate("Resume"), Command("resume", session.id)),
        MenuEntry(f"{id_}-open", translate("Show in Timeline"), Command("open", session.id)),
    )
    return MenuEntry(id_, title, entries=actions, hint=_where(session))


def _where(session: SessionLine) -> str:
    if not session.workspace:
        return label(session.agent, 120)
    return label(translate("{agent} in {folder}", agent=session.agent, folder=session.workspace), 120)


def _views(status: Status) -> tuple[MenuEntry, ...]:
    day = status.yesterday_name or translate("Yesterday")
    yesterday = label(status.yesterday, 60, empty=translate("nothing recorded"))
    return (
        MenuEntry("timeline", translate("Timeline…"), Command("timeline"), key="t"),
        MenuEntry("search", translate("Search…"), Command("search"), key="f"),
        MenuEntry("yesterday", f"{day}: {yesterday}", Command("yesterday")),
        MenuEntry("context.copy", translate("Copy Context"), Command("context.copy"), key="c"),
        MenuEntry("context.open", translate("Open Context File"), Command("context.open")),
    )


def _recording(status: Status) -> tuple[MenuEntry, ...]:
    rows = []
    if not status.recording:
        rows.append(MenuEntry("record", translate("Resume Recording"), Command("record")))
    spans = (
        ("15m", translate("15 Minutes")),
        ("1h", translate("1 Hour")),
        ("tomorrow", translate("Until Tomorrow")),
        ("", translate("Until I Resume")),
    )
    pauses = [MenuEntry(f"pause-{span or 'open'}", title, Command("pause", span)) for span, title in spans]
    pause = translate("Pause Recording") if status.recording else translate("Pause For")
    rows.append(MenuEntry("pause", pause, entries=tuple(pauses)))
    front = status.front
    if front is not None:
        name = label(front.name, 30)
        rows.append(
            MenuEntry(
                "exclude",
                translate("Don’t Record {app}", app=name),
                Command("exclude", front.name, front.bundle or ""),
            )
        )
    past = (
        ("5m", translate("Last 5 Minutes")),
        ("1h", translate("Last Hour")),
        ("today", translate("Today")),
    )
    periods = [MenuEntry(f"forget-{span}", title, Command("forget", span)) for span, title in past]
    return (*rows, MenuEntry("forget", translate("Forget"), entries=tuple(periods)))


def _app(status: Status) -> tuple[MenuEntry, ...]:
    agents = [_agent(agent, status.now) for agent in status.agents]
    none = (MenuEntry("agents-none", translate("No agent was found on this Mac")),)
    rows = [
        MenuEntry("agents", translate("Connected Agents"), entries=tuple(agents) or none),
        MenuEntry("settings", translate("Settings…"), Command("settings"), key=","),
        MenuEntry("setup", translate("Set Up…"), Command("setup")),
    ]
    if status.login is not None:
        rows.append(
            MenuEntry("login", translate("Launch at Login"), Command("login", "" if status.login else "on"),
                  checked=status.login)
        )  # fmt: skip
    if status.updates_on is not None:
        rows.append(
            MenuEntry(
                "updates",
                translate("Look for Updates"),
                Command("updates", "" if status.updates_on else "on"),
                checked=status.updates_on,
            )
        )
    return (*rows, MenuEntry("about", translate("About Fazm Memory"), Command("about")))


def _agent(agent: AgentLine, now: int) -> MenuEntry:
    heard = ""
    if agent.heard is not None:
        heard = translate(", last active {age}", age=age(agent.heard, now))
    if agent.trouble:
        health = f"⚠ {label(agent.trouble, 60)}"
        command: Command | None = Command("why", f"{agent.name}: {agent.trouble}")
        if agent.stale:
            command = Command("connect", agent.name)
    elif agent.joined:
        health, command = translate("connected by {how}", how=label(agent.joined, 30)) + heard, None
    elif agent.connectable:
        health, command = translate("not connected: connect…"), Command("connect", agent.name)
    else:
        health, command = translate("read from its transcripts") + heard, None
    return MenuEntry(f"agent-{agent.name}", f"{label(agent.name, 20)}: {health}", command)

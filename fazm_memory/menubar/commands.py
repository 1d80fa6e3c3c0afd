"""What the menu's commands do.

What only the system can do (a window, the clipboard, a dialog) is behind `SystemActions`. Everything here
runs on the worker thread, which may wait. Errors are shown to the user.
"""

from __future__ import annotations

import queue
import re
import secrets
import shlex
import threading
from collections.abc import Callable, Mapping
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import Any, Literal, Protocol
from urllib.parse import quote

from fazm_memory.agents import Resumed, apply_plan, fazm_sessions, plan_connect
from fazm_memory.app import Memory, connection_setup
from fazm_memory.clock import to_datetime, to_micros
from fazm_memory.errors import InvalidInput, InvalidTransition
from fazm_memory.lazy import lazy_regex
from fazm_memory.menubar.menu import Command
from fazm_memory.menubar.status import HOUR, MINUTE, label
from fazm_memory.paths import CONTEXT_FOLDER as CONTEXT
from fazm_memory.paths import private_folder, write_private
from fazm_memory.recall import context_file_name
from fazm_memory.records import dataclass
from fazm_memory.translation import translate, translate_count, translate_filled

# Terminals in which a session can be resumed, and the script that one runs

SCRIPT_FOLDER = "resume"


@dataclass(frozen=True)
class Terminal:
    """A terminal app, and the arguments before the script.

    None: the app opens the script as a document.
    """

    bundle: str
    arguments: tuple[str, ...] | None = None


TERMINALS: dict[str, Terminal] = {
    "terminal": Terminal("com.apple.Terminal"),
    "iterm2": Terminal("com.googlecode.iterm2"),
    "warp": Terminal("dev.warp.Warp-Stable"),
    "ghostty": Terminal("com.mitchellh.ghostty", ("-e",)),
    "wezterm": Terminal("com.github.wez.wezterm", ("start", "--")),
    "kitty": Terminal("net.kovidgoyal.kitty", ()),
}

# zsh and bash read the command like sh. Another shell, such as fish, may not, so it only starts sh, which
# then has the PATH of the login shell.
SCRIPT = """\
#!/bin/sh
# Written by Fazm Memory to resume a session. It removes itself.
rm -f -- "$0"
{cd}FAZM_MEMORY_RESUME={command}
case "${{SHELL##*/}}" in
    zsh | bash) exec "$SHELL" -l -i -c "$FAZM_MEMORY_RESUME" ;;
esac
export FAZM_MEMORY_RESUME
exec "${{SHELL:-/bin/sh}}" -l -c 'exec /bin/sh -c "$FAZM_MEMORY_RESUME"'
"""


def script(command: str, cwd: str | None) -> str:
    """A script for a terminal. `command` must be quoted already."""
    program = shlex.split(command)[0]
    missing = quoted(translate("{program} was not found. The briefing is on the clipboard.", program=program))
    whole = f"{command}\ncode=$?\n[ $code -ne 127 ] || echo {missing}\nexit $code"
    cd = "" if cwd is None else f"cd -- {quoted(cwd)} || exit 1\n"
    return SCRIPT.format(cd=cd, command=quoted(whole))


def quoted(text: str) -> str:
    """The text as one word for `sh`, without NUL, which no argument can hold."""
    return shlex.quote(text.replace("\0", ""))


def keep_script(home: Path, text: str) -> Path:
    """Write the script to a private file with a random name."""
    folder = private_folder(home / SCRIPT_FOLDER)
    for old in folder.glob("*.command"):  # scripts that no terminal has run
        old.unlink(missing_ok=True)
    path = folder / f"resume-{secrets.token_hex(8)}.command"
    write_private(path, text.encode("utf-8", "surrogateescape"), sync=False)
    path.chmod(0o700)
    return path


# Links

SCHEME = "fazm-memory"
LONGEST = 200
_LINK = lazy_regex(
    r"fazm-memory://(resume|open)/([0-9A-Za-z][0-9A-Za-z_-]{3,127})/?(?:@(\d{1,9}))?", re.ASCII
)


@dataclass(frozen=True)
class Link:
    verb: Literal["resume", "open"]
    session: str
    seq: int | None = None


def parse_link(text: str) -> Link | None:
    """Parse a `fazm-memory://` link. None if it is not exactly of our form."""
    found = _LINK.fullmatch(text) if len(text) <= LONGEST else None
    if found is None:
        return None
    verb: Literal["resume", "open"] = "resume" if found[1] == "resume" else "open"
    return Link(verb, found[2], None if found[3] is None else int(found[3]))


# Commands

SOURCE = "menubar"
SPANS = {"5m": 5 * MINUTE, "15m": 15 * MINUTE, "1h": HOUR}
MORNING = 6  # "until tomorrow" ends at this hour, not at midnight
MOST_SHOWN = 1500  # characters of a diff in a dialog


class SystemActions(Protocol):
    """What only the system can do.

    Calls may block and are never made on the main thread.
    """

    def show(self, route: str) -> None:
        """Show the timeline window at a route of the page."""

    def copy(self, text: str) -> None:
        """Put text on the clipboard."""

    def open_file(self, path: Path) -> None:
        """Open a file as a double click would."""

    def open_page(self, address: str) -> None:
        """Open a page of the web in the user's browser."""

    def run_in_terminal(self, script: Path, terminal: str) -> None:
        """Run a script in a terminal.

        `terminal` is a name of `TERMINALS`, or "auto" for the system's own choice.
        """

    def resume_in_fazm(self, session_key: str, folder: str | None, first_message: str) -> Resumed:
        """Continue in the session's window of Fazm, or in a new one.

        A new window starts with the first message.
        """

    def tell(self, title: str, text: str) -> None:
        """Show a message."""

    def ask(self, title: str, text: str, yes: str) -> bool:
        """Ask for a confirmation."""

    def ask_words(self, title: str, text: str) -> str | None:
        """Ask for a text. None if the user cancels."""

    def about(self) -> None:
        """Show the version and the copyright."""

    def login(self, on: bool) -> str:
        """Turn launch at login on or off.

        Returns a message for the user, or an empty string.
        """

    def permissions(self) -> None:
        """Open the system settings for permissions."""

    def quit(self) -> None:
        """Quit the app."""


def perform(command: Command, memory: Memory, system: SystemActions) -> None:
    HANDLERS[command.verb](command, memory, system)


# -- sessions --------------------------------------------------------------------------------------------


def _resume(command: Command, memory: Memory, system: SystemActions) -> None:
    """Resume in the best way that works. An open question to the user comes first."""
    try:
        memory.sessions.check_answered(command.about)
    except InvalidTransition as refused:
        if not system.ask(translate(refused.title), translate_filled(refused.message), translate("Answer")):
            return
        questions = memory.sessions.questions(memory.store.sessions.resolve(command.about))
        for question in [name for name, asked in questions.items() if asked["to"] == "human"]:
            _answer(Command("answer", command.about, question), memory, system)
    session, made = memory.recall.resume(command.about, source=SOURCE, at_work=True)
    briefing, name = made.text, label(session["title"])
    for option in memory.recall.resume_options(session["id"], briefing):
        why = f"{name}: {translate(option.template, reason=translate_filled(option.reason))}."
        if option.fazm_message:
            key = _fazm_session_key(memory, command.about)
            how = system.resume_in_fazm(key, option.folder, option.fazm_message)
            if how != "no answer":
                if how == "exact":
                    why = f"{name}: {translate('in its own window')}."
                system.tell(translate("Continued in Fazm"), why)
                return
        elif option.command is not None:
            system.copy(briefing)  # for the case that the program is missing
            path = keep_script(memory.config.home, script(option.command, option.folder))
            system.run_in_terminal(path, memory.config.terminal)
            if option.method == "briefing":
                system.tell(translate("A new session with a briefing"), why)
            return
        else:
            system.copy(briefing)
            system.tell(translate("The briefing is on the clipboard"), why)
            return


def _resume_last(command: Command, memory: Memory, system: SystemActions) -> None:
    """Resume the latest session, after asking.

    A shortcut may be pressed by mistake.
    """
    rows = memory.store.sessions.listing(limit=1)
    if not rows:
        system.tell(translate("There is no session yet"), translate("Start an agent, and it appears here."))
        return
    title = translate("Resume “{title}”?", title=label(rows[0].title))
    if system.ask(title, translate("The shortcut for resuming was pressed."), translate("Resume")):
        _resume(Command("resume", rows[0].id), memory, system)


def _fazm_session_key(memory: Memory, session: str) -> str:
    """The name of the session's window in Fazm.

    Empty if Fazm has forgotten the session.
    """
    row = memory.store.sessions.resolve(session)
    listed = fazm_sessions(connection_setup(memory.config).places).get(row.agent_session_id or "")
    return "" if listed is None else listed.session_key


def _open(command: Command, memory: Memory, system: SystemActions) -> None:
    session = memory.sessions.get(command.about)["id"]
    system.show(f"#/s/{quote(session, safe='')}" + (f"@{command.more}" if command.more else ""))


def _answer(command: Command, memory: Memory, system: SystemActions) -> None:
    asked = memory.sessions.questions(memory.store.sessions.resolve(command.about)).get(command.more)
    if asked is None:
        system.tell(translate("That question is no longer open"), translate("It was answered meanwhile."))
        return
    words = system.ask_words(translate("An agent asks"), str(asked["note"]))
    if words is not None and words.strip():
        memory.sessions.answer(command.about, command.more, words.strip(), source=SOURCE)


# -- timeline and context --------------------------------------------------------------------------------


def _timeline(command: Command, memory: Memory, system: SystemActions) -> None:
    system.show("#/")


def _search(command: Command, memory: Memory, system: SystemActions) -> None:
    system.show("#/?search")


def _yesterday(command: Command, memory: Memory, system: SystemActions) -> None:
    rows = memory.store.sessions.listing(limit=50)
    today = to_datetime(memory.now()).date()
    before = [day for row in rows if (day := to_datetime(row.last_at).date()) < today]
    system.show(f"#/day/{max(before, default=today - timedelta(days=1)):%Y-%m-%d}")


def _settings(command: Command, memory: Memory, system: SystemActions) -> None:
    system.show("#/settings")


def _copy_context(command: Command, memory: Memory, system: SystemActions) -> None:
    context = memory.recall.context()
    system.copy(context.text)
    system.tell(translate("The context is on the clipboard"), translate("A new session would get this text."))


def _open_context(command: Command, memory: Memory, system: SystemActions) -> None:
    memory.recall.export_contexts()
    path = memory.config.home / CONTEXT / f"{context_file_name(None)}.md"
    if path.exists():
        system.open_file(path)
    else:
        system.tell(
            translate("There is no context file"), translate("None is written while recording is paused.")
        )


def _why(command: Command, memory: Memory, system: SystemActions) -> None:
    system.tell(command.about, command.more or translate("Run `fazm-memory doctor` for details."))


def _about(command: Command, memory: Memory, system: SystemActions) -> None:
    system.about()


# -- recording -------------------------------------------------------------------------------------------


def _pause(command: Command, memory: Memory, system: SystemActions) -> None:
    memory.recording.pause(pause_length(command.about, memory.now()))


def pause_length(span: str, now: int) -> int | None:
    """Length of a pause in microseconds. None means until the user resumes."""
    if span == "tomorrow":
        day = to_datetime(now).date() + timedelta(days=1)
        return to_micros(datetime.combine(day, time(MORNING)).astimezone()) - now
    return SPANS[span] if span else None


def _record(command: Command, memory: Memory, system: SystemActions) -> None:
    memory.recording.resume()


def _exclude(command: Command, memory: Memory, system: SystemActions) -> None:
    memory.recording.exclude_app(command.about, command.more or None)
    system.tell(
        translate("{app} is no longer recorded", app=label(command.about, 40)),
        translate("Earlier recordings are kept. Forget deletes them. Settings lists all excluded apps."),
    )


def _forget(command: Command, memory: Memory, system: SystemActions) -> None:
    """Show how much it is, ask, then delete it."""
    since, question, nothing = forget_since(command.about, memory.now())
    plan = memory.maintenance.forget(since=since, dry_run=True)
    if not plan["events"]:
        system.tell(translate("There is nothing to forget"), nothing)
        return
    text = translate("{what} will be deleted. This cannot be undone.", what=_amount(plan))
    if system.ask(question, text, translate("Forget")):
        done = memory.maintenance.forget(since=since, source=SOURCE)
        system.tell(translate("Forgotten"), f"{_amount(done)}.")


def _amount(forgotten: Mapping[str, Any]) -> str:
    """How many events of how many sessions."""
    events = translate_count(forgotten["events"], "{n} event", "{n} events")
    return translate_count(
        forgotten["sessions"], "{events} of {n} session", "{events} of {n} sessions", events=events
    )


def forget_since(span: str, now: int) -> tuple[int, str, str]:
    """Since when, the question before, and the message if there is nothing."""
    if span == "today":
        return (
            to_micros(datetime.combine(to_datetime(now).date(), time()).astimezone()),
            translate("Forget what was recorded today?"),
            translate("Nothing was recorded today."),
        )
    if span == "1h":
        question = translate("Forget what was recorded in the last hour?")
        return now - SPANS[span], question, translate("Nothing was recorded in the last hour.")
    question = translate("Forget what was recorded in the last 5 minutes?")
    return now - SPANS[span], question, translate("Nothing was recorded in the last 5 minutes.")


# -- agents and the app ----------------------------------------------------------------------------------


def _connect(command: Command, memory: Memory, system: SystemActions) -> None:
    """Show the edits, ask, then make them, with a backup."""
    joining = connection_setup(memory.config)
    plan = plan_connect(command.about, joining)
    shown = "\n".join(f"{edit.path}\n{edit.diff()}" for edit in plan.edits)
    cut = shown if len(shown) <= MOST_SHOWN else shown[:MOST_SHOWN] + "\n…"
    question = translate("Connect {agent}?", agent=command.about)
    if not system.ask(question, cut or translate("Its settings do not change."), translate("Connect")):
        return
    apply_plan(plan, joining, stamp=f"{to_datetime(memory.now()):%Y-%m-%dT%H%M%S}")
    memory.recall.export_contexts()
    system.tell(
        translate("{agent} is connected", agent=command.about),
        " ".join(map(translate_filled, plan.notes)) or translate("Its next session is recorded."),
    )


def _permissions(command: Command, memory: Memory, system: SystemActions) -> None:
    system.permissions()


def _login(command: Command, memory: Memory, system: SystemActions) -> None:
    if message := system.login(bool(command.about)):
        system.tell(translate("Launch at login"), message)


def _setup(command: Command, memory: Memory, system: SystemActions) -> None:
    system.show("#/setup")


def _update(command: Command, memory: Memory, system: SystemActions) -> None:
    """Show what is new, and open the page of the release. Nothing is installed."""
    newer = memory.updates.newer()
    if newer is None:
        system.tell(translate("This is the newest version"), memory.updates.version)
        return
    title = translate("Version {version} is available", version=newer.version)
    notes = newer.notes[:MOST_SHOWN] or translate("There are no notes.")
    if not newer.page:
        system.tell(title, notes)
    elif system.ask(title, notes, translate("Open Its Page")):
        system.open_page(newer.page)


def _updates(command: Command, memory: Memory, system: SystemActions) -> None:
    memory.updates.switch(bool(command.about))


def _quit(command: Command, memory: Memory, system: SystemActions) -> None:
    system.quit()


Handler = Callable[[Command, Memory, SystemActions], None]
HANDLERS: dict[str, Handler] = {
    "about": _about,
    "answer": _answer,
    "connect": _connect,
    "context.copy": _copy_context,
    "context.open": _open_context,
    "exclude": _exclude,
    "forget": _forget,
    "login": _login,
    "open": _open,
    "pause": _pause,
    "permissions": _permissions,
    "quit": _quit,
    "record": _record,
    "resume": _resume,
    "resume.last": _resume_last,
    "search": _search,
    "settings": _settings,
    "setup": _setup,
    "timeline": _timeline,
    "update": _update,
    "updates": _updates,
    "why": _why,
    "yesterday": _yesterday,
}


def follow_link(text: str, memory: Memory, system: SystemActions) -> None:
    """Open a session from a link, or resume it after asking.

    A web page may have opened the link.
    """
    link = parse_link(text)
    if link is None:
        raise InvalidInput("This is not a Fazm Memory link.", hint="Links look like fazm-memory://resume/ID.")
    session = memory.sessions.get(link.session)
    if link.verb == "open":
        _open(Command("open", session["id"], "" if link.seq is None else str(link.seq)), memory, system)
    elif system.ask(
        translate("Resume “{title}”?", title=label(session["title"])),
        translate("A link asks to resume this session of {agent}.", agent=label(session["agent"], 30)),
        translate("Resume"),
    ):
        _resume(Command("resume", session["id"]), memory, system)


# The worker: one thread with its own memory, for work that may wait for the disk or the user

Job = Callable[[Memory], object]


class Worker:
    """Runs jobs in order. An exception is passed to `trouble`, and the next job runs."""

    def __init__(self, open_memory: Callable[[], Memory], trouble: Callable[[Exception], None]) -> None:
        self.open_memory, self.trouble = open_memory, trouble
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._work, name="menu bar worker")

    def start(self) -> None:
        self._thread.start()

    def do(self, job: Job) -> None:
        self._jobs.put(job)

    def stop(self) -> None:
        """Finish the queue, then end.

        Not for the main thread, which answers the jobs' questions.
        """
        self._jobs.put(None)
        if self._thread.ident is not None:
            self._thread.join()

    def _work(self) -> None:
        memory = self.open_memory()
        try:
            while (job := self._jobs.get()) is not None:
                try:
                    job(memory)
                except Exception as error:
                    self.trouble(error)
        finally:
            memory.close()

"""What a click does: a command and a memory in, an effect in the store or on the screen out.

The system's own part (a window, the clipboard, a question to the person) is behind `Hands`. Everything here
runs on a thread that may wait. What it returns is shown to the person; what it raises is shown too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from datetime import datetime, time, timedelta
from pathlib import Path
from typing import Protocol
from urllib.parse import quote

from fazm_memory import __version__
from fazm_memory.capture.agents.connect import carry_out, plan_connect
from fazm_memory.errors import InvalidInput
from fazm_memory.joined import joining_of
from fazm_memory.memory import Memory
from fazm_memory.menubar.labels import HOUR, MINUTE, counted, label
from fazm_memory.menubar.link import parse_link
from fazm_memory.menubar.menu import Command
from fazm_memory.menubar.resuming import keep_script, offer_of, steps
from fazm_memory.model.clock import micros, moment
from fazm_memory.recall.exports import FOLDER as CONTEXT
from fazm_memory.recall.exports import file_name

SOURCE = "menubar"
SPANS = {"5m": 5 * MINUTE, "15m": 15 * MINUTE, "1h": HOUR}
MORNING = 6  # "until tomorrow" ends when a day begins for people, not at midnight
MOST_SHOWN = 1500  # characters of an edit in a question


class Hands(Protocol):
    """What only the system can do. Each call may wait, and none is made on the main thread."""

    def show(self, route: str) -> None:
        """The timeline's window, at an address of the page."""

    def copy(self, text: str) -> None:
        """Put text on the clipboard."""

    def open_file(self, path: Path) -> None:
        """Open a file as a double click would."""

    def tell_fazm(self, messages: Sequence[str]) -> bool:
        """Send messages to Fazm; False when it is not there to hear them."""

    def tell(self, title: str, text: str) -> None:
        """Say something that waits for no answer."""

    def ask(self, title: str, text: str, yes: str) -> bool:
        """Ask before something that cannot be undone, or that another asked for."""

    def ask_words(self, title: str, text: str) -> str | None:
        """Ask for an answer in words; None when there is none."""

    def login(self, on: bool) -> str:
        """Launch at login or not; what came of it."""

    def permissions(self) -> None:
        """Where permissions are given."""

    def quit(self) -> None:
        """End the app."""


def perform(command: Command, memory: Memory, hands: Hands) -> None:
    """Do what a click means."""
    DOES[command.verb](command, memory, hands)


# -- sessions --------------------------------------------------------------------------------------------


def _resume(command: Command, memory: Memory, hands: Hands) -> None:
    """The best way that works; said in words which it was, when it was not the session itself."""
    offer = offer_of(memory, command.about)
    name = label(offer.title)
    for step in steps(offer, os.path.isdir):
        if step.took == "clipboard":
            hands.copy(offer.briefing)
            hands.tell(
                "The briefing is on the clipboard", f"{name}: {step.why}. Paste it into a new session."
            )
            return
        if step.fazm:
            if hands.tell_fazm(step.fazm):
                hands.tell("Continued in Fazm", f"{name}: {step.why}.")
                return
            continue
        if step.script is not None:
            hands.copy(offer.briefing)  # there if the program is not
            hands.open_file(keep_script(memory.config.home, step.script))
            if step.took == "briefing":
                hands.tell("A new session with a briefing", f"{name}: {step.why}.")
            return


def _open(command: Command, memory: Memory, hands: Hands) -> None:
    session = memory.session(command.about)["id"]
    hands.show(f"#/s/{quote(session, safe='')}" + (f"@{command.more}" if command.more else ""))


def _answer(command: Command, memory: Memory, hands: Hands) -> None:
    asked = memory.questions(memory.store.sessions.resolve(command.about)).get(command.more)
    if asked is None:
        hands.tell("That question is no longer open", "Somebody has answered it meanwhile.")
        return
    words = hands.ask_words("An agent asks", str(asked["note"]))
    if words is not None and words.strip():
        memory.answer(command.about, command.more, words.strip(), source=SOURCE)


# -- looking ---------------------------------------------------------------------------------------------


def _timeline(command: Command, memory: Memory, hands: Hands) -> None:
    hands.show("#/")


def _search(command: Command, memory: Memory, hands: Hands) -> None:
    hands.show("#/?search")


def _yesterday(command: Command, memory: Memory, hands: Hands) -> None:
    rows = memory.store.sessions.listing(limit=50)
    today = moment(memory.now()).date()
    before = [day for row in rows if (day := moment(row.last_at).date()) < today]
    hands.show(f"#/day/{max(before, default=today - timedelta(days=1)):%Y-%m-%d}")


def _settings(command: Command, memory: Memory, hands: Hands) -> None:
    hands.show("#/settings")


def _copy_context(command: Command, memory: Memory, hands: Hands) -> None:
    context = memory.context()
    hands.copy(context.text)
    hands.tell("The context is on the clipboard", "It is what a new session would be given.")


def _open_context(command: Command, memory: Memory, hands: Hands) -> None:
    memory.export_contexts()
    path = memory.config.home / CONTEXT / f"{file_name(None)}.md"
    if path.exists():
        hands.open_file(path)
    else:
        hands.tell("There is no context file", "While recording is paused none is written.")


def _why(command: Command, memory: Memory, hands: Hands) -> None:
    hands.tell(command.about, command.more or "`fazm-memory doctor` tells more.")


def _about(command: Command, memory: Memory, hands: Hands) -> None:
    hands.tell(
        f"Fazm Memory {__version__}", "What your agents did, where, how and why. It stays on this Mac."
    )


# -- recording -------------------------------------------------------------------------------------------


def _pause(command: Command, memory: Memory, hands: Hands) -> None:
    memory.pause_recording(pause_length(command.about, memory.now()))


def pause_length(span: str, now: int) -> int | None:
    """How long a pause lasts in microseconds; None is until somebody resumes."""
    if span == "tomorrow":
        day = moment(now).date() + timedelta(days=1)
        return micros(datetime.combine(day, time(MORNING)).astimezone()) - now
    return SPANS[span] if span else None


def _record(command: Command, memory: Memory, hands: Hands) -> None:
    memory.resume_recording()


def _exclude(command: Command, memory: Memory, hands: Hands) -> None:
    memory.exclude_app(command.about, command.more or None)
    hands.tell(
        f"{label(command.about, 40)} is not recorded any more",
        "What was recorded before is kept: Forget takes it away. Settings lists the apps left alone.",
    )


def _forget(command: Command, memory: Memory, hands: Hands) -> None:
    """Say how much it is, ask, then forget it for good."""
    since, words = forget_since(command.about, memory.now())
    plan = memory.forget(since=since, dry_run=True)
    if not plan["events"]:
        hands.tell("There is nothing to forget", f"Nothing was recorded {words}.")
        return
    what = f"{counted(plan['events'], 'event')} of {counted(plan['sessions'], 'session')}"
    if hands.ask(
        f"Forget what was recorded {words}?", f"{what} will be deleted. This cannot be undone.", "Forget"
    ):
        done = memory.forget(since=since, source=SOURCE)
        hands.tell(
            "Forgotten", f"{counted(done['events'], 'event')} of {counted(done['sessions'], 'session')}."
        )


def forget_since(span: str, now: int) -> tuple[int, str]:
    if span == "today":
        return micros(datetime.combine(moment(now).date(), time()).astimezone()), "today"
    return now - SPANS[span], "in the last hour" if span == "1h" else "in the last 5 minutes"


# -- around it -------------------------------------------------------------------------------------------


def _connect(command: Command, memory: Memory, hands: Hands) -> None:
    """Show what would be changed, ask, then change it, with a backup."""
    joining = joining_of(memory.config)
    plan = plan_connect(command.about, joining)
    shown = "\n".join(f"{edit.path}\n{edit.diff()}" for edit in plan.edits)
    cut = shown if len(shown) <= MOST_SHOWN else shown[:MOST_SHOWN] + "\n…"
    if not hands.ask(f"Connect {command.about}?", cut or "Nothing in its settings changes.", "Connect"):
        return
    carry_out(plan, joining, joining_it=True, stamp=f"{moment(memory.now()):%Y-%m-%dT%H%M%S}")
    memory.export_contexts()
    hands.tell(f"{command.about} is connected", " ".join(plan.notes) or "Its next session is remembered.")


def _permissions(command: Command, memory: Memory, hands: Hands) -> None:
    hands.permissions()


def _login(command: Command, memory: Memory, hands: Hands) -> None:
    said = hands.login(bool(command.about))
    if said:
        hands.tell("Launch at login", said)


def _quit(command: Command, memory: Memory, hands: Hands) -> None:
    hands.quit()


Does = Callable[[Command, Memory, Hands], None]
DOES: dict[str, Does] = {
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
    "search": _search,
    "settings": _settings,
    "timeline": _timeline,
    "why": _why,
    "yesterday": _yesterday,
}


def follow_link(text: str, memory: Memory, hands: Hands) -> None:
    """A link was opened, perhaps by a web page: show what it names, or ask before going on with it."""
    link = parse_link(text)
    if link is None:
        raise InvalidInput("that link is not one of ours", hint="they look like fazm-memory://resume/ID")
    session = memory.session(link.session)
    if link.verb == "open":
        _open(Command("open", session["id"], "" if link.seq is None else str(link.seq)), memory, hands)
    elif hands.ask(
        f"Resume “{label(session['title'])}”?",
        f"A link asks to take up this session of {label(session['agent'], 30)} again.",
        "Resume",
    ):
        _resume(Command("resume", session["id"]), memory, hands)

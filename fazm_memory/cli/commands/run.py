"""`fazm-memory run`: the companion, in this terminal until it is stopped, or once."""

from __future__ import annotations

import argparse
import signal
import sys
from contextlib import ExitStack
from types import FrameType
from typing import TYPE_CHECKING, Any

from fazm_memory.cli.companion_server import MCP, companion_server
from fazm_memory.cli.main import memory_of
from fazm_memory.cli.output import emit_json, plural, say, size, talk

if TYPE_CHECKING:
    from fazm_memory.companion import Companion
    from fazm_memory.joined import AgentHere

NOTHING_HERE = """\
No agent was found on this machine: neither Fazm, Claude Code, Codex, Gemini CLI nor opencode was used here.
What you can do next:
  start one of them once, and this takes in what it does, or
  fazm-memory record      to tell it of another agent's work, line by line
  fazm-memory doctor      to see that everything else works here"""


def run_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--once", action="store_true", help="take in what is new, export, and end")
    parser.add_argument("--headless", action="store_true", help="without the menu bar, on a Mac too")
    parser.add_argument("--no-page", action="store_true", help="do not serve the timeline page beside it")


def run_command(chosen: argparse.Namespace) -> int:
    from fazm_memory.companion import Companion
    from fazm_memory.joined import survey

    if sys.platform == "darwin" and not chosen.once and not chosen.headless:
        from fazm_memory.cli.menu_bar import run_menu_bar

        return run_menu_bar(chosen)
    memory = memory_of(chosen)
    companion = Companion(memory, say=talk)
    companion.after_change(memory.export_contexts)
    if chosen.once:
        return _once(companion, chosen)
    _stop_on_signals(companion)
    with ExitStack() as beside:

        def started() -> None:
            page = None if chosen.no_page else beside.enter_context(companion_server(chosen).beside())
            _greet(companion, [one for one in survey(memory) if one.here], page)

        companion.run(started=started)
    say(f"stopped; {plural(companion.tally.events, 'event')} recorded")
    return 0


def _once(companion: Companion, chosen: argparse.Namespace) -> int:
    tally = companion.once()
    if chosen.json:
        emit_json(tally.to_json())
    else:
        say(f"{plural(tally.events, 'new event')} in {plural(len(tally.sessions), 'session')}")
    return 0


def _greet(companion: Companion, here: list[AgentHere], page: Any) -> None:
    """Say what will happen, in plain words."""
    if not here:
        say(NOTHING_HERE)
    for one in here:
        joined = "" if one.hooks else f", not connected (`fazm-memory connect {one.agent}`)"
        say(f"{one.agent}: {plural(one.files, 'file')} of records, {size(one.bytes)}{joined}")
        if one.trouble:
            talk(f"{one.agent}: {one.trouble}")
    if not companion.memory.recording()["recording"]:
        say("Recording is paused: nothing is taken in until `fazm-memory recording resume`.")
    if page is not None:
        say(f"The timeline: `fazm-memory timeline`, or once, within five minutes, {page.door()}")
        say(f"MCP over HTTP: {page.origin}{MCP}, with the token of {page.token_file}")
    if sys.platform != "darwin":
        say("The menu bar, its window and which app was in front are for a Mac; all else is the same here.")
    say(f"Recording to {companion.home}. Ctrl-C ends it; what was recorded is kept.")
    sys.stdout.flush()


def _stop_on_signals(companion: Companion) -> None:
    def stop(number: int, frame: FrameType | None) -> None:
        companion.stop()

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, stop)

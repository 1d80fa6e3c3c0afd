"""The verbs of a session's life: open, pause, resume, close, archive."""

from __future__ import annotations

import argparse
import os
from typing import Any

from fazm_memory.cli.main import memory_of
from fazm_memory.cli.output import emit_json, plural, say
from fazm_memory.errors import InvalidRequest, InvalidTransition


def open_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--agent", default="unknown", help="which agent works in it")
    parser.add_argument("--key", help="the agent's own name for the session")
    parser.add_argument("--workspace", metavar="DIR", help="the folder it works in (default: here)")
    parser.add_argument("--title", help="what it is about")


def open_command(chosen: argparse.Namespace) -> int:
    if chosen.key is not None and not chosen.key.strip():
        raise InvalidRequest("an empty key names nothing", hint="leave --key out, or give a name")
    workspace = os.path.abspath(chosen.workspace or os.getcwd())
    session = memory_of(chosen).open_session(
        chosen.agent, key=chosen.key, workspace=workspace, title=chosen.title
    )
    return _told(chosen, session)


def _move_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="a session's id, or the beginning of it")
    parser.add_argument("--reason", help="why, for whoever reads the log")


pause_arguments = close_arguments = _move_arguments


def resume_arguments(parser: argparse.ArgumentParser) -> None:
    _move_arguments(parser)
    parser.add_argument(
        "--offer", action="store_true", help="show the briefing and how to go on; change nothing"
    )


def archive_arguments(parser: argparse.ArgumentParser) -> None:
    _move_arguments(parser)
    parser.add_argument("--undo", action="store_true", help="bring an archived session back as closed")


def pause_command(chosen: argparse.Namespace) -> int:
    return _move(chosen, "pause")


def resume_command(chosen: argparse.Namespace) -> int:
    """Resume and brief: where it stood, what is open, what changed since, the agent's own command."""
    memory = memory_of(chosen)
    told, offer = memory.briefing(chosen.id), memory.resume_offer(chosen.id)
    session = memory.session(chosen.id)
    if not chosen.offer:
        try:
            session = memory.move(chosen.id, "resume", reason=chosen.reason)
        except InvalidTransition as refused:
            if session["lifecycle"] in ("open", "active", "resumed") and not refused.hint:
                refused.hint = f"`fazm-memory resume {session['id'][:8]} --offer` shows how to go on"
            raise
    if chosen.json:
        emit_json(session | {"briefing": told.data | {"text": told.text}, "offer": offer})
        return 0
    as_it_is = ", and stays so: --offer changes nothing" if chosen.offer else ""
    say(f"{session['id']} is {session['lifecycle']}{as_it_is}\n")
    say(told.text)
    if offer["waits_for"]:
        waiting = plural(len(offer["waits_for"]), "question")
        say(f"before it can go on, {waiting} of it must be answered: `fazm-memory questions` lists them")
    say(f"{TOOK[offer['took']]} ({offer['why']})")
    if offer["took"] == "exact":
        say(f"  {offer['command']}")
    elif offer["took"] == "briefing":
        say(f"  fazm-memory resume {session['id'][:8]} --offer --json  has that command under `offer`")
    return 0


TOOK = {
    "exact": "to go on, run this command",
    "briefing": "to go on, start the agent with the text above as its first message",
    "clipboard": "to go on, copy the text above into a new session",
}


def close_command(chosen: argparse.Namespace) -> int:
    return _move(chosen, "close")


def archive_command(chosen: argparse.Namespace) -> int:
    return _move(chosen, "restore" if chosen.undo else "archive")


def _move(chosen: argparse.Namespace, move: str) -> int:
    return _told(chosen, memory_of(chosen).move(chosen.id, move, reason=chosen.reason))


def _told(chosen: argparse.Namespace, session: dict[str, Any]) -> int:
    if chosen.json:
        emit_json(session)
    else:
        say(f"{session['id']} is {session['lifecycle']}")
    return 0

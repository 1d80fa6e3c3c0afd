"""`fazm-memory agents`, `connect`, `disconnect`: which agents are here, and joining them."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from fazm_memory.capture.agents.names import CONNECTABLE
from fazm_memory.cli.main import memory_of
from fazm_memory.cli.output import emit_json, paint, plural, say, size, table, talk, when
from fazm_memory.errors import Declined
from fazm_memory.model.clock import moment

if TYPE_CHECKING:
    from fazm_memory.capture.agents.connect import Plan

COLOURS = {"+": "green", "-": "red", "@": "dim"}


def agents_arguments(parser: argparse.ArgumentParser) -> None:
    """Nothing to choose."""


def agents_command(chosen: argparse.Namespace) -> int:
    from fazm_memory.joined import survey

    memory = memory_of(chosen)
    found = survey(memory)
    if chosen.json:
        emit_json([one.to_json() for one in found])
        return 0
    now = memory.now()
    rows = [
        (
            one.agent,
            f"{plural(one.files, 'file')}, {size(one.bytes)}" if one.files else "none",
            when(one.last_record, now) if one.last_record else "-",
            one.joined_words() if one.here else "-",
            when(one.last_hook, now) if one.last_hook else "-",
        )
        for one in found
    ]
    table(rows, ("agent", "records", "last used", "connected", "last hook"))
    for one in found:
        if one.trouble and one.here:
            talk(f"{one.agent}: {one.trouble}")
    if not any(one.files or one.here for one in found):
        say("\nNo agent was found on this machine. Start one of them once; `record` takes any other's word.")
    return 0


def _join_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("agent", metavar="AGENT", help=f"one of {', '.join(CONNECTABLE)}")
    parser.add_argument("--dry-run", action="store_true", help="only show what would be changed")
    parser.add_argument("--yes", action="store_true", help="do not ask")


connect_arguments = disconnect_arguments = _join_arguments


def connect_command(chosen: argparse.Namespace) -> int:
    from fazm_memory.capture.agents.connect import plan_connect

    return _carry_out(chosen, plan_connect, joining_it=True)


def disconnect_command(chosen: argparse.Namespace) -> int:
    from fazm_memory.capture.agents.connect import plan_disconnect

    return _carry_out(chosen, plan_disconnect, joining_it=False)


def _carry_out(chosen: argparse.Namespace, make_plan: Any, *, joining_it: bool) -> int:
    from fazm_memory.capture.agents.connect import carry_out
    from fazm_memory.joined import joining_of

    memory = memory_of(chosen)
    joining = joining_of(memory.config)
    plan = make_plan(chosen.agent, joining)
    if not chosen.json:
        _show(plan, joining_it)
    backups = []
    if not chosen.dry_run:
        _ask(chosen, plan)
        # Also when nothing changes in the agent's files: our own scripts may be of an older version.
        stamp = f"{moment(memory.now()):%Y-%m-%dT%H%M%S}"
        backups = carry_out(plan, joining, joining_it=joining_it, stamp=stamp)
        if joining_it:
            memory.export_contexts()  # there for the very first session
    if chosen.json:
        changes = [{"path": str(edit.path), "diff": edit.diff()} for edit in plan.edits]
        told = {"agent": chosen.agent, "changes": changes, "dry_run": chosen.dry_run}
        emit_json({**told, "backups": [str(path) for path in backups], "notes": list(plan.notes)})
        return 0
    if chosen.dry_run:
        talk("nothing was changed")
        return 0
    for path in backups:
        talk(f"backup: {path}")
    say(f"{chosen.agent} is {'connected' if joining_it else 'disconnected'}")
    for note in plan.notes:
        say(note)
    return 0


def _show(plan: Plan, joining_it: bool) -> None:
    if not plan.edits:
        say(f"nothing to change: {plan.agent} is {'connected already' if joining_it else 'not connected'}")
    for edit in plan.edits:
        if edit.after is None:
            say(f"{edit.path} was made by us alone and goes")
        text, laid_out = edit.readable()
        if laid_out:
            say(f"{edit.path} has long lines: shown a value a line; the file keeps its own layout")
        for line in text.splitlines():
            say(paint(line, COLOURS[line[0]]) if line[:1] in COLOURS else line)


def _ask(chosen: argparse.Namespace, plan: Plan) -> None:
    """A person at a terminal is asked; a script has already said what it wants."""
    if not plan.edits or chosen.yes or chosen.json or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return
    if input("Make these changes? [y/N] ").strip().lower() not in ("y", "yes"):
        raise Declined("nothing was changed")

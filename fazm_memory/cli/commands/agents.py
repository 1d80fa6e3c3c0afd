"""`agents`, `connect` and `disconnect`."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from fazm_memory.agents import CONNECTABLE
from fazm_memory.cli.main import open_memory
from fazm_memory.cli.output import (
    echo,
    echo_err,
    format_size,
    format_time,
    integer,
    paint,
    plural,
    print_json,
    table,
)
from fazm_memory.clock import to_datetime
from fazm_memory.errors import Declined, FazmMemoryError, InvalidRequest
from fazm_memory.records import replace

if TYPE_CHECKING:
    from fazm_memory.agents import ConnectPlan


KEEP_DAYS, MOST_DAYS = 3650, 36_500
OFFER = (
    "Claude Code deletes its transcripts {days} days after their last change."
    " Raise that to {wanted} days (cleanupPeriodDays)? [y/N] "
)
COLOURS = {"+": "green", "-": "red", "@": "dim"}


def agents_arguments(parser: argparse.ArgumentParser) -> None:
    """No options."""


def agents_command(args: argparse.Namespace) -> int:
    from fazm_memory.app import agent_overviews

    memory = open_memory(args)
    found = agent_overviews(memory)
    if args.json:
        print_json([agent.to_json() for agent in found])
        return 0
    now = memory.now()
    rows = [
        (
            agent.agent,
            f"{plural(agent.files, 'file')}, {format_size(agent.bytes)}" if agent.files else "none",
            format_time(agent.last_record, now) if agent.last_record else "-",
            agent.connection_text() if agent.here else "-",
            format_time(agent.last_hook, now) if agent.last_hook else "-",
        )
        for agent in found
    ]
    table(rows, ("agent", "records", "last used", "connected", "last hook"))
    for agent in found:
        if agent.trouble and agent.here:
            echo_err(f"{agent.agent}: {agent.trouble}")
    if not any(agent.files or agent.here for agent in found):
        echo("\nNo agent found on this machine. Use one of them once. `record` records any other agent.")
    return 0


def connect_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("agent", metavar="AGENT", help=f"one of {', '.join(CONNECTABLE)}")
    parser.add_argument("--tools", choices=("small", "full"), help="which MCP tools it gets: five, or all")
    parser.add_argument(
        "--keep-days", type=integer, metavar="N",
        help="let Claude Code keep its transcripts for N days (cleanupPeriodDays)",
    )  # fmt: skip
    _edit_arguments(parser)


def disconnect_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("agent", nargs="?", metavar="AGENT", help=f"one of {', '.join(CONNECTABLE)}")
    parser.add_argument("--all", action="store_true", help="every agent")
    _edit_arguments(parser)


def _edit_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="only show the changes")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def connect_command(args: argparse.Namespace) -> int:
    from fazm_memory.agents import plan_connect

    _check_keep_days(args)
    result = _carry_out(args, args.agent, plan_connect, connect=True)
    if args.json:
        print_json(result)
    return 0


def _check_keep_days(args: argparse.Namespace) -> None:
    """Offer, at a terminal, to let Claude Code keep its transcripts for longer."""
    from fazm_memory.agents import cleanup_days
    from fazm_memory.app import connection_setup

    if args.keep_days is not None:
        if args.agent != "claude-code":
            raise InvalidRequest("--keep-days is a setting of claude-code.")
        if not 1 <= args.keep_days <= MOST_DAYS:
            raise InvalidRequest(f"--keep-days must be from 1 to {MOST_DAYS:,}.")
        return
    if args.agent != "claude-code" or args.yes or args.json or args.dry_run or not _at_terminal():
        return
    days = cleanup_days(connection_setup(open_memory(args).config).places)
    if days < KEEP_DAYS and input(OFFER.format(days=days, wanted=KEEP_DAYS)).strip().lower() in ("y", "yes"):
        args.keep_days = KEEP_DAYS


def disconnect_command(args: argparse.Namespace) -> int:
    from fazm_memory.agents import plan_disconnect

    if args.all == (args.agent is not None):
        raise InvalidRequest("Name one agent, or use --all.", hint=f"agents: {', '.join(CONNECTABLE)}")
    results: list[dict[str, Any]] = []
    code = 0
    for agent in CONNECTABLE if args.all else (args.agent,):
        try:
            results.append(_carry_out(args, agent, plan_disconnect, connect=False))
        except FazmMemoryError as error:
            if not args.all or isinstance(error, Declined):
                raise
            # One broken file must not keep the others connected.
            echo_err(f"{agent}: {error.message}")
            results.append({"agent": agent, "ok": False, **error.to_json()})
            code = error.exit_code
    if args.json:
        print_json(results if args.all else results[0])
    return code


def _carry_out(args: argparse.Namespace, agent: str, make_plan: Any, *, connect: bool) -> dict[str, Any]:
    """Show the edits, ask, make them. Returns them for --json."""
    from fazm_memory.agents import apply_plan
    from fazm_memory.app import connection_setup

    memory = open_memory(args)
    setup = replace(connection_setup(memory.config), tools=getattr(args, "tools", None))
    setup = replace(setup, keep_days=getattr(args, "keep_days", None))
    plan = make_plan(agent, setup)
    if not args.json:
        _show(plan, connect)
    backups = []
    if not args.dry_run:
        _confirm(args, plan)
        # Also when the agent's files do not change: our own scripts may be outdated.
        stamp = f"{to_datetime(memory.now()):%Y-%m-%dT%H%M%S}"
        backups = apply_plan(plan, setup, stamp=stamp)
        if connect:
            memory.recall.export_contexts()  # for the first session
    changes = [{"path": str(edit.path), "diff": edit.diff()} for edit in plan.edits]
    result = {"agent": agent, "changes": changes, "dry_run": args.dry_run}
    result |= {"backups": [str(path) for path in backups], "notes": list(plan.notes)}
    if args.json:
        return result
    if args.dry_run:
        echo_err("Nothing was changed.")
        return result
    for path in backups:
        echo_err(f"backup: {path}")
    echo(f"{agent} is {'connected' if connect else 'disconnected'}.")
    for note in plan.notes:
        echo(note)
    return result


def _show(plan: ConnectPlan, connect: bool) -> None:
    if not plan.edits:
        echo(f"Nothing to change. {plan.agent} is {'already' if connect else 'not'} connected.")
    for edit in plan.edits:
        if edit.after is None:
            echo(f"{edit.path} contains only our settings and is removed.")
        text, reformatted = edit.readable()
        if reformatted:
            echo(f"{edit.path} has long lines. They are split here; the file keeps its layout.")
        for line in text.splitlines():
            echo(paint(line, COLOURS[line[0]]) if line[:1] in COLOURS else line)


def _at_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _confirm(args: argparse.Namespace, plan: ConnectPlan) -> None:
    """Ask for confirmation at a terminal. Scripts are not asked."""
    if not plan.edits or args.yes or args.json or not _at_terminal():
        return
    if input("Make these changes? [y/N] ").strip().lower() not in ("y", "yes"):
        raise Declined("Nothing was changed.")

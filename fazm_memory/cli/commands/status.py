"""`status`, and `cost`: tokens and dollars by day, session, thread or model."""

from __future__ import annotations

import argparse
from typing import Any

from fazm_memory.cli.main import open_memory
from fazm_memory.cli.output import (
    echo,
    echo_err,
    format_size,
    format_time,
    paint,
    parse_moment,
    plural,
    print_json,
    sync_progress_text,
    table,
)


def status_arguments(parser: argparse.ArgumentParser) -> None:
    """No options."""


def status_command(args: argparse.Namespace) -> int:
    memory = open_memory(args)
    status = memory.status()
    if args.json:
        print_json(status)
        return 0
    now = memory.now()
    _show_recording(status, now)
    counts = f"{plural(status['sessions'], 'session')}, {plural(status['events'], 'event')}"
    since = f" since {format_time(status['since'], now)}" if status["since"] else ""
    echo(f"  {counts}, {format_size(status['bytes'])}{since}")
    for source, last in status["sources"].items():
        echo(f"  last from {source}: {format_time(last['at'], now)}, session {last['session'][:8]}")
    if not status["sources"]:
        echo("  Nothing recorded yet. `fazm-memory run` records; `fazm-memory import` imports the past.")
    for folder in status["watching"]:
        if folder["refused"] is None:
            echo(f"  watching {folder['folder']} ({folder['how']}) since {format_time(folder['since'], now)}")
    if status["sync"] is not None:
        when = "never" if status["sync"]["last_ok"] is None else format_time(status["sync"]["last_ok"], now)
        progress = status["sync"]["progress"]
        doing = "" if progress is None else f", {sync_progress_text(progress)}"
        echo(f"  synced as “{status['sync']['name']}”: {when}{doing}")
    _show_transcripts(status["transcripts"])
    echo(f"  store: {status['home']}, encrypted, {_key(status['key'])}")
    notices = [memory.transcripts.expiring_notice(), memory.maintenance.retention_notice()]
    problems = [*_problems(status), *filter(None, notices)]
    if problems:
        echo(paint("To do", "bold"))
    for problem in problems:
        echo(paint(f"  {problem}", "yellow"))
    return 0


def _show_recording(status: dict[str, Any], now: int) -> None:
    if not status["recording"]:
        until = (
            f"until {format_time(status['paused_until'], now)}"
            if status["paused_until"]
            else "until you resume it"
        )
        echo(paint(f"◌ Recording is paused {until}", "yellow") + " (`fazm-memory recording resume`)")
    elif status["companion"] is None:
        echo(paint("○ Recording is on", "green") + ". The companion is not running (`fazm-memory run`).")
    else:
        echo(paint("● Recording", "green") + f" (companion process {status['companion']})")


def _problems(status: dict[str, Any]) -> list[str]:
    """What needs the user, each with the command that settles it."""
    problems = []
    for question in status["open_questions"]:
        session = question["session"][:8]
        problems.append(
            f"{session} waits for your answer: {question['note']}\n"
            f"    `fazm-memory answer {session} {question['id']} TEXT`"
        )
    if status["sources"] and not {"hook", "mcp", "record"} & status["sources"].keys():
        problems.append(
            "No connected agent was used yet, so none gets its context. `fazm-memory setup` connects one."
        )
    if status["desktop"] is not None and not status["desktop"]["permitted"]:
        problems.append("Windows and documents are not recorded: Accessibility permission is missing."
                        " `fazm-memory setup`")  # fmt: skip
    refused = [folder for folder in status["watching"] if folder["refused"] is not None]
    problems += [f"not watching {folder['folder']}: {folder['refused']}" for folder in refused]
    if (sync := status["sync"]) is not None:
        troubles = [*([sync["error"]] if sync["error"] else []), *sync["problems"]]
        problems += [f"sync: {trouble} `fazm-memory sync`" for trouble in troubles]
    if status["quota"]["warning"] is not None:
        problems.append(status["quota"]["warning"])
    if (newer := status["update"]) is not None:
        where = f": {newer['page']}" if newer["page"] else "."
        problems.append(f"Version {newer['version']} is available{where}")
    return problems


def _show_transcripts(copies: dict[str, Any]) -> None:
    if copies["sessions"]:
        size = f"{format_size(copies['stored'])} for {format_size(copies['bytes'])}"
        echo(f"  transcripts of {plural(copies['sessions'], 'session')} copied ({copies['form']}), {size}")


def _key(key: dict[str, str]) -> str:
    if key["backend"] == "keyring":
        return f"key in {key['where']}"
    return f"key in a file that only you can read (no OS keyring): {key['where']}"


DAY = 86_400_000_000
MONTH, WEEK = 30 * DAY, 7 * DAY


def cost_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--by",
        choices=("day", "session", "thread", "model"),
        default="day",
        help="how to group (default: day)",
    )
    parser.add_argument(
        "--since", metavar="TIME", help="from this time on, or a span such as 7d (default: 30d)"
    )


def cost_command(args: argparse.Namespace) -> int:
    from fazm_memory.app import cost_text

    memory = open_memory(args)
    since = memory.now() - MONTH if args.since is None else parse_moment(args.since, memory.now())
    costs = memory.costs.table(args.by, since=since)
    if args.json:
        print_json(costs)
        return 0
    if not costs["rows"]:
        echo("No usage is recorded in this time.")
        return 0
    rows = [
        (
            str(row[args.by] or "other")[:40] if args.by != "session" else row["session"][:8],
            "?" if row["usd"] is None else f"${row['usd']:,.2f}" + ("+" if row["unknown_models"] else ""),
            f"{row['input_tokens']:,}", f"{row['output_tokens']:,}", f"{row['cached_tokens']:,}",
            (row.get("title") or "")[:50],
        )
        for row in costs["rows"]
    ]  # fmt: skip
    table(rows, (args.by, "cost", "input", "output", "cached", ""))
    period = ""
    if args.since is None:
        period = ", 30 days"
        week = memory.costs.table("day", since=memory.now() - WEEK)
        echo(f"last 7 days {cost_text(week['total'])}")
    echo(f"total{period} {cost_text(costs['total'])}")
    own = ", with your own in prices.toml" if costs["prices"]["own"] else ""
    echo_err(
        f"Prices of {costs['prices']['date']}{own}. Subscriptions cost less. "
        "Transcripts may hold fewer output tokens than were billed."
    )
    return 0

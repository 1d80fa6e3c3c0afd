"""`cost`: tokens and dollars by day, session, thread or model."""

from __future__ import annotations

import argparse

from fazm_memory.cli.main import open_memory
from fazm_memory.cli.output import echo, echo_err, parse_moment, print_json, table

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
        f"Prices of {costs['prices']['date']}{own}. Cache writes count as input. Subscriptions cost less. "
        "Transcripts may hold fewer output tokens than were billed."
    )
    return 0

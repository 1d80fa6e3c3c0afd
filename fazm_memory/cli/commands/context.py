"""`fazm-memory context`: exactly what a new session would be given, and a person's say in it."""

from __future__ import annotations

import argparse
import os
import sys

from fazm_memory.cli.main import memory_of
from fazm_memory.cli.output import emit_json, integer, plural, talk
from fazm_memory.errors import NotFound


def context_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--workspace", metavar="DIR", help="the folder the session starts in (default: all)")
    parser.add_argument("--budget", type=integer, metavar="TOKENS", help="at most this many tokens")
    parser.add_argument("--pin", metavar="ITEM", help="always include this item")
    parser.add_argument("--exclude", metavar="ITEM", help="never include this item")
    parser.add_argument("--include", metavar="ITEM", help="leave this item to its rank again")


def context_command(chosen: argparse.Namespace) -> int:
    memory = memory_of(chosen)
    workspace = None if chosen.workspace is None else os.path.abspath(os.path.expanduser(chosen.workspace))
    context = memory.context(workspace, budget=chosen.budget)
    for item, choice in ((chosen.pin, "pin"), (chosen.exclude, "exclude"), (chosen.include, None)):
        if item is None:
            continue
        if choice is not None and item not in {one["id"] for one in context.data["items"]}:
            raise NotFound(
                f"there is no item {item!r} in this context",
                hint="`fazm-memory context --json` names the items",
            )
        memory.choose(item, choice)
        context = memory.context(workspace, budget=chosen.budget)
    if chosen.json:
        emit_json(context.data)
        return 0
    sys.stdout.write(context.text)
    talk(
        f"{plural(context.data['characters'], 'character')}, about {plural(context.data['tokens'], 'token')}"
    )
    return 0

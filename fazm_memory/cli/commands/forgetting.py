"""`fazm-memory forget`: deletion that also reaches the index, the snapshots and the free pages."""

from __future__ import annotations

import argparse

from fazm_memory.cli.main import memory_of
from fazm_memory.cli.output import emit_json, moment_argument, plural, say


def forget_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", nargs="?", metavar="ID", help="a session's id, or the beginning of it")
    parser.add_argument("--since", metavar="TIME", help="what happened at or after this time")
    parser.add_argument("--until", metavar="TIME", help="what happened before this time")
    parser.add_argument("--match", metavar="TEXT", help="whatever holds this text")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be forgotten")


def forget_command(chosen: argparse.Namespace) -> int:
    memory = memory_of(chosen)
    told = memory.forget(
        chosen.id,
        since=None if chosen.since is None else moment_argument(chosen.since),
        until=None if chosen.until is None else moment_argument(chosen.until),
        match=chosen.match,
        dry_run=chosen.dry_run,
    )
    if chosen.json:
        emit_json(told)
    else:
        verb = "would forget" if chosen.dry_run else "forgot"
        say(f"{verb} {plural(told['events'], 'event')} in {plural(told['sessions'], 'session')}")
    return 0

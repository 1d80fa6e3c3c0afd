"""`fazm-memory forget`: deletion that also reaches the index, the snapshots and the free pages."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from fazm_memory.cli.main import memory_of
from fazm_memory.cli.output import emit_json, moment_argument, plural, say, talk
from fazm_memory.errors import Declined


def forget_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", nargs="?", metavar="ID", help="a session's id, or the beginning of it")
    parser.add_argument("--since", metavar="TIME", help="what happened at or after this time")
    parser.add_argument("--until", metavar="TIME", help="what happened before this time")
    parser.add_argument("--match", metavar="TEXT", help="whatever holds this text")
    parser.add_argument("--yes", action="store_true", help="do not ask; needed where nobody can be asked")
    parser.add_argument("--dry-run", action="store_true", help="only say what would be forgotten")


def forget_command(chosen: argparse.Namespace) -> int:
    memory = memory_of(chosen)
    wanted = {
        "since": None if chosen.since is None else moment_argument(chosen.since, memory.now()),
        "until": None if chosen.until is None else moment_argument(chosen.until, memory.now()),
        "match": chosen.match,
    }
    if not chosen.dry_run and not chosen.yes:
        _ask(memory.forget(chosen.id, dry_run=True, **wanted))
    told = memory.forget(chosen.id, dry_run=chosen.dry_run, **wanted)
    if chosen.json:
        emit_json(told)
    else:
        verb = "would forget" if chosen.dry_run else "forgot"
        say(f"{verb} {plural(told['events'], 'event')} in {plural(told['sessions'], 'session')}")
        if told["kept"]:
            marks = plural(told["kept"], "mark")
            say(f"kept without words: {marks} of where a session was forked, went back or is held back")
    return 0


def _ask(planned: dict[str, Any]) -> None:
    """What is forgotten cannot be brought back: a person is asked first, and a program says --yes."""
    count = f"{plural(planned['events'], 'event')} in {plural(planned['sessions'], 'session')}"
    if not sys.stdin.isatty():
        raise Declined(
            f"this would forget {count} for good, and nobody is there to ask; nothing was forgotten",
            hint="--yes forgets without asking, --dry-run only says",
        )
    talk(f"this forgets {count} for good")
    sys.stderr.write("go on? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Declined("nothing was forgotten", hint="--yes forgets without asking")

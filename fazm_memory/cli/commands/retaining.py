"""`fazm-memory retain`: what the retention policy lets go of, and how much room that gives back."""

from __future__ import annotations

import argparse

from fazm_memory.cli.main import memory_of
from fazm_memory.cli.output import Progress, emit_json, plural, say, size

NAMES = {
    "actions": "details of actions",
    "files": "changes seen on disk",
    "apps": "apps in front",
    "prompts": "your own words",
    "archived": "all but your words, once archived",
    "versions": "contents of files",
}


def retain_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="only say what would go")


def retain_command(chosen: argparse.Namespace) -> int:
    memory = memory_of(chosen)
    with Progress("looking for what is old") as progress:
        told = memory.retain(dry_run=chosen.dry_run, progress=progress.at)
    if chosen.json:
        emit_json(told)
        return 0
    for name, words in NAMES.items():
        days = told["policy"][name]
        say(f"{words:<34} kept {plural(days, 'day') if days else 'for good'}")
    limit = told["policy"]["megabytes"]
    say(f"{'room for the log':<34} {size(limit << 20) if limit else 'no limit'}")
    verb = "would go" if chosen.dry_run else "gone"
    what = f"{plural(told['events'], 'event')} of {plural(told['sessions'], 'session')}"
    say(f"\n{verb}: details of {what}, {size(told['bytes'])} of {size(told['store_bytes'])}")
    for group, count in told["by_kind"].items():
        say(f"  {NAMES[group]}: {plural(count['events'], 'event')}, {size(count['bytes'])}")
    if told.get("versions"):
        say(f"  {NAMES['versions']}: {plural(told['versions'], 'version')}")
    for session in told.get("left_alone", ()):
        say(f"left alone, since it does not verify: session {session[:12]}; `fazm-memory verify` tells more")
    if not chosen.dry_run and told["events"]:
        say(f"the log takes {size(told['store_bytes_after'])} now; every session still stands where it stood")
    return 0

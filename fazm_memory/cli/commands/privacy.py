"""`recording`, `exclude`, `forget` and `retain`: what is recorded, and what is deleted again."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from fazm_memory.cli.main import open_memory
from fazm_memory.cli.output import (
    Progress,
    echo,
    echo_err,
    format_size,
    format_time,
    parse_moment,
    plural,
    print_json,
)
from fazm_memory.clock import TimeError, parse_duration
from fazm_memory.errors import Declined, InvalidRequest


def recording_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("verb", choices=("pause", "resume", "status"), nargs="?", default="status")
    parser.add_argument(
        "duration", nargs="?", metavar="DURATION", help="such as 15m or 1h30m (default: until resumed)"
    )


def recording_command(args: argparse.Namespace) -> int:
    memory = open_memory(args)
    if args.duration is not None and args.verb != "pause":
        raise InvalidRequest("Only `recording pause` takes a duration.")
    if args.verb == "pause":
        status = memory.recording.pause(None if args.duration is None else _parse_pause(args.duration))
    elif args.verb == "resume":
        status = memory.recording.resume()
    else:
        status = memory.recording.status()
    if args.json:
        print_json(status)
    elif status["recording"]:
        echo("Recording.")
    else:
        since = format_time(status["paused_since"], memory.now())
        until = status["paused_until"] and format_time(status["paused_until"], memory.now())
        echo(f"Paused since {since}, until {until or 'you resume it'}.")
    return 0


def _parse_pause(text: str) -> int:
    try:
        return parse_duration(text)
    except TimeError as error:
        raise InvalidRequest(str(error)) from None


def exclude_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--app", metavar="NAME", help="an app name or bundle identifier")
    what.add_argument("--folder", metavar="DIR", help="a folder and everything in it")
    parser.add_argument("--remove", action="store_true", help="remove it from the list")


def exclude_command(args: argparse.Namespace) -> int:
    if args.remove and args.app is None and args.folder is None:
        raise InvalidRequest("--remove needs --app or --folder")
    if args.folder is not None and not args.folder.strip():  # would mean the current folder
        raise InvalidRequest("The folder is empty", hint="Use `.` for the current folder.")
    memory = open_memory(args)
    if args.app is not None:
        (memory.recording.include_app if args.remove else memory.recording.exclude_app)(args.app)
    if args.folder is not None:
        folder = os.path.abspath(os.path.expanduser(args.folder))
        (memory.recording.include_folder if args.remove else memory.recording.exclude_folder)(folder)
    excluded = {**memory.recording.excluded_apps(), "folders": memory.recording.excluded_folders()}
    if args.app is not None or args.folder is not None:
        excluded["obeyed"] = memory.recording.wait_for_companion()
    if args.folder is not None and not args.remove:
        excluded["stored"] = memory.recording.stored_of_folder(folder)
    if args.json:
        print_json(excluded)
        return 0
    for name in (*excluded["settings"], *excluded["apps"]):
        echo(f"app     {name}")
    for name in excluded["folders"]:
        echo(f"folder  {name}")
    echo("Always excluded: password managers, private windows and password fields.")
    if "obeyed" in excluded:
        echo(OBEYED[excluded["obeyed"]])
    if args.app is not None and not args.remove:
        echo("What was recorded before stays. `fazm-memory forget --match NAME` deletes it.")
    if any((stored := excluded.get("stored", {})).values()):
        counts = f"{plural(stored['versions'], 'file version')}, {plural(stored['sessions'], 'session')}"
        echo(f"Stored before and still there: {counts}. `fazm-memory forget --match {folder}` deletes it.")
    return 0


OBEYED = {
    True: "The companion obeys it now.",
    False: "The companion has not answered yet. `fazm-memory doctor` checks it.",
    None: "The companion is not running. It obeys when it starts.",
}


def forget_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", nargs="?", metavar="ID", help="session id or a unique prefix")
    parser.add_argument("--since", metavar="TIME", help="events at or after this time")
    parser.add_argument("--until", metavar="TIME", help="events before this time")
    parser.add_argument("--match", metavar="TEXT", help="events and files that contain this text")
    parser.add_argument(
        "--set-aside", action="store_true", help="only the damaged stores that `recover` set aside"
    )
    parser.add_argument("--yes", action="store_true", help="do not ask; required without a terminal")
    parser.add_argument("--dry-run", action="store_true", help="only show what would be deleted")


def forget_command(args: argparse.Namespace) -> int:
    memory = open_memory(args)
    selection = {
        "since": None if args.since is None else parse_moment(args.since, memory.now()),
        "until": None if args.until is None else parse_moment(args.until, memory.now()),
        "match": args.match,
    }
    if args.set_aside and (args.id is not None or any(value is not None for value in selection.values())):
        raise InvalidRequest("--set-aside cannot be combined with other options.")

    def forget(*, dry_run: bool) -> dict[str, Any]:
        if args.set_aside:
            return memory.maintenance.forget_set_aside(dry_run=dry_run)
        return memory.maintenance.forget(args.id, dry_run=dry_run, **selection)

    if not args.dry_run and not args.yes:
        _confirm(_selected(forget(dry_run=True)))
    result = forget(dry_run=args.dry_run)
    if args.json:
        print_json(result)
        return 0
    echo(f"{'Would delete' if args.dry_run else 'Deleted'} {_selected(result)}.")
    if result.get("kept"):
        marks = plural(result["kept"], "mark")
        echo(f"Kept without text: {marks} of forks, rewinds and quarantines.")
    for copy in result.get("remaining", ()):
        echo(f"Not deleted: {copy['what']}")
        echo(f"  {copy['why']} {copy['remove']}")
    return 0


def _selected(result: dict[str, Any]) -> str:
    """What is deleted, in words."""
    if "set_aside" in result:
        return plural(len(result["set_aside"]), "damaged store")
    words = f"{plural(result['events'], 'event')} in {plural(result['sessions'], 'session')}"
    copies = [f"{name}: {count:,}" for name, count in result["copies"].items()]
    return f"{words}, and copies ({', '.join(copies)})" if copies else words


def _confirm(what: str) -> None:
    """Ask for confirmation, because deletion is final. Without a terminal, refuse."""
    if not sys.stdin.isatty():
        raise Declined(
            f"This would delete {what} for good. Nothing was deleted.",
            hint="--yes deletes without asking. --dry-run shows what would be deleted.",
        )
    echo_err(f"This deletes {what} for good.")
    sys.stderr.write("Continue? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Declined("Nothing was deleted.", hint="--yes deletes without asking.")


NAMES = {
    "actions": "details of actions",
    "messages": "messages of agents",
    "files": "file changes",
    "apps": "apps used",
    "prompts": "your requests",
    "archived": "archived, except your requests",
    "versions": "file versions",
}


def retain_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="only show what would be deleted")


def retain_command(args: argparse.Namespace) -> int:
    memory = open_memory(args)
    with Progress("looking for old events") as progress:
        result = memory.maintenance.retain(dry_run=args.dry_run, progress=progress.at)
    if args.json:
        print_json(result)
        return 0
    for name, words in NAMES.items():
        days = result["policy"][name]
        echo(f"{words:<34} kept {plural(days, 'day') if days else 'forever'}")
    limit = result["policy"]["megabytes"]
    echo(f"{'size of the log':<34} {format_size(limit << 20) if limit else 'no limit'}")
    verb = "Would delete" if args.dry_run else "Deleted"
    what = f"{plural(result['events'], 'event')} of {plural(result['sessions'], 'session')}"
    echo(
        f"\n{verb} details of {what}, {format_size(result['bytes'])} of {format_size(result['store_bytes'])}"
    )
    for group, count in result["by_kind"].items():
        echo(f"  {NAMES[group]}: {plural(count['events'], 'event')}, {format_size(count['bytes'])}")
    if result.get("versions"):
        echo(f"  {NAMES['versions']}: {plural(result['versions'], 'version')}")
    for session in result.get("left_alone", ()):
        echo(f"Skipped session {session[:12]}: it does not verify. See `fazm-memory verify`.")
    if not args.dry_run and result["events"]:
        size = format_size(result["store_bytes_after"])
        echo(f"The log now takes {size}. The state of every session is unchanged.")
    return 0

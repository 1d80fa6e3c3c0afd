"""`restore` an agent's own transcript, and `continue` a session in another agent."""

from __future__ import annotations

import argparse

from fazm_memory.cli.main import open_memory
from fazm_memory.cli.output import echo, echo_err, format_size, plural, print_json, single_line

ACTIONS = {
    "write": "written",
    "same": "unchanged",
    "replace": "replaced, it was older",
    "conflict": "replaced",
}
PLANNED = {
    "write": "would be written",
    "same": "is the same",
    "replace": "is older and would be replaced",
    "conflict": "is newer and differs, needs --force",
}


def restore_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", metavar="ID", help="the session")
    parser.add_argument("--home", metavar="DIR", help="another home folder to restore into")
    parser.add_argument("--workspace", metavar="DIR", help="where the session's folder is now")
    parser.add_argument("--force", action="store_true", help="replace a newer file, keeping a backup")
    parser.add_argument("--dry-run", action="store_true", help="only show what would be written")


def restore_command(args: argparse.Namespace) -> int:
    memory = open_memory(args)
    done = memory.transcripts.restore(
        args.session, home=args.home, workspace=args.workspace, force=args.force, dry_run=args.dry_run
    )
    if args.json:
        print_json(done)
        return 0
    words = PLANNED if args.dry_run else ACTIONS
    for file in done["files"]:
        echo(f"{single_line(file['path'])} ({format_size(file['bytes'])}): {words[file['action']]}")
        if "backup" in file:
            echo_err(f"backup: {file['backup']}")
    for note in done["notes"]:
        echo_err(f"note: {note}")
    if args.dry_run:
        echo_err("Nothing was changed.")
        return 0
    echo(f"{plural(len(done['files']), 'file')} of {done['agent']} restored.")
    if done["resume"] is not None:
        echo(f"Resume it with: {done['resume']}")
    return 0


def continue_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session", metavar="ID", help="the session")
    parser.add_argument(
        "--with", dest="agent", metavar="AGENT", required=True, help="the agent to go on with"
    )
    parser.add_argument("--workspace", metavar="DIR", help="the folder to work in (default: as before)")
    parser.add_argument("--dry-run", action="store_true", help="only show what would be carried over")


def continue_command(args: argparse.Namespace) -> int:
    memory = open_memory(args)
    done = memory.continuation.continue_with(
        args.session, args.agent, workspace=args.workspace, dry_run=args.dry_run
    )
    if args.json:
        print_json(done)
        return 0
    if done["how"] == "briefing":
        echo(f"{args.agent} gets a briefing.")
    else:
        carried = done["carried"]
        calls = f"{plural(carried['calls'], 'call')} ({carried['calls_as_text']} as text)"
        verb = "would be written" if args.dry_run else "is written"
        echo(f"A session of {args.agent} {verb}: {plural(carried['messages'], 'message')}, {calls}.")
        echo(done["path"])
    for missing in done["not_carried"]:
        echo_err(f"not carried over: {missing}")
    if args.dry_run:
        echo_err("Nothing was changed.")
    elif done["command"] is not None:
        echo(f"Go on with: {done['command']}")
    else:
        echo(done["briefing"])
    return 0

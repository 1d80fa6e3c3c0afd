"""`open`, `pause`, `resume`, `close`, `archive`, `restore` and `continue`."""

from __future__ import annotations

import argparse
import os
from typing import Any

from fazm_memory.cli.caller import callers_source
from fazm_memory.cli.commands.rewind import report_rewind, show_file_plan
from fazm_memory.cli.main import open_memory
from fazm_memory.cli.output import (
    echo,
    echo_err,
    format_size,
    latest_session,
    plural,
    print_json,
    single_line,
)
from fazm_memory.errors import InvalidRequest, InvalidTransition


def open_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--agent", default="unknown", help="the agent that works in it")
    parser.add_argument("--key", help="the agent's own name for the session")
    parser.add_argument("--workspace", metavar="DIR", help="the folder it works in (default: here)")
    parser.add_argument("--title", help="a title")
    parser.add_argument(
        "--own-folder",
        nargs="?",
        const="",
        metavar="DIR",
        help="work in a copy of the folder, beside it or at DIR (see `folders`)",
    )


def open_command(args: argparse.Namespace) -> int:
    if args.key is not None and not args.key.strip():
        raise InvalidRequest("The key is empty", hint="Leave --key out, or give a name.")
    workspace = os.path.abspath(args.workspace or os.getcwd())
    memory = open_memory(args)
    fields = {"key": args.key, "title": args.title, "source": callers_source()}
    if args.own_folder is None:
        return _report(args, memory.sessions.open(args.agent, workspace=workspace, **fields))
    session = memory.own_folders.open(args.agent, workspace, folder=args.own_folder or None, **fields)
    _report(args, session)
    if not args.json:
        echo(f"It works in {session['folder']}, a copy of {session['copy_of']} ({session['method']}).")
    return 0


def _move_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="session id or a unique prefix")
    parser.add_argument("--reason", help="a reason for the log")


pause_arguments = close_arguments = _move_arguments


def resume_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "id",
        nargs="?",
        metavar="ID",
        help="session id or a unique prefix (default: how to continue the latest)",
    )
    parser.add_argument("--reason", help="a reason for the log")
    parser.add_argument("--offer", action="store_true", help="only show the briefing and how to continue")
    parser.add_argument(
        "--files", action="store_true", help="also bring its files back to the moment of the pause"
    )
    parser.add_argument("--dry-run", action="store_true", help="with --files: only show what would change")
    parser.add_argument(
        "--force",
        action="store_true",
        help="with --files: also files that others changed (copies are stored)",
    )


def archive_arguments(parser: argparse.ArgumentParser) -> None:
    _move_arguments(parser)
    parser.add_argument("--undo", action="store_true", help="restore an archived session as closed")


def pause_command(args: argparse.Namespace) -> int:
    return _move(args, "pause")


def resume_command(args: argparse.Namespace) -> int:
    """Resume the session and print its briefing and the agent's command."""
    memory = open_memory(args)
    if args.id is None:
        args.id, args.offer = latest_session(memory), True
    if args.dry_run and not args.files:
        raise InvalidRequest("--dry-run shows the plan for files", hint="Use --files --dry-run.")
    if args.files and args.dry_run:
        return show_file_plan(args, memory.rewind.resume_plan(args.id))
    briefing, offer = memory.recall.briefing(args.id), memory.recall.resume_offer(args.id)
    session = memory.sessions.get(args.id)
    if args.files:
        result = memory.rewind.resume(args.id, force=args.force, reason=args.reason)
        return report_rewind(args, result, f"{result['id']} is resumed, with its files as at the pause.")
    if not args.offer:
        try:
            session = memory.sessions.move(args.id, "resume", reason=args.reason, source=callers_source())
        except InvalidTransition as refused:
            if session["lifecycle"] in ("open", "active", "resumed") and not refused.hint:
                refused.hint = f"`fazm-memory resume {session['id'][:8]} --offer` shows how to continue."
            raise
    if args.json:
        print_json(session | {"briefing": briefing.data | {"text": briefing.text}, "offer": offer})
        return 0
    echo(f"{session['id']} is {session['lifecycle']}.{' Nothing was changed.' if args.offer else ''}\n")
    echo(briefing.text)
    if offer["waits_for"]:
        waiting = plural(len(offer["waits_for"]), "answer")
        echo(f"It waits for {waiting}. `fazm-memory questions` lists them.")
    echo(f"{TOOK[offer['took']]} ({offer['why']})")
    if offer["took"] == "exact":
        echo(f"  {offer['command']}")
    elif offer["took"] == "briefing":
        echo(f"  fazm-memory resume {session['id'][:8]} --offer --json  contains that command under `offer`")
    return 0


TOOK = {
    "exact": "To continue, run this command",
    "briefing": "To continue, start the agent with the text above as the first message",
    "clipboard": "To continue, copy the text above into a new session",
}


def close_command(args: argparse.Namespace) -> int:
    return _move(args, "close")


def archive_command(args: argparse.Namespace) -> int:
    return _move(args, "restore" if args.undo else "archive")


def _move(args: argparse.Namespace, move: str) -> int:
    sessions = open_memory(args).sessions
    return _report(args, sessions.move(args.id, move, reason=args.reason, source=callers_source()))


def _report(args: argparse.Namespace, session: dict[str, Any]) -> int:
    if args.json:
        print_json(session)
    else:
        echo(f"{session['id']} is {session['lifecycle']}")
    return 0


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

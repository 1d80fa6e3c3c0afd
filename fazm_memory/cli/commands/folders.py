"""`folders`: the folders that sessions have for themselves."""

from __future__ import annotations

import argparse
from typing import Any

from fazm_memory.cli.commands.rewind import report_rewind, show_files
from fazm_memory.cli.main import open_memory
from fazm_memory.cli.output import echo, format_time, paint, print_json, table
from fazm_memory.errors import InvalidRequest
from fazm_memory.text import plural


def folders_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=("list", "merge", "remove"), default="list")
    parser.add_argument("id", metavar="ID", nargs="?", help="session id or a unique prefix")
    parser.add_argument("--dry-run", action="store_true", help="with merge: only show what would change")
    parser.add_argument(
        "--force",
        action="store_true",
        help="merge: also files that changed in both folders; remove: also with unmerged changes",
    )


def folders_command(args: argparse.Namespace) -> int:
    memory = open_memory(args)
    if args.action == "list":
        return _list(args)
    if args.id is None:
        raise InvalidRequest("The session is missing", hint=f"`fazm-memory folders {args.action} ID`")
    if args.action == "remove":
        gone = memory.own_folders.remove(args.id, force=args.force)
        if args.json:
            print_json(gone)
        else:
            echo(f"{gone['folder']} was removed. What was recorded of it stays.")
            _show_commits(gone["commits"])
        return 0
    if args.dry_run:
        plan = memory.own_folders.plan(args.id)
        if args.json:
            print_json(plan | {"dry_run": True})
            return 0
        show_files(plan["files"])
        _show_commits(plan["commits"])
        waiting = plan["files"] or plan["commits"]
        echo(paint("Nothing was changed (--dry-run)." if waiting else "There is nothing to merge.", "dim"))
        return 0
    result = memory.own_folders.merge(args.id, force=args.force)
    if not args.json:
        _show_commits(result["commits"])
    if result["undo"] is None:
        return report_rewind(args, result, "There are no changed files to merge.")
    return report_rewind(args, result, f"Merged into {result['workspace']}. {result['id']} goes on there.")


def _show_commits(commits: list[dict[str, Any]]) -> None:
    for one in commits:
        echo(f"  {plural(one['number'], 'commit')} of {one['branch']}: as {one['as']} in the repository")


def _list(args: argparse.Namespace) -> int:
    memory = open_memory(args)
    rows = memory.own_folders.listing()
    if args.json:
        print_json(rows)
        return 0
    if not rows:
        echo("No session has a folder of its own. `fazm-memory open --own-folder` opens one that has.")
        return 0
    table(
        [
            (row["session"][:8], row["lifecycle"], str(row["unmerged"]), str(row["commits"]),
             format_time(row["last_at"], memory.now()), row["title"] or "", row["folder"])
            for row in rows
        ],
        ("id", "state", "unmerged", "commits", "last", "title", "folder"),
    )  # fmt: skip
    return 0

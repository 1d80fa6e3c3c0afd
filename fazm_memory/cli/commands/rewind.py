"""`rewind`, `fork`, `branches`, `folders` and `replay`."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any

from fazm_memory.cli.main import callers_source, open_memory
from fazm_memory.cli.output import (
    MOMENT,
    Progress,
    echo,
    echo_err,
    format_time,
    integer,
    paint,
    plural_with_verb,
    print_json,
    single_line,
    table,
)
from fazm_memory.clock import iso
from fazm_memory.errors import InvalidRequest
from fazm_memory.text import plural, shorten

if TYPE_CHECKING:
    from fazm_memory.app import Memory

SHOWN = 60
COLOURS = {"refuse": "red", "cannot": "yellow", "keep": "dim"}
WORDS = {"restore": "restore", "delete": "remove", "recreate": "bring back", "rename_back": "rename back",
         "keep": "leave", "refuse": "REFUSED", "cannot": "cannot"}  # fmt: skip


def _id(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="session id or a unique prefix")


def fork_arguments(parser: argparse.ArgumentParser) -> None:
    _id(parser)
    parser.add_argument("--at", metavar="MOMENT", help=f"at this moment (default: now): {MOMENT}")
    parser.add_argument("--title", help="a title for the branch")
    parser.add_argument(
        "--into", metavar="DIR", help="copy its files as of that position into this new folder"
    )


def fork_command(args: argparse.Namespace) -> int:
    fork = open_memory(args).rewind.fork(
        args.id, at=args.at, title=args.title, into=args.into, source=callers_source()
    )
    if args.json:
        print_json(fork)
        return 0
    echo(f"{fork['id']} was forked from {fork['parent'][:8]} at {fork['parent_seq']}.")
    if fork["manifest"] is not None:
        written = fork["manifest"]["files"] - fork["manifest"]["missing"]
        echo(f"{plural_with_verb(written, 'file', 'are')} in {fork['folder']}")
        for file in fork["manifest"]["left_out"][:SHOWN]:
            echo(f"  left out {single_line(file['path'])}: {file['why']}")
    return 0


def branches_arguments(parser: argparse.ArgumentParser) -> None:
    _id(parser)


def branches_command(args: argparse.Namespace) -> int:
    memory = open_memory(args)
    rows = memory.rewind.branches(args.id)
    if args.json:
        print_json(rows)
        return 0
    machines = any(row["device"] for row in rows)
    table(
        [
            ("└" * row["depth"] + row["id"][:8], "" if row["parent_seq"] is None else str(row["parent_seq"]),
             row["lifecycle"], *([row["device"] or "here"] if machines else []), str(row["head"]),
             format_time(row["last_at"], memory.now()), row["title"] or "", row["workspace"] or "")
            for row in rows
        ],
        ("id", "forked at", "state", *(["machine"] if machines else []), "events", "last", "title",
         "workspace"),
    )  # fmt: skip
    return 0


def rewind_arguments(parser: argparse.ArgumentParser) -> None:
    _id(parser)
    parser.add_argument(
        "--to",
        metavar="MOMENT",
        help=f"the moment to return to: {MOMENT}. "
        "What is at position N is taken back too; what is in turn N stays",
    )
    parser.add_argument(
        "--files", action="store_true", help="also restore the files that the agent changed since"
    )
    parser.add_argument(
        "--everyone", action="store_true", help="with --files: also files that only others changed or deleted"
    )
    parser.add_argument("--dry-run", action="store_true", help="only show what would change")
    parser.add_argument("--plan", metavar="DIGEST", help="only if the plan still has this digest")
    parser.add_argument("--undo", action="store_true", help="undo the latest rewind")
    parser.add_argument(
        "--force", action="store_true", help="also replace files that others changed (copies are stored)"
    )
    parser.add_argument(
        "--expect", type=integer, metavar="N", help="only if the session has this many events"
    )
    parser.add_argument("--reason", help="a reason for the log")


def rewind_command(args: argparse.Namespace) -> int:
    memory = open_memory(args)
    if args.undo and args.to is not None:
        raise InvalidRequest("--undo and --to cannot be combined", hint="Use one of them.")
    if args.undo and args.dry_run:
        return _show_undo(args, memory.rewind.undo_plan(args.id, force=args.force))
    if args.undo:
        result = memory.rewind.undo(args.id, force=args.force)
        return report_rewind(args, result, f"The latest rewind of {result['id']} was undone.")
    if args.to is None:
        raise InvalidRequest("The position is missing", hint=_where_to(memory, args.id))
    row = memory.sessions.get(args.id, brief=True)
    args.to = memory.sessions.position(args.id, args.to)
    plan = None
    if args.files:
        plan = memory.rewind.plan(args.id, args.to, everyone=args.everyone, force=args.force)
    effect = _effect(memory, row, args.to)
    if args.dry_run:
        if args.json:
            change = memory.history.diff(args.id, row["events"], args.to)
            preview = {"session": row["id"], "to": args.to, "dry_run": True, "diff": change}
            print_json(preview if plan is None else preview | {"plan": plan})
            return 0
        echo(f"To take back: {effect}")
        if plan is None:
            echo(paint("Files stay as they are. With --files they go back too.", "dim"))
        else:
            _show_plan(plan, force=args.force)
            if not plan["files"]:
                echo("The known files are as they were at that position.")
            _show_everyone(args, plan["files"])
            echo(paint(f"To apply exactly this plan: --plan {plan['digest']}", "dim"))
        if row["device"]:
            echo(f"It is recorded on “{row['device']}”: it would be continued here, in a fork at {args.to}.")
        elif row["lifecycle"] in ("paused", "closed", "archived"):
            echo(f"The session is {row['lifecycle']}. Resume it first.")
        return 0
    # Only the plan computed here is applied. If a file changes in between, nothing is done.
    result = memory.rewind.apply(
        args.id, args.to, files=args.files, force=args.force, reason=args.reason,
        expected_seq=args.expect, everyone=args.everyone, source=callers_source(),
        plan=args.plan or (plan["digest"] if plan else None),
    )  # fmt: skip
    result["left"] = [file for file in plan["files"] if file["action"] in ("keep", "cannot")] if plan else []
    text = f"{result['id']} is back at {args.to}. {_taken_back(args, result, effect)}"
    if result.get("taken_over"):
        text = (
            f"{result['id']} continues {row['id'][:8]} of “{row['device']}” on this machine from {args.to}."
        )
    code = report_rewind(args, result, text)
    if not args.json:
        _show_everyone(args, result["left"])
    return code


def _taken_back(args: argparse.Namespace, result: dict[str, Any], effect: str) -> str:
    """What went back: the session, and which of its files."""
    if not args.files:
        return f"Taken back: {effect} Files stay as they are."
    done = sum(file["done"] for file in result["files"])
    stayed = len(result["files"]) - done + len(result["left"])
    if not done and not stayed:
        return f"Taken back: {effect} No file changed: the known files are as they were at that position."
    if not stayed:
        return f"Taken back: {effect}"
    went = f"{plural(done, 'file')} went back" if done else "No file went back"
    return f"Taken back in the session: {effect} {went}, {plural(stayed, 'file')} did not."


def _show_everyone(args: argparse.Namespace, files: list[dict[str, Any]]) -> None:
    """How files go back that only others changed; what they created stays."""
    if not args.everyone and any(f["action"] == "keep" and not f["why"].startswith("created") for f in files):
        command = f"fazm-memory rewind {args.id} --to {args.to} --files --everyone --force"
        echo(f"`{command}` brings back what others changed, renamed or deleted too.")


def _show_undo(args: argparse.Namespace, plan: dict[str, Any]) -> int:
    if args.json:
        print_json({"session": plan["session"], "to": plan["to"], "dry_run": True, "plan": plan})
        return 0
    echo(f"{plan['session']} would return to {plan['to']}, its position before the latest rewind.")
    _show_plan(plan, force=args.force)
    echo(paint("Nothing was changed (--dry-run).", "dim"))
    return 0


def show_file_plan(args: argparse.Namespace, plan: dict[str, Any]) -> int:
    """Print what would happen to files."""
    if args.json:
        print_json({"session": plan["session"], "to": plan["to"], "dry_run": True, "plan": plan})
        return 0
    _show_plan(plan, force=args.force)
    echo(paint("Nothing was changed (--dry-run).", "dim"))
    return 0


def _where_to(memory: Memory, id: str) -> str:
    """How to take back the last action, and where the others are."""
    session = memory.sessions.get(id, brief=True)["id"][:8]
    others = f"`fazm-memory events {session} --kind action` shows N"
    point = memory.timeline.rewind_point(session)
    if point["kind"] != "action":
        return f"Use --to N ({others}), or --undo."
    what = shorten(f"{point['title']} {point['target'] or ''}".strip(), 120)
    return (
        f"`fazm-memory rewind {session} --to {point['seq']} --files` takes back the last action, “{what}”."
        f" For an earlier one use --to N ({others}). --undo undoes a rewind."
    )


def _effect(memory: Memory, session: dict[str, Any], to: int) -> str:
    """What a rewind takes back, in words."""
    if to >= session["events"]:
        return "nothing."
    point = memory.timeline.rewind_point(session["id"], to)
    first = shorten(f"{point['title']} {point['target'] or ''}".strip(), 120)
    when = format_time(iso(point["ms"] * 1000), memory.now())
    return f"{plural(point['actions'], 'action')}, from “{first}” ({when}) on."


def _show_plan(plan: dict[str, Any], *, force: bool) -> None:
    """Print what would happen to each file, with --force or without."""
    files = [_forced(file) for file in plan["files"]] if force else plan["files"]
    if all(file["action"] in ("keep", "cannot") for file in files):
        echo("No file would change.")
    show_files(files)
    _show_folders(plan["folders"])
    for text in plan["unseen_what"]:
        echo(paint(f"  not observed: {text}", "red"))
    if plan["needs_force"]:
        needs = "" if force else "Nothing is done without --force, because of what is marked red. "
        echo(f"{needs}A copy of every changed file is stored first.")


def _forced(file: dict[str, Any]) -> dict[str, Any]:
    """What --force does with a file."""
    if file["action"] != "refuse":
        return file
    return file | {"action": file["would"], "why": file["why"].split(";")[0]}


def show_files(files: list[dict[str, Any]]) -> None:
    for file in files[:SHOWN]:
        origin = f" (now {_beside(file)})" if file.get("from") else ""
        word = WORDS[file["action"]]
        mark = paint(word, COLOURS[file["action"]]) if file["action"] in COLOURS else word
        mode = f" (mode {file['mode']['now']} → {file['mode']['then']})" if file.get("mode") else ""
        echo(f"  {mark} {single_line(file['path'])}{origin}: {file['why']}{mode}")
    if len(files) > SHOWN:
        echo(f"  and {len(files) - SHOWN} more (see --json)")


def _beside(file: dict[str, Any]) -> str:
    """The present name of a file; its folder only if it is another."""
    folder, _, name = file["from"].rpartition("/")
    return single_line(name if folder == file["path"].rpartition("/")[0] else file["from"])


def _show_folders(folders: list[dict[str, Any]]) -> None:
    for folder in folders[:SHOWN]:
        word = "remove" if folder["action"] == "delete" else paint("leave", COLOURS["keep"])
        echo(f"  {word} {single_line(folder['path'])}/ (empty): {folder['why']}")
    if len(folders) > SHOWN:
        echo(f"  and {len(folders) - SHOWN} more folders (see --json)")


def report_rewind(args: argparse.Namespace, result: dict[str, Any], text: str) -> int:
    for note in result.get("finished", ()):
        echo_err(note)
    if args.json:
        print_json(result)
        return 0
    echo(text)
    show_files(result["files"] + result.get("left", []))
    _show_folders(result.get("folders", []))
    if result["undo"] is not None:
        echo(f"The previous files are stored. `fazm-memory rewind {result['id'][:8]} --undo` restores them.")
    return 0


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
            (row["session"][:8], row["lifecycle"], *map(_known, (row["unmerged"], row["commits"])),
             format_time(row["last_at"], memory.now()), row["title"] or "", row["folder"])
            for row in rows
        ],
        ("id", "state", "unmerged", "commits", "last", "title", "folder"),
    )  # fmt: skip
    for row in rows:
        if "problem" in row:
            echo_err(f"{row['session'][:8]}: {row['problem']}")
    return 0


def _known(count: int | None) -> str:
    return "?" if count is None else str(count)


# -- replay ----------------------------------------------------------------------------------------------

OUTCOME_COLOURS = {"done": "green", "failed": "red", "refused": "red", "planned": "bold", "left": "dim"}


def replay_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="session id or a unique prefix")
    parser.add_argument("--script", action="store_true", help="print the shell commands as a script")
    parser.add_argument(
        "--doubted", action="store_true", help="with --script: also steps that follow untrusted input"
    )
    parser.add_argument("--onto", metavar="DIR", help="repeat the work on this folder")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="another value for a parameter"
    )
    parser.add_argument("--run", action="store_true", help="run the steps, asking before each")
    parser.add_argument("--yes", action="store_true", help="with --run: do not ask before moving files")
    parser.add_argument("--dry-run", action="store_true", help="only show the steps (the default)")


def replay_command(args: argparse.Namespace) -> int:
    if args.run or args.onto or args.set:
        return _repeat(args)
    with Progress("reading events") as progress:
        plan = open_memory(args).replay.plan(args.id, doubted=args.doubted, progress=progress.at)
    if args.json:
        print_json(plan)
        return 0
    if args.script:
        echo(plan["script"].rstrip())
        return 0
    for number, step in enumerate(plan["steps"], 1):
        what = step["what"] if step["kind"] == "decision" else f"{step['tool']} {step['target']}"
        what = f"check {what}" if step["kind"] == "check" else what
        echo(f"{number:>4}. {single_line(what)[:140]}  {paint('@' + str(step['seq']), 'dim')}")
        if "doubt" in step:
            echo(paint(f"      {step['doubt']}", "yellow"))
    for parameter in plan["parameters"]:
        echo(f"      {parameter['name']} = {parameter['value']} ({plural(parameter['uses'], 'use')})")
    left = ", ".join(f"{count} {what}" for what, count in plan["left_out"].items())
    echo(paint(f"left out: {left}", "dim") if left else "Nothing was left out.")
    return 0


def _repeat(args: argparse.Namespace) -> int:
    memory = open_memory(args)
    onto = _parameters(args)
    run = args.run and not args.dry_run
    if run and not args.yes and not sys.stdin.isatty():
        raise InvalidRequest(
            "--run asks before each step and needs a terminal", hint="--yes moves files without asking."
        )
    if run and not (args.json or args.yes):  # show all steps before the first question
        _show(memory.replay.run(args.id, onto=onto, execute=False, confirm=_never))
    result = memory.replay.run(args.id, onto=onto, execute=run, confirm=_always if args.yes else _ask)
    if args.json:
        print_json(result)
        return 0
    _show(result)
    if not run:
        echo(paint("Nothing was done. --run runs the steps and asks before each.", "dim"))
    return 0


def _parameters(args: argparse.Namespace) -> dict[str, str]:
    onto: dict[str, str] = {}
    for setting in args.set:
        name, separator, value = setting.partition("=")
        if not separator or not name:
            raise InvalidRequest(f'Invalid parameter "{setting[:60]}"', hint="Use NAME=VALUE.")
        onto[name] = value
    if args.onto is not None:
        onto["folder"] = os.path.abspath(os.path.expanduser(args.onto))
    return onto


def _show(result: dict[str, Any]) -> None:
    for step in result["steps"]:
        mark = paint(step["outcome"], OUTCOME_COLOURS.get(step["outcome"], "yellow"))
        echo(f"{step['n']:>4}. {mark}  {single_line(step['what'])[:200]}")
        if step.get("divergence"):
            echo(paint(f"        {single_line(step['divergence'])[:200]}", "dim"))
    for line in result["divergence"]:
        echo(paint(f"  differs from the recording: {single_line(line)[:200]}", "yellow"))
    counts = ", ".join(f"{count} {outcome}" for outcome, count in result["counts"].items())
    echo(counts or "Nothing to repeat.")


def _never(step: dict[str, Any]) -> bool:
    return False


def _always(step: dict[str, Any]) -> bool:
    """The answers of --yes.

    Files are moved inside the folder. Commands never run, and nothing leaves the folder.
    """
    return bool(step["kind"] != "command" and not step.get("outside", False))


def _ask(step: dict[str, Any]) -> bool:
    echo_err(f"{step['n']:>4}. {step['what']}")
    sys.stderr.write("      Run it? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")

"""Going back and branching off: rewind, its undo, fork, branches."""

from __future__ import annotations

import argparse
from typing import Any

from fazm_memory.cli.main import memory_of
from fazm_memory.cli.output import emit_json, integer, one_line, paint, say, table, talk, they, when
from fazm_memory.errors import InvalidRequest

SHOWN = 60
COLOURS = {"refuse": "red", "cannot": "yellow", "keep": "dim"}
WORDS = {"restore": "restore", "delete": "remove", "recreate": "bring back", "rename_back": "rename back",
         "keep": "leave", "refuse": "REFUSED", "cannot": "cannot"}  # fmt: skip


def _id(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="a session's id, or the beginning of it")


def fork_arguments(parser: argparse.ArgumentParser) -> None:
    _id(parser)
    parser.add_argument("--at", type=integer, metavar="N", help="after its first N events (default: now)")
    parser.add_argument("--title", help="what the branch is about")
    parser.add_argument(
        "--into", metavar="DIR", help="write its files, as they were then, into this new folder"
    )


def fork_command(chosen: argparse.Namespace) -> int:
    made = memory_of(chosen).fork(chosen.id, at=chosen.at, title=chosen.title, into=chosen.into)
    if chosen.json:
        emit_json(made)
        return 0
    say(f"{made['id']} stands where {made['parent'][:8]} stood at {made['parent_seq']}")
    if made["manifest"] is not None:
        written = made["manifest"]["files"] - made["manifest"]["missing"]
        say(f"{they(written, 'file', 'are')} in {made['folder']}")
        for one in made["manifest"]["left_out"][:SHOWN]:
            say(f"  left out {one['path']}: {one['why']}")
    return 0


def branches_arguments(parser: argparse.ArgumentParser) -> None:
    _id(parser)


def branches_command(chosen: argparse.Namespace) -> int:
    memory = memory_of(chosen)
    rows = memory.branches(chosen.id)
    if chosen.json:
        emit_json(rows)
        return 0
    table(
        [
            ("└" * row["depth"] + row["id"][:8], "" if row["parent_seq"] is None else str(row["parent_seq"]),
             row["lifecycle"], str(row["head"]), when(row["last_at"], memory.now()), row["title"] or "",
             row["workspace"] or "")
            for row in rows
        ],
        ("id", "forked at", "state", "events", "last", "title", "workspace"),
    )  # fmt: skip
    return 0


def rewind_arguments(parser: argparse.ArgumentParser) -> None:
    _id(parser)
    parser.add_argument("--to", type=integer, metavar="N", help="the position to stand at again")
    parser.add_argument("--files", action="store_true", help="bring back the files the agent changed since")
    parser.add_argument("--dry-run", action="store_true", help="only show what would change")
    parser.add_argument("--plan", metavar="DIGEST", help="only if the plan is still the one that was shown")
    parser.add_argument("--undo", action="store_true", help="take the latest rewind back")
    parser.add_argument(
        "--force", action="store_true", help="also what others changed since (copies are kept), or unseen"
    )
    parser.add_argument("--expect", type=integer, metavar="N", help="only if it has this many events")
    parser.add_argument("--reason", help="why, for whoever reads the log")


def rewind_command(chosen: argparse.Namespace) -> int:
    memory = memory_of(chosen)
    if chosen.undo and chosen.to is not None:
        raise InvalidRequest("--undo and --to are two different things", hint="give one of them")
    if chosen.undo and chosen.dry_run:
        return _undo_shown(chosen, memory.undo_plan(chosen.id))
    if chosen.undo:
        made = memory.undo_rewind(chosen.id, force=chosen.force)
        return _done(chosen, made, f"{made['id']} stands where it stood before that rewind")
    if chosen.to is None:
        raise InvalidRequest("a rewind needs a position", hint="--to N, or --undo to take the last one back")
    row = memory.session(chosen.id)
    change = memory.diff(chosen.id, row["events"], chosen.to)
    plan = memory.rewind_plan(chosen.id, chosen.to) if chosen.files else None
    if chosen.dry_run:
        told = {"session": row["id"], "to": chosen.to, "dry_run": True, "diff": change}
        if chosen.json:
            emit_json(told if plan is None else told | {"plan": plan})
            return 0
        say(_effect(change))
        if plan is not None:
            _show_plan(plan)
        if row["lifecycle"] in ("paused", "closed", "archived"):
            say(f"it is {row['lifecycle']}: it has to be resumed before it can be rewound")
        return 0
    # Exactly the plan that is shown is carried out: if anything moves in between, nothing is done.
    made = memory.rewind(
        chosen.id, chosen.to, files=chosen.files, force=chosen.force, reason=chosen.reason,
        expected_seq=chosen.expect, plan=chosen.plan or (plan and plan["digest"]),
    )  # fmt: skip
    made["left"] = [one for one in plan["files"] if one["action"] in ("keep", "cannot")] if plan else []
    return _done(chosen, made, f"{made['id']} stands at {chosen.to} again; {_effect(change)}")


def _undo_shown(chosen: argparse.Namespace, plan: dict[str, Any]) -> int:
    if chosen.json:
        emit_json({"session": plan["session"], "to": plan["to"], "dry_run": True, "plan": plan})
        return 0
    say(f"{plan['session']} would stand at {plan['to']} again, where it stood before its latest rewind")
    _show_files(plan["files"])
    _show_folders(plan["folders"])
    say(paint("nothing was done: without --dry-run it is", "dim"))
    return 0


def _effect(change: dict[str, Any]) -> str:
    keys = sorted({*change["added"], *change["removed"], *change["changed"]} - {"counts"})
    return f"its state changes in {', '.join(keys)}" if keys else "its state does not change"


def _show_plan(plan: dict[str, Any]) -> None:
    _show_files(plan["files"])
    _show_folders(plan["folders"])
    for one in plan["unseen_what"]:
        say(paint(f"  not seen by anybody: {one}", "red"))
    if plan["needs_force"]:
        say("some of it is refused without --force; a copy of everything is kept first")
    say(paint(f"to do exactly this: --plan {plan['digest']}", "dim"))


def _show_files(files: list[dict[str, Any]]) -> None:
    for one in files[:SHOWN]:
        origin = f" (now {one['from']})" if one.get("from") else ""
        word = WORDS[one["action"]]
        mark = paint(word, COLOURS[one["action"]]) if one["action"] in COLOURS else word
        mode = f" (mode {one['mode']['now']} → {one['mode']['then']})" if one.get("mode") else ""
        say(f"  {mark} {one_line(one['path'])}{origin}: {one['why']}{mode}")
    if len(files) > SHOWN:
        say(f"  and {len(files) - SHOWN} more: --json has them")


def _show_folders(folders: list[dict[str, Any]]) -> None:
    """Folders that are left empty."""
    for one in folders[:SHOWN]:
        word = "remove" if one["action"] == "delete" else paint("leave", COLOURS["keep"])
        say(f"  {word} {one_line(one['path'])}/, which is empty then: {one['why']}")
    if len(folders) > SHOWN:
        say(f"  and {len(folders) - SHOWN} more folders: --json has them")


def _done(chosen: argparse.Namespace, made: dict[str, Any], text: str) -> int:
    for one in made.get("finished", ()):
        talk(one)
    if chosen.json:
        emit_json(made)
        return 0
    say(text)
    _show_files(made["files"] + made.get("left", []))
    _show_folders(made.get("folders", []))
    if made["undo"] is not None:
        say(f"a copy of what was there is kept: `fazm-memory rewind {made['id'][:8]} --undo` takes it back")
    return 0

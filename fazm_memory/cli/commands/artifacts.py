"""`artifacts` and `untrusted`."""

from __future__ import annotations

import argparse
import json
import os
from typing import Any

from fazm_memory.cli.caller import callers_source
from fazm_memory.cli.main import open_memory
from fazm_memory.cli.output import echo, non_negative_int, paint, plural, print_json, single_line
from fazm_memory.errors import InvalidRequest, NotFound
from fazm_memory.lazy import lazy_regex
from fazm_memory.recall import artifact_markdown

ITEM = lazy_regex(r"\s*[-*]\s+\[([ xX~-])\]\s+(\S.*)")
STATUS = {"x": "completed", "~": "in_progress", "-": "cancelled", " ": "pending"}


def artifacts_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="session id or a unique prefix")
    parser.add_argument("name", nargs="?", metavar="NAME", help="only this artifact")
    parser.add_argument("--done", metavar="ITEM", action="append", help="mark an item as completed")
    parser.add_argument("--from-file", metavar="FILE", help="write the artifact from a Markdown checklist")
    parser.add_argument(
        "--form", default="checklist", help="feature_list, progress_log, checklist or document"
    )
    parser.add_argument("--export", metavar="FILE", help="write the artifact to a file (.md or .json)")


def artifacts_command(args: argparse.Namespace) -> int:
    memory = open_memory(args)
    if args.name is None and (args.done or args.from_file or args.export):
        raise InvalidRequest(
            "Which artifact is not given", hint="Use for example: artifacts ID features --done 2"
        )
    if args.from_file:
        payload = {"name": args.name, "form": args.form, **_read(args.from_file)}
        memory.sessions.append(args.id, "artifact", source=callers_source(), **payload)
    elif args.done:
        changes = [{"id": item, "status": "completed"} for item in args.done]
        changed = memory.sessions.changed_artifact(args.id, args.name, changes)
        memory.sessions.append(args.id, "artifact", source=callers_source(), **changed)
    rows = memory.history.state(args.id)["artifacts"]
    if args.name is not None:
        rows = [row for row in rows if row["name"] == args.name]
        if not rows:
            raise NotFound(f'No artifact is named "{args.name[:60]}".', hint="`artifacts ID` lists them.")
    if args.export:
        text = json.dumps(rows[0], ensure_ascii=False, indent=1) + "\n"
        with open(args.export, "w", encoding="utf-8") as file:
            file.write(text if args.export.endswith(".json") else artifact_markdown(rows[0]))
    if args.json:
        print_json(rows)
        return 0
    for row in rows:
        echo(artifact_markdown(row).rstrip())
        by = (
            f"version {row['version']} by {row['actor']}, {row['done']} of {row['total']} done  @{row['seq']}"
        )
        echo(paint(by, "dim"))
    if not rows:
        echo("No artifacts.")
    if args.export:
        echo(f"Written to {os.path.abspath(args.export)}")
    return 0


def _read(path: str) -> dict[str, Any]:
    """The items and the other text of a Markdown file."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidRequest(f"{path} cannot be read: {error}") from None
    items, text = [], []
    for line in lines:
        match = ITEM.fullmatch(line)
        if match is not None:
            items.append({"text": match[2].strip(), "status": STATUS[match[1].lower()]})
        elif not line.startswith("# "):
            text.append(line)
    rest = "\n".join(text).strip()
    return {"items": items, **({"text": rest} if rest else {})}


def untrusted_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", nargs="?", metavar="ID", help="only this session")
    parser.add_argument("--workspace", metavar="DIR", help="only sessions in this folder")
    parser.add_argument("--trust", choices=("web", "unverified"), help="only of this trust")
    parser.add_argument("--limit", type=non_negative_int, default=50, metavar="N", help="number of entries")


def untrusted_command(args: argparse.Namespace) -> int:
    workspace = None if args.workspace is None else os.path.abspath(args.workspace)
    rows = open_memory(args).history.untrusted(
        session=args.id, workspace=workspace, trust=args.trust, limit=args.limit
    )
    if args.json:
        print_json(rows)
        return 0
    for row in rows:
        led = row.get("led_to") or {"calls": 0, "changes": 0}
        then = f"then {plural(led['calls'], 'call')}, {plural(led['changes'], 'file change')}"
        what = f"{row.get('tool') or row['kind']} {single_line(row['what'] or '')[:120]}"
        echo(f"{row['session'][:8]} @{row['seq']}  {row['trust']:<10}  {what}  {paint(then, 'dim')}")
    if not rows:
        echo("Nothing rests on untrusted input.")
    return 0

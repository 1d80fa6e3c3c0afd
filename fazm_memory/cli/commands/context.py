"""`context`, `conventions`, `facts`, `habits`, `artifacts` and `untrusted`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from textwrap import wrap
from typing import Any

from fazm_memory.cli.event_text import LINE, value_text
from fazm_memory.cli.main import callers_source, calling_agent, open_memory
from fazm_memory.cli.output import (
    echo,
    echo_err,
    format_time,
    integer,
    non_negative_int,
    paint,
    plural,
    print_json,
    single_line,
    terminal_width,
)
from fazm_memory.clock import iso
from fazm_memory.errors import InvalidRequest, NotFound
from fazm_memory.lazy import lazy_regex
from fazm_memory.text import shorten

READABLE = 120  # columns of the longest line of a context in a terminal


def context_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--workspace", metavar="DIR", help="the folder the session starts in (default: all)")
    parser.add_argument("--budget", type=integer, metavar="TOKENS", help="at most this many tokens")
    parser.add_argument("--pin", metavar="ITEM", help="always include this item")
    parser.add_argument("--exclude", metavar="ITEM", help="never include this item")
    parser.add_argument("--include", metavar="ITEM", help="undo --pin or --exclude")


def context_command(args: argparse.Namespace) -> int:
    memory = open_memory(args)
    workspace = None if args.workspace is None else os.path.abspath(os.path.expanduser(args.workspace))
    context = memory.recall.present_context(workspace, budget=args.budget)
    for item, choice in ((args.pin, "pin"), (args.exclude, "exclude"), (args.include, None)):
        if item is None:
            continue
        if choice is not None and item not in {entry["id"] for entry in context.data["items"]}:
            raise NotFound(
                f'This context has no item "{item}"', hint="`fazm-memory context --json` lists the items."
            )
        memory.recall.choose_item(item, choice)
        context = memory.recall.present_context(workspace, budget=args.budget)
    if args.json:
        for thread in context.data["threads"]:
            thread["cost"] = memory.costs.of_sessions(thread["sessions"])
        print_json(context.data)
        return 0
    sys.stdout.write(_wrapped(context.text) if sys.stdout.isatty() else context.text)
    echo_err(
        f"{plural(context.data['characters'], 'character')}, about {plural(context.data['tokens'], 'token')}"
    )
    return 0


def _wrapped(text: str) -> str:
    """Wrap the context to the terminal, with bold headings and a dim frame."""
    width = min(terminal_width(), READABLE)
    lines = []
    for line in text.splitlines():
        if line.startswith("<<<"):
            lines.append(paint(line, "dim"))
            continue
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        folded = wrap(
            line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        ) or [""]
        is_heading = line[:1].isupper() and line.split(":")[0].isupper()
        lines += [paint(part, "bold") if is_heading else part for part in folded]
    return "\n".join(lines) + "\n"


def conventions_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="session id or a unique prefix")
    parser.add_argument("--apply", nargs="+", metavar="NAME", help="show the new names of these files")


def conventions_command(args: argparse.Namespace) -> int:
    from fazm_memory.session import folder_progress_text

    learned = open_memory(args).recall.conventions(args.id, names=args.apply or ())
    if args.json:
        print_json(learned)
        return 0
    for proposal in learned["proposals"]:
        if proposal["becomes"] is None:
            others = f" ({' or '.join(proposal['alternatives'])})" if proposal["alternatives"] else ""
            echo(f"{proposal['name']}: unknown, {proposal['because']}{others}")
        else:
            echo(f"{proposal['name']} → {paint(proposal['becomes'], 'bold')}")
    if args.apply:
        return 0
    for folder in learned["folders_processed"]:
        progress = folder_progress_text(folder["processed"], folder["total"], folder["listed"])
        echo(f"{folder['folder']}: {progress}")
    for rule in learned["conventions"]:
        place = f" into {rule['destination']}" if rule["destination"] else ""
        files = f"{plural(rule['support'], 'file')} in {rule['folder']}"
        echo(f"{paint(rule['pattern'], 'bold')}{place}  ({files})")
        for before, after in rule["examples"][:2]:
            echo(f"    {before} → {after}")
        for other in rule["ambiguous"]:
            echo(f"    or {other} (the examples fit both)")
        for exception in rule["exceptions"]:
            echo(f"    except {exception}")
    for skip in learned["skipped"]:
        echo(f"skipped {skip['count']} in {skip['folder']}: {skip['rule']} ({', '.join(skip['files'][:3])})")
    if not learned["conventions"] and not learned["skipped"]:
        echo("No naming convention was found in this session.")
    return 0


def facts_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("verb", nargs="?", choices=("list", "add", "retract"), default="list")
    parser.add_argument("key", nargs="?", metavar="KEY")
    parser.add_argument("value", nargs="?", metavar="VALUE")
    parser.add_argument("--history", action="store_true", help="include replaced and retracted values")


def facts_command(args: argparse.Namespace) -> int:
    memory = open_memory(args)
    if args.verb == "add":
        if not (args.key or "").strip() or args.value is None:
            raise InvalidRequest(
                "A fact needs a key and a value", hint="For example `fazm-memory facts add date-format ISO`."
            )
        memory.recall.add_fact(args.key, args.value, agent=calling_agent())
    elif args.verb == "retract":
        if args.key is None:
            raise InvalidRequest("The key is missing", hint="Use `fazm-memory facts retract KEY`.")
        memory.recall.retract_fact(args.key, agent=calling_agent())
        if not args.json:
            name = single_line(args.key)
            stays = memory.recall.facts(key=args.key)  # an agent does not retract what a person said
            echo(
                f"{name} stays, as the user set it: the word of an agent does not retract it."
                if stays
                else f"{name} is retracted."
            )
            return 0
    facts = memory.recall.facts(history=args.history, key=args.key)
    if args.json:
        print_json(facts)
        return 0
    for fact in facts:
        retracted = paint(" (retracted)", "dim") if fact["retracted"] else ""
        at = format_time(fact["at"], memory.now())
        source = f"[{fact['trust']}, {at}, {fact['session'][:8]}@{fact['seq']}]"
        text = value_text(fact["value"])
        value = "" if fact["retracted"] else f" = {text if args.key else shorten(text, LINE)}"
        echo(f"{single_line(fact['key'])}{value}{retracted}  {paint(source, 'dim')}")
    if not facts:
        echo("No facts recorded.")
    return 0


TITLES = {
    "folder": "usual folders",
    "app": "usual apps",
    "tool": "usual tools",
    "convention": "naming conventions",
    "file": "recurring files",
}
MOST = 8


def habits_arguments(parser: argparse.ArgumentParser) -> None:
    """No options. --json exports the whole graph."""


def habits_command(args: argparse.Namespace) -> int:
    memory = open_memory(args)
    found = memory.recall.habits()
    if args.json:
        print_json(found.to_json())
        return 0
    if not (found.tasks or found.nodes or found.recurring_failures):
        echo(f"Nothing recurs yet in {plural(found.sessions, 'session')}.")
        return 0
    if found.tasks:
        echo(paint("recurring tasks", "dim"))
    for task in found.tasks[:MOST]:
        last = format_time(iso(task.moments[-1]), memory.now())
        echo(f"  {single_line(task.words)[:100]}")
        often = plural(len(task.moments), "time")
        echo(f"      {often}, {task.rhythm.text()}, last {last}{_traces(task.traces)}")
    for kind, title in TITLES.items():
        nodes = found.of(kind)[:MOST]
        if nodes:
            echo(f"\n{paint(title, 'dim')}")
        for node in nodes:
            last = format_time(iso(node.last), memory.now())
            echo(f"  {single_line(node.name)[:100]}  {plural(node.count, 'session')}, last {last}")
    if found.recurring_failures:
        echo(f"\n{paint('commands that often fail first', 'dim')}")
    for stumble in found.recurring_failures[:MOST]:
        counts = f"failed {stumble.failures}, then worked {stumble.mended}"
        echo(f"  {stumble.command}: {counts}{_traces(stumble.traces)}")
        echo(f"      {single_line(stumble.error)[:120]}")
        for what, count in stumble.by:
            echo(f"      resolved by {single_line(what)[:100]} ({count})")
    return 0


def _traces(traces: tuple[tuple[str, int], ...]) -> str:
    return "  " + paint(" ".join(f"{session[:8]}@{seq}" for session, seq in traces[-2:]), "dim")


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
    from fazm_memory.recall import artifact_markdown

    memory = open_memory(args)
    if args.name is None and (args.done or args.from_file or args.export):
        raise InvalidRequest(
            "The name of the artifact is missing", hint="Use for example: artifacts ID features --done 2"
        )
    if args.from_file:
        payload = {"name": args.name, "form": args.form, **_read(args.from_file)}
        memory.sessions.append(args.id, "artifact", source=callers_source(), **payload)
    elif args.done:
        changes = [{"id": item, "status": "completed"} for item in args.done]
        memory.sessions.edit_artifact(args.id, args.name, changes, source=callers_source())
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
    parser.add_argument("--trust", choices=("web", "unverified"), help="only this trust level")
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

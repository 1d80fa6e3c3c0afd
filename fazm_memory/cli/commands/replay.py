"""`fazm-memory replay`: a session as a plan, as a script, or repeated on other files."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from fazm_memory.cli.main import open_memory
from fazm_memory.cli.output import Progress, echo, echo_err, paint, plural, print_json, single_line
from fazm_memory.errors import InvalidRequest

COLOURS = {"done": "green", "failed": "red", "refused": "red", "planned": "bold", "left": "dim"}


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
        mark = paint(step["outcome"], COLOURS.get(step["outcome"], "yellow"))
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
    """With --yes: move files inside the folder. Never run commands or leave the folder."""
    return bool(step["kind"] != "command" and not step.get("outside", False))


def _ask(step: dict[str, Any]) -> bool:
    echo_err(f"{step['n']:>4}. {step['what']}")
    sys.stderr.write("      Run it? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")

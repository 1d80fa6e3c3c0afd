"""`fazm-memory replay`: a past workflow as a plan, as a script, or done again step by step on other files."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Any

from fazm_memory.cli.main import memory_of
from fazm_memory.cli.output import Progress, emit_json, one_line, paint, plural, say, talk
from fazm_memory.errors import InvalidRequest

COLOURS = {"done": "green", "failed": "red", "refused": "red", "planned": "bold", "left": "dim"}


def replay_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="a session's id, or the beginning of it")
    parser.add_argument("--script", action="store_true", help="only the shell work, as a script")
    parser.add_argument("--onto", metavar="DIR", help="do to this folder what was done then")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="another value for a parameter"
    )
    parser.add_argument("--run", action="store_true", help="do it, asking before each step")
    parser.add_argument("--yes", action="store_true", help="with --run: do not ask before moving files")
    parser.add_argument("--dry-run", action="store_true", help="only show what it would do (the default)")


def replay_command(chosen: argparse.Namespace) -> int:
    if chosen.run or chosen.onto or chosen.set:
        return _again(chosen)
    with Progress("reading events") as progress:
        plan = memory_of(chosen).replay_plan(chosen.id, progress=progress.at)
    if chosen.json:
        emit_json(plan)
        return 0
    if chosen.script:
        say(plan["script"].rstrip())
        return 0
    for number, step in enumerate(plan["steps"], 1):
        what = step["what"] if step["kind"] == "decision" else f"{step['tool']} {step['target']}"
        say(f"{number:>4}. {one_line(what)[:140]}  {paint('@' + str(step['seq']), 'dim')}")
    for one in plan["parameters"]:
        say(f"      {one['name']} = {one['value']} ({plural(one['uses'], 'use')})")
    left = ", ".join(f"{count} {what}" for what, count in plan["left_out"].items())
    say(paint(f"left out: {left}", "dim") if left else "nothing was left out")
    return 0


def _again(chosen: argparse.Namespace) -> int:
    memory = memory_of(chosen)
    onto = _parameters(chosen)
    run = chosen.run and not chosen.dry_run
    if run and not chosen.yes and not sys.stdin.isatty():
        raise InvalidRequest(
            "there is nobody to ask before each step", hint="--yes moves files without asking"
        )
    if run and not (chosen.json or chosen.yes):  # for whoever is asked, the whole of it first
        _show(memory.replay_run(chosen.id, onto=onto, execute=False, confirm=_never))
    made = memory.replay_run(chosen.id, onto=onto, execute=run, confirm=_always if chosen.yes else _ask)
    if chosen.json:
        emit_json(made)
        return 0
    _show(made)
    if not run:
        say(paint("nothing was done: --run does it, asking before each step", "dim"))
    return 0


def _parameters(chosen: argparse.Namespace) -> dict[str, str]:
    onto: dict[str, str] = {}
    for one in chosen.set:
        name, mark, value = one.partition("=")
        if not mark or not name:
            raise InvalidRequest(f"{one[:60]!r} sets nothing", hint="give it as NAME=VALUE")
        onto[name] = value
    if chosen.onto is not None:
        onto["folder"] = os.path.abspath(os.path.expanduser(chosen.onto))
    return onto


def _show(made: dict[str, Any]) -> None:
    for step in made["steps"]:
        mark = paint(step["outcome"], COLOURS.get(step["outcome"], "yellow"))
        say(f"{step['n']:>4}. {mark}  {one_line(step['what'])[:200]}")
        if step.get("divergence"):
            say(paint(f"        {one_line(step['divergence'])[:200]}", "dim"))
    for line in made["divergence"]:
        say(paint(f"  not as recorded: {one_line(line)[:200]}", "yellow"))
    counts = ", ".join(f"{count} {outcome}" for outcome, count in made["counts"].items())
    say(counts or "there is nothing to do again")


def _never(step: dict[str, Any]) -> bool:
    return False


def _always(step: dict[str, Any]) -> bool:
    """Files are moved unasked inside the folder; out of it, or by a recorded command, nothing is done so."""
    return bool(step["kind"] != "command" and not step.get("outside", False))


def _ask(step: dict[str, Any]) -> bool:
    talk(f"{step['n']:>4}. {step['what']}")
    sys.stderr.write("      do it? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")

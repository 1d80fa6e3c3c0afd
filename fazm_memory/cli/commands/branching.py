"""Handing over and doing again: handoff, answer, replay."""

from __future__ import annotations

import argparse
from typing import Any

from fazm_memory.cli.main import memory_of
from fazm_memory.cli.output import emit_json, one_line, paint, plural, say


def _id(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", metavar="ID", help="a session's id, or the beginning of it")


def handoff_arguments(parser: argparse.ArgumentParser) -> None:
    _id(parser)
    parser.add_argument("--to", choices=("human", "agent"), required=True)
    parser.add_argument("--note", required=True, metavar="TEXT", help="the question")


def handoff_command(chosen: argparse.Namespace) -> int:
    made = memory_of(chosen).handoff(chosen.id, to=chosen.to, note=chosen.note)
    return _told(chosen, made, f"question {made['question']} is open in {made['id'][:8]}")


def answer_arguments(parser: argparse.ArgumentParser) -> None:
    _id(parser)
    parser.add_argument("question", metavar="QUESTION", help="the question's id")
    parser.add_argument("text", nargs="?", metavar="TEXT", help="the answer")
    parser.add_argument("--waive", action="store_true", help="go on without an answer")


def answer_command(chosen: argparse.Namespace) -> int:
    made = memory_of(chosen).answer(chosen.id, chosen.question, chosen.text, waived=chosen.waive)
    done = "waived" if chosen.waive else "answered"
    left = f"{plural(made['open_questions'], 'question')} left open"
    return _told(chosen, made, f"{chosen.question} is {done}; {left} in {made['id'][:8]}")


def replay_arguments(parser: argparse.ArgumentParser) -> None:
    _id(parser)
    parser.add_argument("--script", action="store_true", help="only the shell work, as a script")
    parser.add_argument("--dry-run", action="store_true", help="the plan; nothing is ever executed")


def replay_command(chosen: argparse.Namespace) -> int:
    plan = memory_of(chosen).replay_plan(chosen.id)
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


def _told(chosen: argparse.Namespace, told: dict[str, Any], text: str) -> int:
    if chosen.json:
        emit_json(told)
    else:
        say(text)
    return 0

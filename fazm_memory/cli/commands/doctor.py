"""`doctor` and `demo`."""

from __future__ import annotations

import argparse
import sys

from fazm_memory.app import SELF_TEST, CheckFunction, run_checks, run_demo
from fazm_memory.cli.main import clock, open_memory
from fazm_memory.cli.output import echo, paint, plural, print_json

REPORT = "Please report this with the whole output."
MARKS = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "broken": ("✗", "red"), "not here": ("–", "dim")}


def doctor_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--self-test", action="store_true", help="also start and stop a companion in a temporary folder"
    )


def doctor_command(args: argparse.Namespace) -> int:
    memory = open_memory(args)
    more: list[tuple[str, CheckFunction]] = []
    if sys.platform == "darwin":
        from fazm_memory.macos import MAC_CHECKS  # only there

        more += MAC_CHECKS
    if args.self_test:
        more.append(SELF_TEST)
    checks = []
    for check in run_checks(memory, more):
        checks.append(check)
        if not args.json:
            mark, colour = MARKS[check.verdict]
            echo(f"{paint(mark, colour)} {check.name}: {check.detail}")
            if check.hint:
                echo(f"    hint: {check.hint}")
    broken = sum(check.verdict == "broken" for check in checks)
    if args.json:
        print_json({"ok": not broken, "checks": [check.to_json() for check in checks]})
    else:
        warnings = sum(check.verdict == "warning" for check in checks)
        errors = plural(broken, "error") if broken else "No errors"
        echo(f"\n{errors}, {plural(warnings, 'warning') if warnings else 'no warnings'}.")
        for check in checks:
            if check.verdict == "broken":
                echo(f"  {check.name} failed. {check.hint or REPORT}")
    return 1 if broken else 0


def demo_arguments(parser: argparse.ArgumentParser) -> None:
    """No options."""


def demo_command(args: argparse.Namespace) -> int:
    steps = run_demo(clock(args.now))
    if args.json:
        print_json([{"title": step.title, "text": step.text} for step in steps])
        return 0
    for number, step in enumerate(steps):
        echo(f"{'' if number == 0 else chr(10)}{paint(step.title, 'bold')}")
        echo(step.text.rstrip("\n"))
    return 0

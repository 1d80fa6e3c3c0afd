"""`fazm-memory doctor`: every check with its verdict; the exit code says whether something is broken."""

from __future__ import annotations

import argparse
import sys

from fazm_memory.cli.main import memory_of
from fazm_memory.cli.output import emit_json, paint, plural, say

MARKS = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "broken": ("✗", "red"), "not here": ("–", "dim")}


def doctor_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--self-test", action="store_true", help="also start the companion in a home of its own, and end it"
    )


def doctor_command(chosen: argparse.Namespace) -> int:
    from fazm_memory.doctor import Look, examine

    memory = memory_of(chosen)
    more: list[tuple[str, Look]] = []
    if sys.platform == "darwin":
        from fazm_memory.macos.diagnosis import MAC_CHECKS

        more += MAC_CHECKS
    if chosen.self_test:
        from fazm_memory.trial import TRIAL

        more.append(TRIAL)
    checks = []
    for check in examine(memory, more):
        checks.append(check)
        if not chosen.json:
            mark, colour = MARKS[check.verdict]
            say(f"{paint(mark, colour)} {check.name}: {check.detail}")
            if check.hint:
                say(f"    hint: {check.hint}")
    broken = sum(check.verdict == "broken" for check in checks)
    if chosen.json:
        emit_json({"ok": not broken, "checks": [check.to_json() for check in checks]})
    else:
        warnings = sum(check.verdict == "warning" for check in checks)
        also = f", with {plural(warnings, 'warning')} (marked !)" if warnings else ""
        say(f"\n{broken} broken{also}" if broken else f"\nall is well{also}")
    return 1 if broken else 0

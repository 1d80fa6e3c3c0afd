"""`fazm-memory doctor`: every check with its verdict; the exit code says whether something is broken."""

from __future__ import annotations

import argparse

from fazm_memory.cli.main import memory_of
from fazm_memory.cli.output import emit_json, paint, say

MARKS = {"ok": ("✓", "green"), "warning": ("!", "yellow"), "broken": ("✗", "red"), "not here": ("–", "dim")}


def doctor_arguments(parser: argparse.ArgumentParser) -> None:
    """Nothing to choose."""


def doctor_command(chosen: argparse.Namespace) -> int:
    from fazm_memory.doctor import examine

    memory = memory_of(chosen)
    checks = []
    for check in examine(memory):
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
        say(f"\n{broken} broken" if broken else "\nall is well")
    return 1 if broken else 0

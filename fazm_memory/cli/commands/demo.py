"""`fazm-memory demo`: two days of filing on real files in a temporary folder, away from your own memory."""

from __future__ import annotations

import argparse

from fazm_memory.cli.output import clock, emit_json, paint, say
from fazm_memory.demo import demo


def demo_arguments(parser: argparse.ArgumentParser) -> None:
    """Nothing to choose."""


def demo_command(chosen: argparse.Namespace) -> int:
    steps = demo(clock(chosen.now))
    if chosen.json:
        emit_json([{"title": step.title, "text": step.text} for step in steps])
        return 0
    for number, step in enumerate(steps):
        say(f"{'' if number == 0 else chr(10)}{paint(step.title, 'bold')}")
        say(step.text.rstrip("\n"))
    return 0

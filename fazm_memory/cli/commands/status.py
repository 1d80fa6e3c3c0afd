"""`fazm-memory`: is it recording, what came in last, how much is there."""

from __future__ import annotations

import argparse

from fazm_memory.cli.main import memory_of
from fazm_memory.cli.output import emit_json, paint, plural, say, size, when


def status_arguments(parser: argparse.ArgumentParser) -> None:
    """Nothing to choose."""


def status_command(chosen: argparse.Namespace) -> int:
    memory = memory_of(chosen)
    status = memory.status()
    if chosen.json:
        emit_json(status)
        return 0
    now = memory.now()
    if status["recording"]:
        if status["companion"] is None:
            say(
                paint("○ Recording is on", "green") + ", but the companion is not running (`fazm-memory run`)"
            )
        else:
            say(paint("● Recording", "green") + f", companion {status['companion']}")
    else:
        until = (
            f"until {when(status['paused_until'], now)}" if status["paused_until"] else "until you resume it"
        )
        say(paint(f"◌ Recording is paused {until}", "yellow") + " (`fazm-memory recording resume` goes on)")
    if status["desktop"] is not None and not status["desktop"]["permitted"]:
        say(
            paint("  windows and documents cannot be seen: the Accessibility permission is missing", "yellow")
        )
    for one in status["watching"]:
        if one["refused"] is None:
            say(f"  watching {one['folder']} through {one['how']}, since {when(one['since'], now)}")
        else:
            say(paint(f"  not watching {one['folder']}: {one['refused']}", "yellow"))
    counts = f"{plural(status['sessions'], 'session')}, {plural(status['events'], 'event')}"
    say(f"  {counts}, {size(status['bytes'])}")
    for source, last in status["sources"].items():
        say(f"  last from {source}: {when(last['at'], now)}, session {last['session'][:8]}")
    if not status["sources"]:
        say("  nothing has been recorded yet: see `fazm-memory record --help`")
    for one in status["open_questions"]:
        ask = f"fazm-memory answer {one['session'][:8]} {one['id']} TEXT"
        say(paint(f"  {one['session'][:8]} waits for your answer: {one['note']}", "yellow") + f" (`{ask}`)")
    say(f"  store: {status['home']}, encrypted; {_key(status['key'])}")
    return 0


def _key(key: dict[str, str]) -> str:
    if key["backend"] == "keyring":
        return f"its key is in {key['where']}"
    return f"no OS keyring here, so its key is a file that only you can read: {key['where']}"

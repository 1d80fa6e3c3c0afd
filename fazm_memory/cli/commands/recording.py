"""`fazm-memory recording`: pause, resume, status."""

from __future__ import annotations

import argparse

from fazm_memory.cli.main import memory_of
from fazm_memory.cli.output import emit_json, say, when
from fazm_memory.errors import InvalidRequest
from fazm_memory.model.clock import TimeError, span


def recording_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("verb", choices=("pause", "resume", "status"), nargs="?", default="status")
    parser.add_argument(
        "duration", nargs="?", metavar="DURATION", help="such as 15m or 1h30m; else until resumed"
    )


def recording_command(chosen: argparse.Namespace) -> int:
    memory = memory_of(chosen)
    if chosen.duration is not None and chosen.verb != "pause":
        raise InvalidRequest("only `recording pause` takes a duration")
    if chosen.verb == "pause":
        status = memory.pause_recording(None if chosen.duration is None else _span(chosen.duration))
    elif chosen.verb == "resume":
        status = memory.resume_recording()
    else:
        status = memory.recording()
    if chosen.json:
        emit_json(status)
    elif status["recording"]:
        say("recording")
    else:
        until = status["paused_until"]
        say(f"paused since {when(status['paused_since'], memory.now())}, "
            + (f"until {when(until, memory.now())}" if until else "until you resume it"))  # fmt: skip
    return 0


def _span(text: str) -> int:
    try:
        return span(text)
    except TimeError as error:
        raise InvalidRequest(str(error)) from None

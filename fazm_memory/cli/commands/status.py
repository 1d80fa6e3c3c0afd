"""`fazm-memory status`."""

from __future__ import annotations

import argparse
from typing import Any

from fazm_memory.cli.main import open_memory
from fazm_memory.cli.output import echo, format_size, format_time, paint, plural, print_json


def status_arguments(parser: argparse.ArgumentParser) -> None:
    """No options."""


def status_command(args: argparse.Namespace) -> int:
    memory = open_memory(args)
    status = memory.status()
    if args.json:
        print_json(status)
        return 0
    now = memory.now()
    if status["recording"]:
        if status["companion"] is None:
            echo(paint("○ Recording is on", "green") + ". The companion is not running (`fazm-memory run`).")
        else:
            echo(paint("● Recording", "green") + f" (companion process {status['companion']})")
    else:
        until = (
            f"until {format_time(status['paused_until'], now)}"
            if status["paused_until"]
            else "until you resume it"
        )
        echo(paint(f"◌ Recording is paused {until}", "yellow") + " (`fazm-memory recording resume`)")
    if status["desktop"] is not None and not status["desktop"]["permitted"]:
        echo(
            paint("  Windows and documents are not recorded: Accessibility permission is missing.", "yellow")
        )
    for folder in status["watching"]:
        if folder["refused"] is None:
            echo(f"  watching {folder['folder']} ({folder['how']}) since {format_time(folder['since'], now)}")
        else:
            echo(paint(f"  not watching {folder['folder']}: {folder['refused']}", "yellow"))
    counts = f"{plural(status['sessions'], 'session')}, {plural(status['events'], 'event')}"
    echo(f"  {counts}, {format_size(status['bytes'])}")
    for source, last in status["sources"].items():
        echo(f"  last from {source}: {format_time(last['at'], now)}, session {last['session'][:8]}")
    if not status["sources"]:
        echo("  Nothing recorded yet. `fazm-memory run` records; `fazm-memory import` imports the past.")
    if status["sync"] is not None:
        _show_sync(status["sync"], now)
    _show_transcripts(status["transcripts"], memory.transcripts.expiring_notice())
    for question in status["open_questions"]:
        session = question["session"][:8]
        echo(paint(f"  {session} waits for your answer: {question['note']}", "yellow"))
        echo(f"    `fazm-memory answer {session} {question['id']} TEXT`")
    if status["quota"]["warning"] is not None:
        echo(paint(f"  {status['quota']['warning']}", "yellow"))
    if (notice := memory.maintenance.retention_notice()) is not None:
        echo(paint(f"  {notice}", "yellow"))
    if (newer := status["update"]) is not None:
        where = f": {newer['page']}" if newer["page"] else "."
        echo(paint(f"  Version {newer['version']} is available{where}", "yellow"))
    echo(f"  store: {status['home']}, encrypted, {_key(status['key'])}")
    return 0


def _show_transcripts(copies: dict[str, Any], notice: str | None) -> None:
    if copies["sessions"]:
        size = f"{format_size(copies['stored'])} for {format_size(copies['bytes'])}"
        echo(f"  transcripts of {plural(copies['sessions'], 'session')} copied ({copies['form']}), {size}")
    if notice is not None:
        echo(paint(f"  {notice}", "yellow"))


def _show_sync(sync: dict[str, Any], now: int) -> None:
    when = "never" if sync["last_ok"] is None else format_time(sync["last_ok"], now)
    echo(f"  synced as “{sync['name']}”: {when}")
    for trouble in [*([sync["error"]] if sync["error"] else []), *sync["problems"]]:
        echo(paint(f"  sync: {trouble}", "yellow"))


def _key(key: dict[str, str]) -> str:
    if key["backend"] == "keyring":
        return f"key in {key['where']}"
    return f"key in a file that only you can read (no OS keyring): {key['where']}"

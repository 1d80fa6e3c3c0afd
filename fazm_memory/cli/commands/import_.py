"""`fazm-memory import`: import the agents' own records, newest first."""

from __future__ import annotations

import argparse
import shlex
import time
from pathlib import Path
from typing import Any

from fazm_memory.agents import AGENTS
from fazm_memory.app import Memory, import_acp, import_agents
from fazm_memory.cli.main import open_memory
from fazm_memory.cli.output import Progress, echo, echo_err, format_size, plural, print_json
from fazm_memory.errors import InvalidRequest, NotFound
from fazm_memory.ingest import ImportStatistics

MEGABYTE = 1_000_000
SHOWN = 5


def import_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what", nargs="*", metavar="AGENT|PATH", help="an agent, files or folders (default: all)"
    )
    parser.add_argument(
        "--acp", metavar="COMMAND", help="start an agent that speaks ACP and import the sessions it lists"
    )
    parser.epilog = (
        f"Agents: {', '.join(AGENTS)}. You can stop and repeat an import: nothing is recorded twice."
    )


def import_command(args: argparse.Namespace) -> int:
    memory = open_memory(args)
    if args.acp is not None:
        return _import_acp(memory, args)
    agent, paths = _parse_sources(args.what)
    work = import_agents(memory, agent=agent, paths=paths)
    began = time.monotonic()
    tally = ImportStatistics()
    with Progress("Importing, MB", max(1, work.bytes // MEGABYTE)) as progress:
        for wave in work.waves:
            if wave.events and not tally.events:
                memory.recall.export_contexts()  # the newest sessions come first: a new session can use them
            tally.add(wave)
            progress.at(tally.bytes // MEGABYTE)
    memory.store.index_all()
    if tally.events or not memory.recall.exported_today():
        memory.recall.export_contexts()  # new sessions are told about it
    if args.json:
        print_json({"agent": agent, "found": work.found, **tally.to_json()})
    else:
        _report(tally, work.found, time.monotonic() - began, agent)
    return 0


def _import_acp(memory: Memory, args: argparse.Namespace) -> int:
    command = shlex.split(args.acp)
    if args.what or not command:
        raise InvalidRequest("--acp takes the command of one agent, and no agent or path beside it.")
    result = import_acp(memory, command)
    memory.store.index_all()
    memory.recall.export_contexts()
    if args.json:
        print_json(result)
        return 0
    counted = f"{plural(result['events'], 'new event')} from {plural(result['sessions'], 'session')}"
    echo(f"{counted} of {result['agent']}, over ACP. {plural(result['known'], 'event')} already here.")
    if result["skipped"]:
        echo(f"{plural(result['skipped'], 'session')} left out: known from the agent's own records.")
    for session, trouble in list(result["troubles"].items())[:SHOWN]:
        echo_err(f"not read: {session}: {trouble}")
    return 0


def _parse_sources(what: list[str]) -> tuple[str | None, list[Path]]:
    """The agent, if the first word names one, and the paths."""
    agent = what[0] if what and what[0] in AGENTS else None
    names = what[1:] if agent else what
    paths = [Path(name).expanduser().absolute() for name in names]
    for name, path in zip(names, paths, strict=True):
        if not path.exists():
            raise NotFound(
                f'"{name}" is neither an agent nor a file or folder', hint=f"Agents: {', '.join(AGENTS)}"
            )
    return agent, paths


def _report(tally: ImportStatistics, found: dict[str, int], seconds: float, agent: str | None) -> None:
    if not found:
        echo(f"No records of {agent or 'any agent'} found on this machine. Nothing to import.")
        echo_err("hint: `fazm-memory agents` lists the agents. `fazm-memory record` records any other agent.")
        return
    where = ", ".join(f"{agent} {plural(count, 'file')}" for agent, count in sorted(found.items()))
    imported = f"{plural(tally.events, 'new event')} from {format_size(tally.bytes)} of records"
    echo(f"{imported} ({where}), in {seconds:.1f} s")
    _warn(tally)


def _warn(tally: ImportStatistics) -> None:
    """Problems that did not stop the import."""
    counted: list[tuple[str, dict[str, Any]]] = [
        (
            f"{plural(sum(tally.unknown.values()), 'record')} of unknown kinds, stored as they are",
            tally.unknown,
        ),
        (f"{plural(sum(tally.refused.values()), 'record')} refused", tally.refused),
    ]
    for what, counts in counted:
        if counts:
            echo_err(
                f"{what}: " + ", ".join(f"{name} ({count})" for name, count in list(counts.items())[:SHOWN])
            )
    if tally.bad:
        echo_err(f"{plural(tally.bad, 'line')} not readable")
    for path, trouble in list(tally.troubles.items())[:SHOWN]:
        echo_err(f"not read: {path}: {trouble}")
    if len(tally.troubles) > SHOWN:
        echo_err(f"not read: {plural(len(tally.troubles) - SHOWN, 'more file')} (see --json)")

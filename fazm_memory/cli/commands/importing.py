"""`fazm-memory import`: backfill from the agents' own records, newest first, with a progress bar."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fazm_memory.capture.agents.names import AGENTS
from fazm_memory.cli.main import memory_of
from fazm_memory.cli.output import Progress, emit_json, plural, say, size, talk
from fazm_memory.errors import NotFound

if TYPE_CHECKING:
    from fazm_memory.capture.tally import Tally

MEGABYTE = 1_000_000
SHOWN = 5


def import_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "what", nargs="*", metavar="AGENT|PATH", help="an agent, and files or folders (default: all)"
    )
    parser.epilog = (
        f"The agents are {', '.join(AGENTS)}. Repeating an import adds nothing; stopping one loses nothing."
    )


def import_command(chosen: argparse.Namespace) -> int:
    from fazm_memory.backfill import backfill
    from fazm_memory.capture.tally import Tally

    memory = memory_of(chosen)
    agent, paths = _meant(chosen.what)
    work = backfill(memory, agent=agent, paths=paths)
    began = time.monotonic()
    tally = Tally()
    with Progress("Importing, MB", max(1, work.bytes // MEGABYTE)) as progress:
        for one in work.waves:
            tally.add(one)
            progress.at(tally.bytes // MEGABYTE)
    memory.store.index_all()
    memory.export_contexts()  # what new sessions are given now knows of it
    if chosen.json:
        emit_json({"agent": agent, "found": work.found, **tally.to_json()})
    else:
        _tell(tally, work.found, time.monotonic() - began, agent)
    return 0


def _meant(what: list[str]) -> tuple[str | None, list[Path]]:
    """An agent if the first word is one; everything else must be there."""
    agent = what[0] if what and what[0] in AGENTS else None
    paths = [Path(one).expanduser().absolute() for one in (what[1:] if agent else what)]
    for given, path in zip(what[1:] if agent else what, paths, strict=True):
        if not path.exists():
            raise NotFound(
                f"{given!r} is neither an agent nor a file or folder",
                hint=f"the agents are {', '.join(AGENTS)}",
            )
    return agent, paths


def _tell(tally: Tally, found: dict[str, int], seconds: float, agent: str | None) -> None:
    if not found:
        whose = agent or "any agent"
        say(f"No records of {whose} were found on this machine, so there is nothing to import.")
        talk("hint: `fazm-memory agents` says which are here; `fazm-memory record` takes any agent's word")
        return
    where = ", ".join(f"{agent} {plural(count, 'file')}" for agent, count in sorted(found.items()))
    taken = f"{plural(tally.events, 'new event')} from {size(tally.bytes)} of records"
    say(f"{taken} ({where}), in {seconds:.1f} s")
    _warn(tally)


def _warn(tally: Tally) -> None:
    """What somebody should know: nothing of this stopped the import."""
    told: list[tuple[str, dict[str, Any]]] = [
        (
            f"{plural(sum(tally.unknown.values()), 'record')} of kinds not known yet, kept as they are",
            tally.unknown,
        ),
        (f"{plural(sum(tally.refused.values()), 'record')} refused", tally.refused),
    ]
    for what, counts in told:
        if counts:
            talk(f"{what}: " + ", ".join(f"{name} ({count})" for name, count in list(counts.items())[:SHOWN]))
    if tally.bad:
        talk(f"{plural(tally.bad, 'line')} that could not be read as records")
    for path, trouble in list(tally.troubles.items())[:SHOWN]:
        talk(f"not read: {path}: {trouble}")
    if len(tally.troubles) > SHOWN:
        talk(f"not read: {plural(len(tally.troubles) - SHOWN, 'more file')}; --json names them")

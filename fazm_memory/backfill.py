"""Backfill: the past that the agents' own records hold, taken into the log.

What is found on this machine, or at a path somebody names: a copied home, an agent's folder, a single file.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from fazm_memory.capture.agents.reader import Places, RecordFile
from fazm_memory.capture.agents.registry import readers
from fazm_memory.capture.intake import Intake
from fazm_memory.capture.pauses import Span
from fazm_memory.capture.recording import COMPANION, COMPANION_AGENT
from fazm_memory.capture.tally import Tally
from fazm_memory.config import Config
from fazm_memory.errors import NotFound, RecordingPaused
from fazm_memory.memory import Memory
from fazm_memory.model.clock import parse


@dataclass(frozen=True)
class Backfill:
    """Records to take in: how many files of which agent were found, what is unread, and doing it."""

    found: dict[str, int]
    bytes: int
    waves: Iterator[Tally]


def places_of(config: Config) -> Places:
    return Places(config.user_home, config.environment)


def intake_of(memory: Memory) -> Intake:
    """The engine on this machine's records. What happened in a pause stays out of the log for good."""
    places = places_of(memory.config)
    return Intake(memory.recorder, readers(places), places, pauses=lambda: pauses(memory))


def pauses(memory: Memory) -> list[Span]:
    """The times recording was paused, as the companion's own log has them."""
    row = memory.store.sessions.by_key(COMPANION, COMPANION_AGENT)
    if row is None:
        return []
    gaps = (event["payload"] for event in memory.events(row.id, kind="gap"))
    return [(parse(gap["since"]), parse(gap["until"])) for gap in gaps if gap and gap["what"] == "paused"]


def backfill(memory: Memory, *, agent: str | None = None, paths: Sequence[Path] = ()) -> Backfill:
    """What there is to take in, of one agent or of all, here or at these paths."""
    if not memory.recording()["recording"]:
        raise RecordingPaused(
            "recording is paused, so nothing is imported", hint="`fazm-memory recording resume` goes on"
        )
    intake = intake_of(memory)
    records = [record for path in paths for record in records_at(intake, path, agent)] or (
        [] if paths else [record for record in intake.find() if agent in (None, record.agent)]
    )
    unread = intake.unread(records)
    found = Counter(record.agent for record in records)
    return Backfill(dict(found), sum(one.bytes for one in unread), intake.backlog(unread))


def records_at(intake: Intake, path: Path, agent: str | None) -> list[RecordFile]:
    """The records in a file or folder. Readers know their own trees, so each folder above is tried as one."""
    for root in path.parents if path.is_file() else (path, *path.parents):
        folder = str(root)
        env = {"CLAUDE_CONFIG_DIR": folder, "CODEX_HOME": folder, "XDG_DATA_HOME": folder}
        for places in (Places(root, {}, tmp=root / "tmp"), Places(root, env, tmp=root / "tmp")):
            there = [record for record in intake.find(places) if record.path.is_relative_to(path)]
            chosen = [record for record in there if agent in (None, record.agent)]
            if chosen:
                return chosen
    reader = next((one for one in intake.readers if one.name == agent), None)
    if path.is_file() and reader is not None:
        stat = path.stat()
        intake.reader_of[path] = reader
        return [RecordFile(reader.name, path, path.stem, stat.st_size, stat.st_mtime)]
    raise NotFound(
        f"no agent's records were found in {path}",
        hint="name the agent whose file it is, or a folder laid out as the agent does, such as a copied home",
    )

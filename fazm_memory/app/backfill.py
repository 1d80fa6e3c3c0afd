"""Import of the agents' own records.

The records are found on this machine, or at a path: a copied home, an agent's folder or a single file.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fazm_memory.agents import Places, RecordFile
from fazm_memory.app.memory import Memory
from fazm_memory.clock import parse_time
from fazm_memory.config import Config
from fazm_memory.errors import AgentUnavailable, NotFound, RecordingPaused
from fazm_memory.ingest import COMPANION_AGENT, COMPANION_SESSION
from fazm_memory.records import dataclass

if TYPE_CHECKING:
    from fazm_memory.ingest import Importer, ImportStatistics, ReadAhead, TimeRange

SECOND = 1_000_000
IMPORT_PROGRESS = "import.json"
REPORTED = 5_000_000  # bytes from which the progress of an import is reported
STALE = 120  # seconds without progress after which an import counts as killed


@dataclass(frozen=True)
class Backfill:
    """An import: files found per agent, bytes to read, and the work itself in waves."""

    found: dict[str, int]
    bytes: int
    waves: Iterator[ImportStatistics]


def agent_places(config: Config) -> Places:
    return Places(config.user_home, config.environment)


def importer_for(memory: Memory) -> Importer:
    """The importer for this machine. It leaves out what happened while recording was paused."""
    # Imported here: `status` asks this module for folders and must start quickly.
    from fazm_memory.agents import readers
    from fazm_memory.ingest import Importer, ReadAhead, WorkerSetup, worker_count

    places = agent_places(memory.config)
    patterns = tuple((pattern.name, pattern.regex) for pattern in memory.config.redact)
    setup = WorkerSetup(places, patterns, memory.config.text_cap)

    def read_ahead() -> ReadAhead | None:
        return ReadAhead(setup, count) if (count := worker_count()) else None

    return Importer(
        memory.recorder,
        readers(places),
        places,
        pauses=lambda: pause_spans(memory),
        read_ahead=read_ahead,
    )


def pause_spans(memory: Memory) -> list[TimeRange]:
    """When recording was paused, from the companion's own session.

    A pause begins with its millisecond, because agents write times in whole milliseconds.
    """
    row = memory.store.sessions.by_key(COMPANION_SESSION, COMPANION_AGENT)
    if row is None:
        return []
    gaps = (event["payload"] for event in memory.history.events(row.id, kind="gap"))
    return [
        (parse_time(gap["since"]) // 1000 * 1000, parse_time(gap["until"]))
        for gap in gaps
        if gap and gap["what"] == "paused"
    ]


def import_agents(
    memory: Memory, *, agent: str | None = None, paths: Sequence[Path] = (), since: int = 0
) -> Backfill:
    """Prepare an import of one agent or all, from this machine or from these paths.

    `since` leaves out records that were not changed after this time.
    """
    if not memory.recording.status()["recording"]:
        raise RecordingPaused(
            "Recording is paused. Nothing was imported.", hint="Run `fazm-memory recording resume` first."
        )
    importer = importer_for(memory)
    records = [record for path in paths for record in records_at(importer, path, agent)] or (
        [] if paths else [record for record in importer.find() if agent in (None, record.agent)]
    )
    records = [record for record in records if record.mtime * SECOND >= since]
    unread = importer.unread(records)
    found = Counter(record.agent for record in records)
    total = sum(file.bytes for file in unread)
    waves = _then_copied(memory, _rendered(memory, importer.backlog(unread)), records)
    return Backfill(dict(found), total, _reported(memory.config.home, waves, total))


def _reported(home: Path, waves: Iterator[ImportStatistics], total: int) -> Iterator[ImportStatistics]:
    """The waves of a long import, with its progress in a file, for the page of another process."""
    if total < REPORTED:
        yield from waves
        return
    path, read = home / IMPORT_PROGRESS, 0
    try:
        for wave in waves:
            read += wave.bytes
            with suppress(OSError):
                path.write_text(json.dumps({"read": read, "total": total}))
            yield wave
    finally:
        with suppress(OSError):
            path.unlink()


def import_progress(home: Path) -> dict[str, int] | None:
    """The bytes that a running import has read, and of how many; None if none runs."""
    path = home / IMPORT_PROGRESS
    try:
        if time.time() - path.stat().st_mtime > STALE:
            return None  # that import was killed
        values = json.loads(path.read_text())
        return {"read": int(values["read"]), "total": int(values["total"])}
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _rendered(memory: Memory, waves: Iterator[ImportStatistics]) -> Iterator[ImportStatistics]:
    """The waves of an import. Contexts are written on the way, so that sessions that start now get them.

    They are written with the first events, with the newest session of every folder, and with its last day.
    The caller writes them at the end.
    """
    from fazm_memory.ingest import NOTHING_LEFT

    written, news = -1, False
    for wave in waves:
        news |= bool(wave.events)
        if news and written < wave.next_age < NOTHING_LEFT:
            memory.recall.export_contexts()
            written, news = wave.next_age, False
        yield wave


def _then_copied(
    memory: Memory, waves: Iterator[ImportStatistics], records: Sequence[RecordFile]
) -> Iterator[ImportStatistics]:
    """Copy the agents' own transcripts once their sessions are recorded."""
    yield from waves
    memory.transcripts.copy(records)


def import_acp(memory: Memory, command: Sequence[str]) -> dict[str, Any]:
    """Import the sessions that an ACP agent lists, except those that its own records already contain."""
    from fazm_memory.agents import AcpClient

    memory.recording.check()
    home = str(memory.config.user_home)
    counts = {"sessions": 0, "events": 0, "known": 0, "skipped": 0}
    troubles: dict[str, str] = {}
    with AcpClient(command) as client:
        for session in list(client.sessions()):
            row = memory.store.db.execute(
                "SELECT agent FROM session WHERE agent_session_id=? LIMIT 1", (session.id,)
            ).fetchone()
            if row is not None and row[0] != client.agent:
                counts["skipped"] += 1
                continue
            try:
                drafts = client.load(session, home)
            except AgentUnavailable as error:
                troubles[session.id] = error.message
                continue
            placed = [result.appended for result in memory.recorder.record(drafts) if result.appended]
            counts["sessions"] += 1
            counts["known"] += sum(one.duplicate for one in placed)
            counts["events"] += sum(not one.duplicate for one in placed)
        return {"agent": client.agent, **counts, "troubles": troubles}


def records_at(importer: Importer, path: Path, agent: str | None) -> list[RecordFile]:
    """The records in a file or folder. Readers expect an agent's folder, so each parent is tried as one."""
    for root in path.parents if path.is_file() else (path, *path.parents):
        folder = str(root)
        env = {"CLAUDE_CONFIG_DIR": folder, "CODEX_HOME": folder, "XDG_DATA_HOME": folder}
        for places in (Places(root, {}, tmp=root / "tmp"), Places(root, env, tmp=root / "tmp")):
            inside = [record for record in importer.find(places) if record.path.is_relative_to(path)]
            chosen = [record for record in inside if agent in (None, record.agent)]
            if chosen:
                return chosen
    reader = next((reader for reader in importer.readers if reader.name == agent), None)
    if path.is_file() and reader is not None:
        stat = path.stat()
        importer.reader_of[path] = reader
        return [RecordFile(reader.name, path, path.stem, stat.st_size, stat.st_mtime)]
    raise NotFound(
        f"No agent's records found in {path}",
        hint="Name the agent of the file, or a folder with the agent's layout, such as a copied home.",
    )

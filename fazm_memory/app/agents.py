"""The agents on this machine: their records, our hooks, and the import of records.

An agent whose hooks are installed but do not run is not recorded, although its user believes so. Therefore
the time of its last record is compared with the time of its last hook event.

Records to import are found on this machine, or at a path: a copied home, an agent's folder or a single file.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, Any

from fazm_memory import agents, ingest
from fazm_memory.agents import Places, RecordFile
from fazm_memory.app.memory import Memory
from fazm_memory.clock import iso, parse_time
from fazm_memory.config import Config
from fazm_memory.errors import AgentUnavailable, NotFound, RecordingPaused
from fazm_memory.ingest import COMPANION_AGENT, COMPANION_SESSION
from fazm_memory.paths import SPOOL_FOLDER
from fazm_memory.records import dataclass

if TYPE_CHECKING:
    from fazm_memory.ingest import Importer, ImportStatistics, ReadAhead, TimeRange


SILENT_AFTER = 10 * 60 * 1_000_000  # records may lag, or the session is older than the hooks


@dataclass(frozen=True)
class AgentOverview:
    """An agent's records, its configuration, and when it was last active."""

    agent: str
    here: bool
    files: int = 0
    bytes: int = 0
    last_record: str | None = None
    hooks: bool = False
    mcp: bool = False
    last_hook: str | None = None
    silent: bool = False
    trouble: str | None = None
    stale: bool = False

    def connection_text(self) -> str:
        parts = [name for name, present in (("hooks", self.hooks), ("MCP", self.mcp)) if present]
        return " and ".join(parts) or ("no" if self.agent in agents.CONNECTABLE else "by its records")

    def to_json(self) -> dict[str, Any]:
        return {**self.__dict__, "connectable": self.agent in agents.CONNECTABLE}


def connection_setup(config: Config) -> agents.ConnectOptions:
    """How agents start our hooks and MCP server."""
    script = Path(sys.executable).with_name("fazm-memory")
    server = (str(script),) if script.exists() else (sys.executable, "-m", "fazm_memory.cli.main")
    custom_home = config.environment.get("FAZM_MEMORY_HOME")
    env = {"FAZM_MEMORY_HOME": str(config.home)} if custom_home else {}
    return agents.ConnectOptions(
        agent_places(config),
        config.home,
        (*server, "mcp"),
        env,
        is_temporary_place(server[0]),
        ask_for_note=config.ask_for_note,
    )


def is_temporary_place(program: str) -> bool:
    """Whether macOS runs the app from a disk image or a downloaded copy."""
    if "/AppTranslocation/" in program:
        return True
    try:
        return program.startswith("/Volumes/") and bool(os.statvfs(program).f_flag & os.ST_RDONLY)
    except OSError:
        return True


def agent_overviews(memory: Memory) -> list[AgentOverview]:
    """Every supported agent, installed or not."""
    setup = connection_setup(memory.config)
    found: dict[str, list[tuple[int, float]]] = {agent: [] for agent in agents.AGENTS}
    for reader in agents.readers(setup.places):
        for record in reader.find(setup.places):
            found.setdefault(record.agent, []).append((record.size, record.mtime))
    return [_status_of(memory, agent, setup, found[agent]) for agent in agents.AGENTS]


def connected_agents(memory: Memory) -> list[str]:
    """The agents here whose configuration names our hooks or MCP server."""
    setup = connection_setup(memory.config)
    here = [agent for agent in agents.CONNECTABLE if agents.is_installed(agent, setup)]
    found = ((agent, agents.agent_status(agent, setup)) for agent in here)
    return [agent for agent, status in found if status.hooks or status.mcp]


def _status_of(
    memory: Memory, agent: str, setup: agents.ConnectOptions, files: list[tuple[int, float]]
) -> AgentOverview:
    last = max((round(mtime * SECOND) for _, mtime in files), default=None)
    count, total = len(files), sum(size for size, _ in files)
    last_record = None if last is None else iso(last)
    if agent not in agents.CONNECTABLE:
        return AgentOverview(agent, bool(files), count, total, last_record)
    connection = agents.agent_status(agent, setup)
    last_hook = _last_hook(memory, agent)
    silent = (
        connection.hooks and last is not None and last - (last_hook or _connected_at(setup)) > SILENT_AFTER
    )
    trouble = connection.trouble
    if connection.stale:
        trouble = trouble or "its configuration names another place of Fazm Memory; connect it again"
    if silent:
        ran = f"last ran {iso(last_hook)}" if last_hook else "never ran"
        trouble = f"connected but silent: its hook {ran}, but it was used {last_record}"
    return AgentOverview(
        agent,
        bool(files) or agents.is_installed(agent, setup),
        count,
        total,
        last_record,
        connection.hooks,
        connection.mcp,
        None if last_hook is None else iso(last_hook),
        silent,
        trouble,
        connection.stale and not silent,
    )


def _last_hook(memory: Memory, agent: str) -> int | None:
    """When the agent's hook last ran. Fazm uses the hooks of Claude Code."""
    name = "claude-code" if agent == "fazm" else agent
    row = memory.store.db.execute(
        "SELECT value FROM meta WHERE key=?", (ingest.HOOK_SEEN_PREFIX + name,)
    ).fetchone()
    times = [] if row is None else [int(json.loads(row[0])["at"])]
    # Events in the spool count too.
    waiting = (memory.config.home / SPOOL_FOLDER).glob(f"*.{name}.json")
    times += [path.stat().st_mtime_ns // 1000 for path in waiting]
    return max(times, default=None)


def _connected_at(setup: agents.ConnectOptions) -> int:
    """When an agent was last connected, which is when hooks could first run."""
    manifest = setup.home / "connections.json"
    return round(manifest.stat().st_mtime * SECOND) if manifest.exists() else 0


# -- import of their records -----------------------------------------------------------------------------

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
    """The importer for this machine.

    It leaves out what happened while recording was paused.
    """
    # Imported here: `status` asks this module for folders and must start quickly.
    from fazm_memory.ingest import Importer, ReadAhead, WorkerSetup, worker_count

    places = agent_places(memory.config)
    patterns = tuple((pattern.name, pattern.regex) for pattern in memory.config.redact)
    setup = WorkerSetup(places, patterns, memory.config.text_cap)

    def read_ahead() -> ReadAhead | None:
        return ReadAhead(setup, count) if (count := worker_count()) else None

    return Importer(
        memory.recorder,
        agents.readers(places),
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
    waves = _copied(memory, _rendered(memory, importer.backlog(unread)), records, total)
    return Backfill(dict(found), total, _reported(memory.config.home, waves, total))


def _reported(home: Path, waves: Iterator[ImportStatistics], total: int) -> Iterator[ImportStatistics]:
    """The waves of a long import.

    Its progress is written to a file, for the page of another process.
    """
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
    """The waves of an import.

    Contexts are written on the way, so that sessions that start now get them.

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


def _copied(
    memory: Memory, waves: Iterator[ImportStatistics], records: Sequence[RecordFile], total: int
) -> Iterator[ImportStatistics]:
    """The waves of an import.

    The agents' own transcripts are copied once their sessions are recorded.

    In a long import that is done beside it, in a thread: most of it is compression, outside the interpreter.
    """
    from fazm_memory.ingest import WORTHWHILE

    if total < WORTHWHILE:
        yield from waves
    else:
        with CopyThread(memory) as beside:
            for wave in waves:
                beside.copy(wave.finished)
                yield wave
    if troubles := memory.transcripts.copy(records).troubles:
        yield ingest.ImportStatistics(not_copied=troubles)


class CopyThread:
    """Copies transcripts in a thread. It has a connection of its own."""

    NAME = "copies of transcripts"

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._waiting: SimpleQueue[Sequence[RecordFile] | None] = SimpleQueue()
        self._stopped = False
        self._error: BaseException | None = None
        self._thread = Thread(target=self._run, name=self.NAME)

    def __enter__(self) -> CopyThread:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Wait until everything is copied.

        If the import failed, wait only for the present file.
        """
        self._stopped = kind is not None
        self._waiting.put(None)
        self._thread.join()
        if self._error is not None and kind is None:
            raise self._error

    def copy(self, records: Sequence[RecordFile]) -> None:
        self._waiting.put(records)

    def _run(self) -> None:
        memory = Memory(self._memory.config, self._memory.now)
        try:
            while (records := self._waiting.get()) is not None:
                for record in records:
                    if not self._stopped:
                        memory.transcripts.copy([record])
        except BaseException as error:  # raised by the import
            self._error = error
        finally:
            memory.close()


def import_acp(memory: Memory, command: Sequence[str]) -> dict[str, Any]:
    """Import the sessions of an ACP agent.

    Those that its own records already contain are left out.
    """
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
    """The records in a file or folder.

    Readers expect an agent's folder, so each parent is tried as one.
    """
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
        hint="Name the agent of the file, or a folder with the agent's layout, such as a copied home. A file"
        " from `export`, or an ATIF trajectory, is for `fazm-memory import-bundle`.",
    )

"""The agents on this machine: their records, our hooks, and whether the hooks run.

An agent whose hooks are installed but do not run is not recorded, although its user believes so. Therefore
the time of its last record is compared with the time of its last hook event.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from fazm_memory.agents import (
    AGENTS,
    CONNECTABLE,
    ConnectOptions,
    agent_status,
    is_installed,
    readers,
)
from fazm_memory.app.backfill import agent_places
from fazm_memory.app.memory import Memory
from fazm_memory.clock import iso
from fazm_memory.config import Config
from fazm_memory.ingest import HOOK_SEEN_PREFIX
from fazm_memory.paths import SPOOL_FOLDER
from fazm_memory.records import dataclass

SILENT_AFTER = 10 * 60 * 1_000_000  # records may lag, or the session is older than the hooks
SECOND = 1_000_000


@dataclass(frozen=True)
class AgentOverview:
    """An agent's records, our part in its configuration, and when each was last active."""

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
        return " and ".join(parts) or ("no" if self.agent in CONNECTABLE else "by its records")

    def to_json(self) -> dict[str, Any]:
        return dict(self.__dict__)


def connection_setup(config: Config) -> ConnectOptions:
    """How agents start our hooks and MCP server."""
    script = Path(sys.executable).with_name("fazm-memory")
    server = (str(script),) if script.exists() else (sys.executable, "-m", "fazm_memory.cli.main")
    custom_home = config.environment.get("FAZM_MEMORY_HOME")
    env = {"FAZM_MEMORY_HOME": str(config.home)} if custom_home else {}
    return ConnectOptions(
        agent_places(config),
        config.home,
        (*server, "mcp"),
        env,
        is_temporary_place(server[0]),
        ask_for_note=config.ask_for_note,
    )


def is_temporary_place(program: str) -> bool:
    """Whether macOS runs the app from a disk image, or from a copy that it made of a download."""
    if "/AppTranslocation/" in program:
        return True
    try:
        return program.startswith("/Volumes/") and bool(os.statvfs(program).f_flag & os.ST_RDONLY)
    except OSError:
        return True


def agent_overviews(memory: Memory) -> list[AgentOverview]:
    """Every supported agent, installed or not."""
    setup = connection_setup(memory.config)
    found: dict[str, list[tuple[int, float]]] = {agent: [] for agent in AGENTS}
    for reader in readers(setup.places):
        for record in reader.find(setup.places):
            found.setdefault(record.agent, []).append((record.size, record.mtime))
    return [_status_of(memory, agent, setup, found[agent]) for agent in AGENTS]


def _status_of(
    memory: Memory, agent: str, setup: ConnectOptions, files: list[tuple[int, float]]
) -> AgentOverview:
    last = max((round(mtime * SECOND) for _, mtime in files), default=None)
    count, total = len(files), sum(size for size, _ in files)
    last_record = None if last is None else iso(last)
    if agent not in CONNECTABLE:
        return AgentOverview(agent, bool(files), count, total, last_record)
    connection = agent_status(agent, setup)
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
        bool(files) or is_installed(agent, setup),
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
    row = memory.store.db.execute("SELECT value FROM meta WHERE key=?", (HOOK_SEEN_PREFIX + name,)).fetchone()
    times = [] if row is None else [int(json.loads(row[0])["at"])]
    # Events in the spool count too.
    waiting = (memory.config.home / SPOOL_FOLDER).glob(f"*.{name}.json")
    times += [path.stat().st_mtime_ns // 1000 for path in waiting]
    return max(times, default=None)


def _connected_at(setup: ConnectOptions) -> int:
    """When an agent was last connected, which is when hooks could first run."""
    manifest = setup.home / "connections.json"
    return round(manifest.stat().st_mtime * SECOND) if manifest.exists() else 0

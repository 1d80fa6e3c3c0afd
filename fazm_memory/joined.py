"""Which agents are on this machine, what of theirs is recorded, and whether their hooks are heard.

An agent that is connected but silent is the worst of both: its user believes it is remembered. So what its
own records say of its last use is held against when its hook was last heard, and the difference is told.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fazm_memory.backfill import places_of
from fazm_memory.capture.agents.connect import is_here, status
from fazm_memory.capture.agents.connect_settings import Joining
from fazm_memory.capture.agents.names import AGENTS, CONNECTABLE
from fazm_memory.capture.agents.registry import readers
from fazm_memory.capture.drain import HEARD
from fazm_memory.capture.spool import FOLDER as SPOOL
from fazm_memory.config import Config
from fazm_memory.memory import Memory
from fazm_memory.model.clock import iso

SILENT_AFTER = 10 * 60 * 1_000_000  # its records may lag or be of a session opened before the hooks were
SECOND = 1_000_000


@dataclass(frozen=True)
class AgentHere:
    """One agent: its records, our part in its configuration, and when each was last heard of."""

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

    def joined_words(self) -> str:
        parts = [name for name, there in (("hooks", self.hooks), ("MCP", self.mcp)) if there]
        return " and ".join(parts) or ("no" if self.agent in CONNECTABLE else "by its records")

    def to_json(self) -> dict[str, Any]:
        return dict(self.__dict__)


def joining_of(config: Config) -> Joining:
    """How our part is started from here."""
    script = Path(sys.executable).with_name("fazm-memory")
    server = (str(script),) if script.exists() else (sys.executable, "-m", "fazm_memory.cli.main")
    given = config.environment.get("FAZM_MEMORY_HOME")
    env = {"FAZM_MEMORY_HOME": str(config.home)} if given else {}
    return Joining(places_of(config), config.home, (*server, "mcp"), env)


def survey(memory: Memory) -> list[AgentHere]:
    """Every agent we know, found or not."""
    joining = joining_of(memory.config)
    found: dict[str, list[tuple[int, float]]] = {agent: [] for agent in AGENTS}
    for reader in readers(joining.places):
        for record in reader.find(joining.places):
            found.setdefault(record.agent, []).append((record.size, record.mtime))
    return [_look(memory, agent, joining, found[agent]) for agent in AGENTS]


def _look(memory: Memory, agent: str, joining: Joining, files: list[tuple[int, float]]) -> AgentHere:
    last = max((round(mtime * SECOND) for _, mtime in files), default=None)
    count, total = len(files), sum(size for size, _ in files)
    last_record = None if last is None else iso(last)
    if agent not in CONNECTABLE:
        return AgentHere(agent, bool(files), count, total, last_record)
    joined = status(agent, joining)
    heard = _heard(memory, agent)
    silent = joined.hooks and last is not None and last - (heard or _connected_at(joining)) > SILENT_AFTER
    trouble = joined.trouble
    if silent:
        when = f"last heard {iso(heard)}" if heard else "never heard"
        trouble = f"connected but silent: its hook was {when}, though it was used {last_record}"
    return AgentHere(
        agent,
        bool(files) or is_here(agent, joining),
        count,
        total,
        last_record,
        joined.hooks,
        joined.mcp,
        None if heard is None else iso(heard),
        silent,
        trouble,
    )


def _heard(memory: Memory, agent: str) -> int | None:
    """When the agent's hook was last heard. Fazm's are those of Claude Code underneath."""
    name = "claude-code" if agent == "fazm" else agent
    row = memory.store.db.execute("SELECT value FROM meta WHERE key=?", (HEARD + name,)).fetchone()
    times = [] if row is None else [int(json.loads(row[0])["at"])]
    # What waits in the spool has been heard too, if not taken in.
    waiting = (memory.config.home / SPOOL).glob(f"*.{name}.json")
    times += [path.stat().st_mtime_ns // 1000 for path in waiting]
    return max(times, default=None)


def _connected_at(joining: Joining) -> int:
    """Since when hooks could have been heard: when we last connected an agent."""
    manifest = joining.home / "connections.json"
    return round(manifest.stat().st_mtime * SECOND) if manifest.exists() else 0

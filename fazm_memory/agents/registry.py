"""The readers of all agents, the folders to watch, and the drift of formats.

Drift is what a format has that is not known here.

Add a new agent's reader here. A record type or field that no reader knows shows that a format changed. Types
are what a reader itself does not know. Fields are compared with `known_fields.json`, which lists those of
each agent. Only the newest records are looked at, so this can run on request.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from fazm_memory.agents.antigravity import Antigravity, antigravity_folder
from fazm_memory.agents.base import (
    CHUNK,
    Cursor,
    Places,
    Reader,
    RecordFile,
    cline_data,
    complete_lines,
    copilot_home,
    hermes_home,
    openclaw_home,
)
from fazm_memory.agents.claude_code.reader import ClaudeCode, ClaudeCowork, cowork_folders
from fazm_memory.agents.cline import Cline
from fazm_memory.agents.codex.rollout import Codex
from fazm_memory.agents.copilot import Copilot
from fazm_memory.agents.cursor import CursorAgent, ide_folders
from fazm_memory.agents.fazm import Fazm, FazmAwareReader
from fazm_memory.agents.fields import ident, is_carried, mapping, record_of, sequence, text
from fazm_memory.agents.gemini import Gemini
from fazm_memory.agents.goose import Goose, goose_folder
from fazm_memory.agents.hermes import Hermes
from fazm_memory.agents.openclaw import OpenClaw
from fazm_memory.agents.opencode import Opencode
from fazm_memory.agents.qwen import Qwen, qwen_home
from fazm_memory.agents.sqlite_file import read_only
from fazm_memory.paths import read_regular
from fazm_memory.records import dataclass, field


def readers(places: Places) -> tuple[Reader, ...]:
    """A reader for each agent, for the machine these places are on."""
    home = str(places.home)
    transcripts: tuple[Reader, ...] = (
        ClaudeCode(home),
        Codex(home),
        Gemini(home),
        Opencode(home),
        Copilot(home),
        Qwen(home),
        CursorAgent(home),
        Hermes(home),
        Cline(home),
        OpenClaw(home),
        Goose(home),
        ClaudeCowork(home),
        Antigravity(home),
    )
    # Fazm runs other agents. Those sessions are recorded as Fazm's.
    return (*(FazmAwareReader(reader, places) for reader in transcripts), Fazm(places, beside=transcripts))


def record_roots(places: Places) -> dict[Path, bool]:
    """Folders that agents write records to as they work.

    The second value says whether records are also further down.
    """
    return {
        copilot_home(places) / "session-state": True,
        qwen_home(places) / "projects": True,
        places.home / ".cursor" / "chats": True,
        places.home / ".cursor" / "projects": True,
        **dict.fromkeys(ide_folders(places), False),
        hermes_home(places): False,
        cline_data(places) / "sessions": True,
        openclaw_home(places) / "agents": True,
        goose_folder(places): False,
        **dict.fromkeys(cowork_folders(places), True),
        antigravity_folder(places): True,
    }


NEWEST = 5  # files of an agent that are looked at
LIMIT = CHUNK // 2  # bytes of each
INNER = ("data", "payload", "message", "attachment")
VERSIONS = ("version", "copilotVersion", "cli_version", "clientVersion")
TABLES = {
    "hermes": ("messages", "sessions"),
    "goose": ("messages", "sessions"),
    "openclaw": ("transcript_events",),
}
UNKNOWN_VERSION = "unknown version"


@dataclass
class FormatDrift:
    """What one version of an agent wrote that is not known, with counts."""

    agent: str
    version: str
    records: int = 0
    types: Counter[str] = field(default_factory=Counter)
    fields: Counter[str] = field(default_factory=Counter)


@cache
def known_fields() -> Mapping[str, frozenset[str]]:
    """The names of the fields of each agent's records."""
    listed = json.loads((files("fazm_memory.agents") / "known_fields.json").read_text(encoding="utf-8"))
    return {agent: frozenset(names) for agent, names in listed.items()}


def format_drift(found: Iterable[tuple[Reader, RecordFile]]) -> list[FormatDrift]:
    """Unknown types and fields in the newest records of each agent, by version."""
    by_agent: dict[str, list[tuple[Reader, RecordFile]]] = {}
    for reader, record in found:
        by_agent.setdefault(record.agent, []).append((reader, record))
    drifts: dict[tuple[str, str], FormatDrift] = {}
    for own in by_agent.values():
        for reader, record in sorted(own, key=lambda one: -one[1].mtime)[:NEWEST]:
            with suppress(OSError, sqlite3.Error):
                _look(reader, record, drifts)
    return [drifts[name] for name in sorted(drifts)]


def _look(reader: Reader, record: RecordFile, drifts: dict[tuple[str, str], FormatDrift]) -> None:
    known = known_fields().get(record.agent)
    records = list(_records(record))
    version = next(filter(None, map(_version, reversed(records))), UNKNOWN_VERSION)
    name = (record.agent, version)
    drift = drifts.setdefault(name, FormatDrift(*name))
    drift.records += len(records)
    drift.types.update(reader.read(record, Cursor(), limit=LIMIT).unknown)
    if known is not None:
        drift.fields.update(name for one in records for name in field_names(one) if name not in known)


def field_names(record: Mapping[str, Any]) -> Iterator[str]:
    """The names of a record's fields, and of those of its content."""
    for name, value in record.items():
        yield str(name)[:100]
        if name in INNER:
            yield from (f"{name}.{inner}"[:100] for inner in mapping(value))


def _version(record: Mapping[str, Any]) -> str:
    holders = (record, *(mapping(record.get(name)) for name in INNER))
    return next((found for one in holders for name in VERSIONS if (found := ident(one.get(name)))), "")


def _records(record: RecordFile) -> Iterator[Mapping[str, Any]]:
    """Samples of a file's form.

    Records at the start of a file of lines, messages of a file that is written whole, columns of a database.
    """
    if record.path.suffix == ".jsonl":
        lines = complete_lines(record.path, 0, LIMIT).lines
        yield from filter(None, (record_of(line) for line in lines if not is_carried(line)))
    elif record.path.suffix == ".json":
        whole = mapping(record_of(read_regular(record.path)))
        version = text(whole.get("version"))
        for message in map(mapping, sequence(whole.get("messages"))):
            yield {**message, "version": version}
    elif record.agent in TABLES:
        with read_only(record.path) as connection:
            for table in TABLES[record.agent]:
                columns = connection.execute(f"PRAGMA table_info({table})").fetchall()
                yield {str(column[1]): None for column in columns}

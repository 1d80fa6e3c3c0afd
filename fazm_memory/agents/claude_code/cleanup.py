"""When Claude Code deletes its own transcripts, and the setting that says so.

At its start it deletes transcripts that were last written more than `cleanupPeriodDays` ago. Sessions of the
desktop app are exempt. This is apart from the reader because `status` shows it, and reading loads much more.
"""

from __future__ import annotations

import json
from pathlib import Path

from fazm_memory.agents.base import Places, config_folder
from fazm_memory.agents.fields import SESSION_NAME, mapping, whole
from fazm_memory.paths import open_regular, read_regular
from fazm_memory.records import dataclass

CLEANUP_SETTING = "cleanupPeriodDays"
DEFAULT_DAYS = 30
DAY = 86_400.0
HEAD = 64 << 10
DESKTOP = b'"entrypoint":"claude-desktop"'


@dataclass(frozen=True)
class ExpiringTranscript:
    """A transcript that the agent will delete. `due` is a time in seconds."""

    session: str
    path: Path
    due: float


def cleanup_settings_file(places: Places) -> Path:
    return config_folder("claude-code", places) / "settings.json"


def cleanup_days(places: Places) -> int:
    """After how many days Claude Code deletes a transcript."""
    try:
        settings = mapping(json.loads(read_regular(cleanup_settings_file(places))))
    except (OSError, ValueError, RecursionError):
        return DEFAULT_DAYS
    days = whole(settings.get(CLEANUP_SETTING))
    return days if days is not None and days > 0 else DEFAULT_DAYS


def expiring_transcripts(places: Places, until: float) -> list[ExpiringTranscript]:
    """The transcripts that will be deleted before a time, the next one first."""
    days = cleanup_days(places)
    found = []
    for path in (config_folder("claude-code", places) / "projects").glob("*/*.jsonl"):
        if not SESSION_NAME.fullmatch(path.stem):
            continue
        try:
            due = path.stat().st_mtime + days * DAY
            if due < until and not _is_of_desktop_app(path):
                found.append(ExpiringTranscript(path.stem, path, due))
        except OSError:
            continue  # deleted meanwhile, or not readable
    return sorted(found, key=lambda transcript: (transcript.due, transcript.session))


def _is_of_desktop_app(path: Path) -> bool:
    with open_regular(path) as file:
        return DESKTOP in file.read(HEAD)

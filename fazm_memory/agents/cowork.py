"""Claude Cowork: its conversations are transcripts of Claude Code, in a folder of each session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from fazm_memory.agents.base import CHUNK, Chunk, Cursor, Places, RecordFile
from fazm_memory.agents.claude_code.reader import ClaudeCode
from fazm_memory.agents.fields import digest, ident, mapping, record_of, text
from fazm_memory.events import Draft
from fazm_memory.paths import read_regular
from fazm_memory.records import replace

NAME = "claude-cowork"
FOLDER = "local-agent-mode-sessions"
TITLE = 500
VIRTUAL = "/sessions/"  # a folder in Cowork's virtual machine, not on this one


class ClaudeCowork:
    """Reads the transcripts with the reader of Claude Code. `home` is the folder of `~` in commands."""

    name = NAME

    def __init__(self, home: str | None = None) -> None:
        self.inner = ClaudeCode(home)
        self.version = self.inner.version

    def find(self, places: Places) -> Iterator[RecordFile]:
        for root in cowork_folders(places):
            for about in sorted([*root.glob("*/*/local_*.json"), *root.glob("*/*/agent/local_*.json")]):
                own = replace(places, env={"CLAUDE_CONFIG_DIR": str(about.with_suffix("") / ".claude")})
                for record in self.inner.find(own):
                    yield replace(record, agent=NAME)

    def read(self, record: RecordFile, cursor: Cursor, *, limit: int = CHUNK) -> Chunk:
        carry = dict(cursor.carry)
        known = text(carry.pop("cowork_title", None))
        about = _about(record.path)
        title = text(about.get("title")).strip()[:TITLE]
        chunk = self.inner.read(record, replace(cursor, carry=carry), limit=limit)
        drafts = [_as_cowork(draft, about, title) for draft in chunk.drafts]
        if title and title != known and (drafts or known):
            opened = any(draft.kind == "session.open" for draft in drafts)
            if not opened and record.path.stem == record.session:
                drafts.append(_titled(record.session, title, drafts))
            known = title
        after = replace(chunk.cursor, carry={**chunk.cursor.carry, "cowork_title": known})
        return replace(chunk, drafts=tuple(drafts), cursor=after)


def cowork_folders(places: Places) -> list[Path]:
    """Where Cowork stores sessions: on macOS and on Linux."""
    return [
        places.home / "Library" / "Application Support" / "Claude" / FOLDER,
        places.home / ".config" / "Claude" / FOLDER,
    ]


def _about(path: Path) -> dict[str, Any]:
    """The file that describes the session of a transcript."""
    own = next((folder for folder in path.parents if folder.name == ".claude"), None)
    if own is None:
        return {}
    try:
        return record_of(read_regular(own.parent.with_name(f"{own.parent.name}.json"))) or {}
    except OSError:
        return {}


def _as_cowork(draft: Draft, about: Mapping[str, Any], title: str) -> Draft:
    if draft.kind != "session.open":
        return replace(draft, agent=NAME)
    folder = text(about.get("cwd"))
    values = {**mapping(dict(draft.payload)), "agent": NAME}
    if folder and not folder.startswith(VIRTUAL):
        values["workspace"] = folder
    more = {"title": title, "model": ident(about.get("model"))}
    values |= {name: value for name, value in more.items() if value and not values.get(name)}
    return replace(draft, agent=NAME, payload=values)


def _titled(session: str, title: str, drafts: list[Draft]) -> Draft:
    at = drafts[-1].at if drafts else None
    key = f"{NAME}:{session}:title:{digest(title)}"
    return Draft(session, "session.title", {"title": title}, NAME, at, None, None, "transcript", key=key)

"""Which sessions are Fazm's: it runs Claude Code or Codex underneath and lists their sessions.

`~/.fazm/acp-sessions.json` has up to 200 rows with the session's id, what Fazm uses it for, the folder it
began in and its model. The transcripts are the agents' own; a reader wrapped here tells them as Fazm's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fazm_memory.capture.agents.fields import ident, mapping, sequence, text, whole
from fazm_memory.capture.agents.reader import CHUNK, Chunk, Cursor, Places, Reader, RecordFile
from fazm_memory.capture.draft import Draft

NAME = "fazm"
OBSERVER = "observer"  # Fazm's own session that watches the others; nobody talks to it
LONGEST_LIST = 4 << 20
MOST_DECIDED = 200
CARRIED = "fazm"


@dataclass(frozen=True)
class FazmSession:
    """One row of Fazm's list. `cwd` is where the session began, which resuming it needs."""

    session_id: str
    session_key: str = ""
    cwd: str = ""
    model: str = ""
    updated_ms: int | None = None

    @property
    def background(self) -> bool:
        return self.session_key == OBSERVER

    def opening(self) -> dict[str, Any]:
        """What it adds to the opening of the session."""
        told = {"agent": NAME, "workspace": self.cwd, "model": self.model, "background": self.background}
        return {name: value for name, value in told.items() if value}


def fazm_sessions(places: Places) -> dict[str, FazmSession]:
    """The sessions Fazm lists, by the agent's id of each. No list, or one half-written, lists none."""
    try:
        with (places.home / ".fazm" / "acp-sessions.json").open("rb") as file:
            rows = json.loads(file.read(LONGEST_LIST))
    except (OSError, ValueError, RecursionError):
        return {}
    listed = {}
    for row in map(mapping, sequence(rows)):
        if session_id := ident(row.get("sessionId")):
            listed[session_id] = FazmSession(
                session_id,
                ident(row.get("sessionKey")),
                text(row.get("cwd")),
                ident(row.get("model")),
                whole(row.get("updatedAt")),
            )
    return listed


@dataclass
class OwnedByFazm:
    """A reader of transcripts some of which are Fazm's: those it tells as Fazm's, in their original folder.

    Whose a session is is decided when it is first met and then carried: the list forgets old sessions, and a
    session told under two agents would become two.
    """

    inner: Reader
    places: Places
    name: str = field(init=False)
    listed: dict[str, FazmSession] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        self.name = self.inner.name

    def find(self, places: Places) -> Iterator[RecordFile]:
        self.listed |= fazm_sessions(places)
        for record in self.inner.find(places):
            yield replace(record, agent=NAME) if record.session in self.listed else record

    def read(self, record: RecordFile, cursor: Cursor, *, limit: int = CHUNK) -> Chunk:
        carry = dict(cursor.carry)
        decided = dict(mapping(carry.pop(CARRIED, None)))
        chunk = self.inner.read(record, replace(cursor, carry=carry), limit=limit)
        self._decide({draft.session for draft in chunk.drafts}, decided)
        drafts = tuple(_as_fazms(draft, decided[draft.session]) for draft in chunk.drafts)
        kept = dict(list(decided.items())[-MOST_DECIDED:])
        return replace(
            chunk, drafts=drafts, cursor=replace(chunk.cursor, carry={**chunk.cursor.carry, CARRIED: kept})
        )

    def _decide(self, met: Iterable[str], decided: dict[str, Any]) -> None:
        new = sorted(session for session in met if session not in decided)
        if not self.listed.keys() >= set(new):
            self.listed |= fazm_sessions(self.places)
        for session in new:
            decided[session] = self.listed[session].opening() if session in self.listed else {}


def _as_fazms(draft: Draft, opening: Mapping[str, Any]) -> Draft:
    if not opening:
        return draft
    if draft.kind == "session.open":
        told = {**draft.payload, **{name: opening[name] for name in opening if name != "model"}}
        if "model" in opening:
            told.setdefault("model", opening["model"])
        return replace(draft, agent=NAME, payload=told)
    return replace(draft, agent=NAME)

"""Claude Agent SDK: transcripts mirrored into the memory, to resume from on any day or machine's loss.

    ClaudeAgentOptions(session_store=FazmSessionStore())

The entries are kept as they are. They are also read like the transcript that Claude Code writes to disk, with
the same keys, so a session that both tell is recorded once.
"""

from __future__ import annotations

import json
from typing import Any

from claude_agent_sdk import fold_session_summary
from claude_agent_sdk.types import (
    SessionKey,
    SessionListSubkeysKey,
    SessionStoreEntry,
    SessionStoreListEntry,
    SessionSummaryEntry,
)

from fazm_memory.adapters.keeper import Kept
from fazm_memory.capture.agents.claude_transcript import Transcript
from fazm_memory.log.drawer import Drawer, owner_of, parts_of

SHELF = "claude-code"
SUMMARIES = f"{SHELF}.summary"  # one item for each session: also the list of them
READING = f"{SHELF}.reading"  # what the reader of a transcript carries on


class FazmSessionStore(Kept):
    """A `SessionStore` with all that the protocol has, the optional parts too."""

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        if entries:
            await self.keeper.ado(lambda drawer: self._append(drawer, key, entries))

    def _append(self, drawer: Drawer, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        owner = _owner(key)
        with drawer.writing():
            fresh = [
                entry
                for entry in entries
                if drawer.add(SHELF, owner, [(entry.get("uuid") or None, json.dumps(entry).encode())])
            ]
            if not key.get("subpath"):
                known = drawer.get(SUMMARIES, owner, "")
                told = fold_session_summary(json.loads(known) if known else None, key, fresh)
                drawer.put(SUMMARIES, owner, "", json.dumps(told).encode())
        carried = drawer.get(READING, owner, "")
        # As in the name of a subagent's file: subagents/agent-ID
        _, _, agent_id = key.get("subpath", "").rpartition("/agent-")
        reading = Transcript(key["session_id"], agent_id or None, json.loads(carried) if carried else {})
        for entry in fresh:
            reading.lines += 1
            reading.take(entry)
        reading.finish()
        self.keeper.tell(reading.drafts)
        drawer.put(READING, owner, "", json.dumps(reading.carry()).encode())

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        found = await self.keeper.ado(lambda drawer: drawer.items(SHELF, _owner(key)))
        return [json.loads(item.data) for item in found] or None

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        owners = await self.keeper.ado(lambda drawer: drawer.owners(SUMMARIES))
        return [
            {"session_id": session, "mtime": at // 1000}
            for owner, at in owners.items()
            for session, project in [parts_of(owner)]
            if project == project_key
        ]

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        def work(drawer: Drawer) -> list[SessionSummaryEntry]:
            found: list[SessionSummaryEntry] = []
            for owner, at in drawer.owners(SUMMARIES).items():
                data = drawer.get(SUMMARIES, owner, "") if parts_of(owner)[1] == project_key else None
                if data is not None:
                    told: SessionSummaryEntry = json.loads(data)
                    told["mtime"] = at // 1000
                    found.append(told)
            return found

        return await self.keeper.ado(work)

    async def delete(self, key: SessionKey) -> None:
        def work(drawer: Drawer) -> None:
            owner = _owner(key)
            with drawer.writing():
                for shelf in (SHELF, SUMMARIES, READING):
                    drawer.remove(shelf, owner)
                    for part in () if key.get("subpath") else drawer.owners(shelf, f"{owner}/"):
                        drawer.remove(shelf, part)

        await self.keeper.ado(work)

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        start = owner_of(key["session_id"], key["project_key"], "")
        owners = await self.keeper.ado(lambda drawer: drawer.owners(SHELF, start))
        return [parts_of(owner)[2] for owner in owners]


def _owner(key: Any) -> str:
    subpath = key.get("subpath")
    return owner_of(key["session_id"], key["project_key"], *([subpath] if subpath else []))

"""Session store for the Claude Agent SDK, to resume transcripts from.

    ClaudeAgentOptions(session_store=FazmSessionStore())

The entries are stored unchanged. They are also recorded like the transcript that Claude Code writes to disk.
Both have the same keys, so a session that arrives both ways is recorded once.
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

from fazm_memory.adapters.recording import MemoryAdapter
from fazm_memory.agents import Transcript
from fazm_memory.store import FrameworkStore, owner_of, parts_of

NAMESPACE = "claude-code"
SUMMARIES = f"{NAMESPACE}.summary"  # one item per session; also used to list sessions
READER_STATE = f"{NAMESPACE}.reader"  # state of the transcript reader between calls


class FazmSessionStore(MemoryAdapter):
    """A `SessionStore` with every method of the protocol, including the optional ones."""

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        if entries:
            await self.memory_thread.run_async(lambda store: self._append(store, key, entries))

    def _append(self, store: FrameworkStore, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        owner = _owner(key)
        with store.writing():
            fresh = [
                entry
                for entry in entries
                if store.add(NAMESPACE, owner, [(entry.get("uuid") or None, json.dumps(entry).encode())])
            ]
            if not key.get("subpath"):
                known = store.get(SUMMARIES, owner, "")
                summary = fold_session_summary(json.loads(known) if known else None, key, fresh)
                store.put(SUMMARIES, owner, "", json.dumps(summary).encode())
        state = store.get(READER_STATE, owner, "")
        # A subagent's subpath is subagents/agent-ID.
        _, _, agent_id = key.get("subpath", "").rpartition("/agent-")
        reader = Transcript(key["session_id"], agent_id or None, json.loads(state) if state else {})
        for entry in fresh:
            reader.lines += 1
            reader.take(entry)
        reader.finish()
        self.memory_thread.record(reader.drafts)
        store.put(READER_STATE, owner, "", json.dumps(reader.carry()).encode())

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        found = await self.memory_thread.run_async(lambda store: store.items(NAMESPACE, _owner(key)))
        return [json.loads(item.data) for item in found] or None

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        owners = await self.memory_thread.run_async(lambda store: store.owners(SUMMARIES))
        return [
            {"session_id": session, "mtime": at // 1000}
            for owner, at in owners.items()
            for session, project in [parts_of(owner)]
            if project == project_key
        ]

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        def work(store: FrameworkStore) -> list[SessionSummaryEntry]:
            found: list[SessionSummaryEntry] = []
            for owner, at in store.owners(SUMMARIES).items():
                data = store.get(SUMMARIES, owner, "") if parts_of(owner)[1] == project_key else None
                if data is not None:
                    summary: SessionSummaryEntry = json.loads(data)
                    summary["mtime"] = at // 1000
                    found.append(summary)
            return found

        return await self.memory_thread.run_async(work)

    async def delete(self, key: SessionKey) -> None:
        def work(store: FrameworkStore) -> None:
            owner = _owner(key)
            with store.writing():
                for namespace in (NAMESPACE, SUMMARIES, READER_STATE):
                    store.remove(namespace, owner)
                    for part in () if key.get("subpath") else store.owners(namespace, f"{owner}/"):
                        store.remove(namespace, part)

        await self.memory_thread.run_async(work)

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        start = owner_of(key["session_id"], key["project_key"], "")
        owners = await self.memory_thread.run_async(lambda store: store.owners(NAMESPACE, start))
        return [parts_of(owner)[2] for owner in owners]


def _owner(key: Any) -> str:
    subpath = key.get("subpath")
    return owner_of(key["session_id"], key["project_key"], *([subpath] if subpath else []))

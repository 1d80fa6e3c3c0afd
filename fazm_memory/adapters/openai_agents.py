"""Session for the OpenAI Agents SDK. Also records the conversation.

await Runner.run(agent, "…", session=FazmSession("my-conversation"))
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from agents.memory.session import SessionABC
from agents.memory.session_settings import SessionSettings, resolve_session_limit

from fazm_memory.adapters.recording import MemoryAdapter, MessageDrafts
from fazm_memory.app import Memory
from fazm_memory.store import FrameworkStore, owner_of

if TYPE_CHECKING:
    from agents.items import TResponseInputItem

NAMESPACE = "openai-agents"
LOOK_BACK = 50  # items searched for the call that a result belongs to


class FazmSession(SessionABC, MemoryAdapter):
    """A `Session` of the SDK. Items come back unchanged and in order."""

    def __init__(
        self,
        session_id: str,
        memory: Memory | None = None,
        *,
        session_settings: SessionSettings | None = None,
    ) -> None:
        MemoryAdapter.__init__(self, memory)
        self.session_id = session_id
        self.session_settings = session_settings or SessionSettings()

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        most = resolve_session_limit(limit, self.session_settings)
        last = None if most is None or most < 0 else most
        found = await self.memory_thread.run_async(
            lambda store: store.items(NAMESPACE, owner_of(self.session_id), last=last)
        )
        return [json.loads(item.data) for item in found]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        # Serialize now: the caller may change the list before the work runs.
        data = [(None, json.dumps(item).encode()) for item in items]
        if data:
            await self.memory_thread.run_async(lambda store: self._add(store, data))

    def _add(self, store: FrameworkStore, data: list[tuple[None, bytes]]) -> None:
        owner = owner_of(self.session_id)
        with store.writing():
            before = store.items(NAMESPACE, owner, last=LOOK_BACK)
            store.add(NAMESPACE, owner, data)
            added = store.items(NAMESPACE, owner, last=len(data))
        named = [(str(item.n), json.loads(item.data)) for item in added]
        self.memory_thread.record(
            MessageDrafts(NAMESPACE, self.session_id).from_openai(
                named, [json.loads(item.data) for item in before]
            )
        )

    async def pop_item(self) -> TResponseInputItem | None:
        item = await self.memory_thread.run_async(
            lambda store: store.pop(NAMESPACE, owner_of(self.session_id))
        )
        return None if item is None else json.loads(item.data)

    async def clear_session(self) -> None:
        await self.memory_thread.run_async(lambda store: store.remove(NAMESPACE, owner_of(self.session_id)))

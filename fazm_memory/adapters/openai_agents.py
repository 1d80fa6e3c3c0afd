"""OpenAI Agents SDK: a conversation kept in the memory, and recorded as a session.

await Runner.run(agent, "…", session=FazmSession("my-conversation"))
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from agents.memory.session import SessionABC
from agents.memory.session_settings import SessionSettings, resolve_session_limit

from fazm_memory.adapters.keeper import Kept
from fazm_memory.adapters.telling import Telling
from fazm_memory.log.drawer import Drawer, owner_of
from fazm_memory.memory import Memory

if TYPE_CHECKING:
    from agents.items import TResponseInputItem

SHELF = "openai-agents"
BEFORE = 50  # items looked at for the call that a result belongs to


class FazmSession(SessionABC, Kept):
    """A `Session` of the SDK: items come back exactly as they were given, in their order."""

    def __init__(
        self,
        session_id: str,
        memory: Memory | None = None,
        *,
        session_settings: SessionSettings | None = None,
    ) -> None:
        Kept.__init__(self, memory)
        self.session_id = session_id
        self.session_settings = session_settings or SessionSettings()

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        most = resolve_session_limit(limit, self.session_settings)
        last = None if most is None or most < 0 else most
        found = await self.keeper.ado(
            lambda drawer: drawer.items(SHELF, owner_of(self.session_id), last=last)
        )
        return [json.loads(item.data) for item in found]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        # Now, not when its turn comes: the caller may change a list that it has handed over.
        data = [(None, json.dumps(item).encode()) for item in items]
        if data:
            await self.keeper.ado(lambda drawer: self._add(drawer, data))

    def _add(self, drawer: Drawer, data: list[tuple[None, bytes]]) -> None:
        owner = owner_of(self.session_id)
        with drawer.writing():
            before = drawer.items(SHELF, owner, last=BEFORE)
            drawer.add(SHELF, owner, data)
            added = drawer.items(SHELF, owner, last=len(data))
        told = [(str(item.n), json.loads(item.data)) for item in added]
        self.keeper.tell(
            Telling(SHELF, self.session_id).openai(told, [json.loads(item.data) for item in before])
        )

    async def pop_item(self) -> TResponseInputItem | None:
        item = await self.keeper.ado(lambda drawer: drawer.pop(SHELF, owner_of(self.session_id)))
        return None if item is None else json.loads(item.data)

    async def clear_session(self) -> None:
        await self.keeper.ado(lambda drawer: drawer.remove(SHELF, owner_of(self.session_id)))

"""The verbs of replay: a past workflow as a plan of what still counts."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from fazm_memory.log.store import Store
from fazm_memory.recall.replay import plan


class Replaying:
    """What `Memory` can do again. Mixed into it; not for use alone."""

    if TYPE_CHECKING:  # the façade has these

        @cached_property
        def store(self) -> Store: ...

    def replay_plan(self, session: str) -> dict[str, Any]:
        """The effective steps of a session, dead ends and retries removed, with the parameters found."""
        row = self.store.sessions.resolve(session)
        events = self.store.ward.events(row.n, self.store.log.slice(row.n, row.id))
        return {"session": row.id, "title": row.title, **plan(events, workspace=row.workspace)}
